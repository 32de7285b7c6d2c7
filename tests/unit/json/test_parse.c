/* Which texts are JSON. Every text is parsed in a block that ends with its last byte; generated
 * texts are judged by the reference. test_read.c tests the contents of the values. */
#include "test.h"

#include "json_cases.h"
#include "json_fixture.h"
#include "json_oracle.h"
#include "json/json.h"

#include <ctype.h>
#include <sys/mman.h>
#include <unistd.h>

/* The sentence names a byte of the text, or the one after its end. */
static bool names_byte(const struct fumi_err *e, size_t n)
{
    const char *at = strstr(e->text, "byte ");
    if (e->code != FUMI_PARSE_ERROR || !at || !isdigit((unsigned char)at[5]))
        return false;
    return strtoull(at + 5, NULL, 10) <= n;
}

/* The number of values in a document if each lies inside its parent, before `last`, and has the
 * kind of its first byte; otherwise 0. */
static size_t sound(const struct fumi_val *v, struct fumi_str inside, const struct fumi_val *last)
{
    static const char *const begins[] = {"n", "f", "t", "-0123456789", "\"", "[", "{"};
    if (v >= last)
        return 0;
    struct fumi_str raw = fumi_raw(v);
    unsigned kind = v->bits & 7;
    if (kind > FUMI_OBJECT || !raw.n || raw.p < inside.p || raw.p + raw.n > inside.p + inside.n ||
        !*raw.p || !strchr(begins[kind], *raw.p) || fumi_next(v) > last)
        return 0;
    size_t values = 1;
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        struct fumi_str rest = {raw.p + 1, raw.n - 2};
        size_t key = kind == FUMI_OBJECT ? sound(i, rest, last) : 0;
        size_t value = sound(kind == FUMI_OBJECT ? fumi_of(i) : i, rest, fumi_next(v));
        if (!value || (kind == FUMI_OBJECT && (key != 1 || !fumi_is(i, FUMI_STRING))))
            return 0;
        values += key + value;
    }
    return values == v->bits >> FUMI_SPAN_SHIFT ? values : 0;
}

static struct fumi_str trimmed(struct fumi_str s)
{
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    for (; s.n && strchr(" \t\r\n", *s.p); s.p++)
        s.n--;
    return s;
}

/* Whether the text is accepted in place. Reports a malformed result or error. A document that is
 * not a container may be a copy. */
static bool accepts_here(struct fumi_arena *a, struct fumi_str text, size_t depth)
{
    struct fumi_err e = {0};
    fumi_arena_reset(a, 1 << 16);
    const struct fumi_val *v = fumi_parse_deep(a, text, depth, &e);
    if (v && (!sound(v, (v->bits & 7) < FUMI_ARRAY ? fumi_raw(v) : text, fumi_next(v)) ||
              !fumi_eq(fumi_raw(v), trimmed(text)))) {
        TEST_FAIL("an unsound tree of");
        show(text);
    }
    if (!v && !names_byte(&e, text.n)) {
        TEST_FAIL("code %d, \"%s\" for", e.code, e.text);
        show(text);
    }
    return v;
}

static bool accepts(struct fumi_arena *a, struct fumi_str text, size_t offset)
{
    struct block b = block_of(text, offset);
    bool yes = accepts_here(a, b.text, FUMI_DEPTH);
    block_done(&b);
    return yes;
}

static void expect(struct fumi_arena *a, struct fumi_str text, size_t offset, bool want)
{
    if (accepts(a, text, offset % 32) == want)
        return;
    TEST_FAIL("should be %s at %zu:", want ? "accepted" : "refused", offset % 32);
    show(text);
}

static void agrees(struct fumi_arena *a, struct fumi_str text, size_t offset)
{
    expect(a, text, offset, oracle_accepts(text, FUMI_DEPTH));
}

TEST(valid_texts_are_accepted)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++)
        for (size_t offset = 0; offset < 32; offset++)
            expect(&a, valid_texts[i], offset, true);
    fumi_arena_done(&a);
}

TEST(invalid_texts_are_refused)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(invalid_texts); i++)
        for (size_t offset = 0; offset < 32; offset++)
            expect(&a, invalid_texts[i], offset, false);
    fumi_arena_done(&a);
}

