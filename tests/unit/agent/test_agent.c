/* The memory as an MCP client of revision 2025-11-25 sees it. */
#include "agent_fixture.h"

static const char *const seed[] = {
    "memory_add_note",     "memory_search",       "memory_get",        "memory_update",
    "memory_delete",       "memory_list_recent",  "memory_get_config", "memory_upsert_global",
    "memory_get_global",   "memory_group_create", "memory_group_get",  "memory_group_update",
    "memory_group_delete", "memory_group_list",
};

enum { CORE = 9, CORE_BYTES = 8000, DESCRIPTION = 1500, INSTRUCTIONS = 2000, ESSENCE = 500 };

static void print_cost(const char *what, struct fumi_str text)
{
    printf("%-44s %6zu bytes %6zu tokens\n", what, text.n, (text.n + 3) / 4);
}

TEST(the_core_list_is_small_and_always_the_same)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    struct fumi_str first = fumi_raw(ASK(&t, "tools/list", "{}"));
    struct fumi_str second = fumi_raw(ASK(&t, "tools/list", "{}"));
    CHECK(fumi_eq(first, second));
    print_cost("tools/list, --tools core", first);
    CHECK(first.n < CORE_BYTES);
    struct fumi_str modern = fumi_raw(ASK(&t, "tools/list",
                                          "{\"_meta\":{\"io.modelcontextprotocol/"
                                          "protocolVersion\":\"2026-07-28\",\"io."
                                          "modelcontextprotocol/clientCapabilities\":{}}}"));
    print_cost("tools/list, revision 2026-07-28", modern);
    CHECK(holds(modern, "ttlMs") && modern.n < CORE_BYTES);
    const struct fumi_val *list = fumi_get(fumi_parse(&t.a, first, &t.e), "tools");
    CHECK_INT(fumi_size(list), CORE);
    fixture_end(&t);
}

static bool is_bool(const struct fumi_val *v, const char *name)
{
    return fumi_is_bool(fumi_get(v, name));
}

static bool is_name(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && s.p[i] != '_')
            return false;
    return s.n && s.n <= 40;
}

static void check_tool(struct fixture *t, const struct fumi_val *tool)
{
    struct fumi_str name = fixture_text(t, tool, "name"),
                    help = fixture_text(t, tool, "description");
    const struct fumi_val *hints = fumi_get(tool, "annotations");
    const struct fumi_val *in = fumi_get(tool, "inputSchema"),
                          *out = fumi_get(tool, "outputSchema");
    CHECK(is_name(name) && fixture_text(t, tool, "title").n);
    CHECK(fumi_starts(help, FUMI_STR("Use ")) && help.n <= DESCRIPTION);
    CHECK(is_bool(hints, "readOnlyHint") && is_bool(hints, "destructiveHint"));
    CHECK(is_bool(hints, "idempotentHint") && is_bool(hints, "openWorldHint"));
    CHECK(!fumi_is(fumi_get(hints, "readOnlyHint"), FUMI_TRUE) ||
          !fumi_is(fumi_get(hints, "destructiveHint"), FUMI_TRUE));
    CHECK(fumi_text_is(fumi_get(in, "type"), FUMI_STR("object")));
    CHECK(fumi_text_is(fumi_get(out, "type"), FUMI_STR("object")));
    CHECK(!fumi_get(out, "required") && !fumi_get(out, "additionalProperties"));
}

TEST(all_tools_are_there_in_order)
{
    struct fixture t;
    size_t i = 0;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str text = fumi_raw(ASK(&t, "tools/list", "{}"));
    print_cost("tools/list, --tools all", text);
    const struct fumi_val *list = fumi_get(fumi_parse(&t.a, text, &t.e), "tools"), *v;
    for (v = fumi_first(list); v; v = fumi_after(list, v), i++) {
        check_tool(&t, v);
        if (i < FUMI_COUNT(seed))
            CHECK_STR(fixture_text(&t, v, "name"), seed[i]);
    }
    CHECK(i >= FUMI_COUNT(seed) + 3);
    fixture_end(&t);
}

/* memory_set_config decides which provider receives all notes. */
TEST(set_config_is_a_tool_for_admin_alone)
{
    static const enum agent_set sets[] = {AGENT_ALL, AGENT_CORE, AGENT_ADMIN};
    for (size_t i = 0; i < FUMI_COUNT(sets); i++) {
        struct fixture t;
        size_t n, found = 0;
        const struct fumi_tool *tools = agent_tools(sets[i], &n);
        bool admin = sets[i] == AGENT_ADMIN;
        for (size_t k = 0; k < n; k++)
            found += strcmp(tools[k].name, "memory_set_config") == 0;
        CHECK_INT(found, admin);
        CHECK(fixture_begin(&t, sets[i]));
        struct fumi_str list = fumi_raw(ASK(&t, "tools/list", "{}"));
        CHECK_INT(memmem(list.p, list.n, "set_config", 10) != NULL, admin);
        fixture_end(&t);
    }
}

