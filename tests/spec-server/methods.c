#include "methods.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct spec {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int running;       /* threads of `later`; guarded by the lock */
    atomic_int asleep; /* calls of `sleep` */
};

/* Params and results of any kind. */
struct whole {
    const struct fumi_val *value;
};

static const struct fumi_field whole_field[] = {
    FUMI_VALUE(struct whole, value, "Any value."),
};
static const struct fumi_shape whole = FUMI_SHAPE(struct whole, whole_field);

struct text {
    struct fumi_json value;
};

static const struct fumi_field text_field[] = {
    FUMI_VALUE(struct text, value, "Any value, as text."),
};
static const struct fumi_shape text = FUMI_SHAPE(struct text, text_field);

struct number {
    double value;
};

static const struct fumi_field number_field[] = {
    FUMI_VALUE(struct number, value, "A number."),
};
static const struct fumi_shape number = FUMI_SHAPE(struct number, number_field);

/* Numbers as text, so that integers stay exact. The method itself checks them. */
struct pair {
    const struct fumi_val *minuend, *subtrahend;
};

static const struct fumi_field pair_fields[] = {
    FUMI_FIELD(struct pair, minuend, "minuend", "The number to subtract from.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct pair, subtrahend, "subtrahend", "The number to subtract.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape pair = FUMI_OPEN_SHAPE(struct pair, pair_fields);

struct count {
    int64_t n;
};

enum { STEPS_MAX = 1000, BYTES_MAX = 64 << 20 };

static const struct fumi_field steps_fields[] = {
    FUMI_FIELD(struct count, n, "n", "How many steps.", .flags = FUMI_REQUIRED, .max = STEPS_MAX),
};
static const struct fumi_shape steps = FUMI_SHAPE(struct count, steps_fields);

static const struct fumi_field size_fields[] = {
    FUMI_FIELD(struct count, n, "n", "How many bytes.", .flags = FUMI_REQUIRED, .max = BYTES_MAX),
};
static const struct fumi_shape size = FUMI_SHAPE(struct count, size_fields);

static const struct fumi_field count_field[] = {
    FUMI_VALUE(struct count, n, "How many there were."),
};
static const struct fumi_shape count = FUMI_SHAPE(struct count, count_field);

struct step {
    int64_t step;
};

static const struct fumi_field step_fields[] = {
    FUMI_FIELD(struct step, step, "step", "Which step is done, from 1."),
};
static const struct fumi_shape step = FUMI_SHAPE(struct step, step_fields);

struct filler {
    struct fumi_str value;
};

static const struct fumi_field filler_field[] = {
    FUMI_VALUE(struct filler, value, "A string of n bytes."),
};
static const struct fumi_shape filler = FUMI_SHAPE(struct filler, filler_field);

static enum fumi_ret give(struct fumi_call *call, struct number *out, double value)
{
    out->value = value;
    if (isfinite(value))
        return FUMI_OK;
    return fumi_fail(call, FUMI_INVALID_PARAMS, "the result is too large; use smaller numbers");
}

/* Writes the difference of two integers. Returns false if one of the three does not fit into 64
 * bits. */
static bool subtract_integers(struct fumi_out *o, const struct pair *in)
{
    int64_t a, b, difference;
    if (!fumi_int(in->minuend, &a) || !fumi_int(in->subtrahend, &b) ||
        __builtin_sub_overflow(a, b, &difference))
        return false;
    fumi_put_int(o, difference);
    return true;
}

static bool subtract_reals(struct fumi_out *o, const struct pair *in)
{
    double a, b;
    if (!fumi_real(in->minuend, &a) || !fumi_real(in->subtrahend, &b) || !isfinite(a - b))
        return false;
    fumi_put_real(o, a - b);
    return true;
}

static enum fumi_ret subtract(struct fumi_call *call, const void *params, void *result)
{
    enum { DIGITS = 64 };
    const struct pair *in = params;
    struct fumi_buf digits = {fumi_alloc(call->arena, DIGITS), 0, DIGITS, DIGITS, false};
    struct fumi_out o = {.buf = &digits};
    if (!fumi_is(in->minuend, FUMI_NUMBER) || !fumi_is(in->subtrahend, FUMI_NUMBER))
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "expected two numeric parameters: [minuend, subtrahend]");
    if (!subtract_integers(&o, in) && !subtract_reals(&o, in))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "the numbers are too large; use smaller ones");
    ((struct text *)result)->value.text = fumi_buf_str(&digits);
    return FUMI_OK;
}

