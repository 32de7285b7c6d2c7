#include "embed/model_file.h"
#include "model/codes.h"
#include "model_fixture.h"

#include <sys/stat.h>

static struct tiny *tiny_packed(struct fumi_buf *file)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    char path[256];
    tiny_tfjs(t);
    tiny_tokenizer(t);
    tiny_path(t, "out.fumi", path);
    if (pack_model(t->dir, path, &t->options, &e)) {
        TEST_FAIL("%s", e.text);
        return t;
    }
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    file->n = fread(fumi_buf_reserve(file, n), 1, n, f);
    fclose(f);
    return t;
}

static struct model *open_bytes(const struct tiny *t, const void *p, size_t n, struct fumi_err *e)
{
    char path[256];
    tiny_path(t, "changed.fumi", path);
    tiny_write(t, "changed.fumi", p, n);
    return model_open(path, e);
}

TEST(a_packed_model_can_be_opened)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed(&file);
    struct model *m = open_bytes(t, file.p, file.n, &e);
    CHECK(m);
    CHECK_INT(model_verify(m, &e), 0);
    CHECK(model_name(m).n > 0 && fumi_starts(model_name(m), FUMI_STR("fumi-model-")));
    CHECK(!model_english_only(m)); /* a quarter of the words is not ASCII */
    const struct encoder_weights *w = model_weights(m);
    CHECK_INT(w->layers, TINY_LAYERS);
    CHECK_INT(w->hidden, TINY_HIDDEN);
    CHECK_INT(w->heads, 2);
    CHECK_INT(w->inner, TINY_INNER);
    CHECK_INT(w->positions, TINY_PLACES);
    CHECK_INT(w->word_table.rows, TINY_WORDS + 3);
    CHECK(w->epsilon > 0.9e-12f && w->epsilon < 1.1e-12f);
    char hex[64];
    model_sha256(m, hex);
    for (size_t i = 0; i < sizeof(hex); i++)
        CHECK(hex[i] && strchr("0123456789abcdef", hex[i]));
    model_close(m);
    fumi_buf_done(&file);
    tiny_free(t);
}

/* Changes a file to format version 1: a shorter header without a description. */
static void to_version_1(struct fumi_buf *file)
{
    struct model_head h;
    struct fumi_err e = {0};
    memcpy(&h, file->p, sizeof(h));
    memmove(file->p + MODEL_HEAD_1, file->p + sizeof(h), file->n - sizeof(h));
    file->n -= sizeof(h) - MODEL_HEAD_1;
    h.version = 1;
    h.head_size = MODEL_HEAD_1;
    h.size = file->n;
    memset(&h.pooling, 0x7F, 64); /* version 1 does not say what these bytes are */
    memcpy(file->p, &h, MODEL_HEAD_1);
    CHECK_INT(model_checksum(file->p + MODEL_SUM_START, file->n - MODEL_SUM_START, h.sha256, &e),
              0);
    memcpy(file->p, &h, MODEL_HEAD_1);
}

static void vector_of(const struct model *m, float out[TINY_HIDDEN])
{
    struct fumi_arena a = {0};
    struct encoder_text t;
    t.tokens = model_tokens(m, &a, FUMI_STR("the unaffable hello world"), TINY_PLACES, &t.n);
    encoder_run(model_weights(m), &t, 1, out);
    fumi_arena_done(&a);
}

TEST(files_of_version_1_are_read)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    float want[TINY_HIDDEN], got[TINY_HIDDEN];
    struct tiny *t = tiny_packed(&file);
    struct model *m = open_bytes(t, file.p, file.n, &e);
    CHECK(m);
    vector_of(m, want);
    model_close(m);
    to_version_1(&file);
    m = open_bytes(t, file.p, file.n, &e);
    CHECK(m);
    CHECK_INT(model_verify(m, &e), 0);
    vector_of(m, got);
    CHECK(memcmp(want, got, sizeof(want)) == 0);
    CHECK_INT(model_weights(m)->pooling, ENCODER_MEAN);
    CHECK_INT(model_query_prefix(m).n, 0);
    CHECK_INT(model_passage_prefix(m).n, 0);
    CHECK_INT(model_max_tokens(m), TINY_PLACES);
    CHECK(!model_calibration(m));
    model_close(m);
    CHECK(!open_bytes(t, file.p, MODEL_HEAD_1, &e));
    fumi_buf_done(&file);
    tiny_free(t);
}

TEST(files_of_later_versions_are_refused_by_version)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed(&file);
    uint32_t later = MODEL_VERSION + 1;
    memcpy(file.p + offsetof(struct model_head, version), &later, sizeof(later));
    CHECK(!open_bytes(t, file.p, file.n, &e));
    CHECK(strstr(e.text, "format version 3") && strstr(e.text, "up to 2"));
    fumi_buf_done(&file);
    tiny_free(t);
}

