/* A server shuts down although calls that missed their deadlines never return. The server is a
 * child process; its method `stuck` never returns. */
#include "fumi.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static enum fumi_ret run_stuck(struct fumi_mcp_call *c)
{
    while (c)
        pause();
    return FUMI_OK;
}

static const struct fumi_tool tools[] = {
    {.name = "stuck", .description = "Never returns.", .run = run_stuck, .flags = FUMI_BLOCKING}};

static void say_ready(void *arg, struct fumi_str address)
{
    (void)address;
    dprintf(*(int *)arg, ".");
}

static int serve(const char *address, int reports)
{
    static const struct fumi_time_limit limit = {100};
    struct fumi_err e;
    struct fumi_log log = {.level = FUMI_SILENT};
    struct fumi_server *s = fumi_server_new("test", "1.0");
    struct fumi_mcp_options options = {
        .name = "test", .version = "1.0", .tools = tools, .tools_n = FUMI_COUNT(tools)};
    struct fumi_mcp *mcp = fumi_mcp_new(s, &options, &e);
    struct fumi_processor p = fumi_limit_time(&limit);
    struct fumi_str listen = fumi_str(address);
    if (!mcp || fumi_server_use(s, &p, &e))
        return 2;
    struct fumi_route route = fumi_mcp_route(mcp);
    struct fumi_serve_options o = {.set = {.listen = {&listen, 1}, .drain = 100},
                                   .log = &log,
                                   .routes = &route,
                                   .routes_n = 1,
                                   .ending = fumi_mcp_end,
                                   .ending_arg = mcp,
                                   .listening = say_ready,
                                   .arg = &reports};
    int rc = fumi_serve(s, &o, &e);
    if (rc == FUMI_SERVED_ABANDONED)
        _exit(10); /* calls were abandoned */
    fumi_mcp_free(mcp);
    fumi_server_free(s);
    return rc < 0;
}

struct fixture {
    pid_t pid;
    char dir[32], path[40];
};

static void fixture_open(struct fixture *s)
{
    char address[64], dot;
    int pipes[2];
    *s = (struct fixture){.dir = "/tmp/fumi-stuck-XXXXXX"};
    if (!mkdtemp(s->dir) || pipe(pipes))
        abort();
    snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
    snprintf(address, sizeof(address), "unix:%s", s->path);
    s->pid = fork();
    if (s->pid == 0) {
        alarm(30);
        exit(serve(address, pipes[1]));
    }
    if (s->pid < 0 || read(pipes[0], &dot, 1) != 1)
        abort();
    close(pipes[0]);
    close(pipes[1]);
}

static int fixture_close(struct fixture *s)
{
    int status;
    kill(s->pid, SIGTERM);
    waitpid(s->pid, &status, 0);
    unlink(s->path);
    rmdir(s->dir);
    return status;
}

/* Posts a message on a new connection and reads until the server closes. */
static void post(const struct fixture *s, const char *session, const char *body, char *to,
                 size_t room)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char text[2048];
    size_t n = 0;
    ssize_t got;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", s->path);
    int all = snprintf(text, sizeof(text),
                       "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       "Content-Type: application/json\r\n"
                       "Accept: application/json, text/event-stream\r\n%s"
                       "Content-Length: %zu\r\n\r\n%s",
                       session, strlen(body), body);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) || write(fd, text, (size_t)all) != all)
        abort();
    while (n + 1 < room && (got = read(fd, to + n, room - 1 - n)) > 0)
        n += (size_t)got;
    to[n] = '\0';
    close(fd);
}

#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define STUCK                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"stuck\"}}"

TEST(a_session_whose_late_call_never_returns_does_not_keep_the_server)
{
    struct fixture s;
    char got[4096], session[128] = "";
    fixture_open(&s);
    post(&s, "", INITIALIZE, got, sizeof(got));
    const char *id = strcasestr(got, "mcp-session-id: ");
    if (id)
        snprintf(session, sizeof(session), "%.*s\r\n", (int)strcspn(id, "\r"), id);
    post(&s, session, STUCK, got, sizeof(got));
    bool late = strstr(got, "timeout");
    int status = fixture_close(&s);
    CHECK(id && late);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 10);
}
