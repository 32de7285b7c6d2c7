#include "fixtures.h"

#include <time.h>

#define NO_ARGUMENTS "{\"type\":\"object\"}"
#define ONE_TEXT(name, help)                                                                       \
    "{\"type\":\"object\",\"properties\":{\"" name                                                 \
    "\":{\"type\":\"string\",\"description\":\"" help "\"}},\"required\":[\"" name "\"]}"

static enum fumi_ret say(struct fumi_mcp_call *c, struct fumi_str text)
{
    fumi_mcp_text(c, text);
    return FUMI_OK;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static enum fumi_ret simple_text(struct fumi_mcp_call *c)
{
    return say(c, FUMI_STR("This is a simple text response for testing."));
}

static enum fumi_ret image(struct fumi_mcp_call *c)
{
    fumi_mcp_image(c, "image/png", FUMI_STR(FIXTURE_PNG));
    return FUMI_OK;
}

static enum fumi_ret audio(struct fumi_mcp_call *c)
{
    fumi_mcp_audio(c, "audio/wav", FUMI_STR(FIXTURE_WAV));
    return FUMI_OK;
}

static enum fumi_ret embedded(struct fumi_mcp_call *c)
{
    fumi_mcp_embed(c, FUMI_STR("test://embedded-resource"), "text/plain",
                   FUMI_STR("This is an embedded resource content."));
    return FUMI_OK;
}

static enum fumi_ret mixed(struct fumi_mcp_call *c)
{
    fumi_mcp_text(c, FUMI_STR("Multiple content types test:"));
    fumi_mcp_image(c, "image/png", FUMI_STR(FIXTURE_PNG));
    fumi_mcp_embed(c, FUMI_STR("test://mixed-content-resource"), "application/json",
                   FUMI_STR("{\"test\":\"data\",\"value\":123}"));
    return FUMI_OK;
}

static enum fumi_ret logging(struct fumi_mcp_call *c)
{
    fumi_mcp_log(c, FUMI_MCP_INFO, FUMI_STR("Tool execution started"));
    rest();
    fumi_mcp_log(c, FUMI_MCP_INFO, FUMI_STR("Tool processing data"));
    rest();
    fumi_mcp_log(c, FUMI_MCP_INFO, FUMI_STR("Tool execution completed"));
    return say(c, FUMI_STR("Three messages were logged."));
}

static enum fumi_ret one_log(struct fumi_mcp_call *c)
{
    fumi_mcp_log(c, FUMI_MCP_INFO, FUMI_STR("A message for those who want it"));
    return say(c, FUMI_STR("One message was logged, if it was wanted."));
}

static enum fumi_ret progress(struct fumi_mcp_call *c)
{
    fumi_progress(c->call, 0, 100, FUMI_STR("begun"));
    rest();
    fumi_progress(c->call, 50, 100, FUMI_STR("half of it"));
    rest();
    fumi_progress(c->call, 100, 100, FUMI_STR("done"));
    return say(c, FUMI_STR("All steps are done."));
}

static enum fumi_ret failing(struct fumi_mcp_call *c)
{
    return fumi_mcp_failed(c, FUMI_STR("This tool intentionally returns an error for testing"));
}

static enum fumi_ret reconnection(struct fumi_mcp_call *c)
{
    rest();
    rest();
    return say(c, FUMI_STR("Nothing was lost."));
}

static enum fumi_ret plain(struct fumi_mcp_call *c)
{
    return say(c, FUMI_STR("Done."));
}

static enum fumi_ret change_tools(struct fumi_mcp_call *c)
{
    fumi_mcp_changed(c->mcp, FUMI_MCP_TOOLS);
    return say(c, FUMI_STR("The tools changed."));
}

static enum fumi_ret change_prompts(struct fumi_mcp_call *c)
{
    fumi_mcp_changed(c->mcp, FUMI_MCP_PROMPTS);
    return say(c, FUMI_STR("The prompts changed."));
}

static const char dialect[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"
    "\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

static const char header_input[] =
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
    "\"Region\"},\"level\":{\"type\":\"integer\"}}}";

#define TOOL(id, help, run_)                                                                       \
    {                                                                                              \
        .name = id, .description = help, .input = NO_ARGUMENTS, .run = run_                        \
    }
#define SLOW_TOOL(id, help, run_)                                                                  \
    {                                                                                              \
        .name = id, .description = help, .input = NO_ARGUMENTS, .run = run_,                       \
        .flags = FUMI_BLOCKING                                                                     \
    }
#define ROUND_TOOL(id, help, run_) SLOW_TOOL("test_input_required_result_" id, help, run_)

const struct fumi_tool fixture_tools[] = {
    TOOL("test_simple_text", "Answers with a text.", simple_text),
    TOOL("test_image_content", "Answers with an image.", image),
    TOOL("test_audio_content", "Answers with a sound.", audio),
    TOOL("test_embedded_resource", "Answers with a resource.", embedded),
    TOOL("test_multiple_content_types", "Answers with text, image and resource.", mixed),
    SLOW_TOOL("test_tool_with_logging", "Logs three messages.", logging),
    SLOW_TOOL("test_tool_with_progress", "Reports progress three times.", progress),
    TOOL("test_error_handling", "Fails.", failing),
    {.name = "test_sampling",
     .description = "Asks the client's model.",
     .input = ONE_TEXT("prompt", "What to ask it."),
     .run = fixture_sampling,
     .flags = FUMI_BLOCKING},
    {.name = "test_elicitation",
     .description = "Asks the user.",
     .input = ONE_TEXT("message", "What to show the user."),
     .run = fixture_elicitation,
     .flags = FUMI_BLOCKING},
    SLOW_TOOL("test_elicitation_sep1034_defaults", "Asks with defaults.", fixture_defaults),
    SLOW_TOOL("test_elicitation_sep1330_enums", "Asks with lists to choose from.", fixture_enums),
    {.name = "json_schema_2020_12_tool",
     .description = "Has an input schema with keywords of the 2020-12 dialect.",
     .input = dialect,
     .run = plain},
    SLOW_TOOL("test_reconnection", "Answers after a while.", reconnection),
    {.name = "test_x_mcp_header",
     .description = "Has an argument that a header repeats.",
     .input = header_input,
     .run = plain},
    TOOL("test_missing_capability", "Needs a client that can sample.", fixture_missing_capability),
    TOOL("test_streaming_elicitation", "Answers with a text, and asks nobody.", plain),
    SLOW_TOOL("test_logging_tool", "Logs one message.", one_log),
    TOOL("test_trigger_tool_change", "Tells that the tools changed.", change_tools),
    TOOL("test_trigger_prompt_change", "Tells that the prompts changed.", change_prompts),
    ROUND_TOOL("elicitation", "Needs a name.", fixture_need_name),
    ROUND_TOOL("sampling", "Needs the client's model.", fixture_need_sampling),
    ROUND_TOOL("list_roots", "Needs the client's roots.", fixture_need_roots),
    ROUND_TOOL("request_state", "Keeps a state between rounds.", fixture_need_state),
    ROUND_TOOL("multiple_inputs", "Needs three answers at once.", fixture_need_several),
    ROUND_TOOL("multi_round", "Needs one answer after the other.", fixture_need_rounds),
    ROUND_TOOL("tampered_state", "Refuses a state that was changed.", fixture_need_state),
    ROUND_TOOL("capabilities", "Needs what this client can give.", fixture_need_capabilities),
};
const size_t fixture_tools_n = FUMI_COUNT(fixture_tools);
