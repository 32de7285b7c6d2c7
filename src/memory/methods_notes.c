#include "base/clock.h"
#include "base/uuid.h"
#include "memory/methods_write.h"
#include "memory/uses.h"

#include <stdio.h>

#define SUPERSEDES(T, more)                                                                        \
    FUMI_FIELD(T, supersedes, "supersedes", "Ids of notes it replaces.",                           \
               .flags = FUMI_NULLABLE | (more), .max = SUPERSEDES_MAX)

static const struct fumi_field add_fields[] = {
    PROJECT_FIELD(struct add_params),
    NOTE_REQUIRED_FIELDS(struct add_params, note.) NOTE_OPTIONAL_FIELDS(struct add_params, note.)
        SUPERSEDES(struct add_params, 0),
    FUMI_FIELD(struct add_params, allow_duplicate, "allowDuplicate",
               "Store the note even if another one says the same.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .def = "false"),
};
const struct fumi_shape add_params_shape = FUMI_SHAPE(struct add_params, add_fields);

static const struct fumi_field similar_fields[] = {
    FUMI_FIELD(struct similar_item, id, "id", "Id of the note."),
    FUMI_FIELD(struct similar_item, relevance, "relevance", "How similar, 0 to 1."),
    FUMI_FIELD(struct similar_item, text, "text", "The first line of its text."),
};
const struct fumi_shape similar_shape = FUMI_SHAPE(struct similar_item, similar_fields);

#define PENDING_HELP                                                                               \
    "\"pending\": the note is found by keyword only until its vector is computed, because its "    \
    "text "                                                                                        \
    "is long or the provider fails. Otherwise the vector follows in a moment."

struct add_result {
    struct fumi_str id, name_space, project, embedding, warning;
    bool duplicate;
    struct fumi_strs superseded;
    struct fumi_list similar;
    int64_t change;
};

static const struct fumi_field added_fields[] = {
    FUMI_FIELD(struct add_result, id, "id", "The id of the note."),
    FUMI_FIELD(struct add_result, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct add_result, project, "canonicalProjectId", "The project's canonical form."),
    FUMI_FIELD(struct add_result, embedding, "embedding", PENDING_HELP,
               .flags = FUMI_OMIT | FUMI_DETAIL),
    FUMI_FIELD(struct add_result, warning, "warning", "A problem that did not prevent the write.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct add_result, duplicate, "duplicate",
               "A note that says the same exists: it has this id, and got the new tags.",
               .flags = FUMI_OMIT),
    WRITTEN_FIELDS(struct add_result),
};
static const struct fumi_shape added_shape = FUMI_SHAPE(struct add_result, added_fields);

struct fumi_list similar_of(struct fumi_call *call, const struct similar_notes *s)
{
    struct similar_item *items = fumi_alloc(call->arena, (s->n + 1) * sizeof(*items));
    for (size_t i = 0; i < s->n; i++) {
        items[i] = (struct similar_item){s->items[i].id, s->items[i].relevance, s->items[i].text};
        show_id(call, ID_TO_DELETE, &items[i].id);
    }
    return (struct fumi_list){items, s->n};
}

struct fumi_strs show_ids(struct fumi_call *call, unsigned kinds, struct fumi_strs ids)
{
    struct fumi_str *shown = fumi_alloc(call->arena, (ids.n + 1) * sizeof(*shown));
    for (size_t i = 0; i < ids.n; i++) {
        shown[i] = ids.items[i];
        show_id(call, kinds, &shown[i]);
    }
    return (struct fumi_strs){shown, ids.n};
}

/* The ids of notes that short ids in the params stand for. */
static int find_ids(struct fumi_call *call, struct fumi_strs given, struct fumi_strs *out)
{
    *out = (struct fumi_strs){fumi_alloc(call->arena, (given.n + 1) * sizeof(*out->items)),
                              given.n};
    for (size_t i = 0; i < given.n; i++) {
        out->items[i] = given.items[i];
        if (find_id(call, ID_OF_NOTE, &out->items[i]))
            return -1;
    }
    return 0;
}

static struct fumi_str state_of(const struct written *w)
{
    return w->pending ? FUMI_STR("pending") : (struct fumi_str){0};
}

enum { STREAK_MS = 15 * 60 * 1000 };

/* Notes that explain each other: those of one conversation or, without one, those that a connection
 * stores with at most STREAK_MS between them, by the clock of the server. */
static void set_session(struct fumi_call *call, struct note *n)
{
    if (!n->session.p)
        n->session = call->conversation;
    if (!n->session.p)
        n->writer = fumi_peer_streak(call->peer, fumi_now(), STREAK_MS);
}

/* What has expired is found by nobody, so a time in the past is a mistake. */
static int check_note(const struct note *n, const char *where, struct fumi_err *e)
{
    char metadata[64];
    snprintf(metadata, sizeof(metadata), "%smetadata", where);
    if (n->expires.set && n->expires.ms <= fumi_now())
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "%sexpiresAt is in the past: use a later time, or leave it out", where);
    return check_metadata(n->metadata.text, metadata, e);
}

