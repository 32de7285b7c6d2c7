/* Private to rpc/: a server, one message under way, and what peer.c does for it. */
#ifndef FUMI_RPC_EXCHANGE_H
#define FUMI_RPC_EXCHANGE_H

#include "rpc/rpc.h"
#include "rpc/stop.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KEEP = 64 * 1024 }; /* bytes of warm memory */

struct method_entry {
    struct fumi_str name; /* with its name space; owned */
    const struct fumi_method *method;
    void *self;
    size_t frame, result; /* bytes of params and result together; where the result begins */
};

/* Deadlines of open calls, the next one first: see deadline.c. */
struct deadlines {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fumi_run *first, *last;
    pthread_t thread;
    bool running, ended;
};

struct fumi_server {
    const char *title, *version;
    struct method_entry *entries;
    size_t n;
    uint32_t *slots; /* open addressing: index of an entry plus one, or 0 */
    size_t mask;     /* slots less one */
    struct fumi_processor *processors;
    size_t processors_n;
    bool admits; /* some processor has admit */
    bool hooks;  /* some processor has before or after */
    atomic_bool frozen;
    atomic_size_t open; /* exchanges in the lists of their peers */
    const struct fumi_log *log;
    void (*submit)(void *arg, struct fumi_task *task);
    void *submit_arg;
    struct fumi_limits limits;
    _Atomic(struct fumi_run *) lost;       /* may be finished too late; freed with the server */
    _Atomic(struct fumi_exchange *) spare; /* with warm memory, for the next message */
    struct deadlines deadlines;
    struct stop stop;
};

/* With empty buffers, perhaps warm; and back, for the next message. */
struct fumi_exchange *exchange_take(struct fumi_server *s, struct fumi_spare *spare);
void exchange_put(struct fumi_exchange *x, struct fumi_spare *spare);
void exchange_unref(struct fumi_exchange *x); /* a run that outlived it has ended */

const struct method_entry *server_find(const struct fumi_server *s, struct fumi_str name);

/* The members that mean something. */
enum member { VERSION, METHOD, PARAMS, ID, RESULT, ERROR, UNKNOWN };

/* A request, notification or response. `fault` is what makes it none. */
struct envelope {
    union {
        struct {
            const struct fumi_val *version, *method, *params, *id, *result, *error;
        };
        const struct fumi_val *members[UNKNOWN]; /* the same, by enum member */
    };
    const char *fault;
    bool response;
};
void envelope_read(const struct fumi_val *v, struct envelope *out);
static inline bool envelope_is_id(const struct fumi_val *v)
{
    const unsigned kinds = 1u << FUMI_STRING | 1u << FUMI_NUMBER | 1u << FUMI_NULL;
    return v && kinds >> (v->bits & 7) & 1;
}
static inline bool envelope_is_version(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_STRING) && v->n == 3 && memcmp(v->p, "2.0\"", 4) == 0;
}

/* The id of a request that is not JSON, as far as it can be made out: the text of a string or
 * number behind "id" in the outermost object. Null: there is none, or more than one. */
struct fumi_str envelope_find_id(struct fumi_str message);

/* The error object of a response. -1 with *e set: it is none. */
int envelope_error(struct fumi_arena *a, const struct fumi_val *error, struct fumi_err *out,
                   struct fumi_err *e);

/* One element of a message, read once: the thread that calls fumi_handle and a worker decide from
 * it. */
struct request {
    const struct method_entry *entry;   /* NULL: an unknown method, or not a call */
    const struct fumi_val *method;      /* its name; NULL: the element is not a call */
    const struct fumi_val *params, *id; /* NULL: none */
    const char *fault;                  /* why the element is not a request; NULL: it is one */
    unsigned flags;                     /* of the method, for these params */
    atomic_uchar state;                 /* enum request_state */
};
/* LAST: cancelled because the server ends, but its answer is wanted. */
enum request_state { WAITING, CANCELLED, ENDED, LAST };

/* Who has the right to end a call: nobody yet, its method (or fumi_finish), its deadline. */
enum run_claim { UNCLAIMED, BY_METHOD, BY_DEADLINE };

/* A call waits for the executor, or its handler runs; the handler has returned and the call is
 * pending; or somebody has finished the call. */
enum run_state { QUEUED, RUNNING, PENDING, FINISHED };

/* A call while it runs, with memory of its own, which is emptied when its answer is written. A call
 * that misses its deadline is answered by the timer; its run then outlives its exchange's answer
 * and is freed when the method has returned. */
struct fumi_run {
    struct fumi_call call;
    struct fumi_exchange *exchange;
    struct fumi_server *server;
    struct request *request;
    struct fumi_arena arena;
    struct fumi_buf out;    /* the answer, if the method writes its result itself: the exchange's
                               is not the method's once its deadline is over */
    struct fumi_out writer; /* into `out` */
    size_t room;            /* bytes that the answer may take */
    enum fumi_ret admitted; /* by the `before` hooks */
    bool begun;             /* the method was called, in time */
    bool open;              /* the exchange is: other threads may end the call */
    atomic_int claim;       /* enum run_claim */
    atomic_int state;       /* enum run_state */
    atomic_uint refs;       /* once the deadline has claimed it: the method's, and the timer's */
    void (*keep)(struct fumi_peer *peer, bool keep); /* then: of the peer */
    struct fumi_source *source;                      /* then: of the message, with a reference */
    struct fumi_task task;
    pthread_mutex_t
        notify_lock; /* held while a notification leaves, and while the deadline claims */
    struct fumi_run *next_lost;
    struct fumi_run *sooner, *later; /* deadline.c, under its lock */
    bool timed;
    struct fumi_run *next_hook; /* peer.c, under the lock of links: waits to be told of a cancel */
    void (*on_cancel)(void *arg);
    void *on_cancel_arg;
    bool hooked; /* fumi_on_cancel was called */
};

