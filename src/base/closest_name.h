/* Which of several names somebody may have meant. */
#ifndef FUMI_BASE_CLOSEST_NAME_H
#define FUMI_BASE_CLOSEST_NAME_H

#include "base/str.h"

struct closest_name {
    struct fumi_str name; /* as it was written */
    size_t least;         /* how far the nearest was, and at first how far it may be */
};

struct closest_name closest_name_start(struct fumi_str name);

/* Whether this one is nearer than all before: fewer letters have to be added, dropped or changed,
 * whatever their case. Names that have no letter in common are not near, however short; long ones
 * are not compared. */
bool closest_name_improves(struct closest_name *n, struct fumi_str candidate);

#endif
