/* Notes that wait for review. A note that an agent writes is put aside as the params of the call;
 * accepting it makes the call, as its first author. */
#include "base/clock.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"
#include "memory/methods_history.h"
#include "memory/methods_write.h"

const struct fumi_str review_warning = FUMI_STR(
    "waits for review: nobody finds it until a person accepts it (fumi review)");

enum { REVIEWS_MAX = 1000 };

int waits_for_review(struct fumi_call *call, struct fumi_str project)
{
    struct global g;
    struct fumi_err e = {0};
    if (!call->compact)
        return 0;
    if (project_canonical(call->arena, project, &project, &call->err))
        return -1;
    if (!store_get_global(memory_store(call->self), call->arena, project, FUMI_STR(REVIEW_KEY), &g,
                          &e))
        return fumi_eq(g.value, FUMI_STR("true"));
    if (e.code == ERR_NOT_FOUND)
        return memory_settings_of(call->self)->review;
    call->err = e;
    return -1;
}

int keeps_review(struct fumi_call *call, struct fumi_str id)
{
    const struct loading to = {.arena = call->arena};
    struct globals all;
    if (!call->compact)
        return 0;
    if (store_list_globals(memory_store(call->self), &to, (struct fumi_str){0},
                           FUMI_STR(REVIEW_KEY), &all, &call->err))
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (fumi_eq(all.items[i].id, id))
            return fumi_err_set(&call->err, FUMI_INVALID_PARAMS,
                                "id is that of " REVIEW_KEY ": only the user can delete it");
    return 0;
}

int put_aside(struct fumi_call *call, enum change_op op, struct fumi_str project,
              struct fumi_str id, const struct fumi_shape *s, const void *p)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    char new[FUMI_UUID_SIZE];
    fumi_uuid(new);
    fumi_emit_params(&o, s, p);
    struct review r = {.id = op == CHANGE_ADD ? id : (struct fumi_str){new, sizeof(new)},
                       .at = fumi_now(),
                       .project = project,
                       .by = author_of(call),
                       .op = op,
                       .note = op == CHANGE_ADD ? (struct fumi_str){0} : id,
                       .body = fumi_buf_str(&b)};
    int rc = store_add_review(memory_store(call->self), &r, &call->err);
    fumi_buf_done(&b);
    return rc;
}

/* --- The list. --- */

struct list_params {
    struct fumi_str project;
    int64_t limit;
};

static const struct fumi_field list_fields[] = {
    FUMI_FIELD(struct list_params, project, "projectId", "Only this project.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct list_params, limit, "limit", "Maximum number of notes.",
               .flags = FUMI_NULLABLE, .min = 1, .max = REVIEWS_MAX, .def = "100"),
};
static const struct fumi_shape list_shape = FUMI_SHAPE(struct list_params, list_fields);

struct item {
    struct fumi_str id, op, note, project;
    struct fumi_time at;
    struct change_author by;
    struct fumi_json params, now;
};

