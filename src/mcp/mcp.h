/* MCP (Model Context Protocol) for a server: tools, prompts, resources and completion, in every
 * published protocol revision.
 *
 * One set of handlers serves both families of revisions: "legacy" (2024-11-05 to 2025-11-25), which
 * start with an initialize handshake, and "modern" (2026-07-28), in which every request carries its
 * own protocol version. Fumi detects the revision from the message; a handler need not know it.
 *
 * A handler that needs input from the client calls fumi_mcp_request_input and returns. A modern
 * client receives the input requests as the result and repeats its request with the responses. A
 * legacy client is sent the requests at once. In both cases the handler runs again and finds the
 * responses in `responses`. */
#ifndef FUMI_MCP_MCP_H
#define FUMI_MCP_MCP_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_mcp;

/* One run of a handler: of a tool, a prompt, a resource or a completion. Valid until the handler
 * returns. */
struct fumi_mcp_call {
    struct fumi_call *call; /* arena, error, fumi_cancelled, fumi_progress */
    struct fumi_mcp *mcp;
    void *self;                          /* fumi_mcp_options.self */
    const struct fumi_val *arguments;    /* an object; NULL: no arguments were sent */
    const struct fumi_val *capabilities; /* of the client, an object; NULL: none declared */
    const struct fumi_val *responses;    /* to the input requests, by key; NULL in the first run */
    struct fumi_str state;       /* as passed to fumi_mcp_keep_state; null in the first run */
    struct fumi_json structured; /* a tool sets its structuredContent here; null: none */
    struct mcp_result *result;   /* private to mcp/ */
};

/* These functions add to the result and copy their arguments. A tool adds any number of content
 * blocks; a prompt does the same, and each block becomes one message. A resource adds contents with
 * fumi_mcp_contents and fumi_mcp_blob. `type` is a MIME type; NULL leaves it out. */
void fumi_mcp_text(struct fumi_mcp_call *c, struct fumi_str text);
void fumi_mcp_image(struct fumi_mcp_call *c, const char *type, struct fumi_str base64);
void fumi_mcp_audio(struct fumi_mcp_call *c, const char *type, struct fumi_str base64);
void fumi_mcp_embed(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                    struct fumi_str text);
void fumi_mcp_link(struct fumi_mcp_call *c, struct fumi_str uri, struct fumi_str name);
void fumi_mcp_contents(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                       struct fumi_str text);
void fumi_mcp_blob(struct fumi_mcp_call *c, struct fumi_str uri, const char *type,
                   struct fumi_str base64);

/* Prompts: the role of the messages that follow, "user" or "assistant"; "user" by default. Borrowed
 * until the handler returns. */
void fumi_mcp_role(struct fumi_mcp_call *c, const char *role);

/* Adds the text and marks the tool's result as an error (isError). Returns FUMI_OK. A tool may also
 * return fumi_fail: unless the code is FUMI_INTERNAL_ERROR, that becomes such a result too, with
 * code and data in structuredContent. */
enum fumi_ret fumi_mcp_failed(struct fumi_mcp_call *c, struct fumi_str text);

/* Answers with a JSON-RPC error even if the handler is a tool. Returns FUMI_FAIL. call->err.data
 * may be set after the call. */
