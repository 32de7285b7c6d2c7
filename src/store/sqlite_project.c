/* Statistics of one project. */
#include "store/sqlite_ops.h"

#define NOTES_OF_PROJECT                                                                           \
    "FROM project_groups CROSS JOIN tag_sets USING(project_group) CROSS JOIN notes "               \
    "USING(tag_set) "

struct counting {
    struct fumi_str project, space;
    struct store_stats *out;
    int64_t *have;
};

static int count(struct db *d, const struct counting *c, int64_t *out, const char *sql,
                 struct fumi_err *e)
{
    return store_sqlite_number(d, e, out, sql, "s", c->project) < 0 ? -1 : 0;
}

/* The notes of the project that have vectors in the space; 0 if the space does not exist. */
static int count_embedded(struct db *d, const struct counting *c, struct fumi_err *e)
{
    static const char sql[] =
        "SELECT count(*) " NOTES_OF_PROJECT
        "WHERE project_groups.project=?1 AND EXISTS (SELECT 1 FROM "
        "vectors WHERE note=seq AND space=(SELECT space FROM spaces WHERE name=?2))";
    return store_sqlite_number(d, e, c->have, sql, "ss", c->project, c->space) < 0 ? -1 : 0;
}

static int project_stats(struct db *d, void *arg, struct fumi_err *e)
{
    const struct counting *c = arg;
    struct store_stats *out = c->out;
    if (count(d, c, &out->notes,
              "SELECT coalesce(sum(notes), 0) FROM project_groups WHERE project=?1", e) ||
        count(d, c, &out->groups, "SELECT count(*) FROM groups WHERE project=?1", e) ||
        count(d, c, &out->globals, "SELECT count(*) FROM globals WHERE project=?1", e) ||
        count(d, c, &out->vectors,
              "SELECT count(*) " NOTES_OF_PROJECT
              "CROSS JOIN vectors ON note=seq WHERE project_groups.project=?1",
              e) ||
        count_embedded(d, c, e))
        return -1;
    out->projects = out->notes || out->groups || out->globals;
    out->schema = STORE_FORMAT;
    return 0;
}

int store_sqlite_project_stats(struct store *s, struct fumi_str project, struct fumi_str space,
                               struct store_stats *out, int64_t *have, struct fumi_err *e)
{
    struct counting c = {project, space, out, have};
    *out = (struct store_stats){0};
    *have = 0;
    return store_sqlite_read(s, project_stats, &c, e);
}
