/* Three bytes, which select the side, the limit and the seed of the cuts, followed by a stream of
 * frames. The events do not depend on the cuts, and memory stays below the limit. */
#include "base/arena.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "net/ws.h"

enum { PART = 512 }; /* upper bound of what a reader allocates besides the message */

/* Result of a stream: number of events, the last one, and a hash of all payloads. */
struct outcome {
    size_t n;
    enum ws_kind last;
    uint64_t sum;
};

static size_t held;

void *fumi_resize(void *old, size_t size)
{
    size_t *block = old ? (size_t *)old - 2 : NULL;
    held += size - (block ? *block : 0);
    if (!size) {
        free(block);
        return NULL;
    }
    MUST(block = realloc(block, size + 2 * sizeof(*block)));
    *block = size;
    return block + 2;
}

static void add_bytes(uint64_t *sum, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes, *end = p + n; p < end; p++)
        *sum = (*sum ^ *p) * 0x100000001B3;
}

static bool is_valid_code(int code)
{
    return code == WS_NO_CODE || (code >= 1000 && code <= 1014 && code != 1004 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

static void check_event(const struct ws_reader *r, enum ws_kind kind, const struct ws_event *e)
{
    switch (kind) {
    case WS_MORE:
        break;
    case WS_TEXT:
    case WS_BINARY:
        MUST(e->payload.n <= (r->limit ? r->limit : WS_LIMIT));
        MUST(kind == WS_BINARY || fumi_utf8_valid(e->payload));
        break;
    case WS_PING:
    case WS_PONG:
        MUST(e->payload.n <= WS_CONTROL);
        break;
    case WS_CLOSE:
        MUST(r->closed && is_valid_code(e->code) && fumi_utf8_valid(e->payload));
        MUST(e->payload.n <= WS_CONTROL - 2);
        break;
    case WS_FAULT:
        MUST(r->closed && !r->partial && e->payload.n && e->payload.n <= WS_CONTROL - 2);
        MUST(e->code == WS_PROTOCOL_ERROR || e->code == WS_BAD_TEXT || e->code == WS_TOO_LONG);
        break;
    }
}

static void record(struct outcome *o, enum ws_kind kind, const struct ws_event *e)
{
    MUST(o->last != WS_CLOSE && o->last != WS_FAULT);
    o->n++;
    o->last = kind;
    add_bytes(&o->sum, &kind, sizeof(kind));
    add_bytes(&o->sum, &e->code, sizeof(e->code));
    add_bytes(&o->sum, &e->payload.n, sizeof(e->payload.n));
    add_bytes(&o->sum, e->payload.p, e->payload.n);
}

static void feed(struct ws_reader *r, const uint8_t *bytes, size_t n, struct outcome *o)
{
    struct fumi_str copy = exact_copy(bytes, n);
    char *p = (char *)copy.p, *end = p + n;
    struct ws_event e;
    for (enum ws_kind kind; (kind = ws_read(r, &p, end, &e)) != WS_MORE;) {
        check_event(r, kind, &e);
        record(o, kind, &e);
        MUST(held <= (r->limit ? r->limit : WS_LIMIT) + PART);
    }
    MUST(p == end);
    MUST(held <= (r->limit ? r->limit : WS_LIMIT) + PART);
    MUST(!r->partial == !held && (!r->closed || !held));
    exact_free(copy);
}

/* Pieces of 1 to `most` bytes. */
static struct outcome read_pieces(struct ws_reader r, const uint8_t *bytes, size_t n, uint32_t seed,
                                  size_t most)
{
    struct outcome o = {0};
    for (size_t i = 0, size; i < n; i += size) {
        seed = seed * 1664525 + 1013904223;
        size = 1 + (seed >> 8) % most;
        size = size < n - i ? size : n - i;
        feed(&r, bytes + i, size, &o);
    }
    ws_done(&r);
    MUST(!held);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t limits[] = {0, 1, 10, 125, 126, 300, 5000, 65536};
    static const size_t most[] = {1, 2, 5, 20, 300};
    if (n < 3)
        return 0;
    struct ws_reader r = {.server = data[0] & 1, .limit = limits[data[0] >> 1 & 7]};
    uint32_t seed = (uint32_t)data[1] << 8 | data[2];
    data += 3;
    n -= 3;
    struct outcome whole = {0};
    struct ws_reader once = r;
    feed(&once, data, n, &whole);
    ws_done(&once);
    MUST(!held);
    for (size_t i = 0; i < FUMI_COUNT(most); i++) {
        struct outcome o = read_pieces(r, data, n, seed, most[i]);
        MUST(o.n == whole.n && o.sum == whole.sum);
    }
    return 0;
}
