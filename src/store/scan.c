/* Keeps the rows up to date. One refresh runs at a time in this process, and on one file at a time
 * among all processes (a lock on the file). A search takes what is current and a reference to its
 * mapping, and is then disturbed by nobody.
 *
 * A file is never made anew in place: the new one is written beside it and renamed over it while
 * the old one is locked. Whoever gets the lock of a file that no longer stands at the path opens
 * the one that does. */
#include "store/scan_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SPARE = 4 /* scratches kept */, TRIES = 32, CROWD = SCAN_BLOCK /* gone rows that matter */ };

struct scan {
    char *path; /* NULL: memory only */
    char *beside;
    struct fumi_str space;
    size_t dim;
    struct scan_source source;
    const struct fumi_log *log;
    pthread_mutex_t refresh; /* guards fd and the path; held while rows are read */
    int fd;
    pthread_mutex_t lock; /* guards the rest, for moments only */
    struct scan_map *map; /* NULL: not open yet */
    struct scan_state state;
    bool odd;     /* a search found damage */
    bool unwiped; /* there may be rows that are gone and not overwritten yet */
    struct scan_scratch *spare;
    size_t spares;
};

/* What is current */

/* Under the lock: a search that uses the rows does so without it. */
static void wipe_if_idle(struct scan *s)
{
    if (!s->unwiped || !s->map || s->map->refs > 1)
        return;
    scan_wipe(s->map, &s->state);
    s->unwiped = false;
}

static void drop(struct scan *s, struct scan_map *m)
{
    pthread_mutex_lock(&s->lock);
    bool last = m && --m->refs == 0;
    wipe_if_idle(s);
    pthread_mutex_unlock(&s->lock);
    if (last)
        scan_map_free(m);
}

/* Takes over the caller's reference to a map that is not the current one. */
static void set_current(struct scan *s, struct scan_map *m, const struct scan_state *state)
{
    pthread_mutex_lock(&s->lock);
    struct scan_map *old = s->map != m ? s->map : NULL;
    s->unwiped |= old || s->state.gone != state->gone;
    s->map = m;
    s->state = *state;
    wipe_if_idle(s);
    pthread_mutex_unlock(&s->lock);
    drop(s, old);
}

static bool is_current(struct scan *s, int64_t change)
{
    pthread_mutex_lock(&s->lock);
    bool same = s->state.change == change && !s->odd;
    pthread_mutex_unlock(&s->lock);
    return same;
}

static bool take_odd(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    bool odd = s->odd;
    s->odd = false;
    pthread_mutex_unlock(&s->lock);
    return odd;
}

/* Making the rows anew */

/* What a refresh gathers. */
struct news {
    struct scan_writer writer;
    int64_t *notes;
    size_t n, cap;
};

static int put(void *to, const struct scan_row *row, struct fumi_err *e)
{
    struct news *news = to;
    return scan_write_row(&news->writer, row, e);
}

static int note(void *to, int64_t seq)
{
    struct news *news = to;
    if (news->n == news->cap) {
        news->cap = news->cap ? news->cap * 2 : 64;
        news->notes = fumi_resize(news->notes, news->cap * sizeof(*news->notes));
    }
    news->notes[news->n++] = seq;
    return 0;
}

static void discard(struct news *news)
{
    if (news->writer.fresh)
        scan_map_free(news->writer.map);
    fumi_resize(news->notes, 0);
}

static int copy(const struct scan *s, struct scan_writer *w, struct fumi_err *e)
{
    for (uint64_t row = 0; row < s->state.rows; row++) {
        struct scan_block b = scan_block(s->map, (size_t)(row / SCAN_BLOCK));
        if (scan_is_gone(&b, row % SCAN_BLOCK, s->state.generation))
            continue;
        if (scan_write_copy(w, s->map, (size_t)row, e))
            return -1;
    }
    return 0;
}

enum from { FROM_SOURCE, FROM_ROWS };
enum { NO_ROOM = 1 }; /* the file cannot be written; errno says why */

static int fill(struct scan *s, struct news *news, enum from from, struct fumi_err *e)
{
    struct scan_writer *w = &news->writer;
    int64_t change = s->state.change;
    int failed = from == FROM_ROWS ? copy(s, w, e)
                                   : s->source.all(s->source.arg, put, news, &change, e);
    if (w->full)
        return NO_ROOM;
    if (failed)
        return -1;
    scan_write_end(w, change);
    return 0;
}

static void let_go(struct scan *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* Fills the empty file and puts it into its place. */
static int write_anew(struct scan *s, int fd, enum from from, struct fumi_err *e)
{
    struct news news = {0};
    if (scan_write_new(&news.writer, fd, s->space, s->dim))
        return NO_ROOM;
    int r = fill(s, &news, from, e);
    if (!r && s->path && rename(s->beside, s->path) && !scan_file_is(fd, s->path))
        r = NO_ROOM;
    if (r) {
        int why = errno;
        discard(&news);
        errno = why;
        return r;
    }
    set_current(s, news.writer.map, &news.writer.state);
    let_go(s);
    s->fd = fd;
    return 0;
}

static int anew(struct scan *s, enum from from, struct fumi_err *e)
{
    int fd = s->path ? scan_file_new(s->beside) : scan_file_memory();
    if (fd < 0)
        return NO_ROOM;
    int r = write_anew(s, fd, from, e);
    if (!r)
        return 0;
    int why = errno;
    close(fd);
    if (s->path)
        unlink(s->beside);
    errno = why;
    return r;
}

/* From here on the rows are kept in memory: no file, no lock, nobody else. */
static int in_memory(struct scan *s, struct fumi_err *e)
{
    if (s->path)
        fumi_log(s->log, FUMI_WARN, "scan_in_memory", {"path", fumi_str(s->path), 0},
                 {"why", fumi_str(strerror(errno)), 0});
    s->path = fumi_resize(s->path, 0);
    let_go(s);
    int r = anew(s, FROM_SOURCE, e);
    if (r == NO_ROOM)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "there is no memory for the rows of the vectors: %s", strerror(errno));
    return r;
}

