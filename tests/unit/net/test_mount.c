/* Routes of the host program: a mount for all paths, and routes that accept calls. */
#include "host_fixture.h"
#include "test.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static void hello(void *self, const struct fumi_http_request *r, struct fumi_str body,
                  struct fumi_reply *reply)
{
    struct fumi_buf text = {0};
    (void)self, (void)body;
    fumi_buf_add(&text, r->path.p, r->path.n);
    fumi_reply_end(reply, &(struct fumi_page){.status = 200, .type = "text/plain"}, &text);
    fumi_buf_done(&text);
}

static const struct fumi_route routes[] = {
    {"/hello", FUMI_GET, "GET, HEAD, OPTIONS", .run = hello},
    {"/v1", FUMI_POST, "POST, OPTIONS", .upgrades = true},
};

/* Sends a request and reads until the server closes. */
static void ask(const struct host *h, const char *request, char *to, size_t room)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = 0;
    ssize_t more;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", h->path + strlen("unix:"));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
        write(fd, request, strlen(request)) != (ssize_t)strlen(request))
        abort();
    shutdown(fd, SHUT_WR);
    while (n + 1 < room && (more = read(fd, to + n, room - 1 - n)) > 0)
        n += (size_t)more;
    to[n] = '\0';
    close(fd);
}

enum kind { GET, POST, UPGRADE };

static void write_request(char *to, size_t room, enum kind kind, const char *path)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"twice\",\"params\":[21],\"id\":1}";
    static const char upgrade[] = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                  "Sec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    if (kind == POST)
        snprintf(
            to, room,
            "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
            path, strlen(call), call);
    else
        snprintf(to, room, "GET %s HTTP/1.1\r\nHost: x\r\n%s", path,
                 kind == UPGRADE ? upgrade : "Connection: close\r\n\r\n");
}

struct row {
    enum kind kind;
    const char *path, *status, *body;
};

static void check_rows(const char *mount, const struct row *rows, size_t n)
{
    struct host h;
    host_open(&h);
    h.options.mount = mount;
    h.options.routes = routes;
    h.options.routes_n = FUMI_COUNT(routes);
    host_start(&h);
    for (size_t i = 0; i < n; i++) {
        char request[1024], got[4096];
        write_request(request, sizeof(request), rows[i].kind, rows[i].path);
        ask(&h, request, got, sizeof(got));
        if (!strstr(got, rows[i].status) || !strstr(got, rows[i].body))
            TEST_FAIL("%d %s: got %s", rows[i].kind, rows[i].path, got);
    }
    fumi_stop(h.server);
    host_join(&h);
    host_close(&h);
}

TEST(all_paths_are_below_the_mount)
{
    static const struct row rows[] = {
        {POST, "/api/rpc", " 200 ", "42"},
        {POST, "/api/rpc?x=1", " 200 ", "42"},
        {UPGRADE, "/api/ws", " 101 ", ""},
        {UPGRADE, "/api/", " 101 ", ""},
        {UPGRADE, "/api", " 101 ", ""},
        {GET, "/api/healthz", " 200 ", "ok"},
        {GET, "/api/hello", " 200 ", "/api/hello"},
        {POST, "/api/v1", " 200 ", "42"},
        {GET, "/api/", " 404 ", "calls go to /api/rpc"},
        {GET, "/api", " 404 ", "calls go to /api/rpc"},
        {POST, "/rpc", " 404 ", "calls go to /api/rpc"},
        {POST, "/apirpc", " 404 ", "calls go to /api/rpc"},
        {POST, "/api/api/rpc", " 404 ", "calls go to /api/rpc"},
        {UPGRADE, "/ws", " 404 ", ""},
        {UPGRADE, "/", " 404 ", ""},
        {GET, "/healthz", " 404 ", ""},
    };
    check_rows("/api", rows, FUMI_COUNT(rows));
}

TEST(a_route_without_a_function_takes_calls)
{
    static const struct row rows[] = {
        {POST, "/v1", " 200 ", "42"}, {UPGRADE, "/v1", " 101 ", ""},
        {GET, "/v1", " 405 ", ""},    {POST, "/rpc", " 200 ", "42"},
        {UPGRADE, "/", " 101 ", ""},  {GET, "/", " 404 ", "calls go to /rpc"},
    };
    check_rows(NULL, rows, FUMI_COUNT(rows));
}

TEST(a_mount_must_be_a_path)
{
    static const char *const wrong[] = {"",     "/",    "api",   "/api/", "/a b",
                                        "/a?b", "/a#b", "/a%2f", "/\x7f", "/a\nb"};
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++) {
        struct host h;
        host_open(&h);
        h.options.mount = wrong[i];
        int result = host_serve(&h);
        host_close(&h);
        CHECK_INT(result, FUMI_SERVED_ERROR);
        CHECK(fumi_starts(fumi_str(h.err.text), FUMI_STR("mount: must begin with /")));
    }
}

/* Editors find the server by its lock file, which is written once the address is open. */
TEST(the_lock_file_names_the_mount)
{
    struct host h;
    char path[64], text[2048] = "", files[64], line[80];
    unsigned port = 0;
    FILE *f;
    host_open(&h);
    snprintf(files, sizeof(files), "%s/d", h.dir);
    h.listen[0] = FUMI_STR("tcp:127.0.0.1:0");
    h.options.set.directory = fumi_str(files);
    h.options.mount = "/api";
    host_start(&h);
    CHECK(sscanf(h.address, "tcp:127.0.0.1:%u", &port) == 1);
    snprintf(path, sizeof(path), "%.40s/lock/%u.lock", files, port);
    while (!(f = fopen(path, "r")))
        poll(NULL, 0, 1);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    fumi_stop(h.server);
    host_join(&h);
    snprintf(line, sizeof(line), "rm -r '%s'", files);
    CHECK(system(line) == 0);
    host_close(&h);
    CHECK(n > 0 && strstr(text, "/api/ws"));
}
