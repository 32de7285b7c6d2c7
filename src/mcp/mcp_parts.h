/* Private to mcp/: declarations shared by its files.
 *
 * "Legacy" are the revisions that start with an initialize handshake, "modern" is 2026-07-28, whose
 * requests carry their version in params._meta. */
#ifndef FUMI_MCP_MCP_PARTS_H
#define FUMI_MCP_MCP_PARTS_H

#include "mcp/mcp.h"

#include <assert.h>
#include <pthread.h>

/* Error codes of MCP, in addition to those of JSON-RPC: X(name, code, meaning). The last one is
 * Fumi's own, outside of -32768 to -32000, which MCP reserves. */
#define MCP_CODES(X)                                                                               \
    X(MCP_NO_RESOURCE, -32002, "The resource does not exist (revisions up to 2025-11-25).")        \
    X(MCP_NO_SESSION, -32001, "The HTTP session does not exist (revisions up to 2025-11-25).")     \
    X(MCP_HEADER_MISMATCH, -32020, "An HTTP header contradicts the message.")                      \
    X(MCP_MISSING_CAPABILITY, -32021, "The client lacks a capability that the request needs.")     \
    X(MCP_UNSUPPORTED_VERSION, -32022, "The server does not support this protocol revision.")      \
    X(MCP_TOO_MANY_SUBSCRIPTIONS, -31000, "A limit on subscriptions is reached.")

enum {
#define MCP_CODE(name, code, ...) name = code,
    MCP_CODES(MCP_CODE)
#undef MCP_CODE
};

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_META           "io.modelcontextprotocol/" /* prefix of the keys in _meta */

/* In which revisions a method exists; a bit set. */
enum { MCP_LEGACY = 1, MCP_MODERN = 2 };

/* Indexes of mcp_versions, which holds the legacy revisions, oldest first. */
enum {
    MCP_VERSION_WITH_BATCHES = 2,    /* 2025-03-26, the only one with batches */
    MCP_VERSION_WITHOUT_NULL_ID = 4, /* 2025-11-25: the first whose errors may omit the id */
    MCP_VERSIONS = 5,
};
extern const char *const mcp_versions[MCP_VERSIONS];
int mcp_version_of(struct fumi_str text);    /* index of a legacy revision; -1: not one of them */
bool mcp_is_modern(struct fumi_str version); /* 2026-07-28 or later, supported or not */

/* A tool, with the server method that it calls. */
struct mcp_tool {
    const struct fumi_tool *row;
    const struct fumi_method *method; /* NULL: row->run is called */
    struct fumi_str method_name;
    const struct fumi_val *mirrors; /* its input schema, if it contains x-mcp-header; or NULL */
};

/* The session of one legacy connection, or of one legacy HTTP client (Mcp-Session-Id). Guarded by
 * the lock of its fumi_mcp, except for mcp and peer, which never change. */
struct mcp_session {
    struct fumi_mcp *mcp;
    struct fumi_peer *peer;
    struct mcp_session *next;
    struct mcp_session *
        *at; /* the pointer in fumi_mcp.sessions to this session; NULL: not listed */
    struct fumi_arena arena; /* of capabilities and clientInfo */
    const struct fumi_val *capabilities;
    struct fumi_str client, client_version; /* clientInfo; null: none */
    int version;                            /* index of mcp_versions; -1: no handshake yet */
    int level;                              /* least log level to send */
    bool ready;                             /* notifications/initialized was received */
    struct fumi_strs uris;                  /* resources it subscribed to; owned */
};

/* A modern subscription: a pending call of subscriptions/listen, in whose arena it is
 * allocated. */
struct subscription {
    struct subscription *next;
    struct fumi_call *call;
    struct fumi_json id;
    unsigned lists; /* 1 << enum fumi_mcp_list */
    struct fumi_strs uris;
};

struct mcp_http; /* mcp_http_sessions.c */

struct fumi_mcp {
    struct fumi_dynamic_flags varying; /* must be the first member */
    struct fumi_server *server;
    struct fumi_mcp_options o;
    struct fumi_arena arena; /* of the members up to the key */
    struct mcp_tool *tools;
    struct fumi_json tool_list, app_tool_list, prompt_list, template_list; /* JSON arrays */
    struct fumi_json info, capabilities;
    struct fumi_json brief_info; /* name and version only, for every modern result */
    unsigned char key[32];       /* signs requestState */
    pthread_mutex_t lock;        /* guards what follows, except http */
    struct mcp_session *sessions;
    struct subscription *subscriptions;
    size_t subscriptions_n;
    size_t uris_n; /* of all sessions and subscriptions */
    bool ended, watched;
    struct mcp_http *http; /* NULL: not served over HTTP; set before serving */
};

