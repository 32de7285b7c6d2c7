/* Many short notes on other subjects, in the same project as a set. They are made of halves of
 * sentences of the lists of pairs, three quarters English and the rest Japanese. */
#include "eval.h"

#include <stdio.h>
#include <string.h>

enum { QUERIES = 400, JAPANESE_EVERY = 4, SESSION_NOTES = 20 };

/* Recall@10 may fall by this much. */
static const double FALL = 5;

struct crowd {
    struct fumi_arena arena;
    struct eval_doc *docs;
    struct fumi_str *texts;
    struct vectors *vectors;
    size_t n;
};

static uint32_t roll(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(*dice >> 33);
}

/* The middle of a sentence: the blank or, without blanks, the character next to it. */
static size_t middle(struct fumi_str s)
{
    size_t at = s.n / 2;
    const char *blank = memchr(s.p + at, ' ', s.n - at);
    if (blank)
        return (size_t)(blank - s.p);
    while (at < s.n && ((unsigned char)s.p[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static struct fumi_str sentence(const struct eval_pairs *p, size_t i)
{
    const struct eval_pair *pair = &p->items[i / 2 % p->n];
    return i % 2 ? pair->a : pair->b;
}

static struct fumi_str splice(struct crowd *c, const struct eval_pairs *p, uint64_t *dice)
{
    struct fumi_str x = sentence(p, roll(dice)), y = sentence(p, roll(dice));
    size_t i = middle(x), k = middle(y);
    return fumi_fmt(&c->arena, "%.*s%.*s", (int)i, x.p, (int)(y.n - k), y.p + k);
}

static void make_texts(const struct eval *ev, struct crowd *c)
{
    const struct eval_pairs lists[] = {
        eval_load_pairs(ev, "stsb-en"),
        eval_load_pairs(ev, "sick-en"),
        eval_load_pairs(ev, "jsts"),
        eval_load_pairs(ev, "jsick"),
    };
    uint64_t dice = 1;
    c->n = ev->crowd;
    c->texts = fumi_alloc(&c->arena, (c->n + 1) * sizeof(*c->texts));
    for (size_t i = 0; i < c->n; i++) {
        bool japanese = i % JAPANESE_EVERY == 0;
        c->texts[i] = splice(c, &lists[2 * japanese + roll(&dice) % 2], &dice);
    }
}

/* Notes from the whole time of the set, in short sessions. */
static void make_docs(struct crowd *c, const struct eval_set *among)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < among->n_docs; i++) {
        int64_t ms = among->docs[i].created;
        first = ms < first ? ms : first;
        last = ms > last ? ms : last;
    }
    c->docs = fumi_alloc(&c->arena, (c->n + 1) * sizeof(*c->docs));
    for (size_t i = 0; i < c->n; i++)
        c->docs[i] = (struct eval_doc){
            .id = fumi_fmt(&c->arena, "crowd/%zu", i),
            .text = c->texts[i],
            .session = fumi_fmt(&c->arena, "crowd-%zu", i / SESSION_NOTES),
            .created = first + (int64_t)((double)(last - first) * (double)i / (double)c->n)};
}

static void measure_among(const struct eval *ev, struct crowd *c, const struct eval_stored *s)
{
    const struct eval_how off = {SEARCH_HYBRID, EVAL_OFF}, on = {SEARCH_HYBRID, 0};
    const struct fumi_str project = FUMI_STR("all");
    struct eval_asks asks = eval_asks(&s->set, QUERIES, project);
    struct memory *m = eval_open(ev, fumi_fmt(&c->arena, "crowd-%s", s->set.name).p, true);
    eval_fill(m, s->set.docs, s->vectors, s->set.n_docs, project);
    struct eval_answer off_alone = eval_measure(m, off, &asks), alone = eval_measure(m, on, &asks);
    make_docs(c, &s->set);
    eval_fill(m, c->docs, c->vectors, c->n, project);
    struct eval_answer off_among = eval_measure(m, off, &asks), among = eval_measure(m, on, &asks);
    double a = alone.figures[EVAL_R10], b = among.figures[EVAL_R10];
    printf("%-8s %8.1f %8.1f  %8.1f %8.1f %9.2f  %s\n", s->set.name, off_alone.figures[EVAL_R10],
           off_among.figures[EVAL_R10], a, b, among.ms, eval_verdict(b >= a - FALL));
    fflush(stdout);
    fumi_resize(asks.items, 0);
    memory_close(m);
}

void eval_crowd(const struct eval *ev, struct space *sp, const struct eval_stored sets[EVAL_SETS])
{
    struct crowd c = {.n = 0};
    make_texts(ev, &c);
    c.vectors = eval_embed(sp, c.texts, c.n);
    printf("\nRecall@10 of the hybrid search, a set in one project: alone, and among %zu short "
           "notes (may fall by 5)\n",
           c.n);
    printf("%-8s %17s  %17s\n", "", "before", "after");
    printf("%-8s %8s %8s  %8s %8s %9s\n", "set", "alone", "among", "alone", "among", "ms/query");
    for (size_t i = 0; i < EVAL_SETS; i++)
        measure_among(ev, &c, &sets[i]);
    fumi_arena_done(&c.arena);
}
