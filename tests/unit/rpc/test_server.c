#include "rpc_fixture.h"
#include "test.h"

#define CALL(name, id) "{\"jsonrpc\":\"2.0\",\"method\":\"" name "\",\"id\":" id "}"

/* What a method is registered with here: a word. */
static void *as(const char *word)
{
    return (void *)word;
}

static enum fumi_ret give_self(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct word *)result)->value = fumi_str(call->self);
    return FUMI_OK;
}

static enum fumi_ret give_name(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct word *)result)->value = call->name;
    return FUMI_OK;
}

static const struct fumi_method few[] = {
    {"add", "Answers self.", NULL, &word_shape, give_self, 0},
    {"sub", "Answers its name.", NULL, &word_shape, give_name, 0},
};

/* How often the registry lists a name. */
static size_t listed(const struct fumi_server *s, const char *name)
{
    size_t found = 0;
    struct fumi_str at;
    for (size_t i = 0; i < fumi_server_size(s); i++) {
        const struct fumi_method *m = fumi_server_at(s, i, &at);
        found += m && fumi_eq(at, fumi_str(name));
    }
    return found;
}

static struct fumi_server *fresh(void)
{
    return fumi_server_new("registry", "1.2.3");
}

TEST(methods_are_found_by_name_space_and_name)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct caller c;
    char space[] = "math";
    CHECK_INT(fumi_server_add(s, space, few, FUMI_COUNT(few), as("in math"), &e), 0);
    memset(space, 'x', sizeof(space) - 1);
    CHECK_INT(fumi_server_add(s, "text", few, FUMI_COUNT(few), as("in text"), &e), 0);
    CHECK_INT(fumi_server_add(s, NULL, few, FUMI_COUNT(few), as("bare"), &e), 0);
    caller_open(&c, s);
    CHECK_STR(hear(&c, CALL("math.add", "1")),
              "{\"jsonrpc\":\"2.0\",\"result\":\"in math\",\"id\":1}");
    CHECK_STR(hear(&c, CALL("text.add", "1")),
              "{\"jsonrpc\":\"2.0\",\"result\":\"in text\",\"id\":1}");
    CHECK_STR(hear(&c, CALL("add", "1")), "{\"jsonrpc\":\"2.0\",\"result\":\"bare\",\"id\":1}");
    CHECK_STR(hear(&c, CALL("math.sub", "1")),
              "{\"jsonrpc\":\"2.0\",\"result\":\"math.sub\",\"id\":1}");
    CHECK_STR(hear(&c, CALL("sub", "1")), "{\"jsonrpc\":\"2.0\",\"result\":\"sub\",\"id\":1}");
    caller_done(&c);
    fumi_server_free(s);
}

TEST(a_name_may_be_that_of_its_name_space)
{
    static const char name[] = "add";
    const struct fumi_method method = {name, "Answers its name.", NULL, &word_shape, give_name, 0};
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    CHECK_INT(fumi_server_add(s, name, &method, 1, NULL, &e), 0);
    CHECK_INT(listed(s, "add.add"), 1);
    fumi_server_free(s);
}

TEST(names_are_exact)
{
    static const char *const strangers[] = {
        "Add",  "add ",     " add",      "ad",        "addd",     "math",     "math.",
        ".add", "math.Add", "math.add.", "math..add", "matha.dd", "math/add", "math add"};
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct caller c;
    char message[100], answer[200];
    CHECK_INT(fumi_server_add(s, NULL, few, FUMI_COUNT(few), as(""), &e), 0);
    CHECK_INT(fumi_server_add(s, "math", few, FUMI_COUNT(few), as(""), &e), 0);
    caller_open(&c, s);
    for (size_t i = 0; i < FUMI_COUNT(strangers); i++) {
        snprintf(message, sizeof(message), CALL("%s", "1"), strangers[i]);
        snprintf(answer, sizeof(answer),
                 "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"Method not found\","
                 "\"data\":\"%s\"},\"id\":1}",
                 strangers[i]);
        CHECK_STR(hear(&c, message), answer);
        CHECK_INT(c.code, FUMI_METHOD_NOT_FOUND);
    }
    caller_done(&c);
    fumi_server_free(s);
}

