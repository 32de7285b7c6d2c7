#include "rpc/record.h"

#include "peer_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct fumi_field step_field[] = {FUMI_FIELD(struct count, n, "n", "Which.")};
static const struct fumi_shape step_shape = FUMI_SHAPE(struct count, step_field);

static enum fumi_ret run_steps(struct fumi_call *call, const void *params, void *result)
{
    *(struct count *)result = *(const struct count *)params;
    for (int64_t i = 1; i <= ((const struct count *)params)->n; i++)
        fumi_notify(call, "step", &step_shape, &(struct count){i});
    return FUMI_OK;
}

static const struct fumi_method steps[] = {{"steps", "", &n_shape, &count_shape, run_steps, 0}};

/* A server_fixture whose messages pass through a recorder that writes to a memory file. */
struct studio {
    struct server_fixture t;
    struct fumi_record *record;
    int fd;
    char text[200000];
};

static struct studio *studio_open(int threads)
{
    struct studio *s = calloc(1, sizeof(*s));
    struct fumi_err e;
    if (threads)
        server_fixture_open_pool(&s->t, threads);
    else
        server_fixture_open(&s->t);
    s->fd = memfd_create("talk", 0);
    s->record = fumi_record_new(fumi_handle, s->t.server, s->fd);
    if (s->fd < 0 || fumi_server_add(s->t.server, NULL, steps, 1, NULL, &e))
        abort();
    s->t.c.handle = fumi_record_handle;
    s->t.c.self = s->record;
    return s;
}

static struct fumi_str transcript(struct studio *s)
{
    ssize_t n = pread(s->fd, s->text, sizeof(s->text) - 1, 0);
    if (n < 0)
        abort();
    s->text[n] = 0;
    return (struct fumi_str){s->text, (size_t)n};
}

static void studio_done(struct studio *s)
{
    if (s->t.pool)
        pool_free(s->t.pool);
    s->t.pool = NULL;
    fumi_record_free(s->record);
    server_fixture_done(&s->t);
    close(s->fd);
    free(s);
}

TEST(messages_and_answers_are_written_down)
{
    struct studio *s = studio_open(0);
    CHECK_STR(reply_to(&s->t.c, CALL_WITH("echo", "[1]", "1")), OK("[1]", "1"));
    reply_to(&s->t.c, NOTIFICATION("echo"));
    reply_to(&s->t.c, "[" NOTIFICATION("echo") "," CALL("echo", "2") "]");
    reply_to(&s->t.c, "{");
    CHECK_INT(s->t.c.code, FUMI_PARSE_ERROR);
    struct fumi_str got = transcript(s);
    const char want[] =
        "--> " CALL_WITH("echo", "[1]", "1") "\n<-- " OK("[1]", "1") "\n--> " NOTIFICATION(
            "echo") "\n--> [" NOTIFICATION("echo") "," CALL("echo",
                                                            "2") "]\n<-- [" OK("null",
                                                                               "2") "]\n--> {\n"
                                                                                    "<-- ";
    CHECK(fumi_starts(got, fumi_str(want)));
    CHECK(got.p[got.n - 1] == '\n');
    studio_done(s);
}

TEST(notifications_precede_the_answer)
{
    struct studio *s = studio_open(0);
    CHECK_STR(reply_to(&s->t.c, CALL_WITH("steps", "[2]", "1")),
              "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":1}}\n"
              "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":2}}\n" OK("2", "1"));
    CHECK_STR(
        transcript(s),
        "--> " CALL_WITH("steps", "[2]",
                         "1") "\n"
                              "<-- {\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":1}}\n"
                              "<-- {\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":2}}\n"
                              "<-- " OK("2", "1") "\n");
    studio_done(s);
}

/* The receiver may still move the contents out of the buffers. */
TEST(the_bytes_may_be_taken)
{
    struct studio *s = studio_open(0);
    s->t.c.takes = true;
    CHECK_STR(reply_to(&s->t.c, CALL_WITH("steps", "[1]", "1")),
              "{\"jsonrpc\":\"2.0\",\"method\":\"step\",\"params\":{\"n\":1}}\n" OK("1", "1"));
    CHECK_STR(reply_to(&s->t.c, CALL("echo", "2")), OK("null", "2"));
    struct fumi_str got = transcript(s);
    CHECK(
        memmem(got.p, got.n, "<-- " OK("null", "2") "\n", sizeof("<-- " OK("null", "2") "\n") - 1));
    studio_done(s);
}

/* A message with line breaks is still one message. */
TEST(a_message_is_one_line)
{
    struct studio *s = studio_open(0);
    CHECK_STR(
        reply_to(&s->t.c, "{\n \"jsonrpc\": \"2.0\",\r\n \"method\": \"echo\",\n \"id\": 1\n}\n"),
        OK("null", "1"));
    struct fumi_str got = transcript(s);
    size_t lines = 0;
    for (size_t i = 0; i < got.n; i++)
        lines += got.p[i] == '\n';
    CHECK_INT(lines, 2);
    studio_done(s);
}

/* A line break inside a string makes the message invalid, and the transcript must contain it. */
TEST(a_break_in_a_string_stays_one)
{
    struct studio *s = studio_open(0);
    reply_to(&s->t.c, "{\"a\\\":\"x\ry\"}");
    CHECK(fumi_starts(transcript(s), FUMI_STR("~~> {\"a\\x5c\":\"x\\x0dy\"}\n<-- ")));
    studio_done(s);
}

