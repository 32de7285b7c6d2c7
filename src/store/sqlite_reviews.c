/* What is known about notes besides their content: what was given to which session (injections),
 * how often a note was used, and what waits for review. */
#include "store/sqlite_erase.h"
#include "store/sqlite_journal.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

/* A row of a table that names an author, while it is written. */
struct put_args {
    const void *row;
    struct fumi_arena arena;
};

static int put_injection(struct db *d, void *arg, struct fumi_err *e)
{
    struct put_args *p = arg;
    const struct injection *i = p->row;
    int64_t origin = 0;
    if (store_sqlite_origin(d, &i->by, &origin, e))
        return -1;
    return store_sqlite_run(
        d, e, "INSERT INTO injections(at, origin, project, kind, ids) VALUES(?1, ?2, ?3, ?4, ?5)",
        "iisss", i->at, origin, i->project, i->kind, store_sqlite_tags_json(&p->arena, i->ids));
}

int store_sqlite_add_injection(struct store *s, const struct injection *i, struct fumi_err *e)
{
    struct put_args p = {.row = i};
    int rc = store_sqlite_write(s, put_injection, &p, e);
    fumi_arena_done(&p.arena);
    return rc;
}

struct list_args {
    struct fumi_arena *arena;
    const void *query; /* or NULL */
    struct fumi_str text;
    int64_t since;
    size_t limit;
    void *out;
};

static int injections(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_args *l = arg;
    const struct injection_query *w = l->query;
    struct injections *out = l->out;
    size_t cap = 0;
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT i.n, i.at, i.project, i.kind, i.ids, o.session, o.client, o.version, o.transport, "
        "o.user FROM injections i LEFT JOIN origins o USING(origin) WHERE i.n<?1 AND "
        "(?2 IS NULL OR i.project=?2) AND (?3 IS NULL OR o.session=?3) AND (?4 IS NULL OR "
        "?4 IN (SELECT value FROM json_each(i.ids))) ORDER BY i.n DESC LIMIT ?5",
        "isssi", w->before_n ? w->before_n : INT64_MAX, w->project, w->session, w->id,
        (int64_t)w->limit);
    int more = q ? 1 : -1;
    *out = (struct injections){0};
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        out->items = store_sqlite_room(l->arena, out->items, out->n, &cap, sizeof(*out->items));
        struct injection *i = &out->items[out->n++];
        struct fumi_err ignored;
        *i = (struct injection){.n = sqlite3_column_int64(q, 0),
                                .at = sqlite3_column_int64(q, 1),
                                .project = store_sqlite_keep(q, 2, l->arena),
                                .kind = store_sqlite_keep(q, 3, l->arena),
                                .by = store_sqlite_author(q, 5, l->arena)};
        store_sqlite_tags_read(l->arena, store_sqlite_keep(q, 4, l->arena), &i->ids, &ignored);
    }
    return more;
}

int store_sqlite_list_injections(struct store *s, struct fumi_arena *a,
                                 const struct injection_query *q, struct injections *out,
                                 struct fumi_err *e)
{
    struct list_args l = {.arena = a, .query = q, .out = out};
    return store_sqlite_read(s, injections, &l, e);
}

struct uses_args {
    const struct note_use *items;
    size_t n;
};

static int put_uses(struct db *d, void *arg, struct fumi_err *e)
{
    const struct uses_args *u = arg;
    for (size_t i = 0; i < u->n; i++)
        if (store_sqlite_run(d, e,
                             "INSERT INTO uses(note, n, last) SELECT seq, ?2, ?3 FROM notes WHERE "
                             "seq=?1 ON CONFLICT(note) DO UPDATE SET n=n+?2, last=max(last, ?3)",
                             "iii", u->items[i].seq, u->items[i].n, u->items[i].last))
            return -1;
    return 0;
}

int store_sqlite_add_uses(struct store *s, const struct note_use *items, size_t n,
                          struct fumi_err *e)
{
    struct uses_args u = {items, n};
    return n ? store_sqlite_write(s, put_uses, &u, e) : 0;
}

static int unused(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_args *l = arg;
    struct note_uses *out = l->out;
    size_t cap = 0;
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT seq, coalesce(u.n, 0), coalesce(u.last, 0), id, project, created FROM notes "
        "LEFT JOIN uses u ON u.note=seq WHERE (?1 IS NULL OR project=?1) AND created<?2 AND "
        "coalesce(u.last, 0)<?2 ORDER BY 3, created, seq LIMIT ?3",
        "sii", l->text, l->since, (int64_t)l->limit);
    int more = q ? 1 : -1;
    *out = (struct note_uses){0};
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        out->items = store_sqlite_room(l->arena, out->items, out->n, &cap, sizeof(*out->items));
        out->items[out->n++] = (struct note_use){.seq = sqlite3_column_int64(q, 0),
                                                 .n = sqlite3_column_int64(q, 1),
                                                 .last = sqlite3_column_int64(q, 2),
                                                 .id = store_sqlite_keep(q, 3, l->arena),
                                                 .project = store_sqlite_keep(q, 4, l->arena),
                                                 .created = sqlite3_column_int64(q, 5)};
    }
    return more;
}

int store_sqlite_list_unused(struct store *s, struct fumi_arena *a, struct fumi_str project,
                             int64_t since, size_t limit, struct note_uses *out, struct fumi_err *e)
{
    struct list_args l = {.arena = a, .text = project, .since = since, .limit = limit, .out = out};
    return store_sqlite_read(s, unused, &l, e);
}

/* Without the project, which changes when the notes of a project are moved. */
static int64_t sum_of(const struct review *r)
{
    const struct fumi_str all[] = {r->id, r->note, r->body};
    uint64_t sum = store_sqlite_sum_number(store_sqlite_sum_number(0, r->at), (int64_t)r->op);
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        sum = store_sqlite_sum_str(sum, all[i]);
    return (int64_t)sum;
}

