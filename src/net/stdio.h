/* JSON-RPC over two descriptors: one message or batch a line in, one answer a line out (NDJSON); or
 * each behind a head with Content-Length, as in the Language Server Protocol. */
#ifndef FUMI_NET_STDIO_H
#define FUMI_NET_STDIO_H

#include "../net/serve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_stdio_options {
    size_t line;   /* bytes a line may have; 0: as many as the server takes, 1 MiB */
    int threads;   /* workers for blocking methods; 0: 16, none are started without such methods */
    int64_t drain; /* milliseconds that open calls get after a signal; 0: 800, and 10,000 more for
                      those that have begun and are not FUMI_READ_ONLY */
    const struct fumi_log *log;
    fumi_handle_fn *handle; /* NULL: fumi_handle with the server */
    void *handler;
    int framing;       /* enum fumi_framing; 0: as the first bytes say */
    int in, out;       /* see struct fumi_serve_options */
    bool no_signals;   /* so too */
    void *reserved[8]; /* zero: room for later members */
};

/* fumi_serve with the one address "stdio". Serves until the end of input (every open call is
 * finished and answered first), fumi_stop, SIGINT or SIGTERM. FUMI_SERVED_ERROR with *e set when
 * the output cannot be written any more or the input not be read; a line that is not JSON is
 * answered, and serving goes on. options may be NULL. */
enum fumi_served fumi_serve_stdio(struct fumi_server *s, const struct fumi_stdio_options *options,
                                  struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
