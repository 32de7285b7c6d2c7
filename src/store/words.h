/* The tokenizer of keyword search: turns text into words. Notes and queries use the same code.
 *
 * - All text is folded: Unicode compatibility forms, case and diacritics are normalised.
 * - A run of letters and digits is a word. Its stem is emitted at the same position: the Russian
 *   one if it is Cyrillic, the English one if it could be English, and those of other languages on
 *   request.
 * - An identifier (ADR-016, snake_case, camelCase, src/main.c, v2.1.3, user@host, #123) is emitted
 *   as a whole, without its separators, and in its parts, all at one position. The position
 *   distinguishes the parts of an identifier from consecutive words.
 * - Scripts without spaces (Chinese, Japanese, Thai ...) are emitted as overlapping bigrams, plus
 *   single characters for queries of one character.
 * - A symbol such as an emoji is a word. Punctuation is emitted but takes no position. */
#ifndef FUMI_STORE_WORDS_H
#define FUMI_STORE_WORDS_H

#include "base/arena.h"

enum word_kind {
    WORD_PLAIN,    /* a run of letters and digits, or a part of an identifier */
    WORD_STEM,     /* the English or Russian stem of the word before it, if it differs */
    WORD_FOREIGN,  /* a stem of that word in another language, even if it does not differ */
    WORD_WHOLE,    /* an identifier, or a piece of one that has parts itself; precedes its parts */
    WORD_BIGRAM,   /* two characters of a script without spaces */
    WORD_UNIGRAM,  /* one such character; same position as the bigram that begins with it */
    WORD_SYMBOL,   /* an emoji or other symbol */
    WORD_JOINED,   /* an identifier without separators: getusername for get_user_name */
    WORD_PUNCT,    /* punctuation, mostly once per text; same position as the word before it */
    WORD_LANGUAGE, /* a language of a note; words_each does not emit it */
    WORD_KINDS,
};

struct word {
    struct fumi_str text; /* folded UTF-8, 1 to WORD_MAX bytes; valid during the callback only */
    size_t begin, end;    /* bytes of the original text */
    size_t position;      /* the same as that of the word before it, or one more */
    enum word_kind kind;
};

/* Calls `each` for every word, in order of position. `languages` is a set of LATIN_LANGUAGES whose
 * stems are emitted too (language.h). If `each` returns a value other than 0, stops and returns
 * that value; otherwise returns 0. Invalid UTF-8 separates words. Words of more than WORD_MAX bytes
 * are truncated. Thread-safe, takes linear time and a fixed amount of memory; only the first 4 GiB
 * of the text are read. */
enum { WORD_MAX = 128 };
typedef int words_fn(void *arg, const struct word *w);
int words_each(struct fumi_str text, unsigned languages, words_fn *each, void *arg);

/* Whether most letters do not belong to the Latin script, where a character of a script without
 * spaces counts as two letters. An English embedding model does not support such text. */
bool words_mostly_non_latin(struct fumi_str text);

/* Whether a word begins with an upper-case letter. */
bool words_capitalised(struct fumi_str word);

#endif
