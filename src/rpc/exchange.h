/* Private to rpc/: a server, one message under way, and what peer.c does for it. */
#ifndef FUMI_RPC_EXCHANGE_H
#define FUMI_RPC_EXCHANGE_H

#include "rpc/rpc.h"
#include "json/like.h"

#include <stdatomic.h>

enum { KEEP = 64 * 1024 }; /* bytes of warm memory */

struct entry {
    struct fumi_str name; /* name space and all; owned */
    const struct fumi_method *method;
    void *self;
    size_t frame, result; /* bytes of params and result together; where the result begins */
    size_t number;        /* where in the result: see fumi_number_at */
    bool plain;           /* its params: see fumi_is_plain */
};
enum { FRAME_STEP = _Alignof(max_align_t) }; /* frames are a multiple of it */

struct fumi_server {
    const char *title, *version;
    struct entry *entries;
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
    _Atomic(struct fumi_exchange *) lost;  /* all that are, to be freed with the server */
    _Atomic(struct fumi_exchange *) spare; /* with warm memory, for the next message */
};

/* With empty buffers, perhaps warm; and back, for the next message. */
struct fumi_exchange *exchange_take(struct fumi_server *s, struct fumi_spare *spare);
void exchange_put(struct fumi_exchange *x, struct fumi_spare *spare);

const struct entry *server_find(const struct fumi_server *s, struct fumi_str name);

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
    return FUMI_MOSTLY(fumi_is(v, FUMI_STRING)) && FUMI_MOSTLY(v->n == 3) &&
           memcmp(v->p, "2.0\"", 4) == 0;
}

/* The id of a request that is not JSON, as far as it can be made out: the text of a string or
 * number behind "id" in the outermost object. Null: there is none, or more than one. */
struct fumi_str envelope_salvage(struct fumi_str message);

/* The error object of a response. -1 with *e set: it is none. */
int envelope_error(struct fumi_arena *a, const struct fumi_val *error, struct fumi_err *out,
                   struct fumi_err *e);

/* What is known of an element. */
struct known {
    const struct fumi_val *v;
    const struct entry *entry; /* the method it asks for, NULL: none or unknown */
    size_t params, id;         /* how many values before its end they begin; 0: there are none */
    uint64_t fixed;            /* as `differ`: what must be as it is here, in one like it */
    bool call;                 /* or notification; else an answer, or nothing that makes sense */
};

/* A request that was alone in its message, for the sake of the next one, which is probably alike:
 * see know. */
struct pattern {
    struct known known;
    struct fumi_like like;
    size_t depth; /* with which it was parsed */
    struct fumi_val row[32];
    char text[256];
};

/* A pending call: its handler has not returned, it has, or somebody has finished the call. */
enum turn { RUNNING, PARKED, FINISHED };

/* One message, from fumi_handle to the end of reply. It belongs to one thread at a time: the one
 * that runs its current call or, when that call is pending, whoever finishes it. */
struct fumi_exchange {
    struct fumi_server *server;
    struct fumi_peer *peer;
    struct fumi_sink sink;
    struct fumi_arena arena;
    struct fumi_buf out;
    struct fumi_out writer; /* to it */
    char *frame;            /* see frame_of */
    size_t frame_size;
    const struct fumi_val *document, *end; /* behind its last value */
    uint64_t differ;                       /* see fumi_parse_like */
    const struct fumi_val *model;          /* the last element that is like no other */
    struct known known;                    /* the element that was read last */
    unsigned flags;                        /* of its method, for its params */
    const struct fumi_val *at;             /* the element that is next; `end`: none is left */
    size_t index;                          /* of the element that runs */
    bool batch;
    int code;     /* of a single answer */
    int64_t came; /* fumi_ticks() of one that waits its turn, until its first call begins */
    struct fumi_call call;
    atomic_int turn;     /* who goes on after a pending call: enum turn */
    atomic_bool claimed; /* somebody has begun to finish the call */
    bool lost;           /* a call of it may be finished too late: never used again */
    struct fumi_exchange *next_lost;
    struct fumi_task task;
    /* peer.c; under the lock of links */
    struct fumi_exchange *older, *newer;
    bool open;                    /* stands in the list of open ones */
    bool gated, started;          /* goes to the executor; has gone there */
    bool writes;                  /* has a method that is not FUMI_READ_ONLY */
    atomic_uchar *state;          /* of an open one, for each element: enum element_state */
    void (*on_cancel)(void *arg); /* of the element `hooked`; NULL: nobody waits for it */
    void *on_cancel_arg;
    size_t hooked;
    struct pattern pattern;
};

/* answer.c: append one answer; NULL id: null, or none. A result that would make the
 * buffer longer than `limit`, or that JSON cannot say, is -1 with *e set, and what it left in the
 * buffer is to be cut off. Errors are short and must be told, so nothing limits them. answer_value:
 * the result alone. `before`: a byte that stands before the answer; 0: none.
 */
enum { ANSWER_BARE = 1, ANSWER_FRANK = 2 }; /* see fumi_peer.bare, FUMI_FRANK */
void answer_error(struct fumi_buf *b, const struct fumi_err *e, const struct fumi_val *id,
                  unsigned how);
int answer_result(struct fumi_out *o, char before, const struct fumi_call *c, size_t limit,
                  struct fumi_err *e);
int answer_value(struct fumi_out *o, const struct fumi_call *c, bool brief, size_t limit,
                 struct fumi_err *e);

/* A request up to its method; then its params, if any, and its id, 0: none. Or a whole notification
 * with params of a shape. */
struct fumi_out request_open(struct fumi_buf *b, const char *method);
void request_close(struct fumi_out *o, struct fumi_json params, int64_t id);
void request_notify(struct fumi_buf *b, const char *method, const struct fumi_shape *s,
                    const void *params);

/* know.c: finds out what an element says and which method it asks for; of one after the other,
 * since one may be like that before it. */
void exchange_know(struct fumi_exchange *x, const struct fumi_val *v);

/* The element with all its values: itself, or a copy. */
const struct fumi_val *exchange_whole(struct fumi_exchange *x, const struct fumi_val *v);

/* A copy of the message, text and all, takes its place; its elements are whole. */
void exchange_keep(struct fumi_exchange *x);

/* A member of the known element, or of one that is like it and spans `span` values, up to `end`.
 * What that lacks, all at its beginning, is the same as in the model. */
static inline const struct fumi_val *
member_of(const struct fumi_exchange *x, const struct fumi_val *end, size_t span, size_t place)
{
    if (!place)
        return NULL;
    return (FUMI_MOSTLY(span > place) ? end : fumi_next(x->model)) - place;
}

/* The elements of a message, those of a batch or it itself: from here by fumi_next to x->end. */
static inline const struct fumi_val *exchange_first(const struct fumi_exchange *x)
{
    return x->document + x->batch;
}

/* peer.c. An exchange that may outlive fumi_handle is opened before it runs, so that a cancel or a
 * hang-up finds it, and closed before its reply. A gated one is handed to the executor as soon as
 * what came before it from the same peer allows. */
void peer_open(struct fumi_exchange *x, bool gated);
void peer_close(struct fumi_exchange *x);
bool peer_postpone(struct fumi_exchange *x); /* its peer is held: it will be submitted again */
bool peer_cancelled(const struct fumi_exchange *x);
bool peer_settle(struct fumi_exchange *x); /* the call has an outcome; was it cancelled before? */
void peer_answered(struct fumi_peer *peer, const struct envelope *e);

/* discover.c */
extern const struct fumi_method built_in[];
extern const size_t built_in_n;

#endif
