/* Private to embed/: WordPiece as BERT has it. */
#ifndef FUMI_EMBED_WORDPIECE_H
#define FUMI_EMBED_WORDPIECE_H

#include "base/buf.h"
#include "embed/model.h"

/* A trie in one row: the cell behind `at` for a byte is at.next + byte, if that cell's `from` is
 * at. The row may come from a damaged file: every step is checked. Cell 0 is the root. */
struct trie_cell {
    uint32_t next, from;
    int32_t id; /* of the word that ends here; -1: none does */
};

struct trie {
    const struct trie_cell *cells;
    size_t n;
};

enum { TRIE_NONE = UINT32_MAX, TRIE_WORD_MAX = 512 }; /* no longer words are in it */

static inline uint32_t trie_step(struct trie t, uint32_t at, unsigned char byte)
{
    size_t next = (size_t)t.cells[at].next + byte;
    return next < t.n && t.cells[next].from == at && next ? (uint32_t)next : (uint32_t)TRIE_NONE;
}

enum {
    WORDPIECE_CLEAN = 1, /* control characters are dropped */
    WORDPIECE_CJK = 2,   /* each ideograph is a word */
    WORDPIECE_STRIP = 4, /* NFD, and combining marks are dropped */
    WORDPIECE_LOWER = 8,
};

struct wordpiece {
    struct trie words;    /* those that go on in a word with their "##" */
    struct trie specials; /* found in the text as it is: "[MASK]" */
    uint32_t inside;      /* the cell behind "##" */
    int32_t unknown;
    int32_t ids; /* all are below it */
    unsigned flags;
    size_t max_chars; /* of a word; longer ones are unknown */
};

/* Adds at most `max` tokens (struct model_token) to `out`. */
void wordpiece_run(const struct wordpiece *w, struct fumi_str text, size_t max,
                   struct fumi_buf *out);

/* The character at p (p < end) and its bytes; U+FFFD for a byte that belongs to none. */
uint32_t wordpiece_char(const char *p, const char *end, size_t *n);

/* Whether words end on both sides of it, whatever they are: blanks, punctuation, ideographs. */
bool wordpiece_parts(uint32_t c);

#endif
