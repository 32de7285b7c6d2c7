#include "pack/pack_parts.h"

#include "model/codes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 8, FILES_MAX = 4096 };

int pack_fault(struct fumi_err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(e, ERR_PROVIDER, fmt, args);
    va_end(args);
    return -1;
}

static bool ends(struct fumi_str s, struct fumi_str end)
{
    return s.n >= end.n && fumi_same(s.p + s.n - end.n, end.p, end.n);
}

struct fumi_str pack_dir(struct fumi_str path)
{
    while (path.n && path.p[path.n - 1] != '/')
        path.n--;
    return path;
}

static struct fumi_str base_name(struct fumi_str path)
{
    size_t n = pack_dir(path).n;
    return (struct fumi_str){path.p + n, path.n - n};
}

bool pack_is_wanted(struct fumi_str path)
{
    static const struct fumi_str names[] = {
        FUMI_STR("model.json"),
        FUMI_STR("config.json"),
        FUMI_STR("tokenizer.json"),
        FUMI_STR("model.safetensors"),
    };
    struct fumi_str name = base_name(path);
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (fumi_eq(name, names[i]))
            return true;
    return ends(name, FUMI_STR(".bin"));
}

const struct pack_file *pack_file_at(const struct pack_files *f, size_t i)
{
    const struct pack_file *files = (const void *)f->list.p;
    return i < f->list.n / sizeof(*files) ? &files[i] : NULL;
}

void pack_add_file(struct pack_files *f, struct fumi_str path, struct fumi_str bytes, bool mapped)
{
    struct pack_file file = {fumi_dup(f->a, path), bytes, mapped};
    fumi_buf_add(&f->list, &file, sizeof(file));
}

void pack_files_done(struct pack_files *f)
{
    const struct pack_file *file;
    for (size_t i = 0; (file = pack_file_at(f, i)); i++) {
        if (file->mapped)
            munmap((void *)file->bytes.p, file->bytes.n);
        else if (file->bytes.n)
            fumi_resize((void *)file->bytes.p, 0);
    }
    fumi_buf_done(&f->list);
}

const struct pack_file *pack_file_in(const struct pack_files *f, struct fumi_str name,
                                     struct fumi_str dir)
{
    const struct pack_file *file;
    for (size_t i = 0; (file = pack_file_at(f, i)); i++)
        if (fumi_eq(pack_dir(file->path), dir) && fumi_eq(base_name(file->path), name))
            return file;
    return NULL;
}

static bool is_before(struct fumi_str a, struct fumi_str b)
{
    return a.n < b.n || (a.n == b.n && memcmp(a.p, b.p, a.n) < 0);
}

const struct pack_file *pack_find_file(const struct pack_files *f, const char *name,
                                       struct fumi_str dir)
{
    const struct pack_file *best = pack_file_in(f, fumi_str(name), dir), *file;
    if (best)
        return best;
    for (size_t i = 0; (file = pack_file_at(f, i)); i++)
        if (fumi_eq(base_name(file->path), fumi_str(name)) &&
            (!best || is_before(file->path, best->path)))
            best = file;
    return best;
}

static int keep_file(struct pack_files *f, const char *full, struct fumi_str path,
                     struct fumi_err *e)
{
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        pack_fault(e, "%.*s cannot be read: %s", FUMI_ARG(path), strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    void *p = MAP_FAILED;
    if (S_ISREG(st.st_mode) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    bool mapped = p != MAP_FAILED;
    if (!mapped && st.st_size > 0)
        return pack_fault(e, "%.*s cannot be read", FUMI_ARG(path));
    pack_add_file(f, path, mapped ? (struct fumi_str){p, (size_t)st.st_size} : FUMI_STR(""),
                  mapped);
    return 0;
}

static int walk(struct pack_files *f, struct fumi_str root, struct fumi_str path, int depth,
                struct fumi_err *e);

/* Files may be links, as in the caches of model hubs; directories that are links are not entered,
 * so that no walk is endless. */
static int visit(struct pack_files *f, struct fumi_str root, struct fumi_str path, int depth,
                 struct fumi_err *e)
{
    struct stat st;
    const char *full = fumi_fmt(f->a, "%.*s/%.*s", FUMI_ARG(root), FUMI_ARG(path)).p;
    if (lstat(full, &st))
        return 0;
    if (S_ISDIR(st.st_mode))
        return depth < DEPTH_MAX ? walk(f, root, path, depth + 1, e) : 0;
    if (!pack_is_wanted(path))
        return 0;
    if (f->list.n >= FILES_MAX * sizeof(struct pack_file))
        return pack_fault(e, "there are too many files in %.*s: name the directory of the model",
                          FUMI_ARG(root));
    return keep_file(f, full, path, e);
}

static int walk(struct pack_files *f, struct fumi_str root, struct fumi_str path, int depth,
                struct fumi_err *e)
{
    const char *full = fumi_fmt(f->a, "%.*s/%.*s", FUMI_ARG(root), FUMI_ARG(path)).p;
    DIR *dir = opendir(full);
    if (!dir)
        return depth ? 0 : pack_fault(e, "%s cannot be read: %s", full, strerror(errno));
    int rc = 0;
    for (struct dirent *d; !rc && (d = readdir(dir));) {
        if (fumi_eq(fumi_str(d->d_name), FUMI_STR(".")) ||
            fumi_eq(fumi_str(d->d_name), FUMI_STR("..")))
            continue;
        const char *slash = path.n ? "/" : "";
        rc = visit(f, root, fumi_fmt(f->a, "%.*s%s%s", FUMI_ARG(path), slash, d->d_name), depth, e);
    }
    closedir(dir);
    return rc;
}

int pack_read_files(struct pack_files *f, const char *from, struct fumi_err *e)
{
    struct stat st;
    if (stat(from, &st))
        return pack_fault(e, "%s cannot be read: %s", from, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return walk(f, fumi_str(from), FUMI_STR(""), 0, e);
    if (S_ISREG(st.st_mode))
        return pack_read_tar(f, from, e);
    return pack_fault(e, "%s is neither a directory nor an archive (.tgz)", from);
}
