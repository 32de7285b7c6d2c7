/* Each function has two implementations: portable code, which reads one character after the other,
 * and AVX2 code, which reads blocks of 32 bytes.
 *
 * The AVX2 code finds errors in pairs of adjacent bytes. Three tables, indexed by the two halves of
 * a byte and by the high half of the byte after it, each give the set of errors that are possible
 * with this half; the intersection of the three sets is the set of actual errors. The third and
 * fourth byte of a character, which depend on more than the byte before them, take one more
 * comparison. A block is checked together with the three bytes before it, which are read again from
 * memory, so no state is carried from block to block. */
#include "base/utf8.h"

#if defined(__x86_64__) && !defined(FUMI_UTF8_PLAIN)
#include <immintrin.h>
#define FUMI_UTF8_AVX2 1
#define AVX2           __attribute__((target("avx2")))
#endif

enum {
    WORTH = 12, /* the portable code is faster for shorter texts */
    BLOCK = 32,
    LEAST = BLOCK + 3, /* from this length on, the last block has three bytes before it */
};

static const uint64_t HIGH_BITS = 0x8080808080808080, LOW_BITS = 0x0101010101010101;

static inline unsigned byte_at(const char *p)
{
    return (unsigned char)*p;
}

static inline uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

static inline uint32_t half_at(const char *p)
{
    uint32_t half;
    memcpy(&half, p, sizeof(half));
    return half;
}

/* The first two bytes of a character of three or four bytes decide whether its code point is valid:
 * `high` holds their bits, which are the upper bits of the code point. */
static inline size_t step(const char *p, const char *end)
{
    size_t left = (size_t)(end - p);
    unsigned first = byte_at(p);
    if (first < 0x80)
        return 1;
    if (first < 0xE0)
        return first >= 0xC2 && left >= 2 && (byte_at(p + 1) ^ 0x80) < 0x40 ? 2 : 0;
    if (left < 3)
        return 0;
    unsigned second = byte_at(p + 1) ^ 0x80, third = byte_at(p + 2) ^ 0x80;
    unsigned high = (first & 15) << 6 | second;
    if ((second | third) >= 0x40)
        return 0;
    if (first < 0xF0)
        return high >= 0x800 >> 6 && high >> 5 != 0xD800 >> 11 ? 3 : 0;
    if (left < 4 || (byte_at(p + 3) ^ 0x80) >= 0x40)
        return 0;
    return high - (0x10000 >> 12) <= (0x10FFFF - 0x10000) >> 12 ? 4 : 0;
}

size_t fumi_utf8_step(const char *p, const char *end)
{
    return step(p, end);
}

static inline bool ascii_word(uint64_t word)
{
    return !(word & HIGH_BITS);
}

static bool valid_steps(const char *p, const char *end)
{
    while (p < end) {
        size_t n = step(p, end);
        if (!n)
            return false;
        p += n;
        while (n == 1 && end - p >= 16 && ascii_word(word_at(p) | word_at(p + 8)))
            p += 16;
    }
    return true;
}

