#include "model/codes.h"
#include "model_fixture.h"

#include <dirent.h>
#include <malloc.h>

/* Counts the bytes that the program holds: fumi_resize is weak, so this one replaces it. */
static struct {
    size_t now, peak;
} held;

void *fumi_resize(void *old, size_t size)
{
    held.now -= malloc_usable_size(old);
    if (!size) {
        free(old);
        return NULL;
    }
    void *p = realloc(old, size);
    if (!p)
        abort();
    held.now += malloc_usable_size(p);
    held.peak = held.now > held.peak ? held.now : held.peak;
    return p;
}

/* Computes the vector of a text and closes the model. Returns false if m is NULL. */
static bool vector_of(struct model *m, const char *text, float out[TINY_HIDDEN])
{
    struct fumi_arena a = {0};
    if (!m)
        return false;
    struct encoder_text t = {0};
    t.tokens = model_tokens(m, &a, fumi_str(text), TINY_PLACES, &t.n);
    encoder_run(model_weights(m), &t, 1, out);
    model_close(m);
    fumi_arena_done(&a);
    return true;
}

/* The same model in both formats gives the same vectors, except for rounding. */
TEST(formats_agree)
{
    static const struct {
        const char *type, *prefix;
        double least;
    } cases[] = {
        {"F32", "", 0.999},
        {"F32", "bert.", 0.999},
        {"F16", "model.bert.", 0.999},
        {"BF16", "", 0.99},
    };
    static const char text[] = "the unaffable hello world, running. 設定!";
    float want[TINY_HIDDEN], got[TINY_HIDDEN];
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    CHECK(vector_of(tiny_open(t, &e), text, want));
    tiny_free(t);
    for (size_t i = 0; i < FUMI_COUNT(cases); i++) {
        t = tiny_new();
        tiny_safetensors(t, cases[i].type, cases[i].prefix);
        tiny_tokenizer(t);
        if (!vector_of(tiny_open(t, &e), text, got))
            TEST_FAIL("%s: %s", cases[i].type, e.text);
        else if (cosine(want, got, TINY_HIDDEN) < cases[i].least)
            TEST_FAIL("%s: cosine %f", cases[i].type, cosine(want, got, TINY_HIDDEN));
        tiny_free(t);
    }
}

/* Other weights give another vector: otherwise formats_agree would prove nothing. */
TEST(weights_matter)
{
    static const char text[] = "the unaffable hello world, running. 設定!";
    float want[TINY_HIDDEN], got[TINY_HIDDEN];
    struct fumi_err e = {0};
    for (size_t i = 0; i < 2; i++) {
        struct tiny *t = tiny_new();
        for (size_t k = 0; i && k < TINY_HIDDEN * 8; k++)
            t->tensors[5].q[k] = (uint8_t)~t->tensors[5].q[k];
        tiny_tfjs(t);
        tiny_tokenizer(t);
        CHECK(vector_of(tiny_open(t, &e), text, i ? got : want));
        tiny_free(t);
    }
    CHECK(cosine(want, got, TINY_HIDDEN) < 0.99999);
}

static double table_value(const struct encoder_table *t, size_t row, size_t i)
{
    return (double)(t->q[row * t->columns + i] * t->scale[row] + t->offset[row]);
}

TEST(tables_keep_their_values)
{
    struct fumi_err e = {0};
    for (int torch = 0; torch < 2; torch++) {
        struct tiny *t = tiny_new();
        if (torch)
            tiny_safetensors(t, "F32", "");
        else
            tiny_tfjs(t);
        tiny_tokenizer(t);
        struct model *m = tiny_open(t, &e);
        CHECK(m);
        const struct encoder_table *words = &model_weights(m)->word_table;
        const struct tiny_tensor *x = &t->tensors[1];
        for (size_t i = 0; i < words->rows * words->columns; i++) {
            double want = (double)(x->q[i] * x->scale + x->min);
            double got = table_value(words, i / words->columns, i % words->columns);
            CHECK(fabs(want - got) < (torch ? 0.0021 : 1e-6));
        }
        model_close(m);
        tiny_free(t);
    }
}

