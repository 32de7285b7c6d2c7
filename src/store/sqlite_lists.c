/* Lists and counts.
 *
 * The newest notes are read from one of two indexes: if few tag sets pass the filter, from the
 * index on (tag_set, created), one tag set after the other; if many pass, from the index on all
 * notes by time. few_tag_sets estimates which of the two reads fewer rows. */
#include "store/sqlite_counts.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <assert.h>

enum {
    TAG_SETS_MAX = 4096, /* tag sets to read one after the other */
    SEEK = 3,            /* cost of reading a tag set, in rows of the index by time */
    COUNTED = 12,        /* cost of counting a tag set, in rows of the index by time */
};

struct load_notes_args {
    const struct loading *to;
    const int64_t *seqs;
    size_t n;
    struct notes *out;
};

static int load(struct db *d, void *arg, struct fumi_err *e)
{
    struct load_notes_args *l = arg;
    size_t shown = 0;
    int more = 1;
    *l->out = (struct notes){.items = fumi_alloc(l->to->arena, l->n * sizeof(*l->out->items))};
    for (size_t i = 0; i < l->n && more > 0; i++)
        more = store_sqlite_note_load(d, l->to, l->seqs[i], l->out, &shown, e);
    return more < 0 ? -1 : 0;
}

int store_sqlite_load_notes(struct store *s, const struct loading *to, const int64_t *seqs,
                            size_t n, struct notes *out, struct fumi_err *e)
{
    struct load_notes_args l = {to, seqs, n, out};
    return store_sqlite_read(s, load, &l, e);
}

static int heads(struct db *d, void *arg, struct fumi_err *e)
{
    struct load_notes_args *l = arg;
    struct fumi_arena *a = l->to->arena;
    *l->out = (struct notes){.items = fumi_alloc(a, l->n * sizeof(*l->out->items))};
    for (size_t i = 0; i < l->n; i++) {
        sqlite3_stmt *q = store_sqlite_query(
            d, e, "SELECT id, created, project FROM notes WHERE seq=?1", "i", l->seqs[i]);
        int found = q ? store_sqlite_row(d, q, e) : -1;
        if (found < 0)
            return -1;
        if (!found)
            continue;
        l->out->items[l->out->n++] = (struct note){.seq = l->seqs[i],
                                                   .id = store_sqlite_keep(q, 0, a),
                                                   .project = store_sqlite_keep(q, 2, a),
                                                   .created = {sqlite3_column_int64(q, 1), true}};
        store_sqlite_end(q);
    }
    return 0;
}

int store_sqlite_load_heads(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                            struct notes *out, struct fumi_err *e)
{
    struct load_notes_args l = {&(struct loading){.arena = a}, seqs, n, out};
    return store_sqlite_read(s, heads, &l, e);
}

struct list_notes_args {
    const struct loading *to;
    const struct filter *filter;
    struct cursor after; /* the next part begins after this note */
    size_t limit;
    struct notes *out;
    size_t shown; /* rows that were passed to `to` */

    struct scan_filter passing;
    size_t tag_sets_n;   /* how many tag sets pass */
    int64_t notes, all;  /* notes in these tag sets, and in the store; estimates */
    struct cursor *best; /* the newest notes found so far, in order */
    size_t n, want;
};

static bool is_newer(struct cursor a, struct cursor b)
{
    return a.created != b.created ? a.created > b.created : a.seq > b.seq;
}

/* Inserts c if it is among the newest `want`. Returns false if not. */
static bool keep_newest(struct list_notes_args *l, struct cursor c)
{
    if (l->n == l->want && !is_newer(c, l->best[l->n - 1]))
        return false;
    assert(l->want && l->want <= l->limit);
    size_t i = l->n < l->want ? l->n++ : l->n - 1;
    for (; i && is_newer(c, l->best[i - 1]); i--)
        l->best[i] = l->best[i - 1];
    l->best[i] = c;
    return true;
}

