/* Packs a published sentence encoder into the model file that embed/model.h maps. Used only by
 * "fumi model install": a server never packs. */
#ifndef FUMI_PACK_PACK_H
#define FUMI_PACK_PACK_H

#include "base/err.h"

/* Reads the model at `from`: a directory or a tar archive (plain or gzip) that contains either
 *   - a TensorFlow.js model (model.json and its .bin files) and a tokenizer.json, or
 *   - model.safetensors with config.json in the same directory, and a tokenizer.json.
 * The directory of tokenizer.json gives the model its name.
 *
 * Writes the packed model to `to` (mode 0644): to a temporary file first, which is then renamed, so
 * `to` is replaced completely or not at all. Returns -1 with ERR_PROVIDER if the source is missing,
 * damaged, too large or not a supported model, or if `to` cannot be written. */
int pack_model(const char *from, const char *to, struct fumi_err *e);

#endif
