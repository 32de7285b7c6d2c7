/* Requests that are malformed, ambiguous or at a limit, and the expected responses. The comment of
 * each row gives the reason. Section numbers are those of RFC 9112 (syntax of HTTP/1.1) or, with a
 * leading S, of RFC 9110 (semantics). */
#ifndef PEERS_MALFORMED_ROWS_H
#define PEERS_MALFORMED_ROWS_H

#include "base/str.h"

struct row {
    struct fumi_str bytes; /* "$" stands for `unit`, repeated `times` times */
    const char *want;      /* the statuses, and what happens to the connection */
    const char *contains;  /* text that the last response contains */
    int times;
    const char *unit;
};

#define ROW(text, wanted)                                                                          \
    {                                                                                              \
        .bytes = FUMI_STR(text), .want = wanted                                                    \
    }
#define ROW_WITH(text, wanted, thing)                                                              \
    {                                                                                              \
        .bytes = FUMI_STR(text), .want = wanted, .contains = thing                                 \
    }
#define ROW_OF(text, wanted, n, what)                                                              \
    {                                                                                              \
        .bytes = FUMI_STR(text), .want = wanted, .times = n, .unit = what                          \
    }

#define CALL    "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1}" /* 40 bytes: 28 in hex */
#define DONE    "\"result\":null,\"id\":1}"
#define POST    "POST /rpc HTTP/1.1\r\nHost: h\r\n"
#define LENGTH  "Content-Length: 40\r\n"
#define BODY    "\r\n" CALL
#define GOOD    POST LENGTH BODY
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define GET     "GET /healthz HTTP/1.1\r\nHost: h\r\n"
#define SIX     "x: 1\r\n"

