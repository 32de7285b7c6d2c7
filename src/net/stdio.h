/* JSON-RPC over stdin and stdout: one message or batch per line, one answer per line (NDJSON); or
 * each with a Content-Length header, as in the Language Server Protocol. */
#ifndef FUMI_NET_STDIO_H
#define FUMI_NET_STDIO_H

#include "../net/serve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_stdio_options {
    size_t line;   /* maximum bytes of a message; 0: the limit of the server, 1 MiB by default */
    int threads;   /* maximum number of threads for blocking methods; 0: 16 */
    int64_t drain; /* milliseconds for open calls at shutdown; 0: 800, and 10,000 more for those
                      that have begun and are not FUMI_READ_ONLY */
    const struct fumi_log *log;
    fumi_handle_fn *handle; /* NULL: fumi_handle with the server */
    void *handler;
    int framing;       /* enum fumi_framing; 0: detected from the first bytes */
    int in, out;       /* see struct fumi_serve_options */
    bool no_signals;   /* see struct fumi_serve_options */
    void *reserved[8]; /* must be zero; for later members */
};

/* fumi_serve with the single address "stdio". Serves until the end of input (all open calls are
 * answered first), fumi_stop, SIGINT or SIGTERM. Returns FUMI_SERVED_ERROR with *e set if the input
 * cannot be read or the output cannot be written. A line that is not JSON is answered with an
 * error, and serving continues. options may be NULL. */
enum fumi_served fumi_serve_stdio(struct fumi_server *s, const struct fumi_stdio_options *options,
                                  struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
