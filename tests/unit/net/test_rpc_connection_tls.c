/* Connections over TLS: which servers are trusted; truncation, end of file and unusual handshakes.
 */
#include "test.h"

#include "net/rpc_connection.h"
#include "rpc_connection_cases.h"
#include "rpc_connection_fixture.h"
#include "tls_front.h"

#include <sys/wait.h>

enum { HOUR = 3600, SOON = 150 };

#define SIX "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":6}"

/* Shared by all tests: an authority, its file, and a valid certificate. */
static struct {
    struct tls_cert ca, fine;
    char ca_file[64];
} shared;

static void share_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    shared.ca = tls_cert_new(NULL, -HOUR, HOUR, NULL);
    shared.fine = tls_cert_new("DNS:localhost,IP:127.0.0.1,IP:::1", -HOUR, HOUR, &shared.ca);
    snprintf(shared.ca_file, sizeof(shared.ca_file), "/tmp/fumi-ca-XXXXXX");
    tls_cert_write(&shared.ca, shared.ca_file);
}

static void share_end(void)
{
    unlink(shared.ca_file);
    tls_cert_free(&shared.ca);
    tls_cert_free(&shared.fine);
}

/* A scripted peer behind TLS, and a connection to it. */
struct side {
    struct script script;
    struct tls_front *front;
    struct fumi_rpc_connection *l;
    struct fumi_arena a;
    struct fumi_answer answer;
    struct fumi_err e;
};

static void open_side(struct side *s, const struct step *steps, const char *scheme,
                      enum tls_mood mood, int newest)
{
    char url[100];
    struct fumi_rpc_connection_options o = {
        .ca_file = shared.ca_file, .connect_time = mood == TLS_SILENT ? SOON : 20000, .tries = -1};
    *s = (struct side){.script.steps = steps};
    script_tcp(&s->script, "");
    s->front = tls_front_start(&shared.fine, newest, mood, s->script.url);
    snprintf(url, sizeof(url), "%s127.0.0.1:%d", scheme, s->front->port);
    s->l = fumi_rpc_connection_open(url, &o, &s->e);
}

static void done(struct side *s)
{
    fumi_rpc_connection_close(s->l);
    tls_front_stop(s->front);
    script_end(&s->script);
    script_done(&s->script);
    fumi_arena_done(&s->a);
    free(s->front);
}

/* The outcome of a call: the result, or '!' and the error text. */
static struct fumi_str call(struct side *s, const char *method, const char *params, int64_t ms)
{
    struct fumi_json p = {fumi_str(params)};
    if (!s->l || fumi_rpc_connection_call(s->l, &s->a, method, p, ms, &s->answer, &s->e))
        return fumi_fmt(&s->a, "!%s", s->e.text);
    return s->answer.ok ? s->answer.result.text : fumi_fmt(&s->a, "%d", s->answer.err.code);
}

static bool has(struct fumi_str got, const char *part)
{
    return got.n && memmem(got.p, got.n, part, strlen(part));
}

static struct tls_cert cert_expired(void)
{
    return tls_cert_new("IP:127.0.0.1", -2 * HOUR, -HOUR, &shared.ca);
}

static struct tls_cert cert_early(void)
{
    return tls_cert_new("IP:127.0.0.1", HOUR, 2 * HOUR, &shared.ca);
}

static struct tls_cert cert_self_signed(void)
{
    return tls_cert_new("IP:127.0.0.1", -HOUR, HOUR, NULL);
}

static struct tls_cert cert_of_stranger(void)
{
    struct tls_cert ca = tls_cert_new(NULL, -HOUR, HOUR, NULL);
    struct tls_cert c = tls_cert_new("IP:127.0.0.1", -HOUR, HOUR, &ca);
    tls_cert_free(&ca);
    return c;
}

static struct tls_cert cert_other_host(void)
{
    return tls_cert_new("DNS:example.org,DNS:localhost.example.org,IP:127.0.0.2", -HOUR, HOUR,
                        &shared.ca);
}

static struct tls_cert cert_subject_only(void)
{
    return tls_cert_new(NULL, -HOUR, HOUR, &shared.ca);
}

static struct tls_cert cert_fine(void)
{
    return tls_cert_new("DNS:localhost,IP:127.0.0.1", -HOUR, HOUR, &shared.ca);
}

