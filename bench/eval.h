/* Shared by the files of eval: data sets, vectors of many texts, stores, searches. A function that
 * fails prints a message and ends the program. Sets and vectors live until the program ends. */
#ifndef FUMI_BENCH_EVAL_H
#define FUMI_BENCH_EVAL_H

#include "memory/memory_parts.h"

#include <math.h>

enum { EVAL_TOP = 10, EVAL_SAMPLE = 2000 };

/* What follows from the command line. */
struct eval {
    const char *dir;  /* of the data sets */
    const char *work; /* for stores; removed at the end */
    size_t most;      /* queries per set */
    size_t crowd;     /* notes, see eval_crowd */
};

_Noreturn void eval_die(const char *what, const struct fumi_err *e);

/* eval_data.c: the files of a set. */

struct eval_doc {
    struct fumi_str space, id, text; /* the id is "SPACE/ID" */
    struct fumi_str session;
    int64_t created;
};

struct eval_query {
    struct fumi_str space, text, cat;
    struct fumi_strs rel; /* ids of the relevant documents */
    int64_t now;          /* the newest document of the space */
};

struct eval_set {
    const char *name;
    struct eval_doc *docs;
    size_t n_docs;
    struct eval_query *queries;
    size_t n_queries;
};

struct eval_pair {
    struct fumi_str a, b;
    double human;
};

struct eval_pairs {
    const char *name;
    struct eval_pair *items;
    size_t n;
};

struct eval_set eval_load_set(const struct eval *ev, const char *name);
struct eval_pairs eval_load_pairs(const struct eval *ev, const char *name);

/* eval_store.c: vectors, stores and searches, on all processors. */

/* Opens the local embedder. `gloss`: with the Japanese glossary. */
struct space *eval_space(bool gloss);
/* The vectors of n texts: one struct vectors for each. */
struct vectors *eval_embed(struct space *sp, const struct fumi_str *texts, size_t n);
struct vectors *eval_embed_docs(struct space *sp, const struct eval_set *set);

/* A store of its own. eval_fill adds documents in their order; `project` null: each document
 * belongs to the project that has the name of its space. */
struct memory *eval_open(const struct eval *ev, const char *name, bool gloss);
void eval_fill(struct memory *m, const struct eval_doc *docs, const struct vectors *v, size_t n,
               struct fumi_str project);

/* A query that is put to a project. */
struct eval_ask {
    const struct eval_query *query;
    struct fumi_str project;
    int64_t now;
};

/* Recall@1, @5 and @10 and the reciprocal rank of a query, or their means in percent. */
enum { EVAL_R1, EVAL_R5, EVAL_R10, EVAL_MRR, EVAL_FIGURES };
extern const char *const eval_figure_names[EVAL_FIGURES];

struct eval_answer {
    double figures[EVAL_FIGURES];
    double ms;
    enum confidence confidence;
};

struct eval_how {
    enum search_mode mode;
    unsigned off; /* SEARCH_NO_* */
};

/* Queries that are put to projects, and the answers. */
struct eval_asks {
    struct eval_ask *items;
    size_t n;
};

/* About `most` queries of a set, evenly spread, to one project; null: each to the project of its
 * space. The caller frees the items with fumi_resize, as those that eval_search returns. */
struct eval_asks eval_asks(const struct eval_set *set, size_t most, struct fumi_str project);
struct eval_answer *eval_search(struct memory *m, struct eval_how how,
                                const struct eval_asks *asks);
/* The means over the queries of a category; null: over all. */
struct eval_answer eval_mean(const struct eval_asks *asks, const struct eval_answer *answers,
                             struct fumi_str cat);
/* Searches, and returns the means over all queries. */
struct eval_answer eval_measure(struct memory *m, struct eval_how how,
                                const struct eval_asks *asks);

/* The parts of the ranking that are measured, switched off. */
enum {
    EVAL_OFF = SEARCH_NO_PIVOT | SEARCH_NO_NAMES | SEARCH_NO_NEIGHBOURS | SEARCH_NO_DATES,
};

/* Rounded to one digit, as targets are and as figures are printed. */
static inline double eval_round(double x)
{
    return round(x * 10) / 10;
}

static inline const char *eval_verdict(bool met)
{
    return met ? "met" : "MISSED";
}

/* The sections of the output. */
enum { EVAL_CRAN, EVAL_JSQUAD, EVAL_LOCOMO, EVAL_SETS };

struct eval_stored {
    struct eval_set set;
    struct vectors *vectors; /* of its documents */
    struct memory *m;
    struct eval_asks asks;      /* each query to its own space */
    struct eval_asks sample;    /* some of them */
    struct eval_answer *hybrid; /* the answers of the hybrid search to `asks`, by eval_retrieval */
};

void eval_retrieval(struct eval_stored sets[EVAL_SETS]);
void eval_gloss(const struct eval *ev, struct space *plain, const struct eval_stored *jsquad);
void eval_sentence_pairs(const struct eval *ev, struct space *sp, struct space *plain);
void eval_confidence(const struct eval_stored sets[EVAL_SETS]); /* deletes documents */
void eval_crowd(const struct eval *ev, struct space *sp, const struct eval_stored sets[EVAL_SETS]);

#endif
