/* Writes to a store and prints a line for each operation that it begins and that was acknowledged:
 *
 *   driver add DB STEPS WRITER [THREADS]    notes
 *   driver mixed DB STEPS WRITER [THREADS]  notes, changes, drops, globals, groups, searches
 *   driver many DB STEPS WRITER WRITERS     as add, but begins after it has read a byte from stdin;
 *                                           prints the time it took; after the next byte checks
 *                                           that it sees the notes of all WRITERS
 *   driver check DB                         checks the store against such lines from stdin
 *   driver backup DB TO                     prints "D backup" after the copy was made
 *   driver life DB STEPS WRITER             what life.c does; prints "D step"
 *   driver same DB TEXT                     waits for a byte, adds the text, prints its id
 *   driver open DB [FROM]                   copies the file FROM to DB; prints "S", opens the store
 *                                           (which may migrate it), and prints "D open"
 *
 * CRASH_NOSYNC=1: without syncs. CRASH_SESSION=n: closes and opens the store after every n steps.
 * CRASH_COPY=1: each session ends with a backup DB.copyN and "D copy N". Each line is written by
 * one call of write(), so that the lines of several threads do not mix. */
#include "crash.h"
#include "store/sqlite.h"

#include "base/arena.h"
#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

struct writer {
    struct store *s;
    unsigned number, from, to;
    bool mixed;
    int64_t longest; /* nanoseconds of the slowest operation */
    int rc;
};

static void print_line(const char *line, size_t n)
{
    if (write(1, line, n) != (ssize_t)n)
        _exit(3);
}

static void mark(char what, struct crash_thing t)
{
    char line[64];
    int n = crash_line(line, sizeof(line), what, t);
    print_line(line, (size_t)n);
}

static int complain(const struct fumi_err *e)
{
    fprintf(stderr, "driver: %d %s (at %lld ms)\n", e->code, e->text,
            (long long)(fumi_ticks() / 1000000));
    return 1;
}

static int one(struct writer *w, struct crash_thing t)
{
    struct fumi_err e = {0};
    mark('B', t);
    int64_t begin = fumi_ticks();
    if (crash_do(w->s, t, &e))
        return complain(&e);
    int64_t took = fumi_ticks() - begin;
    w->longest = took > w->longest ? took : w->longest;
    mark('D', t);
    return 0;
}

/* Finds the note that was just added by its vector, so that the vector cache is used, too. */
static int search(struct writer *w, unsigned step)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct filter f = {.project = CRASH_PROJECT, .since = INT64_MIN, .until = INT64_MAX};
    struct hits h = {0};
    float x[CRASH_DIM];
    crash_vector((struct crash_thing){CRASH_NOTE, w->number, step, 1}, 0, x);
    if (!store_nearest(w->s, &a, &f, CRASH_SPACE, x, CRASH_DIM, 1, &h, &e) &&
        (h.n == 0 || h.items[0].score < 0.999))
        fumi_err_set(&e, FUMI_INTERNAL_ERROR, "note %u/%u is not found", w->number, step);
    fumi_arena_done(&a);
    return e.code ? complain(&e) : 0;
}

static void *work(void *arg)
{
    struct writer *w = arg;
    struct crash_thing t;
    for (unsigned i = w->from; i < w->to && !w->rc; i++) {
        for (unsigned part = 0; !w->rc && crash_plan(w->number, i, part, w->mixed, &t); part++)
            w->rc = one(w, t);
        if (!w->rc && w->mixed && i % 5 == 4)
            w->rc = search(w, i);
    }
    return NULL;
}

static int run_threads(struct writer *w, unsigned n)
{
    pthread_t threads[THREADS_MAX];
    int rc = 0;
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, &w[i]))
            abort();
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        rc |= w[i].rc;
    }
    return rc;
}

static struct store *open_store(const char *path)
{
    struct fumi_err e = {0};
    static const struct fumi_log log = {.level = FUMI_SILENT};
    struct store_sqlite_options o = {.path = path, .nosync = crash_setting("CRASH_NOSYNC", 0)};
    o.log = &log;
    struct store *s = store_sqlite_open(&o, &e);
    if (!s)
        complain(&e);
    return s;
}

static int copy(struct store *s, const char *path, unsigned n)
{
    char to[512], line[32];
    struct fumi_err e = {0};
    snprintf(to, sizeof(to), "%s.copy%u", path, n);
    if (store_backup(s, fumi_str(to), &e))
        return complain(&e);
    int length = snprintf(line, sizeof(line), "D copy %u\n", n);
    print_line(line, (size_t)length);
    return 0;
}

