/* The files a model may consist of, from a directory (mapped) or an archive (read into memory).
 * Other files are not kept, not even by name. */
#include "model/codes.h"
#include "pack/pack_parts.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 8,       /* directories below the root */
    FILES_MAX = 4096,    /* files kept */
    PATHS_MAX = 1 << 20, /* bytes of all their paths */
    JSON_MAX = 32 << 20, /* bytes of a JSON file: parsing takes several times as much memory */
};

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
        FUMI_STR("model.safetensors"),
        FUMI_STR("config.json"),
        FUMI_STR("tokenizer.json"),
        FUMI_STR("tokenizer_config.json"),
        FUMI_STR("sentence_bert_config.json"),
        FUMI_STR("config_sentence_transformers.json"),
        FUMI_STR("modules.json"),
    };
    struct fumi_str name = base_name(path);
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (fumi_eq(name, names[i]))
            return true;
    return ends(name, FUMI_STR(".bin"));
}

size_t pack_size_max(struct fumi_str path)
{
    return ends(path, FUMI_STR(".json")) ? JSON_MAX : SIZE_MAX;
}

const struct pack_file *pack_file_at(const struct pack_files *f, size_t i)
{
    const struct pack_file *files = (const void *)f->list.p;
    return i < f->list.n / sizeof(*files) ? &files[i] : NULL;
}

static void release(const struct pack_file *file)
{
    if (file->mapped)
        munmap((void *)file->bytes.p, file->bytes.n);
    else if (file->bytes.n)
        fumi_resize((void *)file->bytes.p, 0);
}

int pack_add_file(struct pack_files *f, struct fumi_str path, struct fumi_str bytes, bool mapped,
                  struct fumi_err *e)
{
    struct pack_file file = {path, bytes, mapped};
    f->path_bytes += path.n;
    if (f->list.n >= FILES_MAX * sizeof(file) || f->path_bytes > PATHS_MAX) {
        release(&file);
        return pack_fault(e, "there are too many files in %s: specify the directory of the model",
                          f->from);
    }
    file.path = fumi_dup(f->a, path);
    fumi_buf_add(&f->list, &file, sizeof(file));
    return 0;
}

void pack_files_done(struct pack_files *f)
{
    const struct pack_file *file;
    for (size_t i = 0; (file = pack_file_at(f, i)); i++)
        release(file);
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

/* Shorter paths first. The order of files in a directory does not matter then. */
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

/* A directory tree being read. `path` is the current path, beginning with the root and terminated
 * by a NUL that path.n does not count; the part from `relative` on is relative to the root. */
struct tree_walk {
    struct pack_files *files;
    struct fumi_buf path;
    size_t relative;
    int depth;
    struct fumi_err *e;
};

static struct fumi_str relative_path(const struct tree_walk *w)
{
    return (struct fumi_str){w->path.p + w->relative, w->path.n - w->relative};
}

static int map_file(struct tree_walk *w)
{
    struct fumi_str path = relative_path(w);
    int fd = open(w->path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        pack_fault(w->e, "%.*s cannot be read: %s", FUMI_ARG(path), strerror(errno));
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
        return pack_fault(w->e, "%.*s cannot be read", FUMI_ARG(path));
    struct fumi_str bytes = mapped ? (struct fumi_str){p, (size_t)st.st_size} : FUMI_STR("");
    if (bytes.n <= pack_size_max(path))
        return pack_add_file(w->files, path, bytes, mapped, w->e);
    munmap(p, bytes.n);
    return pack_fault(w->e, "%.*s is too large", FUMI_ARG(path));
}

static int read_dir(struct tree_walk *w);

/* A file may be a symbolic link, as in the caches of model hubs. A directory that is one is not
 * entered, because links can form a cycle. */
static int visit(struct tree_walk *w)
{
    struct stat st;
    if (lstat(w->path.p, &st))
        return 0;
    if (S_ISDIR(st.st_mode))
        return w->depth <= DEPTH_MAX ? read_dir(w) : 0;
    return pack_is_wanted(relative_path(w)) ? map_file(w) : 0;
}

static void append(struct tree_walk *w, const char *text)
{
    fumi_buf_add(&w->path, text, strlen(text) + 1);
    w->path.n--;
}

static int read_dir(struct tree_walk *w)
{
    DIR *dir = opendir(w->path.p);
    if (!dir)
        return w->depth ? 0 : pack_fault(w->e, "%s cannot be read: %s", w->path.p, strerror(errno));
    size_t n = w->path.n;
    int rc = 0;
    w->depth++;
    for (struct dirent *d; !rc && (d = readdir(dir));) {
        if (fumi_eq(fumi_str(d->d_name), FUMI_STR(".")) ||
            fumi_eq(fumi_str(d->d_name), FUMI_STR("..")))
            continue;
        append(w, "/");
        append(w, d->d_name);
        rc = visit(w);
        assert(w->path.n > n);
        w->path.n = n;
    }
    w->depth--;
    closedir(dir);
    return rc;
}

static int read_tree(struct pack_files *f, const char *root, struct fumi_err *e)
{
    struct tree_walk w = {.files = f, .e = e};
    append(&w, root);
    w.relative = w.path.n + 1;
    int rc = read_dir(&w);
    fumi_buf_done(&w.path);
    return rc;
}

int pack_read_files(struct pack_files *f, const char *from, struct fumi_err *e)
{
    struct stat st;
    f->from = from;
    if (stat(from, &st))
        return pack_fault(e, "%s cannot be read: %s", from, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return read_tree(f, from, e);
    if (S_ISREG(st.st_mode))
        return pack_read_tar(f, e);
    return pack_fault(e, "%s is neither a directory nor an archive (.tgz)", from);
}
