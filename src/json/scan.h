/* Private to json/: looking at sixteen bytes of text at a time. */
#ifndef FUMI_JSON_SCAN_H
#define FUMI_JSON_SCAN_H

#include "base/str.h"

enum { SCAN_BLOCK = 16 };

/* Of some bytes, a bit for each that is not plain inside a string (a quote, a backslash, a control
 * character or not ASCII), and a bit for each that is no digit. */
struct scan_masks {
    uint64_t odd, other;
};

#if defined(__SSE2__) && !defined(FUMI_PORTABLE)
#include <immintrin.h>

/* As signed bytes, controls and non-ASCII are both below a blank. */
static inline __m128i scan_odd(__m128i block)
{
    return _mm_or_si128(_mm_cmplt_epi8(block, _mm_set1_epi8(0x20)),
                        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
}

static inline struct scan_masks scan_block(const char *p)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i value = _mm_sub_epi8(block, _mm_set1_epi8('0'));
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value);
    return (struct scan_masks){(uint32_t)_mm_movemask_epi8(scan_odd(block)),
                               (uint32_t)_mm_movemask_epi8(digit) ^ 0xFFFF};
}

static inline __m128i scan_same_bytes(const char *a, const char *b)
{
    return _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)a),
                          _mm_loadu_si128((const __m128i *)(const void *)b));
}

/* A bit for each of sixteen bytes that differ. */
static inline uint32_t scan_differ(const char *a, const char *b)
{
    return (uint32_t)_mm_movemask_epi8(scan_same_bytes(a, b)) ^ 0xFFFF;
}

/* Of at least sixteen bytes: whether all are the same. The last block may overlap with others. */
static inline bool scan_equal_blocks(const char *a, const char *b, size_t n)
{
    const char *end = a + n - SCAN_BLOCK;
    __m128i same = scan_same_bytes(end, b + n - SCAN_BLOCK);
    for (; end - a > SCAN_BLOCK; a += 2 * SCAN_BLOCK, b += 2 * SCAN_BLOCK)
        same = _mm_and_si128(same, _mm_and_si128(scan_same_bytes(a, b),
                                                 scan_same_bytes(a + SCAN_BLOCK, b + SCAN_BLOCK)));
    if (a < end)
        same = _mm_and_si128(same, scan_same_bytes(a, b));
    return _mm_movemask_epi8(same) == 0xFFFF;
}

__attribute__((target("avx2"))) static inline struct scan_masks scan_double(const char *p)
{
    __m256i block = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i odd = _mm256_or_si256(
        _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), block),
        _mm256_or_si256(_mm256_cmpeq_epi8(block, _mm256_set1_epi8('"')),
                        _mm256_cmpeq_epi8(block, _mm256_set1_epi8('\\'))));
    __m256i value = _mm256_sub_epi8(block, _mm256_set1_epi8('0'));
    __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    return (struct scan_masks){(uint32_t)_mm256_movemask_epi8(odd),
                               ~(uint32_t)_mm256_movemask_epi8(digit)};
}

/* Sixty-four bytes by AVX2; only where scan_wide_works. */
__attribute__((target("avx2"))) static inline struct scan_masks scan_wide(const char *p)
{
    struct scan_masks low = scan_double(p), up = scan_double(p + 32);
    return (struct scan_masks){low.odd | up.odd << 32, low.other | up.other << 32};
}

static inline bool scan_wide_works(void)
{
    return __builtin_cpu_supports("avx2");
}

#else

#define SCAN_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bits of eight bytes, gathered into one byte. */
static inline uint32_t scan_gather(uint64_t marks)
{
    return (uint32_t)(((marks >> 7) * UINT64_C(0x0102040810204080)) >> 56);
}

/* High bits where a byte of w, which holds ASCII, is at least `least`. */
static inline uint64_t scan_least(uint64_t w, unsigned least)
{
    return w + SCAN_EACH(0x80u - least);
}

static inline uint64_t scan_equal(uint64_t w, unsigned byte)
{
    return ~scan_least(w ^ SCAN_EACH(byte), 1);
}

static inline struct scan_masks scan_half(const char *p)
{
    uint64_t w, high = SCAN_EACH(0x80);
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    uint64_t ascii = w & ~high;
    uint64_t odd = ~scan_least(ascii, 0x20) | scan_equal(ascii, '"') | scan_equal(ascii, '\\') | w;
    uint64_t other = ~scan_least(ascii, '0') | scan_least(ascii, '9' + 1) | w;
    return (struct scan_masks){scan_gather(odd & high), scan_gather(other & high)};
}

static inline struct scan_masks scan_block(const char *p)
{
    struct scan_masks low = scan_half(p), up = scan_half(p + 8);
    return (struct scan_masks){low.odd | up.odd << 8, low.other | up.other << 8};
}

static inline uint32_t scan_differ(const char *a, const char *b)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < SCAN_BLOCK; i++)
        bits |= (uint32_t)(a[i] != b[i]) << i;
    return bits;
}

static inline bool scan_equal_blocks(const char *a, const char *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

static inline struct scan_masks scan_wide(const char *p)
{
    return scan_block(p);
}

static inline bool scan_wide_works(void)
{
    return false;
}

#endif

static inline bool scan_plain_byte(char byte)
{
    return (signed char)byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Whether n bytes are the same in both. */
static inline bool scan_equals(const char *a, const char *b, size_t n)
{
    if (n >= SCAN_BLOCK)
        return scan_equal_blocks(a, b, n);
    if (n >= 4)
        return fumi_same(a, b, n);
    while (n && a[n - 1] == b[n - 1])
        n--;
    return !n;
}

/* The same for texts that go on; mostly far enough to look at whole blocks. */
static inline bool scan_agree(const char *a, const char *b, size_t n, size_t a_left, size_t b_left)
{
    size_t all = n + SCAN_BLOCK;
    if (FUMI_RARELY(all > b_left || all > a_left))
        return n <= b_left && scan_equals(a, b, n);
    if (n >= SCAN_BLOCK)
        return scan_equal_blocks(a, b, n);
    return !(scan_differ(a, b) & ((1U << n) - 1));
}

/* How many of the first n bytes are the same in both. */
static inline size_t scan_same(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    for (; n - i >= 2 * SCAN_BLOCK; i += 2 * SCAN_BLOCK) {
        uint32_t differ = scan_differ(a + i, b + i) |
                          scan_differ(a + i + SCAN_BLOCK, b + i + SCAN_BLOCK) << SCAN_BLOCK;
        if (differ)
            return i + (size_t)__builtin_ctz(differ);
    }
    if (n - i >= SCAN_BLOCK) {
        uint32_t differ = scan_differ(a + i, b + i);
        if (differ)
            return i + (size_t)__builtin_ctz(differ);
    }
    if (n >= SCAN_BLOCK) {
        uint32_t differ = scan_differ(a + n - SCAN_BLOCK, b + n - SCAN_BLOCK);
        return differ ? n - SCAN_BLOCK + (size_t)__builtin_ctz(differ) : n;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* The first byte from p on that is not plain, or end. */
static inline const char *scan_plain(const char *p, const char *end)
{
    while ((size_t)(end - p) >= SCAN_BLOCK) {
        uint64_t odd = scan_block(p).odd;
        if (odd)
            return p + __builtin_ctzll(odd);
        p += SCAN_BLOCK;
    }
    while (p < end && scan_plain_byte(*p))
        p++;
    return p;
}

#endif
