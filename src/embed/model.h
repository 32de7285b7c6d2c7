/* The packed file of a sentence encoder: weights, vocabulary and facts about it, mapped read-only.
 *
 * Layout (little endian): a header of fixed size with magic "FUMIMODL", version, the SHA-256 of all
 * that follows it, and dimensions, from which follows where each part begins; parts aligned to 64
 * bytes, the dense layers as encoder.h's panels, so that nothing is copied or changed on the way to
 * the processor (model_file.h has the details). */
#ifndef FUMI_EMBED_MODEL_H
#define FUMI_EMBED_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "embed/encoder.h"

struct model; /* never changes after it was opened: threads share it */

/* Maps it. Sizes and offsets are checked, so that a damaged file is refused and never read out of
 * bounds; the checksum only by model_verify (it reads all of it). NULL with *e: ERR_PROVIDER, with
 * a sentence that names the file and the remedy ("run fumi model install"). */
struct model *model_open(const char *path, struct fumi_err *e);
void model_close(struct model *m);
int model_verify(const struct model *m, struct fumi_err *e);

const struct encoder_weights *model_weights(const struct model *m);
struct fumi_str model_name(const struct model *m); /* "all-MiniLM-L6-v2" */
bool model_english_only(const struct model *m);
void model_sha256(const struct model *m, char hex[64]); /* as the header has it */

/* WordPiece, exactly as the model was trained. Tokens of a text with [CLS] and [SEP], at most `max`
 * of them; *n gets how many. */
const int32_t *model_tokens(const struct model *m, struct fumi_arena *a, struct fumi_str text,
                            size_t max, size_t *n);
/* The same without [CLS] and [SEP], and where in the text each begins and ends. */
struct model_token {
    int32_t id;
    uint32_t begin, end; /* bytes */
};
struct model_token *model_tokens_at(const struct model *m, struct fumi_arena *a,
                                    struct fumi_str text, size_t *n);

/* The first that exists, in the arena: FUMI_MODEL in the environment; share/fumi beside the
 * program's directory; $XDG_DATA_HOME/fumi (~/.local/share/fumi); /usr/local/share/fumi;
 * /usr/share/fumi; each with fumi-minilm.bin. Terminated. Null with *e: none, with the remedy.
 * FUMI_MODEL is the file or its directory; when it names neither, that is an error and the others
 * are not tried. */
struct fumi_str model_find(struct fumi_arena *a, struct fumi_err *e);

#endif
