#include "base/log.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* A pair of packet sockets: what arrives in one read was sent in one write. */
struct wire {
    struct fumi_log log;
    int in, out;
    char line[8192];
};

static struct wire wire_open(bool json)
{
    struct wire w = {.log = {.json = json}};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        abort();
    w.in = ends[0];
    w.out = w.log.fd = ends[1];
    return w;
}

static void wire_close(struct wire *w)
{
    close(w->in);
    close(w->out);
}

/* The next line; p is NULL: none was written. */
static struct fumi_str line_of(struct wire *w)
{
    ssize_t n = recv(w->in, w->line, sizeof(w->line), MSG_DONTWAIT);
    return n < 0 ? (struct fumi_str){0} : (struct fumi_str){w->line, (size_t)n};
}

static struct fumi_str after(struct fumi_str s, size_t n)
{
    return n <= s.n ? (struct fumi_str){s.p + n, s.n - n} : (struct fumi_str){0};
}

static bool ends_with(struct fumi_str s, struct fumi_str end)
{
    return s.n >= end.n && fumi_eq(after(s, s.n - end.n), end);
}

/* What follows the time in a line of text, or the member "time" in a line of JSON. */
static struct fumi_str untimed(struct wire *w)
{
    static const char head[] = "{\"time\":\"";
    struct fumi_str s = line_of(w);
    size_t skip = w->log.json ? sizeof(head) - 1 : 0;
    int64_t ms;
    if (s.n < skip + FUMI_TIME_SIZE + 1 || memcmp(s.p, head, skip) != 0 ||
        !fumi_time_read((struct fumi_str){s.p + skip, FUMI_TIME_SIZE}, &ms))
        return (struct fumi_str){0};
    return after(s, skip + FUMI_TIME_SIZE + 1);
}

TEST(a_line_of_text)
{
    struct wire w = wire_open(false);
    int64_t before = fumi_now(), ms = 0;
    fumi_log(&w.log, FUMI_WARN, "rpc.internal", {"method", FUMI_STR("subtract"), 0},
             {"why", FUMI_STR("two words"), 0}, {.key = "n", .number = -5});
    int64_t later = fumi_now();
    struct fumi_str s = line_of(&w), none = line_of(&w);
    wire_close(&w);
    CHECK(s.n > FUMI_TIME_SIZE);
    CHECK(fumi_time_read((struct fumi_str){s.p, FUMI_TIME_SIZE}, &ms));
    CHECK(before <= ms && ms <= later);
    CHECK_STR(after(s, FUMI_TIME_SIZE),
              " warn rpc.internal method=subtract why=\"two words\" n=-5\n");
    CHECK(!none.p);
}

TEST(a_line_of_json)
{
    struct wire w = wire_open(true);
    fumi_log(&w.log, FUMI_WARN, "rpc.internal", {"method", FUMI_STR("subtract"), 0},
             {"why", FUMI_STR("two words"), 0}, {.key = "n", .number = 5});
    struct fumi_str s = untimed(&w), none = line_of(&w);
    wire_close(&w);
    CHECK_STR(s, ",\"level\":\"warn\",\"event\":\"rpc.internal\",\"method\":\"subtract\","
                 "\"why\":\"two words\",\"n\":5}\n");
    CHECK(!none.p);
}

TEST(an_event_without_pairs)
{
    struct wire text = wire_open(false), json = wire_open(true);
    fumi_log_pairs(&text.log, FUMI_INFO, "start", NULL, 0);
    fumi_log_pairs(&json.log, FUMI_INFO, "start", NULL, 0);
    struct fumi_str plain = untimed(&text), object = untimed(&json);
    wire_close(&text);
    wire_close(&json);
    CHECK_STR(plain, "info start\n");
    CHECK_STR(object, ",\"level\":\"info\",\"event\":\"start\"}\n");
}

