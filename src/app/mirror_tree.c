/* Every path is opened one name at a time without following symbolic links, so that nothing outside
 * of the folder is read or written, whatever links it contains. Files are written under a temporary
 * name and renamed. */
#include "app/files.h"
#include "app/import_formats.h"
#include "app/mirror.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 64, FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
#define TEMPORARY ".fumi-mirror.tmp"

static int fail(struct fumi_err *e, const char *what, struct fumi_str path)
{
    int why = errno;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "cannot %s %.*s: %s", what,
                        FUMI_ARG(files_shown(path)), strerror(why));
}

int mirror_open(struct mirror_tree *t, struct fumi_str path, bool create, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = create ? files_make_dir(path, e) : 0;
    t->fd = rc ? -1 : open(files_name(&a, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fumi_arena_done(&a);
    if (rc)
        return -1;
    while (t->fd >= 0 && (rc = flock(t->fd, LOCK_EX)) && errno == EINTR)
        ;
    if (t->fd >= 0 && !rc)
        return 0;
    fail(e, "open the folder", path);
    mirror_close(t);
    return -1;
}

void mirror_close(struct mirror_tree *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/* Opens the folder of a path, and sets *name to its last part. Returns -1 with errno set. */
static int open_dir(const struct mirror_tree *t, struct fumi_str path, bool create, char name[256])
{
    int at = openat(t->fd, ".", FOLDER_FLAGS);
    while (at >= 0) {
        const char *slash = memchr(path.p, '/', path.n);
        size_t n = slash ? (size_t)(slash - path.p) : path.n;
        if (!n || n > 255 || memchr(path.p, 0, n) || (n <= 2 && memcmp(path.p, "..", n) == 0)) {
            errno = n > 255 ? ENAMETOOLONG : EINVAL;
            break;
        }
        memcpy(name, path.p, n);
        name[n] = '\0';
        if (!slash)
            return at;
        path.p += n + 1, path.n -= n + 1;
        if (create && mkdirat(at, name, 0700) && errno != EEXIST)
            break;
        int next = openat(at, name, FOLDER_FLAGS);
        int why = errno;
        close(at);
        errno = why;
        at = next;
    }
    if (at >= 0) {
        int why = errno;
        close(at);
        errno = why;
    }
    return -1;
}

static int read_whole(int fd, struct fumi_arena *a, struct fumi_str *text)
{
    struct stat st;
    if (fstat(fd, &st))
        return -1;
    if (!S_ISREG(st.st_mode) || st.st_size >= MIRROR_FILE_MAX) {
        errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
        return -1;
    }
    size_t room = (size_t)st.st_size, n = 0;
    char *to = fumi_alloc(a, room + 1);
    while (n < room) {
        ssize_t got = read(fd, to + n, room - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (!got)
            break;
        n += (size_t)got;
    }
    *text = (struct fumi_str){to, n};
    return 0;
}

static int read_at(int dir, const char *name, struct fumi_arena *a, struct fumi_str *text)
{
    *text = (struct fumi_str){0};
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    int rc = read_whole(fd, a, text);
    close(fd);
    return rc;
}

int mirror_read(const struct mirror_tree *t, struct fumi_arena *a, struct fumi_str path,
                struct fumi_str *text, struct fumi_err *e)
{
    char name[256];
    *text = (struct fumi_str){0};
    int dir = open_dir(t, path, false, name);
    if (dir < 0)
        return errno == ENOENT ? 0 : fail(e, "read", path);
    int rc = read_at(dir, name, a, text) ? fail(e, "read", path) : 0;
    close(dir);
    return rc;
}

bool mirror_is_free(const struct mirror_tree *t, struct fumi_str path)
{
    char name[256];
    struct stat st;
    int dir = open_dir(t, path, false, name);
    if (dir < 0)
        return errno == ENOENT;
    bool is_free = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
    close(dir);
    return is_free;
}

/* Whether the file has this content; null: whether there is no file, or an empty one. */
static bool still(int dir, const char *name, struct fumi_str was)
{
    struct fumi_arena a = {0};
    struct fumi_str is;
    bool same = !read_at(dir, name, &a, &is) && fumi_eq(is, was) && (is.p || !was.p);
    fumi_arena_done(&a);
    return same;
}

static int write_temporary(int dir, struct fumi_str text)
{
    int fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int rc = file_write_all(fd, text);
    return close(fd) || rc ? -1 : 0;
}

/* Returns 1 if the file is not what it was. A new file never replaces another one, except an empty
 * one, which a power failure may leave. */
static int replace_at(int dir, const char *name, struct fumi_str was, struct fumi_str text)
{
    if (write_temporary(dir, text))
        return -1;
    if (!was.p && renameat2(dir, TEMPORARY, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (still(dir, name, was))
        return renameat(dir, TEMPORARY, dir, name);
    unlinkat(dir, TEMPORARY, 0);
    return 1;
}

int mirror_replace(const struct mirror_tree *t, struct fumi_str path, struct fumi_str was,
                   struct fumi_str text, struct fumi_err *e)
{
    char name[256];
    int dir = open_dir(t, path, true, name);
    int rc = dir < 0 ? -1 : replace_at(dir, name, was, text);
    if (rc < 0)
        fail(e, "write", path);
    if (dir >= 0)
        close(dir);
    return rc;
}

static void remove_folder(const struct mirror_tree *t, struct fumi_str path)
{
    char name[256];
    const char *slash = memrchr(path.p, '/', path.n);
    int dir = slash ? open_dir(t, (struct fumi_str){path.p, (size_t)(slash - path.p)}, false, name)
                    : -1;
    if (dir < 0)
        return;
    unlinkat(dir, name, AT_REMOVEDIR); /* fails unless the folder is empty */
    close(dir);
}

int mirror_remove(const struct mirror_tree *t, struct fumi_str path, struct fumi_str was,
                  struct fumi_err *e)
{
    char name[256];
    int dir = open_dir(t, path, false, name), rc = -1;
    if (dir >= 0) {
        rc = !still(dir, name, was) ? 1 : unlinkat(dir, name, 0) && errno != ENOENT ? -1 : 0;
        if (rc < 0)
            fail(e, "remove", path);
        close(dir);
    } else {
        fail(e, "remove", path);
    }
    if (!rc)
        remove_folder(t, path);
    return rc;
}

int mirror_move(const struct mirror_tree *t, struct fumi_str from, struct fumi_str to,
                struct fumi_err *e)
{
    char name[256], target[256];
    int old = open_dir(t, from, false, name), now = open_dir(t, to, true, target);
    int rc = old < 0 || now < 0 ? -1 : renameat2(old, name, now, target, RENAME_NOREPLACE);
    if (rc && (errno == EEXIST || errno == EINVAL || errno == ENOSYS))
        rc = 1;
    if (rc < 0)
        fail(e, "move", from);
    if (old >= 0)
        close(old);
    if (now >= 0)
        close(now);
    if (!rc)
        remove_folder(t, from);
    return rc;
}

int mirror_sync(const struct mirror_tree *t, struct fumi_err *e)
{
    return syncfs(t->fd) ? fail(e, "sync", FUMI_STR("the folder")) : 0;
}

struct scan {
    struct fumi_arena *a;
    void (*each)(void *arg, struct fumi_str path);
    void *arg;
    size_t unread;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted. Frees the descriptor. Returns -1 with errno set. */
static int list(int fd, struct fumi_arena *a, struct fumi_strs *out, char ***names)
{
    DIR *d = fdopendir(fd);
    struct dirent *one;
    *names = NULL;
    *out = (struct fumi_strs){0};
    if (!d) {
        close(fd);
        return -1;
    }
    while ((one = readdir(d))) {
        if (strcmp(one->d_name, TEMPORARY) == 0)
            unlinkat(dirfd(d), TEMPORARY, 0);
        else if (one->d_name[0] != '.')
            import_append(a, out, fumi_fmt(a, "%s", one->d_name));
    }
    closedir(d);
    *names = fumi_alloc(a, (out->n + 1) * sizeof(**names));
    for (size_t i = 0; i < out->n; i++)
        (*names)[i] = (char *)(uintptr_t)out->items[i].p;
    qsort(*names, out->n, sizeof(**names), by_name);
    return 0;
}

static void scan_folder(struct scan *s, int fd, struct fumi_str path, int depth)
{
    struct fumi_strs found;
    char **names;
    struct stat st;
    int copy = depth ? openat(fd, ".", FOLDER_FLAGS) : -1;
    if (copy < 0 || list(copy, s->a, &found, &names)) {
        s->unread++;
        return;
    }
    for (size_t i = 0; i < found.n; i++) {
        struct fumi_str at = path.n ? files_join(s->a, path, names[i]) : fumi_str(names[i]);
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW))
            continue;
        if (S_ISREG(st.st_mode) && import_is_markdown(at))
            s->each(s->arg, at);
        if (!S_ISDIR(st.st_mode))
            continue;
        int next = openat(fd, names[i], FOLDER_FLAGS);
        if (next < 0) {
            s->unread++;
            continue;
        }
        scan_folder(s, next, at, depth - 1);
        close(next);
    }
}

int mirror_scan(const struct mirror_tree *t, struct fumi_arena *a,
                void (*each)(void *arg, struct fumi_str path), void *arg, size_t *unread,
                struct fumi_err *e)
{
    struct scan s = {.a = a, .each = each, .arg = arg};
    int fd = openat(t->fd, ".", FOLDER_FLAGS);
    if (fd < 0)
        return fail(e, "read", FUMI_STR("the folder"));
    scan_folder(&s, fd, FUMI_STR(""), DEPTH);
    close(fd);
    *unread = s.unread;
    return 0;
}
