/* Random bytes and random UUIDs (version 4). Thread-safe. */
#ifndef FUMI_BASE_UUID_H
#define FUMI_BASE_UUID_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FUMI_UUID_SIZE = 36 };

/* Fills n bytes from getrandom(2). If that fails, exits with status 70 and a line on stderr. */
void fumi_random(void *out, size_t n);

/* Writes a new UUID in lower case: exactly FUMI_UUID_SIZE bytes, not terminated. */
void fumi_uuid(char out[FUMI_UUID_SIZE]);

/* Whether s is a UUID of any version, in upper or lower case. */
bool fumi_is_uuid(struct fumi_str s);

#ifdef __cplusplus
}
#endif

#endif
