/* Numbers from text: integers against a simple reference, doubles bit for bit against the C
 * library. */
#include "test.h"

#include "json_cases.h"
#include "json_fixture.h"
#include "json/json.h"

#include <float.h>
#include <math.h>

/* The number inside an array of exact size; NULL if it is not JSON. */
static const struct fumi_val *number(struct fumi_arena *a, const char *text, struct block *b)
{
    struct fumi_err e;
    fumi_arena_reset(a, 1 << 16);
    struct fumi_str json = fumi_fmt(a, "[%s]", text);
    *b = block_of(json, 0);
    return fumi_first(fumi_parse(a, b->text, &e));
}

static const struct {
    const char *text;
    bool whole;
    int64_t value;
} whole_rows[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"5", true, 5},
    {"-5", true, -5},
    {"5.0", true, 5},
    {"5e0", true, 5},
    {"5E+0", true, 5},
    {"5e-0", true, 5},
    {"50e-1", true, 5},
    {"0.5e1", true, 5},
    {"0.05e2", true, 5},
    {"500.000e-2", true, 5},
    {"0.1e1", true, 1},
    {"1.5e1", true, 15},
    {"-1.5e1", true, -15},
    {"-0.0", true, 0},
    {"0.000", true, 0},
    {"0e5", true, 0},
    {"0e999999999999", true, 0},
    {"-0e-999999999999", true, 0},
    {"0.0e99999999999999999999", true, 0},
    {"0.00000e-99999999999999999999", true, 0},
    {"1e1", true, 10},
    {"1e18", true, 1000000000000000000},
    {"-1e18", true, -1000000000000000000},
    {"9e18", true, 9000000000000000000},
    {"10e17", true, 1000000000000000000},
    {"1.000000000000000000e18", true, 1000000000000000000},
    {"1.000000000000000001e18", true, 1000000000000000001},
    {"9007199254740993", true, 9007199254740993},
    {"9007199254740993.0", true, 9007199254740993},
    {"999999999999999999", true, 999999999999999999},
    {"9223372036854775806", true, INT64_MAX - 1},
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775807.0", true, INT64_MAX},
    {"9223372036854775807.000000000000000000000000000000", true, INT64_MAX},
    {"9.223372036854775807e18", true, INT64_MAX},
    {"922337203685477580700e-2", true, INT64_MAX},
    {"0.9223372036854775807E+19", true, INT64_MAX},
    {"-9223372036854775807", true, -INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"-9223372036854775808.00", true, INT64_MIN},
    {"-9223372036854775808000e-3", true, INT64_MIN},
    {"-9.223372036854775808e18", true, INT64_MIN},
    {"1" TEN(TEN("0")) "e-100", true, 1},
    {"0." TEN(TEN("0")) "7e101", true, 7},
    {"-0." TEN(TEN("0")) "123e103", true, -123},
    {"12345678901234567890" TEN("0") "e-11", true, 1234567890123456789},
    {"1" TEN(TEN("0")) "." TEN(TEN("0")) "e-99", true, 10},
    {"3." TEN(TEN("0")), true, 3},
    {"9223372036854775808", false, 0},
    {"9223372036854775807.1", false, 0},
    {"9223372036854775807.00000000000000000000000000000001", false, 0},
    {"9223372036854775808e0", false, 0},
    {"9.223372036854775808e18", false, 0},
    {"-9223372036854775809", false, 0},
    {"-9223372036854775808.5", false, 0},
    {"-9.223372036854775809e18", false, 0},
    {"9300000000000000000", false, 0},
    {"10000000000000000000", false, 0},
    {"18446744073709551615", false, 0},
    {"18446744073709551616", false, 0},
    {"18446744073709551617", false, 0},
    {"27670116110564327424", false, 0},
    {"36893488147419103233", false, 0},
    {"340282366920938463463374607431768211456", false, 0},
    {"340282366920938463463374607431768211457", false, 0},
    {"123456789012345678901234567890", false, 0},
    {"1e19", false, 0},
    {"-1e19", false, 0},
    {"1e20", false, 0},
    {"1e64", false, 0},
    {"1e308", false, 0},
    {"1e400", false, 0},
    {"1e4294967296", false, 0},
    {"1e18446744073709551616", false, 0},
    {"1e99999999999999999999", false, 0},
    {"1.5", false, 0},
    {"-0.5", false, 0},
    {"0.1", false, 0},
    {"1e-1", false, 0},
    {"15e-1", false, 0},
    {"1.25e1", false, 0},
    {"1e-18", false, 0},
    {"1e-400", false, 0},
    {"1e-4294967296", false, 0},
    {"1e-99999999999999999999", false, 0},
    {"1.00000000000000000000000000000001", false, 0},
    {"0.99999999999999999999999999999999", false, 0},
    {"5e-324", false, 0},
    {"1" TEN(TEN("0")), false, 0},
    {"1" TEN(TEN("0")) "1e-100", false, 0},
    {"1" TEN(TEN("0")) "e-101", false, 0},
};

