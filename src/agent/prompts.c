/* The prompts: remember_session, recall and session_start. */
#include "agent/agent_parts.h"

#include <stdlib.h>

enum {
    TOKENS_DEFAULT = 1500,
    TOKENS_MIN = 100,
    TOKENS_MAX = 100000,
    FOUND = 8,           /* notes in the prompt recall */
    FOUND_TOKENS = 1500, /* limit of their texts together */
    MISS_MOST = 200,     /* bytes of a note that is only near */
    QUERY_MS = 10000,
};

static struct fumi_str argument(struct fumi_mcp_call *c, const char *name)
{
    struct fumi_str s = fumi_text(c->call->arena, fumi_get(c->arguments, name));
    return s.n ? s : (struct fumi_str){0}; /* an empty argument is treated as missing */
}

static enum fumi_ret remember_session(struct fumi_mcp_call *c)
{
    struct fumi_arena *a = c->call->arena;
    struct fumi_str project = argument(c, "project"), focus = argument(c, "focus");
    struct fumi_str where = project.p ? fumi_fmt(a, "projectId %.*s",
                                                 FUMI_ARG(render_quoted(a, project, SIZE_MAX)))
                                      : FUMI_STR("the repository as projectId");
    struct fumi_str what = focus.p ? fumi_fmt(a, " Consider only: %.*s.", FUMI_ARG(focus))
                                   : FUMI_STR("");
    fumi_mcp_text(
        c,
        fumi_fmt(a,
                 "Look back at this session and remember what later sessions need, with %.*s.%.*s"
                 "\n\n"
                 "1. Pick out: decisions with their reasons, rules and preferences of mine, "
                 "corrections, failures with cause and cure, results of research, open questions.\n"
                 "2. For each call memory_search first. If a note exists, call memory_update if "
                 "something changed, otherwise do nothing.\n"
                 "3. Store the rest with memory_add_note: one fact per note, short, clear without "
                 "this conversation, with tags (decision, rule, wip, done, issue ...). No "
                 "secrets.\n"
                 "4. Tell me in a few lines what you stored, changed and left out.",
                 FUMI_ARG(where), FUMI_ARG(what)));
    return FUMI_OK;
}

/* Without a project, the model is asked to search, because it knows the repository. */
static enum fumi_ret ask_to_search(struct fumi_mcp_call *c, const struct search *s)
{
    struct fumi_arena *a = c->call->arena;
    struct fumi_str group = s->filter.group, none = FUMI_STR("");
    struct fumi_str tag = s->filter.tags.n ? s->filter.tags.items[0] : none;
    struct fumi_str in = group.p ? fumi_fmt(a, ", groupId %.*s", FUMI_ARG(group)) : none;
    struct fumi_str with =
        tag.n ? fumi_fmt(a, ", tags [%.*s]", FUMI_ARG(render_quoted(a, tag, SIZE_MAX))) : none;
    fumi_mcp_text(c, fumi_fmt(a,
                              "Recall what is remembered about this, and answer from it: %.*s\n\n"
                              "Call memory_search with the repository as projectId%.*s%.*s. When "
                              "nothing fits, rephrase once; then say that nothing is known.",
                              FUMI_ARG(render_quoted(a, s->query, SIZE_MAX)), FUMI_ARG(in),
                              FUMI_ARG(with)));
    return FUMI_OK;
}

/* The query is quoted. */
static struct fumi_str render_misses(struct fumi_arena *a, struct fumi_str query,
                                     const struct found *f)
{
    struct fumi_buf b = {0};
    render_add(&b, fumi_fmt(a,
                            NOTES_ARE_DATA "\nNothing relevant is remembered about: %.*s\n\nSay "
                                           "so, or try memory_search in other words. The closest "
                                           "notes, which hardly answer it:\n",
                            FUMI_ARG(query)));
    for (size_t i = 0; i < f->misses.n; i++)
        render_add(&b, render_line(a, &f->misses.items[i].note, MISS_MOST));
    return fumi_buf_keep(&b, a);
}

static struct fumi_str render_found(struct fumi_arena *a, struct fumi_str query,
                                    const struct found *f)
{
    struct fumi_buf b = {0};
    query = render_quoted(a, query, SIZE_MAX);
    if (f->confidence == CONFIDENCE_NONE && f->misses.n)
        return render_misses(a, query, f);
    if (!f->results.n)
        return fumi_fmt(a,
                        "Nothing is remembered about: %.*s\n\nSay so, or try memory_search in "
                        "other words.",
                        FUMI_ARG(query));
    render_add(&b, fumi_fmt(a, NOTES_ARE_DATA "\nAnswer from what is remembered about: %.*s\n\n",
                            FUMI_ARG(query)));
    for (size_t i = 0; i < f->results.n; i++)
        render_note(&b, a, &f->results.items[i].note, SIZE_MAX);
    if (f->omitted)
        render_add(&b, fumi_fmt(a, "%zu more were found: use memory_search.\n", f->omitted));
    return fumi_buf_keep(&b, a);
}

