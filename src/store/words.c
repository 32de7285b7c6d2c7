/* How words are cut.
 *
 * Units come folded from words_fold.c. Characters of spaceless scripts and symbols are given as
 * they come. All else between two blanks is a chunk, in which spans are found: runs of letters and
 * digits, and what joints such as "-" or "::" hold together. A span is a word or an identifier.
 * A chunk is at most CHUNK units: a longer one is cut, so cost and memory stay linear. */
#include "store/words_parts.h"

#include "base/utf8.h"

enum {
    CHUNK = 256,
    BATCH = 512,
    SEEN = 64,
    RUN_MAX = 8, /* characters of punctuation that are given as one, such as "->" */
    STEM_MIN = 3,
};

/* How tightly a joint holds: pieces up to WEAK make a name, up to DOT a file name. */
enum joint { JOINT_NONE, JOINT_CASE, JOINT_WEAK, JOINT_DOT, JOINT_STRONG };

/* A piece of a span, and how it hangs on the one before it. */
struct piece {
    size_t first, end;
    enum joint joint;
};

struct span {
    size_t first, end;  /* from the first letter or digit to the last */
    size_t whole, over; /* with what belongs in front of it and behind */
    size_t n;
    struct piece pieces[CHUNK];
};

struct cutter {
    words_fn *each;
    void *arg;
    int stop;        /* what `each` wants to end with */
    size_t position; /* of the next word */
    struct unit prev;
    bool in_run; /* prev is a character of a spaceless script, whose pair may follow */
    uint32_t seen[SEEN];
    size_t n;
    struct unit chunk[CHUNK];
    struct span span;
    char text[WORD_MAX + 4];
    size_t text_n;
};

static void add(struct cutter *c, uint32_t character)
{
    if (c->text_n < WORD_MAX)
        c->text_n += fumi_utf8_write(character, c->text + c->text_n);
}

/* Gives the word in c->text. */
static void give(struct cutter *c, enum word_kind kind, size_t position, size_t begin, size_t end)
{
    struct fumi_str text = fumi_utf8_cut((struct fumi_str){c->text, c->text_n}, WORD_MAX);
    c->text_n = 0;
    if (!c->stop && text.n)
        c->stop = c->each(c->arg, &(struct word){text, begin, end, position, kind});
}

static void give_units(struct cutter *c, enum word_kind kind, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        add(c, c->chunk[i].c);
    give(c, kind, c->position, c->chunk[first].begin, c->chunk[end - 1].end);
}

static bool is(const struct cutter *c, size_t i, char want)
{
    return i < c->n && c->chunk[i].c == (unsigned char)want;
}

static bool is_word(const struct cutter *c, size_t i)
{
    return i < c->n && c->chunk[i].kind == UNIT_WORD;
}

static bool is_case(const struct cutter *c, size_t i, enum unit_case letter)
{
    return is_word(c, i) && c->chunk[i].letter == letter;
}

/* Words. */

static bool english(const struct cutter *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (c->chunk[i].c < 'a' || c->chunk[i].c > 'z')
            return false;
    }
    return end - first >= STEM_MIN && end - first <= WORD_MAX;
}

static void give_stem(struct cutter *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        add(c, c->chunk[i].c);
    size_t n = words_stem(c->text, c->text_n);
    bool same = n == end - first;
    for (size_t i = 0; i < n && same; i++)
        same = (unsigned char)c->text[i] == c->chunk[first + i].c;
    c->text_n = same ? 0 : n;
    give(c, WORD_STEM, c->position, c->chunk[first].begin, c->chunk[end - 1].end);
}

static void give_word(struct cutter *c, size_t first, size_t end)
{
    give_units(c, WORD_PLAIN, first, end);
    if (english(c, first, end))
        give_stem(c, first, end);
}

/* Pieces of a span. */

static bool text_is(const struct cutter *c, size_t i, const char *want)
{
    size_t n = strlen(want);
    for (size_t k = 0; k < n; k++) {
        if (!is(c, i + k, want[k]))
            return false;
    }
    return true;
}

