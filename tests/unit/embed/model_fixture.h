/* A sentence encoder with random weights in both published formats: 2 layers of 32 numbers, 2 heads
 * and a vocabulary of a few words. */
#ifndef FUMI_MODEL_FIXTURE_H
#define FUMI_MODEL_FIXTURE_H

#include "base/buf.h"
#include "embed/model.h"
#include "pack/pack.h"
#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TINY_LAYERS = 2, TINY_HIDDEN = 32, TINY_INNER = 64, TINY_PLACES = 40 };

static const char *const tiny_words[] = {
    "[PAD]",  "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the",      "un",       "##aff",
    "##able", "##ing", "run",   "##n",   "cafe",   ",",        ".",        "!",
    "?",      "[",     "]",     "設",    "定",     "a",        "b",        "##a",
    "##b",    "#",     "hello", "world", "sep",    "i",        "##\u0307", "é",
    "»",      "ss",    "ß",     "ㄱ",    "\u1100", "##\u1161", "##\u11a8", "x",
};
enum { TINY_WORDS = FUMI_COUNT(tiny_words) };

static inline int32_t tiny_id(const char *word)
{
    for (size_t i = 0; i < TINY_WORDS; i++)
        if (strcmp(tiny_words[i], word) == 0)
            return (int32_t)i;
    return -1;
}

/* Appends formatted text to a buffer. */
__attribute__((format(printf, 2, 3))) static inline void say(struct fumi_buf *b, const char *fmt,
                                                             ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *to = fumi_buf_reserve(b, (size_t)n + 1);
    va_start(args, fmt);
    vsnprintf(to, (size_t)n + 1, fmt, args);
    va_end(args);
    b->n += (size_t)n;
}

struct tiny_tensor {
    char tfjs[160], torch[160];
    size_t rows, columns; /* columns 0: one row */
    bool kernel;          /* transposed in safetensors */
    float scale, min;
    uint8_t *q;
};

struct tiny {
    char dir[64];
    struct tiny_tensor tensors[TINY_LAYERS * 16 + 5];
    size_t n;
    uint32_t seed;
    const char *normalizer; /* NULL: the default */
    const char *added;      /* more members of added_tokens */
    struct pack_options options;
};

static inline uint32_t tiny_random(struct tiny *t)
{
    t->seed = t->seed * 1664525 + 1013904223;
    return t->seed >> 8;
}

static inline void tiny_add(struct tiny *t, const char *tfjs, const char *torch, size_t rows,
                            size_t columns)
{
    struct tiny_tensor *x = &t->tensors[t->n++];
    snprintf(x->tfjs, sizeof(x->tfjs), "%s", tfjs);
    snprintf(x->torch, sizeof(x->torch), "%s", torch);
    x->rows = rows;
    x->columns = columns;
    size_t n = rows * (columns ? columns : 1);
    x->q = malloc(n);
    for (size_t i = 0; i < n; i++)
        x->q[i] = (uint8_t)tiny_random(t);
    x->scale = columns ? 0.004f : 0.001f;
    x->min = columns ? -0.5f : strstr(torch, "LayerNorm.weight") ? 0.9f : -0.1f;
}

static inline void tiny_add_dense(struct tiny *t, size_t layer, const char *name, size_t in,
                                  size_t out)
{
    char tfjs[160], torch[160];
    snprintf(tfjs, sizeof(tfjs), "x/bert/encoder/layer_._%zu/%s/Tensordot/ReadVariableOp", layer,
             name);
    snprintf(torch, sizeof(torch), "encoder.layer.%zu.%s.weight", layer, name);
    tiny_add(t, tfjs, torch, in, out);
    t->tensors[t->n - 1].kernel = true;
    snprintf(tfjs, sizeof(tfjs), "x/bert/encoder/layer_._%zu/%s/BiasAdd/ReadVariableOp", layer,
             name);
    snprintf(torch, sizeof(torch), "encoder.layer.%zu.%s.bias", layer, name);
    tiny_add(t, tfjs, torch, out, 0);
}

static inline void tiny_add_norm(struct tiny *t, const char *tfjs_prefix, const char *torch_prefix)
{
    char tfjs[160], torch[160];
    snprintf(tfjs, sizeof(tfjs), "x/bert/%sLayerNorm/batchnorm/mul/ReadVariableOp", tfjs_prefix);
    snprintf(torch, sizeof(torch), "%sLayerNorm.weight", torch_prefix);
    tiny_add(t, tfjs, torch, TINY_HIDDEN, 0);
    snprintf(tfjs, sizeof(tfjs), "x/bert/%sLayerNorm/batchnorm/ReadVariableOp", tfjs_prefix);
    snprintf(torch, sizeof(torch), "%sLayerNorm.bias", torch_prefix);
    tiny_add(t, tfjs, torch, TINY_HIDDEN, 0);
}

