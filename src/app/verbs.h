/* Commands whose first word says what to do: `fumi groups add KEY TITLE`. Without a word, the first
 * verb of the table is meant. */
#ifndef FUMI_APP_VERBS_H
#define FUMI_APP_VERBS_H

#include "app/session.h"

enum { VERB_WORDS = 3 };

struct verb {
    const char *name, *usage;       /* usage: the words after the name */
    const char *method;             /* that is called; NULL: `run` */
    const char *params[VERB_WORDS]; /* which the words after the name give, in this order */
    size_t least, most;             /* number of these words */
    /* Writes further params of the method into the open object; NULL: none. Returns -1 with *e set.
     */
    int (*put)(struct invocation *i, struct session *s, struct fumi_out *o, struct fumi_err *e);
    /* What is done instead of a method, without an open store. *result lives in i->a. */
    int (*run)(struct invocation *i, const struct fumi_val **result, struct fumi_err *e);
    const struct fumi_shape *result;                                    /* of `run` */
    void (*print)(struct invocation *i, const struct fumi_val *result); /* NULL: prints nothing */
};

/* Returns the verb with that name, or NULL. */
const struct verb *verb_find(const struct command *c, struct fumi_str name);

/* The run function of a command with verbs. The words that `put`, `run` and `print` see are those
 * after the name of the verb. */
int verb_run(struct invocation *i);

#endif
