/* Scoring: BM25 over the atoms of the query, extended in three ways. An exact form scores more than
 * the same stem; an identifier found as a whole scores more than its parts; words that are adjacent
 * in the query score more if they are adjacent in the note, most if the whole query occurs as a
 * phrase.
 *
 * Scoring has two passes. The rough pass scores every candidate from its postings alone, without
 * its length. The caller then takes candidates in that order, applies the filter, looks up the
 * length of each note and computes the exact score. */
#include "store/words_query.h"

#include <assert.h>
#include <math.h>

static const double k1 = 1.4, b = 0.7;
static const double compound_share =
    0.3; /* for a hyphenated word found as a whole, in addition to its parts */
static const double stem_share = 0.75; /* of the score of a word; the rest is for the exact form */
static const double adjacent_share =
    0.6; /* for two adjacent words of the query that are adjacent in the note */
static const double variant_share =
    0.5; /* for a word or name that is written with other separators */
static const double loose_share =
    0.25; /* of the phrase score, if the words are adjacent only loosely (see adjacency) */

enum { PHRASE_CHECKS = 10000 };

static void *grown(void *items, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 1024;
    while (*cap <= n)
        *cap *= 2;
    return fumi_resize(items, *cap * size);
}

void words_rank_add(struct words_rank *r, uint16_t term, int64_t seq, double tf,
                    const uint32_t *positions, size_t n)
{
    assert(term < r->q->n_terms && n <= RANK_POSITIONS);
    r->n_postings += r->n_postings == 0;
    r->postings = grown(r->postings, &r->cap_postings, r->n_postings, sizeof(*r->postings));
    r->positions = grown(r->positions, &r->cap_positions, r->n_positions + n,
                         sizeof(*r->positions));
    r->postings[r->n_postings++] = (struct posting){.seq = seq,
                                                    .tf = (float)tf,
                                                    .at = (uint32_t)r->n_positions,
                                                    .n = (uint16_t)n,
                                                    .term = term};
    memcpy(r->positions + r->n_positions, positions, n * sizeof(*positions));
    r->n_positions += n;
}

struct candidate_table {
    uint32_t *slots; /* 1 + index of a candidate; 0: free */
    size_t mask;
};

static struct candidate *find(struct words_rank *r, struct candidate_table *t, int64_t seq)
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

static void collect_term(struct words_rank *r, struct candidate_table *t,
                         const struct query_term *term)
{
    for (size_t i = term->first; i < term->first + term->n; i++) {
        struct candidate *c = find(r, t, r->postings[i].seq);
        r->postings[i].next = c->first;
        c->first = (uint32_t)i;
    }
}

