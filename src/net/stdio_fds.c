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

/* Other processes share the open file description of a pipe or terminal, and must not find it
 * non-blocking. So the file is opened again. Where that is impossible (no /proc, a terminal of
 * another user, the master side of a terminal), stdout itself is made non-blocking until the end,
 * and stdin stays blocking but is only read when poll reports input. */
static int reopen(int fd, int how)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Opening the master side of a terminal again would create another terminal. */
static bool is_master(int fd)
{
    unsigned number;
    return ioctl(fd, TIOCGPTN, &number) == 0;
}

/* A FIFO that is opened after its last writer has closed never reports the end of input. The open
 * file description that had writers does. */
static bool without_writers(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static void fd_open(struct stdio_fd *f, int fd, int how)
{
    struct stat st = {0};
    fstat(fd, &st);
    bool waits = S_ISFIFO(st.st_mode) || isatty(fd);
    int reopened = waits && !is_master(fd) ? reopen(fd, how) : -1;
    if (reopened >= 0 && how == O_RDONLY && without_writers(fd)) {
        close(reopened);
        reopened = -1;
    }
    f->given = fd;
    f->socket = S_ISSOCK(st.st_mode);
    f->fd = reopened >= 0 ? reopened : fd;
    if (!waits || reopened >= 0 || how != O_WRONLY)
        return;
    f->flags = fcntl(fd, F_GETFL);
    if (f->flags >= 0)
        fcntl(fd, F_SETFL, f->flags | O_NONBLOCK);
}

static void fd_close(struct stdio_fd *f)
{
    if (f->fd >= 0 && f->fd != f->given)
        close(f->fd);
    if (f->flags >= 0)
        fcntl(f->given, F_SETFL, f->flags);
}

/* The event loop needs two descriptors, even if both are the same socket. */
static int take_own(struct stdio_fds *stdio, int in, int out, struct fumi_err *e)
{
    if (!out)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "out: the descriptor to write to is not given");
    if (fcntl(in, F_GETFD) < 0 || fcntl(out, F_GETFD) < 0)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "descriptors %d and %d: %s", in, out,
                            strerror(errno));
    fd_open(&stdio->in, in, O_RDONLY);
    fd_open(&stdio->out, out, O_WRONLY);
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
    fd_open(&stdio->in, STDIN_FILENO, O_RDONLY);
    fd_open(&stdio->out, stdio->saved_stdout, O_WRONLY);
    return 0;
}

int stdio_fds_open(struct stdio_fds *stdio, int in, int out, struct fumi_err *e)
{
    static const struct stdio_fd none = {.fd = -1, .given = -1, .flags = -1};
    *stdio = (struct stdio_fds){.in = none, .out = none, .own = in || out, .saved_stdout = -1};
    unsigned filled = process_fill();
    return stdio->own ? take_own(stdio, in, out, e) : take_standard(stdio, filled, e);
}

/* Text in the buffer of stdout must go to stderr, not after the answers. If calls were abandoned,
 * they may print at any time, so descriptor 1 leads to stderr for the rest of the process. */
void stdio_fds_restore(struct stdio_fds *stdio, bool quiet)
{
    fd_close(&stdio->in);
    fd_close(&stdio->out);
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

/* A pending SIGPIPE is consumed first. Otherwise it would be delivered now. */
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
