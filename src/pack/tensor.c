/* Quantizes published tensors to the 8-bit weights of the model file. Tensors that are published
 * with 8 bits keep their values; others get one scale per output of a layer and per row of a table.
 */
#include "pack/pack_parts.h"

#include <math.h>
#include <stdio.h>

size_t pack_type_size(enum pack_type type)
{
    switch (type) {
    case PACK_U8:
        return 1;
    case PACK_F16:
    case PACK_BF16:
    case PACK_U16:
        return 2;
    case PACK_F32:
        return 4;
    case PACK_OTHER:
        break;
    }
    return 0;
}

static double float16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double size = exponent == 31 ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double float32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return (double)f;
}

double pack_tensor_value(const struct pack_tensor *t, size_t i)
{
    uint16_t small = 0;
    uint32_t large = 0;
    switch (t->type) {
    case PACK_U8:
        return (unsigned char)t->p[i] * t->scale + t->min;
    case PACK_F32:
        memcpy(&large, t->p + 4 * i, sizeof(large));
        return float32(large);
    case PACK_F16:
    case PACK_BF16:
    case PACK_U16:
        memcpy(&small, t->p + 2 * i, sizeof(small));
        break;
    case PACK_OTHER:
        break;
    }
    if (t->type == PACK_U16)
        return small * t->scale + t->min;
    return t->type == PACK_F16 ? float16(small) : float32((uint32_t)small << 16);
}

bool pack_read_shape(const struct fumi_val *shape, struct pack_tensor *t)
{
    t->n = 1;
    for (const struct fumi_val *i = fumi_first(shape); i; i = fumi_after(shape, i)) {
        int64_t side;
        if (!fumi_int(i, &side) || side < 0 || __builtin_mul_overflow(t->n, (size_t)side, &t->n))
            return false;
        if (t->dims < 2)
            t->shape[t->dims] = (size_t)side;
        t->dims++;
    }
    return fumi_is(shape, FUMI_ARRAY);
}

const struct pack_tensor *pack_find_tensor(const struct pack_source *s, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < s->tensors.n; i++) {
        const struct pack_tensor *t = &s->tensors.items[i];
        size_t more = t->name.n - n;
        if (t->name.n >= n && memcmp(t->name.p + more, name, n) == 0 &&
            (!more || t->name.p[more - 1] == s->naming->separator))
            return t;
    }
    return NULL;
}

enum { NAME_SIZE = 200 };

/* Writes the parts of one layer, or those outside of the layers. */
struct weight_writer {
    const struct pack_source *s;
    struct fumi_err *e;
    const char *prefix; /* of the names of tensors */
    int8_t *w;          /* buffer for the largest kernel */
    float *column;      /* buffer for one output of a kernel */
};

static const struct pack_tensor *look(const struct weight_writer *m, const char *module,
                                      const char *part, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s%s/%s", m->prefix, module, part);
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = m->s->naming->separator;
    return pack_find_tensor(m->s, name);
}

/* Returns the tensor PREFIX + MODULE + PART if it has rows x columns numbers, or `rows` numbers for
 * columns 0; otherwise NULL, with the error set. */
static const struct pack_tensor *get(const struct weight_writer *m, const char *module,
                                     const char *part, size_t rows, size_t columns)
{
    char name[NAME_SIZE];
    const struct pack_tensor *t = look(m, module, part, name);
    if (!t) {
        pack_fault(m->e, "the model has no tensor %s: it is not of the BERT family", name);
        return NULL;
    }
    if (t->type == PACK_OTHER || t->dims != 1 + (columns > 0) || t->shape[0] != rows ||
        (columns && t->shape[1] != columns)) {
        pack_fault(m->e, "the tensor %s does not have the shape or type that a BERT model needs",
                   name);
        return NULL;
    }
    return t;
}

static int not_finite(struct fumi_err *e, struct fumi_str name)
{
    return pack_fault(e, "the tensor %.*s has a number that is not finite", FUMI_ARG(name));
}

static int copy_row(const struct weight_writer *m, const char *module, const char *part, size_t n,
                    const float *to)
{
    const struct pack_tensor *t = get(m, module, part, n, 0);
    float *out = (float *)to;
    for (size_t i = 0; t && i < n; i++) {
        out[i] = (float)pack_tensor_value(t, i);
        if (!isfinite(out[i]))
            return not_finite(m->e, t->name);
    }
    return t ? 0 : -1;
}

static int write_norm(const struct weight_writer *m, const char *module, size_t n,
                      const struct encoder_norm *norm)
{
    const struct pack_naming *naming = m->s->naming;
    char name[NAME_SIZE];
    bool old = naming->old_gain && look(m, module, naming->old_gain, name);
    if (copy_row(m, module, old ? naming->old_gain : naming->gain, n, norm->gain))
        return -1;
    return copy_row(m, module, old ? naming->old_shift : naming->shift, n, norm->shift);
}

/* Copies a kernel that is published with 8 bits. */
static int copy_kernel(const struct weight_writer *m, const struct pack_tensor *t,
                       const struct encoder_dense *d)
{
    float *scale = (float *)d->scale, *offset = (float *)d->offset;
    for (size_t j = 0; j < d->out; j++) {
        scale[j] = (float)t->scale;
        offset[j] = (float)(t->min + 128 * t->scale);
        if (!isfinite(scale[j]) || !isfinite(offset[j]))
            return not_finite(m->e, t->name);
    }
    for (size_t i = 0; i < d->in * d->out; i++)
        m->w[i] = (int8_t)((unsigned char)t->p[i] - 128);
    return 0;
}

