#include "gloss_fixture.h"
#include "model/codes.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    struct fumi_arena a;
    struct fumi_err e;
    char dir[64], path[128];
    struct gloss *g;
};

static bool begin(struct fixture *f)
{
    *f = (struct fixture){.dir = "/tmp/test-gloss-XXXXXX"};
    if (!mkdtemp(f->dir))
        return false;
    edict_pack(f->dir);
    snprintf(f->path, sizeof(f->path), "%s/" GLOSS_FILE, f->dir);
    f->g = gloss_open(f->path, &f->e);
    return f->g != NULL;
}

static void end(struct fixture *f)
{
    gloss_close(f->g);
    unlink(f->path);
    unlink(fumi_fmt(&f->a, "%s/edict", f->dir).p);
    unlink(fumi_fmt(&f->a, "%s/model.bin", f->dir).p);
    rmdir(f->dir);
    fumi_arena_done(&f->a);
}

/* The glossed text with single blanks, and none at the ends. */
static struct fumi_str tidy(struct fumi_arena *a, struct fumi_str s)
{
    char *out = fumi_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' || (n && out[n - 1] != ' '))
            out[n++] = s.p[i];
    return (struct fumi_str){out, n && out[n - 1] == ' ' ? n - 1 : n};
}

TEST(words_become_their_first_gloss)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"世界", "the world"},
        {"世界中", "around the world"}, /* the longest word */
        {"hello 世界!", "hello the world !"},
        {"人は世界を食べる。", "man the world eat 。"},
        {"人が食べました", "man eat"},
        {"人が食べなかった", "man eat"},
        {"行きました、行って、行った", "go 、 go 、 go"},
        {"高かった高くない", "high high"},
        {"3匹の猫", "3 cat"},
        {"りんご", "apple"},  /* usually in kana */
        {"ぬこ", "ぬこ"},     /* so is this, but it is short */
        {"あぼび", "あぼび"}, /* not common */
        {"なかなか", "very"},
        {"スケート靴", "skating 靴"}, /* unknown: stays */
        {"挨拶した", "hello"},
        {"空", "空"}, /* without a gloss */
        {"京都", "京都"},
        {"Ｔシャツ", "Ｔシャツ"},
        {"사과 苹果 яблоко", "사과 苹果 яблоко"},
    };
    struct fixture f;
    CHECK(begin(&f));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct glossed t = gloss_text(f.g, &f.a, fumi_str(rows[i].text));
        if (!fumi_eq(tidy(&f.a, t.text), fumi_str(rows[i].want)))
            TEST_FAIL("%s: got %.*s, want %s", rows[i].text, FUMI_ARG(t.text), rows[i].want);
    }
    CHECK_STR(gloss_name(f.g), "EDICT 2021-02-03");
    CHECK_INT(gloss_verify(f.g, f.path, &f.e), 0);
    end(&f);
}

TEST(other_texts_are_not_copied)
{
    static const char *const texts[] = {"", "plain English, 100 %", "naïve café", "Привет", "北京"};
    struct fixture f;
    CHECK(begin(&f));
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct fumi_str text = fumi_str(texts[i]);
        struct glossed t = gloss_text(f.g, &f.a, text);
        CHECK(t.text.p == text.p && t.text.n == text.n && t.n == 0);
    }
    struct fumi_str world = FUMI_STR("世界");
    CHECK(gloss_text(NULL, &f.a, world).text.p == world.p);
    end(&f);
}

/* The ranges cover both texts without gaps, and what is unchanged is equal in both. */
TEST(ranges_lead_back_to_the_text)
{
    struct fixture f;
    CHECK(begin(&f));
    struct fumi_str text = FUMI_STR("a 世界 b 人が\xff\xe4\xb8 食べたc");
    struct glossed t = gloss_text(f.g, &f.a, text);
    uint32_t at = 0;
    CHECK(t.n > 5 && t.ranges[0].begin == 0 && t.ranges[t.n - 1].end == text.n);
    for (size_t i = 0; i < t.n; i++) {
        const struct gloss_range *r = &t.ranges[i];
        uint32_t end = i + 1 < t.n ? t.ranges[i + 1].at : (uint32_t)t.text.n;
        CHECK(r->begin < r->end && r->at == at && (!i || r->begin == t.ranges[i - 1].end));
        if (r->same) {
            CHECK_INT(end - at, r->end - r->begin);
            CHECK(memcmp(text.p + r->begin, t.text.p + at, end - at) == 0);
        }
        at = end;
    }
    /* " the", " world" and "b" of the glossed text "a  the world  b ..." */
    struct model_token tokens[] = {{0, 3, 6}, {0, 7, 12}, {0, 14, 15}};
    CHECK(memcmp(t.text.p, "a  the world  b", 15) == 0);
    gloss_map_back(&t, tokens, 3);
    CHECK(tokens[0].begin == 2 && tokens[0].end == 8);
    CHECK(tokens[1].begin == 2 && tokens[1].end == 8);
    CHECK(tokens[2].begin == 9 && tokens[2].end == 10);
    end(&f);
}

TEST(japanese_is_told_from_other_languages)
{
    static const struct {
        const char *text;
        bool japanese;
    } rows[] = {
        {"世界の人", true}, {"ひらがな", true}, {"カタカナ", true}, {"世界 人", true},
        {"世界京", false},  {"北京", false},    {"สวัสดี", false},    {"العربية", false},
        {"한국어", false},  {"English", false}, {"", false},
    };
    struct fixture f;
    CHECK(begin(&f));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        if (gloss_is_japanese(f.g, fumi_str(rows[i].text)) != rows[i].japanese)
            TEST_FAIL("%s", rows[i].text);
        CHECK(!gloss_is_japanese(NULL, fumi_str(rows[i].text)));
    }
    end(&f);
}

