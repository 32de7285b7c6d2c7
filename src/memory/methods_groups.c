#include "base/clock.h"
#include "base/uuid.h"
#include "memory/methods_parts.h"

struct create_params {
    struct fumi_str project, key, title, description;
};

static const struct fumi_field create_fields[] = {
    PROJECT_FIELD(struct create_params),
    FUMI_FIELD(struct create_params, key, "groupKey",
               "Key that notes use as groupId: letters, digits, '_', '-'; not \"global\".",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct create_params, title, "title", "Title of the group.", .flags = FUMI_REQUIRED,
               .check = note_title_fault),
    FUMI_FIELD(struct create_params, description, "description", "What the group is for.",
               .flags = FUMI_NULLABLE, .check = check_description),
};
static const struct fumi_shape create_shape = FUMI_SHAPE(struct create_params, create_fields);

struct created {
    struct fumi_str id, name_space, warning;
};

static const struct fumi_field created_fields[] = {
    FUMI_FIELD(struct created, id, "id", "The id of the group."),
    FUMI_FIELD(struct created, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct created, warning, "warning", "A problem that did not prevent the write.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape created_shape = FUMI_SHAPE(struct created, created_fields);

static enum fumi_ret group_create(struct fumi_call *call, const void *params, void *result)
{
    const struct create_params *p = params;
    struct store *store = memory_store(call->self);
    char *id = fumi_alloc(call->arena, FUMI_UUID_SIZE);
    const char *fault = note_key_fault(p->key); /* after the shape, which requires a title */
    if (fault)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "groupKey %s", fault);
    fumi_uuid(id);
    struct group g = {.id = {id, FUMI_UUID_SIZE},
                      .key = p->key,
                      .title = p->title,
                      .description = p->description.p ? p->description : FUMI_STR(""),
                      .created = fumi_now()};
    g.updated = g.created;
    struct guard guard = guard_of(call, NULL);
    const struct author by = author_of(call);
    if (guard_group(&guard, &g, &call->err) ||
        project_writable(call->arena, p->project, &g.project, &call->err) ||
        store_add_group(store, &g, &by, &call->err))
        return FUMI_FAIL;
    show_id(call, ID_OF_GROUP, &g.id);
    *(struct created *)result = (struct created){g.id, memory_space(call->self, call->arena),
                                                 guard_warning(&guard, (struct fumi_str){0})};
    return FUMI_OK;
}

struct wire_group {
    struct fumi_str id, project, key, title, description, name_space;
    struct fumi_time created, updated;
    int64_t notes;
};

#define GROUP_FIELDS(less)                                                                         \
    FUMI_FIELD(struct wire_group, id, "id",                                                        \
               "Id of the group; null if it was never created and only notes name it.",            \
               .flags = FUMI_NULLABLE),                                                            \
        FUMI_FIELD(struct wire_group, project, "projectId", "The project, in its canonical form.", \
                   .flags = (less)),                                                               \
        FUMI_FIELD(struct wire_group, key, "groupKey", "Key that notes use as groupId."),          \
        FUMI_FIELD(struct wire_group, title, "title", "Title of the group.",                       \
                   .flags = FUMI_NULLABLE),                                                        \
        FUMI_FIELD(struct wire_group, description, "description", "What the group is for.",        \
                   .flags = FUMI_NULLABLE),                                                        \
        FUMI_FIELD(struct wire_group, created, "createdAt", "Time of creation, UTC.",              \
                   .flags = FUMI_NULLABLE | (less)),                                               \
        FUMI_FIELD(struct wire_group, updated, "updatedAt", "Time of the last change, UTC.",       \
                   .flags = FUMI_NULLABLE | (less)),                                               \
        FUMI_FIELD(struct wire_group, notes, "noteCount", "Number of notes in the group.")

static const struct fumi_field row_fields[] = {GROUP_FIELDS(FUMI_DETAIL)};
static const struct fumi_shape row_shape = FUMI_SHAPE(struct wire_group, row_fields);

static const struct fumi_field group_fields[] = {
    GROUP_FIELDS(0),
    FUMI_FIELD(struct wire_group, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
};
static const struct fumi_shape group_shape = FUMI_SHAPE(struct wire_group, group_fields);

static struct wire_group wire_group(const struct group *g)
{
    struct wire_group w = {.id = g->id,
                           .project = g->project,
                           .key = g->key,
                           .title = g->title,
                           .description = g->description,
                           .notes = g->notes};
    if (g->id.p) {
        w.created = (struct fumi_time){g->created, true};
        w.updated = (struct fumi_time){g->updated, true};
    }
    return w;
}

static enum fumi_ret group_get(struct fumi_call *call, const void *params, void *result)
{
    struct store *store = memory_store(call->self);
    struct wire_group *out = result;
    struct fumi_str id = ((const struct by_id *)params)->id;
    struct group g;
    if (find_id(call, ID_OF_GROUP, &id) || store_get_group(store, call->arena, id, &g, &call->err))
        return FUMI_FAIL;
    show_id(call, ID_OF_GROUP, &g.id);
    *out = wire_group(&g);
    out->name_space = memory_space(call->self, call->arena);
    return FUMI_OK;
}

struct group_patch {
    struct fumi_str title, description;
    uint64_t given;
};

static const char *check_new_title(struct fumi_str s)
{
    return s.n == 0 ? "is required" : note_title_fault(s);
}

static const struct fumi_field patch_fields[] = {
    FUMI_FIELD(struct group_patch, title, "title", "A new title.", .flags = FUMI_NULLABLE,
               .check = check_new_title),
    FUMI_FIELD(struct group_patch, description, "description", "A new description.",
               .flags = FUMI_NULLABLE, .check = check_description),
};
static const struct fumi_shape patch_shape = FUMI_PATCH_SHAPE(struct group_patch, patch_fields);

struct update_group_params {
    struct fumi_str id;
    struct group_patch patch;
};

static const struct fumi_field update_fields[] = {
    FUMI_FIELD(struct update_group_params, id, "id", "Id or first 8+ characters.",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct update_group_params, patch, "patch",
               "Members to change. The groupKey cannot change, because notes refer to it.",
               .flags = FUMI_NULLABLE, .shape = &patch_shape),
};
static const struct fumi_shape update_shape = FUMI_SHAPE(struct update_group_params, update_fields);

struct updated {
    bool ok;
    struct fumi_str warning;
};

static const struct fumi_field updated_fields[] = {
    FUMI_FIELD(struct updated, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct updated, warning, "warning", "A problem that did not prevent the write.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape updated_shape = FUMI_SHAPE(struct updated, updated_fields);

static enum fumi_ret group_update(struct fumi_call *call, const void *params, void *result)
{
    const struct update_group_params *p = params;
    struct store *store = memory_store(call->self);
    struct group to = {.id = p->id, .title = p->patch.title, .description = p->patch.description};
    struct guard guard = guard_of(call, "patch.");
    const struct author by = author_of(call);
    if (guard_group(&guard, &to, &call->err) || find_id(call, ID_OF_GROUP, &to.id) ||
        store_update_group(store, to.id, to.title, to.description, fumi_now(), &by, &call->err))
        return FUMI_FAIL;
    *(struct updated *)result = (struct updated){true, guard_warning(&guard, (struct fumi_str){0})};
    return FUMI_OK;
}

static enum fumi_ret group_delete(struct fumi_call *call, const void *params, void *result)
{
    struct store *store = memory_store(call->self);
    struct fumi_str id = ((const struct by_id *)params)->id;
    const struct author by = author_of(call);
    if (find_id(call, ID_OF_GROUP, &id) || store_delete_group(store, id, &by, &call->err))
        return FUMI_FAIL;
    ((struct done *)result)->ok = true;
    return FUMI_OK;
}

struct list_groups_params {
    struct fumi_str project;
};

static const struct fumi_field list_fields[] = {PROJECT_FIELD(struct list_groups_params)};
static const struct fumi_shape list_shape = FUMI_SHAPE(struct list_groups_params, list_fields);

struct list_result {
    struct fumi_str name_space;
    struct fumi_list groups;
};

static const struct fumi_field list_result_fields[] = {
    FUMI_FIELD(struct list_result, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct list_result, groups, "groups",
               "Created groups, oldest first, then those that only notes name. \"global\" is not "
               "listed.",
               .shape = &row_shape),
};
static const struct fumi_shape list_result_shape = FUMI_SHAPE(struct list_result,
                                                              list_result_fields);

/* Skips "global", which exists in every project. */
static int group_row(void *listing, void *row, size_t bytes, struct fumi_err *e)
{
    const struct group *g = row;
    return fumi_eq(g->key, FUMI_STR("global")) ? ROW_SKIP : listing_row(listing, row, bytes, e);
}

static enum fumi_ret group_list(struct fumi_call *call, const void *params, void *result)
{
    struct store *store = memory_store(call->self);
    struct fumi_str project;
    struct listing listing = {.call = call};
    const struct loading to = {call->arena, group_row, &listing};
    struct groups all;
    if (project_canonical(call->arena, ((const struct list_groups_params *)params)->project,
                          &project, &call->err) ||
        store_list_groups(store, &to, project, &all, &call->err))
        return FUMI_FAIL;
    struct wire_group *rows = fumi_alloc(call->arena, (all.n + 1) * sizeof(*rows));
    for (size_t i = 0; i < all.n; i++) {
        show_id(call, ID_OF_GROUP, &all.items[i].id);
        rows[i] = wire_group(&all.items[i]);
    }
    *(struct list_result *)result = (struct list_result){memory_space(call->self, call->arena),
                                                         {rows, all.n}};
    return FUMI_OK;
}

const struct fumi_method group_methods[] = {
    {"group_create", "Creates a group: a title and a description for a groupId of notes.",
     &create_shape, &created_shape, group_create, WRITE},
    {"group_get", "Reads one group by its id.", &by_id_shape, &group_shape, group_get, READ},
    {"group_update", "Changes the title or description of a group.", &update_shape, &updated_shape,
     group_update, WRITE},
    {"group_delete", "Deletes a group; its notes stay.", &by_id_shape, &done_shape, group_delete,
     WRITE},
    {"group_list", "Lists the groups of a project.", &list_shape, &list_result_shape, group_list,
     READ},
};
const size_t group_methods_n = FUMI_COUNT(group_methods);
