/* A message is parsed once, each of its requests is read once and its method looked up once, and
 * its text is copied once, only if a call leaves the thread. The linker puts the counters around
 * the functions that do so (--wrap). */
#include "exchange_fixture.h"
#include "net/pool.h"
#include "rpc/exchange.h"

static struct {
    atomic_int parsed, read, found, copied;
    const char *text, *end; /* of the message that is being handled */
} counts;

const struct fumi_val *__real_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e);
const struct fumi_val *__wrap_fumi_parse_deep(struct fumi_arena *a, struct fumi_str text,
                                              size_t depth, struct fumi_err *e)
{
    counts.parsed++;
    return __real_fumi_parse_deep(a, text, depth, e);
}

void __real_envelope_read(const struct fumi_val *v, struct envelope *out);
void __wrap_envelope_read(const struct fumi_val *v, struct envelope *out);
void __wrap_envelope_read(const struct fumi_val *v, struct envelope *out)
{
    counts.read++;
    __real_envelope_read(v, out);
}

const struct method_entry *__real_server_find(const struct fumi_server *s, struct fumi_str name);
const struct method_entry *__wrap_server_find(const struct fumi_server *s, struct fumi_str name);
const struct method_entry *__wrap_server_find(const struct fumi_server *s, struct fumi_str name)
{
    counts.found++;
    return __real_server_find(s, name);
}

struct fumi_str __real_fumi_dup(struct fumi_arena *a, struct fumi_str s);
struct fumi_str __wrap_fumi_dup(struct fumi_arena *a, struct fumi_str s);
struct fumi_str __wrap_fumi_dup(struct fumi_arena *a, struct fumi_str s)
{
    if (s.p >= counts.text && s.p < counts.end)
        counts.copied++;
    return __real_fumi_dup(a, s);
}

struct expected {
    const char *message;
    int requests, found, copied;
    const char *answer;
};

static void handle(struct caller *c, const struct expected *row)
{
    struct letter *l = malloc(sizeof(*l));
    if (!l)
        abort();
    *l = (struct letter){c};
    forget(c);
    memset(&counts, 0, sizeof(counts));
    counts.text = row->message;
    counts.end = row->message + strlen(row->message);
    c->handle(c->self, &c->peer, fumi_str(row->message),
              (struct fumi_sink){.notify = letter_tell, .reply = letter_reply, .arg = l});
    wait_replies(c, 1);
}

TEST(everything_happens_once)
{
    static const struct expected rows[] = {
        {ASK("subtract", "[42,23]", "1"), 1, 1, 0, OK("19", "1")},
        {ASK("echo", "{\"deep\":[1,{\"x\":\"y\"}]}", "\"a\""), 1, 1, 0,
         OK("{\"deep\":[1,{\"x\":\"y\"}]}", "\"a\"")},
        {NOTE("nothing"), 1, 1, 0, ""},
        {CALL("missing", "2"), 1, 1, 0, MISSING("\"missing\"", "2")},
        {"{\"jsonrpc\":\"1.0\",\"id\":3}", 1, 0, 0, INVALID("\"jsonrpc must be 2.0\"", "3")},
        {ASK("block", "[\"a text that leaves the thread\"]", "4"), 1, 1, 1,
         OK("[\"a text that leaves the thread\"]", "4")},
        {ASK("defer", "[5]", "5"), 1, 1, 1, OK("[5]", "5")},
        {"[" ASK("subtract", "[3,2]", "1") "," ASK("block", "[7]", "2") "," NOTE("nothing") "," ASK(
             "echo", "[8]", "3") "]",
         4, 4, 1, "[" OK("1", "1") "," OK("[7]", "2") "," OK("[8]", "3") "]"},
    };
    struct scene s;
    scene_open(&s);
    struct pool *pool = pool_new(2, NULL);
    fumi_server_executor(s.server, pool_submit, pool);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        handle(&s.c, &rows[i]);
        CHECK_STR(heard(&s.c), rows[i].answer);
        CHECK_INT(counts.parsed, 1);
        CHECK_INT(counts.read, rows[i].requests);
        CHECK_INT(counts.found, rows[i].found);
        CHECK_INT(counts.copied, rows[i].copied);
    }
    pool_free(pool);
    scene_done(&s);
}
