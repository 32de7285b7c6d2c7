/* The embedder that needs nobody: the packed model (model.h) run in this process. */
#ifndef FUMI_EMBED_LOCAL_H
#define FUMI_EMBED_LOCAL_H

#include "embed/embed.h"

enum {
    LOCAL_TOKENS = 256, /* of a passage, [CLS] and [SEP] included */
    LOCAL_OVERLAP = 40, /* tokens that neighbours share, about */
};

/* Maps the file if it is there, else at the first call that finds it. Never NULL. The model in the
 * file must be the one of the config (none: embed_usual_model), since vectors are kept by its
 * name; another is refused by `embed`. Borrows the log. */
struct embedder *local_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e);

#endif
