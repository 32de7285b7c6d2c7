/* A memory as MCP presents it to agents: tools, prompts, resources and instructions. */
#ifndef FUMI_AGENT_AGENT_H
#define FUMI_AGENT_AGENT_H

#include "mcp/mcp.h"
#include "memory/memory.h"

struct agent;

/* Which tools are offered. */
enum agent_set {
    AGENT_ALL,
    AGENT_CORE,  /* the eight tools that most agents need */
    AGENT_ADMIN, /* all and memory_set_config, which decides which provider receives the notes */
};

/* Adds MCP to a server that already has the methods of the memory, and starts the thread that
 * notifies clients of changes. The memory and `version` are borrowed until agent_free. Returns NULL
 * and sets *e on failure. */
struct agent *agent_new(struct fumi_server *s, struct memory *m, enum agent_set tools,
                        const char *version, struct fumi_err *e);
struct fumi_mcp *agent_mcp(struct agent *a);
/* Call it after serving and before the server is freed. NULL is allowed. */
void agent_free(struct agent *a);

/* The tables that agent_new uses. */
const struct fumi_tool *agent_tools(enum agent_set set, size_t *n);
extern const char agent_instructions[]; /* for the model: when to recall, when to store */

/* Writes what an agent should know when a session begins: the standard settings of the project, its
 * rules, important notes and the newest ones, as Markdown of at most max_tokens (counted as four
 * bytes each), in the arena. Returns -1 and sets *e on failure. */
int agent_digest(struct memory *m, struct fumi_arena *a, struct fumi_str project, size_t max_tokens,
                 struct fumi_str *out, struct fumi_err *e);

#endif
