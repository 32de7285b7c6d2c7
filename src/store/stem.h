/* Stems of words: libstemmer, the library of the Snowball project. A stem is only good for
 * comparison; it need not be a word. */
#ifndef FUMI_STORE_STEM_H
#define FUMI_STORE_STEM_H

#include "store/language.h"

/* The stemmers in use, each made when it is first needed. Begins as {0}; used by one thread at a
 * time. */
struct stemmers {
    struct sb_stemmer *of[LANGUAGES];
};

/* Returns the stem of a lower-case, composed UTF-8 word. It is valid until the next call for the
 * same language. */
struct fumi_str stem(struct stemmers *s, enum language language, struct fumi_str word);
void stemmers_done(struct stemmers *s);

#endif
