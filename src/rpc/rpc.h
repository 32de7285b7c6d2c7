/* JSON-RPC 2.0: the text of a message goes in, the text of the answer comes out.
 *
 * A server is a set of methods, declared in tables, and of processors around them. It knows no
 * socket and no file, and starts no thread but the timer of deadlines; a transport frames bytes and
 * calls fumi_handle. */
#ifndef FUMI_RPC_RPC_H
#define FUMI_RPC_RPC_H

#include "../base/log.h"
#include "../base/task.h"
#include "../json/shape.h"
#include "../rpc/peer.h"
#include "../rpc/source.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_server;
struct fumi_exchange;
struct fumi_run;

enum fumi_ret { FUMI_OK, FUMI_FAIL, FUMI_PENDING };

/* One call of a message. A handler reads the first part and keeps nothing of it. */
struct fumi_call {
    struct fumi_str name;             /* the method asked for */
    const struct fumi_method *method; /* NULL: there is none of that name */
    void *self;                       /* what the method was registered with */
    struct fumi_peer *peer;
    /* Who asks: what a filter attached to the HTTP request or upgrade (fumi_http_attach), or else
     * the context of the peer; NULL: nothing. It lives until the call has ended. */
    void *context;
    struct fumi_arena *arena;      /* emptied once the call is answered */
    const struct fumi_val *params; /* as they came; NULL: none */
    const struct fumi_val *id;     /* NULL: a notification */
    struct fumi_err err;           /* set when the answer is an error */
    enum fumi_ret ret;             /* for `after` hooks: how it ended */
    /* Three moments of fumi_ticks(), 0 unless a processor has hooks. A call begins when its message
     * comes in or, in a batch, when the call before it has ended, and ends when its outcome is
     * known. A processor may set the deadline in `before`: a call that has not begun to run by then
     * is not run. One that waits, runs on the executor or is pending at its deadline is answered
     * -32000 "timeout" by a timer, and its later result is dropped; one that runs in the thread of
     * fumi_handle is answered so when it returns. */
    int64_t began, ended;
    int64_t deadline; /* 0: none */
    /* Where fumi_progress goes; NULL: nobody wants to know. */
    void (*progress)(struct fumi_call *call, double done, double total, struct fumi_str message);
    void *progress_arg;
    /* private to rpc/ */
    struct fumi_run *run;
    void *result;
    struct fumi_out *out; /* of fumi_invoke, with what it had before; NULL: the answer */
    size_t from;
    bool comma, wrote; /* wrote: fumi_result was called */
    size_t entered;    /* processors to leave again */
};

/* FUMI_OK with the result filled, FUMI_FAIL after fumi_fail() or with call->err set, or
 * FUMI_PENDING when somebody will call fumi_finish() on this call, once, from any thread. From the
 * moment another thread may do that, the handler must not touch the call. params and result are
 * structs as their shapes describe them, the result zeroed; NULL where the method has no such
 * shape. */
typedef enum fumi_ret fumi_method_fn(struct fumi_call *call, const void *params, void *result);

enum {
    FUMI_BLOCKING = 1,  /* may wait for disk or network: runs on the executor, if there is one */
    FUMI_TOOL = 2,      /* offered to agents */
    FUMI_READ_ONLY = 4, /* changes nothing: may overlap with others of its kind */
    FUMI_ASYNC = 8,     /* may return FUMI_PENDING; required of those that do */
    FUMI_HIDDEN = 16,   /* not listed by rpc.discover */
    FUMI_PLAIN_ERRORS = 64, /* the message of its errors is the sentence, also for reserved codes */
    /* Pends until its client ends it: fumi_limit_time does not apply. */
    FUMI_SUBSCRIPTION = 128,
    /* Does not wait for calls that the peer sent before it: about the connection, not the data. */
    FUMI_UNORDERED = 256,
    /* The message of -32602 names the fault too: "Invalid params: name is required". */
    FUMI_DETAILED_ERRORS = 512,
    FUMI_DYNAMIC_FLAGS =
        32, /* has further flags that depend on the params: see fumi_dynamic_flags */
};

struct fumi_method {
    const char *name, *help;
    /* NULL: takes none; answers null, or what it writes to fumi_result */
    const struct fumi_shape *params, *result;
    fumi_method_fn *run;
    unsigned flags;
};

