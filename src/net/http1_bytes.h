/* Private to http1*.c: character classes, and the result of a parsing step. */
#ifndef FUMI_NET_HTTP1_BYTES_H
#define FUMI_NET_HTTP1_BYTES_H

#include "net/http1.h"

enum step { FAULT = -1, MORE = 0, FINE = 1 };

/* Classes of bytes. TEXT is allowed in a field value. */
enum { TEXT = 1, TOKEN = 2, TARGET = 4, HOST = 8 };
enum { MARK = TEXT | TARGET, SIGN = MARK | TOKEN, PLAIN = SIGN | HOST };

static const unsigned char classes[256] = {
    ['\t'] = TEXT,          [' '] = TEXT,          ['!'] = SIGN,        ['"'] = MARK,
    ['#'] = TEXT | TOKEN,   ['$'] = SIGN,          ['%'] = PLAIN,       ['&' ... '\''] = SIGN,
    ['(' ... ')'] = MARK,   ['*' ... '+'] = SIGN,  [','] = MARK,        ['-' ... '.'] = PLAIN,
    ['/'] = MARK,           ['0' ... '9'] = PLAIN, [':'] = MARK | HOST, [';' ... '@'] = MARK,
    ['A' ... 'Z'] = PLAIN,  ['['] = MARK | HOST,   ['\\'] = MARK,       [']'] = MARK | HOST,
    ['^'] = SIGN,           ['_'] = PLAIN,         ['`'] = SIGN,        ['a' ... 'z'] = PLAIN,
    ['{'] = MARK,           ['|'] = SIGN,          ['}'] = MARK,        ['~'] = PLAIN,
    [0x80 ... 0xFF] = TEXT,
};

static inline bool is(char byte, unsigned class)
{
    return classes[(unsigned char)byte] & class;
}

/* Returns the first byte from p on that is not of the class, or end. */
static inline const char *skip(const char *p, const char *end, unsigned class)
{
    while (p < end && is(*p, class))
        p++;
    return p;
}

#if defined(__SSE2__) && !defined(FUMI_PORTABLE)
#include <emmintrin.h>

enum { BLOCK = 16 };

/* Returns a bit for each of sixteen bytes that is not a text byte, or is a tab. */
static inline unsigned odd_bytes(const char *p)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block);
    return (unsigned)_mm_movemask_epi8(
        _mm_or_si128(low, _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7F))));
}

static inline const char *skip_text(const char *p, const char *end)
{
    while (end - p >= BLOCK) {
        unsigned odd = odd_bytes(p);
        if (odd && p[__builtin_ctz(odd)] == '\t')
            p += __builtin_ctz(odd) + 1;
        else if (odd)
            return p + __builtin_ctz(odd);
        else
            p += BLOCK;
    }
    return skip(p, end, TEXT);
}

/* Returns a bit for each of sixteen bytes that is neither a letter nor '-'. */
static inline unsigned unusual_bytes(const char *p)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i small = _mm_or_si128(block, _mm_set1_epi8(0x20));
    __m128i offset = _mm_sub_epi8(small, _mm_set1_epi8('a'));
    __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8('z' - 'a')), offset);
    __m128i dash = _mm_cmpeq_epi8(block, _mm_set1_epi8('-'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(letter, dash)) ^ 0xFFFF;
}

static inline const char *skip_token(const char *p, const char *end)
{
    while (end - p >= BLOCK) {
        unsigned unusual = unusual_bytes(p);
        if (!unusual) {
            p += BLOCK;
            continue;
        }
        p += __builtin_ctz(unusual);
        if (!is(*p, TOKEN))
            return p;
        p++;
    }
    return skip(p, end, TOKEN);
}

#else

static inline const char *skip_text(const char *p, const char *end)
{
    return skip(p, end, TEXT);
}

static inline const char *skip_token(const char *p, const char *end)
{
    return skip(p, end, TOKEN);
}

#endif

static inline bool is_token(struct fumi_str s)
{
    return s.n && skip_token(s.p, s.p + s.n) == s.p + s.n;
}

static inline bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static inline struct fumi_str trimmed(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    while (p < end && is_blank(end[-1]))
        end--;
    return (struct fumi_str){p, (size_t)(end - p)};
}

static inline __attribute__((cold)) enum step fault(struct http_fault *f, int status,
                                                    const char *reason)
{
    *f = (struct http_fault){status, reason};
    return FAULT;
}

#endif