TEST(old_names_of_layer_norms)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    for (size_t i = 0; i < t->n; i++) {
        char *norm = strstr(t->tensors[i].torch, "LayerNorm.");
        if (norm)
            snprintf(norm + 10, 8, "%s", strcmp(norm + 10, "weight") ? "beta" : "gamma");
    }
    tiny_safetensors(t, "F32", "bert.");
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    CHECK(model_weights(m)->embedding_norm.gain[0] >= 0.9f);
    model_close(m);
    tiny_free(t);
}

/* A member of a tar archive. */
struct entry {
    const char *name;
    struct fumi_str bytes;
    char type;
};

static void add_entry(struct fumi_buf *tar, const struct entry *x)
{
    char head[512] = {0};
    snprintf(head, 100, "%s", x->name);
    snprintf(head + 100, 8, "%07o", 0644);
    snprintf(head + 124, 12, "%011zo", x->bytes.n);
    memset(head + 148, ' ', 8);
    head[156] = x->type ? x->type : '0';
    memcpy(head + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof(head); i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    fumi_buf_add(tar, head, sizeof(head));
    fumi_buf_add(tar, x->bytes.p, x->bytes.n);
    while (tar->n % 512)
        fumi_buf_put(tar, 0);
}

static struct fumi_str slurp(struct fumi_arena *a, const struct tiny *t, const char *name)
{
    char path[256];
    tiny_path(t, name, path);
    FILE *f = fopen(path, "rb");
    if (!f)
        return (struct fumi_str){0};
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *p = fumi_alloc(a, n + 1);
    n = fread(p, 1, n, f);
    fclose(f);
    return (struct fumi_str){p, n};
}

/* The tiny model as a tar archive with subdirectories, a pax and a GNU long name, and other
 * members. */
static void add_model(struct fumi_arena *a, const struct tiny *t, struct fumi_buf *tar)
{
    static const char *const names[] = {"model.json", "a.bin", "b.bin"};
    const struct entry more[] = {
        {"package/README.md", FUMI_STR("nothing"), 0},
        {"package/skills/", FUMI_STR(""), '5'},
        {"package/link.bin", FUMI_STR(""), '2'},
        {"package/other/config.json", FUMI_STR("{}"), 0},
        {"package/other/model.json", FUMI_STR("{\"not\":\"a model\"}"), 0},
        {"pax_global_header", FUMI_STR("17 comment=hello\n"), 'g'},
        {"PaxHeader/tokenizer.json",
         FUMI_STR("13 mtime=1.5\n51 path=package/.cache/tiny-encoder/tokenizer.json\n"), 'x'},
        {"cut-name", slurp(a, t, "tokenizer.json"), 0},
        {"././@LongLink", FUMI_STR("package/deep/model.json\0"), 'L'},
        {"cut-name", slurp(a, t, names[0]), 0},
        {"package/deep/a.bin", slurp(a, t, names[1]), 0},
        {"package/deep/b.bin", slurp(a, t, names[2]), 0},
    };
    for (size_t i = 0; i < FUMI_COUNT(more); i++)
        add_entry(tar, &more[i]);
    fumi_buf_add(tar, (char[1024]){0}, 1024);
}

static void write_gz(const struct tiny *t, const char *name, struct fumi_str s)
{
    char path[256];
    tiny_path(t, name, path);
    gzFile f = gzopen(path, "wb");
    if (!f || gzwrite(f, s.p, (unsigned)s.n) != (int)s.n || gzclose(f) != Z_OK)
        abort();
}

static int install(const struct tiny *t, const char *from, struct fumi_err *e)
{
    char path[256], to[256];
    tiny_path(t, from, path);
    tiny_path(t, "out.fumi", to);
    return pack_model(path, to, &t->options, e);
}

static struct tiny *tiny_archive(struct fumi_arena *a, struct fumi_buf *tar)
{
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    add_model(a, t, tar);
    return t;
}

TEST(archives_are_read)
{
    struct fumi_arena a = {0};
    struct fumi_buf tar = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_archive(&a, &tar);
    char path[256];
    tiny_path(t, "out.fumi", path);
    write_gz(t, "x.tgz", fumi_buf_str(&tar));
    tiny_write(t, "x.tar", tar.p, tar.n);
    const char *const names[] = {"x.tgz", "x.tar"};
    for (size_t i = 0; i < 2; i++) {
        if (install(t, names[i], &e))
            TEST_FAIL("%s: %s", names[i], e.text);
        struct model *m = model_open(path, &e);
        CHECK(m);
        CHECK_STR(model_name(m), "tiny-encoder");
        CHECK_INT(model_verify(m, &e), 0);
        model_close(m);
        unlink(path);
    }
    fumi_arena_done(&a);
    fumi_buf_done(&tar);
    tiny_free(t);
}

TEST(truncated_archives_are_refused)
{
    struct fumi_arena a = {0};
    struct fumi_buf tar = {0};
    struct tiny *t = tiny_archive(&a, &tar);
    write_gz(t, "x.tgz", fumi_buf_str(&tar));
    struct fumi_str gz = slurp(&a, t, "x.tgz");
    for (size_t i = 1; i < 40; i++) {
        struct fumi_err e = {0};
        size_t n = i < 20 ? gz.n - i : gz.n * (i - 20) / 20;
        tiny_write(t, "cut.tgz", gz.p, n);
        if (!install(t, "cut.tgz", &e) || e.code != ERR_PROVIDER)
            TEST_FAIL("cut to %zu of %zu bytes is taken", n, gz.n);
        n = tar.n * (i - 1) / 41;
        tiny_write(t, "cut.tar", tar.p, n);
        if (!install(t, "cut.tar", &e) || e.code != ERR_PROVIDER)
            TEST_FAIL("cut to %zu of %zu bytes is taken", n, tar.n);
    }
    fumi_arena_done(&a);
    fumi_buf_done(&tar);
    tiny_free(t);
}

/* Does everything except for writing the file. */
static void try_install(const struct tiny *t, const char *from)
{
    struct fumi_err e = {0};
    char path[256];
    tiny_path(t, from, path);
    if (!pack_model(path, "/nowhere/at/all", &t->options, &e) || e.code != ERR_PROVIDER)
        TEST_FAIL("%s: %d %s", from, e.code, e.text);
}

/* Random changes of an archive or of any file in it give an error and do not crash. */
TEST(changed_bytes_give_errors)
{
    static const char *const names[] = {"model.json", "tokenizer.json", "model.safetensors",
                                        "config.json"};
    struct fumi_arena a = {0};
    struct fumi_buf tar = {0};
    struct tiny *t = tiny_archive(&a, &tar);
    for (int round = 0; round < 150; round++) {
        size_t at = tiny_random(t) % 3 ? tiny_random(t) % tar.n / 512 * 512 : 0;
        at += tiny_random(t) % 512;
        char before = tar.p[at];
        tar.p[at] = (char)tiny_random(t);
        tiny_write(t, "x.tar", tar.p, tar.n);
        try_install(t, "x.tar");
        tar.p[at] = before;
    }
    tiny_safetensors(t, "F32", "");
    char bin[256];
    tiny_path(t, "x.tar", bin);
    unlink(bin);
    for (int round = 0; round < 300; round++) {
        const char *name = names[round % 4];
        if (round == 150) { /* model.safetensors is read only if there is no TensorFlow.js model */
            tiny_path(t, "model.json", bin);
            unlink(bin);
        }
        struct fumi_str s = slurp(&a, t, name);
        if (!s.p)
            continue;
        struct fumi_str good = fumi_dup(&a, s);
        size_t head = s.n < 6000 ? s.n : 6000;
        for (uint32_t n = 1 + tiny_random(t) % 4; n; n--)
            ((char *)s.p)[tiny_random(t) % head] = "0123456789\"[]{},:-e."[tiny_random(t) % 20];
        tiny_write(t, name, s.p, s.n);
        try_install(t, ".");
        tiny_write(t, name, good.p, good.n);
        fumi_arena_reset(&a, 1 << 20);
    }
    fumi_arena_done(&a);
    fumi_buf_done(&tar);
    tiny_free(t);
}

TEST(archives_with_bad_names_are_refused)
{
    static const char *const names[] = {"../model.json", "/etc/model.json", "package/../../x",
                                        "a/..", ".."};
    struct tiny *t = tiny_new();
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        struct fumi_buf tar = {0};
        struct fumi_err e = {0};
        add_entry(&tar, &(struct entry){names[i], FUMI_STR("x"), 0});
        fumi_buf_add(&tar, (char[1024]){0}, 1024);
        tiny_write(t, "x.tar", tar.p, tar.n);
        if (!install(t, "x.tar", &e) || !strstr(e.text, "outside"))
            TEST_FAIL("%s: %s", names[i], e.text);
        fumi_buf_done(&tar);
    }
    tiny_free(t);
}

