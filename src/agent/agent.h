/* What agents see of a memory: tools, prompts, resources and instructions, over MCP. */
#ifndef FUMI_AGENT_AGENT_H
#define FUMI_AGENT_AGENT_H

#include "mcp/mcp.h"
#include "memory/memory.h"

struct agent;

/* Which tools are offered. */
enum agent_set {
    AGENT_ALL,
    AGENT_CORE,  /* the eight that most agents need */
    AGENT_ADMIN, /* all, and memory_set_config, which decides to whom the notes are sent */
};

/* Adds MCP to a server that has the methods of the memory, and begins to watch the store for those
 * who want to know of changes. The memory, and `version`, are borrowed until agent_free, which
 * comes after serving and before the server is freed. NULL: *e is set. */
struct agent *agent_new(struct fumi_server *s, struct memory *m, enum agent_set tools,
                        const char *version, struct fumi_err *e);
struct fumi_mcp *agent_mcp(struct agent *a);
void agent_free(struct agent *a); /* NULL: nothing */

/* The tables that agent_new offers. */
const struct fumi_tool *agent_tools(enum agent_set set, size_t *n);
extern const char agent_instructions[]; /* for the model: when to recall, when to store */

/* What an agent should know when a session begins, as Markdown of at most max_tokens (four bytes
 * each): the standard settings of the project, its rules, what is important, and what is new. The
 * text is the arena's. */
int agent_digest(struct memory *m, struct fumi_arena *a, struct fumi_str project, size_t max_tokens,
                 struct fumi_str *out, struct fumi_err *e);

#endif
