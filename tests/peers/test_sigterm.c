/* Shutdown of a running server: what was sent before the signal is answered, connected clients are
 * notified, and the exit status is 0. */
#include "frames.h"
#include "test.h"

#define CALL(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"id\":1}"

/* Idle clients: each is closed in the way of its transport. */
TEST(idle_peers)
{
    struct live s;
    struct wire http, fresh, lines, mute, socket;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    wire_tcp(&http, &s);
    wire_tcp(&fresh, &s);
    wire_unix(&lines, &s);
    wire_unix(&mute, &s);
    wire_tcp(&socket, &s);
    CHECK(wire_lives(&http, &s));
    CHECK_INT(wire_upgrade(&socket, &s, "").status, 101);
    wire_put(&lines, FUMI_STR(CALL("echo") "\n"));
    CHECK(wire_until(&lines, "\n").p);
    kill(s.pid, SIGTERM);
    struct frame f = wire_read_frame(&socket);
    CHECK_INT(f.first, FIN | CLOSE);
    CHECK_INT(f.code, 1001);
    CHECK(wire_ends(&socket));
    CHECK(wire_ends(&http));
    CHECK(wire_ends(&fresh));
    CHECK(wire_ends(&lines));
    CHECK(wire_ends(&mute));
    wire_close(&http);
    wire_close(&fresh);
    wire_close(&lines);
    wire_close(&mute);
    wire_close(&socket);
    CHECK_INT(live_end(&s), 0);
}

/* Calls that do not return are cancelled after the drain timeout. */
TEST(calls_that_wait)
{
    struct live s;
    struct wire http, lines, socket;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--drain 300"), 0);
    wire_tcp(&http, &s);
    wire_unix(&lines, &s);
    wire_tcp(&socket, &s);
    CHECK_INT(wire_upgrade(&socket, &s, "").status, 101);
    wire_post(&http, &s, FUMI_STR(CALL("wait_cancel")), "");
    wire_put(&lines, FUMI_STR(CALL("wait_cancel") "\n"));
    wire_frame(&socket, FIN | TEXT, FUMI_STR(CALL("wait_cancel")));
    wire_frame(&socket, FIN | PING, FUMI_STR(""));
    CHECK_INT(wire_read_frame(&socket).first, FIN | PONG);
    kill(s.pid, SIGTERM);
    CHECK_INT(live_end(&s), 0);
    wire_close(&http);
    wire_close(&lines);
    wire_close(&socket);
}

/* A client with an incomplete request and one that does not read do not delay the exit. */
TEST(stuck_peers)
{
    static const char big[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"too_big\",\"params\":[8000000],\"id\":1}";
    struct live s;
    struct wire half, line, frame, full;
    CHECK_INT(live_start(&s, SPEC_SERVER, "--drain 500"), 0);
    wire_tcp(&half, &s);
    wire_unix(&line, &s);
    wire_tcp(&frame, &s);
    wire_tcp(&full, &s);
    CHECK_INT(wire_upgrade(&frame, &s, "").status, 101);
    wire_put(&half, FUMI_STR("POST /rpc HTTP/1.1\r\nHo"));
    wire_put(&line, FUMI_STR("{\"jsonrpc\""));
    wire_put(&frame, FUMI_STR("\x81\xFE\x10"));
    wire_post(&full, &s, fumi_str(big), "");
    CHECK(wire_need(&full, 1));
    CHECK_INT(live_stop(&s), 0);
    wire_close(&half);
    wire_close(&line);
    wire_close(&frame);
    wire_close(&full);
}

enum kind { HTTP, LINES, FRAMES, KINDS };
enum { PEERS = 24 };

static const char *const calls[] = {CALL("echo"), CALL("later"), CALL("slow_echo"), CALL("echo")};

static void add_call(struct fumi_buf *to, const struct live *s, enum kind kind,
                     struct fumi_str call)
{
    switch (kind) {
    case HTTP:
        post_put(to, s, call, "");
        break;
    case LINES:
        fumi_buf_add(to, call.p, call.n);
        fumi_buf_put(to, '\n');
        break;
    case FRAMES:
        frame_put(to, FIN | TEXT, call);
        break;
    case KINDS:
        break;
    }
}

static bool get_answer(struct wire *w, enum kind kind)
{
    switch (kind) {
    case HTTP:
        return wire_reply(w, false).status == 200;
    case LINES:
        return wire_until(w, "\n").p;
    case FRAMES:
        return wire_read_frame(w).first == (FIN | TEXT);
    case KINDS:
        break;
    }
    return false;
}

static void join(struct wire *w, const struct live *s, enum kind kind)
{
    (kind == LINES ? wire_unix : wire_tcp)(w, s);
    if (kind == FRAMES)
        wire_upgrade(w, s, "");
}

/* A request is larger than a line. Of many calls, about 75 KB are sent: more than the server reads
 * at once, and less than a socket buffers. */
static int calls_of(int i, int n)
{
    return n > 400 && i % KINDS == HTTP ? n / 4 : n;
}

/* In one write: many small writes would exceed the socket buffer by their overhead. */
static void put_calls(struct wire *w, const struct live *s, enum kind kind, int n, int kinds)
{
    struct fumi_buf all = {0};
    for (int i = 0; i < n; i++)
        add_call(&all, s, kind, fumi_str(calls[i % kinds]));
    wire_put(w, fumi_buf_str(&all));
    fumi_buf_done(&all);
}

/* Clients of all transports each send this many calls, of this many kinds in turn. */
static void put_all(struct wire *all, const struct live *s, int n, int kinds)
{
    for (int i = 0; i < PEERS; i++)
        put_calls(&all[i], s, (enum kind)(i % KINDS), calls_of(i, n), kinds);
}

static void check_all(struct wire *all, int n)
{
    for (int i = 0; i < PEERS; i++) {
        int got = 0, sent = calls_of(i, n);
        while (got < sent && get_answer(&all[i], (enum kind)(i % KINDS)))
            got++;
        if (got < sent)
            TEST_FAIL("peer %d of kind %d: %d of %d calls were answered", i, i % KINDS, got, sent);
        wire_close(&all[i]);
    }
}

/* The server is processing calls when the signal arrives, and some clients continue to send. */
static void end_at_work(const char *flags, int n, int kinds)
{
    struct live s;
    struct wire all[PEERS];
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), 0);
    for (int i = 0; i < PEERS; i++)
        join(&all[i], &s, (enum kind)(i % KINDS));
    put_all(all, &s, n, kinds);
    kill(s.pid, SIGTERM);
    for (int i = 0; i < PEERS; i += 2)
        put_calls(&all[i], &s, (enum kind)(i % KINDS), 1, 1);
    check_all(all, n);
    CHECK_INT(live_end(&s), 0);
}

