/* The safetensors format: 8 bytes with the size of a JSON header, the header, then the numbers.
 * config.json in the same directory describes the model. */
#include "base/utf8.h"
#include "pack/pack_parts.h"

enum { VALUE_SHOWN = 64 }; /* bytes */

static const struct pack_naming naming = {
    .layer = "encoder/layer/",
    .kernel = "weight",
    .bias = "bias",
    .gain = "weight",
    .shift = "bias",
    .old_gain = "gamma",
    .old_shift = "beta",
    .separator = '.',
    .transposed = true,
};

static enum pack_type type_of(const struct fumi_val *name)
{
    static const struct {
        struct fumi_str name;
        enum pack_type type;
    } types[] = {
        {FUMI_STR("F32"), PACK_F32},
        {FUMI_STR("F16"), PACK_F16},
        {FUMI_STR("BF16"), PACK_BF16},
    };
    for (size_t i = 0; i < FUMI_COUNT(types); i++)
        if (fumi_text_is(name, types[i].name))
            return types[i].type;
    return PACK_OTHER;
}

/* Sets t->p. Returns false if the offsets lie outside of the data or do not match the shape. */
static bool set_data(const struct fumi_val *offsets, struct fumi_str data, struct pack_tensor *t)
{
    int64_t begin, end;
    size_t size;
    const struct fumi_val *first = fumi_first(offsets);
    const struct fumi_val *second = first ? fumi_after(offsets, first) : NULL;
    if (!fumi_int(first, &begin) || !fumi_int(second, &end) || begin < 0 || end < begin ||
        (uint64_t)end > data.n)
        return false;
    t->p = data.p + begin;
    return t->type == PACK_OTHER ||
           (!__builtin_mul_overflow(t->n, pack_type_size(t->type), &size) &&
            size == (size_t)(end - begin));
}

static int read_tensors(struct fumi_arena *a, const struct fumi_val *all, struct fumi_str data,
                        struct pack_source *s, struct fumi_err *e)
{
    struct pack_tensor *items = fumi_alloc(a, fumi_size(all) * sizeof(*items));
    s->tensors = (struct pack_tensors){items, 0};
    for (const struct fumi_val *key = fumi_first(all); key; key = fumi_after(all, key)) {
        struct pack_tensor *t = &items[s->tensors.n];
        const struct fumi_val *v = fumi_of(key);
        if (fumi_text_is(key, FUMI_STR("__metadata__")))
            continue;
        t->name = fumi_text(a, key);
        t->type = type_of(fumi_get(v, "dtype"));
        if (!pack_read_shape(fumi_get(v, "shape"), t) ||
            !set_data(fumi_get(v, "data_offsets"), data, t))
            return pack_fault(e,
                              "model.safetensors: %.*s lies outside of the file, or its size "
                              "does not match its shape",
                              FUMI_ARG(t->name));
        s->tensors.n++;
    }
    return 0;
}

static int read_head(struct fumi_arena *a, struct fumi_str file, struct pack_source *s,
                     struct fumi_err *e)
{
    uint64_t size = 0;
    if (file.n >= sizeof(size))
        memcpy(&size, file.p, sizeof(size));
    if (file.n < sizeof(size) || size > file.n - sizeof(size))
        return pack_fault(e, "model.safetensors is truncated, or is not a safetensors file");
    struct fumi_err inner;
    struct fumi_str head = {file.p + sizeof(size), (size_t)size};
    struct fumi_str data = {head.p + head.n, file.n - sizeof(size) - head.n};
    while (head.n && head.p[head.n - 1] == ' ')
        head.n--;
    const struct fumi_val *all = fumi_parse(a, head, &inner);
    if (!fumi_is(all, FUMI_OBJECT))
        return pack_fault(e, "model.safetensors does not begin with a list of tensors");
    return read_tensors(a, all, data, s, e);
}

/* A positive integer of the configuration; 0 if there is none. */
static size_t positive(const struct fumi_val *config, const char *name)
{
    int64_t n;
    return fumi_int(fumi_get(config, name), &n) && n > 0 ? (size_t)n : 0;
}

/* Settings of which the encoder implements one value, because with another one the vectors would be
 * wrong. */
static const struct setting {
    const char *name, *value;
    bool required;
} settings[] = {
    {"model_type", "bert", true},
    {"hidden_act", "gelu", false},
    {"position_embedding_type", "absolute", false},
};

static int check_setting(const struct fumi_val *config, const struct setting *s, struct fumi_err *e)
{
    const struct fumi_val *v = fumi_get(config, s->name);
    bool absent = !v || fumi_is(v, FUMI_NULL);
    if (absent ? !s->required : fumi_text_is(v, fumi_str(s->value)))
        return 0;
    struct fumi_str is = absent ? FUMI_STR("(missing)") : fumi_utf8_cut(fumi_raw(v), VALUE_SHOWN);
    return pack_fault(e, "config.json: the %s %.*s is not supported, only \"%s\"", s->name,
                      FUMI_ARG(is), s->value);
}

static int read_config(const struct fumi_val *config, struct pack_source *s, struct fumi_err *e)
{
    s->layers = positive(config, "num_hidden_layers");
    s->heads = positive(config, "num_attention_heads");
    if (!fumi_real(fumi_get(config, "layer_norm_eps"), &s->epsilon))
        s->epsilon = 1e-12;
    for (size_t i = 0; i < FUMI_COUNT(settings); i++)
        if (check_setting(config, &settings[i], e))
            return -1;
    if (!s->layers || !s->heads)
        return pack_fault(e, "config.json has no num_hidden_layers or no num_attention_heads");
    return 0;
}

static int find_tables(struct pack_source *s, struct fumi_err *e)
{
    s->words = pack_find_tensor(s, "embeddings.word_embeddings.weight");
    s->positions = pack_find_tensor(s, "embeddings.position_embeddings.weight");
    s->types = pack_find_tensor(s, "embeddings.token_type_embeddings.weight");
    if (s->words && s->positions && s->types)
        return 0;
    return pack_fault(e, "model.safetensors has no %s_embeddings: it is not of the BERT family",
                      !s->words       ? "word"
                      : !s->positions ? "position"
                                      : "token_type");
}

int pack_read_safetensors(const struct pack_files *f, struct pack_source *s, bool *found,
                          struct fumi_err *e)
{
    const struct pack_file *file = pack_find_file(f, "model.safetensors", FUMI_STR(""));
    *found = file != NULL;
    if (!file)
        return 0;
    struct fumi_err inner;
    s->naming = &naming;
    s->dir = pack_dir(file->path);
    const struct pack_file *config = pack_file_in(f, FUMI_STR("config.json"), s->dir);
    const struct fumi_val *v = config ? fumi_parse(f->a, config->bytes, &inner) : NULL;
    if (!fumi_is(v, FUMI_OBJECT))
        return pack_fault(e, "there is no valid config.json in the directory of model.safetensors");
    if (read_config(v, s, e) || read_head(f->a, file->bytes, s, e))
        return -1;
    return find_tables(s, e);
}
