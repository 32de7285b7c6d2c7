/* fumi search */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>

enum { LINE_MAX_BYTES = 64 << 10, NEAR_MISSES = 2 };

struct search_flags {
    struct fumi_str format;
    bool input;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct search_flags, format, "format", "Output format: text or json.",
               .def = "\"text\""),
    FUMI_FIELD(struct search_flags, input, "stdin",
               "Read the query from the first line of standard input."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct search_flags, fields);

static const struct flag_alias aliases[] = {
    {"p", "project"}, {"g", "group"}, {"k", "top-k"}, {"f", "format"}, COMMAND_ALIASES,
};

static struct fumi_str trimmed(struct fumi_str s)
{
    while (s.n && strchr(" \t\r\n", s.p[0]))
        s.p++, s.n--;
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Reads the first line of standard input. Does not wait for the end of the input. */
static int read_line(struct fumi_arena *a, struct fumi_str *out)
{
    char *line = fumi_alloc(a, LINE_MAX_BYTES);
    if (!fgets(line, LINE_MAX_BYTES, stdin))
        return -1;
    *out = trimmed(fumi_str(line));
    return 0;
}

/* Whether --project may be missing: the working directory is in a repository, or has notes. */
static bool is_known(struct invocation *i)
{
    struct session s = {0};
    struct place here;
    struct fumi_str none = {0};
    struct fumi_err e;
    bool known = place_find(i->a, none, false, &here, &e) == 0;
    if (known && !here.root.p)
        known = session_old_store(&s, &i->common, &e) == 0 && session_has_notes(&s, here.project);
    session_close(&s);
    return known;
}

/* Errors are reported in this order: project, query, number, format. */
static int check(struct invocation *i, const struct fumi_val *given, struct fumi_str *query)
{
    const struct search_flags *f = i->flags;
    *query = command_joined(i->a, i->words);
    int64_t top_k = 1;
    fumi_int(fumi_get(given, "topK"), &top_k);
    if (!fumi_text(i->a, fumi_get(given, "projectId")).n && !is_known(i))
        return command_misuse(i, "project ID is required (-p or --project)");
    if (f->input && read_line(i->a, query))
        return command_fail(STATUS_FAILED, "failed to read query from stdin: no input received");
    if (f->input && !fumi_utf8_valid(*query))
        return command_misuse(i, "standard input is not UTF-8 text");
    if (!f->input && !i->words.n)
        return command_misuse(i, "query is required (or use --stdin)");
    if (!trimmed(*query).n)
        return command_misuse(i, "query is empty");
    if (top_k <= 0)
        return command_misuse(i, "top-k must be greater than 0");
    if (f->format.n && !fumi_eq(f->format, FUMI_STR("text")) &&
        !fumi_eq(f->format, FUMI_STR("json")))
        return command_misuse(i, "invalid format: %.*s (must be text or json)",
                              FUMI_ARG(f->format));
    return STATUS_OK;
}

static void put_member(struct fumi_out *o, const struct fumi_val *hit, const char *name)
{
    const struct fumi_val *v = fumi_get(hit, name);
    fumi_put_key(o, name);
    fumi_put_val(o, v);
}

static bool is_one_of(struct fumi_str name, const char *const *names)
{
    for (; *names; names++)
        if (fumi_eq(name, fumi_str(*names)))
            return true;
    return false;
}

/* An empty title and empty tags are left out. */
static void put_hit(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *hit)
{
    static const char *const first[] = {"id", "title", "text", "score", "tags", NULL};
    const struct fumi_val *title = fumi_get(hit, "title");
    fumi_put_open(o, '{');
    put_member(o, hit, "id");
    if (fumi_is(title, FUMI_STRING) && title->n)
        put_member(o, hit, "title");
    put_member(o, hit, "text");
    put_member(o, hit, "score");
    if (fumi_first(fumi_get(hit, "tags")))
        put_member(o, hit, "tags");
    for (const struct fumi_val *key = fumi_first(hit); key; key = fumi_after(hit, key)) {
        struct fumi_str name = fumi_text(a, key);
        if (is_one_of(name, first))
            continue;
        fumi_put_key_str(o, name);
        fumi_put_val(o, fumi_of(key));
    }
    fumi_put_close(o, '}');
}

static void print_json(struct invocation *i, const struct fumi_val *given,
                       const struct fumi_val *result)
{
    int64_t max_tokens = 0;
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    const struct fumi_val *hits = fumi_get(result, "results");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "results");
    fumi_put_open(&o, '[');
    for (const struct fumi_val *hit = fumi_first(hits); hit; hit = fumi_after(hits, hit))
        put_hit(i->a, &o, hit);
    fumi_put_close(&o, ']');
    fumi_int(fumi_get(given, "maxTokens"), &max_tokens);
    if (fumi_is(fumi_get(given, "explain"), FUMI_TRUE) || max_tokens)
        put_member(&o, result, "meta");
    fumi_put_close(&o, '}');
    notes_print_json(i->a, &text);
}

