/* What is pushed to connections while their answers wait for the end of the turn. The server is a
 * child process, which is stopped until all have written. */
#include "fumi.h"
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 40, SHOUTS = 3 };

static struct fumi_peer *joined[PEERS]; /* in the child, which has one thread */
static int joined_n;

static enum fumi_ret join(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    joined[joined_n++] = call->peer;
    return FUMI_OK;
}

static enum fumi_ret shout(struct fumi_call *call, const void *params, void *result)
{
    (void)call, (void)params, (void)result;
    for (int i = 0; i < joined_n; i++)
        fumi_push(joined[i], "heard", NULL, NULL);
    return FUMI_OK;
}

static const struct fumi_method methods[] = {
    {"join", "Hears all shouts from now on.", NULL, NULL, join, 0},
    {"shout", "Tells all who joined.", NULL, NULL, shout, 0},
};

static void say_ready(void *arg, struct fumi_str address)
{
    (void)address;
    dprintf(*(int *)arg, ".");
}

static int serve(const char *address, int said)
{
    struct fumi_err e;
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    struct fumi_str listen = fumi_str(address);
    struct fumi_serve_options o = {.set = {.listen = {&listen, 1}}, .log = &log};
    o.listening = say_ready;
    o.arg = &said;
    fumi_server_add(s, NULL, methods, FUMI_COUNT(methods), NULL, &e);
    int rc = fumi_serve(s, &o, &e);
    fumi_server_free(s);
    return rc ? 1 : 0;
}

static pid_t start(const char *path)
{
    char address[160], dot;
    int pipes[2];
    snprintf(address, sizeof(address), "unix:%s", path);
    pid_t pid = pipe(pipes) ? -1 : fork();
    if (pid == 0) {
        alarm(60);
        exit(serve(address, pipes[1]));
    }
    if (pid < 0 || read(pipes[0], &dot, 1) != 1)
        abort();
    close(pipes[0]);
    close(pipes[1]);
    return pid;
}

static int reach(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        abort();
    return fd;
}

static void call(int fd, const char *method, int id)
{
    dprintf(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"id\":%d}\n", method, id);
}

/* Answers come in order, and every line is one or the other. */
static bool hears(int fd, int answers, int pushes)
{
    FILE *f = fdopen(dup(fd), "r");
    char line[256], want[64];
    for (int id = 1; answers > 0 || pushes > 0;) {
        snprintf(want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":%d}\n", id);
        if (!fgets(line, sizeof(line), f))
            break;
        if (strcmp(line, want) == 0 && answers--)
            id++;
        else if (strcmp(line, "{\"jsonrpc\":\"2.0\",\"method\":\"heard\"}\n") != 0 || !pushes--)
            break;
    }
    fclose(f);
    return answers == 0 && pushes == 0;
}

TEST(all_hear_all_and_their_own_answers_in_order)
{
    char dir[] = "/tmp/fumi-push-XXXXXX", path[64];
    int fds[PEERS], status;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    pid_t pid = start(path);
    for (int i = 0; i < PEERS; i++) {
        fds[i] = reach(path);
        call(fds[i], "join", 1);
        CHECK(hears(fds[i], 1, 0));
    }
    kill(pid, SIGSTOP);
    for (int i = 0; i < PEERS; i++) {
        for (int k = 1; k <= SHOUTS; k++)
            call(fds[i], "shout", k);
    }
    kill(pid, SIGCONT);
    for (int i = 0; i < PEERS; i++)
        CHECK(hears(fds[i], SHOUTS, SHOUTS * PEERS));
    for (int i = 0; i < PEERS; i++)
        close(fds[i]);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    unlink(path);
    CHECK_INT(rmdir(dir), 0);
}
