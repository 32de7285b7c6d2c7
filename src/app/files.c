#include "app/files.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
    SHOWN = 100,
    PASSWD = 16 << 10,
    LOCK_TRIES = 900, /* of 10 ms */
};

struct fumi_str files_shown(struct fumi_str path)
{
    return path.n > SHOWN ? (struct fumi_str){path.p + path.n - SHOWN, SHOWN} : path;
}

/* Sets an error with the system's message for errno. */
static int fail(struct fumi_err *e, const char *what, struct fumi_str path)
{
    int why = errno;
    struct fumi_str shown = files_shown(path);
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s %.*s: %s", what, FUMI_ARG(shown),
                        strerror(why));
}

const char *files_name(struct fumi_arena *a, struct fumi_str path)
{
    return fumi_fmt(a, "%.*s", FUMI_ARG(path)).p;
}

struct fumi_str files_join(struct fumi_arena *a, struct fumi_str dir, const char *name)
{
    bool slash = dir.p && dir.n && dir.p[dir.n - 1] == '/';
    return fumi_fmt(a, "%.*s%s%s", FUMI_ARG(dir), slash ? "" : "/", name);
}

struct fumi_str files_dir(struct fumi_arena *a, struct fumi_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    if (!slash)
        return FUMI_STR(".");
    return fumi_fmt(a, "%.*s", slash == path.p ? 1 : (int)(slash - path.p), path.p);
}

static int home(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e)
{
    const char *set = getenv("HOME");
    struct passwd entry, *found = NULL;
    if (set && set[0] == '/')
        *out = fumi_str(set);
    else if (getpwuid_r(getuid(), &entry, fumi_alloc(a, PASSWD), PASSWD, &found) == 0 && found)
        *out = fumi_dup(a, fumi_str(entry.pw_dir));
    else
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "the home directory is unknown: set HOME, or use --data-dir");
    return 0;
}

static int here(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e)
{
    char path[PATH_MAX];
    if (!getcwd(path, sizeof(path)))
        return fail(e, "cannot find the working directory", FUMI_STR(""));
    *out = fumi_fmt(a, "%s", path);
    return 0;
}

static bool is_home(struct fumi_str s)
{
    return s.n && s.p[0] == '~' && (s.n == 1 || s.p[1] == '/');
}

int files_expand(struct fumi_arena *a, struct fumi_str given, struct fumi_str base,
                 struct fumi_str *out, struct fumi_err *e)
{
    struct fumi_str from = base.p ? base : FUMI_STR("/"), rest = given;
    *out = (struct fumi_str){0};
    if (memchr(given.p, 0, given.n))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "a path contains a NUL byte");
    if (given.n && given.p[0] == '/') {
        *out = fumi_fmt(a, "%.*s", FUMI_ARG(given));
        return 0;
    }
    if (is_home(given)) {
        rest = given.n > 2 ? (struct fumi_str){given.p + 2, given.n - 2} : FUMI_STR("");
        if (home(a, &from, e))
            return -1;
    } else if (!base.p && here(a, &from, e)) {
        return -1;
    }
    *out = rest.n ? files_join(a, from, files_name(a, rest)) : fumi_fmt(a, "%.*s", FUMI_ARG(from));
    return 0;
}

int files_xdg(struct fumi_arena *a, const char *variable, const char *otherwise,
              struct fumi_str *out, struct fumi_err *e)
{
    const char *set = getenv(variable);
    struct fumi_str base = {0};
    if (set && set[0] == '/') {
        *out = files_join(a, fumi_str(set), "fumi");
        return 0;
    }
    if (home(a, &base, e))
        return -1;
    *out = files_join(a, files_join(a, base, otherwise), "fumi");
    return 0;
}

/* Reads to the end. One byte more than the limit is read to detect a file that is too large. */
static int read_all(struct fumi_arena *a, int fd, struct fumi_str path, size_t limit,
                    struct fumi_str *out, struct fumi_err *e)
{
    char *to = fumi_alloc(a, limit + 1);
    size_t n = 0;
    for (;;) {
        ssize_t got = read(fd, to + n, limit + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(e, "cannot read", path);
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > limit)
            return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%.*s is larger than %zu bytes",
                                FUMI_ARG(files_shown(path)), limit);
    }
    *out = (struct fumi_str){to, n};
    return 0;
}

