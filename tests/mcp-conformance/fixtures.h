/* The tools, prompts and resources that the official conformance suite expects. It prescribes their
 * names and texts. */
#ifndef CONFORMANCE_FIXTURES_H
#define CONFORMANCE_FIXTURES_H

#include "mcp/mcp.h"

/* One white pixel, and two bytes of silence. */
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

/* An input request and the capability that the client must have for it; params is JSON. */
struct fixture_request {
    const char *key, *capability, *method, *params;
};

/* The response, an object; NULL if it is missing or unusable. */
const struct fumi_val *fixture_response(const struct fumi_mcp_call *c,
                                        const struct fixture_request *q);

/* Sends the request to the client. The handler returns what this function returns. */
enum fumi_ret fixture_request_input(struct fumi_mcp_call *c, const struct fixture_request *q);

/* Tools that request input (input_requests.c). */
typedef enum fumi_ret fixture_fn(struct fumi_mcp_call *c);
fixture_fn fixture_sampling, fixture_elicitation, fixture_defaults, fixture_enums,
    fixture_missing_capability, fixture_need_name, fixture_need_sampling, fixture_need_roots,
    fixture_need_state, fixture_need_several, fixture_need_rounds, fixture_need_capabilities;

#endif