/* Columns: created, seq; newest first, so the first row that is too old ends the loop. */
static int keep_rows(struct db *d, sqlite3_stmt *q, struct list_notes_args *l, struct fumi_err *e)
{
    int more = q ? 1 : -1;
    bool kept = true;
    while (more > 0 && kept && (more = store_sqlite_row(d, q, e)) > 0) {
        struct cursor c = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)};
        kept = keep_newest(l, c);
    }
    if (more > 0)
        store_sqlite_end(q);
    return more < 0 ? -1 : 0;
}

static int newest_in(struct db *d, struct list_notes_args *l, int64_t tag_set, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT created, seq FROM notes INDEXED BY notes_tag_set "
        "WHERE tag_set=?1 AND created>=?2 AND (created, seq)<(?3, ?4) "
        "ORDER BY created DESC, seq DESC LIMIT ?5",
        "iiiii", tag_set, l->passing.since, l->after.created, l->after.seq, (int64_t)l->want);
    return keep_rows(d, q, l, e);
}

static int newest_by_tag_set(struct db *d, struct list_notes_args *l, struct fumi_err *e)
{
    for (size_t w = 0; w < l->passing.tag_sets_n / 64; w++)
        for (uint64_t left = l->passing.tag_sets[w]; left; left &= left - 1)
            if (newest_in(d, l, (int64_t)w * 64 + __builtin_ctzll(left), e))
                return -1;
    return 0;
}

static int newest_of_all(struct db *d, struct list_notes_args *l, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e,
                                         "SELECT created, seq FROM notes INDEXED BY notes_time "
                                         "WHERE created>=?1 AND (created, seq)<(?2, ?3) "
                                         "AND within(?4, tag_set, created) "
                                         "ORDER BY created DESC, seq DESC LIMIT ?5",
                                         "iiifi", l->passing.since, l->after.created, l->after.seq,
                                         &l->passing, (int64_t)l->want);
    return keep_rows(d, q, l, e);
}

static size_t bits_in(const struct scan_filter *f)
{
    size_t n = 0;
    assert(f->tag_sets_n % 64 == 0); /* store_sqlite_filter gives whole words */
    for (size_t w = 0; w < f->tag_sets_n / 64; w++)
        n += (size_t)__builtin_popcountll(f->tag_sets[w]);
    return n;
}

static int notes_in_tag_sets(struct db *d, const struct scan_filter *f, int64_t *out,
                             struct fumi_err *e)
{
    *out = 0;
    for (size_t w = 0; w < f->tag_sets_n / 64; w++)
        for (uint64_t left = f->tag_sets[w]; left; left &= left - 1) {
            int64_t n = 0, tag_set = (int64_t)w * 64 + __builtin_ctzll(left);
            if (store_sqlite_number(d, e, &n, "SELECT notes FROM tag_sets WHERE tag_set=?1", "i",
                                    tag_set) < 0)
                return -1;
            *out += n;
        }
    return 0;
}

static int notes_in_groups(struct db *d, struct fumi_str project, struct fumi_str group,
                           int64_t *out, struct fumi_err *e)
{
    static const char one[] = "SELECT notes FROM project_groups WHERE project=?1 AND group_key=?2",
                      all[] = "SELECT sum(notes) FROM project_groups WHERE group_key=?1";
    struct project_counts counts = {0};
    *out = 0;
    if (project.p && group.p)
        return store_sqlite_number(d, e, out, one, "ss", project, group) < 0 ? -1 : 0;
    if (group.p)
        return store_sqlite_number(d, e, out, all, "s", group) < 0 ? -1 : 0;
    int rc = store_sqlite_count_project(d, project, &counts, e);
    *out = counts.notes;
    return rc;
}

/* The number of notes that pass the filter, ignoring time. */
static int notes_in(struct db *d, const struct filter *f, const struct scan_filter *passing,
                    int64_t *out, struct fumi_err *e)
{
    static const struct fumi_str none = {0};
    if (f && filter_has_tags(f))
        return notes_in_tag_sets(d, passing, out, e);
    return notes_in_groups(d, f ? f->project : none, f ? f->group : none, out, e);
}

