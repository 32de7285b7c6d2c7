/* A server for one project, and a read-only one: tests every method, tool, resource, prompt and
 * completion that the server lists, over plain JSON-RPC and over legacy and modern MCP. A new one
 * without a row here makes the test fail. */
#include "scope_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

enum era { PLAIN, LEGACY, MODERN, ERAS };

static const struct scope of_project = {.project = {"/srv/x/../alpha", 15}};
static const struct scope of_reader = {.read_only = true};
static const struct scope of_both = {.project = {OWN, sizeof(OWN) - 1}, .read_only = true};

static bool begin(struct fixture *t, struct scope s)
{
    if (!world_make(t))
        return false;
    t->scope = s;
    return fixture_serve(t, AGENT_ADMIN);
}

/* Sends a request and returns all output it causes; `members` are those of its params. Every
 * request has the same id, so that responses can be compared. */
static struct fumi_str ask(struct fixture *t, enum era era, const char *method,
                           struct fumi_str members, struct fumi_str *request)
{
    const char *meta = era == MODERN ? META : "";
    *request = fumi_fmt(&t->a,
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s%s%.*s}}",
                        method, meta, *meta && members.n ? "," : "", FUMI_ARG(members));
    return fumi_dup(&t->a, reply_to_str(&t->caller, *request));
}

static struct fumi_str ask_row(struct fixture *t, enum era era, const char *method,
                               struct fumi_str params, struct fumi_str *request)
{
    if (era != PLAIN)
        return ask(
            t, era, "tools/call",
            fumi_fmt(&t->a, "\"name\":\"memory_%s\",\"arguments\":%.*s", method, FUMI_ARG(params)),
            request);
    struct fumi_str members = {params.p + 1, params.n - 2};
    return ask(t, PLAIN, fumi_fmt(&t->a, "memory.%s", method).p, members, request);
}

static const struct fumi_val *result_of(struct fixture *t, struct fumi_str answer)
{
    return fumi_get(fumi_parse(&t->a, answer, &t->e), "result");
}

static struct fumi_str replaced(struct fixture *t, struct fumi_str s, const char *old,
                                const char *by)
{
    const char *at = memmem(s.p, s.n, old, strlen(old));
    if (!at)
        return s;
    struct fumi_str rest = {at + strlen(old), s.n - (size_t)(at - s.p) - strlen(old)};
    return fumi_fmt(&t->a, "%.*s%s%.*s", (int)(at - s.p), s.p, by,
                    FUMI_ARG(replaced(t, rest, old, by)));
}

/* The tools of a server without a scope. */
static const struct fumi_val *offered(struct fixture *t)
{
    struct fumi_str request;
    return fumi_get(result_of(t, ask(t, LEGACY, "tools/list", (struct fumi_str){0}, &request)),
                    "tools");
}

static bool has_tool(struct fixture *t, const struct fumi_val *list, const char *method)
{
    struct fumi_str name = fumi_fmt(&t->a, "memory_%s", method);
    for (const struct fumi_val *v = fumi_first(list); v; v = fumi_after(list, v))
        if (fumi_text_is(fumi_get(v, "name"), name))
            return true;
    return false;
}

/* An id of another project and an unknown id get the same answer. */
static bool as_unknown(struct fixture *t, enum era era, const struct row *r, struct fumi_str answer)
{
    struct fumi_str request, params = replaced(t, fumi_str(r->params), "\"f-", "\"u-");
    struct fumi_str other = ask_row(t, era, r->method, params, &request);
    other = replaced(t, other, ": u-", ": f-"); /* an error may repeat the id */
    if (fumi_eq(answer, other))
        return true;
    fprintf(stderr, "%s %s\n-> %.*s\nbut of an unknown id\n-> %.*s\n", r->method, r->params,
            FUMI_ARG(answer), FUMI_ARG(other));
    return false;
}

