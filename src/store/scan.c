/* Keeps the rows up to date. One refresh runs at a time in this process, and one per file among all
 * processes (file lock). A search takes the current state and a reference to its mapping; a later
 * refresh does not affect it.
 *
 * A file is never rebuilt in place: the new file is written under a temporary name and renamed over
 * the old one while the old one is locked. A process that gets the lock of a file that is no longer
 * at the path opens the file that is. */
#include "store/scan_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SPARE = 4,                /* scratch buffers kept for later searches */
    TRIES = 32,               /* to lock the file that is at the path */
    COMPACT_MIN = SCAN_BLOCK, /* fewer deleted rows are not worth a new file */
};

struct scan {
    char *path; /* NULL: in memory only */
    char *temp_path;
    struct fumi_str space;
    size_t dim;
    struct scan_source source;
    const struct fumi_log *log;
    pthread_mutex_t refresh; /* guards fd and path; held while rows are read */
    int fd;                  /* -1: none */
    pthread_mutex_t lock;    /* guards the members below; held for moments only */
    struct scan_map *map;    /* NULL: not open yet */
    struct scan_state state;
    bool damaged; /* a search found damage */
    bool unwiped; /* deleted rows may not have been overwritten yet */
    struct scan_scratch *spare;
    size_t spares;
};

/* Needs the lock. Searches use the rows without it, so the map must have no other reference. */
static void wipe_if_idle(struct scan *s)
{
    if (!s->unwiped || !s->map || s->map->refs > 1)
        return;
    scan_wipe(s->map, &s->state);
    s->unwiped = false;
}

static void unref_map(struct scan *s, struct scan_map *m)
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
    unref_map(s, old);
}

static bool is_current(struct scan *s, int64_t change)
{
    pthread_mutex_lock(&s->lock);
    bool same = s->state.change == change && !s->damaged;
    pthread_mutex_unlock(&s->lock);
    return same;
}

static bool take_damaged(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    bool damaged = s->damaged;
    s->damaged = false;
    pthread_mutex_unlock(&s->lock);
    return damaged;
}

/* What a refresh collects. */
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

static int note(void *to, int64_t seq)
{
    struct changes *changes = to;
    if (changes->n == changes->cap) {
        changes->cap = changes->cap ? changes->cap * 2 : 64;
        changes->notes = fumi_resize(changes->notes, changes->cap * sizeof(*changes->notes));
    }
    changes->notes[changes->n++] = seq;
    return 0;
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

enum from { FROM_SOURCE, FROM_ROWS };
enum { NO_SPACE = 1 }; /* the file cannot be written; errno is set */

static int fill(struct scan *s, struct changes *changes, enum from from, struct fumi_err *e)
{
    struct scan_writer *w = &changes->writer;
    int64_t change = s->state.change;
    int failed = from == FROM_ROWS ? copy_rows(s, w, e)
                                   : s->source.all(s->source.arg, put, changes, &change, e);
    if (w->full)
        return NO_SPACE;
    if (failed)
        return -1;
    scan_write_publish(w, change);
    return 0;
}

static void close_file(struct scan *s)
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
    int r = fill(s, &changes, from, e);
    if (!r && s->path && rename(s->temp_path, s->path) && !scan_file_is_at(fd, s->path))
        r = NO_SPACE;
    if (r) {
        int why = errno;
        discard(&changes);
        errno = why;
        return r;
    }
    set_current(s, changes.writer.map, &changes.writer.state);
    close_file(s);
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

/* From now on the rows are kept in memory, without a file and its lock. */
static int use_memory(struct scan *s, struct fumi_err *e)
{
    if (s->path)
        fumi_log(s->log, FUMI_WARN, "scan_in_memory", {"path", fumi_str(s->path), 0},
                 {"why", fumi_str(strerror(errno)), 0});
    s->path = fumi_resize(s->path, 0);
    close_file(s);
    int r = make_file(s, FROM_SOURCE, e);
    if (r == NO_SPACE)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "no memory for the vector cache: %s",
                            strerror(errno));
    return r;
}

static int rebuild(struct scan *s, const char *why, struct fumi_err *e)
{
    int r = make_file(s, FROM_SOURCE, e);
    if (r == NO_SPACE)
        return use_memory(s, e);
    if (!r && s->path)
        fumi_log(s->log, strcmp(why, "missing") == 0 ? FUMI_INFO : FUMI_WARN, "scan_made",
                 {"why", fumi_str(why), 0}, {"rows", {0}, (int64_t)s->state.rows},
                 {"path", fumi_str(s->path), 0});
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
    int r = make_file(s, FROM_ROWS, e);
    return r < 0 ? rebuild(s, "rows", e) : 0;
}

static int publish(struct scan *s, struct changes *changes, int64_t change, struct fumi_err *e)
{
    struct scan_writer *w = &changes->writer;
    scan_sort(changes->notes, changes->n);
    scan_write_deleted(w, changes->notes, changes->n);
    scan_write_publish(w, change);
    set_current(s, w->map, &w->state);
    fumi_resize(changes->notes, 0);
    return compact(s, e);
}

/* Adds what changed since the current generation. */
static int update(struct scan *s, struct fumi_err *e)
{
    struct changes changes = {0};
    if (s->fd < 0) /* falling back to memory failed before; the map is a shared file */
        return use_memory(s, e);
    int64_t change = s->state.change;
    scan_write_append(&changes.writer, s->fd, s->map, &s->state);
    int r = s->source.changed(s->source.arg, change, note, put, &changes, &change, e);
    if (!r && !changes.writer.full)
        return publish(s, &changes, change, e);
    bool full = changes.writer.full;
    int why = errno;
    discard(&changes);
    errno = why;
    if (full)
        return use_memory(s, e);
    return r < 0 ? -1 : rebuild(s, "history", e);
}

