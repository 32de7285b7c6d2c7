/* The journal. A row is written in the transaction of the change that it describes, so the journal
 * and the notes always agree. Its text `before` is an object with the members that the change has
 * replaced, under their names on the wire; of a deleted row, all members. */
#include "store/sqlite_journal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "store/sqlite_ops.h"
#include "json/json.h"

enum { DEEPEST = FUMI_DEPTH + 8 }; /* the metadata of a note is nested one level deeper */

/* Times from the year 0000 to 9999 are written as text. */
#define YEAR_0  (-INT64_C(62167219200000))
#define YEAR_10 INT64_C(253402300800000)

enum { NULL_IS_A_VALUE = 1 << 8 }; /* flag of a JSON column: null is not the absence of a value */

#define MEMBER(T, member, name, ...)                                                               \
    {                                                                                              \
        name, offsetof(struct T, member), __VA_ARGS__                                              \
    }
static const struct note_column group_columns[] = {
    MEMBER(group, id, "id", FUMI_T_STR, 0),
    MEMBER(group, project, "projectId", FUMI_T_STR, 0),
    MEMBER(group, key, "groupKey", FUMI_T_STR, 0),
    MEMBER(group, title, "title", FUMI_T_STR, 0),
    MEMBER(group, description, "description", FUMI_T_STR, 0),
    MEMBER(group, created, "createdAt", FUMI_T_INT, 0),
    MEMBER(group, updated, "updatedAt", FUMI_T_INT, 0),
};
static const struct note_column global_columns[] = {
    MEMBER(global, id, "id", FUMI_T_STR, 0),
    MEMBER(global, project, "projectId", FUMI_T_STR, 0),
    MEMBER(global, key, "key", FUMI_T_STR, 0),
    MEMBER(global, value, "value", FUMI_T_JSON, NULL_IS_A_VALUE),
    MEMBER(global, updated, "updatedAt", FUMI_T_INT, 0),
};
const struct journal_kind journal_note = {note_columns, NOTE_INDEX_N},
                          journal_group = {group_columns, FUMI_COUNT(group_columns)},
                          journal_global = {global_columns, FUMI_COUNT(global_columns)};

void *store_sqlite_room(struct fumi_arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 16;
    void *more = fumi_alloc(a, *cap * size);
    return n ? memcpy(more, items, n * size) : more;
}

struct store_sqlite_change store_sqlite_change_begin(const struct author *by, struct fumi_arena *a)
{
    return (struct store_sqlite_change){.by = by, .arena = a, .at = fumi_now()};
}

static struct fumi_str known(struct fumi_str s)
{
    return s.p ? s : FUMI_STR("");
}

static int find_origin(struct db *d, const struct author *b, int64_t *origin, struct fumi_err *e)
{
    int found = store_sqlite_number(d, e, origin,
                                    "SELECT origin FROM origins WHERE session=?1 AND client=?2 AND "
                                    "version=?3 AND transport=?4 AND user=?5",
                                    "sssss", known(b->session), known(b->client), known(b->version),
                                    known(b->transport), known(b->user));
    if (found)
        return found < 0 ? -1 : 0;
    if (store_sqlite_run(d, e,
                         "INSERT INTO origins(session, client, version, transport, user) "
                         "VALUES(?1, ?2, ?3, ?4, ?5)",
                         "sssss", known(b->session), known(b->client), known(b->version),
                         known(b->transport), known(b->user)))
        return -1;
    *origin = sqlite3_last_insert_rowid(d->h);
    return 0;
}

static struct fumi_str key_of(struct fumi_buf *buf, const struct author *b)
{
    const struct fumi_str all[] = {b->session, b->client, b->version, b->transport, b->user};
    for (size_t i = 0; i < FUMI_COUNT(all); i++) {
        fumi_buf_add(buf, &all[i].n, sizeof(all[i].n));
        fumi_buf_add(buf, all[i].p, all[i].n);
    }
    return fumi_buf_str(buf);
}

/* The connection keeps the last origin, because most changes have the same author as the one
 * before. A transaction that is rolled back may have added it (see roll_back in sqlite_write.c). */
int store_sqlite_origin(struct db *d, const struct author *by, int64_t *origin, struct fumi_err *e)
{
    static const struct author unknown = {.client = {0}};
    const struct author *b = by ? by : &unknown;
    struct fumi_buf buf = {0};
    int rc = 0;
    if (*origin)
        return 0;
    struct fumi_str key = key_of(&buf, b);
    if (d->origin && fumi_eq(key, d->origin_key)) {
        *origin = d->origin;
    } else if (!(rc = find_origin(d, b, origin, e))) {
        d->origin = *origin;
        char *own = fumi_resize((void *)(uintptr_t)d->origin_key.p, key.n);
        d->origin_key = (struct fumi_str){memcpy(own, key.p, key.n), key.n};
    }
    fumi_buf_done(&buf);
    return rc;
}

