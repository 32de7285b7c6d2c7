/* All operations are relative to descriptors of directories that were checked, so that the checked
 * directory is the one used. Files appear atomically: they are written under a name unique to this
 * process and then renamed or linked. Announcing and withdrawing are serialized by a lock on the
 * directory: otherwise a process could remove, as stale, the file that another one has just
 * written. */
#include "net/discovery.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/uuid.h"
#include "net/file_lock.h"
#include "json/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OWN = S_IRUSR | S_IWUSR,
    OTHERS = S_IRWXG | S_IRWXO,
    RANDOM = 32,       /* random bytes in a token */
    READ_MOST = 65536, /* largest lock file */
    NAME_SIZE = 64     /* longest name of our own files */
};

_Static_assert(sizeof(((struct lock_file *)0)->path) >= PATH_MAX, "a path fits a lock file");

static int failed(const char *directory, const char *name, int number, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s%s: %s", directory, name, strerror(number));
}

static int refuse(const char *directory, const char *name, const char *what, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s%s %s", directory, name, what);
}

/* Restricting a shared directory (such as /tmp or /) would break the system. */
static bool is_public(const struct stat *st)
{
    struct stat root;
    if (st->st_mode & S_ISVTX)
        return true;
    return stat("/", &root) || (root.st_dev == st->st_dev && root.st_ino == st->st_ino);
}

/* Returns what is wrong with a directory, or NULL. Removes the permissions of others. */
static const char *restrict_access(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return "cannot be examined";
    if (st.st_uid != geteuid())
        return "belongs to another user; choose a directory of your own";
    if (is_public(&st))
        return "is shared by all users; choose a directory of your own";
    if ((st.st_mode & (S_IRWXU | OTHERS)) != S_IRWXU && fchmod(fd, S_IRWXU))
        return "is accessible to other users; use chmod 700";
    return NULL;
}

/* Creates `name` in the directory `at` unless it exists, and opens it. Returns -1 with *e set on
 * failure; the other two strings are for the error text. */
static int open_own(int at, const char *name, const char *directory, const char *rest,
                    struct fumi_err *e)
{
    if (mkdirat(at, name, S_IRWXU) && errno != EEXIST)
        return failed(directory, rest, errno, e);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return refuse(directory, rest, "is a symbolic link or a file; it must be a directory", e);
    if (fd < 0)
        return failed(directory, rest, errno, e);
    const char *what = restrict_access(fd);
    if (!what)
        return fd;
    close(fd);
    return refuse(directory, rest, what, e);
}

/* Removes trailing slashes: with one, a symbolic link would be followed. */
static int open_directory(const char *directory, struct fumi_err *e)
{
    char path[PATH_MAX];
    size_t n = strlen(directory);
    if (n >= sizeof(path))
        return failed("the directory", "", ENAMETOOLONG, e);
    while (n > 1 && directory[n - 1] == '/')
        n--;
    memcpy(path, directory, n);
    path[n] = '\0';
    return open_own(AT_FDCWD, path, path, "", e);
}

int discovery_directory(const char *directory, struct fumi_err *e)
{
    int fd = open_directory(directory, e);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Creates a new file. Returns -1 with errno set on failure. */
static int write_file(int at, const char *name, struct fumi_str bytes, bool durable)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWN);
    if (fd < 0)
        return -1;
    int rc = file_write_all(fd, bytes) || (durable && fsync(fd)) ? -1 : 0;
    int number = errno;
    close(fd);
    if (rc)
        unlinkat(at, name, 0);
    errno = number;
    return rc;
}

/* Returns the number of bytes read, at most `most`; -1 with errno set on failure. */
static ssize_t read_all(int fd, char *to, size_t most)
{
    size_t n = 0;
    while (n < most) {
        ssize_t got = read(fd, to + n, most - n);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)n;
}

static void make_token(char out[DISCOVERY_TOKEN])
{
    char bytes[RANDOM], text[DISCOVERY_TOKEN + 1]; /* one character of padding */
    fumi_random(bytes, RANDOM);
    fumi_base64_put(text, (struct fumi_str){bytes, RANDOM}, fumi_base64url_digits);
    memcpy(out, text, DISCOVERY_TOKEN);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(text, sizeof(text));
}

/* Reads an open token file. Returns what is wrong with it, or NULL. */
static const char *take_token(int fd, char out[DISCOVERY_TOKEN + 1])
{
    struct stat st;
    char text[DISCOVERY_TOKEN + 2];
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return "is not a regular file; remove it, and a new one is created";
    if (st.st_uid != geteuid())
        return "belongs to another user; remove it, and a new one is created";
    if (st.st_mode & OTHERS)
        return "can be read by other users; remove it, and a new one is created, or use chmod 600";
    ssize_t n = read_all(fd, text, sizeof(text));
    if (n == DISCOVERY_TOKEN + 1 && text[DISCOVERY_TOKEN] == '\n')
        n--;
    if (n != DISCOVERY_TOKEN)
        return "contains no valid token; remove it, and a new one is created";
    memcpy(out, text, DISCOVERY_TOKEN);
    out[DISCOVERY_TOKEN] = '\0';
    return strspn(out, fumi_base64url_digits) == DISCOVERY_TOKEN
               ? NULL
               : "contains no valid token; remove it, and a new one is created";
}

