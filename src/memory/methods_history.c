/* What was changed, by whom, and putting it back; and what hooks and prompts gave to agents. */
#include "memory/methods_history.h"

#include "base/clock.h"
#include "memory/memory_parts.h"
#include "memory/methods_write.h"

#include <inttypes.h>
#include <stdlib.h>

enum { HISTORY_MAX = 1000 };

static const char *const op_names[CHANGE_OPS] = {
    [CHANGE_ADD] = "add",
    [CHANGE_UPDATE] = "update",
    [CHANGE_DELETE] = "delete",
    [CHANGE_EXPIRE] = "expire",
    [CHANGE_FORGET] = "forget",
    [CHANGE_GROUP_ADD] = "group_add",
    [CHANGE_GROUP_UPDATE] = "group_update",
    [CHANGE_GROUP_DELETE] = "group_delete",
    [CHANGE_GLOBAL_ADD] = "global_add",
    [CHANGE_GLOBAL_UPDATE] = "global_update",
    [CHANGE_GLOBAL_DELETE] = "global_delete",
};
#define OP_HELP                                                                                    \
    "add, update, delete, expire or forget; of a group or a global: group_add, global_update ..."

struct fumi_str change_op_name(enum change_op op)
{
    return fumi_str(op < CHANGE_OPS ? op_names[op] : NULL);
}

