/* examples/epoll: stdio, TCP and a Unix socket in an event loop with a timer of its own. */
#include "fumi.h"
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct program {
    pid_t pid;
    FILE *in, *out, *err;
    char dir[32], local[64], tcp[300]; /* addresses: of the Unix socket, and as URL */
};

static FILE *file(int fd, const char *mode)
{
    FILE *f = fdopen(fd, mode);
    if (!f)
        abort();
    setvbuf(f, NULL, _IOLBF, 0);
    return f;
}

static void begin(struct program *p)
{
    int in[2], out[2], err[2];
    char dir[] = "/tmp/fumi-epoll-XXXXXX", line[400] = "";
    if (!mkdtemp(dir) || pipe(in) || pipe(out) || pipe(err))
        abort();
    memcpy(p->dir, dir, sizeof(dir));
    snprintf(p->local, sizeof(p->local), "unix:%s/s", dir);
    p->pid = fork();
    if (p->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
            close(err[i]);
        }
        execl(EPOLL, EPOLL, "stdio", p->local, "tcp:127.0.0.1:0", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    p->in = file(in[1], "w");
    p->out = file(out[0], "r");
    p->err = file(err[0], "r");
    for (int i = 0; i < 2; i++)
        if (!fgets(line, sizeof(line), p->err))
            abort();
    line[strcspn(line, "\n")] = '\0';
    const char *at = strstr(line, "tcp:");
    snprintf(p->tcp, sizeof(p->tcp), "http://%.280s", at ? at + 4 : "");
}

static int end(struct program *p)
{
    int status;
    fclose(p->in);
    fclose(p->out);
    fclose(p->err);
    waitpid(p->pid, &status, 0);
    rmdir(p->dir);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The ticks that the program has counted; -1: it did not answer. */
static long ticks(const char *url)
{
    struct fumi_err e;
    struct fumi_arena a = {0};
    struct fumi_answer answer = {0};
    struct fumi_rpc_connection *l = fumi_rpc_connection_open(url, NULL, &e);
    long n = -1;
    if (l &&
        fumi_rpc_connection_call(l, &a, "ticks", (struct fumi_json){{0}}, 0, &answer, &e) == 0 &&
        answer.ok)
        n = strtol(fumi_fmt(&a, "%.*s", FUMI_ARG(answer.result.text)).p, NULL, 10);
    fumi_arena_done(&a);
    if (l)
        fumi_rpc_connection_close(l);
    return n;
}

static long ticks_of_stdio(struct program *p)
{
    static const char before[] = "{\"jsonrpc\":\"2.0\",\"result\":";
    char line[200];
    fputs("{\"jsonrpc\":\"2.0\",\"method\":\"ticks\",\"id\":1}\n", p->in);
    if (!fgets(line, sizeof(line), p->out) || strncmp(line, before, strlen(before)) != 0)
        return -1;
    return strtol(line + strlen(before), NULL, 10);
}

TEST(the_timer_and_all_transports_run_in_one_loop)
{
    struct program p;
    begin(&p);
    long first = ticks(p.local), last = first;
    while (last >= 0 && last < first + 2)
        last = ticks(p.tcp);
    long third = ticks_of_stdio(&p);
    int status = end(&p);
    CHECK(first >= 0);
    CHECK(last >= first + 2);
    CHECK(third >= last);
    CHECK_INT(status, 0);
}

TEST(a_signal_stops_the_program)
{
    struct program p;
    begin(&p);
    kill(p.pid, SIGTERM);
    char line[200];
    while (fgets(line, sizeof(line), p.out)) {} /* until it has ended */
    int status = end(&p);
    CHECK_INT(status, 0);
}
