/* The format of the packed model file, shared by embed/ (reads it) and pack/ (writes it).
 *
 * A header of 768 bytes (256 in version 1); then, each aligned to 64 bytes, the cells of both
 * tries, the embedding tables, their LayerNorm, and the layers. The offset of each part follows
 * from the dimensions in the header (model_layout). All numbers are little endian. */
#ifndef FUMI_EMBED_MODEL_FILE_H
#define FUMI_EMBED_MODEL_FILE_H

#include "embed/embed.h"
#include "embed/encoder.h"
#include "embed/wordpiece.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is used as it is mapped");

enum {
    MODEL_VERSION = 2,
    MODEL_HEAD_1 = 256, /* bytes of the header in version 1 */
    MODEL_ALIGN = 64,   /* of each part, in bytes */
    MODEL_NAME_MAX = 63,
    MODEL_PREFIX_MAX = 255,
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
    /* The rest is since version 2. In files of version 1 it counts as zero. */
    uint32_t pooling;    /* enum encoder_pooling */
    uint32_t max_tokens; /* of a text, with [CLS] and [SEP]; 0: as many as there are positions */
    uint32_t calibrated; /* 1: there is a calibration; 0: it is zero */
    uint32_t unused;
    struct embed_calibration calibration;
    char unused_too[16];
    char query_prefix[MODEL_PREFIX_MAX + 1]; /* UTF-8, as are the name and the other prefix */
    char passage_prefix[MODEL_PREFIX_MAX + 1];
};
_Static_assert(sizeof(struct model_head) == 768, "part of the format");
_Static_assert(offsetof(struct model_head, query_prefix) == MODEL_HEAD_1, "part of the format");
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

/* Returns NULL if all members of the header are valid; otherwise the name of one that is not. */
const char *model_check_head(const struct model_head *h);

/* A hash of the order in which dense_pack stores weights: a file with another one was written by a
 * version whose order was different. */
uint64_t model_panel_layout(void);

/* The SHA-256 of n bytes. Returns -1 with *e set if libcrypto fails. */
int model_checksum(const void *bytes, size_t n, unsigned char out[32], struct fumi_err *e);

#endif
