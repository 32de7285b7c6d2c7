/* Forgetting: a note, group or global is erased together with its rows in the journal, the reviews
 * that wait for it, and its traces (sqlite_erase.h). Rows without a text stay in the journal: when
 * a note was added, and that it was forgotten.
 *
 * Copies of the database that were made before cannot be changed. Those that are known and exist
 * are reported: copies before migrations, damaged files kept by doctor, and backups, whose paths
 * the meta table has. Also the pruning of the journal. */
#include "store/sqlite_changes.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_file.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"
#include "base/clock.h"

#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ROW_BYTES = 128,   /* of a row of the journal, besides its text */
    PRUNE_ROWS = 4096, /* deleted in one transaction */
};

struct forget_args {
    struct fumi_arena *arena;
    const struct forget_query *query;
    const struct author *by;
    int64_t notes;
};

static int not_found(struct fumi_str id, struct fumi_err *e)
{
    return fumi_err_set(e, ERR_NOT_FOUND, "Not found: %.*s", FUMI_ARG(store_sqlite_id_shown(id)));
}

/* The project of what the id belongs to, or belonged to. Returns 1; 0 if the id is unknown. */
static int project_of(struct db *d, struct fumi_arena *a, struct fumi_str id, struct fumi_str *out,
                      struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT project FROM (SELECT project, 0 AS o, 0 AS n FROM notes WHERE id=?1 UNION ALL "
        "SELECT project, 0, 0 FROM groups WHERE id=?1 UNION ALL SELECT project, 0, 0 FROM globals "
        "WHERE id=?1 UNION ALL SELECT project, 1, -n FROM journal WHERE id=?1 AND " JOURNAL_INDEXED
        ") ORDER BY o, n",
        "s", id);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    *out = store_sqlite_keep(q, 0, a);
    store_sqlite_end(q);
    return 1;
}

static int drop_note(struct db *d, struct store_sqlite_change *c, struct fumi_str id, int64_t *n,
                     struct fumi_err *e)
{
    struct stored note;
    int found = store_sqlite_find(d, c->arena, id, 0, &note, e);
    if (found <= 0)
        return found;
    ++*n;
    return store_sqlite_note_drop(d, c->arena, &note, e) ||
                   store_sqlite_change_release(d, c, &note.note, e)
               ? -1
               : 0;
}

static int drop_rows(struct db *d, struct fumi_str id, struct fumi_err *e)
{
    static const char *const all[] = {
        "DELETE FROM groups WHERE id=?1",
        "DELETE FROM globals WHERE id=?1",
        ("DELETE FROM journal WHERE id=?1 AND " JOURNAL_INDEXED),
        "DELETE FROM reviews WHERE note=?1",
    };
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (store_sqlite_run(d, e, all[i], "s", id))
            return -1;
    return store_sqlite_note_changed(d, CHANGED_ELSE, e);
}

static int forget_one(struct db *d, struct forget_args *f, struct store_sqlite_change *c,
                      struct fumi_str id, struct fumi_err *e)
{
    struct fumi_str project = {0};
    int known = project_of(d, f->arena, id, &project, e);
    if (known <= 0)
        return known < 0 ? -1 : not_found(id, e);
    const struct journal_row row = {CHANGE_FORGET, project, id, {0}};
    return drop_note(d, c, id, &f->notes, e) || drop_rows(d, id, e) ||
                   store_sqlite_journal(d, c, &row, e)
               ? -1
               : 0;
}

static int forget(struct db *d, void *arg, struct fumi_err *e)
{
    struct forget_args *f = arg;
    struct store_sqlite_change c = store_sqlite_change_begin(f->by, f->arena);
    f->notes = 0;
    for (size_t i = 0; i < f->query->ids.n; i++) { /* before anything is changed */
        struct fumi_str project = {0}, id = f->query->ids.items[i];
        int known = project_of(d, f->arena, id, &project, e);
        if (known < 0)
            return -1;
        if (!known || (f->query->project.p && !fumi_eq(f->query->project, project)))
            return not_found(id, e);
    }
    for (size_t i = 0; i < f->query->ids.n; i++)
        if (forget_one(d, f, &c, f->query->ids.items[i], e))
            return -1;
    return store_sqlite_erase_mark(d, true, e);
}

/* The path in the list ends with NUL. */
static void add_path(struct fumi_arena *a, struct fumi_strs *out, struct fumi_str path)
{
    struct fumi_str *items = fumi_alloc(a, (out->n + 1) * sizeof(*items));
    if (out->n)
        memcpy(items, out->items, out->n * sizeof(*items));
    items[out->n] = fumi_fmt(a, "%.*s", FUMI_ARG(path));
    *out = (struct fumi_strs){items, out->n + 1};
}

/* The characters *, ?, [ and \ in the path are taken literally. */
static char *quoted(struct fumi_arena *a, const char *path, const char *ending)
{
    struct fumi_buf buf = {0};
    for (const char *p = path; *p; p++) {
        if (strchr("*?[\\", *p))
            fumi_buf_put(&buf, '\\');
        fumi_buf_put(&buf, *p);
    }
    fumi_buf_add(&buf, ending, strlen(ending) + 1);
    return (char *)(uintptr_t)fumi_buf_keep(&buf, a).p;
}