/* The joint at i that a letter or digit follows: its length in units, or 0. */
static size_t joint_at(const struct cutter *c, size_t i, enum joint *how)
{
    static const struct {
        const char *text;
        enum joint how;
    } joints[] = {
        {"://", JOINT_STRONG}, {"::", JOINT_STRONG},   {"//", JOINT_STRONG}, {"->", JOINT_STRONG},
        {":\\", JOINT_STRONG}, {"\\\\", JOINT_STRONG}, {"__", JOINT_WEAK},   {"-", JOINT_WEAK},
        {"_", JOINT_WEAK},     {"'", JOINT_WEAK},      {".", JOINT_DOT},     {"/", JOINT_STRONG},
        {"\\", JOINT_STRONG},  {":", JOINT_STRONG},    {"@", JOINT_STRONG},  {"#", JOINT_STRONG},
        {"+", JOINT_STRONG},   {"=", JOINT_STRONG},    {"&", JOINT_STRONG},  {"%", JOINT_STRONG},
        {"~", JOINT_STRONG},   {"$", JOINT_STRONG},
    };
    if (i >= c->n || c->chunk[i].kind != UNIT_PUNCT)
        return 0;
    for (size_t k = 0; k < FUMI_COUNT(joints); k++) {
        size_t n = strlen(joints[k].text);
        if (text_is(c, i, joints[k].text) && is_word(c, i + n)) {
            *how = joints[k].how;
            return n;
        }
    }
    *how = JOINT_WEAK; /* 1,000 */
    return is(c, i, ',') && is_case(c, i - 1, CASE_DIGIT) && is_case(c, i + 1, CASE_DIGIT);
}

/* Whether the last letters of a run are capitals with a plural's s: URLs. */
static bool plural_end(const struct cutter *c, size_t i)
{
    return is(c, i, 's') && !is_word(c, i + 1);
}

/* Whether a part begins at i, inside a run of letters and digits that begins at `first`: getUser,
 * HTTPServer, SHA256Sum, and the number of utf8. */
static bool breaks(const struct cutter *c, size_t first, size_t i)
{
    enum unit_case before = c->chunk[i - 1].letter, here = c->chunk[i].letter;
    bool low_next = is_case(c, i + 1, CASE_LOWER);
    if (here == CASE_UPPER && before == CASE_LOWER)
        return true;
    if (here == CASE_UPPER && (before == CASE_UPPER || before == CASE_DIGIT))
        return low_next && !plural_end(c, i + 1);
    if (here != CASE_DIGIT || before == CASE_DIGIT || i - first < 2)
        return false;
    while (is_case(c, i, CASE_DIGIT))
        i++;
    return !is_word(c, i) || is_case(c, i, CASE_UPPER);
}

/* Cuts a run of letters and digits into pieces; one that falls into crumbs, as a hash or base64
 * does, is left whole. */
static void cut_run(struct cutter *c, size_t first, size_t end, enum joint joint)
{
    struct span *s = &c->span;
    size_t from = s->n, begin = first;
    s->pieces[s->n++] = (struct piece){first, end, joint};
    for (size_t i = first + 1; i < end; i++) {
        if (!breaks(c, begin, i))
            continue;
        s->pieces[s->n - 1].end = i;
        s->pieces[s->n++] = (struct piece){i, end, JOINT_CASE};
        begin = i;
    }
    size_t pieces = s->n - from;
    if (pieces > 3 && end - first < 3 * pieces) {
        s->n = from + 1;
        s->pieces[from].end = end;
    }
}

static size_t run_end(const struct cutter *c, size_t i)
{
    while (is_word(c, i))
        i++;
    return i;
}

/* Finds the span that begins at `first`, and its pieces. */
static void find_span(struct cutter *c, size_t first)
{
    struct span *s = &c->span;
    enum joint how = JOINT_NONE;
    size_t end = run_end(c, first);
    s->n = 0;
    s->first = s->whole = first;
    cut_run(c, first, end, JOINT_NONE);
    for (size_t n; (n = joint_at(c, end, &how));) {
        size_t begin = end + n;
        end = run_end(c, begin);
        cut_run(c, begin, end, how);
    }
    s->end = s->over = end;
}

