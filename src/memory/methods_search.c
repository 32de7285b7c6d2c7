#include "memory/methods_parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* Time limit for embedding a query; after it, a hybrid search uses keywords only. */
enum { QUERY_MS = 10000 };

static const char *const modes[] = {"hybrid", "meaning", "words", NULL};

struct search_params {
    struct fumi_str project, query, group;
    struct fumi_time since, until;
    struct fumi_strs tags;
    int64_t top, max_tokens;
    int mode;
    double floor;
    bool explain;
    double relevance;
    struct fumi_time now;
};

static const struct fumi_field search_fields[] = {
    PROJECT_FIELD(struct search_params),
    FUMI_FIELD(struct search_params, query, "query", "A question, words or identifiers.",
               .flags = FUMI_REQUIRED, .check = check_query),
    FUMI_FIELD(struct search_params, group, "groupId", "Only this group.", .flags = FUMI_NULLABLE,
               .check = note_given_group_fault),
    FUMI_FIELD(struct search_params, top, "topK", "Maximum number of notes.",
               .flags = FUMI_NULLABLE, .min = 1, .max = RESULTS_MAX, .def = "5"),
    FUMI_FIELD(struct search_params, tags, "tags", "Only notes with all of these.",
               .flags = FUMI_NULLABLE, .max = NOTE_TAGS_MAX, .check = check_tag_filter),
    FUMI_FIELD(struct search_params, since, "since", "Created at or after.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct search_params, until, "until", "Created before.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct search_params, mode, "mode",
               "Search by meaning, by keyword (words), or both (hybrid).",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .choices = modes, .def = "\"hybrid\""),
    FUMI_FIELD(struct search_params, floor, "minScore", "Omit notes with a lower score.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .min = 0, .max = 1, .def = "0"),
    FUMI_FIELD(struct search_params, max_tokens, "maxTokens",
               "Limit of all texts; long notes are cut to the best passage. 0: none.",
               .flags = FUMI_NULLABLE, .min = 0, .max = 1000000, .def = "0"),
    FUMI_FIELD(struct search_params, explain, "explain", "Explain each score.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .def = "false"),
    FUMI_FIELD(struct search_params, relevance, "minRelevance", "Omit less relevant notes.",
               .flags = FUMI_NULLABLE, .min = 0, .max = 1, .def = "0"),
    FUMI_FIELD(struct search_params, now, "now",
               "The time that words such as yesterday refer to; the present if not given.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
};
static const struct fumi_shape search_shape = FUMI_SHAPE(struct search_params, search_fields);

struct passage_at {
    int64_t begin, end;
};

static const struct fumi_field passage_fields[] = {
    FUMI_FIELD(struct passage_at, begin, "begin",
               "Offset of the first byte in the text of the note."),
    FUMI_FIELD(struct passage_at, end, "end", "Offset after the last byte."),
};
static const struct fumi_shape passage_shape = FUMI_SHAPE(struct passage_at, passage_fields);

struct explained {
    double words, meaning, share, neighbours, time;
    int64_t words_rank, meaning_rank;
    struct passage_at passage;
};

static const struct fumi_field explained_fields[] = {
    FUMI_FIELD(struct explained, words, "words", "BM25 score by keyword; 0: no keyword matches."),
    FUMI_FIELD(struct explained, words_rank, "wordsRank", "Rank by keyword; 0: not ranked."),
    FUMI_FIELD(struct explained, meaning, "meaning", "Cosine similarity of the best passage."),
    FUMI_FIELD(struct explained, meaning_rank, "meaningRank", "Rank by meaning; 0: not ranked."),
    FUMI_FIELD(struct explained, passage, "passage", "The best passage.", .shape = &passage_shape),
    FUMI_FIELD(struct explained, share, "share",
               "Share of the words of the query that the note contains, weighted by rarity."),
    FUMI_FIELD(struct explained, neighbours, "neighbours",
               "Part of the score that comes from the notes before and after."),
    FUMI_FIELD(struct explained, time, "time",
               "Part of the score that comes from a date in the query."),
};
static const struct fumi_shape explained_shape = FUMI_SHAPE(struct explained, explained_fields);

/* A note and its scores. */
struct search_hit {
    struct note note;
    double score, relevance;
    struct fumi_json passage, explain;
};

static const struct fumi_field hit_fields[] = {
    NOTE_LIST_FIELDS(struct search_hit, note.)
        FUMI_FIELD(struct search_hit, score, "score",
                   "Order of this answer, 0 to 1 (best); not comparable with other answers.",
                   .flags = FUMI_SPARSE),
    FUMI_FIELD(struct search_hit, relevance, "relevance",
               "How likely the note answers the query, 0 to 1; comparable with other answers."),
    FUMI_FIELD(struct search_hit, passage, "passage",
               "If text is only a passage: its begin and end in the note, in bytes.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_hit, explain, "explain",
               "With explain: words, wordsRank, meaning, meaningRank, passage.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape hit_shape = FUMI_SHAPE(struct search_hit, hit_fields);

struct filtered_out {
    int64_t project, group, tags, time, left;
};

static const struct fumi_field filtered_fields[] = {
    FUMI_FIELD(struct filtered_out, project, "inProject", "Notes of the project.",
               .flags = FUMI_SPARSE),
    FUMI_FIELD(struct filtered_out, group, "byGroup", "Notes that groupId excluded.",
               .flags = FUMI_SPARSE),
    FUMI_FIELD(struct filtered_out, tags, "byTags", "Further notes that tags excluded.",
               .flags = FUMI_SPARSE),
    FUMI_FIELD(struct filtered_out, time, "byTime", "Further notes that since and until excluded.",
               .flags = FUMI_SPARSE),
    FUMI_FIELD(struct filtered_out, left, "left", "Notes that were searched.",
               .flags = FUMI_DETAIL),
};
static const struct fumi_shape filtered_shape = FUMI_SHAPE(struct filtered_out, filtered_fields);

struct miss {
    struct fumi_str id, title, text;
    double score, relevance;
};

static const struct fumi_field miss_fields[] = {
    FUMI_FIELD(struct miss, id, "id", "Id of the note."),
    FUMI_FIELD(struct miss, title, "title", "Title of the note.", .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct miss, score, "score", "Score of the note."),
    FUMI_FIELD(struct miss, relevance, "relevance", "Relevance of the note."),
    FUMI_FIELD(struct miss, text, "text", "The beginning of its text."),
};
static const struct fumi_shape miss_shape = FUMI_SHAPE(struct miss, miss_fields);

struct time_understood {
    struct fumi_time since, until;
    struct fumi_str words;
};

static const struct fumi_field time_fields[] = {
    FUMI_FIELD(struct time_understood, since, "since", "Beginning."),
    FUMI_FIELD(struct time_understood, until, "until", "End, exclusive."),
    FUMI_FIELD(struct time_understood, words, "words", "The words of the query."),
};
static const struct fumi_shape time_shape = FUMI_SHAPE(struct time_understood, time_fields);

struct search_meta {
    int mode;
    struct filtered_out filtered;
    int64_t below, tokens;
    struct fumi_list misses;
    struct fumi_strs rest;
    struct fumi_str warning;
    int confidence;
    struct fumi_list times;
    int64_t pending;
    struct fumi_str message;
};

static const char *const confidences[] = {"none", "low", "high", NULL};

static const struct fumi_field meta_fields[] = {
    FUMI_FIELD(struct search_meta, mode, "mode", "The mode that was used.", .flags = FUMI_DETAIL,
               .choices = modes, .def = "\"hybrid\""),
    FUMI_FIELD(struct search_meta, filtered, "filtered",
               "Number of notes that each filter excluded.", .flags = FUMI_SPARSE,
               .shape = &filtered_shape),
    FUMI_FIELD(struct search_meta, below, "belowMinScore",
               "Candidates below minScore or minRelevance.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct search_meta, misses, "nearMisses",
               "The best candidates below minScore or minRelevance; of a tool, also with "
               "confidence none.",
               .flags = FUMI_OMIT, .shape = &miss_shape),
    FUMI_FIELD(struct search_meta, tokens, "tokens", "Estimated number of tokens of all texts.",
               .flags = FUMI_DETAIL),
    FUMI_FIELD(struct search_meta, rest, "rest", "Ids of notes that did not fit into maxTokens.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_meta, warning, "warning",
               "A problem that affects the result, such as a search by keyword only.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_meta, confidence, "confidence",
               "Whether the notes answer the query: high, low (perhaps) or none.",
               .choices = confidences, .def = "\"none\""),
    FUMI_FIELD(struct search_meta, times, "time",
               "Times that the query names: notes of these times score more.", .flags = FUMI_OMIT,
               .shape = &time_shape),
    FUMI_FIELD(struct search_meta, pending, "pending",
               "Notes of the project without vectors: found by keyword only.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_meta, message, "message", "What to know about the answer, in words.",
               .flags = FUMI_OMIT),
};
static const struct fumi_shape meta_shape = FUMI_SHAPE(struct search_meta, meta_fields);

struct search_result {
    struct fumi_str name_space;
    struct fumi_list results;
    struct search_meta meta;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct search_result, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct search_result, results, "results", "The notes, best first.",
               .shape = &hit_shape),
    FUMI_FIELD(struct search_result, meta, "meta", "How the result was found.",
               .shape = &meta_shape),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct search_result, result_fields);

/* Returns a struct as JSON text, for members that may be omitted. */
static struct fumi_json text_of(struct fumi_arena *a, const struct fumi_shape *s, const void *from)
{
    struct fumi_buf buf = {0};
    struct fumi_out out = {&buf, false};
    fumi_emit(&out, s, from);
    return (struct fumi_json){fumi_buf_keep(&buf, a)};
}

static struct search_hit hit_of(struct fumi_arena *a, const struct result *r, bool explain)
{
    const struct explained why = {.words = r->words,
                                  .meaning = r->meaning,
                                  .share = r->share,
                                  .neighbours = r->neighbours,
                                  .time = r->time,
                                  .words_rank = (int64_t)r->words_rank,
                                  .meaning_rank = (int64_t)r->meaning_rank,
                                  .passage = {r->begin, r->end}};
    struct search_hit h = {.note = r->note, .score = r->score, .relevance = r->relevance};
    if (r->part)
        h.passage = text_of(a, &passage_shape, &why.passage);
    if (explain)
        h.explain = text_of(a, &explained_shape, &why);
    return h;
}

static struct fumi_list hits_of(struct fumi_arena *a, struct results r, bool explain)
{
    struct search_hit *h = fumi_alloc(a, (r.n + 1) * sizeof(*h));
    for (size_t i = 0; i < r.n; i++)
        h[i] = hit_of(a, &r.items[i], explain);
    return (struct fumi_list){h, r.n};
}

static struct fumi_list misses_of(struct fumi_arena *a, struct results r)
{
    struct miss *m = fumi_alloc(a, (r.n + 1) * sizeof(*m));
    for (size_t i = 0; i < r.n; i++) {
        const struct result *one = &r.items[i];
        m[i] = (struct miss){one->note.id, one->note.title, one->note.text, one->score,
                             one->relevance};
    }
    return (struct fumi_list){m, r.n};
}

static struct fumi_list times_of(struct fumi_arena *a, struct fumi_str query, const struct found *f)
{
    struct time_understood *t = fumi_alloc(a, (f->times_n + 1) * sizeof(*t));
    for (size_t i = 0; i < f->times_n; i++) {
        const struct date_span *s = &f->times[i];
        t[i] = (struct time_understood){
            {s->since, true}, {s->until, true}, {query.p + s->begin, s->end - s->begin}};
    }
    return (struct fumi_list){t, f->times_n};
}

/* One line for the reader of the answer; null: nothing to say. */
static struct fumi_str message_of(struct fumi_arena *a, const struct found *f)
{
    struct fumi_str none = FUMI_STR(""), pending = none;
    if (f->confidence == CONFIDENCE_NONE)
        none = f->misses.n ? FUMI_STR("nothing relevant; nearMisses are the closest notes")
                           : FUMI_STR("nothing relevant");
    if (f->pending)
        pending = fumi_fmt(a, "%" PRId64 " %s not embedded yet and found by keyword only",
                           f->pending, f->pending == 1 ? "note is" : "notes are");
    if (!none.n && !pending.n)
        return (struct fumi_str){0};
    return fumi_fmt(a, "%.*s%s%.*s", FUMI_ARG(none), none.n && pending.n ? "; " : "",
                    FUMI_ARG(pending));
}

static struct search_result answer_of(struct fumi_arena *a, const struct search_params *p,
                                      const struct found *f)
{
    const struct filtered *by = &f->filtered;
    return (struct search_result){
        .name_space = f->space,
        .results = hits_of(a, f->results, p->explain),
        .meta = {.mode = (int)f->mode,
                 .filtered = {by->project, by->group, by->tags, by->time, by->left},
                 .below = (int64_t)f->below,
                 .misses = misses_of(a, f->misses),
                 .tokens = (int64_t)f->tokens,
                 .rest = f->rest,
                 .warning = f->warning,
                 .confidence = (int)f->confidence,
                 .times = times_of(a, p->query, f),
                 .pending = f->pending,
                 .message = message_of(a, f)},
    };
}

static enum fumi_ret search(struct fumi_call *call, const void *params, void *result)
{
    const struct search_params *p = params;
    struct listing listing = {.call = call};
    struct search s = {
        .filter = {p->project, p->group, p->tags, p->since.set ? p->since.ms : INT64_MIN,
                   p->until.set ? p->until.ms : INT64_MAX},
        .query = p->query,
        .top = (size_t)p->top,
        .mode = (enum search_mode)p->mode,
        .floor = p->floor,
        .min_relevance = p->relevance,
        .strict = call->compact,
        .now = p->now.set ? p->now.ms : 0,
        .max_tokens = (size_t)p->max_tokens,
        .short_ids = shows_short_ids(call),
        .ms = time_for_embedding(call) < QUERY_MS ? time_for_embedding(call) : QUERY_MS,
        .each = listing_row,
        .arg = &listing,
    };
    struct found f;
    if (memory_search(call->self, call->arena, &s, &f, &call->err))
        return FUMI_FAIL;
    for (size_t i = 0; i < f.results.n && call->compact; i++)
        omit_global_group(&f.results.items[i].note);
    *(struct search_result *)result = answer_of(call->arena, p, &f);
    return FUMI_OK;
}

struct recent_params {
    struct fumi_str project, group, cursor;
    int64_t limit;
    struct fumi_strs tags;
};

static const char *check_cursor(struct fumi_str s);

static const struct fumi_field recent_fields[] = {
    PROJECT_FIELD(struct recent_params),
    FUMI_FIELD(struct recent_params, group, "groupId", "Only this group.", .flags = FUMI_NULLABLE,
               .check = note_given_group_fault),
    FUMI_FIELD(struct recent_params, limit, "limit", "Maximum number of notes.",
               .flags = FUMI_NULLABLE, .min = 0, .max = RESULTS_MAX, .def = "10"),
    FUMI_FIELD(struct recent_params, tags, "tags", "Only notes with all of these.",
               .flags = FUMI_NULLABLE, .max = NOTE_TAGS_MAX, .check = check_tag_filter),
    FUMI_FIELD(struct recent_params, cursor, "cursor", "nextCursor of the previous page.",
               .flags = FUMI_NULLABLE, .check = check_cursor),
};
static const struct fumi_shape recent_shape = FUMI_SHAPE(struct recent_params, recent_fields);

struct recent_result {
    struct fumi_str name_space, next;
    struct fumi_list items;
};

static const struct fumi_field recent_result_fields[] = {
    FUMI_FIELD(struct recent_result, name_space, "namespace",
               "Embedding space in use: provider, model and dimensions.", .flags = FUMI_DETAIL),
    FUMI_FIELD(struct recent_result, items, "items", "The notes, newest first.",
               .shape = &note_list_shape),
    FUMI_FIELD(struct recent_result, next, "nextCursor",
               "Cursor of the next page, if there is one.", .flags = FUMI_OMIT),
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
    size_t left; /* rows still to return; one further row shows that there is a next page */
};

static int recent_row(void *rows, void *row, size_t bytes, struct fumi_err *e)
{
    struct recent_rows *r = rows;
    struct note *n = row;
    if (r->left) {
        r->left--;
        show_note(r->listing.call, n);
        return listing_row(&r->listing, row, bytes, e);
    }
    *n = (struct note){.seq = n->seq};
    return ROW_KEEP;
}

static enum fumi_ret list_recent(struct fumi_call *call, const void *params, void *result)
{
    const struct recent_params *p = params;
    struct recent_result *out = result;
    struct fumi_arena *a = call->arena;
    struct store *store = memory_store(call->self);
    struct filter f = {.group = p->group, .tags = p->tags, .since = INT64_MIN, .until = INT64_MAX};
    struct cursor after = {0, 0};
    struct notes notes = {0};
    size_t limit = (size_t)p->limit;
    struct recent_rows rows = {{.call = call}, limit};
    const struct loading to = {a, recent_row, &rows};
    if (p->cursor.p)
        read_cursor(p->cursor, &after);
    if (project_canonical(a, p->project, &f.project, &call->err) ||
        (limit && store_list_recent(store, &to, &f, after, limit + 1, &notes, &call->err)))
        return FUMI_FAIL;
    size_t n = notes.n > limit ? limit : notes.n;
    struct note_result *items = fumi_alloc(a, (n + 1) * sizeof(*items));
    out->name_space = memory_space(call->self, a);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct note_result){notes.items[i], out->name_space};
    out->items = (struct fumi_list){items, n};
    if (notes.n > limit)
        out->next = fumi_fmt(a, "%" PRId64 ".%" PRId64, notes.items[n - 1].created.ms,
                             notes.items[n - 1].seq);
    return FUMI_OK;
}

const struct fumi_method search_methods[] = {
    {"search",
     "Finds notes by meaning and by keyword. Say in the query what you want to know; filter by "
     "group, tags and time.",
     &search_shape, &result_shape, search, READ},
    {"list_recent", "Lists the newest notes of a project.", &recent_shape, &recent_result_shape,
     list_recent, READ},
};
const size_t search_methods_n = FUMI_COUNT(search_methods);
