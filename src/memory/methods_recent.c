#include "memory/budget.h"
#include "memory/methods_parts.h"

#include <inttypes.h>
#include <stdlib.h>

struct recent_params {
    struct fumi_str project, group, cursor;
    int64_t limit, max_tokens;
    struct fumi_strs tags, any_tags;
    bool superseded;
    struct fumi_time since, until;
};

static const char *check_cursor(struct fumi_str s);

static const struct fumi_field recent_fields[] = {
    PROJECT_FIELD(struct recent_params),
    FUMI_FIELD(struct recent_params, group, "groupId", "Only this group.", .flags = FUMI_NULLABLE,
               .check = note_given_group_fault),
    FUMI_FIELD(struct recent_params, limit, "limit", "At most so many.", .flags = FUMI_NULLABLE,
               .min = 0, .max = RESULTS_MAX, .def = "10"),
    FUMI_FIELD(struct recent_params, tags, "tags", "With all of these.", .flags = FUMI_NULLABLE,
               .max = NOTE_TAGS_MAX, .check = check_tag_filter),
    FUMI_FIELD(struct recent_params, cursor, "cursor", "nextCursor of the previous page.",
               .flags = FUMI_NULLABLE, .check = check_cursor),
    MAX_TOKENS_FIELD(struct recent_params),
    SUPERSEDED_FIELD(struct recent_params),
    FUMI_FIELD(struct recent_params, since, "since", "Since then, like 2026-01-31.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
    FUMI_FIELD(struct recent_params, until, "until", "Before then, or on this day.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL | FUMI_DAY_END),
    ANY_TAGS_FIELD(struct recent_params),
};
static const struct fumi_shape recent_shape = FUMI_SHAPE(struct recent_params, recent_fields);

struct recent_item {
    struct note note;
    struct fumi_str name_space;
    struct fumi_json passage;
};

static const struct fumi_field item_fields[] = {
    NOTE_LIST_FIELDS(struct recent_item, note.)
        FUMI_FIELD(struct recent_item, name_space, "namespace",
                   "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    PASSAGE_FIELD(struct recent_item),
};
static const struct fumi_shape item_shape = FUMI_SHAPE(struct recent_item, item_fields);

struct recent_result {
    struct fumi_str name_space, next;
    struct fumi_list items;
    int64_t superseded;
};

static const struct fumi_field recent_result_fields[] = {
    FUMI_FIELD(struct recent_result, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct recent_result, items, "items", "The notes, newest first.",
               .shape = &item_shape),
    FUMI_FIELD(struct recent_result, next, "nextCursor",
               "Cursor of the next page, if there is one.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct recent_result, superseded, "superseded",
               "Notes that newer ones replace: includeSuperseded lists them.", .flags = FUMI_OMIT),
};
static const struct fumi_shape recent_result_shape = FUMI_SHAPE(struct recent_result,
                                                                recent_result_fields);

/* Parses a cursor "CREATED.SEQ" as list_recent writes it. Returns false if `s` is not a cursor. */
static bool read_cursor(struct fumi_str s, struct cursor *out)
{
    char text[48], *end;
    if (s.n == 0 || s.n >= sizeof(text))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    out->created = strtoll(text, &end, 10);
    if (*end != '.' || end == text)
        return false;
    const char *rest = end + 1;
    out->seq = strtoll(rest, &end, 10);
    return *end == 0 && end != rest && out->seq > 0;
}

static const char *check_cursor(struct fumi_str s)
{
    struct cursor c;
    return read_cursor(s, &c) ? NULL : "must be a nextCursor as it was answered";
}

struct recent_rows {
    struct listing listing;
    const struct recent_params *params;
    struct fumi_str name_space;
    bool compact;
    struct budget budget;
    struct recent_item *items;
    size_t n;
    struct cursor last; /* of these items */
    bool more;          /* a further note exists */
    int64_t superseded; /* notes that were left out because they are superseded */
};

static size_t frame_size(void *arg, const struct found *f)
{
    (void)f;
    const struct recent_rows *r = arg;
    struct recent_result empty = {
        .name_space = r->name_space,
        .next = FUMI_STR("-9223372036854775808.9223372036854775807"), /* the longest cursor */
        .superseded = r->superseded,
    };
    return tokens_of_result(&recent_result_shape, &empty, r->compact);
}

static struct recent_item item_of(const struct recent_rows *r, const struct result *from)
{
    return (struct recent_item){from->note, r->name_space,
                                passage_of(r->listing.call->arena, from)};
}

static size_t item_size(void *arg, const struct result *from)
{
    const struct recent_rows *r = arg;
    struct recent_item item = item_of(r, from);
    return tokens_of_result(&item_shape, &item, r->compact);
}

/* The list ends before the first note that does not fit, so that the next page begins with it. */
static int recent_row(void *rows, void *row, size_t bytes, struct fumi_err *e)
{
    struct recent_rows *r = rows;
    struct note *n = row;
    struct result one = {.note = *n};
    bool limited = r->params->max_tokens;
    r->more = r->n == (size_t)r->params->limit;
    if (r->more)
        return ROW_END;
    show_note(r->listing.call, &one.note);
    if (limited && !r->n) /* its id may have to become short */
        one.short_id = memory_short_id(r->listing.call->self, r->listing.call->arena,
                                       ID_OF_NOTE | ID_OF_GLOBAL, n->id);
    if (limited && !budget_take(&r->budget, &one, FUMI_STR(""))) {
        r->more = true;
        return r->n ? ROW_END : budget_refuse(&r->budget, (size_t)r->params->max_tokens, e);
    }
    r->last = (struct cursor){n->created.ms, n->seq};
    bytes -= n->text.n - one.note.text.n;
    *n = one.note;
    r->items[r->n++] = item_of(r, &one);
    return listing_row(&r->listing, row, bytes, e);
}

/* Sets *f, and how many notes are superseded, which the size of the answer depends on. */
static int begin(struct recent_rows *r, struct filter *f, struct fumi_err *e)
{
    const struct recent_params *p = r->params;
    struct fumi_call *call = r->listing.call;
    struct filtered counts;
    *f = (struct filter){.group = p->group,
                         .tags = p->tags,
                         .any_tags = p->any_tags,
                         .since = p->since.set ? p->since.ms : INT64_MIN,
                         .until = p->until.set ? p->until.ms : INT64_MAX,
                         .superseded = p->superseded};
    if (project_canonical(call->arena, p->project, &f->project, e) ||
        store_count_notes(memory_store(call->self), f, &counts, e))
        return -1;
    r->superseded = counts.superseded;
    return 0;
}

static int list_rows(struct recent_rows *r, const struct filter *f, struct fumi_err *e)
{
    const struct recent_params *p = r->params;
    struct fumi_call *call = r->listing.call;
    struct cursor after = {0, 0};
    struct notes notes = {0};
    size_t limit = (size_t)p->limit;
    const struct loading to = {call->arena, recent_row, r};
    if (p->cursor.p)
        read_cursor(p->cursor, &after);
    if (limit && store_list_recent(memory_store(call->self), &to, f, after, limit + 1, &notes, e))
        return -1;
    for (size_t i = 0; i < r->n; i++)
        r->items[i].note = notes.items[i];
    return 0;
}

static enum fumi_ret list_recent(struct fumi_call *call, const void *params, void *result)
{
    const struct recent_params *p = params;
    struct recent_result *out = result;
    struct fumi_arena *a = call->arena;
    struct recent_rows rows = {
        .listing = {.call = call},
        .params = p,
        .name_space = memory_space(call->self, a),
        .compact = call->compact || p->max_tokens,
        .items = fumi_alloc(a, ((size_t)p->limit + 1) * sizeof(*rows.items))};
    const struct answer_size size = {frame_size, item_size, &rows};
    struct found none = {0};
    struct filter f;
    if (check_max_tokens(p->max_tokens, &call->err) || begin(&rows, &f, &call->err))
        return FUMI_FAIL;
    rows.budget = budget_begin(&size, (size_t)p->max_tokens, &none, false);
    if (list_rows(&rows, &f, &call->err))
        return FUMI_FAIL;
    *out = (struct recent_result){rows.name_space, {0}, {rows.items, rows.n}, rows.superseded};
    if (rows.more && rows.n)
        out->next = fumi_fmt(a, "%" PRId64 ".%" PRId64, rows.last.created, rows.last.seq);
    write_within(call, &recent_result_shape, out, (size_t)p->max_tokens);
    return FUMI_OK;
}

const struct fumi_method recent_methods[] = {
    {"list_recent", "Lists the newest notes of a project.", &recent_shape, &recent_result_shape,
     list_recent, READ},
};
const size_t recent_methods_n = FUMI_COUNT(recent_methods);