TEST(damage_of_the_description_is_named)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed(&file);
    file.p[offsetof(struct model_head, passage_prefix)] = (char)0xC3;
    CHECK(!open_bytes(t, file.p, file.n, &e));
    CHECK(strstr(e.text, "its passage prefix is not valid"));
    fumi_buf_done(&file);
    tiny_free(t);
}

/* Every part begins at a multiple of 64 bytes in memory. */
TEST(parts_are_aligned)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed(&file);
    struct model *m = open_bytes(t, file.p, file.n, &e);
    CHECK(m);
    const struct encoder_weights *w = model_weights(m);
    const void *parts[] = {w->word_table.q,
                           w->word_table.scale,
                           w->position_table.q,
                           w->embedding_norm.gain,
                           w->layer[1].query.panels,
                           w->layer[1].expand.sums,
                           w->layer[1].contract.panels,
                           w->layer[1].output_norm.shift};
    for (size_t i = 0; i < FUMI_COUNT(parts); i++)
        CHECK_INT((uintptr_t)parts[i] % 64, 0);
    model_close(m);
    fumi_buf_done(&file);
    tiny_free(t);
}

TEST(damage_is_found)
{
    struct fumi_buf file = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed(&file);
    CHECK(file.n);
    for (size_t i = 0; i < 40; i++) { /* after the header only the checksum finds damage */
        size_t at = sizeof(struct model_head) +
                    tiny_random(t) % (file.n - sizeof(struct model_head));
        file.p[at] ^= 1;
        struct model *m = open_bytes(t, file.p, file.n, &e);
        CHECK(m);
        CHECK_INT(model_verify(m, &e), -1);
        CHECK_INT(e.code, ERR_PROVIDER);
        model_close(m);
        file.p[at] ^= 1;
    }
    fumi_buf_done(&file);
    tiny_free(t);
}

static void set(struct fumi_buf *file, size_t offset, uint32_t value)
{
    memcpy(file->p + offset, &value, sizeof(value));
}

TEST(bad_headers_are_refused)
{
    static const struct {
        const char *name;
        size_t offset;
        uint32_t value;
    } changes[] = {
#define CHANGE(member, value) {#member, offsetof(struct model_head, member), value}
        CHANGE(magic, 0),
        CHANGE(version, 0),
        CHANGE(version, 1),
        CHANGE(version, 3),
        CHANGE(version, UINT32_MAX),
        CHANGE(head_size, 128),
        CHANGE(head_size, 256),
        CHANGE(size, 0),
        CHANGE(panel_layout, 1),
        CHANGE(layers, 0),
        CHANGE(layers, 1),
        CHANGE(layers, 3),
        CHANGE(layers, 65),
        CHANGE(layers, UINT32_MAX),
        CHANGE(hidden, 0),
        CHANGE(hidden, 33),
        CHANGE(hidden, 48),
        CHANGE(hidden, UINT32_MAX),
        CHANGE(heads, 0),
        CHANGE(heads, 5),
        CHANGE(inner, 0),
        CHANGE(inner, 4096),
        CHANGE(positions, 0),
        CHANGE(positions, 41 * 64),
        CHANGE(positions, UINT32_MAX),
        CHANGE(types, 0),
        CHANGE(types, 64),
        CHANGE(words, 2),
        CHANGE(words, 1 << 22),
        CHANGE(words, UINT32_MAX),
        CHANGE(epsilon, 0),
        CHANGE(epsilon, 0x7FC00000),
        CHANGE(max_chars, 0),
        CHANGE(max_chars, 101),
        CHANGE(cells, 0),
        CHANGE(cells, 1 << 27),
        CHANGE(cells, UINT32_MAX),
        CHANGE(specials, 0),
        CHANGE(specials, UINT32_MAX),
        CHANGE(continuation, UINT32_MAX),
        CHANGE(unk, UINT32_MAX),
        CHANGE(cls, 1 << 20),
        CHANGE(sep, 1 << 20),
        CHANGE(name[60], 0x61616161),
        CHANGE(name[0], 0xFF),
        CHANGE(pooling, 2),
        CHANGE(max_tokens, 65537),
        CHANGE(calibrated, 2),
        {"calibration", offsetof(struct model_head, calibration.both) + 4, 0x7FF00000},
        CHANGE(query_prefix[0], 0x80),
        CHANGE(query_prefix[252], 0x61616161),
        CHANGE(passage_prefix[252], 0x61616161),
#undef CHANGE
    };
    struct fumi_buf file = {0};
    struct tiny *t = tiny_packed(&file);
    CHECK(file.n);
    memset(file.p + offsetof(struct model_head, name), 'a', 60);
    memset(file.p + offsetof(struct model_head, query_prefix), 'a', 252);
    memset(file.p + offsetof(struct model_head, passage_prefix), 'a', 252);
    for (size_t i = 0; i < FUMI_COUNT(changes); i++) {
        struct fumi_err e = {0};
        uint32_t before;
        memcpy(&before, file.p + changes[i].offset, sizeof(before));
        set(&file, changes[i].offset, changes[i].value);
        struct model *m = open_bytes(t, file.p, file.n, &e);
        if (m || e.code != ERR_PROVIDER || !strstr(e.text, "fumi model install"))
            TEST_FAIL("%s = %u is taken", changes[i].name, changes[i].value);
        model_close(m);
        set(&file, changes[i].offset, before);
    }
    fumi_buf_done(&file);
    tiny_free(t);
}

