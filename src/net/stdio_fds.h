/* Private to net/: standard input and output, or two other descriptors, as a non-blocking
 * connection; stdio_fds_restore restores their original state. */
#ifndef FUMI_NET_STDIO_FDS_H
#define FUMI_NET_STDIO_FDS_H

#include "base/err.h"

#include <sys/types.h>

struct stdio_fd {
    int fd;    /* for reading or writing: `given`, or a non-blocking duplicate of it, owned */
    int given; /* borrowed */
    int flags; /* flags of `given` to be restored; -1: unchanged */
    bool socket;
};

struct stdio_fds {
    struct stdio_fd in, out;
    bool own;         /* descriptors of the caller, not stdin and stdout */
    bool taken;       /* process_take_stdio was successful */
    int saved_stdout; /* duplicate of the original stdout, owned; -1: none */
};

/* `in` and `out` both 0: stdin and stdout. Until stdio_fds_restore, descriptor 1 then leads to
 * stderr, so only stdio_fds_write can write to the original stdout. Returns -1 with *e set on
 * failure; call stdio_fds_restore then, too. */
int stdio_fds_open(struct stdio_fds *stdio, int in, int out, struct fumi_err *e);

/* `quiet`: no thread writes to descriptor 1 any more, so it may lead to stdout again. */
void stdio_fds_restore(struct stdio_fds *stdio, bool quiet);

/* As read(2) and write(2), without blocking. */
ssize_t stdio_fds_read(const struct stdio_fds *stdio, void *to, size_t n);
ssize_t stdio_fds_write(const struct stdio_fds *stdio, const void *from, size_t n);

/* Between these two calls, SIGPIPE is blocked for the calling thread: writing to a pipe without
 * readers then fails with EPIPE. The first returns the argument for the second. */
bool stdio_fds_block_sigpipe(void);
void stdio_fds_unblock_sigpipe(bool blocked);

#endif
