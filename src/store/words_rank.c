/* BM25 over atoms, with what BM25 does not know: exact forms before stems, identifiers whole before
 * their parts, words that stand together before words that are scattered. */
#include "store/words_query.h"

#include <math.h>

static const double k1 = 1.4, b = 0.7;
static const double compound_share = 0.3; /* for a word with hyphens, beside its parts */
static const double stem_share = 0.75;    /* the rest is for the form as it stands */
static const double near_share = 0.6;     /* for two neighbours that are neighbours in the note */
static const double variant_share = 0.5;  /* for a word or name that is joined otherwise */
static const double loose_share = 0.25;   /* of a phrase's worth, when an identifier holds it */

enum { WALKS = 10000 };

static void *grown(void *items, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 1024;
    while (*cap <= n)
        *cap *= 2;
    return fumi_resize(items, *cap * size);
}

void rank_add(struct rank *r, uint16_t term, int64_t seq, double tf, const uint32_t *places,
              size_t n)
{
    r->n_postings += r->n_postings == 0;
    r->postings = grown(r->postings, &r->cap_postings, r->n_postings, sizeof(*r->postings));
    r->places = grown(r->places, &r->cap_places, r->n_places + n, sizeof(*r->places));
    r->postings[r->n_postings++] = (struct posting){
        .seq = seq, .tf = (float)tf, .at = (uint32_t)r->n_places, .n = (uint16_t)n, .term = term};
    memcpy(r->places + r->n_places, places, n * sizeof(*places));
    r->n_places += n;
}

/* Candidates. */

struct table {
    uint32_t *slots; /* 1 + number of a candidate; 0: free */
    size_t mask;
};

static struct candidate *find(struct rank *r, struct table *t, int64_t seq)
{
    size_t i = (size_t)(((uint64_t)seq * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & t->mask;
    for (; t->slots[i]; i = (i + 1) & t->mask) {
        if (r->candidates[t->slots[i] - 1].seq == seq)
            return &r->candidates[t->slots[i] - 1];
    }
    r->candidates[r->n] = (struct candidate){.seq = seq};
    t->slots[i] = (uint32_t)++r->n;
    return &r->candidates[r->n - 1];
}

static void collect_term(struct rank *r, struct table *t, const struct query_term *term)
{
    for (size_t i = term->first; i < term->first + term->n; i++) {
        struct candidate *c = find(r, t, r->postings[i].seq);
        r->postings[i].next = c->first;
        c->first = (uint32_t)i;
    }
}

void rank_collect(struct rank *r)
{
    struct table t = {.mask = 1023};
    size_t total = 1;
    for (size_t i = 0; i < r->q->n_terms; i++)
        total += r->q->terms[i].used ? r->q->terms[i].n : 0;
    while (t.mask < 2 * total)
        t.mask = t.mask * 2 + 1;
    t.slots = fumi_resize(NULL, (t.mask + 1) * sizeof(*t.slots));
    memset(t.slots, 0, (t.mask + 1) * sizeof(*t.slots));
    r->candidates = fumi_resize(r->candidates, total * sizeof(*r->candidates));
    for (size_t i = 0; i < r->q->n_terms; i++) {
        if (r->q->terms[i].used)
            collect_term(r, &t, &r->q->terms[i]);
    }
    fumi_resize(t.slots, 0);
}

/* Scores. */

static double idf(const struct rank *r, double notes)
{
    double all = r->notes > notes ? r->notes : notes;
    return log(1 + (all - notes + 0.5) / (notes + 0.5));
}

/* How much of a term's worth a note gets: 0 to k1 + 1. */
static double share(double tf, double length)
{
    return tf > 0 ? tf * (k1 + 1) / (tf + k1 * (1 - b + b * length)) : 0;
}

static double term_idf(const struct query *q, uint16_t term)
{
    return term == QUERY_NONE || !q->terms[term].used ? 0 : q->terms[term].idf;
}

/* What an atom is worth: the idf of its commonest form, which is what most notes match by. */
static double worth(const struct query *q, const struct query_atom *atom)
{
    double exact = term_idf(q, atom->exact), stem = term_idf(q, atom->stem);
    return atom->weight * (atom->stem == QUERY_NONE ? exact : stem);
}

/* What each term adds to the rough score. */
static void term_values(const struct query *q, double *values)
{
    memset(values, 0, (QUERY_TERMS + 1) * sizeof(*values));
    for (size_t i = 0; i < q->n_atoms; i++) {
        const struct query_atom *atom = &q->atoms[i];
        double exact = atom->stem == QUERY_NONE ? 1 : 1 - stem_share;
        values[atom->exact] += atom->weight * exact * term_idf(q, atom->exact);
        values[atom->joined] += atom->weight * term_idf(q, atom->joined);
        values[atom->stem] += atom->weight * stem_share * term_idf(q, atom->stem);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n; k++)
            values[q->groups[i].terms[k]] += 2 * term_idf(q, q->groups[i].terms[k]);
    }
}

/* A candidate's postings by term. */
struct sheet {
    const struct rank *r;
    const struct posting *of[QUERY_TERMS + 1];
    double length; /* over the average */
};

static void fill_sheet(struct sheet *s, const struct rank *r, const struct candidate *c)
{
    memset(s, 0, sizeof(*s));
    s->r = r;
    for (uint32_t p = c->first; p; p = r->postings[p].next)
        s->of[r->postings[p].term] = &r->postings[p];
}

static double tf(const struct sheet *s, uint16_t term)
{
    return s->of[term] ? s->of[term]->tf : 0;
}

/* What a term adds that stands for another as a variant: its own rarity is none of merit. */
static double variant(const struct sheet *s, uint16_t term, uint16_t of)
{
    const struct query *q = s->r->q;
    return variant_share * share(tf(s, term), s->length) * fmin(term_idf(q, term), term_idf(q, of));
}

static double atom_score(const struct sheet *s, const struct query_atom *atom)
{
    const struct query *q = s->r->q;
    double joined = variant(s, atom->joined, atom->exact);
    double exact = fmax(joined, share(tf(s, atom->exact), s->length) * term_idf(q, atom->exact));
    if (atom->stem == QUERY_NONE || tf(s, atom->stem) <= 0) /* identifiers have no stems */
        return atom->weight * exact;
    double stem = fmax(joined, share(tf(s, atom->stem), s->length) * term_idf(q, atom->stem));
    return atom->weight * (stem_share * stem + (1 - stem_share) * exact);
}

/* Places where an atom stands, in order. */
struct places {
    const uint32_t *at;
    size_t n;
};

enum { PLACES_MOST = 2 * RANK_PLACES };

static struct places places_of(const struct sheet *s, uint16_t term)
{
    const struct posting *p = s->of[term];
    return p ? (struct places){s->r->places + p->at, p->n} : (struct places){NULL, 0};
}

static struct places merged(struct places x, struct places y, uint32_t *room)
{
    size_t i = 0, k = 0, n = 0;
    while (i < x.n || k < y.n) {
        bool second = k < y.n && (i == x.n || y.at[k] < x.at[i]);
        room[n++] = second ? y.at[k++] : x.at[i++];
    }
    return (struct places){room, n};
}

static struct places find_places(const struct sheet *s, const struct query_atom *atom,
                                 uint32_t *room)
{
    struct places word = places_of(s, s->of[atom->stem] ? atom->stem : atom->exact);
    struct places joined = places_of(s, atom->joined);
    return !joined.n ? word : !word.n ? joined : merged(word, joined, room);
}

static bool holds(struct places p, uint32_t want)
{
    size_t low = 0, high = p.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p.at[mid] < want)
            low = mid + 1;
        else
            high = mid;
    }
    return low < p.n && p.at[low] == want;
}

