/* MCP on a server: tools, prompts and resources for agents, in every published revision.
 *
 * One set of handlers serves both eras: those revisions that begin with a handshake (2024-11-05 to
 * 2025-11-25, "legacy") and those in which every request speaks for itself (2026-07-28, "modern").
 * Which one a message speaks is seen from the message; a handler need not know. What a handler
 * needs from the client it asks for with fumi_mcp_need: a modern client is sent the questions and
 * repeats its request with the answers, a legacy client is asked, and in both cases the handler
 * runs again and finds the answers in `responses`. */
#ifndef FUMI_MCP_MCP_H
#define FUMI_MCP_MCP_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_mcp;

/* What a tool, a prompt, a resource or a completion sees of its call. */
struct fumi_mcp_call {
    struct fumi_call *call; /* its arena, its error, fumi_cancelled, fumi_progress */
    struct fumi_mcp *mcp;
    void *self;                          /* of the options */
    const struct fumi_val *arguments;    /* an object; NULL: none were given */
    const struct fumi_val *capabilities; /* what the client can do: an object; NULL: nothing */
    const struct fumi_val *responses;    /* by key, to what was needed; NULL: none yet */
    struct fumi_str state;               /* as given to fumi_mcp_keep; null in the first round */
    struct fumi_json structured;         /* tools: the answer as an object; null: none */
    struct mcp_draft *draft;             /* private to mcp/ */
};

/* The answer of a tool: any number of content blocks. Of a prompt: the same, each a message of its
 * own. Of a resource: fumi_mcp_contents. All texts are copied. */
void fumi_mcp_text(struct fumi_mcp_call *c, struct fumi_str text);
void fumi_mcp_image(struct fumi_mcp_call *c, const char *type, struct fumi_str base64);
void fumi_mcp_audio(struct fumi_mcp_call *c, const char *type, struct fumi_str base64);
void fumi_mcp_embed(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                    struct fumi_str text);
void fumi_mcp_link(struct fumi_mcp_call *c, struct fumi_str uri, struct fumi_str name);
void fumi_mcp_role(struct fumi_mcp_call *c,
                   const char *role); /* of the messages that follow: "user" */
void fumi_mcp_contents(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                       struct fumi_str text);
void fumi_mcp_blob(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                   struct fumi_str base64);

/* A tool's result that says that it failed: returns FUMI_OK. The same as fumi_fail in a tool, which
 * becomes such a result too, with code and data in it. */
enum fumi_ret fumi_mcp_failed(struct fumi_mcp_call *c, struct fumi_str text);

