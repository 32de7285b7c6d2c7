#include "base/chars.h"
#include "test.h"

TEST(characters_are_read)
{
    static const struct {
        const char *text;
        uint32_t c;
        size_t n;
    } rows[] = {
        {"a", 'a', 1},           {"é", 0xE9, 2},
        {"…", 0x2026, 3},        {"😀", 0x1F600, 4},
        {"\xC3", 0xFFFD, 1},     {"\x80", 0xFFFD, 1},
        {"\xE2\x80", 0xFFFD, 1}, {"\xED\xA0\x80", 0xFFFD, 1},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        size_t n;
        CHECK_INT(fumi_char_at(rows[i].text, rows[i].text + strlen(rows[i].text), &n), rows[i].c);
        CHECK_INT(n, rows[i].n);
    }
}

/* Each range, and the characters next to it. */
TEST(kinds_of_characters)
{
    static const struct {
        uint32_t first;
        enum fumi_char kind;
    } starts[] = {
        {0, FUMI_CHAR_CONTROL},     {0x0A, FUMI_CHAR_BREAK},    {0x0E, FUMI_CHAR_CONTROL},
        {0x20, FUMI_CHAR_PLAIN},    {0x7F, FUMI_CHAR_CONTROL},  {0x85, FUMI_CHAR_BREAK},
        {0x86, FUMI_CHAR_CONTROL},  {0xA0, FUMI_CHAR_PLAIN},    {0x2028, FUMI_CHAR_BREAK},
        {0x202A, FUMI_CHAR_HIDDEN}, {0x202F, FUMI_CHAR_PLAIN},  {0x2066, FUMI_CHAR_HIDDEN},
        {0x2070, FUMI_CHAR_PLAIN},  {0xFEFF, FUMI_CHAR_HIDDEN}, {0xFF00, FUMI_CHAR_PLAIN},
        {0xFFF9, FUMI_CHAR_HIDDEN}, {0xFFFC, FUMI_CHAR_PLAIN},  {0xE0000, FUMI_CHAR_HIDDEN},
        {0xE0080, FUMI_CHAR_PLAIN},
    };
    size_t at = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        at += at + 1 < FUMI_COUNT(starts) && c >= starts[at + 1].first;
        if (fumi_char_kind(c) != starts[at].kind)
            TEST_FAIL("U+%04X is %d", (unsigned)c, (int)fumi_char_kind(c));
    }
}
