/* Private to embed/ and pack/: the WordPiece tokenizer of BERT. */
#ifndef FUMI_EMBED_WORDPIECE_H
#define FUMI_EMBED_WORDPIECE_H

#include "base/buf.h"
#include "embed/model.h"

/* A trie in one array (a "double array"): the child of cell `at` for a byte is the cell at.next +
 * byte, if the `from` of that cell is `at`. Cell 0 is the root. The array may come from a damaged
 * file, so every step is checked. */
struct trie_cell {
    uint32_t next, from;
    int32_t id; /* of the word that ends here; -1: none */
};

struct trie {
    const struct trie_cell *cells;
    size_t n;
};

enum { TRIE_NONE = UINT32_MAX, TRIE_WORD_MAX = 512 }; /* bytes of a word */

/* Returns the child of the cell `at`, or TRIE_NONE. */
static inline uint32_t trie_step(struct trie t, uint32_t at, unsigned char byte)
{
    size_t next = (size_t)t.cells[at].next + byte;
    return next < t.n && t.cells[next].from == at && next ? (uint32_t)next : (uint32_t)TRIE_NONE;
}

enum {
    WORDPIECE_CLEAN = 1, /* drop control characters */
    WORDPIECE_CJK = 2,   /* make each ideograph a word */
    WORDPIECE_STRIP = 4, /* decompose (NFD) and drop combining marks */
    WORDPIECE_LOWER = 8, /* convert to lower case */
};

struct wordpiece {
    struct trie words;     /* pieces that continue a word begin with "##" */
    struct trie specials;  /* tokens found in the text before it is normalized: "[MASK]" */
    uint32_t continuation; /* the cell that "##" leads to */
    int32_t unk;           /* the id of words that have no pieces */
    int32_t ids;           /* the number of ids */
    unsigned flags;
    size_t max_chars; /* in a word; longer words become `unk` */
};

/* Appends at most `max` tokens (struct model_token) to `out`. Each id is less than w->ids, or is
 * w->unk. */
void wordpiece_run(const struct wordpiece *w, struct fumi_str text, size_t max,
                   struct fumi_buf *out);

/* Returns the character at p (p < end) and sets *n to its bytes. A byte that is not part of valid
 * UTF-8 gives U+FFFD. */
uint32_t wordpiece_char(const char *p, const char *end, size_t *n);

/* Whether the character always separates words: white space, punctuation and ideographs. */
bool wordpiece_separates(uint32_t c);

#endif
