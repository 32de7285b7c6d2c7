/* Waiting for the lock of another process. A running process releases the lock soon, or after many
 * seconds if the disk is under load. A stopped process (SIGSTOP, a debugger) does not release it:
 * the first call then waits for less than ten seconds, and later calls for a fraction of a second
 * until the process continues.
 *
 * The holder of the lock is read from /proc/locks. F_GETLK would need a descriptor of the file, and
 * closing that descriptor would drop the locks that SQLite holds on the file in this process. */
#include "store/sqlite_busy.h"

#include "base/clock.h"
#include "store/sqlite_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define SECONDS(n) ((int64_t)(n)*1000000000)

enum {
    STOPPED = 9,          /* seconds to wait for a process that is stopped or not known */
    WORKING = 30,         /* seconds for a running one: a disk may stall for more than ten */
    AGAIN_MS = 100,       /* if the process was already stopped at the last wait */
    CHECK_EVERY = 64,     /* sleeps between two checks of the process that holds the lock */
    SLEEP_LEAST = 500000, /* nanoseconds */
    SLEEP_SPAN = 1500000,
};

/* The bytes that SQLite locks: the write lock in the shared memory file, and in the database if it
 * is not in WAL mode. */
static const struct lock_range {
    const char *ending;
    uint64_t first, last;
} lock_ranges[] = {{"-shm", 120, 120}, {"", 0x40000000, 0x40000001}};

struct held_lock {
    char access[8];
    long pid;
    unsigned major, minor;
    uint64_t inode, first, last;
};

/* "1: POSIX  ADVISORY  WRITE 42 08:01:1234 120 120"; the end may be "EOF". */
static bool read_lock(const char *line, struct held_lock *l)
{
    char last[24];
    if (sscanf(line, "%*s POSIX %*s %7s %ld %x:%x:%" SCNu64 " %" SCNu64 " %23s", l->access, &l->pid,
               &l->major, &l->minor, &l->inode, &l->first, last) != 7)
        return false;
    if (sscanf(last, "%" SCNu64, &l->last) != 1)
        l->last = UINT64_MAX;
    return strcmp(l->access, "WRITE") == 0;
}

static long holder_at(FILE *locks, const char *path, const struct lock_range *at)
{
    struct stat st;
    struct held_lock l;
    char line[256];
    char *name = store_sqlite_path(path, at->ending);
    long pid = stat(name, &st) ? -1 : 0;
    rewind(locks);
    while (!pid && fgets(line, sizeof(line), locks))
        if (read_lock(line, &l) && l.inode == st.st_ino && l.major == major(st.st_dev) &&
            l.minor == minor(st.st_dev) && l.first <= at->last && l.last >= at->first)
            pid = l.pid;
    fumi_resize(name, 0);
    return pid;
}

static long find_holder(const struct store_sqlite *s)
{
    FILE *locks = fopen("/proc/locks", "re");
    long pid = 0;
    for (size_t i = 0; locks && i < FUMI_COUNT(lock_ranges) && pid <= 0; i++)
        pid = holder_at(locks, s->path, &lock_ranges[i]);
    if (locks)
        fclose(locks);
    return pid > 0 ? pid : 0;
}

/* The process that holds the write lock; 0: not known. The kernel lists locks in pieces and omits
 * some if others are released between two pieces, so the list is read several times. */
static long holder(const struct store_sqlite *s)
{
    enum { READS = 10, PAUSE = 1000000 }; /* nanoseconds */
    long pid = 0;
    for (int i = 0; i < READS && !pid; i++) {
        if (i)
            nanosleep(&(struct timespec){0, PAUSE}, NULL);
        pid = find_holder(s);
    }
    return pid;
}

static bool is_stopped(long pid)
{
    char path[48], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    const char *state = strrchr(text, ')'); /* after the name, which may contain anything */
    return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

/* Whether to continue waiting after the shorter time. */
static bool should_wait(struct store_sqlite *s)
{
    long pid = holder(s);
    bool stopped = pid && is_stopped(pid);
    __atomic_store_n(&s->blocked, stopped, __ATOMIC_RELAXED);
    return pid && !stopped;
}

static bool is_over(struct db *d, int64_t waited, int count)
{
    if (d->patience)
        return waited > d->patience;
    if (waited > SECONDS(WORKING))
        return true;
    bool blocked = __atomic_load_n(&d->store->blocked, __ATOMIC_RELAXED);
    int64_t most = blocked ? AGAIN_MS * INT64_C(1000000) : SECONDS(STOPPED);
    return waited > most && count % CHECK_EVERY == 0 && !should_wait(d->store);
}

/* Random pauses give every process the same chance. SQLite's own pauses grow, which starves a
 * process that has waited for long. */
int store_sqlite_busy_wait(void *db, int count)
{
    struct db *d = db;
    int64_t now = fumi_ticks();
    if (count == 0)
        d->waiting = now;
    if (is_over(d, now - d->waiting, count))
        return 0;
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    struct timespec t = {0, SLEEP_LEAST + (long)((d->random >> 33) % SLEEP_SPAN)};
    nanosleep(&t, NULL);
    return 1;
}

int store_sqlite_busy_fault(struct db *d, int code, struct fumi_err *e)
{
    long pid = holder(d->store);
    if (!pid)
        return fumi_err_set(e, FUMI_LIMIT,
                            "Another process has locked the database and does not release it: end "
                            "it, or try again (code %d, %s)",
                            code, d->store->path);
    if (!is_stopped(pid))
        return fumi_err_set(e, FUMI_LIMIT,
                            "Process %ld has locked the database and does not release it: end it, "
                            "or try again (code %d, %s)",
                            pid, code, d->store->path);
    return fumi_err_set(e, FUMI_LIMIT,
                        "Process %ld has locked the database and is stopped: continue it (kill "
                        "-CONT %ld) or end it (code %d, %s)",
                        pid, pid, code, d->store->path);
}
