#include "base/file.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { SIZE = 8 << 20 };

static void on_alarm(int number)
{
    (void)number;
}

/* Reads to the end. Returns how many bytes are as they were written. */
static void *reader(void *arg)
{
    const int *fd = arg;
    char block[4096];
    size_t n = 0, right = 0;
    for (ssize_t got; (got = read(*fd, block, sizeof(block))) != 0;)
        for (ssize_t i = 0; i < got; i++, n++)
            right += block[i] == (char)(n % 251);
    return (void *)right;
}

/* A pipe accepts a part at a time, and each signal interrupts a write. */
TEST(a_write_that_is_interrupted_is_finished)
{
    int ends[2];
    pthread_t thread;
    void *right;
    char *bytes = malloc(SIZE);
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    sigset_t alarm;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigaction(SIGALRM, &act, NULL);
    CHECK_INT(pipe(ends), 0);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    CHECK_INT(pthread_create(&thread, NULL, reader, &ends[0]), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int rc = file_write_all(ends[1], (struct fumi_str){bytes, SIZE});
    setitimer(ITIMER_REAL, &never, NULL);
    close(ends[1]);
    pthread_join(thread, &right);
    close(ends[0]);
    free(bytes);
    CHECK_INT(rc, 0);
    CHECK_INT((intptr_t)right, SIZE);
}

TEST(faults_are_in_errno)
{
    CHECK_INT(file_write_all(-1, FUMI_STR("x")), -1);
    CHECK_INT(errno, EBADF);
    CHECK_INT(file_write_all(-1, FUMI_STR("")), 0);
    CHECK_INT(file_sync_dir("/nowhere/at/all"), -1);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(file_sync_dir("/dev/null"), -1);
    CHECK_INT(errno, ENOTDIR);
}

TEST(a_directory_is_synced)
{
    char dir[] = "/tmp/fumi-file-XXXXXX";
    CHECK(mkdtemp(dir));
    int rc = file_sync_dir(dir);
    rmdir(dir);
    CHECK_INT(rc, 0);
}
