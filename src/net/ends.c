#include "net/ends.h"

#include "net/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

ssize_t ends_read(const struct ends *ends, void *to, size_t n)
{
    if (ends->in.socket)
        return recv(ends->in.fd, to, n, MSG_DONTWAIT);
    return read(ends->in.fd, to, n);
}

ssize_t ends_write(const struct ends *ends, const void *from, size_t n)
{
    if (ends->out.socket)
        return send(ends->out.fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(ends->out.fd, from, n);
}

/* The open file of a pipe or terminal is shared with other processes, which must not find it
 * non-blocking: it is opened anew. Where that is impossible (no /proc, another user's terminal, the
 * master of one), stdout is made non-blocking as it is until the end, and stdin is read when there
 * is something. */
static int open_anew(int fd, int how)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* To open the master of a terminal anew makes another terminal. */
static bool is_master(int fd)
{
    unsigned number;
    return ioctl(fd, TIOCGPTN, &number) == 0;
}

/* A FIFO that is opened while nobody writes to it never says that its writers are gone: the open
 * file that has seen them does. */
static bool without_writers(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static void end_open(struct end *end, int fd, int how)
{
    struct stat st = {0};
    fstat(fd, &st);
    bool waits = S_ISFIFO(st.st_mode) || isatty(fd);
    int anew = waits && !is_master(fd) ? open_anew(fd, how) : -1;
    if (anew >= 0 && how == O_RDONLY && without_writers(fd)) {
        close(anew);
        anew = -1;
    }
    end->given = fd;
    end->socket = S_ISSOCK(st.st_mode);
    end->fd = anew >= 0 ? anew : fd;
    if (!waits || anew >= 0 || how != O_WRONLY)
        return;
    end->flags = fcntl(fd, F_GETFL);
    if (end->flags >= 0)
        fcntl(fd, F_SETFL, end->flags | O_NONBLOCK);
}

static void end_close(struct end *end)
{
    if (end->fd >= 0 && end->fd != end->given)
        close(end->fd);
    if (end->flags >= 0)
        fcntl(end->given, F_SETFL, end->flags);
}

/* A socket that is both ends is waited for by two descriptors. */
static int take_own(struct ends *ends, int in, int out, struct fumi_err *e)
{
    if (!out)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "out: the descriptor to write to is not given");
    if (fcntl(in, F_GETFD) < 0 || fcntl(out, F_GETFD) < 0)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "descriptors %d and %d: %s", in, out,
                            strerror(errno));
    end_open(&ends->in, in, O_RDONLY);
    end_open(&ends->out, out, O_WRONLY);
    if (ends->out.fd != ends->in.fd)
        return 0;
    ends->out.fd = fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return ends->out.fd < 0 ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "out: %s", strerror(errno)) : 0;
}

static int take_standard(struct ends *ends, unsigned filled, struct fumi_err *e)
{
    ends->taken = process_take_stdio();
    if (!ends->taken)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "stdio: another server has it; give this one descriptors of its own");
    if (filled & 1u << STDOUT_FILENO)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(EBADF));
    ends->stdout_was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (ends->stdout_was < 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(errno));
    dup2(STDERR_FILENO, STDOUT_FILENO);
    end_open(&ends->in, STDIN_FILENO, O_RDONLY);
    end_open(&ends->out, ends->stdout_was, O_WRONLY);
    return 0;
}

int ends_take(struct ends *ends, int in, int out, struct fumi_err *e)
{
    static const struct end none = {.fd = -1, .given = -1, .flags = -1};
    *ends = (struct ends){.in = none, .out = none, .own = in || out, .stdout_was = -1};
    unsigned filled = process_fill();
    return ends->own ? take_own(ends, in, out, e) : take_standard(ends, filled, e);
}

/* What a stray printf left in its buffer must not follow the answers. A call that was abandoned may
 * print at any time: then descriptor 1 leads to stderr for good. */
void ends_give_back(struct ends *ends, bool quiet)
{
    end_close(&ends->in);
    end_close(&ends->out);
    if (ends->stdout_was >= 0 && quiet) {
        fflush(stdout);
        dup2(ends->stdout_was, STDOUT_FILENO);
    }
    if (ends->stdout_was >= 0)
        close(ends->stdout_was);
    if (ends->taken)
        process_give_stdio();
    process_unfill();
}

bool ends_block_pipe(void)
{
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    return !sigismember(&before, SIGPIPE);
}

/* One that a write has left pending is taken, or it would arrive now. */
void ends_unblock_pipe(bool blocked)
{
    const struct timespec now = {0};
    sigset_t pipe;
    if (!blocked)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}
