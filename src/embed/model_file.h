/* The format of the packed model file, shared by embed/ (reads it) and pack/ (writes it).
 *
 * A header of 256 bytes; then, each aligned to 64 bytes, the cells of both tries, the embedding
 * tables, their LayerNorm, and the layers. The offset of each part follows from the dimensions in
 * the header (model_layout). All numbers are little endian. */
#ifndef FUMI_EMBED_MODEL_FILE_H
#define FUMI_EMBED_MODEL_FILE_H

#include "embed/encoder.h"
#include "embed/wordpiece.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is used as it is mapped");

enum {
    MODEL_VERSION = 1,
    MODEL_ALIGN = 64, /* of each part, in bytes */
    MODEL_NAME_MAX = 63,
    MODEL_LAYERS_MAX = 64,
};

enum { MODEL_ENGLISH_ONLY = 1u << 16 }; /* in `flags`, which also has those of WordPiece */

#define MODEL_MAGIC "FUMIMODL"

struct model_head {
    char magic[8];
    uint32_t version, head_size;
    unsigned char sha256[32]; /* of the file from MODEL_SUM_START on */
    uint64_t size;            /* of the file, in bytes */
    uint64_t panel_layout;    /* model_panel_layout */
    uint32_t layers, hidden, heads, inner, positions, types, words;
    float epsilon;
    uint32_t flags, max_chars, cells, specials, continuation;
    int32_t unk, cls, sep; /* the ids of [UNK], [CLS] and [SEP] */
    char name[MODEL_NAME_MAX + 1];
    char unused[64];
};
_Static_assert(sizeof(struct model_head) == 256, "part of the format");
#define MODEL_SUM_START offsetof(struct model_head, size)

/* Pointers to the parts of a file in memory. */
struct model_views {
    struct encoder_weights weights; /* points into `layer` */
    struct encoder_layer layer[MODEL_LAYERS_MAX];
    struct wordpiece pieces;
};

/* Sets *v to the parts of the file at `base`, and returns the size of the file. *v must not be
 * moved afterwards. The header must have passed model_check_head. With base NULL only the size is
 * valid.
 */
size_t model_layout(const struct model_head *h, char *base, struct model_views *v);

/* Returns NULL if all numbers of the header are in range; otherwise the name of one that is not. */
const char *model_check_head(const struct model_head *h);

/* A hash of the order in which dense_pack stores weights: a file with another one was written by a
 * version whose order was different. */
uint64_t model_panel_layout(void);

/* The SHA-256 of n bytes. Returns -1 with *e set if libcrypto fails. */
int model_checksum(const void *bytes, size_t n, unsigned char out[32], struct fumi_err *e);

#endif
