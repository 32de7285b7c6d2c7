/* The text is read once. Each character is normalised by itself and goes to the word that is being
 * collected, or ends it; a word is then cut into the longest known pieces. The rules are those of
 * the published tokenizers that such models are trained with: strip before lower-casing, and no
 * rule that looks at neighbours. */
#include "embed/wordpiece.h"

#include "base/utf8.h"

#include <utf8proc.h>

enum {
    CHARS_MAX = 100, /* that a word collects; max_chars is not above */
    REPLACEMENT = 0xFFFD,
};

/* A word, normalised, and where in the text each of its bytes comes from. */
struct word {
    char bytes[CHARS_MAX * 4];
    uint32_t begin[CHARS_MAX * 4], end[CHARS_MAX * 4];
    size_t n, chars;
    uint32_t first, last; /* bytes of the text that it stands for */
};

struct run {
    const struct wordpiece *w;
    struct fumi_buf *out;
    size_t left; /* tokens that may still come */
    struct word word;
};

/* A character and where it stands. */
struct place {
    uint32_t begin, end;
};

static void add(struct run *r, int32_t id, uint32_t begin, uint32_t end)
{
    if (!r->left)
        return;
    struct model_token t = {id, begin, end};
    fumi_buf_add(r->out, &t, sizeof(t));
    r->left--;
}

/* The longest word of the trie that p begins with, from the cell `at` on; -1: none. */
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

/* False: a part of the word is unknown, and what was added of it is taken back. */
static bool add_pieces(struct run *r)
{
    const struct word *word = &r->word;
    size_t before = r->out->n, left = r->left;
    for (size_t i = 0, n = 0; i < word->n; i += n) {
        int32_t id = longest(r->w->words, i ? r->w->inside : 0, word->bytes + i,
                             word->bytes + word->n, &n);
        if (id < 0 || id >= r->w->ids) {
            r->out->n = before;
            r->left = left;
            return false;
        }
        add(r, id, word->begin[i], word->end[i + n - 1]);
    }
    return true;
}

static void end_word(struct run *r)
{
    struct word *word = &r->word;
    if (word->chars && (word->chars > r->w->max_chars || !add_pieces(r)))
        add(r, r->w->unknown, word->first, word->last);
    word->n = word->chars = 0;
}

static void append(struct run *r, uint32_t c, struct place at)
{
    struct word *word = &r->word;
    if (!word->chars)
        word->first = at.begin;
    word->last = at.end;
    if (++word->chars > r->w->max_chars)
        return;
    size_t n = fumi_utf8_write(c, word->bytes + word->n);
    for (; n; n--, word->n++) {
        word->begin[word->n] = at.begin;
        word->end[word->n] = at.end;
    }
}

static void add_alone(struct run *r, uint32_t c, struct place at)
{
    end_word(r);
    append(r, c, at);
    end_word(r);
}

/* The tokenizer that the models were trained with knows Unicode 8: marks, punctuation and controls
 * that came later are letters to it. These ranges hold all of them, and nothing older of those
 * kinds. */
static const uint32_t later[][2] = {
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

static bool is_later(uint32_t c)
{
    size_t lo = 0, hi = FUMI_COUNT(later);
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (c > later[middle][1])
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < FUMI_COUNT(later) && c >= later[lo][0];
}

/* Three signs changed their kind since. */
static utf8proc_category_t kind_of(uint32_t c)
{
    if (c == 0x166D || c == 0x111C9)
        return UTF8PROC_CATEGORY_PO;
    if (c == 0x1734)
        return UTF8PROC_CATEGORY_MN;
    utf8proc_category_t kind = utf8proc_category((utf8proc_int32_t)c);
    return is_later(c) ? UTF8PROC_CATEGORY_LO : kind;
}

/* What Unicode calls White_Space. */
static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* The gap before U+2B920 is in the tokenizer that the models were trained with. */
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
    utf8proc_category_t kind = kind_of(c);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

static bool is_control(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return false;
    if (c < 0x80)
        return c < 0x20 || c == 0x7F;
    utf8proc_category_t kind = kind_of(c);
    return c == REPLACEMENT || kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
           kind == UTF8PROC_CATEGORY_CO;
}

bool wordpiece_parts(uint32_t c)
{
    return is_blank(c) || is_punctuation(c) || is_ideograph(c);
}

static void split(struct run *r, uint32_t c, struct place at)
{
    if (is_blank(c))
        end_word(r);
    else if (is_punctuation(c))
        add_alone(r, c, at);
    else
        append(r, c, at);
}

static void lower(struct run *r, uint32_t c, struct place at)
{
    if (!(r->w->flags & WORDPIECE_LOWER)) {
        split(r, c, at);
        return;
    }
    split(r, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c), at);
    if (c == 0x130) /* the only character whose lower case is two */
        split(r, 0x307, at);
}

static void strip(struct run *r, uint32_t c, struct place at)
{
    utf8proc_int32_t parts[8] = {(utf8proc_int32_t)c};
    utf8proc_ssize_t n = 1;
    if (r->w->flags & WORDPIECE_STRIP)
        n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, 8, UTF8PROC_DECOMPOSE, NULL);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; i++)
        if (!(r->w->flags & WORDPIECE_STRIP) || kind_of((uint32_t)parts[i]) != UTF8PROC_CATEGORY_MN)
            lower(r, (uint32_t)parts[i], at);
}

static void take(struct run *r, uint32_t c, struct place at)
{
    if ((r->w->flags & WORDPIECE_CLEAN) && is_control(c))
        return;
    bool alone = (r->w->flags & WORDPIECE_CJK) && is_ideograph(c);
    if (alone)
        end_word(r);
    strip(r, c, at);
    if (alone)
        end_word(r);
}

/* Most text is ASCII, and most of that letters and digits. */
static void take_ascii(struct run *r, unsigned char c, struct place at)
{
    bool upper = c >= 'A' && c <= 'Z';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || upper)
        append(r, upper && (r->w->flags & WORDPIECE_LOWER) ? c | 0x20u : c, at);
    else if (c == ' ')
        end_word(r);
    else
        take(r, c, at);
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

/* How many bytes of a special token begin at p; it is added. */
static size_t take_special(struct run *r, const char *p, const char *end, uint32_t at)
{
    size_t n = 0;
    int32_t id = longest(r->w->specials, 0, p, end, &n);
    if (id < 0 || id >= r->w->ids)
        return 0;
    end_word(r);
    add(r, id, at, at + (uint32_t)n);
    return n;
}

void wordpiece_run(const struct wordpiece *w, struct fumi_str text, size_t max,
                   struct fumi_buf *out)
{
    struct run r;
    r.w = w;
    r.out = out;
    r.left = max;
    r.word.n = r.word.chars = 0;
    const char *end = text.p + text.n;
    size_t n;
    for (const char *p = text.p; p < end && r.left; p += n) {
        uint32_t at = (uint32_t)(p - text.p);
        n = take_special(&r, p, end, at);
        if (n)
            continue;
        uint32_t c = wordpiece_char(p, end, &n);
        struct place place = {at, at + (uint32_t)n};
        if (c < 0x80)
            take_ascii(&r, (unsigned char)c, place);
        else
            take(&r, c, place);
    }
    end_word(&r);
}
