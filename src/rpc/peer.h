/* The other end of a connection, for transports and for protocols on top of JSON-RPC. */
#ifndef FUMI_RPC_PEER_H
#define FUMI_RPC_PEER_H

#include "../json/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_exchange;
struct fumi_peer_state;

/* Memory that a thread which calls fumi_handle keeps for its next message. {0} is empty. Use it
 * with one server only. Threads without one share such memory in the server. */
struct fumi_spare {
    struct fumi_exchange *exchange;
};
void fumi_spare_done(struct fumi_spare *spare); /* frees it; before its server is freed */

struct fumi_peer;

/* The callbacks of a protocol on top of JSON-RPC, such as MCP, that keeps a session for a peer.
 * Each may be NULL. They are called from any thread. */
struct fumi_session_ops {
    /* The peer sends nothing more; it may still receive answers. */
    void (*eof)(struct fumi_peer *peer);
    /* The peer is disconnected. When this returns, nothing more may be pushed to the peer. May be
     * called more than once. */
    void (*gone)(struct fumi_peer *peer);
    /* The last call of the peer has ended: frees the session. */
    void (*done)(struct fumi_peer *peer);
};

/* A client, as the server sees it. {.transport = "..."} is ready to use. The transport owns the
 * peer, and calls fumi_handle for it from one thread at a time (but see fumi_peer_share),
 * fumi_peer_close when the connection is closed, and fumi_peer_done after the last reply. */
struct fumi_peer {
    const char *transport;
    struct fumi_str address;
    struct fumi_str user;               /* on a Unix socket the numeric user id; otherwise none */
    void *session;                      /* of a protocol on top of JSON-RPC, such as MCP */
    const struct fumi_session_ops *ops; /* of that protocol; may be NULL */
    int lost_id;                        /* private: see fumi_peer_lost_id */
    bool no_requests;                   /* it cannot answer requests: fumi_request fails at once */
    struct fumi_spare *spare; /* of the thread that calls fumi_handle for it; may be NULL */
    /* Sends a message that belongs to no call. May be called from any thread while the peer is
     * known to exist: while it has an open call, or until ops->gone. May move the contents out of
     * the buffer. NULL: the peer receives messages only while it waits for an answer. */
    void (*push)(struct fumi_peer *peer, struct fumi_buf *message);
    /* keep == true: the peer must not be freed, although all its messages are answered, because a
     * call that missed its deadline still runs. keep == false: that call has ended. From any
     * thread. NULL: the peer outlives its calls anyway. */
    void (*keep)(struct fumi_peer *peer, bool keep);
    struct fumi_peer_state *state; /* private: open calls and open requests */
    /* The host program's data for this connection: see `connected` of struct fumi_serve_options.
     * It is call->context unless the request has its own. Must outlive the peer. NULL: none, as for
     * a session of MCP over HTTP, which is not bound to a connection. */
    void *context;
};

/* The id of an error answer to a message that could not be parsed. A protocol on top of JSON-RPC,
 * such as MCP, may change it at any time from any thread. */
enum fumi_lost_id {
    FUMI_ID_NULL,  /* null, as JSON-RPC requires */
    FUMI_ID_FOUND, /* the id if it can be found in the text, otherwise null */
    FUMI_ID_NONE,  /* the id if it can be found in the text, otherwise no id */
};
enum fumi_lost_id fumi_peer_lost_id(const struct fumi_peer *peer);
void fumi_peer_set_lost_id(struct fumi_peer *peer, enum fumi_lost_id id);

/* The peer sends nothing more: open requests to it fail. */
void fumi_peer_eof(struct fumi_peer *peer);
/* The peer is disconnected: open requests to it fail, and its open calls are cancelled. */
void fumi_peer_close(struct fumi_peer *peer);
/* The server shuts down: as fumi_peer_close, but a call that has started and is not FUMI_READ_ONLY
 * is still answered when it returns, because it may have changed something. */
void fumi_peer_end(struct fumi_peer *peer);
/* Frees what the library keeps for the peer, and its session. After the last reply. */
void fumi_peer_done(struct fumi_peer *peer);

/* Returns the number of its open calls; writing: only of those that may be changing something. The
 * names of their methods, separated by blanks, are appended to `names` unless it is NULL. */
size_t fumi_peer_calls(struct fumi_peer *peer, bool writing, struct fumi_buf *names);

/* Gives the peer a session and its callbacks. Called from a call of the peer, on any thread.
 * Returns false, and changes nothing, if the peer has a session or is disconnected. */
bool fumi_peer_attach(struct fumi_peer *peer, void *session, const struct fumi_session_ops *ops);

/* Random numbers, never 0, for methods that record which calls belong together. From a call of the
 * peer. number: the same as long as the peer is connected. streak: the same as long as calls of
 * this function follow one another; a new number if more than `gap` passed since the last one.
 * `now` is a time in the unit of `gap`. */
uint64_t fumi_peer_number(struct fumi_peer *peer);
uint64_t fumi_peer_streak(struct fumi_peer *peer, int64_t now, int64_t gap);

/* Allows any number of threads to call fumi_handle for the peer at once. It must have no spare. */
void fumi_peer_share(struct fumi_peer *peer);

/* Backpressure: which blocking calls of the peer are started, so that answers which it does not
 * read do not pile up: all, only the oldest open one (the answers of the others wait for it), or
 * none. Called on the thread that calls fumi_handle for the peer. */
enum fumi_hold { FUMI_HOLD_NONE, FUMI_HOLD_LATER, FUMI_HOLD_ALL };
void fumi_peer_hold(struct fumi_peer *peer, enum fumi_hold hold);

/* Whether a request to the peer is open: then the transport must go on reading its messages, since
 * one of them is the answer. */
bool fumi_peer_waits(const struct fumi_peer *peer);

/* Cancels the open call with that id. Returns false if there is none. From any thread. Clients
 * cancel with the notification or request rpc.cancel {"id": ...}. */
bool fumi_cancel(struct fumi_peer *peer, const struct fumi_val *id);

/* Sends a notification that belongs to no call; see `push`. Returns false if the peer has no
 * `push`.
 */
bool fumi_push(struct fumi_peer *peer, const char *method, const struct fumi_shape *s,
               const void *params);

#ifdef __cplusplus
}
#endif

#endif