TEST(the_registry_lists_each_method_once)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    size_t before = fumi_server_size(s);
    CHECK_INT(fumi_server_add(s, "math", few, FUMI_COUNT(few), NULL, &e), 0);
    CHECK_INT(fumi_server_add(s, NULL, few, 1, NULL, &e), 0);
    CHECK_INT(fumi_server_size(s), before + 3);
    CHECK_INT(listed(s, "math.add"), 1);
    CHECK_INT(listed(s, "math.sub"), 1);
    CHECK_INT(listed(s, "add"), 1);
    CHECK_INT(listed(s, "sub"), 0);
    fumi_server_free(s);
}

TEST(the_registry_gives_the_rows_of_the_tables)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct fumi_str name;
    size_t seen = 0;
    CHECK_INT(fumi_server_add(s, "math", few, FUMI_COUNT(few), NULL, &e), 0);
    for (size_t i = 0; i < fumi_server_size(s); i++) {
        const struct fumi_method *m = fumi_server_at(s, i, &name);
        CHECK(m);
        if (!fumi_starts(name, FUMI_STR("math.")))
            continue;
        CHECK(m == &few[0] || m == &few[1]);
        CHECK_STR(((struct fumi_str){name.p + 5, name.n - 5}), m->name);
        seen++;
    }
    CHECK_INT(seen, 2);
    fumi_server_free(s);
}