/* A header declares a file of terabytes. */
TEST(archives_with_huge_sizes_are_refused)
{
    static const char sizes[][13] = {"77777777777 ", "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"};
    struct tiny *t = tiny_new();
    for (size_t i = 0; i < 4; i++) {
        struct fumi_buf tar = {0};
        struct fumi_err e = {0};
        add_entry(&tar, &(struct entry){i % 2 ? "model.json" : "other", FUMI_STR("x"), 0});
        memcpy(tar.p + 124, sizes[i / 2], 12);
        memset(tar.p + 148, ' ', 8);
        unsigned sum = 0;
        for (size_t k = 0; k < 512; k++)
            sum += (unsigned char)tar.p[k];
        snprintf(tar.p + 148, 8, "%06o", sum);
        tiny_write(t, "x.tar", tar.p, tar.n);
        CHECK_INT(install(t, "x.tar", &e), -1);
        CHECK_INT(e.code, ERR_PROVIDER);
        fumi_buf_done(&tar);
    }
    tiny_free(t);
}

/* Archives that compress well because their file names are long or many. */
static const struct crowd {
    size_t name, members; /* bytes of each name; number of files */
    const char *end;      /* of each name */
    const char *sentence;
} crowds[] = {
    {60000, 300, "/x.bin", "name that is too long"},
    {60000, 300, "/x.txt", "name that is too long"},
    {4000, 1000, "/x.bin", "too many files"},
    {50, 5000, "/x.bin", "too many files"},
    {4000, 1000, "/x.txt", "contains no model"},
    {50, 100001, "/x.txt", "too many files"},
};