static void run_row(struct fixture *t, enum era era, const struct row *r)
{
    struct fumi_str request, answer = ask_row(t, era, r->method, fumi_str(r->params), &request);
    if (!row_holds(t, r, &t->scope, request, answer))
        TEST_FAIL("%s does not match its row", r->method);
    if (t->scope.project.p && r->want == MISSING && !as_unknown(t, era, r, answer))
        TEST_FAIL("%s reveals that an id of another project exists", r->method);
}

static void run_rows(struct scope s, enum era era)
{
    struct fixture t;
    CHECK(begin(&t, (struct scope){0}));
    struct fumi_str list = fumi_raw(offered(&t)), request;
    char *kept = strndup(list.p, list.n);
    fixture_end(&t);
    CHECK(kept && begin(&t, s));
    const struct fumi_val *tools = fumi_parse(&t.a, fumi_str(kept), &t.e);
    struct fumi_str all = world_dump(&t, false), foreign = world_dump(&t, true);
    for (size_t i = 0; i < ROWS; i++)
        if (era == PLAIN || has_tool(&t, tools, rows[i].method))
            run_row(&t, era, &rows[i]);
    CHECK(holds(foreign, "zqvalue") && fumi_eq(world_dump(&t, true), foreign));
    if (s.read_only)
        CHECK(fumi_eq(world_dump(&t, false), all));
    else
        CHECK(!fumi_eq(world_dump(&t, false), all));
    /* The server still answers. */
    struct fumi_str answer = ask_row(&t, era, "stats", FUMI_STR("{}"), &request);
    CHECK_INT(code_in(&t, answer), 0);
    fixture_end(&t);
    free(kept);
}

TEST(one_project_plain)
{
    run_rows(of_project, PLAIN);
}

TEST(one_project_legacy_tools)
{
    run_rows(of_project, LEGACY);
}

TEST(one_project_modern_tools)
{
    run_rows(of_project, MODERN);
}

TEST(read_only_plain)
{
    run_rows(of_reader, PLAIN);
}

TEST(read_only_legacy_tools)
{
    run_rows(of_reader, LEGACY);
}

TEST(read_only_modern_tools)
{
    run_rows(of_reader, MODERN);
}

TEST(one_project_read_only)
{
    run_rows(of_both, PLAIN);
    run_rows(of_both, LEGACY);
}

static bool has_row(const char *method, enum want want)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].method, method) && rows[i].want == want)
            return true;
    return false;
}

static bool has_param(const struct fumi_method *m, const char *name)
{
    for (size_t i = 0; m->params && i < m->params->n; i++)
        if (!strcmp(m->params->fields[i].name, name))
            return true;
    return false;
}

static bool writes(const char *method)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].method, method))
            return rows[i].writes;
    return false;
}

/* Methods that do not belong to the memory: those of MCP, which other tests here cover, and those
 * of the protocol. */
static const char *const others[] = {
    "rpc.discover",
    "rpc.cancel",
    "initialize",
    "ping",
    "logging/setLevel",
    "server/discover",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "notifications/elicitation/complete",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "completion/complete",
};

static bool is_known(struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(others); i++)
        if (fumi_eq(name, fumi_str(others[i])))
            return true;
    return false;
}

static void check_rows_of(const struct fumi_method *m, struct fumi_str name)
{
    struct fumi_str prefix = FUMI_STR("memory.");
    if (!fumi_starts(name, prefix)) {
        if (!is_known(name))
            TEST_FAIL("%.*s is not known to this test", FUMI_ARG(name));
        return;
    }
    const char *bare = m->name;
    if (m->flags & FUMI_SUBSCRIPTION) /* memory.watch sends a number: tests/page */
        return;
    if (!has_row(bare, FINE) && !has_row(bare, POLICY))
        TEST_FAIL("%s has no row", bare);
    if (has_param(m, "projectId") && !has_row(bare, OTHER))
        TEST_FAIL("%s takes a projectId and has no row with another project", bare);
    if (has_param(m, "id") && !has_row(bare, MISSING))
        TEST_FAIL("%s takes an id and has no row with one of another project", bare);
    if (!(m->flags & FUMI_READ_ONLY) && !writes(bare))
        TEST_FAIL("%s writes, which its row does not send_text", bare);
}

