/* Base64 (RFC 4648) with padding, strictly. */
#ifndef FUMI_BASE_BASE64_H
#define FUMI_BASE_BASE64_H

#include "base/arena.h"

/* The digits of base64 and of base64url, which may stand in URLs and file names. */
extern const char fumi_base64_digits[65], fumi_base64url_digits[65];

struct fumi_str fumi_base64(struct fumi_arena *a, struct fumi_str bytes);

/* Writes 4 characters for every 3 bytes begun, padding included, with these digits. Returns the end
 * of what was written; the text is not terminated. */
char *fumi_base64_put(char *to, struct fumi_str bytes, const char digits[65]);

/* No string: it is not what fumi_base64 would write. */
struct fumi_str fumi_base64_read(struct fumi_arena *a, struct fumi_str text);

#endif
