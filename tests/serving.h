/* The main function of test programs that serve: flags of their own beside those of fumi_settings.
 */
#ifndef FUMI_TESTS_SERVING_H
#define FUMI_TESTS_SERVING_H

#include "app/flags.h"
#include "fumi.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const serving_levels[] = {"debug", "info", "warn", "error", "silent", NULL};

struct serving {
    const char *name;
    const struct fumi_shape *shape; /* of the program's own flags */
    void *own;
    const bool *help, *stdio; /* two of them */
    const int *log;           /* and the level */
    /* Adds to the server and serves: as fumi_serve. */
    int (*serve)(struct fumi_server *server, void *own, struct fumi_serve_options *o,
                 struct fumi_err *e);
};

static void serving_say(void *arg, struct fumi_str address)
{
    (void)arg;
    fprintf(stderr, "listening on %.*s\n", FUMI_ARG(address));
}

static int serving_help(const struct serving *s, const struct flag_set *sets, size_t n)
{
    struct fumi_buf text = {0};
    flags_explain(&(struct flag_table){.sets = sets, .n = n}, &text, 78);
    fprintf(stdout, "usage: %s [FLAG]...\n%.*s", s->name, FUMI_ARG(fumi_buf_str(&text)));
    fumi_buf_done(&text);
    return 0;
}

static int serving_run(const struct serving *s, struct fumi_serve_options *o)
{
    struct fumi_err e = {0};
    struct fumi_log log = {.level = (enum fumi_level) * s->log, .fd = 2};
    struct fumi_str standard[] = {FUMI_STR("stdio")};
    struct fumi_server *server = fumi_server_new(s->name, "1.0");
    if (*s->stdio || (!o->set.listen.n && !getenv("LISTEN_FDS")))
        o->set.listen = (struct fumi_strs){standard, 1};
    o->log = &log;
    o->listening = serving_say;
    fumi_server_log(server, &log);
    int rc = s->serve(server, s->own, o, &e);
    if (rc == FUMI_SERVED_ABANDONED)
        return 0; /* a call that was abandoned may still use the server */
    if (rc < 0)
        fprintf(stderr, "%s: %s\n", s->name, e.text);
    fumi_server_free(server);
    return rc < 0;
}

static int serving_main(const struct serving *s, char **argv)
{
    struct fumi_arena arena = {0};
    struct fumi_err e = {0};
    struct fumi_strs words = {0};
    struct fumi_serve_options options = {0};
    struct flag_set sets[] = {{.shape = s->shape, .into = s->own},
                              {.shape = &fumi_settings_shape, .into = &options.set}};
    int rc = 2;
    if (flags_parse(&arena, &(struct flag_table){.sets = sets, .n = FUMI_COUNT(sets)}, argv, &words,
                    &e) == 0 &&
        !words.n)
        rc = *s->help ? serving_help(s, sets, FUMI_COUNT(sets)) : serving_run(s, &options);
    else
        fprintf(stderr, "%s: %s\n", s->name, e.code ? e.text : "flags begin with two dashes");
    fumi_arena_done(&arena);
    return rc;
}

#endif
