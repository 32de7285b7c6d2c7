/* stdio: tests a server over pipes, as a program that hosts one could: messages of one line each,
 * and the ways in which serving ends.
 *
 *   stdio            prints one line per case; exits with status 1 if a case fails */
#define _POSIX_C_SOURCE 200809L
#include <fumi/fumi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LIMIT = 1 << 20 }; /* maximum size of a message in bytes */

struct echo_text {
    struct fumi_str text;
};

static const struct fumi_field text_fields[] = {
    FUMI_FIELD(struct echo_text, text, "text", "A text.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape text_shape = FUMI_SHAPE(struct echo_text, text_fields);

static enum fumi_ret echo(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct echo_text *)result = *(const struct echo_text *)params;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"echo", "Answers with the text.", &text_shape, &text_shape, echo, FUMI_READ_ONLY},
};

/* A server that reads from one pipe and writes to another, on its own thread. */
struct host {
    struct fumi_server *server;
    struct fumi_err e;
    int rc;
    int in[2], out[2];
    FILE *answers;
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct host *h = arg;
    const struct fumi_stdio_options o = {.in = h->in[0], .out = h->out[1], .no_signals = true};
    h->rc = fumi_serve_stdio(h->server, &o, &h->e);
    return NULL;
}

static void host_open(struct host *h)
{
    *h = (struct host){.server = fumi_server_new("stdio", "1.0")};
    if (fumi_server_add(h->server, NULL, methods, FUMI_COUNT(methods), NULL, &h->e) ||
        pipe(h->in) || pipe(h->out) || !(h->answers = fdopen(h->out[0], "r")) ||
        pthread_create(&h->thread, NULL, serve, h)) {
        fprintf(stderr, "stdio: the server could not be started\n");
        exit(2);
    }
}

static void host_close_input(struct host *h)
{
    if (h->in[1] >= 0)
        close(h->in[1]);
    h->in[1] = -1;
}

/* Waits until serving has ended, frees everything, and returns why it ended. */
static int host_done(struct host *h)
{
    pthread_join(h->thread, NULL);
    host_close_input(h);
    close(h->in[0]);
    close(h->out[1]);
    fclose(h->answers);
    fumi_server_free(h->server);
    return h->rc;
}

/* Reads a line. Returns whether it equals `want`. */
static bool answered(struct host *h, const char *want)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n = getline(&line, &size, h->answers);
    bool same = n > 0 && line[n - 1] == '\n' && (size_t)n - 1 == strlen(want) &&
                memcmp(line, want, (size_t)n - 1) == 0;
    if (!same)
        fprintf(stderr, "   got: %.200s\n  want: %.200s\n", n > 0 ? line : "nothing\n", want);
    free(line);
    return same;
}

static bool ended(struct host *h, int want)
{
    int rc = host_done(h);
    if (rc != want)
        fprintf(stderr, "   ended with %d instead of %d: %s\n", rc, want, h->e.text);
    return rc == want;
}

static bool sent(struct host *h, const char *text, size_t n)
{
    while (n) {
        ssize_t k = write(h->in[1], text, n);
        if (k <= 0)
            return false;
        text += k;
        n -= (size_t)k;
    }
    return true;
}

#define CALL(text, id)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{\"text\":\"" text "\"},\"id\":" id "}\n"
#define ANSWER(text, id) "{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"" text "\"},\"id\":" id "}"
#define ERROR(code, message, data, id)                                                             \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" code ",\"message\":\"" message                     \
    "\",\"data\":\"" data "\"},\"id\":" id "}"

