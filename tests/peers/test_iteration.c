/* Answers of one loop iteration are sent at its end. The server is stopped until many clients have
 * written, so that it reads all of them in one iteration. */
#include "frames.h"
#include "test.h"

#include <sys/resource.h>

enum { PEERS = 300, LARGE = 300000 }; /* more than the server sends in one write */

static char state_of(const struct live *s)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    const char *at = memrchr(text, ')', n);
    return at ? at[2] : '?';
}

static void stop(const struct live *s)
{
    kill(s->pid, SIGSTOP);
    for (int i = 0; i < LIVE_PATIENCE * 1000 && state_of(s) != 'T'; i++)
        poll(NULL, 0, 1);
}

static void resume(const struct live *s)
{
    kill(s->pid, SIGCONT);
}

/* Every second client uses HTTP. */
static void send_message(struct wire *w, const struct live *s, int i, const char *message)
{
    struct fumi_buf b = {0};
    if (i % 2) {
        wire_put(w, fumi_str(message));
        wire_put(w, FUMI_STR("\n"));
        return;
    }
    post_put(&b, s, fumi_str(message), "");
    wire_put(w, fumi_buf_str(&b));
    fumi_buf_done(&b);
}

static void send_call(struct wire *w, const struct live *s, int i)
{
    char text[128];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[%d,1],\"id\":%d}", i, i);
    send_message(w, s, i, text);
}

static struct fumi_str read_answer(struct wire *w, int i)
{
    if (i % 2 == 0)
        return wire_reply(w, false).body;
    struct fumi_str line = wire_until(w, "\n");
    return (struct fumi_str){line.p, line.n ? line.n - 1 : 0};
}

static bool is_answered(struct wire *w, int i)
{
    char text[128];
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"result\":%d,\"id\":%d}", i - 1, i);
    struct fumi_str got = read_answer(w, i);
    if (!fumi_eq(got, fumi_str(text)))
        fprintf(stderr, "%d: %.*s\n", i, FUMI_ARG(got));
    return fumi_eq(got, fumi_str(text));
}

/* A server to which all clients are connected. */
static int begin(struct live *s, struct wire *w)
{
    if (live_start(s, SPEC_SERVER, NULL))
        return -1;
    for (int i = 0; i < PEERS; i++) {
        if (i % 2)
            wire_unix(&w[i], s);
        else
            wire_tcp(&w[i], s);
        send_call(&w[i], s, i);
        read_answer(&w[i], i);
    }
    return 0;
}

/* Whether the server still answers and exits cleanly. */
static bool ends(struct live *s, struct wire *w)
{
    for (int i = 0; i < PEERS; i++)
        wire_close(&w[i]);
    bool serves = live_serves(s);
    return live_stop(s) == 0 && serves;
}

TEST(each_client_gets_its_own_answers)
{
    struct live s;
    static struct wire w[PEERS];
    CHECK_INT(begin(&s, w), 0);
    stop(&s);
    for (int i = 0; i < PEERS; i++) {
        for (int k = 0; k <= i % 3; k++)
            send_call(&w[i], &s, i);
    }
    resume(&s);
    for (int i = 0; i < PEERS; i++) {
        for (int k = 0; k <= i % 3; k++)
            CHECK(is_answered(&w[i], i));
    }
    CHECK(ends(&s, w));
}

/* Of every three clients, one has disconnected before its answer, and one sends no more. */
TEST(disconnected_clients_do_not_affect_others)
{
    struct live s;
    static struct wire w[PEERS];
    CHECK_INT(begin(&s, w), 0);
    stop(&s);
    for (int i = 0; i < PEERS; i++) {
        send_call(&w[i], &s, i);
        if (i % 3 == 0)
            wire_reset(&w[i]);
        else if (i % 3 == 1)
            wire_half_close(&w[i]);
    }
    resume(&s);
    for (int i = 0; i < PEERS; i++)
        CHECK(i % 3 == 0 || is_answered(&w[i], i));
    CHECK(ends(&s, w));
}

/* More than the socket buffers hold for clients that do not read yet; later answers stay in order.
 */
TEST(answers_beyond_the_socket_buffer_stay_in_order)
{
    struct live s;
    static struct wire w[PEERS];
    char large[128];
    snprintf(large, sizeof(large),
             "{\"jsonrpc\":\"2.0\",\"method\":\"too_big\",\"params\":[%d],\"id\":0}", LARGE);
    CHECK_INT(begin(&s, w), 0);
    for (int round = 0; round < 2; round++) {
        stop(&s);
        for (int i = 0; i < PEERS; i++) {
            if (i % 3 == 0)
                send_message(&w[i], &s, i, large);
            send_call(&w[i], &s, i);
        }
        resume(&s);
        CHECK(live_serves(&s));
        for (int i = 0; i < PEERS; i++) {
            if (i % 3 == 0)
                CHECK(read_answer(&w[i], i).n > LARGE);
            CHECK(is_answered(&w[i], i));
        }
    }
    CHECK(ends(&s, w));
}

/* A message longer than one read: its rest arrives in the iteration in which the server receives
 * SIGTERM. */
TEST(closed_connections_are_not_used_during_shutdown)
{
    enum { FEW = 6, LONG = 72000 };
    static char text[LONG + 128];
    int n = snprintf(text, sizeof(text),
                     "{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"params\":[\"%0*d\"],\"id\":1}\n",
                     LONG, 0);
    for (int every = 1; every <= 2; every++) {
        struct live s;
        struct wire w[FEW];
        CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
        for (int i = 0; i < FEW; i++) {
            wire_unix(&w[i], &s);
            send_call(&w[i], &s, 1);
            CHECK(is_answered(&w[i], 1));
        }
        stop(&s);
        for (int i = 0; i < FEW; i++) {
            wire_put(&w[i], (struct fumi_str){text, (size_t)n});
            if (i % every == 0)
                wire_close(&w[i]);
        }
        kill(s.pid, SIGTERM);
        resume(&s);
        CHECK_INT(live_end(&s), 0);
        for (int i = 0; i < FEW; i++)
            wire_close(&w[i]);
    }
}

/* With so many connections, the loop polls again before the iteration ends. */
TEST(closed_connections_are_not_used_in_the_same_iteration)
{
    enum { CROWD = 1024 };
    static struct wire w[CROWD];
    struct live s;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    CHECK_INT(live_start(&s, SPEC_SERVER, "--connections 2000"), 0);
    for (int i = 0; i < CROWD; i++) {
        wire_unix(&w[i], &s);
        send_call(&w[i], &s, 1);
        CHECK(is_answered(&w[i], 1));
    }
    stop(&s);
    for (int i = 0; i < CROWD; i++) {
        send_call(&w[i], &s, 1);
        wire_close(&w[i]);
    }
    resume(&s);
    CHECK(live_serves(&s));
    CHECK_INT(live_stop(&s), 0);
}
