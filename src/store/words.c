/* The tokenizer.
 *
 * The text arrives as folded characters ("units") from words_fold.c. Characters of spaceless
 * scripts and symbols become words directly. All other characters between two blanks form a
 * chunk. In a chunk, runs of letters and digits, together with the separators between them ("-",
 * "::", "."), form spans. A span is a plain word, a contraction or an identifier; an identifier
 * also yields its pieces. A chunk has at most CHUNK units: a longer one is split, so that time
 * and memory stay linear. */
#include "store/words_parts.h"

#include "base/utf8.h"
#include "store/stem.h"

#include <assert.h>

enum {
    CHUNK = 256,
    BATCH = 512,
    SEEN = 64,
    RUN_MAX = 8,  /* longest run of punctuation that is also emitted as one word, such as "->" */
    STEM_MIN = 3, /* letters of a word that has a stem */
    LATIN_LAST = 0x24F,
    CYRILLIC = 0x400,
    CYRILLIC_LAST = 0x4FF,
};

/* How closely a separator binds the pieces on both sides: pieces joined by WEAK separators or a
 * change of case form a name, those joined by dots a file name. */
enum separator { SEPARATOR_NONE, SEPARATOR_CASE, SEPARATOR_WEAK, SEPARATOR_DOT, SEPARATOR_STRONG };

/* A piece of a span, and the separator before it. */
struct piece {
    size_t first, end;
    enum separator separator;
};

struct span {
    size_t first, end;  /* from the first letter or digit to the last */
    size_t whole, over; /* including prefix and suffix such as "#", "--" or "++" */
    size_t n;
    struct piece pieces[CHUNK];
};

struct tokenizer {
    words_fn *each;
    void *arg;
    const char *source;
    unsigned languages;
    struct stemmers stemmers;
    int stop;        /* the value that `each` returned to end the scan, or 0 */
    size_t position; /* of the next word */
    struct unit prev;
    bool in_run; /* prev is a character of a spaceless script; a bigram may follow */
    uint32_t seen[SEEN];
    size_t n;
    struct unit chunk[CHUNK];
    struct span span;
    char text[WORD_MAX + 4];
    size_t text_n;
};

static void add(struct tokenizer *c, uint32_t character)
{
    if (c->text_n < WORD_MAX)
        c->text_n += fumi_utf8_write(character, c->text + c->text_n);
}

/* Emits the word in c->text and clears it. */
static void emit(struct tokenizer *c, enum word_kind kind, size_t position, size_t begin,
                 size_t end)
{
    struct fumi_str text = fumi_utf8_cut((struct fumi_str){c->text, c->text_n}, WORD_MAX);
    c->text_n = 0;
    if (!c->stop && text.n)
        c->stop = c->each(c->arg, &(struct word){text, begin, end, position, kind});
}

static void put_units(struct tokenizer *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        add(c, c->chunk[i].c);
}

static void emit_units(struct tokenizer *c, enum word_kind kind, size_t first, size_t end)
{
    put_units(c, first, end);
    emit(c, kind, c->position, c->chunk[first].begin, c->chunk[end - 1].end);
}

static bool is(const struct tokenizer *c, size_t i, char want)
{
    return i < c->n && c->chunk[i].c == (unsigned char)want;
}

static bool is_word(const struct tokenizer *c, size_t i)
{
    return i < c->n && c->chunk[i].kind == UNIT_WORD;
}

static bool is_case(const struct tokenizer *c, size_t i, enum unit_case letter)
{
    return is_word(c, i) && c->chunk[i].letter == letter;
}

/* Whether the characters are letters in the range and make a word that has a stem. */
static bool in_script(const struct tokenizer *c, size_t first, size_t end, uint32_t low,
                      uint32_t high)
{
    for (size_t i = first; i < end; i++) {
        const struct unit *u = &c->chunk[i];
        if (u->c < low || u->c > high || u->letter == CASE_DIGIT)
            return false;
    }
    return end - first >= STEM_MIN && end - first <= WORD_MAX;
}

/* The word with its diacritics, as stemmers need it. */
static struct fumi_str lower_word(const struct tokenizer *c, size_t first, size_t end, char *out)
{
    size_t begin = c->chunk[first].begin, n = c->chunk[end - 1].end - begin, i = 0;
    for (; first + i < end && c->chunk[first + i].c < 0x80; i++)
        out[i] = (char)c->chunk[first + i].c;
    if (i == n && first + i == end) /* nothing was folded but case */
        return (struct fumi_str){out, n};
    return words_lower((struct fumi_str){c->source + begin, n}, out);
}