/* Returns 1 if there is no token file. */
static int read_token(int at, const char *directory, char out[DISCOVERY_TOKEN + 1],
                      struct fumi_err *e)
{
    int fd = openat(at, "token", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 1;
    if (fd < 0 && errno == ELOOP)
        return refuse(directory, "/token",
                      "is a symbolic link; remove it, and a new token is created", e);
    if (fd < 0)
        return failed(directory, "/token", errno, e);
    const char *what = take_token(fd, out);
    close(fd);
    return what ? refuse(directory, "/token", what, e) : 0;
}

/* link(2) fails if the file exists: of several processes one succeeds, and all read its token. The
 * file is synced first: a power failure must not leave an empty one, which would be refused. */
static int publish_token(int at, const char *directory, struct fumi_err *e)
{
    char text[DISCOVERY_TOKEN + 1], name[NAME_SIZE], unique[FUMI_UUID_SIZE];
    fumi_uuid(unique);
    snprintf(name, sizeof(name), "token.%ld.%.8s", (long)getpid(), unique);
    make_token(text);
    text[DISCOVERY_TOKEN] = '\n';
    int rc = write_file(at, name, (struct fumi_str){text, sizeof(text)}, true);
    explicit_bzero(text, sizeof(text));
    if (rc)
        return failed(directory, "/token", errno, e);
    if (linkat(at, name, at, "token", 0) && errno != EEXIST)
        rc = failed(directory, "/token", errno, e);
    unlinkat(at, name, 0);
    return rc;
}

static int find_token(int at, const char *directory, char out[DISCOVERY_TOKEN + 1],
                      struct fumi_err *e)
{
    int rc = read_token(at, directory, out, e);
    if (rc <= 0)
        return rc;
    if (publish_token(at, directory, e))
        return -1;
    rc = read_token(at, directory, out, e);
    return rc <= 0 ? rc : failed(directory, "/token", ENOENT, e);
}

int discovery_token(const char *directory, char out[DISCOVERY_TOKEN + 1], struct fumi_err *e)
{
    out[0] = '\0';
    int at = open_directory(directory, e);
    if (at < 0)
        return -1;
    int rc = find_token(at, directory, out, e);
    close(at);
    return rc;
}

static bool is_token(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return false;
    return s.n >= DISCOVERY_TOKEN_MIN && s.n <= DISCOVERY_TOKEN_MAX;
}

/* Reads a token file named by the user. Returns what is wrong with it, or NULL. */
static const char *take_user_token(int fd, char out[DISCOVERY_TOKEN_MAX + 1])
{
    struct stat st;
    char text[DISCOVERY_TOKEN_MAX + 3];
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return "is not a regular file; use a regular file";
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return "belongs to another user; use a file of your own";
    if (st.st_mode & OTHERS)
        return "can be read by other users; use chmod 600";
    ssize_t n = read_all(fd, text, sizeof(text));
    if (n > 0 && text[n - 1] == '\n')
        n--;
    if (n > 0 && text[n - 1] == '\r')
        n--;
    bool fine = n > 0 && is_token((struct fumi_str){text, (size_t)n});
    if (fine)
        snprintf(out, DISCOVERY_TOKEN_MAX + 1, "%.*s", (int)n, text);
    explicit_bzero(text, sizeof(text));
    return fine ? NULL
                : "contains no valid token: one line of 16 to 512 visible ASCII characters is "
                  "needed";
}

int discovery_token_file(const char *path, char out[DISCOVERY_TOKEN_MAX + 1], struct fumi_err *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 1;
    if (fd < 0)
        return failed(path, "", errno, e);
    const char *what = take_user_token(fd, out);
    close(fd);
    return what ? refuse(path, "", what, e) : 0;
}

/* The pid in a lock file; 0 if there is none. */
static int64_t pid_in(struct fumi_str text)
{
    struct fumi_arena a = {0};
    struct fumi_err ignored;
    int64_t pid = 0;
    const struct fumi_val *v = fumi_parse(&a, text, &ignored);
    if (!fumi_int(fumi_get(v, "pid"), &pid) || pid < 1 || pid > INT_MAX)
        pid = 0;
    fumi_arena_done(&a);
    return pid;
}

/* The same for a file; -1 if it cannot be read. */
static int64_t pid_of(int at, const char *name)
{
    struct stat st;
    int64_t pid = -1;
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *text = fumi_resize(NULL, READ_MOST);
        ssize_t n = read_all(fd, text, READ_MOST);
        if (n >= 0)
            pid = pid_in((struct fumi_str){text, (size_t)n});
        fumi_resize(text, 0);
    }
    close(fd);
    return pid;
}

