/* Keeps the rows up to date, piece by piece. One keeper at a time writes to a file (file lock); it
 * releases the lock between two pieces. A search takes the current state and a reference to its
 * mapping; a later piece does not affect it.
 *
 * A file is never begun again in place: a new file, still without rows, is made under a temporary
 * name and renamed over the old one while the old one is locked. A process that gets the lock of a
 * file that is no longer at the path opens the file that is. */
#include "store/scan_keep.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 32,               /* to lock the file that is at the path */
    LOCK_SECONDS = 10,        /* to wait for the lock of another process */
    COMPACT_MIN = SCAN_BLOCK, /* fewer deleted rows are not worth a new file */
    PIECE_ROWS = 2048,        /* some 50 ms */
    PIECE_CHANGES = 4096,
};

/* Needs the lock. Searches use the rows without it, so the map must have no other reference. */
static void wipe_if_idle(struct scan *s)
{
    if (!s->unwiped || !s->map || s->map->refs > 1)
        return;
    scan_wipe(s->map, &s->state);
    s->unwiped = false;
}

void scan_unref(struct scan *s, struct scan_map *m)
{
    pthread_mutex_lock(&s->lock);
    assert(!m || m->refs > 0);
    bool last = m && --m->refs == 0;
    wipe_if_idle(s);
    pthread_mutex_unlock(&s->lock);
    if (last)
        scan_map_free(m);
}

/* Takes over the caller's reference to m, unless m is already the current map. */
static void set_current(struct scan *s, struct scan_map *m, const struct scan_state *state)
{
    pthread_mutex_lock(&s->lock);
    struct scan_map *old = s->map != m ? s->map : NULL;
    s->unwiped |= old || s->state.deleted != state->deleted;
    s->map = m;
    s->state = *state;
    wipe_if_idle(s);
    pthread_mutex_unlock(&s->lock);
    scan_unref(s, old);
}

static bool take_damaged(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    bool damaged = s->damaged;
    s->damaged = false;
    pthread_mutex_unlock(&s->lock);
    return damaged;
}

/* What a piece collects. */
struct changes {
    struct scan_writer writer;
    int64_t *notes;
    size_t n, cap;
};

static int put(void *to, const struct scan_row *row, struct fumi_err *e)
{
    struct changes *changes = to;
    return scan_write_row(&changes->writer, row, e);
}

static void note(void *to, int64_t seq)
{
    struct changes *changes = to;
    if (changes->n == changes->cap) {
        changes->cap = changes->cap ? changes->cap * 2 : 64;
        changes->notes = fumi_resize(changes->notes, changes->cap * sizeof(*changes->notes));
    }
    changes->notes[changes->n++] = seq;
}

static void discard(struct changes *changes)
{
    if (changes->writer.owns_map)
        scan_map_free(changes->writer.map);
    fumi_resize(changes->notes, 0);
}

static int copy_rows(const struct scan *s, struct scan_writer *w, struct fumi_err *e)
{
    for (uint64_t row = 0; row < s->state.rows; row++) {
        struct scan_block b = scan_block(s->map, (size_t)(row / SCAN_BLOCK));
        if (scan_is_deleted(&b, row % SCAN_BLOCK, s->state.generation))
            continue;
        if (scan_write_copy(w, s->map, (size_t)row, e))
            return -1;
    }
    return 0;
}

enum from { FROM_NOTHING, FROM_ROWS };
enum { NO_SPACE = 1 }; /* the file cannot be written; errno is set */

static int fill(struct scan *s, struct scan_writer *w, enum from from, struct fumi_err *e)
{
    bool copy = from == FROM_ROWS;
    if (copy && copy_rows(s, w, e))
        return w->full ? NO_SPACE : -1;
    scan_write_publish(w, copy ? s->state.change : 0, copy ? s->state.upto : 0);
    return 0;
}

