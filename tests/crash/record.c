/* A library for LD_PRELOAD: logs all changes that a program makes to the files in one directory,
 * and its output on stdout, in the order in which they happen.
 *
 * CRASH_RECORD_DIR: the directory, without links in its path. CRASH_RECORD_LOG: the log.
 *
 * A lock is held during each call and its record, so that the log has the order of the calls. The
 * calls are made with syscall(). Writes to mapped memory are not recorded: only caches are written
 * in this way, and disk.c leaves them out. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDS = 4096 };

/* Global, because the functions replace those of libc and have no argument for it. */
static struct {
    pthread_mutex_t lock;
    int log;
    char dir[512];
    size_t dir_n;
    bool known[FDS]; /* descriptors of files under the directory */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .log = -1};

/* The log gets a high descriptor, so that the descriptors of the program do not change. */
__attribute__((constructor)) static void begin(void)
{
    const char *dir = getenv("CRASH_RECORD_DIR"), *path = getenv("CRASH_RECORD_LOG");
    if (!dir || !path || strlen(dir) >= sizeof(all.dir))
        return;
    all.dir_n = strlen(dir);
    memcpy(all.dir, dir, all.dir_n + 1);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0600);
    all.log = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, fd);
}

/* Returns the name relative to the directory, or NULL if the path is not in it. */
static const char *name_of(const char *path)
{
    if (all.log < 0 || !path || strncmp(path, all.dir, all.dir_n) != 0)
        return NULL;
    if (path[all.dir_n] == 0)
        return "";
    return path[all.dir_n] == '/' ? path + all.dir_n + 1 : NULL;
}

static bool known(int fd)
{
    return all.log >= 0 && fd >= 0 && fd < FDS && all.known[fd];
}

static void put(struct record r, const char *name, const void *bytes, size_t n)
{
    r.name = name ? (uint32_t)strlen(name) : 0;
    r.bytes = (uint32_t)n;
    struct iovec parts[] = {
        {&r, sizeof(r)}, {(void *)(uintptr_t)name, r.name}, {(void *)(uintptr_t)bytes, n}};
    size_t size = sizeof(r) + r.name + n;
    if (syscall(SYS_writev, all.log, parts, 3) != (long)size)
        abort();
}

static void lock(void)
{
    pthread_mutex_lock(&all.lock);
}

/* Returns the result of the call and keeps its errno. */
static long unlock(long result)
{
    int saved = errno;
    pthread_mutex_unlock(&all.lock);
    errno = saved;
    return result;
}

static int do_open(int at, const char *path, int flags, mode_t mode)
{
    const char *name = at == AT_FDCWD || (path && path[0] == '/') ? name_of(path) : NULL;
    lock();
    long fd = syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0 && fd < FDS)
        all.known[fd] = name;
    if (fd >= 0 && name)
        put((struct record){RECORD_OPEN, (int)fd, (uint64_t)flags, 0, 0}, name, NULL, 0);
    return (int)unlock(fd);
}

#define MODE_OF(flags, mode)                                                                       \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                         \
        va_end(args);                                                                              \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return do_open(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return do_open(at, path, flags, mode);
}

int creat(const char *path, mode_t mode)
{
    return do_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return do_open(AT_FDCWD, path, flags, 0);
}

int __openat_2(int at, const char *path, int flags);
int __openat_2(int at, const char *path, int flags)
{
    return do_open(at, path, flags, 0);
}

int close(int fd)
{
    lock();
    if (known(fd)) {
        all.known[fd] = false;
        put((struct record){RECORD_CLOSE, fd, 0, 0, 0}, NULL, NULL, 0);
    }
    return (int)unlock(syscall(SYS_close, fd));
}