/* The table tests the reference too, before the reference is used. */
TEST(oracle_knows_the_rows)
{
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++)
        CHECK(oracle_accepts(valid_texts[i], FUMI_DEPTH));
    for (size_t i = 0; i < FUMI_COUNT(invalid_texts); i++)
        CHECK(!oracle_accepts(invalid_texts[i], FUMI_DEPTH));
}

/* All rows, the valid ones first. */
static struct fumi_str row(size_t i)
{
    size_t valid = FUMI_COUNT(valid_texts);
    return i < valid ? valid_texts[i] : invalid_texts[i - valid];
}

enum { ROWS = FUMI_COUNT(valid_texts) + FUMI_COUNT(invalid_texts) };

/* Pages that cannot be read surround the text, so out-of-bounds reads are found without a sanitizer
 * too. */
TEST(no_page_beside_the_text_is_touched)
{
    struct fumi_arena a = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *base = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    CHECK_INT(mprotect(base + page, page, PROT_READ | PROT_WRITE), 0);
    for (size_t i = 0; i < ROWS; i++) {
        struct fumi_str text = row(i);
        char *first = base + page, *last = base + 2 * page - text.n;
        CHECK(text.n < page);
        memcpy(first, text.p, text.n);
        bool at_start = accepts_here(&a, (struct fumi_str){first, text.n}, FUMI_DEPTH);
        memcpy(last, text.p, text.n);
        bool at_end = accepts_here(&a, (struct fumi_str){last, text.n}, FUMI_DEPTH);
        CHECK(at_start == (i < FUMI_COUNT(valid_texts)) && at_end == at_start);
    }
    munmap(base, 3 * page);
    fumi_arena_done(&a);
}

static void join(struct fumi_buf *b, const char *before, struct fumi_str text, const char *after)
{
    fumi_buf_reset(b, 1 << 16);
    fumi_buf_add(b, before, strlen(before));
    fumi_buf_add(b, text.p, text.n);
    fumi_buf_add(b, after, strlen(after));
}

TEST(rows_as_elements)
{
    static const char *const around[][2] = {
        {"[", "]"},     {"[[[", "]]]"},        {"{\"k\":", "}"},
        {"[0,", ",0]"}, {"[true,", "]"},       {"{\"a\":[{\"b\":", "}]}"},
        {"[ ", " ]"},   {"[\"\",", ",\"\"]"},  {"{\"k\":", ",\"l\":0}"},
        {"{", ":1}"},   {"[{\"a\":{}},", "]"}, {"\n", "\n"}};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < FUMI_COUNT(around); k++) {
            join(&b, around[k][0], row(i), around[k][1]);
            agrees(&a, fumi_buf_str(&b), i);
        }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* The row is moved through all distances from the beginning and from the end of the text. */
TEST(rows_behind_and_before_long_neighbours)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t n = 0; n < 70 && !test_failed; n++) {
        char before[80], after[80];
        snprintf(before, sizeof(before), "[\"%.*s\",", (int)n, TEN("seventy"));
        snprintf(after, sizeof(after), ",\"%.*s\"]", (int)n, TEN("seventy"));
        for (size_t i = 0; i < ROWS; i++) {
            join(&b, before, row(i), "]");
            agrees(&a, fumi_buf_str(&b), n);
            join(&b, "[", row(i), after);
            agrees(&a, fumi_buf_str(&b), n);
        }
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

static const char *const fillers[] = {" ", "\t\r\n ", "                 ",
                                      " \n  \n    \n        \n                \n    \t\t\t\t\t"};

TEST(rows_with_white_space_between_tokens)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < FUMI_COUNT(fillers); k++) {
            spread(&b, row(i), fillers[k]);
            expect(&a, fumi_buf_str(&b), i, i < FUMI_COUNT(valid_texts));
        }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(white_space_changes_nothing)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e = {0};
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++)
        for (size_t k = 0; k < FUMI_COUNT(fillers); k++) {
            spread(&b, valid_texts[i], fillers[k]);
            const struct fumi_val *x = fumi_parse(&a, valid_texts[i], &e);
            CHECK(x && same_tree(x, fumi_parse(&a, fumi_buf_str(&b), &e)));
        }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

