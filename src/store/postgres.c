/* A store in PostgreSQL is a store in SQLite, the replica, whose write transactions PostgreSQL has
 * to confirm. The leader of the write queue (sqlite_write.c)
 *
 *   begin   locks the row of fumi.store, so that no other server writes, and copies to the replica
 *           what others have written;
 *   commit  sends the rows that the transaction of the replica has changed, commits in PostgreSQL,
 *           then in the replica.
 *
 * Locks are always taken in this order: the replica, then PostgreSQL. If the server dies between
 * the two commits, the replica is behind, and the next `begin` copies what it lacks. */
#include "store/postgres_parts.h"
#include "store/sqlite_counts.h"
#include "store/sqlite_file.h"

#include "base/clock.h"
#include "base/uuid.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 500, RESOLVE_TRIES = 10 };
#define MILLISECOND INT64_C(1000000)

static struct truth *truth_of(struct store_sqlite_truth *base)
{
    return FUMI_OWNER(base, struct truth, base);
}

/* After a connection has failed, all writes fail at once for a moment, instead of each waiting. */
static int link_up(struct truth *t, struct fumi_err *e)
{
    if (t->link.c && !t->link.bad)
        return 0;
    if (fumi_ticks() < t->retry) {
        *e = t->why;
        return -1;
    }
    if (pg_connect(&t->link, t->url, e) == 0)
        return 0;
    t->retry = fumi_ticks() + RETRY_MS * MILLISECOND;
    t->why = *e;
    return -1;
}

static int state_once(struct truth *t, const char *sql, struct pg_state *out, struct fumi_err *e)
{
    PGresult *r = NULL;
    struct pg *p = &t->link;
    if (link_up(t, e) || pg_exec(p, sql, &r, e))
        return -1;
    if (!r || p->q->ntuples(r) != 1) {
        p->q->clear(r);
        p->bad = true;
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "fumi.store in PostgreSQL has no row");
    }
    *out = (struct pg_state){.at = {pg_number(p, r, 0), pg_number(p, r, 1)},
                             .schema = pg_number(p, r, 2),
                             .epoch = fumi_str(p->q->getvalue(r, 0, 3)),
                             .sequences = fumi_str(p->q->getvalue(r, 0, 4)),
                             .row = r};
    t->open = true;
    return 0;
}

/* Begins a transaction. A connection that was idle may have been cut: then once more, with a new
 * one. The caller frees out->row. */
static int state(struct truth *t, const char *sql, struct pg_state *out, struct fumi_err *e)
{
    bool idle = t->link.c && !t->link.bad;
    if (state_once(t, sql, out, e) && (!idle || !t->link.lost || state_once(t, sql, out, e)))
        return -1;
    if (pg_schema_check(out->schema, e) == 0 && fumi_eq(out->epoch, t->epoch))
        return 0;
    if (out->schema == PG_SCHEMA)
        fumi_err_set(e, FUMI_LIMIT,
                     "PostgreSQL has another store now: start fumi again to use that one");
    t->link.q->clear(out->row);
    t->link.bad = true;
    return -1;
}

/* Begins to record what the transaction changes. */
static int record(struct truth *t, struct db *d, struct fumi_err *e)
{
    int rc = sqlite3session_create(d->h, "main", &t->session);
    for (size_t i = 0; i < PG_TABLES && !rc; i++)
        rc = sqlite3session_attach(t->session, t->tables[i].name);
    return rc ? store_sqlite_fault(d, rc, e) : 0;
}

static void forget_session(struct truth *t)
{
    if (t->session)
        sqlite3session_delete(t->session);
    t->session = NULL;
}

/* Ends the transaction of PostgreSQL, if there is one, without a change. */
static void end(struct store_sqlite_truth *base)
{
    struct truth *t = truth_of(base);
    struct fumi_err ignored;
    forget_session(t);
    if (t->open && !t->link.bad)
        pg_exec(&t->link, "ROLLBACK", NULL, &ignored);
    t->open = false;
    if (t->link.bad)
        pg_disconnect(&t->link);
}

/* The same after a failure, when the connection may be in the middle of anything. */
static int end_failed(struct truth *t)
{
    t->link.bad = true;
    end(&t->base);
    return -1;
}

static int begin(struct store_sqlite_truth *base, struct db *d, struct fumi_err *e)
{
    static const char sql[] =
        "BEGIN; SELECT change, token, schema, epoch, sequences FROM fumi.store FOR UPDATE";
    struct truth *t = truth_of(base);
    struct pg_state is;
    if ((t->distrusted && store_sqlite_run(d, e, "DELETE FROM meta WHERE name='replica'", "")) ||
        state(t, sql, &is, e))
        return end_failed(t);
    t->at = is.at;
    t->distrusted = false;
    int rc = pg_pull(t, d, &is, e) || record(t, d, e) ? -1 : 0;
    t->link.q->clear(is.row);
    return rc ? end_failed(t) : 0;
}

