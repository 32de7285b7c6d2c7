/* Copies what has changed from PostgreSQL to the replica: first the deletions, then the rows of
 * each table as they are now. REPLACE removes a row whose unique values a later one has taken; such
 * a row has changed too, and follows or was deleted. The keyword index, which PostgreSQL does not
 * have, follows the notes; all else that can be derived is in rows. */
#include "store/postgres_parts.h"
#include "store/sqlite_changes.h"
#include "store/sqlite_erase.h"

#include "base/uuid.h"

#include <stdio.h>
#include <stdlib.h>

int pg_position_read(struct db *d, struct pg_position *at, int64_t *generation, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT value FROM meta WHERE name='replica'", "");
    int found = q ? store_sqlite_row(d, q, e) : -1;
    *at = (struct pg_position){-1, 0};
    *generation = 0;
    if (found <= 0)
        return found;
    char *text = (char *)(uintptr_t)sqlite3_column_text(q, 0);
    at->change = strtoll(text, &text, 10);
    at->token = strtoll(text, &text, 10);
    *generation = strtoll(text, NULL, 10);
    store_sqlite_end(q);
    return 0;
}

int pg_position_write(struct db *d, struct pg_position at, int64_t generation, struct fumi_err *e)
{
    char text[80];
    snprintf(text, sizeof(text), "%lld %lld %lld", (long long)at.change, (long long)at.token,
             (long long)generation);
    return store_sqlite_run(d, e, "REPLACE INTO meta VALUES('replica', ?1)", "s", fumi_str(text));
}

struct pulling {
    struct truth *t;
    struct db *d;
    struct pg *p;
    int64_t since;
    uint64_t tables; /* bits: those that have changed */
    bool words;      /* words of a note were removed from the index */
    bool removed;    /* a row was removed */
    sqlite3_stmt *q; /* the current statement of SQLite */
};

static int prepare(struct pulling *x, const char *sql, struct fumi_err *e)
{
    sqlite3_finalize(x->q);
    x->q = NULL;
    int rc = sqlite3_prepare_v2(x->d->h, sql, -1, &x->q, NULL);
    return rc ? store_sqlite_fault(x->d, rc, e) : 0;
}

static int bind(sqlite3_stmt *q, int i, const struct pg_value *v)
{
    if (v->null)
        return sqlite3_bind_null(q, i);
    if (v->type == 'i')
        return sqlite3_bind_int64(q, i, v->n);
    if (v->type == 's')
        return sqlite3_bind_text64(q, i, v->s.p, v->s.n, SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_blob64(q, i, v->s.n ? v->s.p : "", v->s.n, SQLITE_STATIC);
}

/* Runs the current statement with these parameters. */
static int run(struct pulling *x, const struct pg_value *values, size_t n, struct fumi_err *e)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = bind(x->q, (int)i + 1, &values[i]);
    if (!rc)
        rc = sqlite3_step(x->q);
    sqlite3_reset(x->q);
    sqlite3_clear_bindings(x->q);
    return rc == SQLITE_DONE || rc == SQLITE_OK ? 0 : store_sqlite_fault(x->d, rc, e);
}

static int remove_words(struct pulling *x, struct fumi_arena *a, const struct stored *old,
                        struct fumi_err *e)
{
    x->words = true;
    return old->damaged ? 0 : store_sqlite_note_words_drop(x->d, a, &old->note, e);
}

static bool same(struct fumi_str a, struct fumi_str b)
{
    return fumi_eq(a, b) && !a.p == !b.p;
}

static bool same_words(const struct stored *a, const struct stored *b)
{
    bool is = !a->damaged && !b->damaged && a->note.tags.n == b->note.tags.n &&
              same(a->note.project, b->note.project) && same(a->note.group, b->note.group) &&
              same(a->note.title, b->note.title) && same(a->note.text, b->note.text) &&
              same(a->note.source, b->note.source);
    for (size_t i = 0; is && i < a->note.tags.n; i++)
        is = fumi_eq(a->note.tags.items[i], b->note.tags.items[i]);
    return is;
}

