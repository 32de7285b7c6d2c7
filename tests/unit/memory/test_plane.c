#include "memory/plane.h"

#include "base/arena.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

enum { DIM = 64, N = 400 };

/* Pseudo-random numbers from -1 to 1. */
static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state / 9.3e18;
}

/* Points that differ most along one direction, less along a second one, and little otherwise. */
static float *spread(struct fumi_arena *a, double *first, double *second)
{
    float *x = fumi_alloc(a, N * DIM * sizeof(*x));
    uint64_t state = 7;
    for (size_t i = 0; i < N; i++) {
        first[i] = 3 * noise(&state);
        second[i] = 1.5 * noise(&state);
        for (size_t k = 0; k < DIM; k++) {
            double u = (k % 2 ? 1 : -1) / sqrt(DIM), v = 1 / sqrt(DIM);
            x[i * DIM + k] = (float)(5 + first[i] * u + second[i] * v + 0.02 * noise(&state));
        }
    }
    return x;
}

static double correlation(const double *xy, size_t k, const double *to)
{
    double mx = 0, mt = 0, xx = 0, tt = 0, xt = 0;
    for (size_t i = 0; i < N; i++)
        mx += xy[2 * i + k] / N, mt += to[i] / N;
    for (size_t i = 0; i < N; i++) {
        double x = xy[2 * i + k] - mx, t = to[i] - mt;
        xx += x * x, tt += t * t, xt += x * t;
    }
    return fabs(xt) / sqrt(xx * tt);
}

TEST(the_coordinates_are_the_directions_of_largest_variance)
{
    struct fumi_arena a = {0};
    double first[N], second[N], xy[2 * N], share[2], most = 0;
    plane_project(spread(&a, first, second), N, DIM, xy, share);
    CHECK(correlation(xy, 0, first) > 0.99);
    CHECK(correlation(xy, 1, second) > 0.99);
    CHECK(correlation(xy, 0, second) < 0.1);
    CHECK(share[0] > 0.7 && share[1] > 0.1 && share[0] + share[1] > 0.98);
    CHECK(share[0] + share[1] < 1.0001);
    for (size_t i = 0; i < 2 * N; i++)
        most = fabs(xy[i]) > most ? fabs(xy[i]) : most;
    CHECK(fabs(most - 1) < 1e-9);
    fumi_arena_done(&a);
}

TEST(equal_input_gives_equal_output)
{
    struct fumi_arena a = {0};
    double first[N], second[N], one[2 * N], two[2 * N], share[2];
    float *x = spread(&a, first, second);
    plane_project(x, N, DIM, one, share);
    plane_project(x, N, DIM, two, share);
    CHECK(memcmp(one, two, sizeof(one)) == 0);
    fumi_arena_done(&a);
}

TEST(few_or_equal_vectors_are_placed_too)
{
    float x[3 * DIM] = {0};
    double xy[6], share[2];
    for (size_t i = 0; i < 3; i++)
        x[i * DIM] = 1;
    plane_project(x, 0, DIM, xy, share);
    plane_project(x, 1, DIM, xy, share);
    CHECK(xy[0] == 0 && xy[1] == 0);
    plane_project(x, 3, DIM, xy, share);
    for (size_t i = 0; i < 6; i++)
        CHECK(xy[i] == 0);
    CHECK(share[0] == 0 && share[1] == 0);
    x[DIM] = 0, x[DIM + 1] = 1; /* two different ones: a line */
    plane_project(x, 2, DIM, xy, share);
    CHECK(fabs(xy[0]) > 0.99 && fabs(xy[2]) > 0.99 && xy[0] * xy[2] < 0);
    CHECK(share[0] > 0.999);
}

TEST(fewer_dimensions_than_directions_are_enough)
{
    const float x[] = {0, 0, 1, 0, 2, 1, 3, 0};
    double xy[8], share[2];
    plane_project(x, 4, 2, xy, share);
    CHECK(fabs(share[0] + share[1] - 1) < 1e-3);
    for (size_t i = 0; i < 8; i++)
        CHECK(isfinite(xy[i]));
}
