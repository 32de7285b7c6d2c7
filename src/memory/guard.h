/* Keeps secrets out of the store: the texts of a note, group or global are searched for secrets
 * before they are stored. A guard is used by one thread. */
#ifndef FUMI_MEMORY_GUARD_H
#define FUMI_MEMORY_GUARD_H

#include "model/note.h"
#include "model/secrets.h"

struct guard {
    struct fumi_arena *a; /* holds the masked texts */
    enum secrets_mode mode;
    const char *where;          /* prefix of field names in errors ("patch."); NULL: none */
    struct secrets_found found; /* everything that was masked so far */
};

/* SECRETS_MASK: replaces texts that contain secrets by masked ones and counts the secrets.
 * SECRETS_REFUSE: returns -1 at the first secret; *e names the field, the kind and the remedy.
 * SECRETS_ALLOW: does nothing.
 *
 * Guarded are the title, text, source, tags and strings in the metadata of a note; the title and
 * the description of a group; the strings in the value of a global. Identifiers (project, group,
 * key) are not. */
int guard_note(struct guard *g, struct note *n, struct fumi_err *e);
int guard_group(struct guard *g, struct group *group, struct fumi_err *e);
int guard_global(struct guard *g, struct global *global, struct fumi_err *e);

/* A warning about what was masked ("masked 1 value that looks like a GitHub token"), followed by
 * the warning `other` (null: none). Returns null if there is nothing to warn about. */
struct fumi_str guard_warning(const struct guard *g, struct fumi_str other);

#endif
