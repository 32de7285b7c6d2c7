/* The error type of libfumi. Its code is the code of the JSON-RPC error that the peer receives. */
#ifndef FUMI_BASE_ERR_H
#define FUMI_BASE_ERR_H

#include "../base/str.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, code, message, meaning): the message is the one that JSON-RPC prescribes for the code.
 * NULL: the text of the error is the message. */
#define FUMI_CODES(X)                                                                              \
    X(FUMI_PARSE_ERROR, -32700, "Parse error", "The message is not valid JSON.")                   \
    X(FUMI_INVALID_REQUEST, -32600, "Invalid Request",                                             \
      "The message is not a JSON-RPC request, or exceeds a limit.")                                \
    X(FUMI_METHOD_NOT_FOUND, -32601, "Method not found", "The server has no such method.")         \
    X(FUMI_INVALID_PARAMS, -32602, "Invalid params",                                               \
      "A parameter is missing, unknown, of the wrong type or out of range.")                       \
    X(FUMI_INTERNAL_ERROR, -32603, "Internal error",                                               \
      "A fault of the server; its log has details.")                                               \
    X(FUMI_LIMIT, -32000, NULL,                                                                    \
      "The server is overloaded, the call timed out, or its answer is too large.")

enum fumi_code {
#define FUMI_CODE(name, code, ...) name = code,
    FUMI_CODES(FUMI_CODE)
#undef FUMI_CODE
};

struct fumi_err {
    int code;             /* 0: no error */
    char text[200];       /* a sentence for users, with the field and the remedy */
    struct fumi_str data; /* JSON for programs, borrowed; p is NULL: none */
};

/* Sets code and text, which is truncated at a character boundary if it is too long, clears data,
 * and returns -1. Cold: the compiler moves code that leads to an error out of the hot path. */
int fumi_err_set(struct fumi_err *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));
int fumi_err_args(struct fumi_err *e, int code, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0), cold));

#ifdef __cplusplus
}
#endif

#endif
