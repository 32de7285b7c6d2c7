/* Messages behind a head that tells their length, as the Language Server Protocol has them:
 *
 *   Content-Length: 52\r\n
 *   Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n     (may be left out)
 *   \r\n
 *   {"jsonrpc":"2.0", ...
 *
 * Bytes only; touches no descriptor. */
#ifndef FUMI_NET_FRAME_H
#define FUMI_NET_FRAME_H

#include "base/buf.h"
#include "base/err.h"

enum { FRAME_HEAD_MAX = 4096 }; /* bytes of a head, the blank line included */

/* Reads a head at the beginning of the bytes. 1: *used bytes are the head, and a message of *length
 * bytes follows. 0: the head is not complete yet. -1 with *e set (FUMI_INVALID_REQUEST): the head
 * is longer than FRAME_HEAD_MAX, has a line that is no field, no Content-Length, two of them, one
 * that is not a number of 1 to 15 digits, or a charset other than UTF-8. Where the next message
 * begins is not known then. */
int frame_read(struct fumi_str bytes, size_t *used, size_t *length, struct fumi_err *e);

/* Whether a peer that begins with these bytes sends heads: 1 yes, -1 no, 0 not known yet. */
int frame_detect(struct fumi_str bytes);

/* Appends the message with its head. */
void frame_put(struct fumi_buf *out, struct fumi_str message);

#endif
