/* Methods and their calls: the interface for methods.
 *
 * The functions below may be called by the method while it runs and, for a pending call, from any
 * thread until fumi_finish. */
#ifndef FUMI_RPC_CALL_H
#define FUMI_RPC_CALL_H

#include "../json/shape.h"
#include "../rpc/peer.h"
#include "../rpc/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_run;

enum fumi_ret { FUMI_OK, FUMI_FAIL, FUMI_PENDING };

/* One call of a message. A method reads the first part. All of it, the call itself included, is
 * valid only until the call has ended. */
struct fumi_call {
    struct fumi_str name;             /* the requested method */
    const struct fumi_method *method; /* NULL: there is no method of that name */
    void *self;                       /* as given to fumi_server_add */
    struct fumi_peer *peer;
    /* Identifies the caller: the context that a filter attached to the HTTP request or upgrade
     * (fumi_http_attach), otherwise the context of the peer. NULL: none. */
    void *context;
    struct fumi_arena *arena;      /* freed once the call is answered */
    const struct fumi_val *params; /* as parsed; NULL: none */
    const struct fumi_val *id;     /* NULL: a notification */
    bool compact; /* fumi_invoke runs the method for a tool: its result is written compactly */
    struct fumi_err err; /* set if the call fails */
    enum fumi_ret ret;   /* for `after` hooks: FUMI_OK or FUMI_FAIL */
    /* For methods that record who called; set by a protocol on top of JSON-RPC; null: unknown.
     * `conversation` names the conversation that the call belongs to. `client` and
     * `client_version` are what the client says of itself, of any length. */
    struct fumi_str conversation, client, client_version;
    /* Times of fumi_ticks(); 0 unless a processor has hooks. A call begins when its message arrives
     * or, in a batch, when the call before it has ended. It ends when its outcome is known. */
    int64_t began, ended;
    /* 0: none. A processor may set it in `before`. A call that has not started to run by then is
     * not run. A call that is queued, runs on the executor or is pending at its deadline is
     * answered with -32000 "timeout" by a timer, and its later result is dropped. A call that runs
     * in the thread of fumi_handle is answered in the same way when it returns. */
    int64_t deadline;
    /* Receives what fumi_progress reports; NULL: the caller did not request progress. */
    void (*progress)(struct fumi_call *call, double done, double total, struct fumi_str message);
    void *progress_arg;
    /* private to rpc/ */
    struct fumi_run *run;
    void *result;
    struct fumi_out *out; /* of fumi_invoke; NULL: the answer */
    size_t from;          /* the length of `out` before the result, and its `comma` */
    bool comma, wrote;    /* wrote: fumi_result was called */
    size_t entered;       /* processors whose `after` is due */
};

/* A method. params and result are the structs that its shapes describe; the result is zeroed. Each
 * is NULL if the method has no such shape. Returns FUMI_OK with the result filled, FUMI_FAIL after
 * fumi_fail or with call->err set, or FUMI_PENDING if fumi_finish will be called on the call,
 * exactly once, from any thread. As soon as another thread may do that, the method must not use the
 * call any more. */
typedef enum fumi_ret fumi_method_fn(struct fumi_call *call, const void *params, void *result);

enum {
    FUMI_BLOCKING = 1,  /* may wait for disk or network: runs on the executor, if there is one */
    FUMI_TOOL = 2,      /* offered to agents */
    FUMI_READ_ONLY = 4, /* changes nothing: may overlap with other read-only calls */
    FUMI_ASYNC = 8,     /* may return FUMI_PENDING, which is an error without this flag */
    FUMI_HIDDEN = 16,   /* not listed by rpc.discover */
    FUMI_DYNAMIC_FLAGS = 32, /* has further flags that depend on the params: fumi_dynamic_flags */
    FUMI_PLAIN_ERRORS = 64,  /* the message of its errors is the sentence, for reserved codes too */
    FUMI_SUBSCRIPTION = 128, /* pending until its client ends it: fumi_limit_time ignores it */
    FUMI_UNORDERED = 256,    /* does not wait for earlier calls of the peer */
    FUMI_DETAILED_ERRORS = 512, /* the message of -32602 is "Invalid params: " and the sentence */
};

/* Tables of methods are borrowed and must outlive their server. */
struct fumi_method {
    const char *name, *help;
    const struct fumi_shape *params; /* NULL: takes none */
    const struct fumi_shape *result; /* NULL: the result is null, or what fumi_result writes */
    fumi_method_fn *run;
    unsigned flags;
};

