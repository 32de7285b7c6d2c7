/* The text is read once. Each character is normalized separately and then appended to the current
 * word, or ends it. A complete word is divided into the longest known pieces, from left to right.
 * The rules are those of the tokenizers that such models are trained with: accents are stripped
 * before conversion to lower case, and no rule looks at neighbouring characters. */
#include "embed/wordpiece.h"

#include "base/utf8.h"

#include <assert.h>
#include <utf8proc.h>

enum {
    CHARS_MAX = 100, /* in a word; max_chars is not greater */
    REPLACEMENT = 0xFFFD,
};

/* The current word, normalized, and for each of its bytes the character of the text that it comes
 * from. */
struct piece_word {
    char bytes[CHARS_MAX * 4];
    uint32_t begin[CHARS_MAX * 4], end[CHARS_MAX * 4];
    size_t n, chars;
    uint32_t first, last; /* its position in the text, in bytes */
};

struct wordpiece_run {
    const struct wordpiece *w;
    struct fumi_buf *out;
    size_t left; /* tokens that may still be added */
    struct piece_word word;
};

/* The position of a character in the text, in bytes. */
struct char_range {
    uint32_t begin, end;
};

static void add(struct wordpiece_run *t, int32_t id, uint32_t begin, uint32_t end)
{
    if (!t->left)
        return;
    struct model_token token = {id, begin, end};
    fumi_buf_add(t->out, &token, sizeof(token));
    t->left--;
}

/* Returns the id of the longest word of the trie that matches at p, starting from the cell `at`,
 * and sets *n to its bytes; -1 if there is none. */
static int32_t longest(struct trie t, uint32_t at, const char *p, const char *end, size_t *n)
{
    int32_t found = -1;
    for (const char *q = p; q < end; q++) {
        at = trie_step(t, at, (unsigned char)*q);
        if (at == TRIE_NONE)
            break;
        if (t.cells[at].id >= 0) {
            found = t.cells[at].id;
            *n = (size_t)(q - p) + 1;
        }
    }
    return found;
}

/* Returns false, with nothing added, if a part of the word is unknown. */
static bool add_pieces(struct wordpiece_run *t)
{
    const struct piece_word *word = &t->word;
    size_t before = t->out->n, left = t->left;
    for (size_t i = 0, n = 0; i < word->n; i += n) {
        int32_t id = longest(t->w->words, i ? t->w->continuation : 0, word->bytes + i,
                             word->bytes + word->n, &n);
        if (id < 0 || id >= t->w->ids) {
            t->out->n = before;
            t->left = left;
            return false;
        }
        add(t, id, word->begin[i], word->end[i + n - 1]);
    }
    return true;
}

static void end_word(struct wordpiece_run *t)
{
    struct piece_word *word = &t->word;
    if (word->chars && (word->chars > t->w->max_chars || !add_pieces(t)))
        add(t, t->w->unk, word->first, word->last);
    word->n = word->chars = 0;
}

static void append(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    struct piece_word *word = &t->word;
    if (!word->chars)
        word->first = at.begin;
    word->last = at.end;
    if (++word->chars > t->w->max_chars)
        return;
    assert(word->chars <= CHARS_MAX);
    size_t n = fumi_utf8_write(c, word->bytes + word->n);
    for (; n; n--, word->n++) {
        word->begin[word->n] = at.begin;
        word->end[word->n] = at.end;
    }
}

static void add_alone(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    end_word(t);
    append(t, c, at);
    end_word(t);
}

/* The models were trained with a tokenizer for Unicode 8. It treats marks, punctuation and control
 * characters of later versions as letters. These ranges contain all such characters, and no older
 * mark, punctuation or control character. */
static const uint32_t newer[][2] = {
    {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},
    {0xA76, 0xA76},     {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},
    {0xC77, 0xC77},     {0xC84, 0xC84},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},
    {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111CF, 0x111CF},
    {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x11660, 0x1166C},
    {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455}, {0x16E97, 0x16F4F},
    {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E95F},
};

static bool is_newer(uint32_t c)
{
    size_t lo = 0, hi = FUMI_COUNT(newer);
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (c > newer[middle][1])
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < FUMI_COUNT(newer) && c >= newer[lo][0];
}

