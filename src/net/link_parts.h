/* Private to link*.c: a link, what waits for an answer, and what the ways to talk have in common.
 *
 * All bytes go through two buffers. link_turn moves them: it writes what stands in `out`, appends
 * what arrives to `in`, and has the link's way cut that into messages, which link_take matches with
 * what waits. Everything that waits does so by calling link_turn until its own state has changed.
 */
#ifndef FUMI_NET_LINK_PARTS_H
#define FUMI_NET_LINK_PARTS_H

#include "net/link.h"

#include <sys/types.h>

enum link_deed {
    LINK_CALL,
    LINK_NOTE, /* a notification: done when it is sent, over HTTP when that was answered */
    LINK_TEXT, /* of fumi_link_text */
};

enum link_state {
    LINK_BEGUN,
    LINK_POSTED, /* its message is made; whether there is a connection is being looked at */
    LINK_SENT,
    LINK_ANSWERED,
    LINK_FAILED
};

/* Something that is sent, and what came of it. */
struct link_wait {
    struct link_wait *next;
    enum link_deed deed;
    enum link_state state;
    int64_t id;           /* of a call, else 0 */
    uint64_t message;     /* the number of the message that it went out with */
    struct fumi_buf text; /* begun: its request; answered: result, data of an error, or text */
    bool ok;              /* answered: with a result */
    struct fumi_err err;  /* of the answer, or why there is none */
    char method[64];      /* for sentences; cut */
};

/* A way to talk. */
struct link_way {
    const char *target; /* of requests when the URL has none; NULL: it has none ever */
    bool exchanges;     /* each message has an answer of its own: HTTP */
    /* After connecting, NULL: nothing is to be said. */
    int (*greet)(struct fumi_link *l, int64_t until, struct fumi_err *e);
    /* Puts a message where it will be sent from. */
    void (*put)(struct fumi_link *l, uint64_t number, struct fumi_str message);
    /* Sends an answer to something that the peer has asked. */
    void (*answer)(struct fumi_link *l, struct fumi_str answer);
    /* Takes what it can from l->in; -1: the connection cannot be used any more. */
    int (*feed)(struct fumi_link *l, struct fumi_err *e);
    /* The peer sends no more: says why that is wrong in *e, if it is. */
    void (*end)(struct fumi_link *l, struct fumi_err *e);
    /* The connection is closed: what waits for it fails. */
    void (*dropped)(struct fumi_link *l, const struct fumi_err *why);
    /* A connection is about to be closed by us, politely. NULL: nothing is to be said. */
    void (*part)(struct fumi_link *l);
};
extern const struct link_way link_lines, link_framed, link_ws, link_http;

struct link_place {
    const char *url;         /* as it was given, or the program; for sentences */
    const char *host, *port; /* TCP; host is NULL: a Unix socket or a program */
    const char *path;        /* Unix socket */
    const char *target;      /* of requests */
    const char *authority;   /* Host */
    bool tls;
};

struct ws_link;
struct link_tls;
struct link_answers;
struct http_link;

struct fumi_link {
    const struct link_way *way;
    struct fumi_arena memory; /* the strings of `at` and `o` */
    struct link_place at;
    struct fumi_link_options o; /* without zeros that stand for defaults */
    bool secret;                /* requests carry a token or the like */
    struct fumi_client *client;
    struct link_wait *waits; /* in the order of their beginning */
    uint64_t messages;       /* numbers given so far */
    uint64_t said;           /* what the peer said by itself, counted */
    struct fumi_arena scratch;
    struct fumi_err odd; /* why what came last was no message; code 0: nothing such came */

    int fd;    /* -1: not connected */
    pid_t pid; /* of a child that was not waited for, else 0 */
    struct fumi_buf in, out;
    size_t sent;                  /* of out */
    bool deaf;                    /* the peer takes nothing any more */
    bool hung_up;                 /* the peer ended the connection, not we */
    struct fumi_err lost;         /* why there is no connection */
    struct link_tls *tls;         /* NULL: no TLS */
    struct link_answers *answers; /* NULL: the peer has asked nothing yet on this connection */
    int inside;                   /* callbacks that run and must not use the link */
    bool reconnecting;            /* `reconnected` runs */

    size_t seen;   /* lines: bytes of `in` without a line end */
    bool skipping; /* lines: the rest of one that is too long */
    size_t skip;   /* framed: bytes to come of a message that is too long */
    struct ws_link *ws;
    struct http_link *http;
};

/* Deadlines are of fumi_ticks. */
int64_t link_until(int64_t ms);
int64_t link_sooner(int64_t until, int64_t ms); /* that, or in so many milliseconds */
/* As revents; 0: the time is over, or `other`, a second descriptor, can be read, which *woken says;
 * negative: there is none. */
int link_poll(int fd, short events, int64_t until);
int link_poll_two(int fd, short events, int other, bool *woken, int64_t until);
void link_pause(int64_t ms);

