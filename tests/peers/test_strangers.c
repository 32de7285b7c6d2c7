/* Clients of another user of the machine that open as many connections as they can: the owner is
 * still served. Skipped without root, which is needed to change users. */
#include "frames.h"
#include "test.h"

#include <sys/stat.h>

enum { NOBODY = 65534, LIMIT = 8, THEIRS = LIMIT / 4, STRANGERS = 40 };

typedef void (*connect_fn)(struct wire *w, const struct live *s);

/* The numbers of connections of the other user, by outcome. */
struct result {
    int served, refused, ended;
};

static int status_of(struct wire *w, const struct live *s)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
                     s->port);
    wire_put(w, (struct fumi_str){text, (size_t)n});
    return wire_reply(w, false).status;
}

/* Opens all connections before the first one sends. Those that are served stay open. */
static void run_other_user(const struct live *s, connect_fn join, int out)
{
    static struct wire w[STRANGERS];
    struct result result = {0};
    int kept[STRANGERS];
    signal(SIGPIPE, SIG_IGN);
    if (setgid(NOBODY) || setuid(NOBODY))
        _exit(1);
    for (int i = 0; i < STRANGERS; i++)
        join(&w[i], s);
    for (int i = 0; i < STRANGERS; i++) {
        int status = status_of(&w[i], s);
        result.refused += status == 503;
        if (status == 200)
            kept[result.served++] = i;
        else
            close(w[i].fd);
    }
    if (write(out, &result, sizeof(result)) != (ssize_t)sizeof(result))
        _exit(1);
    for (int i = 0; i < result.served; i++)
        result.ended += !wire_more(&w[kept[i]]) && w[kept[i]].state != WIRE_SILENT;
    _exit(write(out, &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
}

static pid_t start_other_user(const struct live *s, connect_fn join, int *from)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        run_other_user(s, join, ends[1]);
    close(ends[1]);
    *from = ends[0];
    return pid;
}

static void check_owner(const struct live *s, connect_fn join)
{
    struct wire w[LIMIT], late;
    for (int i = 0; i < LIMIT; i++) {
        join(&w[i], s);
        CHECK(wire_lives(&w[i], s));
    }
    for (int i = 0; i < LIMIT; i++)
        CHECK(wire_lives(&w[i], s));
    join(&late, s);
    CHECK_INT(status_of(&late, s), 503); /* all connections belong to the owner */
    wire_close(&late);
    for (int i = 0; i < LIMIT; i++)
        wire_close(&w[i]);
}

static void check_flood(const char *flags, connect_fn join)
{
    struct live s;
    struct result result = {0};
    int from = -1, status = -1;
    CHECK_INT(live_start(&s, SPEC_SERVER, flags), 0);
    CHECK_INT(chmod(s.dir, 0755), 0);
    CHECK_INT(chmod(s.path, 0666), 0);
    int before = live_descriptors(&s);
    pid_t pid = start_other_user(&s, join, &from);
    CHECK_INT(read(from, &result, sizeof(result)), sizeof(result));
    CHECK_INT(result.served, THEIRS);
    CHECK(result.refused > 0 && result.refused < STRANGERS - THEIRS);
    CHECK(live_settles(&s, before + THEIRS));
    check_owner(&s, join);
    CHECK_INT(read(from, &result, sizeof(result)), sizeof(result));
    CHECK_INT(result.ended, THEIRS);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    close(from);
    CHECK_INT(live_stop(&s), 0);
}

TEST(the_owner_can_connect_over_tcp)
{
    if (geteuid() == 0)
        check_flood("--connections 8", wire_tcp);
}

TEST(the_owner_can_connect_over_unix_sockets)
{
    if (geteuid() == 0)
        check_flood("--connections 8", wire_unix);
}

/* The connection that is closed for the owner may belong to another thread. */
TEST(the_owner_can_connect_on_every_thread)
{
    if (geteuid() == 0)
        check_flood("--connections 8 --threads 3", wire_tcp);
}
