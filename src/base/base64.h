/* Base64 (RFC 4648) with padding, strictly. */
#ifndef FUMI_BASE_BASE64_H
#define FUMI_BASE_BASE64_H

#include "base/arena.h"

struct fumi_str fumi_base64(struct fumi_arena *a, struct fumi_str bytes);

/* No string: it is not what fumi_base64 would write. */
struct fumi_str fumi_base64_read(struct fumi_arena *a, struct fumi_str text);

#endif
