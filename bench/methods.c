/* The methods of the mixed traffic. They resemble the methods of the memory but do almost
 * nothing, so that the benchmark measures dispatch, parameter binding and result writing. */
#include "fumi.h"
#include "mixed.h"

#include <stdio.h>
#include <stdlib.h>

struct any_value {
    const struct fumi_val *value;
};
static const struct fumi_field whole_field[] = {FUMI_VALUE(struct any_value, value, "Any value.")};
static const struct fumi_shape whole = FUMI_SHAPE(struct any_value, whole_field);

struct number_value {
    double value;
};
static const struct fumi_field real_field[] = {FUMI_VALUE(struct number_value, value, "A number.")};
static const struct fumi_shape real = FUMI_SHAPE(struct number_value, real_field);

struct subtract_params {
    double minuend, subtrahend;
};
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct subtract_params, minuend, "minuend", "The number to subtract from.",
               .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct subtract_params, subtrahend, "subtrahend", "The number to subtract.",
               .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair = FUMI_OPEN_SHAPE(struct subtract_params, pair_fields);

struct note_params {
    struct fumi_str project, title, text;
    struct fumi_strs tags;
    const struct fumi_val *metadata;
};
static const struct fumi_field note_fields[] = {
    FUMI_FIELD(struct note_params, project, "projectId", "Project of the note.",
               .flags = FUMI_REQUIRED, .max = 200),
    FUMI_FIELD(struct note_params, title, "title", "Title of the note.", .flags = FUMI_REQUIRED,
               .max = 500),
    FUMI_FIELD(struct note_params, text, "text", "Text of the note.", .flags = FUMI_REQUIRED,
               .max = 100000),
    FUMI_FIELD(struct note_params, tags, "tags", "Tags.", .max = 50),
    FUMI_FIELD(struct note_params, metadata, "metadata", "Any object.", .flags = FUMI_OBJECT_ONLY),
};
static const struct fumi_shape note = FUMI_SHAPE(struct note_params, note_fields);

struct note_key {
    struct fumi_str project, id;
    bool with_text;
};
static const struct fumi_field key_fields[] = {
    FUMI_FIELD(struct note_key, project, "projectId", "Project of the note.",
               .flags = FUMI_REQUIRED, .max = 200),
    FUMI_FIELD(struct note_key, id, "id", "Id of the note.", .flags = FUMI_REQUIRED,
               .format = "uuid"),
    FUMI_FIELD(struct note_key, with_text, "withText", "Whether the result includes the text.",
               .def = "true"),
};
static const struct fumi_shape key = FUMI_SHAPE(struct note_key, key_fields);

static const char *const modes[] = {"words", "vectors", "both", NULL};

struct search_params {
    struct fumi_str project, query;
    int64_t limit;
    double min_score;
    struct fumi_strs tags;
    int mode;
};
static const struct fumi_field question_fields[] = {
    FUMI_FIELD(struct search_params, project, "projectId", "Project to search.",
               .flags = FUMI_REQUIRED, .max = 200),
    FUMI_FIELD(struct search_params, query, "query", "Query.", .flags = FUMI_REQUIRED, .max = 4000),
    FUMI_FIELD(struct search_params, limit, "limit", "Maximum number of results.", .min = 1,
               .max = 100, .def = "2"),
    FUMI_FIELD(struct search_params, min_score, "minScore", "Minimum score.", .def = "0"),
    FUMI_FIELD(struct search_params, tags, "tags", "Tags.", .max = 50),
    FUMI_FIELD(struct search_params, mode, "mode", "Search mode.", .choices = modes,
               .def = "\"both\""),
};
static const struct fumi_shape question = FUMI_SHAPE(struct search_params, question_fields);

