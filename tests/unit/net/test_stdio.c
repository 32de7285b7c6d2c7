/* Each test runs the transport in a child process with the standard descriptors under test. */
#include "net/stdio.h"

#include "stdio_run.h"

#include <sys/socket.h>
#include <termios.h>

enum { LIMIT = 1 << 20 };

static const struct pace paces[] = {
    {.write = 1 << 16}, {.write = 1}, {.read = 1}, {7, 3, false, 0}};

static const struct {
    struct fumi_str in, out;
} talks[] = {
    {FUMI_STR(""), FUMI_STR("")},
    {FUMI_STR("e1\n"), FUMI_STR("e1\n")},
    {FUMI_STR("e1\ne2\ne3\n"), FUMI_STR("e1\ne2\ne3\n")},
    {FUMI_STR("\n \t\r\n\r\ne1\n\n"), FUMI_STR("e1\n")},
    {FUMI_STR("e1\r\n"), FUMI_STR("e1\n")},
    {FUMI_STR("e1\r\r\n"), FUMI_STR("e1\r\n")},
    {FUMI_STR("  e1 \n"), FUMI_STR("  e1 \n")},
    {FUMI_STR("e1\ne2"), FUMI_STR("e1\ne2\n")},
    {FUMI_STR("e1\r"), FUMI_STR("e1\n")},
    {FUMI_STR("e1\n \t"), FUMI_STR("e1\n")},
    {FUMI_STR("e\0x\n"), FUMI_STR("e\0x\n")},
    {FUMI_STR("n\nn\n"), FUMI_STR("")},
    {FUMI_STR("n1\ne2\nn3\n"), FUMI_STR("e2\n")},
    {FUMI_STR("t5\ne6\n"), FUMI_STR("1 t5\n2 t5\nt5\ne6\n")},
    {FUMI_STR("T5\n"), FUMI_STR("1 T5\n2 T5\nT5\n")},
    {FUMI_STR("p5\n"), FUMI_STR("pushed p5\np5\n")},
    {FUMI_STR("P5\n"), FUMI_STR("pushed P5\nP5\n")},
    {FUMI_STR("N5\n"), FUMI_STR("")},
    {FUMI_STR("w5\n"), FUMI_STR("there w5\n1 w5\n2 w5\nw5\n")},
    {FUMI_STR("d1"), FUMI_STR("d1\n")},
    {FUMI_STR("k1\nk2\nr3\ne4\n"), FUMI_STR("k1\nk2\nr3\ne4\n")},
};

TEST(lines_in_lines_out_at_any_pace)
{
    for (size_t i = 0; i < FUMI_COUNT(talks); i++)
        for (size_t k = 0; k < FUMI_COUNT(paces); k++)
            expect((struct setup){0}, paces[k], talks[i].in, talks[i].out);
}

#define HEAD(n) "Content-Length: " #n "\r\n\r\n"

static const struct {
    struct fumi_str in, out;
} framed[] = {
    {FUMI_STR(HEAD(2) "e1"), FUMI_STR(HEAD(2) "e1")},
    {FUMI_STR(HEAD(2) "e1" HEAD(2) "n2" HEAD(3) "e\n3"), FUMI_STR(HEAD(2) "e1" HEAD(3) "e\n3")},
    {FUMI_STR("content-type: x\r\ncontent-length:2\r\n\r\ne1"), FUMI_STR(HEAD(2) "e1")},
    {FUMI_STR(HEAD(2) "t5"), FUMI_STR(HEAD(4) "1 t5" HEAD(4) "2 t5" HEAD(2) "t5")},
    {FUMI_STR(HEAD(2) "P5"), FUMI_STR(HEAD(9) "pushed P5" HEAD(2) "P5")},
    {FUMI_STR(HEAD(2) "k1" HEAD(2) "r2"), FUMI_STR(HEAD(2) "k1" HEAD(2) "r2")},
};

TEST(heads_in_heads_out_at_any_pace)
{
    for (size_t i = 0; i < FUMI_COUNT(framed); i++)
        for (size_t k = 0; k < FUMI_COUNT(paces); k++)
            expect((struct setup){0}, paces[k], framed[i].in, framed[i].out);
}

static void add(struct fumi_buf *b, const char *text)
{
    fumi_buf_add(b, text, strlen(text));
}

