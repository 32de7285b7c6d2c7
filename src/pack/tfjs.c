/* TensorFlow.js: model.json lists groups of tensors. The tensors of a group follow each other in
 * its .bin files, in the order of the list. */
#include "model/dim.h"
#include "pack/pack_parts.h"

#include <math.h>

static const struct pack_naming naming = {
    .layer = "encoder/layer_._",
    .kernel = "Tensordot/ReadVariableOp",
    .bias = "BiasAdd/ReadVariableOp",
    .gain = "batchnorm/mul/ReadVariableOp",
    .shift = "batchnorm/ReadVariableOp",
    .separator = '/',
};

struct tfjs_reader {
    const struct pack_files *f;
    struct fumi_str bytes; /* of the current group, not yet assigned to tensors */
    size_t joined;         /* bytes copied so far */
    struct fumi_buf list;  /* of struct pack_tensor */
    struct fumi_err *e;
};

struct tfjs_type {
    struct fumi_str name;
    enum pack_type type;
    size_t size;
};

/* The types of stored numbers: dtype of the tensor or, if it is quantized, of the quantization. */
static const struct tfjs_type types[] = {
    {FUMI_STR("float32"), PACK_F32, 4},
    {FUMI_STR("float16"), PACK_F16, 2},
    {FUMI_STR("int32"), PACK_OTHER, 4},
    {FUMI_STR("bool"), PACK_OTHER, 1},
};
static const struct tfjs_type quantized[] = {
    {FUMI_STR("uint8"), PACK_U8, 1},
    {FUMI_STR("uint16"), PACK_U16, 2},
    {FUMI_STR("float16"), PACK_F16, 2},
};