int add_bound(struct fumi_call *call, const struct add_params *p, struct fumi_str id,
              const struct author *by, struct note_written *out)
{
    struct note n = p->note;
    struct guard g = guard_of(call, NULL);
    n.id = id;
    n.project = p->project;
    *out = (struct note_written){
        .written.change = {.by = by, .allow_duplicate = p->allow_duplicate}};
    out->written.similar = &out->similar;
    if (check_note(&n, "", &call->err) || guard_note(&g, &n, &call->err) ||
        find_ids(call, p->supersedes, &out->written.change.supersedes) ||
        memory_add(call->self, call->arena, &n, time_for_embedding(call), &out->written,
                   &call->err))
        return -1;
    out->id = n.id;
    out->project = n.project;
    out->warning = guard_warning(&g, out->written.warning);
    return 0;
}

/* Of what a note that waits for review supersedes: whole ids, of notes that exist. */
static int find_existing(struct fumi_call *call, struct fumi_strs *ids)
{
    struct note n;
    if (find_ids(call, *ids, ids))
        return -1;
    for (size_t i = 0; i < ids->n; i++)
        if (store_get_note(memory_store(call->self), call->arena, ids->items[i], &n, &call->err))
            return call->err.code != ERR_NOT_FOUND
                       ? -1
                       : fumi_err_set(&call->err, ERR_NOT_FOUND,
                                      "supersedes: there is no note with the id %.*s",
                                      FUMI_ARG(ids->items[i]));
    return 0;
}

/* Puts a note aside for review. The note will have the id that the result shows. */
static int add_later(struct fumi_call *call, const struct add_params *given,
                     struct add_result *result)
{
    struct add_params p = *given;
    struct guard g = guard_of(call, NULL);
    char *id = fumi_alloc(call->arena, FUMI_UUID_SIZE);
    fumi_uuid(id);
    *result = (struct add_result){.id = {id, FUMI_UUID_SIZE}};
    if (check_note(&p.note, "", &call->err) || guard_note(&g, &p.note, &call->err) ||
        project_writable(call->arena, p.project, &p.project, &call->err) ||
        find_existing(call, &p.supersedes) ||
        put_aside(call, CHANGE_ADD, p.project, result->id, &add_params_shape, &p))
        return -1;
    result->project = p.project;
    result->name_space = memory_space(call->self, call->arena);
    result->warning = guard_warning(&g, review_warning);
    return 0;
}

static enum fumi_ret add_note(struct fumi_call *call, const void *params, void *result)
{
    struct add_params p = *(const struct add_params *)params;
    const struct author by = author_of(call);
    struct note_written w;
    set_session(call, &p.note);
    int later = waits_for_review(call, p.project);
    if (later)
        return later < 0 || add_later(call, &p, result) ? FUMI_FAIL : FUMI_OK;
    if (add_bound(call, &p, (struct fumi_str){0}, &by, &w))
        return FUMI_FAIL;
    const struct note_change *change = &w.written.change;
    show_id(call, ID_TO_DELETE, &w.id);
    *(struct add_result *)result = (struct add_result){
        .id = w.id,
        .name_space = w.written.space,
        .project = w.project,
        .embedding = state_of(&w.written),
        .warning = w.warning,
        .duplicate = change->duplicate,
        .superseded = show_ids(call, ID_TO_DELETE, change->superseded),
        .similar = similar_of(call, &w.similar),
        .change = change->change};
    return FUMI_OK;
}

/* --- Many at once. --- */

enum {
    IMPORT_LEAVE_MS = 2000, /* no further notes are stored if less time is left */
    IMPORT_BATCH = 256,     /* notes that are stored with one sync, at most */
    IMPORT_BYTES = 1 << 18, /* a batch ends at this size of its texts */
};

struct import_params {
    struct fumi_str project;
    struct fumi_list notes;
};

static const struct fumi_field import_note_fields[] = {NOTE_REQUIRED_FIELDS(struct note, )
                                                           NOTE_OPTIONAL_FIELDS(struct note, )};
