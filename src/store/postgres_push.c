/* Sends the rows that a transaction of the replica has changed to PostgreSQL. SQLite's session
 * extension records the keys; the rows are read when the transaction is complete. */
#include "store/postgres_parts.h"

#include "base/uuid.h"

struct pushing {
    struct truth *t;
    struct db *d;
    int64_t change;
    uint64_t tables; /* bits: those that have changed */
    int64_t pruned;  /* the last number of table `changes` that was deleted; 0: none */
    sqlite3_stmt *get[PG_TABLES];
};

static struct pg_value value_of(sqlite3_value *v)
{
    struct pg_value to = {.type = 's', .null = sqlite3_value_type(v) == SQLITE_NULL};
    if (sqlite3_value_type(v) == SQLITE_INTEGER)
        return (struct pg_value){.type = 'i', .n = sqlite3_value_int64(v)};
    if (!to.null) {
        const void *p = sqlite3_value_blob(v);
        to.s = (struct fumi_str){p ? p : "", (size_t)sqlite3_value_bytes(v)};
    }
    return to;
}

static int session_fault(struct db *d, int rc, struct fumi_err *e)
{
    return store_sqlite_fault(d, rc, e);
}

/* The key of the current change. */
static int key_of(struct pushing *x, const struct pg_table *t, sqlite3_changeset_iter *it,
                  bool added, struct pg_value key[PG_COLUMNS], struct fumi_err *e)
{
    int n = 0;
    for (size_t i = 0; i < t->n; i++) {
        sqlite3_value *v = NULL;
        if (!t->columns[i].key)
            continue;
        int rc = added ? sqlite3changeset_new(it, (int)i, &v)
                       : sqlite3changeset_old(it, (int)i, &v);
        if (rc || !v)
            return session_fault(x->d, rc ? rc : SQLITE_MISUSE, e);
        key[n++] = value_of(v);
    }
    return n;
}

/* Reads the row with the key as it is now. The texts belong to the statement, which is reset by
 * the next call for the table. Returns 1; 0 if there is none; -1 with *e set. */
static int read_row(struct pushing *x, const struct pg_table *t, const struct pg_value *key, int n,
                    struct pg_value row[PG_COLUMNS], struct fumi_err *e)
{
    sqlite3_stmt **q = &x->get[t->index];
    int rc = *q ? sqlite3_reset(*q) : sqlite3_prepare_v2(x->d->h, t->get, -1, q, NULL);
    for (int i = 0; i < n && !rc; i++)
        rc = key[i].type == 'i' ? sqlite3_bind_int64(*q, i + 1, key[i].n)
                                : sqlite3_bind_text64(*q, i + 1, key[i].s.p, key[i].s.n,
                                                      SQLITE_TRANSIENT, SQLITE_UTF8);
    if (!rc)
        rc = sqlite3_step(*q);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? 0 : session_fault(x->d, rc, e);
    for (size_t i = 0; i < t->n; i++) {
        struct pg_value *to = &row[i];
        *to = (struct pg_value){.type = t->columns[i].type};
        to->s = store_sqlite_text(*q, (int)i);
        to->null = sqlite3_column_type(*q, (int)i) == SQLITE_NULL;
        if (to->type == 'i')
            to->n = sqlite3_column_int64(*q, (int)i);
    }
    row[t->n] = (struct pg_value){.type = 'i', .n = x->change};
    return 1;
}

static int push_tombstone(struct pushing *x, const struct pg_table *t, const struct pg_value *key,
                          int n, struct fumi_err *e)
{
    static const char sql[] = "INSERT INTO fumi.tombstones VALUES($1, $2, $3, $4)";
    struct pg_value to[] = {{.type = 'i', .n = x->change},
                            {.type = 's', .s = fumi_str(t->name)},
                            {.type = 'i', .null = true},
                            {.type = 's', .null = true}};
    for (int i = 0; i < n; i++)
        to[key[i].type == 'i' ? 2 : 3] = key[i];
    return pg_send(&x->t->link, sql, to, FUMI_COUNT(to), e);
}

