/* Tag sets, and which of them pass a filter.
 *
 * A tag set is never changed, and its number is never reused; new numbers are larger than all
 * others. So the tag sets that pass a filter are cached as a bit set, and only tag sets with larger
 * numbers are added later. A deleted tag set may stay in the bit set, because it has no notes. */
#include "store/sqlite_parts.h"

#include "base/arena.h"
#include "json/json.h"

#include <assert.h>

struct fumi_str store_sqlite_tags_json(struct fumi_arena *a, struct fumi_strs tags)
{
    struct fumi_buf buf = {0};
    struct fumi_out o = {.buf = &buf};
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < tags.n; i++)
        fumi_put_str(&o, tags.items[i]);
    fumi_put_close(&o, ']');
    return fumi_buf_keep(&buf, a);
}

int store_sqlite_tags_read(struct fumi_arena *a, struct fumi_str json, struct fumi_strs *out,
                           struct fumi_err *e)
{
    *out = (struct fumi_strs){0};
    if (fumi_eq(json, FUMI_STR("[]")))
        return 0;
    const struct fumi_val *v = fumi_parse(a, json, e), *i;
    if (!v)
        return -1;
    out->items = fumi_alloc(a, fumi_size(v) * sizeof(*out->items));
    for (i = fumi_first(v); i; i = fumi_after(v, i))
        out->items[out->n++] = fumi_text(a, i);
    return 0;
}

static int group_add(struct db *d, const struct tag_set_key *p, int64_t *group, struct fumi_err *e)
{
    int found = store_sqlite_number(
        d, e, group, "SELECT project_group FROM project_groups WHERE project=?1 AND group_key=?2",
        "ss", p->project, p->group);
    if (found < 0)
        return -1;
    if (found)
        return store_sqlite_run(
            d, e, "UPDATE project_groups SET notes=notes+1 WHERE project_group=?1", "i", *group);
    if (store_sqlite_run(d, e,
                         "INSERT INTO project_groups(project, group_key, notes) VALUES(?1, ?2, 1)",
                         "ss", p->project, p->group))
        return -1;
    *group = sqlite3_last_insert_rowid(d->h);
    return 0;
}

/* The tags of the tag set as JSON: begins with the reserved tag if it is superseded. */
static struct fumi_str set_tags(struct fumi_arena *a, const struct tag_set_key *p)
{
    const struct fumi_str tags = p->tags_json;
    if (!p->superseded)
        return tags;
    if (!p->tags.n)
        return FUMI_STR(SUPERSEDED_JSON "]");
    return fumi_fmt(a, SUPERSEDED_JSON ",%.*s", (int)tags.n - 1, tags.p + 1);
}

static int put_tag(struct db *d, struct fumi_str tag, int64_t tag_set, struct fumi_err *e)
{
    return store_sqlite_run(d, e, "INSERT OR IGNORE INTO tag_set_tags(tag, tag_set) VALUES(?1, ?2)",
                            "si", tag, tag_set);
}

static int make_tag_set(struct db *d, const struct tag_set_key *p, struct fumi_str tags,
                        int64_t group, int64_t *tag_set, struct fumi_err *e)
{
    if (store_sqlite_run(d, e, "INSERT INTO tag_sets(project_group, tags, notes) VALUES(?1, ?2, 1)",
                         "is", group, tags))
        return -1;
    *tag_set = sqlite3_last_insert_rowid(d->h);
    if (*tag_set > UINT32_MAX)
        return fumi_err_set(
            e, FUMI_INTERNAL_ERROR,
            "The database has no tag set numbers left: export it and import it into a "
            "new one");
    if (p->superseded && put_tag(d, FUMI_STR(SUPERSEDED_TAG), *tag_set, e))
        return -1;
    for (size_t i = 0; i < p->tags.n; i++)
        if (put_tag(d, p->tags.items[i], *tag_set, e))
            return -1;
    return 0;
}

static int add_to(struct db *d, const struct tag_set_key *p, struct fumi_str tags, int64_t *tag_set,
                  struct fumi_err *e)
{
    int64_t group = 0;
    if (group_add(d, p, &group, e))
        return -1;
    int found = store_sqlite_number(
        d, e, tag_set, "SELECT tag_set FROM tag_sets WHERE project_group=?1 AND tags=?2", "is",
        group, tags);
    if (found < 0)
        return -1;
    if (found)
        return store_sqlite_run(d, e, "UPDATE tag_sets SET notes=notes+1 WHERE tag_set=?1", "i",
                                *tag_set);
    return make_tag_set(d, p, tags, group, tag_set, e);
}

