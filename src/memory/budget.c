#include "memory/budget.h"

#include "base/utf8.h"
#include "model/tokens.h"

#include <stdlib.h>
#include <strings.h>

enum {
    TEXT_LEAST = 12, /* tokens of the first text; more members are omitted if it gets less */
    WINDOW = 800,    /* bytes that substitute the best passage of a note without vectors */
    BORDER = 24,     /* bytes in which the border of a word is searched */
    LONG_WORD = 3,   /* bytes of the shortest word of a query that is searched in a text */
};

static size_t size_of(const struct budget *b, const struct result *r)
{
    return b->size ? b->size->result(b->size->arg, r) : tokens_of(r->note.text);
}

static bool fits(struct budget *b, const struct result *r)
{
    if (r->note.text.n / TOKEN_BYTES_MAX > b->left) /* without writing it */
        return false;
    size_t size = size_of(b, r);
    if (size > b->left)
        return false;
    b->left -= size;
    b->any = true;
    return true;
}

static bool is_inside(struct fumi_str s, size_t i)
{
    return i < s.n && ((unsigned char)s.p[i] & 0xC0) == 0x80;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-' || c == '.' || c == '/';
}

/* The next thing to search for: a run of ASCII letters, digits and the like, or two characters
 * outside ASCII, because scripts without blanks have no words to split at. Moves *i past the run,
 * or by one character. Empty at the end. */
static struct fumi_str next_word(struct fumi_str query, size_t *i)
{
    while (*i < query.n && !is_word(query.p[*i]) && (unsigned char)query.p[*i] < 0x80)
        ++*i;
    size_t from = *i, end = from;
    if (from < query.n && is_word(query.p[from])) {
        while (end < query.n && is_word(query.p[end]))
            end++;
        *i = end;
        return (struct fumi_str){query.p + from, end - from};
    }
    for (int n = 0; n < 2 && end < query.n && (unsigned char)query.p[end] >= 0x80; n++) {
        for (end++; is_inside(query, end);)
            end++;
        *i = n ? *i : end;
    }
    return (struct fumi_str){query.p + from, end - from};
}

static bool find(struct fumi_str text, struct fumi_str word, size_t *at)
{
    for (*at = 0; *at + word.n <= text.n; ++*at)
        if (!strncasecmp(text.p + *at, word.p, word.n))
            return true;
    return false;
}

/* The offset of the longest word of the query that the text contains, ignoring ASCII case; 0 if it
 * contains none. */
static size_t offset_of_word(struct fumi_str text, struct fumi_str query)
{
    size_t best = 0, longest = LONG_WORD - 1, at;
    for (size_t i = 0; i < query.n;) {
        struct fumi_str word = next_word(query, &i);
        if (word.n > longest && find(text, word, &at)) {
            longest = word.n;
            best = at;
        }
    }
    return best;
}

/* The first border of a word from i on, at most BORDER bytes and not beyond `most`; otherwise the
 * next border of a character. */
static size_t border_after(struct fumi_str s, size_t i, size_t most)
{
    for (size_t k = i; k < most && k < i + BORDER; k++)
        if (k && (s.p[k - 1] == ' ' || s.p[k - 1] == '\n'))
            return k;
    while (is_inside(s, i))
        i++;
    return i;
}

/* The last border of a word up to i, at most BORDER bytes before it and not before `least`;
 * otherwise the last border of a character. */
static size_t border_before(struct fumi_str s, size_t i, size_t least)
{
    if (i == s.n)
        return i;
    for (size_t k = i; k > least && k + BORDER > i; k--)
        if (s.p[k] == ' ' || s.p[k] == '\n')
            return k;
    while (i > least && is_inside(s, i))
        i--;
    return i;
}

/* About n bytes of the text around the offset `at`: a quarter before it, the rest after it. */
static struct fumi_str around(struct fumi_str text, size_t at, size_t n)
{
    if (n >= text.n)
        return text;
    size_t begin = at > n / 4 ? at - n / 4 : 0;
    if (begin > text.n - n)
        begin = text.n - n;
    begin = begin ? border_after(text, begin, at) : 0;
    size_t end = border_before(text, begin + n < text.n ? begin + n : text.n, begin);
    return (struct fumi_str){text.p + begin, end - begin};
}