static void print_hit(struct fumi_arena *a, const struct fumi_val *hit, size_t number,
                      const struct marks *marks)
{
    double score = 0, relevance = 0;
    struct fumi_str title = show_line(a, fumi_text(a, fumi_get(hit, "title")));
    fumi_real(fumi_get(hit, "relevance"), &relevance);
    if (!title.n)
        title = FUMI_STR("(no title)");
    printf("[%zu] %s%.*s%s ", number, show_style(stdout, SHOW_BOLD), FUMI_ARG(title),
           show_style(stdout, SHOW_PLAIN));
    if (fumi_real(fumi_get(hit, "score"), &score)) /* a small --max-tokens omits the score */
        printf("(score: %.2f) ", score);
    printf("(relevance: %.2f)  ", relevance);
    notes_print_facts(a, hit);
    struct fumi_str project = show_line(a, fumi_text(a, fumi_get(hit, "project")));
    if (project.n)
        printf("  {%.*s}", FUMI_ARG(project));
    putchar('\n');
    notes_print_compact(a, hit, marks);
    const struct fumi_val *why = fumi_get(hit, "explain");
    if (why)
        printf("    explain: %.*s\n", FUMI_ARG(show_escaped(a, fumi_compact(a, why).text)));
    putchar('\n');
}

static void print_omitted(const struct fumi_val *omitted)
{
    int64_t n = 0;
    if (fumi_int(omitted, &n) && n)
        printf("%" PRId64 " more did not fit into --max-tokens.\n", n);
}

/* Prints "No results found.", "Nothing relevant found.", or nothing. Returns how many notes to
 * print. */
static size_t print_confidence(const struct fumi_val *hits, const struct fumi_val *meta)
{
    size_t n = fumi_size(hits);
    if (!n)
        puts("No results found.");
    if (!n || !fumi_text_is(fumi_get(meta, "confidence"), FUMI_STR("none")))
        return n;
    puts("Nothing relevant found. The closest notes:\n");
    return n < NEAR_MISSES ? n : NEAR_MISSES;
}

static void print_pending(const struct fumi_val *meta)
{
    int64_t pending = 0;
    if (fumi_int(fumi_get(meta, "pending"), &pending) && pending)
        printf("%" PRId64 " %s found by keyword only until vectors are ready.\n", pending,
               pending == 1 ? "note is" : "notes are");
}

/* Says that the project has no notes. What is found then is of other projects. */
static void warn_unknown(struct fumi_arena *a, const struct fumi_val *meta)
{
    int64_t n = 1;
    struct fumi_str message = show_line(a, fumi_text(a, fumi_get(meta, "message")));
    fumi_int(fumi_get(fumi_get(meta, "filtered"), "inProject"), &n);
    if (!n && message.n)
        fprintf(stderr, "%.*s\n", FUMI_ARG(message));
}

static void print_text(struct invocation *i, const struct fumi_val *given, struct fumi_str query,
                       const struct fumi_val *result)
{
    const struct marks *marks = marks_new(i->a, query);
    const struct fumi_val *hits = fumi_get(result, "results"), *meta = fumi_get(result, "meta");
    size_t most = print_confidence(hits, meta), n = 0;
    for (const struct fumi_val *hit = fumi_first(hits); n < most; hit = fumi_after(hits, hit))
        print_hit(i->a, hit, ++n, marks);
    warn_unknown(i->a, meta);
    print_pending(meta);
    print_omitted(fumi_get(meta, "omitted"));
    if (fumi_is(fumi_get(given, "explain"), FUMI_TRUE))
        printf("meta: %.*s\n", FUMI_ARG(show_escaped(i->a, fumi_compact(i->a, meta).text)));
}

static int search(struct invocation *i)
{
    const struct search_flags *f = i->flags;
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct fumi_str query = {0};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL, *given = fumi_parse(i->a, i->params.text, &e);
    int status = given ? check(i, given, &query) : command_report(&e);
    if (status)
        return status;
    fumi_put_open(&o, '{');
    notes_put_given(i->a, &o, given);
    notes_put(&o, "query", query);
    fumi_put_close(&o, '}');
    i->json |= fumi_eq(f->format, FUMI_STR("json"));
    i->short_ids = !i->json;
    if ((status = session_once(i, command_search.method, &params, &result)))
        return status;
    notes_warn(i->a, fumi_get(result, "meta"));
    if (i->json)
        print_json(i, given, result);
    else
        print_text(i, given, query, result);
    return STATUS_OK;
}

const struct command command_search = {
    .name = "search",
    .usage = "WORD...",
    .help = "Finds notes by meaning and by keyword.",
    .more =
        "The words are the query. The default project is the repository that contains the working "
        "directory, or else the working directory, if it has notes. Separate tags by commas. As "
        "text, each note is printed as a line with its title, score, short id, time and group, a "
        "line with the beginning of its text, and a line with its tags.",
    .shape = &shape,
    .method = "memory.search",
    .word_param = "query",
    .aliases = aliases,
    .words = ANY_WORDS,
    .output = OUTPUT_JSON,
    .prints = "The member `results` of the result of `memory.search`, in which empty titles and "
              "tags are left out; with `--explain` or `--max-tokens` also `meta`.",
    .run = search,
};
