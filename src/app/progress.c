#include "app/progress.h"

#include "app/interrupt.h"
#include "app/terminal.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    AFTER_MS = 1000, /* when the bar appears */
    EVERY_MS = 200,
    BAR = 24,   /* columns */
    LINE = 200, /* bytes */
    SECOND = 1000000000,
};

static size_t put_time(char *out, size_t size, double seconds)
{
    int n = seconds < 120 ? snprintf(out, size, ", %.0f s left", seconds + 0.5)
                          : snprintf(out, size, ", %.0f min left", seconds / 60 + 0.5);
    return n > 0 ? (size_t)n : 0;
}

/* Writes the line without the bar: "importing: 1200 of 5000 notes, 24 %, 480 per second, 8 s left".
 */
static size_t put_text(const struct progress *p, char *out)
{
    double seconds = (double)(fumi_ticks() - p->began) / SECOND;
    double rate = seconds > 0 ? (double)(p->done - p->first) / seconds : 0;
    size_t n = (size_t)snprintf(out, LINE, "%s: ", p->what);
    if (p->total > 0)
        n += (size_t)snprintf(out + n, LINE - n, "%lld of %lld %s, %lld %%", (long long)p->done,
                              (long long)p->total, p->unit, (long long)(p->done * 100 / p->total));
    else if (p->done)
        n += (size_t)snprintf(out + n, LINE - n, "%lld %s", (long long)p->done, p->unit);
    else
        return n + (size_t)snprintf(out + n, LINE - n, "%.0f s", seconds);
    if (rate > 0)
        n += (size_t)snprintf(out + n, LINE - n,
                              rate < 10 ? ", %.1f per second" : ", %.0f per second", rate);
    if (rate > 0 && p->total > p->done)
        n += put_time(out + n, LINE - n, (double)(p->total - p->done) / rate);
    return n;
}

static void draw(struct progress *p)
{
    char text[LINE], bar[BAR + 4] = "";
    size_t columns = terminal_columns(stderr), n = put_text(p, text);
    if (p->total > 0 && n + BAR + 4 < columns) {
        size_t full = (size_t)(p->done * BAR / p->total);
        memset(bar, '.', BAR + 3);
        memset(bar + 1, '#', full < BAR ? full : BAR);
        memcpy(bar + BAR + 1, "] ", 3);
        bar[0] = '[';
    }
    if (n >= columns)
        text[columns - 1] = '\0';
    fprintf(stderr, "\r%s%s\033[K", bar, text);
    p->shown = true;
}

static void hide(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static void *run(void *arg)
{
    struct progress *p = arg;
    pthread_mutex_lock(&p->lock);
    for (int wait = AFTER_MS; !p->end; wait = EVERY_MS) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += wait % 1000 * 1000000L;
        until.tv_sec += wait / 1000 + until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        while (!p->end && pthread_cond_timedwait(&p->wake, &p->lock, &until) == 0)
            ;
        if (!p->end)
            draw(p);
    }
    hide(p);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void progress_begin(struct progress *p, const char *what, const char *unit, int64_t done,
                    int64_t total)
{
    pthread_condattr_t attr;
    *p = (struct progress){.what = what,
                           .unit = unit,
                           .began = fumi_ticks(),
                           .first = done,
                           .done = done,
                           .total = total};
    if (!terminal_columns(stderr))
        return;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &attr);
    pthread_condattr_destroy(&attr);
    p->drawn = pthread_create(&p->thread, NULL, run, p) == 0;
}

void progress_at(struct progress *p, int64_t done, int64_t total)
{
    if (!p->drawn)
        return;
    pthread_mutex_lock(&p->lock);
    p->total = total;
    p->done = total && done > total ? total : done;
    pthread_mutex_unlock(&p->lock);
}

bool progress_tell(void *progress, int64_t done, int64_t total)
{
    progress_at(progress, done, total);
    return !interrupted();
}

void progress_hide(struct progress *p)
{
    if (!p->drawn)
        return;
    pthread_mutex_lock(&p->lock);
    hide(p);
    pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
    if (!p->drawn)
        return;
    pthread_mutex_lock(&p->lock);
    p->end = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    *p = (struct progress){0};
}