/* Exactly the methods for agents are tools for models. */
TEST(every_method_for_agents_is_a_tool)
{
    struct fixture t;
    size_t n, tools = 0, for_models = 0;
    struct fumi_str name;
    CHECK(fixture_begin(&t, AGENT_ALL));
    const struct fumi_tool *all = agent_tools(AGENT_ADMIN, &n);
    for (size_t i = 0; i < n; i++)
        for_models += !(all[i].flags & FUMI_MCP_APP_ONLY);
    for (size_t i = 0; i < fumi_server_size(t.server); i++)
        tools += (fumi_server_at(t.server, i, &name)->flags & FUMI_TOOL) != 0;
    CHECK_INT(tools, for_models);
    fixture_end(&t);
}

/* params of a request of revision 2026-07-28, of a client with these extensions. */
#define EXTENDED(extensions)                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":" extensions "}}"
#define SHOWS_APPS                                                                                 \
    EXTENDED("{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/plain\",\"text/"              \
             "html;profile=mcp-app\"]}}")

/* Counts the tools for apps. */
static void check_app_tools(struct fixture *t, const char *params, size_t want)
{
    const struct fumi_val *list = fumi_get(ASK(t, "tools/list", "{%s}", params), "tools"), *v;
    size_t n = 0;
    for (v = fumi_first(list); v; v = fumi_after(list, v)) {
        const struct fumi_val *ui = fumi_get(fumi_get(v, "_meta"), "ui");
        struct fumi_str visibility = fumi_raw(fumi_get(ui, "visibility"));
        if (!visibility.p)
            continue;
        CHECK_STR(visibility, "[\"app\"]");
        CHECK_STR(fixture_text(t, ui, "resourceUri"), "ui://fumi/notes");
        n++;
    }
    CHECK_INT(n, want);
}

/* A model that could accept notes would need no review, so only clients that keep these tools from
 * the model get them. */
TEST(only_clients_that_show_apps_have_the_tools_of_the_review)
{
    static const char *const without[] = {
        "",
        EXTENDED("{}"),
        EXTENDED("{\"io.modelcontextprotocol/ui\":{}}"),
        EXTENDED("{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/html\",7]}}"),
        EXTENDED("{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":{\"a\":\"text/"
                 "html;profile=mcp-app\"}}}"),
    };
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (size_t i = 0; i < FUMI_COUNT(without); i++) {
        const char *call = "\"name\":\"memory_review\",\"arguments\":{}";
        check_app_tools(&t, without[i], 0);
        const struct fumi_val *v = ASK(&t, "tools/call", "{%s%s%s}", call, *without[i] ? "," : "",
                                       without[i]);
        CHECK(holds(fixture_text(&t, v, "message"), "Unknown tool: memory_review"));
    }
    check_app_tools(&t, SHOWS_APPS, 3);
    const struct fumi_val *v = ASK(&t, "tools/call",
                                   "{\"name\":\"memory_review\",\"arguments\":{}," SHOWS_APPS "}");
    CHECK_STR(fumi_raw(fumi_get(v, "structuredContent")), "{\"items\":[]}");
    fixture_end(&t);
}

TEST(the_app_is_one_document)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    const struct fumi_val *v = ASK(&t, "server/discover", "{" SHOWS_APPS "}");
    v = fumi_get(fumi_get(v, "capabilities"), "extensions");
    CHECK_STR(fumi_raw(v), "{\"io.modelcontextprotocol/ui\":{}}");
    v = ASK(&t, "resources/read", "{\"uri\":\"ui://fumi/notes\"}");
    v = fumi_first(fumi_get(v, "contents"));
    struct fumi_str text = fixture_text(&t, v, "text");
    CHECK_STR(fixture_text(&t, v, "uri"), "ui://fumi/notes");
    CHECK_STR(fixture_text(&t, v, "mimeType"), "text/html;profile=mcp-app");
    CHECK(fumi_starts(text, FUMI_STR("<!doctype html>")) && text.n < 32 << 10);
    CHECK(holds(text, "default-src 'none'") && holds(text, "ui/initialize"));
    CHECK(!holds(text, "src=") && !holds(text, "href=") && !holds(text, "innerHTML"));
    CHECK(!holds(text, "https:") && !holds(text, "@style@") && !holds(text, "@script@"));
    fixture_end(&t);
}

TEST(search_and_add_note_are_always_loaded)
{
    size_t n;
    const struct fumi_tool *core = agent_tools(AGENT_CORE, &n);
    for (size_t i = 0; i < n; i++) {
        bool matters = !strcmp(core[i].name, "memory_search") ||
                       !strcmp(core[i].name, "memory_add_note");
        CHECK_INT(core[i].meta && strstr(core[i].meta, "\"anthropic/alwaysLoad\":true"), matters);
    }
}

TEST(instructions_begin_with_recall_and_store)
{
    struct fumi_str all = fumi_str(agent_instructions), first = {all.p, ESSENCE};
    CHECK(all.n < INSTRUCTIONS);
    CHECK(holds(first, "memory_search") && holds(first, "memory_add_note"));
    print_cost("instructions", all);
}