TEST(whole_numbers)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(whole_rows); i++) {
        struct block b;
        int64_t got = 0;
        bool whole = fumi_int(number(&a, whole_rows[i].text, &b), &got);
        if (whole != whole_rows[i].whole || (whole && got != whole_rows[i].value))
            TEST_FAIL("%s: %s %" PRId64, whole_rows[i].text, whole ? "gave" : "refused, not", got);
        block_done(&b);
    }
    fumi_arena_done(&a);
}

/* A document that is a single number ends with the last byte of its text. */
TEST(numbers_that_are_documents)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(whole_rows); i++) {
        struct block b = block_of(fumi_str(whole_rows[i].text), i % 32);
        const struct fumi_val *v = fumi_parse(&a, b.text, &e);
        int64_t whole;
        double real, want = strtod(whole_rows[i].text, NULL);
        CHECK_INT(fumi_int(v, &whole), whole_rows[i].whole);
        CHECK_INT(fumi_real(v, &real), isfinite(want));
        CHECK(!isfinite(want) || memcmp(&real, &want, sizeof(want)) == 0);
        block_done(&b);
    }
    fumi_arena_done(&a);
}

/* The integer value of a text from its digits alone: the significant digits, and how many zeros
 * follow them. A negative number of zeros: not an integer. */
static bool count_digits(const char *text, int64_t *out)
{
    char digits[2048];
    size_t n = 0;
    long zeros = 0;
    const char *p = text + (*text == '-');
    bool point = false;
    for (; *p && !strchr("eE", *p); p++) {
        if (*p == '.')
            point = true;
        else if (n || *p != '0')
            digits[n++] = *p;
        zeros -= point && *p != '.';
    }
    long power = *p ? strtol(p + 1, NULL, 10) : 0;
    zeros += power > 100000 ? 100000 : power < -100000 ? -100000 : power;
    for (; n && digits[n - 1] == '0'; n--)
        zeros++;
    if (n && (zeros < 0 || (long)n + zeros > 19))
        return false;
    unsigned __int128 value = 0;
    for (size_t i = 0; n && i < n + (size_t)zeros; i++)
        value = value * 10 + (i < n ? (unsigned)(digits[i] - '0') : 0);
    if (value > (unsigned __int128)INT64_MAX + (*text == '-'))
        return false;
    *out = *text == '-' ? (int64_t) - (uint64_t)value : (int64_t)value;
    return true;
}

/* Both functions on one text, each against its reference. */
static void compare(struct fumi_arena *a, const char *text)
{
    struct block b;
    const struct fumi_val *v = number(a, text, &b);
    double real = -1, want = strtod(text, NULL);
    int64_t whole = 0, same = 0;
    bool is_whole = count_digits(text, &same);
    bool fits = fumi_real(v, &real);
    if (!v || fits != (bool)isfinite(want) || (fits && memcmp(&real, &want, sizeof(want)) != 0))
        TEST_FAIL("%s: real %d %a, not %a", text, fits, real, want);
    if (fumi_int(v, &whole) != is_whole || (is_whole && whole != same))
        TEST_FAIL("%s: whole %" PRId64 ", not %d %" PRId64, text, whole, is_whole, same);
    block_done(&b);
}

TEST(the_rows_once_more)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(whole_rows); i++)
        compare(&a, whole_rows[i].text);
    fumi_arena_done(&a);
}

/* Difficult cases: values halfway between two doubles, the largest and the smallest, many digits.
 */
