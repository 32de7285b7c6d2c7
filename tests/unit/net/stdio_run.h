/* The parent process of test_stdio: starts the child with the descriptors of the test, and writes
 * and reads at the given pace. */
#ifndef FUMI_STDIO_RUN_H
#define FUMI_STDIO_RUN_H

#include "stdio_fixture.h"
#include "test.h"

#include <poll.h>
#include <sys/wait.h>

struct run {
    pid_t pid;
    int in, out, err; /* the other ends, if they are pipes */
    int gate;
    struct fumi_buf got, errors; /* from stdout, from stderr */
    int status;
};

static void place(int from, int to)
{
    if (from < 0)
        close(to);
    else
        dup2(from, to);
}

static void keep_three(void)
{
    for (int fd = 3; fd < 64; fd++)
        close(fd);
}

static struct run start(struct setup s)
{
    struct run r = {.in = -1, .out = -1, .err = -1};
    int in[2], out[2], err[2], gate[2];
    if (pipe(in) || pipe(out) || pipe(err) || pipe(gate))
        abort();
    signal(SIGPIPE, SIG_IGN);
    r.pid = fork();
    if (r.pid == 0) {
        alarm(30);
        signal(SIGPIPE, SIG_DFL);
        int mine[4] = {s.in ? s.in : in[0], s.out ? s.out : out[1], s.err ? s.err : err[1],
                       gate[0]};
        for (int i = 0; i < 4; i++)
            mine[i] = mine[i] < 0 ? -1 : fcntl(mine[i], F_DUPFD, 100);
        keep_three();
        warm_up();
        for (int fd = 0; fd < 3; fd++)
            place(mine[fd], fd);
        for (int i = 0; i < 3; i++)
            close(mine[i]);
        child(&s, mine[3]);
    }
    close(in[0]), close(out[1]), close(err[1]), close(gate[0]);
    r.in = in[1], r.out = out[0], r.err = err[0], r.gate = gate[1];
    fcntl(r.in, F_SETFL, O_NONBLOCK);
    return r;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool receive(int *fd, struct fumi_buf *into, size_t piece)
{
    char bytes[1 << 16];
    ssize_t n = read(*fd, bytes, piece);
    if (n > 0)
        fumi_buf_add(into, bytes, (size_t)n);
    else
        shut(fd);
    return n > 0;
}

/* The pace of a conversation: maximum bytes per write, and whether to close the input at its end.
 */
struct pace {
    size_t write, read;
    bool keep_open;
    size_t until; /* return after this many bytes; 0: at the end of output */
};

static void send_some(struct run *r, struct fumi_str *text, struct pace pace)
{
    size_t n = text->n < pace.write ? text->n : pace.write;
    ssize_t did = write(r->in, text->p, n);
    if (did < 0 && errno != EAGAIN) {
        text->n = 0;
        return;
    }
    text->p += did > 0 ? did : 0;
    text->n -= did > 0 ? (size_t)did : 0;
}

static void converse(struct run *r, struct fumi_str text, struct pace pace)
{
    if (!pace.write)
        pace.write = 1 << 16;
    if (!pace.read)
        pace.read = 1 << 16;
    while (r->out >= 0 && (!pace.until || r->got.n < pace.until)) {
        if (!text.n && !pace.keep_open)
            shut(&r->in);
        struct pollfd fds[] = {
            {text.n ? r->in : -1, POLLOUT, 0}, {r->out, POLLIN, 0}, {r->err, POLLIN, 0}};
        if (poll(fds, 3, 30000) <= 0)
            return;
        if (fds[0].revents)
            send_some(r, &text, pace);
        if (fds[1].revents)
            receive(&r->out, &r->got, pace.read);
        if (fds[2].revents)
            receive(&r->err, &r->errors, 1 << 16);
    }
}

static void send_all(struct run *r, const char *text, size_t want)
{
    converse(r, fumi_str(text), (struct pace){.keep_open = true, .until = want});
}

/* Waits for the child. Remaining output is read afterwards. */
static int end(struct run *r)
{
    waitpid(r->pid, &r->status, 0);
    r->pid = 0;
    shut(&r->in);
    while (r->out >= 0)
        receive(&r->out, &r->got, 1 << 16);
    while (r->err >= 0)
        receive(&r->err, &r->errors, 1 << 16);
    shut(&r->gate);
    return WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -WTERMSIG(r->status);
}

static void run_done(struct run *r)
{
    if (r->pid) {
        kill(r->pid, SIGKILL);
        end(r);
    }
    fumi_buf_done(&r->got);
    fumi_buf_done(&r->errors);
}

/* A run that ends with its scope, even if a CHECK fails. */
#define RUN __attribute__((cleanup(run_done))) struct run

static struct fumi_str head(struct fumi_str s)
{
    return (struct fumi_str){s.p, s.n < 300 ? s.n : 300};
}

/* Sends the text at that pace, and checks the output and exit status 0. */
static void expect(struct setup s, struct pace pace, struct fumi_str text, struct fumi_str want)
{
    RUN r = start(s);
    converse(&r, text, pace);
    int status = end(&r);
    if (status != 0)
        TEST_FAIL("exit status %d, stderr: %.*s", status, FUMI_ARG(fumi_buf_str(&r.errors)));
    if (!fumi_eq(fumi_buf_str(&r.got), want))
        TEST_FAIL("got %zu bytes: %.*s\nwant %zu: %.*s", r.got.n,
                  FUMI_ARG(head(fumi_buf_str(&r.got))), want.n, FUMI_ARG(head(want)));
}

#endif