/* Whether a value matches a schema of names and types. */
static bool agrees(const struct fumi_val *schema, const struct fumi_val *v)
{
    static const struct {
        const char *name;
        enum fumi_kind kind, other;
    } types[] = {{"object", FUMI_OBJECT, FUMI_OBJECT},  {"array", FUMI_ARRAY, FUMI_ARRAY},
                 {"string", FUMI_STRING, FUMI_STRING},  {"number", FUMI_NUMBER, FUMI_NUMBER},
                 {"integer", FUMI_NUMBER, FUMI_NUMBER}, {"boolean", FUMI_TRUE, FUMI_FALSE}};
    const struct fumi_val *type = fumi_get(schema, "type"), *i;
    bool right = !type;
    for (size_t k = 0; k < FUMI_COUNT(types); k++)
        right |= fumi_text_is(type, fumi_str(types[k].name)) &&
                 (fumi_is(v, types[k].kind) || fumi_is(v, types[k].other));
    const struct fumi_val *items = fumi_get(schema, "items"), *of = fumi_get(schema, "properties");
    for (i = items ? fumi_first(v) : NULL; i && right; i = fumi_after(v, i))
        right = agrees(items, i);
    for (i = of ? fumi_first(v) : NULL; i && right; i = fumi_after(v, i)) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)i->n, i->p);
        right = fumi_get(of, name) && agrees(fumi_get(of, name), fumi_of(i));
    }
    return right;
}

static const struct fumi_val *schema_of(struct fixture *t, const char *tool)
{
    const struct fumi_val *list = fumi_get(ASK(t, "tools/list", "{}"), "tools"), *v;
    for (v = fumi_first(list); v; v = fumi_after(list, v))
        if (fumi_text_is(fumi_get(v, "name"), fumi_str(tool)))
            return fumi_get(v, "outputSchema");
    return NULL;
}

static bool has_null(const struct fumi_val *v)
{
    for (const struct fumi_val *i = v; i < fumi_next(v); i++)
        if (fumi_is(i, FUMI_NULL))
            return true;
    return false;
}

static const struct {
    const char *tool, *arguments; /* %s: the id of the note */
} calls[] = {
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\"}"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"tags\":[\"none\"]}"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"minScore\":1,"
                      "\"explain\":true,\"mode\":\"words\"}"},
    {"memory_get", "{\"id\":\"%s\"}"},
    {"memory_update", "{\"id\":\"%s\",\"patch\":{\"title\":null,\"tags\":[\"a\"]}}"},
    {"memory_list_recent", "{\"projectId\":\"p\"}"},
    {"memory_get_config", "{}"},
    {"memory_set_config", "{}"},
    {"memory_upsert_global", "{\"projectId\":\"p\",\"key\":\"global.x\",\"value\":[1]}"},
    {"memory_get_global", "{\"projectId\":\"p\",\"key\":\"global.x\"}"},
    {"memory_get_global", "{\"projectId\":\"p\",\"key\":\"global.none\"}"},
    {"memory_list_globals", "{\"projectId\":\"p\"}"},
    {"memory_group_create", "{\"projectId\":\"p\",\"groupKey\":\"k\",\"title\":\"T\"}"},
    {"memory_group_list", "{\"projectId\":\"p\"}"},
    {"memory_import", "{\"projectId\":\"q\",\"notes\":[{\"groupId\":\"global\",\"text\":\"x\"}]}"},
    {"memory_stats", "{}"},
    {"memory_reembed", "{}"},
    {"memory_delete", "{\"id\":\"%s\"}"},
};

