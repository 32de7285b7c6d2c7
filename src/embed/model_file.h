/* The format of the packed model file, shared by embed/ (reads) and pack/ (writes). */
#ifndef FUMI_EMBED_MODEL_FILE_H
#define FUMI_EMBED_MODEL_FILE_H

#include "embed/encoder.h"
#include "embed/wordpiece.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is read as it lies");

enum {
    MODEL_VERSION = 1,
    MODEL_ALIGN = 64, /* each part begins at such a byte */
    MODEL_NAME_MAX = 63,
    MODEL_LAYERS_MAX = 64,
};

enum { MODEL_ENGLISH_ONLY = 1u << 16 }; /* in `flags`, beside those of WordPiece */

#define MODEL_MAGIC "FUMIMODL"

/* At the beginning of the file. The parts follow in the order of model_lay; their places are a
 * matter of the numbers here. */
struct model_head {
    char magic[8];
    uint32_t version, head_size;
    unsigned char sha256[32]; /* of everything behind it */
    uint64_t size;            /* of the file */
    uint64_t order;           /* model_order: of the panels */
    uint32_t layers, hidden, heads, inner, positions, kinds, words;
    float epsilon;
    uint32_t flags, max_chars, cells, specials, inside;
    int32_t unknown, first, last; /* [UNK], [CLS], [SEP] */
    char name[MODEL_NAME_MAX + 1];
    char unused[64];
};
_Static_assert(sizeof(struct model_head) == 256, "part of the format");
#define MODEL_SUMMED offsetof(struct model_head, size) /* the first byte of the checksum */

/* The views of a file that lies at base, made from its head alone. */
struct model_views {
    struct encoder_weights weights;
    struct encoder_layer layer[MODEL_LAYERS_MAX];
    struct wordpiece pieces;
};

/* Fills the views (not to be moved afterwards) and returns the size of the file. The head's numbers
 * are within their limits (model_check_head). base NULL: only the size counts. */
size_t model_lay(const struct model_head *h, char *base, struct model_views *v);

/* NULL, or which number cannot be. */
const char *model_check_head(const struct model_head *h);

/* A number that changes with the order of dense_pack's panels. */
uint64_t model_order(void);

/* SHA-256 of n bytes. -1: the library refuses, which *e says. */
int model_sum(const void *bytes, size_t n, unsigned char out[32], struct fumi_err *e);

#endif
