/* Folding: Unicode compatibility normalization (NFKC), case folding and removal of diacritics, so
 * that different spellings of a word give the same word.
 *
 * Characters are decomposed and lose their combining marks: é becomes e. Kana and Hangul are
 * composed instead, because there the mark distinguishes letters (か and が); this also covers
 * half-width forms and decomposed file names. Marks of other scripts are kept, because many of
 * them are vowels. */
#include "store/words_parts.h"

#include "base/chars.h"
#include "base/utf8.h"

#include <assert.h>
#include <utf8proc.h>

struct code_range {
    uint32_t first, last;
};

/* Blocks of scripts that do not separate words by spaces, and Hangul, which does, but attaches
 * particles to words. */
static const struct code_range spaceless[] = {
    {0x0E00, 0x0EFF},   /* Thai, Lao */
    {0x1000, 0x109F},   /* Myanmar */
    {0x1100, 0x11FF},   /* Hangul, decomposed */
    {0x1780, 0x17FF},   /* Khmer */
    {0x2E80, 0x2FDF},   /* radicals */
    {0x3005, 0x3007},   /* iteration mark, closing mark, ideographic zero */
    {0x3021, 0x303C},   /* Suzhou numerals, kana repeat marks */
    {0x3040, 0x31FF},   /* kana, Bopomofo, Hangul letters */
    {0x3400, 0x4DBF},   /* Han */
    {0x4E00, 0x9FFF},   /* Han */
    {0xA960, 0xA97F},   /* Hangul, decomposed */
    {0xA9E0, 0xA9FF},   /* Myanmar */
    {0xAA60, 0xAA7F},   /* Myanmar */
    {0xAC00, 0xD7FF},   /* Hangul */
    {0xF900, 0xFAFF},   /* Han */
    {0x1AFF0, 0x1B16F}, /* kana */
    {0x20000, 0x3FFFF}, /* Han */
};

/* Ranges of these blocks that contain only letters and that folding does not change: most
 * Japanese, Chinese and Korean text, which therefore needs no lookup. */
static const struct code_range unchanged[] = {{0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x30FC, 0x30FE},
                                              {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0x3400, 0x4DBF}};

/* Combining marks that are not part of the spelling: diacritics, Hebrew and Arabic points. */
static const struct code_range diacritics[] = {
    {0x0300, 0x036F}, {0x0483, 0x0487}, {0x0591, 0x05BD}, {0x05BF, 0x05BF}, {0x05C1, 0x05C2},
    {0x05C4, 0x05C5}, {0x05C7, 0x05C7}, {0x0610, 0x061A}, {0x064B, 0x065F}, {0x0670, 0x0670},
    {0x06D6, 0x06DC}, {0x06DF, 0x06E4}, {0x06E7, 0x06E8}, {0x06EA, 0x06ED}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F},
};

static const struct code_range latin[] = {{'A', 'Z'},       {'a', 'z'},       {0x00AA, 0x024F},
                                          {0x0250, 0x02AF}, {0x1D00, 0x1DBF}, {0x1E00, 0x1EFF},
                                          {0x2C60, 0x2C7F}, {0xA720, 0xA7FF}, {0xAB30, 0xAB6F},
                                          {0xFB00, 0xFB06}, {0xFF21, 0xFF5A}};

#define IN(table, c) within(table, FUMI_COUNT(table), c)

static bool within(const struct code_range *ranges, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
}

static struct unit ascii(unsigned char c)
{
    if (c >= 'a' && c <= 'z')
        return (struct unit){.c = c, .kind = UNIT_WORD, .letter = CASE_LOWER};
    if (c >= 'A' && c <= 'Z')
        return (struct unit){.c = c | 0x20, .kind = UNIT_WORD, .letter = CASE_UPPER};
    if (c >= '0' && c <= '9')
        return (struct unit){.c = c, .kind = UNIT_WORD, .letter = CASE_DIGIT};
    return (struct unit){.c = c, .kind = c > ' ' && c < 0x7F ? UNIT_PUNCT : UNIT_BLANK};
}

/* Maps typographic quotes, hyphens and the minus sign to their ASCII forms. */
static uint32_t to_ascii_form(uint32_t c)
{
    switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x02BC:
        return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E:
        return '"';
    case 0x2010:
    case 0x2011:
    case 0x2212:
        return '-';
    }
    return c;
}

/* Unassigned code points count as symbols: they may be newer than the tables of utf8proc. */
static enum unit_kind kind_of(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return IN(spaceless, c) ? UNIT_CHAR : UNIT_WORD;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return UNIT_PUNCT;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
        return UNIT_SYMBOL;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
        return UNIT_BLANK;
    }
    return UNIT_BLANK;
}

static enum unit_case case_of(uint32_t c)
{
    switch ((int)utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
        return CASE_UPPER;
    case UTF8PROC_CATEGORY_LL:
        return CASE_LOWER;
    case UTF8PROC_CATEGORY_ND:
        return CASE_DIGIT;
    }
    return CASE_NONE;
}

bool words_capitalised(struct fumi_str word)
{
    size_t n;
    return word.n && case_of(fumi_char_at(word.p, fumi_end(word), &n)) == CASE_UPPER;
}

/* Appends a folded character, or composes it with the last one: a voicing mark with its kana, a
 * Hangul letter with its syllable. Returns the new number of units. */
