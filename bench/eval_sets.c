/* Retrieval: each set by keywords, by vectors and by both, before and after the parts of the
 * ranking that can be switched off. */
#include "eval.h"

#include <stdio.h>

/* A figure may fall by this much between before and after. */
static const double LOSS = 0.3;

static const struct {
    const char *name;
    enum search_mode mode;
} modes[] = {{"words", SEARCH_WORDS}, {"meaning", SEARCH_MEANING}, {"hybrid", SEARCH_HYBRID}};

/* The least figures after; 0: no target. */
static const struct target {
    size_t set;
    enum search_mode mode;
    double least[EVAL_FIGURES];
} targets[] = {
    {EVAL_CRAN, SEARCH_WORDS, {[EVAL_R5] = 30.5, [EVAL_R10] = 40.1, [EVAL_MRR] = 52.3}},
    {EVAL_CRAN, SEARCH_HYBRID, {[EVAL_R5] = 32.8, [EVAL_R10] = 45.3, [EVAL_MRR] = 56.1}},
    {EVAL_JSQUAD, SEARCH_HYBRID, {[EVAL_R10] = 97.5}},
    {EVAL_LOCOMO, SEARCH_HYBRID, {[EVAL_R10] = 76.0}},
};

static const struct {
    const char *name;
    unsigned off;
} variants[] = {
    {"before", EVAL_OFF},
    {"pivot", EVAL_OFF & ~SEARCH_NO_PIVOT},
    {"names", EVAL_OFF & ~SEARCH_NO_NAMES},
    {"neighbours", EVAL_OFF & ~SEARCH_NO_NEIGHBOURS},
    {"dates", EVAL_OFF & ~SEARCH_NO_DATES},
    {"together", 0},
};
enum { VARIANTS = FUMI_COUNT(variants) };

static bool reaches(const double got[EVAL_FIGURES], const double least[EVAL_FIGURES])
{
    for (size_t k = 0; k < EVAL_FIGURES; k++)
        if (least[k] > 0 && eval_round(got[k]) < least[k])
            return false;
    return true;
}

static bool holds(const double before[EVAL_FIGURES], const double after[EVAL_FIGURES])
{
    for (size_t k = 0; k < EVAL_FIGURES; k++)
        if (after[k] < before[k] - LOSS)
            return false;
    return true;
}

static void print_figures(const double x[EVAL_FIGURES])
{
    for (size_t k = 0; k < EVAL_FIGURES; k++)
        printf(" %6.1f", x[k]);
}

/* Ends a row; says whether a figure falls. */
static void print_fall(const struct eval_answer *before, const struct eval_answer *after)
{
    printf("%s\n",
           holds(before->figures, after->figures) ? "" : "  falls by more than 0.3: MISSED");
    fflush(stdout);
}

/* Says whether the figures meet the target, if there is one, and whether they fall. */
static void print_verdict(size_t set, enum search_mode mode, const struct eval_answer *before,
                          const struct eval_answer *after)
{
    for (size_t i = 0; i < FUMI_COUNT(targets); i++)
        if (targets[i].set == set && targets[i].mode == mode)
            printf("  target %s", eval_verdict(reaches(after->figures, targets[i].least)));
    print_fall(before, after);
}

static void print_change(size_t set, size_t mode, const struct eval_set *of,
                         const struct eval_answer x[2])
{
    printf("%-8s %-8s", of->name, modes[mode].name);
    print_figures(x[0].figures);
    putchar(' ');
    print_figures(x[1].figures);
    printf(" %9.2f", x[1].ms);
    print_verdict(set, modes[mode].mode, &x[0], &x[1]);
}

static const struct fumi_str all_categories = {NULL, 0};

static void measure_set(size_t set, struct eval_stored *s)
{
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct eval_answer *after = eval_search(s->m, (struct eval_how){modes[i].mode, 0},
                                                &s->asks);
        const struct eval_answer x[] = {
            eval_measure(s->m, (struct eval_how){modes[i].mode, EVAL_OFF}, &s->asks),
            eval_mean(&s->asks, after, all_categories)};
        print_change(set, i, &s->set, x);
        if (modes[i].mode == SEARCH_HYBRID)
            s->hybrid = after;
        else
            fumi_resize(after, 0);
    }
}