static inline bool special(unsigned c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* Subtracting c from a byte below 0x80 sets the high bit of the byte if it is less than c. A borrow
 * can only affect bytes after one that is found already. */
static inline bool plain_word(uint64_t word)
{
    uint64_t control = word - LOW_BITS * 0x20;
    uint64_t quote = (word ^ LOW_BITS * '"') - LOW_BITS;
    uint64_t slash = (word ^ LOW_BITS * '\\') - LOW_BITS;
    return ascii_word(word | control | quote | slash);
}

static const char *run_steps(const char *p, const char *end)
{
    while (p < end && !special(byte_at(p))) {
        size_t n = step(p, end);
        if (!n)
            return NULL;
        p += n;
        while (n == 1 && end - p >= 8 && plain_word(word_at(p)))
            p += 8;
    }
    return p;
}

/* Counts all bytes but continuation bytes, eight bytes at a time. */
static size_t count_steps(const char *p, const char *end)
{
    size_t n = (size_t)(end - p);
    for (; end - p >= 8; p += 8) {
        uint64_t bits = word_at(p) >> 7 & ~word_at(p) >> 6 & LOW_BITS;
        n -= bits * LOW_BITS >> 56;
    }
    for (; p < end; p++)
        n -= (byte_at(p) & 0xC0) == 0x80;
    return n;
}

#ifdef FUMI_UTF8_AVX2

enum {
    CUT = 1,        /* a first byte without a continuation byte after it */
    STRAY = 2,      /* a continuation byte after ASCII */
    LONG_TWO = 4,   /* C0, C1: overlong, two bytes instead of one */
    LONG_THREE = 8, /* E0 and 80 to 9F: overlong, three bytes instead of two */
    SURROGATE = 16, /* ED and A0 to BF */
    BEYOND = 32,    /* F4 to FF and 90 to BF: above U+10FFFF */
    LOW_FOUR = 64,  /* F0 and 80 to 8F: overlong, four bytes for three; F5 to FF: above U+10FFFF */
    PAIR = 128,     /* two continuation bytes: valid only as a third or fourth byte */
    WHATEVER = CUT | STRAY | PAIR, /* do not depend on the low half of a first byte */
};

struct tables {
    _Alignas(16) unsigned char high[16], low[16], next[16];
};

/* 1: control character, 2: quote, 4: backslash. */
static const struct tables stops_of = {
    .high = {[0x0] = 1, [0x1] = 1, [0x2] = 2, [0x5] = 4},
    .low = {[0x0 ... 0x1] = 1, [0x2] = 1 | 2, [0x3 ... 0xB] = 1, [0xC] = 1 | 4, [0xD ... 0xF] = 1},
};

static const struct tables faults_of = {
    .high = {[0x0 ... 0x7] = STRAY,
             [0x8 ... 0xB] = PAIR,
             [0xC] = CUT | LONG_TWO,
             [0xD] = CUT,
             [0xE] = CUT | LONG_THREE | SURROGATE,
             [0xF] = CUT | BEYOND | LOW_FOUR},
    .low = {[0x0] = WHATEVER | LONG_TWO | LONG_THREE | LOW_FOUR,
            [0x1] = WHATEVER | LONG_TWO,
            [0x2 ... 0x3] = WHATEVER,
            [0x4] = WHATEVER | BEYOND,
            [0x5 ... 0xC] = WHATEVER | BEYOND | LOW_FOUR,
            [0xD] = WHATEVER | BEYOND | LOW_FOUR | SURROGATE,
            [0xE ... 0xF] = WHATEVER | BEYOND | LOW_FOUR},
    .next = {[0x0 ... 0x7] = CUT,
             [0x8] = STRAY | PAIR | LONG_TWO | LONG_THREE | LOW_FOUR,
             [0x9] = STRAY | PAIR | LONG_TWO | LONG_THREE | BEYOND,
             [0xA ... 0xB] = STRAY | PAIR | LONG_TWO | SURROGATE | BEYOND,
             [0xC ... 0xF] = CUT},
};

AVX2 static inline __m256i load(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 static inline __m128i half_block(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

AVX2 static inline __m256i look_up(const unsigned char table[16], __m256i half)
{
    const __m128i *row = (const __m128i *)(const void *)table;
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_load_si128(row)), half);
}

AVX2 static inline __m256i high_half(__m256i bytes)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

/* back1 to back3 hold the bytes that are 1 to 3 positions before those of the block. A byte of the
 * result is not 0 where there is an error. */
AVX2 static inline __m256i faults(__m256i block, __m256i back1, __m256i back2, __m256i back3)
{
    __m256i high = look_up(faults_of.high, high_half(back1));
    __m256i low = look_up(faults_of.low, _mm256_and_si256(back1, _mm256_set1_epi8(15)));
    __m256i next = look_up(faults_of.next, high_half(block));
    __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8(0xF0 - 0x80));
    __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(-0x80));
    return _mm256_xor_si256(_mm256_and_si256(_mm256_and_si256(high, low), next), wanted);
}

