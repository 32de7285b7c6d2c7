/* Temporary files: copies of the database and the vector cache are written under a temporary name
 * and renamed when they are complete. The file of a killed process is deleted by the next process
 * that creates such a file, or opens a database, in the same directory.
 *
 * A process holds a lock (flock) on its temporary file, which ends with the process. So a file that
 * can be locked is not in use. Its content is checked too, because other programs may use the same
 * names. */
#include "store/sqlite_parts.h"

#include "store/sqlite_bytes.h"
#include "store/sqlite_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 100, APPLICATION_AT = 68, DIGITS = 8, TRIES = 8 };

static const char *const kinds[] = {".part-", ".salvage-", ".mend-"};
static const char cache[] = ".vec.new";

/* Whether the file still has a name: no other process has deleted it as unused. */
static bool is_linked(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Another process may delete the file before it is locked; it is then created again. */
int store_sqlite_file_fresh(const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && (errno != EEXIST || !i))
            return -1;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_linked(fd))
            return fd;
        if (fd >= 0)
            close(fd);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return -1;
}

static bool has_number(const char *name, const char *kind)
{
    size_t n = strlen(name), k = strlen(kind);
    if (n < k + DIGITS || memcmp(name + n - DIGITS - k, kind, k) != 0)
        return false;
    for (const char *p = name + n - DIGITS; *p; p++)
        if (!isxdigit((unsigned char)*p))
            return false;
    return true;
}

static bool is_temporary(const char *name)
{
    size_t n = strlen(name), k = sizeof(cache) - 1;
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++)
        if (has_number(name, kinds[i]))
            return true;
    return n > k && strcmp(name + n - k, cache) == 0;
}

/* The first page of a copy is written last, so an incomplete copy begins with zeros. */
static bool is_ours(int fd)
{
    unsigned char head[HEAD] = {0};
    static const unsigned char zeros[HEAD];
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
        pread(fd, head, HEAD, 0) < 0)
        return false;
    if (memcmp(head, "fumiscan", 8) == 0 || memcmp(head, zeros, HEAD) == 0)
        return true;
    return memcmp(head, "SQLite format 3", 16) == 0 &&
           be(head + APPLICATION_AT, 4) == STORE_APPLICATION;
}

static void remove_if_unused(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        store_sqlite_file_remove(path);
    close(fd);
}

void store_sqlite_file_sweep(const char *beside)
{
    const char *slash = strrchr(beside, '/');
    char *dir = store_sqlite_path(slash ? beside : "./", "");
    dir[slash ? slash - beside + 1 : 2] = 0;
    DIR *d = opendir(dir);
    struct dirent *one;
    while (d && (one = readdir(d))) {
        if (!is_temporary(one->d_name))
            continue;
        char *path = store_sqlite_path(dir, one->d_name);
        remove_if_unused(path);
        fumi_resize(path, 0);
    }
    if (d)
        closedir(d);
    fumi_resize(dir, 0);
}