static size_t put(struct unit *out, size_t n, struct unit u)
{
    bool joins = u.c == 0x3099 || u.c == 0x309A || (u.c >= 0x1160 && u.c <= 0x11FF);
    if (n && joins && out[n - 1].kind == UNIT_CHAR) {
        utf8proc_int32_t both[2] = {(utf8proc_int32_t)out[n - 1].c, (utf8proc_int32_t)u.c};
        if (utf8proc_normalize_utf32(both, 2, UTF8PROC_COMPOSE) == 1) {
            out[n - 1].c = (uint32_t)both[0];
            out[n - 1].end = u.end;
            return n;
        }
    }
    out[n] = u;
    return n + 1;
}

/* Appends the folded form of a character that is neither ASCII nor in `unchanged`: no unit, or a
 * few. A symbol that stands for letters, such as the trade mark sign, is separated from the word
 * before it. */
static size_t put_folded(struct unit *out, size_t n, uint32_t c, struct unit u)
{
    enum { MOST = FOLD_MIN - 6 };
    utf8proc_int32_t to[MOST];
    int last = 0;
    utf8proc_ssize_t got = utf8proc_decompose_char(
        (utf8proc_int32_t)to_ascii_form(c), to, MOST,
        UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE, &last);
    enum unit_case letter = case_of(c);
    struct unit blank = {.begin = u.begin, .end = u.end, .kind = UNIT_BLANK};
    bool apart = kind_of(c) == UNIT_SYMBOL && got > 0 && (uint32_t)to[0] != c;
    if (apart)
        out[n++] = blank;
    for (utf8proc_ssize_t i = 0; i < got && i < MOST; i++) {
        u.c = to_ascii_form((uint32_t)to[i]);
        if (IN(diacritics, u.c))
            continue;
        struct unit plain = ascii(u.c < 0x80 ? (unsigned char)u.c : 0);
        u.kind = u.c < 0x80 ? plain.kind : (uint8_t)kind_of(u.c);
        u.letter = letter != CASE_NONE || u.c >= 0x80 ? (uint8_t)letter : plain.letter;
        n = put(out, n, u);
    }
    if (apart)
        out[n++] = blank;
    return n;
}

static uint32_t decode(const char *p, size_t n)
{
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)p[0] & first[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3F);
    return c;
}

/* Reads ASCII characters up to `max` units. Returns the new number of units. */
static size_t take_ascii(struct fold *f, struct unit *out, size_t n, size_t max)
{
    for (; f->at < f->text.n && n < max; n++, f->at++) {
        unsigned char c = (unsigned char)f->text.p[f->at];
        if (c >= 0x80)
            break;
        out[n] = ascii(c);
        out[n].begin = f->at;
        out[n].end = f->at + 1;
    }
    return n;
}

/* Reads one character that is not ASCII. */
static size_t take(struct fold *f, struct unit *out, size_t n)
{
    const char *p = f->text.p + f->at, *end = f->text.p + f->text.n;
    size_t step = fumi_utf8_step(p, end);
    struct unit u = {.begin = f->at, .end = f->at + (uint32_t)(step ? step : 1)};
    f->at = u.end;
    uint32_t c = step ? decode(p, step) : 0;
    if (step && !IN(unchanged, c))
        return put_folded(out, n, c, u);
    u.kind = step ? UNIT_CHAR : UNIT_BLANK;
    u.c = c;
    out[n] = u;
    return n + 1;
}

size_t words_fold(struct fold *f, struct unit *out, size_t max)
{
    size_t n = 0;
    assert(max >= FOLD_MIN);
    if (f->holds)
        out[n++] = f->held;
    f->holds = false;
    while (f->at < f->text.n && n + FOLD_MIN <= max + 1) {
        n = take_ascii(f, out, n, max + 2 - FOLD_MIN);
        if (f->at < f->text.n && (unsigned char)f->text.p[f->at] >= 0x80)
            n = take(f, out, n);
    }
    if (f->at < f->text.n && n) {
        f->held = out[--n];
        f->holds = true;
    }
    return n;
}

struct fumi_str words_lower(struct fumi_str word, char *out)
{
    utf8proc_int32_t room[LOWER_MAX + 1]; /* characters, then replaced by UTF-8 */
    const utf8proc_option_t how = UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                                  UTF8PROC_IGNORE;
    utf8proc_ssize_t n = utf8proc_decompose((const utf8proc_uint8_t *)word.p,
                                            (utf8proc_ssize_t)word.n, room, LOWER_MAX, how);
    n = n > 0 && n <= LOWER_MAX ? utf8proc_reencode(room, n, how) : 0;
    memcpy(out, room, n > 0 ? (size_t)n : 0);
    return (struct fumi_str){out, n > 0 ? (size_t)n : 0};
}

bool words_mostly_non_latin(struct fumi_str text)
{
    size_t known = 0, foreign = 0;
    const char *end = text.n ? text.p + text.n : text.p;
    for (const char *p = text.p; p < end;) {
        size_t step = fumi_utf8_step(p, end);
        uint32_t c = step ? decode(p, step) : 0;
        enum unit_kind kind = c < 0x80 ? UNIT_WORD : kind_of(c);
        if (IN(latin, c))
            known++;
        else if (kind == UNIT_CHAR)
            foreign += 2;
        else if (c >= 0x80 && kind == UNIT_WORD)
            foreign++;
        p += step ? step : 1;
    }
    return foreign > known;
}
