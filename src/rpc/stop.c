#include "rpc/stop.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int stop_begin(struct stop *s, struct fumi_err *e)
{
    if (atomic_exchange(&s->served, true))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "the server is being served already; add the address to its list");
    return 0;
}

int stop_descriptor(struct stop *s, struct fumi_err *e)
{
    int wake = atomic_load(&s->wake);
    if (wake)
        return wake - 1;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "eventfd: %s", strerror(errno));
    atomic_store(&s->wake, fd + 1);
    return fd;
}

/* Reads the descriptor before `requested`: a stop between the two steps is seen in `requested`. */
bool stop_look(struct stop *s)
{
    uint64_t times;
    int wake = atomic_load(&s->wake);
    if (wake && read(wake - 1, &times, sizeof(times)) < 0) {} /* EAGAIN: it was empty */
    return atomic_load(&s->requested);
}

void stop_end(struct stop *s)
{
    atomic_store(&s->requested, false);
    atomic_store(&s->served, false);
}

/* A service that starts creates the descriptor before it reads `requested`. This function sets
 * `requested` before it reads the descriptor, so one of the two always notices the stop. */
void stop_request(struct stop *s)
{
    const uint64_t once = 1;
    int number = errno;
    atomic_store(&s->requested, true);
    int wake = atomic_load(&s->wake);
    if (wake && write(wake - 1, &once, sizeof(once)) < 0) {} /* EAGAIN: it is readable anyway */
    errno = number;
}

void stop_done(struct stop *s)
{
    int wake = atomic_load(&s->wake);
    if (wake)
        close(wake - 1);
}
