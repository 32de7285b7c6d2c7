/* Writing: exact texts where the contract defines them, and always JSON that reads back. */
#include "test.h"

#include "json_cases.h"
#include "json_fixture.h"
#include "json_oracle.h"
#include "json/json.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>

TEST(scalars)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    fumi_put_null(&o);
    fumi_put_bool(&o, true);
    fumi_put_bool(&o, false);
    fumi_put_int(&o, -7);
    fumi_put_real(&o, 0.5);
    fumi_put_str(&o, FUMI_STR("text"));
    fumi_put_str(&o, FUMI_STR(""));
    fumi_put_str(&o, (struct fumi_str){0});
    fumi_put_json(&o, (struct fumi_json){FUMI_STR("{ \"as\": \"it is\" }")});
    fumi_put_json(&o, (struct fumi_json){{0}});
    fumi_put_val(&o, NULL);
    fumi_put_close(&o, ']');
    CHECK_STR(fumi_buf_str(&b), "[null,true,false,-7,0.5,\"text\",\"\",null,{ \"as\": \"it is\" },"
                                "null,null]");
    CHECK(!b.full);
    fumi_buf_done(&b);
}

/* Each function alone, as the whole document. */
TEST(documents_of_one_value)
{
    struct fumi_buf b = {0};
    fumi_put_int(&(struct fumi_out){.buf = &b}, 12);
    CHECK_STR(fumi_buf_str(&b), "12");
    fumi_buf_reset(&b, 0);
    fumi_put_str(&(struct fumi_out){.buf = &b}, FUMI_STR("a"));
    CHECK_STR(fumi_buf_str(&b), "\"a\"");
    fumi_buf_reset(&b, 0);
    fumi_put_real(&(struct fumi_out){.buf = &b}, -1.25);
    CHECK_STR(fumi_buf_str(&b), "-1.25");
    fumi_buf_reset(&b, 0);
    fumi_put_bool(&(struct fumi_out){.buf = &b}, true);
    CHECK_STR(fumi_buf_str(&b), "true");
    fumi_buf_done(&b);
}

TEST(nesting_and_commas)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "empty");
    fumi_put_open(&o, '[');
    fumi_put_close(&o, ']');
    fumi_put_key(&o, "list");
    fumi_put_open(&o, '[');
    fumi_put_open(&o, '[');
    fumi_put_close(&o, ']');
    fumi_put_open(&o, '{');
    fumi_put_close(&o, '}');
    fumi_put_int(&o, 1);
    fumi_put_open(&o, '{');
    fumi_put_key_str(&o, FUMI_STR("k"));
    fumi_put_null(&o);
    fumi_put_close(&o, '}');
    fumi_put_close(&o, ']');
    fumi_put_key_str(&o, FUMI_STR(""));
    fumi_put_str(&o, FUMI_STR("last"));
    fumi_put_close(&o, '}');
    CHECK_STR(fumi_buf_str(&b), "{\"empty\":[],\"list\":[[],{},1,{\"k\":null}],\"\":\"last\"}");
    CHECK(o.comma);
    fumi_buf_done(&b);
}

TEST(integers)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {{0, "0"},
                {1, "1"},
                {-1, "-1"},
                {9, "9"},
                {10, "10"},
                {99, "99"},
                {100, "100"},
                {-100, "-100"},
                {12345, "12345"},
                {999999999, "999999999"},
                {1000000000, "1000000000"},
                {9007199254740993, "9007199254740993"},
                {INT32_MIN, "-2147483648"},
                {1000000000000000000, "1000000000000000000"},
                {INT64_MAX, "9223372036854775807"},
                {-INT64_MAX, "-9223372036854775807"},
                {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_buf b = {0};
        fumi_put_int(&(struct fumi_out){.buf = &b}, rows[i].value);
        CHECK_STR(fumi_buf_str(&b), rows[i].text);
        fumi_buf_done(&b);
    }
}

