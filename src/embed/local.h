/* The embedder "local": runs the packed model (model.h) in this process. */
#ifndef FUMI_EMBED_LOCAL_H
#define FUMI_EMBED_LOCAL_H

#include "embed/embed.h"

enum {
    LOCAL_TOKENS = 256, /* in a passage, including [CLS], [SEP] and the prefix of the model */
    LOCAL_OVERLAP = 40, /* tokens that neighbouring passages share, about */
};

/* Never returns NULL. Maps the model file now or, if it does not exist yet, at the first call that
 * finds it. Vectors are stored by the name of the model, so `embed` fails if the file has another
 * model than the configuration. `log` must outlive the embedder. */
struct embedder *local_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e);

#endif
