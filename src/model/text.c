/* Checks the text of a note. */
#include "base/chars.h"
#include "model/note.h"

#include <stdlib.h>

/* White space, line breaks, control characters and characters without width in Unicode. */
static const struct range {
    uint32_t first, last;
} blanks[] = {
    {0x0000, 0x0020}, {0x007F, 0x00A0}, {0x00AD, 0x00AD}, {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x2000, 0x200F},
    {0x2028, 0x202F}, {0x205F, 0x206F}, {0x2800, 0x2800}, {0x3000, 0x3000},   {0x3164, 0x3164},
    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xE0000, 0xE0FFF},
};

static int compare(const void *key, const void *item)
{
    uint32_t c = *(const uint32_t *)key;
    const struct range *r = item;
    return c < r->first ? -1 : c > r->last;
}

static bool is_blank(struct fumi_str text)
{
    size_t n;
    for (const char *p = text.p, *end = fumi_end(text); p < end; p += n) {
        uint32_t c = fumi_char_at(p, end, &n);
        if (!bsearch(&c, blanks, FUMI_COUNT(blanks), sizeof(*blanks), compare))
            return false;
    }
    return true;
}

const char *note_text_fault(struct fumi_str text)
{
    if (!text.n)
        return "is required";
    if (is_blank(text))
        return "must not be blank: it has only white space or invisible characters";
    return text.n > NOTE_TEXT_MAX ? "must have at most 8388608 bytes: split it into several notes"
                                  : NULL;
}
