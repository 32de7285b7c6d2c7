/* The error type of libfumi. Its code is the code of the JSON-RPC error that the peer receives. */
#ifndef FUMI_BASE_ERR_H
#define FUMI_BASE_ERR_H

#include "../base/str.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_code {
    FUMI_PARSE_ERROR = -32700,
    FUMI_INVALID_REQUEST = -32600,
    FUMI_METHOD_NOT_FOUND = -32601,
    FUMI_INVALID_PARAMS = -32602,
    FUMI_INTERNAL_ERROR = -32603,
    FUMI_LIMIT = -32000, /* overloaded, timeout, or an answer that exceeds its size limit */
};

struct fumi_err {
    int code;             /* 0: no error */
    char text[200];       /* a sentence for people: names the field and the remedy */
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
