/* The other end of a connection, for transports and for protocols above JSON-RPC. */
#ifndef FUMI_RPC_PEER_H
#define FUMI_RPC_PEER_H

#include "../json/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_exchange;
struct fumi_peer_state;

/* Warm memory for the next message, kept by a thread that calls fumi_handle. {0} is empty; what is
 * in it belongs to one server. Without one, all threads share a place in the server. */
struct fumi_spare {
    struct fumi_exchange *exchange;
};
void fumi_spare_done(struct fumi_spare *spare); /* before its server is freed */

struct fumi_peer;

/* What a protocol above, such as MCP, does for a peer whose session it keeps. From any thread; each
 * may be NULL. */
struct fumi_session_ops {
    void (*eof)(
        struct fumi_peer *peer); /* it sends nothing more; what it waits for may still come */
    /* It is gone: when this returns, nothing more may be pushed to it. Perhaps more than once. */
    void (*gone)(struct fumi_peer *peer);
    void (*done)(struct fumi_peer *peer); /* frees the session: the last answer came home */
};

/* Who asks, as far as a method may know. {.transport = "..."} is ready to use; the transport owns
 * it, calls fumi_handle for it from one thread at a time (but see fumi_peer_share), and calls
 * fumi_peer_close when the other end is gone and fumi_peer_done after the last answer came home. */
struct fumi_peer {
    const char *transport;
    struct fumi_str address;
    struct fumi_str user; /* over a Unix socket the number of the user; else none */
    void *session;        /* what a protocol above, such as MCP, knows about this peer */
    const struct fumi_session_ops *ops; /* of that protocol; may be NULL */
    int lost_id;                        /* private: see fumi_peer_lost_id */
    bool no_requests;         /* it cannot answer questions of ours: fumi_request fails at once */
    struct fumi_spare *spare; /* of the thread that calls fumi_handle for it; may be NULL */
    /* Sends a message that belongs to no call; from any thread, as long as the peer is known to be
     * there: while a call of it is open, or until ops->gone was called. May take the bytes. NULL:
     * such a peer can only be told something while it waits for an answer. */
    void (*push)(struct fumi_peer *peer, struct fumi_buf *message);
    /* Keeps the peer, although all its messages are answered, because a call that missed its
     * deadline still runs; or lets it go again. From any thread. NULL: the peer outlives its calls
     * anyway. */
    void (*keep)(struct fumi_peer *peer, bool keep);
    struct fumi_peer_state *state; /* private: open calls and open questions */
    /* The host program's own, of this connection: see `connected` of struct fumi_serve_options.
     * Calls see it as their context, where their request has none of its own. Must outlive the
     * peer. NULL: nothing, as in a session of MCP over HTTP, which is not bound to a connection. */
    void *context;
};

/* Which id an error has that names no request, because its message could not be read. A protocol
 * above, such as MCP, chooses it for a peer while calls of that peer may fail on other threads. */
enum fumi_lost_id {
    FUMI_ID_NULL,  /* null, as JSON-RPC says */
    FUMI_ID_FOUND, /* the id that can be made out in the text, else null */
    FUMI_ID_NONE,  /* the id that can be made out in the text, else none */
};
enum fumi_lost_id fumi_peer_lost_id(const struct fumi_peer *peer);
void fumi_peer_set_lost_id(struct fumi_peer *peer, enum fumi_lost_id id);

void fumi_peer_eof(struct fumi_peer *peer);   /* nothing more comes: its open questions fail */
void fumi_peer_close(struct fumi_peer *peer); /* it is gone: its open calls are cancelled too */
/* The server ends: its open calls are cancelled, but one that has begun and is not FUMI_READ_ONLY
 * is still answered when it returns, for it may have changed something. */
void fumi_peer_end(struct fumi_peer *peer);
/* Its open calls, counted; `writing`: only those of messages of that kind. Appends the names of
 * their methods, with blanks between them, unless `names` is NULL. */
size_t fumi_peer_calls(struct fumi_peer *peer, bool writing, struct fumi_buf *names);
void fumi_peer_done(struct fumi_peer *peer);

/* Gives the peer a session, whose `ops` are called from now on; from any call of the peer. False:
 * it has one, or it is gone. */
bool fumi_peer_attach(struct fumi_peer *peer, void *session, const struct fumi_session_ops *ops);

/* From now on any number of threads may call fumi_handle for it at once; it must have no spare. */
void fumi_peer_share(struct fumi_peer *peer);

/* Which of its blocking calls are started, so that answers that nobody reads do not pile up: all,
 * the oldest open one (the answers of the others wait for it), or none. From the thread that calls
 * fumi_handle for it. */
enum fumi_hold { FUMI_HOLD_NONE, FUMI_HOLD_LATER, FUMI_HOLD_ALL };
void fumi_peer_hold(struct fumi_peer *peer, enum fumi_hold hold);

/* Whether a question put to it is open: then it must be read, or the answer never comes. */
bool fumi_peer_waits(const struct fumi_peer *peer);

/* Cancels the open call with that id; false: there is none. Clients reach it by the notification
 * or request rpc.cancel {"id": ...}. */
bool fumi_cancel(struct fumi_peer *peer, const struct fumi_val *id);

/* A notification that belongs to no call. False: this peer cannot be pushed to. */
bool fumi_push(struct fumi_peer *peer, const char *method, const struct fumi_shape *s,
               const void *params);

#ifdef __cplusplus
}
#endif

#endif
