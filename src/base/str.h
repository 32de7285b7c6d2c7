/* Strings as borrowed slices: a pointer and a length. A slice does not own its bytes; the function
 * that returns a slice documents how long it is valid. */
#ifndef FUMI_BASE_STR_H
#define FUMI_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not terminated; may contain NULs. p == NULL means "no string", which differs from an empty one.
 */
struct fumi_str {
    const char *p;
    size_t n;
};

struct fumi_strs {
    struct fumi_str *items;
    size_t n;
};

#define FUMI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* FUMI_STR: a string literal as a slice. FUMI_ARG: a slice as the two arguments of "%.*s". */
#ifdef __cplusplus
#define FUMI_STR(literal) (fumi_str_of("" literal, sizeof(literal) - 1))
#else
#define FUMI_STR(literal) ((struct fumi_str){"" literal, sizeof(literal) - 1})
#endif
#define FUMI_ARG(s) (int)(s).n, (s).p

#ifdef __cplusplus
static inline constexpr struct fumi_str fumi_str_of(const char *p, size_t n)
{
    return {p, n};
}
#endif

/* A C string as a slice; NULL gives no string. */
static inline struct fumi_str fumi_str(const char *terminated)
{
    struct fumi_str s = {terminated, terminated ? strlen(terminated) : 0};
    return s;
}

/* Whether n bytes are equal. Up to 16 bytes are compared inline, as two words that may overlap,
 * because most names are short. */
static inline bool fumi_same(const char *a, const char *b, size_t n)
{
    uint64_t w[4];
    uint32_t h[4];
    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8) {
        memcpy(&w[0], a, 8);
        memcpy(&w[1], b, 8);
        memcpy(&w[2], a + n - 8, 8);
        memcpy(&w[3], b + n - 8, 8);
        return !((w[0] ^ w[1]) | (w[2] ^ w[3]));
    }
    if (n >= 4) {
        memcpy(&h[0], a, 4);
        memcpy(&h[1], b, 4);
        memcpy(&h[2], a + n - 4, 4);
        memcpy(&h[3], b + n - 4, 4);
        return !((h[0] ^ h[1]) | (h[2] ^ h[3]));
    }
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Whether two slices have the same bytes. No string equals the empty string. */
static inline bool fumi_eq(struct fumi_str a, struct fumi_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool fumi_starts(struct fumi_str s, struct fumi_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

#ifdef __cplusplus
}
#endif

#endif