static void measure_modes(struct eval_stored sets[EVAL_SETS])
{
    printf("Retrieval, before and after\n");
    printf("%-17s %27s  %27s\n", "", "before", "after");
    printf("%-8s %-8s %6s %6s %6s %6s  %6s %6s %6s %6s %9s\n", "set", "mode", "R@1", "R@5", "R@10",
           "MRR", "R@1", "R@5", "R@10", "MRR", "ms/query");
    for (size_t i = 0; i < EVAL_SETS; i++)
        measure_set(i, &sets[i]);
}

/* The means of one category in all variants, a row for each figure. */
static void print_variants(const struct eval_stored *s, struct eval_answer *const answers[VARIANTS],
                           struct fumi_str cat)
{
    struct eval_answer mean[VARIANTS];
    for (size_t v = 0; v < VARIANTS; v++)
        mean[v] = eval_mean(&s->sample, answers[v], cat);
    for (size_t k = 0; k < EVAL_FIGURES; k++) {
        printf("%-8s %-12.*s %-5s", s->set.name, FUMI_ARG(cat), eval_figure_names[k]);
        for (size_t v = 0; v < VARIANTS; v++)
            printf(" %10.1f", mean[v].figures[k]);
        putchar('\n');
    }
}

/* The table of each category, in the order of their first queries, if there are several. */
static void print_categories(const struct eval_stored *s,
                             struct eval_answer *const answers[VARIANTS])
{
    struct fumi_str seen[16];
    size_t n = 0;
    for (size_t i = 0, k; i < s->sample.n && n < FUMI_COUNT(seen); i++) {
        struct fumi_str cat = s->sample.items[i].query->cat;
        for (k = 0; k < n && !fumi_eq(seen[k], cat); k++) {}
        if (k == n)
            seen[n++] = cat;
    }
    for (size_t i = 0; n > 1 && i < n; i++)
        print_variants(s, answers, seen[i]);
}

static void measure_variants(const struct eval_stored *s)
{
    struct eval_answer *answers[VARIANTS];
    for (size_t v = 0; v < VARIANTS; v++)
        answers[v] = eval_search(s->m, (struct eval_how){SEARCH_HYBRID, variants[v].off},
                                 &s->sample);
    print_variants(s, answers, all_categories);
    print_categories(s, answers);
    fflush(stdout);
    for (size_t v = 0; v < VARIANTS; v++)
        fumi_resize(answers[v], 0);
}

void eval_retrieval(struct eval_stored sets[EVAL_SETS])
{
    measure_modes(sets);
    printf("\nHybrid search: each part alone, and all (at most %d queries per set)\n%-27s",
           EVAL_SAMPLE, "");
    for (size_t v = 0; v < VARIANTS; v++)
        printf(" %10s", variants[v].name);
    putchar('\n');
    for (size_t i = 0; i < EVAL_SETS; i++)
        measure_variants(&sets[i]);
}

/* Four searches: without the glossary, and with it; each before and after. */
static void compare_gloss(const struct eval_stored *s, struct memory *plain, size_t mode)
{
    const struct eval_how off = {modes[mode].mode, EVAL_OFF}, on = {modes[mode].mode, 0};
    const struct eval_answer x[] = {
        eval_measure(plain, off, &s->sample), eval_measure(plain, on, &s->sample),
        eval_measure(s->m, off, &s->sample), eval_measure(s->m, on, &s->sample)};
    for (size_t k = 0; k < EVAL_FIGURES; k++) {
        printf("%-8s %-8s %-5s", s->set.name, modes[mode].name, eval_figure_names[k]);
        for (size_t i = 0; i < FUMI_COUNT(x); i++)
            printf(" %9.1f", x[i].figures[k]);
        if (k < EVAL_FIGURES - 1)
            putchar('\n');
    }
    print_fall(&x[0], &x[FUMI_COUNT(x) - 1]);
}

void eval_gloss(const struct eval *ev, struct space *plain, const struct eval_stored *jsquad)
{
    struct memory *m = eval_open(ev, "plain", false);
    struct vectors *v = eval_embed_docs(plain, &jsquad->set);
    eval_fill(m, jsquad->set.docs, v, jsquad->set.n_docs, (struct fumi_str){0});
    printf("\nJapanese without and with the glossary\n");
    printf("%-23s %9s %9s %9s %9s\n", "", "neither", "the parts", "glossary", "both");
    for (size_t i = 1; i < FUMI_COUNT(modes); i++)
        compare_gloss(jsquad, m, i);
    memory_close(m);
}
