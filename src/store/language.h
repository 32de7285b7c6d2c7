/* The languages whose words have stems, and which of them a text is written in. */
#ifndef FUMI_STORE_LANGUAGE_H
#define FUMI_STORE_LANGUAGE_H

#include "base/str.h"

enum language {
    LANGUAGE_ENGLISH,
    LANGUAGE_GERMAN,
    LANGUAGE_FRENCH,
    LANGUAGE_SPANISH,
    LANGUAGE_ITALIAN,
    LANGUAGE_PORTUGUESE,
    LANGUAGE_DUTCH,
    LANGUAGE_SWEDISH,
    LANGUAGE_RUSSIAN,
    LANGUAGES,
};

/* A set of languages has the bit 1 << LANGUAGE for each. These have to be told apart by their stop
 * words, because they share the script of English. */
enum {
    LATIN_LANGUAGES = (1 << LANGUAGE_RUSSIAN) - 1 - (1 << LANGUAGE_ENGLISH),
};

/* The English name of a language, in lower case. */
struct fumi_str language_name(enum language language);

/* The languages of which a folded word is a stop word. */
unsigned language_stop_word(struct fumi_str word);

/* Finds the languages of a text, other than English, that use the Latin script: those with most
 * distinct stop words in the beginning of the text, if they have at least two and more than
 * English. Returns 0 if English has most, and `unknown` if the stop words do not decide. */
unsigned language_of(struct fumi_str text, unsigned unknown);

#endif
