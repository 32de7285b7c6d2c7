#include "base/clock.h"
#include "base/uuid.h"
#include "memory/methods_write.h"

struct upsert_params {
    struct fumi_str project, key, updated;
    struct fumi_json value;
};

static const struct fumi_field upsert_fields[] = {
    PROJECT_FIELD(struct upsert_params),
    FUMI_FIELD(struct upsert_params, key, "key",
               "Like global.project.conventions: letters, digits, '.', '_', '-'.",
               .flags = FUMI_REQUIRED | FUMI_EMPTY),
    FUMI_FIELD(struct upsert_params, value, "value", "Any JSON value, also null.",
               .flags = FUMI_REQUIRED),
    /* A string, not a time: upsert_global checks the key first, whose rules a shape cannot express.
     */
    FUMI_FIELD(struct upsert_params, updated, "updatedAt",
               "Time since which the value holds, RFC 3339; default now.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape upsert_shape = FUMI_SHAPE(struct upsert_params, upsert_fields);

struct upserted {
    bool ok;
    struct fumi_str id, name_space, warning;
};

static const struct fumi_field upserted_fields[] = {
    FUMI_FIELD(struct upserted, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct upserted, id, "id",
               "Id of the global; it stays the same when the value changes."),
    FUMI_FIELD(struct upserted, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct upserted, warning, "warning", "A problem that did not prevent the write.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape upserted_shape = FUMI_SHAPE(struct upserted, upserted_fields);

static int check_value(struct fumi_str json, struct fumi_err *e)
{
    if (json.n > VALUE_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "value must have at most %d bytes", VALUE_MAX);
    return 0;
}

static int check_time(struct fumi_str text, int64_t *out, struct fumi_err *e)
{
    if (!text.p || fumi_time_read(text, out))
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "updatedAt has an invalid time format (expected ISO8601 UTC): use one such "
                        "as 2026-01-31T09:30:00Z");
}

/* Whether notes wait for review is decided by people, not by agents. */
static int check_review(struct fumi_call *call, struct fumi_str key, struct fumi_str value)
{
    if (!fumi_eq(key, FUMI_STR(REVIEW_KEY)))
        return 0;
    if (call->compact)
        return fumi_err_set(&call->err, FUMI_INVALID_PARAMS,
                            "key must not be " REVIEW_KEY ": only the user can change it");
    if (fumi_eq(value, FUMI_STR("true")) || fumi_eq(value, FUMI_STR("false")))
        return 0;
    return fumi_err_set(&call->err, FUMI_INVALID_PARAMS,
                        "value of " REVIEW_KEY " must be true or false");
}

static enum fumi_ret upsert_global(struct fumi_call *call, const void *params, void *result)
{
    const struct upsert_params *p = params;
    struct store *store = memory_store(call->self);
    struct guard guard = guard_of(call, NULL);
    const struct author by = author_of(call);
    char *id = fumi_alloc(call->arena, FUMI_UUID_SIZE);
    fumi_uuid(id);
    struct global g = {
        .id = {id, FUMI_UUID_SIZE}, .key = p->key, .value = p->value.text, .updated = fumi_now()};
    if (global_key_check(g.key, &call->err) || check_time(p->updated, &g.updated, &call->err) ||
        check_value(g.value, &call->err) || check_review(call, g.key, g.value) ||
        guard_global(&guard, &g, &call->err) ||
        project_writable(call->arena, p->project, &g.project, &call->err) ||
        store_set_global(store, call->arena, &g, &by, &call->err))
        return FUMI_FAIL;
    show_id(call, ID_TO_DELETE, &g.id);
    *(struct upserted *)result = (struct upserted){true, g.id,
                                                   memory_space(call->self, call->arena),
                                                   guard_warning(&guard, (struct fumi_str){0})};
    return FUMI_OK;
}

struct get_params {
    struct fumi_str project, key;
};

static const struct fumi_field get_fields[] = {
    PROJECT_FIELD(struct get_params),
    FUMI_FIELD(struct get_params, key, "key", "Like global.project.conventions.",
               .flags = FUMI_REQUIRED),
};
static const struct fumi_shape get_shape = FUMI_SHAPE(struct get_params, get_fields);

struct got {
    struct fumi_str name_space, id;
    struct fumi_time updated;
    bool found;
    struct fumi_json value;
};

static const struct fumi_field got_fields[] = {
    FUMI_FIELD(struct got, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct got, found, "found", "Whether the key is set."),
    FUMI_FIELD(struct got, id, "id", "The id of the global.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct got, value, "value", "Value of the global.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct got, updated, "updatedAt", "Time since which the value holds, UTC.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape got_shape = FUMI_SHAPE(struct got, got_fields);

static enum fumi_ret get_global(struct fumi_call *call, const void *params, void *result)
{
    const struct get_params *p = params;
    struct got *out = result;
    struct store *store = memory_store(call->self);
    struct fumi_str project;
    struct global g;
    if (!fumi_starts(p->key, FUMI_STR("global.")))
        return fumi_fail(call, ERR_KEY_PREFIX, "key must start with 'global.'");
    if (project_canonical(call->arena, p->project, &project, &call->err))
        return FUMI_FAIL;
    out->name_space = memory_space(call->self, call->arena);
    if (!store_get_global(store, call->arena, project, p->key, &g, &call->err)) {
        out->found = true;
        show_id(call, ID_TO_DELETE, &g.id);
        out->id = g.id;
        out->value.text = g.value;
        out->updated = (struct fumi_time){g.updated, true};
        return FUMI_OK;
    }
    if (call->err.code != ERR_NOT_FOUND)
        return FUMI_FAIL;
    call->err = (struct fumi_err){0};
    return FUMI_OK;
}

struct list_globals_params {
    struct fumi_str project, prefix;
};

static const struct fumi_field list_fields[] = {
    PROJECT_FIELD(struct list_globals_params),
    FUMI_FIELD(struct list_globals_params, prefix, "prefix", "Only keys with this prefix.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape list_shape = FUMI_SHAPE(struct list_globals_params, list_fields);

struct row {
    struct fumi_str id, project, key;
    struct fumi_time updated;
    struct fumi_json value;
};

static const struct fumi_field row_fields[] = {
    FUMI_FIELD(struct row, id, "id", "Id of the global."),
    FUMI_FIELD(struct row, project, "projectId", "The project, in its canonical form.",
               .flags = FUMI_DETAIL),
    FUMI_FIELD(struct row, key, "key", "Key of the global."),
    FUMI_FIELD(struct row, value, "value", "Value of the global.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct row, updated, "updatedAt", "Time since which the value holds, UTC."),
};
static const struct fumi_shape row_shape = FUMI_SHAPE(struct row, row_fields);

struct listed {
    struct fumi_str name_space;
    struct fumi_list globals;
};

static const struct fumi_field listed_fields[] = {
    FUMI_FIELD(struct listed, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct listed, globals, "globals", "The globals, sorted by key.",
               .shape = &row_shape),
};
static const struct fumi_shape listed_shape = FUMI_SHAPE(struct listed, listed_fields);

static enum fumi_ret list_globals(struct fumi_call *call, const void *params, void *result)
{
    const struct list_globals_params *p = params;
    struct store *store = memory_store(call->self);
    struct fumi_str project, prefix = p->prefix.p ? p->prefix : FUMI_STR("");
    struct listing listing = {.call = call};
    const struct loading to = {call->arena, listing_row, &listing};
    struct globals all;
    if (project_canonical(call->arena, p->project, &project, &call->err) ||
        store_list_globals(store, &to, project, prefix, &all, &call->err))
        return FUMI_FAIL;
    struct row *rows = fumi_alloc(call->arena, (all.n + 1) * sizeof(*rows));
    for (size_t i = 0; i < all.n; i++) {
        struct global *g = &all.items[i];
        show_id(call, ID_TO_DELETE, &g->id);
        rows[i] = (struct row){g->id, g->project, g->key, {g->updated, true}, {g->value}};
    }
    *(struct listed *)result = (struct listed){memory_space(call->self, call->arena),
                                               {rows, all.n}};
    return FUMI_OK;
}

const struct fumi_method global_methods[] = {
    {"upsert_global", "Sets a project-wide setting, such as global.project.conventions.",
     &upsert_shape, &upserted_shape, upsert_global, WRITE},
    {"get_global", "Reads a project-wide setting.", &get_shape, &got_shape, get_global, READ},
    {"list_globals", "Lists the project-wide settings.", &list_shape, &listed_shape, list_globals,
     READ},
};
const size_t global_methods_n = FUMI_COUNT(global_methods);
