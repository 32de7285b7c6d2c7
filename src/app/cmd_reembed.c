/* fumi reembed: starts the background embedding of a memory and shows its progress. */
#include "app/cli_notes.h"
#include "app/interrupt.h"
#include "app/session.h"
#include "app/show.h"

#include <poll.h>

enum {
    POLL_MS = 200,
    LINE_EVERY = 10, /* polls between two lines if stderr is no terminal */
    STUCK = 600,     /* polls without progress until the command gives up */
    SETTLE = 25,     /* the same if all notes have vectors, or the store fails */
    PROBE_MS = 30000,
};

struct reembed_progress {
    bool serving; /* searches use the current space */
    int64_t done, total, left;
    int64_t passages; /* of long notes, so far */
    double rate;
    struct fumi_err fault; /* of the store: vectors cannot be stored */
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct reembed_progress, done, "done", "Notes that have vectors."),
    FUMI_FIELD(struct reembed_progress, total, "total", "Number of notes."),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct reembed_progress, result_fields);

static int read_progress(struct session *s, struct fumi_arena *a, struct reembed_progress *p,
                         struct fumi_err *e)
{
    struct embedding_progress now;
    if (memory_progress(s->memory, a, &now, e))
        return -1;
    *p = (struct reembed_progress){.serving = fumi_eq(now.serving, memory_space(s->memory, a)),
                                   .done = now.done,
                                   .total = now.total,
                                   .left = now.seconds_left,
                                   .passages = now.passages,
                                   .rate = now.per_second};
    if (now.code && now.code != ERR_PROVIDER)
        fumi_err_set(&p->fault, now.code, "%.*s", FUMI_ARG(now.error));
    return 0;
}

/* Embeds one sentence first, so that a missing model, key or network is reported at once. */
static int probe(struct session *s, struct fumi_arena *a, struct fumi_err *e)
{
    struct embed_config c = config_embed(&s->config, &s->config.embedder);
    struct fumi_str text = FUMI_STR("Does this embedder answer?");
    float *x;
    struct embedder *m = embed_open(&c, &s->log, e);
    if (!m)
        return -1;
    int rc = m->ops->embed(m, a, &text, 1, PROBE_MS, &x, e);
    m->ops->free(m);
    return rc;
}

/* Writes the rate, the number of passages and the remaining time, as far as they are known. */
static void put_pace(const struct reembed_progress *p, char *out, size_t size)
{
    int n = p->rate > 0 ? snprintf(out, size, ", %.0f per second", p->rate) : 0;
    out[n] = '\0';
    if (p->passages)
        n += snprintf(out + n, size - (size_t)n, ", %lld passages of long notes",
                      (long long)p->passages);
    if (p->done == p->total || p->left < 0)
        return;
    if (p->left < 120)
        snprintf(out + n, size - (size_t)n, ", %lld s left", (long long)p->left);
    else
        snprintf(out + n, size - (size_t)n, ", %lld min left", (long long)(p->left + 59) / 60);
}

static void print_line(const struct reembed_progress *p)
{
    char pace[96];
    int share = p->total ? (int)(p->done * 100 / p->total) : 100;
    put_pace(p, pace, sizeof(pace));
    fprintf(stderr, "%lld of %lld notes, %d %%%s\n", (long long)p->done, (long long)p->total, share,
            pace);
}

static bool is_complete(const struct reembed_progress *p)
{
    return p->done == p->total && p->serving;
}

/* The number of polls without progress after which the command gives up. */
static unsigned stuck_limit(const struct reembed_progress *p)
{
    return p->done == p->total || p->fault.code ? SETTLE : STUCK;
}

/* Waits until all notes have vectors and searches use them, or there is no progress any more. */
static int watch(struct session *s, struct reembed_progress *p, struct fumi_err *e)
{
    struct progress bar;
    struct fumi_arena a = {0};
    int64_t before = -1;
    int rc = 0;
    progress_begin(&bar, "embedding", "notes", p->done, p->total);
    for (unsigned turn = 0, stuck = 0; stuck < stuck_limit(p) && !interrupted(); turn++) {
        fumi_arena_reset(&a, 4096);
        if ((rc = read_progress(s, &a, p, e)))
            break;
        progress_at(&bar, p->done, p->total);
        if (!bar.drawn && (turn % LINE_EVERY == 0 || is_complete(p)))
            print_line(p);
        if (is_complete(p))
            break;
        stuck = p->done + p->passages != before ? 0 : stuck + 1;
        before = p->done + p->passages;
        poll(NULL, 0, POLL_MS);
    }
    progress_end(&bar);
    fumi_arena_done(&a);
    if (rc || is_complete(p) || !p->fault.code)
        return rc;
    *e = p->fault;
    return -1;
}

static int make(struct invocation *i, struct session *s, struct reembed_progress *p,
                struct fumi_err *e)
{
    struct fumi_json ignored, none = {{0}};
    if (read_progress(s, i->a, p, e))
        return -1;
    if (is_complete(p))
        return 0;
    if (probe(s, i->a, e) || memory_start(s->memory, e) ||
        session_call(s, i->a, "memory.reembed", none, &ignored, e))
        return -1;
    return watch(s, p, e);
}

static int reembed(struct invocation *i)
{
    struct session s = {0};
    struct reembed_progress p = {0};
    struct fumi_err e = {0};
    interrupt_catch();
    int rc = session_open(&s, &i->common, &e) || make(i, &s, &p, &e);
    session_close(&s);
    if (rc)
        return command_report(&e);
    if (i->json)
        notes_print_struct(i->a, &result_shape, &p);
    else
        printf("%lld of %lld notes have vectors\n", (long long)p.done, (long long)p.total);
    if (interrupted())
        return interrupt_status("run fumi reembed again for the rest");
    return p.done == p.total ? STATUS_OK : STATUS_FAILED;
}

const struct command command_reembed = {
    .name = "reembed",
    .usage = "",
    .help = "Computes missing vectors and shows the progress.",
    .more = "Vectors are missing after an import, a change of the model, or a failure of "
            "the embedding provider. A running server computes them in the background; "
            "this command does not need a server.",
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = reembed,
};