struct author store_sqlite_author(sqlite3_stmt *q, int column, struct fumi_arena *a)
{
    struct fumi_str s[5];
    for (int i = 0; i < 5; i++) {
        s[i] = store_sqlite_keep(q, column + i, a);
        s[i] = s[i].n ? s[i] : (struct fumi_str){0};
    }
    return (struct author){
        .session = s[0], .client = s[1], .version = s[2], .transport = s[3], .user = s[4]};
}

/* The column `change` of the first row of a change is NULL: the number is its own. */
static int64_t sum_of(const struct change *c, int64_t origin)
{
    const int64_t numbers[] = {c->change == c->n ? 0 : c->change, c->at, (int64_t)c->op, c->undoes,
                               origin};
    uint64_t sum = 0;
    for (size_t i = 0; i < FUMI_COUNT(numbers); i++)
        sum = store_sqlite_sum_number(sum, numbers[i]);
    sum = store_sqlite_sum_str(sum, c->project);
    sum = store_sqlite_sum_str(sum, c->id);
    return (int64_t)store_sqlite_sum_str(sum, c->before);
}

int store_sqlite_journal(struct db *d, struct store_sqlite_change *c, const struct journal_row *r,
                         struct fumi_err *e)
{
    const struct change now = {.change = c->change,
                               .at = c->at,
                               .op = r->op,
                               .undoes = c->undoes,
                               .project = r->project,
                               .id = r->id,
                               .before = r->before};
    if (store_sqlite_origin(d, c->by, &c->origin, e) ||
        store_sqlite_run(
            d, e,
            "INSERT INTO journal(change, at, origin, op, undoes, checksum, project, id, before) "
            "VALUES(nullif(?1, 0), ?2, ?3, ?4, nullif(?5, 0), ?6, ?7, ?8, ?9)",
            "iiiiiisss", now.change, now.at, c->origin, (int64_t)now.op, now.undoes,
            sum_of(&now, c->origin), now.project, now.id, now.before))
        return -1;
    c->change = c->change ? c->change : sqlite3_last_insert_rowid(d->h);
    return 0;
}

bool store_sqlite_change_row(sqlite3_stmt *q, struct fumi_arena *a, struct change *out)
{
    int64_t op = sqlite3_column_int64(q, 3);
    *out = (struct change){.n = sqlite3_column_int64(q, 0),
                           .change = sqlite3_column_int64(q, 1),
                           .at = sqlite3_column_int64(q, 2),
                           .op = op >= 0 && op < CHANGE_OPS ? (enum change_op)op : CHANGE_FORGET,
                           .undoes = sqlite3_column_int64(q, 4),
                           .project = store_sqlite_keep(q, 5, a),
                           .id = store_sqlite_keep(q, 6, a),
                           .before = store_sqlite_keep(q, 7, a),
                           .by = store_sqlite_author(q, 9, a)};
    return sqlite3_column_int64(q, 8) == sum_of(out, sqlite3_column_int64(q, 14));
}

static void put_time(struct fumi_out *o, int64_t ms)
{
    char text[FUMI_TIME_SIZE];
    if (ms < YEAR_0 || ms >= YEAR_10) {
        fumi_put_int(o, ms);
        return;
    }
    fumi_time_write(ms, text);
    fumi_put_str(o, (struct fumi_str){text, sizeof(text)});
}

static void put_strs(struct fumi_out *o, const struct fumi_strs *list)
{
    fumi_put_open(o, '[');
    for (size_t i = 0; i < list->n; i++)
        fumi_put_str(o, list->items[i]);
    fumi_put_close(o, ']');
}

static void put_member(struct fumi_out *o, enum fumi_type type, const void *at)
{
    const struct fumi_time *time = at;
    if (type == FUMI_T_STR)
        fumi_put_str(o, *(const struct fumi_str *)at);
    else if (type == FUMI_T_JSON && ((const struct fumi_str *)at)->p)
        fumi_put_json(o, *(const struct fumi_json *)at);
    else if (type == FUMI_T_STRS)
        put_strs(o, at);
    else if (type == FUMI_T_INT)
        put_time(o, *(const int64_t *)at);
    else if (type == FUMI_T_TIME && time->set)
        put_time(o, time->ms);
    else
        fumi_put_null(o);
}

struct fumi_str store_sqlite_before(struct fumi_arena *a, const struct journal_kind *k,
                                    const void *row, unsigned set, int64_t chain)
{
    struct fumi_buf buf = {0};
    struct fumi_out o = {.buf = &buf};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < k->n; i++) {
        if (!(set >> i & 1))
            continue;
        fumi_put_key(&o, k->columns[i].name);
        put_member(&o, k->columns[i].type, (const char *)row + k->columns[i].offset);
    }
    if (chain) {
        fumi_put_key(&o, "chain");
        fumi_put_int(&o, chain);
    }
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&buf, a);
}

static bool read_time(struct fumi_arena *a, const struct fumi_val *v, int64_t *ms)
{
    return fumi_is(v, FUMI_STRING) ? fumi_time_read(fumi_text(a, v), ms) : fumi_int(v, ms);
}

