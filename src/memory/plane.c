/* Principal components by block power iteration. Each step multiplies a few directions by the
 * covariance matrix of the vectors, which is never formed, and makes them orthonormal again. They
 * converge to the space of the largest components. The small matrix of the covariances within that
 * space is then diagonalised by rotations (Jacobi), which separates the components.
 *
 * More directions than the two wanted make the convergence fast: the error shrinks with the ratio
 * of the eigenvalues BLOCK + 1 and 2 in each step. */
#include "memory/plane.h"

#include "base/arena.h"
#include "store/vector.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 6, STEPS = 12, SWEEPS = 16 };

struct plane {
    const float *x;
    size_t n, dim;
    float *mean;
    float *to[BLOCK];   /* directions, orthonormal */
    float *next[BLOCK]; /* their products with the covariance matrix */
};

static float *numbers(struct fumi_arena *a, size_t n)
{
    float *x = fumi_alloc(a, n * sizeof(*x));
    memset(x, 0, n * sizeof(*x));
    return x;
}

static void add_scaled(float *to, const float *x, float by, size_t dim)
{
    for (size_t i = 0; i < dim; i++)
        to[i] += by * x[i];
}

static void set_mean(struct plane *p)
{
    for (size_t i = 0; i < p->n; i++)
        add_scaled(p->mean, p->x + i * p->dim, 1 / (float)p->n, p->dim);
}

/* Gram-Schmidt, twice, which keeps the directions orthogonal in spite of rounding. A direction in
 * which the vectors do not differ becomes 0. */
static void orthonormalise(struct plane *p, float *to[BLOCK])
{
    for (size_t k = 0; k < BLOCK; k++) {
        float before = vector_dot(to[k], to[k], p->dim);
        for (size_t j = 0; j < 2 * k; j++)
            add_scaled(to[k], to[j % k], -vector_dot(to[k], to[j % k], p->dim), p->dim);
        bool gone = vector_dot(to[k], to[k], p->dim) < 1e-10f * before;
        if (gone || !vector_normalise(to[k], p->dim))
            memset(to[k], 0, p->dim * sizeof(*to[k]));
    }
}

/* The directions to begin with: fixed pseudo-random numbers (splitmix64). */
static void begin(struct plane *p)
{
    uint64_t state = 0;
    for (size_t k = 0; k < BLOCK; k++)
        for (size_t i = 0; i < p->dim; i++) {
            uint64_t z = state += 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            z = (z ^ z >> 27) * 0x94D049BB133111EBu;
            p->to[k][i] = (float)((z ^ z >> 31) >> 40) / (1 << 24) - 0.5f;
        }
    orthonormalise(p, p->to);
}

/* Sets next[k] to the product of the covariance matrix (times n) and to[k], and m to the
 * covariances of the directions. */
static void multiply(struct plane *p, double m[BLOCK][BLOCK])
{
    float at[BLOCK], middle[BLOCK], sum[BLOCK] = {0};
    memset(m, 0, BLOCK * sizeof(m[0]));
    for (size_t k = 0; k < BLOCK; k++) {
        middle[k] = vector_dot(p->mean, p->to[k], p->dim);
        memset(p->next[k], 0, p->dim * sizeof(*p->next[k]));
    }
    for (size_t i = 0; i < p->n; i++) {
        const float *x = p->x + i * p->dim;
        for (size_t k = 0; k < BLOCK; k++) {
            at[k] = vector_dot(x, p->to[k], p->dim) - middle[k];
            sum[k] += at[k];
            add_scaled(p->next[k], x, at[k], p->dim);
            for (size_t j = 0; j <= k; j++)
                m[k][j] = m[j][k] += (double)at[k] * at[j];
        }
    }
    for (size_t k = 0; k < BLOCK; k++)
        add_scaled(p->next[k], p->mean, -sum[k], p->dim);
}

static void swap_blocks(struct plane *p)
{
    for (size_t k = 0; k < BLOCK; k++) {
        float *was = p->to[k];
        p->to[k] = p->next[k];
        p->next[k] = was;
    }
}