TEST(integers_by_chance)
{
    struct fumi_buf b = {0};
    struct dice d = {5};
    for (size_t i = 0; i < 100000; i++) {
        char want[32];
        int64_t value = (int64_t)(roll(&d) >> below(&d, 64)) * (i & 1 ? 1 : -1);
        snprintf(want, sizeof(want), "%" PRId64, value);
        fumi_buf_reset(&b, 256);
        fumi_put_int(&(struct fumi_out){.buf = &b}, value);
        CHECK_STR(fumi_buf_str(&b), want);
    }
    fumi_buf_done(&b);
}

/* Writes s as a string, and reads it back. */
static struct fumi_str there_and_back(struct fumi_arena *a, struct fumi_buf *b, struct fumi_str s)
{
    struct fumi_err e;
    struct fumi_out o = {.buf = b};
    fumi_arena_reset(a, 1 << 16);
    fumi_buf_reset(b, 1 << 16);
    fumi_put_open(&o, '[');
    fumi_put_str(&o, s);
    fumi_put_close(&o, ']');
    if (!oracle_accepts(fumi_buf_str(b), 1))
        return (struct fumi_str){0};
    return fumi_text(a, fumi_first(fumi_parse(a, fumi_buf_str(b), &e)));
}

/* Only what must be escaped is escaped: all other bytes are copied. */
TEST(every_ascii_character)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (int c = 0; c < 0x80; c++)
        for (size_t n = 0; n < 40; n++) {
            char text[48];
            memset(text, 'x', sizeof(text));
            text[n] = (char)c;
            struct fumi_str s = {text, n + 1 + c % 7};
            CHECK(fumi_eq(there_and_back(&a, &b, s), s));
            bool must = c < 0x20 || c == '"' || c == '\\';
            CHECK_INT(b.n > s.n + 4, must);
        }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(escapes)
{
    static const struct {
        struct fumi_str text;
        const char *json;
    } rows[] = {
        {ROW("\"\\"), "[\"\\\"\\\\\"]"},
        {ROW("\n\r\t\b\f"), "[\"\\n\\r\\t\\b\\f\"]"},
        {ROW("/'<>&"), "[\"/'<>&\"]"},
        {ROW("\x7f"), "[\"\x7f\"]"},
        {ROW("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"), "[\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\"]"},
        {ROW("\xe2\x80\xa8\xc2\x80\xef\xbb\xbf"), "[\"\xe2\x80\xa8\xc2\x80\xef\xbb\xbf\"]"}};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK(fumi_eq(there_and_back(&a, &b, rows[i].text), rows[i].text));
        CHECK_STR(fumi_buf_str(&b), rows[i].json);
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* The text with U+FFFD in place of each invalid byte. */
static struct fumi_str mended(struct fumi_arena *a, struct fumi_str s)
{
    char *to = fumi_alloc(a, 3 * s.n);
    size_t n = 0;
    struct oracle o = {(const unsigned char *)s.p, (const unsigned char *)s.p + s.n, 0};
    while (o.p < o.end) {
        const unsigned char *from = o.p;
        if (*from < 0x80 ? o.p++ != NULL : oracle_wide(&o)) {
            memcpy(to + n, from, (size_t)(o.p - from));
            n += (size_t)(o.p - from);
        } else {
            memcpy(to + n, "\xef\xbf\xbd", 3);
            n += 3;
            o.p = from + 1;
        }
    }
    return (struct fumi_str){to, n};
}

/* The same text from the buffer itself, which has no capacity left and moves. */
static void try_again(struct fumi_str s, struct fumi_str written)
{
    struct fumi_buf b = {.p = fumi_resize(NULL, s.n + 1), .n = s.n, .cap = s.n + 1};
    if (s.n)
        memcpy(b.p, s.p, s.n);
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    fumi_put_again(&o, 0, s.n);
    fumi_put_close(&o, ']');
    if (!fumi_eq((struct fumi_str){b.p + s.n, b.n - s.n}, written)) {
        TEST_FAIL("wrongly repeated, as %.*s:", FUMI_ARG(fumi_buf_str(&b)));
        show(s);
    }
    fumi_buf_done(&b);
}

static void try_text(struct fumi_arena *a, struct fumi_buf *b, struct fumi_str s)
{
    struct block exact = block_of(s, s.n % 32);
    struct fumi_str got = there_and_back(a, b, exact.text);
    if (!got.p || !fumi_eq(got, mended(a, s))) {
        TEST_FAIL("wrongly written, as %.*s:", FUMI_ARG(fumi_buf_str(b)));
        show(s);
    }
    try_again(s, fumi_buf_str(b));
    block_done(&exact);
}

TEST(bytes_that_are_not_utf8)
{
    static const struct {
        struct fumi_str text;
        const char *back;
    } rows[] = {{ROW("\xff"), "\xef\xbf\xbd"},
                {ROW("a\x80z"), "a\xef\xbf\xbdz"},
                {ROW("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd"},
                {ROW("\xe2\x82z"), "\xef\xbf\xbd\xef\xbf\xbdz"},
                {ROW("\xe2\xe2\x82\xac"), "\xef\xbf\xbd\xe2\x82\xac"},
                {ROW("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd"},
                {ROW("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {ROW("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {ROW("\xf0\x9f\x98"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {ROW("\xc3\"\xc3\\"), "\xef\xbf\xbd\"\xef\xbf\xbd\\"}};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_STR(there_and_back(&a, &b, rows[i].text), rows[i].back);
        try_text(&a, &b, rows[i].text);
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(every_pair_of_bytes)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (unsigned i = 0; i < 0x10000 && !test_failed; i++) {
        char text[24] = "a text that is long: ";
        text[i % 21] = (char)(i >> 8);
        text[i % 21 + 1] = (char)i;
        try_text(&a, &b, (struct fumi_str){text, 22});
        try_text(&a, &b, (struct fumi_str){text + i % 21, 2});
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(bytes_by_chance)
{
    static const char likely[] = "ab\"\\\n\xc3\xa9\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x98\x80\xf4\xff";
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct dice d = {6};
    for (size_t i = 0; i < 50000 && !test_failed; i++) {
        char text[100];
        size_t n = below(&d, sizeof(text));
        for (size_t k = 0; k < n; k++)
            text[k] = i & 1 ? likely[below(&d, sizeof(likely))] : (char)roll(&d);
        try_text(&a, &b, (struct fumi_str){text, n});
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(keys_are_strings_too)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "quote\" and \\ and \n");
    fumi_put_int(&o, 1);
    fumi_put_key_str(&o, FUMI_STR("nul\0 and \xff"));
    fumi_put_int(&o, 2);
    fumi_put_close(&o, '}');
    const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&b), &e);
    CHECK_STR(fumi_raw(fumi_get(v, "quote\" and \\ and \n")), "1");
    CHECK(fumi_text_is(fumi_after(v, fumi_first(v)), FUMI_STR("nul\0 and \xef\xbf\xbd")));
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

static struct fumi_str real_text(struct fumi_buf *b, double d)
{
    fumi_buf_reset(b, 256);
    fumi_put_real(&(struct fumi_out){.buf = b}, d);
    fumi_buf_add(b, "", 1);
    b->n--;
    return fumi_buf_str(b);
}

/* Significant digits: without leading and trailing zeros. */
static int digits_of(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (!isdigit((unsigned char)*text) || (!n && *text == '0'))
            continue;
        n++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

/* Whether the decimal one unit below or above that in `text` reads as d. */
static bool neighbour_reads(char *text, double d)
{
    char *last = strchr(text, 'e') - 1, digit = *last;
    bool reads = false;
    for (int k = -1; k <= 1; k += 2) {
        *last = (char)(digit + k);
        reads = reads || (isdigit((unsigned char)*last) && strtod(text, NULL) == d);
    }
    return reads;
}

/* The fewest digits that read back. Usually only the nearest decimal of a length need be tried; but
 * doubles are closer below a power of two than above it, so the second nearest may read back where
 * the nearest does not. */
static int fewest_digits(double d)
{
    char text[40];
    int exponent;
    bool power_of_two = fabs(frexp(d, &exponent)) == 0.5;
    for (int n = 1; n < 17; n++) {
        snprintf(text, sizeof(text), "%.*e", n - 1, d);
        if (strtod(text, NULL) == d || (power_of_two && neighbour_reads(text, d)))
            return n;
    }
    return 17;
}

/* The maximum length that printf produces: with all digits, or with the fewest that read back. */
static size_t longest(double d, int digits)
{
    char text[40];
    int all = snprintf(text, sizeof(text), "%.17g", d);
    int fewest = snprintf(text, sizeof(text), "%.*g", digits, d);
    return (size_t)(fewest < all && strtod(text, NULL) == d ? fewest : all);
}

/* Reads back bit for bit, has the fewest digits, is JSON, and is no longer than the text of printf;
 * but an integer that a double holds exactly is written as an integer. */
static void try_real(struct fumi_buf *b, double d)
{
    struct fumi_str text = real_text(b, d);
    double back = strtod(text.p, NULL);
    bool whole = d == floor(d) && fabs(d) < 0x1p53;
    int fewest = fewest_digits(d);
    if (memcmp(&back, &d, sizeof(d)) != 0 || !oracle_accepts(text, 0))
        TEST_FAIL("%a written as %s", d, text.p);
    if (digits_of(text.p) > fewest)
        TEST_FAIL("%s has %d digits, not %d", text.p, digits_of(text.p), fewest);
    if (!whole && text.n > longest(d, fewest))
        TEST_FAIL("%s has more than %zu bytes", text.p, longest(d, fewest));
    if (whole && text.p[strspn(text.p, "-0123456789")])
        TEST_FAIL("%s is not written as an integer", text.p);
}

TEST(real_numbers_as_text)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},
                {-0.0, "-0"},
                {1, "1"},
                {-1, "-1"},
                {19, "19"},
                {0.1, "0.1"},
                {0.5, "0.5"},
                {-0.25, "-0.25"},
                {1.25, "1.25"},
                {0.30000000000000004, "0.30000000000000004"},
                {0.7, "0.7"},
                {2.3, "2.3"},
                {100, "100"},
                {123456.789, "123456.789"},
                {3.141592653589793, "3.141592653589793"},
                {0.001, "0.001"},
                {1e15, "1000000000000000"},
                {9007199254740991, "9007199254740991"},
                {-9007199254740991, "-9007199254740991"},
                {4503599627370495.5, "4503599627370495.5"}};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(real_text(&b, rows[i].value), rows[i].text);
    fumi_buf_done(&b);
}

TEST(real_numbers_at_the_edges)
{
    static const double rows[] = {5e-324,
                                  -5e-324,
                                  1e-323,
                                  1.5e-323,
                                  2.2250738585072014e-308,
                                  2.225073858507201e-308,
                                  1.7976931348623157e308,
                                  -1.7976931348623157e308,
                                  1e21,
                                  1e22,
                                  1e23,
                                  9.5e-7,
                                  1e-5,
                                  1e-4,
                                  0.0001234,
                                  9007199254740992,
                                  9007199254740994,
                                  18014398509481984,
                                  1e16,
                                  1e17,
                                  123456789012345680,
                                  1.2345678901234567,
                                  12345678901234.567,
                                  1e-300,
                                  1e300,
                                  0.1 + 0.2,
                                  1.0 / 3,
                                  2.0 / 3,
                                  1e-7,
                                  5e-5,
                                  0.99999999999999989,
                                  1.0000000000000002,
                                  4.35,
                                  0.000001,
                                  9.999999999999999e22,
                                  4503599627370497.5};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        try_real(&b, rows[i]);
    fumi_buf_done(&b);
}

TEST(powers_as_text)
{
    struct fumi_buf b = {0};
    for (int i = -1074; i < 1024 && !test_failed; i++) {
        double power = ldexp(1, i);
        try_real(&b, power);
        try_real(&b, nextafter(power, 0));
        try_real(&b, -nextafter(power, 1e308));
    }
    for (int i = -323; i < 309; i++) {
        char text[16];
        snprintf(text, sizeof(text), "1e%d", i);
        try_real(&b, strtod(text, NULL));
        CHECK_INT(digits_of(b.p), 1);
    }
    fumi_buf_done(&b);
}

TEST(real_numbers_by_chance)
{
    struct fumi_buf b = {0};
    struct dice d = {7};
    for (size_t i = 0; i < 200000 && !test_failed; i++) {
        uint64_t bits = roll(&d);
        double x;
        memcpy(&x, &bits, sizeof(x));
        if (i % 4 == 1)
            x = ldexp((double)(bits >> 11), (int)below(&d, 80) - 70);
        else if (i % 4 == 2)
            x = (double)(bits >> below(&d, 64)) / pow(10, (double)below(&d, 20));
        else if (i % 4 == 3)
            x = (double)((float)(int32_t)bits / 1e9f);
        if (isfinite(x))
            try_real(&b, x);
    }
    fumi_buf_done(&b);
}

TEST(nan_and_infinity_are_written_as_null)
{
    struct fumi_buf b = {0};
    CHECK_STR(real_text(&b, NAN), "null");
    CHECK_STR(real_text(&b, -NAN), "null");
    CHECK_STR(real_text(&b, INFINITY), "null");
    CHECK_STR(real_text(&b, -INFINITY), "null");
    fumi_buf_done(&b);
}

/* In a locale with a decimal comma. */
TEST(numbers_in_a_locale_with_commas)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                        "nl_NL.UTF-8"};
    static const double rows[] = {0.5, 1e-7, 1.0 / 3, 5e-324, 123456.789, 1.7976931348623157e308};
    size_t k = 0;
    while (k < FUMI_COUNT(names) && !setlocale(LC_ALL, names[k]))
        k++;
    if (k == FUMI_COUNT(names)) {
        printf("skipped: this machine has no locale with a decimal comma\n");
        return;
    }
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        double back = 0;
        struct fumi_str text = real_text(&b, rows[i]);
        CHECK(oracle_accepts(text, 0) && !strchr(text.p, ','));
        CHECK(fumi_real(fumi_parse(&a, text, &e), &back));
        CHECK(back == rows[i]);
    }
    CHECK_STR(fumi_str(localeconv()->decimal_point), ",");
    setlocale(LC_ALL, "C");
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(compact_texts)
{
    static const char *const rows[][2] = {
        {"[]", "[]"},
        {" { } ", "{}"},
        {"[ 1 , 2 ]", "[1,2]"},
        {"{ \"a b\" : [ 1.50 , -0e+0 , 1E5 ] , \"a b\" : \" c \" }",
         "{\"a b\":[1.50,-0e+0,1E5],\"a b\":\" c \"}"},
        {"[\n\t\"\\u0041\\/\\n\" ,\r\n  \"\xc3\xa9 [ , ] \" ]",
         "[\"\\u0041\\/\\n\",\"\xc3\xa9 [ , ] \"]"},
        {" null ", "null"},
        {"\t\"a\\\" b\"\n", "\"a\\\" b\""},
        {" 123456789012345678901234567890 ", "123456789012345678901234567890"},
        {"[ [ ] , { } , [ { } , [ ] ] , { \"k\" : { } } ]", "[[],{},[{},[]],{\"k\":{}}]"},
        {"[ true , false , null , [ 0 ] ]", "[true,false,null,[0]]"}};
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = fumi_parse(&a, fumi_str(rows[i][0]), &e);
        CHECK_STR(fumi_compact(&a, v).text, rows[i][1]);
    }
    fumi_arena_done(&a);
}

/* Parts of a document, each written after others. */
TEST(values_among_others)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    struct fumi_out o = {.buf = &b};
    const struct fumi_val *v = fumi_parse(
        &a, FUMI_STR("{ \"a\" : [ 1 , { } ] , \"b\" : \"\\t\" , \"c\" : { \"d\" : 2 } }"), &e);
    fumi_put_open(&o, '[');
    fumi_put_val(&o, fumi_get(v, "b"));
    fumi_put_val(&o, fumi_get(v, "a"));
    fumi_put_val(&o, fumi_get(v, "none"));
    fumi_put_val(&o, fumi_first(fumi_get(v, "c")));
    fumi_put_val(&o, fumi_get(v, "c"));
    fumi_put_json(&o, fumi_compact(&a, fumi_get(v, "a")));
    fumi_put_int(&o, 3);
    fumi_put_close(&o, ']');
    CHECK_STR(fumi_buf_str(&b), "[\"\\t\",[1,{}],null,\"d\",{\"d\":2},[1,{}],3]");
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* A transport may end a message with its line. */
TEST(json_of_several_lines_becomes_one)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    fumi_put_int(&o, 1);
    fumi_put_json(&o, (struct fumi_json){FUMI_STR("{\n  \"a\": [\r\n1]\n}")});
    fumi_put_close(&o, ']');
    CHECK_STR(fumi_buf_str(&b), "[1,{   \"a\": [  1] }]");
    fumi_buf_done(&b);
}

/* An absent or empty text is written as null. */
TEST(json_without_text)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '[');
    fumi_put_json(&o, (struct fumi_json){FUMI_STR("")});
    fumi_put_json(&o, (struct fumi_json){FUMI_STR("1")});
    fumi_put_close(&o, ']');
    CHECK_STR(fumi_buf_str(&b), "[null,1]");
    fumi_buf_done(&b);
}

