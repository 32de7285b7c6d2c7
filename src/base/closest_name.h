/* Finds the name that a misspelt name most likely stands for, for "did you mean ...?":
 *
 *     struct closest_name c = closest_name_start(misspelt);
 *     for (each known name)
 *         if (closest_name_improves(&c, known))
 *             best = known;
 */
#ifndef FUMI_BASE_CLOSEST_NAME_H
#define FUMI_BASE_CLOSEST_NAME_H

#include "base/str.h"

struct closest_name {
    struct fumi_str name; /* the misspelt name, borrowed */
    size_t distance;      /* a candidate must be closer than this */
};

struct closest_name closest_name_start(struct fumi_str name);

/* Returns true if the candidate is similar to the name and closer to it than all candidates before:
 * fewer letters must be inserted, deleted or replaced, in either case. Always false if one of the
 * two is longer than 64 bytes. */
bool closest_name_improves(struct closest_name *n, struct fumi_str candidate);

#endif
