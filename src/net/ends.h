/* Standard input and output as the two ends of a conversation, and back again as they were. */
#ifndef FUMI_NET_ENDS_H
#define FUMI_NET_ENDS_H

#include "base/err.h"

#include <signal.h>
#include <sys/types.h>

struct end {
    int fd;    /* what is read or written: opened anew where that can be, else `given` */
    int given; /* the descriptor that it leads to */
    int flags; /* of that one, to be restored; -1: none */
    bool socket;
};

struct ends {
    struct end in, out;
    int stdout_was;  /* the descriptor that stands for stdout meanwhile */
    unsigned filled; /* bit n: descriptor n was closed and is /dev/null meanwhile */
    struct sigaction pipe_was;
};

/* A closed standard descriptor would be given to the next file that is opened: those that are
 * closed lead to /dev/null then. Bit n: descriptor n was closed. */
unsigned ends_fill(void);

/* From here on nothing but ends_write reaches what was stdout: descriptor 1 leads to stderr.
 * SIGPIPE is ignored. Give them back also after a failure. */
int ends_take(struct ends *ends, struct fumi_err *e);

/* `quiet`: nobody writes to descriptor 1 any more, so it may be stdout again. */
void ends_give_back(struct ends *ends, bool quiet);

/* As read(2) and write(2), without waiting. */
ssize_t ends_read(const struct ends *ends, void *to, size_t n);
ssize_t ends_write(const struct ends *ends, const void *from, size_t n);

#endif