/* link_open.c: check and copy the URL and the options. */
int link_take_url(struct fumi_link *l, const char *url, struct fumi_err *e);
int link_take_options(struct fumi_link *l, struct fumi_err *e);

/* link_stream.c. link_connect makes one try. link_ready connects a stream that was lost, with the
 * tries and pauses of the options. */
int link_connect(struct fumi_link *l, int64_t until, struct fumi_err *e);
int link_ready(struct fumi_link *l, int64_t until, struct fumi_err *e);
int link_start(struct fumi_link *l, char *const argv[], struct fumi_err *e);
void link_end_child(struct fumi_link *l);

/* Between two exchanges: whether the peer has ended the connection, or speaks out of turn. */
bool link_is_stale(struct fumi_link *l);

/* False: the time was over before anything happened. */
bool link_turn(struct fumi_link *l, int64_t until);
void link_read(struct fumi_link *l);  /* what has arrived */
void link_write(struct fumi_link *l); /* as much of `out` as the socket takes */
void link_drop(struct fumi_link *l, const struct fumi_err *why);
void link_hang_up(struct fumi_link *l);       /* closes the connection, without telling anyone */
void link_eat(struct fumi_link *l, size_t n); /* the first bytes of `in` */

/* Ways where messages are independent of each other: .end, .dropped, and whether the peer has left
 * so much unread that further answers are dropped instead of filling our memory. */
void link_stream_end(struct fumi_link *l, struct fumi_err *e);
void link_fail_all(struct fumi_link *l, const struct fumi_err *why);
bool link_is_crowded(const struct fumi_link *l);
void link_too_long(struct fumi_link *l); /* an answer is: the calls that are open fail */

static inline bool link_unsent(const struct fumi_link *l)
{
    return l->fd >= 0 && l->sent < l->out.n;
}

/* link_tls.c. link_tls_new reads the trusted authorities, once. link_tls_open makes the handshake
 * on the socket that stands; what it made is ended by link_tls_close ahead of the socket, and
 * link_tls_done frees all. link_tls_read and _write are as
 * recv and send that do not wait; with EPROTO in errno, link_tls_fault says what is wrong. An end
 * that the peer did not tell of by close_notify is such a fault. link_tls_is_idle: what has arrived
 * holds nothing for us, such as session tickets. */
int link_tls_new(struct fumi_link *l, struct fumi_err *e);
int link_tls_open(struct fumi_link *l, int64_t until, struct fumi_err *e);
ssize_t link_tls_read(struct fumi_link *l, void *to, size_t n);
ssize_t link_tls_write(struct fumi_link *l, const void *from, size_t n);
bool link_tls_is_idle(struct fumi_link *l);
bool link_tls_wants_write(const struct fumi_link *l); /* to go on reading */
const char *link_tls_fault(const struct fumi_link *l);
void link_tls_close(struct fumi_link *l);
void link_tls_done(struct fumi_link *l);

/* link_answer.c: has the server of the options handle a message of the peer; sends the answers that
 * are there, which can be when link_answer_fd (negative: none are to come) can be read; lets them
 * go with their connection. */
void link_answer(struct fumi_link *l, struct fumi_str message);
int link_answer_fd(const struct fumi_link *l);
void link_answer_send(struct fumi_link *l);
void link_answer_end(struct fumi_link *l);

/* link_owner.c: 0 if the token may be sent over the connection that stands, or there is none. */
int link_check_owner(const struct fumi_link *l, int64_t until, struct fumi_err *e);

/* link_http.c: begins with the next message that waits, if none is under way. False: none is. */
bool link_http_next(struct fumi_link *l, int64_t until);
void link_http_forget(struct fumi_link *l, uint64_t number); /* nobody waits for it any more */
void link_http_done(struct fumi_link *l);
void link_ws_done(struct fumi_link *l);

/* The head of a request up to its own fields: Host, Origin, Authorization; and one field, which is
 * left out when its value is NULL. */
void link_put_request(struct fumi_link *l, struct fumi_buf *to, const char *method);
void link_put_field(struct fumi_buf *to, const char *name, const char *prefix, const char *value);

/* Says that HTTP refused, and the remedy. `text`: of the answer. Returns -1. */
int link_refused(const struct fumi_link *l, int status, struct fumi_str text, struct fumi_err *e);

/* link.c: one message that arrived, as the answer to that message, 0: to any. -1 with *e set: it is
 * no message, or an answer in it is none. */
int link_take(struct fumi_link *l, struct fumi_str message, uint64_t number, struct fumi_err *e);

/* What is still open of that message, 0: of all that were sent, fails. */
void link_fail(struct fumi_link *l, uint64_t number, const struct fumi_err *why);

/* The answer to that message has ended: calls that it does not name fail. */
void link_finish(struct fumi_link *l, uint64_t number, const struct fumi_err *why);

/* Whether something of that message is still open. */
bool link_is_open(const struct fumi_link *l, uint64_t number);

/* What waits for the text of the answer to that message, 0: to any. */
struct link_wait *link_text_of(struct fumi_link *l, uint64_t number);

#endif
