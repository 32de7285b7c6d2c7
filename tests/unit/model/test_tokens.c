#include "base/buf.h"
#include "model/tokens.h"
#include "test.h"

struct counted {
    const char *text;
    size_t tokens;
};

static void check_all(const char *name, const struct counted *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tokens_of(fumi_str(rows[i].text)) != rows[i].tokens)
            TEST_FAIL("%s: \"%s\" has %zu tokens, not %zu", name, rows[i].text,
                      tokens_of(fumi_str(rows[i].text)), rows[i].tokens);
}

TEST(words_are_counted_by_letters_and_rare_pairs)
{
    static const struct counted rows[] = {
        {"", 0},      {"a", 1},    {"these", 1},     {"thesis", 2},     {"The", 1},
        {"qz", 2},    {"xqzj", 4}, {"SELECT", 2},    {"HTTPServer", 4}, {"getUserName", 3},
        {"THESE", 2}, {"aB", 2},   {"the these", 2}, {"the, these", 3},
    };
    check_all("words", rows, FUMI_COUNT(rows));
}

TEST(digits_are_counted_by_three)
{
    static const struct counted rows[] = {{"1", 1},    {"123", 1}, {"1234", 2},      {"1234567", 3},
                                          {"a 12", 3}, {"1.5", 3}, {"2026-11-18", 6}};
    check_all("digits", rows, FUMI_COUNT(rows));
}

TEST(a_blank_before_a_word_or_a_mark_is_free)
{
    static const struct counted rows[] = {{" the", 1},     {" (", 1},  {" 1", 2},       {" ", 1},
                                          {"  the", 2},    {"\n", 1},  {"\n\n", 1},     {"\n\t", 2},
                                          {"        ", 1}, {" あ", 3}, {"         ", 2}};
    check_all("white space", rows, FUMI_COUNT(rows));
}

TEST(marks_of_json_need_less_than_others)
{
    static const struct counted rows[] = {{"\":\"", 1}, {"\"},{\"", 2}, {"->", 2},   {"();=", 3},
                                          {"{}(", 2},   {"\x01", 2},    {"a\x7F", 3}};
    check_all("marks", rows, FUMI_COUNT(rows));
}

TEST(other_characters_are_counted_by_their_script)
{
    static const struct counted rows[] = {
        {"日", 2},         {"日本", 4},     {"日本語で", 7}, {"あい", 3},        {"한국", 4},
        {"ไทย", 6},        {"é", 2},        {"éé", 3},       {"\u200B", 2},      {"😀", 3},
        {"\U00020000", 4}, {"\xFF\xFE", 6}, {"ш", 2},        {"\u4E00\u00A0", 4}};
    check_all("scripts", rows, FUMI_COUNT(rows));
}

TEST(no_token_has_more_bytes_than_the_limit)
{
    struct fumi_buf b = {0};
    for (unsigned i = 0, seed = 1; i < 20000; i++) {
        seed = seed * 1103515245 + 12345;
        fumi_buf_put(&b, (char)(seed >> 16 & 0xFF));
    }
    for (size_t n = 1; n < b.n; n = n * 3 / 2 + 1)
        CHECK(tokens_of((struct fumi_str){b.p, n}) * TOKEN_BYTES_MAX >= n);
    static const char *const long_ones[] = {"        ", " these these", "these",
                                            "\t\t\t\t\t\t\t\t"};
    for (size_t i = 0; i < FUMI_COUNT(long_ones); i++)
        CHECK(tokens_of(fumi_str(long_ones[i])) * TOKEN_BYTES_MAX >= strlen(long_ones[i]));
    fumi_buf_done(&b);
}
