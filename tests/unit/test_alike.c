/* What is like something before it is taken over from there: here every pair of texts shows that
 * this makes no difference. Each is read after each other one, in an array, as a whole document,
 * and as a call; and must be what it is alone. */
#include "exchange_tools.h"
#include "json_tools.h"
#include "json/like.h"

#define LONG "0123456789012345678901234567890123456789"

/* Objects, and what is none. */
static const char *const objects[] = {
    "{}",
    "{\"a\":1}",
    "{\"a\":2}",
    "{\"a\":12}",
    "{\"a\":-1.5e3}",
    "{\"a\":0}",
    "{\"a\":123456789012345678901234567890}",
    "{\"a\":\"x\"}",
    "{\"a\":\"xy\"}",
    "{\"a\":\"\"}",
    "{\"a\":\"\\n\"}",
    "{\"a\":\"\\\"\"}",
    "{\"a\":\"\xc3\xa9\"}",
    "{\"a\":\"" LONG "\"}",
    "{\"a\":\"" LONG "x\",\"b\":1}",
    "{\"a\":\"" LONG "y" LONG "\",\"b\":1}",
    "{\"a\":\"x\",\"b\":1}",
    "{\"a\":\"yz\",\"b\":1}",
    "{\"a\":\"y\xc3\xa9\",\"b\":1}",
    "{\"a\":\"y\\,\"b\":1}",
    "{\"a\":\"y\x01,\"b\":1}",
    "{\"b\":1}",
    "{\"a:\":1}",
    "{\"a\":1,\"b\":1}",
    "{\"a\":1,\"a\":1}",
    "{\"a\":null}",
    "{\"a\":true}",
    "{\"a\":false}",
    "{\"a\":[]}",
    "{\"a\":{}}",
    "{\"a\":[1,2]}",
    "{\"a\":[1,22]}",
    "{\"a\":[1,2,3]}",
    "{\"a\":[1,[2]]}",
    "{\"a\":[{\"c\":1},{\"c\":2}],\"b\":[1]}",
    "{\"a\":[{\"c\":1},{\"c\":33}],\"b\":[1]}",
    "{\"a\":[{\"c\":1},{\"d\":2}],\"b\":[1]}",
    "{\"a\":{\"b\":{\"c\":\"1\"}},\"d\":\"e\"}",
    "{\"a\":{\"b\":{\"c\":\"1234\"}},\"d\":\"efg\"}",
    "{ \"a\" : 1 }",
    "{ \"a\" : 1234 }",
    "{\"a\"\n:\"1\"}",
    "{\"a\"\n:\"12\"\t}",
    "{\"a\":-12}",
    "{\"a\":-0}",
    "{\"a\":0.5}",
    "{\"a\":-12.25}",
    "{\"a\":1E5}",
    "{\"a\":1.5e-7}",
    "{\"a\":00}",
    "{\"a\":-01}",
    "{\"a\":.5}",
    "{\"a\":-.5}",
    "{\"a\":1.e5}",
    "{\"a\":1.5.5}",
    "{\"a\":--1}",
    "{\"a\":01}",
    "{\"a\":1.}",
    "{\"a\":-}",
    "{\"a\":1x}",
    "{\"a\":tru}",
    "{\"a\":nulll}",
    "{\"a\":\"}",
    "{\"a\":\"\x01\"}",
    "{\"a\":\"\\x\"}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\xff\"}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1]",
    "{\"a\":1}}",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{1:1}",
    "{\"a\":1 2}",
    "{\"a\":[1,2}",
    "{\"a\":[{\"c\":1},{\"c\":2}],\"b\":[1}",
    "{\"a\":{},{}}",
    "{\"a\":{\"b\":1},{\"b\":2},\"c\":3}",
    "{\"a\":[{\"b\":1},{\"b\":2}],{\"b\":3}}",
    "{\"a\":{\"k\":[{\"b\":1},{\"b\":1}]},{\"k\":[{\"b\":1},{\"b\":1}]}}",
    "{\"a\":[{\"b\":1},1,{\"b\":1},\"x\",{\"b\":2},[{\"b\":3}],{\"b\":4}]}",
};