/* Opens the store, runs the steps from..to in all threads, and closes it. */
static int session(const char *path, struct writer *w, unsigned n, unsigned from, unsigned to)
{
    struct store *s = open_store(path);
    if (!s)
        return 1;
    for (unsigned i = 0; i < n; i++) {
        w[i].s = s;
        w[i].from = from;
        w[i].to = to;
    }
    int rc = run_threads(w, n);
    if (!rc && crash_setting("CRASH_COPY", 0))
        rc = copy(s, path, from);
    store_close(s);
    return rc;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

static int drive(int argc, char **argv)
{
    struct writer w[THREADS_MAX] = {0};
    unsigned steps = number(argv[3]), threads = argc > 5 ? number(argv[5]) : 1;
    unsigned length = crash_setting("CRASH_SESSION", steps);
    int rc = 0;
    if (threads < 1 || threads > THREADS_MAX || !length)
        return 2;
    for (unsigned i = 0; i < threads; i++)
        w[i] = (struct writer){.number = number(argv[4]) + i, .mixed = argv[1][0] == 'm'};
    print_line("S\n", 2);
    for (unsigned from = 0; from < steps && !rc; from += length)
        rc = session(argv[2], w, threads, from, from + length < steps ? from + length : steps);
    return rc;
}

static bool gate(void)
{
    char byte;
    return read(0, &byte, 1) == 1;
}

static int see(struct store *s, unsigned steps, unsigned writers)
{
    struct ledger l = {0};
    struct fumi_buf output = {0};
    for (unsigned w = 0; w < writers; w++)
        for (unsigned i = 0; i < steps; i++)
            ledger_set(&l, 'D', (struct crash_thing){CRASH_NOTE, w, i, 1});
    int faults = crash_check(s, &l, LOOK_FIND, &output);
    fprintf(stderr, "%.*s", (int)output.n, output.n ? output.p : "");
    ledger_done(&l);
    fumi_buf_done(&output);
    return faults ? 1 : 0;
}

static int many_open(struct store *s, char **argv)
{
    char line[64];
    struct writer w = {.s = s, .number = number(argv[4]), .to = number(argv[3])};
    int64_t begin = fumi_ticks();
    work(&w);
    int n = snprintf(line, sizeof(line), "T %lld %lld\n", (long long)(fumi_ticks() - begin),
                     (long long)w.longest);
    print_line(line, (size_t)n);
    return w.rc || !gate() ? 1 : see(s, w.to, number(argv[5]));
}

static int many(int argc, char **argv)
{
    if (argc < 6 || !gate())
        return 2;
    struct store *s = open_store(argv[2]);
    if (!s)
        return 1;
    int rc = many_open(s, argv);
    store_close(s);
    return rc;
}

static int check(int argc, char **argv)
{
    (void)argc;
    struct fumi_buf in = {0}, output = {0};
    struct ledger l = {0};
    ssize_t n;
    while ((n = read(0, fumi_buf_reserve(&in, 1 << 16), 1 << 16)) > 0) {
        in.n += (size_t)n;
        ledger_lines(&l, &in);
    }
    int faults = crash_check_file(argv[2], &l, LOOK_ALL, &output);
    printf("%.*s", (int)output.n, output.n ? output.p : "");
    printf("%zu acknowledged, %d faults\n", l.acknowledged, faults);
    ledger_done(&l);
    fumi_buf_done(&in);
    fumi_buf_done(&output);
    return faults ? 1 : 0;
}

static int backup(int argc, char **argv)
{
    struct fumi_err e = {0};
    struct store *s = argc > 3 ? open_store(argv[2]) : NULL;
    if (!s)
        return 1;
    print_line("B backup\n", 9);
    int rc = store_backup(s, fumi_str(argv[3]), &e);
    if (rc)
        complain(&e);
    else
        print_line("D backup\n", 9);
    store_close(s);
    return rc ? 1 : 0;
}

static int sync_directory_of(const char *path)
{
    char dir[512];
    snprintf(dir, sizeof(dir), "%s", path);
    *strrchr(dir, '/') = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Creates a copy that survives a power cut. The file `to` must not exist: the recorder does not
 * support files that are truncated by open(). */
static int put_copy(const char *from, const char *to)
{
    struct fumi_buf bytes = {0};
    int fd = -1, rc = crash_read(from, &bytes);
    if (!rc)
        fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n || fsync(fd))
        rc = -1;
    if (fd >= 0)
        close(fd);
    fumi_buf_done(&bytes);
    return rc ? -1 : sync_directory_of(to);
}

static int open_only(int argc, char **argv)
{
    if (argc > 3 && put_copy(argv[3], argv[2]))
        return 2;
    print_line("S\n", 2);
    struct store *s = open_store(argv[2]);
    if (!s)
        return 1;
    print_line("D open\n", 7);
    store_close(s);
    return 0;
}

static int live(int argc, char **argv)
{
    (void)argc;
    struct fumi_err e = {0};
    struct store *s = open_store(argv[2]);
    int rc = s ? 0 : 1;
    for (unsigned i = 0, n = number(argv[3]); i < n && !rc; i++) {
        rc = crash_live(s, number(argv[4]), i, &e) ? complain(&e) : 0;
        print_line("D step\n", 7);
    }
    if (s)
        store_close(s);
    return rc;
}

static int same(int argc, char **argv)
{
    (void)argc;
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct note_change how = {.by = NULL};
    struct store *s = gate() ? open_store(argv[2]) : NULL;
    if (!s)
        return 1;
    struct note n = {.id = fumi_fmt(&a, "%d", (int)getpid()),
                     .project = CRASH_PROJECT,
                     .group = FUMI_STR("g"),
                     .text = fumi_str(argv[3]),
                     .created = {1, true}};
    int rc = store_add_note(s, &a, &n, &how, &e) ? complain(&e) : 0;
    struct fumi_str line = fumi_fmt(&a, "%.*s\n", FUMI_ARG(n.id));
    print_line(line.p, line.n);
    store_close(s);
    fumi_arena_done(&a);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(int argc, char **argv);
    } modes[] = {{"add", 5, drive},   {"mixed", 5, drive},   {"many", 6, many},
                 {"check", 3, check}, {"backup", 4, backup}, {"open", 3, open_only},
                 {"life", 5, live},   {"same", 4, same}};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++)
        if (argc >= modes[i].words && strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argc, argv);
    fprintf(stderr, "usage: %s add|mixed|many|check|backup|open|life|same DB ...\n", argv[0]);
    return 2;
}