static void write_crowd(const struct tiny *t, const struct crowd *c)
{
    struct fumi_buf member = {0};
    char path[256], *name = malloc(c->name + 1);
    memset(name, 'n', c->name);
    memcpy(name + c->name - strlen(c->end), c->end, strlen(c->end) + 1);
    if (c->name > 99)
        add_entry(&member, &(struct entry){"././@LongLink", {name, c->name + 1}, 'L'});
    add_entry(&member, &(struct entry){c->name > 99 ? "cut" : name, FUMI_STR(""), 0});
    tiny_path(t, "x.tgz", path);
    gzFile f = gzopen(path, "wb1");
    for (size_t i = 0; f && i < c->members; i++)
        if (gzwrite(f, member.p, (unsigned)member.n) != (int)member.n)
            abort();
    if (!f || gzwrite(f, (char[1024]){0}, 1024) != 1024 || gzclose(f) != Z_OK)
        abort();
    fumi_buf_done(&member);
    free(name);
}

TEST(archives_of_many_names_take_little_memory)
{
    enum { MOST = 4 << 20 };
    struct tiny *t = tiny_new();
    for (size_t i = 0; i < FUMI_COUNT(crowds); i++) {
        struct fumi_err e = {0};
        write_crowd(t, &crowds[i]);
        size_t before = held.peak = held.now;
        CHECK_INT(install(t, "x.tgz", &e), -1);
        if (!strstr(e.text, crowds[i].sentence))
            TEST_FAIL("row %zu: %s", i, e.text);
        if (held.peak - before > MOST)
            TEST_FAIL("row %zu takes %zu KiB", i, (held.peak - before) >> 10);
        CHECK_INT(held.now, before);
    }
    tiny_free(t);
}

/* Each changes one thing of a good directory; the error message names it. */
struct fault {
    const char *file;      /* that is changed; its text from `from` on becomes `to` */
    const char *from, *to; /* NULL: the file is removed; to NULL: cut there */
    const char *sentence;
};

