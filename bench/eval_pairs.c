/* Pairs of sentences: Spearman's rank correlation of cosine and human judgement. */
#include "eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double least; /* 0: no target */
} lists[] = {
    {"stsb-en", 0}, {"sick-en", 0}, {"jsts", 75}, {"jsick", 0}, {"xsick", 0},
};
enum { LISTS = FUMI_COUNT(lists) };

/* Different sentences in byte order, and their vectors. */
struct sentences {
    struct fumi_str *items;
    size_t n;
    struct vectors *v;
};

static int by_bytes(const void *x, const void *y)
{
    const struct fumi_str *a = x, *b = y;
    int c = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static struct sentences gather(const struct eval_pairs *pairs)
{
    struct sentences s = {.n = 0};
    size_t n = 0;
    for (size_t i = 0; i < LISTS; i++)
        n += 2 * pairs[i].n;
    s.items = fumi_resize(NULL, (n + 1) * sizeof(*s.items));
    n = 0;
    for (size_t i = 0; i < LISTS; i++)
        for (size_t k = 0; k < pairs[i].n; k++) {
            s.items[n++] = pairs[i].items[k].a;
            s.items[n++] = pairs[i].items[k].b;
        }
    qsort(s.items, n, sizeof(*s.items), by_bytes);
    for (size_t i = 0; i < n; i++)
        if (!s.n || by_bytes(&s.items[s.n - 1], &s.items[i]) != 0)
            s.items[s.n++] = s.items[i];
    return s;
}

static bool is_ascii(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

/* The same sentences with the vectors of another space, which differ only outside ASCII. */
static struct sentences embed_again(const struct sentences *s, struct space *plain)
{
    struct sentences out = {s->items, s->n, fumi_resize(NULL, (s->n + 1) * sizeof(*out.v))};
    struct fumi_str *texts = fumi_resize(NULL, (s->n + 1) * sizeof(*texts));
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!is_ascii(s->items[i]))
            texts[n++] = s->items[i];
    const struct vectors *v = eval_embed(plain, texts, n);
    for (size_t i = 0; i < s->n; i++)
        out.v[i] = is_ascii(s->items[i]) ? s->v[i] : *v++;
    fumi_resize(texts, 0);
    return out;
}

static const float *vector_of(const struct sentences *s, struct fumi_str text)
{
    const struct fumi_str *at = bsearch(&text, s->items, s->n, sizeof(text), by_bytes);
    return s->v[at - s->items].items[0].x;
}

/* A value and its place in the list. */
struct ranked {
    double value, rank;
    size_t at;
};

static int by_value(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    return (a->value > b->value) - (a->value < b->value);
}

static int by_place(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

/* Sets the ranks; equal values get their mean rank. */
static void rank(struct ranked *r, size_t n)
{
    qsort(r, n, sizeof(*r), by_value);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && r[j].value == r[i].value; j++) {}
        for (size_t k = i; k < j; k++)
            r[k].rank = (double)(i + j - 1) / 2;
    }
    qsort(r, n, sizeof(*r), by_place);
}

static double spearman(struct ranked *x, struct ranked *y, size_t n)
{
    double mean = (double)(n - 1) / 2, xy = 0, xx = 0, yy = 0;
    rank(x, n);
    rank(y, n);
    for (size_t i = 0; i < n; i++) {
        xy += (x[i].rank - mean) * (y[i].rank - mean);
        xx += (x[i].rank - mean) * (x[i].rank - mean);
        yy += (y[i].rank - mean) * (y[i].rank - mean);
    }
    return 100 * xy / sqrt(xx * yy);
}

static double correlation(const struct eval_pairs *p, const struct sentences *s)
{
    struct ranked *x = fumi_resize(NULL, (p->n + 1) * sizeof(*x));
    struct ranked *y = fumi_resize(NULL, (p->n + 1) * sizeof(*y));
    for (size_t i = 0; i < p->n; i++) {
        const float *a = vector_of(s, p->items[i].a), *b = vector_of(s, p->items[i].b);
        double dot = 0;
        for (size_t k = 0; k < s->v[0].dim; k++)
            dot += (double)a[k] * (double)b[k];
        x[i] = (struct ranked){dot, 0, i};
        y[i] = (struct ranked){p->items[i].human, 0, i};
    }
    double rho = spearman(x, y, p->n);
    fumi_resize(x, 0);
    fumi_resize(y, 0);
    return rho;
}

void eval_sentence_pairs(const struct eval *ev, struct space *sp, struct space *plain)
{
    struct eval_pairs pairs[LISTS];
    for (size_t i = 0; i < LISTS; i++)
        pairs[i] = eval_load_pairs(ev, lists[i].name);
    struct sentences with = gather(pairs);
    with.v = eval_embed(sp, with.items, with.n);
    struct sentences without = embed_again(&with, plain);
    printf("\nPairs of sentences: Spearman's correlation x 100\n");
    printf("%-8s %7s %10s %10s\n", "set", "pairs", "no gloss", "gloss");
    for (size_t i = 0; i < LISTS; i++) {
        double after = correlation(&pairs[i], &with);
        double before = correlation(&pairs[i], &without);
        printf("%-8s %7zu %10.1f %10.1f", lists[i].name, pairs[i].n, before, after);
        if (lists[i].least > 0)
            printf("  target %s", eval_verdict(eval_round(after) >= lists[i].least));
        printf("%s\n", after < before - 0.3 ? "  falls by more than 0.3: MISSED" : "");
        fflush(stdout);
    }
}