static const struct fumi_shape import_note_shape = FUMI_SHAPE(struct note, import_note_fields);
static const struct fumi_field import_fields[] = {
    PROJECT_FIELD(struct import_params),
    FUMI_FIELD(struct import_params, notes, "notes", "The notes, as memory.add_note takes them.",
               .flags = FUMI_REQUIRED, .min = 1, .max = IMPORT_MAX, .shape = &import_note_shape),
};
static const struct fumi_shape import_shape = FUMI_SHAPE(struct import_params, import_fields);

struct import_result {
    struct fumi_str project, warning;
    struct fumi_strs ids;
    int64_t left, skipped;
};

static const struct fumi_field imported_fields[] = {
    FUMI_FIELD(struct import_result, project, "canonicalProjectId",
               "The project's canonical form."),
    FUMI_FIELD(struct import_result, ids, "ids", "Ids of the stored notes, in the order given."),
    FUMI_FIELD(struct import_result, left, "left",
               "Number of notes that were not stored: the last ones of the list. Send these again.",
               .flags = FUMI_SPARSE),
    FUMI_FIELD(struct import_result, warning, "warning",
               "A problem that did not prevent the write.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct import_result, skipped, "skipped",
               "Number of notes that were there before; ids has their ids.", .flags = FUMI_OMIT),
};
static const struct fumi_shape imported_shape = FUMI_SHAPE(struct import_result, imported_fields);

/* Checks all notes before the first one is stored. */
static int check_all(struct fumi_call *call, const struct import_params *p)
{
    const struct note *notes = p->notes.items;
    for (size_t i = 0; i < p->notes.n; i++) {
        char where[32];
        struct note n = notes[i];
        struct guard g = guard_of(call, where);
        snprintf(where, sizeof(where), "notes[%zu].", i);
        if (check_note(&n, where, &call->err) ||
            (g.mode == SECRETS_REFUSE && guard_note(&g, &n, &call->err)))
            return -1;
    }
    return 0;
}

static size_t batch_size(const struct import_params *p, size_t from)
{
    const struct note *notes = p->notes.items;
    size_t n = 0;
    for (size_t bytes = 0; n < IMPORT_BATCH && from + n < p->notes.n && bytes < IMPORT_BYTES; n++)
        bytes += notes[from + n].text.n;
    return n;
}

/* Stores the next notes and adds their ids to the result. */
static int import_batch(struct fumi_call *call, const struct import_params *p, struct guard *g,
                        struct import_result *out)
{
    const struct note *given = (const struct note *)p->notes.items + out->ids.n;
    const struct author by = author_of(call);
    struct many_written w = {.by = &by};
    size_t n = batch_size(p, out->ids.n), guarded = 0;
    struct note *notes = fumi_alloc(call->arena, n * sizeof(*notes));
    for (; guarded < n; guarded++) {
        notes[guarded] = given[guarded];
        notes[guarded].project = p->project;
        if (guard_note(g, &notes[guarded], &call->err))
            break;
    }
    int rc = memory_add_many(call->self, call->arena, notes, guarded, &w, &call->err);
    for (size_t i = 0; i < w.stored; i++) {
        show_id(call, ID_TO_DELETE, &notes[i].id);
        out->ids.items[out->ids.n++] = notes[i].id;
    }
    out->project = w.stored ? notes[0].project : out->project;
    out->skipped += (int64_t)w.skipped;
    return rc || guarded < n ? -1 : 0;
}

/* Puts the next note aside for review. */
static int import_later(struct fumi_call *call, const struct import_params *p,
                        struct import_result *out)
{
    const struct add_params one = {.project = p->project,
                                   .note = ((const struct note *)p->notes.items)[out->ids.n]};
    struct add_result done;
    if (add_later(call, &one, &done))
        return -1;
    out->ids.items[out->ids.n++] = done.id;
    out->project = done.project;
    out->warning = done.warning;
    return 0;
}

/* Stores the notes batch by batch. Stored notes are kept; an error after the first stored note is
 * returned as a warning. */
static enum fumi_ret import(struct fumi_call *call, const void *params, void *result)
{
    const struct import_params *p = params;
    struct import_result *out = result;
    struct guard g = guard_of(call, "");
    int later = check_all(call, p) ? -1 : waits_for_review(call, p->project);
    if (later < 0)
        return FUMI_FAIL;
    out->ids.items = fumi_alloc(call->arena, p->notes.n * sizeof(*out->ids.items));
    while (out->ids.n < p->notes.n && !fumi_cancelled(call) &&
           fumi_time_left(call) > IMPORT_LEAVE_MS) {
        if (later ? import_later(call, p, out) : import_batch(call, p, &g, out)) {
            if (!out->ids.n)
                return FUMI_FAIL;
            out->warning = fumi_dup(call->arena, fumi_str(call->err.text));
            break;
        }
        fumi_progress(call, (double)out->ids.n, (double)p->notes.n, FUMI_STR("notes stored"));
    }
    out->left = (int64_t)(p->notes.n - out->ids.n);
    out->warning = guard_warning(&g, out->warning);
    return FUMI_OK;
}

