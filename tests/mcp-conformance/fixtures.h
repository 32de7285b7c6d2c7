/* What the official conformance suite expects to find on a server: names and texts are its own. */
#ifndef CONFORMANCE_FIXTURES_H
#define CONFORMANCE_FIXTURES_H

#include "mcp/mcp.h"

/* One white dot, and two bytes of silence. */
#define FIXTURE_PNG                                                                                \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
#define FIXTURE_WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="

extern const struct fumi_tool fixture_tools[];
extern const size_t fixture_tools_n;
extern const struct fumi_prompt fixture_prompts[];
extern const size_t fixture_prompts_n;
extern const struct fumi_resources fixture_resources;

enum fumi_ret fixture_complete(struct fumi_mcp_call *c,
                               const struct fumi_mcp_completion_request *q);

/* A question for the client, as JSON text, and what the client must be able to do for it. */
struct fixture_question {
    const char *key, *capability, *method, *params;
};

/* The answer to it, an object; NULL: there is none yet, or none that can be used. */
const struct fumi_val *fixture_answer(const struct fumi_mcp_call *c,
                                      const struct fixture_question *q);

/* Puts it to the client: the handler returns what this returns. */
enum fumi_ret fixture_ask(struct fumi_mcp_call *c, const struct fixture_question *q);

/* Tools that ask the client first. */
typedef enum fumi_ret fixture_fn(struct fumi_mcp_call *c);
fixture_fn fixture_sampling, fixture_elicitation, fixture_defaults, fixture_enums,
    fixture_missing_capability, fixture_ask_name, fixture_ask_capital, fixture_ask_roots,
    fixture_ask_state, fixture_ask_several, fixture_ask_rounds, fixture_ask_capabilities;

#endif