/* How a place stands behind one of `from`: as in the query, `step` words further, which is 0 within
 * an identifier; or loosely, with words of the query inside one identifier, or the other way
 * round. */
enum link { RPC_CONNECTION_NONE, RPC_CONNECTION_LOOSE, RPC_CONNECTION_EXACT };

static enum link linked(struct places from, uint32_t at, size_t step)
{
    uint32_t in = at & 0xFFFFFF;
    if (in >= step && holds(from, at - (uint32_t)step))
        return RPC_CONNECTION_EXACT;
    if (step)
        return holds(from, at) ? RPC_CONNECTION_LOOSE : RPC_CONNECTION_NONE;
    return in && holds(from, at - 1) ? RPC_CONNECTION_LOOSE : RPC_CONNECTION_NONE;
}

static bool counts(const struct query *q, const struct query_atom *atom)
{
    return atom->chains && (term_idf(q, atom->exact) > 0 || term_idf(q, atom->stem) > 0);
}

/* A query that is followed through a note. */
struct walk {
    const struct query_atom *last; /* NULL: none yet */
    struct places before;          /* where it stands */
    struct places exact, loose;    /* where all atoms so far stand in a row up to it */
    size_t atoms;
    double near, all;
    uint32_t rooms[2][3][PLACES_MOST]; /* for these, in turns */
};

/* Goes on to an atom that stands `here`; returns how it is linked to the one before at best. */
static enum link advance(struct walk *w, struct places here, size_t step)
{
    uint32_t(*room)[PLACES_MOST] = w->rooms[w->atoms % 2];
    struct places exact = {room[1], 0}, loose = {room[2], 0};
    enum link best = RPC_CONNECTION_NONE;
    for (size_t i = 0; i < here.n && w->before.n; i++) {
        uint32_t at = here.at[i];
        enum link one = linked(w->before, at, step);
        best = one > best ? one : best;
        if (w->exact.n && linked(w->exact, at, step) == RPC_CONNECTION_EXACT)
            room[1][exact.n++] = at;
        if (w->loose.n && linked(w->loose, at, step))
            room[2][loose.n++] = at;
    }
    w->exact = w->last ? exact : here;
    w->loose = w->last ? loose : here;
    w->before = here;
    return best;
}