/* The category in Unicode 8. Three characters have another one today. */
static utf8proc_category_t category_of(uint32_t c)
{
    if (c == 0x166D || c == 0x111C9)
        return UTF8PROC_CATEGORY_PO;
    if (c == 0x1734)
        return UTF8PROC_CATEGORY_MN;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return is_newer(c) ? UTF8PROC_CATEGORY_LO : category;
}

/* The Unicode property White_Space. */
static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* The tokenizer that the models were trained with has the gap before U+2B920, too. */
static bool is_ideograph(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
    };
    for (size_t i = 0; c >= ranges[0][0] && i < FUMI_COUNT(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static bool is_ascii_punctuation(uint32_t c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

static bool is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return is_ascii_punctuation(c);
    utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

static bool is_control(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return false;
    if (c < 0x80)
        return c < 0x20 || c == 0x7F;
    utf8proc_category_t category = category_of(c);
    return c == REPLACEMENT || category == UTF8PROC_CATEGORY_CC ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

bool wordpiece_separates(uint32_t c)
{
    return is_blank(c) || is_punctuation(c) || is_ideograph(c);
}

static void split(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    if (is_blank(c))
        end_word(t);
    else if (is_punctuation(c))
        add_alone(t, c, at);
    else
        append(t, c, at);
}

static void lower(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    if (!(t->w->flags & WORDPIECE_LOWER)) {
        split(t, c, at);
        return;
    }
    split(t, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c), at);
    if (c == 0x130) /* the only character whose lower case is two characters */
        split(t, 0x307, at);
}

static void strip(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    utf8proc_int32_t parts[8] = {(utf8proc_int32_t)c};
    utf8proc_ssize_t n = 1;
    if (t->w->flags & WORDPIECE_STRIP)
        n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, 8, UTF8PROC_DECOMPOSE, NULL);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; i++)
        if (!(t->w->flags & WORDPIECE_STRIP) ||
            category_of((uint32_t)parts[i]) != UTF8PROC_CATEGORY_MN)
            lower(t, (uint32_t)parts[i], at);
}

static void take(struct wordpiece_run *t, uint32_t c, struct char_range at)
{
    if ((t->w->flags & WORDPIECE_CLEAN) && is_control(c))
        return;
    bool alone = (t->w->flags & WORDPIECE_CJK) && is_ideograph(c);
    if (alone)
        end_word(t);
    strip(t, c, at);
    if (alone)
        end_word(t);
}

/* A fast path: most text is ASCII, and most of that letters and digits. */
static void take_ascii(struct wordpiece_run *t, unsigned char c, struct char_range at)
{
    bool upper = c >= 'A' && c <= 'Z';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || upper)
        append(t, upper && (t->w->flags & WORDPIECE_LOWER) ? c | 0x20u : c, at);
    else if (c == ' ')
        end_word(t);
    else
        take(t, c, at);
}

uint32_t wordpiece_char(const char *p, const char *end, size_t *n)
{
    utf8proc_int32_t c = (unsigned char)*p;
    *n = c < 0x80 ? 1 : fumi_utf8_step(p, end);
    if (*n == 0)
        c = REPLACEMENT;
    else if (*n > 1)
        utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)*n, &c);
    *n += !*n;
    return (uint32_t)c;
}

/* Adds the special token at p, if there is one. Returns its bytes, or 0. */
static size_t take_special(struct wordpiece_run *t, const char *p, const char *end, uint32_t at)
{
    size_t n = 0;
    int32_t id = longest(t->w->specials, 0, p, end, &n);
    if (id < 0 || id >= t->w->ids)
        return 0;
    end_word(t);
    add(t, id, at, at + (uint32_t)n);
    return n;
}

void wordpiece_run(const struct wordpiece *w, struct fumi_str text, size_t max,
                   struct fumi_buf *out)
{
    struct wordpiece_run t;
    t.w = w;
    t.out = out;
    t.left = max;
    t.word.n = t.word.chars = 0;
    const char *end = text.n ? text.p + text.n : text.p;
    size_t n;
    for (const char *p = text.p; p < end && t.left; p += n) {
        uint32_t at = (uint32_t)(p - text.p);
        n = take_special(&t, p, end, at);
        if (n)
            continue;
        uint32_t c = wordpiece_char(p, end, &n);
        struct char_range range = {at, at + (uint32_t)n};
        if (c < 0x80)
            take_ascii(&t, (unsigned char)c, range);
        else
            take(&t, c, range);
    }
    end_word(&t);
}
