/* What the confidence of an answer says about queries that have an answer in the store and about
 * queries that have none. */
#include "eval.h"

#include <stdio.h>

enum { QUERIES = 600, HARD_EVERY = 5, HARD_QUERIES = 400 };

/* Limits in percent. */
static const double ANSWERED_NONE = 3, FIRST_HIGH = 70, FOREIGN_HIGH = 3, FOREIGN_LOW = 90;

struct counts {
    double n, of[CONFIDENCE_HIGH + 1];
    double first, first_high; /* answers that begin with evidence, and those with high confidence */
};

static void count(struct counts *c, const struct eval_answer *answers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool first = answers[i].figures[EVAL_R1] > 0;
        c->n++;
        c->of[answers[i].confidence]++;
        c->first += first;
        c->first_high += first && answers[i].confidence == CONFIDENCE_HIGH;
    }
}

static double percent(double x, double of)
{
    return of > 0 ? 100 * x / of : 0;
}

static void print_row(const char *kind, const char *what, const struct counts *c)
{
    printf("%-14s %-28s %6.0f", kind, what, c->n);
    for (size_t i = 0; i < FUMI_COUNT(c->of); i++)
        printf(" %6.1f", percent(c->of[i], c->n));
    if (c->first > 0)
        printf(" %6.1f", percent(c->first_high, c->first));
}

static void print_answerable(const char *what, const struct counts *c)
{
    bool none = eval_round(percent(c->of[CONFIDENCE_NONE], c->n)) <= ANSWERED_NONE;
    bool high = eval_round(percent(c->first_high, c->first)) >= FIRST_HIGH;
    print_row("answerable", what, c);
    printf("  none <= 3: %s, first high >= 70: %s\n", eval_verdict(none), eval_verdict(high));
}

static void print_unanswerable(const char *what, const struct counts *c)
{
    double low = c->of[CONFIDENCE_NONE] + c->of[CONFIDENCE_LOW];
    bool met = eval_round(percent(low, c->n)) >= FOREIGN_LOW &&
               eval_round(percent(c->of[CONFIDENCE_HIGH], c->n)) <= FOREIGN_HIGH;
    print_row("unanswerable", what, c);
    printf("         high <= 3: %s\n", eval_verdict(met));
    fflush(stdout);
}

static struct counts ask(struct memory *m, const struct eval_asks *asks)
{
    struct counts c = {.n = 0};
    struct eval_answer *answers = eval_search(m, (struct eval_how){SEARCH_HYBRID, 0}, asks);
    count(&c, answers, asks->n);
    fumi_resize(answers, 0);
    return c;
}

static void add(struct counts *to, const struct counts *c)
{
    to->n += c->n, to->first += c->first, to->first_high += c->first_high;
    for (size_t i = 0; i < FUMI_COUNT(c->of); i++)
        to->of[i] += c->of[i];
}

static void measure_answerable(const struct eval_stored sets[EVAL_SETS])
{
    struct counts all = {.n = 0};
    for (size_t i = 0; i < EVAL_SETS; i++) {
        struct counts c = {.n = 0};
        count(&c, sets[i].hybrid, sets[i].asks.n);
        print_answerable(sets[i].set.name, &c);
        add(&all, &c);
    }
    print_answerable("all", &all);
}

/* Puts query i to the space of document i x stride of the other set: to all of its spaces in turn.
 * If that is its own, as may happen within a set, to the space of the next document that differs.
 */
static void redirect(struct eval_asks *asks, const struct eval_set *to)
{
    const size_t stride = 997;
    for (size_t i = 0; i < asks->n; i++) {
        size_t at = i * stride % to->n_docs;
        while (fumi_eq(to->docs[at].space, asks->items[i].query->space))
            at = (at + 1) % to->n_docs;
        asks->items[i].project = to->docs[at].space;
    }
}

/* The time at which each query is asked is that of the notes that it is put to. */
static void set_now(struct eval_asks *asks, const struct eval_set *to)
{
    for (size_t i = 0; i < asks->n; i++)
        for (size_t k = 0; k < to->n_queries; k++)
            if (fumi_eq(to->queries[k].space, asks->items[i].project)) {
                asks->items[i].now = to->queries[k].now;
                break;
            }
}

static void measure_unanswerable(const struct eval_stored sets[EVAL_SETS])
{
    struct counts all = {.n = 0};
    for (size_t from = 0; from < EVAL_SETS; from++)
        for (size_t to = 0; to < EVAL_SETS; to++) {
            if (from == to && from != EVAL_LOCOMO)
                continue;
            char what[64];
            struct eval_asks asks = eval_asks(&sets[from].set, QUERIES, (struct fumi_str){0});
            redirect(&asks, &sets[to].set);
            set_now(&asks, &sets[to].set);
            struct counts c = ask(sets[to].m, &asks);
            snprintf(what, sizeof(what), "%s to %s%s", sets[from].set.name,
                     from == to ? "other " : "", sets[to].set.name);
            print_unanswerable(what, &c);
            add(&all, &c);
            fumi_resize(asks.items, 0);
        }
    print_unanswerable("all", &all);
}

/* Deletes the evidence of these queries. What one query has as evidence may be missing as context
 * of another, so only a part of the queries is used. */
static void delete_evidence(struct memory *m, const struct eval_asks *asks)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < asks->n; i++) {
        const struct fumi_strs *rel = &asks->items[i].query->rel;
        for (size_t k = 0; k < rel->n; k++)
            if (store_delete(memory_store(m), &a, rel->items[k], NULL, &e) &&
                e.code != ERR_NOT_FOUND)
                eval_die("delete", &e);
    }
    fumi_arena_done(&a);
}

static void measure_hard(const struct eval_stored sets[EVAL_SETS])
{
    for (size_t i = 0; i < EVAL_SETS; i++) {
        const struct eval_set *set = &sets[i].set;
        size_t most = set->n_queries / HARD_EVERY < HARD_QUERIES ? set->n_queries / HARD_EVERY
                                                                 : HARD_QUERIES;
        struct eval_asks asks = eval_asks(set, most ? most : 1, (struct fumi_str){0});
        delete_evidence(sets[i].m, &asks);
        struct counts c = ask(sets[i].m, &asks);
        print_row("hard", set->name, &c);
        putchar('\n');
        fumi_resize(asks.items, 0);
    }
}

void eval_confidence(const struct eval_stored sets[EVAL_SETS])
{
    printf("\nConfidence of answers: share of queries in percent (hard: evidence deleted; first "
           "high: of those whose evidence ranks first)\n");
    printf("%-14s %-28s %6s %6s %6s %6s %6s\n", "queries", "set", "n", "none", "low", "high",
           "first");
    measure_answerable(sets);
    measure_unanswerable(sets);
    measure_hard(sets);
    fflush(stdout);
}