/* One request. */
struct mcp_context {
    struct fumi_mcp *mcp;
    struct fumi_call *call;
    bool modern;
    const struct fumi_val *params, *meta, *capabilities;
    struct fumi_str client, client_version; /* clientInfo; null: none */
    struct fumi_out *out;                   /* the result; set by mcp_begin_result */
    int version;                            /* legacy: index of mcp_versions; -1: no handshake */
    int level;                          /* least log level to send; FUMI_MCP_EMERGENCY + 1: none */
    double last_progress;               /* progress must increase */
    const struct fumi_json *brief_info; /* serverInfo of a modern result; NULL: mcp->brief_info */
};

/* The contents of params._meta of a request. */
struct mcp_meta {
    bool present; /* it has a protocolVersion: the request is modern */
    struct fumi_str version;
    const struct fumi_val *capabilities, *info; /* info: clientInfo; NULL: none */
    int level;
};
/* Returns -1 and sets *e if _meta is malformed. Does not check that the version is supported. */
int mcp_meta_read(struct fumi_arena *a, const struct fumi_val *params, struct mcp_meta *out,
                  struct fumi_err *e);
/* Returns -1 and sets *e if a modern version is not supported. */
int mcp_version_check(struct fumi_arena *a, struct fumi_str version, struct fumi_err *e);

/* Every method calls this function first. Fills *x; fails unless the request is well formed and its
 * revision is among `eras` (MCP_LEGACY, MCP_MODERN). */
enum fumi_ret mcp_context_init(struct mcp_context *x, struct fumi_call *call, unsigned eras);

/* Params of all methods, unparsed; params of notifications, as JSON. */
struct mcp_any {
    const struct fumi_val *value;
};
struct mcp_text {
    struct fumi_json json;
};
extern const struct fumi_shape mcp_any_shape, mcp_text_shape;

/* Write the start and the end of a result object in the form of the request's revision; the
 * members are written to the returned output. Calling mcp_begin_result again discards what was
 * written. mcp_end_result adds cache hints to a modern result and returns FUMI_OK. */
struct mcp_cache {
    int64_t ms;    /* negative: no hints */
    bool personal; /* only this client may cache the result */
};
extern const struct mcp_cache mcp_uncached, mcp_public, mcp_own, mcp_personal;
struct fumi_out *mcp_begin_result(struct mcp_context *x);
enum fumi_ret mcp_end_result(struct mcp_context *x, const struct mcp_cache *cache);
enum fumi_ret mcp_empty_result(struct mcp_context *x);

/* Answers tools/list and the like: {"name": list}, in one page, so any cursor is invalid. Clients
 * that show MCP Apps get `app_list` instead, which is NULL or null if there is none. */
enum fumi_ret mcp_answer_list(struct fumi_call *call, const char *name,
                              const struct fumi_json *list, const struct fumi_json *app_list);
bool mcp_shows_apps(const struct fumi_val *capabilities); /* of a client */

/* {"key": value}, for the data of an error. */
struct fumi_str mcp_error_data(struct fumi_arena *a, const char *key, struct fumi_str value);

/* Writes "name": text; nothing if text is NULL. */
void mcp_put_text(struct fumi_out *o, const char *name, const char *text);

/* mcp_result.c: the result of a handler while it is being built. It has one list (content blocks,
 * messages, contents, ...), which is opened by its first item. */
struct mcp_input_request {
    const char *key, *method;
    struct fumi_json params;
};
enum { MCP_INPUTS_MAX = 16, MCP_COMPLETIONS_MAX = 100 };

struct mcp_result {
    struct mcp_context *x;
    const char *list; /* name of the list */
    bool listed;      /* the list is open */
    size_t inputs_n, completions_n;
    struct mcp_input_request inputs[MCP_INPUTS_MAX];
    const char *role;     /* of a prompt's messages; NULL: blocks are not wrapped in messages */
    bool failed, refused; /* see fumi_mcp_failed, fumi_mcp_refuse */
    struct fumi_str keep; /* the state to keep; null: none */
    struct fumi_str next_cursor;
    struct fumi_str name; /* of the tool or prompt, or the URI of the resource */
};
void mcp_result_begin(struct mcp_result *r, struct mcp_context *x, struct fumi_mcp_call *c,
                      const char *list, const char *role);