static bool few_tag_sets(const struct list_notes_args *l)
{
    if (!l->passing.tag_sets || l->tag_sets_n > TAG_SETS_MAX)
        return false;
    int64_t rows = (int64_t)l->want * (l->all / (l->notes > 0 ? l->notes : 1) + 1);
    return (int64_t)l->tag_sets_n * SEEK <= rows;
}

static int prepare(struct db *d, struct list_notes_args *l, struct fumi_err *e)
{
    if (store_sqlite_filter(d, l->to->arena, l->filter, &l->passing, e) ||
        notes_in_groups(d, (struct fumi_str){0}, (struct fumi_str){0}, &l->all, e))
        return -1;
    l->tag_sets_n = bits_in(&l->passing);
    l->notes = l->all;
    if (l->tag_sets_n <= TAG_SETS_MAX && notes_in(d, l->filter, &l->passing, &l->notes, e))
        return -1;
    l->limit = l->limit < (size_t)l->all ? l->limit : (size_t)l->all;
    l->out->items = fumi_alloc(l->to->arena, l->limit * sizeof(*l->out->items));
    l->best = fumi_alloc(l->to->arena, l->limit * sizeof(*l->best));
    return 0;
}

/* Lists the next part. A second part is needed only if some notes are damaged. Returns as
 * store_sqlite_note_load does. */
static int recent_part(struct db *d, struct list_notes_args *l, struct fumi_err *e)
{
    int more = 1;
    l->n = 0;
    l->want = l->limit - l->shown;
    if (few_tag_sets(l) ? newest_by_tag_set(d, l, e) : newest_of_all(d, l, e))
        return -1;
    for (size_t i = 0; i < l->n && more > 0; i++)
        more = store_sqlite_note_load(d, l->to, l->best[i].seq, l->out, &l->shown, e);
    if (l->n)
        l->after = l->best[l->n - 1];
    return more;
}

/* Begins after the cursor or at the end of the time range, whichever is older. */
static struct cursor begin(const struct filter *f, struct cursor after)
{
    struct cursor end = {f ? f->until : INT64_MAX, 0};
    bool given = after.created || after.seq;
    return given && is_newer(end, after) ? after : end;
}

static int recent(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_notes_args *l = arg;
    int more;
    if (prepare(d, l, e))
        return -1;
    do {
        more = recent_part(d, l, e);
    } while (more > 0 && l->n && l->n == l->want && l->shown < l->limit);
    return more < 0 ? -1 : 0;
}

int store_sqlite_list_recent(struct store *s, const struct loading *to, const struct filter *f,
                             struct cursor after, size_t limit, struct notes *out,
                             struct fumi_err *e)
{
    struct list_notes_args l = {
        .to = to, .filter = f, .after = begin(f, after), .limit = limit, .out = out};
    *out = (struct notes){0};
    return limit ? store_sqlite_read(s, recent, &l, e) : 0;
}

static int page(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_notes_args *l = arg;
    if (prepare(d, l, e))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(d, e,
                                         "SELECT seq FROM notes WHERE seq>?1 AND "
                                         "within(?2, tag_set, created) ORDER BY seq",
                                         "if", l->after.seq, &l->passing);
    int more = q ? 1 : -1;
    while (more > 0 && l->shown < l->limit && (more = store_sqlite_row(d, q, e)) > 0)
        if (store_sqlite_note_load(d, l->to, sqlite3_column_int64(q, 0), l->out, &l->shown, e) <
            0) {
            store_sqlite_end(q);
            return -1;
        }
    if (more > 0)
        store_sqlite_end(q);
    return more < 0 ? -1 : 0;
}

int store_sqlite_list_by_seq(struct store *s, struct fumi_arena *a, const struct filter *f,
                             int64_t after, size_t limit, struct notes *out, struct fumi_err *e)
{
    const struct loading to = {.arena = a};
    struct list_notes_args l = {
        .to = &to, .filter = f, .after = {0, after}, .limit = limit, .out = out};
    *out = (struct notes){0};
    return limit ? store_sqlite_read(s, page, &l, e) : 0;
}

