/* Embeds texts and runs searches, on all processors; results do not depend on their number. */
#include "eval.h"

#include "base/clock.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    THREADS_MAX = 16,
    TEXTS = 32,
    EMBED_MS = 600000, /* also enough on a busy machine */
};

static const struct fumi_log quiet = {.level = FUMI_SILENT};

const char *const eval_figure_names[EVAL_FIGURES] = {"R@1", "R@5", "R@10", "MRR"};

/* Work in steps, which threads take in turn. */
struct steps {
    void (*step)(struct steps *s, struct fumi_arena *a, size_t i);
    size_t n;
    bool keep; /* what a step has allocated */
    _Atomic size_t next;
};

static void *run_steps(void *arg)
{
    struct steps *s = arg;
    struct fumi_arena a = {0};
    for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) {
        s->step(s, &a, i);
        if (!s->keep)
            fumi_arena_reset(&a, 1 << 20);
    }
    if (!s->keep)
        fumi_arena_done(&a);
    return NULL;
}

static void run_all(struct steps *s)
{
    pthread_t thread[THREADS_MAX];
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    n = n > THREADS_MAX ? THREADS_MAX : n;
    for (long i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, run_steps, s))
            eval_die("pthread_create", NULL);
    for (long i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static struct embed_config config(bool gloss)
{
    return (struct embed_config){.provider = FUMI_STR("local"), .no_gloss = !gloss};
}

struct space *eval_space(bool gloss)
{
    struct fumi_err e = {0};
    struct embed_config c = config(gloss);
    struct space *sp = space_new(&c, &quiet, &e);
    if (!sp)
        eval_die("embedder", &e);
    return sp;
}

struct embedding {
    struct steps steps;
    struct space *sp;
    const struct fumi_str *texts;
    size_t n;
    struct vectors *out;
};

static void embed_step(struct steps *s, struct fumi_arena *a, size_t i)
{
    struct embedding *w = (struct embedding *)s;
    struct fumi_err e = {0};
    size_t from = i * TEXTS, n = w->n - from < TEXTS ? w->n - from : TEXTS;
    if (space_embed(w->sp, a, w->texts + from, n, EMBED_MS, w->out + from, &e))
        eval_die("embed", &e);
}

struct vectors *eval_embed(struct space *sp, const struct fumi_str *texts, size_t n)
{
    struct embedding w = {.steps = {.step = embed_step, .n = (n + TEXTS - 1) / TEXTS, .keep = true},
                          .sp = sp,
                          .texts = texts,
                          .n = n,
                          .out = fumi_resize(NULL, (n + 1) * sizeof(*w.out))};
    int64_t began = fumi_ticks();
    run_all(&w.steps);
    fprintf(stderr, "eval: %zu texts embedded in %.1f s\n", n,
            (double)(fumi_ticks() - began) / 1e9);
    return w.out;
}

struct vectors *eval_embed_docs(struct space *sp, const struct eval_set *set)
{
    struct fumi_str *texts = fumi_resize(NULL, (set->n_docs + 1) * sizeof(*texts));
    for (size_t i = 0; i < set->n_docs; i++)
        texts[i] = set->docs[i].text;
    struct vectors *v = eval_embed(sp, texts, set->n_docs);
    fumi_resize(texts, 0);
    return v;
}

struct memory *eval_open(const struct eval *ev, const char *name, bool gloss)
{
    struct fumi_err e = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.db", ev->work, name);
    struct memory_options o = {
        .store = store_sqlite_open(
            &(struct store_sqlite_options){.path = path, .nosync = true, .log = &quiet}, &e),
        .embed = config(gloss),
        .log = &quiet,
    };
    struct memory *m = o.store ? memory_open(&o, &e) : NULL;
    if (!m)
        eval_die(path, &e);
    return m;
}

void eval_fill(struct memory *m, const struct eval_doc *docs, const struct vectors *v, size_t n,
               struct fumi_str project)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < n; i++) {
        struct note note = {.id = docs[i].id,
                            .project = project.p ? project : docs[i].space,
                            .group = FUMI_STR("global"),
                            .text = docs[i].text,
                            .session = docs[i].session,
                            .created = {docs[i].created, true}};
        if (store_add_note(memory_store(m), &a, &note,
                           &(struct note_change){.vectors = &v[i], .allow_duplicate = true}, &e))
            eval_die("add", &e);
    }
    fumi_arena_done(&a);
}

