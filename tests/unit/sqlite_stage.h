/* A store in a directory of its own, and notes to put into it. */
#ifndef FUMI_SQLITE_STAGE_H
#define FUMI_SQLITE_STAGE_H

#include "base/arena.h"
#include "store/sqlite.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACE FUMI_STR("test:model:4")

enum { DIM = 4 };

struct stage {
    char top[64], path[128];
    bool sync; /* wait for the disk, as outside of tests */
    struct store *s;
    struct fumi_arena a;
    struct fumi_err e;
};

static const struct fumi_log stage_silent = {.level = FUMI_SILENT};

static inline int stage_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* The directory alone; the store's is made by the store. */
static inline bool stage_begin(struct stage *t)
{
    *t = (struct stage){.top = "/tmp/fumi-store-XXXXXX"};
    if (!mkdtemp(t->top))
        return false;
    snprintf(t->path, sizeof(t->path), "%s/data/memory.db", t->top);
    return true;
}

static inline struct store *stage_store(struct stage *t, const char *path)
{
    t->e = (struct fumi_err){0};
    struct store_sqlite_options o = {.path = path, .nosync = !t->sync, .log = &stage_silent};
    return store_sqlite_open(&o, &t->e);
}

static inline bool stage_open(struct stage *t)
{
    if (!t->top[0] && !stage_begin(t))
        return false;
    t->s = stage_store(t, t->path);
    if (!t->s)
        fprintf(stderr, "store_sqlite_open: %s\n", t->e.text);
    return t->s != NULL;
}

static inline void stage_shut(struct stage *t)
{
    if (t->s)
        store_close(t->s);
    t->s = NULL;
}

static inline void stage_end(struct stage *t)
{
    stage_shut(t);
    fumi_arena_done(&t->a);
    nftw(t->top, stage_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct note stage_note(const char *id, const char *text)
{
    return (struct note){.id = fumi_str(id),
                         .project = FUMI_STR("p"),
                         .group = FUMI_STR("global"),
                         .text = fumi_str(text),
                         .created = 1000};
}

static inline struct filter stage_filter(const char *project)
{
    return (struct filter){.project = fumi_str(project), .since = INT64_MIN, .until = INT64_MAX};
}

/* A unit vector in the plane of the first two dimensions. */
static inline void stage_vector(double angle, float out[DIM])
{
    memset(out, 0, DIM * sizeof(*out));
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

/* Puts a note with one vector, or none when the angle is NAN. */
static inline int stage_put(struct stage *t, struct note *n, double angle)
{
    float x[DIM];
    struct passage p = {0, (uint32_t)n->text.n, x};
    struct vectors v = {.space = SPACE, .dim = DIM, .items = &p, .n = !isnan(angle)};
    stage_vector(isnan(angle) ? 0 : angle, x);
    return store_add_note(t->s, n, &v, &t->e);
}

static inline int stage_add(struct stage *t, const char *id, const char *text, double angle)
{
    struct note n = stage_note(id, text);
    return stage_put(t, &n, angle);
}

static inline int stage_near(struct stage *t, const struct filter *f, double angle, size_t limit,
                             struct hits *out)
{
    float x[DIM];
    stage_vector(angle, x);
    return store_nearest(t->s, &t->a, f, SPACE, x, DIM, limit, out, &t->e);
}

/* Loads whole lists into an arena. */
#define ALL_IN(a) (&(const struct loading){.arena = (a)})

/* The ids of the notes that were found, with a blank between them. */
static inline struct fumi_str stage_ids(struct stage *t, const struct hits *h)
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

static inline struct fumi_str stage_note_ids(struct stage *t, const struct notes *notes)
{
    struct fumi_str out = FUMI_STR("");
    for (size_t i = 0; i < notes->n; i++)
        out = fumi_fmt(&t->a, "%.*s%s%.*s", FUMI_ARG(out), i ? " " : "",
                       FUMI_ARG(notes->items[i].id));
    return out;
}

/* What doctor says, when it is to find nothing. */
static inline void stage_say(void *arg, const char *sentence)
{
    struct fumi_arena *a = arg;
    (void)a;
    if (!strstr(sentence, "sound") && !strstr(sentence, "looked at") &&
        !strstr(sentence, "Removed texts: erased."))
        fprintf(stderr, "doctor: %s\n", sentence);
}

static inline bool stage_sound(struct stage *t)
{
    return store_check(t->s, false, stage_say, &t->a, &t->e) == 0;
}

#endif
