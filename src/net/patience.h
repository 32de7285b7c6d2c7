/* Whether a loop that has nothing to do sleeps at once. To wake a core costs whoever does it about
 * as much as a short call, and it takes long (in a virtual machine, 5 and 20 us were measured);
 * under load the next event mostly comes sooner. So a loop that had several events at a time looks
 * a few times more before it sleeps: for a small share of the time it is busy, and less and less
 * often where nothing comes of it, as when its peers wait for the same core. */
#ifndef FUMI_NET_PATIENCE_H
#define FUMI_NET_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct patience {    /* {0} before first use; times are in nanoseconds */
    bool awake;      /* it has not slept since it had several events at a time */
    unsigned failed; /* tries since the last that was worth it */
    unsigned passed; /* times to sleep before the next try */
    uint64_t since;  /* busy time from here on may still be spent on looking */
    uint64_t looked; /* the last time it looked in vain; 0: since then there was something */
};

/* To be told of each event, by its number in this turn. */
static inline void patience_has(struct patience *p, unsigned number, uint64_t (*now)(void))
{
    if (number == 2 && !p->awake) /* a lone caller does not pay for the clock */
        p->since = now();
}

/* To be asked at the end of each turn, which had so many events: whether the loop shall only look
 * whether there are more, instead of waiting for them. */
bool patience_looks(struct patience *p, unsigned events, uint64_t (*now)(void));

#endif
