/* Measures the quality of search on published data sets. DIRECTORY contains NAME.docs.jsonl and
 * NAME.queries.jsonl of each set, and NAME.sts.jsonl for pairs of sentences.
 *
 * Usage: eval DIRECTORY [QUERIES [NOTES]]
 *
 * QUERIES limits the number of queries per set, evenly spread. NOTES, if not 0, replaces all other
 * tables by one: each set among that many short notes.
 *
 * Recall@k (R@k) is the share of the relevant documents among the first k results. MRR is the
 * mean of 1 / rank of the first relevant result. Both are averaged over all queries, in percent.
 * "Before" is the search without the length pivot, names, neighbours and dates (enum SEARCH_NO_*).
 * Each space of a set is a project. Targets are printed as met or MISSED. */
#include "eval.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[EVAL_SETS] = {
    [EVAL_CRAN] = "cran", [EVAL_JSQUAD] = "jsquad", [EVAL_LOCOMO] = "locomo"};

void eval_die(const char *what, const struct fumi_err *e)
{
    fprintf(stderr, "eval: %s: %s\n", what, e ? e->text : "failed");
    exit(1);
}

static void open_sets(const struct eval *ev, struct space *sp, struct eval_stored sets[EVAL_SETS])
{
    for (size_t i = 0; i < EVAL_SETS; i++)
        sets[i].set = eval_load_set(ev, names[i]);
    for (size_t i = 0; i < EVAL_SETS; i++) {
        sets[i].vectors = eval_embed_docs(sp, &sets[i].set);
        sets[i].m = eval_open(ev, names[i], true);
        eval_fill(sets[i].m, sets[i].set.docs, sets[i].vectors, sets[i].set.n_docs,
                  (struct fumi_str){0});
        sets[i].asks = eval_asks(&sets[i].set, ev->most, (struct fumi_str){0});
        sets[i].sample = eval_asks(&sets[i].set, ev->most < EVAL_SAMPLE ? ev->most : EVAL_SAMPLE,
                                   (struct fumi_str){0});
    }
}

static void measure_all(const struct eval *ev, struct space *sp, struct eval_stored sets[EVAL_SETS])
{
    struct space *plain = eval_space(false);
    eval_retrieval(sets);
    eval_gloss(ev, plain, &sets[EVAL_JSQUAD]);
    eval_sentence_pairs(ev, sp, plain);
    eval_confidence(sets); /* deletes documents */
    space_put(plain);
}

static void run(const struct eval *ev)
{
    struct eval_stored sets[EVAL_SETS] = {0};
    struct space *sp = eval_space(true);
    open_sets(ev, sp, sets);
    if (ev->crowd)
        eval_crowd(ev, sp, sets);
    else
        measure_all(ev, sp, sets);
    for (size_t i = 0; i < EVAL_SETS; i++)
        memory_close(sets[i].m);
    space_put(sp);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static size_t number(int argc, char **argv, int at, size_t standard)
{
    return argc > at ? strtoul(argv[at], NULL, 10) : standard;
}

int main(int argc, char **argv)
{
    char work[] = "/tmp/fumi-eval-XXXXXX";
    if (argc < 2 || !mkdtemp(work)) {
        fprintf(stderr, "usage: eval DIRECTORY [QUERIES [NOTES]]\n");
        return 2;
    }
    run(&(struct eval){.dir = argv[1],
                       .work = work,
                       .most = number(argc, argv, 2, SIZE_MAX),
                       .crowd = number(argc, argv, 3, 0)});
    nftw(work, drop, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