static bool is_stale(int at, const char *name)
{
    static const char end[] = ".lock";
    size_t n = strlen(name);
    if (n < sizeof(end) || strcmp(name + n - (sizeof(end) - 1), end) != 0)
        return false;
    int64_t pid = pid_of(at, name);
    return pid == 0 || (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH);
}

/* Errors are ignored: a stale lock file does no harm. */
static void remove_stale(int at)
{
    int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(d));) {
        if (is_stale(at, entry->d_name))
            unlinkat(at, entry->d_name, 0);
    }
    closedir(d);
}

struct announcement {
    struct fumi_str url;
    const char *token, *version;
};

static void put_announcement(struct fumi_buf *out, const struct announcement *n)
{
    char here[PATH_MAX];
    struct fumi_out o = {.buf = out};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "pid");
    fumi_put_int(&o, getpid());
    fumi_put_key(&o, "workspaceFolders");
    fumi_put_open(&o, '[');
    if (getcwd(here, sizeof(here)))
        fumi_put_str(&o, fumi_str(here));
    fumi_put_close(&o, ']');
    fumi_put_key(&o, "ideName");
    fumi_put_str(&o, FUMI_STR("Fumi"));
    fumi_put_key(&o, "transport");
    fumi_put_str(&o, FUMI_STR("ws"));
    fumi_put_key(&o, "authToken");
    fumi_put_str(&o, fumi_str(n->token));
    fumi_put_key(&o, "url");
    fumi_put_str(&o, n->url);
    fumi_put_key(&o, "version");
    fumi_put_str(&o, fumi_str(n->version));
    fumi_put_close(&o, '}');
    fumi_buf_put(out, '\n');
}

/* The directory is locked, so a temporary file with our pid was left by a dead process with the
 * same pid. */
static int replace(int at, const char *name, struct fumi_str text)
{
    char temporary[NAME_SIZE];
    snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", name, (long)getpid());
    unlinkat(at, temporary, 0);
    if (write_file(at, temporary, text, false))
        return -1;
    if (renameat(at, temporary, at, name) == 0)
        return 0;
    int number = errno;
    unlinkat(at, temporary, 0);
    errno = number;
    return -1;
}

static int announce(int at, const char *directory, const char *name, const struct announcement *n,
                    struct fumi_err *e)
{
    struct fumi_buf text = {0};
    if (!file_lock_take(at))
        return refuse(directory, "/lock", "is locked by another server that does not respond", e);
    remove_stale(at);
    put_announcement(&text, n);
    int rc = replace(at, name, fumi_buf_str(&text)) ? failed(directory, "/lock", errno, e) : 0;
    fumi_buf_done(&text);
    return rc;
}

static int open_locks(const char *directory, struct fumi_err *e)
{
    int at = open_directory(directory, e);
    if (at < 0)
        return -1;
    int fd = open_own(at, "lock", directory, "/lock", e);
    close(at);
    return fd;
}

/* Absolute, because the working directory may change before the file is withdrawn. */
static int fix_path(struct lock_file *l, const char *directory, const char *name,
                    struct fumi_err *e)
{
    char real[PATH_MAX];
    if (!realpath(directory, real))
        return failed(directory, "", errno, e);
    int n = snprintf(l->path, sizeof(l->path), "%s/lock/%s", real, name);
    if (n >= 0 && (size_t)n < sizeof(l->path))
        return 0;
    l->path[0] = '\0';
    return failed(directory, "", ENAMETOOLONG, e);
}

int discovery_announce(struct lock_file *l, const char *directory, struct fumi_str url,
                       uint16_t port, const char *token, const char *version, struct fumi_err *e)
{
    char name[NAME_SIZE / 2];
    struct announcement n = {url, token, version};
    l->path[0] = '\0';
    snprintf(name, sizeof(name), "%u.lock", (unsigned)port);
    int at = open_locks(directory, e);
    if (at < 0)
        return -1;
    int rc = fix_path(l, directory, name, e) || announce(at, directory, name, &n, e) ? -1 : 0;
    close(at);
    if (rc)
        l->path[0] = '\0';
    return rc;
}

/* Another process may use the port by now; then the file belongs to that process. */
void discovery_withdraw(struct lock_file *l)
{
    char *slash = strrchr(l->path, '/');
    if (!slash)
        return;
    *slash = '\0';
    int at = open(l->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at >= 0 && file_lock_take(at) && pid_of(at, slash + 1) == getpid())
        unlinkat(at, slash + 1, 0);
    if (at >= 0)
        close(at);
    l->path[0] = '\0';
}
