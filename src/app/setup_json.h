/* Editing JSON in place: what is not ours stays as it is, comments and all. */
#ifndef FUMI_APP_SETUP_JSON_H
#define FUMI_APP_SETUP_JSON_H

#include "app/setup.h"

/* A text and its values, which point into `plain`: the same text, byte for byte, with blanks for
 * comments and for commas behind the last of a list. */
struct setup_json {
    const struct setup_text *t;
    const char *plain;
    const struct fumi_val *root; /* an object; NULL: the text has none in it */
};

int setup_json_read(struct fumi_arena *a, const struct setup_text *t, bool strict,
                    struct setup_json *out, struct fumi_err *e);

/* Where a value begins and ends in the text. */
size_t setup_json_begin(const struct setup_json *j, const struct fumi_val *v);
size_t setup_json_end(const struct setup_json *j, const struct fumi_val *v);

/* The key of that name; of several the last, which is the one that counts for the agents. */
const struct fumi_val *setup_json_key(const struct fumi_val *object, const char *name);

/* Follows the names as far as they go: *n of them were found, and the value of the last is returned
 * (the root when there was none). -1 in *n: what is on the way is no object; *e says so. */
const struct fumi_val *setup_json_walk(const struct setup_json *j, const char *const *path, int *n,
                                       struct fumi_err *e);

/* A member or (name NULL) an element behind the last of a container. */
struct fumi_str setup_json_add(struct fumi_arena *a, const struct setup_json *j,
                               const struct fumi_val *container, const char *name,
                               struct fumi_str value);
struct fumi_str setup_json_replace(struct fumi_arena *a, const struct setup_json *j,
                                   const struct fumi_val *old, struct fumi_str value);
/* Without a key and its value, or without an element. */
struct fumi_str setup_json_remove(struct fumi_arena *a, const struct setup_json *j,
                                  const struct fumi_val *container, const struct fumi_val *item);

#endif
