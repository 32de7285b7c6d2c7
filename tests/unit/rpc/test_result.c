/* How often the result of a tool is written and read on its way into the answer. The linker
 * replaces library functions by the functions here (--wrap), which count the calls that process the
 * whole result. */
#include "exchange_fixture.h"
#include "mcp/mcp.h"

enum { LONG = 100000 };

static struct {
    size_t emits, keeps, puts, texts, parses, messages;
} seen;

int __real_fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from);
int __wrap_fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from);
int __wrap_fumi_emit_compact(struct fumi_out *o, const struct fumi_shape *s, const void *from)
{
    seen.emits++;
    return __real_fumi_emit_compact(o, s, from);
}

struct fumi_str __real_fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a);
struct fumi_str __wrap_fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a);
struct fumi_str __wrap_fumi_buf_keep(struct fumi_buf *b, struct fumi_arena *a)
{
    seen.keeps += b->n >= LONG;
    return __real_fumi_buf_keep(b, a);
}

void __real_fumi_put_json(struct fumi_out *o, struct fumi_json j);
void __wrap_fumi_put_json(struct fumi_out *o, struct fumi_json j);
void __wrap_fumi_put_json(struct fumi_out *o, struct fumi_json j)
{
    seen.puts += j.text.n >= LONG;
    __real_fumi_put_json(o, j);
}

void __real_fumi_put_str(struct fumi_out *o, struct fumi_str s);
void __wrap_fumi_put_str(struct fumi_out *o, struct fumi_str s);
void __wrap_fumi_put_str(struct fumi_out *o, struct fumi_str s)
{
    seen.texts += s.n >= LONG;
    __real_fumi_put_str(o, s);
}