void scan_close_file(struct scan *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* Fills the empty file and renames it to its path. */
static int write_new_file(struct scan *s, int fd, enum from from, struct fumi_err *e)
{
    struct changes changes = {0};
    if (scan_write_new(&changes.writer, fd, s->space, s->dim))
        return NO_SPACE;
    int r = fill(s, &changes.writer, from, e);
    if (!r && s->path && rename(s->temp_path, s->path) && !scan_file_is_at(fd, s->path))
        r = NO_SPACE;
    if (r) {
        int why = errno;
        discard(&changes);
        errno = why;
        return r;
    }
    set_current(s, changes.writer.map, &changes.writer.state);
    scan_close_file(s);
    s->fd = fd;
    return 0;
}

static int make_file(struct scan *s, enum from from, struct fumi_err *e)
{
    int fd = s->path ? scan_file_new(s->temp_path) : scan_file_memory();
    if (fd < 0)
        return NO_SPACE;
    int r = write_new_file(s, fd, from, e);
    if (!r)
        return 0;
    int why = errno;
    close(fd);
    if (s->path)
        unlink(s->temp_path);
    errno = why;
    return r;
}

static int no_memory(struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "no memory for the vector cache: %s",
                        strerror(errno));
}

/* From now on the rows are kept in memory, without a file and its lock. */
static int use_memory(struct scan *s, struct fumi_err *e)
{
    if (s->path)
        fumi_log(s->log, FUMI_WARN, "scan_in_memory", {"path", fumi_str(s->path), 0},
                 {"why", fumi_str(strerror(errno)), 0});
    s->path = fumi_resize(s->path, 0);
    scan_close_file(s);
    int r = make_file(s, FROM_NOTHING, e);
    return r == NO_SPACE ? no_memory(e) : r;
}

static int begin_again(struct scan *s, const char *why, struct fumi_err *e)
{
    int r = make_file(s, FROM_NOTHING, e);
    if (r == NO_SPACE)
        return use_memory(s, e);
    if (!r && s->path)
        fumi_log(s->log, strcmp(why, "missing") == 0 ? FUMI_INFO : FUMI_WARN, "scan_begun",
                 {"why", fumi_str(why), 0}, {"path", fumi_str(s->path), 0});
    return r;
}

static bool needs_compaction(const struct scan_state *s)
{
    return (s->deleted > COMPACT_MIN && s->deleted > s->rows / 2) || s->generation > SCAN_LIVE / 2;
}

/* Writes a new file without the deleted rows. If there is no space for it, the old file stays. */
static int compact(struct scan *s, struct fumi_err *e)
{
    if (!needs_compaction(&s->state))
        return 0;
    return make_file(s, FROM_ROWS, e) < 0 ? begin_again(s, "rows", e) : 0;
}

static int publish(struct scan *s, struct changes *changes, const struct scan_piece *p,
                   struct fumi_err *e)
{
    struct scan_writer *w = &changes->writer;
    scan_sort(changes->notes, changes->n);
    scan_write_deleted(w, changes->notes, changes->n);
    scan_write_publish(w, p->change, p->last);
    if (p->last > p->upto && p->last == INT64_MAX)
        fumi_log(s->log, FUMI_DEBUG, "scan_whole", {"rows", {0}, (int64_t)w->state.rows});
    set_current(s, w->map, &w->state);
    fumi_resize(changes->notes, 0);
    return compact(s, e);
}

/* Adds changes and rows to the current generation. */
static int read_piece(struct scan *s, enum scan_left *left, struct fumi_err *e)
{
    struct changes changes = {0};
    struct scan_piece p = {.since = s->state.change,
                           .upto = s->state.upto,
                           .changes = PIECE_CHANGES,
                           .rows = PIECE_ROWS};
    scan_write_append(&changes.writer, s->fd, s->map, &s->state);
    int r = s->source.read(s->source.arg, &p, note, put, &changes, e);
    *left = p.more || p.too_old ? SCAN_CHANGES : p.last < INT64_MAX ? SCAN_ROWS : SCAN_NOTHING;
    if (!r && !changes.writer.full && !p.too_old)
        return publish(s, &changes, &p, e);
    bool full = changes.writer.full;
    int why = errno;
    discard(&changes);
    errno = why;
    *left = SCAN_CHANGES;
    if (full)
        return s->path ? use_memory(s, e) : no_memory(e);
    return r < 0 ? -1 : begin_again(s, "history", e);
}

