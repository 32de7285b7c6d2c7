/* Packs a published sentence encoder into the model file that embed/model.h maps, and a dictionary
 * into that of embed/gloss.h. Used only by "fumi model install": a server never packs. */
#ifndef FUMI_PACK_PACK_H
#define FUMI_PACK_PACK_H

#include "base/err.h"
#include "embed/embed.h"

enum pack_pooling { PACK_PUBLISHED, PACK_MEAN, PACK_CLS };

/* What the user states about the model. It has priority over the files of the model. */
struct pack_options {
    struct fumi_str name; /* empty: see pack_model */
    enum pack_pooling pooling;
    struct fumi_str query_prefix, passage_prefix; /* null: as published; empty: none */
    const struct embed_calibration *calibration;  /* NULL: that of a known model, or none */
};

/* Reads the model at `from`: a directory or a tar archive (plain or gzip) that contains either
 *   - a TensorFlow.js model (model.json and its .bin files) and a tokenizer.json, or
 *   - model.safetensors with config.json in the same directory, and a tokenizer.json.
 * The directory of tokenizer.json gives the model its name; the files that describe it are listed
 * in description.c.
 *
 * Writes the packed model to `to` (mode 0644): to a temporary file first, which is then renamed, so
 * `to` is replaced completely or not at all. Returns -1 with ERR_PROVIDER if the source is missing,
 * damaged, too large or not a supported model, or if `to` cannot be written. */
int pack_model(const char *from, const char *to, const struct pack_options *o, struct fumi_err *e);

/* The same for the dictionary EDICT (EUC-JP, as Debian's package edict installs it), packed into
 * the file that embed/gloss.h maps. pack_is_edict looks at the first bytes only. */
bool pack_is_edict(const char *from);
int pack_edict(const char *from, const char *to, struct fumi_err *e);

#endif
