/* A circuit breaker: after several failures in a row no requests are sent to a server for a while,
 * so that callers do not wait for it. Then one call may try again. Any thread may call these
 * functions. */
#ifndef FUMI_EMBED_BREAKER_H
#define FUMI_EMBED_BREAKER_H

#include "base/str.h"

#include <pthread.h>

enum { BREAKER_FAILURES = 5 }; /* in a row, which open the breaker */

struct breaker {
    pthread_mutex_t lock;
    int failures;  /* in a row */
    int64_t since; /* time of the last of them, in milliseconds */
    bool trying;   /* the breaker is open and one call is trying the server */
    int64_t rest;  /* milliseconds for which an open breaker lets no call through */
    char why[200]; /* message of the last failure */
};

enum breaker_permit {
    BREAKER_GO,   /* send the request, with retries */
    BREAKER_ONCE, /* send the request once */
    BREAKER_WAIT, /* do not send the request */
};

void breaker_init(struct breaker *b, int64_t rest);
void breaker_done(struct breaker *b);

/* Returns what a call may do. With BREAKER_WAIT, *wait is set to the milliseconds to wait and `why`
 * to the last failure; otherwise breaker_leave must be called afterwards. */
enum breaker_permit breaker_enter(struct breaker *b, int64_t *wait, char why[200]);

/* Reports the outcome of a call: `why` is NULL if the server works, otherwise the failure. Returns
 * true if this opened or closed the breaker. */
bool breaker_leave(struct breaker *b, const char *why);

#endif