static bool all_letters(const struct cutter *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (!is_word(c, i) || c->chunk[i].letter == CASE_DIGIT)
            return false;
    }
    return true;
}

/* #123, @name, $HOME, .gitignore, _private, --flag, __init__, c++, c#: what belongs to the name. */
static void take_ends(struct cutter *c)
{
    struct span *s = &c->span;
    size_t i = s->first;
    while (i > 0 && is(c, i - 1, '_'))
        i--;
    if (i == s->first && i > 0 && c->chunk[i - 1].c < 0x80 && strchr("#@$", (int)c->chunk[i - 1].c))
        i--;
    else if (i == s->first && i == 1 && (is(c, 0, '.') || is(c, 0, '-')))
        i--;
    else if (i == s->first && i == 2 && is(c, 0, '-') && is(c, 1, '-'))
        i = 0;
    s->whole = i;
    while (is(c, s->over, '_'))
        s->over++;
    if (s->end - s->first > 3 || !all_letters(c, s->first, s->end))
        return;
    if (is(c, s->over, '+') && is(c, s->over + 1, '+'))
        s->over += 2;
    else if (s->end - s->first < 3 && is(c, s->over, '#'))
        s->over++;
}

/* Identifiers. */

static void give_joined(struct cutter *c, const struct piece *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = p[i].first; k < p[i].end; k++)
            add(c, c->chunk[k].c);
    }
    give(c, WORD_JOINED, c->position, c->chunk[p[0].first].begin, c->chunk[p[n - 1].end - 1].end);
}

/* node.js is also written nodejs. */
static bool worth_joining(const struct piece *p, size_t n, enum joint most)
{
    if (most == JOINT_DOT)
        return n == 2 && p[1].end - p[1].first > 1;
    return most == JOINT_WEAK && n < 9;
}

/* Gives each group of pieces that joints up to `most` hold together, if one of them is `most`: as a
 * whole where it is not all of the span, and joined. */
static void give_groups(struct cutter *c, enum joint most)
{
    const struct span *s = &c->span;
    for (size_t i = 0, end; i < s->n; i = end) {
        bool tight = false;
        for (end = i + 1; end < s->n && s->pieces[end].joint <= most; end++)
            tight = tight || s->pieces[end].joint == most;
        if (!tight)
            continue;
        if (end - i < s->n)
            give_units(c, WORD_WHOLE, s->pieces[i].first, s->pieces[end - 1].end);
        if (worth_joining(s->pieces + i, end - i, most))
            give_joined(c, s->pieces + i, end - i);
    }
}

static void give_identifier(struct cutter *c)
{
    const struct span *s = &c->span;
    give_units(c, WORD_WHOLE, s->whole, s->over);
    if (s->n > 1 && (s->whole < s->first || s->over > s->end))
        give_units(c, WORD_WHOLE, s->first, s->end);
    give_groups(c, JOINT_CASE);
    give_groups(c, JOINT_WEAK);
    give_groups(c, JOINT_DOT);
    for (size_t i = 0; i < s->n; i++)
        give_word(c, s->pieces[i].first, s->pieces[i].end);
}

/* English contractions: of "user's" and "we'll" the first part is the word, "don't" is "dont".
 * Whether it was one. */
static bool give_contraction(struct cutter *c)
{
    static const char *const tails[] = {"s", "m", "re", "ve", "ll", "d"};
    const struct span *s = &c->span;
    if (s->n != 2 || !is(c, s->pieces[0].end, '\'') || !all_letters(c, s->first, s->pieces[0].end))
        return false;
    size_t at = s->pieces[1].first, n = s->end - at;
    if (n == 1 && is(c, at, 't') && is(c, at - 2, 'n')) {
        for (size_t i = s->first; i < s->end; i++) {
            if (i != at - 1)
                add(c, c->chunk[i].c);
        }
        give(c, WORD_PLAIN, c->position, c->chunk[s->first].begin, c->chunk[s->end - 1].end);
        return true;
    }
    for (size_t i = 0; i < FUMI_COUNT(tails); i++) {
        if (n == strlen(tails[i]) && text_is(c, at, tails[i])) {
            give_word(c, s->first, s->pieces[0].end);
            return true;
        }
    }
    return false;
}