void mcp_result_restart(struct mcp_result *r);    /* discards the result and its list */
void mcp_result_close_list(struct mcp_result *r); /* writes [] if there was no item */
/* Adds a text block that repeats n bytes of the result, from offset `at`. */
void mcp_result_add_copy(struct fumi_mcp_call *c, size_t at, size_t n);

/* mcp_input.c: runs a handler once (modern) or until it needs no more input (legacy). Afterwards a
 * modern result may need input; mcp_input_required then writes the answer. `name` identifies the
 * tool, prompt or resource. */
typedef enum fumi_ret mcp_handler(struct fumi_mcp_call *c, const void *row);
enum fumi_ret mcp_run_rounds(struct mcp_result *r, struct fumi_mcp_call *c, mcp_handler *run,
                             const void *row, struct fumi_str name);
enum fumi_ret mcp_input_required(struct fumi_mcp_call *c);
static inline bool mcp_result_needs_input(const struct mcp_result *r)
{
    return r->inputs_n || r->keep.p;
}

/* request_state.c: signs a state for the client to keep, and reads it back. `bound` is everything
 * that must not differ between the two requests. mcp_state_read returns false if the token is
 * invalid or expired. */
struct fumi_str mcp_state_sign(const struct fumi_mcp *m, struct fumi_arena *a,
                               struct fumi_str bound, struct fumi_str state);
bool mcp_state_read(const struct fumi_mcp *m, struct fumi_arena *a, struct fumi_str bound,
                    struct fumi_str token, struct fumi_str *state);

/* The methods: mcp_tools.c, mcp_prompts.c, mcp_resources.c, mcp_completion.c, subscriptions.c. */
fumi_method_fn mcp_tools_list, mcp_tools_call, mcp_prompts_list, mcp_prompts_get,
    mcp_resources_list, mcp_resources_read, mcp_templates_list, mcp_complete, mcp_subscribe,
    mcp_unsubscribe, mcp_listen;
unsigned mcp_tool_flags(const struct fumi_mcp *m, const struct fumi_val *params);
unsigned mcp_prompt_flags(const struct fumi_mcp *m, const struct fumi_val *params);
int mcp_tools_prepare(struct fumi_mcp *m, struct fumi_err *e); /* writes tool_list */
void mcp_prompts_prepare(struct fumi_mcp *m);                  /* writes prompt_list */
void mcp_resources_prepare(struct fumi_mcp *m);                /* writes template_list */
/* Return NULL if there is no tool or prompt of that name. */
const struct mcp_tool *mcp_tool_find(const struct fumi_mcp *m, const struct fumi_val *name);
const struct fumi_prompt *mcp_prompt_find(const struct fumi_mcp *m, const struct fumi_val *name);

/* mcp_session.c. mcp_session_of creates the session of a connection at first use; it returns NULL
 * if the peer cannot receive notifications. */
struct mcp_session *mcp_session_of(struct fumi_mcp *m, struct fumi_call *call);
void mcp_session_init(struct mcp_session *s, struct fumi_mcp *m, struct fumi_peer *peer);
void mcp_session_done(struct mcp_session *s);  /* frees what it holds, not the struct */
void mcp_session_join(struct mcp_session *s);  /* adds it to the list; caller holds the lock */
void mcp_session_leave(struct mcp_session *s); /* removes it if listed; caller holds the lock */
/* Stores what the handshake agreed on. */
void mcp_session_negotiated(struct mcp_session *s, const struct fumi_val *params, int version);
/* Sets what the call says about its caller: conversation, client and client_version. */
void mcp_identify(const struct mcp_context *x);
/* The peer sent a modern request: from now on errors to it omit an unknown id instead of sending
 * null, unless it made a handshake. */
void mcp_mark_modern(struct fumi_mcp *m, struct fumi_peer *peer);

/* subscriptions.c. Calls fumi_mcp_options.watched if the first client has subscribed or the last
 * one has unsubscribed. The caller holds the lock. */
void mcp_update_watched(struct fumi_mcp *m);
/* Finishes the subscriptions of a peer; NULL: all. The caller does not hold the lock. */
void mcp_end_subscriptions(struct fumi_mcp *m, const struct fumi_peer *peer);

/* mcp_http_sessions.c. */
void mcp_http_end(struct mcp_http *h, bool now);
void mcp_http_free(struct mcp_http *h);

#endif