/* Tables that are refused. A good row stands before and behind the bad one: none is added. */
struct holed {
    int64_t a, b;
};
static const struct fumi_field holed_fields[] = {
    FUMI_FIELD(struct holed, a, "a", "Not required."),
    FUMI_FIELD(struct holed, b, "b", "Required.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape holed_shape = FUMI_SHAPE(struct holed, holed_fields);

static const struct fumi_field twins_fields[] = {
    FUMI_FIELD(struct holed, a, "a", "One."),
    FUMI_FIELD(struct holed, b, "a", "And again."),
};
static const struct fumi_shape twins_shape = FUMI_SHAPE(struct holed, twins_fields);

static const struct fumi_field default_fields[] = {
    FUMI_FIELD(struct holed, a, "a", "A default past its limit.", .min = 1, .max = 5, .def = "9"),
};
static const struct fumi_shape default_shape = FUMI_SHAPE(struct holed, default_fields);

static const struct {
    const char *what, *space;
    struct fumi_method row;
} bad[] = {
    {"a name that is there already", NULL, {"taken", "", NULL, NULL, run_nothing, 0}},
    {"a name twice in the table", NULL, {"before", "", NULL, NULL, run_nothing, 0}},
    {"a whole name that is there already", "math", {"taken", "", NULL, NULL, run_nothing, 0}},
    {"no name", NULL, {NULL, "", NULL, NULL, run_nothing, 0}},
    {"an empty name", NULL, {"", "", NULL, NULL, run_nothing, 0}},
    {"an empty name in a name space", "math", {"", "", NULL, NULL, run_nothing, 0}},
    {"a space in the name", NULL, {"a b", "", NULL, NULL, run_nothing, 0}},
    {"a newline in the name", NULL, {"a\n", "", NULL, NULL, run_nothing, 0}},
    {"a quote in the name", NULL, {"a\"b", "", NULL, NULL, run_nothing, 0}},
    {"a name that is not UTF-8", NULL, {"a\xff", "", NULL, NULL, run_nothing, 0}},
    {"a space in the name space", "m n", {"x", "", NULL, NULL, run_nothing, 0}},
    {"an empty name space", "", {"x", "", NULL, NULL, run_nothing, 0}},
    {"a reserved name", NULL, {"rpc.x", "", NULL, NULL, run_nothing, 0}},
    {"a reserved name that exists", NULL, {"rpc.discover", "", NULL, NULL, run_nothing, 0}},
    {"nothing behind the reserved word", NULL, {"rpc.", "", NULL, NULL, run_nothing, 0}},
    {"a reserved name space", "rpc", {"x", "", NULL, NULL, run_nothing, 0}},
    {"a name space that begins as a reserved one", "rpc.a", {"x", "", NULL, NULL, run_nothing, 0}},
    {"no function", NULL, {"x", "", NULL, NULL, NULL, 0}},
    {"required after optional in params", NULL, {"x", "", &holed_shape, NULL, run_nothing, 0}},
    {"a field twice in params", NULL, {"x", "", &twins_shape, NULL, run_nothing, 0}},
    {"a field twice in the result", NULL, {"x", "", NULL, &twins_shape, run_nothing, 0}},
    {"a default past its limit", NULL, {"x", "", &default_shape, NULL, run_nothing, 0}},
};

static void refuse(size_t i)
{
    struct fumi_method table[] = {
        {"before", "", NULL, NULL, run_nothing, 0},
        bad[i].row,
        {"behind", "", NULL, NULL, run_nothing, 0},
    };
    static const struct fumi_method taken[] = {{"taken", "", NULL, &word_shape, give_self, 0}};
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct caller c;
    CHECK_INT(fumi_server_add(s, NULL, taken, 1, as("first"), &e), 0);
    CHECK_INT(fumi_server_add(s, "math", taken, 1, as("first"), &e), 0);
    size_t n = fumi_server_size(s);
    if (fumi_server_add(s, bad[i].space, table, 3, as("second"), &e) != -1)
        TEST_FAIL("%s: taken", bad[i].what);
    if (e.code == 0 || e.text[0] == 0)
        TEST_FAIL("%s: no error", bad[i].what);
    if (fumi_server_size(s) != n || listed(s, "before") || listed(s, "behind"))
        TEST_FAIL("%s: something was added", bad[i].what);
    caller_open(&c, s);
    struct fumi_str lost = hear(&c, CALL("before", "1"));
    if (c.code != FUMI_METHOD_NOT_FOUND)
        TEST_FAIL("%s: %.*s", bad[i].what, FUMI_ARG(lost));
    CHECK_STR(hear(&c, CALL("taken", "1")), "{\"jsonrpc\":\"2.0\",\"result\":\"first\",\"id\":1}");
    caller_done(&c);
    fumi_server_free(s);
}

TEST(wrong_tables_are_refused_whole)
{
    for (size_t i = 0; i < FUMI_COUNT(bad); i++)
        refuse(i);
}

TEST(a_server_goes_on_after_a_refused_table)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct caller c;
    struct fumi_method twice[] = {few[0], few[1], few[0]};
    CHECK_INT(fumi_server_add(s, NULL, twice, 3, as("no"), &e), -1);
    CHECK_INT(fumi_server_add(s, NULL, few, 2, as("yes"), &e), 0);
    caller_open(&c, s);
    CHECK_STR(hear(&c, CALL("add", "1")), "{\"jsonrpc\":\"2.0\",\"result\":\"yes\",\"id\":1}");
    caller_done(&c);
    fumi_server_free(s);
}

TEST(the_sentence_names_what_is_wrong)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    static const struct fumi_method wrong[] = {{"bad", "", &holed_shape, NULL, run_nothing, 0}};
    CHECK_INT(fumi_server_add(s, "math", few, 1, NULL, &e), 0);
    CHECK_INT(fumi_server_add(s, "math", few, 1, NULL, &e), -1);
    CHECK(strstr(e.text, "math.add"));
    CHECK_INT(fumi_server_add(s, "math", wrong, 1, NULL, &e), -1);
    CHECK_STR(fumi_str(e.text), "math.bad params: b is required and follows the optional a");
    fumi_server_free(s);
}

/* What the word "rpc" begins is reserved only when a period follows. */
TEST(names_that_only_look_reserved_are_taken)
{
    static const struct fumi_method rows[] = {
        {"rpc", "", NULL, NULL, run_nothing, 0},     {"rpcx", "", NULL, NULL, run_nothing, 0},
        {"rpc_x", "", NULL, NULL, run_nothing, 0},   {"RPC.x", "", NULL, NULL, run_nothing, 0},
        {"a.rpc.x", "", NULL, NULL, run_nothing, 0}, {"tools/list", "", NULL, NULL, run_nothing, 0},
        {"a-b", "", NULL, NULL, run_nothing, 0},     {"a.b.c", "", NULL, NULL, run_nothing, 0},
        {"$/x", "", NULL, NULL, run_nothing, 0},     {"x", "", NULL, NULL, run_nothing, 0},
    };
    struct fumi_server *s = server_of(rows, FUMI_COUNT(rows), NULL);
    struct caller c;
    char message[100];
    caller_open(&c, s);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        snprintf(message, sizeof(message), CALL("%s", "1"), rows[i].name);
        struct fumi_str got = hear(&c, message);
        if (c.code)
            TEST_FAIL("%s: %.*s", rows[i].name, FUMI_ARG(got));
    }
    caller_done(&c);
    fumi_server_free(s);
}