TEST(values_and_how_they_are_written)
{
    static const struct {
        struct fumi_str value;
        const char *text, *json;
    } rows[] = {
        {FUMI_STR("subtract"), "subtract", "\"subtract\""},
        {FUMI_STR("/a/b?c=d&e"), "/a/b?c=d&e", "\"/a/b?c=d&e\""},
        {FUMI_STR("日本"), "日本", "\"日本\""},
        {FUMI_STR("日本 語"), "\"日本 語\"", "\"日本 語\""},
        {FUMI_STR("😀"), "😀", "\"😀\""},
        {FUMI_STR(""), "\"\"", "\"\""},
        {FUMI_STR(" "), "\" \"", "\" \""},
        {FUMI_STR("a\nb"), "\"a\\nb\"", "\"a\\nb\""},
        {FUMI_STR("a\r\n\tb"), "\"a\\r\\n\\tb\"", "\"a\\r\\n\\tb\""},
        {FUMI_STR("say \"x\""), "\"say \\\"x\\\"\"", "\"say \\\"x\\\"\""},
        {FUMI_STR("c:\\d"), "\"c:\\\\d\"", "\"c:\\\\d\""},
        {FUMI_STR("\x1b[31m"), "\"\\x1b[31m\"", "\"\\u001b[31m\""},
        {FUMI_STR("a\0b"), "\"a\\x00b\"", "\"a\\u0000b\""},
        {FUMI_STR("\x7f"), "\"\\x7f\"", "\"\\u007f\""},
        {FUMI_STR("\xC2\x9B"
                  "1m"),
         "\"\\xc2\\x9b1m\"", "\"\\u009b1m\""},
        {FUMI_STR("\xC2\xA0"), "\xC2\xA0", "\"\xC2\xA0\""},
        {FUMI_STR("\xFF"), "\"\\xff\"", "\"\\ufffd\""},
        {FUMI_STR("a\xE6\x97"), "\"a\\xe6\\x97\"", "\"a\\ufffd\\ufffd\""},
        {FUMI_STR("\xED\xA0\x80"), "\"\\xed\\xa0\\x80\"", "\"\\ufffd\\ufffd\\ufffd\""},
        {FUMI_STR("\xC0\xAE"), "\"\\xc0\\xae\"", "\"\\ufffd\\ufffd\""},
        {FUMI_STR("5"), "5", "\"5\""},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct wire text = wire_open(false), json = wire_open(true);
        char want[200];
        fumi_log(&text.log, FUMI_DEBUG, "e", {"k", rows[i].value, 0});
        fumi_log(&json.log, FUMI_DEBUG, "e", {"k", rows[i].value, 0});
        struct fumi_str got = untimed(&text);
        snprintf(want, sizeof(want), "debug e k=%s\n", rows[i].text);
        if (!fumi_eq(got, fumi_str(want)))
            TEST_FAIL("want %sgot %.*s", want, FUMI_ARG(got));
        got = untimed(&json);
        snprintf(want, sizeof(want), ",\"level\":\"debug\",\"event\":\"e\",\"k\":%s}\n",
                 rows[i].json);
        if (!fumi_eq(got, fumi_str(want)))
            TEST_FAIL("want %sgot %.*s", want, FUMI_ARG(got));
        wire_close(&text);
        wire_close(&json);
    }
}

TEST(numbers_keep_all_digits)
{
    static const struct {
        int64_t number;
        const char *want;
    } rows[] = {
        {0, "info e n=0\n"},
        {INT64_MAX, "info e n=9223372036854775807\n"},
        {INT64_MIN, "info e n=-9223372036854775808\n"},
    };
    struct wire w = wire_open(false);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        fumi_log(&w.log, FUMI_INFO, "e", {.key = "n", .number = rows[i].number});
        struct fumi_str got = untimed(&w);
        if (!fumi_eq(got, fumi_str(rows[i].want)))
            TEST_FAIL("want %sgot %.*s", rows[i].want, FUMI_ARG(got));
    }
    wire_close(&w);
}

/* Keys and event names come from the program, but a mistake in one must not make two lines either.
 */