static void set_text(struct result *r, struct fumi_str whole, struct fumi_str part)
{
    r->note.text = part;
    r->part = true;
    r->text_begin = (uint32_t)(part.p - whole.p);
    r->text_end = r->text_begin + (uint32_t)part.n;
}

static struct fumi_str best_passage(const struct result *r, struct fumi_str query)
{
    struct fumi_str whole = r->note.text;
    if (r->end > r->begin && r->end <= whole.n)
        return (struct fumi_str){whole.p + r->begin, r->end - r->begin};
    return around(whole, offset_of_word(whole, query), WINDOW);
}

/* Cuts the passage to the longest part that fits; its length is found by bisection. Returns false
 * if not one word or character fits. */
static bool cut(struct budget *b, struct result *r, struct fumi_str whole, struct fumi_str passage,
                struct fumi_str query)
{
    size_t at = offset_of_word(passage, query), low = 0, high = passage.n;
    struct fumi_str best = {passage.p, 0};
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        struct fumi_str part = around(passage, at, middle);
        set_text(r, whole, part);
        if (size_of(b, r) > b->left) {
            high = middle - 1;
        } else {
            low = middle;
            best = part.n > best.n ? part : best;
        }
    }
    set_text(r, whole, best);
    return best.n && fits(b, r);
}

/* What the first result may lose for the sake of its text, step by step. The last step also
 * shortens its id and omits its score: it is the first one anyway, and keeps its relevance. */
static const unsigned omissions[] = {
    0,
    NOTE_METADATA,
    NOTE_METADATA | NOTE_SOURCE | NOTE_TAGS,
    NOTE_METADATA | NOTE_SOURCE | NOTE_TAGS | NOTE_TITLE,
    ~(unsigned)(NOTE_ID | NOTE_PROJECT | NOTE_TEXT),
};

static void omit(struct result *r, unsigned members, bool last)
{
    static const struct note none = {0};
    note_assign(&r->note, &none, members);
    if (last)
        r->score = 0;
    if (last && r->short_id.p)
        r->note.id = r->short_id;
}

/* Fits the first result: omits as few members as leave TEXT_LEAST tokens, or the whole passage. */
static bool take_first(struct budget *b, struct result *r, struct fumi_str passage,
                       struct fumi_str query)
{
    struct fumi_str whole = r->note.text;
    for (size_t i = 0; i < FUMI_COUNT(omissions); i++) {
        bool last = i + 1 == FUMI_COUNT(omissions);
        omit(r, omissions[i], last);
        set_text(r, whole, whole);
        if (fits(b, r))
            return true;
        set_text(r, whole, passage);
        if (fits(b, r))
            return true;
        set_text(r, whole, (struct fumi_str){passage.p, 0});
        size_t bare = size_of(b, r);
        b->missing = bare + 1 > b->left ? bare + 1 - b->left : 1;
        if (last || bare + TEXT_LEAST <= b->left)
            return bare < b->left && cut(b, r, whole, passage, query);
    }
    return false;
}

bool budget_take(struct budget *b, struct result *r, struct fumi_str query)
{
    if (fits(b, r))
        return true;
    struct fumi_str whole = r->note.text, passage = best_passage(r, query);
    if (!b->any)
        return take_first(b, r, passage, query);
    set_text(r, whole, passage);
    return passage.n < whole.n && fits(b, r);
}

struct budget budget_begin(const struct answer_size *size, size_t max, struct found *f, bool any)
{
    struct budget b = {.size = size, .left = max ? max : SIZE_MAX};
    size_t most = any ? b.left / 4 : b.left, frame = size ? size->frame(size->arg, f) : 0;
    while (frame > most && f->terse < TERSE_MOST) {
        f->terse++;
        frame = size->frame(size->arg, f);
    }
    b.left -= frame < b.left ? frame : b.left;
    return b;
}

int budget_refuse(const struct budget *b, size_t max, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "maxTokens is too small for the first note: it must be at least %zu",
                        max + b->missing);
}
