/* The settings with their limits, defaults and help texts. Only properties of a single value are
 * checked here. Addresses, tokens, origins and hosts are validated by the code that uses them. */
#include "net/serve.h"

enum {
    DAY = 24 * 60 * 60 * 1000, /* milliseconds; maximum of every time */
    MANY = 1 << 16,
};

static const char *check_path(struct fumi_str s)
{
    return memchr(s.p, 0, s.n) ? "must be a path" : NULL;
}

/* In the order of enum fumi_auth. */
static const char *const auths[] = {"same-user", "token", "none", NULL};

/* In the order of enum fumi_framing. */
static const char *const framings[] = {"auto", "lines", "headers", NULL};

#define FIELD(member, wire, ...) FUMI_FIELD(struct fumi_settings, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(listen, "listen", "stdio, tcp:HOST:PORT, tcp:[V6]:PORT or unix:PATH.", .max = 16),
    FIELD(framing, "framing",
          "Framing on stdio and Unix sockets: one message per line, Content-Length "
          "headers, or detected.",
          .choices = framings, .def = "\"auto\""),
    FIELD(threads, "threads", "Threads that accept and serve connections.", .min = 1, .max = 256,
          .def = "1"),
    FIELD(workers, "workers", "Threads that run methods which wait for a disk or a network.",
          .min = 1, .max = 1024, .def = "16"),
    FIELD(drain, "drain",
          "Milliseconds that open calls may take at shutdown; 0 = 5000 (stdio: 800). "
          "Writes may take 10000 more.",
          .min = 0, .max = DAY, .def = "0"),
    FIELD(auth, "auth",
          "Who needs a token: all other users (same-user), every client (token), or no "
          "client (none).",
          .choices = auths, .def = "\"same-user\""),
    FIELD(token, "token",
          "Token that clients must send; the token file in the directory is used if not "
          "set.",
          .min = 16, .max = 512),
    FIELD(token_file, "tokenFile", "File with the token; other users must not be able to read it.",
          .min = 1, .max = 3500, .check = check_path),
    FIELD(directory, "directory", "Directory for the token and the lock files.", .min = 1,
          .max = 3500, .check = check_path),
    FIELD(origins, "origins", "Origin of web pages that may send requests.", .max = 64),
    FIELD(hosts, "hosts", "Further accepted Host header; HTTP then needs a token.", .max = 64),
    FIELD(allow_remote, "allowRemote", "Allow addresses that other machines can reach.",
          .def = "false"),
    FIELD(connections, "connections", "Maximum number of connections; HTTP 503 when reached.",
          .min = 1, .max = MANY, .def = "1024"),
    FIELD(queue, "queue", "Maximum number of open calls; HTTP 503 when reached.", .min = 1,
          .max = MANY, .def = "1024"),
    FIELD(rate, "rate", "HTTP requests per second per client (burst: twice that); 0 = unlimited.",
          .min = 0, .max = 1000000000, .def = "0"),
    FIELD(head_time, "headTime", "Milliseconds to receive the headers of a request.", .min = 1,
          .max = DAY, .def = "10000"),
    FIELD(body_time, "bodyTime", "Milliseconds to receive the body of a request.", .min = 1,
          .max = DAY, .def = "30000"),
    FIELD(idle_time, "idleTime", "Milliseconds until an idle connection is closed.", .min = 1,
          .max = DAY, .def = "75000"),
    FIELD(write_time, "writeTime",
          "Milliseconds until a client that accepts no bytes is disconnected.", .min = 1,
          .max = DAY, .def = "30000"),
    FIELD(ping_time, "pingTime", "Milliseconds between WebSocket pings, and to wait for a pong.",
          .min = 1, .max = DAY, .def = "30000"),
    FIELD(unsent, "unsent", "Maximum number of unsent bytes before a slow client is disconnected.",
          .min = 4096, .max = 1 << 30, .def = "16777216"),
    FIELD(access_log, "accessLog", "Log each HTTP request.", .def = "false"),
};

const struct fumi_shape fumi_settings_shape = FUMI_SHAPE(struct fumi_settings, fields);
