#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"

static const char mask_key[4] = {0x37, (char)0xfa, 0x21, 0x3d};
/* The example key of RFC 6455, section 1.3, and the answer to it. */
static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";
static const char accepted[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

enum { HEAD_SIZE = 256, TEXT = 0x81, FRAME_MAX = 65535 };

static size_t put_line(char *out, const struct mixed_message *m)
{
    memcpy(out, m->text, m->n);
    out[m->n] = '\n';
    return m->n + 1;
}

static size_t put_post(char *out, const struct mixed_message *m, const char *host)
{
    int n = snprintf(out, HEAD_SIZE,
                     "POST /rpc HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     host, m->n);
    memcpy(out + n, m->text, m->n);
    return (size_t)n + m->n;
}

static size_t put_frame(char *out, const struct mixed_message *m)
{
    size_t n = 2;
    if (m->n > FRAME_MAX)
        die("the batch is too large");
    out[0] = (char)TEXT;
    out[1] = (char)(0x80 | (m->n < 126 ? m->n : 126));
    if (m->n >= 126) {
        out[n++] = (char)(m->n >> 8);
        out[n++] = (char)m->n;
    }
    memcpy(out + n, mask_key, 4);
    n += 4;
    for (size_t i = 0; i < m->n; i++)
        out[n + i] = (char)(m->text[i] ^ mask_key[i % 4]);
    return n + m->n;
}

static void pack(struct packet *to, const struct mixed_message *m, const struct plan *p)
{
    to->message = m;
    to->p = malloc(HEAD_SIZE + m->n);
    if (!to->p)
        die("out of memory");
    if (p->kind == LINES)
        to->n = put_line(to->p, m);
    else
        to->n = p->kind == WS ? put_frame(to->p, m) : put_post(to->p, m, p->host);
    to->answered = p->kind == HTTP || m->results + m->errors;
}

void wire_make(struct wire *w, const struct plan *p)
{
    *w = (struct wire){.plan = p};
    mixed_make(&w->mixed, mixed_seed(), p->batch);
    w->packets = calloc(w->mixed.n, sizeof(*w->packets));
    if (!w->packets)
        die("out of memory");
    for (size_t i = 0; i < w->mixed.n; i++)
        pack(&w->packets[i], &w->mixed.all[i], p);
    w->handshake_size = (size_t)snprintf(
        w->handshake, sizeof(w->handshake),
        "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n",
        p->host, key);
}

void wire_free(struct wire *w)
{
    for (size_t i = 0; i < w->mixed.n; i++)
        free(w->packets[i].p);
    free(w->packets);
    mixed_free(&w->mixed);
}

static _Noreturn void refuse(const char *why, const char *p, size_t n)
{
    errno = 0;
    fprintf(stderr, "load: %s:\n%.*s\n", why, (int)(n < 400 ? n : 400), p);
    die("unexpected answer from the server");
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

size_t wire_handshake(const char *p, size_t n)
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
    if (begins(p, n, "HTTP/1.1 204 "))
        return *body;
    if (!begins(p, n, "HTTP/1.1 200 "))
        refuse("not 200", p, n);
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

static size_t split_line(const char *p, size_t n)
{
    const char *newline = memchr(p, '\n', n);
    return newline ? (size_t)(newline - p) + 1 : 0;
}

static size_t count(const char *p, size_t n, const char *of)
{
    size_t size = strlen(of), found = 0;
    for (const char *end = p + n; (p = memmem(p, (size_t)(end - p), of, size)); p += size)
        found++;
    return found;
}

/* Whether the answer has the expected number of results and errors, and the id of a single
 * request. */
static bool right(const struct mixed_message *m, const char *body, size_t n)
{
    if (!m->results && !m->errors)
        return n == 0;
    const char *id = m->id_n ? memmem(body, n, m->text + m->id, m->id_n) : body;
    return id && count(body, n, "\"jsonrpc\":\"2.0\"") == m->results + m->errors &&
           count(body, n, "\"result\":") == m->results &&
           count(body, n, "\"error\":{\"code\":") == m->errors;
}

size_t wire_answer(const struct wire *w, struct packet *to, const char *p, size_t n)
{
    const struct mixed_message *m = to->message;
    size_t body = 0, size;
    if (w->plan->kind == LINES)
        size = split_line(p, n);
    else
        size = w->plan->kind == WS ? split_frame(p, n, &body) : split_http(p, n, &body);
    if (!size || size > n)
        return 0;
    if (to->answer && to->answer != size - body)
        refuse("an answer of a different length than before", p, size);
    if (!to->answer && !w->plan->echo && !right(m, p + body, size - body))
        refuse("wrong answer", p, size);
    to->answer = size - body;
    return size;
}
