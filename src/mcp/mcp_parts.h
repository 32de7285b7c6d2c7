/* Private to mcp/. */
#ifndef FUMI_MCP_MCP_PARTS_H
#define FUMI_MCP_MCP_PARTS_H

#include "mcp/mcp.h"

#include <pthread.h>

/* Codes that MCP adds to JSON-RPC's. */
enum {
    MCP_NO_RESOURCE = -32002, /* legacy only */
    MCP_NO_SESSION = -32001,  /* HTTP, legacy */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
    /* Our own. MCP keeps -32768 to -32000 for itself, so it lies outside. */
    MCP_TOO_MANY_SUBSCRIPTIONS = -31000,
};

#define MCP_MODERN "2026-07-28"
#define MCP_META   "io.modelcontextprotocol/"

enum { LEGACY = 1, MODERN = 2 }; /* eras */

/* The legacy revisions, oldest first. */
enum {
    VERSIONS = 5,
    BATCHES = 2, /* 2025-03-26, the one that has batches */
    NO_NULL = 4, /* 2025-11-25, the first whose errors may lack the id; the others demand one */
};
extern const char *const mcp_versions[VERSIONS];
int mcp_version_of(struct fumi_str text);    /* -1: none of them */
bool mcp_is_modern(struct fumi_str version); /* of that era, served or not */

/* A tool and the method behind it. */
struct mcp_tool {
    const struct fumi_tool *row;
    const struct fumi_method *method; /* NULL: it has a function of its own */
    struct fumi_str method_name;
    const struct fumi_val *mirrors; /* its schema, if that mirrors arguments in headers; or NULL */
};

/* One legacy connection or HTTP session. Under the lock of its fumi_mcp, but for what is set once.
 */
struct session {
    struct fumi_mcp *mcp;
    struct fumi_peer *peer;
    struct session *next;
    struct session **at;     /* where the list points at it; NULL: it is in no list */
    struct fumi_arena arena; /* of what is set once */
    const struct fumi_val *capabilities;
    int version;           /* -1: no handshake yet */
    int level;             /* of the log */
    bool ready;            /* the client has said that it is initialized */
    struct fumi_strs uris; /* it wants to know about these; owned */
};

/* A subscription of the modern era: a call that is pending. */
struct listener {
    struct listener *next;
    struct fumi_call *call;
    struct fumi_json id;
    unsigned lists; /* 1 << enum fumi_mcp_list */
    struct fumi_strs uris;
};

struct mcp_http; /* http.c */

struct fumi_mcp {
    struct fumi_dynamic_flags varying; /* first */
    struct fumi_server *server;
    struct fumi_mcp_options o;
    struct fumi_arena arena; /* of what follows, until the lock */
    struct mcp_tool *tools;
    struct fumi_json tool_list, prompt_list, template_list; /* as they are sent: arrays */
    struct fumi_json info, capabilities;
    struct fumi_json badge; /* name and version: what every modern result carries */
    unsigned char key[32];  /* signs what clients keep for us */
    pthread_mutex_t lock;
    struct session *sessions;
    struct listener *listeners;
    size_t listeners_n, uris_n; /* of all sessions and listeners */
    bool ended, watched;
    struct mcp_http *http; /* NULL: it is not served over HTTP */
};

/* One request, as the era sees it. */
struct mcp_context {
    struct fumi_mcp *mcp;
    struct fumi_call *call;
    bool modern;
    const struct fumi_val *params, *meta, *capabilities;
    struct fumi_out *out;          /* the result, since mcp_open */
    int version;                   /* legacy; -1: no handshake */
    int level;                     /* least level that is told; FUMI_MCP_EMERGENCY + 1: none is */
    double told;                   /* last progress */
    const struct fumi_json *badge; /* what a modern result says of the server; NULL: the usual */
};

/* What a message claims about itself (its params._meta). */
struct mcp_claim {
    bool made;
    struct fumi_str version;
    const struct fumi_val *capabilities;
    int level;
};
/* -1 with *e: the claim is not well formed. Whether its version is served is another question. */
int mcp_claim_read(struct fumi_arena *a, const struct fumi_val *params, struct mcp_claim *out,
                   struct fumi_err *e);
int mcp_version_check(struct fumi_arena *a, struct fumi_str version, struct fumi_err *e);

/* Every method begins with it. */
enum fumi_ret mcp_enter(struct mcp_context *x, struct fumi_call *call, unsigned eras);

/* Params of all methods, as they came; params of notifications, as JSON. */
struct mcp_any {
    const struct fumi_val *value;
};
struct mcp_text {
    struct fumi_json json;
};
extern const struct fumi_shape mcp_any_shape, mcp_text_shape;

/* A result of this era, from its first bracket to its last; mcp_open again begins it anew. cache:
 * with hints for that many milliseconds; private: for this client only; negative: none. mcp_close
 * returns FUMI_OK. */