static const char *const documents[] = {
    "[]",
    "\"\\ud83d\\ude00 and \\\" and \xf0\x9f\x98\x80\"",
    "{\"jsonrpc\":\"2.0\",\"method\":\"memory.add_note\",\"params\":{\"projectId\":\"demo\","
    "\"text\":"
    "\"A blue bird \\u2014 \xe9\x9d\x92\xe3\x81\x84\xe9\xb3\xa5 "
    "\\ud83d\\udc26.\",\"tags\":[\"bird\","
    "\"blue\"],\"metadata\":{\"weight\":-12.5e-1,\"seen\":true,\"rare\":false,\"by\":null}},\"id\":"
    "9007199254740993}",
    "[ [ 1 , 2.5 , [ ] ] ,\n{ \"a\" : { } , \"b\" :\t\"c\" } , [ [ [ [ -0 ] ] ] ] ]",
    "[\"a string of more than sixty-four bytes, for which the parser needs several steps\",1]",
};

TEST(proper_prefixes_are_refused)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(documents); i++) {
        struct fumi_str whole = fumi_str(documents[i]);
        expect(&a, whole, 0, true);
        for (size_t n = 0; n < whole.n; n++)
            expect(&a, (struct fumi_str){whole.p, n}, n, false);
    }
    fumi_arena_done(&a);
}

/* Every byte of a document is replaced by every other byte. */
TEST(documents_with_one_byte_changed)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(documents); i++) {
        struct fumi_str whole = fumi_str(documents[i]);
        char copy[512];
        CHECK(whole.n < sizeof(copy));
        memcpy(copy, whole.p, whole.n);
        for (size_t at = 0; at < whole.n && !test_failed; at++) {
            for (int c = 0; c < 256; c++) {
                copy[at] = (char)c;
                agrees(&a, (struct fumi_str){copy, whole.n}, at);
            }
            copy[at] = whole.p[at];
        }
    }
    fumi_arena_done(&a);
}

TEST(every_text_of_one_or_two_bytes)
{
    struct fumi_arena a = {0};
    for (unsigned i = 0; i < 0x10000 && !test_failed; i++) {
        char text[2] = {(char)(i >> 8), (char)i};
        agrees(&a, (struct fumi_str){text, 2}, i);
        if (i < 256)
            agrees(&a, (struct fumi_str){text + 1, 1}, i);
    }
    fumi_arena_done(&a);
}

/* All sequences of up to `most` pieces, between two marks. */
static void try_all(struct fumi_arena *a, const char *const *pieces, size_t n, size_t most,
                    const char *mark)
{
    struct fumi_buf b = {0};
    size_t total = 1;
    for (size_t i = 0; i < most; i++)
        total *= n + 1;
    for (size_t i = 0; i < total && !test_failed; i++) {
        fumi_buf_reset(&b, 4096);
        fumi_buf_add(&b, mark, strlen(mark));
        for (size_t rest = i; rest; rest /= n + 1)
            if (rest % (n + 1))
                fumi_buf_add(&b, pieces[rest % (n + 1) - 1], strlen(pieces[rest % (n + 1) - 1]));
        fumi_buf_add(&b, mark, strlen(mark));
        agrees(a, fumi_buf_str(&b), i);
    }
    fumi_buf_done(&b);
}

TEST(tokens_in_any_order)
{
    static const char *const tokens[] = {"[", "]", "{", "}", ",", ":", "\"k\"", "1 "};
    struct fumi_arena a = {0};
    try_all(&a, tokens, FUMI_COUNT(tokens), 6, "");
    fumi_arena_done(&a);
}

TEST(characters_of_numbers_in_any_order)
{
    static const char *const characters[] = {"-", "+", ".", "0", "9", "e", "E"};
    struct fumi_arena a = {0};
    try_all(&a, characters, FUMI_COUNT(characters), 6, "");
    fumi_arena_done(&a);
}

TEST(pieces_of_strings_in_any_order)
{
    static const char *const pieces[] = {"\\", "\"", "u",       "d83d",    "de00",
                                         "a",  "n",  "\\ud83d", "\\ude00", "\xc3\xa9"};
    struct fumi_arena a = {0};
    try_all(&a, pieces, FUMI_COUNT(pieces), 5, "\"");
    fumi_arena_done(&a);
}