/* An invalid body after a header gets an error. After an invalid header the start of the next one
 * is unknown, unless the message was only too long. */
static void expect_refused(const char *in, int code, const char *text, const char *behind)
{
    struct fumi_buf want = {0}, out = {0};
    struct fumi_err e;
    fumi_err_set(&e, code, "%s", text);
    fumi_put_refusal(&want, &e, FUMI_ID_NULL);
    char head[64];
    int n = snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", want.n);
    fumi_buf_add(&out, head, (size_t)n);
    fumi_buf_add(&out, want.p, want.n);
    add(&out, behind);
    for (size_t k = 0; k < FUMI_COUNT(paces); k++)
        expect((struct setup){.line = 100}, paces[k], fumi_str(in), fumi_buf_str(&out));
    fumi_buf_done(&want);
    fumi_buf_done(&out);
}

#define TEN "0123456789"

TEST(heads_that_are_refused)
{
    static const char digits[] = "Content-Length must be a number of 1 to 15 digits";
    expect_refused("Content-Type: x\r\n\r\ne1", FUMI_INVALID_REQUEST,
                   "the header has no Content-Length", "");
    expect_refused("Content-Length: 2\r\nContent-Length: 2\r\n\r\ne1", FUMI_INVALID_REQUEST,
                   "the header has two Content-Length fields", "");
    expect_refused("Content-Length: +2\r\n\r\ne1" HEAD(2) "e2", FUMI_INVALID_REQUEST, digits, "");
    expect_refused("Content-Length: -2\r\n\r\ne1", FUMI_INVALID_REQUEST, digits, "");
    expect_refused(
        HEAD(101) TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "x" HEAD(2) "e2", FUMI_INVALID_REQUEST,
        "Content-Length is 101, which is more than the limit of 100 bytes", HEAD(2) "e2");
    expect_refused(HEAD(5) "e1", FUMI_PARSE_ERROR,
                   "the input ended after 2 of 5 bytes of a message", "");
    expect_refused(HEAD(5), FUMI_PARSE_ERROR, "the input ended after 0 of 5 bytes of a message",
                   "");
    expect_refused("Content-Length: 5\r\n", FUMI_INVALID_REQUEST, "the input ended inside a header",
                   "");
}

TEST(calls_before_a_refused_head_are_answered)
{
    RUN r = start((struct setup){0});
    send_all(&r, HEAD(2) "g1Content-Length: x\r\n\r\n", strlen(HEAD(10) "waiting g1"));
    CHECK(write(r.gate, "!", 1) == 1);
    CHECK(end(&r) == 0);
    CHECK(memmem(r.got.p, r.got.n, HEAD(2) "g1Content-Length: ", 39));
    CHECK(memmem(r.got.p, r.got.n, "-32600", 6));
}

TEST(the_framing_that_is_demanded)
{
    struct setup heads = {.framing = FUMI_FRAMING_HEADERS};
    struct setup lines = {.framing = FUMI_FRAMING_LINES};
    expect(heads, paces[0], FUMI_STR(HEAD(2) "e1"), FUMI_STR(HEAD(2) "e1"));
    expect(lines, paces[0], FUMI_STR("e1\n"), FUMI_STR("e1\n"));
}

static void add_refusal(struct fumi_buf *b, size_t limit)
{
    struct fumi_err e;
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "the line is longer than the limit of %zu bytes", limit);
    fumi_put_refusal(b, &e, FUMI_ID_NULL);
    fumi_buf_put(b, '\n');
}

/* In the expected output, '#' stands for an error. */
static const struct {
    const char *in, *out;
} limits[] = {
    {"e2345678\n", "e2345678\n"},
    {"e23456789\n", "#"},
    {"e2345678\r\n", "e2345678\n"},
    {"e23456789\r\n", "#"},
    {"e2345678\r", "e2345678\n"},
    {"e23456789", "#"},
    {"e2345678901234567890", "#"},
    {"e2345678901234567890\n", "#"},
    {"          \n", "#"},
    {"e1\ne2345678901234567890\ne2\n", "e1\n#e2\n"},
    {"e23456789\ne23456789\n\ne2\n", "##e2\n"},
};

