/* The JSON-RPC 2.0 server: converts the text of a message to the text of its answer.
 *
 * A server is a set of methods, declared in tables, and of processors around them. It uses no
 * sockets and no files, and its only thread is the timer of deadlines. A transport frames bytes and
 * calls fumi_handle. */
#ifndef FUMI_RPC_RPC_H
#define FUMI_RPC_RPC_H

#include "../base/log.h"
#include "../base/task.h"
#include "../rpc/call.h"
#include "../rpc/source.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_server;
struct fumi_exchange;

/* A message that has arrived, for `admit`. */
struct fumi_arrival {
    struct fumi_peer *peer;
    void *context;                  /* as call->context */
    const struct fumi_trace *trace; /* of its HTTP request or upgrade; NULL: none */
};

/* Hooks around calls. Each may be NULL. Several threads may call them at the same time. */
struct fumi_processor {
    const char *name;
    /* Once per message, single or batch, for checks such as rate limits. FUMI_FAIL with *e set
     * refuses the message. */
    enum fumi_ret (*admit)(void *self, const struct fumi_arrival *a, struct fumi_err *e);
    /* For each call, in the order of fumi_server_use, before the params are checked. The first that
     * returns FUMI_FAIL ends the call with its error. */
    enum fumi_ret (*before)(void *self, struct fumi_call *call);
    /* For each processor whose `before` was called, even if it failed, in reverse order, once the
     * outcome of the call is known. */
    void (*after)(void *self, struct fumi_call *call);
    void *self;
};

/* Returns a server without methods. Title and version are borrowed and must outlive it. One thread
 * sets a server up; the first message freezes it. */
struct fumi_server *fumi_server_new(const char *title, const char *version);
/* Frees the server; s may be NULL. Does nothing if fumi_server_busy. */
void fumi_server_free(struct fumi_server *s);
/* Whether a call is open, or a method still runs although its call missed its deadline. */
bool fumi_server_busy(const struct fumi_server *s);

/* Adds methods as "name_space.name", or as "name" if name_space is NULL. Returns -1 with *e set,
 * and adds none, if a name is taken, reserved ("rpc.") or not 1 to 128 visible ASCII characters
 * without quote and backslash, if fumi_shape_check refuses a table, if a method has no function, or
 * if the server is frozen. The table is borrowed; `self` is passed to the methods. */
int fumi_server_add(struct fumi_server *s, const char *name_space,
                    const struct fumi_method *methods, size_t n, void *self, struct fumi_err *e);
/* Adds a processor, which is copied. Returns -1 with *e set if the server is frozen. */
int fumi_server_use(struct fumi_server *s, const struct fumi_processor *p, struct fumi_err *e);
/* Sets the log of internal errors; borrowed. The default writes to stderr from FUMI_WARN on. */
void fumi_server_log(struct fumi_server *s, const struct fumi_log *log);

/* Sets the executor: `submit` must run task->run(task) on another thread. Without an executor,
 * blocking methods run in the thread that calls fumi_handle. */
void fumi_server_executor(struct fumi_server *s, void (*submit)(void *arg, struct fumi_task *task),
                          void *arg);

/* Limits for what an untrusted peer can send or cause. 0 keeps the default. */
struct fumi_limits {
    size_t message;     /* bytes; default 1 MiB */
    size_t depth;       /* nesting; default 64 */
    size_t batch;       /* calls; default 100 */
    size_t answer;      /* bytes; default 8 MiB */
    int64_t request;    /* milliseconds that fumi_request waits; default 30,000 */
    size_t reserved[4]; /* must be zero */
};
void fumi_server_limits(struct fumi_server *s, struct fumi_limits limits);
struct fumi_limits fumi_server_get_limits(const struct fumi_server *s);
const char *fumi_server_version(const struct fumi_server *s);

/* Receives the answer to one message. The functions are called from any thread, and may move the
 * contents out of the buffer (fumi_buf_move). */
struct fumi_sink {
    /* A notification or request of a call; any number, before the reply. NULL: the transport can
     * send only the answer. A cancelled call sends none. */
    void (*notify)(void *arg, struct fumi_buf *message);
    /* The answer: exactly once, last. Empty: there is nothing to send. `code` is the error code of
     * a single answer, otherwise 0. */
    void (*reply)(void *arg, struct fumi_buf *answer, int code);
    void *arg;
    /* A transport that sends answers in the order of the messages need not wait for this one,
     * because a call is pending or FUMI_UNORDERED. May be NULL. */
    void (*unordered)(void *arg);
    struct fumi_source *source; /* of the message; must live until `reply`. NULL: none */
};

/* Handles one message. `message` is borrowed until this returns. `reply` of the sink is called
 * exactly once, before this returns or later from another thread. */
typedef void fumi_handle_fn(void *self, struct fumi_peer *peer, struct fumi_str message,
                            struct fumi_sink sink);
fumi_handle_fn fumi_handle; /* self: a struct fumi_server */

/* fumi_handle in two steps, for a transport that must inspect a message before it knows the peer.
 * fumi_message_read parses it; *document is NULL, with *e set, if the message is too long or not
 * JSON. Every message that was read must be passed either to fumi_message_handle, only if it has a
 * document, or to fumi_message_drop. `message` is borrowed until that function returns. spare: that
 * of the calling thread, or NULL. */
struct fumi_exchange *fumi_message_read(struct fumi_server *s, struct fumi_spare *spare,
                                        struct fumi_str message, const struct fumi_val **document,
                                        struct fumi_err *e);
void fumi_message_handle(struct fumi_exchange *x, struct fumi_peer *peer, struct fumi_sink sink);
void fumi_message_drop(struct fumi_exchange *x, struct fumi_spare *spare);

/* Appends an error answer that names no request, for messages that a transport itself refuses. */
void fumi_put_refusal(struct fumi_buf *out, const struct fumi_err *e, enum fumi_lost_id lost);
/* Appends an error answer to a request, with the sentence as its message. id == NULL: as above. */
void fumi_put_error(struct fumi_buf *out, const struct fumi_err *e, const struct fumi_val *id,
                    enum fumi_lost_id lost);

/* The registry: its methods, rpc.discover and rpc.cancel included. */
size_t fumi_server_size(const struct fumi_server *s);
/* Method i < fumi_server_size, and in *name its name with its name space. */
const struct fumi_method *fumi_server_at(const struct fumi_server *s, size_t i,
                                         struct fumi_str *name);
/* Writes the OpenRPC 1.3 document of the server. */
void fumi_discover(const struct fumi_server *s, struct fumi_out *o);

#ifdef __cplusplus
}
#endif

#endif
