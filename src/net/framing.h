/* How messages are delimited in a byte stream. */
#ifndef FUMI_NET_FRAMING_H
#define FUMI_NET_FRAMING_H

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_framing {
    FUMI_FRAMING_AUTO,    /* server: detected from the first bytes received; client: lines */
    FUMI_FRAMING_LINES,   /* one message per line (NDJSON) */
    FUMI_FRAMING_HEADERS, /* Content-Length headers, as in the Language Server Protocol */
};

#ifdef __cplusplus
}
#endif

#endif