static void walk_to(struct walk *w, const struct sheet *s, const struct query_atom *atom)
{
    double value = worth(s->r->q, atom);
    size_t step = w->last ? atom->position - w->last->position : 0;
    enum link how = advance(w, find_places(s, atom, w->rooms[w->atoms % 2][0]), step);
    if (how)
        w->near += near_share * fmin(worth(s->r->q, w->last), value);
    w->all += value * (k1 + 1);
    w->last = atom;
    w->atoms++;
}

/* What neighbours are worth, and the whole query as one phrase, which outweighs all else. */
static double together(const struct sheet *s)
{
    const struct query *q = s->r->q;
    struct walk w;
    memset(&w, 0, offsetof(struct walk, rooms));
    for (const struct query_atom *atom = q->atoms; atom < q->atoms + q->n_atoms; atom++) {
        if (counts(q, atom))
            walk_to(&w, s, atom);
    }
    if (w.atoms < 2 || !w.loose.n)
        return w.near;
    return w.near + (w.exact.n ? 1 : loose_share) * w.all;
}

/* An identifier that is there as a whole counts its own rarity, and its parts as if they could not
 * be there more. */
static double group_score(const struct sheet *s, const struct query_group *g, double *scores)
{
    const struct query *q = s->r->q;
    double best = g->n ? share(tf(s, g->terms[0]), s->length) * term_idf(q, g->terms[0]) : 0;
    for (size_t i = 1; i < g->n; i++)
        best = fmax(best, variant(s, g->terms[i], g->terms[0]));
    if (best <= 0)
        return 0;
    for (size_t i = g->first; i < g->last && !g->compound; i++)
        scores[i] = fmax(scores[i], worth(q, &q->atoms[i]) * (k1 + 1));
    return g->compound ? compound_share * best : best;
}

/* The rough score. */

struct rough {
    double values[QUERY_TERMS + 1];  /* what a term adds */
    uint64_t atoms[QUERY_TERMS + 1]; /* a bit for each atom that it is a form of */
    uint64_t all;
    size_t walks; /* notes that may still be looked at for phrases */
};

static void prepare(struct rough *x, const struct query *q)
{
    *x = (struct rough){.walks = WALKS};
    term_values(q, x->values);
    for (size_t i = 0; i < q->n_atoms; i++) {
        const struct query_atom *atom = &q->atoms[i];
        uint64_t bit = counts(q, atom) ? UINT64_C(1) << i : 0;
        x->all |= bit;
        x->atoms[atom->exact] |= bit;
        x->atoms[atom->stem] |= bit;
        x->atoms[atom->joined] |= bit;
    }
}

/* A note is at least as long as its first place says. */
static double rough_score(struct rough *x, const struct rank *r, const struct candidate *c)
{
    double sum = 0;
    uint64_t atoms = 0;
    for (uint32_t p = c->first; p; p = r->postings[p].next) {
        const struct posting *at = &r->postings[p];
        double least = at->n ? (r->places[at->at] & 0xFFFFFF) / r->length : 0;
        sum += x->values[at->term] * share(at->tf, 0.5 + least);
        atoms |= x->atoms[at->term];
    }
    if ((atoms & x->all) != x->all || !(x->all & (x->all - 1)) || !x->walks)
        return sum;
    struct sheet s;
    x->walks--;
    fill_sheet(&s, r, c);
    return sum + together(&s);
}

void rank_rough(struct rank *r)
{
    struct rough x;
    for (size_t i = 0; i < r->q->n_terms; i++)
        r->q->terms[i].idf = idf(r, r->q->terms[i].notes);
    prepare(&x, r->q);
    for (size_t i = 0; i < r->n; i++)
        r->candidates[i].rough = (float)rough_score(&x, r, &r->candidates[i]);
}

double rank_score(const struct rank *r, const struct candidate *c, double length)
{
    struct sheet s;
    double scores[QUERY_ATOMS], sum = 0;
    fill_sheet(&s, r, c);
    s.length = length / r->length;
    for (size_t i = 0; i < r->q->n_atoms; i++)
        scores[i] = atom_score(&s, &r->q->atoms[i]);
    for (size_t i = 0; i < r->q->n_groups; i++)
        sum += group_score(&s, &r->q->groups[i], scores);
    for (size_t i = 0; i < r->q->n_atoms; i++)
        sum += scores[i];
    return sum + together(&s);
}

void rank_done(struct rank *r)
{
    fumi_resize(r->postings, 0);
    fumi_resize(r->places, 0);
    fumi_resize(r->candidates, 0);
}