TEST(a_deferred_answer_is_written_when_it_comes)
{
    struct studio *s = studio_open(0);
    send_text(&s->t.c, CALL("defer", "1"));
    CHECK_STR(reply_to(&s->t.c, CALL("echo", "2")), OK("null", "2"));
    finish_elsewhere(&s->t.fixture, 0, 1);
    wait_replies(&s->t.c, 2);
    CHECK_STR(transcript(s), "--> " CALL("defer", "1") "\n--> " CALL("echo", "2") "\n<-- " OK(
                                 "null", "2") "\n<-- " OK("null", "1") "\n");
    studio_done(s);
}

/* With several threads each line is complete, and each message precedes its answer. */
TEST(threads_do_not_mix_their_lines)
{
    enum { MANY = 300 };
    struct studio *s = studio_open(4);
    char message[100];
    bool sent[MANY] = {0}, answered[MANY] = {0};
    int id, end;
    for (int i = 0; i < MANY; i++) {
        snprintf(message, sizeof(message), CALL_WITH("read", "[%d]", "%d"), i, i);
        send_text(&s->t.c, message);
    }
    wait_replies(&s->t.c, MANY);
    transcript(s);
    for (char *line = s->text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        end = 0;
        if (sscanf(line,
                   "--> {\"jsonrpc\":\"2.0\",\"method\":\"read\",\"params\":[%*d],\"id\":%d}%n",
                   &id, &end) == 1 &&
            line + end + 1 == next)
            sent[id] = true;
        else if (sscanf(line, "<-- {\"jsonrpc\":\"2.0\",\"result\":[%*d],\"id\":%d}%n", &id,
                        &end) == 1 &&
                 line + end + 1 == next && sent[id])
            answered[id] = true;
        else
            TEST_FAIL("%.*s", (int)(next - line), line);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(sent[i] && answered[i]);
    studio_done(s);
}

/* The recorded messages, sent to another server, have the same answers. */
TEST(a_transcript_replays)
{
    static const char *const talk[] = {CALL_WITH("echo", "{\"a\":[1.50,\"日\"]}", "\"x\""),
                                       CALL("missing", "2"),
                                       "[" CALL("echo", "1") "," NOTIFICATION("echo") ",7]",
                                       "nonsense",
                                       CALL_WITH("steps", "[3]", "4"),
                                       CALL("now", "5"),
                                       NOTIFICATION("echo")};
    struct studio *s = studio_open(0), *again = studio_open(0);
    for (size_t i = 0; i < FUMI_COUNT(talk); i++)
        reply_to(&s->t.c, talk[i]);
    transcript(s);
    for (char *line = s->text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        if (!strncmp(line, "--> ", 4))
            caller_send(&again->t.c, (struct fumi_str){line + 4, (size_t)(next - line) - 5});
    }
    transcript(again);
    CHECK_STR(fumi_str(again->text), s->text);
    studio_done(s);
    studio_done(again);
}

TEST(the_code_of_an_answer_passes)
{
    static const struct {
        const char *message;
        int code;
    } rows[] = {
        {CALL("echo", "1"), 0}, {CALL("missing", "1"), -32601}, {"{", -32700}, {"[]", -32600}};
    struct studio *s = studio_open(0);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        reply_to(&s->t.c, rows[i].message);
        CHECK_INT(s->t.c.code, rows[i].code);
    }
    studio_done(s);
}

/* A transcript that cannot be written does not stop the server. */
TEST(a_full_disk_stops_nothing)
{
    struct fumi_server *server = server_of(fixture_methods, FUMI_COUNT(fixture_methods), NULL);
    struct fumi_record *r = fumi_record_new(fumi_handle, server, -1);
    struct caller c;
    caller_open(&c, server);
    c.handle = fumi_record_handle;
    c.self = r;
    CHECK_STR(reply_to(&c, CALL("echo", "1")), OK("null", "1"));
    caller_done(&c);
    fumi_record_free(r);
    fumi_server_free(server);
}

TEST(a_large_message_is_written_whole)
{
    struct studio *s = studio_open(0);
    struct fumi_buf b = {0};
    putf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1,\"params\":[\"");
    put_times(&b, "x", 90000);
    putf(&b, "\"]}");
    reply_to_str(&s->t.c, fumi_buf_str(&b));
    struct fumi_str got = transcript(s);
    CHECK(got.n > 2 * 90000);
    CHECK(!memcmp(got.p + 4, b.p, b.n) && got.p[b.n + 4] == '\n');
    fumi_buf_done(&b);
    studio_done(s);
}

/* A descriptor that accepts few bytes at a time receives all of them. */
static void *drain(void *arg)
{
    int fd = *(int *)arg;
    char some[1000];
    size_t all = 0;
    for (ssize_t n; (n = read(fd, some, sizeof(some))) > 0;)
        all += (size_t)n;
    return (void *)all;
}

TEST(a_slow_reader_gets_all)
{
    struct fumi_server *server = server_of(fixture_methods, FUMI_COUNT(fixture_methods), NULL);
    int pipes[2];
    pthread_t thread;
    void *all;
    CHECK_INT(pipe(pipes), 0);
    CHECK_INT(pthread_create(&thread, NULL, drain, &pipes[0]), 0);
    struct fumi_record *r = fumi_record_new(fumi_handle, server, pipes[1]);
    struct caller c;
    struct fumi_buf b = {0};
    caller_open(&c, server);
    c.handle = fumi_record_handle;
    c.self = r;
    putf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1,\"params\":[\"");
    put_times(&b, "x", 500000);
    putf(&b, "\"]}");
    size_t answer = reply_to_str(&c, fumi_buf_str(&b)).n;
    caller_done(&c);
    fumi_record_free(r);
    close(pipes[1]);
    pthread_join(thread, &all);
    close(pipes[0]);
    CHECK_INT((size_t)all, b.n + answer + 10);
    fumi_buf_done(&b);
    fumi_server_free(server);
}