static const struct fumi_field item_fields[] = {
    FUMI_FIELD(struct item, id, "id", "Id of the review."),
    FUMI_FIELD(struct item, op, "op", "add or update."),
    FUMI_FIELD(struct item, note, "note", "update: id of the note.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct item, project, "projectId", "The project."),
    FUMI_FIELD(struct item, at, "at", "When the agent wrote it, UTC."),
    FUMI_FIELD(struct item, by, "by", "Who wrote it.", .shape = &change_author_shape),
    FUMI_FIELD(struct item, params, "params",
               "The params of memory.add_note or memory.update, as the agent sent them."),
    FUMI_FIELD(struct item, now, "now", "update: the note as it is now; null: it is gone.",
               .flags = FUMI_NULLABLE | FUMI_OMIT),
};
static const struct fumi_shape item_shape = FUMI_SHAPE(struct item, item_fields);

struct list_result {
    struct fumi_list items;
};
static const struct fumi_field list_result_fields[] = {
    FUMI_FIELD(struct list_result, items, "items", "What waits for review, oldest first.",
               .shape = &item_shape),
};
static const struct fumi_shape list_result_shape = FUMI_SHAPE(struct list_result,
                                                              list_result_fields);

/* The note to be changed, as memory.get shows it; null if it was deleted. */
static struct fumi_json note_now(struct fumi_call *call, struct fumi_str id)
{
    struct note_result n = {.name_space = memory_space(call->self, call->arena)};
    struct fumi_err ignored = {0};
    if (!id.p || store_get_note(memory_store(call->self), call->arena, id, &n.note, &ignored))
        return (struct fumi_json){{0}};
    return text_of(call->arena, &note_result_shape, &n);
}

static enum fumi_ret review(struct fumi_call *call, const void *params, void *result)
{
    const struct list_params *p = params;
    struct fumi_str project = p->project;
    struct reviews all;
    if ((project.p && project_canonical(call->arena, project, &project, &call->err)) ||
        store_list_reviews(memory_store(call->self), call->arena, project, (size_t)p->limit, &all,
                           &call->err))
        return FUMI_FAIL;
    struct item *items = fumi_alloc(call->arena, (all.n + 1) * sizeof(*items));
    for (size_t i = 0; i < all.n; i++) {
        const struct review *r = &all.items[i];
        items[i] = (struct item){.id = r->id,
                                 .op = change_op_name(r->op),
                                 .note = r->note,
                                 .project = r->project,
                                 .at = {r->at, true},
                                 .by = change_author(call->arena, &r->by),
                                 .params = {r->body},
                                 .now = note_now(call, r->note)};
    }
    ((struct list_result *)result)->items = (struct fumi_list){items, all.n};
    return FUMI_OK;
}

/* --- Accepting and rejecting. --- */

struct decide_params {
    struct fumi_strs ids;
    struct fumi_str text;
};

#define IDS                                                                                        \
    FUMI_FIELD(struct decide_params, ids, "ids", "Ids that memory.review returned.",               \
               .flags = FUMI_REQUIRED, .min = 1, .max = REVIEWS_MAX)

static const struct fumi_field accept_fields[] = {
    IDS,
    FUMI_FIELD(struct decide_params, text, "text",
               "The text of the note, if it is not to be stored as the agent wrote it; for one id.",
               .flags = FUMI_NULLABLE, .check = note_text_fault),
};
static const struct fumi_shape accept_shape = FUMI_SHAPE(struct decide_params, accept_fields);
static const struct fumi_field reject_fields[] = {IDS};
static const struct fumi_shape reject_shape = FUMI_SHAPE(struct decide_params, reject_fields);

struct accepted {
    struct fumi_strs ids;
    struct fumi_str warning;
};
static const struct fumi_field accepted_fields[] = {
    FUMI_FIELD(struct accepted, ids, "ids", "Ids of the notes that were added or changed."),
    FUMI_FIELD(struct accepted, warning, "warning", "A problem that did not prevent the write.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape accepted_shape = FUMI_SHAPE(struct accepted, accepted_fields);

/* Notes that were deleted while the review waited need no successor. */
static int drop_missing(struct fumi_call *call, struct fumi_strs *ids)
{
    struct note n;
    size_t kept = 0;
    for (size_t i = 0; i < ids->n; i++) {
        struct fumi_err e = {0};
        if (!store_get_note(memory_store(call->self), call->arena, ids->items[i], &n, &e))
            ids->items[kept++] = ids->items[i];
        else if (e.code != ERR_NOT_FOUND)
            return fumi_err_set(&call->err, e.code, "%s", e.text);
    }
    ids->n = kept;
    return 0;
}

/* The params were bound once before, so they are valid unless the limits have changed. */
static int make_call(struct fumi_call *call, const struct review *r, struct fumi_str text,
                     struct note_written *w)
{
    bool adds = r->op == CHANGE_ADD;
    struct add_params add = {.project = {0}};
    struct update_params update = {.id = {0}};
    const struct fumi_val *v = fumi_parse(call->arena, r->body, &call->err);
    if (!v ||
        fumi_bind(call->arena, adds ? &add_params_shape : &update_params_shape, v,
                  adds ? (void *)&add : (void *)&update, &call->err) ||
        drop_missing(call, adds ? &add.supersedes : &update.supersedes))
        return -1;
    if (adds) {
        add.project = r->project; /* it may have been renamed or merged since */
        add.note.text = text.p ? text : add.note.text;
        return add_bound(call, &add, r->id, &r->by, w);
    }
    if (text.p)
        patch_text(&update.patch, text);
    return update_bound(call, &update, &r->by, w);
}

/* Whether an earlier call stored the note, and ended before it removed the review. */
static bool is_stored(struct fumi_call *call, const struct review *r)
{
    struct fumi_err ignored;
    struct note n;
    return r->op == CHANGE_ADD &&
           !store_get_note(memory_store(call->self), call->arena, r->id, &n, &ignored);
}

static int accept_one(struct fumi_call *call, struct fumi_str id, struct fumi_str text,
                      struct accepted *out)
{
    struct store *store = memory_store(call->self);
    struct note_written w = {.id = id};
    struct review r;
    if (store_get_review(store, call->arena, id, &r, &call->err) ||
        ((text.p || !is_stored(call, &r)) && make_call(call, &r, text, &w)) ||
        store_drop_review(store, id, &call->err))
        return -1;
    show_id(call, ID_TO_DELETE, &w.id);
    out->ids.items[out->ids.n++] = w.id;
    out->warning = w.warning.p ? w.warning : out->warning;
    return 0;
}

static enum fumi_ret review_accept(struct fumi_call *call, const void *params, void *result)
{
    const struct decide_params *p = params;
    struct accepted *out = result;
    if (p->text.p && p->ids.n != 1)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "text is for a single id; ids has %zu",
                         p->ids.n);
    out->ids.items = fumi_alloc(call->arena, p->ids.n * sizeof(*out->ids.items));
    for (size_t i = 0; i < p->ids.n; i++)
        if (accept_one(call, p->ids.items[i], p->text, out))
            return FUMI_FAIL;
    return FUMI_OK;
}

static enum fumi_ret review_reject(struct fumi_call *call, const void *params, void *result)
{
    const struct decide_params *p = params;
    for (size_t i = 0; i < p->ids.n; i++)
        if (store_drop_review(memory_store(call->self), p->ids.items[i], &call->err))
            return FUMI_FAIL;
    ((struct done *)result)->ok = true;
    return FUMI_OK;
}

const struct fumi_method review_methods[] = {
    {"review", "Lists notes that agents wrote and that wait for review.", &list_shape,
     &list_result_shape, review, READ_BY_PEOPLE},
    {"review_accept",
     "Stores notes that wait for review, one after the other. An error leaves those after it.",
     &accept_shape, &accepted_shape, review_accept, WRITE_BY_PEOPLE},
    {"review_reject", "Discards notes that wait for review.", &reject_shape, &done_shape,
     review_reject, WRITE_BY_PEOPLE},
};
const size_t review_methods_n = FUMI_COUNT(review_methods);
