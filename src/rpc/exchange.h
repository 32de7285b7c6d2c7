/* Private to rpc/: the server, a message while it is handled (the exchange), and a call while it
 * runs (the run). */
#ifndef FUMI_RPC_EXCHANGE_H
#define FUMI_RPC_EXCHANGE_H

#include "rpc/answer.h"
#include "rpc/envelope.h"
#include "rpc/rpc.h"
#include "rpc/stop.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KEEP = 64 * 1024 }; /* bytes of a buffer or arena that are kept for the next message */

/* A method in the registry. */
struct method_entry {
    struct fumi_str name; /* with its name space; owned */
    const struct fumi_method *method;
    void *self;
    size_t frame, result; /* size of params and result together; offset of the result */
};

/* The deadlines of open calls: see deadline.c. */
struct deadlines {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fumi_run *first, *last; /* sorted by deadline */
    pthread_t thread;
    bool running, ended;
};

struct fumi_server {
    const char *title, *version;
    struct method_entry *entries;
    size_t n;
    uint32_t *slots; /* hash table with open addressing: index of an entry plus one, or 0 */
    size_t mask;     /* number of slots minus one */
    struct fumi_processor *processors;
    size_t processors_n;
    bool admits; /* a processor has `admit` */
    bool hooks;  /* a processor has `before` or `after` */
    atomic_bool frozen;
    atomic_size_t open; /* open exchanges, and runs that missed their deadline and still run */
    const struct fumi_log *log;
    void (*submit)(void *arg, struct fumi_task *task);
    void *submit_arg;
    struct fumi_limits limits;
    _Atomic(struct fumi_run *) lost;       /* abandoned runs, freed with the server: see disown */
    _Atomic(struct fumi_exchange *) spare; /* for the next message of a thread without a spare */
    struct deadlines deadlines;
    struct stop stop;
};

/* Returns an exchange with empty buffers, reused if possible. exchange_put returns it for reuse. */
struct fumi_exchange *exchange_take(struct fumi_server *s, struct fumi_spare *spare);
void exchange_put(struct fumi_exchange *x, struct fumi_spare *spare);
void exchange_unref(struct fumi_exchange *x); /* a run that outlived its exchange has ended */

const struct method_entry *server_find(const struct fumi_server *s, struct fumi_str name);

/* One element of a message. It is read once; then the thread that calls fumi_handle and a worker
 * thread use it. */
struct request {
    const struct method_entry *entry;   /* NULL: an unknown method, or not a call */
    const struct fumi_val *method;      /* its name; NULL: not a call */
    const struct fumi_val *params, *id; /* NULL: none */
    const char *fault;                  /* why the element is not a request; NULL: it is one */
    unsigned flags;                     /* of the method, for these params */
    atomic_uchar state;                 /* enum request_state */
};
/* LAST: cancelled because the server shuts down, but its answer is still sent. */
enum request_state { WAITING, CANCELLED, ENDED, LAST };

/* What ends a call: not decided yet, its method (or fumi_finish), or its deadline.
 * Only the first transition from UNCLAIMED succeeds. */
enum run_claim { UNCLAIMED, BY_METHOD, BY_DEADLINE };

/* QUEUED: waits for the executor. RUNNING: the method runs. PENDING: the method has returned
 * FUMI_PENDING. FINISHED: the deadline removed it from the queue, or fumi_finish was called. */
enum run_state { QUEUED, RUNNING, PENDING, FINISHED };

/* A call while it runs. It has its own memory, which is freed when its answer is written. A call
 * that misses its deadline is answered by the timer thread; its run then outlives the exchange and
 * is freed when the method has returned. */
struct fumi_run {
    struct fumi_call call;
    struct fumi_exchange *exchange;
    struct fumi_server *server;
    struct request *request;
    struct fumi_arena arena;
    struct fumi_buf out;    /* the answer, if the method writes its result with fumi_result: after
                               the deadline the method must not write to the exchange */
    struct fumi_out writer; /* into `out` */
    size_t answer_limit;    /* bytes that the answer may have */
    enum fumi_ret admitted; /* by the `before` hooks */
    bool begun;             /* the method was called before the deadline */
    bool open;              /* the exchange is open: other threads may end the call */
    atomic_int claim;       /* enum run_claim */
    atomic_int state;       /* enum run_state */
    /* Once the deadline has claimed the call: references of the method and of the timer thread, and
     * what the run keeps alive until both are released. */
    atomic_uint refs;
    void (*keep)(struct fumi_peer *peer, bool keep); /* of the peer */
    struct fumi_source *source;                      /* a reference */
    struct fumi_task task;
    /* Held while a notification is sent, and while the deadline claims the call: so no notification
     * follows the answer. */
    pthread_mutex_t notify_lock;
    struct fumi_run *next_lost;
    struct fumi_run *sooner, *later; /* deadline.c, under its lock */
    bool timed;                      /* in the list of deadlines */
    struct fumi_run *next_hook;      /* peer.c, under the lock of the peer: see fumi_on_cancel */
    void (*on_cancel)(void *arg);
    void *on_cancel_arg;
    bool hooked; /* fumi_on_cancel was called */
};

