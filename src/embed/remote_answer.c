#include "embed/remote.h"
#include "model/codes.h"

#include <math.h>

/* Copies the numbers of a JSON array to `to`, which has space for all of them. */
static int read_numbers(const struct fumi_val *array, float *to, struct fumi_err *e)
{
    size_t at = 0;
    for (const struct fumi_val *v = fumi_first(array); v; v = fumi_after(array, v)) {
        double number;
        if (!fumi_real(v, &number) || !isfinite((float)number))
            return fumi_err_set(e, ERR_PROVIDER,
                                "the response contains a vector with a value that is not a finite "
                                "number (index %zu)",
                                at);
        to[at++] = (float)number;
    }
    return 0;
}

static int normalise(float *x, size_t dim, struct fumi_err *e)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += (double)x[i] * (double)x[i];
    if (sum == 0)
        return fumi_err_set(e, ERR_PROVIDER, "the response contains a vector of zeros");
    double scale = 1 / sqrt(sum);
    for (size_t i = 0; i < dim; i++)
        x[i] = (float)((double)x[i] * scale);
    return 0;
}

static int read_all(struct fumi_arena *a, const struct fumi_val **vectors, size_t n,
                    struct remote_vectors *out, struct fumi_err *e)
{
    size_t dim = fumi_size(vectors[0]);
    for (size_t i = 0; i < n; i++) {
        size_t other = fumi_size(vectors[i]);
        if (!other || other != dim)
            return fumi_err_set(e, ERR_PROVIDER,
                                other ? "the response contains vectors of %zu and of %zu numbers"
                                      : "the response contains an empty vector",
                                dim, other);
    }
    out->dim = dim;
    out->x = fumi_alloc(a, n * dim * sizeof(*out->x));
    for (size_t i = 0; i < n; i++) {
        if (read_numbers(vectors[i], out->x + i * dim, e) || normalise(out->x + i * dim, dim, e))
            return -1;
    }
    return 0;
}

int remote_read(struct fumi_arena *a, const struct remote_api *w, struct fumi_str text, size_t n,
                struct remote_vectors *out, struct fumi_err *e)
{
    *out = (struct remote_vectors){0};
    const struct fumi_val *answer = fumi_parse(a, text, e);
    if (!answer) {
        out->cut = true;
        return fumi_err_set(e, ERR_PROVIDER, "the response is incomplete, or not JSON");
    }
    const struct fumi_val **vectors = fumi_alloc(a, n * sizeof(const struct fumi_val *));
    if (!w->find(answer, vectors, n))
        return fumi_err_set(e, ERR_PROVIDER,
                            "the response does not contain a vector for each of %zu texts", n);
    return read_all(a, vectors, n, out, e);
}
