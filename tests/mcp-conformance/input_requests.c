/* Tools that request input from the client. A handler looks for each response it needs, and
 * requests the ones that are missing or unusable. */
#include "fixtures.h"

#define SAMPLE(text, tokens)                                                                       \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text            \
    "\"}}],\"maxTokens\":" tokens "}"

#define FORM(message, properties, required)                                                        \
    "{\"message\":\"" message                                                                      \
    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties                      \
    "},\"required\":[" required "]}}"

#define TEXT_FIELD(name) "\"" name "\":{\"type\":\"string\"}"

static const struct fixture_request user_name = {
    "user_name", "elicitation", "elicitation/create",
    FORM("What is your name?", TEXT_FIELD("name"), "\"name\"")};
static const struct fixture_request capital = {"capital_question", "sampling",
                                               "sampling/createMessage",
                                               SAMPLE("What is the capital of France?", "100")};
static const struct fixture_request greeting = {"greeting", "sampling", "sampling/createMessage",
                                                SAMPLE("Generate a greeting", "50")};
static const struct fixture_request roots = {"client_roots", "roots", "roots/list", "{}"};
static const struct fixture_request confirm = {
    "confirm", "elicitation", "elicitation/create",
    FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")};
static const struct fixture_request step1 = {
    "step1", "elicitation", "elicitation/create",
    FORM("Step 1: What is your name?", TEXT_FIELD("name"), "\"name\"")};
static const struct fixture_request step2 = {
    "step2", "elicitation", "elicitation/create",
    FORM("Step 2: What is your favorite color?", TEXT_FIELD("color"), "\"color\"")};

static const struct fixture_request defaults = {
    "form", "elicitation", "elicitation/create",
    FORM("Please review the form",
         "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
         "\"age\":{\"type\":\"integer\",\"default\":30},"
         "\"score\":{\"type\":\"number\",\"default\":95.5},"
         "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
         "\"default\":\"active\"},"
         "\"verified\":{\"type\":\"boolean\",\"default\":true}",
         "")};

#define OPTION(n) "\"option" n "\""
#define TITLED(n) "{\"const\":\"value" n "\",\"title\":\"Option " n "\"}"
#define THREE(of) of("1") "," of("2") "," of("3")

static const struct fixture_request enums = {
    "form", "elicitation", "elicitation/create",
    FORM("Please choose from each list",
         "\"untitledSingle\":{\"type\":\"string\",\"enum\":[" THREE(
             OPTION) "]},"
                     "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[" THREE(
                         TITLED) "]},"
                                 "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\","
                                 "\"opt3\"],"
                                 "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
                                 "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":"
                                 "\"string\",\"enum\":[" THREE(
                                     OPTION) "]}},"
                                             "\"titledMulti\":{\"type\":\"array\",\"items\":{"
                                             "\"anyOf\":[" THREE(TITLED) "]}}",
         "")};

const struct fumi_val *fixture_response(const struct fumi_mcp_call *c,
                                        const struct fixture_request *q)
{
    const struct fumi_val *v = fumi_get(c->responses, q->key);
    return fumi_is(v, FUMI_OBJECT) ? v : NULL;
}

enum fumi_ret fixture_request_input(struct fumi_mcp_call *c, const struct fixture_request *q)
{
    if (fumi_mcp_require(c, q->capability) != FUMI_OK)
        return FUMI_FAIL;
    fumi_mcp_request_input(c, q->key, q->method, (struct fumi_json){fumi_str(q->params)});
    return FUMI_OK;
}

static enum fumi_ret say(struct fumi_mcp_call *c, struct fumi_str text)
{
    fumi_mcp_text(c, text);
    return FUMI_OK;
}

/* The text of a sampling response; the whole response if it is not a single text. */
static struct fumi_str sampled(const struct fumi_mcp_call *c, const struct fumi_val *answer)
{
    const struct fumi_val *text = fumi_get(fumi_get(answer, "content"), "text");
    return fumi_is(text, FUMI_STRING) ? fumi_text(c->call->arena, text)
                                      : fumi_compact(c->call->arena, answer).text;
}

static enum fumi_ret say_form(struct fumi_mcp_call *c, const char *lead,
                              const struct fumi_val *answer)
{
    struct fumi_arena *a = c->call->arena;
    const struct fumi_val *content = fumi_get(answer, "content");
    struct fumi_str text = content ? fumi_compact(a, content).text : FUMI_STR("{}");
    struct fumi_str action = fumi_text(a, fumi_get(answer, "action"));
    return say(
        c, fumi_fmt(a, "%s: action=%.*s, content=%.*s", lead, FUMI_ARG(action), FUMI_ARG(text)));
}

static enum fumi_ret request_form(struct fumi_mcp_call *c, const struct fixture_request *q)
{
    const struct fumi_val *answer = fixture_response(c, q);
    return answer ? say_form(c, "Elicitation completed", answer) : fixture_request_input(c, q);
}

/* An argument as JSON, to be part of the params of a request; null if it is not a string. */
static struct fumi_str words(const struct fumi_mcp_call *c, const char *argument)
{
    const struct fumi_val *v = fumi_get(c->arguments, argument);
    return fumi_is(v, FUMI_STRING) ? fumi_compact(c->call->arena, v).text : (struct fumi_str){0};
}

enum fumi_ret fixture_sampling(struct fumi_mcp_call *c)
{
    struct fixture_request q = {"answer", "sampling", "sampling/createMessage", NULL};
    const struct fumi_val *answer = fixture_response(c, &q);
    struct fumi_arena *a = c->call->arena;
    struct fumi_str prompt = words(c, "prompt");
    if (answer)
        return say(c, fumi_fmt(a, "LLM response: %.*s", FUMI_ARG(sampled(c, answer))));
    if (!prompt.p)
        return fumi_mcp_failed(c, FUMI_STR("prompt must be a string"));
    q.params = fumi_fmt(a,
                        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                        "\"text\":%.*s}}],\"maxTokens\":100}",
                        FUMI_ARG(prompt))
                   .p;
    return fixture_request_input(c, &q);
}

enum fumi_ret fixture_elicitation(struct fumi_mcp_call *c)
{
    struct fixture_request q = {"form", "elicitation", "elicitation/create", NULL};
    const struct fumi_val *answer = fixture_response(c, &q);
    struct fumi_str message = words(c, "message");
    if (answer)
        return say_form(c, "User response", answer);
    if (!message.p)
        return fumi_mcp_failed(c, FUMI_STR("message must be a string"));
    q.params = fumi_fmt(c->call->arena,
                        "{\"message\":%.*s,\"requestedSchema\":{\"type\":\"object\","
                        "\"properties\":{" TEXT_FIELD("username") "," TEXT_FIELD(
                            "email") "},\"required\":[\"username\",\"email\"]}}",
                        FUMI_ARG(message))
                   .p;
    return fixture_request_input(c, &q);
}

enum fumi_ret fixture_defaults(struct fumi_mcp_call *c)
{
    return request_form(c, &defaults);
}

enum fumi_ret fixture_enums(struct fumi_mcp_call *c)
{
    return request_form(c, &enums);
}

enum fumi_ret fixture_missing_capability(struct fumi_mcp_call *c)
{
    if (fumi_mcp_require(c, "sampling") != FUMI_OK)
        return FUMI_FAIL;
    return say(c, FUMI_STR("The client can sample."));
}

/* A member of a filled-in form; null if the form was declined or lacks it. */
static struct fumi_str filled(const struct fumi_mcp_call *c, const struct fumi_val *answer,
                              const char *member)
{
    return fumi_text(c->call->arena, fumi_get(fumi_get(answer, "content"), member));
}

enum fumi_ret fixture_need_name(struct fumi_mcp_call *c)
{
    const struct fumi_val *answer = fixture_response(c, &user_name);
    if (!answer)
        return fixture_request_input(c, &user_name);
    struct fumi_str name = filled(c, answer, "name");
    if (!name.p)
        name = FUMI_STR("stranger");
    return say(c, fumi_fmt(c->call->arena, "Hello, %.*s!", FUMI_ARG(name)));
}

enum fumi_ret fixture_need_sampling(struct fumi_mcp_call *c)
{
    const struct fumi_val *answer = fixture_response(c, &capital);
    return answer ? say(c, sampled(c, answer)) : fixture_request_input(c, &capital);
}

enum fumi_ret fixture_need_roots(struct fumi_mcp_call *c)
{
    const struct fumi_val *answer = fixture_response(c, &roots);
    if (!answer)
        return fixture_request_input(c, &roots);
    struct fumi_str all = fumi_compact(c->call->arena, fumi_get(answer, "roots")).text;
    return say(c, fumi_fmt(c->call->arena, "Roots: %.*s", FUMI_ARG(all)));
}

/* The library rejects a modified state; the handler need not check. */
enum fumi_ret fixture_need_state(struct fumi_mcp_call *c)
{
    if (fixture_response(c, &confirm) && fumi_eq(c->state, FUMI_STR("asked")))
        return say(c, FUMI_STR("state-ok"));
    fumi_mcp_keep_state(c, FUMI_STR("asked"));
    return fixture_request_input(c, &confirm);
}

enum fumi_ret fixture_need_several(struct fumi_mcp_call *c)
{
    static const struct fixture_request *const all[] = {&user_name, &greeting, &roots};
    size_t missing = 0;
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (!fixture_response(c, all[i])) {
            missing++;
            if (fixture_request_input(c, all[i]) != FUMI_OK)
                return FUMI_FAIL;
        }
    if (!missing)
        return say(c, FUMI_STR("All answers are there."));
    fumi_mcp_keep_state(c, FUMI_STR("several"));
    return FUMI_OK;
}

enum fumi_ret fixture_need_rounds(struct fumi_mcp_call *c)
{
    bool second = fumi_eq(c->state, FUMI_STR("second"));
    if (second && fixture_response(c, &step2))
        return say(c, FUMI_STR("Both steps are done."));
    if (second || (c->state.p && fixture_response(c, &step1))) {
        fumi_mcp_keep_state(c, FUMI_STR("second"));
        return fixture_request_input(c, &step2);
    }
    fumi_mcp_keep_state(c, FUMI_STR("first"));
    return fixture_request_input(c, &step1);
}

/* Requests only input for which the client has the capability. */
enum fumi_ret fixture_need_capabilities(struct fumi_mcp_call *c)
{
    static const struct fixture_request *const all[] = {&user_name, &capital, &roots};
    size_t missing = 0;
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (fumi_mcp_can(c, all[i]->capability) && !fixture_response(c, all[i])) {
            missing++;
            fixture_request_input(c, all[i]);
        }
    return missing ? FUMI_OK : say(c, FUMI_STR("Nothing more to ask."));
}