static enum fumi_ret sum(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_val *all = ((const struct whole *)params)->value;
    double total = 0, one;
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        if (!fumi_is(all, FUMI_ARRAY) || !fumi_real(i, &one))
            return fumi_fail(call, FUMI_INVALID_PARAMS, "params must be an array of numbers");
        total += one;
    }
    return give(call, result, total);
}

static enum fumi_ret accept(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_OK;
}

static enum fumi_ret get_data(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params;
    ((struct text *)result)->value.text = FUMI_STR("[\"hello\",5]");
    return FUMI_OK;
}

static enum fumi_ret echo(struct fumi_call *call, const void *params, void *result)
{
    (void)call;
    *(struct whole *)result = *(const struct whole *)params;
    return FUMI_OK;
}

static enum fumi_ret fail_internal(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return fumi_fail(call, FUMI_INTERNAL_ERROR, "the secret ingredient is basil");
}

static enum fumi_ret fail_silent(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_FAIL;
}

static enum fumi_ret fail_custom(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_fail(call, -32050, "it is a custom here to fail");
    call->err.data = FUMI_STR("{\"why\":\"custom\"}");
    return FUMI_FAIL;
}

static void leave(struct spec *spec)
{
    pthread_mutex_lock(&spec->lock);
    if (--spec->running == 0)
        pthread_cond_signal(&spec->idle);
    pthread_mutex_unlock(&spec->lock);
}

static void *finish(void *arg)
{
    struct fumi_call *call = arg;
    struct spec *spec = call->self;
    fumi_finish(call, FUMI_OK);
    leave(spec);
    return NULL;
}

/* Fills the result before the thread starts, because the thread owns the call from then on. */
static enum fumi_ret later(struct fumi_call *call, const void *params, void *result)
{
    struct spec *spec = call->self;
    pthread_t thread;

    *(struct whole *)result = *(const struct whole *)params;
    pthread_mutex_lock(&spec->lock);
    spec->running++;
    pthread_mutex_unlock(&spec->lock);
    if (pthread_create(&thread, NULL, finish, call)) {
        leave(spec);
        return fumi_fail(call, FUMI_LIMIT, "no thread could be started");
    }
    pthread_detach(thread);
    return FUMI_PENDING;
}

static enum fumi_ret progress(struct fumi_call *call, const void *params, void *result)
{
    const struct count *in = params;
    for (int64_t i = 1; i <= in->n; i++)
        fumi_notify(call, "progress", &step, &(struct step){i});
    *(struct count *)result = *in;
    return FUMI_OK;
}

static enum fumi_ret ask_back(struct fumi_call *call, const void *params, void *result)
{
    const struct fumi_val *given = ((const struct whole *)params)->value;
    struct fumi_json request = {{0}};
    if (given)
        request = fumi_compact(call->arena, given);
    return fumi_request(call, "question", request, &((struct text *)result)->value);
}

static enum fumi_ret wait_cancel(struct fumi_call *call, const void *params, void *result)
{
    const struct timespec millisecond = {0, 1000000};
    (void)params, (void)result;
    for (int i = 0; i < 10000; i++) {
        if (fumi_cancelled(call))
            return FUMI_OK;
        nanosleep(&millisecond, NULL);
    }
    return fumi_fail(call, FUMI_LIMIT, "the call was not cancelled within 10 s");
}

