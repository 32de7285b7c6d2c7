/* The methods of the mixed traffic. They look like those of the memory and do next to nothing, so
 * that what is measured is the way to them and back. */
#include "fumi.h"
#include "mixed.h"

#include <stdio.h>
#include <stdlib.h>

struct whole {
    const struct fumi_val *value;
};
static const struct fumi_field whole_field[] = {FUMI_VALUE(struct whole, value, "Any value.")};
static const struct fumi_shape whole = FUMI_SHAPE(struct whole, whole_field);

struct real {
    double value;
};
static const struct fumi_field real_field[] = {FUMI_VALUE(struct real, value, "A number.")};
static const struct fumi_shape real = FUMI_SHAPE(struct real, real_field);

struct pair {
    double minuend, subtrahend;
};
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "What is reduced.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "By how much.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair = FUMI_OPEN_SHAPE(struct pair, pair_fields);

struct note {
    struct fumi_str project, title, text;
    struct fumi_strs tags;
    const struct fumi_val *metadata;
};
static const struct fumi_field note_fields[] = {
    FUMI_FIELD(struct note, project, "projectId", "Whose note.", .flags = FUMI_REQUIRED,
               .max = 200),
    FUMI_FIELD(struct note, title, "title", "In a line.", .flags = FUMI_REQUIRED, .max = 500),
    FUMI_FIELD(struct note, text, "text", "The note.", .flags = FUMI_REQUIRED, .max = 100000),
    FUMI_FIELD(struct note, tags, "tags", "Labels.", .max = 50),
    FUMI_FIELD(struct note, metadata, "metadata", "Anything.", .flags = FUMI_OBJECT_ONLY),
};
static const struct fumi_shape note = FUMI_SHAPE(struct note, note_fields);

struct key {
    struct fumi_str project, id;
    bool with_text;
};
static const struct fumi_field key_fields[] = {
    FUMI_FIELD(struct key, project, "projectId", "Whose note.", .flags = FUMI_REQUIRED, .max = 200),
    FUMI_FIELD(struct key, id, "id", "Which note.", .flags = FUMI_REQUIRED, .format = "uuid"),
    FUMI_FIELD(struct key, with_text, "withText", "With its text.", .def = "true"),
};
static const struct fumi_shape key = FUMI_SHAPE(struct key, key_fields);

static const char *const modes[] = {"words", "vectors", "both", NULL};

struct question {
    struct fumi_str project, query;
    int64_t limit;
    double min_score;
    struct fumi_strs tags;
    int mode;
};
static const struct fumi_field question_fields[] = {
    FUMI_FIELD(struct question, project, "projectId", "Where.", .flags = FUMI_REQUIRED, .max = 200),
    FUMI_FIELD(struct question, query, "query", "What for.", .flags = FUMI_REQUIRED, .max = 4000),
    FUMI_FIELD(struct question, limit, "limit", "How many.", .min = 1, .max = 100, .def = "2"),
    FUMI_FIELD(struct question, min_score, "minScore", "How near.", .def = "0"),
    FUMI_FIELD(struct question, tags, "tags", "Labels.", .max = 50),
    FUMI_FIELD(struct question, mode, "mode", "How.", .choices = modes, .def = "\"both\""),
};
static const struct fumi_shape question = FUMI_SHAPE(struct question, question_fields);

struct stored {
    struct fumi_str id, title, text, created;
    struct fumi_strs tags;
    double score;
    int64_t revision;
};
static const struct fumi_field stored_fields[] = {
    FUMI_FIELD(struct stored, id, "id", "Which note."),
    FUMI_FIELD(struct stored, title, "title", "In a line."),
    FUMI_FIELD(struct stored, text, "text", "The note.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct stored, created, "createdAt", "When."),
    FUMI_FIELD(struct stored, tags, "tags", "Labels."),
    FUMI_FIELD(struct stored, score, "score", "How near."),
    FUMI_FIELD(struct stored, revision, "revision", "How often it was changed."),
};
static const struct fumi_shape stored = FUMI_SHAPE(struct stored, stored_fields);

struct hits {
    struct fumi_list notes;
    int64_t total;
};
static const struct fumi_field hits_fields[] = {
    FUMI_FIELD(struct hits, notes, "notes", "The nearest.", .shape = &stored),
    FUMI_FIELD(struct hits, total, "total", "How many there are."),
};
static const struct fumi_shape hits = FUMI_SHAPE(struct hits, hits_fields);

static const struct stored example = {
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
    const struct pair *in = params;
    (void)call;
    ((struct real *)result)->value = in->minuend - in->subtrahend;
    return FUMI_OK;
}

static enum fumi_ret sum(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_val *all = ((const struct whole *)params)->value;
    double one, total = 0;
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        if (!fumi_real(i, &one))
            return fumi_fail(call, FUMI_INVALID_PARAMS, "params must be an array of numbers");
        total += one;
    }
    ((struct real *)result)->value = total;
    return FUMI_OK;
}

static enum fumi_ret echo(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct whole *)result = *(const struct whole *)params;
    return FUMI_OK;
}

static enum fumi_ret nothing(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_OK;
}

static enum fumi_ret add(struct fumi_call *call, const void *params, void *result)
{
    const struct note *in = params;
    struct stored *out = result;
    (void)call;
    *out = example;
    out->title = in->title;
    out->tags = in->tags;
    out->text = (struct fumi_str){0};
    return FUMI_OK;
}

static enum fumi_ret get(struct fumi_call *call, const void *params, void *result)
{
    const struct key *in = params;
    struct stored *out = result;
    (void)call;
    *out = example;
    out->id = in->id;
    if (!in->with_text)
        out->text = (struct fumi_str){0};
    return FUMI_OK;
}

static enum fumi_ret search(struct fumi_call *call, const void *params, void *result)
{
    const struct question *in = params;
    struct hits *out = result;
    struct stored *rows = fumi_alloc(call->arena, (size_t)in->limit * sizeof(*rows));
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
    {"subtract", "Subtracts.", &pair, &real, subtract, FUMI_READ_ONLY},
    {"sum", "Adds numbers.", &whole, &real, sum, FUMI_READ_ONLY},
    {"echo", "Answers its params.", &whole, &whole, echo, FUMI_READ_ONLY},
    {"notes.add", "Takes a note.", &note, &stored, add, 0},
    {"notes.get", "Answers a note.", &key, &stored, get, FUMI_READ_ONLY},
    {"notes.search", "Answers some notes.", &question, &hits, search, FUMI_READ_ONLY},
    {"ping", "Answers null.", NULL, NULL, nothing, FUMI_READ_ONLY},
    {"changed", "Takes a key and does nothing.", &key, NULL, nothing, 0},
};

void mixed_methods(struct fumi_server *s)
{
    struct fumi_err e = {0};
    if (!fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), NULL, &e))
        return;
    fprintf(stderr, "bench: %s\n", e.text);
    exit(1);
}