static struct fumi_strs read_strs(struct fumi_arena *a, const struct fumi_val *v)
{
    struct fumi_strs out = {fumi_alloc(a, fumi_size(v) * sizeof(*out.items)), 0};
    for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i))
        out.items[out.n++] = fumi_text(a, i);
    return out;
}

/* Returns false if the value is not one of this type. */
static bool read_member(struct fumi_arena *a, const struct note_column *c, const struct fumi_val *v,
                        void *at)
{
    enum fumi_type type = c->type;
    bool null = fumi_is(v, FUMI_NULL) && !(type == FUMI_T_JSON && c->flags & NULL_IS_A_VALUE);
    struct fumi_time *time = at;
    if (type == FUMI_T_STR)
        *(struct fumi_str *)at = fumi_text(a, v);
    else if (type == FUMI_T_JSON)
        *(struct fumi_str *)at = null ? (struct fumi_str){0} : fumi_raw(v);
    else if (type == FUMI_T_STRS)
        *(struct fumi_strs *)at = read_strs(a, v);
    else if (type == FUMI_T_INT)
        return read_time(a, v, at);
    else {
        *time = (struct fumi_time){.set = !null};
        return null || read_time(a, v, &time->ms);
    }
    return true;
}

int store_sqlite_before_read(struct fumi_arena *a, const struct journal_kind *k,
                             struct fumi_str before, void *row, unsigned *set, int64_t *chain,
                             struct fumi_err *e)
{
    *set = 0;
    const struct fumi_val *all = before.p ? fumi_parse_deep(a, before, DEEPEST, e) : NULL;
    bool valid = fumi_is(all, FUMI_OBJECT);
    for (size_t i = 0; valid && i < k->n; i++) {
        const struct fumi_val *v = fumi_get(all, k->columns[i].name);
        if (!v)
            continue;
        *set |= 1u << i;
        valid = read_member(a, &k->columns[i], v, (char *)row + k->columns[i].offset);
    }
    if (valid && fumi_get(all, "chain"))
        valid = fumi_int(fumi_get(all, "chain"), chain);
    return valid ? 0 : fumi_err_set(e, FUMI_LIMIT, "A row of the journal is damaged");
}

int store_sqlite_journal_check(struct db *d, store_sqlite_bad_fn *bad, void *arg,
                               struct fumi_err *e)
{
    struct fumi_arena a = {0};
    sqlite3_stmt *q = store_sqlite_query(d, e, JOURNAL_COLUMNS, "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct change row;
        if (!store_sqlite_change_row(q, &a, &row))
            bad(arg, "row of the journal", fumi_fmt(&a, "%lld", (long long)row.n));
        fumi_arena_reset(&a, 1 << 20);
    }
    fumi_arena_done(&a);
    return more;
}

struct history_args {
    struct fumi_arena *arena;
    const struct history_query *query;
    struct changes *out;
    size_t cap;
};

static void add(struct history_args *h, const struct change *row)
{
    struct changes *out = h->out;
    out->items = store_sqlite_room(h->arena, out->items, out->n, &h->cap, sizeof(*out->items));
    out->items[out->n++] = *row;
}

/* ?1 before this row, ?2 and ?3 times, ?4 project, ?5 session, ?6 client, ?7 id. */
#define CONDITIONS                                                                                 \
    "j.n<?1 AND j.at>=?2 AND j.at<?3 AND (?4 IS NULL OR j.project=?4) AND (?5 IS NULL OR "         \
    "o.session=?5) AND (?6 IS NULL OR o.client=?6) ORDER BY j.n DESC"

static int history(struct db *d, void *arg, struct fumi_err *e)
{
    struct history_args *h = arg;
    const struct history_query *w = h->query;
    static const char of_id[] = JOURNAL_COLUMNS "WHERE j.id=?7 AND " CONDITIONS,
                      all[] = JOURNAL_COLUMNS "WHERE " CONDITIONS;
    sqlite3_stmt *q = store_sqlite_query(d, e, w->id.p ? of_id : all,
                                         w->id.p ? "iiissss" : "iiisss",
                                         w->before_n ? w->before_n : INT64_MAX, w->since, w->until,
                                         w->project, w->session, w->client, w->id);
    int more = q ? 1 : -1;
    struct change row;
    *h->out = (struct changes){0};
    h->cap = 0;
    while (more > 0 && h->out->n < w->limit && (more = store_sqlite_row(d, q, e)) > 0) {
        if (store_sqlite_change_row(q, h->arena, &row))
            add(h, &row);
        else
            store_sqlite_log_damage(d->store, "a row of the journal", row.id);
    }
    if (more > 0)
        store_sqlite_end(q);
    return more < 0 ? -1 : 0;
}

int store_sqlite_history(struct store *s, struct fumi_arena *a, const struct history_query *q,
                         struct changes *out, struct fumi_err *e)
{
    struct history_args h = {.arena = a, .query = q, .out = out};
    return store_sqlite_read(s, history, &h, e);
}
