/* POST a JSON text over HTTP or HTTPS and get the answer's text, with every limit that a bad server
 * makes necessary (reliability.md T9, T10). */
#ifndef FUMI_EMBED_FETCH_H
#define FUMI_EMBED_FETCH_H

#include "base/arena.h"
#include "base/err.h"

struct fetch_pool; /* connections that are kept open for the next call; from any thread */

struct fetch_request {
    const char *url;
    struct fumi_str api_key; /* none or empty: no Authorization */
    struct fumi_str body;
    int64_t ms;               /* for all of it, 30 s at most; connecting at most 5 s */
    size_t limit;             /* bytes of the answer, checked while reading; 0: 16 MiB */
    bool allow_http;          /* plain http to others than this machine */
    struct fetch_pool *pool;  /* NULL: no connection is kept */
    const _Atomic bool *stop; /* set by another thread: it ends soon, without an answer; or NULL */
};

struct fetch_answer {
    int status;
    int64_t retry_after;      /* milliseconds, from Retry-After; 0: none */
    struct fumi_str body;     /* in the arena */
    struct fumi_str location; /* of a redirect: "https://host:port", in the arena; else none */
    bool retryable;           /* no answer came, and asking again may help */
};

/* 0: an answer came, whatever its status. -1: none, ERR_PROVIDER with the reason. No redirects are
 * followed; link-local addresses are refused after resolving; keys never stand in a sentence. */
int fetch_post(struct fumi_arena *a, const struct fetch_request *r, struct fetch_answer *out,
               struct fumi_err *e);

struct fetch_pool *fetch_pool_new(void);
void fetch_pool_free(struct fetch_pool *p); /* no call may be under way; NULL: nothing */

#endif
