/* Divides long texts into overlapping passages, preferably at the ends of paragraphs or sentences.
 */
#ifndef FUMI_EMBED_PASSAGES_H
#define FUMI_EMBED_PASSAGES_H

#include "embed/embed.h"
#include "embed/model.h"

/* Passages of at most `most` bytes, for embedders whose tokens are not known. Neighbours share
 * about `overlap` bytes, less than half of `most`. No character is divided. Together the passages
 * cover all bytes of the text; a short or empty text has one. */
struct text_ranges passages_by_bytes(struct fumi_arena *a, struct fumi_str text, size_t most,
                                     size_t overlap);

/* The same with `most` and `overlap` in tokens. `tokens` are all n tokens of the text
 * (model_tokens_at). */
struct text_ranges passages_by_tokens(struct fumi_arena *a, struct fumi_str text,
                                      const struct model_token *tokens, size_t n, size_t most,
                                      size_t overlap);

#endif
