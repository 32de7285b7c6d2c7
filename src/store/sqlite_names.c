/* The names of projects, groups and tags. They are read from project_groups, tag_sets and the
 * tables of groups and globals, which are small, and never from the notes. */
#include "store/sqlite_ops.h"

#include "base/arena.h"

/* ?1 project, ?2 part of the name, ?3 the preceding name, ?4 limit. */
#define FILTER " AND (?2 IS NULL OR instr(lower(name), lower(?2))) AND (?3 IS NULL OR name>?3)"
#define ORDER  " ORDER BY ?2 IS NOT NULL AND instr(lower(name), lower(?2))>1, name LIMIT ?4"
#define PICK   FILTER " GROUP BY name" ORDER

static const char *const kinds[] = {
    [NAME_PROJECT] =
        "SELECT name, sum(notes) FROM (SELECT project AS name, notes FROM project_groups "
        "UNION ALL SELECT project, 0 FROM groups "
        "UNION ALL SELECT project, 0 FROM globals) WHERE true" PICK,
    [NAME_GROUP] = "SELECT name, sum(notes) FROM (SELECT group_key AS name, notes, project FROM "
                   "project_groups "
                   "UNION ALL SELECT key, 0, project FROM groups) "
                   "WHERE (?1 IS NULL OR project=?1)" PICK,
    [NAME_TAG] = "SELECT name, sum(notes) FROM (SELECT tag_sets.notes AS notes, value AS name "
                 "FROM project_groups CROSS JOIN tag_sets USING(project_group) CROSS JOIN "
                 "json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) "
                 "WHERE project=?1) WHERE name<>'' AND name<>char(1) || 'superseded'" PICK,
};

/* Tags of all projects, read from tag_set_tags. Notes are counted only for the tags returned. */
static const char tags_of_all[] =
    "SELECT name, (SELECT sum(notes) FROM tag_set_tags CROSS JOIN tag_sets USING(tag_set) WHERE "
    "tag=name) FROM (SELECT DISTINCT tag AS name FROM tag_set_tags WHERE tag<>'' AND "
    "tag<>char(1) || 'superseded'" FILTER ORDER ")";

struct list_names_args {
    struct fumi_arena *arena;
    const struct naming *what;
    struct names *out;
    size_t cap;
};

static struct name *next(struct list_names_args *l)
{
    struct names *out = l->out;
    if (out->n == l->cap) {
        size_t more = l->cap ? l->cap * 2 : 16;
        struct name *items = fumi_alloc(l->arena, more * sizeof(*items));
        if (out->n)
            memcpy(items, out->items, out->n * sizeof(*items));
        out->items = items;
        l->cap = more;
    }
    return &out->items[out->n++];
}

static int list(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_names_args *l = arg;
    const struct naming *w = l->what;
    const char *sql = w->kind == NAME_TAG && !w->project.p ? tags_of_all : kinds[w->kind];
    sqlite3_stmt *q = store_sqlite_query(d, e, sql, "sssi", w->project,
                                         w->part.n ? w->part : (struct fumi_str){0}, w->after,
                                         (int64_t)w->limit);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        *next(l) = (struct name){store_sqlite_keep(q, 0, l->arena), sqlite3_column_int64(q, 1)};
    return more;
}

int store_sqlite_list_names(struct store *s, struct fumi_arena *a, const struct naming *what,
                            struct names *out, struct fumi_err *e)
{
    struct list_names_args l = {.arena = a, .what = what, .out = out};
    *out = (struct names){0};
    return what->limit ? store_sqlite_read(s, list, &l, e) : 0;
}
