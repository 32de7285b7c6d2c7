/* Vectors of LANES floats and functions of single vectors. Included only by encoder_lanes.h. */
#include "embed/encoder_parts.h"

#define LANES_FN static inline __attribute__((always_inline)) LANES_TARGET

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float any_vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t any_ivec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

LANES_FN vec larger(vec a, vec b);
LANES_FN vec smaller(vec a, vec b);
/* The largest lane of a and of b. */
LANES_FN void peaks(vec a, vec b, float *of_a, float *of_b);
/* Stores numbers from 0 to 127 as bytes. */
LANES_FN void put_group(uint8_t *to, const ivec v[GROUP / LANES]);

LANES_FN vec get(const float *p)
{
    return *(const any_vec *)p;
}

LANES_FN void put(float *p, vec v)
{
    *(any_vec *)p = v;
}

LANES_FN vec all(float v)
{
    return v - (vec){0};
}

LANES_FN float total(vec v)
{
    float sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += v[i];
    return sum;
}

/* Added to a number below 2^22, it leaves the nearest integer in the lowest bits. */
#define LANES_MAGIC 12582912.0f

LANES_FN vec nearest(vec x)
{
    return x + LANES_MAGIC - LANES_MAGIC;
}

LANES_FN ivec to_integer(vec x)
{
    return (ivec)(x + LANES_MAGIC) - (ivec)all(LANES_MAGIC);
}

LANES_FN vec floor_of(vec x)
{
    vec n = nearest(x);
    return n + __builtin_convertvector(n > x, vec); /* true is -1 */
}

/* e^x for x <= 0: 2^n times a polynomial for 2^f with |f| <= 1/2. The relative error is below 2e-7.
 */
LANES_FN vec exp_of(vec x)
{
    vec t = larger(x, all(-87.0f)) * 1.44269504f, n = nearest(t), f = t - n;
    vec p = 1.540352969e-04f * f + 1.333355787e-03f;
    p = p * f + 9.618128650e-03f;
    p = p * f + 5.550410971e-02f;
    p = p * f + 2.402265072e-01f;
    p = p * f + 6.931471825e-01f;
    p = p * f + 1.0f;
    return (vec)((ivec)p + (to_integer(n) << 23));
}

/* GELU: x times the cumulative normal distribution at x. That distribution minus 1/2 is x times a
 * function of x^2, approximated by a polynomial in s (-1 to 1 for x^2 from 0 to 25), whose
 * coefficients come from an expansion in Chebyshev polynomials. The error is below 4e-7 times the
 * larger of |x| and 1. */
LANES_FN vec gelu_of(vec x)
{
    static const float c[] = {7.353763795e-04f,  -1.676730928e-03f, 1.374596148e-03f,
                              -2.526916796e-03f, 6.766527425e-03f,  -1.130712498e-02f,
                              1.623608917e-02f,  -2.321312763e-02f, 3.147675842e-02f,
                              -4.045128077e-02f, 5.151792988e-02f,  -7.029590756e-02f,
                              1.413638145e-01f};
    vec t = smaller(larger(x, all(-5.0f)), all(5.0f)), s = t * t * (2 / 25.0f) - 1.0f;
    vec p = all(c[0]);
    _Pragma("GCC unroll 16") for (size_t i = 1; i < sizeof c / sizeof *c; i++) p = p * s + c[i];
    return x * (t * p + 0.5f);
}