TEST(keys_and_events_are_escaped_too)
{
    struct wire text = wire_open(false), json = wire_open(true);
    fumi_log(&text.log, FUMI_ERROR, "two\nlines", {"a key\n", FUMI_STR("v"), 0});
    fumi_log(&json.log, FUMI_ERROR, "two\nlines", {"a key\n", FUMI_STR("v"), 0});
    struct fumi_str plain = untimed(&text), object = untimed(&json);
    wire_close(&text);
    wire_close(&json);
    CHECK_STR(plain, "error \"two\\nlines\" \"a key\\n\"=v\n");
    CHECK_STR(object, ",\"level\":\"error\",\"event\":\"two\\nlines\",\"a key\\n\":\"v\"}\n");
}

TEST(levels_below_the_set_one_are_dropped)
{
    struct wire w = wire_open(false);
    for (int set = FUMI_DEBUG; set <= FUMI_SILENT; set++)
        for (int level = FUMI_DEBUG; level <= FUMI_SILENT; level++) {
            w.log.level = (enum fumi_level)set;
            fumi_log_pairs(&w.log, (enum fumi_level)level, "e", NULL, 0);
            bool written = line_of(&w).p, want = level >= set && level != FUMI_SILENT;
            if (written != want)
                TEST_FAIL("level %d with %d set: written %d", level, set, written);
        }
    wire_close(&w);
}

TEST(level_names)
{
    static const struct {
        struct fumi_str name;
        int want; /* -1: none */
    } rows[] = {
        {FUMI_STR("debug"), FUMI_DEBUG},
        {FUMI_STR("info"), FUMI_INFO},
        {FUMI_STR("warn"), FUMI_WARN},
        {FUMI_STR("error"), FUMI_ERROR},
        {FUMI_STR("silent"), FUMI_SILENT},
        {FUMI_STR(""), -1},
        {FUMI_STR("warning"), -1},
        {FUMI_STR("WARN"), -1},
        {FUMI_STR("warn\0"), -1},
        {FUMI_STR("war"), -1},
        {{NULL, 0}, -1},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        enum fumi_level level = FUMI_SILENT;
        bool known = fumi_level_of(rows[i].name, &level);
        if (known != (rows[i].want >= 0) || (known && (int)level != rows[i].want))
            TEST_FAIL("row %zu: %d, level %d", i, known, (int)level);
    }
}

TEST(no_log_and_no_descriptor_do_no_harm)
{
    fumi_log(NULL, FUMI_ERROR, "e", {"k", FUMI_STR("v"), 0});
    struct fumi_log gone = {.fd = 1 << 20};
    errno = ENOTDIR;
    fumi_log(&gone, FUMI_ERROR, "e", {"k", FUMI_STR("v"), 0});
    CHECK_INT(errno, ENOTDIR);
}

TEST(descriptor_0_means_stderr)
{
    struct wire w = wire_open(false);
    struct fumi_log log = {0};
    int saved = dup(STDERR_FILENO);
    dup2(w.out, STDERR_FILENO);
    fumi_log(&log, FUMI_DEBUG, "e", {"k", FUMI_STR("v"), 0});
    dup2(saved, STDERR_FILENO);
    close(saved);
    struct fumi_str s = untimed(&w);
    wire_close(&w);
    CHECK_STR(s, "debug e k=v\n");
}

TEST(values_are_cut_at_256_bytes_and_at_a_character)
{
    static const struct {
        const char *unit;
        size_t times, want;
    } rows[] = {
        {"a", 256, 256}, {"a", 257, 256},  {"a", 5000, 256}, {"文", 85, 255},
        {"文", 86, 255}, {"文", 100, 255}, {"😀", 64, 256},   {"😀", 65, 256},
    };
    struct wire w = wire_open(false);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        size_t size = strlen(rows[i].unit), n = size * rows[i].times;
        char *value = malloc(n);
        for (size_t j = 0; j < n; j++)
            value[j] = rows[i].unit[j % size];
        fumi_log(&w.log, FUMI_INFO, "e", {"k", (struct fumi_str){value, n}, 0});
        struct fumi_str got = after(untimed(&w), strlen("info e k="));
        if (got.n != rows[i].want + 1 || memcmp(got.p, value, rows[i].want) != 0)
            TEST_FAIL("row %zu: %zu bytes", i, got.n);
        free(value);
    }
    wire_close(&w);
}

