/* Server programs for the tests of rpc_connection: the test program itself, started with
 * RPC_CONNECTION_CHILD in its environment. */
#ifndef FUMI_RPC_CONNECTION_FIXTURE_H
#define FUMI_RPC_CONNECTION_FIXTURE_H

#include "net/serve.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture_pair {
    int64_t a, b;
};
static const struct fumi_field fixture_pair_fields[] = {
    FUMI_FIELD(struct fixture_pair, a, "a", "A number.", .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct fixture_pair, b, "b", "A number.", .def = "0"),
};
static const struct fumi_shape fixture_pair = FUMI_SHAPE(struct fixture_pair, fixture_pair_fields);

struct fixture_number {
    int64_t value;
};
static const struct fumi_field fixture_number_fields[] = {
    FUMI_VALUE(struct fixture_number, value, "A number."),
};
static const struct fumi_shape fixture_number = FUMI_SHAPE(struct fixture_number,
                                                           fixture_number_fields);

static const struct fumi_field fixture_step_fields[] = {
    FUMI_FIELD(struct fixture_number, value, "step", "Which step."),
};
static const struct fumi_shape fixture_step = FUMI_SHAPE(struct fixture_number,
                                                         fixture_step_fields);

struct fixture_text {
    struct fumi_str value;
};
static const struct fumi_field fixture_text_fields[] = {
    FUMI_VALUE(struct fixture_text, value, "A text."),
};
static const struct fumi_shape fixture_text = FUMI_SHAPE(struct fixture_text, fixture_text_fields);

/* The addresses of the child, each followed by a blank. */
struct fixture_places {
    char text[400];
    size_t n;
};

static enum fumi_ret fixture_subtract(struct fumi_call *call, const void *params, void *result)
{
    const struct fixture_pair *p = params;
    (void)call;
    ((struct fixture_number *)result)->value = p->a - p->b;
    return FUMI_OK;
}

static enum fumi_ret fixture_count(struct fumi_call *call, const void *params, void *result)
{
    const struct fixture_pair *p = params;
    for (int64_t i = 1; i <= p->a; i++)
        fumi_notify(call, "step", &fixture_step, &(struct fixture_number){i});
    ((struct fixture_number *)result)->value = p->a;
    return FUMI_OK;
}

static enum fumi_ret fixture_ask(struct fumi_call *call, const void *params, void *result)
{
    struct fumi_json answer;
    (void)params;
    if (fumi_request(call, "question", (struct fumi_json){0}, &answer) == FUMI_OK)
        return fumi_fail(call, -32050, "it was answered");
    ((struct fixture_text *)result)->value = fumi_fmt(call->arena, "%d", call->err.code);
    call->err.code = 0;
    return FUMI_OK;
}

static enum fumi_ret fixture_wait(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    for (int i = 0; i < 3000 && !fumi_cancelled(call); i++)
        usleep(10000);
    return fumi_fail(call, FUMI_LIMIT, "nobody cancelled this");
}

static enum fumi_ret fixture_where(struct fumi_call *call, const void *params, void *result)
{
    const struct fixture_places *places = call->self;
    (void)params;
    ((struct fixture_text *)result)->value = (struct fumi_str){places->text, places->n};
    return FUMI_OK;
}

static const struct fumi_method fixture_methods[] = {
    {"subtract", "a - b.", &fixture_pair, &fixture_number, fixture_subtract, FUMI_READ_ONLY},
    {"count", "Tells of a steps.", &fixture_pair, &fixture_number, fixture_count, FUMI_BLOCKING},
    {"ask", "Asks the peer.", NULL, &fixture_text, fixture_ask, FUMI_BLOCKING},
    {"wait", "Waits to be cancelled.", NULL, NULL, fixture_wait, FUMI_BLOCKING | FUMI_READ_ONLY},
    {"where", "The addresses.", NULL, &fixture_text, fixture_where, FUMI_READ_ONLY},
};

static void fixture_listening(void *arg, struct fumi_str address)
{
    struct fixture_places *places = arg;
    int n = snprintf(places->text + places->n, sizeof(places->text) - places->n, "%.*s ",
                     FUMI_ARG(address));
    places->n += (size_t)n;
}

/* Serves standard input and output, TCP and the Unix socket of that path. */
static void fixture_serve(const char *path)
{
    static struct fixture_places places;
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct fumi_server *s = fumi_server_new("fixture", "1");
    struct fumi_str listen[] = {FUMI_STR("stdio"), FUMI_STR("tcp:127.0.0.1:0"),
                                fumi_fmt(&a, "unix:%s", path)};
    struct fumi_serve_options o = {
        .set.listen = {listen, *path ? 3 : 1}, .listening = fixture_listening, .arg = &places};
    int rc = fumi_server_add(s, NULL, fixture_methods, FUMI_COUNT(fixture_methods), &places, &e);
    if (!rc)
        rc = fumi_serve(s, &o, &e);
    if (rc < 0)
        fprintf(stderr, "fixture: %s\n", e.text);
    if (rc != FUMI_SERVED_ABANDONED)
        fumi_server_free(s);
    fumi_arena_done(&a);
    _exit(rc < 0);
}

static void fixture_stubborn(void)
{
    signal(SIGTERM, SIG_IGN);
    fputs("{\"jsonrpc\":\"2.0\",\"method\":\"here\"}\n", stdout);
    fflush(stdout);
    for (int i = 0; i < 60; i++)
        sleep(1);
    _exit(0);
}

__attribute__((constructor)) static void fixture(void)
{
    const char *what = getenv("RPC_CONNECTION_CHILD");
    if (!what)
        return;
    alarm(60);
    if (strncmp(what, "serve:", 6) == 0)
        fixture_serve(what + 6);
    if (strcmp(what, "stubborn") == 0)
        fixture_stubborn();
    _exit(99);
}

#endif