static void give_span(struct cutter *c)
{
    const struct span *s = &c->span;
    take_ends(c);
    if (s->n == 1 && s->whole == s->first && s->over == s->end)
        give_word(c, s->first, s->end);
    else if (!give_contraction(c))
        give_identifier(c);
    c->position++;
}

/* Punctuation. */

/* Whether the text in hand was given lately; remembers it. Sometimes it says no where it was, which
 * costs a repeated word. */
static bool seen(struct cutter *c)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < c->text_n; i++)
        hash = (hash ^ (unsigned char)c->text[i]) * 16777619;
    uint32_t *slot = &c->seen[(hash ^ hash >> 16) % SEEN];
    bool same = *slot == hash;
    *slot = hash;
    return same;
}

static void give_punct(struct cutter *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        add(c, c->chunk[i].c);
    if (seen(c)) {
        c->text_n = 0;
        return;
    }
    size_t position = c->position ? c->position - 1 : 0;
    give(c, WORD_PUNCT, position, c->chunk[first].begin, c->chunk[end - 1].end);
}

static void give_puncts(struct cutter *c)
{
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i; end < c->n && c->chunk[end].kind == UNIT_PUNCT; end++)
            give_punct(c, end, end + 1);
        if (end - i > 1 && end - i <= RUN_MAX)
            give_punct(c, i, end);
        end += end == i;
    }
}

/* The text, unit by unit. */

static void end_chunk(struct cutter *c)
{
    for (size_t i = 0; i < c->n && !c->stop;) {
        if (!is_word(c, i)) {
            i++;
            continue;
        }
        find_span(c, i);
        i = c->span.end;
        give_span(c);
    }
    give_puncts(c);
    c->n = 0;
}

static void give_one(struct cutter *c)
{
    add(c, c->prev.c);
    give(c, WORD_ONE, c->position++, c->prev.begin, c->prev.end);
}

static void end_run(struct cutter *c)
{
    if (c->in_run)
        give_one(c);
    c->in_run = false;
}

static void give_pair(struct cutter *c, const struct unit *u)
{
    if (c->in_run) {
        add(c, c->prev.c);
        add(c, u->c);
        give(c, WORD_PAIR, c->position, c->prev.begin, u->end);
        give_one(c);
    }
    c->prev = *u;
    c->in_run = true;
}

static void give_sign(struct cutter *c, const struct unit *u)
{
    add(c, u->c);
    give(c, WORD_SIGN, c->position++, u->begin, u->end);
}

static void put_unit(struct cutter *c, const struct unit *u)
{
    bool chunk = u->kind == UNIT_WORD || u->kind == UNIT_PUNCT;
    if (u->kind != UNIT_CHAR)
        end_run(c);
    if (!chunk || c->n == CHUNK)
        end_chunk(c);
    if (chunk)
        c->chunk[c->n++] = *u;
    else if (u->kind == UNIT_CHAR)
        give_pair(c, u);
    else if (u->kind == UNIT_SIGN)
        give_sign(c, u);
}

int words_each(struct fumi_str text, words_fn *each, void *arg)
{
    struct unit units[BATCH];
    struct fold f = {.text = {text.p, text.n < UINT32_MAX ? text.n : UINT32_MAX}};
    struct cutter c;
    memset(&c, 0, offsetof(struct cutter, chunk));
    c.each = each;
    c.arg = arg;
    c.text_n = 0;
    for (size_t n; !c.stop && (n = fold_some(&f, units, BATCH));) {
        for (size_t i = 0; i < n && !c.stop; i++)
            put_unit(&c, &units[i]);
    }
    end_run(&c);
    end_chunk(&c);
    return c.stop;
}