/* Bytes that are allowed or forbidden in strings, at every position in strings of every length. */
static const struct fumi_str pieces_of_strings[] = {ROW("\""),           ROW("\\"),
                                                    ROW("\\n"),          ROW("\\\""),
                                                    ROW("\\\\"),         ROW("\\u0000"),
                                                    ROW("\\u00e9"),      ROW("\\ud83d\\ude00"),
                                                    ROW("\\ud800"),      ROW("\\udc00"),
                                                    ROW("\\u12"),        ROW("\\x"),
                                                    ROW("\x00"),         ROW("\x01"),
                                                    ROW("\x09"),         ROW("\x0a"),
                                                    ROW("\x1f"),         ROW("\x20"),
                                                    ROW("\x21"),         ROW("\x23"),
                                                    ROW("\x5b"),         ROW("\x5d"),
                                                    ROW("\x7f"),         ROW("\x80"),
                                                    ROW("\xa2"),         ROW("\xdc"),
                                                    ROW("\xbf"),         ROW("\xc3\xa9"),
                                                    ROW("\xc3"),         ROW("\xc0\x80"),
                                                    ROW("\xe2\x82\xac"), ROW("\xe2\x82"),
                                                    ROW("\xed\xa0\x80"), ROW("\xf0\x9f\x98\x80"),
                                                    ROW("\xf0\x9f\x98"), ROW("\xf4\x90\x80\x80"),
                                                    ROW("\xff")};

static void try_places(struct fumi_arena *a, struct fumi_buf *b, const char *fill, size_t most)
{
    for (size_t n = 0; n <= most && !test_failed; n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t k = 0; k < FUMI_COUNT(pieces_of_strings); k++) {
                fumi_buf_reset(b, 4096);
                fumi_buf_put(b, '"');
                for (size_t i = 0; i < at; i++)
                    fumi_buf_add(b, fill, strlen(fill));
                fumi_buf_add(b, pieces_of_strings[k].p, pieces_of_strings[k].n);
                for (size_t i = at; i < n; i++)
                    fumi_buf_add(b, fill, strlen(fill));
                fumi_buf_put(b, '"');
                agrees(a, fumi_buf_str(b), n);
            }
}

TEST(strings_with_a_piece_at_every_place)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    try_places(&a, &b, "x", 70);
    try_places(&a, &b, "\xc3\xa9", 35);
    try_places(&a, &b, "\\t", 35);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* A run of one character, with every byte at every position. */
static void try_runs(struct fumi_arena *a, const char *before, char fill, const char *after)
{
    char text[128];
    size_t begin = strlen(before), end = strlen(after);
    memcpy(text, before, begin);
    for (size_t n = 1; n <= 70 && !test_failed; n += n < 40 ? 1 : 5) {
        memset(text + begin, fill, n);
        memcpy(text + begin + n, after, end);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                text[begin + at] = (char)c;
                agrees(a, (struct fumi_str){text, begin + n + end}, at);
            }
            text[begin + at] = fill;
        }
    }
}

TEST(runs_of_white_space)
{
    struct fumi_arena a = {0};
    try_runs(&a, "", ' ', "1");
    try_runs(&a, "[", '\n', "1]");
    try_runs(&a, "{\"a\":1", ' ', "}");
    fumi_arena_done(&a);
}

TEST(runs_of_digits)
{
    struct fumi_arena a = {0};
    try_runs(&a, "", '7', "");
    try_runs(&a, "[0.", '7', "]");
    try_runs(&a, "[1e-", '0', ",1]");
    fumi_arena_done(&a);
}

TEST(every_escaped_unit)
{
    static const unsigned others[] = {0x41, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000};
    struct fumi_arena a = {0};
    for (unsigned i = 0; i < 0x10000 && !test_failed; i++) {
        char text[40];
        snprintf(text, sizeof(text), i & 1 ? "\"\\u%04x\"" : "\"\\u%04X\"", i);
        expect(&a, fumi_str(text), i, i < 0xd800 || i > 0xdfff);
        snprintf(text, sizeof(text), "\"\\uD9ab\\u%04x\"", i);
        expect(&a, fumi_str(text), i, i >= 0xdc00 && i <= 0xdfff);
        for (size_t k = 0; (i & 0xf800) == 0xd800 && k < FUMI_COUNT(others); k++) {
            snprintf(text, sizeof(text), "[\"\\u%04x\\u%04x\"]", i, others[k]);
            agrees(&a, fumi_str(text), i);
        }
    }
    fumi_arena_done(&a);
}

/* In a short string and in a long one, which the parser handles differently. */
static void try_bytes(struct fumi_arena *a, const unsigned char *bytes, size_t n)
{
    char text[64] = "\"";
    memcpy(text + 1, bytes, n);
    text[1 + n] = '"';
    agrees(a, (struct fumi_str){text, n + 2}, bytes[n - 1]);
    memset(text + 1, 'x', 45);
    memcpy(text + 14, bytes, n);
    text[45] = '"';
    agrees(a, (struct fumi_str){text, 46}, bytes[n - 1]);
}

