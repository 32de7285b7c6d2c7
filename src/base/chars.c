#include "base/chars.h"

#include "base/utf8.h"

uint32_t fumi_char_at(const char *p, const char *end, size_t *n)
{
    const unsigned char *u = (const unsigned char *)p;
    *n = fumi_utf8_step(p, end);
    switch (*n) {
    case 1:
        return u[0];
    case 2:
        return (uint32_t)(u[0] & 0x1F) << 6 | (u[1] & 0x3F);
    case 3:
        return (uint32_t)(u[0] & 0x0F) << 12 | (uint32_t)(u[1] & 0x3F) << 6 | (u[2] & 0x3F);
    case 4:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3F) << 12 |
               (uint32_t)(u[2] & 0x3F) << 6 | (u[3] & 0x3F);
    }
    *n = 1;
    return 0xFFFD;
}

enum fumi_char fumi_char_kind(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        enum fumi_char kind;
    } ranges[] = {
        {0x00, 0x09, FUMI_CHAR_CONTROL},    {0x0A, 0x0D, FUMI_CHAR_BREAK},
        {0x0E, 0x1F, FUMI_CHAR_CONTROL},    {0x7F, 0x84, FUMI_CHAR_CONTROL},
        {0x85, 0x85, FUMI_CHAR_BREAK},      {0x86, 0x9F, FUMI_CHAR_CONTROL},
        {0x2028, 0x2029, FUMI_CHAR_BREAK},  {0x202A, 0x202E, FUMI_CHAR_HIDDEN},
        {0x2066, 0x206F, FUMI_CHAR_HIDDEN}, {0xFEFF, 0xFEFF, FUMI_CHAR_HIDDEN},
        {0xFFF9, 0xFFFB, FUMI_CHAR_HIDDEN}, {0xE0000, 0xE007F, FUMI_CHAR_HIDDEN},
    };
    if (c >= 0x20 && c < 0x7F)
        return FUMI_CHAR_PLAIN;
    for (size_t i = 0; i < FUMI_COUNT(ranges) && c >= ranges[i].first; i++)
        if (c <= ranges[i].last)
            return ranges[i].kind;
    return FUMI_CHAR_PLAIN;
}
