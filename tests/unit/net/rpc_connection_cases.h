/* Responses to one call with the id 1, and the outcome. An expected text that begins with '!' is
 * part of the error that the call fails with; otherwise it is the result, or code and message of an
 * error. */
#ifndef FUMI_RPC_CONNECTION_CASES_H
#define FUMI_RPC_CONNECTION_CASES_H

#include "rpc_connection_peer.h"

struct answer_row {
    struct fumi_str in;
    const char *want;
    enum action then; /* 0: BREAK */
};

#define OK      "HTTP/1.1 200 OK\r\n"
#define JSON    "Content-Type: application/json\r\n"
#define FIVE    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}" /* 35 bytes */
#define HEAD    OK JSON "Content-Length: 35\r\n"
#define CHUNKS  OK JSON "Transfer-Encoding: chunked\r\n\r\n"
#define EVENTS  OK "Content-Type: text/event-stream\r\n"
#define REFUSED "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\"}}"
#define SAYS_NOT                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":7,\"message\":\"no\",\"data\":[1]}}"

static const struct answer_row http_answers[] = {
    /* Valid responses, with every kind of framing. */
    {SAYS(HEAD "\r\n" FIVE), "5", HOLD},
    {SAYS(HEAD "Connection: close\r\n\r\n" FIVE), "5", HOLD},
    {SAYS(OK JSON "\r\n" FIVE), "5", BREAK},
    {SAYS(CHUNKS "23\r\n" FIVE "\r\n0\r\n\r\n"), "5", HOLD},
    {SAYS("HTTP/1.0 200 OK\r\n" JSON "\r\n" FIVE), "5", BREAK},
    {SAYS("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n" HEAD "\r\n" FIVE), "5", HOLD},
    {SAYS(OK "content-type: APPLICATION/JSON; charset=utf-8\r\nContent-Length: 35\r\n\r\n" FIVE),
     "5", HOLD},
    {SAYS(OK "Content-Type: application/json-rpc\r\nContent-Length: 35\r\n\r\n" FIVE), "5", HOLD},
    {SAYS(OK "Content-Length: 35\r\n\r\n" FIVE), "5", HOLD},
    {SAYS(HEAD "Content-Encoding: identity\r\n\r\n" FIVE), "5", HOLD},
    {SAYS("HTTP/1.1 202 Accepted\r\nContent-Length: 35\r\n\r\n" FIVE), "5", HOLD},
    /* More bytes than announced: the answer is valid, the connection is not reused. */
    {SAYS(HEAD "\r\n" FIVE "HTTP/1.1 200 OK"), "5", HOLD},
    {SAYS(OK JSON "\r\n" SAYS_NOT), "7 no [1]", BREAK},
    {SAYS(OK JSON "\r\n[" FIVE "]"), "5", BREAK},
    /* An error without an id, as the answer to this message. */
    {SAYS(OK JSON "\r\n" REFUSED), "-32600 no", BREAK},
    {SAYS("HTTP/1.1 400 Bad Request\r\n" JSON "\r\n" SAYS_NOT), "7 no [1]", BREAK},
    {SAYS("HTTP/1.1 400 Bad Request\r\n" JSON "\r\n" REFUSED), "-32600 no", BREAK},
    /* No answer at all. */
    {SAYS(""), "!has closed the connection before it answered", BREAK},
    {SAYS(""), "!lost", RESET},
    {SAYS(""), "!no answer to m from http://127.0.0.1:", HOLD},
    {SAYS("HTTP/1.1 2"), "!has closed the connection before it answered", BREAK},
    {SAYS("HTTP/1.1 2"), "!no answer to m", HOLD},
    {SAYS("HTTP/1.1 100 Continue\r\n\r\n"), "!has closed the connection before it answered", BREAK},
    {SAYS(HEAD "\r\n{\"json"), "!cannot be read: the body is cut short", BREAK},
    {SAYS(HEAD "\r\n{\"json"), "!no answer to m", HOLD},
    {SAYS(CHUNKS "23\r\n" FIVE "\r\n"), "!cannot be read: the body is cut short", BREAK},
    {SAYS("HTTP/1.1 204 No Content\r\n\r\n"), "!answered HTTP 204 without a message", HOLD},
    {SAYS(OK JSON "Content-Length: 0\r\n\r\n"), "!answered HTTP 200 without a message", HOLD},
    /* Not HTTP, or malformed. */
    {SAYS("SSH-2.0-OpenSSH_9.2\r\n"), "!cannot be read: malformed status line", HOLD},
    {SAYS(FIVE "\n"), "!cannot be read: malformed status line", HOLD},
    {SAYS("\x15\x03\x01\x00\x02\x02\x16"), "!cannot be read: malformed status line", HOLD},
    {SAYS("HTTP/2.0 200 OK\r\n\r\n"), "!only HTTP/1.1 and HTTP/1.0", HOLD},
    {SAYS("HTTP/1.1 200 OK\nContent-Length: 35\n\n" FIVE), "!bare line feed", HOLD},
    {SAYS(HEAD "Content-Length: 35\r\n\r\n" FIVE), "!repeated Content-Length", HOLD},
    {SAYS(HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "!both Content-Length and", HOLD},
    {SAYS(OK "Content-Length: -1\r\n\r\n"), "!malformed Content-Length", HOLD},
    {SAYS(OK "Content-Length: 1000000000000\r\n\r\n"), "!the body is too large", HOLD},
    {SAYS(CHUNKS "FFFFFFFF\r\n"), "!the body is too large", HOLD},
    {SAYS(CHUNKS "zz\r\n"), "!malformed chunk size", HOLD},
    {SAYS(HEAD " folded\r\n\r\n"), "!folded field line", HOLD},
    {SAYS(HEAD "Content-Encoding: gzip\r\n\r\n"), "!Content-Encoding", HOLD},
    {SAYS("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
     "!it switches the protocol", HOLD},
    /* Error statuses, with their remedies. */
    {SAYS("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nwho?"),
     "!refused: HTTP 401 Unauthorized (who?); give the token", HOLD},
    {SAYS("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), "!refused: HTTP 403 Forbidden",
     HOLD},
    {SAYS("HTTP/1.1 404 Not Found\r\n\r\nnothing\nhere"), "!404 Not Found (nothing); is the path",
     BREAK},
    {SAYS("HTTP/1.1 307 x\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"),
     "!HTTP 307 ; redirects are not followed", HOLD},
    {SAYS("HTTP/1.1 500 x\r\nContent-Length: 2\r\n\r\n\xFF\xFE"), "!HTTP 500 Internal", HOLD},
    {SAYS("HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n"), "!try again later", HOLD},
    /* JSON that is not an answer to the call. */
    {SAYS(OK "Content-Type: text/html\r\n\r\n<html>"), "!is text/html, not application/json",
     BREAK},
    {SAYS(OK JSON "\r\n{\"jsonrpc\""), "!is not a valid message: ", BREAK},
    {SAYS(OK JSON "\r\n[]"), "!is not a valid message: batch is empty", BREAK},
    {SAYS(OK JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":5}"), "!id is not that of an open",
     BREAK},
    {SAYS(OK JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5,\"error\":{}}"),
     "!the answer to m is malformed: result and error exclude", BREAK},
    {SAYS(OK JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"x\"}}"),
     "!the answer to m is malformed: error.code", BREAK},
    {SAYS(OK JSON "\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"), "!names another call", BREAK},
    /* Events. */
    {SAYS(EVENTS "\r\ndata: " FIVE "\n\n"), "5", BREAK},
    {SAYS(EVENTS "\r\n: hello\r\nevent: message\r\nid: 7\r\ndata:{\"jsonrpc\":\"2.0\",\r\n"
                 "data: \"id\":1,\r\ndata: \"result\":5}\r\n\r\n"),
     "5", HOLD},
    {SAYS(EVENTS "\r\ndata: " FIVE "\r\r"), "5", BREAK},
    {SAYS(EVENTS "Transfer-Encoding: chunked\r\n\r\n7\r\ndata: {\r\n2c\r\n\"jsonrpc\":\"2.0\","
                 "\"id\":1,\"result\":5}\n\n\ndata\n\n\n\r\n0\r\n\r\n"),
     "5", HOLD},
    {SAYS(EVENTS "\r\ndata: " FIVE "\n"), "!ended without an answer", BREAK},
    {SAYS(EVENTS "\r\ndata: nonsense\n\n"), "!is not a valid message", BREAK},
    {SAYS(EVENTS "\r\n: beat\n\n: beat\n\n"), "!no answer to m", HOLD},
    {SAYS(EVENTS "Content-Length: 0\r\n\r\n"), "!ended without an answer", HOLD},
};

/* Invalid responses to the handshake. */
static const struct answer_row handshakes[] = {
    {SAYS("HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"),
     "!is wrong: Sec-WebSocket-Accept is wrong", HOLD},
    {SAYS("HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
     "!Sec-WebSocket-Accept is wrong", HOLD},
    {SAYS("HTTP/1.1 101 S\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
     "!it upgrades to another protocol", HOLD},
    {SAYS("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n"), "!it upgrades to another protocol",
     HOLD},
    {SAYS("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "!HTTP 200", HOLD},
    {SAYS("HTTP/1.1 401 Unauthorized\r\n\r\n"), "!HTTP 401 Unauthorized; give the token", HOLD},
    {SAYS("HTTP/1.1 403 Forbidden\r\n\r\n"), "!HTTP 403 Forbidden", HOLD},
    {SAYS("HTTP/1.1 404 Not Found\r\n\r\n"), "!is the path right?", HOLD},
    {SAYS("RFB 003.008\n"), "!does not answer with HTTP: malformed status line", HOLD},
    {SAYS("HTTP/1.1 101 S\r\nA: b\nC: d\r\n\r\n"), "!bare line feed", HOLD},
    {SAYS(""), "!closed the connection during the handshake", BREAK},
    {SAYS("HTTP/1.1 101 S\r\nUpg"), "!closed the connection during the handshake", BREAK},
    {SAYS("HTTP/1.1 101 S\r\nUpg"), "!does not answer the handshake", HOLD},
};

/* Frames from a server after the handshake. `kept` are the frames expected back. */
struct frame_row {
    struct fumi_str in;
    const char *want, *kept;
    enum action then;
};

#define M "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}\n"

static const struct frame_row frames[] = {
    {SAYS("\x81\x23" FIVE), "5", "1:" M, FRAME},
    /* In two fragments, with a ping between them, which is answered. */
    {SAYS("\x01\x02{\"\x89\x02hi\x80\x21jsonrpc\":\"2.0\",\"id\":1,\"result\":5}"), "5",
     "1:" M "10:hi\n", FRAME},
    {SAYS("\x8A\x00\x81\x23" FIVE), "5", "1:" M, FRAME},
    /* Answers to unknown calls are ignored. */
    {SAYS("\x81\x02{}\x81\x02[]\x81\x04nope\x81\x23" FIVE), "5", "1:" M, FRAME},
    /* A server must not mask. */
    {SAYS("\x81\xA3\0\0\0\0" FIVE), "!(1002): a server must not mask", "8:1002 ", FRAME},
    {SAYS("\x82\x23" FIVE), "!(1003): messages must be text", "8:1003 ", FRAME},
    {SAYS("\x81\x01\xFF"), "!(1007): a text message must be UTF-8", "8:1007 ", FRAME},
    {SAYS("\xC1\x23" FIVE), "!(1002): a reserved bit is set", "8:1002 ", FRAME},
    {SAYS("\x83\x01x"), "!(1002): the opcode is unknown", "8:1002 ", FRAME},
    {SAYS("\x80\x01x"), "!(1002): there is no message to continue", "8:1002 ", FRAME},
    {SAYS("\x09\x01x"), "!(1002): a control frame must not be fragmented", "8:1002 ", FRAME},
    {SAYS("\x81\x7F\0\0\0\1\0\0\0\0"), "!(1009): the message is longer", "8:1009 ", FRAME},
    /* Close frames, which are answered. */
    {SAYS("\x88\x06\x03\xE9"
          "away"),
     "!has closed the connection (1001: away)", "8:1001 ", FRAME},
    {SAYS("\x88\x00"), "!has closed the connection (1005)", "8:1005 ", FRAME},
    /* Truncated frames. */
    {SAYS(""), "!has closed the connection; calls that were open may have run", "1:", BREAK},
    {SAYS("\x81\x23{\"json"), "!has closed the connection", "1:", BREAK},
    {SAYS("\x81"), "!no answer to m", "rpc.cancel", FRAME},
    {SAYS("\x81\x04nope"), "!the last message was not valid", "rpc.cancel", FRAME},
    {SAYS("GET / HTTP/1.1\r\n"), "!(1002)", "8:1002 ", FRAME},
};

/* One message per line. The peer reads the call first. */
static const struct answer_row lines[] = {
    {SAYS(FIVE "\n"), "5", HOLD},
    {SAYS(FIVE "\r\n"), "5", HOLD},
    {SAYS("\n\r\n\n" FIVE "\n"), "5", HOLD},
    {SAYS("a log line that does not belong here\n" FIVE "\n"), "5", HOLD},
    {SAYS("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":1}\n" FIVE "\n"), "5", HOLD},
    {SAYS("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":1}\n" FIVE "\n"), "5", HOLD},
    {SAYS("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n" FIVE "\n"), "5", HOLD},
    {SAYS("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}," FIVE "]\n"), "5", HOLD},
    {SAYS(SAYS_NOT "\n"), "7 no [1]", HOLD},
    {SAYS(REFUSED "\n"), "-32600 no", HOLD},
    {SAYS("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5,\"error\":{}}\n"),
     "!the answer to m is malformed", HOLD},
    {SAYS("{\"id\":1,\"result\":5}\n"), "!the answer to m is malformed: jsonrpc", HOLD},
    {SAYS("Listening on port 80\n"), "!no answer to m", HOLD},
    {SAYS("Listening on port 80\n"), "!the last message was not valid: ", HOLD},
    {SAYS(FIVE), "!has closed the connection", BREAK}, /* a line without line feed is incomplete */
    {SAYS(FIVE), "!no answer to m", HOLD},
    {SAYS(""), "!has closed the connection", BREAK},
};

#endif