/* Puts the stem into c->text, folded like all words. */
static void put_stem(struct tokenizer *c, enum language language, struct fumi_str word)
{
    struct unit units[FOLD_MIN];
    struct fold f = {.text = stem(&c->stemmers, language, word)};
    for (size_t n; (n = words_fold(&f, units, FOLD_MIN));) {
        for (size_t i = 0; i < n; i++) {
            if (units[i].kind == UNIT_WORD)
                add(c, units[i].c);
        }
    }
}

/* A word or stem that was put into c->text. */
struct form {
    char text[WORD_MAX + 4];
    size_t n;
};

/* Adds c->text to the forms unless it is one of them, and returns whether it was added. */
static bool is_new(const struct tokenizer *c, struct form *forms, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        if (forms[i].n == c->text_n && memcmp(forms[i].text, c->text, c->text_n) == 0)
            return false;
    }
    forms[*n].n = c->text_n;
    memcpy(forms[*n].text, c->text, c->text_n);
    ++*n;
    return true;
}

static void emit_new(struct tokenizer *c, enum word_kind kind, size_t first, size_t end,
                     struct form *forms, size_t *n)
{
    if (is_new(c, forms, n))
        emit(c, kind, c->position, c->chunk[first].begin, c->chunk[end - 1].end);
    c->text_n = 0;
}

/* Emits the stem unless it is the word itself. English stemmers need no diacritics. */
static void emit_stem(struct tokenizer *c, enum language language, size_t first, size_t end)
{
    char lower[LOWER_BYTES];
    struct form forms[2];
    size_t n = 0;
    put_units(c, first, end);
    is_new(c, forms, &n);
    c->text_n = 0;
    struct fumi_str word = {forms[0].text, forms[0].n};
    if (language != LANGUAGE_ENGLISH)
        word = lower_word(c, first, end, lower);
    put_stem(c, language, word);
    emit_new(c, WORD_STEM, first, end, forms, &n);
}

/* Emits the stems in c->languages, equal ones once. The stop words of a language have none. */
static void emit_foreign(struct tokenizer *c, size_t first, size_t end)
{
    char lower[LOWER_BYTES];
    struct form forms[LANGUAGES];
    size_t n = 0;
    struct fumi_str word = lower_word(c, first, end, lower);
    put_units(c, first, end);
    unsigned stop = language_stop_word((struct fumi_str){c->text, c->text_n});
    c->text_n = 0;
    for (unsigned i = 0; i < LANGUAGES && word.n; i++) {
        if ((c->languages & ~stop) >> i & 1) {
            put_stem(c, (enum language)i, word);
            emit_new(c, WORD_FOREIGN, first, end, forms, &n);
        }
    }
}

static void emit_word(struct tokenizer *c, size_t first, size_t end)
{
    emit_units(c, WORD_PLAIN, first, end);
    if (in_script(c, first, end, 'a', 'z'))
        emit_stem(c, LANGUAGE_ENGLISH, first, end);
    else if (in_script(c, first, end, CYRILLIC, CYRILLIC_LAST))
        emit_stem(c, LANGUAGE_RUSSIAN, first, end);
    if (c->languages && in_script(c, first, end, 'a', LATIN_LAST))
        emit_foreign(c, first, end);
}

static bool text_is(const struct tokenizer *c, size_t i, const char *want)
{
    size_t n = strlen(want);
    for (size_t k = 0; k < n; k++) {
        if (!is(c, i + k, want[k]))
            return false;
    }
    return true;
}

/* Returns the length, in units, of the separator at i if a letter or digit follows it; otherwise
 * 0. */
static size_t separator_at(const struct tokenizer *c, size_t i, enum separator *how)
{
    static const struct {
        const char *text;
        enum separator how;
    } separators[] = {
        {"://", SEPARATOR_STRONG}, {"::", SEPARATOR_STRONG},  {"//", SEPARATOR_STRONG},
        {"->", SEPARATOR_STRONG},  {":\\", SEPARATOR_STRONG}, {"\\\\", SEPARATOR_STRONG},
        {"__", SEPARATOR_WEAK},    {"-", SEPARATOR_WEAK},     {"_", SEPARATOR_WEAK},
        {"'", SEPARATOR_WEAK},     {".", SEPARATOR_DOT},      {"/", SEPARATOR_STRONG},
        {"\\", SEPARATOR_STRONG},  {":", SEPARATOR_STRONG},   {"@", SEPARATOR_STRONG},
        {"#", SEPARATOR_STRONG},   {"+", SEPARATOR_STRONG},   {"=", SEPARATOR_STRONG},
        {"&", SEPARATOR_STRONG},   {"%", SEPARATOR_STRONG},   {"~", SEPARATOR_STRONG},
        {"$", SEPARATOR_STRONG},
    };
    if (i >= c->n || c->chunk[i].kind != UNIT_PUNCT)
        return 0;
    for (size_t k = 0; k < FUMI_COUNT(separators); k++) {
        size_t n = strlen(separators[k].text);
        if (text_is(c, i, separators[k].text) && is_word(c, i + n)) {
            *how = separators[k].how;
            return n;
        }
    }
    *how = SEPARATOR_WEAK; /* 1,000 */
    return is(c, i, ',') && is_case(c, i - 1, CASE_DIGIT) && is_case(c, i + 1, CASE_DIGIT);
}