static int committed(struct truth *t, const struct pg_position *now, struct fumi_err *e)
{
    char sql[160];
    PGresult *r;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM fumi.commits WHERE change=%lld AND token=%lld",
             (long long)now->change, (long long)now->token);
    if (pg_connect(&t->link, t->url, e) ||
        pg_exec(&t->link, "BEGIN; SELECT 1 FROM fumi.store FOR UPDATE", NULL, e) ||
        pg_exec(&t->link, sql, &r, e))
        return -1;
    bool is = pg_number(&t->link, r, 0);
    t->link.q->clear(r);
    t->open = true;
    return is;
}

/* The connection was lost while PostgreSQL committed. The lock of the row shows that the old
 * transaction has ended, one way or the other. */
static int resolve(struct truth *t, const struct pg_position *now, struct fumi_err *e)
{
    struct fumi_err why = *e;
    int is = -1;
    for (int i = 0; i < RESOLVE_TRIES && is < 0; i++) {
        struct timespec pause = {0, 500 * MILLISECOND};
        if (i)
            nanosleep(&pause, NULL);
        is = committed(t, now, &why);
    }
    if (is > 0)
        return 0;
    if (is < 0)
        return fumi_err_set(e, FUMI_LIMIT,
                            "The connection to PostgreSQL was lost, and whether this was stored is "
                            "not known: look before you try again (%.60s)",
                            why.text);
    return fumi_err_set(e, FUMI_LIMIT,
                        "The connection to PostgreSQL was lost, and nothing was stored: try again");
}

static void roll_back(struct db *d)
{
    struct fumi_err ignored;
    d->origin = 0;
    if (!sqlite3_get_autocommit(d->h))
        store_sqlite_run(d, &ignored, "ROLLBACK", "");
}

/* What PostgreSQL has committed is stored. If this fails, the replica is behind, and the next
 * transaction copies what it lacks. */
static void commit_replica(struct db *d)
{
    struct fumi_err e = {0};
    if (store_sqlite_run(d, &e, "COMMIT", "") == 0)
        return;
    fumi_log(d->store->log, FUMI_WARN, "store.replica_behind", {"why", fumi_str(e.text), 0});
    roll_back(d);
}

static int finish(struct truth *t, struct db *d, const struct pg_position *now, struct fumi_err *e)
{
    struct pg_position was;
    int64_t generation;
    if (pg_position_read(d, &was, &generation, e) || pg_position_write(d, *now, generation, e))
        return -1;
    int rc = pg_send(&t->link, "COMMIT", NULL, 0, e) || pg_pipeline_sync(&t->link, e) ||
                     pg_pipeline_end(&t->link, e)
                 ? -1
                 : 0;
    t->open = rc != 0;
    return rc && t->link.lost ? resolve(t, now, e) : rc;
}

/* Rows that PostgreSQL has already mean that the replica is not what it should be. */
static void distrust(struct truth *t, const struct fumi_err *e)
{
    if (strstr(e->text, "(23505)"))
        t->distrusted = true;
}

static int commit(struct store_sqlite_truth *base, struct db *d, struct fumi_err *e)
{
    struct truth *t = truth_of(base);
    struct pg_position now = {.change = t->at.change + 1};
    bool any = false;
    fumi_random(&now.token, sizeof(now.token));
    now.token &= INT64_MAX;
    int rc = pg_push(t, d, &now, &any, e);
    if (!rc && any)
        rc = finish(t, d, &now, e);
    else if (!rc)
        rc = pg_pipeline_sync(&t->link, e) || pg_pipeline_end(&t->link, e) ? -1 : 0;
    if (rc) {
        distrust(t, e);
        return end_failed(t);
    }
    end(base);
    commit_replica(d);
    return 0;
}

/* Caches in memory that were made from the rows of an earlier generation are dropped. */
static void drop_caches(struct truth *t, int64_t generation)
{
    struct store_sqlite *s = t->replica;
    if (__atomic_exchange_n(&t->generation, generation, __ATOMIC_RELAXED) == generation)
        return;
    pthread_mutex_lock(&s->filters_lock);
    store_sqlite_filters_done(s);
    store_sqlite_counts_done(s);
    pthread_mutex_unlock(&s->filters_lock);
}