static const struct trust_row {
    struct tls_cert (*make)(void);
    const char *host;
    const char *ca; /* "": the shared one, "self": its own, NULL: those of the system */
    int newest;
    const char *want; /* NULL: trusted */
} trusts[] = {
    {cert_fine, "127.0.0.1", "", 0, NULL},
    {cert_fine, "localhost", "", 0, NULL},
    {cert_fine, "LOCALHOST", "", 0, NULL},
    {cert_fine, "127.0.0.1", "", TLS1_2_VERSION, NULL},
    {cert_self_signed, "127.0.0.1", "self", 0, NULL},
    {cert_expired, "127.0.0.1", "", 0, "has expired"},
    {cert_expired, "127.0.0.1", "", TLS1_2_VERSION, "has expired"},
    {cert_early, "127.0.0.1", "", 0, "is not valid yet"},
    {cert_self_signed, "127.0.0.1", "", 0, "is self-signed"},
    {cert_self_signed, "127.0.0.1", NULL, 0, "is self-signed"},
    {cert_of_stranger, "127.0.0.1", "", 0, "an authority that is not trusted"},
    {cert_fine, "127.0.0.1", NULL, 0, "an authority that is not trusted"},
    {cert_other_host, "127.0.0.1", "", 0, "is for another host"},
    {cert_other_host, "localhost", "", 0, "is for another host"},
    {cert_subject_only, "localhost", "", 0, "is for another host"},
    {cert_fine, "127.0.0.1", "", TLS1_1_VERSION, "TLS 1.2 or newer is required"},
};

static void expect_trust(const struct trust_row *row)
{
    static const struct step steps[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)}, {HOLD, {0}}, {0}};
    struct tls_cert c = row->make();
    struct side s = {.script.steps = steps};
    char url[100], own[] = "/tmp/fumi-ca-XXXXXX";
    tls_cert_write(&c, own);
    struct fumi_rpc_connection_options o = {.ca_file = !row->ca   ? NULL
                                                       : *row->ca ? own
                                                                  : shared.ca_file,
                                            .connect_time = 20000,
                                            .token = "secret"};
    if (!row->want)
        script_tcp(&s.script, "");
    s.front = tls_front_start(&c, row->newest, TLS_FINE, s.script.url);
    snprintf(url, sizeof(url), "https://%s:%d", row->host, s.front->port);
    s.l = fumi_rpc_connection_open(url, &o, &s.e);
    struct fumi_str got = call(&s, "m", NULL, 0);
    bool fine = row->want ? !s.l && has(got, row->want) && s.e.code == FUMI_INVALID_REQUEST
                          : has(got, "5") && got.n == 1;
    fumi_rpc_connection_close(s.l);
    tls_front_stop(s.front);
    bool named = strcmp(s.front->name, *row->host == '1' ? "" : "localhost") == 0 ||
                 strcmp(s.front->name, row->host) == 0;
    if (!fine || !named || !s.front->received != !!row->want)
        TEST_FAIL("row %d: %.*s; it was received %zu bytes, by the name '%s'", (int)(row - trusts),
                  FUMI_ARG(got), s.front->received, s.front->name);
    if (!row->want)
        script_end(&s.script);
    script_done(&s.script);
    fumi_arena_done(&s.a);
    free(s.front);
    unlink(own);
    tls_cert_free(&c);
}

TEST(data_is_sent_only_to_servers_with_a_valid_certificate)
{
    share_begin();
    for (size_t i = 0; i < FUMI_COUNT(trusts); i++)
        expect_trust(&trusts[i]);
    share_end();
}

TEST(a_ca_file_that_cannot_be_used_is_refused)
{
    char empty[] = "/tmp/fumi-ca-XXXXXX";
    const char *const files[] = {"/nonexistent/ca.pem", empty};
    close(mkstemp(empty));
    for (size_t i = 0; i < FUMI_COUNT(files); i++) {
        struct fumi_err e = {0};
        struct fumi_rpc_connection_options o = {.ca_file = files[i]};
        struct fumi_rpc_connection *l = fumi_rpc_connection_open("https://127.0.0.1:1", &o, &e);
        CHECK(!l);
        CHECK_INT(e.code, FUMI_INVALID_PARAMS);
        CHECK(strstr(e.text, "the CA file") && strstr(e.text, files[i]));
        CHECK(strstr(e.text, i ? "it holds no certificate" : "No such file"));
    }
    unlink(empty);
}

/* A TLS proxy that runs as another user, in its own process; its port comes through `out`. */
static void strange_front(const char *behind, int out)
{
    alarm(60);
    if (setgid(65534) || setuid(65534))
        _exit(1);
    struct tls_front *f = tls_front_open(&shared.fine, 0, TLS_FINE, behind);
    if (write(out, &f->port, sizeof(f->port)) == sizeof(f->port))
        tls_serve(f);
    _exit(1);
}