/* Rows of a tree, kinds, spans and texts, but for the mark of those that are alike. */
static bool same_rows(const struct fumi_val *x, const struct fumi_val *y)
{
    for (const struct fumi_val *end = fumi_next(x); x < end; x++, y++) {
        unsigned mark = (x->bits & 7) == FUMI_OBJECT ? FUMI_ALIKE : 0;
        if ((x->bits ^ y->bits) & ~mark || !fumi_eq(fumi_raw(x), fumi_raw(y)))
            return false;
    }
    return true;
}

/* The first and the second, with and without something between them, and each alone. */
static bool is_itself_in_an_array(struct fumi_arena *a, const char *first, const char *between,
                                  const char *second, const char *comma)
{
    struct fumi_err e, f;
    struct fumi_buf b = {0};
    putf(&b, "[%s%s%s%s%s%s]", first, comma, between, second, comma, second);
    struct block all = block_of(fumi_buf_str(&b), 0);
    const struct fumi_val *v = fumi_parse(a, all.text, &e), *i = v ? v + 1 : NULL;
    const struct fumi_val *one = fumi_parse(a, fumi_str(first), &f),
                          *two = fumi_parse(a, fumi_str(second), &f);
    bool same = !v == !(one && two) && (!v || same_rows(i, one));
    for (i = v ? fumi_after(v, i) : NULL; i && same; i = fumi_after(v, i))
        same = fumi_is(i, FUMI_NUMBER) || same_rows(i, two);
    block_done(&all);
    fumi_buf_done(&b);
    return same && (!v || fumi_size(v) == (*between ? 4 : 3));
}

/* What the mark promises: the same keys and the same structure. */
static bool keeps_its_promise(const struct fumi_val *x, const struct fumi_val *model)
{
    for (const struct fumi_val *end = fumi_next(x); x < end; x++, model++) {
        unsigned kind = x->bits & 7, other = model->bits & 7;
        const char *behind = x->p + x->n + 1;
        bool key = kind == FUMI_STRING && behind[strspn(behind, " \n\t")] == ':';
        if ((kind < FUMI_NUMBER ? other >= FUMI_NUMBER : kind != other) ||
            (key && !fumi_eq(fumi_raw(x), fumi_raw(model))))
            return false;
    }
    return true;
}

/* Whether an item of an array is the text alone; *model: the last that is like no other. */
static bool is_item(struct fumi_arena *a, const struct fumi_val *item,
                    const struct fumi_val **model, const struct fumi_val *alone)
{
    if (!fumi_is_alike(item))
        *model = item;
    const struct fumi_val *all = fumi_whole(a, *model, item);
    return same_rows(all, alone) && (item == *model || keeps_its_promise(all, *model));
}

/* Many items, some of them many times one after the other. */
static bool is_itself_in_a_run(struct fumi_arena *a, const char *const two[2], const char *comma,
                               bool brief)
{
    static const unsigned char order[] = {0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0};
    struct fumi_err e, f;
    struct fumi_buf b = {0};
    uint64_t differ;
    for (size_t i = 0; i < sizeof(order); i++)
        putf(&b, "%s%s", i ? comma : "[", two[order[i]]);
    fumi_buf_put(&b, ']');
    struct block all = block_of(fumi_buf_str(&b), 0);
    const struct fumi_val *v = brief ? fumi_parse_like(a, all.text, FUMI_DEPTH, NULL, &differ, &e)
                                     : fumi_parse(a, all.text, &e);
    const struct fumi_val *alone[] = {fumi_parse(a, fumi_str(two[0]), &f),
                                      fumi_parse(a, fumi_str(two[1]), &f)};
    const struct fumi_val *item = fumi_first(v), *model = item;
    bool same = !v == !(alone[0] && alone[1]);
    for (size_t i = 0; item && same; item = fumi_after(v, item), i++)
        same = is_item(a, item, &model, alone[order[i]]);
    same = same && (!v || fumi_size(v) == sizeof(order));
    block_done(&all);
    fumi_buf_done(&b);
    return same;
}

