/* Private to net/: mutual exclusion of processes by a lock on a file or directory. */
#ifndef FUMI_NET_FILE_LOCK_H
#define FUMI_NET_FILE_LOCK_H

#include <errno.h>
#include <stdbool.h>
#include <sys/file.h>
#include <time.h>

/* Waits up to 5 seconds for an exclusive lock: its holder may be a stopped process. Returns false
 * on timeout or error. The lock is released when the descriptor is closed or the process ends. */
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