TEST(every_pair_of_bytes_in_a_string)
{
    struct fumi_arena a = {0};
    for (unsigned i = 0; i < 0x10000 && !test_failed; i++)
        try_bytes(&a, (unsigned char[]){(unsigned char)(i >> 8), (unsigned char)i}, 2);
    fumi_arena_done(&a);
}

TEST(sequences_of_three_and_four_bytes)
{
    static const unsigned char edges[] = {0x22, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf4, 0xff};
    struct fumi_arena a = {0};
    size_t n = FUMI_COUNT(edges);
    for (unsigned lead = 0xc0; lead < 0x100 && !test_failed; lead++)
        for (size_t i = 0; i < n * n * n; i++) {
            unsigned char bytes[4] = {(unsigned char)lead, edges[i % n], edges[i / n % n],
                                      edges[i / n / n]};
            if (i < n * n)
                try_bytes(&a, bytes, 3);
            if (lead >= 0xee)
                try_bytes(&a, bytes, 4);
        }
    fumi_arena_done(&a);
}

/* `n` opening brackets, a core, `n` closing brackets. `kinds` gives the order of the kinds of
 * bracket. */
static struct fumi_str nested(struct fumi_buf *b, size_t n, const char *kinds, const char *core)
{
    size_t turn = strlen(kinds);
    fumi_buf_reset(b, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        bool object = kinds[i % turn] == '{';
        fumi_buf_add(b, object ? "{\"a\":" : "[", object ? 5 : 1);
    }
    fumi_buf_add(b, core, strlen(core));
    for (size_t i = n; i-- > 0;)
        fumi_buf_put(b, kinds[i % turn] == '{' ? '}' : ']');
    return fumi_buf_str(b);
}

static const char *const kinds_of_nests[] = {"[", "{", "[{", "{[", "[[{", "[{{{"};

TEST(nesting_of_64_is_accepted_and_65_refused)
{
    static const char *const cores[] = {"1", "\"a\"", "null"};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(kinds_of_nests); i++)
        for (size_t k = 0; k < FUMI_COUNT(cores); k++) {
            expect(&a, nested(&b, 63, kinds_of_nests[i], cores[k]), i, true);
            expect(&a, nested(&b, 64, kinds_of_nests[i], cores[k]), i, true);
            expect(&a, nested(&b, 65, kinds_of_nests[i], cores[k]), i, false);
            expect(&a, nested(&b, 66, kinds_of_nests[i], cores[k]), i, false);
        }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* An empty container counts too; a closed one no longer counts. */
TEST(nesting_counts_what_is_open)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    expect(&a, nested(&b, 63, "[", "[]"), 0, true);
    expect(&a, nested(&b, 64, "[", "[]"), 0, false);
    expect(&a, nested(&b, 64, "[", "{}"), 0, false);
    expect(&a, nested(&b, 63, "{", "{}"), 0, true);
    expect(&a, nested(&b, 64, "{", "[]"), 0, false);
    expect(&a, nested(&b, 62, "[", "[],[[]],{},[{}],[],[[],[]]"), 0, true);
    expect(&a, nested(&b, 61, "[{", "[[1],{\"b\":{}},[{}]]"), 0, true);
    expect(&a, nested(&b, 62, "[", "[],[[]],{},[[[]]]"), 0, false);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(other_depths)
{
    static const size_t depths[] = {1, 2, 15, 63, 65, 100, 127, 128, 129, 1000, FUMI_DEPTH_MAX};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(depths); i++)
        for (size_t k = 0; k < FUMI_COUNT(kinds_of_nests); k++) {
            CHECK(accepts_here(&a, nested(&b, depths[i], kinds_of_nests[k], "0"), depths[i]));
            CHECK(!accepts_here(&a, nested(&b, depths[i] + 1, kinds_of_nests[k], "0"), depths[i]));
        }
    CHECK(accepts_here(&a, FUMI_STR("1"), 0));
    CHECK(!accepts_here(&a, FUMI_STR("[]"), 0));
    CHECK(!accepts_here(&a, FUMI_STR("{}"), 0));
    CHECK(!accepts_here(&a, nested(&b, FUMI_DEPTH_MAX + 1, "[", "0"), FUMI_DEPTH_MAX + 1));
    CHECK(!accepts_here(&a, nested(&b, 5000, "{[", "0"), SIZE_MAX));
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(bombs_are_refused)
{
    static const char *const pieces[] = {"[",       "{\"a\":", "[{\"a\":", "[[],",
                                         "{\"\":[", "{",       "[1,["};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(pieces); i++) {
        struct fumi_buf b = {0};
        for (size_t n = 0; n < 100000; n++)
            fumi_buf_add(&b, pieces[i], strlen(pieces[i]));
        expect(&a, fumi_buf_str(&b), i, false);
        CHECK(!accepts_here(&a, fumi_buf_str(&b), FUMI_DEPTH_MAX));
        fumi_buf_done(&b);
    }
    fumi_arena_done(&a);
}

