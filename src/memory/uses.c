/* Which notes agents use. Uses are counted in memory and written at most once a minute, by the
 * background thread: a search never writes. Without that thread, as in a command, nothing is
 * counted. */
#include "memory/uses.h"
#include "base/clock.h"
#include "memory/memory_parts.h"

#include <stdlib.h>

enum { LEAST = 1024, CHUNK = 512 };

static int by_seq(const void *x, const void *y)
{
    const struct use_count *a = x, *b = y;
    return a->seq != b->seq ? (a->seq < b->seq ? -1 : 1)
                            : (a->last > b->last) - (a->last < b->last);
}

/* Merges the rows of each note. */
static void merge(struct uses *u)
{
    size_t n = 0;
    if (u->n)
        qsort(u->items, u->n, sizeof(*u->items), by_seq);
    for (size_t i = 0; i < u->n; i++) {
        if (!n || u->items[n - 1].seq != u->items[i].seq) {
            u->items[n++] = u->items[i];
            continue;
        }
        u->items[n - 1].n += u->items[i].n;
        u->items[n - 1].last = u->items[i].last;
    }
    u->n = n;
}

/* Rows of the same note are merged before the list grows. */
static void make_room(struct uses *u, size_t n)
{
    if (u->n + n <= u->cap)
        return;
    merge(u);
    if (2 * (u->n + n) <= u->cap)
        return;
    u->cap = 2 * (u->n + n) > LEAST ? 2 * (u->n + n) : LEAST;
    u->items = fumi_resize(u->items, u->cap * sizeof(*u->items));
}

void memory_count_uses(struct memory *m, const int64_t *seqs, size_t n)
{
    int64_t now = fumi_now();
    pthread_mutex_lock(&m->lock);
    if (m->worker.started && !m->o.scope.read_only) {
        make_room(&m->uses, n);
        for (size_t i = 0; i < n; i++)
            m->uses.items[m->uses.n++] = (struct use_count){seqs[i], 1, now};
    }
    pthread_mutex_unlock(&m->lock);
}

static int write_all(struct memory *m, const struct uses *u, struct fumi_err *e)
{
    for (size_t i = 0; i < u->n; i += CHUNK) {
        struct note_use rows[CHUNK];
        size_t n = u->n - i < CHUNK ? u->n - i : CHUNK;
        for (size_t k = 0; k < n; k++)
            rows[k] = (struct note_use){
                .seq = u->items[i + k].seq, .n = u->items[i + k].n, .last = u->items[i + k].last};
        if (store_add_uses(m->store, rows, n, e))
            return -1;
    }
    return 0;
}

int uses_write(struct memory *m, struct fumi_err *e)
{
    pthread_mutex_lock(&m->lock);
    struct uses u = m->uses;
    m->uses = (struct uses){0};
    pthread_mutex_unlock(&m->lock);
    merge(&u);
    int rc = write_all(m, &u, e);
    fumi_resize(u.items, 0);
    return rc;
}

void memory_add_injection(struct memory *m, const struct injection *i, const int64_t *seqs,
                          size_t n)
{
    int64_t now = fumi_now();
    struct fumi_err e = {0};
    if (m->o.scope.read_only)
        return;
    pthread_mutex_lock(&m->lock);
    bool counted = m->worker.started;
    pthread_mutex_unlock(&m->lock);
    memory_count_uses(m, seqs, n);
    struct uses u = {.items = fumi_resize(NULL, (n + 1) * sizeof(*u.items)), .n = n};
    for (size_t k = 0; k < n; k++)
        u.items[k] = (struct use_count){seqs[k], 1, now};
    if ((!counted && write_all(m, &u, &e)) || store_add_injection(m->view, i, &e))
        fumi_log(m->o.log, FUMI_WARN, "what an agent was given is not recorded",
                 {"why", fumi_str(e.text), 0});
    fumi_resize(u.items, 0);
}
