/* What of the memory is relevant to a prompt of the user: notes in which an answer can be
 * expected, and no others, because the agent did not ask for them. */
#include "agent/agent_parts.h"

#include "base/utf8.h"
#include "memory/relevance.h"
#include "model/tokens.h"

enum {
    TOP = 8,          /* notes, at most */
    LINE_MOST = 600,  /* bytes of a note */
    LINE_LEAST = 160, /* no note is cut to less */
    PROMPT = 2000,    /* bytes of the prompt that are searched for */
    SEEN = 1000,      /* injections of the session that are considered */
    TOKEN_BYTES = 3,  /* bytes of a line for each token, before the tokens are counted */
};

#define HEAD NOTES_ARE_DATA "Remembered from earlier sessions about this prompt:\n"

static bool has(struct fumi_strs ids, struct fumi_str id)
{
    for (size_t i = 0; i < ids.n; i++)
        if (fumi_eq(ids.items[i], id))
            return true;
    return false;
}

/* Whether the session was given the note since its last digest. A digest follows when the context
 * of the agent was cleared or compacted, so notes from before may be given again. */
static bool was_given(const struct injections *all, struct fumi_str id)
{
    for (size_t i = 0; i < all->n; i++) {
        if (has(all->items[i].ids, id))
            return true;
        if (fumi_eq(all->items[i].kind, FUMI_STR(AGENT_SESSION_START)))
            return false;
    }
    return false;
}

/* The longest beginning of the line that fits; null: not even LINE_LEAST bytes fit. */
static struct fumi_str fitting(struct fumi_arena *a, const struct note *n, size_t tokens)
{
    size_t most = tokens * TOKEN_BYTES < LINE_MOST ? tokens * TOKEN_BYTES : LINE_MOST;
    for (; most >= LINE_LEAST; most -= most / 8) {
        struct fumi_str line = render_line(a, n, most);
        if (tokens_of(line) <= tokens)
            return line;
    }
    return (struct fumi_str){0};
}

static void put_notes(struct memory *m, struct fumi_arena *a, const struct agent_recall *r,
                      const struct results *found, const struct injections *seen,
                      struct fumi_buf *text, struct agent_given *given)
{
    size_t left = r->max_tokens > tokens_of(FUMI_STR(HEAD))
                      ? r->max_tokens - tokens_of(FUMI_STR(HEAD))
                      : 0;
    for (size_t i = 0; i < found->n; i++) {
        const struct result *one = &found->items[i];
        if (relevance_confidence(one->relevance) != CONFIDENCE_HIGH ||
            was_given(seen, one->note.id))
            continue;
        struct note shown = one->note;
        shown.id = memory_short_id(m, a, ID_OF_NOTE, shown.id);
        struct fumi_str line = fitting(a, &shown, left);
        if (!line.n)
            return;
        if (!text->n)
            render_add(text, FUMI_STR(HEAD));
        render_add(text, line);
        left -= tokens_of(line);
        given_add(given, a, &one->note);
    }
}

int agent_recall(struct memory *m, struct fumi_arena *a, const struct agent_recall *r,
                 struct fumi_str *out, struct agent_given *given, struct fumi_err *e)
{
    /* By keyword with a remote provider: otherwise it would receive every prompt. */
    bool local = fumi_eq(memory_embedder(m, a).provider, FUMI_STR("local"));
    struct search s = {
        .filter = {.project = r->project, .since = INT64_MIN, .until = INT64_MAX},
        .query = fumi_utf8_cut(r->prompt, PROMPT),
        .top = TOP,
        .mode = local ? SEARCH_HYBRID : SEARCH_WORDS,
        .strict = true,
        .ms = r->ms,
    };
    struct found f;
    struct injections seen = {0};
    struct fumi_buf text = {0};
    *out = FUMI_STR("");
    if (!s.query.n)
        return 0;
    if (memory_search(m, a, &s, &f, e))
        return -1;
    const struct injection_query q = {.session = r->session, .limit = SEEN};
    if (f.confidence != CONFIDENCE_HIGH)
        return 0;
    if (r->session.n && store_list_injections(memory_store(m), a, &q, &seen, e))
        return -1;
    put_notes(m, a, r, &f.results, &seen, &text, given);
    *out = fumi_buf_keep(&text, a);
    return 0;
}
