/* A minimal connection: receives bytes in pieces, reads consecutive requests and logs what it
 * found. Shared by the test and the fuzz target of http1. */
#ifndef FUMI_HTTP1_FEED_H
#define FUMI_HTTP1_FEED_H

#include "net/http1.h"

#include <stdio.h>
#include <stdlib.h>

struct feed {
    struct http_limits limits;
    char *bytes; /* unprocessed bytes, in a block of exactly their size */
    size_t n, seen;
    bool in_body;
    struct http_head head; /* its slices are valid only until more bytes arrive */
    struct http_chunks chunks;
    struct fumi_buf body, log;
    struct http_fault fault;
    bool wrong; /* the reader violated its contract */
};

static inline void feed_log(struct feed *f, struct fumi_str text)
{
    fumi_buf_add(&f->log, text.p, text.n);
}

static inline bool feed_inside(const struct feed *f, struct fumi_str s)
{
    return !s.p || (s.p >= f->bytes && s.p + s.n <= f->bytes + f->n);
}

static inline bool feed_all_inside(const struct feed *f)
{
    const struct http_head *h = &f->head;
    bool fine = feed_inside(f, h->method) && feed_inside(f, h->query) && feed_inside(f, h->host) &&
                feed_inside(f, h->upgrade) && h->method.n && h->path.n && h->n <= HTTP_FIELDS &&
                (feed_inside(f, h->path) || fumi_eq(h->path, FUMI_STR("/")));
    for (size_t i = 0; i < h->n; i++)
        fine = fine && feed_inside(f, h->fields[i].name) && feed_inside(f, h->fields[i].value) &&
               h->fields[i].name.n && h->fields[i].value.p;
    return fine;
}

/* "POST /rpc?x 1.1 keep continue upgrade=h2c". */
static inline void feed_log_head(struct feed *f)
{
    const struct http_head *h = &f->head;
    feed_log(f, h->method);
    feed_log(f, FUMI_STR(" "));
    feed_log(f, h->path);
    if (h->query.p) {
        feed_log(f, FUMI_STR("?"));
        feed_log(f, h->query);
    }
    feed_log(f, h->minor ? FUMI_STR(" 1.1") : FUMI_STR(" 1.0"));
    feed_log(f, h->keep_alive ? FUMI_STR(" keep") : FUMI_STR(" close"));
    if (h->expects_continue)
        feed_log(f, FUMI_STR(" continue"));
    if (h->upgrade.p) {
        feed_log(f, FUMI_STR(" upgrade="));
        feed_log(f, h->upgrade);
    }
}

static inline void feed_drop(struct feed *f, size_t n)
{
    size_t rest = f->n - n;
    char *block = malloc(rest ? rest : 1);
    if (rest)
        memcpy(block, f->bytes + n, rest);
    free(f->bytes);
    f->bytes = block;
    f->n = rest;
}

static inline bool feed_fail(struct feed *f)
{
    char text[200];
    int n = snprintf(text, sizeof(text), "!%d %s\n", f->fault.status, f->fault.reason);
    feed_log(f, (struct fumi_str){text, (size_t)n});
    f->wrong |= f->fault.status < 400 || f->fault.status > 599 || !f->fault.reason[0];
    return false;
}

/* The body is complete. */
static inline bool feed_message(struct feed *f)
{
    if (f->head.framing != HTTP_NO_BODY) {
        feed_log(f, FUMI_STR(" {"));
        feed_log(f, fumi_buf_str(&f->body));
        feed_log(f, FUMI_STR("}"));
    }
    feed_log(f, FUMI_STR("\n"));
    fumi_buf_reset(&f->body, 0);
    f->in_body = false;
    return true;
}

static inline bool feed_head(struct feed *f)
{
    f->fault = (struct http_fault){0};
    ssize_t n = http_read_head(&f->head, (struct fumi_str){f->bytes, f->n}, &f->seen, &f->limits,
                               &f->fault);
    f->wrong |= n > (ssize_t)f->n || (n > 0 && f->seen != 0) || (n < 0) != (f->fault.status != 0);
    if (n < 0)
        return feed_fail(f);
    if (n == 0)
        return false;
    f->wrong |= !feed_all_inside(f);
    feed_log_head(f);
    feed_drop(f, (size_t)n);
    f->in_body = true;
    f->chunks = (struct http_chunks){0};
    return true;
}

static inline bool feed_chunks(struct feed *f)
{
    ssize_t n = http_read_chunks(&f->chunks, (struct fumi_str){f->bytes, f->n}, &f->body,
                                 &f->limits, &f->fault);
    f->wrong |= n > (ssize_t)f->n || (n >= 0 && !f->chunks.done && n != (ssize_t)f->n);
    f->wrong |= f->body.n > f->limits.body;
    if (n < 0)
        return feed_fail(f);
    feed_drop(f, (size_t)n);
    return f->chunks.done ? feed_message(f) : false;
}

static inline bool feed_body(struct feed *f)
{
    if (f->head.framing == HTTP_CHUNKED)
        return feed_chunks(f);
    size_t need = (size_t)f->head.length;
    f->wrong |= f->head.length > f->limits.body;
    if (f->n < need)
        return false;
    fumi_buf_add(&f->body, f->bytes, need);
    feed_drop(f, need);
    return feed_message(f);
}

/* Feeds the next bytes. After a fault nothing is read any more. */
static inline void feed_give(struct feed *f, struct fumi_str piece)
{
    char *block = malloc(f->n + piece.n ? f->n + piece.n : 1);
    if (f->n)
        memcpy(block, f->bytes, f->n);
    if (piece.n)
        memcpy(block + f->n, piece.p, piece.n);
    free(f->bytes);
    f->bytes = block;
    f->n += piece.n;
    for (bool more = !f->fault.status; more;)
        more = f->in_body ? feed_body(f) : feed_head(f);
}

/* Returns the log, which ends in "..." if a message is incomplete; the caller frees it. */
static inline struct fumi_buf feed_end(struct feed *f)
{
    struct fumi_buf log = f->log;
    if (!f->fault.status && (f->in_body || f->n))
        fumi_buf_add(&log, "...", 3);
    if (f->wrong)
        fumi_buf_add(&log, "WRONG", 5);
    fumi_buf_done(&f->body);
    free(f->bytes);
    return log;
}

#endif
