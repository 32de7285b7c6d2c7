/* Every function is tested twice: as dispatched on this machine, and in its portable version, for
 * which the source is included a second time under other names. */
#include "base/utf8.h"

#define fumi_utf8_step  plain_step
#define fumi_utf8_valid plain_valid
#define fumi_utf8_run   plain_run
#define fumi_utf8_count plain_count
#define fumi_utf8_write plain_write
#define fumi_utf8_cut   plain_cut
#define FUMI_UTF8_PLAIN
#undef FUMI_BASE_UTF8_H
#include "base/utf8.c"
#undef fumi_utf8_step
#undef fumi_utf8_valid
#undef fumi_utf8_run
#undef fumi_utf8_count
#undef fumi_utf8_write
#undef fumi_utf8_cut

#include "test.h"

/* The grammar of RFC 3629, section 4, row by row: lowest and highest value of each byte. */
static const struct form {
    size_t n;
    unsigned char low[4], high[4];
} forms[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

static bool fits(const struct form *f, const unsigned char *p, size_t left)
{
    if (left < f->n)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (p[i] < f->low[i] || p[i] > f->high[i])
            return false;
    return true;
}

static size_t slow_step(const char *p, const char *end)
{
    for (size_t i = 0; i < FUMI_COUNT(forms); i++)
        if (fits(&forms[i], (const unsigned char *)p, (size_t)(end - p)))
            return forms[i].n;
    return 0;
}

/* Scans until `stops` returns true: the reference for fumi_utf8_run and, if it never does, for
 * fumi_utf8_valid. */
static const char *slow_run(const char *p, const char *end, bool (*stops)(unsigned char))
{
    while (p < end && !stops((unsigned char)*p)) {
        size_t n = slow_step(p, end);
        if (!n)
            return NULL;
        p += n;
    }
    return p;
}

static bool never(unsigned char c)
{
    (void)c;
    return false;
}

static bool ends_string(unsigned char c)
{
    return c == '"' || c == '\\' || c < 0x20;
}

static size_t slow_count(const char *p, const char *end)
{
    size_t n = 0;
    for (; p < end; p += slow_step(p, end))
        n++;
    return n;
}

static void show(const char *what, const char *p, size_t n)
{
    fprintf(stderr, "%s, %zu bytes:", what, n);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %02X", (unsigned char)p[i]);
    fputc('\n', stderr);
}

static bool agree_valid(const char *p, size_t n)
{
    struct fumi_str s = {p, n};
    bool want = slow_run(p, p + n, never) != NULL;
    if (fumi_utf8_valid(s) != want || plain_valid(s) != want)
        return false;
    if (!want)
        return true;
    size_t count = slow_count(p, p + n);
    return fumi_utf8_count(s) == count && plain_count(s) == count;
}

static bool agree_run(const char *p, size_t n)
{
    const char *want = slow_run(p, p + n, ends_string);
    return fumi_utf8_run(p, p + n) == want && plain_run(p, p + n) == want;
}

static bool agree_step(const char *p, size_t n)
{
    size_t want = slow_step(p, p + n);
    return fumi_utf8_step(p, p + n) == want && plain_step(p, p + n) == want;
}

static bool agree(const char *p, size_t n)
{
    if (agree_valid(p, n) && agree_run(p, n) && (!n || agree_step(p, n)))
        return true;
    show("differs from the grammar", p, n);
    return false;
}

/* At the given offset of an exact allocation, so that ASan finds reads on both sides. */
static bool agree_at(const char *p, size_t n, size_t offset)
{
    char *block = malloc(offset + n + !(offset + n));
    memset(block, 'x', offset);
    memcpy(block + offset, p, n);
    bool same = agree(block + offset, n);
    free(block);
    return same;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

TEST(all_single_bytes_and_pairs)
{
    for (unsigned i = 0; i < 0x100; i++) {
        char one = (char)i;
        CHECK(agree_at(&one, 1, 0));
    }
    for (unsigned i = 0; i < 0x10000; i++) {
        char two[2] = {(char)(i >> 8), (char)i};
        CHECK(agree(two, 2));
    }
}

/* The values on both sides of every boundary in the grammar. */
static const unsigned char edges[] = {0x00, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F,
                                      0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xFF};

TEST(all_beginnings_of_three)
{
    for (unsigned i = 0x8000; i < 0x10000; i++)
        for (size_t j = 0; j < sizeof(edges); j++) {
            char three[3] = {(char)(i >> 8), (char)i, (char)edges[j]};
            CHECK(agree(three, 3));
        }
}

TEST(all_beginnings_of_four)
{
    for (unsigned i = 0xF000; i < 0x10000; i++)
        for (size_t j = 0; j < sizeof(edges) * sizeof(edges); j++) {
            char four[4] = {(char)(i >> 8), (char)i, (char)edges[j / 16], (char)edges[j % 16]};
            CHECK(agree(four, 4));
        }
}

/* Every pair of bytes after 0x7F, followed by each boundary value and by a possible fourth byte,
 * across the boundary of two blocks and just before the end, where the AVX2 code has several cases.
 */
TEST(all_beginnings_within_a_long_text)
{
    char text[104];
    for (unsigned i = 0x8000; i < 0x10000; i++)
        for (size_t j = 0; j < 2 * sizeof(edges); j++) {
            size_t at = 27 + (i + j) % 8;
            char four[4] = {(char)(i >> 8), (char)i, (char)edges[j / 2], j % 2 ? 'a' : (char)0x80};
            memset(text, 'a', sizeof(text));
            memcpy(text + at, four, 4);
            CHECK(agree(text, i % 4 ? sizeof(text) : at + 4));
        }
}

TEST(valid_and_broken_sequences_at_every_place)
{
    static const char *const pieces[] = {
        "\x7F",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF",
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xC2",
        "\xE3\x81",
        "\xF0\x9F\x98",
        "\xE3\"",
        "\xE3\x81\"",
        "\xF0\x9F\x98\\",
        "\xC3\n",
        "\xE3\x81\x82\x82",
    };
    char text[140];
    for (size_t i = 0; i < FUMI_COUNT(pieces); i++)
        for (size_t at = 0; at < 136; at++) {
            size_t n = strlen(pieces[i]);
            memset(text, 'a', sizeof(text));
            memcpy(text + at, pieces[i], n);
            CHECK(agree_at(text, at + n, 0));
            CHECK(agree_at(text, sizeof(text), 0));
        }
}

static const char *const languages[] = {
    "手紙は朝のうちに届いた。封を切ると、中には短い便りと小さな地図が入っていた。"
    "駅から川に沿って歩き、古い橋を渡ると、カメラ屋のとなりに白い家が見えるという。",
    "Письмо пришло утром, и в нём было всего две строки: приезжай к реке, "
    "возьми карту и тёплый плащ. Ещё внизу стоял чей-то вензель.",
    "Déjà vu: l'été où Zoë mangea crème brûlée et jalapeños, fünf Öfen, åtte ål, trzy żółwie i "
    "plain words between them so that ASCII runs are long as well, then ende gut, alles gut: übel.",
    "😀😃😄👩‍🚀🏳️‍🌈🎌🗾 mixed 日本語 и русский, "
    "ελληνικά, עברית, العربية, हिन्दी, ไทย, "
    "한국어, 中文 𠮷野家 𝄞 ∀x∈ℝ",
    "{\"only\":\"ASCII\",\"with\":[1,2,3],\"and\":\"escapes \\u3042 \\n\"} The letter came "
    "in the morning with two lines and a small map, 0123456789 0123456789 0123456789",
};

static size_t fill(char *out, size_t n, const char *unit, size_t from)
{
    size_t size = strlen(unit);
    for (size_t i = 0; i < n; i++)
        out[i] = unit[(from + i) % size];
    return n;
}

TEST(text_of_many_languages_at_all_lengths_and_alignments)
{
    char text[200];
    for (size_t i = 0; i < FUMI_COUNT(languages); i++)
        for (size_t n = 0; n <= sizeof(text); n++)
            for (size_t offset = 0; offset < 32; offset++) {
                fill(text, n, languages[i], 0);
                CHECK(agree_at(text, n, offset));
            }
}

static void mutate(char *text, size_t n, uint64_t *random)
{
    static const unsigned char likely[] = {'"', '\\', '\n', 0, 'a', 0x80, 0xBF, 0xC3, 0xE3, 0xF0};
    size_t at = random_next(random) % n;
    switch (random_next(random) % 4) {
    case 0:
        text[at] = (char)random_next(random);
        break;
    case 1:
        text[at] = (char)likely[random_next(random) % sizeof(likely)];
        break;
    case 2:
        memmove(text + at, text + at + 1, n - at - 1);
        break;
    case 3:
        text[at] = (char)(text[at] ^ 1 << random_next(random) % 8);
        break;
    }
}

TEST(mutated_text_at_all_lengths_and_alignments)
{
    char text[200];
    uint64_t random = 20261115;
    for (size_t round = 0; round < 3 * FUMI_COUNT(languages); round++)
        for (size_t n = 1; n <= sizeof(text); n++)
            for (size_t offset = 0; offset < 32; offset++) {
                fill(text, n, languages[round % FUMI_COUNT(languages)], random_next(&random) % 100);
                for (size_t i = 0; i <= round / FUMI_COUNT(languages); i++)
                    mutate(text, n, &random);
                CHECK(agree_at(text, n, offset));
            }
}

TEST(random_bytes)
{
    char text[80];
    uint64_t random = 3629;
    for (int round = 0; round < 40000; round++) {
        size_t n = random_next(&random) % sizeof(text);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(random_next(&random) >> 11);
        CHECK(agree(text, n));
    }
}

/* One error or one stop in a text that is long enough for every loop. */
TEST(a_single_fault_in_a_long_text)
{
    enum { SIZE = 1200 };
    char *text = malloc(SIZE);
    bool same = true;
    for (size_t at = 0; at < SIZE && same; at++) {
        fill(text, SIZE, "文a", 0);
        text[at] = at % 3 ? (char)0xFF : '"';
        same = agree(text, SIZE);
    }
    free(text);
    CHECK(same);
}

TEST(the_run_ends_where_a_json_string_does)
{
    static const struct {
        const char *text;
        int want; /* -1: NULL */
    } rows[] = {
        {"日本\"", 6},      {"日本\\n", 6},   {"日本\n", 6},   {"日本\x1F", 6},
        {"日本 \x7F", 8},   {"日本", 6},      {"é\"\xFF", 2},  {"é\xFF\"", -1},
        {"\xE6\x97\"", -1}, {"\xE6\x97", -1}, {"é\xE6\\", -1}, {"é, ascii too, é\"", 17},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const char *p = rows[i].text, *got = fumi_utf8_run(p, p + strlen(p));
        if ((got ? (int)(got - p) : -1) != rows[i].want)
            TEST_FAIL("row %zu: got %d", i, got ? (int)(got - p) : -1);
    }
}

TEST(count_of_no_text_and_of_much)
{
    CHECK_INT(fumi_utf8_count((struct fumi_str){0}), 0);
    CHECK(fumi_utf8_valid((struct fumi_str){0}));
    enum { LETTERS = 20000 }; /* more than a byte of a sum can hold */
    char *text = malloc(3 * LETTERS);
    fill(text, 3 * LETTERS, "文", 0);
    size_t n = fumi_utf8_count((struct fumi_str){text, 3 * LETTERS});
    memset(text, 'a', 3 * LETTERS);
    size_t ascii = fumi_utf8_count((struct fumi_str){text, 3 * LETTERS});
    free(text);
    CHECK_INT(n, LETTERS);
    CHECK_INT(ascii, 3 * LETTERS);
}

static uint32_t decoded(const char *p, size_t n)
{
    static const unsigned char mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)p[0] & mask[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3F);
    return c;
}

TEST(every_character_written_is_the_one_read)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c == 0xD800)
            c = 0xE000;
        char out[5] = "~~~~";
        size_t n = fumi_utf8_write(c, out);
        size_t want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        CHECK_INT(n, want);
        CHECK_INT(slow_step(out, out + n), n);
        CHECK_INT(decoded(out, n), c);
        CHECK(n == 4 || out[n] == '~');
    }
}