static int check_regular(int fd, struct fumi_str path, struct stat *st, struct fumi_err *e)
{
    if (fstat(fd, st))
        return fail(e, "cannot read", path);
    bool null = S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
    if (S_ISREG(st->st_mode) || null)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%.*s is not a regular file",
                        FUMI_ARG(files_shown(path)));
}

/* Without O_NONBLOCK, open(2) on a pipe blocks until a writer opens it. */
int files_read(struct fumi_arena *a, struct fumi_str path, size_t limit, struct file_text *out,
               struct fumi_err *e)
{
    struct stat st;
    int fd = open(files_name(a, path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *out = (struct file_text){0};
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(e, "cannot open", path);
    int rc = check_regular(fd, path, &st, e) || read_all(a, fd, path, limit, &out->text, e) ? -1
                                                                                            : 0;
    close(fd);
    out->mode = rc ? 0 : st.st_mode & 0777;
    return rc;
}

int files_make_dir(struct fumi_str path, struct fumi_err *e)
{
    char name[PATH_MAX];
    if (path.n >= sizeof(name)) {
        errno = ENAMETOOLONG;
        return fail(e, "cannot create directory", path);
    }
    memcpy(name, path.p, path.n);
    for (size_t i = 1; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        name[i] = '\0';
        if (mkdir(name, 0700) && errno != EEXIST && errno != EISDIR)
            return fail(e, "cannot create directory", path);
        name[i] = '/';
    }
    return 0;
}

/* Does not wait forever: a process that was stopped (SIGSTOP) may hold the lock. */
static bool lock_soon(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return false;
}

int files_lock(struct fumi_arena *a, struct fumi_str path, struct fumi_err *e)
{
    struct fumi_str dir = files_dir(a, path);
    if (files_make_dir(dir, e))
        return -1;
    int fd = open(dir.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && lock_soon(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return fumi_err_set(
        e, FUMI_INTERNAL_ERROR,
        "cannot lock the directory %.*s: end the process that holds the lock, or try again",
        FUMI_ARG(files_shown(dir)));
}

/* Writes and syncs the file under its temporary name. */
static int write_new(const char *name, struct fumi_str text)
{
    unlink(name); /* left by an earlier process with our process id */
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    int rc = fchmod(fd, 0600) || file_write_all(fd, text) || fsync(fd) ? -1 : 0;
    return close(fd) || rc ? -1 : 0;
}

/* Removes temporary files (PATH.PID.tmp) of processes that no longer exist: they may contain a key.
 */
static void sweep(struct fumi_arena *a, struct fumi_str dir, struct fumi_str path)
{
    struct fumi_str name = {path.p + dir.n, path.n - dir.n};
    DIR *d = opendir(dir.p);
    struct dirent *one;
    while (name.n && name.p[0] == '/')
        name.p++, name.n--;
    while (d && (one = readdir(d))) {
        int pid = 0, end = 0;
        if (!fumi_starts(fumi_str(one->d_name), name) ||
            sscanf(one->d_name + name.n, ".%9d.tmp%n", &pid, &end) != 1 || !end ||
            one->d_name[name.n + (size_t)end] || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        unlink(files_join(a, dir, one->d_name).p);
    }
    if (d)
        closedir(d);
}

static int replace(struct fumi_arena *a, struct fumi_str path, struct fumi_str text,
                   struct fumi_err *e)
{
    char real[PATH_MAX];
    if (realpath(files_name(a, path), real))
        path = fumi_str(real);
    struct fumi_str dir = files_dir(a, path);
    const char *temporary = fumi_fmt(a, "%.*s.%d.tmp", FUMI_ARG(path), (int)getpid()).p;
    if (files_make_dir(dir, e))
        return -1;
    sweep(a, dir, path);
    if (write_new(temporary, text) || rename(temporary, files_name(a, path)) ||
        file_sync_dir(dir.p)) {
        fail(e, "cannot write", path);
        unlink(temporary);
        return -1;
    }
    return 0;
}

int files_write(struct fumi_str path, struct fumi_str text, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = replace(&a, path, text, e);
    fumi_arena_done(&a);
    return rc;
}
