/* Private to rpc/: answers that are short, which most are. */
#ifndef FUMI_RPC_ANSWER_H
#define FUMI_RPC_ANSWER_H

#include "rpc/exchange.h"
#include "json/real.h"

#define ANSWER_HEAD "{\"jsonrpc\":\"2.0\",\"result\":"
enum { ANSWER_HEAD_N = sizeof(ANSWER_HEAD) - 1, ANSWER_END_N = 7 }; /* of the end, without the id */

/* Room for an answer with a whole number, but for its id. */
enum { ANSWER_ID = 16, ANSWER_SHORT = 1 + ANSWER_HEAD_N + REAL_WHOLE + ANSWER_END_N + ANSWER_ID };

static inline char *answer_begin(char *to, char before)
{
    if (FUMI_MOSTLY(before))
        *to++ = before;
    memcpy(to, ANSWER_HEAD, ANSWER_HEAD_N);
    return to + ANSWER_HEAD_N;
}

/* text_end, if it is given: that of the text that the id is in; then there must be room for an
 * ANSWER_ID more. */
static inline __attribute__((always_inline)) char *answer_end(char *to, struct fumi_str id,
                                                              const char *text_end)
{
    memcpy(to, ",\"id\":", 6);
    if (text_end && id.n <= ANSWER_ID && text_end - id.p >= ANSWER_ID)
        memcpy(to + 6, id.p, ANSWER_ID); /* with what follows it: one move instead of a call */
    else
        memcpy(to + 6, id.p, id.n);
    to[6 + id.n] = '}';
    return to + ANSWER_END_N + id.n;
}

static inline struct fumi_str answer_id(const struct fumi_val *id)
{
    return FUMI_MOSTLY(id) ? fumi_raw(id) : FUMI_STR("null");
}

/* An answer with a whole number, in `room` bytes at b->p of which b->n are used. False: it is
 * another, or there is no room. text_end: see answer_end. */
static inline __attribute__((always_inline)) bool answer_short(struct fumi_buf *b, size_t room,
                                                               char before, double result,
                                                               const struct fumi_val *id,
                                                               const char *text_end)
{
    struct fumi_str text = answer_id(id);
    if (FUMI_RARELY(b->n + ANSWER_SHORT + text.n > room))
        return false;
    char *to = real_write_quickly(answer_begin(b->p + b->n, before), result);
    if (FUMI_MOSTLY(to))
        b->n = (size_t)(answer_end(to, text, text_end) - b->p);
    return to;
}

/* Bytes of the buffer that such answers may use. */
static inline size_t answer_room(const struct fumi_buf *b, size_t limit)
{
    return b->full ? 0 : b->cap < limit ? b->cap : limit;
}

#endif