TEST(cut_keeps_whole_characters)
{
    static const struct {
        const char *text;
        size_t most;
        const char *want;
    } rows[] = {
        {"", 0, ""},
        {"", 5, ""},
        {"abc", 0, ""},
        {"abc", 2, "ab"},
        {"abc", 3, "abc"},
        {"abc", 9, "abc"},
        {"aé", 2, "a"},
        {"aé", 3, "aé"},
        {"日本", 0, ""},
        {"日本", 1, ""},
        {"日本", 2, ""},
        {"日本", 3, "日"},
        {"日本", 4, "日"},
        {"日本", 5, "日"},
        {"日本", 6, "日本"},
        {"x😀y", 1, "x"},
        {"x😀y", 2, "x"},
        {"x😀y", 4, "x"},
        {"x😀y", 5, "x😀"},
        {"x😀y", 6, "x😀y"},
        {"a\xE6", 9, "a"},
        {"a\xE6\x97", 9, "a"},
        {"\xF0\x9F", 2, ""},
        {"a\xF0\x9F\x98", 9, "a"},
        {"ab\x80", 3, "ab\x80"}, /* stray continuation bytes begin nothing, so nothing is removed */
        {"\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str got = fumi_utf8_cut(fumi_str(rows[i].text), rows[i].most);
        if (!fumi_eq(got, fumi_str(rows[i].want)) || got.p != rows[i].text)
            TEST_FAIL("row %zu: got %zu bytes", i, got.n);
    }
    CHECK(!fumi_utf8_cut((struct fumi_str){0}, 5).p);
}

/* Every prefix of a valid text is valid, not too long, and less than a character shorter than
 * allowed. */
TEST(cut_of_any_text_at_any_place)
{
    for (size_t i = 0; i < FUMI_COUNT(languages); i++) {
        struct fumi_str s = fumi_str(languages[i]);
        for (size_t most = 0; most <= s.n + 2; most++) {
            struct fumi_str got = fumi_utf8_cut(s, most);
            size_t n = most < s.n ? most : s.n;
            CHECK(fumi_utf8_valid(got));
            CHECK(got.n <= n && n - got.n < 4);
            CHECK(got.n == s.n || got.n + slow_step(s.p + got.n, s.p + s.n) > n);
        }
    }
}

TEST(cut_does_not_look_behind_its_bytes)
{
    char *text = malloc(2);
    memcpy(text, "a\xE6", 2);
    size_t n = fumi_utf8_cut((struct fumi_str){text, 2}, 2).n;
    free(text);
    CHECK_INT(n, 1);
}
