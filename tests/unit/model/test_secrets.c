/* The tables of secrets. Keys are assembled from pieces, so that no file of this repository
 * contains a text that looks like a key. None of the keys was ever valid. */
#include "model/secrets.h"
#include "secrets_cases.h"
#include "test.h"

static struct fumi_str masked(struct fumi_arena *a, const char *text, struct secrets_found *found)
{
    return secrets_mask(a, fumi_str(text), (struct fumi_str){0}, found);
}

TEST(each_secret_is_masked)
{
    struct fumi_arena a = {0};
    CHECK(FUMI_COUNT(secret_cases) >= 40);
    for (size_t i = 0; i < FUMI_COUNT(secret_cases); i++) {
        const struct secret_case *c = &secret_cases[i];
        struct secrets_found found = {{0}}, again = {{0}};
        struct fumi_str is = masked(&a, c->text, &found);
        if (!fumi_eq(is, fumi_str(c->masked)) || !found.n[c->kind])
            TEST_FAIL("%s\n   got %.*s\n  want %s", c->text, FUMI_ARG(is), c->masked);
        struct fumi_str twice = secrets_mask(&a, is, (struct fumi_str){0}, &again);
        if (!fumi_eq(twice, is))
            TEST_FAIL("masked twice: %.*s", FUMI_ARG(twice));
    }
    fumi_arena_done(&a);
}

TEST(other_values_are_unchanged)
{
    struct fumi_arena a = {0};
    CHECK(FUMI_COUNT(harmless_cases) >= 60);
    for (size_t i = 0; i < FUMI_COUNT(harmless_cases); i++) {
        struct secrets_found found = {{0}};
        struct fumi_str is = masked(&a, harmless_cases[i], &found);
        if (is.p != harmless_cases[i])
            TEST_FAIL("%s\n  became %.*s", harmless_cases[i], FUMI_ARG(is));
    }
    fumi_arena_done(&a);
}

TEST(every_kind_has_a_case)
{
    bool has[SECRET_KINDS] = {false};
    for (size_t i = 0; i < FUMI_COUNT(secret_cases); i++)
        has[secret_cases[i].kind] = true;
    for (size_t k = 0; k < SECRET_KINDS; k++) {
        if (!has[k])
            TEST_FAIL("no case has %s", secret_name((enum secret_kind)k));
    }
}

/* Pseudo-random characters of a set, the same in each run. */
static void fill(char *to, size_t n, const char *set, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        to[i] = set[(seed >> 33) % strlen(set)];
    }
}

/* Random bodies for each shape of the table: real keys must not be taken for placeholders. */
TEST(random_keys_of_every_shape_are_found)
{
    static const char *const sets[] = {
        [SET_DIGITS] = "0123456789",
        [SET_HEX] = "0123456789abcdef",
        [SET_BASE32] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        [SET_ALNUM] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    };
    size_t missed = 0, tried = 0;
    for (size_t k = 0; k < secret_shapes_n; k++) {
        const struct secret_shape *shape = &secret_shapes[k];
        for (uint64_t seed = 0; seed < 50; seed++) {
            char text[1024];
            size_t n = strlen(shape->prefix);
            memcpy(text, shape->prefix, n);
            for (size_t p = 0; p < SECRET_PARTS && shape->parts[p].set; p++) {
                const struct secret_part *part = &shape->parts[p];
                enum secret_set set = part->set > SET_ALNUM ? SET_ALNUM : part->set;
                fill(text + n, part->min, sets[set], seed * 1000 + k);
                n += part->min;
                size_t then = part->then ? strlen(part->then) : 0;
                if (then)
                    memcpy(text + n, part->then, then);
                n += then;
            }
            struct secrets_scan scan = {.text = {text, n}};
            struct secret is;
            tried++;
            if (!secrets_next(&scan, &is) || is.begin != 0 || is.end != n)
                missed++;
        }
    }
    if (missed * 200 > tried)
        TEST_FAIL("%zu of %zu keys are missed", missed, tried);
}

TEST(name_of_the_whole_text_is_used)
{
    static const char value[] = "kQ3vT8xZ1m"
                                "N6bR0sY5wP"
                                "2dF7gH4jL9"
                                "cA1eU3iO6q";
    struct fumi_arena a = {0};
    struct secrets_found found = {{0}};
    struct fumi_str text = fumi_str(value);
    CHECK(secrets_mask(&a, text, FUMI_STR("commit"), &found).p == text.p);
    CHECK_STR(secrets_mask(&a, text, FUMI_STR("secretAccessKey"), &found), "****");
    CHECK_INT(found.n[SECRET_AWS_KEY], 1);
    CHECK_STR(secrets_mask(&a, text, FUMI_STR("client_secret"), &found), "****");
    CHECK_INT(found.n[SECRET_RANDOM], 1);
    fumi_arena_done(&a);
}

TEST(findings_are_listed_by_kind)
{
    struct fumi_arena a = {0};
    struct secrets_found found = {{0}};
    CHECK(!secrets_list(&a, &found).p);
    found.n[SECRET_GITHUB] = 1;
    CHECK_STR(secrets_list(&a, &found), "1 value that looks like a GitHub token");
    found.n[SECRET_JWT] = 2;
    CHECK_STR(secrets_list(&a, &found),
              "1 value that looks like a GitHub token, 2 values that look like a JWT");
    fumi_arena_done(&a);
}

/* Masking a short password makes the text longer. */
TEST(many_short_passwords_are_masked)
{
    enum { N = 1000 };
    static const char url[] = "ab://:pq@h ";
    size_t n = sizeof(url) - 1;
    char *text = malloc(N * n);
    struct fumi_arena a = {0};
    struct secrets_found found = {{0}};
    for (size_t i = 0; i < N; i++)
        memcpy(text + i * n, url, n);
    struct fumi_str is = secrets_mask(&a, (struct fumi_str){text, N * n}, (struct fumi_str){0},
                                      &found);
    CHECK_INT(found.n[SECRET_URL_PASSWORD], N);
    CHECK_INT(is.n, N * (n + 2));
    fumi_arena_done(&a);
    free(text);
}

/* A megabyte of text that would make a naive scan quadratic. Such a scan would exceed the time
 * limit of the test. */
TEST(scan_takes_linear_time)
{
    static const char *const parts[] = {
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaaaa.",
        "-eyJ-",
        "://",
        "a://b:c",
        "a://u:p",
        "@",
        "-----",
        "glpat-",
        "sk-",
        "whsec_/",
        "sntrys_/",
        "-----BEGIN PRIVATE KEY-----",
        "token=",
        "\xe6\x97\xa5\xe6\x9c\xac",
        "\\n",
        "AKIA",
        "A",
        "\xff",
        "secret: ",
        "xoxb-",
        "aB3",
        ".ghs_a1",
        "sl.aB3",
        "%sig=",
        "1:AA",
        "token_",
        "--token ",
    };
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 64);
    struct fumi_arena a = {0};
    for (size_t k = 0; k < FUMI_COUNT(parts); k++) {
        struct secrets_found found = {{0}};
        size_t n = 0, part = strlen(parts[k]);
        for (; n < SIZE; n += part)
            memcpy(text + n, parts[k], part);
        secrets_mask(&a, (struct fumi_str){text, SIZE}, (struct fumi_str){0}, &found);
    }
    fumi_arena_done(&a);
    free(text);
}