/* Whether i is the plural "s" after capitals, as in "URLs". */
static bool plural_end(const struct tokenizer *c, size_t i)
{
    return is(c, i, 's') && !is_word(c, i + 1);
}

/* Whether a new piece begins at i, inside a run of letters and digits that began at `first`:
 * getUser, HTTPServer, SHA256Sum, the number in utf8. */
static bool is_boundary(const struct tokenizer *c, size_t first, size_t i)
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

/* Splits a run of letters and digits into pieces. A run that would fall into many tiny pieces,
 * such as a hash or base64, stays whole. */
static void split_run(struct tokenizer *c, size_t first, size_t end, enum separator separator)
{
    struct span *s = &c->span;
    size_t from = s->n, begin = first;
    assert(first < end && end <= c->n);
    s->pieces[s->n++] = (struct piece){first, end, separator};
    for (size_t i = first + 1; i < end; i++) {
        if (!is_boundary(c, begin, i))
            continue;
        s->pieces[s->n - 1].end = i;
        s->pieces[s->n++] = (struct piece){i, end, SEPARATOR_CASE};
        begin = i;
    }
    size_t pieces = s->n - from;
    if (pieces > 3 && end - first < 3 * pieces) {
        s->n = from + 1;
        s->pieces[from].end = end;
    }
}

static size_t run_end(const struct tokenizer *c, size_t i)
{
    while (is_word(c, i))
        i++;
    return i;
}

/* Finds the span that begins at `first`, and its pieces. */
static void find_span(struct tokenizer *c, size_t first)
{
    struct span *s = &c->span;
    enum separator how = SEPARATOR_NONE;
    size_t end = run_end(c, first);
    s->n = 0;
    s->first = s->whole = first;
    split_run(c, first, end, SEPARATOR_NONE);
    for (size_t n; (n = separator_at(c, end, &how));) {
        size_t begin = end + n;
        end = run_end(c, begin);
        split_run(c, begin, end, how);
    }
    s->end = s->over = end;
}

static bool all_letters(const struct tokenizer *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (!is_word(c, i) || c->chunk[i].letter == CASE_DIGIT)
            return false;
    }
    return true;
}

/* Adds the prefix and suffix that belong to a name: #123, @name, $HOME, .gitignore, _private,
 * --flag, __init__, c++, c#. */
static void take_ends(struct tokenizer *c)
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

static void emit_joined(struct tokenizer *c, const struct piece *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_units(c, p[i].first, p[i].end);
    emit(c, WORD_JOINED, c->position, c->chunk[p[0].first].begin, c->chunk[p[n - 1].end - 1].end);
}

/* Whether the name is also commonly written without separators: node.js and nodejs. */
static bool worth_joining(const struct piece *p, size_t n, enum separator most)
{
    if (most == SEPARATOR_DOT)
        return n == 2 && p[1].end - p[1].first > 1;
    return most == SEPARATOR_WEAK && n < 9;
}

/* Emits each longest group of pieces whose separators bind at most as loosely as `most`, if the
 * group contains a separator of kind `most`: as a whole unless it is the whole span, and joined. */
static void emit_groups(struct tokenizer *c, enum separator most)
{
    const struct span *s = &c->span;
    for (size_t i = 0, end; i < s->n; i = end) {
        bool tight = false;
        for (end = i + 1; end < s->n && s->pieces[end].separator <= most; end++)
            tight = tight || s->pieces[end].separator == most;
        if (!tight)
            continue;
        if (end - i < s->n)
            emit_units(c, WORD_WHOLE, s->pieces[i].first, s->pieces[end - 1].end);
        if (worth_joining(s->pieces + i, end - i, most))
            emit_joined(c, s->pieces + i, end - i);
    }
}

static void emit_identifier(struct tokenizer *c)
{
    const struct span *s = &c->span;
    emit_units(c, WORD_WHOLE, s->whole, s->over);
    if (s->n > 1 && (s->whole < s->first || s->over > s->end))
        emit_units(c, WORD_WHOLE, s->first, s->end);
    emit_groups(c, SEPARATOR_CASE);
    emit_groups(c, SEPARATOR_WEAK);
    emit_groups(c, SEPARATOR_DOT);
    for (size_t i = 0; i < s->n; i++)
        emit_word(c, s->pieces[i].first, s->pieces[i].end);
}