static const struct fault tfjs_faults[] = {
    {"model.json", NULL, NULL, "contains no model"},
    {"tokenizer.json", NULL, NULL, "no tokenizer.json"},
    {"b.bin", NULL, NULL, "b.bin"},
    {"model.json", "\"weightsManifest\"", "\"weightsManifesto\"", "contains no model"},
    {"model.json", "truediv_recip", "truediv_recap", "heads"},
    {"model.json", "\"min\":0.25", "\"min\":0.26", "heads"},
    {"model.json", "\"int32\"", "\"int31\"", "type"},
    {"model.json", "\"shape\":[1]", "\"shape\":[99999999999]", "x/axes"},
    {"model.json", "\"shape\":[1]", "\"shape\":[4294967296,4294967296,2]", "x/axes"},
    {"model.json", "\"shape\":[1]", "\"shape\":[-1]", "x/axes"},
    {"model.json", "unknown_1", "pooler/x", "embedding tables"},
    {"model.json", "layer_._0/attention/self/key", "layer_._0/attention/self/kay", "self/key"},
    {"model.json", "layer_._0/attention/self/query", "layer_._0/attention/self/quary", "layers"},
    {"model.json", "\"scale\":0.00400000019", "\"scale\":1e300", "not finite"},
    {"model.json", "\"scale\":0.00400000019", "\"sale\":1", "scale"},
    {"a.bin", "", NULL, "does not fit"},
    {"tokenizer.json", "WordPiece", "Unigram", "the tokenizer \"Unigram\" is not supported"},
    {"tokenizer.json", "WordPiece", "BPE", "the tokenizer \"BPE\" is not supported"},
    {"tokenizer.json", "\"type\":\"WordPiece\",", "\"merges\":[],", "the tokenizer \"BPE\""},
    {"tokenizer.json", "\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":",
     "\"vocab\":[[\"a\",-1.5]],\"v\":", "the tokenizer \"Unigram\""},
    {"tokenizer.json", "BertNormalizer", "Lowercase", "BertNormalizer"},
    {"tokenizer.json", "BertPreTokenizer", "Whitespace", "BertPreTokenizer"},
    {"tokenizer.json", "\"normalized\":false", "\"normalized\":true", "normalized"},
    {"tokenizer.json", "\"[CLS]\":", "\"[CLX]\":", "[CLS]"},
    {"tokenizer.json", "\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[UNX]\"", "[UNX]"},
    {"tokenizer.json", "\"unk_token\"", "\"continuing_subword_prefix\":\"@@\",\"unk_token\"",
     "continuing"},
    {"tokenizer.json", "\"unk_token\"", "\"max_input_chars_per_word\":500,\"unk_token\"",
     "max_input"},
    {"tokenizer.json", "\"hello\":26", "\"hello\":99", "beyond the rows"},
    {"tokenizer.json", "\"hello\":26", "\"hello\":-1", "id of a word"},
    {"tokenizer.json", "\"hello\":26", "\"hello\":null", "id of a word"},
    {"tokenizer.json", "\"vocab\"", "\"vacob\"", "vocabulary"},
    {"tokenizer.json", "\"vocab\"", NULL, "not valid JSON"},
};

