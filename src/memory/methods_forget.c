/* Erasing notes for good, and finding those that nobody uses. */
#include "base/utf8.h"
#include "memory/methods_write.h"

struct forget_params {
    struct fumi_strs ids;
    bool copies;
};

static const struct fumi_field forget_fields[] = {
    FUMI_FIELD(struct forget_params, ids, "ids",
               "Ids of notes, also of deleted ones. If one is unknown, nothing is erased. May be "
               "empty if copies is true.",
               .flags = FUMI_REQUIRED, .min = 0, .max = FORGET_MAX),
    FUMI_FIELD(struct forget_params, copies, "copies",
               "Also delete the copies of the database that migrations have made.",
               .flags = FUMI_NULLABLE, .def = "false"),
};
static const struct fumi_shape forget_shape = FUMI_SHAPE(struct forget_params, forget_fields);

struct forget_result {
    int64_t notes;
    struct fumi_strs removed, copies;
};
static const struct fumi_field forgotten_fields[] = {
    FUMI_FIELD(struct forget_result, notes, "notes",
               "Number of erased notes, also of those that were deleted before."),
    FUMI_FIELD(struct forget_result, removed, "removed", "Copies that were deleted.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct forget_result, copies, "copies",
               "Files that may still contain the notes: backups, copies before migrations."),
};
static const struct fumi_shape forgotten_shape = FUMI_SHAPE(struct forget_result, forgotten_fields);

static bool contains(struct fumi_strs all, struct fumi_str one)
{
    for (size_t i = 0; i < all.n; i++)
        if (fumi_eq(all.items[i], one))
            return true;
    return false;
}

static enum fumi_ret forget(struct fumi_call *call, const void *params, void *result)
{
    const struct forget_params *p = params;
    struct store *store = memory_store(call->self);
    const struct author by = author_of(call);
    struct fumi_str *ids = fumi_alloc(call->arena, (p->ids.n + 1) * sizeof(*ids));
    struct forget_query q = {.ids = {ids, p->ids.n}};
    struct forgotten f = {0};
    struct fumi_strs removed = {0};
    if (!p->ids.n && !p->copies)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "ids must have 1 to %d items", FORGET_MAX);
    for (size_t i = 0; i < p->ids.n; i++) {
        ids[i] = p->ids.items[i];
        if (find_id(call, ID_OF_HISTORY, &ids[i]))
            return FUMI_FAIL;
    }
    if (store_forget(store, call->arena, &q, &by, &f, &call->err) ||
        (p->copies && store_remove_copies(store, call->arena, &removed, &call->err)))
        return FUMI_FAIL;
    struct fumi_strs left = {fumi_alloc(call->arena, (f.copies.n + 1) * sizeof(*left.items)), 0};
    for (size_t i = 0; i < f.copies.n; i++)
        if (!contains(removed, f.copies.items[i]))
            left.items[left.n++] = f.copies.items[i];
    memory_wake(call->self); /* it erases what is left in the index and the cache */
    *(struct forget_result *)result = (struct forget_result){(int64_t)p->ids.n, removed, left};
    return FUMI_OK;
}

struct unused_params {
    struct fumi_str project;
    struct fumi_time since;
    int64_t limit;
};

static const struct fumi_field unused_fields[] = {
    PROJECT_FIELD(struct unused_params),
    FUMI_FIELD(struct unused_params, since, "since",
               "Notes that were created before this time and not used since then.",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct unused_params, limit, "limit", "Maximum number of notes.",
               .flags = FUMI_NULLABLE, .min = 1, .max = FORGET_MAX, .def = "100"),
};
static const struct fumi_shape unused_shape = FUMI_SHAPE(struct unused_params, unused_fields);

struct unused_item {
    struct fumi_str id, text;
    struct fumi_time created, last;
    int64_t uses;
};
static const struct fumi_field unused_item_fields[] = {
    FUMI_FIELD(struct unused_item, id, "id", "Id of the note."),
    FUMI_FIELD(struct unused_item, text, "text", "The beginning of its text."),
    FUMI_FIELD(struct unused_item, created, "createdAt", "Time of creation, UTC."),
    FUMI_FIELD(struct unused_item, last, "usedAt", "Time of the last use, UTC.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct unused_item, uses, "uses", "Number of uses."),
};
static const struct fumi_shape unused_item_shape = FUMI_SHAPE(struct unused_item,
                                                              unused_item_fields);

struct unused_result {
    struct fumi_list items;
};
static const struct fumi_field unused_result_fields[] = {
    FUMI_FIELD(struct unused_result, items, "items", "The notes; the longest unused ones first.",
               .shape = &unused_item_shape),
};
static const struct fumi_shape unused_result_shape = FUMI_SHAPE(struct unused_result,
                                                                unused_result_fields);

enum { BEGINNING = 120 }; /* bytes of a text */

/* For struct loading: keeps the beginning of the text only. */
static int cut(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)arg, (void)bytes, (void)e;
    struct note *n = row;
    struct fumi_str text = fumi_utf8_cut(n->text, n->text.n < BEGINNING ? n->text.n : BEGINNING);
    *n = (struct note){.seq = n->seq, .id = n->id, .text = text};
    return ROW_KEEP;
}

static struct fumi_str text_at(const struct notes *all, int64_t seq)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].seq == seq)
            return all->items[i].text;
    return FUMI_STR("");
}

static enum fumi_ret unused(struct fumi_call *call, const void *params, void *result)
{
    const struct unused_params *p = params;
    struct store *store = memory_store(call->self);
    const struct loading to = {call->arena, cut, NULL};
    struct fumi_str project;
    struct note_uses all = {0};
    struct notes notes = {0};
    if (project_canonical(call->arena, p->project, &project, &call->err) ||
        store_list_unused(store, call->arena, project, p->since.ms, (size_t)p->limit, &all,
                          &call->err))
        return FUMI_FAIL;
    int64_t *seqs = fumi_alloc(call->arena, (all.n + 1) * sizeof(*seqs));
    for (size_t i = 0; i < all.n; i++)
        seqs[i] = all.items[i].seq;
    if (all.n && store_load_notes(store, &to, seqs, all.n, &notes, &call->err))
        return FUMI_FAIL;
    struct unused_item *items = fumi_alloc(call->arena, (all.n + 1) * sizeof(*items));
    for (size_t i = 0; i < all.n; i++) {
        const struct note_use *u = &all.items[i];
        items[i] = (struct unused_item){
            u->id, text_at(&notes, u->seq), {u->created, true}, {u->last, u->last != 0}, u->n};
        show_id(call, ID_TO_DELETE, &items[i].id);
    }
    ((struct unused_result *)result)->items = (struct fumi_list){items, all.n};
    return FUMI_OK;
}

const struct fumi_method forget_methods[] = {
    {"forget",
     "Erases notes for good: text, words, vectors and history. This cannot be undone. The result "
     "names the copies that were not cleaned.",
     &forget_shape, &forgotten_shape, forget, WRITE_BY_PEOPLE},
    {"unused", "Lists the notes of a project that no agent has used since a time.", &unused_shape,
     &unused_result_shape, unused, READ_BY_PEOPLE},
};
const size_t forget_methods_n = FUMI_COUNT(forget_methods);