/* Whatever the first message is. */
TEST(nothing_is_added_after_the_first_message)
{
    static const char *const first[] = {CALL("add", "1"),
                                        "{\"jsonrpc\":\"2.0\",\"method\":\"add\"}",
                                        "[]",
                                        "{",
                                        "",
                                        "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}"};
    static const struct fumi_method late[] = {{"late", "", NULL, NULL, run_nothing, 0}};
    static const struct fumi_processor p = {.name = "late"};
    for (size_t i = 0; i < FUMI_COUNT(first); i++) {
        struct fumi_server *s = fresh();
        struct fumi_err e = {0}, f = {0};
        struct caller c;
        CHECK_INT(fumi_server_add(s, NULL, few, 2, as("x"), &e), 0);
        CHECK_INT(fumi_server_use(s, &p, &e), 0);
        size_t n = fumi_server_size(s);
        caller_open(&c, s);
        hear(&c, first[i]);
        CHECK_INT(fumi_server_add(s, NULL, late, 1, NULL, &e), -1);
        CHECK(e.code && e.text[0]);
        CHECK_INT(fumi_server_use(s, &p, &f), -1);
        CHECK(f.code && f.text[0]);
        CHECK_INT(fumi_server_size(s), n);
        hear(&c, CALL("late", "1"));
        CHECK_INT(c.code, FUMI_METHOD_NOT_FOUND);
        caller_done(&c);
        fumi_server_free(s);
    }
}

enum { MANY = 2000 };

static enum fumi_ret give_row(struct fumi_call *call, const void *params, void *result)
{
    (void)params;
    ((struct count *)result)->n = call->method - (const struct fumi_method *)call->self;
    return FUMI_OK;
}

/* Names of one length, of growing length, and such that differ in the middle. */
struct pattern {
    const char *head;
    int digits;
    const char *tail;
};
static const struct pattern patterns[] = {
    {"m", 4, ""}, {"", 1, ""}, {"method_with_a_long_name_", 1, "_and_a_tail"}, {"a.b.", 1, ".c"}};

struct crowd {
    char names[MANY][64];
    struct fumi_method rows[MANY];
};

static void fill(struct crowd *all, const struct pattern *p)
{
    for (size_t i = 0; i < MANY; i++) {
        snprintf(all->names[i], sizeof(all->names[i]), "%s%0*zu%s", p->head, p->digits, i, p->tail);
        all->rows[i] = (struct fumi_method){all->names[i], "",       NULL,
                                            &count_shape,  give_row, FUMI_READ_ONLY};
    }
}

static void find_all(struct fumi_server *s, const struct crowd *all)
{
    struct caller c;
    char message[200], answer[200];
    caller_open(&c, s);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(message, sizeof(message), CALL("%s", "%zu"), all->names[i], i);
        snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"result\":%zu,\"id\":%zu}", i, i);
        CHECK_STR(hear(&c, message), answer);
        snprintf(message, sizeof(message), CALL("%s?", "%zu"), all->names[i], i);
        hear(&c, message);
        CHECK_INT(c.code, FUMI_METHOD_NOT_FOUND);
    }
    caller_done(&c);
}

TEST(two_thousand_methods_are_all_found)
{
    struct crowd *all = malloc(sizeof(*all));
    for (size_t i = 0; i < FUMI_COUNT(patterns); i++) {
        struct fumi_server *s = fresh();
        struct fumi_err e = {0};
        fill(all, &patterns[i]);
        CHECK_INT(fumi_server_add(s, NULL, all->rows, MANY, all->rows, &e), 0);
        find_all(s, all);
        fumi_server_free(s);
    }
    free(all);
}

