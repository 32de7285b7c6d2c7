/* Posts a JSON text over HTTP or HTTPS and returns the answer. Time, size, addresses and redirects
 * are limited, because the server is not trusted. */
#ifndef FUMI_EMBED_FETCH_H
#define FUMI_EMBED_FETCH_H

#include "base/arena.h"
#include "base/err.h"

struct fetch_pool; /* connections kept open for later calls, shared by any threads */

/* Borrowed for the time of the call. */
struct fetch_request {
    const char *url;
    struct fumi_str api_key; /* empty: no Authorization header */
    struct fumi_str body;
    int64_t ms;               /* timeout of the call, at most 30 s; of connecting, at most 5 s */
    size_t limit;             /* bytes of the answer; 0: 16 MiB */
    bool allow_http;          /* allow plain http to other machines */
    struct fetch_pool *pool;  /* NULL: close the connection afterwards */
    const _Atomic bool *stop; /* another thread sets it to abort the call; may be NULL */
};

struct fetch_answer {
    int status;
    int64_t retry_after;      /* milliseconds, from Retry-After; 0: none */
    struct fumi_str body;     /* in the arena */
    struct fumi_str location; /* of a redirect: "https://host:port", in the arena; else none */
    bool retryable;           /* set on failure: another attempt may succeed */
};

/* Returns 0 if an answer arrived, whatever its status; -1 with ERR_PROVIDER if none did. Redirects
 * are not followed; link-local addresses are refused, also if a name resolves to one; error
 * messages never contain the key. */
int fetch_post(struct fumi_arena *a, const struct fetch_request *r, struct fetch_answer *out,
               struct fumi_err *e);

struct fetch_pool *fetch_pool_new(void);
void fetch_pool_free(struct fetch_pool *p); /* p may be NULL; no call may be in progress */

#endif
