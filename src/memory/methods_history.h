/* How changes and their authors are shown: shared by methods_history.c and methods_review.c. */
#ifndef FUMI_MEMORY_METHODS_HISTORY_H
#define FUMI_MEMORY_METHODS_HISTORY_H

#include "memory/methods_parts.h"

struct claimed_client {
    struct fumi_str client, version;
};

/* What the server knows itself, and what the client says of itself. */
struct change_author {
    struct fumi_str transport, user, session;
    struct fumi_json claimed;
};
extern const struct fumi_shape change_author_shape;
struct change_author change_author(struct fumi_arena *a, const struct author *by);

/* "add", "update", ... */
struct fumi_str change_op_name(enum change_op op);

#endif
