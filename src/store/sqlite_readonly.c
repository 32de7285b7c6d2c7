/* In WAL mode even a reader needs the shared memory file (-shm) and creates it. If it cannot, the
 * file is opened with immutable=1: SQLite then reads the database file alone, without locks, which
 * is correct only while the log (-wal) is empty. A log with content can be read if the shared
 * memory file exists. */
#include "store/sqlite_readonly.h"

#include "store/sqlite_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t size_of(const char *path, const char *ending)
{
    struct stat st;
    char *name = store_sqlite_path(path, ending);
    int64_t n = stat(name, &st) ? -1 : (int64_t)st.st_size;
    fumi_resize(name, 0);
    return n;
}

static bool is_denied(const char *path)
{
    return access(path, W_OK) && (errno == EROFS || errno == EACCES || errno == EPERM);
}

static bool is_beside(const char *path, const char *ending)
{
    char *name = store_sqlite_path(path, ending);
    bool writable = access(name, W_OK) == 0;
    fumi_resize(name, 0);
    return writable;
}

/* The directory must be writable only if -wal or -shm have to be created. */
static bool is_readonly(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (is_denied(path))
        return true;
    char *dir = store_sqlite_path(slash ? path : ".", "");
    if (slash)
        dir[slash == path ? 1 : slash - path] = 0;
    bool denied = is_denied(dir);
    fumi_resize(dir, 0);
    return denied && !(is_beside(path, "-wal") && is_beside(path, "-shm"));
}

/* Changes when another process writes to the database. Never 0. */
static uint64_t stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return 1;
    uint64_t sum = store_sqlite_sum_number(0, st.st_mtim.tv_sec);
    sum = store_sqlite_sum_number(sum, st.st_mtim.tv_nsec);
    sum = store_sqlite_sum_number(sum, st.st_size);
    sum = store_sqlite_sum_number(sum, size_of(path, "-wal") > 0);
    return sum ? sum : 1;
}

int store_sqlite_readonly_check(const struct store_sqlite *s, struct fumi_err *e)
{
    if (!s->stamp || s->stamp == stamp_of(s->path))
        return 0;
    return fumi_err_set(
        e, FUMI_LIMIT,
        "Another user has changed the database since it was opened: start fumi again (%s)",
        s->path);
}

int store_sqlite_readonly_look(struct store_sqlite *s, struct fumi_err *e)
{
    s->uri = fumi_resize(s->uri, 0);
    if (!is_readonly(s->path))
        return 0;
    bool log = size_of(s->path, "-wal") > 0;
    if (log && size_of(s->path, "-shm") < 0)
        return fumi_err_set(e, FUMI_LIMIT,
                            "The database cannot be written, and its last changes are in its -wal "
                            "file: copy both to a writable directory and use the copy (%s)",
                            s->path);
    s->uri = store_sqlite_uri(s->path, !log);
    s->stamp = log ? 0 : stamp_of(s->path);
    return 0;
}

int store_sqlite_readonly_fault(const struct store_sqlite *s, struct fumi_err *e)
{
    if (access(s->path, W_OK) && errno == EROFS)
        return fumi_err_set(e, FUMI_LIMIT,
                            "The database is on a read-only file system: mount it writable, or "
                            "copy the database elsewhere and use the copy with --db (%s)",
                            s->path);
    return fumi_err_set(e, FUMI_LIMIT,
                        "The database cannot be written: make the file and its directory writable "
                        "for this user (%s)",
                        s->path);
}
