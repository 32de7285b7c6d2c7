/* A store in a temporary directory, and notes for it. The variable FUMI_TEST_STORE names its
 * engine. */
#ifndef FUMI_STORE_FIXTURE_H
#define FUMI_STORE_FIXTURE_H

#include "base/arena.h"
#include "postgres_fixture.h"
#include "store/sqlite.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACE FUMI_STR("test:model:4")

enum { DIM = 4 };

struct fixture {
    char top[64], path[128];
    bool sync;     /* sync each commit to disk, as outside of tests */
    bool database; /* there is one in PostgreSQL */
    struct store *s;
    struct fumi_arena a;
    struct fumi_err e;
};

static const struct fumi_log fixture_silent = {.level = FUMI_SILENT};

static inline int fixture_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* Creates the temporary directory; the store creates its own directory in it. */
static inline bool fixture_begin(struct fixture *t)
{
    *t = (struct fixture){.top = "/tmp/fumi-store-XXXXXX"};
    if (!mkdtemp(t->top))
        return false;
    snprintf(t->path, sizeof(t->path), "%s/data/memory.db", t->top);
    return true;
}

static inline struct store *fixture_open_sqlite(struct fixture *t, const char *path)
{
    struct store_sqlite_options o = {.path = path, .nosync = !t->sync, .log = &fixture_silent};
    return store_sqlite_open(&o, &t->e);
}

/* The database of the fixture has the name of its directory. */
static inline const char *fixture_database(const struct fixture *t)
{
    return strrchr(t->top, '/') + 1;
}

/* The replica is in the directory of `path`. */
static inline struct store *fixture_open_postgres(struct fixture *t, const char *path)
{
    char url[300], sql[120], dir[128];
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(sql, sizeof(sql), "CREATE DATABASE \"%s\"", fixture_database(t));
    if (!t->database && postgres_run("postgres", sql))
        return NULL;
    t->database = true;
    mkdir(dir, 0700);
    postgres_url(fixture_database(t), url, sizeof(url));
    struct store_postgres_options o = {.url = url, .dir = dir, .log = &fixture_silent};
    return store_postgres_open(&o, &t->e);
}

static const struct fixture_engine {
    const char *name;
    struct store *(*open)(struct fixture *t, const char *path);
} fixture_engines[] = {
    {"sqlite", fixture_open_sqlite},
    {"postgres", fixture_open_postgres},
};

/* Opens the store as another process would. */
static inline struct store *fixture_store(struct fixture *t, const char *path)
{
    const char *name = getenv("FUMI_TEST_STORE");
    t->e = (struct fumi_err){0};
    for (size_t i = 0; i < FUMI_COUNT(fixture_engines); i++)
        if (!name || strcmp(name, fixture_engines[i].name) == 0)
            return fixture_engines[i].open(t, path);
    fumi_err_set(&t->e, FUMI_INTERNAL_ERROR, "FUMI_TEST_STORE: there is no engine %s", name);
    return NULL;
}

static inline bool fixture_open(struct fixture *t)
{
    if (!t->top[0] && !fixture_begin(t))
        return false;
    t->s = fixture_store(t, t->path);
    if (!t->s)
        fprintf(stderr, "the store does not open: %s\n", t->e.text);
    return t->s != NULL;
}

static inline void fixture_shut(struct fixture *t)
{
    if (t->s)
        store_close(t->s);
    t->s = NULL;
}

/* The file of the replica in the directory. */
static inline bool fixture_replica(const char *dir, char *to, size_t size)
{
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/replica-*.db", dir);
    bool one = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1;
    snprintf(to, size, "%s", one ? found.gl_pathv[0] : "");
    globfree(&found);
    return one;
}

