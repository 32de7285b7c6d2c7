/* Output for terminals: stored text must not be able to control them. */
#include "app/show.h"
#include "test.h"

TEST(line_contains_visible_text_only)
{
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"plain", "plain"},
        {" a \n\t b ", "a b"},
        {"a\x1B[2Jb\x07", "a [2Jb"},
        {"a\xC2\x9B"
         "2Jb\xC2\x85"
         "c\x7F",
         "a 2Jb c"},
        {"a\xE2\x80\xA8"
         "b\xE2\x80\xAE"
         "c\xE2\x81\xA6\xEF\xBB\xBF"
         "d\xF3\xA0\x81\x81",
         "a bcd"},
        {"\xD7\xA9\xE2\x80\x8F \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB",
         "\xD7\xA9\xE2\x80\x8F \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB"},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        CHECK_STR(show_line(&a, fumi_str(rows[i].text)), rows[i].line);
    fumi_arena_done(&a);
}

TEST(lines_keep_their_breaks_and_tabs)
{
    struct fumi_arena a = {0};
    CHECK_STR(show_lines(&a, fumi_str("a\r\nb\rc\n\n\td\x0B"
                                      "e\xE2\x80\xA9"
                                      "f\xC2\x85"
                                      "g\x1B[2J\x7F\xC2\x9Bh\xE2\x80\xAEi")),
              "a\nb\nc\n\n\td\ne\nf\ng[2Jhi");
    fumi_arena_done(&a);
}

/* The value stays the same, and control characters are escaped. */
TEST(json_has_escapes_for_what_controls_a_terminal)
{
    static const char json[] =
        "{\"k\xC2\x9B\":[\"\x7F\xE2\x80\xA8\xE2\x80\xAE\xEF\xBB\xBF\xF3\xA0\x81"
        "\x81\xE2\x80\x8F日\\u001b\",1]}";
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_buf out = {0};
    CHECK_STR(
        show_escaped(&a, fumi_str(json)),
        "{\"k\\u009b\":[\"\\u007f\\u2028\\u202e\\ufeff\\udb40\\udc41\xE2\x80\x8F日\\u001b\",1]}");
    show_json(&out, fumi_parse(&a, fumi_str(json), &e));
    CHECK_STR(fumi_buf_keep(&out, &a),
              "{\n  \"k\\u009b\": [\n    \"\\u007f\\u2028\\u202e\\ufeff\\udb40\\udc41\xE2\x80\x8F日"
              "\\u001b\",\n    1\n  ]\n}\n");
    static const char plain[] = "{\"a\": 1}\n";
    CHECK(show_escaped(&a, fumi_str(plain)).p == plain);
    fumi_arena_done(&a);
}
