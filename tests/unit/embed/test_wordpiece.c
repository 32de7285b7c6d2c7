#include "model_fixture.h"

enum { IDS_MAX = 64 };

struct row {
    const char *text;
    const char *want[IDS_MAX]; /* NULL at the end */
};

#define CHARS_10 "aaaaaaaaaa"
#define CHARS_100                                                                                  \
    CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10 CHARS_10

static const struct row rows[] = {
    {"", {NULL}},
    {" \t\n\r\u3000\u00a0 ", {NULL}},
    {"the", {"the"}},
    {"THE The", {"the", "the"}},
    {"unaffable", {"un", "##aff", "##able"}},
    {"running", {"run", "##n", "##ing"}},
    {"unaffablez", {"[UNK]"}},
    {"zzz the", {"[UNK]", "the"}},
    {"hello, world!", {"hello", ",", "world", "!"}},
    {"hello,,world", {"hello", ",", ",", "world"}},
    {"Caf\u00e9 CAFE\u0301", {"cafe", "cafe"}},
    {"設定", {"設", "定"}},
    {"a設b", {"a", "設", "b"}},
    {"the\u200dthe a", {"[UNK]", "a"}},
    {"hel\u200dlo", {"hello"}},
    {"hel\x01lo", {"hello"}},
    {"hel\ufffdlo", {"hello"}},
    {"hel\xff\xc3lo", {"hello"}},
    {"hello\u2028world\u3000a", {"hello", "world", "a"}},
    {"«the»", {"[UNK]", "the", "»"}},
    {"[SEP]", {"[SEP]"}},
    {"a[MASK]b", {"a", "[MASK]", "b"}},
    {"[sep]", {"[", "sep", "]"}},
    {"[SEP", {"[", "sep"}},
    {"#", {"#"}},
    {"##a", {"#", "#", "a"}},
    {"\u0130", {"i"}},
    {"\u1e9e", {"ß"}},
    {"\uac01", {"\u1100", "##\u1161", "##\u11a8"}},
    {"ab ba", {"a", "##b", "b", "##a"}},
    {CHARS_100 "a", {"[UNK]"}},
    {CHARS_100 "a the", {"[UNK]", "the"}},
};

static void check_row(const struct model *m, const struct row *row)
{
    struct fumi_arena a = {0};
    size_t n;
    struct model_token *t = model_tokens_at(m, &a, fumi_str(row->text), &n);
    for (size_t i = 0; i < n || row->want[i]; i++) {
        int32_t want = row->want[i] ? tiny_id(row->want[i]) : -1;
        if (i >= n || t[i].id != want) {
            TEST_FAIL("%s: token %zu is %s, want %s", row->text, i,
                      i < n ? tiny_words[t[i].id] : "none", row->want[i] ? row->want[i] : "none");
            break;
        }
    }
    fumi_arena_done(&a);
}

TEST(pieces_match_the_published_tokenizer)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    if (!m)
        TEST_FAIL("%s", e.text);
    for (size_t i = 0; m && i < FUMI_COUNT(rows); i++)
        check_row(m, &rows[i]);
    model_close(m);
    tiny_free(t);
}

TEST(a_hundred_characters_are_still_a_word)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    size_t n;
    const struct model_token *x = model_tokens_at(m, &a, FUMI_STR(CHARS_100), &n);
    CHECK_INT(n, 100);
    CHECK_INT(x[0].id, tiny_id("a"));
    CHECK_INT(x[99].id, tiny_id("##a"));
    CHECK_INT(x[99].begin, 99);
    fumi_arena_done(&a);
    model_close(m);
    tiny_free(t);
}

/* All combinations of lower-casing and stripping accents in tokenizer.json. */
TEST(normalizer_options)
{
    static const struct {
        const char *normalizer;
        struct row row;
    } cases[] = {
        {"{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
         "\"strip_accents\":null,\"lowercase\":false}",
         {"The the \u00e9", {"[UNK]", "the", "é"}}},
        {"{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":false,"
         "\"strip_accents\":false,\"lowercase\":true}",
         {"THE \u00c9 \u0130 a設", {"the", "é", "i", "##\u0307", "[UNK]"}}},
        {"{\"type\":\"BertNormalizer\",\"clean_text\":false,\"handle_chinese_chars\":true,"
         "\"strip_accents\":true,\"lowercase\":true}",
         {"hel\u200dlo caf\u00e9", {"[UNK]", "cafe"}}},
    };
    for (size_t i = 0; i < FUMI_COUNT(cases); i++) {
        struct fumi_err e = {0};
        struct tiny *t = tiny_new();
        t->normalizer = cases[i].normalizer;
        tiny_tfjs(t);
        tiny_tokenizer(t);
        struct model *m = tiny_open(t, &e);
        if (m)
            check_row(m, &cases[i].row);
        else
            TEST_FAIL("%s", e.text);
        model_close(m);
        tiny_free(t);
    }
}

