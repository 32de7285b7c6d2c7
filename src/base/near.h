/* Which of several names somebody may have meant. */
#ifndef FUMI_BASE_NEAR_H
#define FUMI_BASE_NEAR_H

#include "base/str.h"

struct near {
    struct fumi_str name; /* as it was written */
    size_t least;         /* how far the nearest was, and at first how far it may be */
};

struct near near_to(struct fumi_str name);

/* Whether this one is nearer than all before: fewer letters have to be added, dropped or changed,
 * whatever their case. Names that have no letter in common are not near, however short; long ones
 * are not compared. */
bool near_is(struct near *n, struct fumi_str candidate);

#endif
