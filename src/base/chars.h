/* The characters of UTF-8 text, and how they affect its display. */
#ifndef FUMI_BASE_CHARS_H
#define FUMI_BASE_CHARS_H

#include "base/str.h"

/* Returns the character at p < end and its length in bytes in *n. A byte that begins no valid
 * sequence is read as U+FFFD with the length 1. */
uint32_t fumi_char_at(const char *p, const char *end, size_t *n);

/* The end of a text; NULL if its p is NULL. */
static inline const char *fumi_end(struct fumi_str s)
{
    return s.n ? s.p + s.n : s.p;
}

/* How a character affects the display of the text around it. U+200E, U+200F, U+061C and the joiners
 * U+200C and U+200D count as plain, because ordinary text needs them. */
enum fumi_char {
    FUMI_CHAR_PLAIN,
    FUMI_CHAR_BREAK,   /* line break: LF, VT, FF, CR, U+0085, U+2028, U+2029 */
    FUMI_CHAR_CONTROL, /* the other control characters: C0 including TAB, C1, and DEL */
    FUMI_CHAR_HIDDEN,  /* invisible, and able to reorder or to hide text: bidirectional embeddings,
                        * overrides and isolates, U+206A to U+206F, U+FEFF, U+FFF9 to U+FFFB, and
                        * the tags U+E0000 to U+E007F */
};
enum fumi_char fumi_char_kind(uint32_t c);

#endif