/* What the `self` of methods with FUMI_DYNAMIC_FLAGS begins with. */
struct fumi_dynamic_flags {
    /* The further flags of one call; on the thread that calls fumi_handle. */
    unsigned (*flags_for)(void *self, const struct fumi_method *m, const struct fumi_val *params);
};

/* A message that has come in, for `admit`. */
struct fumi_arrival {
    struct fumi_peer *peer;
    void *context;                  /* as call->context */
    const struct fumi_trace *trace; /* of its HTTP request or upgrade; NULL: none */
};

struct fumi_processor {
    const char *name;
    /* Once per message, batch or not: keys, rate limits. FUMI_FAIL with *e set refuses it. */
    enum fumi_ret (*admit)(void *self, const struct fumi_arrival *a, struct fumi_err *e);
    /* For each call, in order, ahead of parameter checks; the first FUMI_FAIL is the answer. */
    enum fumi_ret (*before)(void *self, struct fumi_call *call);
    /* For each processor that was entered, also the one whose `before` failed, in reverse, once
     * the outcome is known. */
    void (*after)(void *self, struct fumi_call *call);
    void *self;
};

/* Set up in this order by one thread; frozen by the first message. Tables are borrowed. */
struct fumi_server *fumi_server_new(const char *title, const char *version);
void fumi_server_free(struct fumi_server *s); /* does nothing while fumi_server_busy */
/* Whether a call of it is open, or its method still runs although its deadline was missed. */
bool fumi_server_busy(const struct fumi_server *s);

/* Adds methods as "name_space.name", or as they are named when name_space is NULL. -1, with
 * nothing added: a name twice, reserved ("rpc.") or not of 1 to 128 visible ASCII characters
 * without quote and backslash, a table that fumi_shape_check refuses, no function, or a server that
 * has begun to serve. */
int fumi_server_add(struct fumi_server *s, const char *name_space,
                    const struct fumi_method *methods, size_t n, void *self, struct fumi_err *e);
int fumi_server_use(struct fumi_server *s, const struct fumi_processor *p, struct fumi_err *e);
void fumi_server_log(struct fumi_server *s, const struct fumi_log *log);

/* Where blocking methods run. Without one they run in the thread that called fumi_handle. */
void fumi_server_executor(struct fumi_server *s, void (*submit)(void *arg, struct fumi_task *task),
                          void *arg);

/* What a stranger can make grow. 0 keeps the default. */
struct fumi_limits {
    size_t message;     /* bytes, 1 MiB */
    size_t depth;       /* nesting, 64 */
    size_t batch;       /* calls, 100 */
    size_t answer;      /* bytes, 8 MiB */
    int64_t request;    /* milliseconds that fumi_request waits, 30,000 */
    size_t reserved[4]; /* zero: room for later members */
};
void fumi_server_limits(struct fumi_server *s, struct fumi_limits limits);
struct fumi_limits fumi_server_get_limits(const struct fumi_server *s);
const char *fumi_server_version(const struct fumi_server *s);

/* Where an answer goes; called from any thread. Either function may take the buffer's bytes. notify
 * may be NULL; a cancelled call sends no notification. */
struct fumi_sink {
    void (*notify)(void *arg, struct fumi_buf *message);         /* before it, any number */
    void (*reply)(void *arg, struct fumi_buf *answer, int code); /* once, last, maybe empty */
    void *arg;
    /* Answers may be sent in the order of the messages, but this one is exempt: a call is pending,
     * or FUMI_UNORDERED. From any thread; may be NULL. */
    void (*unordered)(void *arg);
    struct fumi_source *source; /* of the message; lives until `reply`. NULL: nothing is known */
};

/* The one way in. `message` is borrowed until this returns. `reply` is called exactly once, perhaps
 * before that, perhaps later from another thread; an empty answer means there is nothing to send.
 * `code` is the error code of a single answer, else 0. */
typedef void fumi_handle_fn(void *self, struct fumi_peer *peer, struct fumi_str message,
                            struct fumi_sink sink);
fumi_handle_fn fumi_handle; /* self: a struct fumi_server */

/* fumi_handle in two steps, for a transport that looks into a message to know where it goes.
 * fumi_message_read parses it; *document is NULL, with *e set, if it is too long or not JSON. The
 * message is borrowed until fumi_message_handle, which needs a document, or fumi_message_drop has
 * returned. spare: of the calling thread, or NULL. */
struct fumi_exchange *fumi_message_read(struct fumi_server *s, struct fumi_spare *spare,
                                        struct fumi_str message, const struct fumi_val **document,
                                        struct fumi_err *e);
