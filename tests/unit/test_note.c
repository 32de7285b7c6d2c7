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