/* For the first block: the bytes before it cannot be read and are taken as ASCII. */
AVX2 static inline __m256i first_faults(__m256i block)
{
    __m256i back16 = _mm256_permute2x128_si256(block, block, 0x08);
    return faults(block, _mm256_alignr_epi8(block, back16, 15),
                  _mm256_alignr_epi8(block, back16, 14), _mm256_alignr_epi8(block, back16, 13));
}

AVX2 static inline __m256i next_faults(const char *p)
{
    return faults(load(p), load(p - 1), load(p - 2), load(p - 3));
}

/* How many bytes before p belong to a character that continues at p. */
static inline size_t unfinished(const char *p)
{
    return byte_at(p - 1) >= 0xC0 ? 1 : byte_at(p - 2) >= 0xE0 ? 2 : byte_at(p - 3) >= 0xF0 ? 3 : 0;
}

/* Loads WORTH to BLOCK - 1 bytes, followed by zeros, without reading outside the text: it loads
 * from both ends, and shifts the bytes that were loaded twice out of the second half. */
AVX2 static inline __m256i gather(const char *p, size_t n)
{
    static const signed char push[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1,
                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    if (n < 16) {
        uint64_t second = word_at(p + n - 8) >> 8 * (16 - n);
        return _mm256_set_epi64x(0, 0, (long long)second, (long long)word_at(p));
    }
    __m128i second = _mm_shuffle_epi8(half_block(p + n - 16),
                                      half_block((const char *)push + 32 - n));
    return _mm256_set_m128i(second, half_block(p));
}

AVX2 static inline bool none(__m256i bytes)
{
    return _mm256_testz_si256(bytes, bytes);
}

AVX2 static bool valid_short(const char *p, const char *end)
{
    size_t n = (size_t)(end - p);
    if (n < BLOCK)
        return none(first_faults(gather(p, n)));
    const char *rest = p + BLOCK - unfinished(p + BLOCK);
    return none(first_faults(load(p))) && valid_steps(rest, end);
}

/* ASCII after ASCII needs no tables, because no character continues there. The last block ends at
 * the end of the text and overlaps the block before it. */
AVX2 static bool valid_blocks(const char *p, const char *end)
{
    if (end - p < LEAST)
        return valid_short(p, end);
    __m256i bad = first_faults(load(p));
    for (p += BLOCK; end - p >= 2 * BLOCK; p += 2 * BLOCK) {
        __m256i both = _mm256_or_si256(load(p), load(p + BLOCK));
        if (!_mm256_movemask_epi8(_mm256_or_si256(both, load(p - 1))))
            continue;
        bad = _mm256_or_si256(bad, _mm256_or_si256(next_faults(p), next_faults(p + BLOCK)));
    }
    if (end - p > BLOCK)
        bad = _mm256_or_si256(bad, next_faults(p));
    return none(_mm256_or_si256(bad, next_faults(end - BLOCK))) && !unfinished(end);
}

/* Not 0 at quotes, backslashes and control characters. The shuffle gives 0 for bytes above 0x7F. */
AVX2 static inline __m256i stops(__m256i block)
{
    return _mm256_and_si256(look_up(stops_of.low, block), look_up(stops_of.high, high_half(block)));
}

AVX2 static inline unsigned zeros(__m256i bytes)
{
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
}

/* The block at p has an error or an end of the run: returns NULL if the error is first, otherwise
 * the end. A character that the end truncates is an error at the same byte. */
AVX2 static const char *run_end(const char *p, __m256i bad, __m256i stop)
{
    unsigned ends = ~zeros(stop), upto = ends ^ (ends - 1);
    return ~zeros(bad) & upto ? NULL : p + __builtin_ctz(ends);
}

/* Checks the last block, which ends at the end of the text. The bytes that it shares with the block
 * before it are known to be valid. */
AVX2 static const char *run_rest(const char *end)
{
    const char *p = end - BLOCK;
    __m256i bad = next_faults(p), stop = stops(load(p));
    if (!none(_mm256_or_si256(bad, stop)))
        return run_end(p, bad, stop);
    return unfinished(end) ? NULL : end;
}

/* The zeros that follow a short text end the run. */
AVX2 static const char *run_short(const char *p, const char *end)
{
    size_t n = (size_t)(end - p);
    __m256i block = n < BLOCK ? gather(p, n) : load(p);
    __m256i bad = first_faults(block), stop = stops(block);
    if (!none(_mm256_or_si256(bad, stop)))
        return run_end(p, bad, stop);
    return run_steps(p + BLOCK - unfinished(p + BLOCK), end);
}

AVX2 static const char *run_blocks(const char *p, const char *end)
{
    if (end - p < LEAST)
        return run_short(p, end);
    __m256i bad = first_faults(load(p)), stop = stops(load(p));
    while (none(_mm256_or_si256(bad, stop))) {
        p += BLOCK;
        if (end - p < BLOCK)
            return run_rest(end);
        bad = next_faults(p);
        stop = stops(load(p));
    }
    return run_end(p, bad, stop);
}

AVX2 static size_t count_blocks(const char *p, const char *end)
{
    __m256i sums = _mm256_setzero_si256();
    while (end - p >= BLOCK) {
        __m256i seen = _mm256_setzero_si256();
        for (int i = 0; i < 255 && end - p >= BLOCK; i++, p += BLOCK)
            seen = _mm256_sub_epi8(seen, _mm256_cmpgt_epi8(load(p), _mm256_set1_epi8(-65)));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(seen, _mm256_setzero_si256()));
    }
    _Alignas(32) uint64_t sum[4];
    _mm256_store_si256((__m256i *)(void *)sum, sums);
    return (size_t)(sum[0] + sum[1] + sum[2] + sum[3]) + count_steps(p, end);
}

