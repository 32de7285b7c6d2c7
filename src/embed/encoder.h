/* The encoder of BERT-type sentence models with 8-bit weights: token ids in, one vector of unit
 * length out. It has no files, text or mutable state; any thread may call it. The fastest code that
 * the processor supports is used (AVX-512 VNNI, AVX2, NEON or portable C); the vectors of all of
 * them agree to a cosine of at least 0.9999. */
#ifndef FUMI_EMBED_ENCODER_H
#define FUMI_EMBED_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An embedding table (of words, positions or token types): value = q * scale[row] + offset[row]. */
struct encoder_table {
    size_t rows, columns;
    const uint8_t *q;
    const float *scale, *offset; /* one per row */
};

/* A dense layer y = x W + bias. W[k][j] = scale[j] * w[k][j] + offset[j], with w from -128 to 127
 * stored as dense_pack does, aligned to 64 bytes. */
struct encoder_dense {
    size_t in, out;
    const int8_t *panels;
    const int32_t *sums; /* of each column of w */
    const float *scale, *offset, *bias;
};

/* LayerNorm. */
struct encoder_norm {
    const float *gain, *shift;
};

/* The attention, then the feed-forward part (expand to the inner size, GELU, contract). */
struct encoder_layer {
    struct encoder_dense query, key, value, attention_out, expand, contract;
    struct encoder_norm attention_norm, output_norm;
};

/* Which vector stands for a text: the mean over all its tokens, or that of the first one ([CLS]).
 */
enum encoder_pooling { ENCODER_MEAN, ENCODER_CLS };

/* Everything is borrowed and read-only. */
struct encoder_weights {
    size_t layers, hidden, heads, inner, positions;
    float epsilon;
    enum encoder_pooling pooling;
    struct encoder_table word_table, position_table, type_table;
    struct encoder_norm embedding_norm;
    const struct encoder_layer *layer;
};

/* The bytes that the panels of a matrix take (a multiple of 64), and the panels and the sums of the
 * columns of w[k * out + j]. The same panels serve all processors. */
size_t dense_panels_size(size_t in, size_t out);
void dense_pack(const int8_t *w, size_t in, size_t out, int8_t *panels, int32_t *sums);

/* 1 to `positions` tokens, with [CLS] and [SEP], each less than word_table.rows. */
struct encoder_text {
    const int32_t *tokens;
    size_t n;
};

/* Encodes n texts into n x hidden floats: vectors of unit length. */
void encoder_run(const struct encoder_weights *w, const struct encoder_text *texts, size_t n,
                 float *out);

#endif