void words_rank_collect(struct words_rank *r)
{
    struct candidate_table t = {.mask = 1023};
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

static double idf(const struct words_rank *r, double notes)
{
    double all = r->notes > notes ? r->notes : notes;
    return log(1 + (all - notes + 0.5) / (notes + 0.5));
}

/* The term frequency part of BM25: 0 to k1 + 1. `length` is relative to the average. */
static double saturate(double tf, double length)
{
    return tf > 0 ? tf * (k1 + 1) / (tf + k1 * (1 - b + b * length)) : 0;
}

static double term_idf(const struct query *q, uint16_t term)
{
    return term == QUERY_NONE || !q->terms[term].used ? 0 : q->terms[term].idf;
}

/* The idf of an atom: that of its stem if it has one, since most notes match by it. */
static double atom_value(const struct query *q, const struct query_atom *atom)
{
    double exact = term_idf(q, atom->exact), stem = term_idf(q, atom->stem);
    return atom->weight * (atom->stem == QUERY_NONE ? exact : stem);
}

/* The idf weight of each term in the rough score. */
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

/* The postings of a candidate, by term. */
struct note_terms {
    const struct words_rank *r;
    const struct posting *of[QUERY_TERMS + 1];
    double length; /* relative to the average */
};

static void fill_note_terms(struct note_terms *s, const struct words_rank *r,
                            const struct candidate *c)
{
    memset(s, 0, sizeof(*s));
    s->r = r;
    for (uint32_t p = c->first; p; p = r->postings[p].next)
        s->of[r->postings[p].term] = &r->postings[p];
}

static double tf(const struct note_terms *s, uint16_t term)
{
    return s->of[term] ? s->of[term]->tf : 0;
}

/* The score of a term that is a variant of another. The idf is at most that of the other term, so
 * that a rare spelling does not score more. */
static double variant(const struct note_terms *s, uint16_t term, uint16_t of)
{
    const struct query *q = s->r->q;
    return variant_share * saturate(tf(s, term), s->length) *
           fmin(term_idf(q, term), term_idf(q, of));
}

static double atom_score(const struct note_terms *s, const struct query_atom *atom)
{
    const struct query *q = s->r->q;
    double joined = variant(s, atom->joined, atom->exact);
    double exact = fmax(joined, saturate(tf(s, atom->exact), s->length) * term_idf(q, atom->exact));
    if (atom->stem == QUERY_NONE || tf(s, atom->stem) <= 0) /* no posting of the stem was read */
        return atom->weight * exact;
    double stem = fmax(joined, saturate(tf(s, atom->stem), s->length) * term_idf(q, atom->stem));
    return atom->weight * (stem_share * stem + (1 - stem_share) * exact);
}

/* The positions of an atom in the note, ascending. */
struct positions {
    const uint32_t *at;
    size_t n;
};

enum { POSITIONS_MAX = 2 * RANK_POSITIONS };

static struct positions positions_of(const struct note_terms *s, uint16_t term)
{
    const struct posting *p = s->of[term];
    return p ? (struct positions){s->r->positions + p->at, p->n} : (struct positions){NULL, 0};
}

static struct positions merged(struct positions x, struct positions y, uint32_t *buf)
{
    size_t i = 0, k = 0, n = 0;
    while (i < x.n || k < y.n) {
        bool second = k < y.n && (i == x.n || y.at[k] < x.at[i]);
        buf[n++] = second ? y.at[k++] : x.at[i++];
    }
    return (struct positions){buf, n};
}

static struct positions atom_positions(const struct note_terms *s, const struct query_atom *atom,
                                       uint32_t *buf)
{
    struct positions word = positions_of(s, s->of[atom->stem] ? atom->stem : atom->exact);
    struct positions joined = positions_of(s, atom->joined);
    return !joined.n ? word : !word.n ? joined : merged(word, joined, buf);
}

static bool holds(struct positions p, uint32_t want)
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

/* Whether a position `at` follows one of `from` as in the query: exactly, `step` words later (0
 * within an identifier); or loosely, if the words of the query are parts of one identifier in
 * the note, or the other way round. */
enum adjacency { ADJACENT_NOT, ADJACENT_LOOSELY, ADJACENT_EXACTLY };

static enum adjacency adjacency(struct positions from, uint32_t at, size_t step)
{
    uint32_t in = at & 0xFFFFFF;
    if (in >= step && holds(from, at - (uint32_t)step))
        return ADJACENT_EXACTLY;
    if (step)
        return holds(from, at) ? ADJACENT_LOOSELY : ADJACENT_NOT;
    return in && holds(from, at - 1) ? ADJACENT_LOOSELY : ADJACENT_NOT;
}

static bool is_scored(const struct query *q, const struct query_atom *atom)
{
    return atom->positioned && (term_idf(q, atom->exact) > 0 || term_idf(q, atom->stem) > 0);
}

/* The state of a search for the atoms of the query, in their order, in one note. */
struct phrase {
    const struct query_atom *last; /* NULL: none yet */
    struct positions before;       /* positions of that atom */
    struct positions exact, loose; /* positions where a phrase of all atoms so far ends */
    size_t atoms;
    double near, all;
    uint32_t buffers[2][3][POSITIONS_MAX]; /* for before, exact and loose; used in turn */
};

/* Continues with an atom that occurs at `here`. Returns the closest adjacency to the atom before
 * it. */
static enum adjacency advance(struct phrase *w, struct positions here, size_t step)
{
    uint32_t(*buf)[POSITIONS_MAX] = w->buffers[w->atoms % 2];
    struct positions exact = {buf[1], 0}, loose = {buf[2], 0};
    enum adjacency best = ADJACENT_NOT;
    for (size_t i = 0; i < here.n && w->before.n; i++) {
        uint32_t at = here.at[i];
        enum adjacency one = adjacency(w->before, at, step);
        best = one > best ? one : best;
        if (w->exact.n && adjacency(w->exact, at, step) == ADJACENT_EXACTLY)
            buf[1][exact.n++] = at;
        if (w->loose.n && adjacency(w->loose, at, step))
            buf[2][loose.n++] = at;
    }
    w->exact = w->last ? exact : here;
    w->loose = w->last ? loose : here;
    w->before = here;
    return best;
}

static void phrase_add(struct phrase *w, const struct note_terms *s, const struct query_atom *atom)
{
    double value = atom_value(s->r->q, atom);
    size_t step = w->last ? atom->position - w->last->position : 0;
    enum adjacency how = advance(w, atom_positions(s, atom, w->buffers[w->atoms % 2][0]), step);
    if (how)
        w->near += adjacent_share * fmin(atom_value(s->r->q, w->last), value);
    w->all += value * (k1 + 1);
    w->last = atom;
    w->atoms++;
}

/* The score of adjacent words, and of the whole query as a phrase, which outweighs everything
 * else. */
static double proximity_score(const struct note_terms *s)
{
    const struct query *q = s->r->q;
    struct phrase w;
    memset(&w, 0, offsetof(struct phrase, buffers));
    for (const struct query_atom *atom = q->atoms; atom < q->atoms + q->n_atoms; atom++) {
        if (is_scored(q, atom))
            phrase_add(&w, s, atom);
    }
    if (w.atoms < 2 || !w.loose.n)
        return w.near;
    return w.near + (w.exact.n ? 1 : loose_share) * w.all;
}

/* An identifier found as a whole scores its own idf, and its parts score the maximum. */
static double group_score(const struct note_terms *s, const struct query_group *g, double *scores)
{
    const struct query *q = s->r->q;
    double best = g->n ? saturate(tf(s, g->terms[0]), s->length) * term_idf(q, g->terms[0]) : 0;
    for (size_t i = 1; i < g->n; i++)
        best = fmax(best, variant(s, g->terms[i], g->terms[0]));
    if (best <= 0)
        return 0;
    for (size_t i = g->first; i < g->last && !g->compound; i++)
        scores[i] = fmax(scores[i], atom_value(q, &q->atoms[i]) * (k1 + 1));
    return g->compound ? compound_share * best : best;
}

struct rough {
    double values[QUERY_TERMS + 1];  /* weight of a term */
    uint64_t atoms[QUERY_TERMS + 1]; /* bit i: the term is a form of atom i */
    uint64_t all;
    size_t checks; /* notes that may still be checked for phrases */
};

static void prepare(struct rough *x, const struct query *q)
{
    *x = (struct rough){.checks = PHRASE_CHECKS};
    term_values(q, x->values);
    for (size_t i = 0; i < q->n_atoms; i++) {
        const struct query_atom *atom = &q->atoms[i];
        uint64_t bit = is_scored(q, atom) ? UINT64_C(1) << i : 0;
        x->all |= bit;
        x->atoms[atom->exact] |= bit;
        x->atoms[atom->stem] |= bit;
        x->atoms[atom->joined] |= bit;
    }
}

/* The length of a note for BM25, relative to the average. A short note contains few words besides
 * those of the query, which does not make it more relevant, so lengths below the pivot are equal.
 */
static double relative_length(const struct words_rank *r, double length)
{
    return fmax(r->pivot, length) / fmax(r->pivot, r->length);
}

/* The length of the note is not known yet; the first position of a term is a lower bound. */
static double rough_score(struct rough *x, const struct words_rank *r, const struct candidate *c)
{
    double sum = 0;
    uint64_t atoms = 0;
    for (uint32_t p = c->first; p; p = r->postings[p].next) {
        const struct posting *at = &r->postings[p];
        double least = at->n ? r->positions[at->at] & 0xFFFFFF : 0;
        sum += x->values[at->term] * saturate(at->tf, relative_length(r, least + r->length / 2));
        atoms |= x->atoms[at->term];
    }
    if ((atoms & x->all) != x->all || !(x->all & (x->all - 1)) || !x->checks)
        return sum;
    struct note_terms s;
    x->checks--;
    fill_note_terms(&s, r, c);
    return sum + proximity_score(&s);
}

void words_rank_rough(struct words_rank *r)
{
    struct rough x;
    assert(r->length > 0);
    for (size_t i = 0; i < r->q->n_terms; i++)
        r->q->terms[i].idf = idf(r, r->q->terms[i].notes);
    prepare(&x, r->q);
    for (size_t i = 0; i < r->n; i++)
        r->candidates[i].rough = (float)rough_score(&x, r, &r->candidates[i]);
}

double words_rank_score(const struct words_rank *r, const struct candidate *c, double length)
{
    struct note_terms s;
    double scores[QUERY_ATOMS], sum = 0;
    fill_note_terms(&s, r, c);
    s.length = relative_length(r, length);
    for (size_t i = 0; i < r->q->n_atoms; i++)
        scores[i] = atom_score(&s, &r->q->atoms[i]);
    for (size_t i = 0; i < r->q->n_groups; i++)
        sum += group_score(&s, &r->q->groups[i], scores);
    for (size_t i = 0; i < r->q->n_atoms; i++)
        sum += scores[i];
    return sum + proximity_score(&s);
}

double words_rank_share(const struct words_rank *r, const struct candidate *c)
{
    struct note_terms s;
    double all = 0, there = 0;
    fill_note_terms(&s, r, c);
    for (const struct query_atom *atom = r->q->atoms; atom < r->q->atoms + r->q->n_atoms; atom++) {
        double value = atom_value(r->q, atom);
        all += value;
        if (s.of[atom->exact] || s.of[atom->stem] || s.of[atom->joined])
            there += value;
    }
    return all > 0 ? there / all : 0;
}

void words_rank_done(struct words_rank *r)
{
    fumi_resize(r->postings, 0);
    fumi_resize(r->positions, 0);
    fumi_resize(r->candidates, 0);
}