/* Replaces the row of a note and, if they differ, its words in the index. */
static int put_note(struct pulling *x, struct fumi_arena *a, const struct pg_value *values,
                    size_t n, struct fumi_err *e)
{
    const struct fumi_str none = {0};
    struct stored old, now;
    int had = store_sqlite_find(x->d, a, none, values[0].n, &old, e);
    if (had < 0 || run(x, values, n, e) ||
        store_sqlite_find(x->d, a, none, values[0].n, &now, e) <= 0)
        return -1;
    if (had && same_words(&old, &now))
        return 0;
    if (had && remove_words(x, a, &old, e))
        return -1;
    return now.damaged ? 0 : store_sqlite_note_words(x->d, a, &now.note, e);
}

static bool is_notes(const struct pg_table *t)
{
    return strcmp(t->name, "notes") == 0;
}

static int put_row(struct pulling *x, const struct pg_table *t, const PGresult *r,
                   struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct pg_value values[PG_COLUMNS];
    for (size_t i = 0; i < t->n; i++)
        values[i] = pg_column(x->p, &a, r, (int)i, t->columns[i].type);
    int rc = is_notes(t) ? put_note(x, &a, values, t->n, e) : run(x, values, t->n, e);
    fumi_arena_done(&a);
    return rc;
}

static const struct pg_table *table_of(const struct truth *t, struct fumi_str name)
{
    for (size_t i = 0; i < PG_TABLES; i++)
        if (fumi_eq(name, fumi_str(t->tables[i].name)))
            return &t->tables[i];
    return NULL;
}

/* The key of a deleted row: table, number, text. */
static int remove_row(struct pulling *x, const PGresult *r, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    const struct fumi_str name = pg_column(x->p, &a, r, 0, 's').s;
    const struct pg_value id = pg_column(x->p, &a, r, 1, 'i'),
                          text = pg_column(x->p, &a, r, 2, 's');
    const struct pg_table *t = table_of(x->t, name);
    struct pg_value key[PG_COLUMNS];
    struct stored old = {.damaged = true};
    size_t n = 0;
    for (size_t i = 0; t && i < t->n; i++)
        if (t->columns[i].key)
            key[n++] = t->columns[i].type == 'i' ? id : text;
    int had = 0, rc = 0;
    if (t && is_notes(t))
        had = store_sqlite_find(x->d, &a, (struct fumi_str){0}, id.n, &old, e);
    if (t)
        rc = had < 0 || prepare(x, t->drop, e) || run(x, key, n, e) ? -1 : 0;
    if (!rc && had > 0)
        rc = remove_words(x, &a, &old, e);
    x->removed = true;
    fumi_arena_done(&a);
    return rc;
}

/* Passes each row of the next result to put_row, or to remove_row if there is no table. */
static int read_rows(struct pulling *x, const struct pg_table *t, struct fumi_err *e)
{
    PGresult *r = NULL;
    int rc = 0;
    if (t && prepare(x, t->put, e))
        return -1;
    if (!x->p->q->setSingleRowMode(x->p->c))
        return pg_fault(x->p, e);
    for (;;) {
        if (pg_result(x->p, &r, e))
            return -1;
        if (!r)
            return rc;
        if (!rc && x->p->q->resultStatus(r) == PGRES_SINGLE_TUPLE)
            rc = t ? put_row(x, t, r, e) : remove_row(x, r, e);
        x->p->q->clear(r);
        if (rc)
            return x->p->bad = true, rc; /* the other rows are not read */
    }
}

static bool has_changed(const struct pulling *x, size_t i)
{
    return x->tables >> i & 1;
}

static int read_all(struct pulling *x, struct fumi_err *e)
{
    static const char gone[] =
        "SELECT tbl, id, name FROM fumi.tombstones WHERE changed_in>$1 ORDER BY changed_in";
    const struct pg_value since = {.type = 'i', .n = x->since};
    const bool all = x->since < 0;
    if (pg_pipeline(x->p, e) || (!all && pg_send(x->p, gone, &since, 1, e)))
        return -1;
    for (size_t i = 0; i < PG_TABLES; i++)
        if (has_changed(x, i) && pg_send(x->p, x->t->tables[i].select, &since, 1, e))
            return -1;
    if (pg_pipeline_sync(x->p, e))
        return -1;
    if (!all && read_rows(x, NULL, e))
        return -1;
    for (size_t i = 0; i < PG_TABLES; i++)
        if (has_changed(x, i) && read_rows(x, &x->t->tables[i], e))
            return -1;
    x->p->sent = 0;
    return pg_pipeline_end(x->p, e);
}