/* Checks a flat JSON object of strings and numbers strictly by RFC 8259. */
static const char *string_end(const char *p, const char *end)
{
    if (p == end || *p++ != '"')
        return NULL;
    while (p < end && *p != '"') {
        size_t n = fumi_utf8_step(p, end);
        if (!n || (unsigned char)*p < 0x20)
            return NULL;
        if (*p == '\\' && end - p >= 2 && p[1] == 'u')
            n = end - p >= 6 && strspn(p + 2, "0123456789abcdef") >= 4 ? 6 : 0;
        else if (*p == '\\')
            n = end - p >= 2 && strchr("\"\\nrt", p[1]) ? 2 : 0;
        if (!n)
            return NULL;
        p += n;
    }
    return p < end ? p + 1 : NULL;
}

static const char *number_end(const char *p, const char *end)
{
    p += p < end && *p == '-';
    const char *digits = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p == digits || (*digits == '0' && p - digits > 1) ? NULL : p;
}

static bool object_line(struct fumi_str s)
{
    const char *p = s.p, *end = s.p + s.n;
    if (!s.n || *p != '{')
        return false;
    do {
        p = string_end(p + 1, end);
        if (!p || p == end || *p++ != ':' || p == end)
            return false;
        p = *p == '"' ? string_end(p, end) : number_end(p, end);
    } while (p && p < end && *p == ',');
    return p && end - p == 2 && memcmp(p, "}\n", 2) == 0;
}

TEST(random_values_stay_on_one_valid_line)
{
    struct wire text = wire_open(false), json = wire_open(true);
    uint64_t random = 8259;
    for (int round = 0; round < 3000; round++) {
        char value[64];
        size_t n = (random >> 40) % sizeof(value);
        for (size_t i = 0; i < n; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            value[i] = (char)(random >> 33);
        }
        fumi_log(&json.log, FUMI_INFO, "e", {"k", (struct fumi_str){value, n}, 0});
        fumi_log(&text.log, FUMI_INFO, "e", {"k", (struct fumi_str){value, n}, 0});
        CHECK(object_line(line_of(&json)));
        struct fumi_str s = line_of(&text);
        CHECK(fumi_utf8_valid(s));
        CHECK(s.n && s.p[s.n - 1] == '\n');
        for (size_t i = 0; i + 1 < s.n; i++)
            CHECK((unsigned char)s.p[i] >= 0x20);
    }
    wire_close(&text);
    wire_close(&json);
}

/* Lines of more than 4 KiB end after a whole pair, for all sizes around the limit. */
TEST(fields_that_do_not_fit_are_left_out)
{
    struct fumi_pair pairs[24];
    char value[256];
    memset(value, 'v', sizeof(value));
    for (size_t i = 0; i < FUMI_COUNT(pairs); i++)
        pairs[i] = (struct fumi_pair){"key", {value, sizeof(value)}, 0};
    struct wire text = wire_open(false), json = wire_open(true);
    size_t longest = 0;
    for (size_t n = 0; n <= sizeof(value); n++) {
        pairs[0].text.n = n;
        fumi_log_pairs(&text.log, FUMI_INFO, "e", pairs, FUMI_COUNT(pairs));
        fumi_log_pairs(&json.log, FUMI_INFO, "e", pairs, FUMI_COUNT(pairs));
        struct fumi_str s = line_of(&text);
        CHECK(s.n <= 4096 && ends_with(s, FUMI_STR("vvvv\n")));
        CHECK_INT((s.n - strlen("2026-11-15T21:48:58.123Z info e key=\n") - (n ? n : 2)) % 261, 0);
        longest = s.n > longest ? s.n : longest;
        s = line_of(&json);
        CHECK(s.n <= 4096 && s.n > 4096 - 300 && object_line(s));
    }
    wire_close(&text);
    wire_close(&json);
    CHECK(longest >= 4094);
}