struct count_notes_args {
    const struct filter *filter;
    struct filtered *out;
    struct fumi_arena arena;
};

static int count_in(struct db *d, const struct scan_filter *f, int64_t tag_set, int64_t *n,
                    struct fumi_err *e)
{
    static const char sql[] =
        "SELECT count(*) FROM notes INDEXED BY notes_tag_set WHERE tag_set=?1 "
        "AND created>=?2 AND created<?3";
    return store_sqlite_number(d, e, n, sql, "iii", tag_set, f->since, f->until) < 0 ? -1 : 0;
}

static int count_by_tag_set(struct db *d, const struct scan_filter *f, int64_t *out,
                            struct fumi_err *e)
{
    int64_t n = 0;
    for (size_t w = 0; w < f->tag_sets_n / 64; w++)
        for (uint64_t left = f->tag_sets[w]; left; left &= left - 1, *out += n)
            if (count_in(d, f, (int64_t)w * 64 + __builtin_ctzll(left), &n, e))
                return -1;
    return 0;
}

static int count_time(struct db *d, const struct scan_filter *f, int64_t *out, struct fumi_err *e)
{
    int64_t all = 0;
    if (notes_in_groups(d, (struct fumi_str){0}, (struct fumi_str){0}, &all, e))
        return -1;
    *out = 0;
    if (f->tag_sets && (int64_t)bits_in(f) <= all / COUNTED)
        return count_by_tag_set(d, f, out, e);
    static const char sql[] = "SELECT count(*) FROM notes INDEXED BY notes_time WHERE created>=?1 "
                              "AND created<?2 AND within(?3, tag_set, created)";
    return store_sqlite_number(d, e, out, sql, "iif", f->since, f->until, f) < 0 ? -1 : 0;
}

/* The superseded notes that pass everything else: those whose tag sets also have the reserved tag.
 */
static int count_superseded(struct db *d, struct fumi_arena *a, const struct filter *f,
                            int64_t *out, struct fumi_err *e)
{
    struct filter old = *f;
    struct scan_filter passing;
    old.superseded = true;
    old.tags.items = fumi_alloc(a, (f->tags.n + 1) * sizeof(*old.tags.items));
    if (f->tags.n)
        memcpy(old.tags.items, f->tags.items, f->tags.n * sizeof(*old.tags.items));
    old.tags.items[old.tags.n++] = FUMI_STR(SUPERSEDED_TAG);
    if (store_sqlite_filter(d, a, &old, &passing, e))
        return -1;
    return f->since == INT64_MIN && f->until == INT64_MAX ? notes_in(d, &old, &passing, out, e)
                                                          : count_time(d, &passing, out, e);
}

static int count(struct db *d, void *arg, struct fumi_err *e)
{
    struct count_notes_args *c = arg;
    struct filter all = *c->filter;
    const struct filter *f = &all;
    struct scan_filter passing;
    int64_t old = 0;
    all.superseded = true;
    if (!c->filter->superseded && count_superseded(d, &c->arena, f, &old, e))
        return -1;
    int64_t in_project, in_group, tagged, left;
    if (store_sqlite_filter(d, &c->arena, f, &passing, e) ||
        notes_in_groups(d, f->project, (struct fumi_str){0}, &in_project, e) ||
        notes_in_groups(d, f->project, f->group, &in_group, e) ||
        notes_in(d, f, &passing, &tagged, e))
        return -1;
    left = tagged;
    bool any = f->since == INT64_MIN && f->until == INT64_MAX;
    if (!any && count_time(d, &passing, &left, e))
        return -1;
    *c->out = (struct filtered){.project = in_project,
                                .group = in_project - in_group,
                                .tags = in_group - tagged,
                                .time = tagged - left,
                                .superseded = old,
                                .left = left - old};
    return 0;
}

int store_sqlite_count_notes(struct store *s, const struct filter *f, struct filtered *out,
                             struct fumi_err *e)
{
    struct count_notes_args c = {.filter = f, .out = out};
    int rc = store_sqlite_read(s, count, &c, e);
    fumi_arena_done(&c.arena);
    return rc;
}