TEST(short_and_long_files_are_refused)
{
    struct fumi_buf file = {0};
    struct tiny *t = tiny_packed(&file);
    CHECK(file.n);
    const size_t sizes[] = {0,   1,   255,        256,         257,       767,
                            768, 769, file.n / 2, file.n - 64, file.n - 1};
    for (size_t i = 0; i < FUMI_COUNT(sizes); i++) {
        struct fumi_err e = {0};
        CHECK(!open_bytes(t, file.p, sizes[i], &e));
        CHECK_INT(e.code, ERR_PROVIDER);
    }
    struct fumi_err e = {0};
    fumi_buf_put(&file, 0);
    CHECK(!open_bytes(t, file.p, file.n, &e));
    fumi_buf_done(&file);
    tiny_free(t);
}

/* Random changes of the tries: all tokens are still valid ids. */
TEST(a_damaged_vocabulary_gives_valid_tokens)
{
    struct fumi_buf file = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_packed(&file);
    CHECK(file.n);
    struct model_head head;
    memcpy(&head, file.p, sizeof(head));
    size_t cells = (head.cells + head.specials) * sizeof(struct trie_cell);
    for (int round = 0; round < 300; round++) {
        struct fumi_err e = {0};
        for (int i = 0; i < 20; i++) {
            static const uint32_t values[] = {0, 1, UINT32_MAX, INT32_MAX, 0x80000000};
            uint32_t value = tiny_random(t) % 2 ? values[tiny_random(t) % 5] : tiny_random(t) % 400;
            set(&file, sizeof(head) + tiny_random(t) % (cells / 4) * 4, value);
        }
        struct model *m = open_bytes(t, file.p, file.n, &e);
        CHECK(m);
        size_t n;
        const int32_t *ids = model_tokens(
            m, &a, FUMI_STR("the unaffable running 設定 [MASK] hello, world abab [SEP]"), 40, &n);
        for (size_t i = 0; i < n; i++)
            CHECK(ids[i] >= 0 && (uint32_t)ids[i] < head.words);
        model_close(m);
        fumi_arena_reset(&a, 0);
    }
    fumi_arena_done(&a);
    fumi_buf_done(&file);
    tiny_free(t);
}

TEST(no_file)
{
    struct tiny *t = tiny_new();
    struct fumi_err e = {0};
    char path[256];
    tiny_path(t, "none.fumi", path);
    CHECK(!model_open(path, &e));
    CHECK_INT(e.code, ERR_PROVIDER);
    CHECK(strstr(e.text, "none.fumi") && strstr(e.text, "fumi model install"));
    CHECK(!model_open(t->dir, &e));
    CHECK(!model_open("/dev/null", &e));
    model_close(NULL);
    tiny_free(t);
}

static bool set_env(const char *name, const char *value)
{
    return value ? !setenv(name, value, 1) : !unsetenv(name);
}

/* The result of model_find with FUMI_MODEL = `named` and XDG_DATA_HOME = `data`. */
static struct fumi_str find_with(struct fumi_arena *a, const char *named, const char *data,
                                 struct fumi_err *e)
{
    const char *names[] = {"FUMI_MODEL", "XDG_DATA_HOME"}, *values[] = {named, data};
    char *before[2];
    for (size_t i = 0; i < 2; i++) {
        before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        set_env(names[i], values[i]);
    }
    struct fumi_str found = model_find(a, e);
    for (size_t i = 0; i < 2; i++) {
        set_env(names[i], before[i]);
        free(before[i]);
    }
    return found;
}

TEST(the_file_is_found)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    char dir[256], file[300], other[256];
    tiny_path(t, "fumi", dir);
    CHECK_INT(mkdir(dir, 0700), 0);
    snprintf(file, sizeof(file), "%s/fumi-minilm.bin", dir);
    tiny_write(t, "fumi/fumi-minilm.bin", "x", 1);
    tiny_path(t, "other", other);
    tiny_write(t, "other", "x", 1);
    CHECK_STR(find_with(&a, other, t->dir, &e), other);
    CHECK_STR(find_with(&a, dir, NULL, &e), file);
    struct fumi_str found = find_with(&a, NULL, t->dir, &e);
    CHECK(fumi_eq(found, fumi_str(file)) || strstr(found.p, "/share/fumi/fumi-minilm.bin"));
    CHECK_STR(find_with(&a, "", t->dir, &e), found.p);
    CHECK(!find_with(&a, "/nowhere/at/all", t->dir, &e).p);
    CHECK_INT(e.code, ERR_PROVIDER);
    CHECK(strstr(e.text, "FUMI_MODEL"));
    fumi_arena_done(&a);
    tiny_free(t);
}
