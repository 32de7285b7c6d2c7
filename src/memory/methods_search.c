#include "memory/budget.h"
#include "memory/methods_parts.h"
#include "memory/results.h"
#include "memory/uses.h"
#include "model/tokens.h"

#include <inttypes.h>

/* Time limit for embedding a query; after it, a hybrid search uses keywords only. */
enum { QUERY_MS = 10000 };

static const char *const modes[] = {"hybrid", "meaning", "words", NULL};

struct search_params {
    struct fumi_str project, query, group;
    struct fumi_time since, until;
    struct fumi_strs tags, any_tags;
    int64_t top, max_tokens;
    int mode;
    double floor;
    bool explain;
    double relevance;
    struct fumi_time now;
    bool superseded;
};

static const struct fumi_field search_fields[] = {
    PROJECT_FIELD(struct search_params),
    FUMI_FIELD(struct search_params, query, "query", "A question, words or identifiers.",
               .flags = FUMI_REQUIRED, .check = check_query),
    FUMI_FIELD(struct search_params, group, "groupId", "Only this group.", .flags = FUMI_NULLABLE,
               .check = note_given_group_fault),
    FUMI_FIELD(struct search_params, top, "topK", "At most so many.", .flags = FUMI_NULLABLE,
               .min = 1, .max = RESULTS_MAX, .def = "5"),
    FUMI_FIELD(struct search_params, tags, "tags", "With all of these.", .flags = FUMI_NULLABLE,
               .max = NOTE_TAGS_MAX, .check = check_tag_filter),
    FUMI_FIELD(struct search_params, since, "since", "Since then, like 2026-01-31.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct search_params, until, "until", "Before then, or on this day.",
               .flags = FUMI_NULLABLE | FUMI_DAY_END),
    FUMI_FIELD(struct search_params, mode, "mode",
               "Search by meaning, by keyword (words), or both (hybrid).",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .choices = modes, .def = "\"hybrid\""),
    FUMI_FIELD(struct search_params, floor, "minScore", "Omit notes with a lower score.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .min = 0, .max = 1, .def = "0"),
    MAX_TOKENS_FIELD(struct search_params),
    FUMI_FIELD(struct search_params, explain, "explain", "Explain each score.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .def = "false"),
    FUMI_FIELD(struct search_params, relevance, "minRelevance", "Omit less relevant notes.",
               .flags = FUMI_NULLABLE, .min = 0, .max = 1, .def = "0"),
    FUMI_FIELD(struct search_params, now, "now",
               "The time that words such as yesterday refer to; the present if not given.",
               .flags = FUMI_NULLABLE | FUMI_DETAIL),
    SUPERSEDED_FIELD(struct search_params),
    ANY_TAGS_FIELD(struct search_params),
};
static const struct fumi_shape search_shape = FUMI_SHAPE(struct search_params, search_fields);

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
    struct fumi_str project;
};

static const struct fumi_field hit_fields[] = {
    NOTE_LIST_FIELDS(struct search_hit, note.)
        FUMI_FIELD(struct search_hit, score, "score",
                   "Order of this answer, 0 to 1 (best); not comparable with other answers.",
                   .flags = FUMI_SPARSE),
    FUMI_FIELD(struct search_hit, relevance, "relevance",
               "How likely the note answers the query, 0 to 1; comparable with other answers."),
    PASSAGE_FIELD(struct search_hit),
    FUMI_FIELD(struct search_hit, explain, "explain", "With explain: what the score consists of.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_hit, project, "project",
               "Project of the note, if it is not that of the search.", .flags = FUMI_OMIT),
};
static const struct fumi_shape hit_shape = FUMI_SHAPE(struct search_hit, hit_fields);

struct filtered_out {
    int64_t project, group, tags, time, left, superseded;
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
    FUMI_FIELD(struct filtered_out, superseded, "superseded",
               "Further notes, which newer ones replace: includeSuperseded finds them.",
               .flags = FUMI_OMIT),
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
    int64_t below, tokens, omitted;
    struct fumi_list misses;
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
    FUMI_FIELD(struct search_meta, tokens, "tokens", "Tokens of the answer, at most.",
               .flags = FUMI_DETAIL),
    FUMI_FIELD(struct search_meta, omitted, "omitted",
               "Number of notes that did not fit into maxTokens.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_meta, warning, "warning",
               "A problem that affects the result, such as a search by keyword only.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct search_meta, confidence, "confidence",
               "Whether the notes answer the query: high, low (perhaps) or none.",
               .choices = confidences, .def = "\"none\""),
    FUMI_FIELD(struct search_meta, times, "time",
               "Times that the query names: notes of these times score more.", .flags = FUMI_OMIT,
               .shape = &time_shape),
    FUMI_FIELD(
        struct search_meta, pending, "pending",
        "Notes of the project that are found by keyword only: they lack vectors, or the vector "
        "cache is being built.",
        .flags = FUMI_OMIT),
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

static struct search_hit hit_of(struct fumi_arena *a, const struct search_params *p,
                                const struct result *r)
{
    const struct explained why = {.words = r->words,
                                  .meaning = r->meaning,
                                  .share = r->share,
                                  .neighbours = r->neighbours,
                                  .time = r->time,
                                  .words_rank = (int64_t)r->words_rank,
                                  .meaning_rank = (int64_t)r->meaning_rank,
                                  .passage = {r->begin, r->end}};
    struct search_hit h = {
        .note = r->note, .score = r->score, .relevance = r->relevance, .passage = passage_of(a, r)};
    if (!fumi_eq(p->project, r->note.project))
        h.project = r->note.project;
    if (p->explain)
        h.explain = text_of(a, &explained_shape, &why);
    return h;
}

static struct fumi_list hits_of(struct fumi_arena *a, const struct search_params *p,
                                struct results r)
{
    struct search_hit *h = fumi_alloc(a, (r.n + 1) * sizeof(*h));
    for (size_t i = 0; i < r.n; i++)
        h[i] = hit_of(a, p, &r.items[i]);
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

static void add_sentence(struct fumi_buf *b, struct fumi_str sentence)
{
    if (b->n && sentence.n)
        fumi_buf_add(b, "; ", 2);
    fumi_buf_add(b, sentence.p, sentence.n);
}

static struct fumi_str pending_of(struct fumi_arena *a, const struct found *f)
{
    if (f->behind && f->pending)
        return FUMI_STR("notes are found by keyword only while the vector cache is built");
    if (f->pending)
        return fumi_fmt(a, "%" PRId64 " %s not embedded yet and found by keyword only", f->pending,
                        f->pending == 1 ? "note is" : "notes are");
    return FUMI_STR("");
}

/* The search has set the project to its canonical name. */
static struct fumi_str unknown_of(struct fumi_arena *a, const struct search_params *p,
                                  const struct found *f)
{
    if (!f->unknown)
        return FUMI_STR("");
    return fumi_fmt(a, "no note is stored in the project %.*s%s%.*s%s", FUMI_ARG(p->project),
                    f->near.n ? "; did you mean " : "", FUMI_ARG(f->near), f->near.n ? "?" : "");
}

/* One line for the reader of the answer; null: nothing to say. */
static struct fumi_str message_of(struct fumi_arena *a, const struct search_params *p,
                                  const struct found *f)
{
    struct fumi_buf b = {0};
    bool empty = f->unknown && !f->results.n && !f->misses.n;
    if (f->confidence == CONFIDENCE_NONE && !empty)
        add_sentence(&b, f->misses.n && f->terse < TERSE_MISSES
                             ? FUMI_STR("nothing relevant; nearMisses are the closest notes")
                             : FUMI_STR("nothing relevant"));
    add_sentence(&b, unknown_of(a, p, f));
    add_sentence(&b, pending_of(a, f));
    return b.n ? fumi_buf_keep(&b, a) : (struct fumi_str){0};
}

static struct search_result answer_of(struct fumi_arena *a, const struct search_params *p,
                                      const struct found *f)
{
    static const struct filtered unknown = {0};
    const struct filtered *by = f->terse >= TERSE_FILTERED ? &unknown : &f->filtered;
    struct results misses = f->misses;
    if (f->terse >= TERSE_MISSES)
        misses.n = 0;
    struct fumi_list times = {0};
    if (f->terse < TERSE_FILTERED)
        times = times_of(a, p->query, f);
    return (struct search_result){
        .name_space = f->space,
        .results = hits_of(a, p, f->results),
        .meta = {.mode = (int)f->mode,
                 .filtered = {by->project, by->group, by->tags, by->time, by->left, by->superseded},
                 .below = (int64_t)f->below,
                 .misses = misses_of(a, misses),
                 .tokens = (int64_t)f->tokens,
                 .omitted = (int64_t)f->omitted,
                 .warning = f->terse >= TERSE_WARNING ? (struct fumi_str){0} : f->warning,
                 .confidence = (int)f->confidence,
                 .times = times,
                 .pending = f->terse >= TERSE_WARNING ? 0 : f->pending,
                 .message = f->terse >= TERSE_WARNING ? (struct fumi_str){0} : message_of(a, p, f)},
    };
}

/* For struct answer_size: measures the parts of the answer as they will be written. */
struct measuring {
    struct fumi_call *call;
    const struct search_params *params;
    bool compact;
};

static size_t frame_size(void *arg, const struct found *f)
{
    const struct measuring *m = arg;
    struct found empty = *f;
    empty.results.n = 0;
    struct search_result r = answer_of(m->call->arena, m->params, &empty);
    return tokens_of_result(&result_shape, &r, m->compact);
}

static size_t hit_size(void *arg, const struct result *r)
{
    const struct measuring *m = arg;
    struct result shown = *r;
    if (m->call->compact)
        omit_global_group(&shown.note);
    struct search_hit h = hit_of(m->call->arena, m->params, &shown);
    return tokens_of_result(&hit_shape, &h, m->compact);
}

static enum fumi_ret search(struct fumi_call *call, const void *params, void *result)
{
    struct search_params own = *(const struct search_params *)params, *p = &own;
    struct search_result *out = result;
    if (!fumi_eq(own.project, PROJECT_ALL) &&
        project_canonical(call->arena, own.project, &own.project, &call->err))
        return FUMI_FAIL;
    struct listing listing = {.call = call};
    struct measuring measuring = {call, p, call->compact || p->max_tokens};
    const struct answer_size size = {frame_size, hit_size, &measuring};
    struct search s = {
        .filter = {p->project, p->group, p->tags, p->since.set ? p->since.ms : INT64_MIN,
                   p->until.set ? p->until.ms : INT64_MAX, p->superseded, p->any_tags},
        .query = p->query,
        .top = (size_t)p->top,
        .mode = (enum search_mode)p->mode,
        .floor = p->floor,
        .min_relevance = p->relevance,
        .strict = call->compact,
        .now = p->now.set ? p->now.ms : 0,
        .max_tokens = (size_t)p->max_tokens,
        .size = &size,
        .short_ids = shows_short_ids(call),
        .ms = time_for_embedding(call) < QUERY_MS ? time_for_embedding(call) : QUERY_MS,
        .each = listing_row,
        .arg = &listing,
    };
    struct found f;
    if (check_max_tokens(p->max_tokens, &call->err) ||
        memory_search(call->self, call->arena, &s, &f, &call->err))
        return FUMI_FAIL;
    for (size_t i = 0; i < f.results.n && call->compact; i++)
        omit_global_group(&f.results.items[i].note);
    memory_count_uses(call->self, results_seqs(call->arena, f.results.items, f.results.n),
                      f.results.n);
    *out = answer_of(call->arena, p, &f);
    write_within(call, &result_shape, out, s.max_tokens);
    return FUMI_OK;
}

const struct fumi_method search_methods[] = {
    {"search",
     "Finds notes by meaning and by keyword. Say in the query what you want to know; filter by "
     "group, tags and time.",
     &search_shape, &result_shape, search, READ},
};
const size_t search_methods_n = FUMI_COUNT(search_methods);