TEST(many_objects_are_themselves_behind_each_other)
{
    struct fumi_arena a = {0};
    static const char *const commas[] = {",", " ,\n", ",                     "};
    for (size_t i = 0; i < FUMI_COUNT(objects) * FUMI_COUNT(objects); i++) {
        const char *two[] = {objects[i / FUMI_COUNT(objects)], objects[i % FUMI_COUNT(objects)]};
        for (size_t k = 0; k < FUMI_COUNT(commas) * 2; k++) {
            fumi_arena_reset(&a, 1 << 16);
            if (!is_itself_in_a_run(&a, two, commas[k / 2], k % 2))
                TEST_FAIL("%s behind %s, and %s%s", two[1], two[0], commas[k / 2],
                          k % 2 ? ", brief" : "");
        }
    }
    fumi_arena_done(&a);
}

/* Those that differ in a few values, and one among them that differs in something else: wherever
 * that is, each must be itself. */
static const char *const odd_ones[] = {
    "{\"Kind\":1,\"a\":[2,\"s\"],\"number\":3}",
    "{\"kind\":1,\"A\":[2,\"s\"],\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"Number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"number\":3 }",
    "{\"kind\":1,\"a\":[2 ,\"s\"],\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\",0],\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"number\":3} ",
    "{\"kind\":-1,\"a\":[2.5,\"\\n\"],\"number\":3e3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"number\":null}",
    "{\"kind\":1,\"a\":{\"b\":\"s\"},\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"" LONG "\"],\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"number\":3,\"o\":4}",
    "{\"kind\":1,\"a\":[2,\"s\"]\"number\":3}",
    "{\"kind\":1;\"a\":[2,\"s\"],\"number\":3}",
    "{\"kind\":1,\"a\":[2,\"s\"],\"number\":}",
    "[\"kind\",1,\"a\",[2,\"s\"],\"number\",3]",
};

static void put_usual(struct fumi_buf *b, int i)
{
    putf(b, "{\"kind\":%d,\"a\":[%d,\"s%d\"],\"number\":%d}", i % 3 * 17, i, i % 4 * 99, 3);
}

static bool is_itself_among_others(struct fumi_arena *a, const char *odd, int place, bool brief)
{
    enum { ITEMS = 12 };
    struct fumi_buf all = {0}, one = {0};
    struct fumi_err e;
    uint64_t differ;
    for (int i = 0; i < ITEMS; i++) {
        putf(&all, "%s", i ? "," : "[");
        if (i == place)
            putf(&all, "%s", odd);
        else
            put_usual(&all, i);
    }
    fumi_buf_put(&all, ']');
    struct block text = block_of(fumi_buf_str(&all), 0);
    const struct fumi_val *v = brief ? fumi_parse_like(a, text.text, FUMI_DEPTH, NULL, &differ, &e)
                                     : fumi_parse(a, text.text, &e);
    const struct fumi_val *item = fumi_first(v), *model = item;
    bool same = !v == !fumi_parse(a, fumi_str(odd), &e);
    for (int i = 0; item && same; item = fumi_after(v, item), i++) {
        fumi_buf_reset(&one, SIZE_MAX);
        put_usual(&one, i);
        struct fumi_str alone = i == place ? fumi_str(odd) : fumi_buf_str(&one);
        same = is_item(a, item, &model, fumi_parse(a, fumi_dup(a, alone), &e));
    }
    block_done(&text);
    fumi_buf_done(&all);
    fumi_buf_done(&one);
    return same && (!v || fumi_size(v) == ITEMS);
}

TEST(an_odd_one_among_many_is_itself)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(odd_ones) * 24; i++) {
        fumi_arena_reset(&a, SIZE_MAX);
        if (!is_itself_among_others(&a, odd_ones[i / 24], (int)(i % 24 / 2), i % 2))
            TEST_FAIL("%s at %zu%s", odd_ones[i / 24], i % 24 / 2, i % 2 ? ", brief" : "");
    }
    fumi_arena_done(&a);
}

