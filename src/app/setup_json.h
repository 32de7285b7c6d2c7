/* Edits JSON texts in place: everything else, including comments and layout, stays as it is.
 * Returned texts live in the arena. */
#ifndef FUMI_APP_SETUP_JSON_H
#define FUMI_APP_SETUP_JSON_H

#include "app/setup.h"

/* A text and its values. The values point into `plain`, a copy of the text in which comments and
 * trailing commas are replaced by blanks, so that offsets are the same in both. */
struct setup_json {
    const struct setup_text *t;
    const char *plain;
    const struct fumi_val *root; /* an object; NULL: the text is empty */
};

/* Parses a text. `strict`: comments and trailing commas are errors. */
int setup_json_read(struct fumi_arena *a, const struct setup_text *t, bool strict,
                    struct setup_json *out, struct fumi_err *e);

/* The offset of a value in the text. */
size_t setup_json_begin(const struct setup_json *j, const struct fumi_val *v);

/* The key of that name; the last one if there are several, as agents read it. Returns NULL if there
 * is none, or if `object` is no object. */
const struct fumi_val *setup_json_key(const struct fumi_val *object, const char *name);

/* Follows a path of names. *n is the number of names that were found; returns the value of the last
 * of them, or the root. If a value on the path is no object, *n is -1, *e is set, and NULL is
 * returned. */
const struct fumi_val *setup_json_walk(const struct setup_json *j, const char *const *path, int *n,
                                       struct fumi_err *e);

/* Adds a member, or an element if `name` is NULL, at the end of a container. */
struct fumi_str setup_json_add(struct fumi_arena *a, const struct setup_json *j,
                               const struct fumi_val *container, const char *name,
                               struct fumi_str value);
/* Replaces a value. */
struct fumi_str setup_json_replace(struct fumi_arena *a, const struct setup_json *j,
                                   const struct fumi_val *old, struct fumi_str value);
/* Removes a key with its value, or an element. */
struct fumi_str setup_json_remove(struct fumi_arena *a, const struct setup_json *j,
                                  const struct fumi_val *container, const struct fumi_val *item);

#endif
