/* UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. Thread-safe. */
#ifndef FUMI_BASE_UTF8_H
#define FUMI_BASE_UTF8_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the length (1 to 4) of the valid sequence at p < end, or 0 if there is none. */
size_t fumi_utf8_step(const char *p, const char *end);

/* Whether the text is valid UTF-8. */
bool fumi_utf8_valid(struct fumi_str s);

/* Scans the content of a JSON string from p, the start of a character: returns the first '"', '\\'
 * or byte below 0x20, or end if there is none. Returns NULL if the bytes before it are not valid
 * UTF-8; a sequence that is truncated there is invalid. */
const char *fumi_utf8_run(const char *p, const char *end);

/* The number of characters in a valid text, as in minLength of JSON Schema. */
size_t fumi_utf8_count(struct fumi_str s);

/* Writes the code point c (not a surrogate, at most 0x10FFFF) and returns its length in bytes. */
size_t fumi_utf8_write(uint32_t c, char out[4]);

/* Truncates: returns the longest prefix of at most n bytes that does not end inside a character.
 * Never reads past the first n bytes. */
struct fumi_str fumi_utf8_cut(struct fumi_str s, size_t n);

#ifdef __cplusplus
}
#endif

#endif