static const struct fault torch_faults[] = {
    {"config.json", NULL, NULL, "config.json"},
    {"model.safetensors", NULL, NULL, "contains no model"},
    {"config.json", "bert", "roberta", "the model_type \"roberta\" is not supported"},
    {"config.json", "model_type", "type", "the model_type (missing)"},
    {"config.json", "\"gelu\"", "\"relu\"", "the hidden_act \"relu\" is not supported"},
    {"config.json", "\"num_hidden_layers\":2", "\"num_hidden_layers\":3", "encoder.layer.2"},
    {"config.json", "\"num_hidden_layers\":2", "\"num_hidden_layers\":64", "encoder.layer.2"},
    {"config.json", "\"num_hidden_layers\":2", "\"num_hidden_layers\":9999999", "layers"},
    {"config.json", "num_attention_heads", "attention_heads", "num_attention_heads"},
    {"config.json", "\"layer_norm_eps\"", "\"position_embedding_type\":\"relative_key\",\"e\"",
     "the position_embedding_type \"relative_key\" is not supported"},
    {"config.json", "{", NULL, "config.json"},
    {"model.safetensors", "{", NULL, "truncated"},
    {"model.safetensors", "word_embeddings", "wort_embeddings", "word_embeddings"},
    {"model.safetensors", "data_offsets\":[0,", "data_offsets\":[9,", "outside"},
    {"model.safetensors", "\"dtype\":\"F32\"", "\"dtype\":\"I64\"", "shape or type"},
    {"model.safetensors", "\"shape\":[40,32]", "\"shape\":[-4,32]", "outside"},
    {"model.safetensors", "\"shape\":[40,32]", "\"shape\":[32,40]", "shape or type"},
    {"model.safetensors", "\"shape\":[40,32]", "\"shape\":[\"a\",2]", "outside"},
};

/* Changes the text of a file. In safetensors the new text must have the same length. */
static void spoil(struct fumi_arena *a, const struct tiny *t, const struct fault *f)
{
    char path[256];
    tiny_path(t, f->file, path);
    if (!f->from) {
        unlink(path);
        return;
    }
    struct fumi_str s = slurp(a, t, f->file);
    const char *at = memmem(s.p, s.n, f->from, strlen(f->from));
    struct fumi_buf b = {0};
    if (!at)
        abort();
    fumi_buf_add(&b, s.p, (size_t)(at - s.p));
    if (f->to) {
        const char *rest = at + strlen(f->from);
        fumi_buf_add(&b, f->to, strlen(f->to));
        fumi_buf_add(&b, rest, (size_t)(s.p + s.n - rest));
    }
    tiny_write_buf(t, f->file, &b);
}

static void check_fault(const struct fault *f, bool torch)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    if (torch)
        tiny_safetensors(t, "F32", "");
    else
        tiny_tfjs(t);
    tiny_tokenizer(t);
    spoil(&a, t, f);
    if (!install(t, ".", &e))
        TEST_FAIL("%s: %s -> %s is taken", f->file, f->from, f->to);
    else if (e.code != ERR_PROVIDER || !strstr(e.text, f->sentence))
        TEST_FAIL("%s: %s -> %s: %s", f->file, f->from, f->to, e.text);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(faults_are_named)
{
    for (size_t i = 0; i < FUMI_COUNT(tfjs_faults); i++)
        check_fault(&tfjs_faults[i], false);
    for (size_t i = 0; i < FUMI_COUNT(torch_faults); i++)
        check_fault(&torch_faults[i], true);
}

static size_t count_files(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

TEST(the_file_is_replaced_completely_or_not_at_all)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    struct stat st;
    char to[256], nowhere[256];
    tiny_tfjs(t);
    tiny_tokenizer(t);
    tiny_path(t, "out.fumi", to);
    tiny_path(t, "none/out.fumi", nowhere);
    tiny_write(t, "out.fumi", "old", 3);
    size_t files = count_files(t->dir);
    CHECK_INT(pack_model(t->dir, nowhere, &t->options, &e), -1);
    CHECK(strstr(e.text, "cannot be written"));
    CHECK_INT(pack_model(nowhere, to, &t->options, &e), -1);
    CHECK_STR(slurp(&a, t, "out.fumi"), "old");
    CHECK_INT(pack_model(t->dir, to, &t->options, &e), 0);
    CHECK_INT(stat(to, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0644);
    CHECK(st.st_size > 1000);
    CHECK_INT(count_files(t->dir), files);
    CHECK_INT(pack_model(t->dir, t->dir, &t->options, &e), -1); /* the target is a directory */
    CHECK_INT(count_files(t->dir), files);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(packing_is_deterministic)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    CHECK_INT(install(t, ".", &e), 0);
    struct fumi_str first = slurp(&a, t, "out.fumi");
    CHECK_INT(install(t, ".", &e), 0);
    CHECK(fumi_eq(first, slurp(&a, t, "out.fumi")));
    fumi_arena_done(&a);
    tiny_free(t);
}
