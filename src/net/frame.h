/* Messages with a header that gives their length, as in the Language Server Protocol:
 *
 *   Content-Length: 52\r\n
 *   Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n     (optional)
 *   \r\n
 *   {"jsonrpc":"2.0", ...
 *
 * Works on byte buffers; uses no socket. */
#ifndef FUMI_NET_FRAME_H
#define FUMI_NET_FRAME_H

#include "base/buf.h"
#include "base/err.h"

enum { FRAME_HEAD_MAX = 4096 }; /* including the empty line */

/* Reads the header at the beginning of the bytes. Returns 1: the header has *used bytes, and a
 * message of *length bytes follows. Returns 0: the header is incomplete. Returns -1 with *e set
 * (FUMI_INVALID_REQUEST) if the header is longer than FRAME_HEAD_MAX, has a malformed line, no
 * Content-Length or two of them, a Content-Length that is not a number of 1 to 15 digits, or a
 * charset other than UTF-8. The beginning of the next message is then unknown. */
int frame_read(struct fumi_str bytes, size_t *used, size_t *length, struct fumi_err *e);

/* Whether a stream that begins with these bytes uses such headers. Returns 1: yes; -1: no; 0: more
 * bytes are needed. */
int frame_detect(struct fumi_str bytes);

/* Appends the header and the message. `out` must have no limit that they exceed. */
void frame_put(struct fumi_buf *out, struct fumi_str message);

#endif