enum fumi_ret fumi_mcp_refuse(struct fumi_mcp_call *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the client declared a capability: "sampling", "elicitation" or "roots".
 * fumi_mcp_require returns FUMI_OK if so; otherwise it sets the error and returns FUMI_FAIL. */
bool fumi_mcp_can(const struct fumi_mcp_call *c, const char *capability);
enum fumi_ret fumi_mcp_require(struct fumi_mcp_call *c, const char *capability);

/* MCP Apps are HTML documents that a client shows beside a conversation. A client that shows them
 * declares the extension FUMI_MCP_UI with this MIME type, that of their resources. */
#define FUMI_MCP_UI       "io.modelcontextprotocol/ui"
#define FUMI_MCP_APP_TYPE "text/html;profile=mcp-app"

/* Requests input from the client: `method` is sampling/createMessage, elicitation/create or
 * roots/list, `params` a JSON object (copied), `key` the name of the response (borrowed until the
 * handler returns). After up to 16 requests the handler returns FUMI_OK; it runs again once the
 * responses have arrived. fumi_mcp_keep_state stores a text for that next run. It is signed when it
 * passes through the client, so the handler receives exactly this text or none. */
void fumi_mcp_request_input(struct fumi_mcp_call *c, const char *key, const char *method,
                            struct fumi_json params);
void fumi_mcp_keep_state(struct fumi_mcp_call *c, struct fumi_str state);

/* Sends a log message to the client if the client requested this level. */
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

/* Flags of a tool, in addition to FUMI_BLOCKING and FUMI_READ_ONLY. A tool that sleeps, does
 * blocking I/O or requests input from the client must be FUMI_BLOCKING. */
enum {
    FUMI_MCP_DESTRUCTIVE = 1 << 8, /* may change or remove existing data */
    FUMI_MCP_IDEMPOTENT = 1 << 9,  /* repeating a call changes nothing more */
    FUMI_MCP_OPEN_WORLD = 1 << 10, /* uses systems outside of this server */
    FUMI_MCP_WRITES = 1 << 11,     /* changes something although its method is FUMI_READ_ONLY */
    FUMI_MCP_APP_ONLY = 1 << 12,   /* for MCP Apps, not for models: exists only for clients that
                                      show apps (FUMI_MCP_UI). The meta of the tool must say so
                                      too: {"ui":{"visibility":["app"]}} */
};

struct fumi_tool {
    const char *name, *title, *description;
    const char *input, *output; /* JSON Schemas; input NULL: no arguments */
    const char *method;         /* the server method to call, instead of input, output and run; its
                                   result is written in compact form (fumi_emit_compact) */
    enum fumi_ret (*run)(struct fumi_mcp_call *c);
    unsigned flags;      /* with `method`, only FUMI_MCP_* apply; the others come from the method */
    const char *meta;    /* _meta, a JSON object; NULL: none */
    const char *example; /* the arguments of a right call, added to the error about wrong arguments;
                            NULL: none */
};

struct fumi_prompt_argument {
    const char *name, *description;
    bool required;
};

struct fumi_prompt {
    const char *name, *title, *description;
    const struct fumi_prompt_argument *arguments;
    size_t arguments_n;
    /* Before it runs, the arguments are checked: required ones are present, all are strings. */
    enum fumi_ret (*run)(struct fumi_mcp_call *c);
    unsigned flags; /* FUMI_BLOCKING, FUMI_READ_ONLY */
};

struct fumi_resource {
    struct fumi_str uri, name;                /* required */
    struct fumi_str title, description, type; /* null: left out */
};

struct fumi_template {
    const char *uri; /* RFC 6570: "memory://project/{project}/recent" */
    const char *name, *title, *description, *type;
};

struct fumi_resources {
    /* Adds one page of resources with fumi_mcp_resource, starting at `cursor` (null: at the first
     * resource), and sets the cursor of the next page, if any, with fumi_mcp_next_cursor. Returns
     * FUMI_FAIL if the cursor is invalid. */
    enum fumi_ret (*list)(struct fumi_mcp_call *c, struct fumi_str cursor);
    /* Returns FUMI_OK without adding contents if the resource does not exist. */
    enum fumi_ret (*read)(struct fumi_mcp_call *c, struct fumi_str uri);
    const struct fumi_template *templates;
    size_t templates_n;
    unsigned flags; /* FUMI_BLOCKING: list and read may block */
};
void fumi_mcp_resource(struct fumi_mcp_call *c, const struct fumi_resource *r);
void fumi_mcp_next_cursor(struct fumi_mcp_call *c, struct fumi_str cursor);

/* A request to complete an argument while it is being typed. */
struct fumi_mcp_completion_request {
    struct fumi_str prompt;         /* name of the prompt; null: `uri` is set */
    struct fumi_str uri;            /* of the resource template */
    struct fumi_str argument;       /* its name */
    struct fumi_str value;          /* what was typed so far */
    const struct fumi_val *context; /* the other arguments, an object; NULL: none */
};
/* Adds a value. All are counted; the first 100 are sent. */
void fumi_mcp_add_completion(struct fumi_mcp_call *c, struct fumi_str value);

enum fumi_mcp_list { FUMI_MCP_TOOLS, FUMI_MCP_PROMPTS, FUMI_MCP_RESOURCES };

/* All tables and texts are borrowed until fumi_mcp_free. */
struct fumi_mcp_options {
    const char *name, *title, *version, *description, *website; /* all but name, version: or NULL */
    const char *instructions;                                   /* for the model; may be NULL */
    const struct fumi_tool *tools;
    size_t tools_n;
    const struct fumi_prompt *prompts;
    size_t prompts_n;
    const struct fumi_resources *resources; /* NULL: none */
    bool read_only;   /* list only tools and prompts that change nothing; the others can still be
                         called and must refuse on their own */
    unsigned changes; /* the lists that may change while serving: 1 << FUMI_MCP_TOOLS and so on */
    /* Called only for an existing prompt or resource template. NULL: nothing is completed. */
    enum fumi_ret (*complete)(struct fumi_mcp_call *c, const struct fumi_mcp_completion_request *q);
    unsigned complete_flags; /* FUMI_BLOCKING */
    /* Returns advice on a tool's error: a static sentence without its full stop, or NULL. The
     * function itself may be NULL. */
    const char *(*remedy)(void *self, const struct fumi_err *e);
    void *self;
    /* Called when the first client subscribes to changes of resources (any = true) and when the
     * last one unsubscribes. Runs on any thread with a lock held: it must be quick and must not
     * call fumi_mcp_* functions. May be NULL. */
    void (*watched)(void *self, bool any);
    /* The name of a param that a tool may lack although its method requires it; NULL: none. The
     * schemas of tools do not require it. Before each call of such a tool `supply` runs: it may
     * replace c->arguments, or request input, and then runs again. */
    const char *supplied;
    enum fumi_ret (*supply)(struct fumi_mcp_call *c);
    const char *extensions; /* that the server supports: a JSON object of their settings by name;
                               NULL: none */
    void *reserved[5];      /* must be zero */
};

/* Adds the methods of MCP to the server; call it before the server serves. Returns NULL and sets *e
 * if a table is invalid. */
struct fumi_mcp *fumi_mcp_new(struct fumi_server *s, const struct fumi_mcp_options *o,
                              struct fumi_err *e);
/* Call it after serving and before fumi_server_free. NULL is allowed. */
void fumi_mcp_free(struct fumi_mcp *m);

/* Notifies subscribed clients of a change: of a list, or of one resource. Any thread. */
void fumi_mcp_changed(struct fumi_mcp *m, enum fumi_mcp_list what);
void fumi_mcp_updated(struct fumi_mcp *m, struct fumi_str uri);

/* The URIs that clients are subscribed to, sorted and without duplicates, in the arena. Any
 * thread. */
struct fumi_strs fumi_mcp_subscribed(struct fumi_mcp *m, struct fumi_arena *a);

/* Prepares for the end of the server: sends no more notifications and finishes all subscriptions.
 * With `now`, calls of HTTP sessions are cancelled too. For fumi_serve_options.ending. */
void fumi_mcp_end(void *mcp, bool now);

#ifdef __cplusplus
}
#endif

#endif
