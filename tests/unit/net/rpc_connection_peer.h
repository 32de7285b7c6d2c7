/* A peer that plays a script on a real socket, in its own thread: it sends prepared data, whatever
 * it receives. */
#ifndef FUMI_RPC_CONNECTION_PEER_H
#define FUMI_RPC_CONNECTION_PEER_H

#include "base/buf.h"
#include "net/ws.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum action {
    MEET = 1, /* closes the current connection and accepts the next */
    LINE,     /* reads a line and keeps it in `got` */
    REQUEST,  /* reads an HTTP request with its body, and keeps it */
    FRAME,    /* reads a frame and keeps its kind and payload */
    SHAKE,    /* answers the last handshake; text: additional headers */
    SAY,      /* sends the text */
    DRIP,     /* sends the text byte by byte */
    TEXT,     /* sends the text as a text frame */
    PIECES,   /* sends the text as three frames with a ping between them */
    BREAK,    /* closes */
    RESET,    /* closes with a reset */
    HOLD,     /* waits until the other side closes; keeps what it sends */
    ASIDE, /* accepts another connection; with a text, reads a request there and sends the text */
};

struct step {
    enum action action;
    struct fumi_str text;
};
#define SAYS(literal) FUMI_STR(literal)

struct script {
    const struct step *steps; /* the last has action 0 */
    int listener, fd;
    struct fumi_buf in;  /* received, not processed yet */
    struct fumi_buf got; /* kept data; valid after script_end */
    struct ws_reader frames;
    bool failed;
    pthread_t thread;
    char url[160]; /* "HOST:PORT/path" or the path of the socket */
};

enum { SCRIPT_PATIENCE = 20000 };

static inline bool script_read(struct script *s)
{
    struct pollfd p = {s->fd, POLLIN, 0};
    char bytes[4096];
    if (poll(&p, 1, SCRIPT_PATIENCE) <= 0)
        return false;
    ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);
    if (n > 0)
        fumi_buf_add(&s->in, bytes, (size_t)n);
    return n > 0;
}

static inline void script_keep(struct script *s, size_t n)
{
    fumi_buf_add(&s->got, s->in.p, n);
    s->in.n -= n;
    memmove(s->in.p, s->in.p + n, s->in.n);
}

static inline bool script_line(struct script *s)
{
    char *end;
    while (!s->in.n || !(end = memchr(s->in.p, '\n', s->in.n)))
        if (!script_read(s))
            return false;
    script_keep(s, (size_t)(end + 1 - s->in.p));
    return true;
}

static inline bool script_request(struct script *s)
{
    char *end, *length;
    while (!s->in.n || !(end = memmem(s->in.p, s->in.n, "\r\n\r\n", 4)))
        if (!script_read(s))
            return false;
    size_t need = (size_t)(end + 4 - s->in.p);
    length = memmem(s->in.p, need, "Content-Length: ", 16);
    need += length ? strtoul(length + 16, NULL, 10) : 0;
    while (s->in.n < need)
        if (!script_read(s))
            return false;
    script_keep(s, need);
    fumi_buf_put(&s->got, '\n');
    return true;
}

static inline bool script_frame(struct script *s)
{
    struct ws_event event = {0};
    for (;;) {
        char *p = s->in.p, *end = p + s->in.n;
        enum ws_kind kind = s->in.n ? ws_read(&s->frames, &p, end, &event) : WS_MORE;
        char head[16];
        int n = snprintf(head, sizeof(head), kind == WS_CLOSE ? "%d:%d " : "%d:", (int)kind,
                         event.code);
        if (kind != WS_MORE) {
            fumi_buf_add(&s->got, head, (size_t)n);
            fumi_buf_add(&s->got, event.payload.p, event.payload.n);
            fumi_buf_put(&s->got, '\n');
        }
        s->in.n = (size_t)(end - p);
        memmove(s->in.p, p, s->in.n);
        if (kind != WS_MORE)
            return kind != WS_FAULT;
        if (!script_read(s))
            return false;
    }
}

static inline bool script_say(struct script *s, struct fumi_str text, size_t step)
{
    while (text.n) {
        ssize_t n = send(s->fd, text.p, text.n < step ? text.n : step, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        text.p += n;
        text.n -= (size_t)n;
    }
    return true;
}

static inline bool script_shake(struct script *s, struct fumi_str fields)
{
    char accept[WS_ACCEPT], text[1000];
    static const char name[] = "Sec-WebSocket-Key: ";
    char *key = memmem(s->got.p, s->got.n, name, sizeof(name) - 1);
    for (char *next = key; next;) {
        key = next;
        next = memmem(key + 1, s->got.n - (size_t)(key + 1 - s->got.p), name, sizeof(name) - 1);
    }
    if (!key || ws_accept((struct fumi_str){key + sizeof(name) - 1, WS_KEY}, accept))
        return false;
    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Accept: %.*s\r\n%.*s\r\n",
                     WS_ACCEPT, accept, FUMI_ARG(fields));
    return script_say(s, (struct fumi_str){text, (size_t)n}, SIZE_MAX);
}

