#include "fixtures.h"

static struct fumi_str argument(const struct fumi_mcp_call *c, const char *name)
{
    return fumi_text(c->call->arena, fumi_get(c->arguments, name));
}

static enum fumi_ret simple(struct fumi_mcp_call *c)
{
    fumi_mcp_text(c, FUMI_STR("This is a simple prompt for testing."));
    return FUMI_OK;
}

static enum fumi_ret with_arguments(struct fumi_mcp_call *c)
{
    struct fumi_str one = argument(c, "arg1"), two = argument(c, "arg2");
    fumi_mcp_text(c, fumi_fmt(c->call->arena, "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
                              FUMI_ARG(one), FUMI_ARG(two)));
    return FUMI_OK;
}

static enum fumi_ret with_resource(struct fumi_mcp_call *c)
{
    fumi_mcp_embed(c, argument(c, "resourceUri"), "text/plain",
                   FUMI_STR("Embedded resource content for testing."));
    fumi_mcp_text(c, FUMI_STR("Please process the embedded resource above."));
    return FUMI_OK;
}

static enum fumi_ret with_image(struct fumi_mcp_call *c)
{
    fumi_mcp_image(c, "image/png", FUMI_STR(FIXTURE_PNG));
    fumi_mcp_text(c, FUMI_STR("Please analyze the image above."));
    return FUMI_OK;
}

static enum fumi_ret with_context(struct fumi_mcp_call *c)
{
    static const struct fixture_request context = {
        "user_context", "elicitation", "elicitation/create",
        "{\"message\":\"What context should the prompt use?\",\"requestedSchema\":{"
        "\"type\":\"object\",\"properties\":{\"context\":{\"type\":\"string\"}},"
        "\"required\":[\"context\"]}}"};
    const struct fumi_val *answer = fixture_response(c, &context);
    if (!answer)
        return fixture_request_input(c, &context);
    struct fumi_str text = fumi_compact(c->call->arena, fumi_get(answer, "content")).text;
    fumi_mcp_text(c, fumi_fmt(c->call->arena, "Use this context: %.*s", FUMI_ARG(text)));
    return FUMI_OK;
}

static const struct fumi_prompt_argument two_arguments[] = {
    {"arg1", "The first argument.", true},
    {"arg2", "The second argument.", true},
};
static const struct fumi_prompt_argument uri_argument[] = {
    {"resourceUri", "The URI of the resource to embed.", true},
};

const struct fumi_prompt fixture_prompts[] = {
    {.name = "test_simple_prompt", .description = "One message.", .run = simple},
    {.name = "test_prompt_with_arguments",
     .description = "A message that repeats two arguments.",
     .arguments = two_arguments,
     .arguments_n = FUMI_COUNT(two_arguments),
     .run = with_arguments},
    {.name = "test_prompt_with_embedded_resource",
     .description = "A message with a resource in it.",
     .arguments = uri_argument,
     .arguments_n = FUMI_COUNT(uri_argument),
     .run = with_resource},
    {.name = "test_prompt_with_image",
     .description = "A message with an image in it.",
     .run = with_image},
    {.name = "test_input_required_result_prompt",
     .description = "Needs a context from the user.",
     .run = with_context,
     .flags = FUMI_BLOCKING},
};
const size_t fixture_prompts_n = FUMI_COUNT(fixture_prompts);

/* Completes the first argument of the prompt that has two; no others. */
enum fumi_ret fixture_complete(struct fumi_mcp_call *c, const struct fumi_mcp_completion_request *q)
{
    static const char *const values[] = {"paper", "paris", "party"};
    if (!fumi_eq(q->argument, FUMI_STR("arg1")))
        return FUMI_OK;
    for (size_t i = 0; i < FUMI_COUNT(values); i++)
        if (fumi_starts(fumi_str(values[i]), q->value))
            fumi_mcp_add_completion(c, fumi_str(values[i]));
    return FUMI_OK;
}