static int sync_locked(struct truth *t, struct db *d, int64_t *generation, struct fumi_err *e)
{
    static const char sql[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                              "SELECT change, token, schema, epoch, sequences FROM fumi.store";
    struct pg_state is;
    struct pg_position at;
    if (state(t, sql, &is, e))
        return -1;
    int rc = pg_pull(t, d, &is, e);
    t->link.q->clear(is.row);
    return rc || pg_position_read(d, &at, generation, e) ? -1 : 0;
}

/* On the thread that leads the write queue, outside of a transaction. */
static int sync_replica(struct db *d, void *arg, struct fumi_err *e)
{
    struct truth *t = arg;
    int64_t generation = 0;
    if (store_sqlite_run(d, e, "BEGIN IMMEDIATE", ""))
        return -1;
    int rc = sync_locked(t, d, &generation, e);
    if (rc)
        end_failed(t);
    else
        end(&t->base);
    if (rc || (rc = store_sqlite_run(d, e, "COMMIT", "")))
        roll_back(d);
    else
        drop_caches(t, generation);
    return rc;
}

int pg_sync(struct truth *t, struct fumi_err *e)
{
    return store_sqlite_write_alone(&t->replica->base, sync_replica, t, e);
}

static int forget_position(struct db *d, void *arg, struct fumi_err *e)
{
    (void)arg;
    return store_sqlite_run(d, e, "DELETE FROM meta WHERE name='replica'", "");
}

/* A replica with findings is copied again. What PostgreSQL itself has wrong is repaired then. */
static int check_store(struct store *base, bool repair,
                       void (*print)(void *arg, const char *sentence), void *arg,
                       struct fumi_err *e)
{
    struct truth *t = truth_of(((struct store_sqlite *)base)->writes.truth);
    int rc = store_sqlite_check(base, false, print, arg, e);
    if (!rc || !repair)
        return rc;
    if (store_sqlite_write_alone(base, forget_position, NULL, e) || pg_sync(t, e))
        return -1;
    *e = (struct fumi_err){0};
    return store_sqlite_check(base, true, print, arg, e);
}

static void free_truth(struct truth *t)
{
    pg_disconnect(&t->link);
    fumi_arena_done(&t->arena);
    fumi_resize(t->url, 0);
    fumi_resize(t, 0);
}

static void close_store(struct store *base)
{
    struct truth *t = truth_of(((struct store_sqlite *)base)->writes.truth);
    pg_follow_end(t);
    store_sqlite_close(base);
    free_truth(t);
}

static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(fumi_resize(NULL, n), text, n);
}

static struct store *open_file(const struct truth *t, const struct store_postgres_options *o,
                               const char *path, bool *damaged, struct fumi_err *e)
{
    const struct store_sqlite_options replica = {
        .path = path, .replica = true, .damaged = damaged, .patience = o->patience, .log = t->log};
    return store_sqlite_open(&replica, e);
}

/* Opens the replica of the store with this epoch. A damaged one is deleted and copied again. */
static int open_replica(struct truth *t, const struct store_postgres_options *o,
                        struct fumi_str epoch, struct fumi_err *e)
{
    const char *path = fumi_fmt(&t->arena, "%s/replica-%.*s.db", o->dir, FUMI_ARG(epoch)).p;
    bool damaged = false;
    struct store *s = open_file(t, o, path, &damaged, e);
    if (!s && damaged) {
        fumi_log(t->log, FUMI_WARN, "store.copy", {"why", fumi_str(e->text), 0});
        store_sqlite_file_remove(path);
        s = open_file(t, o, path, &damaged, e);
    }
    t->epoch = epoch;
    t->replica = (struct store_sqlite *)s;
    return s ? 0 : -1;
}

static int read_tables(struct db *d, void *arg, struct fumi_err *e)
{
    struct truth *t = arg;
    return pg_tables_read(d, &t->arena, t->tables, e);
}

/* Opens the replica and, if PostgreSQL has no store yet, creates one with its tables. If another
 * server was faster, that store is used. */
static int open_both(struct truth *t, const struct store_postgres_options *o, struct fumi_err *e)
{
    struct fumi_str epoch;
    if (pg_schema_look(&t->link, &t->arena, &epoch, e))
        return -1;
    bool there = epoch.p != NULL;
    if (open_replica(t, o, there ? epoch : pg_schema_epoch(&t->arena), e) ||
        store_sqlite_read(&t->replica->base, read_tables, t, e))
        return -1;
    if (there)
        return 0;
    if (pg_schema_create(&t->link, t->tables, t->epoch, e) ||
        pg_schema_look(&t->link, &t->arena, &epoch, e))
        return -1;
    if (fumi_eq(epoch, t->epoch))
        return 0;
    const char *unused = t->replica->path;
    store_sqlite_file_remove(unused);
    store_sqlite_close(&t->replica->base);
    t->replica = NULL;
    return open_replica(t, o, epoch, e);
}

/* From now on the writes of the replica are those of PostgreSQL. */
static void join(struct truth *t)
{
    struct store_sqlite *s = t->replica;
    t->base = (struct store_sqlite_truth){begin, commit, end};
    t->ops = *s->base.ops;
    t->ops.name = "postgres";
    t->ops.check = check_store;
    t->ops.close = close_store;
    s->base.ops = &t->ops;
    s->writes.truth = &t->base;
}

static int open_all(struct truth *t, const struct store_postgres_options *o, struct fumi_err *e)
{
    if (pg_connect(&t->link, t->url, e) || open_both(t, o, e))
        return -1;
    join(t);
    return pg_sync(t, e) || pg_follow(t, e) ? -1 : 0;
}

struct store *store_postgres_open(const struct store_postgres_options *o, struct fumi_err *e)
{
    struct truth *t = fumi_resize(NULL, sizeof(*t));
    *t = (struct truth){.url = copy_text(o->url), .log = o->log, .stop = -1};
    if (open_all(t, o, e) == 0)
        return &t->replica->base;
    if (t->replica && t->replica->writes.truth)
        close_store(&t->replica->base);
    else {
        if (t->replica)
            store_sqlite_close(&t->replica->base);
        free_truth(t);
    }
    return NULL;
}