static const struct fumi_field claimed_fields[] = {
    FUMI_FIELD(struct claimed_client, client, "client", "Name of the client.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct claimed_client, version, "version", "Its version.", .flags = FUMI_OMIT),
};
static const struct fumi_shape claimed_shape = FUMI_SHAPE(struct claimed_client, claimed_fields);

static const struct fumi_field author_fields[] = {
    FUMI_FIELD(struct change_author, transport, "transport", "How the call came.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct change_author, user, "user",
               "The user: on a Unix socket and in the terminal.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct change_author, session, "session", "The conversation or run.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct change_author, claimed, "claimed",
               "What the client says of itself: client and version.", .flags = FUMI_OMIT),
};
const struct fumi_shape change_author_shape = FUMI_SHAPE(struct change_author, author_fields);

/* The store has '' for what is unknown. */
static struct fumi_str known(struct fumi_str s)
{
    return s.n ? s : (struct fumi_str){0};
}

struct change_author change_author(struct fumi_arena *a, const struct author *by)
{
    const struct claimed_client c = {known(by->client), known(by->version)};
    struct change_author out = {known(by->transport), known(by->user), known(by->session), {{0}}};
    if (c.client.p || c.version.p)
        out.claimed = text_of(a, &claimed_shape, &c);
    return out;
}

/* --- memory.history --- */

struct history_params {
    struct fumi_str id, project, session, client;
    struct fumi_time since, until;
    int64_t limit;
    struct fumi_str cursor;
};

static const char *check_cursor(struct fumi_str s)
{
    bool digits = s.n > 0 && s.n < 19;
    for (size_t i = 0; i < s.n; i++)
        digits &= s.p[i] >= '0' && s.p[i] <= '9';
    return digits ? NULL : "must be a nextCursor as it was answered";
}

#define PAGE_FIELDS(T)                                                                             \
    FUMI_FIELD(T, limit, "limit", "Maximum number of items.", .flags = FUMI_NULLABLE, .min = 1,    \
               .max = HISTORY_MAX, .def = "50"),                                                   \
        FUMI_FIELD(T, cursor, "cursor", "nextCursor of the previous page.",                        \
                   .flags = FUMI_NULLABLE, .check = check_cursor)

static const struct fumi_field history_fields[] = {
    FUMI_FIELD(struct history_params, id, "id", "Only this note, group or global.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct history_params, project, "projectId", "Only this project.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct history_params, session, "session", "Only this session.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct history_params, client, "client", "Only this client.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct history_params, since, "since", "Changed at or after.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct history_params, until, "until", "Changed before.",
               .flags = FUMI_NULLABLE | FUMI_DAY_END),
    PAGE_FIELDS(struct history_params),
};
static const struct fumi_shape history_shape = FUMI_SHAPE(struct history_params, history_fields);

struct history_item {
    int64_t change;
    struct fumi_time at;
    struct fumi_str op, id, project;
    struct change_author by;
    int64_t undoes;
    struct fumi_json before;
};

static const struct fumi_field item_fields[] = {
    FUMI_FIELD(struct history_item, change, "change",
               "Number of the change; what one call did has one number."),
    FUMI_FIELD(struct history_item, at, "at", "Time of the change, UTC."),
    FUMI_FIELD(struct history_item, op, "op", OP_HELP),
    FUMI_FIELD(struct history_item, id, "id", "Id of the note, group or global.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct history_item, project, "projectId", "The project.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct history_item, by, "by", "Who made the change.",
               .shape = &change_author_shape),
    FUMI_FIELD(struct history_item, undoes, "undoes", "The change that this one put back.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct history_item, before, "before",
               "The members that changed, with their values before.", .flags = FUMI_OMIT),
};
static const struct fumi_shape item_shape = FUMI_SHAPE(struct history_item, item_fields);

struct history_result {
    struct fumi_list items;
    struct fumi_str next;
};
static const struct fumi_field history_result_fields[] = {
    FUMI_FIELD(struct history_result, items, "items", "The changes, newest first.",
               .shape = &item_shape),
    FUMI_FIELD(struct history_result, next, "nextCursor",
               "Cursor of the next page, if there is one.", .flags = FUMI_OMIT),
};
static const struct fumi_shape history_result_shape = FUMI_SHAPE(struct history_result,
                                                                 history_result_fields);

static int project_of(struct fumi_call *call, struct fumi_str given, struct fumi_str *out)
{
    *out = given;
    return given.p ? project_canonical(call->arena, given, out, &call->err) : 0;
}

static int64_t position_of(struct fumi_str cursor)
{
    char text[20] = "";
    memcpy(text, cursor.p ? cursor.p : "", cursor.n);
    return strtoll(text, NULL, 10);
}

/* Values of before are masked as notes are, for those that were stored without being masked. */
static int guard_before(struct fumi_call *call, struct fumi_str *before)
{
    struct guard g = guard_of(call, NULL);
    struct global all = {.value = *before};
    if (!before->p || g.mode == SECRETS_ALLOW)
        return 0;
    g.mode = SECRETS_MASK;
    int rc = guard_global(&g, &all, &call->err);
    *before = all.value;
    return rc;
}

static int show_changes(struct fumi_call *call, struct changes *all, struct history_item *items)
{
    struct listing listing = {.call = call};
    for (size_t i = 0; i < all->n; i++) {
        struct change *c = &all->items[i];
        if (guard_before(call, &c->before) ||
            listing_row(&listing, c, c->before.n + 256, &call->err) < 0)
            return -1;
        items[i] = (struct history_item){.change = c->change,
                                         .at = {c->at, true},
                                         .op = change_op_name(c->op),
                                         .id = known(c->id),
                                         .project = known(c->project),
                                         .by = change_author(call->arena, &c->by),
                                         .undoes = c->undoes,
                                         .before = {c->before}};
        show_id(call, ID_OF_HISTORY, &items[i].id);
    }
    return 0;
}

static enum fumi_ret history(struct fumi_call *call, const void *params, void *result)
{
    const struct history_params *p = params;
    struct history_query q = {.id = p->id,
                              .session = p->session,
                              .client = p->client,
                              .since = p->since.set ? p->since.ms : INT64_MIN,
                              .until = p->until.set ? p->until.ms : INT64_MAX,
                              .before_n = position_of(p->cursor),
                              .limit = (size_t)p->limit + 1};
    struct history_result *out = result;
    struct changes all = {0};
    if ((q.id.p && find_id(call, ID_OF_HISTORY, &q.id)) ||
        project_of(call, p->project, &q.project) ||
        store_history(memory_store(call->self), call->arena, &q, &all, &call->err))
        return FUMI_FAIL;
    if (q.id.p && !all.n && !p->cursor.p)
        return fumi_fail(call, ERR_NOT_FOUND, "No change of this id is recorded");
    bool more = all.n == q.limit;
    all.n -= more;
    struct history_item *items = fumi_alloc(call->arena, (all.n + 1) * sizeof(*items));
    if (show_changes(call, &all, items))
        return FUMI_FAIL;
    out->items = (struct fumi_list){items, all.n};
    if (more)
        out->next = fumi_fmt(call->arena, "%" PRId64, all.items[all.n - 1].n);
    return FUMI_OK;
}

/* --- memory.undo --- */

struct undo_params {
    int64_t change;
    struct fumi_str session;
    struct fumi_time since;
    struct fumi_str project;
    bool dry_run;
};

static const struct fumi_field undo_fields[] = {
    FUMI_FIELD(struct undo_params, change, "change", "Number of the change.",
               .flags = FUMI_NULLABLE, .min = 0, .max = INT64_MAX, .def = "0"),
    FUMI_FIELD(struct undo_params, session, "session", "All changes of this session.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
    FUMI_FIELD(struct undo_params, since, "since", "All changes since this time.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
    FUMI_FIELD(struct undo_params, project, "projectId", "Only in this project.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
    FUMI_FIELD(struct undo_params, dry_run, "dryRun", "Change nothing; show what would change.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .def = "false"),
};
static const struct fumi_shape undo_shape = FUMI_SHAPE(struct undo_params, undo_fields);

struct undone_item {
    struct fumi_str id, op;
};
static const struct fumi_field undone_item_fields[] = {
    FUMI_FIELD(struct undone_item, id, "id", "Id of the note, group or global."),
    FUMI_FIELD(struct undone_item, op, "op", "What was put back: " OP_HELP),
};
static const struct fumi_shape undone_item_shape = FUMI_SHAPE(struct undone_item,
                                                              undone_item_fields);

struct conflict_item {
    struct fumi_str id;
    int64_t change;
};
static const struct fumi_field conflict_fields[] = {
    FUMI_FIELD(struct conflict_item, id, "id", "Id of the note, group or global."),
    FUMI_FIELD(struct conflict_item, change, "change", "The later change."),
};
static const struct fumi_shape conflict_shape = FUMI_SHAPE(struct conflict_item, conflict_fields);

struct undo_result {
    int64_t change;
    struct fumi_list undone, conflicts;
};
static const struct fumi_field undo_result_fields[] = {
    FUMI_FIELD(struct undo_result, change, "change",
               "Number of this change, which can be undone too; 0: nothing was changed."),
    FUMI_FIELD(struct undo_result, undone, "undone", "What was put back, newest change first.",
               .shape = &undone_item_shape),
    FUMI_FIELD(struct undo_result, conflicts, "conflicts",
               "What was not put back, because a later change concerns the same members.",
               .flags = FUMI_OMIT, .shape = &conflict_shape),
};
static const struct fumi_shape undo_result_shape = FUMI_SHAPE(struct undo_result,
                                                              undo_result_fields);

static int undo_query(struct fumi_call *call, const struct undo_params *p, struct undo_query *q)
{
    *q = (struct undo_query){.change = p->change,
                             .session = p->session,
                             .since = p->since.set ? p->since.ms : 0,
                             .dry_run = p->dry_run};
    if ((p->change != 0) + (p->session.n != 0) + p->since.set != 1)
        return fumi_err_set(&call->err, FUMI_INVALID_PARAMS,
                            "exactly one of change, session and since is required");
    if (p->since.set && q->since <= 0)
        return fumi_err_set(&call->err, FUMI_INVALID_PARAMS, "since must be after 1970");
    return project_of(call, p->project, &q->project);
}

/* An agent may not put back settings of a project: one of them decides about reviews. */
static int admit(struct fumi_call *call, const struct undo_query *q, const struct author *by)
{
    struct undo_query dry = *q;
    struct undone would = {0};
    if (!call->compact)
        return 0;
    dry.dry_run = true;
    if (store_undo(memory_store(call->self), call->arena, &dry, by, &would, &call->err))
        return -1;
    for (size_t i = 0; i < would.rows_n; i++)
        if (would.rows[i].op >= CHANGE_GLOBAL_ADD)
            return fumi_err_set(&call->err, FUMI_INVALID_PARAMS,
                                "change is one of the project's settings: only the user can undo "
                                "it (fumi undo)");
    return 0;
}

static void show_undone(struct fumi_call *call, const struct undone *u, struct undo_result *out)
{
    struct undone_item *rows = fumi_alloc(call->arena, (u->rows_n + 1) * sizeof(*rows));
    struct conflict_item *left = fumi_alloc(call->arena, (u->conflicts_n + 1) * sizeof(*left));
    for (size_t i = 0; i < u->rows_n; i++) {
        rows[i] = (struct undone_item){u->rows[i].id, change_op_name(u->rows[i].op)};
        show_id(call, ID_OF_HISTORY, &rows[i].id);
    }
    for (size_t i = 0; i < u->conflicts_n; i++) {
        left[i] = (struct conflict_item){u->conflicts[i].id, u->conflicts[i].change};
        show_id(call, ID_OF_HISTORY, &left[i].id);
    }
    *out = (struct undo_result){u->change, {rows, u->rows_n}, {left, u->conflicts_n}};
}

static enum fumi_ret undo(struct fumi_call *call, const void *params, void *result)
{
    const struct author by = author_of(call);
    struct undo_query q;
    struct undone u = {0};
    if (undo_query(call, params, &q) || admit(call, &q, &by) ||
        store_undo(memory_store(call->self), call->arena, &q, &by, &u, &call->err))
        return FUMI_FAIL;
    if (q.change && !u.rows_n && !u.conflicts_n)
        return fumi_fail(call, ERR_NOT_FOUND,
                         "There is no change %" PRId64 " to put back, or an undo has put it back",
                         q.change);
    if (u.change)
        memory_wake(call->self); /* texts that were put back lack vectors */
    show_undone(call, &u, result);
    return FUMI_OK;
}

/* --- memory.injections --- */

struct injections_params {
    struct fumi_str project, session, id;
    int64_t limit;
    struct fumi_str cursor;
};

static const struct fumi_field injections_fields[] = {
    FUMI_FIELD(struct injections_params, project, "projectId", "Only this project.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct injections_params, session, "session", "Only this session.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct injections_params, id, "id", "Only those that contained this note.",
               .flags = FUMI_NULLABLE),
    PAGE_FIELDS(struct injections_params),
};
static const struct fumi_shape injections_shape = FUMI_SHAPE(struct injections_params,
                                                             injections_fields);

struct injection_item {
    struct fumi_time at;
    struct fumi_str kind, project;
    struct change_author to;
    struct fumi_strs ids;
};
static const struct fumi_field injection_fields[] = {
    FUMI_FIELD(struct injection_item, at, "at", "When it was given, UTC."),
    FUMI_FIELD(struct injection_item, kind, "kind",
               "The hook (session-start, prompt, session-end), the prompt (session_start, recall) "
               "or resource."),
    FUMI_FIELD(struct injection_item, project, "projectId", "The project.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct injection_item, to, "to", "Who received it.", .shape = &change_author_shape),
    FUMI_FIELD(struct injection_item, ids, "ids", "Ids of the notes, in their order."),
};
static const struct fumi_shape injection_shape = FUMI_SHAPE(struct injection_item,
                                                            injection_fields);

struct injections_result {
    struct fumi_list items;
    struct fumi_str next;
};
static const struct fumi_field injections_result_fields[] = {
    FUMI_FIELD(struct injections_result, items, "items", "What was given, newest first.",
               .shape = &injection_shape),
    FUMI_FIELD(struct injections_result, next, "nextCursor",
               "Cursor of the next page, if there is one.", .flags = FUMI_OMIT),
};
static const struct fumi_shape injections_result_shape = FUMI_SHAPE(struct injections_result,
                                                                    injections_result_fields);

static enum fumi_ret injections(struct fumi_call *call, const void *params, void *result)
{
    const struct injections_params *p = params;
    struct injection_query q = {.session = p->session,
                                .id = p->id,
                                .before_n = position_of(p->cursor),
                                .limit = (size_t)p->limit + 1};
    struct injections_result *out = result;
    struct injections all = {0};
    if ((q.id.p && find_id(call, ID_OF_NOTE, &q.id)) || project_of(call, p->project, &q.project) ||
        store_list_injections(memory_store(call->self), call->arena, &q, &all, &call->err))
        return FUMI_FAIL;
    if (q.id.p && !all.n && !p->cursor.p)
        return fumi_fail(call, ERR_NOT_FOUND, "No agent was given this note");
    bool more = all.n == q.limit;
    all.n -= more;
    struct injection_item *items = fumi_alloc(call->arena, (all.n + 1) * sizeof(*items));
    for (size_t i = 0; i < all.n; i++) {
        const struct injection *one = &all.items[i];
        items[i] = (struct injection_item){{one->at, true},
                                           one->kind,
                                           known(one->project),
                                           change_author(call->arena, &one->by),
                                           show_ids(call, ID_TO_DELETE, one->ids)};
    }
    out->items = (struct fumi_list){items, all.n};
    if (more)
        out->next = fumi_fmt(call->arena, "%" PRId64, all.items[all.n - 1].n);
    return FUMI_OK;
}

const struct fumi_method history_methods[] = {
    {"history",
     "Lists changes of notes, groups and globals, newest first: who made them, and what was there "
     "before.",
     &history_shape, &history_result_shape, history, READ_BY_PEOPLE},
    {"undo",
     "Puts back what a change, a session, or everything since a time has changed. Later changes of "
     "the same members stay, and are listed as conflicts.",
     &undo_shape, &undo_result_shape, undo, WRITE},
    {"injections", "Lists what hooks, prompts and resources gave to agents, newest first.",
     &injections_shape, &injections_result_shape, injections, READ_BY_PEOPLE},
};
const size_t history_methods_n = FUMI_COUNT(history_methods);
