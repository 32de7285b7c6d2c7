#include "embed/breaker.h"

#include "base/clock.h"

#include <stdio.h>

/* Milliseconds to wait while another call is trying the server. */
enum { SOON = 1000 };

static int64_t now(void)
{
    return fumi_ticks() / 1000000;
}

void breaker_init(struct breaker *b, int64_t rest)
{
    *b = (struct breaker){.rest = rest};
    pthread_mutex_init(&b->lock, NULL);
}

void breaker_done(struct breaker *b)
{
    pthread_mutex_destroy(&b->lock);
}

static enum breaker_permit decide(struct breaker *b, int64_t *wait)
{
    if (b->failures < BREAKER_FAILURES)
        return BREAKER_GO;
    int64_t left = b->since + b->rest - now();
    *wait = left > 0 ? left : SOON;
    if (left > 0 || b->trying)
        return BREAKER_WAIT;
    b->trying = true;
    return BREAKER_ONCE;
}

enum breaker_permit breaker_enter(struct breaker *b, int64_t *wait, char why[200])
{
    pthread_mutex_lock(&b->lock);
    enum breaker_permit permit = decide(b, wait);
    memcpy(why, b->why, sizeof(b->why));
    pthread_mutex_unlock(&b->lock);
    return permit;
}

bool breaker_leave(struct breaker *b, const char *why)
{
    pthread_mutex_lock(&b->lock);
    bool was_open = b->failures >= BREAKER_FAILURES;
    b->trying = false;
    if (why) {
        b->failures++;
        b->since = now();
        snprintf(b->why, sizeof(b->why), "%s", why);
    } else {
        b->failures = 0;
    }
    bool is_open = b->failures >= BREAKER_FAILURES;
    pthread_mutex_unlock(&b->lock);
    return was_open != is_open;
}