/* Longer than the row of values is at first, so that it ends within a run. */
TEST(each_of_very_many_is_itself)
{
    enum { MANY = 5000, EACH = 80 };
    struct fumi_arena a = {0}, alone = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    uint64_t differ;
    char item[EACH];
    for (int i = 0; i < MANY; i++)
        putf(&b, "%s{\"some_name\":[%d],\"b\":\"x\",\"c\":%d}", i ? "," : "[", i / 10, i % 7);
    fumi_buf_put(&b, ']');
    const struct fumi_val *v = fumi_parse_like(&a, fumi_buf_str(&b), FUMI_DEPTH, NULL, &differ, &e);
    const struct fumi_val *at = fumi_first(v), *model = at;
    for (int i = 0; i < MANY; i++, at = fumi_after(v, at)) {
        snprintf(item, EACH, "{\"some_name\":[%d],\"b\":\"x\",\"c\":%d}", i / 10, i % 7);
        fumi_arena_reset(&alone, SIZE_MAX);
        if (!is_item(&alone, at, &model, fumi_parse(&alone, fumi_str(item), &e)))
            TEST_FAIL("%d: %s", i, item);
    }
    CHECK(!at);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
    fumi_arena_done(&alone);
}

TEST(an_object_is_itself_behind_any_other)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(objects); i++) {
        for (size_t k = 0; k < FUMI_COUNT(objects); k++) {
            fumi_arena_reset(&a, 1 << 16);
            if (!is_itself_in_an_array(&a, objects[i], "", objects[k], ",") ||
                !is_itself_in_an_array(&a, objects[i], "", objects[k], " ,\n") ||
                !is_itself_in_an_array(&a, objects[i], "7,", objects[k], ","))
                TEST_FAIL("%s behind %s", objects[k], objects[i]);
        }
    }
    fumi_arena_done(&a);
}

TEST(a_text_is_itself_whatever_it_is_parsed_like)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(objects); i++) {
        struct fumi_err e, f;
        struct block old = block_of(fumi_str(objects[i]), 0);
        uint64_t differ;
        struct fumi_like like = {0};
        const struct fumi_val *model = fumi_parse(&a, old.text, &e);
        fumi_like_set(&like, model);
        for (size_t k = 0; like.v && k < FUMI_COUNT(objects); k++) {
            struct block new = block_of(fumi_str(objects[k]), 0);
            const struct fumi_val *v = fumi_parse_like(&a, new.text, FUMI_DEPTH, &like, &differ,
                                                       &e);
            const struct fumi_val *alone = fumi_parse(&a, new.text, &f);
            if (!v != !alone || (v && !same_rows(fumi_whole(&a, model, v), alone)) ||
                (!v && strcmp(e.text, f.text) != 0))
                TEST_FAIL("%s like %s", objects[k], objects[i]);
            block_done(&new);
        }
        block_done(&old);
    }
    fumi_arena_done(&a);
}

TEST(a_text_may_end_behind_a_repeated_object)
{
    static const char *const texts[] = {"[{\"a\":1},{\"a\":1}", "[{\"a\":1},{\"a\":1},", "[{},{}",
                                        "[[{\"a\":1},{\"a\":12}]", "[{\"a\":1},{\"a\":12"};
    struct fumi_arena a = {0};
    struct fumi_err e;
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct block b = block_of(fumi_str(texts[i]), 0);
        CHECK(!fumi_parse(&a, b.text, &e));
        block_done(&b);
    }
    fumi_arena_done(&a);
}

/* Rows of many numbers are read as if nothing were like them, even where something is: mostly they
 * all differ, and what is taken over would have to be moved again for each. */