/* Quantizes the weights of output j, the largest of them to 127. */
static int quantize_column(const struct weight_writer *m, const struct pack_tensor *t,
                           const struct encoder_dense *d, size_t j)
{
    float most = 0;
    for (size_t k = 0; k < d->in; k++) {
        m->column[k] = (float)pack_tensor_value(t, m->s->naming->transposed ? j * d->in + k
                                                                            : k * d->out + j);
        if (!isfinite(m->column[k]))
            return not_finite(m->e, t->name);
        most = fmaxf(most, fabsf(m->column[k]));
    }
    float scale = most > 1e-30f ? most / 127 : 1;
    for (size_t k = 0; k < d->in; k++)
        m->w[k * d->out + j] = (int8_t)lrintf(m->column[k] / scale);
    ((float *)d->scale)[j] = scale;
    ((float *)d->offset)[j] = 0;
    return 0;
}

static int quantize_kernel(const struct weight_writer *m, const struct pack_tensor *t,
                           const struct encoder_dense *d)
{
    for (size_t j = 0; j < d->out; j++)
        if (quantize_column(m, t, d, j))
            return -1;
    return 0;
}

static int write_dense(const struct weight_writer *m, const char *module,
                       const struct encoder_dense *d)
{
    const struct pack_naming *naming = m->s->naming;
    const struct pack_tensor *t = get(m, module, naming->kernel,
                                      naming->transposed ? d->out : d->in,
                                      naming->transposed ? d->in : d->out);
    if (!t)
        return -1;
    bool keep = t->type == PACK_U8 && !naming->transposed;
    if (keep ? copy_kernel(m, t, d) : quantize_kernel(m, t, d))
        return -1;
    dense_pack(m->w, d->in, d->out, (int8_t *)d->panels, (int32_t *)d->sums);
    return copy_row(m, module, naming->bias, d->out, d->bias);
}

static int quantize_row(struct fumi_err *e, const struct pack_tensor *from,
                        const struct encoder_table *t, size_t row)
{
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < t->columns; i++) {
        float x = (float)pack_tensor_value(from, row * t->columns + i);
        if (!isfinite(x))
            return not_finite(e, from->name);
        low = fminf(low, x);
        high = fmaxf(high, x);
    }
    float scale = high / 255 - low / 255;
    for (size_t i = 0; i < t->columns && scale > 0; i++) {
        float x = (float)pack_tensor_value(from, row * t->columns + i);
        ((uint8_t *)t->q)[row * t->columns + i] = (uint8_t)fminf(255, rintf((x - low) / scale));
    }
    ((float *)t->scale)[row] = scale;
    ((float *)t->offset)[row] = low;
    return 0;
}

static int write_table(struct fumi_err *e, const struct pack_tensor *from,
                       const struct encoder_table *t)
{
    bool keep = from->type == PACK_U8;
    for (size_t row = 0; row < t->rows; row++) {
        ((float *)t->scale)[row] = (float)from->scale;
        ((float *)t->offset)[row] = (float)from->min;
        if (keep && (!isfinite(t->scale[row]) || !isfinite(t->offset[row])))
            return not_finite(e, from->name);
        if (!keep && quantize_row(e, from, t, row))
            return -1;
    }
    if (keep)
        memcpy((uint8_t *)t->q, from->p, t->rows * t->columns);
    return 0;
}

static int write_layer(const struct weight_writer *m, const struct encoder_layer *l, size_t hidden)
{
    const struct {
        const char *name;
        const struct encoder_dense *d;
    } rows[] = {
        {"attention/self/query", &l->query}, {"attention/self/key", &l->key},
        {"attention/self/value", &l->value}, {"attention/output/dense", &l->attention_out},
        {"intermediate/dense", &l->expand},  {"output/dense", &l->contract},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (write_dense(m, rows[i].name, rows[i].d))
            return -1;
    if (write_norm(m, "attention/output/LayerNorm", hidden, &l->attention_norm))
        return -1;
    return write_norm(m, "output/LayerNorm", hidden, &l->output_norm);
}

static int write_layers(struct weight_writer *m, const struct model_head *h,
                        const struct model_views *v)
{
    char prefix[80];
    m->prefix = prefix;
    for (size_t i = 0; i < h->layers; i++) {
        snprintf(prefix, sizeof(prefix), "%s%zu/", m->s->naming->layer, i);
        if (write_layer(m, &v->layer[i], h->hidden))
            return -1;
    }
    return 0;
}

int pack_weights(const struct pack_source *s, const struct model_head *h,
                 const struct model_views *v, struct fumi_err *e)
{
    const struct encoder_weights *w = &v->weights;
    size_t side = h->inner > h->hidden ? h->inner : h->hidden;
    struct weight_writer m = {.s = s, .e = e, .prefix = ""};
    if (write_table(e, s->words, &w->word_table) ||
        write_table(e, s->positions, &w->position_table) ||
        write_table(e, s->types, &w->type_table) ||
        write_norm(&m, "embeddings/LayerNorm", h->hidden, &w->embedding_norm))
        return -1;
    m.w = fumi_resize(NULL, side * h->hidden);
    m.column = fumi_resize(NULL, side * sizeof(*m.column));
    int rc = write_layers(&m, h, v);
    fumi_resize(m.w, 0);
    fumi_resize(m.column, 0);
    return rc;
}
