/* Shared by the tests of the WebSocket codec: streams of frames, fed in pieces, and the events of a
 * reader as lines of text. Allocated memory is counted. */
#ifndef FUMI_WS_FIXTURE_H
#define FUMI_WS_FIXTURE_H

#include "base/arena.h"
#include "net/ws.h"
#include "test.h"

static const char mask[4] = {0x37, (char)0xFA, 0x21, 0x3D};

/* Bytes allocated by the program, without the test harness. */
static size_t held;

void *fumi_resize(void *old, size_t size)
{
    size_t *block = old ? (size_t *)old - 2 : NULL;
    held += size - (block ? *block : 0);
    if (!size) {
        free(block);
        return NULL;
    }
    if (!(block = realloc(block, size + 2 * sizeof(*block))))
        abort();
    *block = size;
    return block + 2;
}

/* A frame with any first byte; from a client when `masked`. */
static inline void put_frame(struct fumi_buf *b, unsigned first, struct fumi_str payload,
                             bool masked)
{
    size_t at = b->n;
    if (masked)
        ws_write_masked(b, WS_TEXT, payload, mask);
    else
        ws_write(b, WS_TEXT, payload);
    b->p[at] = (char)first;
}

/* The same frames, masked as a client does. Only their sizes are parsed, so faults are preserved.
 */
static inline void put_masked(struct fumi_buf *b, struct fumi_str frames)
{
    for (const char *p = frames.p, *end = p + frames.n; p < end;) {
        size_t have = (size_t)(end - p), form = have > 1 ? p[1] & 0x7F : 0, n = form;
        size_t more = form < 126 ? 0 : form == 126 ? 2 : 8, head = 2 + more;
        if (have < head) {
            fumi_buf_add(b, p, have);
            if (have > 1)
                b->p[b->n - have + 1] = (char)(p[1] | 0x80);
            return;
        }
        for (size_t i = 0; i < more; i++)
            n = (i ? n << 8 : 0) | (unsigned char)p[2 + i];
        n = n < have - head ? n : have - head;
        fumi_buf_add(b, p, head);
        b->p[b->n - head + 1] = (char)(p[1] | 0x80);
        fumi_buf_add(b, mask, 4);
        for (size_t i = 0; i < n; i++)
            fumi_buf_put(b, (char)(p[head + i] ^ mask[i % 4]));
        p += head + n;
    }
}

static inline void put_line(struct fumi_buf *log, enum ws_kind kind, int code,
                            struct fumi_str payload)
{
    static const char *const names[] = {
        [WS_TEXT] = "TEXT", [WS_BINARY] = "BINARY", [WS_CLOSE] = "CLOSE",
        [WS_PING] = "PING", [WS_PONG] = "PONG",     [WS_FAULT] = "FAULT",
    };
    char line[64];
    int n = snprintf(line, sizeof(line), code ? "%s %d" : "%s", names[kind], code);
    fumi_buf_add(log, line, (size_t)n);
    if (payload.n)
        fumi_buf_put(log, ' ');
    fumi_buf_add(log, payload.p, payload.n);
    fumi_buf_put(log, '\n');
}

/* Feeds a copy in a block of exactly its size. The reason of a fault is not logged. */
static inline void feed(struct ws_reader *r, struct fumi_str piece, struct fumi_buf *log)
{
    char *copy = malloc(piece.n ? piece.n : 1), *p = copy, *end = copy + piece.n;
    struct ws_event e;
    if (piece.n)
        memcpy(copy, piece.p, piece.n);
    for (enum ws_kind kind; (kind = ws_read(r, &p, end, &e)) != WS_MORE;)
        put_line(log, kind, e.code, kind == WS_FAULT ? (struct fumi_str){0} : e.payload);
    if (p != end)
        TEST_FAIL("%zu bytes are left", (size_t)(end - p));
    free(copy);
}

/* Feeds `s` in a piece of `first` bytes and pieces of `next`; returns the log. */
static inline struct fumi_str read_cut(struct fumi_buf *log, struct ws_reader r, struct fumi_str s,
                                       size_t first, size_t next)
{
    log->n = 0;
    for (size_t i = 0, n = first; i < s.n; i += n, n = next) {
        n = n < s.n - i ? n : s.n - i;
        feed(&r, (struct fumi_str){s.p + i, n}, log);
    }
    ws_done(&r);
    return fumi_buf_str(log);
}

/* Whether the stream gives `want` whole, byte by byte (a long one in pieces of 997), and cut at
 * every position of its first and last `ends` bytes. */
static inline bool reads(struct ws_reader r, struct fumi_str s, struct fumi_str want, size_t ends)
{
    struct fumi_buf log = {0};
    size_t step = s.n > 100000 ? 997 : 1;
    bool same = fumi_eq(read_cut(&log, r, s, step, step), want);
    for (size_t cut = 1; same && cut <= s.n; cut++)
        if (cut <= ends || s.n - cut <= ends)
            same = fumi_eq(read_cut(&log, r, s, cut, s.n), want);
    if (!same && want.n < 1000)
        fprintf(stderr, "   got %.*s  want %.*s", FUMI_ARG(fumi_buf_str(&log)), FUMI_ARG(want));
    fumi_buf_done(&log);
    return same;
}

/* As `reads`, for frames without masks: from a server as they are, from a client masked. */
static inline bool both_read(size_t limit, struct fumi_str frames, struct fumi_str want,
                             size_t ends)
{
    struct fumi_buf b = {0};
    put_masked(&b, frames);
    bool same = reads((struct ws_reader){.limit = limit}, frames, want, ends) &&
                reads((struct ws_reader){.limit = limit, .server = true}, fumi_buf_str(&b), want,
                      ends);
    fumi_buf_done(&b);
    return same;
}

#endif