/* Not a failed tool but a JSON-RPC error: returns FUMI_FAIL. Set call->err.data behind it. */
enum fumi_ret fumi_mcp_refuse(struct fumi_mcp_call *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the client declared it: "sampling", "elicitation", "roots". require: FUMI_OK or the error
 * that says so. */
bool fumi_mcp_can(const struct fumi_mcp_call *c, const char *capability);
enum fumi_ret fumi_mcp_require(struct fumi_mcp_call *c, const char *capability);

/* A question for the client, named by a key; params: an object. After one or more of them, and a
 * text to keep if any, the handler returns FUMI_OK and runs again with the answers. The text comes
 * back to it unchanged or not at all: it is signed. */
void fumi_mcp_need(struct fumi_mcp_call *c, const char *key, const char *method,
                   struct fumi_json params);
void fumi_mcp_keep(struct fumi_mcp_call *c, struct fumi_str state);

/* Tells the client's log, where it wants to know. */
enum fumi_mcp_level {
    FUMI_MCP_DEBUG,
    FUMI_MCP_INFO,
    FUMI_MCP_NOTICE,
    FUMI_MCP_WARNING,
    FUMI_MCP_ERROR,
    FUMI_MCP_CRITICAL,
    FUMI_MCP_ALERT,
    FUMI_MCP_EMERGENCY,
};
void fumi_mcp_log(struct fumi_mcp_call *c, enum fumi_mcp_level level, struct fumi_str text);

/* Beside FUMI_BLOCKING and FUMI_READ_ONLY. A tool that sleeps, waits or asks must be FUMI_BLOCKING.
 */
enum {
    FUMI_MCP_DESTRUCTIVE = 1 << 8, /* may change or remove what is there */
    FUMI_MCP_IDEMPOTENT = 1 << 9,  /* to do it twice changes no more than to do it once */
    FUMI_MCP_OPEN_WORLD = 1 << 10, /* deals with more than this server */
    FUMI_MCP_WRITES = 1 << 11,     /* changes something, though its method is FUMI_READ_ONLY */
};

struct fumi_tool {
    const char *name, *title, *description;
    const char *input, *output; /* JSON Schemas as text; input NULL: no arguments */
    const char *method;         /* in place of input, output and run: this method of the server. Its
                                   result is the answer, in brief (fumi_emit_compact) */
    enum fumi_ret (*run)(struct fumi_mcp_call *c);
    unsigned flags;   /* of a method, only those of FUMI_MCP_*: the rest is the method's */
    const char *meta; /* _meta, a JSON object as text; NULL: none */
};

struct fumi_prompt_argument {
    const char *name, *description;
    bool required;
};

struct fumi_prompt {
    const char *name, *title, *description;
    const struct fumi_prompt_argument *arguments;
    size_t arguments_n;
    enum fumi_ret (*run)(struct fumi_mcp_call *c); /* required arguments are there, all strings */
    unsigned flags;
};

struct fumi_resource {
    struct fumi_str uri, name, title, description, type; /* null: left out, but for the first two */
};

struct fumi_template {
    const char *uri; /* RFC 6570: "memory://project/{project}/recent" */
    const char *name, *title, *description, *type;
};

struct fumi_resources {
    /* Gives its rows to fumi_mcp_resource, from `cursor` on (null: from the first), and where the
     * next page begins, if there is one, to fumi_mcp_more. A cursor that is none of ours:
     * FUMI_FAIL. */
    enum fumi_ret (*list)(struct fumi_mcp_call *c, struct fumi_str cursor);
    /* FUMI_OK without contents: there is no such resource. */
    enum fumi_ret (*read)(struct fumi_mcp_call *c, struct fumi_str uri);
    const struct fumi_template *templates;
    size_t templates_n;
    unsigned flags; /* FUMI_BLOCKING: both may wait */
};
void fumi_mcp_resource(struct fumi_mcp_call *c, const struct fumi_resource *r);
void fumi_mcp_more(struct fumi_mcp_call *c, struct fumi_str cursor);

/* What an argument may be, as far as it is typed. */
struct fumi_mcp_question {
    struct fumi_str prompt;          /* the name of a prompt; null: a resource is meant */
    struct fumi_str uri;             /* a template's or resource's */
    struct fumi_str argument, value; /* the value as typed so far */
    const struct fumi_val *context;  /* the other arguments, an object; NULL: none */
};
void fumi_mcp_offer(struct fumi_mcp_call *c, struct fumi_str value); /* any number; 100 are sent */

enum fumi_mcp_list { FUMI_MCP_TOOLS, FUMI_MCP_PROMPTS, FUMI_MCP_RESOURCES };

/* All tables are borrowed for the life of the fumi_mcp. */
struct fumi_mcp_options {
    const char *name, *title, *version, *description, *website; /* title and on may be NULL */
    const char *instructions;                                   /* for the model; may be NULL */
    const struct fumi_tool *tools;
    size_t tools_n;
    const struct fumi_prompt *prompts;
    size_t prompts_n;
    const struct fumi_resources *resources; /* NULL: there are none */
    bool read_only;   /* lists only tools and prompts that change nothing; the others can be called
                         all the same, and have to refuse */
    unsigned changes; /* which lists may change while it serves: 1 << FUMI_MCP_TOOLS and so on */
    /* The prompt, or one of the templates, exists. NULL: nothing is ever offered. */
    enum fumi_ret (*complete)(struct fumi_mcp_call *c, const struct fumi_mcp_question *q);
    unsigned complete_flags; /* FUMI_BLOCKING */
    /* What to do about a tool's error, as a sentence without its stop; static. NULL: no advice. */
    const char *(*remedy)(void *self, const struct fumi_err *e);
    void *self;
    /* Somebody wants to know of changes, or nobody does any more; from any thread, and not for
     * long. May be NULL. */
    void (*watched)(void *self, bool any);
    void *reserved[8]; /* zero: room for later members */
};

/* Adds the methods of MCP to the server, before it serves. NULL with *e set: a table is wrong. */
struct fumi_mcp *fumi_mcp_new(struct fumi_server *s, const struct fumi_mcp_options *o,
                              struct fumi_err *e);
void fumi_mcp_free(struct fumi_mcp *m); /* after serving, before the server is freed */

/* Something changed: those who want to know are told. Any thread. */
void fumi_mcp_changed(struct fumi_mcp *m, enum fumi_mcp_list what);
void fumi_mcp_updated(struct fumi_mcp *m, struct fumi_str uri);

/* The URIs somebody wants to know about, each once. */
struct fumi_strs fumi_mcp_wanted(struct fumi_mcp *m, struct fumi_arena *a);

/* The server ends: nobody is told anything any more, what waits for changes is answered. `now`:
 * calls of HTTP sessions are cancelled too. For fumi_serve_options.ending. */
void fumi_mcp_end(void *mcp, bool now);

#ifdef __cplusplus
}
#endif

#endif