TEST(tokens_have_positions)
{
    static const struct model_token want[] = {
        {26, 1, 6},   {13, 6, 7},   {6, 8, 10},   {7, 10, 13}, {8, 13, 17},
        {12, 18, 23}, {19, 26, 29}, {20, 29, 32}, {1, 33, 36},
    };
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    size_t n;
    struct model_token *x = model_tokens_at(
        m, &a, FUMI_STR(" Hello, unaffable caf\u00e9 \u0301設定 zzz"), &n);
    CHECK_INT(n, FUMI_COUNT(want));
    for (size_t i = 0; i < n; i++)
        if (x[i].id != want[i].id || x[i].begin != want[i].begin || x[i].end != want[i].end)
            TEST_FAIL("token %zu: %d at %u to %u", i, x[i].id, x[i].begin, x[i].end);
    fumi_arena_done(&a);
    model_close(m);
    tiny_free(t);
}

TEST(the_maximum_is_kept)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    size_t n;
    for (size_t max = 2; max < 12; max++) {
        const int32_t *ids = model_tokens(m, &a, FUMI_STR("the unaffable, the unaffable"), max, &n);
        CHECK_INT(n, max < 11 ? max : 11);
        CHECK_INT(ids[0], tiny_id("[CLS]"));
        CHECK_INT(ids[n - 1], tiny_id("[SEP]"));
    }
    model_tokens(m, &a, FUMI_STR("the"), 0, &n);
    CHECK_INT(n, 2);
    fumi_arena_done(&a);
    model_close(m);
    tiny_free(t);
}

/* For any bytes, tokens are in order, inside of the text, with valid ids. */
TEST(any_bytes_give_tokens_in_order)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    for (int round = 0; round < 2000; round++) {
        char text[120];
        size_t size = tiny_random(t) % sizeof(text), n;
        for (size_t i = 0; i < size; i++)
            text[i] = (char)(tiny_random(t) % 3 ? "aeb. \xcc\x81\xe8\xa8\xad["[tiny_random(t) % 11]
                                                : (int)tiny_random(t));
        struct model_token *x = model_tokens_at(m, &a, (struct fumi_str){text, size}, &n);
        for (size_t i = 0; i < n; i++) {
            CHECK(x[i].id >= 0 && x[i].id < (int)TINY_WORDS);
            CHECK(x[i].begin < x[i].end && x[i].end <= size);
            CHECK(!i || x[i].begin >= x[i - 1].begin);
        }
        fumi_arena_reset(&a, 1 << 16);
    }
    fumi_arena_done(&a);
    model_close(m);
    tiny_free(t);
}

/* Ids of the published tokenizer for these texts, with the real vocabulary. */
TEST(the_real_vocabulary)
{
    static const struct {
        const char *text;
        int32_t ids[16]; /* 0 at the end */
    } known[] = {
        {"How do I log in?", {2129, 2079, 1045, 8833, 1999, 1029}},
        {"ADR-016: src/main.c getUserName",
         {4748, 2099, 1011, 5890, 2575, 1024, 5034, 2278, 1013, 2364, 1012, 1039, 2131, 20330,
          18442}},
        {"na\u00efve Caf\u00e9 \u0130stanbul ΣΊΣΥΦΟΣ",
         {15743, 7668, 9960, 1173, 18199, 29733, 29735, 29736, 29730, 29733}},
        {"設定ファイル", {100, 1822, 1720, 30218, 30221, 30259}},
        {"한국어 텍스트",
         {1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1467, 30009, 30020, 29997, 30017,
          30003, 30017}},
        {"Привет, мир!", {1194, 16856, 10325, 25529, 15290, 22919, 1010, 1191, 10325, 16856, 999}},
        {"e\u0301\u0323 a\u200db", {1041, 11113}},
        {"[MASK] [CLS]x", {103, 101, 1060}},
        {"“quoted” — dash…", {1523, 9339, 1524, 1517, 11454, 1529}},
        {"🙂 ok", {100, 7929}},
        /* Characters that Unicode added or changed after the tokenizer was made. */
        {"a\u166db a\u1734b a\u2e43b", {1037, 100, 1038, 11113, 100}},
        {"\ufb01 ½ № ²", {1984, 1092, 1578, 1082}},
        {"مرحبا بالعالم",
         {1295, 17149, 29820, 29816, 25573, 1271, 25573, 23673, 29830, 25573, 23673, 22192}},
        {"v2.1.3 user@host #123 snake_case",
         {1058, 2475, 1012, 1015, 1012, 1017, 5310, 1030, 3677, 1001, 13138, 7488, 1035, 2553}},
    };
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_str path = model_find(&a, &e);
    struct model *m = path.p ? model_open(path.p, &e) : NULL;
    if (!m || !fumi_eq(model_name(m), FUMI_STR("all-MiniLM-L6-v2")))
        printf("the_real_vocabulary skipped: %s\n", m ? "another model is installed" : e.text);
    for (size_t i = 0; m && i < FUMI_COUNT(known); i++) {
        size_t n;
        const struct model_token *x = model_tokens_at(m, &a, fumi_str(known[i].text), &n);
        for (size_t j = 0; j <= n; j++)
            if (known[i].ids[j] != (j < n ? x[j].id : 0))
                TEST_FAIL("%s: token %zu is %d", known[i].text, j, j < n ? x[j].id : 0);
    }
    model_close(m);
    fumi_arena_done(&a);
}
