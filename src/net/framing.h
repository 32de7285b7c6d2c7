/* How messages are delimited in a byte stream. */
#ifndef FUMI_NET_FRAMING_H
#define FUMI_NET_FRAMING_H

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_framing {
    FUMI_FRAMING_AUTO,    /* a server: detected by the first bytes of the peer; a client: lines */
    FUMI_FRAMING_LINES,   /* one message per line (NDJSON) */
    FUMI_FRAMING_HEADERS, /* after a Content-Length head, as in the Language Server Protocol */
};

#ifdef __cplusplus
}
#endif

#endif
