/* Reads and replaces files of agents, with backups named FILE.fumi-backup-TIME. */
#include "app/setup.h"
#include "app/show.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BACKUP ".fumi-backup-"
enum {
    SLACK = 64 << 10, /* bytes that a file may grow between stat and read */
    BACKUPS = 20,     /* backups that are read, newest first */
    TRIES = 100       /* names of backups in the same second */
};

static int fail(struct fumi_err *e, const char *what, struct fumi_str path)
{
    int why = errno;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s %.*s: %s", what, FUMI_ARG(files_shown(path)),
                        strerror(why));
}

int setup_read(struct fumi_arena *a, struct fumi_str path, struct file_text *out,
               struct fumi_err *e)
{
    struct stat st;
    *out = (struct file_text){0};
    size_t size = stat(files_name(a, path), &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    if (size > SETUP_FILE_MAX)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%.*s is larger than %d bytes",
                            FUMI_ARG(files_shown(path)), SETUP_FILE_MAX);
    return files_read(a, path, size + SLACK, out, e);
}

/* Follows a symbolic link. */
static int resolve(struct fumi_arena *a, struct fumi_str path, struct fumi_str *out,
                   struct fumi_err *e)
{
    char real[PATH_MAX];
    struct stat st;
    *out = path;
    if (realpath(files_name(a, path), real)) {
        *out = fumi_fmt(a, "%s", real);
        return 0;
    }
    if (lstat(files_name(a, path), &st) || !S_ISLNK(st.st_mode))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "%.*s is a broken symbolic link: create its target, or remove the link",
                        FUMI_ARG(files_shown(path)));
}

static int make_dirs(struct fumi_arena *a, struct fumi_str dir, mode_t mode, struct fumi_err *e)
{
    const char *name = files_name(a, dir);
    struct stat st;
    if (stat(name, &st) == 0 || dir.n <= 1)
        return 0;
    if (make_dirs(a, files_dir(a, dir), mode, e))
        return -1;
    return mkdir(name, mode) && errno != EEXIST ? fail(e, "cannot create directory", dir) : 0;
}

/* Writes and syncs a new file. If root edits the file of a user, the user stays its owner. */
static int write_new(const char *name, struct fumi_str text, mode_t mode, const struct stat *owner)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (owner && fchown(fd, owner->st_uid, owner->st_gid))
        errno = 0; /* not permitted: the file stays ours */
    int rc = file_write_all(fd, text) || fchmod(fd, mode) || fsync(fd) ? -1 : 0;
    if (close(fd) || rc) {
        int why = errno;
        unlink(name);
        errno = why;
        return -1;
    }
    return 0;
}

static int back_up(struct fumi_arena *a, const struct setup_write *w, const struct stat *owner,
                   struct fumi_str *backup, struct fumi_err *e)
{
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    for (int i = 1; i < TRIES; i++) {
        struct fumi_str name = fumi_fmt(a, "%.*s" BACKUP "%s", FUMI_ARG(w->path), when);
        if (i > 1)
            name = fumi_fmt(a, "%.*s-%d", FUMI_ARG(name), i);
        if (write_new(name.p, w->old.text, w->old.mode, owner) == 0) {
            *backup = name;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return fail(e, "cannot back up", w->path);
}

/* Agents write these files, too. */
static int check_unchanged(struct fumi_arena *a, const struct setup_write *w, struct fumi_err *e)
{
    struct file_text now;
    if (setup_read(a, w->path, &now, e))
        return -1;
    if (!now.text.p == !w->old.text.p && fumi_eq(now.text, w->old.text))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "%.*s was changed by another program at the same time; nothing was "
                        "written: run this again",
                        FUMI_ARG(files_shown(w->path)));
}

static int replace(struct fumi_arena *a, const struct setup_write *w, struct fumi_str real,
                   const struct stat *owner, struct fumi_err *e)
{
    const char *temporary = fumi_fmt(a, "%.*s.%d.tmp", FUMI_ARG(real), (int)getpid()).p;
    mode_t mode = owner ? w->old.mode : w->shared ? 0644 : 0600;
    if (write_new(temporary, w->text, mode, owner))
        return fail(e, "cannot write", real);
    if (check_unchanged(a, w, e)) {
        unlink(temporary);
        return -1;
    }
    if (rename(temporary, files_name(a, real))) {
        fail(e, "cannot write", real);
        unlink(temporary);
        return -1;
    }
    file_sync_dir(files_dir(a, real).p);
    return 0;
}

static int discard(struct fumi_arena *a, const struct setup_write *w, struct fumi_str real,
                   struct fumi_err *e)
{
    if (check_unchanged(a, w, e))
        return -1;
    return unlink(files_name(a, real)) ? fail(e, "cannot remove", real) : 0;
}

int setup_write(struct fumi_arena *a, const struct setup_write *w, struct fumi_str *backup,
                struct fumi_err *e)
{
    struct fumi_str real;
    struct stat st;
    *backup = (struct fumi_str){0};
    if (resolve(a, w->path, &real, e) ||
        make_dirs(a, files_dir(a, real), w->shared ? 0755 : 0700, e))
        return -1;
    bool exists = w->old.text.p && stat(files_name(a, real), &st) == 0;
    if (exists && back_up(a, w, &st, backup, e))
        return -1;
    int rc = w->remove && fumi_eq(real, w->path) ? discard(a, w, real, e)
                                                 : replace(a, w, real, exists ? &st : NULL, e);
    if (rc && backup->p)
        unlink(backup->p);
    return rc;
}

static int newest_first(const void *x, const void *y)
{
    return strcmp(*(const char *const *)y, *(const char *const *)x);
}

static size_t list_backups(struct fumi_arena *a, struct fumi_str path, const char ***names)
{
    struct fumi_str dir = files_dir(a, path);
    const char *base = files_name(a, path) + (memrchr(path.p, '/', path.n) ? dir.n : 0);
    DIR *d = opendir(dir.p);
    size_t n = 0, capacity = 0;
    base += *base == '/';
    struct fumi_str prefix = fumi_fmt(a, "%s" BACKUP, base);
    for (struct dirent *i; d && (i = readdir(d));) {
        if (!fumi_starts(fumi_str(i->d_name), prefix))
            continue;
        if (n == capacity)
            *names = fumi_resize(*names,
                                 (capacity = capacity ? 2 * capacity : 16) * sizeof(**names));
        (*names)[n++] = files_join(a, dir, i->d_name).p;
    }
    if (d)
        closedir(d);
    if (n)
        qsort(*names, n, sizeof(**names), newest_first);
    return n;
}

int setup_backups(struct fumi_arena *a, struct fumi_str path, struct fumi_strs *texts,
                  struct fumi_err *e)
{
    const char **names = NULL;
    size_t n = list_backups(a, path, &names);
    int rc = 0;
    *texts = (struct fumi_strs){fumi_alloc(a, (BACKUPS + 1) * sizeof(*texts->items)), 0};
    for (size_t i = 0; i < n && texts->n < BACKUPS && !rc; i++) {
        struct file_text one;
        rc = setup_read(a, fumi_str(names[i]), &one, e);
        if (!rc && one.text.p)
            texts->items[texts->n++] = one.text;
    }
    fumi_resize(names, 0);
    return rc;
}
