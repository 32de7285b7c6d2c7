#include "memory/methods.h"

#include "base/utf8.h"
#include "memory/memory_parts.h"
#include "memory/methods_parts.h"
#include "model/tokens.h"

#include <assert.h>

enum { EMBED_MS = 30000 };

static const struct fumi_field done_fields[] = {
    FUMI_FIELD(struct done, ok, "ok", "Always true: failures are errors."),
};
const struct fumi_shape done_shape = FUMI_SHAPE(struct done, done_fields);

static const struct fumi_field by_id_fields[] = {
    FUMI_FIELD(struct by_id, id, "id", "Id or first 8+ characters.", .flags = FUMI_REQUIRED),
};
const struct fumi_shape by_id_shape = FUMI_SHAPE(struct by_id, by_id_fields);

#define NAMESPACE_FIELD                                                                            \
    FUMI_FIELD(struct note_result, name_space, "namespace",                                        \
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL)
static const struct fumi_field note_result_fields[] = {NOTE_RESULT_FIELDS(struct note_result, note.)
                                                           NAMESPACE_FIELD};
const struct fumi_shape note_result_shape = FUMI_SHAPE(struct note_result, note_result_fields);

const char *check_description(struct fumi_str s)
{
    return s.n > NOTE_SOURCE_MAX ? "must have at most 4096 bytes" : NULL;
}

const char *check_tag_filter(struct fumi_str s)
{
    return s.n > NOTE_TAG_MAX ? "must have at most 128 bytes" : NULL;
}

const char *check_query(struct fumi_str s)
{
    return s.n > QUERY_MAX ? "must have at most 8192 bytes" : NULL;
}

/* Returns the nesting depth of a text that is valid JSON: counts the brackets outside strings. */
static size_t depth_of(struct fumi_str json)
{
    size_t depth = 0, most = 0;
    bool inside = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (inside && c == '\\')
            i++;
        else if (c == '"')
            inside = !inside;
        else if (!inside && (c == '{' || c == '['))
            most = ++depth > most ? depth : most;
        else if (!inside && (c == '}' || c == ']'))
            depth--;
    }
    return most;
}

int check_metadata(struct fumi_str json, const char *field, struct fumi_err *e)
{
    if (json.n > NOTE_METADATA_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s must have at most %d bytes", field,
                            NOTE_METADATA_MAX);
    if (depth_of(json) > NOTE_METADATA_DEPTH)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s must be nested at most %d deep", field,
                            NOTE_METADATA_DEPTH);
    return 0;
}

int64_t time_for_embedding(const struct fumi_call *call)
{
    int64_t left = fumi_time_left(call) / 4 * 3; /* the rest is for storing the result */
    return left < EMBED_MS ? left : EMBED_MS;
}

enum { CLIENT_MAX = 128 }; /* bytes */

static struct fumi_str claimed(struct fumi_arena *a, struct fumi_str s)
{
    s = fumi_utf8_cut(s, s.n < CLIENT_MAX ? s.n : CLIENT_MAX);
    return s.n ? note_line(a, s) : (struct fumi_str){0};
}

struct author memory_author_of(struct memory *m, const struct fumi_call *call)
{
    struct author by = *memory_author(m);
    if (!by.client.p)
        by = (struct author){.client = call->client.n ? claimed(call->arena, call->client)
                                                      : watch_client(&m->watch, call),
                             .version = claimed(call->arena, call->client_version),
                             .transport = fumi_str(call->peer->transport),
                             .user = call->peer->user};
    if (call->conversation.p)
        by.session = call->conversation;
    return by;
}

struct author author_of(const struct fumi_call *call)
{
    return memory_author_of(call->self, call);
}

struct guard guard_of(const struct fumi_call *call, const char *where)
{
    return (struct guard){.a = call->arena, .mode = memory_secrets(call->self), .where = where};
}

/* Digests show "id 3f2a77c1", and models copy that. */
static struct fumi_str bare_id(struct fumi_str id)
{
    if (fumi_starts(id, FUMI_STR("id:")) || fumi_starts(id, FUMI_STR("id ")))
        id.p += 3, id.n -= 3;
    while (id.n && *id.p == ' ')
        id.p++, id.n--;
    return id;
}

int find_id(struct fumi_call *call, unsigned kinds, struct fumi_str *id)
{
    if (call->compact)
        *id = bare_id(*id);
    return memory_find_id(call->self, call->arena, kinds, *id, id, &call->err);
}

bool shows_short_ids(const struct fumi_call *call)
{
    return call->compact || memory_shows_short_ids(call->self);
}

void show_id(struct fumi_call *call, unsigned kinds, struct fumi_str *id)
{
    if (id->p && shows_short_ids(call))
        *id = memory_short_id(call->self, call->arena, kinds, *id);
}

void omit_global_group(struct note *n)
{
    if (fumi_eq(n->group, FUMI_STR("global")))
        n->group = (struct fumi_str){0};
}

