/* Keeps secrets out of what is written: each text of a note, group or global is searched for them
 * before it is stored. */
#ifndef FUMI_MEMORY_GUARD_H
#define FUMI_MEMORY_GUARD_H

#include "model/note.h"
#include "model/secrets.h"

struct guard {
    struct fumi_arena *a; /* masked texts live there */
    enum secrets_mode mode;
    const char *where; /* stands before the name of a field in errors ("patch."); NULL: nothing */
    struct secrets_found found; /* what was masked, in all */
};

/* SECRETS_MASK: replaces texts that hold secrets by masked ones and counts the secrets.
 * SECRETS_REFUSE: -1 at the first one; *e names the field, the kind and the remedy. SECRETS_ALLOW:
 * does nothing. Of a note title, text, source, tags and the strings in its metadata are guarded, of
 * a group title and description, of a global the strings in its value. Names that identify
 * (project, group, key) stay as they are. */
int guard_note(struct guard *g, struct note *n, struct fumi_err *e);
int guard_group(struct guard *g, struct group *group, struct fumi_err *e);
int guard_global(struct guard *g, struct global *global, struct fumi_err *e);

/* "masked 1 value that looks like a GitHub token", and `other` (null: none) behind it; null: there
 * is neither. */
struct fumi_str guard_warning(const struct guard *g, struct fumi_str other);

#endif
