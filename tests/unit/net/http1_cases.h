/* Input and what is found in it, one line each. "..." at the end: more bytes are needed. A line
 * that begins with "!": status and reason of a fault. */
#ifndef FUMI_HTTP1_CASES_H
#define FUMI_HTTP1_CASES_H

#include "base/str.h"

struct http_case {
    struct fumi_str in;
    const char *want;
};

#define IN(literal)                                                                                \
    {                                                                                              \
        "" literal, sizeof(literal) - 1                                                            \
    }
#define GET   "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST  "POST /rpc HTTP/1.1\r\nHost: a\r\n"
#define CHUNK POST "Transfer-Encoding: chunked\r\n\r\n"
#define FOUND "POST /rpc 1.1 keep"
#define SIXTY "123456789.123456789.123456789.123456789.123456789.123456789."

/* clang-format off */
static const struct http_case request_lines[] = {
    /* The simplest request. */
    {IN(GET "\r\n"), "GET / 1.1 keep\n"},
    /* Path and query are separated at the first question mark and stay encoded. */
    {IN("GET /a%2Fb/../c?x=1?y=%00 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /a%2Fb/../c?x=1?y=%00 1.1 keep\n"},
    /* An empty query is not the same as none. */
    {IN("GET /? HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /? 1.1 keep\n"},
    /* Two slashes do not begin an authority. */
    {IN("GET //evil/x HTTP/1.1\r\nHost: a\r\n\r\n"), "GET //evil/x 1.1 keep\n"},
    /* A method in lower case is another method; the router refuses it. */
    {IN("get / HTTP/1.1\r\nHost: a\r\n\r\n"), "get / 1.1 keep\n"},
    /* A method is any token. */
    {IN("M-SEARCH!#$%&'*+.^_`|~09 / HTTP/1.1\r\nHost: a\r\n\r\n"), "M-SEARCH!#$%&'*+.^_`|~09 / 1.1 keep\n"},
    /* OPTIONS may apply to the whole server. */
    {IN("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS * 1.1 keep\n"},
    /* No other method may use "*". */
    {IN("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* "*" must be the whole target. */
    {IN("OPTIONS *a HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* An absolute target must be accepted (RFC 9112, 3.2.2). */
    {IN("GET http://a/b?c HTTP/1.1\r\nHost: A\r\n\r\n"), "GET /b?c 1.1 keep\n"},
    /* Its scheme has no case, and its path may be missing. */
    {IN("GET HTTP://a HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / 1.1 keep\n"},
    /* Its path may be missing before a query too. */
    {IN("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /?b 1.1 keep\n"},
    /* Filters check Host: two different hosts in one request would mislead them. */
    {IN("GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 Host differs from the target\n"},
    /* Host is required beside an absolute target too. */
    {IN("GET http://a/ HTTP/1.1\r\n\r\n"), "!400 Host is missing\n"},
    /* An absolute target must contain a host. */
    {IN("GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* User and password are not allowed. */
    {IN("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* TLS is not supported. */
    {IN("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* The scheme alone is shorter than the comparison. */
    {IN("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* Another scheme, and one that is not closed. */
    {IN("GET httq://aaaa/ HTTP/1.1\r\nHost: aaaa\r\n\r\n"), "!400 malformed target\n"},
    {IN("GET http:/a/bcd HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* CONNECT is for proxies. */
    {IN("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"), "!400 malformed target\n"},
    /* A path without its slash. */
    {IN("GET rpc HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* A client must not send a fragment. */
    {IN("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* Not ASCII. */
    {IN("GET /\xC3\xA4 HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* NUL, where some readers end the string. */
    {IN("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* DEL is a control character as well. */
    {IN("GET /\x7F HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* A blank in the target looks like the end of it: the version is wrong then. */
    {IN("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* No target at all: two blanks. */
    {IN("GET  HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* Two blanks before the target. */
    {IN("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* Two blanks before the version. */
    {IN("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* A tab is not a blank here. */
    {IN("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed method\n"},
    /* Nor behind the target. */
    {IN("GET /\tHTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed target\n"},
    /* A blank behind the version. */
    {IN("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* A blank before the method; known from the first byte on. */
    {IN(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed method\n"},
    /* A method that is no token. */
    {IN("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), "!400 malformed method\n"},
    /* The answer of a server is not a request. */
    {IN("HTTP/1.1 200 OK\r\n\r\n"), "!400 malformed method\n"},
    /* TLS, whose client waits for an answer: recognized at the first byte. */
    {IN("\x16\x03\x01"), "!400 malformed method\n"},
    /* HTTP/0.9 had no version. */
    {IN("GET /\r\n"), "!400 malformed target\n"},
    /* A version that is written out and is not ours. */
    {IN("GET / HTTP/0.9\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    /* A later minor version may change what bytes mean. */
    {IN("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    /* The HTTP/2 preface. */
    {IN("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "!505 only HTTP/1.1 and HTTP/1.0 are supported\n"},
    /* The protocol name is case-sensitive. */
    {IN("GET / http/1.1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* One digit on either side. */
    {IN("GET / HTTP/1.10\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    {IN("GET / HTTP/11.1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    {IN("GET / HTTP/a.1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    {IN("GET / HTTP/1.:\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    {IN("GET / HTTP/1./\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* A point between them. */
    {IN("GET / HTTP/1,1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* A version that ends too early. */
    {IN("GET / HTTP/1\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* A control character behind it. */
    {IN("GET / HTTP/1.1\0\r\nHost: a\r\n\r\n"), "!400 control character\n"},
    /* Another protocol. */
    {IN("GET / RTSP/1.0\r\nHost: a\r\n\r\n"), "!400 malformed version\n"},
    /* Some readers accept a line feed alone, which allows smuggling. */
    {IN("GET / HTTP/1.1\nHost: a\n\n"), "!400 bare line feed\n"},
    /* A carriage return alone. */
    {IN("GET / HTTP/1.1\rHost: a\r\n\r\n"), "!400 bare carriage return\n"},
    /* Two of them. */
    {IN("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"), "!400 bare carriage return\n"},
    /* An empty line may be left over from the request before (RFC 9112, 2.2). */
    {IN("\r\n" GET "\r\n"), "GET / 1.1 keep\n"},
    /* Two empty lines are not allowed. */
    {IN("\r\n\r\n" GET "\r\n"), "!400 malformed method\n"},
    /* A line feed alone is no empty line. */
    {IN("\n" GET "\r\n"), "!400 malformed method\n"},
    /* Nor is a carriage return. */
    {IN("\r" GET "\r\n"), "!400 malformed method\n"},
};

static const struct http_case field_lines[] = {
    /* Blanks and tabs around a value are not part of it. */
    {IN("GET / HTTP/1.1\r\nHost:\t a \t\r\n\r\n"), "GET / 1.1 keep\n"},
    /* None is required. */
    {IN("GET / HTTP/1.1\r\nhOST:a\r\n\r\n"), "GET / 1.1 keep\n"},
    /* A value may be empty, and hold tabs and bytes that are not ASCII. */
    {IN(GET "A:\r\nB: \r\nC: \xE4\tx \xFF" SIXTY "\t" SIXTY "\r\n\r\n"), "GET / 1.1 keep\n"},
    /* A name may be any token, and longer than a SIMD block. */
    {IN(GET "!#$%&'*+-.^_`|~09: x\r\nX-" SIXTY ": y\r\n\r\n"), "GET / 1.1 keep\n"},
    /* HTTP/1.1 requires Host. */
    {IN("GET / HTTP/1.1\r\n\r\n"), "!400 Host is missing\n"},
    /* Only one. */
    {IN(GET "Host: a\r\n\r\n"), "!400 repeated Host\n"},
    /* In HTTP/1.0 too. */
    {IN("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"), "!400 repeated Host\n"},
    /* An http URI has a host that is not empty (RFC 9110, 4.2.1). */
    {IN("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "!400 malformed Host\n"},
    /* Malformed hosts and ports. */
    {IN("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "!400 malformed Host\n"},
    {IN("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), "!400 malformed Host\n"},
    {IN("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), "!400 malformed Host\n"},
    /* An address of version 6 with port. */
    {IN("GET / HTTP/1.1\r\nHost: [::1]:8765\r\n\r\n"), "GET / 1.1 keep\n"},
    /* HTTP/1.0 had no Host, and did not keep connections. */
    {IN("GET / HTTP/1.0\r\n\r\n"), "GET / 1.0 close\n"},
    /* Unless requested. */
    {IN("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), "GET / 1.0 keep\n"},
    /* close overrides keep-alive. */
    {IN("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), "GET / 1.0 close\n"},
    /* In a list, in any case, and on a second line. */
    {IN(GET "Connection: a ,,\tClose\r\n\r\n"), "GET / 1.1 close\n"},
    {IN(GET "Connection: x\r\nConnection: close\r\n\r\n"), "GET / 1.1 close\n"},
    /* Not within another word. */
    {IN(GET "Connection: closed, not-close\r\n\r\n"), "GET / 1.1 keep\n"},
    /* An upgrade needs both fields. */
    {IN(GET "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"), "GET / 1.1 keep upgrade=websocket\n"},
    /* One of them alone is ignored. */
    {IN(GET "Upgrade: websocket\r\n\r\n"), "GET / 1.1 keep\n"},
    {IN(GET "Connection: upgrade\r\n\r\n"), "GET / 1.1 keep\n"},
    /* In HTTP/1.0 it must be ignored (RFC 9110, 7.8). */
    {IN("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"), "GET / 1.0 close\n"},
    /* The client waits for 100 Continue. */
    {IN(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"), FOUND " continue {x}\n"},
    /* Without a body the expectation is ignored. */
    {IN(POST "Expect: 100-continue\r\n\r\n"), FOUND "\n"},
    /* HTTP/1.0 does not know "100 Continue". */
    {IN("POST /rpc HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"), "POST /rpc 1.0 close {x}\n"},
    /* An unknown expectation. */
    {IN(POST "Expect: 200-ok\r\n\r\n"), "!417 unknown expectation\n"},
    {IN(POST "Expect:\r\n\r\n"), "!417 unknown expectation\n"},
    /* A folded line is a second field to readers that do not unfold. */
    {IN(GET "A: b\r\n c\r\n\r\n"), "!400 folded field line\n"},
    {IN(GET "A: b\r\n\tc\r\n\r\n"), "!400 folded field line\n"},
    /* The same after the request line. */
    {IN("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), "!400 folded field line\n"},
    /* A blank before the colon makes a name that other readers do not recognise. */
    {IN(POST "Content-Length : 5\r\n\r\nhello"), "!400 blank in or after a field name\n"},
    {IN(POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"), "!400 blank in or after a field name\n"},
    /* A blank within a name. */
    {IN(GET "A b: c\r\n\r\n"), "!400 blank in or after a field name\n"},
    /* No name. */
    {IN(GET ": c\r\n\r\n"), "!400 empty field name\n"},
    /* No colon. */
    {IN(GET "abc\r\n\r\n"), "!400 field line without a colon\n"},
    /* Names that are no tokens. */
    {IN(GET "a(b): c\r\n\r\n"), "!400 malformed field name\n"},
    {IN(GET "a\xC3\xA4: c\r\n\r\n"), "!400 malformed field name\n"},
    {IN(GET "a\0: c\r\n\r\n"), "!400 malformed field name\n"},
    {IN(GET "\x7F: c\r\n\r\n"), "!400 malformed field name\n"},
    /* For some readers a bare line feed ends the line and begins another field. */
    {IN(GET "A: b\nContent-Length: 5\r\n\r\n"), "!400 bare line feed\n"},
    /* The same for a bare carriage return. */
    {IN(GET "A: b\rContent-Length: 5\r\n\r\n"), "!400 bare carriage return\n"},
    {IN(GET "A: b\r\r\n\r\n"), "!400 bare carriage return\n"},
    /* NUL, DEL and other controls in a value. */
    {IN(GET "A: b\0c\r\n\r\n"), "!400 control character\n"},
    {IN(GET "A: b\x7F" "c\r\n\r\n"), "!400 control character\n"},
    {IN(GET "A: " SIXTY "\x0B\r\n\r\n"), "!400 control character\n"},
    /* The empty line is one as well. */
    {IN(GET "\n"), "!400 field line without a colon\n"},
    {IN(GET "\rx\r\n\r\n"), "!400 field line without a colon\n"},
    /* Incomplete heads. */
    {IN(GET), "..."},
    {IN("G"), "..."},
    {IN("\r\n"), "..."},
    /* No input. */
    {IN(""), ""},
};

static const struct http_case framings[] = {
    /* A body of known length, and what follows it. */
    {IN(POST "Content-Length: 5\r\n\r\nhello" GET "\r\n"), FOUND " {hello}\nGET / 1.1 keep\n"},
    /* An empty body. */
    {IN(POST "Content-Length: 0\r\n\r\n"), FOUND " {}\n"},
    /* A body on GET is unusual, but its bytes are not the next request. */
    {IN(GET "Content-Length: 3\r\n\r\nGET"), "GET / 1.1 keep {GET}\n"},
    /* Without a length there is no body, even for POST: the rest is the next request. */
    {IN(POST "\r\nhello"), FOUND "\n..."},
    /* Leading zeros are allowed. */
    {IN(POST "Content-Length: 0005\r\n\r\nhello"), FOUND " {hello}\n"},
    /* An incomplete body. */
    {IN(POST "Content-Length: 5\r\n\r\nhell"), FOUND "..."},
    /* Both framings: two proxies could use different ones. */
    {IN(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "!400 both Content-Length and Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), "!400 both Content-Length and Transfer-Encoding\n"},
    /* Also with a length of 0. */
    {IN(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"), "!400 both Content-Length and Transfer-Encoding\n"},
    /* Two different lengths. */
    {IN(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), "!400 repeated Content-Length\n"},
    /* The same length twice. */
    {IN(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), "!400 repeated Content-Length\n"},
    /* Also in one line. */
    {IN(POST "Content-Length: 5, 5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 5, 6\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    /* Numbers that lenient parsers accept. */
    {IN(POST "Content-Length: +5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: -5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 0x5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 5 5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 5_0\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 5.0\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: 1e1\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: \"5\"\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    {IN(POST "Content-Length: \xD9\xA5\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    /* No number at all. */
    {IN(POST "Content-Length:\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    /* 2^64 + 5 must not overflow. */
    {IN(POST "Content-Length: 18446744073709551621\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    /* Too many leading zeros. */
    {IN(POST "Content-Length: 00000000000000000005\r\n\r\nhello"), "!400 malformed Content-Length\n"},
    /* Too large, detected before the body arrives. */
    {IN(POST "Content-Length: 1048577\r\n\r\n"), "!413 the body is too large\n"},
    {IN(POST "Content-Length: 9999999999999999999\r\n\r\n"), "!413 the body is too large\n"},
    /* A malformed head takes precedence over a limit. */
    {IN("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n"), "!400 Host is missing\n"},
    /* The only supported coding, in any case. */
    {IN(POST "Transfer-Encoding: \tChunked \r\n\r\n0\r\n\r\n"), FOUND " {}\n"},
    /* Chunked twice would have to be decoded twice. */
    {IN(POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), "!400 repeated Transfer-Encoding\n"},
    /* A coding on a second line. */
    {IN(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"), "!400 repeated Transfer-Encoding\n"},
    /* identity is no longer a coding. */
    {IN(POST "Transfer-Encoding: identity\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: identity, chunked\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    /* The end of such a body is unknown. */
    {IN(POST "Transfer-Encoding: gzip\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked, gzip\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    /* Here the end is known, but the coding is not supported. */
    {IN(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), "!501 only chunked is supported as Transfer-Encoding\n"},
    /* Variants of chunked that http-garden found accepted by servers. */
    {IN(POST "Transfer-Encoding: xchunked\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunkedx\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked;q=1\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: ,chunked\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked,\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding: chunked ,\t\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding:\r\n\r\n"), "!400 malformed Transfer-Encoding\n"},
    {IN(POST "Transfer-Encoding:\x0B" "chunked\r\n\r\n"), "!400 control character\n"},
    {IN(POST "Transfer_Encoding: chunked\r\n\r\n"), FOUND "\n"},
    /* HTTP/1.0 has no chunks; an HTTP/1.0 proxy forwards the field without understanding it. */
    {IN("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "!400 Transfer-Encoding in HTTP/1.0\n"},
};

static const struct http_case chunk_cases[] = {
    /* Two chunks and the next request. */
    {IN(CHUNK "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n" GET "\r\n"), FOUND " {hello!}\nGET / 1.1 keep\n"},
    /* No chunk at all. */
    {IN(CHUNK "0\r\n\r\n"), FOUND " {}\n"},
    /* Sizes are hexadecimal in either case, with zeros in front. */
    {IN(CHUNK "00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n"), FOUND " {01234567890123456789}\n"},
    /* Data may contain any bytes. */
    {IN(CHUNK "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), FOUND " {\r\n0\r\n\r\n}\n"},
    /* Extensions are discarded, also quoted ones. */
    {IN(CHUNK "1;a=b;c=\"d e\t\xE4\"\r\nx\r\n0;z\r\n\r\n"), FOUND " {x}\n"},
    /* Trailers are discarded and never become fields: this length is ignored. */
    {IN(CHUNK "0\r\nContent-Length: 9\r\nB:\r\n\r\n" GET "\r\n"), FOUND " {}\nGET / 1.1 keep\n"},
    /* Incomplete at each position. */
    {IN(CHUNK), FOUND "..."},
    {IN(CHUNK "5\r\nhel"), FOUND "..."},
    {IN(CHUNK "5\r\nhello\r\n0\r\n"), FOUND "..."},
    {IN(CHUNK "0\r\nA: b\r\n"), FOUND "..."},
    /* Sizes that lenient parsers accept, as found by http-garden. */
    {IN(CHUNK "0x1\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "+1\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "-1\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "1_0\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK " 1\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "1 \r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "1\t;a\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "1,1\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "g\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    /* No size at all. */
    {IN(CHUNK "\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK ";a\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    /* 2^64 + 1 must not overflow. */
    {IN(CHUNK "10000000000000001\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    /* Too large, detected from the size. */
    {IN(CHUNK "100001\r\nx"), FOUND "!413 the body is too large\n"},
    {IN(CHUNK "ffffffffffffffff\r\nx"), FOUND "!413 the body is too large\n"},
    /* Too large together with earlier chunks. */
    {IN(CHUNK "1\r\nx\r\n100000\r\nx"), FOUND "!413 the body is too large\n"},
    {IN(CHUNK "1\r\nx\r\nffffffffffffffff\r\nx"), FOUND "!413 the body is too large\n"},
    /* The size line ends in CR LF. */
    {IN(CHUNK "1\nx\r\n0\r\n\r\n"), FOUND "!400 malformed chunk size\n"},
    {IN(CHUNK "1\rx\r\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    /* Line ends in an extension. */
    {IN(CHUNK "1;a\nx\r\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "1;a\rb\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "1;\0\r\nx\r\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    /* Data longer than its size. */
    {IN(CHUNK "1\r\nxy\r\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    /* Data without its line end, or with half of it. */
    {IN(CHUNK "1\r\nx0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "1\r\nx\n0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "1\r\nx\r0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    /* The last line ends in CR LF too. */
    {IN(CHUNK "0\r\n\n"), FOUND "!400 malformed trailer\n"},
    {IN(CHUNK "0\r\n\rG"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "0\n\n"), FOUND "!400 malformed chunk size\n"},
    /* Malformed trailers: folded, without name, without colon, blank before the colon. */
    {IN(CHUNK "0\r\n a: b\r\n\r\n"), FOUND "!400 malformed trailer\n"},
    {IN(CHUNK "0\r\n: b\r\n\r\n"), FOUND "!400 malformed trailer\n"},
    {IN(CHUNK "0\r\nGET / HTTP/1.1\r\n\r\n"), FOUND "!400 malformed trailer\n"},
    {IN(CHUNK "0\r\na : b\r\n\r\n"), FOUND "!400 malformed trailer\n"},
    {IN(CHUNK "0\r\na: b\nc: d\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
    {IN(CHUNK "0\r\na: \0\r\n\r\n"), FOUND "!400 malformed line end in a chunked body\n"},
};

/* Under limits of 20 bytes a line, 60 a head, 3 fields and 10 a body. */
static const struct http_case limit_cases[] = {
    /* A line of 20 bytes. */
    {IN("GET /34567 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /34567 1.1 keep\n"},
    {IN("GET /345678 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /345678 1.1 keep\n"},
    /* One of 21. */
    {IN("GET /3456789 HTTP/1.1\r\nHost: a\r\n\r\n"), "!414 the request line is too long\n"},
    /* A preceding empty line does not count. */
    {IN("\r\nGET /345678 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /345678 1.1 keep\n"},
    {IN("\r\nGET /3456789 HTTP/1.1\r\nHost: a\r\n\r\n"), "!414 the request line is too long\n"},
    /* A line can be too long before it ends, even if malformed. */
    {IN("GET /3456789 HTTP/1.1"), "..."},
    {IN("GET /3456789 HTTP/1.1\r"), "!414 the request line is too long\n"},
    {IN("GET  /" SIXTY), "!414 the request line is too long\n"},
    {IN("\r" SIXTY), "!414 the request line is too long\n"},
    /* A malformed line within the limit is malformed. */
    {IN("GET  /\r\n" SIXTY SIXTY), "!400 malformed target\n"},
    /* A head of 60 bytes, and of 61. */
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: 123456789.123456789.12345678\r\n\r\n"), "GET / 1.1 keep\n"},
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: 123456789.123456789.123456789\r\n\r\n"), "!431 the head is too large\n"},
    /* At 60 bytes without an end it is too large. */
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: 123456789.123456789.123456789.1"), "..."},
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: 123456789.123456789.123456789.12"), "!431 the head is too large\n"},
    /* Bytes after the head do not count. */
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: 123456789.123456789.12345678\r\n\r\nGET"), "GET / 1.1 keep\n..."},
    /* Malformed beyond the limit is too large; within the limit it is malformed. */
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA: " SIXTY "\n\r\n"), "!431 the head is too large\n"},
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA\r\n" SIXTY SIXTY), "!400 field line without a colon\n"},
    /* Three fields, and one more. */
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n"), "GET / 1.1 keep\n"},
    {IN("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n\r\n"), "!431 too many fields\n"},
    /* A body of ten bytes, and of eleven. */
    {IN("P / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"), "P / 1.1 keep {0123456789}\n"},
    {IN("P / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n0123456789"), "!413 the body is too large\n"},
};

/* Chunked bodies under limits of 60 bytes for all extensions and trailers, 3 trailers, 10 a body. */
#define TINY "P / HTTP/1.1\r\nHost:a\r\nTransfer-Encoding:chunked\r\n\r\n"
static const struct http_case chunk_limit_cases[] = {
    /* Ten bytes in two chunks, and eleven. */
    {IN(TINY "9\r\n123456789\r\n1\r\na\r\n0\r\n\r\n"), "P / 1.1 keep {123456789a}\n"},
    {IN(TINY "9\r\n123456789\r\n2\r\nab\r\n0\r\n\r\n"), "P / 1.1 keep!413 the body is too large\n"},
    /* All extensions together may have 60 bytes, including the line ends and the final lines. */
    {IN(TINY "1;123456789.123456789.123456789.123456789.123456789.1234567\r\na\r\n0\r\n\r\n"), "P / 1.1 keep {a}\n"},
    {IN(TINY "1;123456789.123456789.123456789.123456789.123456789.12345678\r\na\r\n0\r\n\r\n"),
        "P / 1.1 keep!431 extensions or trailers are too large\n"},
    {IN(TINY "1;123456789.123456789.\r\na\r\n1;123456789.123456789.\r\na\r\n1;123456789.123456789.\r\na\r\n0\r\n\r\n"),
        "P / 1.1 keep!431 extensions or trailers are too large\n"},
    /* So may trailers. */
    {IN(TINY "0\r\nA: " SIXTY "\r\n\r\n"), "P / 1.1 keep!431 extensions or trailers are too large\n"},
    {IN(TINY "0\r\nA:\r\nB:\r\nC:\r\n\r\n"), "P / 1.1 keep {}\n"},
    {IN(TINY "0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n"), "P / 1.1 keep!431 too many trailers\n"},
};
/* clang-format on */

#endif
