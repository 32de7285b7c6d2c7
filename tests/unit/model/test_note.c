#include "model/note.h"
#include "test.h"

TEST(groups_are_letters_digits_and_two_signs)
{
    static const char *const good[] = {"global", "feature-1", "A_b-9", "-", "_"};
    static const char *const bad[] = {"a b", "a.b", "ä", "a/b", "a\n", "設定"};
    for (size_t i = 0; i < FUMI_COUNT(good); i++)
        CHECK(!note_group_fault(fumi_str(good[i])));
    for (size_t i = 0; i < FUMI_COUNT(bad); i++)
        CHECK(note_group_fault(fumi_str(bad[i])));
    CHECK(!note_key_fault(FUMI_STR("globals")));
    CHECK(note_key_fault(FUMI_STR("global")));
    CHECK(note_key_fault(FUMI_STR("a b")));
}

TEST(a_blank_text_is_refused)
{
    static const char *const blank[] = {" ",
                                        "\t\r\n\v\f",
                                        "\x1B",
                                        "\u00A0",
                                        "\xC2\x85\u2028\u2029",
                                        "\u1680\u2003\u202F\u205F\u3000",
                                        "\u200B\u200D\u2060\uFEFF",
                                        "\u00AD\u180E\uFE0F",
                                        " \n\u3164\U000E0020 "};
    static const char *const good[] = {".", " x ", "\u200B-", "\n設\n", "\U0001F600", "\xFF"};
    CHECK_STR(fumi_str(note_text_fault(FUMI_STR(""))), "is required");
    for (size_t i = 0; i < FUMI_COUNT(blank); i++)
        CHECK(note_text_fault(fumi_str(blank[i])) &&
              strstr(note_text_fault(fumi_str(blank[i])), "must not be blank"));
    CHECK(note_text_fault((struct fumi_str){"\0", 1}));
    for (size_t i = 0; i < FUMI_COUNT(good); i++)
        CHECK(!note_text_fault(fumi_str(good[i])));
}

TEST(a_text_may_be_as_long_as_a_message)
{
    char *text = malloc(NOTE_TEXT_MAX + 1);
    memset(text, 'x', NOTE_TEXT_MAX + 1);
    CHECK(!note_text_fault((struct fumi_str){text, NOTE_TEXT_MAX}));
    CHECK(strstr(note_text_fault((struct fumi_str){text, NOTE_TEXT_MAX + 1}), "8388608 bytes"));
    free(text);
}

TEST(a_group_has_at_most_128_characters)
{
    char name[GROUP_MAX + 1];
    memset(name, 'x', sizeof(name));
    CHECK(!note_group_fault((struct fumi_str){name, GROUP_MAX}));
    CHECK(note_group_fault((struct fumi_str){name, GROUP_MAX + 1}));
    CHECK(note_key_fault((struct fumi_str){name, GROUP_MAX + 1}));
}

TEST(keys_of_globals_begin_with_global)
{
    static const char *const good[] = {"global.a", "global.memory.embedder.model", "global.-_.9"};
    static const char *const bad[] = {"",        "x",        "global",     "global.",
                                      "globalx", "Global.a", "global.a b", "global.ä"};
    struct fumi_err e = {0};
    for (size_t i = 0; i < FUMI_COUNT(good); i++)
        CHECK_INT(global_key_check(fumi_str(good[i]), &e), 0);
    for (size_t i = 0; i < FUMI_COUNT(bad); i++) {
        e.code = 0;
        CHECK_INT(global_key_check(fumi_str(bad[i]), &e), -1);
        CHECK_INT(e.code, ERR_KEY_PREFIX);
        CHECK(fumi_starts(fumi_str(e.text), FUMI_STR("key must start with 'global.'")));
    }
}

/* Titles, tags, sources and projects that are one line are kept byte for byte. */
TEST(lines_are_visible_text)
{
    static const char *const good[] = {
        "",
        "plain",
        "two  blanks ",
        "\"quoted\" \\ `code` <!-- x --> ## y",
        "日本語 · 😀",
        "\u05e9\u05dc\u05d5\u05dd\u200f! \u0645\u0631\u062d\u0628\u0627\u061c\u200e", /* with marks
                                                                                       */
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻", /* and joiners */
        "\u00a0\u200b\ufffd",
    };
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"a\nb", "a b"},
        {"a\r\n\r\nb", "a b"},
        {"\na\n", "a"},
        {"a\tb", "a b"},
        {"a\x0b\x0c\x7f\xc2\x85\xc2\x9b\u2028\u2029b", "a b"},
        {"a \n b", "a   b"},
        {"\x1b[31mred", "[31mred"},
        {"\u202eevil\u202c", "evil"},
        {"a\u2066b\u2069\ufeff", "ab"},
        {"a\U000e0041\U000e007fb", "ab"},
        {"\n\u202e\n", ""},
    };
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(good); i++) {
        CHECK(!note_line_fault(fumi_str(good[i])));
        CHECK(note_line(&a, fumi_str(good[i])).p == good[i]);
    }
    for (size_t i = 0; i < FUMI_COUNT(bad); i++) {
        struct fumi_str line = note_line(&a, fumi_str(bad[i].text));
        CHECK(note_line_fault(fumi_str(bad[i].text)) && !note_line_fault(line));
        CHECK_STR(line, bad[i].line);
    }
    CHECK(!note_line_fault((struct fumi_str){0}) && !note_line(&a, (struct fumi_str){0}).p);
    fumi_arena_done(&a);
}

/* The chain depends on the project, the group, and the session or else the writer. */
TEST(notes_of_a_session_form_a_chain)
{
    static const struct note rows[] = {
        {.project = {"p", 1}, .group = {"g", 1}, .session = {"s", 1}},
        {.project = {"q", 1}, .group = {"g", 1}, .session = {"s", 1}},
        {.project = {"p", 1}, .group = {"h", 1}, .session = {"s", 1}},
        {.project = {"pg", 2}, .group = {"", 0}, .session = {"s", 1}},
        {.project = {"p", 1}, .group = {"g", 1}, .session = {"t", 1}},
        {.project = {"p", 1}, .group = {"g", 1}, .writer = 7},
        {.project = {"p", 1}, .group = {"g", 1}, .writer = 8},
        {.project = {"p", 1}, .group = {"h", 1}, .writer = 7},
    };
    struct note other = rows[0];
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK(note_chain(&rows[i]) > 0);
        for (size_t k = 0; k < i; k++)
            CHECK(note_chain(&rows[i]) != note_chain(&rows[k]));
    }
    other.writer = 9;
    other.chain = 3;
    other.text = FUMI_STR("another text");
    CHECK_INT(note_chain(&other), note_chain(&rows[0]));
    other.session = (struct fumi_str){0};
    other.writer = 0;
    CHECK_INT(note_chain(&other), 0);
}
