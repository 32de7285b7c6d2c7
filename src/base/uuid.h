/* Random UUIDs (version 4) from the system's generator. */
#ifndef FUMI_BASE_UUID_H
#define FUMI_BASE_UUID_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FUMI_UUID_SIZE = 36 };

/* Fills `n` bytes from getrandom(2); ends the process if the system has no randomness. */
void fumi_random(void *out, size_t n);

/* Lower case, exactly FUMI_UUID_SIZE bytes, not terminated. */
void fumi_uuid(char out[FUMI_UUID_SIZE]);
bool fumi_is_uuid(struct fumi_str s); /* any version, either case */

#ifdef __cplusplus
}
#endif

#endif