int store_sqlite_tag_set_add(struct db *d, const struct tag_set_key *p, int64_t *tag_set,
                             struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = add_to(d, p, set_tags(&a, p), tag_set, e);
    fumi_arena_done(&a);
    return rc;
}

static int drop_tags(struct db *d, int64_t tag_set, struct fumi_strs tags, struct fumi_err *e)
{
    for (size_t i = 0; i < tags.n; i++)
        if (store_sqlite_run(d, e, "DELETE FROM tag_set_tags WHERE tag=?1 AND tag_set=?2", "si",
                             tags.items[i], tag_set))
            return -1;
    return 0;
}

/* If the tags cannot be read, their rows stay in tag_set_tags; doctor deletes them. */
static int drop_tag_set(struct db *d, int64_t tag_set, struct fumi_str json, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_strs tags;
    struct fumi_err ignored;
    store_sqlite_tags_read(&a, json, &tags, &ignored);
    int rc = drop_tags(d, tag_set, tags, e);
    fumi_arena_done(&a);
    return rc ? -1 : store_sqlite_run(d, e, "DELETE FROM tag_sets WHERE tag_set=?1", "i", tag_set);
}

static int group_remove(struct db *d, int64_t group, struct fumi_err *e)
{
    if (store_sqlite_run(d, e, "UPDATE project_groups SET notes=notes-1 WHERE project_group=?1",
                         "i", group))
        return -1;
    return store_sqlite_run(d, e, "DELETE FROM project_groups WHERE project_group=?1 AND notes<=0",
                            "i", group);
}

static int remove_note(struct db *d, struct fumi_arena *a, int64_t tag_set, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e, "SELECT project_group, notes, tags FROM tag_sets WHERE tag_set=?1", "i", tag_set);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    int64_t group = sqlite3_column_int64(q, 0), notes = sqlite3_column_int64(q, 1);
    struct fumi_str tags = store_sqlite_keep(q, 2, a);
    store_sqlite_end(q);
    if (group_remove(d, group, e))
        return -1;
    if (notes <= 1)
        return drop_tag_set(d, tag_set, tags, e);
    return store_sqlite_run(d, e, "UPDATE tag_sets SET notes=notes-1 WHERE tag_set=?1", "i",
                            tag_set);
}

int store_sqlite_tag_set_remove(struct db *d, int64_t tag_set, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = remove_note(d, &a, tag_set, e);
    fumi_arena_done(&a);
    return rc;
}

/* A bit set of tag set numbers, complete for numbers up to `upto`. */
struct tag_set_bits {
    uint64_t *bits;
    size_t words;
    int64_t upto;
};

static void set_bit(struct tag_set_bits *s, int64_t tag_set)
{
    if (tag_set >= 0 && (size_t)tag_set / 64 < s->words)
        s->bits[tag_set / 64] |= (uint64_t)1 << (tag_set % 64);
}

static void key_str(struct fumi_buf *b, struct fumi_str s)
{
    int64_t n = s.p ? (int64_t)s.n : -1;
    fumi_buf_add(b, &n, sizeof(n));
    fumi_buf_add(b, s.p, s.n);
}

static void key_of(struct fumi_buf *b, const struct filter *f)
{
    key_str(b, f->project);
    key_str(b, f->group);
    fumi_buf_put(b, f->superseded ? '1' : '0');
    fumi_buf_add(b, &f->tags.n, sizeof(f->tags.n));
    for (size_t i = 0; i < f->tags.n; i++)
        key_str(b, f->tags.items[i]);
    for (size_t i = 0; i < f->any_tags.n; i++)
        key_str(b, f->any_tags.items[i]);
}

/* The entry of the filter, or the least recently used entry. Needs filters_lock. */
static struct cached_filter *entry(struct store_sqlite *s, struct fumi_str key)
{
    struct cached_filter *oldest = s->filters;
    for (size_t i = 0; i < STORE_FILTERS; i++) {
        struct cached_filter *r = &s->filters[i];
        if (r->key && fumi_eq((struct fumi_str){r->key, r->key_n}, key))
            return r;
        if (r->used < oldest->used)
            oldest = r;
    }
    return oldest;
}