TEST(a_line_full_of_escapes)
{
    struct fumi_pair pairs[10];
    char value[256];
    memset(value, 1, sizeof(value));
    for (size_t i = 0; i < FUMI_COUNT(pairs); i++)
        pairs[i] = (struct fumi_pair){"k", {value, sizeof(value)}, 0};
    struct wire w = wire_open(true);
    fumi_log_pairs(&w.log, FUMI_INFO, "e", pairs, FUMI_COUNT(pairs));
    struct fumi_str s = line_of(&w);
    bool whole = object_line(s);
    wire_close(&w);
    CHECK(whole);
    CHECK(s.n > 2 * 6 * 256 && s.n < 3 * 6 * 256);
}

/* An event name that fills the line leaves a valid line. */
TEST(a_very_long_event_name)
{
    char name[2000];
    memset(name, '\n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct wire text = wire_open(false), json = wire_open(true);
    fumi_log(&text.log, FUMI_INFO, name, {name, FUMI_STR("v"), 0}, {name, FUMI_STR("v"), 0});
    fumi_log(&json.log, FUMI_INFO, name, {name, FUMI_STR("v"), 0}, {name, FUMI_STR("v"), 0});
    struct fumi_str plain = untimed(&text);
    bool whole = object_line(line_of(&json));
    wire_close(&text);
    wire_close(&json);
    CHECK(ends_with(plain, FUMI_STR("\"=v\n")));
    CHECK(whole);
}

struct writer {
    pthread_t thread;
    const struct fumi_log *log;
    int64_t number;
};

enum { WRITERS = 4, LINES = 200 };

static void *write_lines(void *arg)
{
    struct writer *w = arg;
    for (int64_t i = 0; i < LINES; i++)
        fumi_log(w->log, FUMI_INFO, "e", {.key = "thread", .number = w->number},
                 {.key = "line", .number = i}, {"pad", FUMI_STR("日本語 日本語 日本語"), 0});
    return NULL;
}

static size_t read_all(int fd, char *out, size_t size)
{
    size_t n = 0;
    for (ssize_t got; n < size && (got = read(fd, out + n, size - n)) > 0;)
        n += (size_t)got;
    return n;
}

static struct fumi_str take_line(struct fumi_str *s)
{
    const char *end = s->n ? memchr(s->p, '\n', s->n) : NULL;
    if (!end)
        return (struct fumi_str){0};
    struct fumi_str line = {s->p, (size_t)(end + 1 - s->p)};
    *s = after(*s, line.n);
    return line;
}

/* Several threads and one pipe: every line is complete, and the lines of each thread are in order.
 */
TEST(lines_of_several_threads_do_not_mix)
{
    enum { SIZE = WRITERS * LINES * 200 };
    int ends[2];
    CHECK(!pipe(ends));
    struct fumi_log log = {.json = true, .fd = ends[1]};
    struct writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.log = &log, .number = i};
        CHECK(!pthread_create(&writers[i].thread, NULL, write_lines, &writers[i]));
    }
    char *all = calloc(1, SIZE + 1); /* terminated, for sscanf */
    size_t n = 0, lines = 0, broken = 0;
    while (lines < WRITERS * LINES && n < SIZE) {
        ssize_t got = read(ends[0], all + n, SIZE - n);
        for (ssize_t i = 0; i < got; i++)
            lines += all[n + (size_t)i] == '\n';
        n += (size_t)got;
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    int64_t next[WRITERS] = {0};
    struct fumi_str rest = {all, n};
    for (struct fumi_str s; (s = take_line(&rest)).p;) {
        const char *at = memmem(s.p, s.n, "\"thread\":", 9);
        int thread = 0, line = 0;
        bool read = at && sscanf(at, "\"thread\":%d,\"line\":%d,", &thread, &line) == 2;
        broken += !read || !object_line(s) || line != next[thread & 3]++;
    }
    free(all);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(lines, WRITERS * LINES);
    CHECK_INT(broken, 0);
}

static void fill_pipe(int fd)
{
    char block[4096] = {0};
    while (write(fd, block, sizeof(block)) > 0) {}
    while (write(fd, block, 1) > 0) {}
}