static inline void tiny_add_layer(struct tiny *t, size_t layer)
{
    static const struct {
        const char *name;
        size_t in, out;
    } dense[] = {
        {"attention/self/query", TINY_HIDDEN, TINY_HIDDEN},
        {"attention/self/key", TINY_HIDDEN, TINY_HIDDEN},
        {"attention/self/value", TINY_HIDDEN, TINY_HIDDEN},
        {"attention/output/dense", TINY_HIDDEN, TINY_HIDDEN},
        {"intermediate/dense", TINY_HIDDEN, TINY_INNER},
        {"output/dense", TINY_INNER, TINY_HIDDEN},
    };
    char a[80], b[80];
    for (size_t i = 0; i < FUMI_COUNT(dense); i++)
        tiny_add_dense(t, layer, dense[i].name, dense[i].in, dense[i].out);
    snprintf(a, sizeof(a), "encoder/layer_._%zu/attention/output/", layer);
    snprintf(b, sizeof(b), "encoder.layer.%zu.attention.output.", layer);
    tiny_add_norm(t, a, b);
    snprintf(a, sizeof(a), "encoder/layer_._%zu/output/", layer);
    snprintf(b, sizeof(b), "encoder.layer.%zu.output.", layer);
    tiny_add_norm(t, a, b);
}

static inline void tiny_path(const struct tiny *t, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", t->dir, name);
}

static inline void tiny_write(const struct tiny *t, const char *name, const void *p, size_t n)
{
    char path[256];
    tiny_path(t, name, path);
    FILE *f = fopen(path, "wb");
    if (!f || (n && fwrite(p, 1, n, f) != n) || fclose(f))
        abort();
}

static inline void tiny_write_buf(const struct tiny *t, const char *name, struct fumi_buf *b)
{
    tiny_write(t, name, b->p, b->n);
    fumi_buf_done(b);
}

static inline void tiny_tokenizer(const struct tiny *t)
{
    struct fumi_buf b = {0};
    say(&b,
        "{\"version\":\"1.0\",\"added_tokens\":["
        "{\"id\":3,\"content\":\"[SEP]\",\"special\":true,\"normalized\":false},"
        "{\"id\":4,\"content\":\"[MASK]\",\"special\":true,\"normalized\":false}%s],"
        "\"normalizer\":%s,\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{",
        t->added ? t->added : "",
        t->normalizer ? t->normalizer
                      : "{\"type\":\"BertNormalizer\",\"clean_text\":true,"
                        "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}");
    for (size_t i = 0; i < TINY_WORDS; i++)
        say(&b, "%s\"%s\":%zu", i ? "," : "", tiny_words[i], i);
    say(&b, "}}}");
    tiny_write_buf(t, "tokenizer.json", &b);
}

static inline void tiny_manifest(struct fumi_buf *b, const struct tiny_tensor *x)
{
    say(b, ",{\"name\":\"%s\",\"dtype\":\"float32\",\"shape\":[%zu", x->tfjs, x->rows);
    if (x->columns)
        say(b, ",%zu", x->columns);
    say(b, "],\"quantization\":{\"dtype\":\"uint8\",\"scale\":%.9g,\"min\":%.9g}}",
        (double)x->scale, (double)x->min);
}

/* model.json and its two .bin files; the second begins in the middle of a tensor. */
static inline void tiny_tfjs(const struct tiny *t)
{
    struct fumi_buf json = {0}, bin = {0};
    say(&json,
        "{\"format\":\"graph-model\",\"weightsManifest\":[{\"paths\":[\"a.bin\",\"b.bin\"],"
        "\"weights\":[{\"name\":\"x/axes\",\"dtype\":\"int32\",\"shape\":[1]},"
        "{\"name\":\"x/bert/encoder/layer_._0/attention/self/truediv_recip\",\"dtype\":\"float32\","
        "\"shape\":[],\"quantization\":{\"dtype\":\"uint8\",\"scale\":1,\"min\":0.25}},"
        "{\"name\":\"x/bert/embeddings/LayerNorm/batchnorm/add/y\",\"dtype\":\"float32\","
        "\"shape\":[],\"quantization\":{\"dtype\":\"uint8\",\"scale\":1,\"min\":1e-12}}");
    fumi_buf_add(&bin, "\1\0\0\0\0\0", 6);
    for (size_t i = 0; i < t->n; i++) {
        const struct tiny_tensor *x = &t->tensors[i];
        tiny_manifest(&json, x);
        fumi_buf_add(&bin, x->q, x->rows * (x->columns ? x->columns : 1));
    }
    say(&json, "]}]}");
    tiny_write_buf(t, "model.json", &json);
    tiny_write(t, "a.bin", bin.p, 1001);
    tiny_write(t, "b.bin", bin.p + 1001, bin.n - 1001);
    fumi_buf_done(&bin);
}