static inline bool script_text(struct script *s, struct fumi_str text)
{
    struct fumi_buf frame = {0};
    ws_write(&frame, WS_TEXT, text);
    bool fine = script_say(s, fumi_buf_str(&frame), SIZE_MAX);
    fumi_buf_done(&frame);
    return fine;
}

/* The text is short, so its pieces need only one length byte. */
static inline bool script_pieces(struct script *s, struct fumi_str text)
{
    size_t third = text.n / 3, sizes[] = {third, third, text.n - 2 * third};
    static const unsigned char firsts[] = {0x01, 0x00, 0x80};
    struct fumi_buf bytes = {0};
    for (size_t i = 0; i < 3; i++) {
        fumi_buf_put(&bytes, (char)firsts[i]);
        fumi_buf_put(&bytes, (char)sizes[i]);
        fumi_buf_add(&bytes, text.p, sizes[i]);
        text.p += sizes[i];
        ws_write(&bytes, i ? WS_PONG : WS_PING, FUMI_STR("still there?"));
    }
    bool fine = script_say(s, fumi_buf_str(&bytes), 1);
    fumi_buf_done(&bytes);
    return fine;
}

static inline void script_break(struct script *s, bool reset)
{
    struct linger now = {.l_onoff = 1};
    if (s->fd < 0)
        return;
    if (reset)
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(s->fd);
    s->fd = -1;
    s->in.n = 0;
    ws_done(&s->frames);
    s->frames = (struct ws_reader){.server = true};
}

static inline bool script_meet(struct script *s)
{
    struct pollfd p = {s->listener, POLLIN, 0};
    script_break(s, false);
    if (poll(&p, 1, SCRIPT_PATIENCE) <= 0)
        return false;
    s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    return s->fd >= 0;
}

static inline bool script_hold(struct script *s)
{
    while (script_read(s)) {}
    script_keep(s, s->in.n);
    return true;
}

static inline bool script_aside(struct script *s, struct fumi_str text)
{
    int fd = s->fd;
    s->fd = -1;
    bool fine = script_meet(s) && (!text.p || (script_request(s) && script_say(s, text, SIZE_MAX)));
    script_break(s, false);
    s->fd = fd;
    return fine;
}

static inline bool script_step(struct script *s, const struct step *step)
{
    switch (step->action) {
    case MEET:
        return script_meet(s);
    case LINE:
        return script_line(s);
    case REQUEST:
        return script_request(s);
    case FRAME:
        return script_frame(s);
    case SHAKE:
        return script_shake(s, step->text);
    case SAY:
        return script_say(s, step->text, SIZE_MAX);
    case DRIP:
        return script_say(s, step->text, 1);
    case TEXT:
        return script_text(s, step->text);
    case PIECES:
        return script_pieces(s, step->text);
    case BREAK:
    case RESET:
        script_break(s, step->action == RESET);
        return true;
    case HOLD:
        return script_hold(s);
    case ASIDE:
        return script_aside(s, step->text);
    }
    return false;
}

/* A script that the other side does not let finish fails, which a test may expect. */
static inline void *script_play(void *arg)
{
    struct script *s = arg;
    fumi_buf_reserve(&s->in, 1);
    for (const struct step *step = s->steps; step->action && !s->failed; step++)
        s->failed = !script_step(s, step);
    script_break(s, false);
    return NULL;
}

/* Signals go to the thread under test. */
static inline void script_run(struct script *s)
{
    sigset_t all, before;
    s->fd = -1;
    s->frames.server = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (listen(s->listener, 8) || pthread_create(&s->thread, NULL, script_play, s))
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Listens on a loopback port; s->url begins with `scheme`. */
static inline void script_tcp(struct script *s, const char *scheme)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&at, n) ||
        getsockname(s->listener, (struct sockaddr *)&at, &n))
        abort();
    snprintf(s->url, sizeof(s->url), "%s127.0.0.1:%d", scheme, ntohs(at.sin_port));
    script_run(s);
}

/* Listens on a Unix socket in a new directory. */
static inline void script_unix(struct script *s, const char *scheme)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char dir[] = "/tmp/fumi-link-XXXXXX";
    if (!mkdtemp(dir))
        abort();
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&at, sizeof(at)))
        abort();
    snprintf(s->url, sizeof(s->url), "%s%s", scheme, at.sun_path);
    script_run(s);
}

/* Waits for the end of the script. Kept data is valid until script_done. */
static inline void script_end(struct script *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
    char *path = strstr(s->url, "/tmp/fumi-link-");
    if (path) {
        unlink(path);
        *strrchr(path, '/') = 0;
        rmdir(path);
    }
}

static inline void script_done(struct script *s)
{
    fumi_buf_done(&s->in);
    fumi_buf_done(&s->got);
}

static inline bool script_got(const struct script *s, const char *text)
{
    return s->got.n && memmem(s->got.p, s->got.n, text, strlen(text));
}

#endif
