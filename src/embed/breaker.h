/* Lets nobody wait for a server that keeps failing: after a few failures in a row it is left alone
 * for a while; then one call may try. From any thread. */
#ifndef FUMI_EMBED_BREAKER_H
#define FUMI_EMBED_BREAKER_H

#include "base/str.h"

#include <pthread.h>

struct breaker {
    pthread_mutex_t lock;
    int failures;  /* in a row */
    int64_t since; /* milliseconds: the last of them */
    bool trying;   /* one call is under way to see whether the server is well again */
    int64_t rest;  /* milliseconds that the server is left alone */
    char why[200]; /* the last failure's sentence */
};

enum { BREAKER_FAILURES = 5 };

enum breaker_leave {
    BREAKER_GO,   /* ask, and ask again */
    BREAKER_ONCE, /* ask once */
    BREAKER_WAIT, /* do not ask */
};

void breaker_init(struct breaker *b, int64_t rest);
void breaker_done(struct breaker *b);

/* What a call may do. BREAKER_WAIT: *wait says for how long, and `why` gets the last failure. After
 * the other two breaker_left must be called. */
enum breaker_leave breaker_enter(struct breaker *b, int64_t *wait, char why[200]);

/* why == NULL: the server is well; else how it failed. True: the state changed. */
bool breaker_left(struct breaker *b, const char *why);

#endif
