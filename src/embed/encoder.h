/* The encoder of BERT-type sentence models, on 8-bit weights. It knows no file and no text: token
 * numbers in, one vector of unit length out. The best code for the processor is picked at run time
 * (AVX-512 VNNI, AVX2, NEON, portable C); all agree to a cosine of 0.9999 or better. */
#ifndef FUMI_EMBED_ENCODER_H
#define FUMI_EMBED_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table of rows (word, position and token-type embeddings): value = q * scale[row] + offset[row].
 */
struct encoder_table {
    size_t rows, columns;
    const uint8_t *q;
    const float *scale, *offset; /* one for each row */
};

/* A dense layer y = x W + bias. W[k][j] = scale[j] * w[k][j] + offset[j], w of -128 to 127 in the
 * order that dense_pack makes, aligned to 64 bytes. */
struct encoder_dense {
    size_t in, out;
    const int8_t *panels;
    const int32_t *sums; /* of each column of w, `out` of them */
    const float *scale, *offset, *bias;
};

struct encoder_norm {
    const float *gain, *shift;
};

struct encoder_layer {
    struct encoder_dense query, key, value, mix, grow, shrink; /* mix: behind the attention */
    struct encoder_norm after_mix, after_shrink;
};

/* Everything is borrowed and read-only, so threads share it. */
struct encoder_weights {
    size_t layers, hidden, heads, inner, positions;
    float epsilon;
    struct encoder_table words, places, kinds;
    struct encoder_norm first;
    const struct encoder_layer *layer;
};

/* Bytes that the panels of such a matrix take, and how they are made from w[k * out + j]. The order
 * serves every kind of processor. */
size_t dense_panels_size(size_t in, size_t out);
void dense_pack(const int8_t *w, size_t in, size_t out, int8_t *panels, int32_t *sums);

struct encoder_text {
    const int32_t
        *tokens; /* with [CLS] and [SEP]; 1 to `positions` of them, each below words.rows */
    size_t n;
};

/* n texts of any length into n x hidden floats: the mean over all tokens, of unit length. From any
 * thread; memory is taken and given back inside. */
void encoder_run(const struct encoder_weights *w, const struct encoder_text *texts, size_t n,
                 float *out);

/* Which code runs: "avx512vnni", "avx2", "neon", "portable". encoder_use picks one by name, for
 * tests and measuring; false: this processor has it not. */
const char *encoder_kind(void);
bool encoder_use(const char *kind);

#endif
