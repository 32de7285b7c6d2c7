/* Notes like one that is being written. The query consists of a few words of the note that are
 * probably rare: identifiers and long words. Of these, only words that few notes contain count, so
 * that no long list of the keyword index is read. The relevance is that of the words alone. */
#include "base/utf8.h"
#include "memory/memory_parts.h"
#include "memory/relevance.h"
#include "store/words.h"

enum {
    READ = 1024,  /* bytes of a text whose words are looked at */
    WORDS = 4,    /* of the query */
    RARE = 32,    /* notes that contain a word, at most */
    LIMIT = 8,    /* hits that are loaded */
    SHORTEST = 3, /* value of a word */
    LINE = 120,   /* bytes of the text of a result */
};
static const double LEAST = 0.25; /* relevance of a result */

struct chosen {
    const char *base; /* of the text that is read */
    struct {
        struct fumi_str text;
        size_t value;
    } words[WORDS];
    size_t n;
};

/* How rare a word probably is. An identifier has digits, or several parts; a character that is not
 * ASCII counts as much as a word of several letters. */
static size_t value_of(struct fumi_str s)
{
    size_t value = s.n;
    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || s.p[i] == '\'';
        value += letter ? 0 : 2;
    }
    return value;
}

static bool is_chosen(const struct chosen *c, struct fumi_str s)
{
    for (size_t i = 0; i < c->n; i++)
        if (fumi_eq(c->words[i].text, s))
            return true;
    return false;
}

/* Keeps the words of the highest value. */
static int choose(void *arg, const struct word *w)
{
    struct chosen *c = arg;
    struct fumi_str s = {c->base + w->begin, w->end - w->begin};
    size_t at = c->n, value = value_of(s);
    bool whole = w->kind == WORD_PLAIN || w->kind == WORD_WHOLE || w->kind == WORD_BIGRAM;
    if (!whole || value < SHORTEST || is_chosen(c, s))
        return 0;
    if (c->n == WORDS) {
        at = 0;
        for (size_t i = 1; i < WORDS; i++)
            at = c->words[i].value < c->words[at].value ? i : at;
        if (c->words[at].value >= value)
            return 0;
    } else {
        c->n++;
    }
    c->words[at].text = s;
    c->words[at].value = value;
    return 0;
}

static void choose_from(struct chosen *c, struct fumi_str text)
{
    text = fumi_utf8_cut(text, text.n < READ ? text.n : READ);
    c->base = text.p;
    words_each(text, 0, choose, c);
}

static struct fumi_str query_of(struct fumi_arena *a, const struct note *n)
{
    struct chosen c = {.n = 0};
    struct fumi_str query = FUMI_STR("");
    choose_from(&c, n->title);
    choose_from(&c, n->text);
    for (size_t i = 0; i < c.n; i++)
        query = fumi_fmt(a, "%.*s %.*s", FUMI_ARG(query), FUMI_ARG(c.words[i].text));
    return query;
}

static struct fumi_str first_line(struct fumi_arena *a, const struct note *n)
{
    struct fumi_str text = n->text;
    while (text.n && strchr(" \t\r\n", text.p[0]))
        text.p++, text.n--;
    const char *end = memchr(text.p, '\n', text.n);
    text.n = end ? (size_t)(end - text.p) : text.n;
    return fumi_dup(a, fumi_utf8_cut(text, text.n < LINE ? text.n : LINE));
}

struct collecting {
    struct fumi_arena *a;
    const struct note *like;
    const struct hits *hits;
    struct similar_notes *out;
};

static double share_of(const struct hits *h, int64_t seq)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].seq == seq)
            return h->items[i].share;
    return 0;
}

/* For struct loading: takes what is shown of a note; the note itself is not kept. */
static int collect(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes, (void)e;
    struct collecting *c = arg;
    const struct note *n = row;
    double relevance = relevance_of(NULL, 0, share_of(c->hits, n->seq));
    if (c->out->n == SIMILAR_MOST)
        return ROW_END;
    if (!n->superseded_by.p && !fumi_eq(n->id, c->like->id) && relevance >= LEAST)
        c->out->items[c->out->n++] = (struct similar_note){fumi_dup(c->a, n->id),
                                                           first_line(c->a, n), relevance};
    return ROW_SKIP;
}

int memory_similar(struct memory *m, struct fumi_arena *a, const struct note *n,
                   struct similar_notes *out, struct fumi_err *e)
{
    /* Superseded notes are dropped afterwards: a filter would cost more. */
    const struct filter f = {
        .project = n->project, .since = INT64_MIN, .until = INT64_MAX, .superseded = true};
    const struct keyword_query q = {.text = query_of(a, n), .limit = LIMIT, .rare = RARE};
    struct keyword_hits found = {.notes = 0};
    struct collecting c = {a, n, &found.hits, out};
    const struct loading to = {a, collect, &c};
    struct notes none;
    int64_t seqs[LIMIT];
    out->n = 0;
    if (!q.text.n)
        return 0;
    if (store_match_keywords(m->view, a, &f, &q, &found, e))
        return -1;
    for (size_t i = 0; i < found.hits.n; i++)
        seqs[i] = found.hits.items[i].seq;
    return found.hits.n ? store_load_notes(m->view, &to, seqs, found.hits.n, &none, e) : 0;
}