/* Adds the files beside the database whose names have this ending, a pattern. */
static void add_beside(const struct store_sqlite *s, struct fumi_arena *a, const char *ending,
                       struct fumi_strs *out)
{
    glob_t found = {0};
    if (glob(quoted(a, s->path, ending), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_path(a, out, fumi_str(found.gl_pathv[i]));
    globfree(&found);
}

struct listing_copies {
    struct fumi_arena *arena;
    struct fumi_strs *out;
};

static int list_backups(struct db *d, void *arg, struct fumi_err *e)
{
    struct listing_copies *l = arg;
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT substr(name, 8) FROM meta WHERE name>='backup:' AND name<'backup;'", "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct fumi_str path = store_sqlite_keep(q, 0, l->arena);
        if (store_sqlite_file_exists(fumi_fmt(l->arena, "%.*s", FUMI_ARG(path)).p))
            add_path(l->arena, l->out, path);
    }
    return more;
}

#define OF_MIGRATIONS ".v*.bak"

int store_sqlite_forget(struct store *base, struct fumi_arena *a, const struct forget_query *q,
                        const struct author *by, struct forgotten *out, struct fumi_err *e)
{
    struct store_sqlite *s = (struct store_sqlite *)base;
    struct forget_args f = {.arena = a, .query = q, .by = by};
    struct listing_copies copies = {a, &out->copies};
    *out = (struct forgotten){0};
    if (q->ids.n && store_sqlite_write(base, forget, &f, e))
        return -1;
    out->notes = f.notes;
    store_sqlite_erase_soon(s);
    add_beside(s, a, OF_MIGRATIONS, &out->copies);
    add_beside(s, a, ".damaged-*", &out->copies);
    return store_sqlite_read(base, list_backups, &copies, e);
}

int store_sqlite_remove_copies(struct store *base, struct fumi_arena *a, struct fumi_strs *out,
                               struct fumi_err *e)
{
    struct store_sqlite *s = (struct store_sqlite *)base;
    struct fumi_strs all = {0};
    *out = (struct fumi_strs){0};
    add_beside(s, a, OF_MIGRATIONS, &all);
    for (size_t i = 0; i < all.n; i++) {
        if (unlink(all.items[i].p))
            return fumi_err_set(e, FUMI_LIMIT, "The copy cannot be deleted: %m (%s)",
                                all.items[i].p);
        add_path(a, out, all.items[i]);
    }
    return all.n ? store_sqlite_file_sync_dir(s->path, e) : 0;
}

static int put_backup(struct db *d, void *arg, struct fumi_err *e)
{
    const struct fumi_str *name = arg;
    return store_sqlite_run(d, e, "REPLACE INTO meta VALUES(?1, CAST(?2 AS TEXT))", "si", *name,
                            fumi_now());
}

/* A store that cannot be written does not know its backups. */
void store_sqlite_backup_made(struct store_sqlite *s, const char *path)
{
    struct fumi_arena a = {0};
    struct fumi_err ignored;
    char *whole = realpath(path, NULL);
    struct fumi_str name = fumi_fmt(&a, "backup:%s", whole ? whole : path);
    if (!s->uri)
        store_sqlite_write(&s->base, put_backup, &name, &ignored);
    free(whole);
    fumi_arena_done(&a);
}

struct prune_args {
    int64_t older_than, max_bytes;
    int64_t deleted;
};

/* The newest row that is too old, or before which there are rows of max_bytes. */
static int last_to_prune(struct db *d, const struct prune_args *p, int64_t *last,
                         struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT n, at, length(CAST(before AS BLOB)) FROM journal ORDER BY n DESC", "");
    int more = q ? 1 : -1;
    int64_t bytes = 0;
    *last = 0;
    while (more > 0 && !*last && (more = store_sqlite_row(d, q, e)) > 0) {
        bytes += ROW_BYTES + sqlite3_column_int64(q, 2);
        if (sqlite3_column_int64(q, 1) < p->older_than || (p->max_bytes && bytes > p->max_bytes))
            *last = sqlite3_column_int64(q, 0);
    }
    if (more > 0)
        store_sqlite_end(q);
    return more < 0 ? -1 : 0;
}

static int prune(struct db *d, void *arg, struct fumi_err *e)
{
    struct prune_args *p = arg;
    int64_t last;
    if (last_to_prune(d, p, &last, e) ||
        store_sqlite_run(d, e,
                         "DELETE FROM journal WHERE n IN (SELECT n FROM journal WHERE n<=?1 ORDER "
                         "BY n LIMIT ?2)",
                         "ii", last, (int64_t)PRUNE_ROWS))
        return -1;
    p->deleted = sqlite3_changes64(d->h);
    if (store_sqlite_run(d, e,
                         "DELETE FROM injections WHERE n IN (SELECT n FROM injections WHERE at<?1 "
                         "ORDER BY n LIMIT ?2)",
                         "ii", p->older_than, (int64_t)PRUNE_ROWS))
        return -1;
    int64_t injections = sqlite3_changes64(d->h);
    if (p->deleted && store_sqlite_erase_mark(d, true, e))
        return -1;
    p->deleted = p->deleted > injections ? p->deleted : injections;
    return 0;
}

static int look_for_old(struct db *d, void *arg, struct fumi_err *e)
{
    struct prune_args *p = arg;
    int64_t last, old = 0;
    if (last_to_prune(d, p, &last, e) ||
        store_sqlite_number(d, e, &old, "SELECT 1 FROM injections WHERE at<?1 LIMIT 1", "i",
                            p->older_than) < 0)
        return -1;
    p->deleted = last || old;
    return 0;
}

int store_sqlite_prune_history(struct store *s, int64_t older_than, int64_t max_bytes, bool *more,
                               struct fumi_err *e)
{
    struct prune_args p = {older_than, max_bytes, 0};
    int rc = store_sqlite_read(s, look_for_old, &p, e);
    if (!rc && p.deleted)
        rc = store_sqlite_write(s, prune, &p, e);
    *more = !rc && p.deleted == PRUNE_ROWS;
    return rc;
}