TEST(every_method_and_tool_has_its_rows)
{
    struct fixture t;
    struct fumi_str name;
    CHECK(begin(&t, (struct scope){0}));
    for (size_t i = 0; i < fumi_server_size(t.server); i++) {
        const struct fumi_method *m = fumi_server_at(t.server, i, &name);
        check_rows_of(m, name);
    }
    const struct fumi_val *list = offered(&t);
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        n += (i == 0 || strcmp(rows[i].method, rows[i - 1].method) != 0) &&
             has_tool(&t, list, rows[i].method);
    CHECK(n == fumi_size(list)); /* rows of a method stand together */
    fixture_end(&t);
}

TEST(a_read_only_server_lists_what_reads)
{
    struct fixture t;
    struct fumi_str request;
    CHECK(begin(&t, of_reader));
    const struct fumi_val *list = offered(&t);
    CHECK(fumi_size(list) > 5);
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].writes && has_tool(&t, list, rows[i].method))
            TEST_FAIL("%s is listed", rows[i].method);
    CHECK(has_tool(&t, list, "search") && has_tool(&t, list, "stats"));
    struct fumi_str prompts = ask(&t, MODERN, "prompts/list", (struct fumi_str){0}, &request);
    CHECK(holds(prompts, "\"recall\"") && !holds(prompts, "remember_session"));
    struct fumi_str hello = ask(&t, MODERN, "server/discover", (struct fumi_str){0}, &request);
    CHECK(holds(hello, "This memory is read-only here"));
    fixture_end(&t);
}

static int64_t number(const struct fumi_val *v, const char *name)
{
    int64_t n = -1;
    fumi_int(fumi_get(v, name), &n);
    return n;
}

TEST(counts_are_of_the_project)
{
    struct fixture t;
    struct fumi_str request;
    CHECK(begin(&t, of_project));
    const struct fumi_val *v = result_of(&t, ask_row(&t, PLAIN, "stats", FUMI_STR("{}"), &request));
    static const char *const names[] = {"notes", "projects", "groups", "globals", "vectors"};
    static const int64_t counts[] = {3, 1, 1, 1, 2};
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        CHECK_INT(number(v, names[i]), counts[i]);
    CHECK_INT(number(v, "bytes"), 0);
    CHECK_INT(number(fumi_get(v, "embedding"), "done"), 2);
    CHECK_INT(number(fumi_get(v, "embedding"), "total"), 3);
    fixture_end(&t);
}

/* Values of template variables and prompt arguments: of our project, of another one, unknown. */
static const struct {
    const char *name, *own, *foreign, *unknown;
} values[] = {
    {"project", "%2Fsrv%2Falpha", "%2Fsrv%2Fzqproject", "%2Fsrv%2Funknown"},
    {"group", "agroup", "zqgroup", "unknown"},
    {"id", "a-note-1", "f-note-1", "u-note-1"},
    {"tag", "atag", "zqtag", "unknown"},
    {"query", "kettle", "kettle zqtext", "kettle"},
    {"focus", "tea", "zqtext", "tea"},
    {"maxTokens", "1500", "1500", "1500"},
};

enum kind { FROM_OWN, FROM_FOREIGN, FROM_NOBODY };

static const char *value_of(const char *name, enum kind kind)
{
    for (size_t i = 0; i < FUMI_COUNT(values); i++)
        if (!strcmp(values[i].name, name))
            return kind == FROM_OWN       ? values[i].own
                   : kind == FROM_FOREIGN ? values[i].foreign
                                          : values[i].unknown;
    TEST_FAIL("%s is not known to this test", name);
    return "";
}

/* Arguments are not percent-encoded. */
static const char *argument_of(const char *name, enum kind kind)
{
    static const char *const projects[] = {OWN, FOREIGN, "/srv/unknown"};
    return strcmp(name, "project") ? value_of(name, kind) : projects[kind];
}