void fumi_message_handle(struct fumi_exchange *x, struct fumi_peer *peer, struct fumi_sink sink);
void fumi_message_drop(struct fumi_exchange *x, struct fumi_spare *spare);

/* For handlers. fumi_fail returns FUMI_FAIL. fumi_finish ends a pending call, with the result that
 * was filled where the handler got it (so keep `result`, not a copy) or after fumi_fail.
 * fumi_invoke runs another method, one that does not defer, inside this call, without processors,
 * and writes its result to `out` (compact: with fumi_emit_compact); *result, unless NULL, is then
 * the struct that the method filled. If the method fails, its error is in call->err, and `out` is
 * as before. */
enum fumi_ret fumi_fail(struct fumi_call *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));
void fumi_finish(struct fumi_call *c, enum fumi_ret ret);
enum fumi_ret fumi_invoke(struct fumi_call *c, struct fumi_str name, const struct fumi_val *args,
                          bool compact, struct fumi_out *out, const void **result);

/* For a handler that writes its result as JSON instead of filling a struct: one value, which is
 * complete when the handler returns FUMI_OK or calls fumi_finish. The bytes become the answer
 * without a copy. fumi_result again begins anew; a call that fails drops what was written; one that
 * writes more than the answer may take fails with FUMI_LIMIT. */
struct fumi_out *fumi_result(struct fumi_call *c);

/* While a call is running. fumi_notify sends a notification ahead of the answer. fumi_request puts
 * a question to the peer and waits for its answer, no longer than to the call's deadline; on the
 * executor only (elsewhere it fails at once). A cancelled call ends without an answer; a long one
 * asks now and then, which is also answered with yes when its deadline is over. */
void fumi_notify(struct fumi_call *c, const char *method, const struct fumi_shape *s,
                 const void *params);
enum fumi_ret fumi_request(struct fumi_call *c, const char *method, struct fumi_json params,
                           struct fumi_json *answer);
bool fumi_cancelled(const struct fumi_call *c);

/* How far it is: `done` of `total`, which is 0 when that is not known. For those who asked. */
void fumi_progress(struct fumi_call *c, double done, double total, struct fumi_str message);
bool fumi_wants_progress(const struct fumi_call *c);

/* For a handler that will return FUMI_PENDING: `on` is called once, from any thread, if the call is
 * cancelled or misses its deadline before it is finished, which is still to be done. Once
 * fumi_finish has returned, `on` is not running and will not run: fumi_finish waits for it, unless
 * `on` itself called fumi_finish. So `on` must not wait for a thread that finishes the call. False:
 * the call is cancelled already. */
bool fumi_on_cancel(struct fumi_call *c, void (*on)(void *arg), void *arg);

/* Bytes that the answer to this call may still take. A method whose texts are longer need not load
 * the rest of them: it fails with what fumi_too_large sets, which returns -1. */
size_t fumi_room(const struct fumi_call *c);
int fumi_too_large(const struct fumi_call *c, struct fumi_err *e);

/* The trace that the call belongs to: that of params._meta (members traceparent and tracestate, as
 * MCP has them), or else that of the HTTP request or upgrade. Returns false if there is none, or
 * none that is valid. out->state lives as long as the call. For hooks and for whoever runs the
 * method. */
bool fumi_call_trace(const struct fumi_call *c, struct fumi_trace *out);

bool fumi_in_batch(const struct fumi_call *c);
bool fumi_can_notify(const struct fumi_call *c); /* fumi_notify reaches the peer */

/* Milliseconds to the deadline: INT64_MAX without one, 0 when it is over, never 0 before. */
int64_t fumi_time_left(const struct fumi_call *c);

/* An error answer that names no request, for what a transport itself must refuse. */
void fumi_put_refusal(struct fumi_buf *out, const struct fumi_err *e, enum fumi_lost_id lost);
/* The same to a request, with the sentence as its message; id NULL: to none. */
void fumi_put_error(struct fumi_buf *out, const struct fumi_err *e, const struct fumi_val *id,
                    enum fumi_lost_id lost);

/* The registry, for those who describe it (discovery, MCP, command line). */
size_t fumi_server_size(const struct fumi_server *s);
const struct fumi_method *fumi_server_at(const struct fumi_server *s, size_t i,
                                         struct fumi_str *name);
void fumi_discover(const struct fumi_server *s, struct fumi_out *o); /* OpenRPC 1.3 */

#ifdef __cplusplus
}
#endif

#endif
