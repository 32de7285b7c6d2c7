/* The number of dimensions that a vector may have. Embedders refuse other vectors before anything
 * is stored; the store refuses more than VECTOR_DIM_MAX dimensions. */
#ifndef FUMI_MODEL_DIM_H
#define FUMI_MODEL_DIM_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors have unit length, so a vector of one dimension would be 1 or -1 and could not distinguish
 * texts. */
enum { VECTOR_DIM_MIN = 2, VECTOR_DIM_MAX = 8192 };
#define VECTOR_DIM_RANGE "2 to 8192"

static inline bool vector_dim_fits(int64_t dim)
{
    return dim >= VECTOR_DIM_MIN && dim <= VECTOR_DIM_MAX;
}

#endif