/* A template with its variables filled in; `only`: the one that is not ours; NULL: all. */
static struct fumi_str filled(struct fixture *t, struct fumi_str uri, enum kind kind,
                              const char *only)
{
    const char *open = memchr(uri.p, '{', uri.n);
    if (!open)
        return uri;
    const char *shut = memchr(open, '}', uri.n - (size_t)(open - uri.p));
    const char *name = fumi_fmt(&t->a, "%.*s", (int)(shut - open - 1), open + 1).p;
    struct fumi_str rest = {shut + 1, uri.n - (size_t)(shut + 1 - uri.p)};
    bool other = !only || !strcmp(only, name);
    return fumi_fmt(&t->a, "%.*s%s%.*s", (int)(open - uri.p), uri.p,
                    value_of(name, other ? kind : FROM_OWN), FUMI_ARG(filled(t, rest, kind, only)));
}

static struct fumi_str read_uri(struct fixture *t, enum era era, struct fumi_str uri)
{
    struct fumi_str request, members = fumi_fmt(&t->a, "\"uri\":\"%.*s\"", FUMI_ARG(uri));
    struct fumi_str answer = ask(t, era, "resources/read", members, &request);
    const char *leak = leak_in(request, answer);
    if (leak)
        TEST_FAIL("resources/read %.*s leaks %s", FUMI_ARG(uri), leak);
    return replaced(t, answer, fumi_fmt(&t->a, "%.*s", FUMI_ARG(uri)).p, "URI");
}

static void check_template(struct fixture *t, enum era era, struct fumi_str uri)
{
    static const char *const whichs[] = {NULL, "project", "group", "id"};
    CHECK_INT(code_in(t, read_uri(t, era, filled(t, uri, FROM_OWN, NULL))), 0);
    for (size_t i = 0; i < FUMI_COUNT(whichs); i++) {
        struct fumi_str foreign = filled(t, uri, FROM_FOREIGN, whichs[i]);
        if (fumi_eq(foreign, filled(t, uri, FROM_OWN, NULL)))
            continue; /* it has no such variable */
        struct fumi_str answer = read_uri(t, era, foreign);
        CHECK(code_in(t, answer) < -1);
        CHECK(fumi_eq(answer, read_uri(t, era, filled(t, uri, FROM_NOBODY, whichs[i]))));
    }
}

static void check_list(struct fixture *t, enum era era)
{
    struct fumi_str request;
    struct fumi_str answer = ask(t, era, "resources/list", (struct fumi_str){0}, &request);
    const struct fumi_val *list = fumi_get(result_of(t, answer), "resources"), *v;
    CHECK(!leak_in(request, answer));
    CHECK_INT(fumi_size(list), 4); /* the projects, the app, and two of ours */
    for (v = fumi_first(list); v; v = fumi_after(list, v))
        CHECK_INT(code_in(t, read_uri(t, era, fixture_text(t, v, "uri"))), 0);
    answer = ask(t, era, "resources/list", FUMI_STR("\"cursor\":\"after-%2Fsrv%2Fb\""), &request);
    CHECK(!leak_in(request, answer) && code_in(t, answer) == 0);
}

TEST(resources_are_of_the_project)
{
    struct fixture t;
    struct fumi_str request;
    CHECK(begin(&t, of_project));
    for (enum era era = LEGACY; era < ERAS; era++) {
        struct fumi_str answer = ask(&t, era, "resources/templates/list", (struct fumi_str){0},
                                     &request);
        const struct fumi_val *list = fumi_get(result_of(&t, answer), "resourceTemplates"), *v;
        CHECK(fumi_size(list) >= 4);
        for (v = fumi_first(list); v; v = fumi_after(list, v))
            check_template(&t, era, fixture_text(&t, v, "uriTemplate"));
        check_list(&t, era);
    }
    fixture_end(&t);
}