/* Sleeps even if it is cancelled. */
static enum fumi_ret sleep_on(struct fumi_call *call, const void *params, void *result)
{
    struct spec *s = call->self;
    int64_t ms = ((const struct count *)params)->n;
    (void)result;
    atomic_fetch_add(&s->asleep, 1);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    atomic_fetch_sub(&s->asleep, 1);
    return FUMI_OK;
}

static enum fumi_ret count_asleep(struct fumi_call *call, const void *params, void *result)
{
    struct spec *s = call->self;
    (void)params;
    ((struct count *)result)->n = atomic_load(&s->asleep);
    return FUMI_OK;
}

/* The call is never finished. */
static enum fumi_ret forget(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    return FUMI_PENDING;
}

static enum fumi_ret too_big(struct fumi_call *call, const void *params, void *result)
{
    size_t n = (size_t)((const struct count *)params)->n;
    char *bytes = fumi_alloc(call->arena, n + 1);
    memset(bytes, 'x', n);
    ((struct filler *)result)->value = (struct fumi_str){bytes, n};
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"subtract", "Subtracts a number from another.", &pair, &text, subtract, FUMI_READ_ONLY},
    {"sum", "Adds numbers.", &whole, &number, sum, FUMI_READ_ONLY},
    {"update", "Takes anything and does nothing.", &whole, NULL, accept, 0},
    {"notify_hello", "Takes anything and does nothing.", &whole, NULL, accept, 0},
    {"notify_sum", "Takes anything and does nothing.", &whole, NULL, accept, 0},
    {"get_data", "Answers [\"hello\",5].", NULL, &text, get_data, FUMI_READ_ONLY},
    {"echo", "Answers its params, or null.", &whole, &whole, echo, FUMI_READ_ONLY},
    {"nothing", "Answers null.", NULL, NULL, accept, FUMI_READ_ONLY},
    {"fail_internal", "Fails with a sentence that is not for the peer.", NULL, NULL, fail_internal,
     FUMI_READ_ONLY},
    {"fail_silent", "Fails and does not say why.", NULL, NULL, fail_silent, FUMI_READ_ONLY},
    {"fail_custom", "Fails with a code and data of its own.", NULL, NULL, fail_custom,
     FUMI_READ_ONLY},
    {"later", "Answers its params from another thread.", &whole, &whole, later, FUMI_ASYNC},
    {"slow_echo", "Answers its params from a worker.", &whole, &whole, echo, FUMI_BLOCKING},
    {"progress", "Tells of n steps, then answers n.", &steps, &count, progress, FUMI_BLOCKING},
    {"ask_back", "Asks the peer \"question\" and answers what it said.", &whole, &text, ask_back,
     FUMI_BLOCKING},
    {"wait_cancel", "Waits until it is cancelled.", NULL, NULL, wait_cancel, FUMI_BLOCKING},
    {"sleep", "Sleeps for n milliseconds.", &size, NULL, sleep_on,
     FUMI_BLOCKING | FUMI_READ_ONLY | FUMI_HIDDEN},
    {"asleep", "Answers how many calls of sleep run.", NULL, &count, count_asleep,
     FUMI_READ_ONLY | FUMI_HIDDEN},
    {"forget", "Is never answered.", NULL, NULL, forget, FUMI_ASYNC | FUMI_HIDDEN},
    {"too_big", "Answers a string of n bytes.", &size, &filler, too_big, FUMI_READ_ONLY},
};

struct spec *spec_open(struct fumi_server *s, struct fumi_err *e)
{
    struct spec *spec = fumi_resize(NULL, sizeof(*spec));
    *spec = (struct spec){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    if (!fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), spec, e))
        return spec;
    spec_close(spec);
    return NULL;
}

void spec_close(struct spec *spec)
{
    pthread_mutex_lock(&spec->lock);
    while (spec->running)
        pthread_cond_wait(&spec->idle, &spec->lock);
    pthread_mutex_unlock(&spec->lock);
    pthread_cond_destroy(&spec->idle);
    pthread_mutex_destroy(&spec->lock);
    fumi_resize(spec, 0);
}
