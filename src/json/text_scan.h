/* Private to json/: classifies the bytes of a text, 16 or 64 at a time. */
#ifndef FUMI_JSON_TEXT_SCAN_H
#define FUMI_JSON_TEXT_SCAN_H

#include "base/str.h"

enum { TEXT_SCAN_BLOCK = 16 };

/* One bit per byte. odd: the byte is not plain inside a string, that is, a quote, a backslash, a
 * control character or not ASCII. other: the byte is not a digit. */
struct text_scan_masks {
    uint64_t odd, other;
};

#if defined(__SSE2__) && !defined(FUMI_PORTABLE)
#include <immintrin.h>

/* As signed bytes, control characters and non-ASCII are both less than a blank. */
static inline __m128i text_scan_odd(__m128i block)
{
    return _mm_or_si128(_mm_cmplt_epi8(block, _mm_set1_epi8(0x20)),
                        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
}

static inline struct text_scan_masks text_scan_block(const char *p)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i value = _mm_sub_epi8(block, _mm_set1_epi8('0'));
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value);
    return (struct text_scan_masks){(uint32_t)_mm_movemask_epi8(text_scan_odd(block)),
                                    (uint32_t)_mm_movemask_epi8(digit) ^ 0xFFFF};
}

__attribute__((target("avx2"))) static inline struct text_scan_masks text_scan_double(const char *p)
{
    __m256i block = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i odd = _mm256_or_si256(
        _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), block),
        _mm256_or_si256(_mm256_cmpeq_epi8(block, _mm256_set1_epi8('"')),
                        _mm256_cmpeq_epi8(block, _mm256_set1_epi8('\\'))));
    __m256i value = _mm256_sub_epi8(block, _mm256_set1_epi8('0'));
    __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    return (struct text_scan_masks){(uint32_t)_mm256_movemask_epi8(odd),
                                    ~(uint32_t)_mm256_movemask_epi8(digit)};
}

/* Classifies 64 bytes. Only if text_scan_wide_works returns true. */
__attribute__((target("avx2"))) static inline struct text_scan_masks text_scan_wide(const char *p)
{
    struct text_scan_masks low = text_scan_double(p), up = text_scan_double(p + 32);
    return (struct text_scan_masks){low.odd | up.odd << 32, low.other | up.other << 32};
}

static inline bool text_scan_wide_works(void)
{
    return __builtin_cpu_supports("avx2");
}

#else

#define TEXT_SCAN_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bits of eight bytes, gathered into one byte. */
static inline uint32_t text_scan_gather(uint64_t marks)
{
    return (uint32_t)(((marks >> 7) * UINT64_C(0x0102040810204080)) >> 56);
}

/* Sets the high bit of each byte of w that is at least `least`. w must be ASCII. */
static inline uint64_t text_scan_least(uint64_t w, unsigned least)
{
    return w + TEXT_SCAN_EACH(0x80u - least);
}

static inline uint64_t text_scan_equal(uint64_t w, unsigned byte)
{
    return ~text_scan_least(w ^ TEXT_SCAN_EACH(byte), 1);
}

static inline struct text_scan_masks text_scan_half(const char *p)
{
    uint64_t w, high = TEXT_SCAN_EACH(0x80);
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    uint64_t ascii = w & ~high;
    uint64_t odd = ~text_scan_least(ascii, 0x20) | text_scan_equal(ascii, '"') |
                   text_scan_equal(ascii, '\\') | w;
    uint64_t other = ~text_scan_least(ascii, '0') | text_scan_least(ascii, '9' + 1) | w;
    return (struct text_scan_masks){text_scan_gather(odd & high), text_scan_gather(other & high)};
}

static inline struct text_scan_masks text_scan_block(const char *p)
{
    struct text_scan_masks low = text_scan_half(p), up = text_scan_half(p + 8);
    return (struct text_scan_masks){low.odd | up.odd << 8, low.other | up.other << 8};
}

static inline struct text_scan_masks text_scan_wide(const char *p)
{
    return text_scan_block(p);
}

static inline bool text_scan_wide_works(void)
{
    return false;
}

#endif

static inline bool text_scan_plain_byte(char byte)
{
    return (signed char)byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Returns the first byte from p that is not plain, or end. */
static inline const char *text_scan_plain(const char *p, const char *end)
{
    while ((size_t)(end - p) >= TEXT_SCAN_BLOCK) {
        uint64_t odd = text_scan_block(p).odd;
        if (odd)
            return p + __builtin_ctzll(odd);
        p += TEXT_SCAN_BLOCK;
    }
    while (p < end && text_scan_plain_byte(*p))
        p++;
    return p;
}

#endif