TEST(two_thousand_methods_one_by_one)
{
    struct crowd *all = malloc(sizeof(*all));
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    fill(all, &patterns[0]);
    size_t before = fumi_server_size(s);
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(fumi_server_add(s, NULL, &all->rows[i], 1, all->rows, &e), 0);
    CHECK_INT(fumi_server_size(s), before + MANY);
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(fumi_server_add(s, NULL, &all->rows[i], 1, all->rows, &e), -1);
    CHECK_INT(fumi_server_size(s), before + MANY);
    find_all(s, all);
    fumi_server_free(s);
    free(all);
}

TEST(a_server_without_methods_answers)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    struct caller c;
    CHECK_INT(fumi_server_add(s, "none", NULL, 0, NULL, &e), 0);
    caller_open(&c, s);
    CHECK_STR(hear(&c, CALL("x", "\"i\"")),
              "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"Method not found\","
              "\"data\":\"x\"},\"id\":\"i\"}");
    caller_done(&c);
    fumi_server_free(s);
}

TEST(a_server_may_be_freed_unused)
{
    struct fumi_server *s = fresh();
    struct fumi_err e = {0};
    CHECK_INT(fumi_server_add(s, "a", few, 2, NULL, &e), 0);
    fumi_server_free(s);
    fumi_server_free(fresh());
}

static bool same_limits(struct fumi_limits a, struct fumi_limits b)
{
    return a.message == b.message && a.depth == b.depth && a.batch == b.batch &&
           a.answer == b.answer && a.request == b.request;
}

TEST(limits_have_defaults_and_zero_keeps_them)
{
    const struct fumi_limits usual = {
        .message = 1 << 20, .depth = 64, .batch = 100, .answer = 8 << 20, .request = 30000};
    struct fumi_server *s = fresh();
    CHECK(same_limits(fumi_server_get_limits(s), usual));
    fumi_server_limits(s, (struct fumi_limits){0});
    CHECK(same_limits(fumi_server_get_limits(s), usual));
    fumi_server_limits(s, (struct fumi_limits){.batch = 7, .request = 5});
    struct fumi_limits some = fumi_server_get_limits(s);
    CHECK(same_limits(
        some, (struct fumi_limits){
                  .message = 1 << 20, .depth = 64, .batch = 7, .answer = 8 << 20, .request = 5}));
    fumi_server_free(s);
}

TEST(limits_are_the_ones_that_were_set)
{
    const struct fumi_limits mine = {
        .message = 1000, .depth = 5, .batch = 3, .answer = 500, .request = 1};
    struct fumi_server *s = fresh();
    fumi_server_limits(s, mine);
    CHECK(same_limits(fumi_server_get_limits(s), mine));
    fumi_server_free(s);
}

/* Nesting has a ceiling that no setting lifts. */
TEST(a_huge_depth_limit_is_no_hole)
{
    struct fumi_server *s = server_of(few, 2, as(""));
    struct fumi_buf deep = {0};
    struct caller c;
    fumi_server_limits(s, (struct fumi_limits){.depth = 1000000, .message = 4 << 20});
    put_times(&deep, "[", 900000);
    put_times(&deep, "]", 900000);
    caller_open(&c, s);
    tell_and_hear(&c, fumi_buf_str(&deep));
    CHECK_INT(c.code, FUMI_PARSE_ERROR);
    caller_done(&c);
    fumi_buf_done(&deep);
    fumi_server_free(s);
}

TEST(a_refusal_is_an_error_without_an_id)
{
    struct fumi_buf out = {0};
    struct fumi_err e = {0};
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "a line may have %d bytes", 10);
    fumi_put_refusal(&out, &e, FUMI_ID_NULL);
    CHECK_STR(fumi_buf_str(&out),
              "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"Invalid Request\","
              "\"data\":\"a line may have 10 bytes\"},\"id\":null}");
    fumi_buf_reset(&out, 1000);
    fumi_err_set(&e, FUMI_LIMIT, "too \"busy\"");
    fumi_put_refusal(&out, &e, FUMI_ID_NULL);
    CHECK_STR(fumi_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":"
                                  "\"too \\\"busy\\\"\"},\"id\":null}");
    fumi_buf_reset(&out, 1000);
    fumi_err_set(&e, FUMI_INTERNAL_ERROR, "a secret");
    fumi_put_refusal(&out, &e, FUMI_ID_NULL);
    CHECK_STR(fumi_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":"
                                  "\"Internal error\"},\"id\":null}");
    fumi_buf_done(&out);
}
