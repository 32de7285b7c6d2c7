/* Opens and closes the store, and keeps a free list of connections for reading. */
#include "store/sqlite_counts.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_file.h"
#include "store/sqlite_index.h"
#include "store/sqlite_merge.h"
#include "store/sqlite_ops.h"
#include "store/sqlite_readonly.h"

#include "base/arena.h"

#include <assert.h>

enum { READERS_KEPT = 8, PATIENCE_MS = 2000 };

static struct db *take_reader(struct store_sqlite *s, struct fumi_err *e)
{
    pthread_mutex_lock(&s->readers_lock);
    struct db *d = s->readers;
    if (d) {
        s->readers = d->next;
        s->readers_n--;
    }
    pthread_mutex_unlock(&s->readers_lock);
    return d ? d : store_sqlite_connect(s, false, e);
}

static void give_reader(struct store_sqlite *s, struct db *d)
{
    pthread_mutex_lock(&s->readers_lock);
    bool keep = !d->bad && s->readers_n < READERS_KEPT;
    if (keep) {
        d->next = s->readers;
        s->readers = d;
        s->readers_n++;
    }
    pthread_mutex_unlock(&s->readers_lock);
    if (!keep)
        store_sqlite_disconnect(d);
}

static int read_once(struct db *d, store_sqlite_fn *run, void *arg, struct fumi_err *e)
{
    assert(!d->bad && sqlite3_get_autocommit(d->h));
    if (store_sqlite_run(d, e, "BEGIN", ""))
        return -1;
    int rc = run(d, arg, e);
    struct fumi_err ignored;
    if (store_sqlite_run(d, &ignored, "COMMIT", ""))
        d->bad = true;
    return rc;
}

int store_sqlite_read(struct store *base, store_sqlite_fn *run, void *arg, struct fumi_err *e)
{
    struct store_sqlite *s = (struct store_sqlite *)base;
    struct db *d = store_sqlite_readonly_check(s, e) ? NULL : take_reader(s, e);
    if (!d)
        return -1;
    int rc = read_once(d, run, arg, e);
    give_reader(s, d);
    return rc ? rc : store_sqlite_readonly_check(s, e);
}

static void close_readers(struct store_sqlite *s)
{
    while (s->readers) {
        struct db *d = s->readers;
        s->readers = d->next;
        store_sqlite_disconnect(d);
    }
    s->readers_n = 0;
}

void store_sqlite_idle(struct store_sqlite *s)
{
    store_sqlite_index_close(s);
    pthread_mutex_lock(&s->readers_lock);
    close_readers(s);
    pthread_mutex_unlock(&s->readers_lock);
    pthread_mutex_lock(&s->writes.lock);
    if (!s->writes.leading) {
        store_sqlite_disconnect(s->writer);
        s->writer = NULL;
    }
    pthread_mutex_unlock(&s->writes.lock);
}

void store_sqlite_close(struct store *base)
{
    struct store_sqlite *s = (struct store_sqlite *)base;
    store_sqlite_erase_last(s);
    store_sqlite_index_close(s);
    close_readers(s);
    store_sqlite_disconnect(s->writer);
    store_sqlite_filters_done(s);
    store_sqlite_counts_done(s);
    pthread_mutex_destroy(&s->readers_lock);
    pthread_mutex_destroy(&s->writes.lock);
    pthread_mutex_destroy(&s->filters_lock);
    pthread_mutex_destroy(&s->damaged_lock);
    pthread_rwlock_destroy(&s->scan_lock);
    fumi_resize(s->path, 0);
    fumi_resize(s->side, 0);
    fumi_resize(s->uri, 0);
    fumi_resize(s, 0);
}

#define OP(op) .op = store_sqlite_##op,
static const struct store_ops ops = {.name = "sqlite", STORE_OPS(OP)};
#undef OP

static struct store_sqlite *make(const struct store_sqlite_options *o)
{
    struct store_sqlite *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->base.ops = &ops;
    s->path = store_sqlite_path(o->path, "");
    s->side = store_sqlite_path(o->path, ".vec");
    s->nosync = o->nosync;
    s->lenient = o->lenient;
    s->bare = o->bare;
    s->replica = o->replica;
    s->patience = o->patience ? o->patience : PATIENCE_MS;
    s->log = o->log;
    s->progress = o->progress;
    pthread_mutex_init(&s->readers_lock, NULL);
    pthread_mutex_init(&s->writes.lock, NULL);
    pthread_mutex_init(&s->filters_lock, NULL);
    pthread_mutex_init(&s->damaged_lock, NULL);
    pthread_rwlock_init(&s->scan_lock, NULL);
    store_sqlite_index_init(s);
    return s;
}

/* What is written to a replica alone would be lost. Damage is not reported here. */
static int refuse_replica(struct store_sqlite *s, struct fumi_err *e)
{
    sqlite3_stmt *q = NULL;
    bool is = !s->replica &&
              sqlite3_prepare_v2(s->writer->h, "SELECT 1 FROM meta WHERE name='replica'", -1, &q,
                                 NULL) == SQLITE_OK &&
              sqlite3_step(q) == SQLITE_ROW;
    sqlite3_finalize(q);
    return is ? fumi_err_set(e, FUMI_LIMIT,
                             "This file is the replica of a store in PostgreSQL: open that one "
                             "with --store (%s)",
                             s->path)
              : 0;
}

static int open_file(struct store_sqlite *s, struct fumi_err *e)
{
    if (store_sqlite_file_make(s->path, e) || store_sqlite_readonly_look(s, e))
        return -1;
    if (!s->uri)
        store_sqlite_file_sweep(s->path);
    s->writer = store_sqlite_connect(s, true, e);
    if (!s->writer || store_sqlite_schema_open(s->writer, e) || refuse_replica(s, e))
        return -1;
    s->ours = true;
    sqlite3_db_config(s->writer->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, s->uri != NULL, NULL);
    return 0;
}

/* The file must not be open while its schema table is replaced, so it is closed first. */
static int open_salvaged(struct store_sqlite *s, struct fumi_err *e)
{
    if (!s->corrupt)
        return -1;
    store_sqlite_idle(s);
    s->corrupt = false;
    return store_sqlite_salvage_schema(s, e) ? -1 : open_file(s, e);
}

struct store *store_sqlite_open(const struct store_sqlite_options *o, struct fumi_err *e)
{
    struct store_sqlite *s = make(o);
    if (open_file(s, e) == 0 || (o->salvage && open_salvaged(s, e) == 0))
        return &s->base;
    if (o->damaged)
        *o->damaged = s->corrupt;
    store_sqlite_close(&s->base);
    return NULL;
}