/* The arguments of a prompt, each as `kind` has it. */
static struct fumi_str arguments(struct fixture *t, const struct fumi_val *prompt, enum kind kind)
{
    const struct fumi_val *list = fumi_get(prompt, "arguments"), *v;
    struct fumi_str out = FUMI_STR("");
    for (v = fumi_first(list); v; v = fumi_after(list, v)) {
        struct fumi_str name = fixture_text(t, v, "name");
        out = fumi_fmt(&t->a, "%.*s%s\"%.*s\":\"%s\"", FUMI_ARG(out), out.n ? "," : "",
                       FUMI_ARG(name),
                       argument_of(fumi_fmt(&t->a, "%.*s", FUMI_ARG(name)).p, kind));
    }
    return out;
}

static void check_prompt(struct fixture *t, enum era era, const struct fumi_val *prompt)
{
    for (enum kind kind = FROM_OWN; kind <= FROM_NOBODY; kind++) {
        struct fumi_str request, name = fixture_text(t, prompt, "name");
        struct fumi_str answer = ask(t, era, "prompts/get",
                                     fumi_fmt(&t->a, "\"name\":\"%.*s\",\"arguments\":{%.*s}",
                                              FUMI_ARG(name), FUMI_ARG(arguments(t, prompt, kind))),
                                     &request);
        const char *leak = leak_in(request, answer);
        bool stores = fumi_eq(name, FUMI_STR("remember_session")); /* it reads nothing */
        if (leak)
            TEST_FAIL("prompt %.*s leaks %s", FUMI_ARG(name), leak);
        CHECK_INT(code_in(t, answer), kind == FROM_OWN || stores ? 0 : FUMI_INVALID_PARAMS);
    }
}

TEST(prompts_are_of_the_project)
{
    struct fixture t;
    struct fumi_str request;
    CHECK(begin(&t, of_project));
    for (enum era era = LEGACY; era < ERAS; era++) {
        struct fumi_str answer = ask(&t, era, "prompts/list", (struct fumi_str){0}, &request);
        const struct fumi_val *list = fumi_get(result_of(&t, answer), "prompts"), *v;
        CHECK(fumi_size(list) >= 3);
        for (v = fumi_first(list); v; v = fumi_after(list, v))
            check_prompt(&t, era, v);
    }
    fixture_end(&t);
}

/* The values offered for an argument that begins with `typed`, in each context. */
static void check_argument(struct fixture *t, enum era era, struct fumi_str ref, const char *name)
{
    static const char *const typed[] = {"", "zq", "/srv/", "a", "ZQ"};
    static const char *const contexts[] = {
        "", ",\"context\":{\"arguments\":{\"project\":\"" OWN "\"}}",
        ",\"context\":{\"arguments\":{\"project\":\"" FOREIGN "\"}}"};
    for (size_t i = 0; i < FUMI_COUNT(typed); i++)
        for (size_t k = 0; k < FUMI_COUNT(contexts); k++) {
            struct fumi_str request,
                members = fumi_fmt(
                    &t->a, "\"ref\":{%.*s},\"argument\":{\"name\":\"%s\",\"value\":\"%s\"}%s",
                    FUMI_ARG(ref), name, typed[i], contexts[k]);
            struct fumi_str answer = ask(t, era, "completion/complete", members, &request);
            CHECK_INT(code_in(t, answer), 0);
            CHECK(!leak_in((struct fumi_str){0}, answer)); /* not even the given value */
        }
}

static void check_arguments(struct fixture *t, enum era era, const struct fumi_val *prompt)
{
    const struct fumi_val *list = fumi_get(prompt, "arguments"), *v;
    struct fumi_str ref = fumi_fmt(&t->a, "\"type\":\"ref/prompt\",\"name\":\"%.*s\"",
                                   FUMI_ARG(fixture_text(t, prompt, "name")));
    for (v = fumi_first(list); v; v = fumi_after(list, v))
        check_argument(t, era, ref,
                       fumi_fmt(&t->a, "%.*s", FUMI_ARG(fixture_text(t, v, "name"))).p);
}

