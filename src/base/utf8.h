/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef FUMI_BASE_UTF8_H
#define FUMI_BASE_UTF8_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the valid sequence at p (1 to 4), or 0 when there is none before end. p < end. */
size_t fumi_utf8_step(const char *p, const char *end);

bool fumi_utf8_valid(struct fumi_str s);

/* Inside a JSON string: goes over valid UTF-8 from p on and returns the first '"', '\\' or byte
 * below 0x20, or end when there is none; NULL when it meets invalid UTF-8 before that, which
 * includes a sequence that one of them or end cuts short. p begins a character. */
const char *fumi_utf8_run(const char *p, const char *end);

/* Characters in a valid text: what JSON Schema calls its length. */
size_t fumi_utf8_count(struct fumi_str s);

/* Writes c (not a surrogate, at most 0x10FFFF) and returns how many bytes it took. */
size_t fumi_utf8_write(uint32_t c, char out[4]);

/* The longest prefix of at most n bytes that does not end inside a character. Looks only at the
 * bytes it keeps or drops, never behind them. */
struct fumi_str fumi_utf8_cut(struct fumi_str s, size_t n);

#ifdef __cplusplus
}
#endif

#endif
