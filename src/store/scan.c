/* Opening, searching, and requests to the keeper (scan_keep.c). */
#include "store/scan_keep.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

enum { SPARE = 4 }; /* scratch buffers kept for later searches */

static struct scan *new_scan(struct fumi_str space, size_t dim, const struct scan_source *source,
                             const struct fumi_log *log)
{
    struct scan *s = fumi_resize(NULL, sizeof(*s));
    *s = (struct scan){.dim = dim, .source = *source, .log = log, .fd = -1};
    char *name = fumi_resize(NULL, space.n + 1);
    if (space.n)
        memcpy(name, space.p, space.n);
    s->space = (struct fumi_str){name, space.n};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->news, &attr);
    pthread_condattr_destroy(&attr);
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
    return s;
}

static void stop_keeper(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (s->started)
        pthread_join(s->keeper, NULL);
}

void scan_close(struct scan *s)
{
    if (!s)
        return;
    stop_keeper(s);
    scan_close_file(s);
    struct scan_map *map = s->map;
    s->map = NULL;
    scan_unref(s, map);
    while (s->spare) {
        struct scan_scratch *x = s->spare;
        s->spare = x->next;
        scan_scratch_done(x);
        fumi_resize(x, 0);
    }
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    fumi_resize((char *)s->space.p, 0);
    fumi_resize(s->path, 0);
    fumi_resize(s->temp_path, 0);
    fumi_resize(s, 0);
}

bool scan_stopping(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    bool stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

/* Records the outcome of a step that began with the request `asked`. Needs the lock. */
static void record(struct scan *s, uint64_t asked, int result, enum scan_left left,
                   const struct fumi_err *e)
{
    if (result) {
        s->failed = asked;
        s->error = *e;
        s->error.data = (struct fumi_str){0};
    } else if (left != SCAN_CHANGES) {
        s->deleted = asked;
        s->whole = left == SCAN_NOTHING ? asked : s->whole;
        s->slow &= left != SCAN_NOTHING;
    }
    pthread_cond_broadcast(&s->news);
}

/* Whether a request is neither answered nor failed. Needs the lock. */
static bool is_open(const struct scan *s)
{
    return s->asked > s->whole && s->asked > s->failed;
}

static void *keep(void *arg)
{
    struct scan *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!is_open(s)) {
            pthread_cond_wait(&s->work, &s->lock);
            continue;
        }
        struct fumi_err e = {0};
        enum scan_left left;
        uint64_t asked = s->asked;
        pthread_mutex_unlock(&s->lock);
        int result = scan_step(s, &left, &e);
        pthread_mutex_lock(&s->lock);
        record(s, asked, result, left, &e);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Makes a request and returns its number. Needs the lock. */
static uint64_t ask(struct scan *s, int64_t change)
{
    s->wanted = is_open(s) && s->wanted != change ? SCAN_UNKNOWN : change;
    s->asked++;
    if (!s->started)
        s->started = pthread_create(&s->keeper, NULL, keep, s) == 0;
    pthread_cond_signal(&s->work);
    return s->asked;
}

/* Waits for a request: until *answered, the last one that is answered, reaches it. Does not wait
 * for a build that another request has waited for in vain. Needs the lock. */
static int wait_for(struct scan *s, uint64_t request, const uint64_t *answered, int64_t ms,
                    struct fumi_err *e)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    bool building = s->map && s->state.upto != INT64_MAX, over = ms <= 0 || (s->slow && building);
    while (*answered < request && s->failed < request && !over)
        over = pthread_cond_timedwait(&s->news, &s->lock, &until) != 0;
    if (*answered >= request)
        return 0;
    if (s->failed < request) {
        s->slow |= ms > 0;
        return 1;
    }
    *e = s->error;
    return -1;
}

static int refresh(struct scan *s, int64_t change, bool whole, int64_t ms, struct fumi_err *e)
{
    pthread_mutex_lock(&s->lock);
    bool current = s->map && s->state.change == change && !s->damaged &&
                   (!whole || s->state.upto == INT64_MAX);
    int r = current ? 0 : wait_for(s, ask(s, change), whole ? &s->whole : &s->deleted, ms, e);
    pthread_mutex_unlock(&s->lock);
    return r;
}

int scan_refresh(struct scan *s, int64_t change, int64_t ms, struct fumi_err *e)
{
    return refresh(s, change, true, ms, e);
}

int scan_refresh_deleted(struct scan *s, int64_t change, int64_t ms, struct fumi_err *e)
{
    return refresh(s, change, false, ms, e);
}

bool scan_is_whole(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    bool whole = s->map && s->state.upto == INT64_MAX;
    pthread_mutex_unlock(&s->lock);
    return whole;
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
    scan_unref(s, map);
    return n;
}
