/* Private to words*.c and language.c: a text as folded characters (units), each with its bytes in
 * the original text. */
#ifndef FUMI_STORE_WORDS_PARTS_H
#define FUMI_STORE_WORDS_PARTS_H

#include "store/words.h"

enum unit_kind {
    UNIT_BLANK,  /* white space, control characters, invalid UTF-8 */
    UNIT_WORD,   /* a letter or digit of a script with spaces */
    UNIT_CHAR,   /* a character of a script without spaces */
    UNIT_SYMBOL, /* an emoji or other symbol */
    UNIT_PUNCT,
};

/* The case of a letter before folding. */
enum unit_case { CASE_NONE, CASE_LOWER, CASE_UPPER, CASE_DIGIT };

struct unit {
    uint32_t begin, end; /* bytes of the original text */
    uint32_t c;          /* folded */
    uint8_t kind;        /* enum unit_kind */
    uint8_t letter;      /* enum unit_case */
};

/* Begins with the text set and the rest 0. */
struct fold {
    struct fumi_str text; /* less than 4 GiB */
    uint32_t at;
    struct unit held; /* not returned yet: the next character may be composed with it */
    bool holds;
};

/* Writes the next units, at most `max`, and returns their number; 0 at the end of the text. `max`
 * must be at least FOLD_MIN. */
enum { FOLD_MIN = 32 };
size_t words_fold(struct fold *f, struct unit *out, size_t max);

/* Writes the lower-case, composed form of a word with its diacritics, as stemmers need it. Returns
 * an empty string if the word is invalid or has more than LOWER_MAX characters. `out` has
 * LOWER_BYTES bytes. */
enum { LOWER_MAX = WORD_MAX, LOWER_BYTES = 4 * LOWER_MAX + 1 };
struct fumi_str words_lower(struct fumi_str word, char *out);

#endif