/* One message, from fumi_handle to the end of reply. It belongs to one thread at a time: the one
 * that runs its current call or, when that call is pending, whoever finishes it. */
struct fumi_exchange {
    struct fumi_server *server;
    struct fumi_peer *peer;
    struct fumi_sink sink;
    struct fumi_arena arena; /* the document, the requests, and the text once it is kept */
    struct fumi_buf out;
    const struct fumi_val *document;
    struct request *requests; /* of a single message: `only` */
    struct request only;
    size_t n, index; /* how many; the one that runs */
    bool batch;
    int code;             /* of a single answer */
    atomic_uint refs;     /* its own, and those of runs that outlive its answer */
    struct fumi_run *run; /* of the current call */
    /* peer.c; under the lock of links */
    struct fumi_exchange *older, *newer;
    bool open;           /* stands in the list of open ones */
    bool gated, started; /* goes to the executor; has gone there */
    bool writes;         /* has a method that is not FUMI_READ_ONLY */
};

/* answer.c: append one answer; id NULL: null, or none. A result that JSON cannot express, or that
 * would make the buffer longer than an answer may be, is -1 with *e set, and the caller cuts off
 * what it left in the buffer. Errors are short and have no limit. answer_begin and answer_end: what
 * stands before and behind a result; answer_value: the result alone. These take the limit of the
 * buffer. */
/* See FUMI_ID_NONE, FUMI_PLAIN_ERRORS, FUMI_DETAILED_ERRORS. */
enum { ANSWER_NO_ID = 1, ANSWER_PLAIN = 2, ANSWER_DETAILED = 4 };
void answer_error(struct fumi_buf *b, const struct fumi_err *e, const struct fumi_val *id,
                  unsigned how);
int answer_result(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e);
void answer_begin(struct fumi_buf *b);
int answer_value(struct fumi_out *o, const struct fumi_call *c, bool compact, struct fumi_err *e);
int answer_end(struct fumi_buf *b, const struct fumi_call *c, struct fumi_err *e);

/* A request up to its method; then its params, if any, and its id, 0: none. Or a whole notification
 * with params of a shape. */
struct fumi_out request_open(struct fumi_buf *b, const char *method);
void request_close(struct fumi_out *o, struct fumi_json params, int64_t id);
void request_notify(struct fumi_buf *b, const char *method, const struct fumi_shape *s,
                    const void *params);

/* run.c: one call. run_enter sets the run up for a request and calls the `before` hooks;
 * run_request binds the params, calls the method and answers. It returns FUMI_PENDING if another
 * thread goes on with the exchange. */
struct fumi_run *run_new(struct fumi_exchange *x);
void run_free(struct fumi_run *r);
struct fumi_run *run_enter(struct fumi_exchange *x, struct request *q);
enum fumi_ret run_request(struct fumi_run *r);
struct fumi_task *run_task(struct fumi_run *r); /* the same on the executor, and what follows */
void run_late(struct fumi_run *r); /* the deadline has claimed it: answers, and goes on */
void run_notify(struct fumi_run *r, struct fumi_buf *message); /* unless the call has ended */
static inline bool run_cancelled(const struct fumi_run *r)
{
    unsigned char state = atomic_load(&r->request->state);
    return state == CANCELLED || state == LAST;
}

/* exchange.c */
void exchange_fault(struct fumi_exchange *x, const struct fumi_err *e, const struct fumi_val *id,
                    unsigned flags);
void exchange_separate(struct fumi_exchange *x); /* the bracket or comma before an answer */
/* The next request that is to be run, from the current one on; elements that are no request are
 * answered. NULL: there is none any more. */
struct request *exchange_next(struct fumi_exchange *x);
void exchange_proceed(struct fumi_exchange *x); /* until a call is pending, or to the reply */
void log_internal(const struct fumi_server *s, struct fumi_str where, const struct fumi_err *e);

/* deadline.c. deadline_clear: the method has claimed the call. */
void deadlines_init(struct deadlines *d);
void deadlines_stop(struct deadlines *d); /* ends its thread */
void deadlines_done(struct deadlines *d);
void deadline_set(struct fumi_run *r);
void deadline_clear(struct fumi_run *r);

/* peer.c. An exchange that may outlive fumi_handle is opened before it runs, so that a cancel or a
 * hang-up finds it, and closed before its reply. A gated one is handed to the executor as soon as
 * those before it from the same peer allow. */
void peer_open(struct fumi_exchange *x, bool gated);
void peer_close(struct fumi_exchange *x);
void peer_resume(struct fumi_exchange *x); /* hands it over once more, for its current call */
void peer_ungate(struct fumi_run *r);      /* it is pending: its exchange holds back nothing */
bool peer_has_writers(const struct fumi_peer *peer); /* gated ones, which other calls wait for */
bool peer_postpone(struct fumi_run *r);    /* the peer is held: the run will be submitted again */
bool peer_dequeue(struct fumi_run *r);     /* it is not submitted any more; false: it has been */
void peer_cancel_late(struct fumi_run *r); /* calls its on_cancel */
void peer_unhook(struct fumi_run *r);      /* from now on no on_cancel of it runs: waits for one */
void peer_response(struct fumi_peer *peer, const struct envelope *e);

/* source.c. One more reference; s may be NULL. */
struct fumi_source *source_ref(struct fumi_source *s);
/* What the calls of a message see as their context. */
static inline void *exchange_context(const struct fumi_exchange *x)
{
    void *own = x->sink.source ? fumi_source_context(x->sink.source) : NULL;
    return own ? own : x->peer->context;
}

/* discover.c */
extern const struct fumi_method built_in[];
extern const size_t built_in_n;

#endif
