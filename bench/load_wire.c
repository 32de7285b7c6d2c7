/* Requests are made once. The first answer is read with care; as long as the next ones are the same
 * byte for byte, comparing is enough; one that differs (a Date in its head) is read with care
 * again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"

static const char mask_key[4] = {0x37, (char)0xfa, 0x21, 0x3d};
/* The example of RFC 6455, 1.3. */
static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";
static const char accepted[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

enum { CALL_SIZE = 80, HEAD_SIZE = 512, TEXT = 0x81, PING = 0x89, FRAME_MAX = 65535 };

static void *reserve(size_t n)
{
    void *p = malloc(n);
    if (!p)
        die("out of memory");
    return p;
}

static size_t put_call(char *out, size_t id)
{
    return (size_t)snprintf(
        out, CALL_SIZE,
        "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23],\"id\":%zu}", id);
}

static void make_body(struct wire *w, size_t batch)
{
    w->body = reserve(batch * CALL_SIZE + 2);
    if (batch == 1) {
        w->body_size = put_call(w->body, 1);
        return;
    }
    size_t n = 0;
    for (size_t i = 1; i <= batch; i++) {
        w->body[n++] = i == 1 ? '[' : ',';
        n += put_call(w->body + n, i);
    }
    w->body[n++] = ']';
    w->body_size = n;
}

static size_t put_post(struct wire *w, char *out)
{
    const struct plan *p = w->plan;
    int n = snprintf(out, HEAD_SIZE,
                     "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     p->path && !p->ws ? p->path : "/rpc", p->host, w->body_size);
    if (n >= HEAD_SIZE)
        die("the path is too long");
    memcpy(out + n, w->body, w->body_size);
    return (size_t)n + w->body_size;
}

static size_t put_frame(struct wire *w, char *out)
{
    size_t n = 2, size = w->body_size;
    if (size > FRAME_MAX)
        die("the batch is too large");
    out[0] = (char)TEXT;
    out[1] = (char)(0x80 | (size < 126 ? size : 126));
    if (size >= 126) {
        out[n++] = (char)(size >> 8);
        out[n++] = (char)size;
    }
    memcpy(out + n, mask_key, 4);
    n += 4;
    for (size_t i = 0; i < size; i++)
        out[n + i] = (char)(w->body[i] ^ mask_key[i % 4]);
    return n + size;
}

static void make_handshake(struct wire *w)
{
    const struct plan *p = w->plan;
    w->handshake = reserve(HEAD_SIZE);
    int n = snprintf(w->handshake, HEAD_SIZE,
                     "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n",
                     p->path && p->ws ? p->path : "/ws", p->host, key);
    if (n >= HEAD_SIZE)
        die("the path is too long");
    w->handshake_size = (size_t)n;
}

void wire_make(struct wire *w, const struct plan *p)
{
    *w = (struct wire){.plan = p};
    make_handshake(w);
    make_body(w, p->batch);
    w->request = reserve((HEAD_SIZE + w->body_size) * p->in_flight);
    w->request_size = p->ws ? put_frame(w, w->request) : put_post(w, w->request);
    for (size_t i = 1; i < p->in_flight; i++)
        memcpy(w->request + i * w->request_size, w->request, w->request_size);
}

void wire_free(struct wire *w)
{
    free(w->handshake);
    free(w->body);
    free(w->request);
    free(w->good);
}

static _Noreturn void refuse(const char *why, const char *p, size_t n)
{
    errno = 0;
    fprintf(stderr, "load: %s:\n%.*s\n", why, (int)(n < 400 ? n : 400), p);
    die("the server does not answer as it should");
}

static size_t head_size(const char *p, size_t n)
{
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    return end ? (size_t)(end - p) + 4 : 0;
}

static bool begins(const char *p, size_t n, const char *with)
{
    size_t size = strlen(with);
    return n >= size && memcmp(p, with, size) == 0;
}

size_t wire_welcome(const char *p, size_t n)
{
    size_t head = head_size(p, n);
    if (!head)
        return 0;
    if (!begins(p, n, "HTTP/1.1 101 ") || !memmem(p, head, accepted, sizeof(accepted) - 1))
        refuse("no upgrade to WebSocket", p, n);
    return head;
}

static size_t content_length(const char *p, size_t head)
{
    static const char name[] = "\r\nContent-Length:";
    size_t size = sizeof(name) - 1;
    for (const char *at = p; (at = memchr(at, '\r', (size_t)(p + head - at))); at++)
        if ((size_t)(p + head - at) > size && strncasecmp(at, name, size) == 0)
            return strtoul(at + size, NULL, 10);
    refuse("no Content-Length", p, head);
}

static size_t split_http(const char *p, size_t n, size_t *body)
{
    *body = head_size(p, n);
    if (!*body)
        return 0;
    if (!begins(p, n, "HTTP/1.1 200 "))
        refuse("not status 200", p, n);
    return *body + content_length(p, *body);
}

static size_t split_frame(const char *p, size_t n, size_t *body)
{
    const unsigned char *b = (const unsigned char *)p;
    *body = 2;
    if (n < 4)
        return 0;
    if (b[0] != TEXT || b[1] > 126)
        refuse(b[0] == 0x88 ? "a close frame" : "not a text frame", p, n);
    if (b[1] < 126)
        return 2u + b[1];
    *body = 4;
    return 4 + ((size_t)b[2] << 8 | b[3]);
}

static size_t count(const char *p, size_t n, const char *of)
{
    size_t size = strlen(of), found = 0;
    for (const char *end = p + n; (p = memmem(p, (size_t)(end - p), of, size)); p += size)
        found++;
    return found;
}

static bool right(const struct wire *w, const char *body, size_t n)
{
    if (w->plan->echo)
        return n == w->body_size && memcmp(body, w->body, n) == 0;
    return count(body, n, "\"result\":19") == w->plan->batch &&
           count(body, n, "\"jsonrpc\":\"2.0\"") == w->plan->batch &&
           count(body, n, "\"id\":") == w->plan->batch && (body[0] == '[') == (w->plan->batch > 1);
}

static void remember(struct wire *w, const char *p, size_t n)
{
    free(w->good);
    w->good = reserve(n);
    w->good_size = n;
    memcpy(w->good, p, n);
}

size_t wire_answer(struct wire *w, const char *p, size_t n)
{
    size_t body, size;
    if (w->good_size && n >= w->good_size && memcmp(p, w->good, w->good_size) == 0)
        return w->good_size;
    size = w->plan->ws ? split_frame(p, n, &body) : split_http(p, n, &body);
    if (!size || size > n)
        return 0;
    if (!right(w, p + body, size - body))
        refuse("not the right result", p, size);
    remember(w, p, size);
    return size;
}

size_t wire_ping(const char *p, size_t n, size_t *payload)
{
    if (n < 2 || (unsigned char)p[0] != PING || n < 2 + (size_t)(p[1] & 127))
        return 0;
    *payload = (size_t)(p[1] & 127);
    return 2 + *payload;
}