static enum fumi_ret get(struct fumi_call *call, const void *params, void *result)
{
    struct store *store = memory_store(call->self);
    struct fumi_str id = ((const struct by_id *)params)->id;
    struct note n;
    if (find_id(call, ID_OF_NOTE, &id) || store_get_note(store, call->arena, id, &n, &call->err))
        return FUMI_FAIL;
    memory_count_uses(call->self, &n.seq, 1);
    show_note(call, &n);
    *(struct note_result *)result = (struct note_result){n, memory_space(call->self, call->arena)};
    return FUMI_OK;
}

/* The columns that can be updated, in their order, and then the project. */
static const struct fumi_field patch_fields[] = {
    NOTE_PATCH_FIELDS(struct note_patch, to.) FUMI_FIELD(
        struct note_patch, to.project, "projectId", "Moves the note to this project.",
        .flags = FUMI_NULL_KEEPS | FUMI_DETAIL | FUMI_NESTED, .min = 1, .max = PROJECT_MAX),
};
static const struct fumi_shape patch_shape = FUMI_LENIENT_PATCH_SHAPE(struct note_patch,
                                                                      patch_fields);

static const struct fumi_field update_fields[] = {
    FUMI_FIELD(struct update_params, id, "id", "Id or first 8+ characters.",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct update_params, patch, "patch", "Members to change; others stay.",
               .flags = FUMI_NULLABLE | FUMI_FLAT, .shape = &patch_shape),
    SUPERSEDES(struct update_params, FUMI_DETAIL),
};
const struct fumi_shape update_params_shape = FUMI_SHAPE(struct update_params, update_fields);

struct update_result {
    bool ok;
    struct fumi_strs ignored;
    struct fumi_str embedding, warning;
    struct fumi_strs superseded;
    struct fumi_list similar;
    int64_t change;
};

static const struct fumi_field updated_fields[] = {
    FUMI_FIELD(struct update_result, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct update_result, ignored, "ignored",
               "Members of the patch that have the wrong type and changed nothing.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct update_result, embedding, "embedding", PENDING_HELP,
               .flags = FUMI_OMIT | FUMI_DETAIL),
    FUMI_FIELD(struct update_result, warning, "warning",
               "A problem that did not prevent the write.", .flags = FUMI_OMIT),
    WRITTEN_FIELDS(struct update_result),
};
static const struct fumi_shape updated_shape = FUMI_SHAPE(struct update_result, updated_fields);

/* The members that the patch sets, as enum note_bit. */
static unsigned members_of(uint64_t given)
{
    unsigned set = 0;
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        if (!(note_columns[i].flags & NOTE_UPDATABLE))
            continue;
        set |= given & 1 ? 1u << i : 0;
        given >>= 1;
    }
    return given & 1 ? set | NOTE_PROJECT : set;
}

void patch_text(struct note_patch *p, struct fumi_str text)
{
    unsigned bit = 0;
    for (size_t i = 0; i < NOTE_INDEX_TEXT; i++)
        bit += (note_columns[i].flags & NOTE_UPDATABLE) != 0;
    p->to.text = text;
    p->given |= UINT64_C(1) << bit;
}

static struct fumi_strs names_of(struct fumi_arena *a, uint64_t ignored)
{
    struct fumi_strs out = {fumi_alloc(a, sizeof(patch_fields)), 0};
    for (size_t i = 0; i < FUMI_COUNT(patch_fields); i++)
        if (ignored >> i & 1)
            out.items[out.n++] = fumi_str(patch_fields[i].name);
    return out;
}

int update_bound(struct fumi_call *call, const struct update_params *p, const struct author *by,
                 struct note_written *out)
{
    struct note n = p->patch.to;
    struct guard g = guard_of(call, "patch.");
    *out = (struct note_written){.id = p->id, .written.change = {.by = by}};
    out->written.similar = &out->similar;
    if (check_note(&n, "patch.", &call->err) || guard_note(&g, &n, &call->err) ||
        find_id(call, ID_OF_NOTE, &out->id) ||
        find_ids(call, p->supersedes, &out->written.change.supersedes) ||
        memory_update(call->self, call->arena, out->id, &n, members_of(p->patch.given),
                      time_for_embedding(call), &out->written, &call->err))
        return -1;
    out->warning = guard_warning(&g, out->written.warning);
    return 0;
}

