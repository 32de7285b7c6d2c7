#include "net/process.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { SIGNALS = 32 };

/* The only global variables of the library: they describe the state of the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    size_t users;
    unsigned filled;
} standard;
static bool stdio_taken;
static struct {
    rlim_t needed; /* by all services */
    struct rlimit before, raised;
} files;
static struct {
    size_t users;
    struct sigaction before, ours;
} signals[SIGNALS];

static unsigned fill(void)
{
    unsigned filled = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int null = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR) : -1;
        if (null == fd)
            filled |= 1u << fd;
        else if (null >= 0)
            close(null); /* another thread has opened fd since */
    }
    return filled;
}

unsigned process_fill(void)
{
    pthread_mutex_lock(&lock);
    if (standard.users++ == 0)
        standard.filled = fill();
    unsigned filled = standard.filled;
    pthread_mutex_unlock(&lock);
    return filled;
}

void process_unfill(void)
{
    pthread_mutex_lock(&lock);
    assert(standard.users > 0);
    if (--standard.users == 0)
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            if (standard.filled & 1u << fd)
                close(fd);
    pthread_mutex_unlock(&lock);
}

bool process_take_stdio(void)
{
    pthread_mutex_lock(&lock);
    bool taken = stdio_taken;
    stdio_taken = true;
    pthread_mutex_unlock(&lock);
    return !taken;
}

void process_give_stdio(void)
{
    pthread_mutex_lock(&lock);
    assert(stdio_taken);
    stdio_taken = false;
    pthread_mutex_unlock(&lock);
}

static void raise_files(struct rlimit *now)
{
    now->rlim_cur = now->rlim_max < files.needed ? now->rlim_max : files.needed;
    if (setrlimit(RLIMIT_NOFILE, now) == 0)
        files.raised = *now;
}

rlim_t process_descriptors(rlim_t need)
{
    struct rlimit now;
    pthread_mutex_lock(&lock);
    bool known = getrlimit(RLIMIT_NOFILE, &now) == 0;
    if (known && !files.needed)
        files.before = files.raised = now;
    rlim_t others = files.needed;
    files.needed += need;
    if (known && now.rlim_cur < files.needed)
        raise_files(&now);
    known = getrlimit(RLIMIT_NOFILE, &now) == 0;
    pthread_mutex_unlock(&lock);
    if (!known)
        return need;
    return now.rlim_cur > others ? now.rlim_cur - others : 0;
}

void process_descriptors_done(rlim_t need)
{
    struct rlimit now;
    pthread_mutex_lock(&lock);
    assert(files.needed >= need);
    files.needed -= need;
    if (!files.needed && getrlimit(RLIMIT_NOFILE, &now) == 0 &&
        now.rlim_cur == files.raised.rlim_cur && now.rlim_cur != files.before.rlim_cur)
        setrlimit(RLIMIT_NOFILE, &files.before);
    pthread_mutex_unlock(&lock);
}

int process_catch(int signal, int (*start)(void *arg), void *arg)
{
    assert(signal > 0 && signal < SIGNALS);
    pthread_mutex_lock(&lock);
    if (!signals[signal].users)
        sigaction(signal, NULL, &signals[signal].before);
    int rc = start(arg);
    if (rc == 0 && signals[signal].users++ == 0)
        sigaction(signal, NULL, &signals[signal].ours);
    pthread_mutex_unlock(&lock);
    return rc;
}

void process_uncatch(int signal, void (*stop)(void *arg), void *arg)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    sigaction(signal, NULL, &now);
    stop(arg);
    assert(signals[signal].users > 0);
    if (--signals[signal].users == 0) {
        bool ours = now.sa_handler == signals[signal].ours.sa_handler;
        sigaction(signal, ours ? &signals[signal].before : &now, NULL);
    }
    pthread_mutex_unlock(&lock);
}