TEST(a_line_past_the_limit_is_refused_and_skipped)
{
    for (size_t i = 0; i < FUMI_COUNT(limits); i++) {
        struct fumi_buf want = {0};
        for (const char *p = limits[i].out; *p; p++)
            *p == '#' ? add_refusal(&want, 8) : fumi_buf_put(&want, *p);
        for (size_t k = 0; k < FUMI_COUNT(paces); k++)
            expect((struct setup){.line = 8}, paces[k], fumi_str(limits[i].in),
                   fumi_buf_str(&want));
        fumi_buf_done(&want);
    }
}

static void add_long(struct fumi_buf *b, size_t n)
{
    memset(fumi_buf_reserve(b, n + 1), 'e', n);
    b->n += n;
    fumi_buf_put(b, '\n');
}

TEST(the_refusal_names_the_limit)
{
    struct fumi_buf text = {0};
    add_long(&text, LIMIT + 1);
    RUN r = start((struct setup){0});
    converse(&r, fumi_buf_str(&text), (struct pace){0});
    int status = end(&r);
    fumi_buf_put(&r.got, '\0');
    bool right = strstr(r.got.p, "-32600") && strstr(r.got.p, "\"id\":null") &&
                 strstr(r.got.p, "the line is longer than the limit of 1048576 bytes");
    fumi_buf_done(&text);
    CHECK_INT(status, 0);
    CHECK(right);
}

/* Memory for the line (a block that may be half unused) and the answer, and no more. */
TEST(lines_round_the_default_limit)
{
    static const struct {
        size_t n, memory;
    } rows[] = {{LIMIT - 1, 8 << 20}, {LIMIT, 8 << 20}, {LIMIT + 1, 4 << 20}, {5 << 20, 4 << 20}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_buf text = {0}, want = {0};
        add_long(&text, rows[i].n);
        add(&text, "e2\n");
        if (rows[i].n <= LIMIT)
            add_long(&want, rows[i].n);
        else
            add_refusal(&want, LIMIT);
        add(&want, "e2\n");
        expect((struct setup){.memory = rows[i].memory}, (struct pace){0}, fumi_buf_str(&text),
               fumi_buf_str(&want));
        fumi_buf_done(&text);
        fumi_buf_done(&want);
    }
}

static void add_numbered(struct fumi_buf *b, const char *letters, int n)
{
    for (int i = 0; i < n; i++) {
        char line[64];
        snprintf(line, sizeof(line), "%c{\"number\":%d}\n", letters[(size_t)i % strlen(letters)],
                 i);
        add(b, line);
    }
}