static void check_variables(struct fixture *t, enum era era, struct fumi_str uri)
{
    struct fumi_str ref = fumi_fmt(&t->a, "\"type\":\"ref/resource\",\"uri\":\"%.*s\"",
                                   FUMI_ARG(uri));
    const char *end = uri.p + uri.n;
    for (const char *open = uri.p; (open = memchr(open, '{', (size_t)(end - open))); open++) {
        const char *shut = memchr(open, '}', (size_t)(end - open));
        check_argument(t, era, ref, fumi_fmt(&t->a, "%.*s", (int)(shut - open - 1), open + 1).p);
    }
}

TEST(completion_is_of_the_project)
{
    struct fixture t;
    struct fumi_str request, none = {0};
    const struct fumi_val *v;
    CHECK(begin(&t, of_project));
    for (enum era era = LEGACY; era < ERAS; era++) {
        struct fumi_str answer = ask(&t, era, "prompts/list", none, &request);
        const struct fumi_val *list = fumi_get(result_of(&t, answer), "prompts");
        for (v = fumi_first(list); v; v = fumi_after(list, v))
            check_arguments(&t, era, v);
        answer = ask(&t, era, "resources/templates/list", none, &request);
        list = fumi_get(result_of(&t, answer), "resourceTemplates");
        for (v = fumi_first(list); v; v = fumi_after(list, v))
            check_variables(&t, era, fixture_text(&t, v, "uriTemplate"));
    }
    struct fumi_str ours = ask(&t, LEGACY, "completion/complete",
                               FUMI_STR("\"ref\":{\"type\":\"ref/prompt\",\"name\":\"recall\"},"
                                        "\"argument\":{\"name\":\"tag\",\"value\":\"\"}"),
                               &request);
    CHECK(holds(ours, "\"atag\"")); /* completion works at all */
    fixture_end(&t);
}

static bool retitle(struct fixture *t, struct store *s, const char *id, const char *title)
{
    const struct note to = {.title = fumi_str(title)};
    return !store_update_note(s, &t->a, fumi_str(id), &to, NOTE_TITLE, NULL, &t->e);
}

#define UPDATED "notifications/resources/updated\",\"params\":{\"uri\":\"memory://note/"

/* Changes our note and waits for the notification. */
static bool retitle_ours(struct fixture *t, struct store *s, const char *title)
{
    bool done = retitle(t, s, "a-note-1", title);
    for (size_t n = 1; done && !holds(received(&t->caller), UPDATED "a-note-1"); n++)
        wait_notifications(&t->caller, n);
    return done;
}

/* The foreign note is subscribed to first, so the notification of ours comes last and proves that
 * there was none of the foreign note. A change at the moment of a subscription may cause an
 * unnecessary notification, so two changes of ours precede the foreign ones. */
TEST(changes_of_other_projects_are_not_notified)
{
    struct fixture t;
    struct fumi_str request;
    CHECK(begin(&t, of_project));
    struct store *s = fixture_store(&t);
    CHECK(s);
    ask(&t, LEGACY, "resources/subscribe", FUMI_STR("\"uri\":\"memory://note/f-note-1\""),
        &request);
    ask(&t, LEGACY, "resources/subscribe", FUMI_STR("\"uri\":\"memory://projects\""), &request);
    ask(&t, LEGACY, "resources/subscribe", FUMI_STR("\"uri\":\"memory://note/a-note-1\""),
        &request);
    clear_received(&t.caller);
    CHECK(retitle_ours(&t, s, "One"));
    clear_received(&t.caller);
    CHECK(retitle_ours(&t, s, "Two"));
    clear_received(&t.caller);
    CHECK(retitle(&t, s, "f-note-1", "Other"));
    CHECK(!store_delete(s, &t.a, FUMI_STR("f-note-2"), NULL, &t.e));
    CHECK(retitle_ours(&t, s, "Three"));
    CHECK(!holds(received(&t.caller), "f-note") && !holds(received(&t.caller), "projects"));
    store_close(s);
    fixture_end(&t);
}