/* Opens and locks the file that is at the path now. *reopened: it is not the file of before. */
static bool lock_file(struct scan *s, bool *reopened)
{
    *reopened = s->fd < 0;
    for (int i = 0; i < TRIES; i++) {
        if (s->fd < 0 && (s->fd = scan_file_open(s->path)) < 0)
            return false;
        if (!scan_file_lock(s->fd))
            return false;
        if (scan_file_is_at(s->fd, s->path))
            return true;
        close_file(s);
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

static int refresh_from_file(struct scan *s, const int64_t *change, struct fumi_err *e)
{
    bool reopened, damaged = take_damaged(s);
    if (!lock_file(s, &reopened))
        return use_memory(s, e);
    const char *why = catch_up(s, reopened);
    int r = 0;
    if (why || (damaged && !reopened))
        r = rebuild(s, why ? why : "rows", e);
    else if (change && s->state.change != *change)
        r = update(s, e);
    if (s->path)
        scan_file_unlock(s->fd);
    return r;
}

int scan_refresh(struct scan *s, int64_t change, struct fumi_err *e)
{
    if (is_current(s, change))
        return 0;
    int r = 0;
    pthread_mutex_lock(&s->refresh);
    if (!is_current(s, change))
        r = s->path ? refresh_from_file(s, &change, e) : update(s, e);
    pthread_mutex_unlock(&s->refresh);
    return r;
}

static struct scan *new_scan(struct fumi_str space, size_t dim, const struct scan_source *source,
                             const struct fumi_log *log)
{
    struct scan *s = fumi_resize(NULL, sizeof(*s));
    *s = (struct scan){.dim = dim, .source = *source, .log = log, .fd = -1};
    char *name = fumi_resize(NULL, space.n + 1);
    if (space.n)
        memcpy(name, space.p, space.n);
    s->space = (struct fumi_str){name, space.n};
    pthread_mutex_init(&s->refresh, NULL);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void set_path(struct scan *s, const char *path)
{
    static const char end[] = ".new";
    size_t n = strlen(path);
    s->path = memcpy(fumi_resize(NULL, n + 1), path, n + 1);
    s->temp_path = fumi_resize(NULL, n + sizeof(end));
    memcpy(s->temp_path, path, n);
    memcpy(s->temp_path + n, end, sizeof(end));
}

struct scan *scan_open(const char *path, struct fumi_str space, size_t dim,
                       const struct scan_source *source, const struct fumi_log *log,
                       struct fumi_err *e)
{
    if (!dim || dim > VECTOR_DIM_MAX) {
        fumi_err_set(e, FUMI_INTERNAL_ERROR, "vectors have 1 to %d dimensions, not %zu",
                     VECTOR_DIM_MAX, dim);
        return NULL;
    }
    struct scan *s = new_scan(space, dim, source, log);
    if (path)
        set_path(s, path);
    if (path ? refresh_from_file(s, NULL, e) == 0 : use_memory(s, e) == 0)
        return s;
    scan_close(s);
    return NULL;
}

void scan_close(struct scan *s)
{
    if (!s)
        return;
    close_file(s);
    struct scan_map *map = s->map;
    s->map = NULL;
    unref_map(s, map);
    while (s->spare) {
        struct scan_scratch *x = s->spare;
        s->spare = x->next;
        scan_scratch_done(x);
        fumi_resize(x, 0);
    }
    pthread_mutex_destroy(&s->refresh);
    pthread_mutex_destroy(&s->lock);
    fumi_resize((char *)s->space.p, 0);
    fumi_resize(s->path, 0);
    fumi_resize(s->temp_path, 0);
    fumi_resize(s, 0);
}

static struct scan_scratch *begin_search(struct scan *s, struct scan_map **map,
                                         struct scan_state *state)
{
    pthread_mutex_lock(&s->lock);
    assert(s->map);
    struct scan_scratch *x = s->spare;
    if (x) {
        s->spare = x->next;
        s->spares--;
    }
    *map = s->map;
    *state = s->state;
    s->map->refs++;
    pthread_mutex_unlock(&s->lock);
    if (!x) {
        x = fumi_resize(NULL, sizeof(*x));
        memset(x, 0, sizeof(*x));
    }
    return x;
}

static void end_search(struct scan *s, struct scan_scratch *x, bool damaged)
{
    pthread_mutex_lock(&s->lock);
    bool keep = s->spares < SPARE;
    if (keep) {
        x->next = s->spare;
        s->spare = x;
        s->spares++;
    }
    s->damaged |= damaged;
    pthread_mutex_unlock(&s->lock);
    if (keep)
        return;
    scan_scratch_done(x);
    fumi_resize(x, 0);
}

size_t scan_nearest(struct scan *s, const struct scan_filter *f, const float *query, size_t limit,
                    struct scan_hit *out)
{
    struct scan_map *map;
    struct scan_state state;
    struct scan_scratch *x = begin_search(s, &map, &state);
    struct scan_job job = {.map = map, .state = &state, .filter = f, .scratch = x};
    size_t n = scan_rank(&job, query, limit, out);
    end_search(s, x, job.damaged);
    unref_map(s, map);
    return n;
}