static enum fumi_ret recall(struct fumi_mcp_call *c)
{
    const struct agent *self = c->self;
    struct fumi_arena *a = c->call->arena;
    struct fumi_str query = argument(c, "query"), tag = argument(c, "tag");
    struct search s = {.filter = {.project = argument(c, "project"),
                                  .group = argument(c, "group"),
                                  .tags = {&tag, tag.p != NULL},
                                  .since = INT64_MIN,
                                  .until = INT64_MAX},
                       .query = query,
                       .top = FOUND,
                       .max_tokens = FOUND_TOKENS,
                       .strict = true,
                       .ms = QUERY_MS};
    struct found f;
    if (!query.p)
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "query is required");
    if (query.n > QUERY_MAX)
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "query must have at most %d bytes",
                               QUERY_MAX);
    if (s.filter.group.p && note_group_fault(s.filter.group))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "group %s",
                               note_group_fault(s.filter.group));
    if (!s.filter.project.p)
        return ask_to_search(c, &s);
    if (memory_search(self->memory, a, &s, &f, &c->call->err))
        return FUMI_FAIL;
    struct agent_given given = {.n = 0};
    for (size_t i = 0; i < f.results.n; i++)
        given_add(&given, a, &f.results.items[i].note);
    given_record(&given, self->memory, c->call, "recall", s.filter.project);
    fumi_mcp_text(c, render_found(a, query, &f));
    return FUMI_OK;
}

/* Arguments of prompts are strings. Returns false if it is not a number in the range. */
static bool read_tokens(struct fumi_str s, size_t *out)
{
    char text[16], *end;
    if (!s.p)
        return true;
    if (s.n >= sizeof(text) || s.p[0] < '0' || s.p[0] > '9')
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    unsigned long long n = strtoull(text, &end, 10);
    *out = (size_t)n;
    return !*end && n >= TOKENS_MIN && n <= TOKENS_MAX;
}

static enum fumi_ret session_start(struct fumi_mcp_call *c)
{
    const struct agent *self = c->self;
    struct fumi_str project = argument(c, "project"), text;
    size_t tokens = TOKENS_DEFAULT;
    struct agent_given given = {.n = 0};
    if (!project.p)
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "project is required");
    if (!read_tokens(argument(c, "maxTokens"), &tokens))
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS,
                               "maxTokens must be a whole number from %d to %d", TOKENS_MIN,
                               TOKENS_MAX);
    if (agent_digest(self->memory, c->call->arena, project, tokens, &text, &given, &c->call->err) ||
        project_canonical(c->call->arena, project, &project, &c->call->err))
        return FUMI_FAIL;
    given_record(&given, self->memory, c->call, "session_start", project);
    fumi_mcp_text(c, text);
    return FUMI_OK;
}

#define PROJECT "The project: a path, such as the repository, or its name."

static const struct fumi_prompt_argument remember_arguments[] = {
    {"project", PROJECT " The repository of the working directory if not given.", false},
    {"focus", "What to look at; everything if not given.", false},
};
static const struct fumi_prompt_argument recall_arguments[] = {
    {"query", "What you want to know.", true},
    {"project", PROJECT " The model chooses if not given.", false},
    {"group", "Only notes of this group.", false},
    {"tag", "Only notes with this tag.", false},
};
static const struct fumi_prompt_argument start_arguments[] = {
    {"project", PROJECT, true},
    {"maxTokens", "Maximum length of the digest in tokens; 1500 if not given.", false},
};

const struct fumi_prompt agent_prompts[] = {
    {"remember_session", "Remember this session",
     "Looks back at the session and stores what later ones need.", remember_arguments,
     FUMI_COUNT(remember_arguments), remember_session, 0},
    {"recall", "Recall", "Answers a question from what is remembered.", recall_arguments,
     FUMI_COUNT(recall_arguments), recall, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"session_start", "Start a session",
     "A digest of the notes of a project: settings, rules, important and newest notes.",
     start_arguments, FUMI_COUNT(start_arguments), session_start, FUMI_BLOCKING | FUMI_READ_ONLY},
};
const size_t agent_prompts_n = FUMI_COUNT(agent_prompts);