/* Waits until memory_progress satisfies `is`. Returns false if it never does. */
static bool wait_for(struct fixture *t, struct memory *m, bool (*is)(struct embedding_progress *p),
                     struct embedding_progress *p)
{
    enum { LOOKS = 6000, LOOK_MS = 10 };
    for (int i = 0; i < LOOKS; i++, poll(NULL, 0, LOOK_MS)) {
        memory_wake(m);
        if (memory_progress(m, &t->a, p, &t->e))
            return false;
        if (is(p))
            return true;
    }
    return false;
}

static bool has_failed(struct embedding_progress *p)
{
    return p->error.p != NULL;
}

/* The error of a provider may quote the text that it was sent. */
TEST(errors_of_the_background_quote_no_other_project)
{
    struct fixture t;
    struct embedding_progress p;
    CHECK(begin(&t, of_project));
    atomic_store(&t.fake->mode, FAKE_ECHO_KEY);
    CHECK_INT(memory_start(t.m, &t.e), 0);
    CHECK(wait_for(&t, t.m, has_failed, &p));
    CHECK_STR(p.error, "embedding failed; see the log of the server");
    CHECK_INT(p.total, 3);
    fixture_end(&t);
}

static bool is_of_n(struct embedding_progress *p)
{
    return fumi_starts(p->serving, FUMI_STR("openai:n:")) && p->done == p->total;
}

/* Reads the configuration again, as the other process wrote it. */
static int reload(void *arg, struct fumi_arena *a, struct embed_config *now,
                  struct embed_config *previous, struct fumi_err *e)
{
    struct fixture *t = arg;
    (void)e;
    *now = memory_embedder(t->m, a);
    *previous = (struct embed_config){.provider = {0}};
    return 0;
}

/* Another process changes the model and embeds all notes. */
TEST(a_read_only_memory_follows_others)
{
    struct fixture t;
    struct embedding_progress p;
    struct fumi_str warning;
    const struct embed_config change = {.model = FUMI_STR("n")};
    CHECK(world_make(&t) && fixture_memory(&t));
    struct memory_options o = {.store = fixture_store(&t),
                               .embed = memory_embedder(t.m, &t.a),
                               .log = &fixture_quiet,
                               .scope = of_reader,
                               .reload = reload,
                               .arg = &t};
    struct memory *reader = memory_open(&o, &t.e);
    CHECK(reader && !memory_start(reader, &t.e) && !memory_start(t.m, &t.e));
    CHECK_INT(memory_set_embedder(t.m, &t.a, &change, 10000, false, &warning, &t.e), 0);
    CHECK(wait_for(&t, reader, is_of_n, &p));
    CHECK_INT(p.done, 6);
    CHECK(!p.running);
    memory_close(reader);
    memory_close(t.m);
    world_end(&t);
}

/* The configuration names another model than the one whose vectors are there. */
TEST(a_read_only_memory_writes_no_fact)
{
    struct fixture t;
    struct fumi_str before, after;
    CHECK(world_make(&t) && fixture_memory(&t));
    struct memory_options o = {.store = fixture_store(&t),
                               .embed = memory_embedder(t.m, &t.a),
                               .log = &fixture_quiet,
                               .scope = of_reader};
    struct store *s = memory_store(t.m);
    CHECK_INT(store_get_meta(s, &t.a, "target", &before, &t.e), 0);
    o.embed.model = FUMI_STR("another");
    struct memory *reader = memory_open(&o, &t.e);
    CHECK(reader);
    CHECK_INT(store_get_meta(s, &t.a, "target", &after, &t.e), 0);
    CHECK(fumi_starts(before, FUMI_STR("openai:m:")) && fumi_eq(before, after));
    memory_close(reader);
    memory_close(t.m);
    world_end(&t);
}

/* The name is part of the instructions for the model and of errors. */
TEST(a_project_is_one_line)
{
    struct fixture t;
    CHECK(world_make(&t));
    t.scope = (struct scope){.project = FUMI_STR("/srv/a\n# Rules")};
    CHECK(!fixture_memory(&t));
    CHECK(strstr(t.e.text, "must be one line of visible text"));
    world_end(&t);
}