/* The offset at which the next write() begins. */
static uint64_t position(int fd)
{
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    long at = syscall(SYS_lseek, fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    return at < 0 ? 0 : (uint64_t)at;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    lock();
    bool file = known(fd);
    uint64_t at = file ? position(fd) : 0;
    /* Recorded before the call, because the parent may read the output at once. */
    if (fd == 1 && all.log >= 0)
        put((struct record){RECORD_OUTPUT, 1, 0, 0, 0}, NULL, bytes, n);
    long done = syscall(SYS_write, fd, bytes, n);
    if (file && done > 0)
        put((struct record){RECORD_WRITE, fd, at, 0, 0}, NULL, bytes, (size_t)done);
    return unlock(done);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    lock();
    long done = syscall(SYS_pwrite64, fd, bytes, n, at);
    if (done > 0 && known(fd))
        put((struct record){RECORD_WRITE, fd, (uint64_t)at, 0, 0}, NULL, bytes, (size_t)done);
    return unlock(done);
}

/* Several calls of write(), which have the same effect and keep the log simple. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
    ssize_t sum = 0;
    for (int i = 0; i < n; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0)
            return sum ? sum : -1;
        sum += done;
        if ((size_t)done < parts[i].iov_len)
            break;
    }
    return sum;
}

int ftruncate(int fd, off_t size)
{
    lock();
    long rc = syscall(SYS_ftruncate, fd, size);
    if (!rc && known(fd))
        put((struct record){RECORD_SIZE, fd, (uint64_t)size, 0, 0}, NULL, NULL, 0);
    return (int)unlock(rc);
}

int fallocate(int fd, int mode, off_t at, off_t n)
{
    lock();
    long rc = syscall(SYS_fallocate, fd, mode, at, n);
    if (!rc && known(fd) && mode)
        put((struct record){RECORD_UNSUPPORTED, fd, 0, 0, 0}, "fallocate", NULL, 0);
    else if (!rc && known(fd))
        put((struct record){RECORD_ALLOCATE, fd, (uint64_t)(at + n), 0, 0}, NULL, NULL, 0);
    return (int)unlock(rc);
}

int posix_fallocate(int fd, off_t at, off_t n)
{
    int saved = errno, rc = fallocate(fd, 0, at, n) ? errno : 0;
    errno = saved;
    return rc;
}

/* fdatasync also syncs the size of a file, so both calls have the same record. */
static int sync_with(long call, int fd)
{
    lock();
    long rc = syscall(call, fd);
    if (!rc && known(fd))
        put((struct record){RECORD_SYNC, fd, 0, 0, 0}, NULL, NULL, 0);
    return (int)unlock(rc);
}

int fsync(int fd)
{
    return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_with(SYS_fdatasync, fd);
}

static int named(enum record_kind kind, long rc, const char *path)
{
    const char *name = name_of(path);
    if (!rc && name)
        put((struct record){kind, -1, 0, 0, 0}, name, NULL, 0);
    return (int)unlock(rc);
}

int mkdir(const char *path, mode_t mode)
{
    lock();
    return named(RECORD_MKDIR, syscall(SYS_mkdirat, AT_FDCWD, path, mode), path);
}

/* Creating a regular file is recorded as opening it. */
int mknod(const char *path, mode_t mode, dev_t dev)
{
    lock();
    long rc = syscall(SYS_mknodat, AT_FDCWD, path, mode, dev);
    const char *name = name_of(path);
    if (!rc && name)
        put((struct record){RECORD_OPEN, -1, O_CREAT, 0, 0}, name, NULL, 0);
    return (int)unlock(rc);
}

int unlink(const char *path)
{
    lock();
    return named(RECORD_UNLINK, syscall(SYS_unlinkat, AT_FDCWD, path, 0), path);
}

int unlinkat(int at, const char *path, int flags)
{
    lock();
    return named(RECORD_UNLINK, syscall(SYS_unlinkat, at, path, flags), path);
}

static int two_names(enum record_kind kind, long rc, const char *from, const char *to)
{
    const char *a = name_of(from), *b = name_of(to);
    if (!rc && a && b)
        put((struct record){kind, -1, 0, 0, 0}, a, b, strlen(b));
    else if (!rc && (a || b))
        put((struct record){RECORD_UNSUPPORTED, -1, 0, 0, 0}, "a name outside of the directory",
            NULL, 0);
    return (int)unlock(rc);
}

int rename(const char *from, const char *to)
{
    lock();
    return two_names(RECORD_RENAME, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), from,
                     to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    lock();
    long rc = syscall(SYS_renameat2, a, from, b, to, flags);
    return two_names(flags & RENAME_EXCHANGE ? RECORD_UNSUPPORTED : RECORD_RENAME, rc, from, to);
}

int renameat(int a, const char *from, int b, const char *to)
{
    return renameat2(a, from, b, to, 0);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    lock();
    return two_names(RECORD_LINK, syscall(SYS_linkat, a, from, b, to, flags), from, to);
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Calls that the log does not support: the replay fails if it finds one. */
static void unsupported(int fd, const char *what)
{
    lock();
    if (known(fd))
        put((struct record){RECORD_UNSUPPORTED, fd, 0, 0, 0}, what, NULL, 0);
    unlock(0);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
    unsupported(fd, "pwritev");
    return syscall(SYS_pwritev, fd, parts, n, at, 0);
}

ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t n, unsigned flags)
{
    unsupported(to, "copy_file_range");
    return syscall(SYS_copy_file_range, from, a, to, b, n, flags);
}

/* The same functions under the names for large files. */
#define LARGE(name) __attribute__((alias(#name)))
int open64(const char *path, int flags, ...) LARGE(open);
int openat64(int at, const char *path, int flags, ...) LARGE(openat);
int creat64(const char *path, mode_t mode) LARGE(creat);
int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags) LARGE(__open_2);
int __openat64_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags) LARGE(__openat_2);
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) LARGE(pwrite);
int ftruncate64(int fd, off64_t size) LARGE(ftruncate);
int fallocate64(int fd, int mode, off64_t at, off64_t n) LARGE(fallocate);
int posix_fallocate64(int fd, off64_t at, off64_t n) LARGE(posix_fallocate);