TEST(rows_of_many_numbers_are_not_compared)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    enum { NUMBERS = 100, ROWS = 12 };
    fumi_buf_put(&b, '[');
    for (int row = 0; row < ROWS; row++) {
        putf(&b, "%s{\"a\":[", row ? "," : "");
        for (int i = 0; i < NUMBERS; i++)
            putf(&b, "%s%.*s", i ? "," : "", row / 4 + 1, "12345");
        putf(&b, "]}");
    }
    fumi_buf_put(&b, ']');
    const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&b), &e);
    CHECK_INT(fumi_size(v), ROWS);
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i)) {
        CHECK(!(i->bits & FUMI_ALIKE));
        CHECK_INT(fumi_size(fumi_get(i, "a")), NUMBERS);
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* Only failures one after the other end the attempts. */
TEST(few_odd_ones_do_not_keep_the_others_from_being_alike)
{
    enum { MANY = 1000, ODD = 5 };
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct fumi_err e;
    int marked = 0;
    for (int i = 0; i < MANY; i++)
        putf(&b,
             i % (MANY / ODD) == 10 ? "%s{\"id\":%d,\"z\":0}" : "%s{\"id\":%d,\"a\":0,\"b\":\"x\"}",
             i ? "," : "[", i);
    fumi_buf_put(&b, ']');
    const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&b), &e);
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i))
        marked += fumi_is_alike(i);
    CHECK(marked >= MANY - 4 * ODD);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

TEST(the_mark_says_which_are_alike)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    static const struct {
        const char *item;
        bool alike;
    } rows[] = {
        {"{\"a\":1,\"b\":\"x\"}", false},
        {"{\"a\":22,\"b\":\"\"}", true},
        {"{\"b\":1,\"b\":\"x\"}", false},
        {"{\"b\":2,\"b\":\"x\"}", true},
        {"{\"b\":2,\"b\":3}", false},
        {"7", false},
        {"{\"b\":2,\"b\":3}", false},
        {"{\"b\":2,\"b\":3}", true},
        {"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}", false},
        {"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":2}", true},
        {"{\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2,\"f\":1}", false}, /* not in much */
    };
    struct fumi_buf b = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        putf(&b, "%s%s", i ? "," : "[", rows[i].item);
    fumi_buf_put(&b, ']');
    const struct fumi_val *v = fumi_parse(&a, fumi_buf_str(&b), &e), *item = fumi_first(v);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++, item = fumi_after(v, item)) {
        if (!(item->bits & FUMI_ALIKE) == rows[i].alike)
            TEST_FAIL("%zu: %s", i, rows[i].item);
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* Requests of the same structure, and others. */
static const char *const calls[] = {
    ASK("subtract", "[42,23]", "1"),
    ASK("subtract", "[42,23]", "2"),
    ASK("subtract", "[7,1234567]", "1000"),
    ASK("subtract", "[7,-0.5]", "\"x\""),
    ASK("subtract", "[7,-0.5]", "\"\\n\""),
    ASK("subtract", "[\"7\",1]", "\"x\""),
    ASK("subtract", "[7]", "1"),
    ASK("subtract", "[7,1]", "null"),
    ASK("subtract", "[7,1]", "true"),
    ASK("subtract", "[7,1]", "false"),
    ASK("subtract", "{\"minuend\":7,\"subtrahend\":1}", "3"),
    ASK("subtract", "{\"minuend\":7,\"minuend\":1}", "3"),
    ASK("subtracT", "[42,23]", "1"),
    ASK("echo", "[42,23]", "1"),
    ASK("ech\\u006f", "[42,23]", "1"),
    ASK("block", "[42,23]", "1"),
    ASK("defer", "[42,23]", "1"),
    ASK("", "[42,23]", "1"),
    ASK("nothing", "null", "1"),
    ASK("nothing", "true", "1"),
    CALL("nothing", "1"),
    CALL("nothing", "01"),
    NOTE("nothing"),
    "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23]}",
    "{\"jsonrpc\":\"1.0\",\"method\":\"subtract\",\"params\":[42,23],\"id\":1}",
    "{\"jsonrpc\":\"2\\u002e0\",\"method\":\"subtract\",\"params\":[42,23],\"id\":1}",
    "{\"jsonrpc\":\"2.0\",\"methoD\":\"subtract\",\"params\":[42,23],\"id\":1}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23],\"iD\":1}",
    "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23]}",
    "{\"id\":22,\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,2300]}",
    "{\"params\":[42,23],\"id\":1,\"method\":\"subtract\",\"jsonrpc\":\"2.0\"}",
    "{\"params\":[4,2300],\"id\":1,\"method\":\"subtract\",\"jsonrpc\":\"2.0\"}",
    "{\"params\":[42,23],\"id\":12,\"method\":\"nothing\",\"jsonrpc\":\"2.0\"}",
    ASK("subtract", "[42,23]", "123456789012345"),
    ASK("subtract", "[42,23]", "1234567890123456"),
    ASK("subtract", "[42,23]", "12345678901234567"),
    ASK("subtract", "[42,23]", "\"0123456789abcd\""),
    ASK("subtract", "[42,23]", "\"0123456789abcde\""),
    ASK("subtract", "[1000,1]", "\"" LONG "\""),
    ASK("subtract", "[0,0]", "3"),
    ASK("subtract", "[-0,0]", "4"),
    ASK("subtract", "[1e400,0]", "5"),
    ASK("subtract", "[9007199254740993,0]", "6"),
    ASK("subtract", "[123456789012345,-1.5e3]", "7"),
    "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"result\":[42,23],\"id\":1}",
    "{\"jsonrpc\":\"2.0\",\"result\":\"subtract\",\"params\":[42,23],\"id\":1}",
    ASK("echo", "[\"" LONG LONG LONG LONG LONG LONG LONG "\"]", "1"),
    ASK("echo", "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
        "1"),
};

/* What a server that was never asked before answers. */
static struct fumi_str fresh_answer(struct fumi_arena *a, const char *message)
{
    struct scene s;
    scene_open(&s);
    struct fumi_str answer = fumi_dup(a, hear(&s.c, message));
    scene_done(&s);
    return answer;
}

static struct fumi_str between(struct fumi_str s, size_t front, size_t back)
{
    return s.n < front + back ? s : (struct fumi_str){s.p + front, s.n - front - back};
}

static bool is_json(const char *text)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    bool yes = fumi_parse(&a, fumi_str(text), &e);
    fumi_arena_done(&a);
    return yes;
}

