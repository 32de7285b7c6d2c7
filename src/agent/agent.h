/* A memory as MCP presents it to agents: tools, prompts, resources and instructions. */
#ifndef FUMI_AGENT_AGENT_H
#define FUMI_AGENT_AGENT_H

#include "mcp/mcp.h"
#include "memory/memory.h"

struct agent;

/* Which tools are offered. */
enum agent_set {
    AGENT_ALL,
    AGENT_CORE,  /* the nine tools that most agents need, and those of the app */
    AGENT_ADMIN, /* all and memory_set_config, which decides which provider receives the notes */
};

/* The project of calls over stdio that lack a projectId, or whose projectId is a path in the same
 * repository as the working directory. Over all other transports it is required:
 * the working directory of this process is not that of the client. */
#define AGENT_PROJECT_PARAM "projectId"
struct agent_home {
    struct fumi_str project; /* null: projectId is required, unless the client lists its roots */
    bool announce;           /* the instructions name the project, */
    struct fumi_str moved;   /* and say this of its notes; null: nothing */
    /* Finds the project of a path that a client gives or lists as its root, in the arena. Any
     * thread. NULL: clients are not asked for their roots. Returns -1 with *e set on failure. */
    int (*find)(void *arg, struct fumi_arena *a, struct fumi_str path, struct fumi_str *out,
                struct fumi_err *e);
    void *arg;
};
/* Sets the projectId of calls of methods. Borrows `h` until the server is freed. */
struct fumi_processor agent_home_processor(const struct agent_home *h);

/* Adds MCP to a server that already has the methods of the memory, and starts the thread that
 * notifies clients of changes. `home` NULL: tools require a projectId. The memory, `version` and
 * `home` are borrowed until agent_free. Returns NULL and sets *e on failure. */
struct agent *agent_new(struct fumi_server *s, struct memory *m, enum agent_set tools,
                        const char *version, const struct agent_home *home, struct fumi_err *e);
struct fumi_mcp *agent_mcp(struct agent *a);
/* Call it after serving and before the server is freed. NULL is allowed. */
void agent_free(struct agent *a);

/* The tables that agent_new uses. */
const struct fumi_tool *agent_tools(enum agent_set set, size_t *n);
extern const char agent_instructions[]; /* for the model: when to recall, when to store */

/* Notes that an agent was given: their ids and numbers. */
enum { AGENT_GIVEN_MOST = 128 };
struct agent_given {
    struct fumi_str ids[AGENT_GIVEN_MOST];
    int64_t seqs[AGENT_GIVEN_MOST];
    size_t n;
};

/* Writes what an agent should know when a session begins: the standard settings of the project, its
 * rules, important notes and the newest ones, as Markdown of at most max_tokens (counted as four
 * bytes each), in the arena. *given receives the notes in it; NULL: not wanted. Returns -1 and sets
 * *e on failure. */
int agent_digest(struct memory *m, struct fumi_arena *a, struct fumi_str project, size_t max_tokens,
                 struct fumi_str *out, struct agent_given *given, struct fumi_err *e);

/* The kind of the injection of a digest by a hook. */
#define AGENT_SESSION_START "session-start"

/* Writes the notes that most likely answer a prompt of the user (confidence high), as Markdown of
 * at most max_tokens (tokens_of), in the arena. *out is empty if there are none. A note that the
 * session was given since its last digest is left out. *given receives the notes. Returns -1 and
 * sets *e on failure. */
struct agent_recall {
    struct fumi_str project, prompt;
    struct fumi_str session; /* null: not known, and no note is left out */
    size_t max_tokens;
    int64_t ms; /* time limit for embedding the prompt */
};
int agent_recall(struct memory *m, struct fumi_arena *a, const struct agent_recall *r,
                 struct fumi_str *out, struct agent_given *given, struct fumi_err *e);

#endif
