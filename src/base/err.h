/* The one error type. Its code is the JSON-RPC code; nothing is translated on the way out. */
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
    FUMI_LIMIT = -32000, /* busy, out of time, or an answer larger than allowed */
};

struct fumi_err {
    int code;             /* 0: no error */
    char text[200];       /* one sentence that names the field and the remedy */
    struct fumi_str data; /* JSON for the peer's program, or none */
};

/* Sets code and sentence (cut at a character if too long), clears data, returns -1. Cold: whatever
 * leads to an error is kept apart from what runs for every call. */
int fumi_err_set(struct fumi_err *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));
int fumi_err_args(struct fumi_err *e, int code, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0), cold));

#ifdef __cplusplus
}
#endif

#endif
