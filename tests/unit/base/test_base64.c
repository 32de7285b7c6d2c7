#include "base/base64.h"
#include "test.h"

static const struct {
    const char *plain, *text;
} rows[] = {{"", ""},
            {"f", "Zg=="},
            {"fo", "Zm8="},
            {"foo", "Zm9v"},
            {"foob", "Zm9vYg=="},
            {"fooba", "Zm9vYmE="},
            {"foobar", "Zm9vYmFy"},
            {"\xff\xfe\xfd", "//79"},
            {"\xfb\xef\xbe", "++++"}};

TEST(it_is_written_and_read)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        CHECK_STR(fumi_base64(&a, fumi_str(rows[i].plain)), rows[i].text);
        CHECK_STR(fumi_base64_read(&a, fumi_str(rows[i].text)), rows[i].plain);
    }
    fumi_arena_done(&a);
}

TEST(all_bytes_come_back)
{
    struct fumi_arena a = {0};
    char bytes[256];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        struct fumi_str is = {bytes, n};
        CHECK(fumi_eq(fumi_base64_read(&a, fumi_base64(&a, is)), is));
    }
    fumi_arena_done(&a);
}

/* Unused bits must be 0; padding is required, and allowed only at the end. */
TEST(invalid_base64_is_refused)
{
    static const char *const wrong[] = {"Z",        "Zg",   "Zg=",  "Zh==",    "Zm9=",
                                        "Zg==Zg==", "=g==", "====", "Zm9 ",    "Zm-_",
                                        "Zm9v\nYg", "Z===", "Zg=a", "Zm9vYh=="};
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++)
        if (fumi_base64_read(&a, fumi_str(wrong[i])).p)
            TEST_FAIL("accepted: %s", wrong[i]);
    fumi_arena_done(&a);
}

static struct fumi_str url_bytes(const char *text, char *to, size_t most)
{
    return (struct fumi_str){to, fumi_base64url_get(to, most, fumi_str(text))};
}

TEST(base64url_without_padding_is_read)
{
    char to[6];
    CHECK_STR(url_bytes("Zg", to, 6), "f");
    CHECK_STR(url_bytes("Zm8", to, 6), "fo");
    CHECK_STR(url_bytes("Zm9v", to, 6), "foo");
    CHECK_STR(url_bytes("Zm9vYmFy", to, 6), "foobar");
    CHECK_STR(url_bytes("--__", to, 6), "\xfb\xef\xff");
}

TEST(invalid_or_long_base64url_is_refused)
{
    static const char *const wrong[] = {"",   "Z",    "Zg==",  "Zm9",
                                        "Zh", "Zm+v", "Zm9vY", "Zm9vYmFyZg"};
    char to[6];
    for (size_t i = 0; i < FUMI_COUNT(wrong); i++)
        if (url_bytes(wrong[i], to, sizeof(to)).n)
            TEST_FAIL("accepted: %s", wrong[i]);
}