static void forget(struct cached_filter *r)
{
    fumi_resize(r->key, 0);
    fumi_resize(r->bits, 0);
    *r = (struct cached_filter){0};
}

void store_sqlite_filters_done(struct store_sqlite *s)
{
    for (size_t i = 0; i < STORE_FILTERS; i++)
        forget(&s->filters[i]);
}

/* Copies the cached bits of the filter, if any, into the set, which is large enough for all tag
 * sets of this snapshot. */
static void recall(struct store_sqlite *s, struct fumi_str key, struct tag_set_bits *set)
{
    pthread_mutex_lock(&s->filters_lock);
    struct cached_filter *r = entry(s, key);
    if (r->key && fumi_eq((struct fumi_str){r->key, r->key_n}, key)) {
        assert(r->words == (size_t)r->upto / 64 + 1);
        size_t n = r->words < set->words ? r->words : set->words;
        memcpy(set->bits, r->bits, n * sizeof(*set->bits));
        set->upto = r->upto;
        r->used = ++s->filters_used;
    }
    pthread_mutex_unlock(&s->filters_lock);
}

static void remember(struct store_sqlite *s, struct fumi_str key, const struct tag_set_bits *set)
{
    pthread_mutex_lock(&s->filters_lock);
    struct cached_filter *r = entry(s, key);
    assert(set->words == (size_t)set->upto / 64 + 1);
    bool same = r->key && fumi_eq((struct fumi_str){r->key, r->key_n}, key);
    if (!same || r->upto < set->upto) {
        forget(r);
        *r = (struct cached_filter){.key_n = key.n, .words = set->words, .upto = set->upto};
        r->key = memcpy(fumi_resize(NULL, key.n), key.p, key.n);
        r->bits = fumi_resize(NULL, set->words * sizeof(*set->bits));
        memcpy(r->bits, set->bits, set->words * sizeof(*set->bits));
        r->used = ++s->filters_used;
    }
    pthread_mutex_unlock(&s->filters_lock);
}

static int put_all(struct db *d, sqlite3_stmt *q, struct tag_set_bits *set, struct fumi_err *e)
{
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        set_bit(set, sqlite3_column_int64(q, 0));
    return more;
}

/* Begins with the groups if nothing is cached, otherwise with the new tag sets. */
static int by_group(struct db *d, const struct filter *f, struct tag_set_bits *set,
                    struct fumi_err *e)
{
    static const char
        first[] = "SELECT tag_set FROM project_groups CROSS JOIN tag_sets USING(project_group) "
                  "WHERE (?1 IS NULL OR project=?1) AND (?2 IS NULL OR group_key=?2)",
        then[] = "SELECT tag_set FROM tag_sets CROSS JOIN project_groups USING(project_group) "
                 "WHERE (?1 IS NULL OR project=?1) AND (?2 IS NULL OR group_key=?2) "
                 "AND tag_set>?3";
    if (!set->upto)
        return put_all(d, store_sqlite_query(d, e, first, "ss", f->project, f->group), set, e);
    return put_all(d, store_sqlite_query(d, e, then, "ssi", f->project, f->group, set->upto), set,
                   e);
}

static int by_tag(struct db *d, struct fumi_str tag, struct tag_set_bits *set, struct fumi_err *e)
{
    static const char sql[] = "SELECT tag_set FROM tag_set_tags WHERE tag=?1 AND tag_set>?2";
    return put_all(d, store_sqlite_query(d, e, sql, "si", tag, set->upto), set, e);
}

/* Removes the new tag sets of other projects and groups, whose tags match. */
static int only_in_group(struct db *d, const struct filter *f, struct tag_set_bits *set,
                         struct fumi_err *e)
{
    static const char sql[] =
        "SELECT 1 FROM tag_sets CROSS JOIN project_groups USING(project_group) WHERE tag_set=?1 "
        "AND (?2 IS NULL OR project=?2) AND (?3 IS NULL OR group_key=?3)";
    for (size_t w = (size_t)set->upto / 64; w < set->words; w++)
        for (uint64_t left = set->bits[w]; left; left &= left - 1) {
            int bit = __builtin_ctzll(left);
            int64_t tag_set = (int64_t)w * 64 + bit, is;
            if (tag_set <= set->upto)
                continue;
            int found = store_sqlite_number(d, e, &is, sql, "iss", tag_set, f->project, f->group);
            if (found < 0)
                return -1;
            set->bits[w] &= ~((uint64_t)!found << bit);
        }
    return 0;
}

