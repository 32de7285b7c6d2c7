#include "base/err.h"

#include "base/utf8.h"
#include "test.h"

TEST(code_and_sentence)
{
    struct fumi_err e = {0};
    CHECK_INT(fumi_err_set(&e, FUMI_INVALID_PARAMS, "%s must be at most %d", "limit", 50), -1);
    CHECK_INT(e.code, -32602);
    CHECK_STR(fumi_str(e.text), "limit must be at most 50");
    CHECK(!e.data.p && !e.data.n);
}

TEST(setting_again_forgets_all_of_the_first)
{
    struct fumi_err e = {0};
    fumi_err_set(&e, FUMI_PARSE_ERROR, "a rather long sentence about something");
    e.data = FUMI_STR("{\"line\":1}");
    CHECK_INT(fumi_err_set(&e, FUMI_LIMIT, "busy"), -1);
    CHECK_INT(e.code, -32000);
    CHECK_STR(fumi_str(e.text), "busy");
    CHECK(!e.data.p && !e.data.n);
}

TEST(an_empty_sentence)
{
    struct fumi_err e = {0};
    fumi_err_set(&e, 1, "%s", "");
    CHECK_STR(fumi_str(e.text), "");
    CHECK_INT(e.code, 1);
}

/* n bytes of whole units after `lead` letters. */
static void fill(char *out, size_t n, size_t lead, const char *unit)
{
    size_t size = strlen(unit);
    memset(out, 'a', lead);
    for (size_t i = lead; i < n; i++)
        out[i] = unit[(i - lead) % size];
    out[n] = '\0';
}

TEST(a_long_sentence_is_cut_at_a_character)
{
    static const char *const units[] = {"x", "é", "文", "😀", "a文é😀"};
    for (size_t i = 0; i < FUMI_COUNT(units); i++)
        for (size_t lead = 0; lead < 12; lead++) {
            struct fumi_err e = {0};
            char text[1200];
            size_t size = strlen(units[i]), n = lead + (1000 / size) * size;
            fill(text, n, lead, units[i]);
            fumi_err_set(&e, FUMI_INTERNAL_ERROR, "%s", text);
            size_t got = strnlen(e.text, sizeof(e.text));
            CHECK(got < sizeof(e.text) && got >= sizeof(e.text) - 4);
            CHECK(memcmp(e.text, text, got) == 0);
            CHECK(fumi_utf8_valid(fumi_str(e.text)));
            CHECK(got + fumi_utf8_step(text + got, text + n) > sizeof(e.text) - 1);
        }
}

/* Lengths around the size of the field: the longest text that fits is not truncated. */
TEST(sentences_about_as_long_as_the_field)
{
    static const char *const units[] = {"x", "é", "文", "😀"};
    for (size_t i = 0; i < FUMI_COUNT(units); i++)
        for (size_t lead = 0; lead < 4; lead++)
            for (size_t times = 45; times < 210; times++) {
                struct fumi_err e = {0};
                char text[900];
                size_t n = lead + times * strlen(units[i]);
                fill(text, n, lead, units[i]);
                fumi_err_set(&e, FUMI_INTERNAL_ERROR, "%s", text);
                size_t want = fumi_utf8_cut(fumi_str(text), sizeof(e.text) - 1).n;
                CHECK_INT(strlen(e.text), want);
                CHECK(memcmp(e.text, text, want) == 0);
            }
}

/* A text that fits is not changed, even if its last bytes are not UTF-8. */
TEST(a_sentence_that_fits_is_not_touched)
{
    struct fumi_err e = {0};
    fumi_err_set(&e, 1, "%s", "ends inside a character: \xE6\x97");
    CHECK_STR(fumi_str(e.text), "ends inside a character: \xE6\x97");
}
