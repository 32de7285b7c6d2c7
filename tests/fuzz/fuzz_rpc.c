/* fumi_handle: for any input the output is empty or valid JSON-RPC 2.0, with one answer per
 * request, in order and with their ids; the same input gives the same output; nothing is leaked.
 *
 * An input is one message, or several messages separated by the byte 0x1e. They are handled one
 * after the other, and then all at once, so that they wait for each other and cancel each other. */
#include "fuzz.h"
#include "rpc_methods.h"

enum { PARTS = 8, LONGEST = 1 << 15, DEEPEST = 20, ANSWER = 3000, BATCH = 10 };

/* The outcome of one message. */
struct outcome {
    struct fumi_str message;
    struct fumi_buf answer;
    int code;
    size_t replies, notifications;
};

struct fixture {
    struct waiting waiting;
    struct fumi_server *server;
    struct fumi_peer peer;
    bool refuse;
};

static bool is_id(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_STRING) || fumi_is(v, FUMI_NUMBER) || fumi_is(v, FUMI_NULL);
}

static size_t count_key(const struct fumi_val *v, const char *name)
{
    size_t n = 0;
    for (const struct fumi_val *k = fumi_first(v); k; k = fumi_after(v, k))
        n += fumi_text_is(k, fumi_str(name));
    return n;
}

/* Whether v is a valid request or notification. */
static bool is_request(const struct fumi_val *v)
{
    static const char *const names[] = {"jsonrpc", "method", "params", "id", "result", "error"};
    const struct fumi_val *method = fumi_get(v, "method"), *id = fumi_get(v, "id");
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (count_key(v, names[i]) > 1)
            return false;
    return fumi_text_is(fumi_get(v, "jsonrpc"), FUMI_STR("2.0")) && fumi_is(method, FUMI_STRING) &&
           method->n && (!id || is_id(id));
}

/* Whether an element of a message must be answered. */
static bool wants_answer(const struct fumi_val *v)
{
    if (!fumi_get(v, "method") && (fumi_get(v, "result") || fumi_get(v, "error")))
        return false;
    return !is_request(v) || fumi_get(v, "id");
}

static void check_error(const struct fumi_val *error, int64_t *code)
{
    MUST(fumi_is(error, FUMI_OBJECT));
    MUST(fumi_int(fumi_get(error, "code"), code));
    MUST(fumi_is(fumi_get(error, "message"), FUMI_STRING));
    MUST(fumi_size(error) == 2u + (fumi_get(error, "data") != NULL));
    MUST(*code != FUMI_INTERNAL_ERROR || !fumi_get(error, "data"));
}

/* Checks one answer. Returns its error code, or 0. */
static int64_t check_one(const struct fumi_val *v)
{
    const struct fumi_val *error = fumi_get(v, "error");
    int64_t code = 0;
    MUST(fumi_is(v, FUMI_OBJECT) && fumi_size(v) == 3);
    MUST(fumi_text_is(fumi_get(v, "jsonrpc"), FUMI_STR("2.0")));
    MUST(is_id(fumi_get(v, "id")));
    MUST(!fumi_get(v, "result") != !error);
    if (error)
        check_error(error, &code);
    return code;
}

/* Returns the element, from `from` on, that the answer belongs to. */
static const struct fumi_val *find_request(const struct fumi_val *batch,
                                           const struct fumi_val *from,
                                           const struct fumi_val *answer)
{
    const struct fumi_val *id = fumi_get(answer, "id");
    for (; from; from = fumi_after(batch, from)) {
        const struct fumi_val *own = fumi_get(from, "id");
        if (wants_answer(from) &&
            (fumi_is(id, FUMI_NULL) ? !is_request(from) || fumi_is(own, FUMI_NULL)
                                    : own && fumi_eq(fumi_raw(own), fumi_raw(id))))
            return from;
    }
    return NULL;
}

/* The answers are in the order of their requests, and none is missing unless calls were cancelled.
 */
static void check_batch(const struct fumi_val *request, const struct fumi_val *answers, bool all)
{
    const struct fumi_val *at = fumi_first(request);
    size_t wanted = 0;
    for (const struct fumi_val *i = fumi_first(request); i; i = fumi_after(request, i))
        wanted += wants_answer(i);
    MUST(fumi_size(answers) && fumi_size(answers) <= wanted);
    MUST(!all || fumi_size(answers) == wanted);
    for (const struct fumi_val *i = fumi_first(answers); i; i = fumi_after(answers, i)) {
        check_one(i);
        const struct fumi_val *own = find_request(request, at, i);
        MUST(own);
        at = fumi_after(request, own);
    }
}

