/* The contents of the values of a document, and lookups. */
#include "test.h"

#include "base/utf8.h"
#include "json_cases.h"
#include "json_fixture.h"
#include "json/json.h"

static const struct fumi_val *parsed(struct fumi_arena *a, const char *text)
{
    struct fumi_err e = {0};
    const struct fumi_val *v = fumi_parse(a, fumi_str(text), &e);
    if (!v)
        TEST_FAIL("%s: %s", text, e.text);
    return v;
}

static bool inside(struct fumi_str part, const char *text)
{
    return part.p >= text && part.p + part.n <= text + strlen(text);
}

/* The item of an array, or the value of a member, by its index. */
static const struct fumi_val *at(const struct fumi_val *v, size_t i)
{
    const struct fumi_val *k = fumi_first(v);
    for (; k && i; i--)
        k = fumi_after(v, k);
    return k && fumi_is(v, FUMI_OBJECT) ? fumi_of(k) : k;
}

TEST(kinds)
{
    static const struct {
        const char *text;
        enum fumi_kind kind;
    } rows[] = {{"null", FUMI_NULL},   {"true", FUMI_TRUE}, {"false", FUMI_FALSE},
                {"-1.5", FUMI_NUMBER}, {"0", FUMI_NUMBER},  {"\"\"", FUMI_STRING},
                {"[]", FUMI_ARRAY},    {"{}", FUMI_OBJECT}};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        for (enum fumi_kind kind = FUMI_NULL; kind <= FUMI_OBJECT; kind++) {
            const struct fumi_val *v = parsed(&a, rows[i].text);
            CHECK_INT(fumi_is(v, kind), kind == rows[i].kind);
            CHECK_INT(fumi_is_bool(v), rows[i].kind == FUMI_TRUE || rows[i].kind == FUMI_FALSE);
        }
    fumi_arena_done(&a);
}

TEST(walking_an_array)
{
    static const char *const items[] = {
        "1", "[]", "[2,[3,4],{}]", "{}", "{\"a\":[5],\"b\":{}}", "\"x\"", "null", "[[[]]]", "true"};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(items); i++)
        fumi_buf_add(&b, i ? "," : "[", 1), fumi_buf_add(&b, items[i], strlen(items[i]));
    fumi_buf_add(&b, "]", 2);
    const struct fumi_val *v = parsed(&a, b.p), *item = fumi_first(v);
    for (size_t i = 0; i < FUMI_COUNT(items); i++, item = fumi_after(v, item)) {
        CHECK(item);
        CHECK_STR(fumi_raw(item), items[i]);
    }
    CHECK(!item);
    CHECK_INT(fumi_size(v), FUMI_COUNT(items));
    CHECK_INT(fumi_size(at(v, 2)), 3);
    CHECK_STR(fumi_raw(at(at(at(v, 2), 1), 1)), "4");
    CHECK(fumi_next(v) == v + (v->bits >> FUMI_SPAN_SHIFT));
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(walking_an_object)
{
    static const char *const members[][2] = {{"a", "1"},     {"b", "{\"a\":{\"a\":2},\"c\":[]}"},
                                             {"", "[[],3]"}, {"d e", "\"f\""},
                                             {"a", "null"},  {"\xc3\xa9", "{}"}};
    struct fumi_arena a = {0};
    const struct fumi_val *v = parsed(&a, " { \"a\" : 1 , \"b\":{\"a\":{\"a\":2},\"c\":[]}, \"\":\n"
                                          "[[],3],\"d e\":\"f\",\"a\":null,\"\xc3\xa9\":{} } ");
    const struct fumi_val *key = fumi_first(v);
    for (size_t i = 0; i < FUMI_COUNT(members); i++, key = fumi_after(v, key)) {
        CHECK(fumi_is(key, FUMI_STRING));
        CHECK_STR(fumi_text(&a, key), members[i][0]);
        CHECK_STR(fumi_raw(fumi_of(key)), members[i][1]);
    }
    CHECK(!key);
    CHECK_INT(fumi_size(v), FUMI_COUNT(members));
    fumi_arena_done(&a);
}

