/* Projects: which there are, and moving or deleting all that one of them holds. These methods are
 * for people: an agent gets no tool for them, and a call must name the project. */
#include "memory/memory_parts.h"
#include "memory/methods_parts.h"

enum {
    PAGE = 256,
    LEAST_MS = 5000, /* a call that has less time left leaves the rest to the next one */
};

struct listed {
    struct fumi_str name, remote;
    int64_t notes;
    struct fumi_time changed;
};

static const struct fumi_field listed_fields[] = {
    FUMI_FIELD(struct listed, name, "projectId", "The project."),
    FUMI_FIELD(struct listed, notes, "notes", "Number of its notes."),
    FUMI_FIELD(struct listed, changed, "changedAt", "Time of the last change, UTC.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct listed, remote, "remote",
               "Where its repository was cloned from, as host and path.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape listed_shape = FUMI_SHAPE(struct listed, listed_fields);

struct project_list {
    struct fumi_list projects;
};

static const struct fumi_field list_fields[] = {
    FUMI_FIELD(struct project_list, projects, "projects", "The projects, by name.",
               .shape = &listed_shape),
};
static const struct fumi_shape list_shape = FUMI_SHAPE(struct project_list, list_fields);

static enum fumi_ret project_list(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_str any = {0};
    struct projects all;
    (void)params;
    if (store_find_projects(memory_store(call->self), call->arena, any, &all, &call->err))
        return FUMI_FAIL;
    struct listed *rows = fumi_alloc(call->arena, (all.n + 1) * sizeof(*rows));
    for (size_t i = 0; i < all.n; i++) {
        const struct project *p = &all.items[i];
        rows[i] = (struct listed){p->name, p->remote, p->notes, {p->changed, p->changed != 0}};
    }
    ((struct project_list *)result)->projects = (struct fumi_list){rows, all.n};
    return FUMI_OK;
}

static int64_t count_of(struct store *s, struct fumi_str project, struct fumi_err *e)
{
    const struct filter f = {
        .project = project, .since = INT64_MIN, .until = INT64_MAX, .superseded = true};
    struct filtered n = {0};
    return store_count_notes(s, &f, &n, e) ? -1 : n.project;
}

/* Whether the project has notes, groups or globals: 1, 0, or -1 with *e set. */
static int is_used(struct fumi_call *call, struct fumi_str project)
{
    struct store *s = memory_store(call->self);
    const struct loading to = {.arena = call->arena};
    struct groups groups = {0};
    struct globals globals = {0};
    int64_t n = count_of(s, project, &call->err);
    if (n)
        return n > 0 ? 1 : -1;
    if (store_list_groups(s, &to, project, &groups, &call->err) ||
        store_list_globals(s, &to, project, FUMI_STR(""), &globals, &call->err))
        return -1;
    return groups.n || globals.n;
}

static int fail_unknown(struct fumi_call *call, struct fumi_str project)
{
    struct fumi_str near = {0};
    if (memory_near_project(call->self, call->arena, project, &near, &call->err))
        return -1;
    return fumi_err_set(&call->err, ERR_NOT_FOUND, "There is no project %.*s%s%.*s%s",
                        FUMI_ARG(project), near.n ? "; did you mean " : "", FUMI_ARG(near),
                        near.n ? "?" : "");
}

/* Makes the name canonical. Fails if there is no such project. */
static int find_project(struct fumi_call *call, struct fumi_str given, struct fumi_str *out)
{
    if (project_canonical(call->arena, given, out, &call->err))
        return -1;
    int used = is_used(call, *out);
    return used > 0 ? 0 : used < 0 ? -1 : fail_unknown(call, *out);
}

static bool is_late(const struct fumi_call *call)
{
    return fumi_cancelled(call) || fumi_time_left(call) < LEAST_MS;
}

struct move_params {
    struct fumi_str from, to;
};

#define MOVE_FIELDS(to_name, help)                                                                 \
    {                                                                                              \
        FUMI_FIELD(struct move_params, from, "projectId", "The project.", .flags = FUMI_REQUIRED), \
            FUMI_FIELD(struct move_params, to, to_name, help, .flags = FUMI_REQUIRED),             \
    }
static const struct fumi_field rename_fields[] = MOVE_FIELDS("to", "Its new name, not in use.");
static const struct fumi_field merge_fields[] = MOVE_FIELDS(
    "into", "The project that receives its notes, groups and globals.");
static const struct fumi_shape rename_shape = FUMI_SHAPE(struct move_params, rename_fields);
static const struct fumi_shape merge_shape = FUMI_SHAPE(struct move_params, merge_fields);

struct moved {
    struct fumi_str project;
    int64_t notes, change;
    bool more;
};

static const struct fumi_field moved_fields[] = {
    FUMI_FIELD(struct moved, project, "projectId", "The project that has the notes now."),
    FUMI_FIELD(struct moved, notes, "notes", "Number of notes that were moved."),
    FUMI_FIELD(struct moved, change, "change", "Number of the change, for memory.undo."),
    FUMI_FIELD(
        struct moved, more, "more",
        "The time limit was reached: memory.project_merge with both names moves the rest, in "
        "a change of its own."),
};
static const struct fumi_shape moved_shape = FUMI_SHAPE(struct moved, moved_fields);

/* Moves or deletes what a project has, until the time limit is near. */
static int move_all(struct fumi_call *call, struct moving *m)
{
    const struct author by = author_of(call);
    m->by = &by;
    m->limit = PAGE;
    do {
        if (store_move_notes(memory_store(call->self), m, &call->err))
            return -1;
    } while (m->more && !is_late(call));
    return 0;
}

static enum fumi_ret move(struct fumi_call *call, struct fumi_str from, struct fumi_str to,
                          struct moved *out)
{
    struct moving m = {.from = from, .to = to};
    if (move_all(call, &m))
        return FUMI_FAIL;
    *out = (struct moved){to, m.moved.notes, m.change, m.more};
    return FUMI_OK;
}

static int read_move(struct fumi_call *call, const struct move_params *p, struct fumi_str *from,
                     struct fumi_str *to)
{
    if (find_project(call, p->from, from) || project_writable(call->arena, p->to, to, &call->err) ||
        scope_admits(memory_scope(call->self), *to, &call->err))
        return -1;
    if (fumi_eq(*from, *to))
        return fumi_err_set(&call->err, FUMI_INVALID_PARAMS, "both names are those of one project");
    return 0;
}

static enum fumi_ret project_rename(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_str from, to;
    if (read_move(call, params, &from, &to))
        return FUMI_FAIL;
    int used = is_used(call, to);
    if (used > 0)
        return fumi_fail(call, ERR_CONFLICT,
                         "There is a project %.*s already: use memory.project_merge to unite both",
                         FUMI_ARG(to));
    return used < 0 ? FUMI_FAIL : move(call, from, to, result);
}

static enum fumi_ret project_merge(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_str from, to;
    return read_move(call, params, &from, &to) ? FUMI_FAIL : move(call, from, to, result);
}

struct delete_params {
    struct fumi_str project;
};

static const struct fumi_field delete_fields[] = {
    FUMI_FIELD(struct delete_params, project, "projectId", "The project.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape delete_shape = FUMI_SHAPE(struct delete_params, delete_fields);

struct deleted {
    struct fumi_str project;
    int64_t notes, groups, globals, change;
    bool more;
};

static const struct fumi_field deleted_fields[] = {
    FUMI_FIELD(struct deleted, project, "projectId", "The project, in its canonical form."),
    FUMI_FIELD(struct deleted, notes, "notes", "Number of deleted notes."),
    FUMI_FIELD(struct deleted, groups, "groups", "Number of deleted groups."),
    FUMI_FIELD(struct deleted, globals, "globals", "Number of deleted globals."),
    FUMI_FIELD(struct deleted, change, "change", "Number of the change, for memory.undo."),
    FUMI_FIELD(struct deleted, more, "more",
               "The time limit was reached: call again to delete the rest."),
};
static const struct fumi_shape deleted_shape = FUMI_SHAPE(struct deleted, deleted_fields);

static enum fumi_ret project_delete(struct fumi_call *call, const void *params, void *result)
{
    struct moving m = {.from = {0}};
    if (find_project(call, ((const struct delete_params *)params)->project, &m.from) ||
        move_all(call, &m))
        return FUMI_FAIL;
    *(struct deleted *)result = (struct deleted){m.from,          m.moved.notes, m.moved.groups,
                                                 m.moved.globals, m.change,      m.more};
    return FUMI_OK;
}

const struct fumi_method project_methods[] = {
    {"project_list", "Lists the projects.", NULL, &list_shape, project_list, READ_BY_PEOPLE},
    {"project_rename", "Gives a project another name.", &rename_shape, &moved_shape, project_rename,
     WRITE_BY_PEOPLE},
    {"project_merge",
     "Moves the notes, groups and globals of a project to another one. Where both have a group or "
     "a global with the same key, that of the other one stays.",
     &merge_shape, &moved_shape, project_merge, WRITE_BY_PEOPLE},
    {"project_delete",
     "Deletes the notes, groups and globals of a project, as memory.delete does: memory.undo puts "
     "them back.",
     &delete_shape, &deleted_shape, project_delete, WRITE_BY_PEOPLE},
};
const size_t project_methods_n = FUMI_COUNT(project_methods);