/* Without TLS the token is sent only to servers of the same user: see test_rpc_connection_owner. */
TEST(with_tls_the_certificate_counts_and_not_the_user_of_the_socket)
{
    static const struct step steps[] = {
        {MEET, {0}}, {REQUEST, {0}}, {SAY, SAYS(HEAD "\r\n" FIVE)}, {HOLD, {0}}, {0}};
    static const struct step none[] = {{0}};
    if (geteuid() != 0)
        return; /* only root can switch users */
    share_begin();
    for (int local = 0; local < 2; local++) {
        struct side s = {.script.steps = local ? none : steps};
        struct fumi_rpc_connection_options o = {
            .ca_file = shared.ca_file, .token = "t0ken", .token_is_local = local};
        int out[2], port = 0;
        char url[100];
        script_tcp(&s.script, "");
        CHECK(pipe(out) == 0);
        pid_t pid = fork();
        if (!pid)
            strange_front(s.script.url, out[1]);
        CHECK_INT(read(out[0], &port, sizeof(port)), sizeof(port));
        snprintf(url, sizeof(url), "https://localhost:%d", port);
        s.l = fumi_rpc_connection_open(url, &o, &s.e);
        struct fumi_str got = call(&s, "m", NULL, 0);
        if (!has(got, local ? "it runs as another user" : "5"))
            TEST_FAIL("%d: %.*s", local, FUMI_ARG(got));
        fumi_rpc_connection_close(s.l);
        kill(pid, SIGKILL);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
        close(out[0]), close(out[1]);
        script_end(&s.script);
        script_done(&s.script);
        fumi_arena_done(&s.a);
    }
    share_end();
}

static const struct step nothing[] = {{0}};

TEST(a_silent_server_times_out)
{
    struct side s;
    share_begin();
    open_side(&s, nothing, "https://", TLS_SILENT, 0);
    bool late = !s.l && s.e.code == FUMI_LIMIT && strstr(s.e.text, "does not answer the TLS");
    done(&s);
    share_end();
    CHECK(late);
}

TEST(a_server_that_closes_is_reported)
{
    struct side s;
    share_begin();
    open_side(&s, nothing, "wss://", TLS_HANG_UP, 0);
    bool lost = !s.l && strstr(s.e.text, "was lost during the TLS handshake");
    done(&s);
    share_end();
    CHECK(lost);
}

TEST(a_server_without_tls_is_reported)
{
    static const struct step steps[] = {
        {MEET, {0}}, {SAY, SAYS("HTTP/1.1 400 Bad Request\r\n\r\n")}, {HOLD, {0}}, {0}};
    struct script script = {.steps = steps};
    struct fumi_err e = {0};
    script_tcp(&script, "https://");
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(script.url, NULL, &e);
    script_end(&script);
    script_done(&script);
    CHECK(!l);
    CHECK(strstr(e.text, "the TLS handshake with https://127.0.0.1:") &&
          strstr(e.text, "is the port right"));
}

/* Bodies that end with the connection: close_notify must confirm the end. */
TEST(a_truncated_answer_is_refused)
{
    static const struct {
        struct fumi_str says;
        enum tls_mood mood;
        const char *want;
    } rows[] = {
        {SAYS(OK JSON "\r\n" FIVE), TLS_FINE, "5"},
        {SAYS(OK JSON "\r\n" FIVE), TLS_CUT, "may be cut off"},
        {SAYS(HEAD "\r\n" FIVE), TLS_CUT, "5"}, /* complete by its Content-Length */
        {SAYS(HEAD "\r\n{\"json"), TLS_CUT, "may be cut off"},
        {SAYS(HEAD "\r\n{\"json"), TLS_FINE, "the body is cut short"},
        {SAYS(CHUNKS "23\r\n" FIVE "\r\n"), TLS_CUT, "may be cut off"},
        {SAYS(EVENTS "\r\ndata: {\"json"), TLS_CUT, "may be cut off"},
    };
    share_begin();
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct step steps[] = {
            {MEET, {0}}, {REQUEST, {0}}, {SAY, rows[i].says}, {BREAK, {0}}, {0}};
        struct side s;
        open_side(&s, steps, "https://", rows[i].mood, 0);
        struct fumi_str got = call(&s, "m", NULL, 0);
        if (!has(got, rows[i].want))
            TEST_FAIL("row %zu: got %.*s", i, FUMI_ARG(got));
        done(&s);
    }
    share_end();
}

TEST(a_truncated_websocket_fails_open_calls)
{
    static const struct step steps[] = {{MEET, {0}},  {REQUEST, {0}}, {SHAKE, {0}},
                                        {FRAME, {0}}, {BREAK, {0}},   {0}};
    static const struct {
        enum tls_mood mood;
        const char *want;
    } rows[] = {{TLS_FINE, "has closed the connection; calls"}, {TLS_CUT, "may be cut off"}};
    share_begin();
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct side s;
        open_side(&s, steps, "wss://", rows[i].mood, 0);
        struct fumi_str got = call(&s, "m", NULL, 0);
        if (!has(got, rows[i].want))
            TEST_FAIL("row %zu: got %.*s", i, FUMI_ARG(got));
        done(&s);
    }
    share_end();
}

