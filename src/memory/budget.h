/* Fits results into a limit of tokens. The caller knows how the answer is written, and measures it;
 * this decides what it contains. The best result always comes. */
#ifndef FUMI_MEMORY_BUDGET_H
#define FUMI_MEMORY_BUDGET_H

#include "memory/memory.h"

struct budget {
    const struct answer_size *size; /* NULL: the texts alone count */
    size_t left;                    /* tokens */
    bool any;                       /* a result was taken */
    size_t missing;                 /* tokens that the first result needs beyond `left` */
};

/* Takes a result, whole or cut, if it fits; sets its note, `part`, `text_begin` and `text_end` to
 * what is returned. A result that follows another one is not cut further than to its best passage.
 * The first one is cut as far as necessary, around a word of the query, and loses members before
 * its text becomes very short. Returns false if it does not fit. */
bool budget_take(struct budget *b, struct result *r, struct fumi_str query);

/* The budget for the results of an answer: `max` tokens (0: unlimited) without those of the rest of
 * the answer. Sets f->terse if that would take too much: more than a quarter, or, if there are no
 * results, more than all. */
struct budget budget_begin(const struct answer_size *size, size_t max, struct found *f, bool any);

/* The error if not even the first result fits. Returns -1. */
int budget_refuse(const struct budget *b, size_t max, struct fumi_err *e);

#endif