/* Restricts `all` to the new tag sets that have one of the tags. */
static int keep_tagged(struct db *d, struct fumi_arena *a, struct fumi_strs tags,
                       const struct tag_set_bits *set, uint64_t *all, struct fumi_err *e)
{
    struct tag_set_bits found = *set;
    found.bits = fumi_alloc(a, set->words * sizeof(*found.bits));
    memset(found.bits, 0, set->words * sizeof(*found.bits));
    for (size_t i = 0; i < tags.n; i++)
        if (by_tag(d, tags.items[i], &found, e))
            return -1;
    for (size_t w = 0; w < set->words; w++)
        all[w] &= found.bits[w];
    return 0;
}

/* Adds the new tag sets that have all of `tags` and one of `any_tags`. */
static int by_tags(struct db *d, struct fumi_arena *a, const struct filter *f,
                   struct tag_set_bits *set, struct fumi_err *e)
{
    uint64_t *all = fumi_alloc(a, set->words * sizeof(*all));
    memset(all, 0xFF, set->words * sizeof(*all));
    for (size_t i = 0; i < f->tags.n; i++)
        if (keep_tagged(d, a, (struct fumi_strs){&f->tags.items[i], 1}, set, all, e))
            return -1;
    if (f->any_tags.n && keep_tagged(d, a, f->any_tags, set, all, e))
        return -1;
    for (size_t w = 0; w < set->words; w++)
        set->bits[w] |= all[w];
    return only_in_group(d, f, set, e);
}

/* Removes the new tag sets of superseded notes. */
static int only_current(struct db *d, struct fumi_arena *a, struct tag_set_bits *set,
                        struct fumi_err *e)
{
    struct tag_set_bits old = *set;
    old.bits = fumi_alloc(a, set->words * sizeof(*old.bits));
    memset(old.bits, 0, set->words * sizeof(*old.bits));
    if (by_tag(d, FUMI_STR(SUPERSEDED_TAG), &old, e))
        return -1;
    for (size_t w = 0; w < set->words; w++)
        set->bits[w] &= ~old.bits[w];
    return 0;
}

static int complete(struct db *d, struct fumi_arena *a, const struct filter *f,
                    struct tag_set_bits *set, struct fumi_err *e)
{
    if (filter_has_tags(f) ? by_tags(d, a, f, set, e) : by_group(d, f, set, e))
        return -1;
    return f->superseded ? 0 : only_current(d, a, set, e);
}

static int tag_sets_of(struct db *d, struct fumi_arena *a, const struct filter *f,
                       struct tag_set_bits *set, struct fumi_err *e)
{
    int64_t last = 0;
    if (store_sqlite_number(d, e, &last, "SELECT coalesce(max(tag_set), 0) FROM tag_sets", "") < 0)
        return -1;
    struct fumi_buf key = {0};
    key_of(&key, f);
    set->words = (size_t)last / 64 + 1;
    set->bits = fumi_alloc(a, set->words * sizeof(*set->bits));
    recall(d->store, fumi_buf_str(&key), set);
    int rc = 0;
    if (set->upto < last && !(rc = complete(d, a, f, set, e))) {
        set->upto = last;
        remember(d->store, fumi_buf_str(&key), set);
    }
    fumi_buf_done(&key);
    return rc;
}

/* Returns 1 if there may be tag sets that do not pass; 0 if there are none; -1 with *e set. */
static int restricts(struct db *d, const struct filter *f, struct fumi_err *e)
{
    static const char sql[] = "SELECT 1 FROM tag_set_tags WHERE tag=?1 LIMIT 1";
    int64_t one;
    if (f->project.p || f->group.p || filter_has_tags(f))
        return 1;
    return f->superseded ? 0 : store_sqlite_number(d, e, &one, sql, "s", FUMI_STR(SUPERSEDED_TAG));
}

int store_sqlite_filter(struct db *d, struct fumi_arena *a, const struct filter *f,
                        struct scan_filter *out, struct fumi_err *e)
{
    *out = (struct scan_filter){.since = f ? f->since : INT64_MIN,
                                .until = f ? f->until : INT64_MAX};
    int any = f ? restricts(d, f, e) : 0;
    if (any <= 0)
        return any;
    struct tag_set_bits set = {0};
    if (tag_sets_of(d, a, f, &set, e))
        return -1;
    out->tag_sets = set.bits;
    out->tag_sets_n = set.words * 64;
    return 0;
}