/* The time of a review is later than that of all others, so that they are listed in their order. */
static int put_review(struct db *d, void *arg, struct fumi_err *e)
{
    const struct put_args *p = arg;
    struct review now = *(const struct review *)p->row, *r = &now;
    int64_t there, origin = 0, last = 0;
    int found = store_sqlite_number(d, e, &there, "SELECT 1 FROM reviews WHERE id=?1", "s", r->id);
    if (found)
        return found < 0 ? -1 : fumi_err_set(e, ERR_CONFLICT, "A review with this id exists");
    if (store_sqlite_origin(d, &r->by, &origin, e) ||
        store_sqlite_number(d, e, &last, "SELECT coalesce(max(at), 0) FROM reviews", "") < 0)
        return -1;
    r->at = r->at > last ? r->at : last + 1;
    return store_sqlite_run(
        d, e,
        "INSERT INTO reviews(id, at, origin, op, checksum, project, note, body) VALUES(?1, ?2, "
        "?3, ?4, ?5, ?6, ?7, ?8)",
        "siiiisss", r->id, r->at, origin, (int64_t)r->op, sum_of(r), r->project, r->note, r->body);
}

int store_sqlite_add_review(struct store *s, const struct review *r, struct fumi_err *e)
{
    struct put_args p = {.row = r};
    return store_sqlite_write(s, put_review, &p, e);
}

/* The change of a note belongs to the project that the note is in. */
#define PROJECT "coalesce((SELECT n.project FROM notes n WHERE n.id=r.note), r.project)"
#define REVIEWS                                                                                    \
    "SELECT r.id, at, op, checksum, " PROJECT ", note, body, o.session, o.client, o.version, "     \
    "o.transport, o.user FROM reviews r LEFT JOIN origins o USING(origin) "

/* Returns false if the row does not match its checksum. */
static bool read_review(sqlite3_stmt *q, struct fumi_arena *a, struct review *out)
{
    *out = (struct review){.id = store_sqlite_keep(q, 0, a),
                           .at = sqlite3_column_int64(q, 1),
                           .op = sqlite3_column_int64(q, 2) == CHANGE_UPDATE ? CHANGE_UPDATE
                                                                             : CHANGE_ADD,
                           .project = store_sqlite_keep(q, 4, a),
                           .note = store_sqlite_keep(q, 5, a),
                           .body = store_sqlite_keep(q, 6, a),
                           .by = store_sqlite_author(q, 7, a)};
    return sqlite3_column_int64(q, 3) == sum_of(out);
}

static int reviews(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_args *l = arg;
    struct reviews *out = l->out;
    size_t cap = 0;
    sqlite3_stmt *q = store_sqlite_query(
        d, e, REVIEWS "WHERE ?1 IS NULL OR " PROJECT "=?1 ORDER BY at, r.id LIMIT ?2", "si",
        l->text, (int64_t)l->limit);
    int more = q ? 1 : -1;
    *out = (struct reviews){0};
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        out->items = store_sqlite_room(l->arena, out->items, out->n, &cap, sizeof(*out->items));
        struct review *r = &out->items[out->n];
        if (read_review(q, l->arena, r))
            out->n++;
        else
            store_sqlite_log_damage(d->store, "a review", r->id);
    }
    return more;
}

int store_sqlite_list_reviews(struct store *s, struct fumi_arena *a, struct fumi_str project,
                              size_t limit, struct reviews *out, struct fumi_err *e)
{
    struct list_args l = {.arena = a, .text = project, .limit = limit, .out = out};
    return store_sqlite_read(s, reviews, &l, e);
}

static int review(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_args *l = arg;
    sqlite3_stmt *q = store_sqlite_query(d, e, REVIEWS "WHERE r.id=?1", "s", l->text);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found < 0 ? -1 : fumi_err_set(e, ERR_NOT_FOUND, "Review not found");
    bool valid = read_review(q, l->arena, l->out);
    store_sqlite_end(q);
    return valid ? 0
                 : fumi_err_set(e, FUMI_LIMIT,
                                "This review is damaged in the database file: reject it, and write "
                                "the note again");
}

int store_sqlite_get_review(struct store *s, struct fumi_arena *a, struct fumi_str id,
                            struct review *out, struct fumi_err *e)
{
    struct list_args l = {.arena = a, .text = id.p ? id : FUMI_STR(""), .out = out};
    *out = (struct review){.at = 0};
    return store_sqlite_read(s, review, &l, e);
}

static int drop_review(struct db *d, void *arg, struct fumi_err *e)
{
    const struct fumi_str *id = arg;
    if (store_sqlite_run(d, e, "DELETE FROM reviews WHERE id=?1", "s", *id))
        return -1;
    if (!sqlite3_changes(d->h))
        return fumi_err_set(e, ERR_NOT_FOUND, "Review not found");
    return store_sqlite_erase_mark(d, false, e);
}

int store_sqlite_drop_review(struct store *s, struct fumi_str id, struct fumi_err *e)
{
    struct fumi_str one = id.p ? id : FUMI_STR("");
    if (store_sqlite_write(s, drop_review, &one, e))
        return -1;
    store_sqlite_erase_soon((struct store_sqlite *)s);
    return 0;
}

int store_sqlite_reviews_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e)
{
    struct fumi_arena a = {0};
    sqlite3_stmt *q = store_sqlite_query(d, e, REVIEWS, "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct review r;
        if (!read_review(q, &a, &r))
            bad(arg, "review", r.id);
        fumi_arena_reset(&a, 1 << 20);
    }
    fumi_arena_done(&a);
    return more;
}