TEST(nothing_to_walk)
{
    static const char *const texts[] = {"[]", "{}", "[ ]", "{\n}", "0", "\"[1]\"", "null", "true"};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        CHECK(!fumi_first(parsed(&a, texts[i])));
        CHECK_INT(fumi_size(parsed(&a, texts[i])), 0);
    }
    CHECK(!fumi_first(NULL));
    CHECK_INT(fumi_size(NULL), 0);
    fumi_arena_done(&a);
}

TEST(sizes_of_wide_containers)
{
    struct fumi_arena a = {0};
    for (size_t n = 0; n < 400; n += n < 140 ? 1 : 37) {
        struct fumi_buf array = {0}, object = {0};
        fumi_buf_put(&array, '[');
        fumi_buf_put(&object, '{');
        for (size_t i = 0; i < n; i++) {
            char text[40];
            int used = snprintf(text, sizeof(text), "%s\"k%zu\":%zu", i ? "," : "", i, i);
            fumi_buf_add(&object, text, (size_t)used);
            used = snprintf(text, sizeof(text), "%s[%zu]", i ? "," : "", i);
            fumi_buf_add(&array, text, (size_t)used);
        }
        fumi_buf_add(&array, "]", 2);
        fumi_buf_add(&object, "}", 2);
        const struct fumi_val *x = parsed(&a, array.p), *y = parsed(&a, object.p);
        CHECK_INT(fumi_size(x), n);
        CHECK_INT(fumi_size(y), n);
        int64_t last = -1, same = -1;
        CHECK_INT(fumi_int(fumi_first(at(x, n - 1)), &last), n > 0);
        CHECK_INT(fumi_int(at(y, n - 1), &same), n > 0);
        CHECK(last == (int64_t)n - 1 && same == last);
        fumi_buf_done(&array);
        fumi_buf_done(&object);
    }
    fumi_arena_done(&a);
}

TEST(getting_members)
{
    struct fumi_arena a = {0};
    const struct fumi_val *v = parsed(
        &a, "{\"one\":1,\"two\":2,\"one\":3,\"tw\":4,\"twoo\":5,\"\":6,"
            "\"\\u0061\\n\\ud83d\\ude00\":7,\"in\":{\"one\":8},\"Two\":9,\"\\\"q\\\"\":10,"
            "\"\\u0074hree\":11,\"three\":12,\"a\\u0000b\":13,\"nul\":null}");
    static const struct {
        const char *name, *raw;
    } rows[] = {{"one", "1"},          {"two", "2"},    {"tw", "4"},
                {"twoo", "5"},         {"", "6"},       {"a\n\xf0\x9f\x98\x80", "7"},
                {"in", "{\"one\":8}"}, {"Two", "9"},    {"\"q\"", "10"},
                {"three", "11"},       {"nul", "null"}, {"nu", NULL},
                {"t", NULL},           {"a", NULL},     {"\\u0074hree", NULL},
                {"1", NULL},           {"one ", NULL}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(fumi_raw(fumi_get(v, rows[i].name)), rows[i].raw);
    CHECK_STR(fumi_raw(fumi_get(fumi_get(v, "in"), "one")), "8");
    fumi_arena_done(&a);
}

TEST(getting_from_what_is_no_object)
{
    static const char *const texts[] = {
        "[\"a\",1]",         "[]",           "{}", "\"a\"", "1", "null", "[{\"a\":1}]",
        "{\"b\":{\"a\":1}}", "{\"b\":\"a\"}"};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++)
        CHECK(!fumi_get(parsed(&a, texts[i]), "a"));
    CHECK(!fumi_get(NULL, "a"));
    CHECK(!fumi_get(fumi_get(fumi_get(parsed(&a, "{}"), "a"), "b"), "c"));
    fumi_arena_done(&a);
}

