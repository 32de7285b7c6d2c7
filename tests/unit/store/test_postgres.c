/* What only a store in PostgreSQL has: several servers, each with a replica of its own, and a
 * database that goes away, comes back, is restored or belongs to another version. */
#include "base/clock.h"
#include "store_fixture.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_S = 120 }; /* for events that have to happen, however busy the machine is */

/* Some servers in front of one database. */
struct team {
    struct fixture t;
    struct store *s[4];
};

static const char *dir_of(struct team *m, int i)
{
    return fumi_fmt(&m->t.a, "%s/%d/memory.db", m->t.top, i).p;
}

static struct store *start(struct team *m, int i)
{
    m->s[i] = fixture_open_postgres(&m->t, dir_of(m, i));
    if (!m->s[i])
        fprintf(stderr, "server %d does not start: %s\n", i, m->t.e.text);
    return m->s[i];
}

static bool team_open(struct team *m, int servers)
{
    if (!fixture_begin(&m->t))
        return false;
    for (int i = 0; i < servers; i++)
        if (!start(m, i))
            return false;
    return true;
}

static void stop(struct team *m, int i)
{
    if (m->s[i])
        store_close(m->s[i]);
    m->s[i] = NULL;
}

static void team_close(struct team *m)
{
    for (size_t i = 0; i < FUMI_COUNT(m->s); i++)
        stop(m, (int)i);
    fumi_arena_done(&m->t.a);
    nftw(m->t.top, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static int add(struct team *m, int i, const char *id, const char *text)
{
    m->t.s = m->s[i];
    return fixture_add(&m->t, id, text, 0.1);
}

static int64_t run(struct team *m, const char *sql)
{
    return postgres_run(fixture_database(&m->t), sql);
}

static bool has(struct store *s, const char *id)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct note n;
    bool is = store_get_note(s, &a, fumi_str(id), &n, &e) == 0;
    fumi_arena_done(&a);
    return is;
}

static void doze(void)
{
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

/* Waits until the server knows the note, or no longer knows it. */
static bool comes(struct store *s, const char *id, bool there)
{
    int64_t end = fumi_ticks() + PATIENCE_S * INT64_C(1000000000);
    while (has(s, id) != there && fumi_ticks() < end)
        doze();
    return has(s, id) == there;
}

/* Waits until a query of the server process has a result other than 0. */
static bool happens(const char *sql)
{
    int64_t end = fumi_ticks() + PATIENCE_S * INT64_C(1000000000), is;
    while (!(is = postgres_run("postgres", sql)) && fumi_ticks() < end)
        doze();
    return is > 0;
}

/* Waits until all replicas have the last change, and compares them with a fresh copy. */
static bool all_same(struct team *m, int servers)
{
    int64_t end = fumi_ticks() + PATIENCE_S * INT64_C(1000000000), last, is = 0;
    if (store_change_number(m->s[0], &last, &m->t.e))
        return false;
    for (int i = 0; i < servers; i++)
        do {
            if (store_change_number(m->s[i], &is, &m->t.e))
                return false;
            last = is > last ? is : last;
        } while (is < last && fumi_ticks() < end && (doze(), true));
    for (int i = 0; i < servers; i++) {
        const char *path = dir_of(m, i);
        if (store_check(m->s[i], false, fixture_say, NULL, &m->t.e))
            return fprintf(stderr, "server %d: %s\n", i, m->t.e.text), false;
        if (!fixture_copied(&m->t,
                            fumi_fmt(&m->t.a, "%.*s", (int)(strrchr(path, '/') - path), path).p))
            return false;
    }
    return true;
}

TEST(servers_see_each_other)
{
    struct team m = {0};
    struct hits h;
    struct filter f = fixture_filter("p");
    struct note to = {.text = FUMI_STR("a pear")};
    CHECK(team_open(&m, 2));
    CHECK_INT(add(&m, 0, "1", "an apple"), 0);
    CHECK(comes(m.s[1], "1", true));
    CHECK_INT(add(&m, 1, "1", "another apple"), -1);
    CHECK_INT(m.t.e.code, ERR_CONFLICT);
    m.t.s = m.s[1];
    CHECK_INT(fixture_match(&m.t, &f, FUMI_STR("apple"), 10, &h), 0);
    CHECK_STR(fixture_ids(&m.t, &h), "1");
    CHECK_INT(fixture_near(&m.t, &f, 0.1, 10, &h), 0);
    CHECK_STR(fixture_ids(&m.t, &h), "1");
    CHECK_INT(store_update_note(m.s[1], &m.t.a, FUMI_STR("1"), &to, NOTE_TEXT, NULL, &m.t.e), 0);
    CHECK_INT(add(&m, 1, "2", "a plum"), 0);
    CHECK(comes(m.s[0], "2", true));
    m.t.s = m.s[0];
    CHECK_INT(fixture_match(&m.t, &f, FUMI_STR("apple"), 10, &h), 0);
    CHECK_INT(h.n, 0);
    CHECK_INT(fixture_match(&m.t, &f, FUMI_STR("pear"), 10, &h), 0);
    CHECK_STR(fixture_ids(&m.t, &h), "1");
    CHECK_INT(store_delete(m.s[0], &m.t.a, FUMI_STR("1"), NULL, &m.t.e), 0);
    CHECK(comes(m.s[1], "1", false));
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* A write sees what another server wrote a moment before, although the replica does not yet. */
TEST(a_write_knows_all_earlier_ones)
{
    struct team m = {0};
    struct fumi_str id = {0};
    CHECK(team_open(&m, 2));
    for (int i = 0; i < 40; i++) {
        id = fumi_fmt(&m.t.a, "%d", i);
        CHECK_INT(add(&m, i % 2, id.p, "text"), 0);
        CHECK_INT(store_delete(m.s[!(i % 2)], &m.t.a, id, NULL, &m.t.e), 0);
        CHECK(!has(m.s[!(i % 2)], id.p));
    }
    CHECK(all_same(&m, 2));
    team_close(&m);
}

struct writer {
    struct store *s;
    int base, n, failed;
    bool end;              /* add_on: atomic */
    struct fumi_err wrong; /* add_stubbornly: an error that is no reason to try again */
};

static void *write_many(void *arg)
{
    struct writer *w = arg;
    struct fixture mine = {.s = w->s};
    for (int i = 0; i < w->n; i++) {
        struct fumi_str id = fumi_fmt(&mine.a, "%d", w->base + i);
        struct note to = {.title = FUMI_STR("title")};
        w->failed += fixture_add(&mine, id.p, "some words", 0.01 * i) != 0;
        if (i % 2)
            w->failed += store_update_note(w->s, &mine.a, id, &to, NOTE_TITLE, NULL, &mine.e) != 0;
        if (i % 3 == 0)
            w->failed += store_delete(w->s, &mine.a, id, NULL, &mine.e) != 0;
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

TEST(servers_write_at_the_same_time)
{
    struct team m = {0};
    struct writer w[6];
    pthread_t threads[FUMI_COUNT(w)];
    CHECK(team_open(&m, 3));
    for (int i = 0; i < (int)FUMI_COUNT(w); i++) {
        w[i] = (struct writer){.s = m.s[i % 3], .base = 1000 * i, .n = 40};
        CHECK_INT(pthread_create(&threads[i], NULL, write_many, &w[i]), 0);
    }
    int failed = 0;
    for (size_t i = 0; i < FUMI_COUNT(w); i++) {
        pthread_join(threads[i], NULL);
        failed += w[i].failed;
    }
    CHECK_INT(failed, 0);
    CHECK(all_same(&m, 3));
    CHECK_INT(run(&m, "SELECT count(*) FROM fumi.notes"), FUMI_COUNT(w) * 26);
    team_close(&m);
}

/* Two writers have begun: the first one holds the lock, the second one waits for it. A server that
 * reads meanwhile does not skip either of them later. */
TEST(open_transactions_are_not_skipped)
{
    struct team m = {0};
    char url[300];
    const struct libpq *q = libpq();
    const char *const keys[] = {"dbname", NULL}, *const values[] = {url, NULL};
    pthread_t threads[2];
    CHECK(team_open(&m, 3));
    postgres_url(fixture_database(&m.t), url, sizeof(url));
    PGconn *c = q->connectdbParams(keys, values, 1);
    CHECK(q->sendQuery(c, "BEGIN; SELECT * FROM fumi.store FOR UPDATE"));
    for (PGresult *r; (r = q->getResult(c));)
        q->clear(r);
    struct writer w[] = {{.s = m.s[0], .n = 2}, {.s = m.s[1], .base = 1000, .n = 2}};
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, write_many, &w[i]), 0);
    CHECK(happens("SELECT count(*)/2 FROM pg_stat_activity WHERE wait_event_type='Lock' AND query "
                  "LIKE '%FOR UPDATE%'"));
    CHECK(!has(m.s[2], "1") && !has(m.s[2], "1001"));
    q->finish(c);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(w[0].failed + w[1].failed, 0);
    CHECK(comes(m.s[2], "1", true));
    CHECK(comes(m.s[2], "1001", true));
    CHECK(all_same(&m, 3));
    team_close(&m);
}

static void *open_one(void *arg)
{
    struct team *m = arg;
    return start(m, 0);
}

TEST(servers_start_together_on_an_empty_database)
{
    enum { SERVERS = 4 };
    struct team m[SERVERS] = {0};
    pthread_t threads[SERVERS];
    char sql[100];
    CHECK(fixture_begin(&m[0].t));
    snprintf(sql, sizeof(sql), "CREATE DATABASE \"%s\"", fixture_database(&m[0].t));
    CHECK_INT(postgres_run("postgres", sql), 0);
    m[0].t.database = true;
    for (int i = 0; i < SERVERS; i++) {
        m[i].t = m[0].t; /* the database; a directory each, because the arenas differ */
        m[i].t.a = (struct fumi_arena){0};
    }
    for (int i = 0; i < SERVERS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, open_one, &m[i]), 0);
    int opened = 0;
    for (int i = 0; i < SERVERS; i++) {
        void *s;
        pthread_join(threads[i], &s);
        opened += s != NULL;
    }
    CHECK_INT(opened, SERVERS);
    for (int i = 0; i < SERVERS; i++)
        CHECK_INT(add(&m[i], 0, fumi_fmt(&m[0].t.a, "%d", i).p, "text"), 0);
    CHECK(comes(m[0].s[0], "3", true));
    for (int i = SERVERS - 1; i > 0; i--) {
        stop(&m[i], 0);
        fumi_arena_done(&m[i].t.a);
    }
    team_close(&m[0]);
}

/* PostgreSQL stops: reads go on, writes fail and say so. It starts again: so do writes. */
TEST(postgres_goes_away_and_comes_back)
{
    struct team m = {0};
    const char *ctl = getenv("FUMI_TEST_POSTGRES_CTL");
    char command[300];
    int64_t end = fumi_ticks() + PATIENCE_S * INT64_C(1000000000);
    CHECK(team_open(&m, 2));
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    CHECK(comes(m.s[1], "1", true));
    snprintf(command, sizeof(command), "%s stop immediate", ctl);
    CHECK_INT(system(command), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(add(&m, 0, "2", "text"), -1);
        CHECK_INT(m.t.e.code, FUMI_LIMIT);
        CHECK(strstr(m.t.e.text, "PostgreSQL") && strstr(m.t.e.text, "try again"));
        CHECK(has(m.s[0], "1") && !has(m.s[0], "2") && has(m.s[1], "1"));
    }
    snprintf(command, sizeof(command), "%s start", ctl);
    CHECK_INT(system(command), 0);
    while (add(&m, 0, "2", "text") && fumi_ticks() < end)
        doze();
    CHECK(has(m.s[0], "2"));
    CHECK(comes(m.s[1], "2", true));
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* Adds notes until each is acknowledged; a note whose outcome was not known may be there already.
 */
static void *add_stubbornly(void *arg)
{
    struct writer *w = arg;
    struct fixture mine = {.s = w->s};
    int64_t end = fumi_ticks() + PATIENCE_S * INT64_C(1000000000);
    for (int i = 0; i < w->n && fumi_ticks() < end;) {
        int rc = fixture_add(&mine, fumi_fmt(&mine.a, "%d", w->base + i).p, "some words", 0.1);
        bool done = !rc || mine.e.code == ERR_CONFLICT;
        i += done;
        w->failed += !done;
        if (!done && mine.e.code != FUMI_LIMIT)
            w->wrong = mine.e;
        if (!done)
            doze();
    }
    fumi_arena_done(&mine.a);
    return NULL;
}

TEST(postgres_restarts_under_load)
{
    enum { EACH = 300 };
    struct team m = {0};
    struct writer w[4];
    pthread_t threads[FUMI_COUNT(w)];
    const char *ctl = getenv("FUMI_TEST_POSTGRES_CTL");
    int failed = 0;
    CHECK(team_open(&m, 2));
    for (int i = 0; i < (int)FUMI_COUNT(w); i++) {
        w[i] = (struct writer){.s = m.s[i % 2], .base = 1000 * i, .n = EACH};
        CHECK_INT(pthread_create(&threads[i], NULL, add_stubbornly, &w[i]), 0);
    }
    CHECK(comes(m.s[0], "20", true));
    CHECK_INT(system(fumi_fmt(&m.t.a, "%s stop fast", ctl).p), 0);
    CHECK(has(m.s[0], "20"));
    CHECK_INT(system(fumi_fmt(&m.t.a, "%s start", ctl).p), 0);
    for (size_t i = 0; i < FUMI_COUNT(w); i++) {
        pthread_join(threads[i], NULL);
        CHECK_STR(fumi_str(w[i].wrong.text), "");
        failed += w[i].failed;
    }
    CHECK(failed > 0);
    CHECK_INT(run(&m, "SELECT count(*) FROM fumi.notes"), FUMI_COUNT(w) * EACH);
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* Adds notes until it is told to end; w->n: how many were acknowledged. */
static void *add_on(void *arg)
{
    struct writer *w = arg;
    struct fixture mine = {.s = w->s};
    while (!__atomic_load_n(&w->end, __ATOMIC_RELAXED) && !w->failed) {
        w->failed = fixture_add(&mine, fumi_fmt(&mine.a, "%d", w->n).p, "text", 0.1);
        w->n += !w->failed;
    }
    if (w->failed)
        fprintf(stderr, "%s\n", mine.e.text);
    fumi_arena_done(&mine.a);
    return NULL;
}

/* The connection is lost after PostgreSQL has committed, but before it says so: it waits for a
 * standby that does not exist. The note is acknowledged, and is there once. */
TEST(a_commit_whose_answer_is_lost)
{
    struct team m = {0};
    pthread_t thread;
    static const char waits[] = "FROM pg_stat_activity WHERE wait_event='SyncRep'";
    CHECK(team_open(&m, 2));
    CHECK_INT(postgres_run("postgres", "ALTER SYSTEM SET synchronous_standby_names='nobody'"), 0);
    CHECK_INT(postgres_run("postgres", "SELECT pg_reload_conf()::int - 1"), 0);
    struct writer w = {.s = m.s[0]};
    CHECK_INT(pthread_create(&thread, NULL, add_on, &w), 0);
    bool waited = happens(fumi_fmt(&m.t.a, "SELECT count(*) %s", waits).p);
    __atomic_store_n(&w.end, true, __ATOMIC_RELAXED);
    postgres_run("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    postgres_run("postgres",
                 fumi_fmt(&m.t.a, "SELECT count(pg_terminate_backend(pid)) %s", waits).p);
    postgres_run("postgres", "SELECT pg_reload_conf()::int");
    pthread_join(thread, NULL);
    CHECK(waited);
    CHECK_INT(w.failed, 0);
    const char *last = fumi_fmt(&m.t.a, "%d", w.n - 1).p;
    CHECK(has(m.s[0], last));
    CHECK(comes(m.s[1], last, true));
    CHECK_INT(run(&m, "SELECT count(*) FROM fumi.notes"), w.n);
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* The connection is lost before PostgreSQL commits. */
TEST(a_commit_that_fails)
{
    struct team m = {0};
    CHECK(team_open(&m, 2));
    CHECK_INT(run(&m, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
                      "pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; CREATE "
                      "CONSTRAINT TRIGGER die AFTER INSERT ON fumi.commits DEFERRABLE INITIALLY "
                      "DEFERRED FOR EACH ROW EXECUTE FUNCTION die()"),
              0);
    CHECK_INT(add(&m, 0, "1", "text"), -1);
    CHECK_INT(m.t.e.code, FUMI_LIMIT);
    CHECK(strstr(m.t.e.text, "nothing was stored: try again"));
    CHECK(!has(m.s[0], "1"));
    CHECK_INT(run(&m, "DROP TRIGGER die ON fumi.commits"), 0);
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    CHECK(comes(m.s[1], "1", true));
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* The database is replaced by an earlier copy of itself while servers run. */
TEST(a_restored_database_replaces_the_replicas)
{
    struct team m = {0};
    struct filter f = fixture_filter("p");
    struct hits h;
    CHECK(team_open(&m, 1));
    const char *name = fixture_database(&m.t);
    CHECK_INT(add(&m, 0, "1", "first"), 0);
    stop(&m, 0);
    CHECK_INT(postgres_run("postgres", fumi_fmt(&m.t.a,
                                                "CREATE DATABASE \"%s-copy\" TEMPLATE "
                                                "\"%s\"",
                                                name, name)
                                           .p),
              0);
    CHECK(start(&m, 0) && start(&m, 1));
    CHECK_INT(add(&m, 0, "2", "second"), 0);
    CHECK(comes(m.s[1], "2", true));
    CHECK_INT(
        postgres_run("postgres",
                     fumi_fmt(&m.t.a, "ALTER DATABASE \"%s\" ALLOW_CONNECTIONS false", name).p),
        0);
    CHECK_INT(
        postgres_run("postgres", fumi_fmt(&m.t.a, "DROP DATABASE \"%s\" WITH (FORCE)", name).p), 0);
    CHECK_INT(postgres_run("postgres", fumi_fmt(&m.t.a,
                                                "ALTER DATABASE \"%s-copy\" RENAME TO "
                                                "\"%s\"",
                                                name, name)
                                           .p),
              0);
    CHECK(comes(m.s[0], "2", false));
    CHECK(comes(m.s[1], "2", false));
    CHECK(has(m.s[0], "1"));
    CHECK_INT(add(&m, 1, "3", "third"), 0); /* gets the number that note 2 had */
    CHECK(comes(m.s[0], "3", true));
    m.t.s = m.s[0];
    CHECK_INT(fixture_match(&m.t, &f, FUMI_STR("second"), 10, &h), 0);
    CHECK_INT(h.n, 0);
    CHECK_INT(fixture_match(&m.t, &f, FUMI_STR("third"), 10, &h), 0);
    CHECK_STR(fixture_ids(&m.t, &h), "3");
    CHECK_INT(fixture_near(&m.t, &f, 0.1, 10, &h), 0);
    CHECK_INT(h.n, 2);
    CHECK(all_same(&m, 2));
    team_close(&m);
}

/* A replica that is so old that deletions are no longer known is copied again. */
TEST(an_old_replica_is_copied_again)
{
    struct team m = {0};
    CHECK(team_open(&m, 2));
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    CHECK(comes(m.s[1], "1", true));
    stop(&m, 1);
    CHECK_INT(add(&m, 0, "2", "text"), 0);
    CHECK_INT(store_delete(m.s[0], &m.t.a, FUMI_STR("1"), NULL, &m.t.e), 0);
    CHECK_INT(run(&m, "DELETE FROM fumi.tombstones; DELETE FROM fumi.commits WHERE change<(SELECT "
                      "change FROM fumi.store)"),
              0);
    CHECK(start(&m, 1) != NULL);
    CHECK(!has(m.s[1], "1") && has(m.s[1], "2"));
    CHECK(all_same(&m, 2));
    team_close(&m);
}

TEST(a_damaged_replica_is_copied_again)
{
    struct team m = {0};
    char path[200];
    CHECK(team_open(&m, 1));
    for (int i = 0; i < 50; i++)
        CHECK_INT(add(&m, 0, fumi_fmt(&m.t.a, "%d", i).p, "text"), 0);
    stop(&m, 0);
    CHECK(fixture_replica(fumi_fmt(&m.t.a, "%s/0", m.t.top).p, path, sizeof(path)));
    FILE *f = fopen(path, "r+");
    CHECK(f && fseek(f, 100, SEEK_SET) == 0);
    for (int i = 0; i < 20000; i++)
        fputc(0xA5, f);
    fclose(f);
    CHECK(start(&m, 0) != NULL);
    CHECK(has(m.s[0], "0") && has(m.s[0], "49"));
    CHECK(all_same(&m, 1));
    team_close(&m);
}

/* What only the replica has wrong is copied from PostgreSQL, which is not changed. */
TEST(a_check_repairs_the_replica)
{
    struct team m = {0};
    char path[200];
    sqlite3 *h = NULL;
    CHECK(team_open(&m, 1));
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    CHECK_INT(add(&m, 0, "2", "other"), 0);
    int64_t change = run(&m, "SELECT change FROM fumi.store");
    CHECK(fixture_replica(fumi_fmt(&m.t.a, "%s/0", m.t.top).p, path, sizeof(path)));
    CHECK(sqlite3_open(path, &h) == 0 && sqlite3_busy_timeout(h, 5000) == 0);
    CHECK_INT(sqlite3_exec(h,
                           "DELETE FROM words_docsize WHERE id=1; UPDATE notes SET text='wrong' "
                           "WHERE seq=2",
                           NULL, NULL, NULL),
              0);
    sqlite3_close(h);
    CHECK_INT(store_check(m.s[0], false, NULL, NULL, &m.t.e), -1);
    m.t.e = (struct fumi_err){0};
    CHECK_INT(store_check(m.s[0], true, NULL, NULL, &m.t.e), 0);
    CHECK_INT(run(&m, "SELECT change FROM fumi.store"), change);
    CHECK(all_same(&m, 1));
    team_close(&m);
}

/* A backup is a store in SQLite; a replica is not. */
TEST(a_backup_is_a_store_of_its_own)
{
    struct team m = {0};
    char path[200];
    CHECK(team_open(&m, 1));
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    struct fumi_str copy = fumi_fmt(&m.t.a, "%s/copy.db", m.t.top);
    CHECK_INT(store_backup(m.s[0], copy, &m.t.e), 0);
    CHECK(fixture_replica(fumi_fmt(&m.t.a, "%s/0", m.t.top).p, path, sizeof(path)));
    CHECK(!fixture_open_sqlite(&m.t, path));
    CHECK(strstr(m.t.e.text, "--store"));
    struct store *s = fixture_open_sqlite(&m.t, copy.p);
    CHECK(s && has(s, "1"));
    store_close(s);
    team_close(&m);
}

TEST(databases_that_do_not_serve_are_refused)
{
    struct team m = {0};
    CHECK(team_open(&m, 2));
    CHECK_INT(run(&m, "UPDATE fumi.store SET schema=99"), 0);
    CHECK_INT(add(&m, 0, "1", "text"), -1);
    CHECK_INT(m.t.e.code, ERR_NEWER);
    stop(&m, 1);
    CHECK(!fixture_open_postgres(&m.t, dir_of(&m, 1)));
    CHECK_INT(m.t.e.code, ERR_NEWER);
    CHECK_INT(run(&m, "UPDATE fumi.store SET schema=4"), 0);
    CHECK_INT(add(&m, 0, "1", "text"), 0);
    team_close(&m);

    CHECK(fixture_begin(&m.t));
    m.t.database = true;
    CHECK_INT(
        postgres_run("postgres", fumi_fmt(&m.t.a,
                                          "CREATE DATABASE \"%s\" ENCODING 'LATIN1' LOCALE 'C' "
                                          "TEMPLATE template0",
                                          fixture_database(&m.t))
                                     .p),
        0);
    CHECK(!fixture_open_postgres(&m.t, dir_of(&m, 0)));
    CHECK(strstr(m.t.e.text, "UTF8"));
    team_close(&m);
}

/* A server is killed in the middle of adds. What it acknowledged is there, once. */

static void add_until_killed(struct team *m, int to)
{
    struct store *s = start(m, 1);
    for (int i = 0; s; i++) {
        struct fixture mine = {.s = s};
        if (fixture_add(&mine, fumi_fmt(&mine.a, "%d", i).p, "text", 0.1) ||
            write(to, &i, sizeof(i)) != sizeof(i))
            break;
        fumi_arena_done(&mine.a);
    }
    _exit(1);
}

TEST_OF_FORKS(a_killed_server_loses_nothing)
{
    struct team m = {0};
    CHECK(team_open(&m, 1));
    stop(&m, 0); /* no thread but this one is left when the process forks */
    for (int turn = 0; turn < 3; turn++) {
        int pipes[2], last = -1;
        CHECK_INT(pipe(pipes), 0);
        pid_t pid = fork();
        if (pid == 0)
            add_until_killed(&m, pipes[1]);
        close(pipes[1]);
        while (last < 20 + 7 * turn && read(pipes[0], &last, sizeof(last)) == sizeof(last)) {}
        kill(pid, SIGKILL);
        while (read(pipes[0], &last, sizeof(last)) == sizeof(last)) {}
        waitpid(pid, NULL, 0);
        close(pipes[0]);
        CHECK(last >= 20 + 7 * turn);
        CHECK(start(&m, 0) && start(&m, 1)); /* the replica of the killed server, and another */
        for (int i = 0; i <= last; i++)
            if (!has(m.s[0], fumi_fmt(&m.t.a, "%d", i).p))
                TEST_FAIL("note %d of %d is missing", i, last);
        CHECK(run(&m, "SELECT count(*) FROM fumi.notes") - (last + 1) <= 1);
        CHECK_INT(run(&m, "SELECT count(*) - count(DISTINCT id) FROM fumi.notes"), 0);
        CHECK(all_same(&m, 2));
        CHECK_INT(run(&m, "SELECT count(*) FROM fumi.tombstones WHERE tbl='notes'"), 0);
        stop(&m, 0);
        stop(&m, 1);
        if (turn == 2)
            break;
        team_close(&m);
        m = (struct team){0};
        CHECK(team_open(&m, 1));
        stop(&m, 0);
    }
    team_close(&m);
}
