/* Notes that this process has stored and whose vectors it still owes. An add is answered before its
 * note has a vector; the background thread embeds the notes of this list before all others. It lets
 * notes gather for a moment, because the vectors of many notes are stored in one transaction; it
 * begins at once if a search waits. Notes that are not in the list, for example after a crash, are
 * found by the pass over all notes without vectors (worker.c). */
#include "base/clock.h"
#include "memory/memory_parts.h"

#include <time.h>

enum {
    OWED_MOST = 4096, /* notes in the list; the pass over all notes finds the others */
    SOON = 64,        /* a search waits for a note only if fewer than so many are before it */
    GATHER_MS = 100,  /* how long notes gather */
};

/* Two projects with the same number only make a search wait in vain. */
static uint64_t number_of(struct fumi_str project)
{
    uint64_t n = 14695981039346656037u;
    for (size_t i = 0; i < project.n; i++)
        n = (n ^ (unsigned char)project.p[i]) * 1099511628211u;
    return n;
}

/* Returns false if the list is full. */
static bool append(struct owed *o, struct owed_note n)
{
    if (o->n == OWED_MOST)
        return false;
    if (!o->n)
        o->since = fumi_ticks();
    if (o->n == o->room) {
        o->room = o->room ? o->room * 2 : 64;
        o->items = fumi_resize(o->items, o->room * sizeof(*o->items));
    }
    o->items[o->n++] = n;
    return true;
}

void owed_add(struct memory *m, int64_t seq, struct fumi_str project, size_t bytes)
{
    pthread_mutex_lock(&m->lock);
    if (!append(&m->owed, (struct owed_note){seq, number_of(project), bytes}))
        m->worker.whole = true;
    if (m->owed.n == 1) {
        m->worker.woken = true;
        pthread_cond_broadcast(&m->wake);
    }
    pthread_mutex_unlock(&m->lock);
}

/* For how many milliseconds the notes still gather. Needs the lock. */
static int64_t gathering(const struct owed *o, size_t most)
{
    int64_t left = GATHER_MS - (fumi_ticks() - o->since) / 1000000;
    return o->n && o->n < most && !o->waiting && left > 0 ? left : 0;
}

size_t owed_first(struct memory *m, int64_t *seqs, size_t most, int64_t *later)
{
    size_t n = 0, bytes = 0;
    pthread_mutex_lock(&m->lock);
    const struct owed *o = &m->owed;
    int64_t left = later ? gathering(o, most) : 0;
    if (later)
        *later = left;
    for (; !left && n < most && n < o->n && (!n || bytes + o->items[n].bytes <= LONG_BYTES); n++) {
        seqs[n] = o->items[n].seq;
        bytes += o->items[n].bytes;
    }
    pthread_mutex_unlock(&m->lock);
    return n;
}

void owed_drop(struct memory *m, size_t n)
{
    pthread_mutex_lock(&m->lock);
    struct owed *o = &m->owed;
    n = n < o->n ? n : o->n;
    o->n -= n;
    o->dropped += n;
    if (o->n)
        memmove(o->items, o->items + n, o->n * sizeof(*o->items));
    pthread_cond_broadcast(&m->paid);
    pthread_mutex_unlock(&m->lock);
}

/* The number of notes that must leave the list until no note of the project is left that is in it
 * now and is embedded soon. Needs the lock. */
static uint64_t soon(const struct owed *o, uint64_t project)
{
    size_t n = o->n < SOON ? o->n : SOON;
    while (n && o->items[n - 1].project != project)
        n--;
    return o->dropped + n;
}

/* Waits until so many notes have left the list. Needs the lock, and releases it meanwhile. */
static void wait_for(struct memory *m, uint64_t dropped, int64_t ms)
{
    int64_t until = fumi_ticks() + ms * 1000000;
    const struct timespec end = {until / 1000000000, until % 1000000000};
    if (m->owed.dropped >= dropped)
        return;
    m->owed.waiting++;
    m->worker.woken = true;
    pthread_cond_broadcast(&m->wake);
    for (int rc = 0; !rc && m->owed.dropped < dropped;)
        rc = pthread_cond_clockwait(&m->paid, &m->lock, CLOCK_MONOTONIC, &end);
    m->owed.waiting--;
}

void owed_wait(struct memory *m, struct fumi_str project, int64_t ms)
{
    pthread_mutex_lock(&m->lock);
    if (m->owed.n && !m->worker.failing.code)
        wait_for(m, soon(&m->owed, number_of(project)), ms);
    pthread_mutex_unlock(&m->lock);
}

void owed_wait_all(struct memory *m, int64_t ms)
{
    pthread_mutex_lock(&m->lock);
    if (!m->worker.failing.code)
        wait_for(m, m->owed.dropped + m->owed.n, ms);
    pthread_mutex_unlock(&m->lock);
}

int notes_embed(struct memory *m, struct space *sp, struct fumi_arena *a, const int64_t *seqs,
                size_t n, int64_t ms, struct fumi_err *e)
{
    struct unembeddeds lack;
    if (store_load_unembedded(m->store, a, space_name(sp, a), seqs, n, &lack, e))
        return -1;
    struct fumi_str *texts = fumi_alloc(a, (lack.n + 1) * sizeof(*texts));
    struct vectors *v = fumi_alloc(a, (lack.n + 1) * sizeof(*v));
    for (size_t i = 0; i < lack.n; i++)
        texts[i] = lack.items[i].text;
    if (!lack.n)
        return 0;
    return space_embed(sp, a, texts, lack.n, ms, v, e) || memory_settle(m, a, sp, e) ||
                   store_add_vectors(m->store, lack.items, v, lack.n, e)
               ? -1
               : 0;
}
