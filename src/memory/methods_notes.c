#include "base/clock.h"
#include "memory/methods_parts.h"

#include <stdio.h>

static const struct fumi_field add_fields[] = {PROJECT_FIELD(struct note),
                                               NOTE_REQUIRED_FIELDS(struct note, )
                                                   NOTE_OPTIONAL_FIELDS(struct note, )};
static const struct fumi_shape add_shape = FUMI_SHAPE(struct note, add_fields);

#define PENDING_HELP                                                                               \
    "\"pending\": the note is found by keyword only until its vector is computed, because its "    \
    "text "                                                                                        \
    "is long or the provider fails. Otherwise the vector follows in a moment."

struct add_result {
    struct fumi_str id, name_space, project, embedding, warning;
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
};
static const struct fumi_shape added_shape = FUMI_SHAPE(struct add_result, added_fields);

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

static enum fumi_ret add_note(struct fumi_call *call, const void *params, void *result)
{
    struct note n = *(const struct note *)params;
    struct guard g = guard_of(call, NULL);
    struct written w;
    set_session(call, &n);
    if (check_metadata(n.metadata.text, "metadata", &call->err) || guard_note(&g, &n, &call->err) ||
        memory_add(call->self, call->arena, &n, time_for_embedding(call), &w, &call->err))
        return FUMI_FAIL;
    show_id(call, ID_TO_DELETE, &n.id);
    *(struct add_result *)result = (struct add_result){n.id, w.space, n.project, state_of(&w),
                                                       guard_warning(&g, w.warning)};
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
    int64_t left;
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
};
static const struct fumi_shape imported_shape = FUMI_SHAPE(struct import_result, imported_fields);

/* Checks all notes before the first one is stored. */
static int check_all(struct fumi_call *call, const struct import_params *p)
{
    const struct note *notes = p->notes.items;
    for (size_t i = 0; i < p->notes.n; i++) {
        char where[32], field[48];
        struct note n = notes[i];
        struct guard g = guard_of(call, where);
        snprintf(where, sizeof(where), "notes[%zu].", i);
        snprintf(field, sizeof(field), "%smetadata", where);
        if (check_metadata(n.metadata.text, field, &call->err) ||
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
    size_t n = batch_size(p, out->ids.n), guarded = 0, stored;
    struct note *notes = fumi_alloc(call->arena, n * sizeof(*notes));
    for (; guarded < n; guarded++) {
        notes[guarded] = given[guarded];
        notes[guarded].project = p->project;
        if (guard_note(g, &notes[guarded], &call->err))
            break;
    }
    int rc = memory_add_many(call->self, call->arena, notes, guarded, &stored, &call->err);
    for (size_t i = 0; i < stored; i++) {
        show_id(call, ID_TO_DELETE, &notes[i].id);
        out->ids.items[out->ids.n++] = notes[i].id;
    }
    out->project = stored ? notes[0].project : out->project;
    return rc || guarded < n ? -1 : 0;
}

/* Stores the notes batch by batch. Stored notes are kept; an error after the first stored note is
 * returned as a warning. */
static enum fumi_ret import(struct fumi_call *call, const void *params, void *result)
{
    const struct import_params *p = params;
    struct import_result *out = result;
    struct guard g = guard_of(call, "");
    if (check_all(call, p))
        return FUMI_FAIL;
    out->ids.items = fumi_alloc(call->arena, p->notes.n * sizeof(*out->ids.items));
    while (out->ids.n < p->notes.n && !fumi_cancelled(call) &&
           fumi_time_left(call) > IMPORT_LEAVE_MS) {
        if (import_batch(call, p, &g, out)) {
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
    show_note(call, &n);
    *(struct note_result *)result = (struct note_result){n, memory_space(call->self, call->arena)};
    return FUMI_OK;
}

struct note_patch {
    struct note to;
    uint64_t given, ignored; /* bits in the order of patch_fields */
};

static const struct fumi_field patch_fields[] = {NOTE_PATCH_FIELDS(struct note_patch, to.)};
static const struct fumi_shape patch_shape = FUMI_LENIENT_PATCH_SHAPE(struct note_patch,
                                                                      patch_fields);

struct update_note_params {
    struct fumi_str id;
    struct note_patch patch;
};

static const struct fumi_field update_fields[] = {
    FUMI_FIELD(struct update_note_params, id, "id", "Id or first 8+ characters.",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct update_note_params, patch, "patch", "Members to change; others stay.",
               .flags = FUMI_NULLABLE, .shape = &patch_shape),
};
static const struct fumi_shape update_shape = FUMI_SHAPE(struct update_note_params, update_fields);

struct update_result {
    bool ok;
    struct fumi_strs ignored;
    struct fumi_str embedding, warning;
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
};
static const struct fumi_shape updated_shape = FUMI_SHAPE(struct update_result, updated_fields);

/* The members that the patch sets, as enum note_bit: its fields are the columns that can be
 * updated, in their order. */
static unsigned members_of(uint64_t given)
{
    unsigned set = 0;
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        if (!(note_columns[i].flags & NOTE_UPDATABLE))
            continue;
        set |= given & 1 ? 1u << i : 0;
        given >>= 1;
    }
    return set;
}

static struct fumi_strs names_of(struct fumi_arena *a, uint64_t ignored)
{
    struct fumi_strs out = {fumi_alloc(a, sizeof(patch_fields)), 0};
    for (size_t i = 0; i < FUMI_COUNT(patch_fields); i++)
        if (ignored >> i & 1)
            out.items[out.n++] = fumi_str(patch_fields[i].name);
    return out;
}

static enum fumi_ret update(struct fumi_call *call, const void *params, void *result)
{
    const struct update_note_params *p = params;
    const struct note_patch *patch = &p->patch;
    struct note n = patch->to;
    struct fumi_str id = p->id;
    struct guard g = guard_of(call, "patch.");
    struct written w;
    if (check_metadata(n.metadata.text, "patch.metadata", &call->err) ||
        guard_note(&g, &n, &call->err) || find_id(call, ID_OF_NOTE, &id) ||
        memory_update(call->self, call->arena, id, &n, members_of(patch->given),
                      time_for_embedding(call), &w, &call->err))
        return FUMI_FAIL;
    *(struct update_result *)result = (struct update_result){
        true, names_of(call->arena, patch->ignored), state_of(&w), guard_warning(&g, w.warning)};
    return FUMI_OK;
}

static enum fumi_ret delete (struct fumi_call *call, const void *params, void *result) {
    struct store *store = memory_store(call->self);
    struct fumi_str id = ((const struct by_id *)params)->id;
    if (find_id(call, ID_TO_DELETE, &id) ||
        store_delete(store, call->arena, id, NULL, &call->err)) return FUMI_FAIL;
    ((struct done *)result)->ok = true;
    return FUMI_OK;
}

const struct fumi_method note_methods[] = {
    {"add_note",
     "Stores a note for later sessions. Write it short and self-contained; for a failure, include "
     "the cause and the fix.",
     &add_shape, &added_shape, add_note, WRITE},
    {"import",
     "Stores many notes of a project. They are found by keyword at once; their vectors are "
     "computed "
     "later. Reports progress if the client requests it.",
     &import_shape, &imported_shape, import, WRITE},
    {"get", "Reads one note by its id.", &by_id_shape, &note_result_shape, get, READ},
    {"update", "Changes the members of a note that the patch names.", &update_shape, &updated_shape,
     update, WRITE},
    {"delete", "Permanently deletes a note or a global.", &by_id_shape, &done_shape, delete, WRITE},
};
const size_t note_methods_n = FUMI_COUNT(note_methods);