struct eval_asks eval_asks(const struct eval_set *set, size_t most, struct fumi_str project)
{
    size_t step = set->n_queries > most ? (set->n_queries + most - 1) / most : 1;
    struct eval_asks asks = {
        .items = fumi_resize(NULL, (set->n_queries + 1) * sizeof(*asks.items))};
    for (size_t i = 0; i < set->n_queries; i += step) {
        const struct eval_query *q = &set->queries[i];
        asks.items[asks.n++] = (struct eval_ask){q, project.p ? project : q->space, q->now};
    }
    return asks;
}

struct searches {
    struct steps steps;
    struct memory *m;
    struct eval_how how;
    const struct eval_ask *asks;
    struct eval_answer *out;
};

static bool is_relevant(const struct eval_query *q, struct fumi_str id)
{
    for (size_t i = 0; i < q->rel.n; i++)
        if (fumi_eq(q->rel.items[i], id))
            return true;
    return false;
}

static void judge(const struct eval_query *q, const struct results *r, struct eval_answer *out)
{
    double share = 1.0 / (double)q->rel.n;
    for (size_t i = 0; i < r->n && i < EVAL_TOP; i++) {
        if (!is_relevant(q, r->items[i].note.id))
            continue;
        out->figures[EVAL_R1] += i < 1 ? share : 0;
        out->figures[EVAL_R5] += i < 5 ? share : 0;
        out->figures[EVAL_R10] += share;
        if (out->figures[EVAL_MRR] == 0)
            out->figures[EVAL_MRR] = 1.0 / (double)(i + 1);
    }
}

static void search_step(struct steps *s, struct fumi_arena *a, size_t i)
{
    struct searches *w = (struct searches *)s;
    const struct eval_ask *ask = &w->asks[i];
    struct fumi_err e = {0};
    struct found f;
    struct search search = {
        .filter = {.project = ask->project, .since = INT64_MIN, .until = INT64_MAX},
        .query = ask->query->text,
        .top = EVAL_TOP,
        .mode = w->how.mode,
        .off = w->how.off,
        .now = ask->now,
        .ms = EMBED_MS};
    int64_t began = fumi_ticks();
    if (memory_search(w->m, a, &search, &f, &e))
        eval_die("search", &e);
    w->out[i] = (struct eval_answer){.ms = (double)(fumi_ticks() - began) / 1e6,
                                     .confidence = f.confidence};
    judge(ask->query, &f.results, &w->out[i]);
}

struct eval_answer *eval_search(struct memory *m, struct eval_how how, const struct eval_asks *asks)
{
    struct searches w = {.steps = {.step = search_step, .n = asks->n},
                         .m = m,
                         .how = how,
                         .asks = asks->items,
                         .out = fumi_resize(NULL, (asks->n + 1) * sizeof(*w.out))};
    run_all(&w.steps);
    return w.out;
}

struct eval_answer eval_mean(const struct eval_asks *asks, const struct eval_answer *answers,
                             struct fumi_str cat)
{
    struct eval_answer mean = {.ms = 0};
    double n = 0;
    for (size_t i = 0; i < asks->n; i++) {
        if (cat.p && !fumi_eq(cat, asks->items[i].query->cat))
            continue;
        for (size_t k = 0; k < EVAL_FIGURES; k++)
            mean.figures[k] += 100 * answers[i].figures[k];
        mean.ms += answers[i].ms;
        n++;
    }
    for (size_t k = 0; k < EVAL_FIGURES; k++)
        mean.figures[k] /= n;
    mean.ms /= n;
    return mean;
}

struct eval_answer eval_measure(struct memory *m, struct eval_how how, const struct eval_asks *asks)
{
    struct eval_answer *answers = eval_search(m, how, asks);
    struct eval_answer mean = eval_mean(asks, answers, (struct fumi_str){0});
    fumi_resize(answers, 0);
    return mean;
}
