/* The test harness. A test file has TEST(name) { ... } blocks with CHECKs; this header defines
 * main. A failed CHECK ends its test. The last line of output is "N passed, N failed". With an
 * argument only the tests whose name contains it run. */
#ifndef FUMI_TEST_H
#define FUMI_TEST_H

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};

static struct test_case *test_first, **test_last = &test_first;
static int test_failed;

static inline void test_add(struct test_case *t)
{
    *test_last = t;
    test_last = &t->next;
}

#define TEST(title)                                                                                \
    static void test_##title(void);                                                                \
    static struct test_case case_##title = {#title, test_##title, NULL};                           \
    __attribute__((constructor)) static void add_##title(void)                                     \
    {                                                                                              \
        test_add(&case_##title);                                                                   \
    }                                                                                              \
    static void test_##title(void)

/* A test whose child processes start threads, which ThreadSanitizer does not support after a fork:
 * it is compiled, but not run there. */
#ifdef __SANITIZE_THREAD__
#define TEST_OF_FORKS(title)                                                                       \
    __attribute__((unused)) static void test_##title(void);                                        \
    static void test_##title(void)
#else
#define TEST_OF_FORKS(title) TEST(title)
#endif

/* Marks the test as failed and continues, for tests that check many rows of a table. */
#define TEST_FAIL(...)                                                                             \
    do {                                                                                           \
        test_failed = 1;                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
    } while (0)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            TEST_FAIL("CHECK(%s)", #cond);                                                         \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        intmax_t got_ = (intmax_t)(got), want_ = (intmax_t)(want);                                 \
        if (got_ != want_) {                                                                       \
            TEST_FAIL("%s: got %" PRIdMAX ", want %" PRIdMAX, #got, got_, want_);                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Compares a slice with a C string; NULL equals only "no string". */
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        struct fumi_str got_ = (got), want_ = fumi_str(want);                                      \
        if (!fumi_eq(got_, want_) || !got_.p != !want_.p) {                                        \
            TEST_FAIL("%s:\n   got %.*s\n  want %.*s", #got, FUMI_ARG(got_), FUMI_ARG(want_));     \
            return;                                                                                \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (struct test_case *t = test_first; t; t = t->next) {
        if (argc > 1 && !strstr(t->name, argv[1]))
            continue;
        test_failed = 0;
        t->run();
        if (test_failed)
            fprintf(stderr, "FAILED %s\n", t->name);
        *(test_failed ? &failed : &passed) += 1;
    }
    fflush(stderr);
    printf("%d passed, %d failed\n", passed, failed);
    fflush(stdout); /* LeakSanitizer may end the process before stdio is flushed */
    return failed || !passed;
}

#endif