/* The `self` of a method with FUMI_DYNAMIC_FLAGS must begin with this struct. */
struct fumi_dynamic_flags {
    /* Returns the further flags of one call. Called on the thread that calls fumi_handle. */
    unsigned (*flags_for)(void *self, const struct fumi_method *m, const struct fumi_val *params);
};

/* Sets the error of the call; returns FUMI_FAIL. */
enum fumi_ret fumi_fail(struct fumi_call *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Ends a pending call, from any thread, once: with FUMI_OK and the result in the struct that the
 * method was given (keep that pointer, not a copy), or with FUMI_FAIL after fumi_fail. The call
 * must not be used afterwards. */
void fumi_finish(struct fumi_call *c, enum fumi_ret ret);

/* Runs another method inside this call, without processors, and writes its result to `out`
 * (compact: for a tool; binds with fumi_bind_input and writes with fumi_emit_compact). *result,
 * unless NULL, is the struct that the method filled. If the method fails, its error is in call->err
 * and `out` is unchanged. A method with FUMI_ASYNC cannot be invoked. */
enum fumi_ret fumi_invoke(struct fumi_call *c, struct fumi_str name, const struct fumi_val *args,
                          bool compact, struct fumi_out *out, const void **result);

/* For a method that writes its result as JSON instead of filling a struct: exactly one value, which
 * must be complete when the method returns FUMI_OK or calls fumi_finish. The bytes become the
 * answer without a copy. Another fumi_result discards what was written. If the call fails, what was
 * written is dropped; if it exceeds the size limit of answers, the call fails with FUMI_LIMIT. */
struct fumi_out *fumi_result(struct fumi_call *c);

/* Sends a notification to the caller, before the answer. Does nothing if the transport cannot send
 * notifications (fumi_can_notify) or the call is cancelled. */
void fumi_notify(struct fumi_call *c, const char *method, const struct fumi_shape *s,
                 const void *params);
bool fumi_can_notify(const struct fumi_call *c);

/* Sends a request to the peer and waits for its answer, at most until the deadline of the call and
 * no longer than fumi_limits.request. *answer lives in the arena of the call. Returns FUMI_FAIL
 * with call->err set if the peer answers with an error, does not answer or cannot be reached. Only
 * for blocking methods on the executor; elsewhere it fails at once. */
enum fumi_ret fumi_request(struct fumi_call *c, const char *method, struct fumi_json params,
                           struct fumi_json *answer);

/* Whether the call is cancelled or past its deadline. The answer of a cancelled call is not sent. A
 * long-running method should test this regularly and return. */
bool fumi_cancelled(const struct fumi_call *c);

/* For a method that will return FUMI_PENDING: `on` is called once, from any thread, if the call is
 * cancelled or misses its deadline before it is finished. The call must still be finished. Once
 * fumi_finish has returned, `on` is not running and will not run: fumi_finish waits for it, unless
 * `on` itself called fumi_finish. So `on` must not wait for a thread that finishes the call.
 * Returns false, and never calls `on`, if the call is cancelled already. */
bool fumi_on_cancel(struct fumi_call *c, void (*on)(void *arg), void *arg);

/* Reports progress to a caller that requested it: `done` of `total`, which is 0 if unknown. */
void fumi_progress(struct fumi_call *c, double done, double total, struct fumi_str message);
bool fumi_wants_progress(const struct fumi_call *c);

/* The number of bytes that the answer to this call may still have. A method that finds that its
 * result is longer can stop early: it calls fumi_too_large, which sets *e and returns -1. */
size_t fumi_room(const struct fumi_call *c);
int fumi_too_large(const struct fumi_call *c, struct fumi_err *e);

/* The trace of the call: that of params._meta (members traceparent and tracestate, as in MCP),
 * otherwise that of the HTTP request or upgrade. Returns false if there is none or it is invalid.
 * out->state lives as long as the call. For methods and hooks. */
bool fumi_call_trace(const struct fumi_call *c, struct fumi_trace *out);

bool fumi_in_batch(const struct fumi_call *c);

/* Milliseconds until the deadline, rounded up; 0: it is past; INT64_MAX: there is none. */
int64_t fumi_time_left(const struct fumi_call *c);

#ifdef __cplusplus
}
#endif

#endif