static int remake(struct scan *s, const char *why, struct fumi_err *e)
{
    int r = anew(s, FROM_SOURCE, e);
    if (r == NO_ROOM)
        return in_memory(s, e);
    if (!r && s->path)
        fumi_log(s->log, strcmp(why, "missing") == 0 ? FUMI_INFO : FUMI_WARN, "scan_made",
                 {"why", fumi_str(why), 0}, {"rows", {0}, (int64_t)s->state.rows},
                 {"path", fumi_str(s->path), 0});
    return r;
}

/* Refreshing */

static bool is_crowded(const struct scan_state *s)
{
    return (s->gone > CROWD && s->gone > s->rows / 2) || s->generation > SCAN_HERE / 2;
}

/* Leaves out the rows that are gone. No room for that is no fault: they are in nobody's way. */
static int tidy(struct scan *s, struct fumi_err *e)
{
    if (!is_crowded(&s->state))
        return 0;
    int r = anew(s, FROM_ROWS, e);
    return r < 0 ? remake(s, "rows", e) : 0;
}

static int publish(struct scan *s, struct news *news, int64_t change, struct fumi_err *e)
{
    struct scan_writer *w = &news->writer;
    scan_sort(news->notes, news->n);
    scan_write_gone(w, news->notes, news->n);
    scan_write_end(w, change);
    set_current(s, w->map, &w->state);
    fumi_resize(news->notes, 0);
    return tidy(s, e);
}

/* Adds what changed since the generation that is current. */
static int update(struct scan *s, struct fumi_err *e)
{
    struct news news = {0};
    if (s->fd < 0) /* there was no memory before; what is mapped is the file of others */
        return in_memory(s, e);
    int64_t change = s->state.change;
    scan_write_more(&news.writer, s->fd, s->map, &s->state);
    int r = s->source.changed(s->source.arg, change, note, put, &news, &change, e);
    if (!r && !news.writer.full)
        return publish(s, &news, change, e);
    bool full = news.writer.full;
    int why = errno;
    discard(&news);
    errno = why;
    if (full)
        return in_memory(s, e);
    return r < 0 ? -1 : remake(s, "history", e);
}

/* Opens and locks what stands at the path now. *fresh: it is not the file of before. */
static bool hold(struct scan *s, bool *fresh)
{
    *fresh = s->fd < 0;
    for (int i = 0; i < TRIES; i++) {
        if (s->fd < 0 && (s->fd = scan_file_open(s->path)) < 0)
            return false;
        if (!scan_file_lock(s->fd))
            return false;
        if (scan_file_is(s->fd, s->path))
            return true;
        let_go(s);
        *fresh = true;
    }
    return false;
}

/* Takes what other processes wrote. NULL, or what is odd about it. */
static const char *catch_up(struct scan *s, bool fresh)
{
    struct scan_map *m;
    struct scan_state state;
    const char *why = fresh ? scan_map_open(s->fd, s->space, s->dim, &m, &state)
                            : scan_map_news(s->fd, s->map, s->state.rows, &m, &state);
    if (why)
        return why;
    if (fresh)
        scan_wipe_unpublished(m, s->fd, &state);
    set_current(s, m, &state);
    return NULL;
}

static int with_file(struct scan *s, const int64_t *change, struct fumi_err *e)
{
    bool fresh, odd = take_odd(s);
    if (!hold(s, &fresh))
        return in_memory(s, e);
    const char *why = catch_up(s, fresh);
    int r = 0;
    if (why || (odd && !fresh))
        r = remake(s, why ? why : "rows", e);
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
        r = s->path ? with_file(s, &change, e) : update(s, e);
    pthread_mutex_unlock(&s->refresh);
    return r;
}

/* Opening and closing */

static struct scan *made(struct fumi_str space, size_t dim, const struct scan_source *source,
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
    s->beside = fumi_resize(NULL, n + sizeof(end));
    memcpy(s->beside, path, n);
    memcpy(s->beside + n, end, sizeof(end));
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
    struct scan *s = made(space, dim, source, log);
    if (path)
        set_path(s, path);
    if (path ? with_file(s, NULL, e) == 0 : in_memory(s, e) == 0)
        return s;
    scan_close(s);
    return NULL;
}

void scan_close(struct scan *s)
{
    if (!s)
        return;
    let_go(s);
    struct scan_map *map = s->map;
    s->map = NULL;
    drop(s, map);
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
    fumi_resize(s->beside, 0);
    fumi_resize(s, 0);
}

/* Searching */

static struct scan_scratch *borrow(struct scan *s, struct scan_map **map, struct scan_state *state)
{
    pthread_mutex_lock(&s->lock);
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

static void give_back(struct scan *s, struct scan_scratch *x, bool odd)
{
    pthread_mutex_lock(&s->lock);
    bool keep = s->spares < SPARE;
    if (keep) {
        x->next = s->spare;
        s->spare = x;
        s->spares++;
    }
    s->odd |= odd;
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
    struct scan_scratch *x = borrow(s, &map, &state);
    struct scan_job job = {.map = map, .state = &state, .filter = f, .scratch = x};
    size_t n = scan_rank(&job, query, limit, out);
    give_back(s, x, job.odd);
    drop(s, map);
    return n;
}

size_t scan_size(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = (size_t)(s->state.rows - s->state.gone);
    pthread_mutex_unlock(&s->lock);
    return n;
}