/* Rotates rows and columns i and k of m so that m[i][k] becomes 0; v collects the rotations. */
static void rotate(double m[BLOCK][BLOCK], double v[BLOCK][BLOCK], size_t i, size_t k)
{
    if (m[i][k] == 0)
        return;
    double theta = (m[k][k] - m[i][i]) / (2 * m[i][k]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t j = 0; j < BLOCK; j++) {
        double a = m[j][i], b = m[j][k];
        m[j][i] = c * a - s * b;
        m[j][k] = s * a + c * b;
    }
    for (size_t j = 0; j < BLOCK; j++) {
        double a = m[i][j], b = m[k][j];
        m[i][j] = c * a - s * b;
        m[k][j] = s * a + c * b;
        a = v[j][i], b = v[j][k];
        v[j][i] = c * a - s * b;
        v[j][k] = s * a + c * b;
    }
}

/* Diagonalises the symmetric matrix m; the columns of v are its eigenvectors. */
static void diagonalise(double m[BLOCK][BLOCK], double v[BLOCK][BLOCK])
{
    memset(v, 0, BLOCK * sizeof(v[0]));
    for (size_t i = 0; i < BLOCK; i++)
        v[i][i] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 0; i < BLOCK; i++)
            for (size_t k = i + 1; k < BLOCK; k++)
                rotate(m, v, i, k);
}

static size_t largest(double m[BLOCK][BLOCK], size_t except)
{
    size_t best = except == 0;
    for (size_t i = 0; i < BLOCK; i++)
        if (i != except && m[i][i] > m[best][best])
            best = i;
    return best;
}

/* Writes one component to p->next[k]. Its sign is free: its largest number becomes positive. */
static void set_component(struct plane *p, double v[BLOCK][BLOCK], size_t column, size_t k)
{
    float *to = p->next[k];
    size_t most = 0;
    memset(to, 0, p->dim * sizeof(*to));
    for (size_t j = 0; j < BLOCK; j++)
        add_scaled(to, p->to[j], (float)v[j][column], p->dim);
    for (size_t i = 1; i < p->dim; i++)
        most = fabsf(to[i]) > fabsf(to[most]) ? i : most;
    bool turn = to[most] < 0;
    for (size_t i = 0; i < p->dim && turn; i++)
        to[i] = -to[i];
}

static double total_variance(const struct plane *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++)
        sum += vector_dot(p->x + i * p->dim, p->x + i * p->dim, p->dim);
    return sum - (double)p->n * vector_dot(p->mean, p->mean, p->dim);
}

static void write_coordinates(const struct plane *p, double *xy)
{
    double most = 0;
    for (size_t k = 0; k < 2; k++) {
        float middle = vector_dot(p->mean, p->next[k], p->dim);
        for (size_t i = 0; i < p->n; i++) {
            double at = (double)vector_dot(p->x + i * p->dim, p->next[k], p->dim) - middle;
            xy[2 * i + k] = at;
            most = fabs(at) > most ? fabs(at) : most;
        }
    }
    for (size_t i = 0; i < 2 * p->n; i++)
        xy[i] = most > 1e-6 ? xy[i] / most : 0;
}

static void find_components(struct plane *p, double share[2])
{
    double m[BLOCK][BLOCK], v[BLOCK][BLOCK];
    set_mean(p);
    begin(p);
    for (int step = 0; step < STEPS; step++) {
        multiply(p, m);
        swap_blocks(p);
        orthonormalise(p, p->to);
    }
    multiply(p, m);
    diagonalise(m, v);
    size_t first = largest(m, BLOCK), second = largest(m, first);
    double all = total_variance(p);
    share[0] = all > 1e-9 ? m[first][first] / all : 0;
    share[1] = all > 1e-9 ? m[second][second] / all : 0;
    set_component(p, v, first, 0);
    set_component(p, v, second, 1);
}

void plane_project(const float *x, size_t n, size_t dim, double *xy, double share[2])
{
    struct fumi_arena a = {0};
    struct plane p = {.x = x, .n = n, .dim = dim};
    share[0] = share[1] = 0;
    if (!n || !dim)
        return;
    p.mean = numbers(&a, dim);
    for (size_t k = 0; k < BLOCK; k++) {
        p.to[k] = numbers(&a, dim);
        p.next[k] = numbers(&a, dim);
    }
    find_components(&p, share);
    write_coordinates(&p, xy);
    fumi_arena_done(&a);
}
