/* Two descriptors as the ends of a conversation, such as standard input and output, and back again
 * as they were. */
#ifndef FUMI_NET_STDIO_FDS_H
#define FUMI_NET_STDIO_FDS_H

#include "base/err.h"

#include <sys/types.h>

struct stdio_fd {
    int fd;    /* what is read or written: opened anew where that can be, else `given` */
    int given; /* the descriptor that it leads to */
    int flags; /* of that one, to be restored; -1: none */
    bool socket;
};

struct stdio_fds {
    struct stdio_fd in, out;
    bool own;         /* the caller's descriptors, not stdin and stdout */
    bool taken;       /* process_take_stdio */
    int saved_stdout; /* the descriptor that stands for stdout meanwhile; -1: none */
};

/* Both 0: stdin and stdout; from here on nothing but stdio_fds_write reaches what was stdout, since
 * descriptor 1 leads to stderr. Give them back also after a failure. */
int stdio_fds_open(struct stdio_fds *stdio, int in, int out, struct fumi_err *e);

/* `quiet`: nobody writes to descriptor 1 any more, so it may be stdout again. */
void stdio_fds_restore(struct stdio_fds *stdio, bool quiet);

/* As read(2) and write(2), without waiting. */
ssize_t stdio_fds_read(const struct stdio_fds *stdio, void *to, size_t n);
ssize_t stdio_fds_write(const struct stdio_fds *stdio, const void *from, size_t n);

/* Between these two, SIGPIPE does not reach the calling thread: a pipe that nobody reads is then a
 * fault of write. The first returns what the second needs. */
bool stdio_fds_block_sigpipe(void);
void stdio_fds_unblock_sigpipe(bool blocked);

#endif
