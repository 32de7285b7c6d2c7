/* Private to net/: one process after the other, by a lock on a file or directory. */
#ifndef FUMI_NET_FILE_LOCK_H
#define FUMI_NET_FILE_LOCK_H

#include <errno.h>
#include <stdbool.h>
#include <sys/file.h>
#include <time.h>

/* Waits for the lock, but not for ever: who holds it may have been stopped. It ends with the
 * descriptor, or with the process. */
static inline bool file_lock_take(int fd)
{
    enum { TRIES = 500 };
    struct timespec pause = {0, 10 * 1000 * 1000};
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

#endif
