/* The float operations of the encoder, LANES numbers at a time, written with the vector types that
 * gcc and clang share. A backend defines LANES, LANES_TARGET (an attribute for functions) and
 * LANES_NAME (of the table), includes this file, and then defines the four functions that
 * encoder_vec.h declares. */
#include "embed/encoder_vec.h"

#include <math.h>
#include <string.h>

LANES_TARGET static void gelu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * LANES) {
        vec a = gelu_of(get(x + i)), b = gelu_of(get(x + i + LANES));
        put(x + i, a);
        put(x + i + LANES, b);
    }
}

LANES_TARGET static void softmax(float *x, size_t n, float scale)
{
    vec most = get(x), sum = {0};
    for (size_t i = LANES; i < n; i += LANES)
        most = larger(most, get(x + i));
    float top;
    peaks(most, most, &top, &top);
    for (size_t i = 0; i < n; i += LANES) {
        vec p = exp_of((get(x + i) - top) * scale);
        put(x + i, p);
        sum += p;
    }
    float part = 1 / total(sum);
    for (size_t i = 0; i < n; i += LANES)
        put(x + i, get(x + i) * part);
}

/* x += more. Returns the sum of x. */
LANES_FN float add(float *x, const float *more, size_t n)
{
    vec sums = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec v = get(x + i) + get(more + i);
        put(x + i, v);
        sums += v;
    }
    float sum = total(sums);
    for (; i < n; i++)
        sum += x[i] += more[i];
    return sum;
}