static const struct step two_calls[] = {{MEET, {0}},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" FIVE)},
                                        {REQUEST, {0}},
                                        {SAY, SAYS(HEAD "\r\n" SIX)},
                                        {HOLD, {0}},
                                        {0}};

/* TLS 1.3 session tickets and key updates arrive between two exchanges: the connection is reused.
 */
TEST(tickets_and_new_keys_do_not_end_a_kept_connection)
{
    static const enum tls_mood moods[] = {TLS_FINE, TLS_NEW_KEYS};
    share_begin();
    for (size_t i = 0; i < FUMI_COUNT(moods); i++) {
        struct side s;
        open_side(&s, two_calls, "https://", moods[i], 0);
        if (!has(call(&s, "m", NULL, 0), "5") || !has(call(&s, "m", NULL, 0), "6"))
            TEST_FAIL("%zu: %s", i, s.e.text);
        fumi_rpc_connection_close(s.l);
        s.l = NULL;
        tls_front_stop(s.front);
        if (s.front->hellos != 1)
            TEST_FAIL("%zu: %d handshakes", i, s.front->hellos);
        script_end(&s.script);
        if (s.script.failed)
            TEST_FAIL("%zu: the second call came over another connection", i);
        script_done(&s.script);
        fumi_arena_done(&s.a);
        free(s.front);
    }
    share_end();
}

TEST(renegotiation_is_refused)
{
    struct side s;
    share_begin();
    open_side(&s, two_calls, "https://", TLS_RENEGOTIATE, TLS1_2_VERSION);
    struct fumi_str got = call(&s, "m", NULL, 0);
    fumi_rpc_connection_close(s.l);
    tls_front_stop(s.front);
    int hellos = s.front->hellos;
    script_end(&s.script);
    script_done(&s.script);
    bool fine = got.n == 1 && *got.p == '5';
    fumi_arena_done(&s.a);
    free(s.front);
    share_end();
    CHECK(fine);
    CHECK_INT(hellos, 1);
}

static void count_told(void *arg, struct fumi_str message)
{
    (void)message;
    ++*(int *)arg;
}

static void converse(struct side *s, int *received)
{
    size_t n = 900000;
    char *big = fumi_alloc(&s->a, n + 1);
    memset(big, 'x', n);
    memcpy(big, "[\"", 2);
    memcpy(big + n - 2, "\"]", 3);
    CHECK_STR(call(s, "subtract", "[42,23]", 0), "19");
    CHECK_STR(call(s, "count", "[20000]", 0), "20000");
    CHECK_INT(*received, 20000);
    CHECK_STR(call(s, "subtract", big, 0), "-32602"); /* more than a socket buffers */
    CHECK(has(call(s, "wait", NULL, SOON), "!no answer to wait"));
    CHECK_STR(call(s, "subtract", "[1,1]", 0), "0");
}

TEST(a_server_behind_tls_answers)
{
    static const char *const schemes[] = {"https", "wss"};
    char *const argv[] = {(char *)"/proc/self/exe", NULL};
    char dir[] = "/tmp/fumi-link-XXXXXX", what[100];
    struct fumi_answer answer;
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    share_begin();
    CHECK(mkdtemp(dir));
    snprintf(what, sizeof(what), "serve:%s/s", dir);
    setenv("RPC_CONNECTION_CHILD", what, 1);
    struct fumi_rpc_connection *server = fumi_rpc_connection_spawn(argv, NULL, &e);
    unsetenv("RPC_CONNECTION_CHILD");
    CHECK(server);
    CHECK_INT(fumi_rpc_connection_call(server, &a, "where", (struct fumi_json){0}, 0, &answer, &e),
              0);
    for (size_t i = 0; i < FUMI_COUNT(schemes); i++) {
        struct side s = {
            .front = tls_front_start(&shared.fine, 0, i ? TLS_NEW_KEYS : TLS_FINE, what + 6)};
        int received = 0;
        struct fumi_rpc_connection_options o = {
            .ca_file = shared.ca_file, .notified = count_told, .arg = &received};
        char url[100];
        snprintf(url, sizeof(url), "%s://localhost:%d", schemes[i], s.front->port);
        s.l = fumi_rpc_connection_open(url, &o, &s.e);
        if (s.l)
            converse(&s, &received);
        if (!s.l || test_failed)
            TEST_FAIL("%s: %s", url, s.e.text);
        fumi_rpc_connection_close(s.l);
        tls_front_stop(s.front);
        free(s.front);
        fumi_arena_done(&s.a);
    }
    fumi_rpc_connection_close(server);
    fumi_arena_done(&a);
    rmdir(dir);
    share_end();
}