TEST(ten_thousand_lines_at_once)
{
    struct fumi_buf text = {0};
    add_numbered(&text, "e", 10000);
    expect((struct setup){.memory = 4 << 20}, (struct pace){0}, fumi_buf_str(&text),
           fumi_buf_str(&text));
    fumi_buf_done(&text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Answers arrive in the order of completion, so they are sorted before they are compared. */
static bool same_lines(struct fumi_buf *a, struct fumi_buf *b, size_t n)
{
    struct fumi_buf *both[] = {a, b};
    char **lines = calloc(2 * n + 2, sizeof(*lines));
    bool same = a->n == b->n;
    for (size_t k = 0; same && k < 2; k++) {
        size_t i = 0;
        for (char *p = both[k]->p, *stop = p + both[k]->n; p < stop && i < n; i++) {
            char *newline = memchr(p, '\n', (size_t)(stop - p));
            *newline = '\0';
            lines[k * n + i] = p;
            p = newline + 1;
        }
        same = i == n;
        if (same)
            qsort(lines + k * n, n, sizeof(*lines), by_text);
    }
    for (size_t i = 0; same && i < n; i++)
        same = strcmp(lines[i], lines[n + i]) == 0;
    free(lines);
    return same;
}

TEST(answers_from_other_threads)
{
    static const char *const kinds[] = {"d", "de", "dddddddde"};
    enum { N = 5000 };
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++) {
        struct fumi_buf text = {0}, want = {0};
        add_numbered(&text, kinds[i], N);
        fumi_buf_add(&want, text.p, text.n);
        RUN r = start((struct setup){.memory = 4 << 20});
        converse(&r, fumi_buf_str(&text), (struct pace){.write = 777 + i * 5000, .read = 1234});
        int status = end(&r);
        if (status || !same_lines(&r.got, &want, N))
            TEST_FAIL("kind %s: status %d, %zu bytes of %zu", kinds[i], status, r.got.n, want.n);
        fumi_buf_done(&text);
        fumi_buf_done(&want);
    }
}

/* The maximum number of concurrent messages while n lines of at least `size` bytes wait for
 * workers. */
static int peak_of(size_t n, size_t size, int *status)
{
    struct fumi_buf text = {0};
    char *line = calloc(1, size + 2);
    memset(line, 'x', size);
    line[0] = 'd';
    line[size] = '\n';
    for (size_t i = 0; i < n; i++)
        fumi_buf_add(&text, line, size + 1);
    free(line);
    RUN r = start((struct setup){0});
    converse(&r, fumi_buf_str(&text), (struct pace){.keep_open = true, .until = text.n});
    size_t before = r.got.n;
    converse(&r, FUMI_STR("m\n"), (struct pace){0});
    *status = end(&r);
    fumi_buf_put(&r.got, '\0');
    fumi_buf_done(&text);
    return (int)strtol(r.got.p + before, NULL, 10);
}

TEST(open_calls_are_limited)
{
    static const struct {
        size_t n, size;
        int most;
    } rows[] = {{5000, 10, 1024}, {300, 100000, 64}, {20, 1 << 20, 6}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int status, peak = peak_of(rows[i].n, rows[i].size, &status);
        if (status || peak < 1 || peak > rows[i].most)
            TEST_FAIL("lines of %zu bytes: status %d, %d under way", rows[i].size, status, peak);
    }
}

/* 80 MB of answers for a slow reader. */
TEST(unread_answers_stop_the_reading)
{
    struct fumi_buf text = {0};
    for (int i = 0; i < 800; i++)
        add(&text, "b100000\n");
    RUN r = start((struct setup){.memory = 4 << 20});
    converse(&r, fumi_buf_str(&text), (struct pace){.read = 60000});
    int status = end(&r);
    size_t n = r.got.n;
    fumi_buf_done(&text);
    CHECK_INT(status, 0);
    CHECK_INT(n, 800 * 100001);
}

TEST(a_call_in_the_steady_state_allocates_nothing)
{
    struct fumi_buf text = {0}, lines = {0};
    enum { N = 10000 };
    for (int i = 0; i < N; i++)
        fumi_buf_add(&lines, "n\n", 2);
    for (int i = 0; i < 3; i++) {
        fumi_buf_add(&text, lines.p, lines.n);
        add(&text, "c\n");
    }
    RUN r = start((struct setup){0});
    converse(&r, fumi_buf_str(&text), (struct pace){0});
    int status = end(&r);
    fumi_buf_put(&r.got, '\0');
    char *p = r.got.p;
    strtol(p, &p, 10);
    long before = strtol(p, &p, 10), after = strtol(p, &p, 10);
    fumi_buf_done(&text);
    fumi_buf_done(&lines);
    CHECK_INT(status, 0);
    CHECK(before > 0 && after - before < 10);
}

/* The peer does not read while a method sends 64 MiB of notifications: most are dropped. 16 MiB may
 * be unsent, in a buffer of up to twice that size. */
static void check_flood(const char *line)
{
    RUN r = start((struct setup){.memory = 50 << 20});
    send_all(&r, line, 1);
    while (!memchr(r.errors.n ? r.errors.p : "", '\n', r.errors.n) && r.err >= 0)
        receive(&r.err, &r.errors, 1 << 16);
    converse(&r, FUMI_STR(""), (struct pace){0});
    int status = end(&r);
    fumi_buf_put(&r.errors, '\0');
    bool warned = strstr(r.errors.p, "conn.slow");
    bool answered = r.got.n > 3 && !memcmp(r.got.p + r.got.n - 2, line, 2);
    size_t n = r.got.n;
    CHECK_INT(status, 0);
    CHECK(warned);
    CHECK(answered);
    CHECK(n > 1 << 20 && n < 50 << 20);
}

TEST(unread_notifications_are_limited)
{
    check_flood("f\n");
    check_flood("F\n");
}

TEST(the_end_of_input_waits_for_open_calls)
{
    RUN r = start((struct setup){0});
    send_all(&r, "g1\n", strlen("waiting g1\n"));
    shut(&r.in);
    CHECK_INT(write(r.gate, "x", 1), 1);
    CHECK_INT(end(&r), 0);
    CHECK_STR(fumi_buf_str(&r.got), "waiting g1\ng1\n");
}

TEST(a_signal_while_idle_ends_it)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < FUMI_COUNT(numbers); i++) {
        RUN r = start((struct setup){0});
        send_all(&r, "e1\n", 3);
        kill(r.pid, numbers[i]);
        CHECK_INT(end(&r), 0);
        CHECK_STR(fumi_buf_str(&r.got), "e1\n");
    }
}