TEST(results_match_their_schemas_without_nulls)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_ADMIN));
    const struct fumi_val *v = fixture_tool(
        &t, "memory_add_note",
        FUMI_STR("{\"projectId\":\"p\",\"groupId\":\"global\",\"text\":\"The port is 8765.\"}"),
        &failed);
    struct fumi_str id = fixture_text(&t, v, "id");
    CHECK(!failed && id.n && agrees(schema_of(&t, "memory_add_note"), v));
    for (size_t i = 0; i < FUMI_COUNT(calls); i++) {
        const char *hole = strstr(calls[i].arguments, "%s");
        size_t n = hole ? (size_t)(hole - calls[i].arguments) : 0;
        struct fumi_str arguments = hole ? fumi_fmt(&t.a, "%.*s%.*s%s", (int)n, calls[i].arguments,
                                                    FUMI_ARG(id), hole + 2)
                                         : fumi_str(calls[i].arguments);
        v = fixture_tool(&t, calls[i].tool, arguments, &failed);
        if (failed || !agrees(schema_of(&t, calls[i].tool), v) || has_null(v))
            TEST_FAIL("%s %s: %.*s", calls[i].tool, calls[i].arguments, FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

static int64_t add_in(struct fixture *t, const char *more)
{
    bool failed;
    struct note n;
    const struct fumi_val *v = fixture_tool(
        t, "memory_add_note",
        fumi_fmt(&t->a,
                 "{\"projectId\":\"p\",\"groupId\":\"global\",\"text\":\"x\","
                 "\"allowDuplicate\":true%s}",
                 more),
        &failed);
    struct fumi_str id = fixture_text(t, v, "id"); /* a short one */
    if (failed || memory_find_id(t->m, &t->a, ID_OF_NOTE, id, &id, &t->e) ||
        store_get_note(memory_store(t->m), &t->a, id, &n, &t->e))
        return 0;
    return n.seq;
}

static struct fumi_str session_of(struct fixture *t, int64_t seq)
{
    struct notes notes;
    const struct loading to = {.arena = &t->a};
    if (store_load_notes(memory_store(t->m), &to, &seq, 1, &notes, &t->e) || !notes.n)
        return FUMI_STR("no note");
    return notes.items[0].session;
}

/* Notes of one connection have the same session, unless the caller names one. Tools do not show
 * it. */
TEST(notes_of_one_client_have_a_session)
{
    struct fixture t;
    struct neighbours n;
    CHECK(fixture_begin(&t, AGENT_ALL));
    int64_t first = add_in(&t, ""), named = add_in(&t, ",\"session\":\"mine\""),
            last = add_in(&t, ",\"createdAt\":\"2031-01-01T00:00:00Z\"");
    CHECK(first && named && last);
    struct fumi_str session = session_of(&t, first);
    CHECK(fumi_starts(session, FUMI_STR("mcp-")) && session.n == 20);
    CHECK_STR(session_of(&t, named), "mine");
    CHECK(fumi_eq(session, session_of(&t, last)));
    CHECK_INT(store_neighbours(memory_store(t.m), &t.a, &first, 1, &n, &t.e), 0);
    CHECK(n.seq[1] == 0 && n.seq[2] == last && n.seq[3] == 0);
    struct fumi_str list = fumi_raw(ASK(
        &t, "tools/call", "{\"name\":\"memory_list_recent\",\"arguments\":{\"projectId\":\"p\"}}"));
    CHECK(holds(list, "createdAt") && !holds(list, "mcp-") && !holds(list, "mine"));
    fixture_end(&t);
}

/* Other calls of a connection name no session, but their notes are neighbours too, except those of
 * an import. */
TEST(notes_of_one_connection_are_neighbours)
{
    struct fixture t;
    struct neighbours n;
    CHECK(fixture_begin(&t, AGENT_ALL));
    int64_t seqs[4];
    CHECK(add_in(&t, "") > 0); /* its session does not stay with the connection */
    for (int i = 0; i < 4; i++) {
        const char *note = i == 1 ? "\"groupId\":\"global\",\"text\":\"imported\""
                                  : "\"groupId\":\"global\",\"text\":\"x\"";
        const struct fumi_val *v = i == 1 ? ASK(&t, "memory.import",
                                                "{\"projectId\":\"p\",\"notes\":[{%s}]}", note)
                                          : ASK(&t, "memory.add_note",
                                                "{\"projectId\":\"p\",%s,\"allowDuplicate\":true,"
                                                "\"createdAt\":\"203%d-01-01T00:00:00Z\"}",
                                                note, i);
        struct note got;
        struct fumi_str id = i == 1 ? fumi_text(&t.a, fumi_first(fumi_get(v, "ids")))
                                    : fixture_text(&t, v, "id");
        CHECK_INT(store_get_note(memory_store(t.m), &t.a, id, &got, &t.e), 0);
        CHECK(!got.session.p);
        seqs[i] = got.seq;
    }
    CHECK_INT(store_neighbours(memory_store(t.m), &t.a, &seqs[0], 1, &n, &t.e), 0);
    CHECK(n.seq[1] == 0 && n.seq[2] == seqs[2] && n.seq[3] == seqs[3]);
    CHECK_INT(store_neighbours(memory_store(t.m), &t.a, &seqs[1], 1, &n, &t.e), 0);
    CHECK(n.seq[1] == 0 && n.seq[2] == 0);
    fixture_end(&t);
}

TEST(a_search_result_is_compact)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (int i = 0; i < 6; i++)
        fixture_tool(&t, "memory_add_note",
                     fumi_fmt(&t.a,
                              "{\"projectId\":\"p\",\"groupId\":\"task-%d\",\"title\":\"Port of "
                              "service %d\",\"tags\":[\"decision\",\"net\"],\"text\":\"Service %d "
                              "listens on port %d, because the ports below are taken by the old "
                              "gateway, which stays until the end of the year. Decided by Ann.\"}",
                              i, i, i, 8000 + i),
                     &failed);
    const struct fumi_val *v = fixture_tool(
        &t, "memory_search", FUMI_STR("{\"projectId\":\"p\",\"query\":\"which port?\"}"), &failed);
    const struct fumi_val *hit = fumi_first(fumi_get(v, "results")), *meta = fumi_get(v, "meta");
    struct fumi_str score = fumi_raw(fumi_get(hit, "score"));
    CHECK(!failed && hit);
    print_cost("memory_search, 5 notes of 160 bytes", fumi_raw(v));
    CHECK(score.n && score.n <= 5);
    CHECK(!fumi_get(v, "namespace") && !fumi_get(hit, "projectId") && !fumi_get(hit, "source"));
    CHECK_STR(fumi_raw(meta), "{\"filtered\":{\"inProject\":6},\"confidence\":\"high\"}");
    fixture_end(&t);
}

TEST(errors_of_tools_say_what_to_do)
{
    static const struct {
        const char *tool, *arguments, *says;
    } rows[] = {
        {"memory_get", "{\"id\":\"none\"}", "memory_search"},
        {"memory_get", "{}", "id is required"},
        {"memory_search", "{\"projectId\":\"p\",\"query\":\"q\",\"topK\":0}", "topK"},
        {"memory_group_get", "{\"id\":\"none\"}", "memory_group_list"},
        {"memory_upsert_global", "{\"projectId\":\"p\",\"key\":\"x\",\"value\":1}",
         "global.project.conventions"},
    };
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = ASK(&t, "tools/call", "{\"name\":\"%s\",\"arguments\":%s}",
                                       rows[i].tool, rows[i].arguments);
        struct fumi_str text = fixture_text(&t, fumi_first(fumi_get(v, "content")), "text");
        if (!fumi_is(fumi_get(v, "isError"), FUMI_TRUE) || !holds(text, rows[i].says))
            TEST_FAIL("%s: %.*s", rows[i].tool, FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

static bool put_global(struct fixture *t, const char *key, const char *value)
{
    struct store *s = memory_store(t->m);
    struct global g = {.id = fumi_str(key),
                       .project = FUMI_STR("p"),
                       .key = fumi_str(key),
                       .value = fumi_str(value)};
    return store_set_global(s, &t->a, &g, NULL, &t->e) == 0;
}

static bool put_much(struct fixture *t)
{
    bool all = put_global(t, "global.project.conventions", "\"Tabs, never spaces.\"") &&
               put_global(t, "global.memory.embedder.model", "\"another\"") &&
               put_global(t, "global.own", "1") &&
               put_global(t, "global.long", fumi_fmt(&t->a, "\"%0300d\"", 0).p);
    for (int i = 0; i < 40 && all; i++)
        all = fixture_note(t, fumi_fmt(&t->a, "important-%d", i).p, "p", "lessons", "important") &&
              fixture_note(t, fumi_fmt(&t->a, "plain-%d", i).p, "p", "global", NULL);
    for (int i = 0; i < 3 && all; i++)
        all = fixture_note(t, fumi_fmt(&t->a, "rule-%d", i).p, "p", "global", "rule");
    return all && fixture_note(t, "foreign", "q", "global", "rule");
}

TEST(a_digest_respects_max_tokens)
{
    struct fixture t;
    struct fumi_str text;
    CHECK(fixture_begin(&t, AGENT_CORE));
    CHECK(put_much(&t));
    for (size_t tokens = 100; tokens < 4000; tokens += 37) {
        CHECK_INT(agent_digest(t.m, &t.a, FUMI_STR("p"), tokens, &text, NULL, &t.e), 0);
        CHECK(text.n <= tokens * 4);
        CHECK(holds(text, "Tabs, never spaces."));
    }
    CHECK(holds(text, "rule-0") && holds(text, "important-39") && holds(text, "plain-39"));
    CHECK(!holds(text, "foreign") && !holds(text, "plain-20"));
    CHECK(holds(text, "40 notes are tagged important"));
    CHECK(holds(text, "differs from the embedder in use"));
    CHECK(holds(text, "- global.own: 1\n") && !holds(text, "global.long"));
    CHECK(holds(text, "1 more: memory_list_globals"));
    CHECK_INT(agent_digest(t.m, &t.a, FUMI_STR("p"), 300, &text, NULL, &t.e), 0);
    CHECK(holds(text, "did not fit"));
    CHECK_INT(agent_digest(t.m, &t.a, FUMI_STR("unknown"), 300, &text, NULL, &t.e), 0);
    CHECK(holds(text, "No note is stored yet"));
    fixture_end(&t);
}

/* Runs of blanks do not count towards the length of a line. */
TEST(a_digest_cuts_long_texts_and_values)
{
    struct fixture t;
    struct fumi_str text;
    char blanks[3000], value[3000];
    memset(blanks, ' ', sizeof(blanks));
    memset(value, 'v', sizeof(value));
    CHECK(fixture_begin(&t, AGENT_CORE));
    struct fumi_str spaced = fumi_fmt(&t.a, "first%.*slast", (int)sizeof(blanks), blanks);
    struct note n = {.project = FUMI_STR("p"), .group = FUMI_STR("global"), .text = spaced};
    struct written w = {.pending = false};
    CHECK_INT(memory_add(t.m, &t.a, &n, 10000, &w, &t.e), 0);
    n.id = (struct fumi_str){0}, n.text = (struct fumi_str){value, sizeof(value)};
    CHECK_INT(memory_add(t.m, &t.a, &n, 10000, &w, &t.e), 0);
    CHECK(put_global(&t, "global.project.conventions",
                     fumi_fmt(&t.a, "\"%.*s\"", (int)sizeof(value), value).p));
    CHECK_INT(agent_digest(t.m, &t.a, FUMI_STR("p"), 2000, &text, NULL, &t.e), 0);
    CHECK(holds(text, ": \"first last\"\n"));
    CHECK(holds(text, "vvv\"…\n"));
    CHECK(holds(text, "global.project.conventions: \"vvv"));
    CHECK(holds(text, "vvv…\n"));
    fixture_end(&t);
}

static struct fumi_str message(struct fixture *t, const struct fumi_val *v)
{
    return fixture_text(t, fumi_get(fumi_first(fumi_get(v, "messages")), "content"), "text");
}

TEST(prompts_answer)
{
    static const struct {
        const char *params, *says;
    } rows[] = {
        {"{\"name\":\"session_start\",\"arguments\":{\"project\":\"p\"}}", "Tabs, never"},
        {"{\"name\":\"session_start\",\"arguments\":{\"project\":\"p\",\"maxTokens\":\"120\"}}",
         "# Memory of \"p\""},
        {"{\"name\":\"recall\",\"arguments\":{\"query\":\"rule-1\",\"project\":\"p\"}}",
         "What rule-1 says."},
        {"{\"name\":\"recall\",\"arguments\":{\"query\":\"x\",\"project\":\"p\",\"tag\":\"none\"}}",
         "Nothing is remembered"},
        {"{\"name\":\"recall\",\"arguments\":{\"query\":\"ports\"}}", "Call memory_search"},
        {"{\"name\":\"remember_session\"}", "memory_add_note"},
        {"{\"name\":\"remember_session\",\"arguments\":{\"project\":\"p\",\"focus\":\"CSS\"}}",
         "Consider only: CSS."},
    };
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    CHECK(put_much(&t));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = ASK(&t, "prompts/get", "%s", rows[i].params);
        if (!holds(message(&t, v), rows[i].says))
            TEST_FAIL("%s: %.*s", rows[i].params, FUMI_ARG(fumi_raw(v)));
    }
    print_cost("prompt session_start", message(&t, ASK(&t, "prompts/get", "%s", rows[0].params)));
    fixture_end(&t);
}

TEST(near_misses_of_a_prompt_have_their_dates)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    ASK(&t, "tools/call",
        "{\"name\":\"memory_add_note\",\"arguments\":{\"projectId\":\"p\",\"text\":\"Ports\","
        "\"groupId\":\"global\",\"createdAt\":\"2024-05-06T07:08:09Z\"}}");
    struct fumi_str text = message(&t,
                                   ASK(&t, "prompts/get",
                                       "{\"name\":\"recall\",\"arguments\":{\"project\":\"p\","
                                       "\"query\":\"zebra lion tiger elephant giraffe ports\"}}"));
    CHECK(holds(text, "Nothing relevant is remembered"));
    CHECK(holds(text, "2024-05-06: \"Ports\""));
    fixture_end(&t);
}

TEST(wrong_arguments_of_prompts_are_refused)
{
    static const char *const wrong[] = {"0",    "99",    "100001", "-5",
                                        "many", "1500x", "1e3",    "99999999999999999999"};
    struct fixture t;
    int64_t code = 0;
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        const struct fumi_val *v = ASK(&t, "prompts/get",
                                       "{\"name\":\"session_start\",\"arguments\":{"
                                       "\"project\":\"p\",\"maxTokens\":\"%s\"}}",
                                       wrong[i]);
        CHECK(fumi_int(fumi_get(v, "code"), &code));
        CHECK_INT(code, FUMI_INVALID_PARAMS);
    }
    CHECK(
        fumi_int(fumi_get(ASK(&t, "prompts/get", "{\"name\":\"session_start\"}"), "code"), &code));
    CHECK_INT(code, FUMI_INVALID_PARAMS);
    fixture_end(&t);
}

