/* Long texts as passages that overlap, with borders where a reader would put them. */
#ifndef FUMI_EMBED_PASSAGES_H
#define FUMI_EMBED_PASSAGES_H

#include "embed/embed.h"
#include "embed/model.h"

/* For embedders whose tokens nobody here knows: passages of at most `most` bytes, neighbours
 * sharing about `overlap` bytes (less than half of `most`). Never inside a character. Together they
 * cover every byte of the text; one for a short text, an empty one too. */
struct spans passages_by_bytes(struct fumi_arena *a, struct fumi_str text, size_t most,
                               size_t overlap);

/* The same by tokens (model_tokens_at), n of them: at most `most` in a passage. */
struct spans passages_by_tokens(struct fumi_arena *a, struct fumi_str text,
                                const struct model_token *tokens, size_t n, size_t most,
                                size_t overlap);

#endif