static int full_pipe(int ends[2])
{
    if (pipe(ends))
        return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fill_pipe(ends[1]);
    return 0;
}

/* Also if the descriptor is blocking, as an inherited stderr is. */
static void lose_a_line(int flags)
{
    int ends[2];
    CHECK(!full_pipe(ends));
    fcntl(ends[1], F_SETFL, flags);
    struct fumi_log log = {.fd = ends[1]};
    fumi_log(&log, FUMI_INFO, "lost", {"k", FUMI_STR("v"), 0});
    close(ends[1]);
    static char all[1 << 20];
    size_t n = read_all(ends[0], all, sizeof(all));
    close(ends[0]);
    CHECK(n && !memchr(all, '\n', n));
}

TEST(a_reader_that_never_reads_costs_the_line_only)
{
    alarm(30);
    lose_a_line(O_NONBLOCK);
    lose_a_line(0);
    alarm(0);
}

struct drain {
    pthread_t thread;
    int fd;
    size_t n;
    char bytes[1 << 20];
};

static void *drain(void *arg)
{
    struct drain *d = arg;
    d->n = read_all(d->fd, d->bytes, sizeof(d->bytes));
    return NULL;
}

static bool arrives(struct drain *d)
{
    int ends[2];
    if (full_pipe(ends))
        return false;
    struct fumi_log log = {.fd = ends[1]};
    d->fd = ends[0];
    bool started = !pthread_create(&d->thread, NULL, drain, d);
    fumi_log(&log, FUMI_INFO, "late", {"k", FUMI_STR("v"), 0});
    close(ends[1]);
    if (started)
        pthread_join(d->thread, NULL);
    close(ends[0]);
    return started && ends_with((struct fumi_str){d->bytes, d->n}, FUMI_STR(" info late k=v\n"));
}

/* On a busy machine the reader may be delayed for longer than the log waits: that is not a failure.
 */
TEST(a_slow_reader_still_gets_the_line)
{
    struct drain *d = calloc(1, sizeof(*d));
    bool came = false;
    for (int i = 0; i < 50 && !came; i++)
        came = arrives(d);
    free(d);
    CHECK(came);
}

static void nothing(int signal)
{
    (void)signal;
}

static void *log_one(void *arg)
{
    fumi_log((struct fumi_log *)arg, FUMI_INFO, "interrupted", {"k", FUMI_STR("v"), 0});
    return NULL;
}

/* The writer waits for a full pipe while signals arrive; then the pipe is emptied. Returns whether
 * the line arrived; *once: and nothing else did. */
static bool interrupted(struct drain *d, bool *once)
{
    int ends[2];
    pthread_t writer;
    if (full_pipe(ends))
        return false;
    fcntl(ends[1], F_SETFL, 0);
    struct fumi_log log = {.fd = ends[1]};
    pthread_create(&writer, NULL, log_one, &log);
    for (int i = 0; i < 100; i++)
        pthread_kill(writer, SIGUSR1);
    d->fd = ends[0];
    pthread_create(&d->thread, NULL, drain, d);
    pthread_join(writer, NULL);
    close(ends[1]);
    pthread_join(d->thread, NULL);
    close(ends[0]);
    const char *first = memchr(d->bytes, '\n', d->n);
    *once = !first || first == d->bytes + d->n - 1;
    return ends_with((struct fumi_str){d->bytes, d->n}, FUMI_STR(" info interrupted k=v\n"));
}

/* A busy machine may take longer than the log waits, so there are several attempts. */
TEST(signals_neither_lose_nor_repeat_a_line)
{
    struct sigaction act = {.sa_handler = nothing}, old;
    bool came = false, once = true;
    sigaction(SIGUSR1, &act, &old);
    for (int i = 0; i < 50 && !came && once; i++) {
        struct drain *d = calloc(1, sizeof(*d));
        came = interrupted(d, &once);
        free(d);
    }
    sigaction(SIGUSR1, &old, NULL);
    CHECK(came);
    CHECK(once);
}