/* Handles English contractions: "user's" and "we'll" yield the word before the apostrophe,
 * "don't" yields "dont". Returns false if the span is not a contraction. */
static bool emit_contraction(struct tokenizer *c)
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
        emit(c, WORD_PLAIN, c->position, c->chunk[s->first].begin, c->chunk[s->end - 1].end);
        return true;
    }
    for (size_t i = 0; i < FUMI_COUNT(tails); i++) {
        if (n == strlen(tails[i]) && text_is(c, at, tails[i])) {
            emit_word(c, s->first, s->pieces[0].end);
            return true;
        }
    }
    return false;
}

static void emit_span(struct tokenizer *c)
{
    const struct span *s = &c->span;
    take_ends(c);
    if (s->n == 1 && s->whole == s->first && s->over == s->end)
        emit_word(c, s->first, s->end);
    else if (!emit_contraction(c))
        emit_identifier(c);
    c->position++;
}

/* Whether the punctuation in c->text was emitted already; records it. Entries of the table are
 * overwritten, so the same punctuation may be emitted again, which is harmless. */
static bool seen(struct tokenizer *c)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < c->text_n; i++)
        hash = (hash ^ (unsigned char)c->text[i]) * 16777619;
    uint32_t *slot = &c->seen[(hash ^ hash >> 16) % SEEN];
    bool same = *slot == hash;
    *slot = hash;
    return same;
}

static void emit_punct(struct tokenizer *c, size_t first, size_t end)
{
    put_units(c, first, end);
    if (seen(c)) {
        c->text_n = 0;
        return;
    }
    size_t position = c->position ? c->position - 1 : 0;
    emit(c, WORD_PUNCT, position, c->chunk[first].begin, c->chunk[end - 1].end);
}

static void emit_puncts(struct tokenizer *c)
{
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i; end < c->n && c->chunk[end].kind == UNIT_PUNCT; end++)
            emit_punct(c, end, end + 1);
        if (end - i > 1 && end - i <= RUN_MAX)
            emit_punct(c, i, end);
        end += end == i;
    }
}

static void end_chunk(struct tokenizer *c)
{
    for (size_t i = 0; i < c->n && !c->stop;) {
        if (!is_word(c, i)) {
            i++;
            continue;
        }
        find_span(c, i);
        i = c->span.end;
        emit_span(c);
    }
    emit_puncts(c);
    c->n = 0;
}

static void emit_unigram(struct tokenizer *c)
{
    add(c, c->prev.c);
    emit(c, WORD_UNIGRAM, c->position++, c->prev.begin, c->prev.end);
}

static void end_run(struct tokenizer *c)
{
    if (c->in_run)
        emit_unigram(c);
    c->in_run = false;
}

static void emit_bigram(struct tokenizer *c, const struct unit *u)
{
    if (c->in_run) {
        add(c, c->prev.c);
        add(c, u->c);
        emit(c, WORD_BIGRAM, c->position, c->prev.begin, u->end);
        emit_unigram(c);
    }
    c->prev = *u;
    c->in_run = true;
}

static void emit_symbol(struct tokenizer *c, const struct unit *u)
{
    add(c, u->c);
    emit(c, WORD_SYMBOL, c->position++, u->begin, u->end);
}

static void feed(struct tokenizer *c, const struct unit *u)
{
    bool chunk = u->kind == UNIT_WORD || u->kind == UNIT_PUNCT;
    if (u->kind != UNIT_CHAR)
        end_run(c);
    if (!chunk || c->n == CHUNK)
        end_chunk(c);
    if (chunk)
        c->chunk[c->n++] = *u;
    else if (u->kind == UNIT_CHAR)
        emit_bigram(c, u);
    else if (u->kind == UNIT_SYMBOL)
        emit_symbol(c, u);
}

int words_each(struct fumi_str text, unsigned languages, words_fn *each, void *arg)
{
    struct unit units[BATCH];
    struct fold f = {.text = {text.p, text.n < UINT32_MAX ? text.n : UINT32_MAX}};
    struct tokenizer c;
    memset(&c, 0, offsetof(struct tokenizer, chunk));
    c.each = each;
    c.arg = arg;
    c.source = text.p;
    c.languages = languages;
    c.text_n = 0;
    for (size_t n; !c.stop && (n = words_fold(&f, units, BATCH));) {
        for (size_t i = 0; i < n && !c.stop; i++)
            feed(&c, &units[i]);
    }
    end_run(&c);
    end_chunk(&c);
    stemmers_done(&c.stemmers);
    return c.stop;
}
