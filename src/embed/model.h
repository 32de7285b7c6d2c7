/* The packed file of a sentence encoder: weights, vocabulary and properties, mapped read-only. The
 * encoder works on the mapped bytes; nothing is copied (model_file.h describes the format). */
#ifndef FUMI_EMBED_MODEL_H
#define FUMI_EMBED_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "embed/embed.h"
#include "embed/encoder.h"

/* Immutable once opened: threads may share it. */
struct model;

/* Maps the file. Checks all sizes and offsets, so that a damaged file is refused or at least never
 * read out of bounds. Returns NULL with ERR_PROVIDER and a message that names the file and the
 * remedy. */
struct model *model_open(const char *path, struct fumi_err *e);
void model_close(struct model *m); /* m may be NULL */

/* Reads the whole file and compares its checksum. */
int model_verify(const struct model *m, struct fumi_err *e);

/* What these return is valid until model_close. */
const struct encoder_weights *model_weights(const struct model *m);
struct fumi_str model_name(const struct model *m); /* "all-MiniLM-L6-v2" */
bool model_english_only(const struct model *m);
/* What precedes every query and every other text before it is embedded: "query: "; often empty. */
struct fumi_str model_query_prefix(const struct model *m);
struct fumi_str model_passage_prefix(const struct model *m);
/* The most tokens of a text, with [CLS] and [SEP]. */
size_t model_max_tokens(const struct model *m);
const struct embed_calibration *model_calibration(const struct model *m); /* NULL: none */
void model_sha256(const struct model *m, char hex[64]); /* as stored in the header, not verified */

/* WordPiece tokens, exactly as in the training of the model. model_tokens returns the ids with
 * [CLS] and [SEP], at most `max` of them (and at least these two); model_tokens_at all tokens
 * without them, and their positions in the text. *n is set to their number. */
struct model_token {
    int32_t id;
    uint32_t begin, end; /* bytes */
};
const int32_t *model_tokens(const struct model *m, struct fumi_arena *a, struct fumi_str text,
                            size_t max, size_t *n);
struct model_token *model_tokens_at(const struct model *m, struct fumi_arena *a,
                                    struct fumi_str text, size_t *n);

/* The path of the model file, NUL-terminated, in the arena: $FUMI_MODEL (the file or its
 * directory); otherwise the first that exists of $XDG_DATA_HOME/fumi (~/.local/share/fumi),
 * share/fumi next to the program's bin directory, /usr/local/share/fumi and /usr/share/fumi, each
 * with fumi-minilm.bin. Returns a null string with *e set if there is none, or if FUMI_MODEL is set
 * and names no file. */
struct fumi_str model_find(struct fumi_arena *a, struct fumi_err *e);

#endif
