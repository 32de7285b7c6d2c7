/* The plane that shows most of how vectors differ: that of their first two principal components. */
#ifndef FUMI_MEMORY_PLANE_H
#define FUMI_MEMORY_PLANE_H

#include <stddef.h>

/* Writes the coordinates of n vectors of dim numbers in that plane to xy (x, y, x, y ...), scaled
 * so that the largest magnitude is 1. share[0] and share[1] are the parts of the variance that the
 * two coordinates show, from 0 to 1. Equal vectors give equal results on the same processor. */
void plane_project(const float *x, size_t n, size_t dim, double *xy, double share[2]);

#endif