/* The answers to a batch of two, each of them more than once, are those to each. */
static bool is_answered_in_a_batch(struct scene *s, struct fumi_buf *b, const char *const two[2],
                                   const struct fumi_str answers[2])
{
    static const unsigned char order[] = {0, 1, 1, 1, 0, 0, 1, 0, 1, 1};
    struct fumi_buf want = {0};
    fumi_buf_reset(b, SIZE_MAX);
    for (size_t i = 0; i < FUMI_COUNT(order); i++) {
        putf(b, "%s%s", i ? "," : "[", two[order[i]]);
        struct fumi_str answer = answers[order[i]];
        if (answer.n)
            putf(&want, "%s%.*s", want.n ? "," : "", FUMI_ARG(answer));
    }
    fumi_buf_put(b, ']');
    struct fumi_str got = between(tell_and_hear(&s->c, fumi_buf_str(b)), 1, 1);
    bool same = fumi_eq(got, fumi_buf_str(&want));
    fumi_buf_reset(b, SIZE_MAX);
    fumi_buf_add(b, got.p, got.n);
    fumi_buf_done(&want);
    return same;
}

TEST(a_call_is_answered_the_same_behind_any_other)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct scene s;
    struct fumi_spare spare = {0};
    struct fumi_str answers[FUMI_COUNT(calls)];
    scene_open(&s);
    s.c.peer.spare = &spare;
    for (size_t i = 0; i < FUMI_COUNT(calls); i++)
        answers[i] = fresh_answer(&a, calls[i]);
    for (size_t i = 0; i < FUMI_COUNT(calls); i++) {
        for (size_t k = 0; k < FUMI_COUNT(calls); k++) {
            hear(&s.c, calls[i]);
            struct fumi_str got = hear(&s.c, calls[k]);
            if (!fumi_eq(got, answers[k]))
                TEST_FAIL("%s behind %s: %.*s", calls[k], calls[i], FUMI_ARG(got));
            if (is_json(calls[i]) && is_json(calls[k]) &&
                !is_answered_in_a_batch(&s, &b, (const char *const[]){calls[i], calls[k]},
                                        (const struct fumi_str[]){answers[i], answers[k]}))
                TEST_FAIL("%s behind %s in a batch: %.*s", calls[k], calls[i],
                          FUMI_ARG(fumi_buf_str(&b)));
        }
    }
    scene_done(&s);
    fumi_spare_done(&spare);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* A string with escapes has the same mark as an object that is alike; but no members. */