/* A batch that is refused as a whole has one answer with the id null. */
static void check_single(const struct fumi_val *request, const struct fumi_val *answer)
{
    const struct fumi_val *id = fumi_get(answer, "id");
    if (fumi_is(request, FUMI_OBJECT) && is_request(request))
        MUST(fumi_get(request, "id") && fumi_eq(fumi_raw(fumi_get(request, "id")), fumi_raw(id)));
    else
        MUST(
            fumi_get(answer, "error") &&
            (fumi_is(id, FUMI_NULL) || (fumi_is(request, FUMI_OBJECT) &&
                                        fumi_eq(fumi_raw(fumi_get(request, "id")), fumi_raw(id)))));
    MUST(!fumi_is(request, FUMI_ARRAY) || !fumi_size(request) || fumi_size(request) > BATCH);
}

static const struct fumi_val *read_message(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_err e;
    if (s.n > LONGEST)
        return NULL;
    if (fumi_starts(s, FUMI_STR("\xef\xbb\xbf")))
        s = (struct fumi_str){s.p + 3, s.n - 3};
    return fumi_parse_deep(a, s, DEEPEST, &e);
}

static void check_answer(struct fumi_arena *a, const struct outcome *o, bool all)
{
    struct fumi_err e;
    struct fumi_str text = fumi_buf_str(&o->answer);
    const struct fumi_val *request = read_message(a, o->message);
    const struct fumi_val *answer = fumi_parse_deep(a, text, FUMI_DEPTH_MAX, &e);
    MUST(answer && !memchr(text.p, '\n', text.n) && !memchr(text.p, '\r', text.n));
    if (fumi_is(answer, FUMI_ARRAY)) {
        MUST(fumi_is(request, FUMI_ARRAY) && o->code == 0);
        check_batch(request, answer, all);
        return;
    }
    MUST(check_one(answer) == o->code);
    if (request) {
        check_single(request, answer);
        return;
    }
    MUST(o->code == (o->message.n > LONGEST ? FUMI_INVALID_REQUEST : FUMI_PARSE_ERROR));
    MUST(fumi_is(fumi_get(answer, "id"), FUMI_NULL));
}

/* There is no answer: then none was due, or the calls were cancelled. */
static void check_silence(struct fumi_arena *a, const struct outcome *o, bool all)
{
    const struct fumi_val *request = read_message(a, o->message);
    MUST(request && !o->code);
    if (fumi_is(request, FUMI_OBJECT))
        MUST(!all || !wants_answer(request));
    for (const struct fumi_val *i = fumi_is(request, FUMI_ARRAY) ? fumi_first(request) : NULL; i;
         i = fumi_after(request, i))
        MUST(!all || !wants_answer(i));
}

/* all: no call can have been cancelled, so all answers must be there. */
static void check_outcome(const struct outcome *o, bool all)
{
    struct fumi_arena a = {0};
    MUST(o->replies == 1);
    if (o->answer.n)
        check_answer(&a, o, all);
    else
        check_silence(&a, o, all);
    fumi_arena_done(&a);
}

static void take_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct outcome *o = arg;
    o->replies++;
    o->code = code;
    fumi_buf_move(&o->answer, answer);
}

static void take_notify(void *arg, struct fumi_buf *message)
{
    struct outcome *o = arg;
    struct fumi_arena a = {0};
    struct fumi_err e;
    const struct fumi_val *v = fumi_parse_deep(&a, fumi_buf_str(message), FUMI_DEPTH_MAX, &e);
    MUST(v && is_request(v) && !fumi_get(v, "id") && !o->replies);
    o->notifications++;
    fumi_arena_done(&a);
}

static void submit(void *arg, struct fumi_task *task)
{
    struct fixture *s = arg;
    fumi_tasks_add(&s->waiting.tasks, task);
}

static enum fumi_ret admit(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    const struct fixture *s = self;
    (void)a;
    if (!s->refuse)
        return FUMI_OK;
    fumi_err_set(e, -32001, "not now");
    return FUMI_FAIL;
}

static enum fumi_ret before(void *self, struct fumi_call *c)
{
    (void)self;
    return c->name.n == 5 && memcmp(c->name.p, "never", 5) == 0
               ? fumi_fail(c, -32002, "never is not allowed")
               : FUMI_OK;
}