static int push_row(struct pushing *x, const struct pg_table *t, int op, sqlite3_changeset_iter *it,
                    struct fumi_err *e)
{
    struct pg *p = &x->t->link;
    struct pg_value key[PG_COLUMNS], row[PG_COLUMNS + 1];
    int n = key_of(x, t, it, op == SQLITE_INSERT, key, e);
    if (n < 0)
        return -1;
    if (strcmp(t->name, "meta") == 0 && pg_is_local(key[0].s))
        return 0;
    if (strcmp(t->name, "changes") == 0 && op == SQLITE_DELETE) {
        x->pruned = key[0].n > x->pruned ? key[0].n : x->pruned;
        return 0;
    }
    x->tables |= UINT64_C(1) << t->index;
    if (op != SQLITE_INSERT && pg_send_to(p, t, PG_REMOVE, key, (size_t)n, e))
        return -1;
    if (op == SQLITE_DELETE)
        return push_tombstone(x, t, key, n, e);
    int found = read_row(x, t, key, n, row, e);
    return found > 0 ? pg_send_to(p, t, PG_INSERT, row, t->n + 1, e) : found;
}

static const struct pg_table *table_of(const struct truth *t, const char *name)
{
    for (size_t i = 0; i < PG_TABLES; i++)
        if (strcmp(name, t->tables[i].name) == 0)
            return &t->tables[i];
    return NULL;
}

static int push_rows(struct pushing *x, int size, void *set, struct fumi_err *e)
{
    sqlite3_changeset_iter *it = NULL;
    int rc = sqlite3changeset_start(&it, size, set), failed = 0;
    while (!rc && !failed && (rc = sqlite3changeset_next(it)) == SQLITE_ROW) {
        const char *name;
        int columns, op, indirect;
        rc = sqlite3changeset_op(it, &name, &columns, &op, &indirect);
        const struct pg_table *t = rc ? NULL : table_of(x->t, name);
        if (t)
            failed = push_row(x, t, op, it, e);
    }
    sqlite3changeset_finalize(it);
    if (failed || rc == SQLITE_DONE)
        return failed;
    return session_fault(x->d, rc, e);
}

/* All numbers that were ever given to rows; "TABLE=NUMBER " each. */
static int sequences(struct db *d, struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT coalesce(group_concat(name || '=' || seq || ' ', ''), '') FROM sqlite_sequence",
        "");
    if (!q || store_sqlite_row(d, q, e) <= 0)
        return -1;
    *out = store_sqlite_keep(q, 0, a);
    store_sqlite_end(q);
    return 0;
}

static int push_change(struct pushing *x, const struct pg_position *now, struct fumi_err *e)
{
    static const char commit[] =
        "INSERT INTO fumi.commits(change, token, tables) VALUES($1, $2, $3)",
                      store[] = "UPDATE fumi.store SET change=$1, token=$2, sequences=$3",
                      prune[] = "DELETE FROM fumi.changes WHERE n<=$1",
                      forget[] = "DELETE FROM fumi.commits WHERE change<$1",
                      bury[] = "DELETE FROM fumi.tombstones WHERE changed_in<$1";
    struct pg *p = &x->t->link;
    struct fumi_arena a = {0};
    struct fumi_str text = {0};
    const struct pg_value kept = {.type = 'i', .n = now->change - PG_KEPT};
    const struct pg_value pruned = {.type = 'i', .n = x->pruned};
    struct pg_value v[] = {{.type = 'i', .n = now->change},
                           {.type = 'i', .n = now->token},
                           {.type = 'i', .n = (int64_t)x->tables}};
    int rc = sequences(x->d, &a, &text, e) || pg_send(p, commit, v, 3, e);
    v[2] = (struct pg_value){.type = 's', .s = text};
    rc = rc || pg_send(p, store, v, 3, e);
    if (x->pruned)
        rc = rc || pg_send(p, prune, &pruned, 1, e);
    if (now->change % 256 == 0)
        rc = rc || pg_send(p, forget, &kept, 1, e) || pg_send(p, bury, &kept, 1, e);
    rc = rc || pg_send(p, "SELECT pg_notify('fumi', '')", NULL, 0, e);
    fumi_arena_done(&a);
    return rc ? -1 : 0;
}

int pg_push(struct truth *t, struct db *d, const struct pg_position *now, bool *any,
            struct fumi_err *e)
{
    struct pushing x = {.t = t, .d = d, .change = now->change};
    void *set = NULL;
    int size = 0, rc = sqlite3session_patchset(t->session, &size, &set);
    sqlite3session_enable(t->session, 0);
    if (rc)
        return session_fault(d, rc, e);
    rc = pg_pipeline(&t->link, e) || push_rows(&x, size, set, e) ? -1 : 0;
    *any = x.tables || x.pruned;
    if (!rc && *any)
        rc = push_change(&x, now, e);
    for (size_t i = 0; i < PG_TABLES; i++)
        sqlite3_finalize(x.get[i]);
    sqlite3_free(set);
    return rc;
}
