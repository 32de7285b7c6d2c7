#include "base/err.h"

#include "base/utf8.h"

#include <stdio.h>

int fumi_err_args(struct fumi_err *e, int code, const char *fmt, va_list args)
{
    int n = vsnprintf(e->text, sizeof(e->text), fmt, args);
    size_t most = sizeof(e->text) - 1;
    if (n < 0)
        e->text[0] = '\0';
    if (n > (int)most)
        e->text[fumi_utf8_cut((struct fumi_str){e->text, most}, most).n] = '\0';
    e->code = code;
    e->data = (struct fumi_str){0};
    return -1;
}

int fumi_err_set(struct fumi_err *e, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(e, code, fmt, args);
    va_end(args);
    return -1;
}