/* The holder of the lock writes a piece or a whole file, or was stopped (SIGSTOP). Returns false if
 * it does not release the lock in time, or if the file cannot be locked. */
static bool wait_for_lock(struct scan *s)
{
    const int64_t end = fumi_ticks() + LOCK_SECONDS * INT64_C(1000000000);
    struct timespec wait = {0, 100000};
    int r;
    while ((r = scan_file_lock(s->fd)) > 0 && fumi_ticks() < end && !scan_stopping(s)) {
        nanosleep(&wait, NULL);
        wait.tv_nsec = wait.tv_nsec < 5000000 ? wait.tv_nsec * 2 : wait.tv_nsec;
    }
    return r == 0;
}

/* Opens and locks the file that is at the path now. *reopened: it is not the file of before. */
static bool lock_file(struct scan *s, bool *reopened)
{
    *reopened = s->fd < 0 || !s->map;
    for (int i = 0; i < TRIES; i++) {
        if (s->fd < 0 && (s->fd = scan_file_open(s->path)) < 0)
            return false;
        if (!wait_for_lock(s))
            return false;
        if (scan_file_is_at(s->fd, s->path))
            return true;
        scan_close_file(s);
        *reopened = true;
    }
    return false;
}

/* Takes over what other processes wrote. Returns NULL on success, otherwise a word for the fault
 * (for the log). */
static const char *catch_up(struct scan *s, bool reopened)
{
    struct scan_map *m;
    struct scan_state state;
    const char *why = reopened ? scan_map_open(s->fd, s->space, s->dim, &m, &state)
                               : scan_map_update(s->fd, s->map, s->state.rows, &m, &state);
    if (why)
        return why;
    if (reopened)
        scan_wipe_unpublished(m, s->fd, &state);
    set_current(s, m, &state);
    return NULL;
}

static int step_in_memory(struct scan *s, bool damaged, enum scan_left *left, struct fumi_err *e)
{
    if ((s->fd < 0 || damaged) && begin_again(s, damaged ? "rows" : "missing", e))
        return -1;
    return read_piece(s, left, e);
}

static int64_t wanted_change(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t change = s->wanted;
    pthread_mutex_unlock(&s->lock);
    return change;
}

/* With the lock of the file. Another process may have brought it up to date. */
static int step_in_file(struct scan *s, bool reopened, bool damaged, enum scan_left *left,
                        struct fumi_err *e)
{
    const char *why = catch_up(s, reopened);
    if (!why && damaged && !reopened)
        why = "rows";
    if (why && begin_again(s, why, e)) {
        scan_close_file(s); /* the map is that of another file */
        return -1;
    }
    if (s->state.upto == INT64_MAX && s->state.change == wanted_change(s)) {
        *left = SCAN_NOTHING;
        return 0;
    }
    return read_piece(s, left, e);
}

int scan_step(struct scan *s, enum scan_left *left, struct fumi_err *e)
{
    bool reopened, damaged = take_damaged(s);
    *left = SCAN_CHANGES;
    if (!s->path)
        return step_in_memory(s, damaged, left, e);
    if (!lock_file(s, &reopened)) {
        if (scan_stopping(s))
            return 0;
        return use_memory(s, e) ? -1 : step_in_memory(s, false, left, e);
    }
    int r = step_in_file(s, reopened, damaged, left, e);
    if (s->path)
        scan_file_unlock(s->fd);
    return r;
}