/* The server is stopped until everything is sent and the signal is pending, so the result is
 * deterministic; some connections are not accepted yet. */
static void end_asleep(const char *flags, int n, int kinds)
{
    struct live s;
    struct wire all[PEERS];
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), 0);
    for (int i = 0; i < PEERS / 2; i++)
        join(&all[i], &s, (enum kind)(i % KINDS));
    for (int i = PEERS / 2 + 2; i < PEERS; i += KINDS)
        join(&all[i], &s, FRAMES);
    CHECK(live_serves(&s));
    kill(s.pid, SIGSTOP);
    for (int i = PEERS / 2; i < PEERS; i++)
        if (i % KINDS != FRAMES)
            join(&all[i], &s, (enum kind)(i % KINDS));
    put_all(all, &s, n, kinds);
    kill(s.pid, SIGTERM);
    kill(s.pid, SIGCONT);
    check_all(all, n);
    CHECK_INT(live_end(&s), 0);
}

/* Calls of all kinds, and enough quick ones to fill more than one read. */
TEST(under_load)
{
    for (int i = 0; i < 3; i++)
        end_at_work("--drain 20000", 40, 4);
    for (int i = 0; i < 3; i++)
        end_at_work("--drain 20000", 1700, 1);
}

TEST(under_load_with_threads)
{
    for (int i = 0; i < 3; i++)
        end_at_work("--drain 20000 --threads 3", 40, 4);
    for (int i = 0; i < 3; i++)
        end_at_work("--drain 20000 --threads 3", 1700, 1);
}

TEST(one_call_that_waits_in_the_socket)
{
    end_asleep("--drain 20000", 1, 1);
    end_asleep("--drain 20000 --threads 3", 1, 1);
}

TEST(calls_that_wait_in_the_socket)
{
    end_asleep("--drain 20000", 40, 4);
    end_asleep("--drain 20000 --threads 3", 40, 4);
}

TEST(many_calls_that_wait_in_the_socket)
{
    end_asleep("--drain 20000", 1700, 1);
    end_asleep("--drain 20000 --threads 3", 1700, 1);
}

/* A second signal has no effect, and SIGINT works like SIGTERM. */
TEST(signals)
{
    struct live s;
    struct wire w;
    CHECK_INT(live_start(&s, SPEC_SERVER, NULL), 0);
    wire_tcp(&w, &s);
    wire_post(&w, &s, FUMI_STR(CALL("slow_echo")), "");
    kill(s.pid, SIGINT);
    kill(s.pid, SIGTERM);
    kill(s.pid, SIGINT);
    CHECK_INT(wire_reply(&w, false).status, 200);
    wire_close(&w);
    CHECK_INT(live_end(&s), 0);
}