static const char *const real_rows[] = {
    "0.1",
    "0.2",
    "0.3",
    "1.1",
    "-2.5",
    "3.14159265358979",
    "2.718281828459045",
    "1e22",
    "1e23",
    "1e-22",
    "1e-23",
    "123456789e22",
    "8.5e22",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740994",
    "9007199254740995",
    "9007199254740993.0",
    "9007199254740992.9999999999999999999",
    "9007199254740993.00000000000000000000000000000000001",
    "9007199254740992999999999999e-12",
    "18014398509481985",
    "36028797018963970",
    "4503599627370496.5",
    "4503599627370497.5",
    "4503599627370496.25",
    "9007199254740991.5",
    "9007199254740990.5e1",
    "9007199254740993e1",
    "9007199254740993e22",
    "9007199254740991e22",
    "9007199254740992e-22",
    "9007199254740993e-22",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "179769313486231580793728971405301e276",
    "1.797693134862315807e308",
    "-1.7976931348623157e308",
    "-1.8e308",
    "1e308",
    "1e309",
    "2e308",
    "0.0000001e315",
    "0.00000001e317",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "2.225073858507201e-308",
    "2.2250738585072009e-308",
    "4.9406564584124654e-324",
    "4.9e-324",
    "5e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.470328229206232720882843964341106861825e-324",
    "2."
    "4703282292062327208828439643411068618252990130716238221279284125033775363510437593264991818081"
    "7996189898282347722858865463328355177969898199387398005390939063150356595155702263922908583924"
    "49"
    "1051844359318028499365361525003193704576782492193656236698636584807570015857692699037063119282"
    "79"
    "5585513329278343384093519780155312465972635795746227664652728272200563740064854999770965994704"
    "54"
    "0208281662262378573934507363390079677619305775067401763246736009689513405355374585166611342237"
    "66"
    "678604816215077938396430711888e-324",
    "1e-323",
    "1.5e-323",
    "-5e-324",
    "1e-324",
    "3e-324",
    "-1e-400",
    "1e-400",
    "0.0",
    "-0",
    "-0.0",
    "0e400",
    "-0e-400",
    "1e400",
    "-1e400",
    "1e+400",
    "1e-99999999999999999999",
    "1e99999999999999999999",
    "-1e18446744073709551616",
    "1e-18446744073709551617",
    "0e99999999999999999999",
    "0." TEN(TEN("0")) TEN(TEN("0")) TEN(TEN("0")) "1",
    "0." TEN(TEN("0")) TEN(TEN("0")) TEN(TEN("0")) "1e301",
    "1" TEN(TEN("0")) TEN(TEN("0")),
    "1" TEN(TEN("0")) TEN(TEN("0")) TEN(TEN("0")),
    "1" TEN(TEN("0")) TEN(TEN("0")) TEN(TEN("0")) TEN("0"),
    "1" TEN(TEN("0")) TEN(TEN("0")) TEN(TEN("0")) "e-300",
    "9" TEN(TEN("9")) "e-100",
    "1." TEN(TEN("0")) TEN(TEN("0")) "1",
    "1.0000000000000001110223024625156540423631668090820312",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203126",
    "0.500000000000000166533453693773481063544750213623046875",
    "3.518437208883201171875e13",
    "62.5364939768271845828",
    "8.10109172351e-10",
    "1.50000000000000011102230246251565",
    "6929495644600919.5",
    "3.7455744005952583e15",
    "2.2222222222222222222222222222222222",
    "7.8459735791271921e65",
    "1.2345678901234567",
    "12345678901234567",
    "123456789012345678",
    "1234567890123456789",
    "12345678901234567890",
    "1844674407370955161",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551617",
    "184467440737095516150",
    "9999999999999999999",
    "99999999999999999999",
    "0.9999999999999999",
    "0.99999999999999994",
    "0.99999999999999995",
    "4.35",
    "4.349999999999999",
    "0.000001",
    "0.0000001",
    "1e0",
    "1E5",
};

TEST(real_numbers)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(real_rows); i++)
        compare(&a, real_rows[i]);
    fumi_arena_done(&a);
}

/* A finite double of any magnitude. */
static double any_double(struct dice *d)
{
    for (;;) {
        uint64_t bits = roll(d);
        double x;
        memcpy(&x, &bits, sizeof(x));
        if (isfinite(x))
            return x;
    }
}

/* A double of a common magnitude. */
static double common_double(struct dice *d)
{
    return ldexp((double)(roll(d) >> 11), (int)below(d, 120) - 100);
}

enum { TEXT_SIZE = 1400 };

static size_t add_digits(struct dice *d, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)('0' + below(d, 10));
    to[n] = '\0';
    return n;
}

/* Random digits, with or without a point and an exponent. */
static void loose_text(struct dice *d, char *text, size_t most)
{
    char *p = text;
    if (below(d, 2))
        *p++ = '-';
    *p++ = (char)('0' + below(d, 10));
    if (p[-1] != '0')
        p += add_digits(d, p, below(d, most));
    if (below(d, 2)) {
        *p++ = '.';
        size_t zeros = below(d, 4) ? 0 : below(d, most);
        memset(p, '0', zeros);
        p += zeros;
        p += add_digits(d, p, 1 + below(d, most));
    }
    *p = '\0';
    size_t range = below(d, 2) ? 30 : 800;
    if (below(d, 3))
        snprintf(p, 16, below(d, 2) ? "e%d" : "E%+03d", (int)below(d, range) - (int)range / 2);
}