TEST(absent_values)
{
    struct fumi_arena a = {0};
    int64_t i;
    double d;
    CHECK(!fumi_is(NULL, FUMI_NULL));
    CHECK(!fumi_is_bool(NULL));
    CHECK(!fumi_text(&a, NULL).p);
    CHECK(!fumi_raw(NULL).p);
    CHECK(!fumi_text_is(NULL, FUMI_STR("")));
    CHECK(!fumi_int(NULL, &i));
    CHECK(!fumi_real(NULL, &d));
    fumi_arena_done(&a);
}

TEST(values_of_the_wrong_kind)
{
    static const char *const texts[] = {"null", "true", "false",   "[]",
                                        "{}",   "[1]",  "[\"a\"]", "{\"a\":1}"};
    struct fumi_arena a = {0};
    int64_t i;
    double d;
    for (size_t k = 0; k < FUMI_COUNT(texts); k++) {
        const struct fumi_val *v = parsed(&a, texts[k]);
        CHECK(!fumi_text(&a, v).p);
        CHECK(!fumi_text_is(v, fumi_str(texts[k])));
        CHECK(!fumi_int(v, &i));
        CHECK(!fumi_real(v, &d));
    }
    CHECK(!fumi_text(&a, parsed(&a, "12")).p);
    CHECK(!fumi_text_is(parsed(&a, "12"), FUMI_STR("12")));
    CHECK(!fumi_int(parsed(&a, "\"12\""), &i));
    CHECK(!fumi_real(parsed(&a, "\"12\""), &d));
    fumi_arena_done(&a);
}

/* Each decoded text, with its length if it contains a NUL. */
static const struct {
    const char *json;
    struct fumi_str text;
} decoded[] = {
    {"\"\"", ROW("")},
    {"\"plain\"", ROW("plain")},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", ROW("\"\\/\b\f\n\r\t")},
    {"\"\\n\"", ROW("\n")},
    {"\"a\\tb\\tc\"", ROW("a\tb\tc")},
    {"\"\\\\n\"", ROW("\\n")},
    {"\"\\\\\\\\u0041\"", ROW("\\\\u0041")},
    {"\"\\u0000\"", ROW("\0")},
    {"\"a\\u0000b\\u0000\"", ROW("a\0b\0")},
    {"\"\\u0041\\u007a\\u007F\"", ROW("Az\x7f")},
    {"\"\\u0080\\u07ff\"", ROW("\xc2\x80\xdf\xbf")},
    {"\"\\u0800\\uD7FF\\uE000\\uFFFF\"", ROW("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf")},
    {"\"\\uabCD\"", ROW("\xea\xaf\x8d")},
    {"\"\\ud800\\udc00\"", ROW("\xf0\x90\x80\x80")},
    {"\"\\uDBFF\\uDFFF\"", ROW("\xf4\x8f\xbf\xbf")},
    {"\"\\ud83d\\ude00\\ud83d\\ude01\"", ROW("\xf0\x9f\x98\x80\xf0\x9f\x98\x81")},
    {"\"x\\ud834\\udd1ey\"", ROW("x\xf0\x9d\x84\x9ey")},
    {"\"\xe6\x97\xa5\\n\xe6\x9c\xac\"", ROW("\xe6\x97\xa5\n\xe6\x9c\xac")},
    {"\"\\u0022\\u005c\\u002f\"", ROW("\"\\/")},
    {"\"tail\\u00e9\"", ROW("tail\xc3\xa9")},
    {"\"\\u00e9head\"", ROW("\xc3\xa9head")},
    {"\"\xef\xbb\xbf\\u0031\"", ROW("\xef\xbb\xbf\x31")},
};