/* Whether the change waits for review: of the project of the note, or of the one that the note is
 * moved to. Sets *project to the former. */
static int update_waits(struct fumi_call *call, const struct update_params *p,
                        struct fumi_str *project)
{
    struct fumi_str id = p->id, to = p->patch.to.project;
    struct note n;
    if (!call->compact)
        return 0;
    if (find_id(call, ID_OF_NOTE, &id) ||
        store_get_note(memory_store(call->self), call->arena, id, &n, &call->err))
        return -1;
    *project = n.project;
    int waits = waits_for_review(call, n.project);
    return waits || !to.p ? waits : waits_for_review(call, to);
}

static int update_later(struct fumi_call *call, const struct update_params *given,
                        struct fumi_str project, struct update_result *result)
{
    struct update_params p = *given;
    struct guard g = guard_of(call, "patch.");
    if (check_note(&p.patch.to, "patch.", &call->err) || guard_note(&g, &p.patch.to, &call->err) ||
        find_id(call, ID_OF_NOTE, &p.id) || find_existing(call, &p.supersedes) ||
        put_aside(call, CHANGE_UPDATE, project, p.id, &update_params_shape, &p))
        return -1;
    *result = (struct update_result){.ok = true,
                                     .ignored = names_of(call->arena, p.patch.ignored),
                                     .warning = guard_warning(&g, review_warning)};
    return 0;
}

/* memory.update has always accepted an empty patch; from a model it is a mistake. */
static bool is_empty(const struct update_params *p)
{
    return !p->patch.given && !p->patch.ignored && !p->supersedes.n;
}

static enum fumi_ret update(struct fumi_call *call, const void *params, void *result)
{
    const struct update_params *p = params;
    const struct author by = author_of(call);
    struct note_written w;
    struct fumi_str project;
    int later = update_waits(call, p, &project);
    if (later < 0)
        return FUMI_FAIL;
    if (call->compact && is_empty(p))
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "patch is empty: name the members to change, such as text or tags");
    if (later)
        return update_later(call, p, project, result) ? FUMI_FAIL : FUMI_OK;
    if (update_bound(call, p, &by, &w))
        return FUMI_FAIL;
    *(struct update_result *)result = (struct update_result){
        .ok = true,
        .ignored = names_of(call->arena, p->patch.ignored),
        .embedding = state_of(&w.written),
        .warning = w.warning,
        .superseded = show_ids(call, ID_TO_DELETE, w.written.change.superseded),
        .similar = similar_of(call, &w.similar),
        .change = w.written.change.change};
    return FUMI_OK;
}

struct delete_result {
    bool ok;
    int64_t change;
};
static const struct fumi_field deleted_fields[] = {
    FUMI_FIELD(struct delete_result, ok, "ok", "Always true: failures are errors."),
    FUMI_FIELD(struct delete_result, change, "change", "Number of the change, for memory.undo.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape deleted_shape = FUMI_SHAPE(struct delete_result, deleted_fields);

static enum fumi_ret delete (struct fumi_call *call, const void *params, void *result) {
    struct store *store = memory_store(call->self);
    struct fumi_str id = ((const struct by_id *)params)->id;
    const struct author by = author_of(call);
    struct note_change change = {.by = &by};
    if (find_id(call, ID_TO_DELETE, &id) || keeps_review(call, id) ||
        store_delete(store, call->arena, id, &change, &call->err)) return FUMI_FAIL;
    *(struct delete_result *)result = (struct delete_result){true, change.change};
    return FUMI_OK;
}

const struct fumi_method note_methods[] = {
    {"add_note",
     "Stores a note for later sessions. Write it short and self-contained; for a failure, include "
     "the cause and the fix.",
     &add_params_shape, &added_shape, add_note, WRITE},
    {"import",
     "Stores many notes of a project. They are found by keyword at once; their vectors are "
     "computed "
     "later. Reports progress if the client requests it.",
     &import_shape, &imported_shape, import, WRITE},
    {"get", "Reads one note by its id.", &by_id_shape, &note_result_shape, get, READ},
    {"update", "Changes the members of a note that the patch names.", &update_params_shape,
     &updated_shape, update, WRITE},
    {"delete",
     "Deletes a note or a global. memory.undo puts it back; memory.forget erases it for good.",
     &by_id_shape, &deleted_shape, delete, WRITE},
};
const size_t note_methods_n = FUMI_COUNT(note_methods);
