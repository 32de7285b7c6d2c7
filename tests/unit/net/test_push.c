/* Messages that are pushed to connections while their answers wait for the end of the loop
 * iteration. The server is a child process, which is stopped until all clients have written. */
#include "child_server.h"
#include "test.h"

#include <poll.h>
#include <signal.h>

enum { PEERS = 40, SHOUTS = 3 };

static struct fumi_peer *joined[PEERS]; /* used in the child, which has one thread */
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

static void call(int fd, const char *method, int id)
{
    dprintf(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"id\":%d}\n", method, id);
}

/* Answers arrive in order, and every line is either an answer or a pushed message. */
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

TEST(all_clients_get_all_notifications_and_their_answers_in_order)
{
    char dir[] = "/tmp/fumi-push-XXXXXX", path[64];
    int fds[PEERS], status;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    pid_t pid = child_start(path, methods, FUMI_COUNT(methods));
    for (int i = 0; i < PEERS; i++) {
        fds[i] = child_reach(path);
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
