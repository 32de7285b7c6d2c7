/* What is like something before it is taken over from there: here every pair of texts shows that
 * this makes no difference. Each is read after each other one, in an array, as a whole document,
 * and as a call; and must be what it is alone. */
#include "exchange_tools.h"
#include "json_tools.h"

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
};

static void set(struct fumi_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void set(struct fumi_buf *b, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    b->n = 0;
    fumi_buf_add(b, text, (size_t)n);
}

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

/* The last item of an array of the second behind the first, and of the second alone. */
static bool is_itself_in_an_array(struct fumi_arena *a, const char *first, const char *second)
{
    struct fumi_err e, f;
    struct fumi_buf b = {0};
    set(&b, "[%s,%s,%s]", first, second, second);
    struct block both = block_of(fumi_buf_str(&b), 0);
    const struct fumi_val *v = fumi_parse(a, both.text, &e);
    bool fine = fumi_parse(a, fumi_str(first), &f) && fumi_parse(a, fumi_str(second), &f);
    bool same = !v == !fine;
    for (const struct fumi_val *i = fumi_first(v); i && same; i = fumi_after(v, i)) {
        const char *text = i == fumi_first(v) ? first : second;
        same = same_rows(i, fumi_parse(a, fumi_str(text), &f));
    }
    block_done(&both);
    fumi_buf_done(&b);
    return same && (!v || fumi_size(v) == 3);
}

TEST(an_object_is_itself_behind_any_other)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(objects); i++) {
        for (size_t k = 0; k < FUMI_COUNT(objects); k++) {
            fumi_arena_reset(&a, 1 << 16);
            if (!is_itself_in_an_array(&a, objects[i], objects[k]))
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
        const struct fumi_val *like = fumi_parse(&a, old.text, &e);
        for (size_t k = 0; like && k < FUMI_COUNT(objects); k++) {
            struct block new = block_of(fumi_str(objects[k]), 0);
            const struct fumi_val *v = fumi_parse_like(&a, new.text, FUMI_DEPTH, like, &e);
            const struct fumi_val *alone = fumi_parse(&a, new.text, &f);
            if (!v != !alone || (v && !same_rows(v, alone)) || (!v && strcmp(e.text, f.text) != 0))
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

TEST(the_mark_says_which_are_alike)
{
    struct fumi_arena a = {0};
    struct fumi_err e;
    static const char text[] = "[{\"a\":1,\"b\":\"x\"},{\"a\":22,\"b\":\"\"},{\"b\":1,\"b\":\"x\"},"
                               "{\"b\":2,\"b\":\"x\"},{\"b\":2,\"b\":3}]";
    static const bool want[] = {false, true, false, true, false};
    const struct fumi_val *v = fumi_parse(&a, fumi_str(text), &e), *item = fumi_first(v);
    for (size_t i = 0; i < FUMI_COUNT(want); i++, item = fumi_after(v, item))
        CHECK_INT(!!(item->bits & FUMI_ALIKE), want[i]);
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

/* The answers to a batch of two are those to each, with a comma where there are two. */
static bool is_answered_in_a_batch(struct scene *s, struct fumi_buf *b, const char *const two[2],
                                   const struct fumi_str answers[2])
{
    struct fumi_str one = answers[0], other = answers[1];
    set(b, "[%s,%s]", two[0], two[1]);
    struct fumi_str got = between(tell_and_hear(&s->c, fumi_buf_str(b)), 1, 1);
    set(b, "%.*s%s%.*s", FUMI_ARG(one), one.n && other.n ? "," : "", FUMI_ARG(other));
    return fumi_eq(got, fumi_buf_str(b));
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
                TEST_FAIL("%s behind %s in a batch: %.*s", calls[k], calls[i], FUMI_ARG(b));
        }
    }
    scene_done(&s);
    fumi_spare_done(&spare);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
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