TEST(resources_are_read)
{
    static const struct {
        const char *uri, *says;
    } rows[] = {
        {"memory://projects", "{\"project\":\"/home/a b\",\"notes\":2}"},
        {"memory://project/%2Fhome%2Fa%20b/recent", "What one says."},
        {"memory://project/%2fhome%2fa%20b/recent", "What two says."},
        {"memory://project/%2Fhome%2Fa%20b/groups", "{\"groupId\":\"task-1\",\"notes\":1}"},
        {"memory://project/%2Fhome%2Fa%20b/group/task-1", "What two says."},
        {"memory://project/only/group/global", "none yet"},
        {"memory://note/one", "Project: \"/home/a b\""},
    };
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    CHECK(fixture_note(&t, "one", "/home/a b", "global", "rule"));
    CHECK(fixture_note(&t, "two", "/home/a b", "task-1", NULL));
    CHECK(fixture_note(&t, "three", "only", "task-2", NULL));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = ASK(&t, "resources/read", "{\"uri\":\"%s\"}", rows[i].uri);
        const struct fumi_val *first = fumi_first(fumi_get(v, "contents"));
        if (!holds(fixture_text(&t, first, "text"), rows[i].says) ||
            !fumi_text_is(fumi_get(first, "uri"), fumi_str(rows[i].uri)))
            TEST_FAIL("%s: %.*s", rows[i].uri, FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

TEST(resources_that_do_not_exist)
{
    static const char *const wrong[] = {
        "memory://project/none/recent",
        "memory://project/p/group/none",
        "memory://project/p/other",
        "memory://project/p",
        "memory://project//recent",
        "memory://project/p/recent/more",
        "memory://project/%/recent",
        "memory://project/%ff/recent",
        "memory://note/none",
        "memory://note/",
        "memory://",
        "file:///etc/passwd",
        "memory://project/%00/recent",
    };
    struct fixture t;
    int64_t code;
    CHECK(fixture_begin(&t, AGENT_CORE));
    CHECK(fixture_note(&t, "one", "p", "global", NULL));
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        const struct fumi_val *v = ASK(&t, "resources/read", "{\"uri\":\"%s\"}", wrong[i]);
        if (!fumi_int(fumi_get(v, "code"), &code) || code != -32002)
            TEST_FAIL("%s: %.*s", wrong[i], FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

TEST(the_list_of_resources_has_pages)
{
    enum { PROJECTS = 120, PAGE_MAX = 100, PAGES_MAX = 9 };
    struct fixture t;
    size_t rows = 0, pages = 0, recent = 0;
    struct fumi_str cursor = {0};
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (int i = 0; i < PROJECTS; i++)
        CHECK(fixture_note(&t, fumi_fmt(&t.a, "n%d", i).p, fumi_fmt(&t.a, "/p/%03d", i).p, "g",
                           NULL));
    do {
        const struct fumi_val *v = cursor.p ? ASK(&t, "resources/list", "{\"cursor\":\"%.*s\"}",
                                                  FUMI_ARG(cursor))
                                            : ASK(&t, "resources/list", "{}");
        const struct fumi_val *list = fumi_get(v, "resources"), *i;
        CHECK(fumi_size(list) && fumi_size(list) <= PAGE_MAX);
        rows += fumi_size(list);
        for (i = fumi_first(list); i; i = fumi_after(list, i))
            recent += fumi_text_is(
                fumi_get(i, "uri"),
                fumi_fmt(&t.a, "memory://project/%%2Fp%%2F%03d/recent", (int)recent));
        cursor = fixture_text(&t, v, "nextCursor");
    } while (cursor.p && ++pages < PAGES_MAX);
    CHECK_INT(rows, 2 * PROJECTS + 2);
    CHECK_INT(recent, PROJECTS);
    int64_t code = 0;
    CHECK(
        fumi_int(fumi_get(ASK(&t, "resources/list", "{\"cursor\":\"nonsense\"}"), "code"), &code));
    CHECK_INT(code, FUMI_INVALID_PARAMS);
    fixture_end(&t);
}

TEST(names_are_completed)
{
#define PROMPT   "{\"type\":\"ref/prompt\",\"name\":\"recall\"}"
#define GROUP_OF "{\"type\":\"ref/resource\",\"uri\":\"memory://project/{project}/group/{group}\"}"
    static const struct {
        const char *ref, *name, *value, *context, *want;
    } rows[] = {
        {PROMPT, "project", "", "{}", "[\"/srv/app\",\"app\",\"zoo\"]"},
        {PROMPT, "project", "app", "{}", "[\"app\",\"/srv/app\"]"},
        {GROUP_OF, "project", "/s", "{}", "[\"/srv/app\"]"},
        {GROUP_OF, "group", "", "{\"arguments\":{\"project\":\"app\"}}", "[\"global\",\"task-2\"]"},
        {GROUP_OF, "group", "task", "{}", "[\"task-1\",\"task-2\"]"},
        {PROMPT, "tag", "Im", "{\"arguments\":{\"project\":\"app\"}}", "[\"important\"]"},
        {PROMPT, "tag", "ru", "{\"arguments\":{\"project\":\"zoo\"}}", "[]"},
        {PROMPT, "query", "ru", "{}", "[]"},
    };
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    CHECK(fixture_note(&t, "1", "/srv/app", "task-1", "rule") &&
          fixture_note(&t, "2", "app", "task-2", "important") &&
          fixture_note(&t, "3", "app", "global", "rule") &&
          fixture_note(&t, "4", "zoo", "g", "other"));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = ASK(
            &t, "completion/complete",
            "{\"ref\":%s,\"argument\":{\"name\":\"%s\",\"value\":\"%s\"},\"context\":%s}",
            rows[i].ref, rows[i].name, rows[i].value, rows[i].context);
        struct fumi_str got = fumi_raw(fumi_get(fumi_get(v, "completion"), "values"));
        if (!fumi_eq(got, fumi_str(rows[i].want)))
            TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

#define UPDATED(uri)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"                                   \
    "updated\",\"params\":{\"uri\":\"" uri "\"}}"
#define P_RECENT "memory://project/p/recent"
#define P_GROUPS "memory://project/p/groups"
#define NOTE_ONE "memory://note/one"

static bool retitle(struct fixture *t, struct store *s, const char *title)
{
    const struct note to = {.title = fumi_str(title)};
    return !store_update_note(s, &t->a, FUMI_STR("one"), &to, NOTE_TITLE, NULL, &t->e);
}

static size_t count(struct fumi_str text, const char *part)
{
    size_t n = 0;
    for (const char *p = text.p, *end = p + text.n; p < end; p += strlen(part), n++)
        if (!(p = memmem(p, (size_t)(end - p), part, strlen(part))))
            break;
    return n;
}

/* Waits for n notifications that contain the text. Others may come at any time: the list of
 * resources is also notified when it may have changed. */
static void wait_for(struct fixture *t, const char *text, size_t n)
{
    for (size_t all = n; count(received(&t->caller), text) < n; all++)
        wait_notifications(&t->caller, all);
}

/* Creates the note "one" of project p and subscribes to the note and the project. When it returns,
 * the watch thread knows both: one change of each was notified. */
static bool begin_to_watch(struct fixture *t)
{
    if (!fixture_begin(t, true) || !fixture_note(t, "one", "p", "global", NULL))
        return false;
    wait_notifications(&t->caller, 1); /* the list of resources: there is a project */
    ASK(t, "resources/subscribe", "{\"uri\":\"" P_RECENT "\"}");
    ASK(t, "resources/subscribe", "{\"uri\":\"" NOTE_ONE "\"}");
    clear_received(&t->caller);
    if (!retitle(t, memory_store(t->m), "First"))
        return false;
    wait_for(t, UPDATED(P_RECENT), 1);
    wait_for(t, UPDATED(NOTE_ONE), 1);
    clear_received(&t->caller);
    return true;
}

TEST(changes_by_any_process_are_notified)
{
    struct fixture t;
    CHECK(begin_to_watch(&t));
    CHECK(fixture_note(&t, "two", "p", "global", NULL));
    wait_for(&t, UPDATED(P_RECENT), 1);
    CHECK_INT(count(received(&t.caller), UPDATED(NOTE_ONE)), 0);
    /* A second store with its own connections stands for another process. */
    struct store *other = fixture_store(&t);
    CHECK(other && retitle(&t, other, "Second"));
    wait_for(&t, UPDATED(P_RECENT), 2);
    wait_for(&t, UPDATED(NOTE_ONE), 1);
    store_close(other);
    fixture_end(&t);
}

/* The final notification proves that there was none before it. */
TEST(unchanged_resources_are_not_notified)
{
    struct fixture t;
    CHECK(begin_to_watch(&t));
    CHECK(put_global(&t, "global.x", "1"));
    CHECK(retitle(&t, memory_store(t.m), "First"));
    CHECK(fixture_note(&t, "two", "p", "global", NULL));
    wait_for(&t, UPDATED(P_RECENT), 1);
    CHECK_INT(count(received(&t.caller), UPDATED(NOTE_ONE)), 0);
    ASK(&t, "resources/unsubscribe", "{\"uri\":\"" P_RECENT "\"}");
    clear_received(&t.caller);
    CHECK(fixture_note(&t, "three", "p", "global", NULL));
    CHECK(retitle(&t, memory_store(t.m), "Third"));
    wait_for(&t, UPDATED(NOTE_ONE), 1);
    CHECK_INT(count(received(&t.caller), UPDATED(P_RECENT)), 0);
    fixture_end(&t);
}

TEST(new_projects_and_groups_are_notified)
{
    static const char list[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}";
    const struct group g = {.id = FUMI_STR("g"),
                            .project = FUMI_STR("p"),
                            .key = FUMI_STR("made"),
                            .title = FUMI_STR("T")};
    struct fixture t;
    CHECK(begin_to_watch(&t));
    ASK(&t, "resources/subscribe", "{\"uri\":\"" P_GROUPS "\"}");
    clear_received(&t.caller);
    struct store *s = memory_store(t.m);
    CHECK_INT(store_add_group(s, &g, NULL, &t.e), 0);
    wait_for(&t, UPDATED(P_GROUPS), 1);
    clear_received(&t.caller);
    CHECK(fixture_note(&t, "two", "new", "global", NULL));
    wait_for(&t, list, 1);
    fixture_end(&t);
}

/* The handshake sets the form of errors to the peer while a worker writes one; for TSan. */
TEST(a_handshake_during_a_call_that_fails)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (int i = 0; i < 20; i++) {
        struct caller c;
        caller_open(&c, t.server);
        c.peer.push = fixture_push;
        send_text(&c,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"memory.get\",\"params\":[\"none\"]}");
        send_text(&c, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{"
                      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                      "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}");
        wait_replies(&c, 2);
        CHECK(holds(received(&c), "-32003") && holds(received(&c), "2025-11-25"));
        fumi_peer_close(&c.peer);
        caller_done(&c);
    }
    fixture_end(&t);
}

TEST(reembedding_reports_until_it_is_done)
{
    enum { NOTES = 300 };
    struct fixture t;
    int64_t done = 0, pending = -1;
    double before = -1, now = 0;
    CHECK(fixture_begin(&t, AGENT_ALL) && !memory_start(t.m, &t.e));
    for (int i = 0; i < NOTES; i++)
        CHECK(fixture_note(&t, fumi_fmt(&t.a, "n%d", i).p, "p", "g", NULL));
    const struct fumi_val *v = ASK(&t, "tools/call",
                                   "{\"name\":\"memory_reembed\",\"_meta\":{\"progressToken\":0}}");
    v = fumi_get(v, "structuredContent");
    CHECK(fumi_int(fumi_get(v, "done"), &done) && fumi_int(fumi_get(v, "pending"), &pending));
    CHECK(done == NOTES && pending == 0);
    struct fumi_str all = fumi_fmt(&t.a, "%.*s", FUMI_ARG(received(&t.caller)));
    for (const char *p = all.p; (p = strstr(p, "\"progress\":")); before = now) {
        now = strtod(p + 11, NULL);
        CHECK(now > before);
        p++;
    }
    CHECK_INT((int64_t)before, NOTES);
    fixture_end(&t);
}
