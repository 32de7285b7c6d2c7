/* The database itself is never opened here: closing a descriptor of it would drop the locks that
 * SQLite holds on it in this process. */
#include "store/sqlite_file.h"

#include "base/buf.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/uuid.h"
#include "model/codes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_MAX = 100 }; /* damaged files that are kept per second */

static int fail(const char *what, const char *path, struct fumi_err *e)
{
    if (errno == EMFILE || errno == ENFILE)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "%s: too many files are open; close some, or raise the limit "
                            "(ulimit -n) (%s)",
                            what, path);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "%s: %s; check the path, its permissions and the free disk space (%s)",
                        what, strerror(errno), path);
}

char *store_sqlite_path(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending) + 1;
    char *out = fumi_resize(NULL, n + m);
    memcpy(out, path, n);
    memcpy(out + n, ending, m);
    return out;
}

/* The directory of the file; the caller frees it. */
static char *directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *out = store_sqlite_path(slash ? path : ".", "");
    if (slash)
        out[slash == path ? 1 : slash - path] = 0;
    return out;
}

/* Creates a directory and syncs its parent, so that it survives a power cut. A parent that cannot
 * be opened cannot be synced; that is not an error. */
static int make_directory(const char *path)
{
    if (mkdir(path, 0700))
        return -1;
    char *parent = directory(path);
    int rc = file_sync_dir(parent) && errno != EACCES ? -1 : 0;
    fumi_resize(parent, 0);
    return rc;
}

/* Other processes may create the same directories at the same time. */
static int make_directories(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        int rc = make_directory(path);
        *p = '/';
        if (rc && errno != EEXIST && errno != EISDIR && errno != EROFS && errno != EACCES)
            return -1;
    }
    return make_directory(path) && errno != EEXIST ? -1 : 0;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool store_sqlite_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int make(const char *path, struct fumi_err *e)
{
    if (mknod(path, S_IFREG | 0600, 0) == 0)
        return chmod(path, 0600) ? fail("Cannot create the database", path, e) : 0;
    return errno == EEXIST ? 0 : fail("Cannot create the database", path, e);
}

int store_sqlite_file_make(const char *path, struct fumi_err *e)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return 0;
    char *dir = directory(path);
    int rc = is_directory(dir) ? 0 : make_directories(dir);
    if (rc)
        fail("Cannot create the directory", dir, e);
    fumi_resize(dir, 0);
    return rc ? -1 : make(path, e);
}

int store_sqlite_file_sync(const char *path, struct fumi_err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? fail("Cannot write to disk", path, e) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

int store_sqlite_file_sync_dir(const char *path, struct fumi_err *e)
{
    char *dir = directory(path);
    int rc = file_sync_dir(dir) ? fail("Cannot write to disk", dir, e) : 0;
    fumi_resize(dir, 0);
    return rc;
}

/* Renames without replacing an existing file. File systems without RENAME_NOREPLACE: link, unlink.
 */
static int name_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(from, to) || unlink(from) ? -1 : 0;
}

int store_sqlite_file_name(const char *from, const char *to, bool replace, struct fumi_err *e)
{
    if (replace ? rename(from, to) : name_new(from, to))
        return errno == EEXIST
                   ? fumi_err_set(e, ERR_CONFLICT, "This file exists; choose another name (%s)", to)
                   : fail("Cannot rename the copy", to, e);
    return store_sqlite_file_sync_dir(to, e);
}

int store_sqlite_file_like(const char *path, const char *model, struct fumi_err *e)
{
    struct stat st, own;
    if (stat(model, &st) || stat(path, &own))
        return fail("Cannot read the permissions of the database", model, e);
    bool same = st.st_uid == own.st_uid && st.st_gid == own.st_gid;
    if ((!same && chown(path, st.st_uid, st.st_gid)) || chmod(path, st.st_mode & 0777))
        return fail("Cannot set the permissions of the new database", path, e);
    return 0;
}

/* If the file system has hard links, the old file gets its second name first, so that a file exists
 * at `path` at any time. */
int store_sqlite_file_swap(const char *path, const char *with, const char *keep, struct fumi_err *e)
{
    bool linked = link(path, keep) == 0;
    if (!linked && (errno == EEXIST || name_new(path, keep)))
        return fail("Cannot keep the damaged database", keep, e);
    if (rename(with, path)) {
        fail("Cannot rename the new database", path, e);
        if (linked ? unlink(keep) : rename(keep, path))
            return fail("Cannot restore the name of the database", path, e);
        return -1;
    }
    return store_sqlite_file_sync_dir(path, e);
}

void store_sqlite_file_remove(const char *path)
{
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < FUMI_COUNT(endings); i++) {
        char *one = store_sqlite_path(path, endings[i]);
        unlink(one);
        fumi_resize(one, 0);
    }
}

char *store_sqlite_uri(const char *path, bool alone)
{
    static const char digits[] = "0123456789ABCDEF";
    struct fumi_buf b = {0};
    fumi_buf_add(&b, "file:", 5);
    for (const char *p = path; *p; p++) {
        if (strchr("?#%", *p)) {
            const char escaped[] = {'%', digits[*p >> 4], digits[*p & 15]};
            fumi_buf_add(&b, escaped, sizeof(escaped));
        } else {
            fumi_buf_put(&b, *p);
        }
    }
    fumi_buf_add(&b, "?mode=ro", 8);
    fumi_buf_put(&b, 0);
    char *out = store_sqlite_path(b.p, alone ? "&immutable=1" : "");
    fumi_buf_done(&b);
    return out;
}

char *store_sqlite_path_new(const char *path, const char *kind)
{
    char ending[32];
    uint64_t random;
    fumi_random(&random, sizeof(random));
    snprintf(ending, sizeof(ending), "%s-%08x", kind, (unsigned)random);
    return store_sqlite_path(path, ending);
}

/* Doctor may keep two files within a second, so a number is appended if the name exists. */
char *store_sqlite_path_kept(const char *path)
{
    char ending[48];
    struct tm t;
    time_t now = time(NULL);
    size_t n = strftime(ending, sizeof(ending), ".damaged-%Y%m%d-%H%M%S", gmtime_r(&now, &t));
    char *out = store_sqlite_path(path, ending);
    for (int i = 2; i < KEPT_MAX && store_sqlite_file_exists(out); i++) {
        snprintf(ending + n, sizeof(ending) - n, "-%d", i);
        fumi_resize(out, 0);
        out = store_sqlite_path(path, ending);
    }
    return out;
}