/* The sum of squared differences from the mean. */
LANES_FN float squares(const float *x, size_t n, float mean)
{
    vec sums = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sums += (get(x + i) - mean) * (get(x + i) - mean);
    float sum = total(sums);
    for (; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

LANES_TARGET static void norm(float *x, const float *more, const struct encoder_norm *w, size_t n,
                              float epsilon)
{
    float mean = add(x, more, n) / (float)n;
    float unit = 1 / sqrtf(squares(x, n, mean) / (float)n + epsilon);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        put(x + i, (get(x + i) - mean) * unit * get(w->gain + i) + get(w->shift + i));
    for (; i < n; i++)
        x[i] = (x[i] - mean) * unit * w->gain[i] + w->shift[i];
}

/* Sets the minimum and maximum of each group, or 0 if that is lower or higher. Returns the widest
 * range. */
LANES_FN float ranges(const float *x, struct quantized *c)
{
    float widest = 0;
    for (size_t g = 0; g < c->groups; g++, x += GROUP) {
        vec above = {0}, below = {0};
        for (size_t i = 0; i < GROUP; i += LANES) {
            above = larger(above, get(x + i));
            below = larger(below, -get(x + i));
        }
        float lowest;
        peaks(above, below, &c->most[g], &lowest);
        c->least[g] = -lowest;
        widest = c->most[g] + lowest > widest ? c->most[g] + lowest : widest;
    }
    for (size_t g = c->groups; g < round_up(c->groups, LANES); g++)
        c->least[g] = c->most[g] = 0;
    return widest;
}

/* Computes factors and lows from the ranges. In each group, `least` becomes the code of 0, and
 * `most` the factor from numbers to codes. */
LANES_FN void scales(struct quantized *c, size_t row, float step)
{
    int32_t *factor = c->factor + quantized_slot(row, c->groups, 0);
    int16_t *low = c->low + quantized_slot(row, quantized_pairs(c), 0) * 2;
    float per_code = 1 / (step * (CODE_MAX - 1)), unit = 1 / step;
    low[(quantized_pairs(c) - 1) * TILE * 2 + 1] = 0; /* the last pair may have only one group */
    for (size_t g = 0; g < c->groups; g += LANES) {
        vec least = get(c->least + g), range = get(c->most + g) - least;
        vec f = larger(-floor_of(-range * per_code), all(1.0f)), to_code = unit / f;
        vec zero = -floor_of(least * to_code);
        ivec whole = to_integer(f), lows = to_integer(-zero * f);
        put(c->least + g, zero);
        put(c->most + g, to_code);
        whole |= whole << 16;
        for (size_t i = 0; i < LANES && g + i < c->groups; i++) {
            factor[(g + i) * TILE] = whole[i];
            low[(g + i) / 2 * TILE * 2 + i % 2] = (int16_t)lows[i];
        }
    }
}

/* Codes stay within 0 to 127: the range of a group takes 126 of them, and the code of 0 is rounded
 * up. */
LANES_TARGET static void quantize(const float *x, struct quantized *c, size_t row, float *rest)
{
    float widest = ranges(x, c);
    float step = widest > 0 ? widest / (CODE_MAX * c->max_factor) : 1;
    uint8_t *codes = c->codes + quantized_slot(row, c->groups, 0) * GROUP;
    const int32_t *factor = c->factor + quantized_slot(row, c->groups, 0);
    vec sums[GROUP / LANES] = {0};
    scales(c, row, step);
    for (size_t g = 0; g < c->groups; g++, x += GROUP, rest += GROUP) {
        float size = step * (float)(factor[g * TILE] & 0xffff), zero = c->least[g];
        ivec whole[GROUP / LANES];
        _Pragma("GCC unroll 4") for (size_t i = 0; i < GROUP / LANES; i++)
        {
            vec v = get(x + i * LANES), t = nearest(v * c->most[g] + zero);
            vec value = (t - zero) * size;
            whole[i] = __builtin_convertvector(t, ivec);
            put(rest + i * LANES, v - value);
            sums[i] += value;
        }
        put_group(codes + g * TILE * GROUP, whole);
    }
    c->step[row] = step;
    c->sum[row] = 0;
    for (size_t i = 0; i < GROUP / LANES; i++)
        c->sum[row] += total(sums[i]);
}

/* Computes LANES columns of row r of a tile, from column `c` on. */
LANES_FN void finish_at(const struct panel *p, const struct quantized *x, const struct tile *t,
                        size_t r, size_t c, ivec sums)
{
    float *y = t->y + r * t->stride + c;
    vec s = __builtin_convertvector(sums, vec);
    vec v = s * (get(p->scale + c) * x->step[t->row + r]) + get(p->base + c) * x->sum[t->row + r];
    put(y, v + (t->more ? get(y) : get(p->bias + c)));
}

LANES_TARGET static void finish(const struct panel *p, const struct quantized *x,
                                const struct tile *t, const int32_t *sums)
{
    for (size_t r = 0; r < t->n; r++)
        for (size_t c = 0; c < COLUMNS; c += LANES)
            finish_at(p, x, t, r, c, *(const any_ivec *)(sums + r * COLUMNS + c));
}

/* Computes `rows` rows (up to four) and two vectors of columns of c, kept in registers. */
LANES_FN void block(const struct product *p, size_t row, size_t column, const size_t rows)
{
    const float *a = p->a + row * p->a_stride, *b = p->b + column;
    vec sum[4][2] = {0};
    for (size_t k = 0; k < p->inner; k++, b += p->b_stride) {
        vec left = get(b), right = get(b + LANES);
        _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
        {
            sum[r][0] += a[r * p->a_stride + k] * left;
            sum[r][1] += a[r * p->a_stride + k] * right;
        }
    }
    _Pragma("GCC unroll 4") for (size_t r = 0; r < rows; r++)
    {
        put(p->c + (row + r) * p->c_stride + column, sum[r][0]);
        put(p->c + (row + r) * p->c_stride + column + LANES, sum[r][1]);
    }
}

LANES_TARGET static void product(const struct product *p)
{
    for (size_t column = 0; column < p->columns; column += 2 * LANES) {
        size_t row = 0;
        for (; row + 4 <= p->rows; row += 4)
            block(p, row, column, 4);
        for (; row < p->rows; row++)
            block(p, row, column, 1);
    }
}

const struct lanes LANES_NAME = {quantize, finish, gelu, softmax, norm, product};