/* Writes the file with n bytes replaced at the offset `at`, cut to `size` bytes. */
static struct gloss *open_damaged(struct fixture *f, size_t at, const void *bytes, size_t n,
                                  size_t size)
{
    struct fumi_str path = fumi_fmt(&f->a, "%s/model.bin", f->dir);
    char *copy = fumi_alloc(&f->a, 1 << 16);
    FILE *in = fopen(f->path, "rb"), *out = fopen(path.p, "wb");
    size_t all = in ? fread(copy, 1, 1 << 16, in) : 0;
    if (!out || at + n > all || all == 1 << 16)
        abort();
    if (n)
        memcpy(copy + at, bytes, n);
    fwrite(copy, 1, size < all ? size : all, out);
    fclose(in);
    fclose(out);
    f->e = (struct fumi_err){0};
    return gloss_open(path.p, &f->e);
}

TEST(damaged_files_are_refused)
{
    static const struct {
        size_t at;
        const char *bytes;
        size_t n, size;
        const char *says;
    } rows[] = {
        {0, "", 0, 0, "truncated"},
        {0, "", 0, 127, "truncated"},
        {0, "", 0, 500, "truncated"},
        {0, "FUMIMODL", 8, SIZE_MAX, "is not a dictionary"},
        {8, "\xff\0\0\0", 4, SIZE_MAX, "another version"},
        {12, "\xff\xff\xff\xff", 4, SIZE_MAX, "damaged"},
        {48, "\1", 1, SIZE_MAX, "damaged"},
        {56, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 64, SIZE_MAX,
         "damaged"},
    };
    struct fixture f;
    CHECK(begin(&f));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct gloss *g = open_damaged(&f, rows[i].at, rows[i].bytes, rows[i].n, rows[i].size);
        if (g || f.e.code != ERR_PROVIDER || !strstr(f.e.text, rows[i].says) ||
            !strstr(f.e.text, "fumi model install /usr/share/edict/edict --to /"))
            TEST_FAIL("row %zu: %s", i, f.e.text);
        gloss_close(g);
    }
    CHECK(!gloss_open("/nowhere/at/all", &f.e) && strstr(f.e.text, "/nowhere/at/all"));
    CHECK(!gloss_open(f.dir, &f.e) && strstr(f.e.text, "is not a file"));
    end(&f);
}

/* Wherever the table is damaged, texts are read within bounds, and the checksum shows it. */
TEST(damaged_tables_are_harmless)
{
    static const unsigned char bytes[][4] = {
        {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, {0x7f, 0, 0, 0}, {0xe4, 0xb8, 0x96, 0xe7}};
    struct fixture f;
    struct stat st;
    CHECK(begin(&f) && stat(f.path, &st) == 0);
    for (size_t at = sizeof(struct gloss_head); at + 5 < (size_t)st.st_size; at += 3) {
        struct gloss *g = open_damaged(&f, at, bytes[at % 4], 4, SIZE_MAX);
        CHECK(g);
        struct glossed t = gloss_text(g, &f.a, FUMI_STR("人は世界を高く食べた。"));
        CHECK(t.text.n > 0);
        gloss_is_japanese(g, FUMI_STR("世界人"));
        gloss_verify(g, f.path, &f.e);
        gloss_close(g);
        fumi_arena_reset(&f.a, 1 << 20);
    }
    struct gloss *g = open_damaged(&f, (size_t)st.st_size - 3, "?", 1, SIZE_MAX);
    CHECK(g && gloss_verify(g, f.path, &f.e) && strstr(f.e.text, "checksum"));
    CHECK(strstr(f.e.text, fumi_fmt(&f.a, "--to %s\"", f.path).p)); /* replaces the damaged file */
    gloss_close(g);
    end(&f);
}

TEST(the_file_is_next_to_the_model)
{
    struct fixture f;
    CHECK(begin(&f));
    struct fumi_str model = fumi_fmt(&f.a, "%s/any.bin", f.dir);
    CHECK_STR(gloss_find(&f.a, model.p), f.path);
    setenv("FUMI_MODEL", "/nowhere", 1); /* the directories of the system are not searched */
    CHECK(!gloss_find(&f.a, "/nowhere/any.bin").p);
    CHECK(!gloss_find(&f.a, "any.bin").p);
    unsetenv("FUMI_MODEL");
    end(&f);
}

TEST(other_files_are_not_packed)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "empty"},
        {"no dictionary", "EUC-JP"},
        {"　？？？ /EDICT/no date/\n", "EUC-JP"},
        {"　？？？ /EDICT/Created: 2021-02-03/\n\n世界\n", "has no words"},
    };
    struct fixture f;
    CHECK(begin(&f));
    struct fumi_str from = fumi_fmt(&f.a, "%s/edict", f.dir);
    CHECK(pack_is_edict(from.p) && !pack_is_edict(f.path) && !pack_is_edict(f.dir));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        edict_write(from.p, rows[i].text, strlen(rows[i].text));
        f.e = (struct fumi_err){0};
        if (!pack_edict(from.p, f.path, &f.e) || !strstr(f.e.text, rows[i].says))
            TEST_FAIL("row %zu: %s", i, f.e.text);
    }
    FILE *out = fopen(from.p, "wb");
    CHECK(out && fputs(edict_lines, out) >= 0 && !fclose(out)); /* UTF-8 */
    CHECK(pack_edict(from.p, f.path, &f.e) && strstr(f.e.text, "EUC-JP"));
    CHECK(pack_edict("/nowhere/at/all", f.path, &f.e) && strstr(f.e.text, "/nowhere/at/all"));
    end(&f);
}