static inline uint16_t tiny_half(float f)
{
    int exponent;
    float m = frexpf(fabsf(f), &exponent);
    if (f == 0 || exponent < -13)
        return 0;
    return (uint16_t)((f < 0 ? 0x8000 : 0) | ((exponent + 14) << 10 | ((int)(m * 2048) & 1023)));
}

static inline void tiny_number(struct fumi_buf *b, float f, const char *type)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    uint16_t small = strcmp(type, "F16") ? (uint16_t)(bits >> 16) : tiny_half(f);
    if (strcmp(type, "F32"))
        fumi_buf_add(b, &small, sizeof(small));
    else
        fumi_buf_add(b, &bits, sizeof(bits));
}

static inline void tiny_numbers(struct fumi_buf *b, const struct tiny_tensor *x, const char *type)
{
    size_t columns = x->columns ? x->columns : 1, n = x->rows * columns;
    for (size_t i = 0; i < n; i++) {
        size_t at = x->kernel ? i % x->rows * columns + i / x->rows : i;
        tiny_number(b, x->q[at] * x->scale + x->min, type);
    }
}

static inline void tiny_config(const struct tiny *t, const char *model_type, size_t layers)
{
    struct fumi_buf b = {0};
    say(&b,
        "{\"model_type\":\"%s\",\"num_hidden_layers\":%zu,\"num_attention_heads\":2,"
        "\"hidden_act\":\"gelu\",\"layer_norm_eps\":1e-12}",
        model_type, layers);
    tiny_write_buf(t, "config.json", &b);
}

/* model.safetensors with numbers of that type, and config.json. */
static inline void tiny_safetensors(const struct tiny *t, const char *type, const char *prefix)
{
    struct fumi_buf head = {0}, data = {0}, all = {0};
    say(&head, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < t->n; i++) {
        const struct tiny_tensor *x = &t->tensors[i];
        size_t before = data.n;
        char name[160];
        snprintf(name, sizeof(name), "%s", x->torch);
        for (char *p = name; *p; p++)
            *p = *p == '/' ? '.' : *p;
        tiny_numbers(&data, x, type);
        say(&head, ",\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", prefix, name, type);
        if (x->columns)
            say(&head, "%zu,", x->kernel ? x->columns : x->rows);
        say(&head, "%zu],\"data_offsets\":[%zu,%zu]}",
            x->columns && !x->kernel ? x->columns : x->rows, before, data.n);
    }
    say(&head, "}");
    uint64_t size = head.n;
    fumi_buf_add(&all, &size, sizeof(size));
    fumi_buf_add(&all, head.p, head.n);
    fumi_buf_add(&all, data.p, data.n);
    tiny_write_buf(t, "model.safetensors", &all);
    fumi_buf_done(&head);
    fumi_buf_done(&data);
    tiny_config(t, "bert", TINY_LAYERS);
}

static inline struct tiny *tiny_new(void)
{
    struct tiny *t = calloc(1, sizeof(*t));
    const char *tmp = getenv("TMPDIR");
    snprintf(t->dir, sizeof(t->dir), "%s/fumi-model-XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    if (!mkdtemp(t->dir))
        abort();
    t->seed = 1;
    tiny_add(t, "unknown_0", "embeddings.position_embeddings.weight", TINY_PLACES, TINY_HIDDEN);
    tiny_add(t, "unknown", "embeddings.word_embeddings.weight", TINY_WORDS + 3, TINY_HIDDEN);
    tiny_add(t, "unknown_1", "embeddings.token_type_embeddings.weight", 2, TINY_HIDDEN);
    tiny_add_norm(t, "embeddings/", "embeddings.");
    for (size_t i = 0; i < TINY_LAYERS; i++)
        tiny_add_layer(t, i);
    return t;
}

static inline int tiny_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void tiny_free(struct tiny *t)
{
    nftw(t->dir, tiny_remove, 8, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < t->n; i++)
        free(t->tensors[i].q);
    free(t);
}

/* Packs the directory of t and opens the result. Returns NULL with *e set on failure. */
static inline struct model *tiny_open(const struct tiny *t, struct fumi_err *e)
{
    char to[256];
    tiny_path(t, "out.fumi", to);
    return pack_model(t->dir, to, &t->options, e) ? NULL : model_open(to, e);
}

static inline double cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

#endif