const struct fumi_val *__real_fumi_parse(struct fumi_arena *a, struct fumi_str text,
                                         struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse(struct fumi_arena *a, struct fumi_str text,
                                         struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse(struct fumi_arena *a, struct fumi_str text,
                                         struct fumi_err *e)
{
    seen.parses++;
    return __real_fumi_parse(a, text, e);
}

const struct fumi_val *__real_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e)
{
    seen.messages++;
    return __real_fumi_parse_deep(a, text, depth, e);
}

struct page {
    struct fumi_str text;
    struct {
        struct fumi_str warning;
    } meta;
};
static const struct fumi_field meta_fields[] = {
    {.name = "warning", .name_n = 7, .help = "What to know.", .type = FUMI_T_STR},
};
static const struct fumi_shape meta_shape = {meta_fields, 1,         sizeof(struct fumi_str),
                                             FUMI_NONE,   FUMI_NONE, false};
static const struct fumi_field page_fields[] = {
    FUMI_FIELD(struct page, text, "text", "A text."),
    FUMI_FIELD(struct page, meta, "meta", "About it.", .shape = &meta_shape),
};
static const struct fumi_shape page_shape = FUMI_SHAPE(struct page, page_fields);

static struct fumi_str long_text(struct fumi_arena *a)
{
    char *p = fumi_alloc(a, LONG);
    memset(p, 'x', LONG);
    for (size_t i = 0; i < LONG; i += 10)
        memcpy(p + i, "\"\\\n\xC3\xA9", 5);
    return (struct fumi_str){p, LONG};
}

static enum fumi_ret read_page(struct fumi_call *call, const void *params, void *result)
{
    struct page *p = result;
    (void)params;
    p->text = long_text(call->arena);
    p->meta.warning = FUMI_STR("old \"news\"");
    return FUMI_OK;
}

static enum fumi_ret write_some(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_put_open(fumi_result(call), '[');
    return FUMI_OK;
}

static enum fumi_ret write_and_fail(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_put_int(fumi_result(call), 1);
    return fumi_fail(call, 7, "seven");
}

static enum fumi_ret write_long(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_put_str(fumi_result(call), long_text(call->arena));
    return FUMI_OK;
}

static const struct fumi_method page_methods[] = {
    {"page", "A page.", NULL, &page_shape, read_page, FUMI_READ_ONLY},
    {"some", "Is not whole.", NULL, NULL, write_some, 0},
    {"fails", "Fails.", NULL, NULL, write_and_fail, 0},
    {"long", "A long text.", NULL, NULL, write_long, 0},
};
static const struct fumi_tool tools[] = {
    {.name = "page", .description = "Reads a page.", .method = "page"},
};

struct house {
    struct fumi_server *server;
    struct fumi_mcp *mcp;
    struct caller c;
};

static void house_open(struct house *h)
{
    const struct fumi_mcp_options o = {
        .name = "test", .version = "1", .tools = tools, .tools_n = FUMI_COUNT(tools)};
    struct fumi_err e;
    h->server = fumi_server_new("test", "1");
    CHECK(!fumi_server_add(h->server, NULL, page_methods, FUMI_COUNT(page_methods), NULL, &e));
    h->mcp = fumi_mcp_new(h->server, &o, &e);
    CHECK(h->mcp);
    caller_open(&h->c, h->server);
}

static void house_done(struct house *h)
{
    caller_done(&h->c);
    fumi_mcp_free(h->mcp);
    fumi_server_free(h->server);
}

#define WARNING(data)                                                                              \
    HEAD "\"notifications/message\",\"params\":{\"level\":\"warning\",\"logger\":\"test\","        \
         "\"data\":\"" data "\"}}"
#define PAGE(id) CALL_WITH("tools/call", "{\"name\":\"page\"}", id)

/* The last line received. */
static struct fumi_str last(struct fumi_str received)
{
    const char *line = memrchr(received.p, '\n', received.n), *p = line ? line + 1 : received.p;
    return (struct fumi_str){p, (size_t)(received.p + received.n - p)};
}

/* The text block is the structured result as text. */
static void check_result(struct fumi_arena *a, const struct fumi_val *answer)
{
    const struct fumi_val *result = fumi_get(answer, "result");
    const struct fumi_val *structured = fumi_get(result, "structuredContent");
    const struct fumi_val *block = fumi_first(fumi_get(result, "content"));
    CHECK(fumi_eq(fumi_text(a, fumi_get(structured, "text")), long_text(a)));
    CHECK(fumi_eq(fumi_text(a, fumi_get(block, "text")), fumi_raw(structured)));
}

TEST(the_result_of_a_tool_is_written_once_and_never_read)
{
    struct house h;
    struct fumi_arena a = {0};
    struct fumi_err e;
    house_open(&h);
    memset(&seen, 0, sizeof(seen));
    struct fumi_str got = reply_to(&h.c, PAGE("1"));
    CHECK_INT(seen.messages, 1);
    CHECK_INT(seen.parses, 0);
    CHECK_INT(seen.emits, 1);
    CHECK_INT(seen.keeps, 0);
    CHECK_INT(seen.puts, 0);
    CHECK_INT(seen.texts, 1); /* the member of the result */
    CHECK_LIKE(got, WARNING("old \\\"news\\\"") "\n" OK("*", "1"));
    check_result(&a, fumi_parse(&a, last(got), &e));
    fumi_arena_done(&a);
    house_done(&h);
}

TEST(a_batch_has_each_result_in_its_place)
{
    struct house h;
    struct fumi_arena a = {0};
    struct fumi_err e;
    house_open(&h);
    struct fumi_str got = reply_to(&h.c, "[" PAGE("1") "," PAGE("2") "]");
    const struct fumi_val *all = fumi_parse(&a, last(got), &e);
    CHECK_INT(fumi_size(all), 2);
    for (const struct fumi_val *v = fumi_first(all); v; v = fumi_after(all, v))
        check_result(&a, v);
    fumi_arena_done(&a);
    house_done(&h);
}

/* A result that fits once but not also as a text block is an error of the call; one that does not
 * fit once is an error of the tool. */
TEST(an_answer_longer_than_its_limit_is_an_error)
{
    struct house h;
    house_open(&h);
    fumi_server_limits(h.server, (struct fumi_limits){.answer = 2 * LONG});
    CHECK_LIKE(last(reply_to(&h.c, PAGE("1"))),
               BAD("\"code\":-32000,\"message\":\"The answer is larger than 200000 bytes*\"", "1"));
    fumi_server_limits(h.server, (struct fumi_limits){.answer = LONG});
    CHECK_LIKE(reply_to(&h.c, PAGE("2")), OK("{\"content\":[*],*\"isError\":true}", "2"));
    CHECK_STR(reply_to(&h.c, CALL("ping", "3")), OK("{}", "3"));
    house_done(&h);
}

TEST(a_method_may_write_its_result)
{
    struct house h;
    house_open(&h);
    CHECK_STR(reply_to(&h.c, CALL("some", "1")), INTERNAL("1"));
    CHECK_STR(reply_to(&h.c, CALL("fails", "2")), BAD("\"code\":7,\"message\":\"seven\"", "2"));
    CHECK_STR(reply_to(&h.c, NOTIFICATION("long")), "");
    CHECK_LIKE(reply_to(&h.c, CALL("long", "3")), OK("\"\\\"\\\\\\n*x\"", "3"));
    fumi_server_limits(h.server, (struct fumi_limits){.answer = LONG});
    CHECK_LIKE(
        reply_to(&h.c, "[" CALL("ping", "4") "," CALL("long", "5") "," CALL("ping", "6") "]"),
        "[" OK("{}", "4") "," BAD("\"code\":-32000,*", "5") "," OK("{}", "6") "]");
    house_done(&h);
}

/* Up to the last byte, with a new buffer and with one that has more capacity. */
TEST(the_limit_of_an_answer_is_exact)
{
    struct house h;
    house_open(&h);
    size_t n = reply_to(&h.c, CALL("long", "1")).n;
    fumi_server_limits(h.server, (struct fumi_limits){.answer = n});
    CHECK_LIKE(reply_to(&h.c, CALL("long", "1")), OK("*", "1"));
    fumi_server_limits(h.server, (struct fumi_limits){.answer = n - 1});
    CHECK_LIKE(reply_to(&h.c, CALL("long", "1")), BAD("\"code\":-32000,*", "1"));
    n = reply_to(&h.c, "[" CALL("ping", "1") "," CALL("ping", "2") "]").n - 1;
    fumi_server_limits(h.server, (struct fumi_limits){.answer = n});
    CHECK_LIKE(reply_to(&h.c, "[" CALL("ping", "1") "," CALL("ping", "2") "]"),
               "*" OK("*", "2") "]");
    fumi_server_limits(h.server, (struct fumi_limits){.answer = n - 1});
    CHECK_LIKE(reply_to(&h.c, "[" CALL("ping", "1") "," CALL("ping", "2") "]"),
               "*" BAD("\"code\":-32000,*", "2") "]");
    house_done(&h);
}
