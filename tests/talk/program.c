/* Plays a talk with a program over its standard input and output. */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct program {
    pid_t pid;
    int in, out;          /* its stdin and stdout; -1: closed */
    struct fumi_buf to;   /* not yet sent, from `sent` on */
    struct fumi_buf from; /* received, read up to `seen` */
    size_t sent, seen;
    bool silent; /* a missing answer was reported; further ones are not */
};

static void on_alarm(int signal)
{
    (void)signal;
}

/* Ignores SIGPIPE, so that writing to an ended program is an error; an alarm interrupts a wait. */
static void set_signals(void)
{
    const struct sigaction wake = {.sa_handler = on_alarm};
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGALRM, &wake, NULL);
}

static int spawn(const char *path, int in, int out, pid_t *pid)
{
    char *const argv[] = {(char *)path, NULL};
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t defaults;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    int rc = posix_spawn(pid, path, &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start(struct program *p, const char *path)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *p = (struct program){.in = -1, .out = -1};
    set_signals();
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || spawn(path, in[0], out[1], &p->pid)) {
        fprintf(stderr, "%s: cannot be started\n", path);
        shut(&in[1]);
        shut(&out[0]);
    }
    shut(&in[0]);
    shut(&out[1]);
    p->in = in[1];
    p->out = out[0];
    return p->in < 0 || fcntl(p->in, F_SETFL, O_NONBLOCK) || fcntl(p->out, F_SETFL, O_NONBLOCK);
}

static void push_bytes(struct program *p)
{
    ssize_t n = write(p->in, p->to.p + p->sent, p->to.n - p->sent);
    if (n > 0)
        p->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        p->sent = p->to.n; /* the program reads no more; missing answers will show it */
}

static void pull_bytes(struct program *p)
{
    ssize_t n = read(p->out, fumi_buf_reserve(&p->from, 65536), 65536);
    if (n > 0)
        p->from.n += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        shut(&p->out);
}

/* Sends and receives what is possible. On a timeout ends the program and returns false. */
static bool pump(struct program *p)
{
    bool sending = p->sent < p->to.n;
    struct pollfd fds[] = {{p->out, POLLIN, 0}, {sending ? p->in : -1, POLLOUT, 0}};
    int n = poll(fds, FUMI_COUNT(fds), PATIENCE * 1000);
    if (n == 0) {
        fprintf(stderr, "no answer in %d s; the program is ended\n", PATIENCE);
        kill(p->pid, SIGKILL);
        return false;
    }
    if (n > 0 && fds[1].revents)
        push_bytes(p);
    if (n > 0 && fds[0].revents)
        pull_bytes(p);
    return true;
}

static void send_line(struct program *p, struct fumi_str message)
{
    fumi_buf_add(&p->to, message.p, message.n);
    fumi_buf_put(&p->to, '\n');
}

/* Sends everything that is queued. */
static void flush(struct program *p)
{
    while (p->sent < p->to.n && p->out >= 0 && pump(p))
        ;
}

static struct fumi_str unseen(const struct program *p)
{
    struct fumi_str all = fumi_buf_str(&p->from);
    return (struct fumi_str){all.p + p->seen, all.n - p->seen};
}

/* The next unread line; a NULL string: there is none. A last line without line feed is not
 * returned; it is reported as unexpected at the end. */
static struct fumi_str next_line(struct program *p)
{
    struct fumi_str line = unseen(p);
    const char *end = line.n ? memchr(line.p, '\n', line.n) : NULL;
    if (!end)
        return (struct fumi_str){0};
    line.n = (size_t)(end - line.p);
    p->seen += line.n + 1;
    return line;
}

static struct fumi_str receive(struct program *p)
{
    struct fumi_str line = next_line(p);
    while (!line.p && p->out >= 0 && pump(p))
        line = next_line(p);
    return line;
}

/* Returns the exit status of the program, which is killed if it does not exit. */
static int reap(struct program *p)
{
    int status = -1;
    alarm(PATIENCE);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        kill(p->pid, SIGKILL);
    alarm(0);
    return status;
}

/* After the last message the program must exit with status 0, without further output. */
static bool finish(struct talk *t, struct program *p)
{
    flush(p);
    shut(&p->in);
    while (p->out >= 0 && pump(p))
        ;
    shut(&p->out);
    int status = reap(p);
    struct fumi_str rest = unseen(p);
    if (rest.n > 0) {
        fprintf(stderr, "%s: more answers than expected\n", t->path);
        talk_show("got", rest);
    }
    if (status)
        fprintf(stderr, "%s: the program ended with wait status %#x, not 0\n", t->path, status);
    fumi_buf_done(&p->to);
    fumi_buf_done(&p->from);
    return rest.n == 0 && status == 0;
}

static bool received_right(struct talk *t, const struct step *step, struct program *p)
{
    for (const struct want *want = step->wants; want; want = want->next) {
        struct fumi_str got = receive(p);
        if (got.p && talk_answers(t, want, got))
            continue;
        if (got.p || !p->silent)
            talk_report(t, step, want, got);
        p->silent = !got.p;
        return false;
    }
    return true;
}

void play_stdio(struct talk *t, const char *program, struct tally *tally)
{
    struct program p;
    bool up = start(&p, program) == 0;
    for (struct step *step = t->steps; step; step = step->next) {
        if (up) {
            send_line(&p, talk_message(t, step));
            flush(&p);
        }
        tally_add(tally, up && received_right(t, step, &p));
    }
    if (up)
        tally_add(tally, finish(t, &p));
}

void play_burst(struct talk *t, const char *program, struct tally *tally)
{
    struct program p;
    bool up = start(&p, program) == 0;
    for (struct step *step = t->steps; step && up; step = step->next)
        send_line(&p, step->message);
    if (up) {
        flush(&p);
        shut(&p.in);
    }
    for (struct step *step = t->steps; step; step = step->next)
        tally_add(tally, up && received_right(t, step, &p));
    if (up)
        tally_add(tally, finish(t, &p));
}
