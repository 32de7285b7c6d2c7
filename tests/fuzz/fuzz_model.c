/* Model files. The first byte selects what the rest is: patches of a packed file (2 bytes of offset
 * and 4 bytes of data each), a tar archive, a tokenizer.json, a model.json, a model.safetensors or,
 * after the number of the file, one that describes the model.
 * Nothing may crash, and token ids must be those of the vocabulary. */
#include "embed/model.h"
#include "fuzz.h"
#include "pack/pack.h"
#include "pack/pack_parts.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

static int in_memory(const void *bytes, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* A packed model with one layer of 16 numbers and a vocabulary of a few words. */
static struct fumi_str packed(void)
{
    static char image[1 << 16];
    struct pack_word words[] = {{FUMI_STR("a"), 3},  {FUMI_STR("ab"), 4}, {FUMI_STR("##b"), 5},
                                {FUMI_STR("##"), 6}, {FUMI_STR("定"), 7}, {FUMI_STR("."), 8}};
    struct pack_word specials[] = {{FUMI_STR("[SEP]"), 2}};
    struct fumi_buf cells = {0}, more = {0};
    pack_build_trie(words, FUMI_COUNT(words), &cells);
    pack_build_trie(specials, 1, &more);
    struct trie t = {(const void *)cells.p, cells.n / sizeof(struct trie_cell)};
    struct model_head h = {
        .magic = MODEL_MAGIC,
        .version = MODEL_VERSION,
        .head_size = sizeof(h),
        .panel_layout = model_panel_layout(),
        .layers = 1,
        .hidden = 16,
        .heads = 2,
        .inner = 16,
        .positions = 32,
        .types = 1,
        .words = 9,
        .epsilon = 1e-12f,
        .flags = WORDPIECE_CLEAN | WORDPIECE_CJK | WORDPIECE_STRIP | WORDPIECE_LOWER,
        .max_chars = 100,
        .cells = (uint32_t)t.n,
        .specials = (uint32_t)(more.n / sizeof(struct trie_cell)),
        .continuation = trie_step(t, trie_step(t, 0, '#'), '#'),
        .unk = 0,
        .cls = 1,
        .sep = 2,
        .name = "fuzz",
        .pooling = ENCODER_CLS,
        .max_tokens = 16,
        .calibrated = 1,
        .calibration = {-6, 8, 4, 1},
        .query_prefix = "a: ",
        .passage_prefix = "b: ",
    };
    struct model_views v;
    h.size = model_layout(&h, NULL, &v);
    MUST(h.size <= sizeof(image));
    model_layout(&h, image, &v);
    for (size_t i = sizeof(h); i < h.size; i++)
        image[i] = (char)(i * 7 % 61);
    memcpy((void *)v.pieces.words.cells, cells.p, cells.n);
    memcpy((void *)v.pieces.specials.cells, more.p, more.n);
    memcpy(image, &h, sizeof(h));
    fumi_buf_done(&cells);
    fumi_buf_done(&more);
    return (struct fumi_str){image, h.size};
}

static void use(const struct model *m)
{
    struct fumi_arena a = {0};
    const struct encoder_weights *w = model_weights(m);
    struct encoder_text text;
    size_t max = w->positions < 32 ? w->positions : 32;
    text.tokens = model_tokens(m, &a, FUMI_STR("ab aB. 定a[SEP] \xc3\xa9 zz"), max, &text.n);
    MUST(text.n >= 2 && text.n <= max);
    for (size_t i = 0; i < text.n; i++)
        MUST(text.tokens[i] >= 0 && (size_t)text.tokens[i] < w->word_table.rows);
    float *out = fumi_alloc(&a, w->hidden * sizeof(*out));
    encoder_run(w, &text, 1, out);
    MUST(model_name(m).n <= MODEL_NAME_MAX);
    MUST(model_query_prefix(m).n <= MODEL_PREFIX_MAX);
    MUST(model_passage_prefix(m).n <= MODEL_PREFIX_MAX);
    MUST(model_max_tokens(m) <= w->positions);
    const struct embed_calibration *c = model_calibration(m);
    MUST(!c || (isfinite(c->bias) && isfinite(c->both)));
    fumi_arena_done(&a);
}

static void try_packed(const uint8_t *data, size_t n)
{
    struct fumi_err e = {0};
    char path[64];
    struct fumi_str file = packed();
    for (; n >= 6; data += 6, n -= 6) {
        size_t at = ((size_t)data[0] << 8 | data[1]) % (file.n - 4);
        memcpy((char *)file.p + at, data + 2, 4);
    }
    int fd = in_memory(file.p, file.n - (n && data[0] == 'x'), path);
    struct model *m = model_open(path, &e);
    MUST(m || e.code);
    if (m)
        use(m);
    if (m)
        model_verify(m, &e);
    model_close(m);
    close(fd);
}

static void try_archive(const uint8_t *data, size_t n)
{
    struct fumi_err e = {0};
    char path[64];
    int fd = in_memory(data, n, path);
    MUST(pack_model(path, "/nowhere/at/all", &(struct pack_options){0}, &e) && e.code);
    close(fd);
}

static void keep(struct pack_files *f, const char *name, const void *bytes, size_t n)
{
    struct fumi_err e;
    char *copy = n ? fumi_resize(NULL, n) : NULL;
    if (n)
        memcpy(copy, bytes, n);
    MUST(!pack_add_file(f, fumi_str(name), (struct fumi_str){n ? copy : "", n}, false, &e));
}

/* Calls the reader of the file as pack.c does. */
static void try_text(char kind, const uint8_t *data, size_t n)
{
    static const char config[] = "{\"model_type\":\"bert\",\"num_hidden_layers\":1,"
                                 "\"num_attention_heads\":1}";
    static const char bin[4096];
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct pack_files f = {.a = &a};
    struct pack_source s = {0};
    struct pack_vocabulary v = {0};
    bool found;
    keep(&f,
         kind == 3   ? "model.json"
         : kind == 4 ? "model.safetensors"
                     : "tokenizer.json",
         data, n);
    keep(&f, "config.json", config, sizeof(config) - 1);
    keep(&f, "a.bin", bin, sizeof(bin));
    int rc = kind == 2   ? pack_read_vocabulary(&a, pack_file_at(&f, 0), &v, &e)
             : kind == 3 ? pack_read_tfjs(&f, &s, &found, &e)
                         : pack_read_safetensors(&f, &s, &found, &e);
    MUST(!rc == !e.code);
    for (size_t i = 0; !rc && i < s.tensors.n; i++)
        if (s.tensors.items[i].n && s.tensors.items[i].type != PACK_OTHER)
            (void)pack_tensor_value(&s.tensors.items[i], s.tensors.items[i].n - 1);
    pack_vocabulary_done(&v);
    pack_files_done(&f);
    fumi_arena_done(&a);
}

static void try_description(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"modules.json", "1_Pooling/config.json",
                                        "config_sentence_transformers.json",
                                        "sentence_bert_config.json", "tokenizer_config.json"};
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct pack_files f = {.a = &a, .from = "e5-small"};
    struct pack_description d = {0};
    if (!n)
        return;
    keep(&f, names[data[0] % FUMI_COUNT(names)], data + 1, n - 1);
    int rc = pack_describe(&f, &(struct pack_description_source){{0}, {0}},
                           &(struct pack_options){.name = FUMI_STR("e5")}, &d, &e);
    MUST(!rc == !e.code);
    MUST(rc || (d.query_prefix.n <= MODEL_PREFIX_MAX && d.passage_prefix.n <= MODEL_PREFIX_MAX));
    MUST(rc || memchr(d.name, 0, sizeof(d.name)));
    pack_files_done(&f);
    fumi_arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n)
        return 0;
    char kind = (char)(data[0] % 6);
    if (kind == 0)
        try_packed(data + 1, n - 1);
    else if (kind == 1)
        try_archive(data + 1, n - 1);
    else if (kind == 5)
        try_description(data + 1, n - 1);
    else
        try_text(kind, data + 1, n - 1);
    return 0;
}