/* An `after` hook sees the outcome. */
static void after(void *self, struct fumi_call *c)
{
    (void)self;
    MUST(c->ret == FUMI_OK ? !c->err.code : c->err.code);
}

static void set_up(struct fixture *s)
{
    struct fumi_err e = {0};
    const struct fumi_processor p = {"fixture", admit, before, after, s};
    s->server = fumi_server_new("fuzz", "1");
    fumi_server_log(s->server, NULL);
    fumi_server_executor(s->server, submit, s);
    fumi_server_limits(s->server,
                       (struct fumi_limits){
                           .message = LONGEST, .depth = DEEPEST, .batch = BATCH, .answer = ANSWER});
    if (fumi_server_add(s->server, NULL, methods, FUMI_COUNT(methods), &s->waiting, &e) ||
        fumi_server_use(s->server, &p, &e))
        fprintf(stderr, "%s\n", e.text);
    MUST(!e.code);
}

/* One server for all inputs, because its setup takes longer than any message. */
static struct fixture fixture;

static void tear_down(void)
{
    fumi_server_free(fixture.server);
}

/* Finishes pending calls and runs queued tasks until there are none. */
static void drain(struct waiting *w)
{
    for (;;) {
        struct fumi_task *task = w->calls_n ? NULL : fumi_tasks_take(&w->tasks);
        if (w->calls_n)
            fumi_finish(w->calls[--w->calls_n], FUMI_OK);
        else if (task)
            task->run(task);
        else
            return;
    }
}

static void handle(struct fixture *s, struct fumi_str message, struct outcome *o)
{
    *o = (struct outcome){.message = message};
    fumi_handle(s->server, &s->peer, message,
                (struct fumi_sink){.notify = take_notify, .reply = take_reply, .arg = o});
}

/* Whether a message may cancel calls of other messages or its own. */
static bool cancels(struct fumi_str s)
{
    return memmem(s.p, s.n, "cancel", 6) || memmem(s.p, s.n, "\\u", 2);
}

/* Handles a message twice by itself, and once while a processor refuses all messages. */
static void alone(struct fixture *s, struct fumi_str message)
{
    struct outcome first, second, refused;
    handle(s, message, &first);
    drain(&s->waiting);
    check_outcome(&first, !cancels(message));
    handle(s, message, &second);
    drain(&s->waiting);
    MUST(fumi_eq(fumi_buf_str(&first.answer), fumi_buf_str(&second.answer)));
    MUST(first.code == second.code && first.notifications == second.notifications);
    s->refuse = true;
    handle(s, message, &refused);
    s->refuse = false;
    MUST(refused.replies == 1);
    struct fumi_arena a = {0};
    struct fumi_err e;
    if (refused.answer.n)
        MUST(check_one(fumi_parse(&a, fumi_buf_str(&refused.answer), &e)) == refused.code);
    fumi_arena_done(&a);
    fumi_buf_done(&first.answer);
    fumi_buf_done(&second.answer);
    fumi_buf_done(&refused.answer);
}

static void together(struct fixture *s, const struct fumi_str *parts, size_t n)
{
    struct outcome outcomes[PARTS];
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && !cancels(parts[i]);
    for (size_t i = 0; i < n; i++)
        handle(s, parts[i], &outcomes[i]);
    drain(&s->waiting);
    for (size_t i = 0; i < n; i++) {
        check_outcome(&outcomes[i], all);
        fumi_buf_done(&outcomes[i].answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_str parts[PARTS];
    size_t parts_n = 0;
    for (const uint8_t *end = data + n; parts_n < PARTS;) {
        const uint8_t *stop = data < end ? memchr(data, 0x1e, (size_t)(end - data)) : NULL;
        const uint8_t *last = stop && parts_n < PARTS - 1 ? stop : end;
        parts[parts_n++] = exact_copy(data, (size_t)(last - data));
        if (last == end)
            break;
        data = last + 1;
    }
    if (!fixture.server) {
        set_up(&fixture);
        atexit(tear_down);
    }
    fixture.peer = (struct fumi_peer){.transport = "fuzz"};
    for (size_t i = 0; i < parts_n; i++)
        alone(&fixture, parts[i]);
    together(&fixture, parts, parts_n);
    fumi_peer_close(&fixture.peer);
    fumi_peer_done(&fixture.peer);
    for (size_t i = 0; i < parts_n; i++)
        exact_free(parts[i]);
    return 0;
}