void show_note(struct fumi_call *call, struct note *n)
{
    show_id(call, ID_TO_DELETE, &n->id);
    show_id(call, ID_TO_DELETE, &n->superseded_by);
    if (call->compact)
        omit_global_group(n);
}

int check_max_tokens(int64_t n, struct fumi_err *e)
{
    if (!n || n >= TOKENS_LEAST)
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "maxTokens must be 0 (no limit) or at least %d",
                        TOKENS_LEAST);
}

static void emit(struct fumi_buf *b, const struct fumi_shape *s, const void *from, bool compact)
{
    struct fumi_out out = {b, false};
    (compact ? fumi_emit_compact : fumi_emit)(&out, s, from);
}

size_t tokens_of_result(const struct fumi_shape *s, const void *from, bool compact)
{
    struct fumi_buf b = {0};
    emit(&b, s, from, compact);
    size_t n = tokens_of(fumi_buf_str(&b));
    fumi_buf_done(&b);
    return n;
}

void write_within(struct fumi_call *call, const struct fumi_shape *s, const void *result,
                  size_t max_tokens)
{
    if (!max_tokens)
        return;
    struct fumi_buf b = {0};
    emit(&b, s, result, true);
    assert(tokens_of(fumi_buf_str(&b)) <= max_tokens);
    fumi_put_json(fumi_result(call), (struct fumi_json){fumi_buf_str(&b)});
    fumi_buf_done(&b);
}

struct fumi_json text_of(struct fumi_arena *a, const struct fumi_shape *s, const void *from)
{
    struct fumi_buf b = {0};
    emit(&b, s, from, false);
    return (struct fumi_json){fumi_buf_keep(&b, a)};
}

static const struct fumi_field passage_fields[] = {
    FUMI_FIELD(struct passage_at, begin, "begin",
               "Offset of the first byte in the text of the note."),
    FUMI_FIELD(struct passage_at, end, "end", "Offset after the last byte."),
};
const struct fumi_shape passage_shape = FUMI_SHAPE(struct passage_at, passage_fields);

struct fumi_json passage_of(struct fumi_arena *a, const struct result *r)
{
    const struct passage_at at = {r->text_begin, r->text_end};
    return r->part ? text_of(a, &passage_shape, &at) : (struct fumi_json){{0}};
}

int listing_row(void *listing, void *row, size_t bytes, struct fumi_err *e)
{
    (void)row;
    struct listing *l = listing;
    l->bytes += bytes;
    if (fumi_cancelled(l->call))
        return fumi_err_set(e, FUMI_LIMIT, "The call was cancelled");
    return l->bytes > fumi_room(l->call) ? fumi_too_large(l->call, e) : ROW_KEEP;
}

/* The handler of all methods that write, in a read-only memory. Always fails. */
static enum fumi_ret refuse_write(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    scope_writes(memory_scope(call->self), &call->err);
    return FUMI_FAIL;
}

/* Returns `methods`; for a read-only memory, a copy in which every method without FUMI_READ_ONLY
 * fails at once: before a text is embedded, and even if the method would not change the store. */
static const struct fumi_method *permitted(struct memory *m, const struct fumi_method *methods,
                                           size_t n)
{
    if (!m || !memory_scope(m)->read_only)
        return methods;
    struct fumi_method *own = fumi_alloc(memory_arena(m), n * sizeof(*own));
    memcpy(own, methods, n * sizeof(*own));
    for (size_t i = 0; i < n; i++)
        if (!(own[i].flags & FUMI_READ_ONLY))
            own[i].run = refuse_write;
    return own;
}

static const struct {
    const struct fumi_method *methods;
    const size_t *n;
} tables[] = {
    {note_methods, &note_methods_n},         {search_methods, &search_methods_n},
    {setting_methods, &setting_methods_n},   {global_methods, &global_methods_n},
    {group_methods, &group_methods_n},       {recent_methods, &recent_methods_n},
    {history_methods, &history_methods_n},   {forget_methods, &forget_methods_n},
    {review_methods, &review_methods_n},     {project_methods, &project_methods_n},
    {overview_methods, &overview_methods_n}, {watch_methods, &watch_methods_n},
};

const struct fumi_method *memory_method(const char *name)
{
    struct fumi_str rest = fumi_str(name), prefix = FUMI_STR("memory.");
    if (!fumi_starts(rest, prefix))
        return NULL;
    rest = (struct fumi_str){rest.p + prefix.n, rest.n - prefix.n};
    for (size_t i = 0; i < FUMI_COUNT(tables); i++)
        for (size_t k = 0; k < *tables[i].n; k++)
            if (fumi_eq(rest, fumi_str(tables[i].methods[k].name)))
                return &tables[i].methods[k];
    return NULL;
}

int memory_methods(struct fumi_server *s, struct memory *m, struct fumi_err *e)
{
    for (size_t i = 0; i < FUMI_COUNT(tables); i++) {
        size_t n = *tables[i].n;
        if (fumi_server_add(s, "memory", permitted(m, tables[i].methods, n), n, m, e))
            return -1;
    }
    return 0;
}