static const struct row length_rows[] = {
    /* A valid request, which the others vary. */
    ROW_WITH(GOOD, "200 kept", DONE),
    /* Both framings: a reader that uses the other one sees another request (6.1). */
    ROW(POST LENGTH "Transfer-Encoding: chunked\r\n\r\n28\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* The same in the other order: the last one must not win either. */
    ROW(POST "Transfer-Encoding: chunked\r\n" LENGTH BODY, "400 close"),
    /* Two lengths that agree: a recipient may refuse them (6.3), and we do. */
    ROW(POST LENGTH LENGTH BODY, "400 close"),
    /* Two lengths that differ have no meaning at all (6.3). */
    ROW(POST LENGTH "Content-Length: 4\r\n" BODY, "400 close"),
    /* The same as a list in one field (6.3). */
    ROW(POST "Content-Length: 40, 40\r\n" BODY, "400 close"),
    /* A length is digits only (S8.6): lax readers of numbers take a sign. */
    ROW(POST "Content-Length: +40\r\n" BODY, "400 close"),
    /* A negative length would be a huge one. */
    ROW(POST "Content-Length: -40\r\n" BODY, "400 close"),
    /* Hexadecimal, as strtol with base 0 reads it. */
    ROW(POST "Content-Length: 0x28\r\n" BODY, "400 close"),
    /* A blank inside: some read 4 of it, others 40. */
    ROW(POST "Content-Length: 4 0\r\n" BODY, "400 close"),
    /* No digits: an empty value is not the same as 0. */
    ROW(POST "Content-Length:\r\n" BODY, "400 close"),
    /* Digits and other characters after them. */
    ROW(POST "Content-Length: 40;\r\n" BODY, "400 close"),
    /* A fraction. */
    ROW(POST "Content-Length: 40.0\r\n" BODY, "400 close"),
    /* In quotes. */
    ROW(POST "Content-Length: \"40\"\r\n" BODY, "400 close"),
    /* A vertical tab is not white space here. */
    ROW(POST "Content-Length: \v40\r\n" BODY, "400 close"),
    /* 2^32 + 40, which 32 bits take for 40: it is too large (S15.5.14). */
    ROW(POST "Content-Length: 4294967336\r\n" BODY, "413 close"),
    /* 2^64 + 40, which 64 bits take for 40. */
    ROW(POST "Content-Length: 18446744073709551656\r\n" BODY, "400 close"),
    /* One byte more than a message may have, known from the head alone (S15.5.14). */
    ROW_WITH(POST "Content-Length: 1048577\r\n\r\n", "413 close", "-32600"),
    /* Leading zeros are digits (S8.6). */
    ROW_WITH(POST "Content-Length: 0040\r\n" BODY, "200 kept", DONE),
    /* White space around a value is not part of it (5). */
    ROW_WITH(POST "Content-Length:\t 40 \t\r\n" BODY, "200 kept", DONE),
    /* Field names are case-insensitive (S5.1). */
    ROW_WITH(POST "cOnTeNt-LeNgTh: 40\r\n" BODY, "200 kept", DONE),
    /* An empty body is an invalid JSON-RPC message, which is answered with HTTP 200. */
    ROW_WITH(POST "Content-Length: 0\r\n\r\n", "200 kept", "-32700"),
    /* A name with an underscore is another name. */
    ROW_WITH(POST "Content_Length: 4\r\n" LENGTH BODY, "200 kept", DONE),
    /* A POST must declare the length of its body (S15.5.12). Without it there is no body (6.3). */
    ROW(POST "\r\n", "411 kept"),
    /* So the intended body is read as the next request, a malformed one. */
    ROW(POST BODY, "411 400 close"),
    /* The body of a GET is framed like any other and ignored (S9.3.1): no second response. */
    ROW(GET "Content-Length: 44\r\n\r\nGET /missing HTTP/1.1\r\nHost: h\r\nx: abcdefg\r\n\r\n",
        "200 kept"),
    /* The body of a refused request is not a request either. */
    ROW("PUT /rpc HTTP/1.1\r\nHost: h\r\nContent-Length: 34\r\n\r\n"
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
        "405 kept"),
};

static const struct row coding_rows[] = {
    /* Valid chunked encoding. */
    ROW_WITH(CHUNKED "28\r\n" CALL "\r\n0\r\n\r\n", "200 kept", DONE),
    /* In pieces, with leading zeros and capital digits. */
    ROW_WITH(CHUNKED "000A\r\n{\"jsonrpc\"\r\n1E\r\n:\"2.0\",\"method\":\"echo\",\"id\":1}\r\n"
                     "0\r\n\r\n",
             "200 kept", DONE),
    /* Names of codings are case-insensitive (7). */
    ROW_WITH(POST "Transfer-Encoding:\tChunked \r\n\r\n28\r\n" CALL "\r\n0\r\n\r\n", "200 kept",
             DONE),
    /* An extension is ignored (7.1.1). */
    ROW_WITH(CHUNKED "28;name=\"value\"\r\n" CALL "\r\n0;x\r\n\r\n", "200 kept", DONE),
    /* Trailers are dropped (7.1.2), including fields that would frame a body in a head. */
    ROW_WITH(CHUNKED "28\r\n" CALL "\r\n0\r\nContent-Length: 4\r\nHost: x\r\n\r\n", "200 kept",
             DONE),
    /* The last coding must be chunked, or the end is unknown (6.3). */
    ROW(POST "Transfer-Encoding: identity\r\n" BODY, "400 close"),
    ROW(POST "Transfer-Encoding: chunked, gzip\r\n" BODY, "400 close"),
    ROW(POST "Transfer-Encoding:\r\n" BODY, "400 close"),
    /* A name that is only similar. */
    ROW(POST "Transfer-Encoding: xchunked\r\n" BODY, "400 close"),
    ROW(POST "Transfer-Encoding: chunked-not\r\n" BODY, "400 close"),
    /* Chunked must not be applied twice (6.1). */
    ROW(POST "Transfer-Encoding: chunked, chunked\r\n" BODY, "400 close"),
    ROW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" BODY, "400 close"),
    /* Two fields, of which some servers see only one. */
    ROW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" BODY, "400 close"),
    /* Its end is known, but the coding is not supported (6.1). */
    ROW(POST "Transfer-Encoding: gzip, chunked\r\n" BODY, "501 close"),
    /* Parameters of chunked are not defined, so they are refused. */
    ROW(POST "Transfer-Encoding: chunked;q=1\r\n" BODY, "400 close"),
    /* In quotes it is not a token. */
    ROW(POST "Transfer-Encoding: \"chunked\"\r\n" BODY, "400 close"),
    /* HTTP/1.0 has no transfer codings: a proxy that forwarded this did not understand it (6.1). */
    ROW("POST /rpc HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n" CALL
        "\r\n0\r\n\r\n",
        "400 close"),
    /* A size is hexadecimal digits and nothing else (7.1): with a prefix, */
    ROW(CHUNKED "0x28\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* with an underscore, */
    ROW(CHUNKED "2_8\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* with signs, */
    ROW(CHUNKED "+28\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    ROW(CHUNKED "-28\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* with blanks around it, */
    ROW(CHUNKED " 28\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    ROW(CHUNKED "28 \r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* with another letter, */
    ROW(CHUNKED "2g\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* with none, */
    ROW(CHUNKED "\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* or only with an extension. */
    ROW(CHUNKED ";x\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* 2^64 + 40 in 17 digits: 64 bits would take it for 40. */
    ROW(CHUNKED "10000000000000028\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* The largest 64-bit number: too large, whatever follows. */
    ROW(CHUNKED "ffffffffffffffff\r\n" CALL "\r\n0\r\n\r\n", "413 close"),
    /* One byte more than a message may have, in one chunk, and in the second. */
    ROW_WITH(CHUNKED "100001\r\n", "413 close", "-32600"),
    ROW_WITH(CHUNKED "1\r\n{\r\n100000\r\n", "413 close", "-32600"),
    /* A bare line feed after a size (2.2 allows it for lines; in chunks readers disagree). */
    ROW(CHUNKED "28\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* A bare carriage return. */
    ROW(CHUNKED "28\r" CALL "\r\n0\r\n\r\n", "400 close"),
    /* A bare line feed after the data, and in the last line. */
    ROW(CHUNKED "28\r\n" CALL "\n0\r\n\r\n", "400 close"),
    ROW(CHUNKED "28\r\n" CALL "\r\n0\r\n\n", "400 close"),
    /* No line end after the data. */
    ROW(CHUNKED "28\r\n" CALL "0\r\n\r\n", "400 close"),
    /* More data than declared. */
    ROW(CHUNKED "27\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* A NUL and a line feed in an extension, where other readers end the line (7.1.1). */
    ROW(CHUNKED "28;a\0b\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    ROW(CHUNKED "28;a\nb\r\n" CALL "\r\n0\r\n\r\n", "400 close"),
    /* A trailer is a field line like any other. */
    ROW(CHUNKED "28\r\n" CALL "\r\n0\r\nnothing\r\n\r\n", "400 close"),
    ROW(CHUNKED "28\r\n" CALL "\r\n0\r\nx : 1\r\n\r\n", "400 close"),
    ROW(CHUNKED "28\r\n" CALL "\r\n0\r\n x: 1\r\n\r\n", "400 close"),
    /* Extensions and trailers have limits as heads do (7.1.1). */
    ROW_OF(CHUNKED "28;$\r\n", "431 close", 17000, "x"),
    ROW_OF(CHUNKED "28\r\n" CALL "\r\n0\r\n$\r\n", "431 close", 101, SIX),
};

static const struct row line_rows[] = {
    /* A folded line: some readers append it to the field above, others read a new field (5.2). */
    ROW(POST "x: 1\r\n " LENGTH BODY, "400 close"),
    ROW(POST "x: 1\r\n\tmore\r\n" LENGTH BODY, "400 close"),
    /* The same before the first field (2.2). */
    ROW("POST /rpc HTTP/1.1\r\n Host: h\r\n" LENGTH BODY, "400 close"),
    /* Some readers end a line at a bare carriage return (2.2). */
    ROW(POST "x: 1\rTransfer-Encoding: chunked\r\n" LENGTH BODY, "400 close"),
    ROW(POST "x: 1\r\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\rHost: h\r\n" LENGTH BODY, "400 close"),
    /* The same for a bare line feed. A server need not accept it (2.2), and a proxy must not
     * forward it. */
    ROW(POST "x: 1\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW(POST LENGTH "\n" CALL, "400 close"),
    /* A NUL ends C strings, and so a field or a line for some readers (S5.5). */
    ROW(POST "x: 1\0 2\r\n" LENGTH BODY, "400 close"),
    ROW(POST "x\0y: 1\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc\0 HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST\0 /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    /* Other control characters are not allowed in values either (S5.5). */
    ROW(POST "x: a\bb\r\n" LENGTH BODY, "400 close"),
    ROW(POST "x: a\x7f\r\n" LENGTH BODY, "400 close"),
    /* Bytes above ASCII are allowed in values (S5.5). */
    ROW_WITH(POST "x: \xc3\xa9\xff\r\n" LENGTH BODY, "200 kept", DONE),
    /* They are not allowed in names (S5.1). */
    ROW(POST "x\xc3\xa9: 1\r\n" LENGTH BODY, "400 close"),
    /* A space before the colon: some readers drop the space, others the field (5.1). */
    ROW(POST "Content-Length : 40\r\n" BODY, "400 close"),
    ROW(POST LENGTH "Transfer-Encoding\t: chunked\r\n" BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\r\nHost : h\r\n" LENGTH BODY, "400 close"),
    /* A blank in a name. */
    ROW(POST "Content Length: 40\r\n" BODY, "400 close"),
    /* A line without a colon, and one with an empty name. */
    ROW(POST "nothing\r\n" LENGTH BODY, "400 close"),
    ROW(POST ": nothing\r\n" LENGTH BODY, "400 close"),
    /* A byte that is not allowed in names. */
    ROW(POST "x(y): 1\r\n" LENGTH BODY, "400 close"),
    /* An empty value is a value. */
    ROW_WITH(POST "x:\r\n" LENGTH BODY, "200 kept", DONE),
    /* HTTP/1.1 must name its host (3.2), */
    ROW("POST /rpc HTTP/1.1\r\n" LENGTH BODY, "400 close"),
    /* once, */
    ROW(POST "Host: h\r\n" LENGTH BODY, "400 close"),
    ROW(POST "Host: other\r\n" LENGTH BODY, "400 close"),
    /* and as a host: not empty, not two, no path, no user, no spaces. */
    ROW("POST /rpc HTTP/1.1\r\nHost:\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\r\nHost: h, other\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\r\nHost: h/rpc\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\r\nHost: me@h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1\r\nHost: h x\r\n" LENGTH BODY, "400 close"),
    /* Any other name may be that of a page that uses DNS rebinding. The request itself is
     * well-formed. */
    ROW("POST /rpc HTTP/1.1\r\nHost: other\r\n" LENGTH BODY, "403 kept"),
    ROW("POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:1\r\n" LENGTH BODY, "403 kept"),
    /* The same for an origin that is not allowed, and the origin "null". */
    ROW(POST "Origin: http://other\r\n" LENGTH BODY, "403 kept"),
    ROW(POST "Origin: null\r\n" LENGTH BODY, "403 kept"),
    /* A request line of just 8 KiB, and one byte more (3). */
    ROW_OF("GET /$ HTTP/1.1\r\nHost: h\r\n\r\n", "404 kept", 8178, "a"),
    ROW_OF("GET /$ HTTP/1.1\r\nHost: h\r\n\r\n", "414 close", 8179, "a"),
    /* A line that never ends is too long. */
    ROW_OF("GET /$", "414 close", 20000, "a"),
    /* 100 fields are accepted (including Host), 101 are too many (S15.5.22 is used for both
     * limits). */
    ROW_OF(GET "$\r\n", "200 kept", 99, SIX),
    ROW_OF(GET "$\r\n", "431 close", 100, SIX),
    /* A field that makes the head larger than 16 KiB, with and without the end of the head. */
    ROW_OF(GET "x: $\r\n\r\n", "431 close", 16400, "a"),
    ROW_OF(GET "x: $", "431 close", 40000, "a"),
    ROW_OF(GET "x$: 1\r\n\r\n", "431 close", 16400, "a"),
};

static const struct row start_rows[] = {
    /* An empty line before a request may be left from the previous one (2.2). */
    ROW_WITH("\r\n" GOOD, "200 kept", DONE),
    /* Only one is accepted; RFC 9112 requires at least one. */
    ROW("\r\n\r\n" GOOD, "400 close"),
    /* Not a line end. */
    ROW("\n" GOOD, "400 close"),
    ROW(" " GOOD, "400 close"),
    /* Another version with the same syntax, which is not supported (S15.6.6). */
    ROW("POST /rpc HTTP/1.2\r\nHost: h\r\n" LENGTH BODY, "505 close"),
    ROW("POST /rpc HTTP/2.0\r\nHost: h\r\n" LENGTH BODY, "505 close"),
    ROW("POST /rpc HTTP/0.9\r\nHost: h\r\n" LENGTH BODY, "505 close"),
    /* The preface of HTTP/2 without prior negotiation. */
    ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 close"),
    /* Invalid versions (2.3): the name is case-sensitive, and each number has one digit. */
    ROW("POST /rpc http/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.10\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/01.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1,1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc HTTP/1.1 \r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc JSON/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    /* HTTP/0.9 has no version; its responses have no status. */
    ROW("GET /rpc\r\n\r\n", "400 close"),
    /* Exactly one space between the parts (3). */
    ROW("POST  /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc  HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST\t/rpc\tHTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    /* A method is a token (S9.1). */
    ROW("PO(ST /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("P\xc3\x96ST /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    /* A TLS client on a plain port gets a response at once instead of a timeout. */
    ROW("\x16\x03\x01\x02", "400 close"),
    /* A target must not contain spaces, fragments or bytes above ASCII (3.2, RFC 3986). */
    ROW("POST /rpc /x HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc#x HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST /rpc\xc3\xa9 HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    /* It begins with a slash or is an absolute URL; "*" is for OPTIONS, a bare host for proxies. */
    ROW("POST rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST * HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", "400 close"),
    /* An absolute URL is accepted (3.2.2) */
    ROW_WITH("POST http://h/rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "200 kept", DONE),
    ROW("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", "404 kept"),
    /* if it has our host and scheme, and Host is the same. */
    ROW("POST http://other/rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST http://other/rpc HTTP/1.1\r\nHost: other\r\n" LENGTH BODY, "403 kept"),
    ROW("POST https://h/rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST http://me@h/rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
    ROW("POST http:///rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "400 close"),
};

static const struct row routing_rows[] = {
    /* An unknown path (S15.5.5); paths are compared byte by byte, so no other spelling matches. */
    ROW("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "404 kept"),
    ROW("POST /rpc/ HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "404 kept"),
    ROW("POST /RPC HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "404 kept"),
    ROW("POST //rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "404 kept"),
    ROW("POST /x/../rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "404 kept"),
    ROW("POST /%72pc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "404 kept"),
    /* A query is not part of the path. */
    ROW_WITH("POST /rpc?x=/y HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "200 kept", DONE),
    /* Another method (S15.5.6): Allow lists the methods of the path. Methods are case-sensitive
     * (S9.1). */
    ROW_WITH("GET /rpc HTTP/1.1\r\nHost: h\r\n\r\n", "405 kept", "Allow: POST, OPTIONS"),
    ROW_WITH("post /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "405 kept", "Allow: POST, OPTIONS"),
    ROW_WITH("TRACE /rpc HTTP/1.1\r\nHost: h\r\n\r\n", "405 kept", "Allow: POST, OPTIONS"),
    ROW_WITH("ANYTHING /rpc HTTP/1.1\r\nHost: h\r\n\r\n", "405 kept", "Allow: POST, OPTIONS"),
    ROW_WITH("DELETE /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "405 kept", "Allow: GET, HEAD"),
    ROW_WITH("POST /healthz HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "405 kept", "Allow: GET, HEAD"),
    /* HEAD is GET without the body, whatever the length (S9.3.2); also for errors. */
    ROW_WITH("HEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "200 kept", "Content-Length: 16"),
    ROW_WITH("HEAD /rpc HTTP/1.1\r\nHost: h\r\n\r\n", "405 kept", "Allow: POST, OPTIONS"),
    ROW("HEAD /missing HTTP/1.1\r\nHost: h\r\n\r\n", "404 kept"),
    /* OPTIONS lists the methods (S9.3.7). */
    ROW_WITH("OPTIONS /rpc HTTP/1.1\r\nHost: h\r\n\r\n", "200 kept", "Allow: POST, OPTIONS"),
    ROW_WITH("OPTIONS /rpc HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "200 kept", "Allow: POST"),
    ROW("OPTIONS /missing HTTP/1.1\r\nHost: h\r\n\r\n", "404 kept"),
    /* The preflight of an allowed origin succeeds; any other is refused (Fetch, 3.2.2). */
    ROW_WITH("OPTIONS /rpc HTTP/1.1\r\nHost: h\r\nOrigin: http://page\r\n"
             "Access-Control-Request-Method: POST\r\n\r\n",
             "204 kept", "Access-Control-Allow-Origin: http://page\r\nVary: Origin\r\n"),
    ROW("OPTIONS /rpc HTTP/1.1\r\nHost: h\r\nOrigin: http://page.other\r\n"
        "Access-Control-Request-Method: POST\r\n\r\n",
        "403 kept"),
    /* JSON under its three media types, in any case, with parameters; or without a type. */
    ROW_WITH(POST "Content-Type: application/json-rpc\r\n" LENGTH BODY, "200 kept", DONE),
    ROW_WITH(POST "Content-Type: application/jsonrequest\r\n" LENGTH BODY, "200 kept", DONE),
    ROW_WITH(POST "Content-Type: Application/JSON ; charset=utf-8\r\n" LENGTH BODY, "200 kept",
             DONE),
    /* Other types (S15.5.16): a page may send these without a preflight. */
    ROW(POST "Content-Type: text/plain\r\n" LENGTH BODY, "415 kept"),
    ROW(POST "Content-Type: application/x-www-form-urlencoded\r\n" LENGTH BODY, "415 kept"),
    ROW(POST "Content-Type: application/jsonp\r\n" LENGTH BODY, "415 kept"),
    ROW(POST "Content-Type:\r\n" LENGTH BODY, "415 kept"),
    ROW(POST "Content-Type: application/json\r\nContent-Type: text/plain\r\n" LENGTH BODY,
        "415 kept"),
    /* A refused body that is not short is not read to its end. */
    ROW(POST "Content-Type: text/plain\r\nContent-Length: 70000\r\n\r\n", "415 close"),
    ROW(POST "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n", "415 close"),
    /* /ws is for WebSocket (S15.5.22): the response to other requests names the required upgrade.
     */
    ROW_WITH("GET /ws HTTP/1.1\r\nHost: h\r\n\r\n", "426 kept", "Upgrade: websocket\r\n"),
    ROW_WITH("POST /ws HTTP/1.1\r\nHost: h\r\n" LENGTH BODY, "426 kept", "Upgrade: websocket"),
    ROW_WITH("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
             "426 kept", "Upgrade: websocket\r\n"),
    /* On other paths an Upgrade field may be ignored (S7.8); some clients always send one. */
    ROW_WITH(POST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk"
                  "\r\n" LENGTH BODY,
             "200 kept", DONE),
    ROW(GET "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "200 kept"),
    /* The client sends its body after 100 Continue, or without waiting (S10.1.1). */
    ROW_WITH(POST "Expect: 100-Continue\r\n" LENGTH BODY, "200 kept", DONE),
    /* No other expectation is defined (S10.1.1). */
    ROW(POST "Expect: 200-ok\r\n" LENGTH BODY, "417 close"),
    ROW(POST "Expect: 100-continue, more\r\n" LENGTH BODY, "417 close"),
    /* A refused request gets no 100 Continue. Whether its body follows is unknown, so the
     * connection is closed. */
    ROW(POST "Expect: 100-continue\r\nContent-Type: text/plain\r\n" LENGTH "\r\n", "415 close"),
    ROW(POST "Expect: 100-continue\r\nContent-Length: 1048577\r\n\r\n", "413 close"),
    /* HTTP/1.0: the connection is closed unless the client requests to keep it (9.3); Expect is
     * ignored. */
    ROW_WITH("POST /rpc HTTP/1.0\r\nHost: h\r\n" LENGTH BODY, "200 close", DONE),
    ROW_WITH("POST /rpc HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n" LENGTH BODY, "200 kept",
             "Connection: keep-alive\r\n"),
    ROW_WITH("POST /rpc HTTP/1.0\r\nHost: h\r\nExpect: 100-continue\r\n" LENGTH BODY, "200 close",
             DONE),
    /* HTTP/1.0 may omit Host; the request is then refused, because an allowed host is required. */
    ROW("POST /rpc HTTP/1.0\r\n" LENGTH BODY, "403 close"),
    /* The connection is closed if either side requests it (9.6), whatever else is in the list. */
    ROW_WITH(POST "Connection: close\r\n" LENGTH BODY, "200 close", DONE),
    ROW_WITH(POST "Connection: keep-alive, Close\r\n" LENGTH BODY, "200 close", DONE),
    ROW_WITH(POST "Connection: x\r\nConnection: close\r\n" LENGTH BODY, "200 close", DONE),
    /* A part of a token does not match. */
    ROW_WITH(POST "Connection: close-not\r\n" LENGTH BODY, "200 kept", DONE),
    /* Responses are in the order of the requests, one for each (9.3.2). */
    ROW_WITH(GOOD GOOD GOOD, "200 200 200 kept", DONE),
    ROW_WITH(GET "\r\n" GOOD "GET / HTTP/1.1\r\nHost: h\r\n\r\n" GOOD, "200 200 404 200 kept",
             DONE),
    /* After a malformed request the start of the next one is unknown: it is not answered. */
    ROW(GOOD POST LENGTH LENGTH BODY GOOD, "200 400 close"),
    /* After the last request nothing is answered (9.6). */
    ROW_WITH(POST "Connection: close\r\n" LENGTH BODY GOOD, "200 close", DONE),
    /* Invalid JSON gets a JSON-RPC error, and notifications get no body. */
    ROW_WITH(POST "Content-Length: 5\r\n\r\n{\"a\":", "200 kept", "-32700"),
    ROW(POST "Content-Length: 35\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"update\"}", "204 kept"),
};

#endif