TEST(decoded_texts)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(decoded); i++) {
        const struct fumi_val *v = parsed(&a, decoded[i].json);
        struct fumi_str text = fumi_text(&a, v);
        if (!text.p || !fumi_eq(text, decoded[i].text))
            TEST_FAIL("%s is not %.*s", decoded[i].json, FUMI_ARG(text));
        CHECK_INT(!!(v->bits & FUMI_ESCAPED), !!strchr(decoded[i].json, '\\'));
        CHECK_STR(fumi_raw(v), decoded[i].json);
    }
    fumi_arena_done(&a);
}

TEST(decoded_texts_as_keys)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(decoded); i++) {
        struct fumi_str json = fumi_fmt(&a, "[{%s:[%s]}]", decoded[i].json, decoded[i].json);
        const struct fumi_val *key = fumi_first(fumi_first(parsed(&a, json.p)));
        CHECK(fumi_eq(fumi_text(&a, key), decoded[i].text));
        CHECK(fumi_eq(fumi_text(&a, fumi_first(fumi_of(key))), decoded[i].text));
        CHECK(fumi_text_is(key, decoded[i].text));
        CHECK_STR(fumi_raw(key), decoded[i].json);
    }
    fumi_arena_done(&a);
}

TEST(comparing_without_decoding)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(decoded); i++)
        for (size_t k = 0; k < FUMI_COUNT(decoded); k++)
            CHECK_INT(fumi_text_is(parsed(&a, decoded[i].json), decoded[k].text), i == k);
    for (size_t i = 0; i < FUMI_COUNT(decoded); i++) {
        struct fumi_str text = decoded[i].text;
        struct block longer = block_of((struct fumi_str){text.p, text.n + 1}, 0);
        longer.base[text.n] = 'x';
        CHECK(!fumi_text_is(parsed(&a, decoded[i].json), longer.text));
        if (text.n)
            CHECK(
                !fumi_text_is(parsed(&a, decoded[i].json), (struct fumi_str){text.p, text.n - 1}));
        block_done(&longer);
    }
    fumi_arena_done(&a);
}

/* Every escaped code unit, against fumi_utf8_write. */
TEST(every_unit_decoded)
{
    struct fumi_arena a = {0};
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x10000 ? 1 : 53) {
        char json[32], want[32];
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        if (c < 0x10000)
            snprintf(json, sizeof(json), "[\"\\u%04X\"]", c);
        else
            snprintf(json, sizeof(json), "[\"\\u%04x\\u%04x\"]", 0xd800 + ((c - 0x10000) >> 10),
                     0xdc00 + (c & 0x3ff));
        struct fumi_str text = fumi_text(&a, fumi_first(parsed(&a, json)));
        CHECK(fumi_eq(text, (struct fumi_str){want, fumi_utf8_write(c, want)}));
        fumi_arena_reset(&a, 1 << 16);
    }
    fumi_arena_done(&a);
}

TEST(texts_without_escapes_are_slices)
{
    static const char json[] =
        "{\"key\":[\"value\",\"\",\"\xe6\x97\xa5\xe6\x9c\xac\"],\"k\\n\":\"v\\t\"}";
    struct fumi_arena a = {0};
    const struct fumi_val *v = parsed(&a, json), *key = fumi_first(v), *list = fumi_of(key);
    CHECK(inside(fumi_text(&a, key), json));
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i))
        CHECK(inside(fumi_text(&a, i), json));
    CHECK(fumi_text(&a, at(list, 1)).p);
    key = fumi_after(v, key);
    CHECK(!inside(fumi_text(&a, key), json));
    CHECK(!inside(fumi_text(&a, fumi_of(key)), json));
    fumi_arena_done(&a);
}

/* Two calls return equal texts in separate memory, and change neither each other nor the document.
 */
