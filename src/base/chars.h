/* Characters of UTF-8 text, and what they do to the text around them. */
#ifndef FUMI_BASE_CHARS_H
#define FUMI_BASE_CHARS_H

#include "base/str.h"

/* The character at p, which is *n bytes long. A byte that begins no valid sequence is read as
 * U+FFFD, one byte long. p < end. */
uint32_t fumi_char_at(const char *p, const char *end, size_t *n);

/* The end of a text, which may be null: then it is null too. */
static inline const char *fumi_end(struct fumi_str s)
{
    return s.n ? s.p + s.n : s.p;
}

/* What a character does to the text around it when the text is shown. U+200E, U+200F, U+061C and
 * the joiners U+200C and U+200D, which ordinary text needs, are plain. */
enum fumi_char {
    FUMI_CHAR_PLAIN,
    FUMI_CHAR_BREAK,   /* ends a line: LF, VT, FF, CR, U+0085, U+2028, U+2029 */
    FUMI_CHAR_CONTROL, /* the other characters of C0 (TAB too) and C1, and DEL */
    FUMI_CHAR_HIDDEN,  /* is not seen, and reorders text or carries text: the bidirectional
                        * embeddings, overrides and isolates, U+206A to U+206F, U+FEFF, U+FFF9 to
                        * U+FFFB, and the tags U+E0000 to U+E007F */
};
enum fumi_char fumi_char_kind(uint32_t c);

#endif
