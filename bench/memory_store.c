/* Database files for bench_memory.
 *
 *   memory_store fill FILE            adds the lines of the standard input as notes of the project
 *                                     "bench", with generated vectors, without syncing; prints the
 *                                     number of notes
 *   memory_store insert FILE SECONDS  the baseline: inserts each line as a row of a bare table, in
 *                                     a durable transaction of its own, for at most SECONDS; prints
 *                                     the microseconds of each from BEGIN to the end of COMMIT
 *   memory_store count FILE TABLE     prints the number of rows
 *
 * The vectors belong to the space of the local model (FUMI_MODEL), so that fumi searches them. */
#include "base/clock.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"
#include "store/sqlite.h"
#include "store/vector.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Many threads fill faster than one, because the store commits their writes together. */
enum { DIM = 384, CENTRES = 500, SESSION_NOTES = 20, FILLERS = 32 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};
static const struct embed_config local = {.provider = FUMI_STR("local")};

struct filling {
    struct store *store;
    struct fumi_str space;
    pthread_mutex_t lock; /* of the standard input and n */
    uint64_t n;
};

static _Noreturn void fail(const char *what, const char *text)
{
    fprintf(stderr, "memory_store: %s: %s\n", what, text);
    exit(1);
}

static uint32_t roll(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(*state >> 33);
}

/* A unit vector near one of CENTRES random centres, like the vectors of texts on the same topic. */
static void vector(uint64_t seed, float x[DIM])
{
    uint64_t own = seed * 0x9e3779b97f4a7c15, centre;
    roll(&own);
    centre = 1000 + roll(&own) % CENTRES;
    for (size_t i = 0; i < DIM; i++)
        x[i] = (float)(roll(&centre) % 2001) - 1000 + 0.7F * ((float)(roll(&own) % 2001) - 1000);
    vector_normalise(x, DIM);
}

static void add(const struct filling *f, struct fumi_str text, uint64_t i)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    float x[DIM];
    char id[FUMI_UUID_SIZE], session[32];
    fumi_uuid(id);
    snprintf(session, sizeof(session), "s%llu", (unsigned long long)i / SESSION_NOTES);
    struct note n = {.id = {id, sizeof(id)},
                     .project = FUMI_STR("bench"),
                     .group = FUMI_STR("g"),
                     .text = text,
                     .session = fumi_str(session),
                     .created = {fumi_now(), true}};
    vector(i + 1, x);
    struct passage p = {0, (uint32_t)text.n, x};
    struct vectors v = {f->space, DIM, &p, 1};
    if (store_add_note(f->store, &a, &n,
                       &(struct note_change){.vectors = &v, .allow_duplicate = true}, &e))
        fail("add", e.text);
    fumi_arena_done(&a);
}

/* Reads a line without its line feed. Returns its length, or -1 at the end. */
static ssize_t next_line(char **line, size_t *size)
{
    ssize_t n = getline(line, size, stdin);
    return n > 0 && (*line)[n - 1] == '\n' ? n - 1 : n;
}

static void *filler(void *arg)
{
    struct filling *f = arg;
    char *line = NULL;
    size_t size = 0;
    for (;;) {
        pthread_mutex_lock(&f->lock);
        ssize_t n = next_line(&line, &size);
        uint64_t i = n >= 0 ? f->n++ : 0;
        pthread_mutex_unlock(&f->lock);
        if (n < 0)
            break;
        add(f, (struct fumi_str){line, (size_t)n}, i);
    }
    free(line);
    return NULL;
}

static int fill(const char *path, const char *unused)
{
    (void)unused;
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct space *sp = space_new(&local, &quiet, &e);
    if (!sp)
        fail("model", e.text);
    struct filling f = {.space = space_name(sp, &a), .lock = PTHREAD_MUTEX_INITIALIZER};
    const struct store_sqlite_options o = {.path = path, .nosync = true, .log = &quiet};
    f.store = store_sqlite_open(&o, &e);
    if (!f.store)
        fail(path, e.text);
    pthread_t threads[FILLERS];
    for (size_t i = 0; i < FILLERS; i++)
        if (pthread_create(&threads[i], NULL, filler, &f))
            fail("fill", "cannot start a thread");
    for (size_t i = 0; i < FILLERS; i++)
        pthread_join(threads[i], NULL);
    store_close(f.store);
    space_put(sp);
    fumi_arena_done(&a);
    printf("%llu\n", (unsigned long long)f.n);
    return 0;
}

static sqlite3 *open_plain(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db))
        fail(path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 30000);
    return db;
}

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL))
        fail(sql, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail(sql, sqlite3_errmsg(db));
    return s;
}

static void step(sqlite3_stmt *s)
{
    if (sqlite3_step(s) != SQLITE_DONE)
        fail("insert", sqlite3_errmsg(sqlite3_db_handle(s)));
    sqlite3_reset(s);
}

/* All three statements are prepared once, as in the store. */
static int insert(const char *path, const char *seconds)
{
    sqlite3 *db = open_plain(path);
    run_sql(db, "PRAGMA journal_mode = WAL");
    run_sql(db, "PRAGMA synchronous = FULL");
    run_sql(db, "CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *row = prepare(db, "INSERT INTO notes(text) VALUES (?1)");
    char *line = NULL;
    size_t size = 0;
    int64_t end = fumi_ticks() + (int64_t)(strtod(seconds, NULL) * 1e9);
    for (ssize_t n; fumi_ticks() < end && (n = next_line(&line, &size)) >= 0;) {
        int64_t began = fumi_ticks();
        step(begin);
        sqlite3_bind_text(row, 1, line, (int)n, SQLITE_STATIC);
        step(row);
        step(commit);
        printf("%.1f\n", (double)(fumi_ticks() - began) / 1e3);
    }
    free(line);
    sqlite3_finalize(begin);
    sqlite3_finalize(row);
    sqlite3_finalize(commit);
    return sqlite3_close(db);
}

static int count(const char *path, const char *table)
{
    sqlite3 *db = open_plain(path);
    char sql[200];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"%s\"", table);
    sqlite3_stmt *s = prepare(db, sql);
    if (sqlite3_step(s) != SQLITE_ROW)
        fail(path, sqlite3_errmsg(db));
    printf("%lld\n", (long long)sqlite3_column_int64(s, 0));
    sqlite3_finalize(s);
    return sqlite3_close(db);
}

static const struct {
    const char *name;
    int n; /* of arguments */
    int (*run)(const char *path, const char *more);
} commands[] = {{"fill", 3, fill}, {"insert", 4, insert}, {"count", 4, count}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (argc == commands[i].n && !strcmp(argv[1], commands[i].name))
            return commands[i].run(argv[2], argv[3]);
    fprintf(stderr, "usage: memory_store fill FILE | insert FILE SECONDS | count FILE TABLE\n");
    return 2;
}
