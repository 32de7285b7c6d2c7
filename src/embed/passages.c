/* Passages are cut greedily: each is as long as possible and ends at the best border in its last
 * quarter; if every border there would divide a word, at the best one in its second half, which is
 * longer than any word. */
#include "embed/passages.h"

#include "embed/wordpiece.h"

#include <assert.h>

/* How good a border is, the worst first. */
enum { IN_CHAR, IN_WORD, AT_WORD, AT_BLANK, AT_SENTENCE, AT_PARAGRAPH };

/* Borders are numbered by tokens or, if `tokens` is NULL, by bytes. */
struct passage_cutter {
    struct fumi_str text;
    const struct model_token *tokens;
    size_t n;             /* tokens or bytes of the text */
    size_t most, overlap; /* of a passage */
};

/* The byte of border i. The first and the last border are the ends of the text. */
static size_t byte_at(const struct passage_cutter *c, size_t i)
{
    if (i >= c->n)
        return c->text.n;
    if (i == 0)
        return 0;
    return c->tokens ? c->tokens[i].begin : i;
}

static bool is_inside(const struct passage_cutter *c, size_t at)
{
    return at < c->text.n && ((unsigned char)c->text.p[at] & 0xC0) == 0x80;
}

static uint32_t char_at(const struct passage_cutter *c, size_t at)
{
    size_t n;
    return at < c->text.n ? wordpiece_char(c->text.p + at, c->text.p + c->text.n, &n) : ' ';
}

static uint32_t char_before(const struct passage_cutter *c, size_t at)
{
    size_t begin = at;
    do
        begin--;
    while (begin && at - begin < 4 && is_inside(c, begin));
    return char_at(c, begin);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool ends_sentence(uint32_t c)
{
    static const uint32_t marks[] = {'.', '!', '?', 0x2026, 0x203C, 0x2047};
    for (size_t i = 0; i < FUMI_COUNT(marks); i++)
        if (c == marks[i])
            return true;
    return false;
}

/* Marks that are not followed by a space. */
static bool ends_cjk_sentence(uint32_t c)
{
    return c == 0x3002 || c == 0xFF0E || c == 0xFF01 || c == 0xFF1F || c == 0xFF61;
}

/* Rates a border that follows blanks. */
static int rate_after_blanks(const struct passage_cutter *c, size_t at)
{
    enum { FAR = 64 };
    size_t lines = 0, i = at;
    for (; i && at - i < FAR && is_blank(c->text.p[i - 1]); i--)
        lines += c->text.p[i - 1] == '\n';
    if (lines)
        return lines > 1 ? AT_PARAGRAPH : AT_SENTENCE;
    return i && ends_sentence(char_before(c, i)) ? AT_SENTENCE : AT_BLANK;
}

/* Rates the border at a byte. */
static int rate_byte(const struct passage_cutter *c, size_t at)
{
    if (at == 0 || at >= c->text.n)
        return AT_PARAGRAPH;
    if (is_inside(c, at))
        return IN_CHAR;
    if (is_blank(c->text.p[at]))
        return IN_WORD; /* blanks belong to the text before them */
    if (is_blank(c->text.p[at - 1]))
        return rate_after_blanks(c, at);
    uint32_t before = char_before(c, at);
    if (ends_cjk_sentence(before))
        return AT_SENTENCE;
    return wordpiece_separates(before) || wordpiece_separates(char_at(c, at)) ? AT_WORD : IN_WORD;
}

/* Rates border i. If a character has several tokens, only the first of them can begin a passage. */
static int rate(const struct passage_cutter *c, size_t i)
{
    if (c->tokens && i && i < c->n && c->tokens[i].begin == c->tokens[i - 1].begin)
        return IN_CHAR;
    return rate_byte(c, byte_at(c, i));
}

/* Returns the best border from lo to hi, the last one of equals, and sets *value to its rating. */
static size_t best(const struct passage_cutter *c, size_t lo, size_t hi, int *value)
{
    size_t found = hi;
    *value = -1;
    for (size_t i = hi; i >= lo && i > 0; i--) {
        int rating = rate(c, i);
        if (rating > *value) {
            *value = rating;
            found = i;
        }
        if (rating == AT_PARAGRAPH)
            break;
    }
    return found;
}

/* The best border from `near` to hi; from `far` on if all of those divide a word. */
static size_t find_border(const struct passage_cutter *c, size_t near, size_t far, size_t hi)
{
    int value;
    size_t i = best(c, near, hi, &value);
    return value > IN_WORD || far >= near ? i : best(c, far, hi, &value);
}

static size_t at_least(size_t n, size_t least)
{
    return n < least ? least : n;
}

/* The end of the passage that begins at `from`; after `last`, the end of the previous one. */
static size_t end_of(const struct passage_cutter *c, size_t from, size_t last)
{
    if (c->n - from <= c->most)
        return c->n;
    size_t hi = from + c->most;
    size_t end = find_border(c, at_least(hi - c->most / 4, last + 1),
                             at_least(hi - c->most / 2, last + 1), hi);
    while (end < c->n && byte_at(c, end) <= byte_at(c, last))
        end++;
    return end;
}

/* The beginning of the next passage: about `overlap` before the end of this one, and in its second
 * half, so that the next one ends later. There is no overlap if it would divide a word. */
static size_t next_of(const struct passage_cutter *c, size_t from, size_t end)
{
    size_t half = (end - from) / 2, spare = c->overlap / 5;
    if (half <= c->overlap - spare || !c->overlap)
        return end;
    size_t near = c->overlap + spare, hi = end - (c->overlap - spare);
    size_t next = find_border(c, end - (near < half ? near : half), end - half, hi);
    int value = rate(c, next);
    return value > IN_WORD || (value == IN_WORD && rate(c, end) <= IN_WORD) ? next : end;
}

static struct text_ranges cut(struct fumi_arena *a, const struct passage_cutter *c)
{
    struct fumi_buf found = {0};
    for (size_t from = 0, end = 0;;) {
        end = end_of(c, from, end);
        struct text_range s = {from ? (uint32_t)byte_at(c, from) : 0, (uint32_t)byte_at(c, end)};
        assert(s.begin <= s.end && s.end <= c->text.n);
        fumi_buf_add(&found, &s, sizeof(s));
        if (end >= c->n)
            break;
        from = next_of(c, from, end);
    }
    struct text_ranges result = {fumi_alloc(a, found.n), found.n / sizeof(struct text_range)};
    memcpy(result.items, found.p, found.n);
    fumi_buf_done(&found);
    return result;
}

struct text_ranges passages_by_bytes(struct fumi_arena *a, struct fumi_str text, size_t most,
                                     size_t overlap)
{
    most = at_least(most, 8);
    overlap = overlap < most / 2 ? overlap : most / 2 - 1;
    return cut(a, &(struct passage_cutter){text, NULL, text.n, most, overlap});
}

struct text_ranges passages_by_tokens(struct fumi_arena *a, struct fumi_str text,
                                      const struct model_token *tokens, size_t n, size_t most,
                                      size_t overlap)
{
    most = at_least(most, 8);
    overlap = overlap < most / 2 ? overlap : most / 2 - 1;
    return cut(a, &(struct passage_cutter){text, tokens, n, most, overlap});
}