TEST(decoding_twice)
{
    struct fumi_arena a = {0};
    const struct fumi_val *v = parsed(&a, "[\"\\u0061\",\"\\u0062\\u0062\"]");
    struct fumi_str first = fumi_text(&a, at(v, 0)), second = fumi_text(&a, at(v, 1));
    struct fumi_str again = fumi_text(&a, at(v, 0));
    CHECK_STR(first, "a");
    CHECK_STR(second, "bb");
    CHECK_STR(again, "a");
    CHECK_STR(fumi_raw(v), "[\"\\u0061\",\"\\u0062\\u0062\"]");
    CHECK_INT(fumi_size(v), 2);
    fumi_arena_done(&a);
}

/* An escape at every position of strings of every length, so that each step of the decoder meets
 * one. */
TEST(escapes_at_every_place)
{
    static const struct {
        const char *json, *text;
    } rows[] = {{"\\n", "\n"},
                {"\\\\", "\\"},
                {"\\u00e9", "\xc3\xa9"},
                {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"}};
    struct fumi_arena a = {0};
    for (int n = 0; n < 70; n++)
        for (int before = 0; before <= n; before++)
            for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
                static const char fill[] = TEN("seventy") "!";
                fumi_arena_reset(&a, 1 << 16);
                struct fumi_str json = fumi_fmt(&a, "[\"%.*s%s%.*s\"]", before, fill, rows[i].json,
                                                n - before, fill);
                struct fumi_str text = fumi_fmt(&a, "%.*s%s%.*s", before, fill, rows[i].text,
                                                n - before, fill);
                const struct fumi_val *v = fumi_first(parsed(&a, json.p));
                CHECK_STR(fumi_text(&a, v), text.p);
                CHECK(fumi_text_is(v, text));
            }
    fumi_arena_done(&a);
}

TEST(raw_texts)
{
    static const char json[] =
        " [ 1.50 , \"a\\u0062\" ,\t{ \"k\" : [ ] } , true,false , null,-0e+0 ] ";
    static const char *const items[] = {"1.50", "\"a\\u0062\"", "{ \"k\" : [ ] }", "true", "false",
                                        "null", "-0e+0"};
    struct fumi_arena a = {0};
    const struct fumi_val *v = parsed(&a, json);
    for (size_t i = 0; i < FUMI_COUNT(items); i++) {
        CHECK_STR(fumi_raw(at(v, i)), items[i]);
        CHECK(inside(fumi_raw(at(v, i)), json));
    }
    CHECK_STR(fumi_raw(fumi_get(at(v, 2), "k")), "[ ]");
    CHECK_INT(fumi_raw(v).n, strlen(json) - 2);
    fumi_arena_done(&a);
}

TEST(raw_texts_of_whole_documents)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(valid_texts); i++) {
        struct fumi_str text = valid_texts[i];
        struct fumi_str raw = fumi_raw(fumi_parse(&a, text, &e));
        const char *begin = memmem(text.p, text.n, raw.p, raw.n);
        CHECK(raw.n && begin);
        CHECK_INT(begin - text.p, strspn(text.p, " \t\r\n"));
        CHECK_INT(strspn(begin + raw.n, " \t\r\n"), text.n - raw.n - (size_t)(begin - text.p));
    }
    fumi_arena_done(&a);
}

/* A document does not depend on earlier contents of the arena, nor on a document parsed later. */
TEST(documents_in_one_arena)
{
    struct fumi_arena a = {0};
    const struct fumi_val *first[200];
    char texts[200][40];
    for (size_t i = 0; i < FUMI_COUNT(first); i++) {
        snprintf(texts[i], sizeof(texts[i]), "{\"n\":%zu,\"text\":\"\\u0061%zu\"}", i, i);
        first[i] = parsed(&a, texts[i]);
    }
    for (size_t i = 0; i < FUMI_COUNT(first); i++) {
        int64_t n = -1;
        char want[16];
        snprintf(want, sizeof(want), "a%zu", i);
        CHECK(fumi_int(fumi_get(first[i], "n"), &n));
        CHECK_INT(n, i);
        CHECK_STR(fumi_text(&a, fumi_get(first[i], "text")), want);
    }
    fumi_arena_done(&a);
}