struct fumi_out *mcp_open(struct mcp_context *x);
struct mcp_cache {
    int64_t ms;
    bool personal;
};
extern const struct mcp_cache mcp_uncached, mcp_public, mcp_personal;
enum fumi_ret mcp_close(struct mcp_context *x, const struct mcp_cache *cache);
enum fumi_ret mcp_empty(struct mcp_context *x);

/* Lists that have one page: a cursor is none of ours. */
enum fumi_ret mcp_one_page(const struct mcp_context *x);

/* {"key": value} of an error's data. */
struct fumi_str mcp_data(struct fumi_arena *a, const char *key, struct fumi_str value);

/* draft.c: what a handler answers, while it is made: a result with a list, which begins with the
 * first item. */
struct mcp_need {
    const char *key, *method;
    struct fumi_json params;
};
enum { NEEDS = 16, OFFERS = 100 };

struct mcp_draft {
    struct mcp_context *x;
    const char *list; /* its name */
    bool listed;      /* its bracket is open */
    size_t needs_n, offers_n;
    struct mcp_need needs[NEEDS];
    const char *role; /* of a prompt's messages; NULL: blocks stand for themselves */
    bool failed, refused;
    struct fumi_str keep, more;
    struct fumi_str name; /* of the tool and so on */
};
void draft_begin(struct mcp_draft *d, struct mcp_context *x, struct fumi_mcp_call *c,
                 const char *list, const char *role);
void draft_again(struct mcp_draft *d); /* the result and its list begin anew */
void draft_close(struct mcp_draft *d); /* the list, empty or not */
/* A text block that repeats n bytes of the result. */
void draft_repeat(struct fumi_mcp_call *c, size_t at, size_t n);

/* Runs a handler until it needs nothing more from a legacy client, or once for a modern one. What
 * it needs is then in the draft. `name`: of the tool and so on. */
typedef enum fumi_ret mcp_handler(struct fumi_mcp_call *c, const void *row);
enum fumi_ret mcp_rounds(struct mcp_draft *d, struct fumi_mcp_call *c, mcp_handler *run,
                         const void *row, struct fumi_str name);
enum fumi_ret mcp_input_required(struct fumi_mcp_call *c);
static inline bool draft_asks(const struct mcp_draft *d)
{
    return d->needs_n || d->keep.p;
}

/* state.c */
struct fumi_str state_sign(const struct fumi_mcp *m, struct fumi_arena *a, struct fumi_str bound,
                           struct fumi_str state);
bool state_read(const struct fumi_mcp *m, struct fumi_arena *a, struct fumi_str bound,
                struct fumi_str token, struct fumi_str *state);

/* tools.c, offers.c, listen.c: the methods. */
fumi_method_fn mcp_tools_list, mcp_tools_call, mcp_prompts_list, mcp_prompts_get,
    mcp_resources_list, mcp_resources_read, mcp_templates_list, mcp_complete, mcp_subscribe,
    mcp_unsubscribe, mcp_listen;
unsigned mcp_tool_flags(const struct fumi_mcp *m, const struct fumi_val *params);
unsigned mcp_prompt_flags(const struct fumi_mcp *m, const struct fumi_val *params);
int mcp_tools_prepare(struct fumi_mcp *m, struct fumi_err *e);
void mcp_offers_prepare(struct fumi_mcp *m);
const struct mcp_tool *mcp_tool_find(const struct fumi_mcp *m, const struct fumi_val *name);

/* "name": text, when there is one. */
void mcp_put(struct fumi_out *o, const char *name, const char *text);

/* session.c: those of connections are made with the first need; NULL: this peer can have none. */
struct session *mcp_session_of(struct fumi_mcp *m, struct fumi_call *call);
void mcp_session_begin(struct session *s, struct fumi_mcp *m, struct fumi_peer *peer);
void mcp_session_join(struct session *s);  /* it is told of changes; under the lock */
void mcp_session_leave(struct session *s); /* no more; under the lock */
void mcp_session_end(struct session *s);   /* frees what it holds */
void mcp_session_agree(struct session *s, const struct fumi_val *capabilities, int version);
/* The peer speaks 2026-07-28: errors to it have no id that is null, unless a handshake was made. */
void mcp_session_modern(struct fumi_mcp *m, struct fumi_peer *peer);

/* listen.c: under the lock: whether anybody wants to know of changes, told to the host if new. */
void mcp_watch(struct fumi_mcp *m);
/* Answers the subscriptions of that peer, NULL: all. */
void mcp_end_listeners(struct fumi_mcp *m, const struct fumi_peer *peer);

/* http.c */
void mcp_http_end(struct mcp_http *h, bool now);
void mcp_http_free(struct mcp_http *h);

#endif