/* Exactly between two doubles, where a single digit decides. */
static void half_text(struct dice *d, char *text)
{
    double x = below(d, 2) ? any_double(d) : common_double(d), up = nextafter(x, INFINITY);
    long double half = isfinite(up) ? ((long double)x + (long double)up) / 2 : (long double)x;
    snprintf(text, TEXT_SIZE, "%.*Le", 800, half);
    char *e = strchr(text, 'e'), *last = e - 1;
    while (*last == '0')
        last--;
    size_t choice = below(d, 5);
    if (choice == 1 && last[0] != '.')
        *last = (char)(*last - 1);
    else if (choice == 2)
        *(e - 1) = '1';
    else if (choice == 3)
        memmove(last + (last[0] == '.') + 1, e, strlen(e) + 1);
}

static void random_text(struct dice *d, size_t i, char *text)
{
    switch (i % 8) {
    case 0:
        snprintf(text, TEXT_SIZE, "%.17g", any_double(d));
        break;
    case 1:
        snprintf(text, TEXT_SIZE, "%.*e", (int)below(d, 30), any_double(d));
        break;
    case 2:
        snprintf(text, TEXT_SIZE, "%.*g", 1 + (int)below(d, 20), common_double(d));
        break;
    case 3:
        half_text(d, text);
        break;
    case 4:
        loose_text(d, text, i % 64 == 4 ? 400 : 25);
        break;
    case 5:
        loose_text(d, text, 8);
        break;
    case 6:
        snprintf(text, TEXT_SIZE, "%s%" PRIu64 "%s", i & 8 ? "-" : "", roll(d) >> below(d, 64),
                 i & 16   ? ""
                 : i & 32 ? ".0"
                          : "e-1");
        break;
    case 7: /* small multiples of the smallest double */
        snprintf(text, TEXT_SIZE, "%.*g", 1 + (int)below(d, 25),
                 ldexp((double)(roll(d) >> (12 + below(d, 52))), -1074));
        break;
    }
}

TEST(numbers_by_chance)
{
    struct fumi_arena a = {0};
    struct dice d = {3};
    char text[TEXT_SIZE];
    for (size_t i = 0; i < 200000 && !test_failed; i++) {
        random_text(&d, i, text);
        compare(&a, text);
    }
    fumi_arena_done(&a);
}

TEST(numbers_of_800_digits)
{
    struct fumi_arena a = {0};
    struct dice d = {4};
    char text[TEXT_SIZE];
    for (size_t i = 0; i < 2000 && !test_failed; i++) {
        size_t n = 0, whole = 1 + below(&d, 400);
        text[n++] = (char)('1' + below(&d, 9));
        n += add_digits(&d, text + n, whole);
        text[n++] = '.';
        n += add_digits(&d, text + n, 800 - whole);
        snprintf(text + n, 32, "e%d", (int)below(&d, 800) - 600);
        compare(&a, text);
    }
    fumi_arena_done(&a);
}

/* Every power of ten and of two, and the doubles next to it. */
TEST(powers)
{
    struct fumi_arena a = {0};
    char text[64];
    for (int i = -1100; i < 1024 && !test_failed; i++) {
        double power = ldexp(1, i);
        double sides[] = {power, nextafter(power, 0), nextafter(power, INFINITY)};
        for (size_t k = 0; k < FUMI_COUNT(sides); k++)
            for (int digits = 15; digits < 20; digits++) {
                snprintf(text, sizeof(text), "%.*g", digits, sides[k]);
                compare(&a, text);
            }
        snprintf(text, sizeof(text), "1e%d", i / 2);
        compare(&a, text);
        snprintf(text, sizeof(text), "0.1e%d", i / 2);
        compare(&a, text);
    }
    fumi_arena_done(&a);
}

/* The result does not depend on what follows the number in the text. */
TEST(bytes_after_a_number)
{
    static const char *const after[] = {"]", " ]", ",1]", "\n]", "\t,9]", ",\"e5\"]", "  , 5]"};
    static const char *const numbers[] = {"1", "0.1", "12345678901234567890.5", "5e-324", "1e23"};
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(after); i++)
        for (size_t k = 0; k < FUMI_COUNT(numbers); k++) {
            struct fumi_str json = fumi_fmt(&a, "[%s%s", numbers[k], after[i]);
            struct block b = block_of(json, i);
            double got = -1, want = strtod(numbers[k], NULL);
            CHECK(fumi_real(fumi_first(fumi_parse(&a, b.text, &e)), &got));
            CHECK(memcmp(&got, &want, sizeof(got)) == 0);
            block_done(&b);
        }
    fumi_arena_done(&a);
}
