/* A memory on a real store, with a provider that works or fails, and searches that wait for all
 * vectors of the notes that were just stored. */
#ifndef FUMI_MEMORY_FIXTURE_H
#define FUMI_MEMORY_FIXTURE_H

#include "base/clock.h"
#include "fake_provider.h"
#include "memory/memory.h"
#include "store/sqlite.h"
#include "test.h"

#include <ftw.h>
#include <sqlite3.h>
#include <time.h>

enum { PATIENCE_MS = 60000, EMBED_MS = 10000 };

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct fixture {
    struct fumi_arena a;
    struct fumi_arena saving; /* including those of the background thread */
    char dir[64];
    struct fake *fake;
    struct memory *m;
    struct embed_config saved, saved_previous;
    int saves;
    struct fumi_str warning; /* of the last change */
    struct fumi_err e;
};

static inline int save(void *arg, const struct embed_config *now,
                       const struct embed_config *previous, struct fumi_err *e)
{
    struct fixture *s = arg;
    (void)e;
    s->saved = *now, s->saved_previous = *previous;
    s->saved.provider = fumi_dup(&s->saving, now->provider);
    s->saved.model = fumi_dup(&s->saving, now->model);
    s->saved.base_url = fumi_dup(&s->saving, now->base_url);
    s->saved.api_key = fumi_dup(&s->saving, now->api_key);
    s->saved_previous.provider = fumi_dup(&s->saving, previous->provider);
    s->saved_previous.model = fumi_dup(&s->saving, previous->model);
    s->saved_previous.base_url = fumi_dup(&s->saving, previous->base_url);
    s->saved_previous.api_key = fumi_dup(&s->saving, previous->api_key);
    s->saves++;
    return 0;
}

static inline struct fumi_str url(struct fixture *s)
{
    return fumi_fmt(&s->a, "http://127.0.0.1:%d/v1", s->fake->port);
}

static inline struct embed_config fake_config(struct fixture *s, const char *model)
{
    return (struct embed_config){.provider = FUMI_STR("openai"),
                                 .model = fumi_str(model),
                                 .base_url = url(s),
                                 .api_key = FUMI_STR("sk-test-key")};
}

static inline struct memory *open_memory(struct fixture *s, struct embed_config c,
                                         struct embed_config previous, bool work)
{
    struct fumi_str path = fumi_fmt(&s->a, "%s/memory.db", s->dir);
    struct memory_options o = {
        .store = store_sqlite_open(&(struct store_sqlite_options){.path = path.p, .log = &quiet},
                                   &s->e),
        .embed = c,
        .previous = previous,
        .patience = PATIENCE_MS,
        .log = &quiet,
        .save = save,
        .arg = s,
    };
    struct memory *m = o.store ? memory_open(&o, &s->e) : NULL;
    if (m && work)
        memory_start(m, &s->e);
    return m;
}

static inline bool begin(struct fixture *s, const char *model)
{
    struct embed_config none = {.dim = 0};
    *s = (struct fixture){.dir = "/tmp/test-memory-XXXXXX"};
    s->fake = fake_start(0);
    if (!s->fake || !mkdtemp(s->dir))
        return false;
    s->m = open_memory(s, fake_config(s, model), none, true);
    return s->m;
}

static inline int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void end(struct fixture *s)
{
    memory_close(s->m);
    fake_stop(s->fake);
    nftw(s->dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&s->saving);
    fumi_arena_done(&s->a);
}

static inline int add(struct fixture *s, const char *text, struct written *w)
{
    struct note n = {.project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = fumi_str(text)};
    w->change.allow_duplicate = true;
    return memory_add(s->m, &s->a, &n, EMBED_MS, w, &s->e);
}

static inline int look(struct fixture *s, const char *query, enum search_mode mode, struct found *f)
{
    struct search q = {.filter = {.project = FUMI_STR("p"), .since = INT64_MIN, .until = INT64_MAX},
                       .query = fumi_str(query),
                       .top = 5,
                       .mode = mode,
                       .ms = EMBED_MS};
    return memory_search(s->m, &s->a, &q, f, &s->e);
}

static inline int64_t number(struct fixture *s, const char *sql)
{
    sqlite3 *h = NULL;
    sqlite3_stmt *q = NULL;
    int64_t n = -1;
    if (sqlite3_open(fumi_fmt(&s->a, "%s/memory.db", s->dir).p, &h) == 0 &&
        sqlite3_prepare_v2(h, sql, -1, &q, NULL) == 0 && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(h);
    return n;
}

/* Waits until the background thread has recorded why it cannot embed. */
static inline bool fails(struct fixture *s)
{
    int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 10000000};
    for (; fumi_ticks() < until; nanosleep(&moment, NULL)) {
        struct embedding_progress p;
        if (memory_progress(s->m, &s->a, &p, &s->e))
            return false;
        if (p.error.n)
            return true;
    }
    return false;
}

/* Waits until all notes have vectors in the current space and that space is searched. Returns false
 * if that does not happen. */
static inline bool complete(struct fixture *s)
{
    int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 10000000};
    while (fumi_ticks() < until) {
        struct embedding_progress p;
        if (memory_progress(s->m, &s->a, &p, &s->e))
            return false;
        if (p.done == p.total && fumi_eq(p.serving, memory_space(s->m, &s->a)))
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

#endif