TEST(a_signal_lets_open_calls_finish)
{
    RUN r = start((struct setup){0});
    send_all(&r, "g1\n", strlen("waiting g1\n"));
    kill(r.pid, SIGTERM);
    kill(r.pid, SIGINT);
    CHECK_INT(write(r.gate, "x", 1), 1);
    CHECK_INT(end(&r), 0);
    CHECK_STR(fumi_buf_str(&r.got), "waiting g1\ng1\n");
}

/* One worker that never returns, and one message that is never answered. */
TEST(a_signal_does_not_wait_for_a_call_that_never_ends)
{
    static const char *const lines[] = {"g1\n", "t2\nk1\n"};
    for (size_t i = 0; i < FUMI_COUNT(lines); i++) {
        RUN r = start((struct setup){.abandons = true});
        send_all(&r, lines[i], strlen("waiting g1\n"));
        kill(r.pid, SIGTERM);
        int status = end(&r);
        fumi_buf_put(&r.errors, '\0');
        bool warned = strstr(r.errors.p, "serve.abandoned");
        CHECK_INT(status, 0);
        CHECK(warned);
    }
}

TEST(a_signal_does_not_wait_for_a_peer_that_does_not_read)
{
    RUN r = start((struct setup){0});
    send_all(&r, "b2000000\nb2000000\ne\n", 1);
    kill(r.pid, SIGTERM);
    CHECK_INT(end(&r), 0);
    CHECK(r.got.n < 2000000);
}

static void expect_error(struct setup s, const char *text, const char *error)
{
    RUN r = start(s);
    char want[100];
    snprintf(want, sizeof(want), "error: %s\n", error);
    shut(&r.out);
    send_some(&r, &(struct fumi_str){text, strlen(text)}, (struct pace){.write = 100});
    int status = end(&r);
    if (status != BAD_EXIT || !fumi_eq(fumi_buf_str(&r.errors), fumi_str(want)))
        TEST_FAIL("%s: %d %.*s", want, status, FUMI_ARG(fumi_buf_str(&r.errors)));
}

TEST(an_output_that_fails_ends_it)
{
    int pair[2], full = open("/dev/full", O_WRONLY);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    close(pair[0]);
    expect_error((struct setup){0}, "e1\n", "stdout: Broken pipe");
    expect_error((struct setup){.out = pair[1]}, "e1\n", "stdout: Broken pipe");
    expect_error((struct setup){.out = full}, "e1\n", "stdout: No space left on device");
    expect_error((struct setup){.out = -1}, "e1\n", "stdout: Bad file descriptor");
    close(pair[1]);
    close(full);
}

TEST(an_input_that_fails_ends_it)
{
    int directory = open("/", O_RDONLY | O_DIRECTORY);
    expect_error((struct setup){.in = directory}, "", "stdin: Is a directory");
    close(directory);
}

/* At every possible descriptor limit the server either reports an error or works. */
TEST(too_few_descriptors_are_an_error)
{
    int failed = 0;
    for (rlim_t n = 4; n < 20; n++) {
        RUN r = start((struct setup){.real = true, .files = n});
        converse(&r, FUMI_STR("x\n"), (struct pace){0});
        int status = end(&r);
        if (status ? status != BAD_EXIT || !r.errors.n : !r.got.n)
            TEST_FAIL("%d files: status %d: %.*s", (int)n, status,
                      FUMI_ARG(fumi_buf_str(&r.errors)));
        failed += status == BAD_EXIT;
    }
    CHECK(failed > 2 && failed < 16);
}

/* The reader closes while more is unsent than the pipe holds, and a worker is busy. */
TEST(a_closed_reader_ends_serving)
{
    RUN r = start((struct setup){0});
    send_all(&r, "b300000\ng1\n", 100);
    shut(&r.out);
    CHECK_INT(write(r.gate, "x", 1), 1);
    CHECK_INT(end(&r), BAD_EXIT);
    CHECK_STR(fumi_buf_str(&r.errors), "error: stdout: Broken pipe\n");
}