static inline bool have_blocks(const char *p, const char *end)
{
    return end - p >= WORTH && __builtin_cpu_supports("avx2");
}

#else

static inline bool have_blocks(const char *p, const char *end)
{
    (void)p;
    (void)end;
    return false;
}

static inline bool valid_blocks(const char *p, const char *end)
{
    return valid_steps(p, end);
}

static inline const char *run_blocks(const char *p, const char *end)
{
    return run_steps(p, end);
}

static inline size_t count_blocks(const char *p, const char *end)
{
    return count_steps(p, end);
}

#endif

/* For fewer than LEAST bytes. The last word may overlap the one before it. */
static inline bool short_ascii(const char *p, size_t n)
{
    if (!n)
        return true;
    const char *end = p + n;
    if (n < 4)
        return !((byte_at(p) | byte_at(p + n / 2) | byte_at(end - 1)) & 0x80);
    if (n < 8)
        return !((half_at(p) | half_at(end - 4)) & HIGH_BITS);
    uint64_t any = word_at(end - 8);
    for (; end - p > 8; p += 8)
        any |= word_at(p);
    return !(any & HIGH_BITS);
}

bool fumi_utf8_valid(struct fumi_str s)
{
    if (s.n < LEAST && short_ascii(s.p, s.n))
        return true;
    const char *end = s.p + s.n;
    return have_blocks(s.p, end) ? valid_blocks(s.p, end) : valid_steps(s.p, end);
}

const char *fumi_utf8_run(const char *p, const char *end)
{
    return have_blocks(p, end) ? run_blocks(p, end) : run_steps(p, end);
}

size_t fumi_utf8_count(struct fumi_str s)
{
    if (!s.n)
        return 0;
    const char *end = s.p + s.n;
    return s.n >= LEAST && have_blocks(s.p, end) ? count_blocks(s.p, end) : count_steps(s.p, end);
}

size_t fumi_utf8_write(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(0xF00 >> n | c);
    return n;
}

struct fumi_str fumi_utf8_cut(struct fumi_str s, size_t n)
{
    if (s.n < n)
        n = s.n;
    if (!n)
        return (struct fumi_str){s.p, 0};
    size_t back = 1;
    while (back < 3 && back < n && (byte_at(s.p + n - back) & 0xC0) == 0x80)
        back++;
    unsigned first = byte_at(s.p + n - back);
    size_t whole = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return (struct fumi_str){s.p, whole > back ? n - back : n};
}
