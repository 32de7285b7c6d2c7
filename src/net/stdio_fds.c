#include "net/stdio_fds.h"

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

ssize_t stdio_fds_read(const struct stdio_fds *stdio, void *to, size_t n)
{
    if (stdio->in.socket)
        return recv(stdio->in.fd, to, n, MSG_DONTWAIT);
    return read(stdio->in.fd, to, n);
}

ssize_t stdio_fds_write(const struct stdio_fds *stdio, const void *from, size_t n)
{
    if (stdio->out.socket)
        return send(stdio->out.fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(stdio->out.fd, from, n);
}

/* The open file of a pipe or terminal is shared with other processes, which must not find it
 * non-blocking: it is opened anew. Where that is impossible (no /proc, another user's terminal, the
 * master of one), stdout is made non-blocking as it is until the end, and stdin is read when there
 * is something. */
static int reopen(int fd, int how)
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

static void end_open(struct stdio_fd *end, int fd, int how)
{
    struct stat st = {0};
    fstat(fd, &st);
    bool waits = S_ISFIFO(st.st_mode) || isatty(fd);
    int anew = waits && !is_master(fd) ? reopen(fd, how) : -1;
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

static void end_close(struct stdio_fd *end)
{
    if (end->fd >= 0 && end->fd != end->given)
        close(end->fd);
    if (end->flags >= 0)
        fcntl(end->given, F_SETFL, end->flags);
}

/* A socket that is both ends is waited for by two descriptors. */
static int take_own(struct stdio_fds *stdio, int in, int out, struct fumi_err *e)
{
    if (!out)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "out: the descriptor to write to is not given");
    if (fcntl(in, F_GETFD) < 0 || fcntl(out, F_GETFD) < 0)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "descriptors %d and %d: %s", in, out,
                            strerror(errno));
    end_open(&stdio->in, in, O_RDONLY);
    end_open(&stdio->out, out, O_WRONLY);
    if (stdio->out.fd != stdio->in.fd)
        return 0;
    stdio->out.fd = fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return stdio->out.fd < 0 ? fumi_err_set(e, FUMI_INTERNAL_ERROR, "out: %s", strerror(errno)) : 0;
}

static int take_standard(struct stdio_fds *stdio, unsigned filled, struct fumi_err *e)
{
    stdio->taken = process_take_stdio();
    if (!stdio->taken)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "stdio: another server has it; give this one descriptors of its own");
    if (filled & 1u << STDOUT_FILENO)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(EBADF));
    stdio->saved_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (stdio->saved_stdout < 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(errno));
    dup2(STDERR_FILENO, STDOUT_FILENO);
    end_open(&stdio->in, STDIN_FILENO, O_RDONLY);
    end_open(&stdio->out, stdio->saved_stdout, O_WRONLY);
    return 0;
}

int stdio_fds_open(struct stdio_fds *stdio, int in, int out, struct fumi_err *e)
{
    static const struct stdio_fd none = {.fd = -1, .given = -1, .flags = -1};
    *stdio = (struct stdio_fds){.in = none, .out = none, .own = in || out, .saved_stdout = -1};
    unsigned filled = process_fill();
    return stdio->own ? take_own(stdio, in, out, e) : take_standard(stdio, filled, e);
}

/* What a stray printf left in its buffer must not follow the answers. A call that was abandoned may
 * print at any time: then descriptor 1 leads to stderr for good. */
void stdio_fds_restore(struct stdio_fds *stdio, bool quiet)
{
    end_close(&stdio->in);
    end_close(&stdio->out);
    if (stdio->saved_stdout >= 0 && quiet) {
        fflush(stdout);
        dup2(stdio->saved_stdout, STDOUT_FILENO);
    }
    if (stdio->saved_stdout >= 0)
        close(stdio->saved_stdout);
    if (stdio->taken)
        process_give_stdio();
    process_unfill();
}

bool stdio_fds_block_sigpipe(void)
{
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    return !sigismember(&before, SIGPIPE);
}

/* One that a write has left pending is taken, or it would arrive now. */
void stdio_fds_unblock_sigpipe(bool blocked)
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