TEST(rows_are_written_back)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++) {
        const struct fumi_val *v = fumi_parse(&a, valid_texts[i], &e);
        struct fumi_str text = fumi_compact(&a, v).text;
        CHECK(text.n <= valid_texts[i].n && oracle_accepts(text, FUMI_DEPTH));
        CHECK(same_tree(v, fumi_parse(&a, text, &e)));
    }
    fumi_arena_done(&a);
}

/* Parsing, writing and parsing again gives the same document; writing again gives the same text. */
TEST(documents_by_chance)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0}, compact = {0};
    struct fumi_err e;
    struct dice d = {8};
    for (size_t i = 0; i < 20000; i++) {
        fumi_arena_reset(&a, 1 << 20);
        fumi_buf_reset(&b, 1 << 20);
        fumi_buf_reset(&compact, 1 << 20);
        grow_value(&(struct grower){&d, &b, true}, i % 7);
        const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&b), &e);
        fumi_put_val(&(struct fumi_out){.buf = &compact}, v);
        struct block exact = block_of(fumi_buf_str(&compact), i % 32);
        const struct fumi_val *again = fumi_parse(&a, exact.text, &e);
        CHECK(v && same_tree(v, again));
        CHECK(fumi_eq(fumi_compact(&a, again).text, exact.text));
        block_done(&exact);
    }
    fumi_buf_done(&b);
    fumi_buf_done(&compact);
    fumi_arena_done(&a);
}