/* Whether PostgreSQL has the same rows as the replica: a new server copies them. */
static inline bool fixture_copied(struct fixture *t, const char *dir)
{
    char fresh[100], one[200], other[200];
    snprintf(fresh, sizeof(fresh), "%s/fresh/memory.db", t->top);
    struct store *s = fixture_open_postgres(t, fresh);
    if (!s)
        return fprintf(stderr, "no copy: %s\n", t->e.text), false;
    bool sound = store_check(s, false, NULL, NULL, &t->e) == 0;
    store_close(s);
    snprintf(fresh, sizeof(fresh), "%s/fresh", t->top);
    bool same = fixture_replica(dir, one, sizeof(one)) &&
                fixture_replica(fresh, other, sizeof(other)) && postgres_same(one, other);
    nftw(fresh, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
    if (!sound)
        fprintf(stderr, "the copy of the store is not sound: %s\n", t->e.text);
    return sound && same;
}

static inline void fixture_end_database(struct fixture *t)
{
    char dir[100];
    snprintf(dir, sizeof(dir), "%s/data", t->top);
    if (!fixture_copied(t, dir))
        exit(1);
}

static inline void fixture_end(struct fixture *t)
{
    fixture_shut(t);
    if (t->database)
        fixture_end_database(t);
    fumi_arena_done(&t->a);
    nftw(t->top, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct note fixture_note(const char *id, const char *text)
{
    return (struct note){.id = fumi_str(id),
                         .project = FUMI_STR("p"),
                         .group = FUMI_STR("global"),
                         .text = fumi_str(text),
                         .created = {1000, true}};
}

static inline struct filter fixture_filter(const char *project)
{
    return (struct filter){.project = fumi_str(project), .since = INT64_MIN, .until = INT64_MAX};
}

/* A unit vector in the plane of the first two dimensions. */
static inline void fixture_vector(double angle, float out[DIM])
{
    memset(out, 0, DIM * sizeof(*out));
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

/* Adds a note with one vector, or without a vector if the angle is NAN. Nothing of the change is
 * returned, so threads with a fixture of their own need not free its arena. */
static inline int fixture_put(struct fixture *t, struct note *n, double angle)
{
    float x[DIM];
    struct passage p = {0, (uint32_t)n->text.n, x};
    struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = !isnan(angle)};
    struct fumi_arena a = {0};
    fixture_vector(isnan(angle) ? 0 : angle, x);
    int rc = store_add_note(t->s, &a, n,
                            &(struct note_change){.vectors = &v, .allow_duplicate = true}, &t->e);
    fumi_arena_done(&a);
    return rc;
}

static inline int fixture_add(struct fixture *t, const char *id, const char *text, double angle)
{
    struct note n = fixture_note(id, text);
    return fixture_put(t, &n, angle);
}

/* Erases what has the id, and all that the journal knows about it. */
static inline int fixture_forget(struct fixture *t, const char *id)
{
    struct fumi_str name = fumi_str(id);
    struct forgotten out;
    return store_forget(t->s, &t->a, &(struct forget_query){.ids = {&name, 1}}, NULL, &out, &t->e);
}

static inline int fixture_near(struct fixture *t, const struct filter *f, double angle,
                               size_t limit, struct hits *out)
{
    float x[DIM];
    fixture_vector(angle, x);
    return store_nearest(t->s, &t->a, f, SPACE, x, DIM, limit, out, &t->e);
}

static inline int fixture_match(struct fixture *t, const struct filter *f, struct fumi_str query,
                                size_t limit, struct hits *out)
{
    const struct keyword_query q = {.text = query, .limit = limit};
    struct keyword_hits found = {0};
    int rc = store_match_keywords(t->s, &t->a, f, &q, &found, &t->e);
    *out = found.hits;
    return rc;
}

/* Loads whole lists into an arena. */
#define ALL_IN(a) (&(const struct loading){.arena = (a)})

/* The ids of the notes, separated by spaces. */
static inline struct fumi_str fixture_ids(struct fixture *t, const struct hits *h)
{
    int64_t *seqs = fumi_alloc(&t->a, h->n * sizeof(*seqs));
    struct notes notes = {0};
    for (size_t i = 0; i < h->n; i++)
        seqs[i] = h->items[i].seq;
    if (store_load_notes(t->s, ALL_IN(&t->a), seqs, h->n, &notes, &t->e))
        return FUMI_STR("load failed");
    struct fumi_str out = FUMI_STR("");
    for (size_t i = 0; i < notes.n; i++)
        out = fumi_fmt(&t->a, "%.*s%s%.*s", FUMI_ARG(out), i ? " " : "",
                       FUMI_ARG(notes.items[i].id));
    return out;
}

static inline struct fumi_str fixture_note_ids(struct fixture *t, const struct notes *notes)
{
    struct fumi_str out = FUMI_STR("");
    for (size_t i = 0; i < notes->n; i++)
        out = fumi_fmt(&t->a, "%.*s%s%.*s", FUMI_ARG(out), i ? " " : "",
                       FUMI_ARG(notes->items[i].id));
    return out;
}

/* Prints the findings of a check that is expected to find nothing. */
static inline void fixture_say(void *arg, const char *sentence)
{
    struct fumi_arena *a = arg;
    (void)a;
    if (!strstr(sentence, ": no damage.") && !strstr(sentence, "Notes checked") &&
        !strstr(sentence, "Deleted texts: erased."))
        fprintf(stderr, "doctor: %s\n", sentence);
}

static inline bool fixture_sound(struct fixture *t)
{
    return store_check(t->s, false, fixture_say, &t->a, &t->e) == 0;
}

#endif
