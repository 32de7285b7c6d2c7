/* Text into search words: the same code for notes and for queries.
 *
 * A word is folded (NFKC, case, diacritics). A run of letters and digits is a word; English-looking
 * ones give their stem at the same position too. Identifiers (ADR-016, snake_case, camelCase,
 * src/main.c, v2.1.3, user@host, #123) give the whole and its parts, all at one position, so that
 * parts of one identifier can be told from words that follow each other. Scripts without spaces
 * give overlapping pairs of characters, and single characters too, so that a query of one is found.
 * Symbols such as emoji are words of their own; punctuation is given too, but takes no position. */
#ifndef FUMI_STORE_WORDS_H
#define FUMI_STORE_WORDS_H

#include "base/arena.h"

enum word_kind {
    WORD_PLAIN,  /* a run of letters and digits as it stands, or a part of an identifier */
    WORD_STEM,   /* the English stem of the word before it; same position */
    WORD_WHOLE,  /* an identifier, or a piece of one that has parts itself; before its parts */
    WORD_PAIR,   /* two characters of a script without spaces */
    WORD_ONE,    /* one such character; same position as the pair that begins with it */
    WORD_SIGN,   /* an emoji or other symbol */
    WORD_JOINED, /* an identifier without what joins it: getusername of get_user_name */
    WORD_PUNCT,  /* punctuation, mostly once for each text; the position of the word before it */
};

struct word {
    struct fumi_str text; /* folded; valid during the call only */
    size_t begin, end;    /* bytes of the text it came from */
    size_t position;      /* rises by one for each word that is not at the same place */
    enum word_kind kind;
};

/* Calls `each` for every word in order; ends early, with its value, when that is not 0. Text that
 * is not UTF-8 gives what can be read of it. Words longer than WORD_MAX bytes are cut. */
enum { WORD_MAX = 128 };
typedef int words_fn(void *arg, const struct word *w);
int words_each(struct fumi_str text, words_fn *each, void *arg);

/* The Porter stem of a lower-case ASCII word, in place; returns its new length. */
size_t words_stem(char *word, size_t n);

/* Whether most letters of it belong to scripts without spaces, whose characters count as two, or
 * otherwise not to the Latin one: what an English model does not know. */
bool words_foreign(struct fumi_str text);

#endif