TEST(wide_documents)
{
    static const char *const items[] = {"[]", "{}", "0", "\"\"", "{\"a\":[]}", "-1.5e3", "null"};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(items); i++) {
        struct fumi_buf b = {0};
        fumi_buf_put(&b, '[');
        for (size_t n = 0; n < 200000; n++) {
            fumi_buf_add(&b, items[i], strlen(items[i]));
            fumi_buf_put(&b, ',');
        }
        expect(&a, fumi_buf_str(&b), 0, false);
        b.p[b.n - 1] = ']';
        expect(&a, fumi_buf_str(&b), 0, true);
        fumi_buf_done(&b);
    }
    fumi_arena_done(&a);
}

TEST(no_text_is_refused)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    CHECK(!fumi_parse(&a, (struct fumi_str){NULL, 0}, &e));
    CHECK_INT(e.code, FUMI_PARSE_ERROR);
    fumi_arena_done(&a);
}

/* The first byte is invalid, so the rest need not be read; the sentence shows whether the parser
 * read the text or refused its length. White space counts too. */
TEST(a_text_of_the_largest_size)
{
    struct fumi_arena a = {0};
    struct fumi_err long_text = {0}, wrong_byte = {0};
    size_t n = FUMI_JSON_MAX;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0);
    CHECK(p != MAP_FAILED);
    p[0] = 'x';
    p[n - 2] = ']';
    p[n - 1] = ' ';
    CHECK(!fumi_parse(&a, (struct fumi_str){p, n - 1}, &wrong_byte));
    CHECK(!fumi_parse(&a, (struct fumi_str){p, n}, &long_text));
    CHECK(names_byte(&wrong_byte, 0));
    CHECK_INT(long_text.code, FUMI_PARSE_ERROR);
    CHECK(long_text.text[0] && strcmp(long_text.text, wrong_byte.text) != 0);
    munmap(p, n);
    fumi_arena_done(&a);
}

TEST(documents_that_changed_by_chance)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct dice d = {2};
    for (size_t i = 0; i < 200000 && !test_failed; i++) {
        struct grower g = {&d, &b, i & 1};
        fumi_buf_reset(&b, 1 << 16);
        grow_value(&g, 1 + i % 5);
        if (i % 8 == 0)
            expect(&a, fumi_buf_str(&b), i, true);
        mutate(&d, &b);
        agrees(&a, fumi_buf_str(&b), i);
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* The position of the error: the first byte that no JSON text can continue with, counted from 0, or
 * the length of a text that ends too early. */
TEST(sentences_name_the_byte)
{
    static const struct {
        const char *text;
        size_t byte;
    } rows[] = {
        {"", 0},
        {"x", 0},
        {"[1,x]", 3},
        {"[1 2]", 3},
        {"[1,]", 3},
        {"[1", 2},
        {"{\"a\" 1}", 5},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"[] []", 3},
        {"\"a\nb\"", 2},
        {"[\"\x80\"]", 2},
        {"\xef\xbb\xbf{}", 0},
        {"{\"a\":1]", 6},
        {"[\n\n  +1]", 5},
        {"\"0123456789012345678901234567890123456789\x01\"", 41},
        {"]", 0},
        {"1,", 1},
        {"[[[[}", 4},
        {"                    @", 20},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        char want[32];
        int n = snprintf(want, sizeof(want), "byte %zu", rows[i].byte);
        CHECK(!fumi_parse(&a, fumi_str(rows[i].text), &e));
        const char *at = strstr(e.text, want);
        if (!at || isdigit((unsigned char)at[n]))
            TEST_FAIL("%s: \"%s\" does not name byte %zu", rows[i].text, e.text, rows[i].byte);
    }
    fumi_arena_done(&a);
}
