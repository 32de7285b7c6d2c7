/* Private to words: a text as folded characters, each with the bytes it came from. */
#ifndef FUMI_STORE_WORDS_PARTS_H
#define FUMI_STORE_WORDS_PARTS_H

#include "store/words.h"

enum unit_kind {
    UNIT_BLANK, /* between words, and what cannot be read */
    UNIT_WORD,  /* a letter or digit of a script that has spaces */
    UNIT_CHAR,  /* a character of a script that has none */
    UNIT_SIGN,  /* an emoji or other symbol */
    UNIT_PUNCT,
};

/* What the letter was before it was folded. */
enum unit_case { CASE_NONE, CASE_LOWER, CASE_UPPER, CASE_DIGIT };

struct unit {
    uint32_t begin, end; /* bytes of the text */
    uint32_t c;          /* folded */
    uint8_t kind;        /* enum unit_kind */
    uint8_t letter;      /* enum unit_case */
};

struct fold {
    struct fumi_str text; /* below 4 GiB */
    uint32_t at;
    struct unit held; /* read but not given yet: what follows may still join it */
    bool holds;
};

/* The next units, at most `max` of them, which is at least FOLD_LEAST; 0 at the end. */
enum { FOLD_LEAST = 32 };
size_t fold_some(struct fold *f, struct unit *out, size_t max);

#endif
