/* Shared by the rpc tests: a caller of a server, and the shapes of small methods. */
#ifndef FUMI_RPC_FIXTURE_H
#define FUMI_RPC_FIXTURE_H

#include "rpc/rpc.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A caller of a server. Each message is passed in its own heap block, which is overwritten and
 * freed as soon as the handler returns, so that a later read is detected. Notifications and answers
 * that are not empty are kept in order, one line each. */
struct caller {
    fumi_handle_fn *handle;
    void *self;
    struct fumi_peer peer;
    struct fumi_source *source; /* of its messages; owned by the test */
    bool takes;                 /* moves the contents out of the buffers that it receives */
    pthread_mutex_t lock;
    pthread_cond_t came;
    char *text; /* this and the following members: under the lock */
    size_t n, room, lines, replies, notifications;
    int code; /* of the last reply */
};

struct sent_message {
    struct caller *from;
};

static inline void caller_open(struct caller *c, struct fumi_server *s)
{
    *c = (struct caller){.handle = fumi_handle, .self = s, .peer = {.transport = "test"}};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->came, NULL);
}

static inline void caller_done(struct caller *c)
{
    fumi_peer_done(&c->peer);
    pthread_cond_destroy(&c->came);
    pthread_mutex_destroy(&c->lock);
    free(c->text);
}

/* With the lock held. */
static inline void caller_append(struct caller *c, struct fumi_str line)
{
    if (c->room - c->n < line.n + 1) {
        c->room = 2 * c->room + line.n + 1;
        if (!(c->text = realloc(c->text, c->room)))
            abort();
    }
    if (line.n)
        memcpy(c->text + c->n, line.p, line.n);
    c->n += line.n;
    c->text[c->n++] = '\n';
    c->lines++;
}

static inline void caller_take(struct caller *c, struct fumi_buf *b)
{
    struct fumi_buf mine = {0};
    if (!c->takes)
        return;
    fumi_buf_move(&mine, b);
    fumi_buf_done(&mine);
}

static inline void caller_receive(struct caller *c, struct fumi_buf *message)
{
    pthread_mutex_lock(&c->lock);
    caller_append(c, fumi_buf_str(message));
    c->notifications++;
    caller_take(c, message);
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
}

static inline void sent_notify(void *arg, struct fumi_buf *message)
{
    caller_receive(((struct sent_message *)arg)->from, message);
}

static inline void sent_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct sent_message *l = arg;
    struct caller *c = l->from;
    free(l); /* a second reply, or a notification after the reply, uses freed memory */
    pthread_mutex_lock(&c->lock);
    if (answer->n)
        caller_append(c, fumi_buf_str(answer));
    c->replies++;
    c->code = code;
    caller_take(c, answer);
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
}

static inline void caller_send(struct caller *c, struct fumi_str message)
{
    struct sent_message *l = malloc(sizeof(*l));
    char *text = malloc(message.n ? message.n : 1);
    if (!l || !text)
        abort();
    if (message.n)
        memcpy(text, message.p, message.n);
    *l = (struct sent_message){c};
    c->handle(c->self, &c->peer, (struct fumi_str){text, message.n},
              (struct fumi_sink){
                  .notify = sent_notify, .reply = sent_reply, .arg = l, .source = c->source});
    memset(text, '#', message.n);
    free(text);
}

static inline void send_text(struct caller *c, const char *message)
{
    caller_send(c, fumi_str(message));
}

/* Waits for an event of another thread. Aborts a test that hangs after a minute. */
static inline void await(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    if (!pthread_cond_timedwait(cond, lock, &end))
        return;
    fprintf(stderr, "what the test waits for does not happen\n");
    abort();
}