/* Everything that can be written, once. */
static void write_all(struct fumi_buf *b, const struct fumi_val *v)
{
    struct fumi_out o = {.buf = b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "a key with \\");
    fumi_put_open(&o, '[');
    fumi_put_str(&o, FUMI_STR("text \n \"quoted\" \xc3\xa9 \xff and much plain text behind it"));
    fumi_put_str(&o, FUMI_STR(""));
    fumi_put_int(&o, INT64_MIN);
    fumi_put_real(&o, 0.1);
    fumi_put_real(&o, 5e-324);
    fumi_put_real(&o, NAN);
    fumi_put_bool(&o, false);
    fumi_put_null(&o);
    fumi_put_val(&o, v);
    fumi_put_json(&o, (struct fumi_json){FUMI_STR("[ 1, 2 ]")});
    fumi_put_close(&o, ']');
    fumi_put_key_str(&o, FUMI_STR("k"));
    fumi_put_open(&o, '{');
    fumi_put_close(&o, '}');
    fumi_put_close(&o, '}');
}

TEST(buffers_with_a_limit)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_buf whole = {0};
    const struct fumi_val *v = fumi_parse(&a, FUMI_STR("{ \"x\" : [ true , \"\\n\" , 1e5 ] }"), &e);
    write_all(&whole, v);
    CHECK(!whole.full && oracle_accepts(fumi_buf_str(&whole), FUMI_DEPTH));
    for (size_t limit = 1; limit <= whole.n + 40; limit++) {
        struct fumi_buf b = {.limit = limit};
        write_all(&b, v);
        CHECK_INT(b.full, limit < whole.n);
        CHECK(b.n <= limit);
        CHECK(b.full || fumi_eq(fumi_buf_str(&b), fumi_buf_str(&whole)));
        CHECK(memcmp(b.p ? b.p : "", whole.p, b.full ? 0 : b.n) == 0);
        fumi_buf_done(&b);
    }
    fumi_buf_done(&whole);
    fumi_arena_done(&a);
}