/* Highest numbers that rows ever had, "TABLE=NUMBER " each: none of them is given again. */
static int set_sequences(struct pulling *x, struct fumi_str text, struct fumi_err *e)
{
    while (text.n) {
        const char *is = memchr(text.p, '=', text.n), *end = memchr(text.p, ' ', text.n);
        if (!is || !end)
            break;
        const struct fumi_str name = {text.p, (size_t)(is - text.p)};
        const int64_t n = strtoll(is + 1, NULL, 10);
        if (store_sqlite_run(x->d, e, "DELETE FROM sqlite_sequence WHERE name=?1 AND seq<?2", "si",
                             name, n) ||
            store_sqlite_run(
                x->d, e,
                "INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2 WHERE NOT EXISTS "
                "(SELECT 1 FROM sqlite_sequence WHERE name=?1)",
                "si", name, n))
            return -1;
        text = (struct fumi_str){end + 1, text.n - (size_t)(end + 1 - text.p)};
    }
    return 0;
}

static int exec(struct db *d, const char *sql, struct fumi_err *e)
{
    int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);
    return rc ? store_sqlite_fault(d, rc, e) : 0;
}

/* The replica is new, or has rows that PostgreSQL does not know: it was restored from a backup, or
 * the replica is so old that deletions are no longer known. */
static int clear(struct pulling *x, struct fumi_err *e)
{
    for (size_t i = 0; i < PG_TABLES; i++) {
        char sql[200];
        snprintf(sql, sizeof(sql), "DELETE FROM \"%s\"", x->t->tables[i].name);
        if (exec(x->d,
                 strcmp(x->t->tables[i].name, "meta") != 0
                     ? sql
                     : "DELETE FROM meta WHERE name NOT IN ('erase', 'replica') AND name NOT LIKE "
                       "'root.%' AND name NOT LIKE 'backup:%'",
                 e))
            return -1;
    }
    x->d->origin = 0;
    return exec(x->d, "INSERT INTO words(words) VALUES('delete-all'); DELETE FROM sqlite_sequence",
                e);
}

/* Sets `tables` and `since`. Returns whether PostgreSQL knows the last change of the replica. */
static int look(struct pulling *x, struct pg_position at, bool *known, struct fumi_err *e)
{
    char sql[200];
    PGresult *r;
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FILTER (WHERE change=%lld AND token=%lld), coalesce(bit_or(tables) "
             "FILTER (WHERE change>%lld), 0) FROM fumi.commits WHERE change>=%lld",
             (long long)at.change, (long long)at.token, (long long)at.change, (long long)at.change);
    if (pg_exec(x->p, sql, &r, e))
        return -1;
    *known = at.change >= 0 && pg_number(x->p, r, 0) > 0;
    x->tables = *known ? (uint64_t)pg_number(x->p, r, 1) : UINT64_MAX;
    x->since = *known ? at.change : -1;
    x->p->q->clear(r);
    return 0;
}

static int copy(struct pulling *x, struct pg_position at, int64_t generation,
                const struct pg_state *to, struct fumi_err *e)
{
    bool known;
    if (look(x, at, &known, e))
        return -1;
    if (!known) {
        fumi_random(&generation, sizeof(generation));
        generation = (generation & INT64_MAX) | 1;
        fumi_log(x->t->log, FUMI_INFO, "store.copy", {"from", {0}, at.change},
                 {"to", {0}, to->at.change});
        if (clear(x, e))
            return -1;
    }
    if (read_all(x, e) || set_sequences(x, to->sequences, e) ||
        store_sqlite_changes_prune(x->d, e) || pg_position_write(x->d, to->at, generation, e))
        return -1;
    return x->words || x->removed ? store_sqlite_erase_mark(x->d, x->words, e) : 0;
}

int pg_pull(struct truth *t, struct db *d, const struct pg_state *to, struct fumi_err *e)
{
    struct pulling x = {.t = t, .d = d, .p = &t->link};
    struct pg_position at;
    int64_t generation;
    if (pg_position_read(d, &at, &generation, e))
        return -1;
    if (at.change == to->at.change && at.token == to->at.token)
        return 0;
    int rc = copy(&x, at, generation, to, e);
    sqlite3_finalize(x.q);
    return rc;
}
