/* How messages are separated on a stream of bytes. */
#ifndef FUMI_NET_FRAMING_H
#define FUMI_NET_FRAMING_H

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_framing {
    FUMI_FRAMING_AUTO,    /* a server: as the first bytes of the peer say; a client: lines */
    FUMI_FRAMING_LINES,   /* one message a line (NDJSON) */
    FUMI_FRAMING_HEADERS, /* behind a head with Content-Length, as the Language Server Protocol */
};

#ifdef __cplusplus
}
#endif

#endif