/* One message, from fumi_handle to the reply. One thread at a time owns it: the thread that runs
 * its current call or, if that call is pending, the thread that finishes the call. */
struct fumi_exchange {
    struct fumi_server *server;
    struct fumi_peer *peer;
    struct fumi_sink sink;
    struct fumi_arena arena; /* the values, the requests, and the text if it is copied */
    struct fumi_buf out;
    const struct fumi_val *document;
    struct request *requests; /* of a single message: &only */
    struct request only;
    size_t n, index; /* number of requests; the current one */
    bool batch;
    int code;             /* of a single answer */
    atomic_uint refs;     /* one for itself, and one for each run that outlives its answer */
    struct fumi_run *run; /* of the current call */
    /* peer.c, under the lock of the peer */
    struct fumi_exchange *older, *newer;
    bool open;    /* in the list of open exchanges */
    bool gated;   /* runs on the executor, in the order of the peer's messages */
    bool started; /* submitted to the executor */
    bool writes;  /* has a method that is not FUMI_READ_ONLY */
};

/* run.c: one call. run_enter prepares the run for a request and calls the `before` hooks.
 * run_request binds the params, calls the method and answers; it returns FUMI_PENDING if the
 * exchange belongs to another thread now. */
struct fumi_run *run_new(struct fumi_exchange *x);
void run_free(struct fumi_run *r);
struct fumi_run *run_enter(struct fumi_exchange *x, struct request *q);
enum fumi_ret run_request(struct fumi_run *r);
struct fumi_task *run_task(struct fumi_run *r); /* for the executor: runs it and what follows */
void run_late(struct fumi_run *r); /* the deadline has claimed it: answers, and goes on */
void run_notify(struct fumi_run *r, struct fumi_buf *message); /* unless the call has ended */
static inline bool run_cancelled(const struct fumi_run *r)
{
    unsigned char state = atomic_load(&r->request->state);
    return state == CANCELLED || state == LAST;
}

/* exchange.c. exchange_fault appends an error answer; flags: of the method.
 * exchange_separate appends the bracket or comma before an answer of a batch.
 * exchange_next returns the next request to run, starting with the current one, and answers invalid
 * elements on the way; NULL: there is none. exchange_proceed runs the remaining requests until one
 * is pending, or replies. */
void exchange_fault(struct fumi_exchange *x, const struct fumi_err *e, const struct fumi_val *id,
                    unsigned flags);
void exchange_separate(struct fumi_exchange *x);
struct request *exchange_next(struct fumi_exchange *x);
void exchange_proceed(struct fumi_exchange *x);
void log_internal(const struct fumi_server *s, struct fumi_str where, const struct fumi_err *e);

/* deadline.c */
void deadlines_init(struct deadlines *d);
void deadlines_stop(struct deadlines *d); /* ends its thread */
void deadlines_done(struct deadlines *d);
void deadline_set(struct fumi_run *r);
void deadline_clear(struct fumi_run *r); /* the method has claimed the call */

/* peer.c. An exchange that may outlive fumi_handle is opened before it runs, so that it can be
 * cancelled, and closed before its reply. A gated exchange is submitted to the executor as soon as
 * the earlier exchanges of the peer permit. */
void peer_open(struct fumi_exchange *x, bool gated);
void peer_close(struct fumi_exchange *x);
/* Submits the exchange again, for its current call. */
void peer_resume(struct fumi_exchange *x);
/* The call is pending: its exchange no longer delays later ones. */
void peer_ungate(struct fumi_run *r);
/* Whether gated exchanges that write are open: other calls must wait for them. */
bool peer_has_writers(const struct fumi_peer *peer);
/* Returns true if the peer is held: then the run will be submitted again later. */
bool peer_postpone(struct fumi_run *r);
/* The run will not be submitted any more. Returns false if it has been submitted already. */
bool peer_dequeue(struct fumi_run *r);
/* Calls on_cancel of a run that missed its deadline. */
void peer_cancel_late(struct fumi_run *r);
/* Removes on_cancel, and waits until it has returned if it runs on another thread. */
void peer_unhook(struct fumi_run *r);
/* The peer has sent a response: passes it to the fumi_request that waits for it. */
void peer_response(struct fumi_peer *peer, const struct envelope *e);

/* source.c. Adds a reference; s may be NULL. */
struct fumi_source *source_ref(struct fumi_source *s);

/* The context of the calls of a message. */
static inline void *exchange_context(const struct fumi_exchange *x)
{
    void *own = x->sink.source ? fumi_source_context(x->sink.source) : NULL;
    return own ? own : x->peer->context;
}

/* discover.c: rpc.discover and rpc.cancel */
extern const struct fumi_method built_in[];
extern const size_t built_in_n;

#endif