static inline void wait_replies(struct caller *c, size_t n)
{
    pthread_mutex_lock(&c->lock);
    while (c->replies < n)
        await(&c->came, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static inline void wait_notifications(struct caller *c, size_t n)
{
    pthread_mutex_lock(&c->lock);
    while (c->notifications < n)
        await(&c->came, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* All lines received, without the last newline; valid until another line arrives. */
static inline struct fumi_str received(struct caller *c)
{
    pthread_mutex_lock(&c->lock);
    struct fumi_str all = {c->n ? c->text : "", c->n ? c->n - 1 : 0};
    pthread_mutex_unlock(&c->lock);
    return all;
}

static inline size_t replies(struct caller *c)
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->replies;
    pthread_mutex_unlock(&c->lock);
    return n;
}

static inline void clear_received(struct caller *c)
{
    pthread_mutex_lock(&c->lock);
    c->n = c->lines = c->replies = c->notifications = 0;
    c->code = 0;
    pthread_mutex_unlock(&c->lock);
}

/* Sends one message, waits for its reply, and returns all lines received. */
static inline struct fumi_str reply_to_str(struct caller *c, struct fumi_str message)
{
    clear_received(c);
    caller_send(c, message);
    wait_replies(c, 1);
    return received(c);
}

static inline struct fumi_str reply_to(struct caller *c, const char *message)
{
    return reply_to_str(c, fumi_str(message));
}

/* Appends formatted text. */
static inline void putf(struct fumi_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static inline void putf(struct fumi_buf *b, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        abort();
    fumi_buf_add(b, text, (size_t)n);
}

static inline void put_times(struct fumi_buf *b, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        fumi_buf_add(b, piece, strlen(piece));
}

/* A server without a log. */
static inline struct fumi_server *server_of(const struct fumi_method *methods, size_t n, void *self)
{
    static const struct fumi_log quiet = {.level = FUMI_SILENT};
    struct fumi_err e = {0};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    fumi_server_log(s, &quiet);
    if (!fumi_server_add(s, NULL, methods, n, self, &e))
        return s;
    fprintf(stderr, "%s\n", e.text);
    abort();
}

/* Params and results: any value as parsed, any value as text, a number, a count, a string, and two
 * numbers with names. */
struct whole {
    const struct fumi_val *value;
};
static const struct fumi_field whole_field[] = {FUMI_VALUE(struct whole, value, "Any value.")};
static const struct fumi_shape whole_shape = FUMI_SHAPE(struct whole, whole_field);

struct text {
    struct fumi_json value;
};
static const struct fumi_field text_field[] = {FUMI_VALUE(struct text, value, "Any value.")};
static const struct fumi_shape text_shape = FUMI_SHAPE(struct text, text_field);

struct number {
    double value;
};
static const struct fumi_field number_field[] = {FUMI_VALUE(struct number, value, "A number.")};
static const struct fumi_shape number_shape = FUMI_SHAPE(struct number, number_field);

struct count {
    int64_t n;
};
static const struct fumi_field count_field[] = {FUMI_VALUE(struct count, n, "A count.")};
static const struct fumi_shape count_shape = FUMI_SHAPE(struct count, count_field);
static const struct fumi_field n_field[] = {
    FUMI_FIELD(struct count, n, "n", "A count.", .flags = FUMI_REQUIRED)};
static const struct fumi_shape n_shape = FUMI_SHAPE(struct count, n_field);

struct word {
    struct fumi_str value;
};
static const struct fumi_field word_field[] = {FUMI_VALUE(struct word, value, "A string.")};
static const struct fumi_shape word_shape = FUMI_SHAPE(struct word, word_field);

struct pair {
    double minuend, subtrahend;
};
static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "What to subtract from.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "What to subtract.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape pair_shape = FUMI_SHAPE(struct pair, pair_fields);

/* Methods that most tests need. */
static inline enum fumi_ret run_echo(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct whole *)result = *(const struct whole *)params;
    return FUMI_OK;
}

static inline enum fumi_ret run_subtract(struct fumi_call *call, const void *params, void *result)
{
    const struct pair *in = params;
    (void)call;
    ((struct number *)result)->value = in->minuend - in->subtrahend;
    return FUMI_OK;
}

static inline enum fumi_ret run_nothing(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_OK;
}

#endif
