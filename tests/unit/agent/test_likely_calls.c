/* Calls of tools that models are likely to send, right and slightly wrong: each is accepted, or
 * answered with a right call of that tool. */
#include "agent_fixture.h"

static const struct likely {
    const char *tool, *arguments; /* %s: the id of a note */
    const char *error;            /* NULL: accepted */
} calls[] = {
    {"memory_add_note", "{\"projectId\":\"p\",\"groupId\":\"global\",\"text\":\"Port 1.\"}", NULL},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"Port 2.\"}", NULL},
    {"memory_add_note", "{\"projectId\":\"p\",\"groupId\":null,\"text\":\"Port 3.\"}", NULL},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"Port 4.\",\"metadata\":null}", NULL},
    {"memory_add_note", "{\"projectId\":\".\",\"text\":\"Port 5.\"}", NULL},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"Port 6.\",\"createdAt\":\"2026-01-01\"}",
     NULL},
    {"memory_add_note", "{\"projectId\":\"p\",\"content\":\"Port 7.\"}", "content"},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"Port 8.\",\"tags\":\"rule,net\"}",
     "tags must be an array"},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"\"}", "text is required"},
    {"memory_add_note", "{\"projectId\":\"p\",\"text\":\"x\",\"metadata\":\"{}\"}",
     "metadata must be an object"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"since\":\"2026-01-01\"}", NULL},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"anyTags\":[\"a\",\"b\"]}", NULL},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"groupId\":null,\"tags\":[]}",
     NULL},
    {"memory_search", "{\"projectId\":\"p\"}", "query is required"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"top_k\":3}", "topK"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"since\":1767225600}",
     "since must be a string"},
    {"memory_search", "{\"projectId\":\"p\",\"query\":\"port\",\"since\":\"last week\"}",
     "since has an invalid time format"},
    {"memory_list_recent", "{\"projectId\":\"p\",\"until\":\"2026-01-31\"}", NULL},
    {"memory_list_recent", "{\"projectId\":\"p\",\"limit\":\"10\"}", "limit must be an integer"},
    {"memory_get", "{\"id\":\"id:%s\"}", NULL},
    {"memory_get", "{\"id\":\"id %s\"}", NULL},
    {"memory_get", "{\"noteId\":\"%s\"}", "noteId"},
    {"memory_update", "{\"id\":\"%s\",\"patch\":{\"tags\":[\"done\"]}}", NULL},
    {"memory_update", "{\"id\":\"%s\",\"tags\":[\"done\"],\"title\":null}", NULL},
    {"memory_update", "{\"id\":\"%s\",\"text\":\"New.\",\"patch\":{\"title\":\"T\"}}", NULL},
    {"memory_update", "{\"id\":\"%s\",\"text\":\"A\",\"patch\":{\"text\":\"B\"}}", "given twice"},
    {"memory_update", "{\"id\":\"%s\",\"patch\":{\"text\":\"B\"},\"text\":\"A\"}", "given twice"},
    {"memory_update", "{\"id\":\"%s\",\"patch\":\"{\\\"tags\\\":[\\\"done\\\"]}\"}",
     "patch must be an object"},
    {"memory_update", "{\"id\":\"%s\",\"patch\":{}}", "patch is empty"},
    {"memory_update", "{\"id\":\"%s\"}", "patch is empty"},
    {"memory_update", "{\"id\":\"%s\",\"projectId\":\"other\",\"text\":\"A\"}", "projectId"},
};

static struct fumi_str arguments_of(struct fixture *t, const struct likely *c, struct fumi_str id)
{
    const char *hole = strstr(c->arguments, "%s");
    return hole ? fumi_fmt(&t->a, "%.*s%.*s%s", (int)(hole - c->arguments), c->arguments,
                           FUMI_ARG(id), hole + 2)
                : fumi_str(c->arguments);
}

static bool is_answered(struct fixture *t, const struct likely *c, const struct fumi_val *v,
                        bool failed)
{
    struct fumi_str mark = fumi_fmt(&t->a, "Example: %s {", c->tool);
    if (!c->error)
        return v && !failed;
    return failed && holds(fixture_text(t, v, "message"), c->error) &&
           memmem(fixture_text(t, v, "nextStep").p, fixture_text(t, v, "nextStep").n, mark.p,
                  mark.n);
}

TEST(likely_calls_are_accepted_or_answered_with_an_example)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_ALL));
    const struct fumi_val *v = fixture_tool(
        &t, "memory_add_note", FUMI_STR("{\"projectId\":\"p\",\"text\":\"The note.\"}"), &failed);
    struct fumi_str id = fixture_text(&t, v, "id");
    CHECK(!failed && id.n);
    for (size_t i = 0; i < FUMI_COUNT(calls); i++) {
        v = fixture_tool(&t, calls[i].tool, arguments_of(&t, &calls[i], id), &failed);
        if (!is_answered(&t, &calls[i], v, failed))
            TEST_FAIL("%s %s: %.*s", calls[i].tool, calls[i].arguments, FUMI_ARG(fumi_raw(v)));
    }
    fixture_end(&t);
}

TEST(flat_members_change_the_note)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_CORE));
    const struct fumi_val *v = fixture_tool(
        &t, "memory_add_note", FUMI_STR("{\"projectId\":\"p\",\"text\":\"Old.\"}"), &failed);
    struct fumi_str id = fixture_text(&t, v, "id");
    fixture_tool(
        &t, "memory_update",
        fumi_fmt(&t.a, "{\"id\":\"%.*s\",\"text\":\"New.\",\"title\":\"T\"}", FUMI_ARG(id)),
        &failed);
    CHECK(!failed);
    v = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, v, "text"), "New.");
    CHECK_STR(fixture_text(&t, v, "title"), "T");
    CHECK_STR(fixture_text(&t, v, "groupId"), "global");
    fixture_end(&t);
}

/* The methods keep their rules. */
TEST(methods_require_what_tools_do_not)
{
    static const struct {
        const char *method, *params;
    } rows[] = {
        {"memory.add_note", "{\"projectId\":\"p\",\"text\":\"x\"}"},
        {"memory.update", "{\"id\":\"00000000\",\"text\":\"x\"}"},
        {"memory.search", "{\"projectId\":\"p\",\"query\":\"x\",\"since\":\"2026-01-01\"}"},
    };
    struct fixture t;
    int64_t code = 0;
    CHECK(fixture_begin(&t, AGENT_CORE));
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = ASK(&t, rows[i].method, "%s", rows[i].params);
        CHECK(fumi_int(fumi_get(v, "code"), &code));
        CHECK_INT(code, FUMI_INVALID_PARAMS);
    }
    fixture_end(&t);
}

TEST(every_example_is_a_right_call)
{
    struct fixture t;
    size_t n, examples = 0;
    CHECK(fixture_begin(&t, AGENT_ALL));
    const struct fumi_tool *tools = agent_tools(AGENT_ALL, &n);
    for (size_t i = 0; i < n; i++) {
        const struct fumi_method *m = memory_method(tools[i].method);
        if (!tools[i].example)
            continue;
        const struct fumi_val *v = fumi_parse(&t.a, fumi_str(tools[i].example), &t.e);
        if (!v || fumi_bind_input(&t.a, m->params, v, fumi_alloc(&t.a, m->params->size), &t.e))
            TEST_FAIL("%s: %s", tools[i].name, t.e.text);
        examples++;
    }
    CHECK(examples >= 16);
    fixture_end(&t);
}
