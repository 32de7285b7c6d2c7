/* Base64 (RFC 4648) with padding. */
#ifndef FUMI_BASE_BASE64_H
#define FUMI_BASE_BASE64_H

#include "base/arena.h"

/* The alphabets of base64 and of base64url, which is safe in URLs and file names. */
extern const char fumi_base64_digits[65], fumi_base64url_digits[65];

/* Returns the base64 text of the bytes, in the arena. */
struct fumi_str fumi_base64(struct fumi_arena *a, struct fumi_str bytes);

/* Encodes with the given alphabet: writes (bytes.n + 2) / 3 * 4 characters, padding included, and
 * returns the end of the text, which is not terminated. */
char *fumi_base64_put(char *to, struct fumi_str bytes, const char digits[65]);

/* Decodes base64. Returns the bytes in the arena; p is NULL if the text is not exactly what
 * fumi_base64 writes. */
struct fumi_str fumi_base64_read(struct fumi_arena *a, struct fumi_str text);

/* Decodes base64url without padding. Returns the number of bytes written to `to`; 0 if the text is
 * empty or invalid, or if it stands for more than `most` bytes. */
size_t fumi_base64url_get(char *to, size_t most, struct fumi_str text);

#endif