TEST(what_is_no_object_is_like_nothing)
{
    static const char *const before[] = {"subtract", "block", "defer"};
    struct scene s;
    struct fumi_buf b = {0};
    scene_open(&s);
    for (size_t i = 0; i < FUMI_COUNT(before); i++) {
        fumi_buf_reset(&b, SIZE_MAX);
        putf(&b, "[" HEAD "\"%s\",\"params\":[3,1],\"id\":3},\"\\n\"]", before[i]);
        CHECK_LIKE(tell_and_hear(&s.c, fumi_buf_str(&b)),
                   "[*," INVALID("\"a request must be an object\"", "null") "]");
    }
    fumi_buf_done(&b);
    scene_done(&s);
}

/* A call that may be finished later makes the server look at the whole batch first: what it saw
 * last is then not what comes before the next. */
TEST(a_batch_that_is_looked_at_in_advance)
{
    struct scene s;
    scene_open(&s);
    CHECK_STR(hear(&s.c,
                   "[" ASK("echo", "[1]", "1") "," ASK(
                       "defer", "[2]",
                       "2") ","
                            "{\"jsonrpc\":\"2.0\",\"method\":\"defer\",\"x\":[0],\"params\":[3]}]"),
              "[" OK("[1]", "1") "," OK("[2]", "2") "]");
    scene_done(&s);
}

/* Whether it blocks depends on its params, and so on each call of a batch. */
static unsigned blocks_two(void *self, const struct fumi_method *m, const struct fumi_val *params)
{
    int64_t n = 0;
    (void)self, (void)m;
    return fumi_int(fumi_first(params), &n) && n == 2 ? FUMI_BLOCKING : 0;
}

static void count_and_run(void *arg, struct fumi_task *task)
{
    ++*(int *)arg;
    task->run(task);
}

TEST(flags_are_those_of_each_call)
{
    static const struct fumi_method rows[] = {
        {"varies", "", &whole_shape, &whole_shape, run_echo, FUMI_VARIES}};
    static struct fumi_varying varying = {.flags_for = blocks_two};
    int submitted = 0;
    struct fumi_server *s = server_of(rows, 1, &varying);
    struct caller c;
    fumi_server_executor(s, count_and_run, &submitted);
    caller_open(&c, s);
    CHECK_STR(hear(&c, "[" ASK("varies", "[1]", "1") "," ASK("varies", "[3]", "2") "]"),
              "[" OK("[1]", "1") "," OK("[3]", "2") "]");
    CHECK_INT(submitted, 0);
    CHECK_STR(hear(&c, "[" ASK("varies", "[1]", "1") "," ASK("varies", "[2]", "2") "]"),
              "[" OK("[1]", "1") "," OK("[2]", "2") "]");
    CHECK_INT(submitted, 1);
    CHECK_STR(hear(&c, ASK("varies", "[1]", "1")), OK("[1]", "1"));
    CHECK_STR(hear(&c, ASK("varies", "[2]", "2")), OK("[2]", "2"));
    CHECK_INT(submitted, 2);
    caller_done(&c);
    fumi_server_free(s);
}

TEST(a_new_limit_of_depth_holds_for_what_is_alike)
{
    struct scene s;
    scene_open(&s);
    CHECK_STR(hear(&s.c, ASK("echo", "[[1]]", "1")), OK("[[1]]", "1"));
    fumi_server_limits(s.server, (struct fumi_limits){.depth = 2});
    CHECK_LIKE(hear(&s.c, ASK("echo", "[[1]]", "1")), PARSE("null"));
    scene_done(&s);
}