static int file_with(const char *text)
{
    FILE *f = tmpfile();
    fputs(text, f);
    fflush(f);
    int fd = dup(fileno(f));
    fclose(f);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

TEST(input_from_anywhere)
{
    int file = file_with("e1\nd2\ne3"), null = open("/dev/null", O_RDONLY);
    int for_writing = open("/dev/null", O_WRONLY);
    RUN r = start((struct setup){.in = file});
    converse(&r, FUMI_STR(""), (struct pace){0});
    CHECK_INT(end(&r), 0);
    CHECK_INT(r.got.n, 9);
    expect((struct setup){.in = null}, (struct pace){0}, FUMI_STR(""), FUMI_STR(""));
    expect((struct setup){.in = for_writing}, (struct pace){0}, FUMI_STR(""), FUMI_STR(""));
    expect((struct setup){.in = -1}, (struct pace){0}, FUMI_STR(""), FUMI_STR(""));
    close(file);
    close(null);
    close(for_writing);
}

TEST(output_into_a_file)
{
    int in = file_with("e1\ne2\n"), out = file_with("");
    char got[16] = "";
    expect((struct setup){.in = in, .out = out}, (struct pace){0}, FUMI_STR(""), FUMI_STR(""));
    CHECK_INT(pread(out, got, sizeof(got) - 1, 0), 6);
    CHECK_STR(fumi_str(got), "e1\ne2\n");
    close(in);
    close(out);
}

TEST(a_stray_print_goes_to_stderr)
{
    RUN r = start((struct setup){0});
    converse(&r, FUMI_STR("s1\ne2\n"), (struct pace){0});
    CHECK_INT(end(&r), 0);
    CHECK_STR(fumi_buf_str(&r.got), "s1\ne2\n");
    CHECK_STR(fumi_buf_str(&r.errors), "written\nstray\n");
    expect((struct setup){.err = -1}, (struct pace){0}, FUMI_STR("s1\ne2\n"), FUMI_STR("s1\ne2\n"));
}

/* The test shares the open file description with the child, as a shell does. */
static bool is_blocking(int fd)
{
    return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

TEST(one_socket_for_both)
{
    int pair[2];
    char got[1 << 10];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    RUN r = start((struct setup){.in = pair[1], .out = pair[1]});
    CHECK_INT(write(pair[0], "e1\n", 3), 3);
    CHECK_INT(read(pair[0], got, sizeof(got)), 3);
    CHECK(is_blocking(pair[1]));
    CHECK_INT(write(pair[0], "e2\nb500000\nd3", 13), 13);
    shutdown(pair[0], SHUT_WR);
    close(pair[1]);
    size_t n = 0;
    for (ssize_t did; (did = read(pair[0], got, sizeof(got))) > 0;)
        n += (size_t)did;
    CHECK_INT(end(&r), 0);
    CHECK_INT(n, 3 + 500001 + 3);
    close(pair[0]);
}

/* Lines arrive complete and without echo; Ctrl-D ends the input. Returns -1 if there are no
 * terminals, as in a chroot without /dev/pts. */
static int open_terminal(int *slave)
{
    struct termios mode;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0)
        return -1;
    *slave = grantpt(master) || unlockpt(master) ? -1 : open(ptsname(master), O_RDWR | O_NOCTTY);
    if (*slave < 0) {
        close(master);
        return -1;
    }
    tcgetattr(*slave, &mode);
    mode.c_lflag &= ~(tcflag_t)ECHO;
    mode.c_oflag &= ~(tcflag_t)OPOST;
    tcsetattr(*slave, TCSANOW, &mode);
    return master;
}

TEST(a_terminal_for_both)
{
    int slave = -1, master = open_terminal(&slave);
    char got[16] = "";
    if (master < 0) {
        fprintf(stderr, "skipped: this machine has no pseudo terminals\n");
        return;
    }
    RUN r = start((struct setup){.in = slave, .out = slave});
    CHECK_INT(write(master, "e1\n", 3), 3);
    CHECK_INT(read(master, got, sizeof(got)), 3);
    CHECK_STR(fumi_str(got), "e1\n");
    CHECK(is_blocking(slave));
    CHECK_INT(write(master, "\004", 1), 1);
    CHECK_INT(end(&r), 0);
    CHECK(is_blocking(slave));
    close(master);
    close(slave);
}

TEST(inherited_pipes_stay_blocking)
{
    int in[2], out[2];
    char got[8];
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    RUN r = start((struct setup){.in = in[0], .out = out[1]});
    CHECK_INT(write(in[1], "e1\n", 3), 3);
    CHECK_INT(read(out[0], got, sizeof(got)), 3);
    CHECK(is_blocking(in[0]) && is_blocking(out[1]));
    close(in[1]);
    CHECK_INT(end(&r), 0);
    CHECK(is_blocking(in[0]) && is_blocking(out[1]));
    close(in[0]), close(out[0]), close(out[1]);
}

/* Without root the user cannot be changed; then this is an ordinary run. */
TEST(pipes_that_cannot_be_opened_anew_serve_all_the_same)
{
    struct fumi_buf text = {0}, want = {0};
    add(&text, "e1\nb3000000\ne3\n");
    add(&want, "e1\n");
    memset(fumi_buf_reserve(&want, 3000000), 'b', 3000000);
    want.n += 3000000;
    add(&want, "\ne3\n");
    expect((struct setup){.nobody = true}, (struct pace){.write = 2, .read = 5000},
           fumi_buf_str(&text), fumi_buf_str(&want));
    fumi_buf_done(&text);
    fumi_buf_done(&want);
}

TEST(blocking_methods_run_on_workers)
{
    expect((struct setup){.real = true}, (struct pace){0},
           FUMI_STR("{\"jsonrpc\":\"2.0\",\"method\":\"where\",\"id\":1}"),
           FUMI_STR("{\"jsonrpc\":\"2.0\",\"result\":\"fumi-worker\",\"id\":1}\n"));
}

#define QUESTION "{\"jsonrpc\":\"2.0\",\"method\":\"what\",\"id\":1}\n"
#define ASK      "{\"jsonrpc\":\"2.0\",\"method\":\"ask\",\"id\":7}\n"
#define WORK     "{\"jsonrpc\":\"2.0\",\"method\":\"work\",\"id\":8}\n"
#define WORKING  "{\"jsonrpc\":\"2.0\",\"method\":\"working\"}\n"

TEST(a_question_goes_out_and_its_answer_comes_in)
{
    RUN r = start((struct setup){.real = true});
    send_all(&r, ASK, strlen(QUESTION));
    converse(&r, FUMI_STR("{\"jsonrpc\":\"2.0\",\"result\":[1,2],\"id\":1}\n"), (struct pace){0});
    CHECK_INT(end(&r), 0);
    CHECK_STR(fumi_buf_str(&r.got),
              QUESTION "{\"jsonrpc\":\"2.0\",\"result\":\"[1,2]\",\"id\":7}\n");
}

/* The requests to the client fail at once, and the calls that sent them are answered. */
TEST(the_end_of_input_ends_open_questions)
{
    RUN r = start((struct setup){.real = true});
    send_all(&r, ASK, strlen(QUESTION));
    converse(&r, FUMI_STR(""), (struct pace){0});
    CHECK_INT(end(&r), 0);
    CHECK_STR(fumi_buf_str(&r.got), QUESTION
              "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"The peer sends no "
              "more messages and cannot answer what\"},\"id\":7}\n");
}

/* A call that checks fumi_cancelled ends in time, and no resources remain. On a busy machine it may
 * be abandoned instead, which the log shows. */
TEST(a_signal_cancels_open_calls_after_the_drain)
{
    RUN r = start((struct setup){.real = true, .hurried = true});
    send_all(&r, WORK, strlen(WORKING));
    kill(r.pid, SIGTERM);
    int status = end(&r);
    CHECK_STR(fumi_buf_str(&r.got), WORKING);
    fumi_buf_put(&r.errors, '\0');
    CHECK(strstr(r.errors.p, "serve.cancelled calls=1 methods=work\n"));
    if (!strstr(r.errors.p, "serve.abandoned"))
        CHECK_INT(status, 0);
}

TEST(a_reader_that_goes_away_cancels_open_calls)
{
    RUN r = start((struct setup){.real = true});
    send_all(&r, WORK, strlen(WORKING));
    shut(&r.out);
    send_some(
        &r, &FUMI_STR("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":[0],\"id\":0}\n"),
        (struct pace){.write = 1 << 16}); /* answered before the open call */
    CHECK_INT(end(&r), BAD_EXIT);
    CHECK_STR(fumi_buf_str(&r.errors), "error: stdout: Broken pipe\n");
}
