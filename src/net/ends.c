#include "net/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
 * non-blocking: it is opened anew. Where that is impossible (no /proc, another user's terminal),
 * stdout is made non-blocking as it is until the end, and stdin is read when there is something. */
static int open_anew(int fd, int how)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void end_open(struct end *end, int fd, int how)
{
    struct stat st = {0};
    fstat(fd, &st);
    bool waits = S_ISFIFO(st.st_mode) || isatty(fd);
    int anew = waits ? open_anew(fd, how) : -1;
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

unsigned ends_fill(void)
{
    unsigned filled = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) == fd)
            filled |= 1u << fd;
    return filled;
}

int ends_take(struct ends *ends, struct fumi_err *e)
{
    static const struct end none = {.fd = -1, .given = -1, .flags = -1};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    *ends = (struct ends){.in = none, .out = none, .stdout_was = -1};
    sigaction(SIGPIPE, &ignore, &ends->pipe_was);
    ends->filled = ends_fill();
    if (ends->filled & 1u << STDOUT_FILENO)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(EBADF));
    ends->stdout_was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (ends->stdout_was < 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "stdout: %s", strerror(errno));
    dup2(STDERR_FILENO, STDOUT_FILENO);
    end_open(&ends->in, STDIN_FILENO, O_RDONLY);
    end_open(&ends->out, ends->stdout_was, O_WRONLY);
    return 0;
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
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (ends->filled & 1u << fd)
            close(fd);
    sigaction(SIGPIPE, &ends->pipe_was, NULL);
}