/* The input, which the end of input follows, and the lines of the expected output. */
static const struct {
    const char *name, *input, *answers[3];
} conversations[] = {
    {"one request", CALL("a", "1"), {ANSWER("a", "1")}},
    {"several requests", CALL("a", "1") CALL("b", "2"), {ANSWER("a", "1"), ANSWER("b", "2")}},
    {"empty lines", "\n\r\n" CALL("a", "1") "\n \n", {ANSWER("a", "1")}},
    {"text with line breaks", CALL("a\\nb\\r\\n", "1"), {ANSWER("a\\nb\\r\\n", "1")}},
    {"bad JSON",
     "{invalid json}\n" CALL("a", "2"),
     {ERROR("-32700", "Parse error", "at byte 1: a key in double quotes is expected", "null"),
      ANSWER("a", "2")}},
    {"unknown method",
     "{\"jsonrpc\":\"2.0\",\"method\":\"nothing\",\"id\":1}\n",
     {ERROR("-32601", "Method not found", "nothing", "1")}},
};

static bool converse(size_t row)
{
    struct host h;
    host_open(&h);
    bool ok = sent(&h, conversations[row].input, strlen(conversations[row].input));
    for (size_t i = 0; conversations[row].answers[i]; i++)
        ok = answered(&h, conversations[row].answers[i]) && ok;
    host_close_input(&h);
    return ended(&h, FUMI_SERVED_END) && ok;
}

static bool stop(void)
{
    struct host h;
    host_open(&h);
    bool ok = sent(&h, CALL("a", "1"), strlen(CALL("a", "1"))) && answered(&h, ANSWER("a", "1"));
    fumi_stop(h.server); /* while its input is still open */
    return ended(&h, FUMI_SERVED_STOP) && ok;
}

static bool end_of_input(void)
{
    struct host h;
    host_open(&h);
    host_close_input(&h);
    return ended(&h, FUMI_SERVED_END);
}

/* Sends a call of `size` bytes, not counting the line break, and another call after it. */
static bool large(size_t size, bool fits)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{\"text\":\"";
    static const char begin[] = "{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"";
    static const char tail[] = "\"},\"id\":1}\n", next[] = CALL("next", "2");
    struct host h;
    struct fumi_buf call = {0}, want = {0};
    fumi_buf_add(&call, head, sizeof(head) - 1);
    fumi_buf_add(&want, begin, sizeof(begin) - 1);
    for (size_t i = sizeof(head) - 1 + sizeof(tail) - 2; i < size; i++)
        fumi_buf_put(&call, 'x'), fumi_buf_put(&want, 'x');
    fumi_buf_add(&call, tail, sizeof(tail) - 1);
    fumi_buf_add(&want, tail, sizeof(tail) - 2);
    fumi_buf_put(&want, '\0');
    host_open(&h);
    bool ok = sent(&h, call.p, call.n) && sent(&h, next, sizeof(next) - 1);
    ok = answered(&h, fits ? want.p
                           : ERROR("-32600", "Invalid Request",
                                   "the line is longer than the limit of 1048576 bytes", "null")) &&
         ok;
    ok = answered(&h, ANSWER("next", "2")) && ok;
    host_close_input(&h);
    fumi_buf_done(&call);
    fumi_buf_done(&want);
    return ended(&h, FUMI_SERVED_END) && ok;
}

/* The reader of the answers closes its end. */
static bool lost_output(void)
{
    struct host h;
    host_open(&h);
    fclose(h.answers);
    h.answers = tmpfile();
    return sent(&h, CALL("a", "1"), strlen(CALL("a", "1"))) && ended(&h, FUMI_SERVED_ERROR);
}

static int report(const char *name, bool ok)
{
    printf("%s %s\n", ok ? "ok    " : "FAILED", name);
    return !ok;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < FUMI_COUNT(conversations); i++)
        failed += report(conversations[i].name, converse(i));
    failed += report("stop", stop());
    failed += report("end of input", end_of_input());
    failed += report("just under 1 MiB", large(LIMIT - 1, true));
    failed += report("more than 1 MiB", large(LIMIT + 1, false));
    failed += report("closed output", lost_output());
    printf("%d failed\n", failed);
    return failed > 0;
}
