#include "base/uuid.h"

#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(a_uuid_has_its_form)
{
    for (int i = 0; i < 1000; i++) {
        char out[FUMI_UUID_SIZE + 1];
        out[FUMI_UUID_SIZE] = '~';
        fumi_uuid(out);
        CHECK(out[FUMI_UUID_SIZE] == '~');
        CHECK(fumi_is_uuid((struct fumi_str){out, FUMI_UUID_SIZE}));
        CHECK(out[14] == '4');
        CHECK(strchr("89ab", out[19]));
        for (size_t j = 0; j < FUMI_UUID_SIZE; j++)
            CHECK(out[j] < 'A' || out[j] > 'F');
    }
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, FUMI_UUID_SIZE);
}

TEST(uuids_differ)
{
    enum { MANY = 5000 };
    static char all[MANY][FUMI_UUID_SIZE];
    for (int i = 0; i < MANY; i++)
        fumi_uuid(all[i]);
    qsort(all, MANY, FUMI_UUID_SIZE, by_bytes);
    for (int i = 1; i < MANY; i++)
        CHECK(memcmp(all[i - 1], all[i], FUMI_UUID_SIZE) != 0);
}

static unsigned value_of(char digit)
{
    static const char digits[] = "0123456789abcdef";
    return (unsigned)(strchr(digits, digit) - digits);
}

/* Every bit that version and variant do not fix is seen as 0 and as 1. */
TEST(all_other_bits_are_random)
{
    unsigned ones[FUMI_UUID_SIZE] = {0}, noughts[FUMI_UUID_SIZE] = {0};
    for (int i = 0; i < 400; i++) {
        char out[FUMI_UUID_SIZE];
        fumi_uuid(out);
        for (size_t j = 0; j < FUMI_UUID_SIZE; j++)
            if (out[j] != '-') {
                ones[j] |= value_of(out[j]);
                noughts[j] |= ~value_of(out[j]) & 15;
            }
    }
    for (size_t j = 0; j < FUMI_UUID_SIZE; j++) {
        bool dash = j == 8 || j == 13 || j == 18 || j == 23;
        unsigned fixed = j == 14 ? 15 : j == 19 ? 12 : 0;
        CHECK_INT((ones[j] & noughts[j]), dash ? 0 : 15 & ~fixed);
    }
}

TEST(valid_uuids)
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"00000000-0000-0000-0000-000000000000", true},
        {"ffffffff-ffff-ffff-ffff-ffffffffffff", true},
        {"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", true},
        {"6Ba7b810-9dAD-11d1-80b4-00c04FD430c8", true},
        {"0190a5b4-7c3e-7abc-8def-0123456789ab", true},
        {"", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd430c", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd430c88", false},
        {"6ba7b8109dad11d180b400c04fd430c8", false},
        {"{6ba7b810-9dad-11d1-80b4-00c04fd430}", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd430cg", false},
        {"gba7b810-9dad-11d1-80b4-00c04fd430c8", false},
        {"6ba7b810-9dad-11d1-80b4000c04fd430c8", false},
        {"6ba7b810x9dad-11d1-80b4-00c04fd430c8", false},
        {"6ba7b81-09dad-11d1-80b4-00c04fd430c8", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd430c ", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd43-c8", false},
        {"6ba7b810-9dad-11d1-80b4-00c04fd43\xC3\xA9"
         "8",
         false},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++)
        if (fumi_is_uuid(fumi_str(rows[i].text)) != rows[i].want)
            TEST_FAIL("%s: want %d", rows[i].text, rows[i].want);
    CHECK(!fumi_is_uuid((struct fumi_str){0}));
    CHECK(!fumi_is_uuid(FUMI_STR("6ba7b810-9dad-11d1-80b4-00c04fd430c\0")));
}

/* Any other byte at any position makes it invalid. */
TEST(every_byte_of_a_uuid_counts)
{
    static const char good[] = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    for (size_t at = 0; at < FUMI_UUID_SIZE; at++)
        for (int c = 0; c < 256; c++) {
            char text[sizeof(good)];
            memcpy(text, good, sizeof(good));
            text[at] = (char)c;
            bool want = good[at] == '-' ? c == '-' : c && strchr("0123456789abcdefABCDEF", c);
            CHECK(fumi_is_uuid((struct fumi_str){text, FUMI_UUID_SIZE}) == want);
        }
}

TEST(random_fills_exactly_what_is_asked)
{
    for (size_t n = 0; n < 70; n++) {
        unsigned char seen[72] = {0};
        for (int i = 0; i < 40; i++) {
            unsigned char out[72] = {0};
            fumi_random(out, n);
            for (size_t j = 0; j < sizeof(out); j++)
                seen[j] |= out[j];
        }
        for (size_t j = 0; j < sizeof(seen); j++)
            CHECK(!seen[j] == (j >= n));
    }
}

static void nothing(int signal)
{
    (void)signal;
}

static bool some_page_is_empty(const unsigned char *p, size_t n)
{
    for (size_t page = 0; page + 512 <= n; page += 512) {
        unsigned char any = 0;
        for (size_t i = 0; i < 512; i++)
            any |= p[page + i];
        if (!any)
            return true;
    }
    return false;
}

/* getrandom returns less than 32 MiB at once, and less if a signal arrives: the test covers both.
 */
TEST(random_goes_on_after_signals_and_short_answers)
{
    enum { MUCH = 34 << 20 };
    struct sigaction act = {.sa_handler = nothing}, old;
    struct itimerval often = {{0, 500}, {0, 500}}, stop = {{0, 0}, {0, 0}};
    unsigned char *p = calloc(1, MUCH);
    sigaction(SIGALRM, &act, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    fumi_random(p, MUCH);
    setitimer(ITIMER_REAL, &stop, NULL);
    sigaction(SIGALRM, &old, NULL);
    bool empty = some_page_is_empty(p, MUCH);
    free(p);
    CHECK(!empty);
}

/* From now on getrandom(2) fails in this process, as in a system without it. */
static int without_randomness(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {FUMI_COUNT(rules), rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

TEST(the_process_ends_where_no_randomness_is)
{
    int ends[2], status = 0;
    char line[100], id[FUMI_UUID_SIZE];
    CHECK(!pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (without_randomness())
            _exit(99);
        fumi_uuid(id);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], line, sizeof(line));
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 99) {
        printf("skipped: this system allows no seccomp filter\n");
        return;
    }
    CHECK_INT(WEXITSTATUS(status), 70);
    CHECK(n > 0 && memchr(line, '\n', (size_t)n) == line + n - 1);
}
