/* Two descriptors as the ends of a conversation, such as standard input and output, and back again
 * as they were. */
#ifndef FUMI_NET_ENDS_H
#define FUMI_NET_ENDS_H

#include "base/err.h"

#include <sys/types.h>

struct end {
    int fd;    /* what is read or written: opened anew where that can be, else `given` */
    int given; /* the descriptor that it leads to */
    int flags; /* of that one, to be restored; -1: none */
    bool socket;
};

struct ends {
    struct end in, out;
    bool own;       /* the caller's descriptors, not stdin and stdout */
    bool taken;     /* process_take_stdio */
    int stdout_was; /* the descriptor that stands for stdout meanwhile; -1: none */
};

/* Both 0: stdin and stdout; from here on nothing but ends_write reaches what was stdout, since
 * descriptor 1 leads to stderr. Give them back also after a failure. */
int ends_take(struct ends *ends, int in, int out, struct fumi_err *e);

/* `quiet`: nobody writes to descriptor 1 any more, so it may be stdout again. */
void ends_give_back(struct ends *ends, bool quiet);

/* As read(2) and write(2), without waiting. */
ssize_t ends_read(const struct ends *ends, void *to, size_t n);
ssize_t ends_write(const struct ends *ends, const void *from, size_t n);

/* Between these two, SIGPIPE does not reach the calling thread: a pipe that nobody reads is then a
 * fault of write. The first returns what the second needs. */
bool ends_block_pipe(void);
void ends_unblock_pipe(bool blocked);

#endif