struct note_result {
    struct fumi_str id, title, text, created;
    struct fumi_strs tags;
    double score;
    int64_t revision;
};
static const struct fumi_field stored_fields[] = {
    FUMI_FIELD(struct note_result, id, "id", "Id of the note."),
    FUMI_FIELD(struct note_result, title, "title", "Title of the note."),
    FUMI_FIELD(struct note_result, text, "text", "Text of the note.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct note_result, created, "createdAt", "Time of creation."),
    FUMI_FIELD(struct note_result, tags, "tags", "Tags."),
    FUMI_FIELD(struct note_result, score, "score", "Similarity to the query."),
    FUMI_FIELD(struct note_result, revision, "revision", "Number of changes."),
};
static const struct fumi_shape stored = FUMI_SHAPE(struct note_result, stored_fields);

struct search_result {
    struct fumi_list notes;
    int64_t total;
};
static const struct fumi_field hits_fields[] = {
    FUMI_FIELD(struct search_result, notes, "notes", "The nearest notes.", .shape = &stored),
    FUMI_FIELD(struct search_result, total, "total", "Number of notes."),
};
static const struct fumi_shape hits = FUMI_SHAPE(struct search_result, hits_fields);

static const struct note_result example = {
    .id = {"7f9c24e8-3b12-4fef-91d1-0a5a6e8f2c11", 36},
    .title = {"Kingfishers of the lower river", 30},
    .text = {"Seen at the old mill, a little after nine.\nTwo adults and one young bird.", 73},
    .created = {"2026-03-14T09:26:53Z", 20},
    .tags = {(struct fumi_str[]){{"birds", 5}, {"river", 5}}, 2},
    .score = 0.8125,
    .revision = 3,
};

static enum fumi_ret subtract(struct fumi_call *call, const void *params, void *result)
{
    const struct subtract_params *in = params;
    (void)call;
    ((struct number_value *)result)->value = in->minuend - in->subtrahend;
    return FUMI_OK;
}

static enum fumi_ret sum(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_val *all = ((const struct any_value *)params)->value;
    double one, total = 0;
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        if (!fumi_real(i, &one))
            return fumi_fail(call, FUMI_INVALID_PARAMS, "params must be an array of numbers");
        total += one;
    }
    ((struct number_value *)result)->value = total;
    return FUMI_OK;
}

static enum fumi_ret echo(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct any_value *)result = *(const struct any_value *)params;
    return FUMI_OK;
}

static enum fumi_ret nothing(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_OK;
}

static enum fumi_ret add(struct fumi_call *call, const void *params, void *result)
{
    const struct note_params *in = params;
    struct note_result *out = result;
    (void)call;
    *out = example;
    out->title = in->title;
    out->tags = in->tags;
    out->text = (struct fumi_str){0};
    return FUMI_OK;
}

static enum fumi_ret get(struct fumi_call *call, const void *params, void *result)
{
    const struct note_key *in = params;
    struct note_result *out = result;
    (void)call;
    *out = example;
    out->id = in->id;
    if (!in->with_text)
        out->text = (struct fumi_str){0};
    return FUMI_OK;
}

static enum fumi_ret search(struct fumi_call *call, const void *params, void *result)
{
    const struct search_params *in = params;
    struct search_result *out = result;
    struct note_result *rows = fumi_alloc(call->arena, (size_t)in->limit * sizeof(*rows));
    for (int64_t i = 0; i < in->limit; i++) {
        rows[i] = example;
        rows[i].text = (struct fumi_str){0};
        rows[i].score = 0.75 / (double)(INT64_C(1) << i);
    }
    out->notes = (struct fumi_list){rows, (size_t)in->limit};
    out->total = in->limit;
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"subtract", "Subtracts two numbers.", &pair, &real, subtract, FUMI_READ_ONLY},
    {"sum", "Adds numbers.", &whole, &real, sum, FUMI_READ_ONLY},
    {"echo", "Returns its params.", &whole, &whole, echo, FUMI_READ_ONLY},
    {"notes.add", "Accepts a note and returns it.", &note, &stored, add, 0},
    {"notes.get", "Returns a note.", &key, &stored, get, FUMI_READ_ONLY},
    {"notes.search", "Returns notes.", &question, &hits, search, FUMI_READ_ONLY},
    {"ping", "Returns null.", NULL, NULL, nothing, FUMI_READ_ONLY},
    {"changed", "Accepts a key and does nothing.", &key, NULL, nothing, 0},
};

void mixed_methods(struct fumi_server *s)
{
    struct fumi_err e = {0};
    if (!fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), NULL, &e))
        return;
    fprintf(stderr, "bench: %s\n", e.text);
    exit(1);
}