static const struct tfjs_type *type_of(const struct fumi_val *entry)
{
    const struct fumi_val *q = fumi_get(entry, "quantization");
    const struct fumi_val *name = fumi_get(q ? q : entry, "dtype");
    const struct tfjs_type *rows = q ? quantized : types;
    size_t n = q ? FUMI_COUNT(quantized) : FUMI_COUNT(types);
    for (size_t i = 0; i < n; i++)
        if (fumi_text_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static int read_entry(struct tfjs_reader *r, const struct fumi_val *entry)
{
    struct pack_tensor t = {.name = fumi_text(r->f->a, fumi_get(entry, "name")), .scale = 1};
    const struct tfjs_type *type = type_of(entry);
    const struct fumi_val *q = fumi_get(entry, "quantization");
    size_t size;
    if (!t.name.p || !type)
        return pack_fault(r->e, "model.json: a tensor has no name, or an unknown type");
    if (q && type->type != PACK_F16 &&
        (!fumi_real(fumi_get(q, "scale"), &t.scale) || !fumi_real(fumi_get(q, "min"), &t.min)))
        return pack_fault(r->e, "model.json: %.*s has no scale or no min", FUMI_ARG(t.name));
    if (!pack_read_shape(fumi_get(entry, "shape"), &t) ||
        __builtin_mul_overflow(t.n, type->size, &size) || size > r->bytes.n)
        return pack_fault(r->e, "model.json: %.*s does not fit into its .bin file",
                          FUMI_ARG(t.name));
    t.type = type->type;
    t.p = r->bytes.p;
    r->bytes.p += size;
    r->bytes.n -= size;
    fumi_buf_add(&r->list, &t, sizeof(t));
    return 0;
}

/* model.json may name a file any number of times, so the copies are bounded. */
static int add(struct tfjs_reader *r, struct fumi_buf *all, struct fumi_str bytes)
{
    if (bytes.n > PACK_KEPT_MAX - r->joined)
        return pack_fault(r->e, "model.json: the groups with several files have more than 1 GiB");
    r->joined += bytes.n;
    fumi_buf_add(all, bytes.p, bytes.n);
    return 0;
}

/* Concatenates the files of a group. A single file is not copied. */
static int join(struct tfjs_reader *r, const struct fumi_val *paths, struct fumi_str dir)
{
    struct fumi_buf all = {0};
    for (const struct fumi_val *i = fumi_first(paths); i; i = fumi_after(paths, i)) {
        struct fumi_str name = fumi_text(r->f->a, i);
        const struct pack_file *file = name.p ? pack_file_in(r->f, name, dir) : NULL;
        if (!file) {
            fumi_buf_done(&all);
            return pack_fault(r->e, "the file %.*s, which is named in model.json, is missing",
                              FUMI_ARG(name));
        }
        r->bytes = file->bytes;
        if (fumi_size(paths) > 1 && add(r, &all, file->bytes)) {
            fumi_buf_done(&all);
            return -1;
        }
    }
    if (all.n)
        r->bytes = fumi_buf_keep(&all, r->f->a);
    fumi_buf_done(&all);
    return 0;
}

static int read_manifest(struct tfjs_reader *r, const struct fumi_val *manifest,
                         struct fumi_str dir)
{
    const struct fumi_val *g, *w, *i;
    for (g = fumi_first(manifest); g; g = fumi_after(manifest, g)) {
        r->bytes = (struct fumi_str){0};
        if (join(r, fumi_get(g, "paths"), dir))
            return -1;
        w = fumi_get(g, "weights");
        for (i = fumi_first(w); i; i = fumi_after(w, i))
            if (read_entry(r, i))
                return -1;
    }
    return 0;
}

static bool contains(struct fumi_str s, struct fumi_str part)
{
    return memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* The conversion does not keep the names of the three embedding tables, so the number of rows
 * identifies them: the word table has the most, the table of token types the fewest. */
static bool find_tables(struct pack_source *s, size_t hidden)
{
    const struct pack_tensor *found[3];
    size_t n = 0;
    for (size_t i = 0; i < s->tensors.n; i++) {
        const struct pack_tensor *t = &s->tensors.items[i];
        if (t->dims != 2 || t->shape[1] != hidden || t->type == PACK_OTHER ||
            contains(t->name, FUMI_STR("encoder/")) || contains(t->name, FUMI_STR("pooler/")))
            continue;
        if (n == 3)
            return false;
        size_t at = n++;
        for (; at && found[at - 1]->shape[0] < t->shape[0]; at--)
            found[at] = found[at - 1];
        found[at] = t;
    }
    s->words = n == 3 ? found[0] : NULL;
    s->positions = n == 3 ? found[1] : NULL;
    s->types = n == 3 ? found[2] : NULL;
    return n == 3;
}

static size_t count_layers(const struct pack_source *s, struct fumi_arena *a)
{
    size_t n = 0;
    while (n <= MODEL_LAYERS_MAX &&
           pack_find_tensor(
               s, fumi_fmt(a, "%s%zu/attention/self/query/%s", naming.layer, n, naming.kernel).p))
        n++;
    return n;
}

/* The value of a tensor that is a single number; 0 if there is none. */
static double scalar(const struct pack_source *s, const char *name)
{
    const struct pack_tensor *t = pack_find_tensor(s, name);
    return t && t->n == 1 && t->type != PACK_OTHER ? pack_tensor_value(t, 0) : 0;
}

/* The number of heads follows from the factor that scales attention scores, 1 / sqrt(size of a
 * head): it is not stored otherwise. */
static int read_dimensions(struct pack_source *s, struct fumi_arena *a, struct fumi_err *e)
{
    s->layers = count_layers(s, a);
    const struct pack_tensor *gain = pack_find_tensor(
        s, "embeddings/LayerNorm/batchnorm/mul/ReadVariableOp");
    if (!s->layers || !gain || gain->dims != 1 || !find_tables(s, gain->shape[0]))
        return pack_fault(e, "the TensorFlow.js model is not a supported BERT encoder: its layers "
                             "or the three embedding tables are missing");
    double factor = scalar(s, "encoder/layer_._0/attention/self/truediv_recip");
    double size = factor > 0 ? round(1 / (factor * factor)) : 0;
    bool fits = size >= 1 && size <= VECTOR_DIM_MAX && gain->shape[0] % (size_t)size == 0;
    s->heads = fits ? gain->shape[0] / (size_t)size : 0;
    s->epsilon = scalar(s, "embeddings/LayerNorm/batchnorm/add/y");
    if (!s->heads)
        return pack_fault(e, "the number of attention heads of the TensorFlow.js model is unknown "
                             "(attention/self/truediv_recip is missing or wrong)");
    return 0;
}

static const struct fumi_val *find_model(const struct pack_files *f, const struct pack_file **file)
{
    struct fumi_err ignored;
    for (size_t i = 0; (*file = pack_file_at(f, i)); i++) {
        struct fumi_str path = (*file)->path, dir = pack_dir(path);
        if (!fumi_eq((struct fumi_str){path.p + dir.n, path.n - dir.n}, FUMI_STR("model.json")))
            continue;
        const struct fumi_val *v = fumi_parse(f->a, (*file)->bytes, &ignored);
        const struct fumi_val *manifest = fumi_get(v, "weightsManifest");
        if (manifest)
            return manifest;
    }
    return NULL;
}

int pack_read_tfjs(const struct pack_files *f, struct pack_source *s, bool *found,
                   struct fumi_err *e)
{
    const struct pack_file *file;
    const struct fumi_val *manifest = find_model(f, &file);
    *found = manifest != NULL;
    if (!manifest)
        return 0;
    struct tfjs_reader r = {.f = f, .e = e};
    s->naming = &naming;
    s->dir = pack_dir(file->path);
    int rc = read_manifest(&r, manifest, s->dir);
    s->tensors.n = r.list.n / sizeof(struct pack_tensor);
    s->tensors.items = (const void *)fumi_buf_keep(&r.list, f->a).p;
    return rc ? -1 : read_dimensions(s, f->a, e);
}
