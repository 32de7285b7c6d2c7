/* Replaces a damaged schema table (sqlite_schema), without which SQLite cannot read any table. The
 * schema table is written once, when a store is created, and is identical in all stores of one
 * version. So it is copied from a new store; the rest of the file is left to store_check. */
#include "store/sqlite_bytes.h"
#include "store/sqlite_file.h"
#include "store/sqlite_parts.h"

#include "base/arena.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEAD = 100, /* bytes of the file header */
    INTERIOR = 5,
    TABLE = 0x0D,
    LOCKS = 0x40000000, /* first byte that SQLite locks, and their number */
    LOCKS_N = 512,
};

static void put_be(char *p, uint32_t v)
{
    for (int i = 3; i >= 0; i--, v >>= 8)
        p[i] = (char)v;
}

static int fail(const char *what, const char *path, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_LIMIT, "%s: %s (%s)", what, strerror(errno), path);
}

/* Whether another process has the file open. This process must not: closing fd drops its locks. */
static bool is_used(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS, .l_len = LOCKS_N};
    return fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

static int read_all(int fd, struct fumi_buf *out)
{
    ssize_t got;
    do {
        char *to = fumi_buf_reserve(out, 1 << 16);
        got = read(fd, to, 1 << 16);
        out->n += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 ? -1 : 0;
}

static int read_file(const char *path, struct fumi_buf *out, struct fumi_err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail("Cannot read the database", path, e);
    bool used = is_used(fd);
    int rc = used ? 0 : read_all(fd, out);
    if (rc)
        fail("Cannot read the database", path, e);
    close(fd);
    return used
               ? fumi_err_set(e, FUMI_LIMIT,
                              "The file must be repaired, but another process has it open: end it, "
                              "then run doctor again (%s)",
                              path)
               : rc;
}

static int write_file(const char *path, const struct fumi_buf *b, struct fumi_err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t done = 0;
    while (fd >= 0 && done < b->n) {
        ssize_t did = write(fd, b->p + done, b->n - done);
        if (did < 0 && errno != EINTR)
            break;
        done += did > 0 ? (size_t)did : 0;
    }
    int rc = fd < 0 || done < b->n ? fail("Cannot write the repaired database", path, e) : 0;
    if (fd >= 0 && (fsync(fd) || close(fd)) && !rc)
        rc = fail("Cannot write the repaired database", path, e);
    return rc;
}

/* Reads the file of a new store into `out`. It lacks the indexes whose root pages differ. */
static int make_new(const struct store_sqlite *s, struct fumi_buf *out, struct fumi_err *e)
{
    char *path = store_sqlite_path_new(s->path, ".new");
    struct store *new = store_sqlite_open(
        &(struct store_sqlite_options){.path = path, .nosync = true, .bare = true}, e);
    int rc = new ? 0 : -1;
    if (new)
        store_close(new);
    if (!rc)
        rc = read_file(path, out, e);
    store_sqlite_file_remove(path);
    fumi_resize(path, 0);
    return rc;
}

struct schema_patch {
    struct fumi_buf *to;
    const struct fumi_buf *from;
    size_t page; /* bytes */
};

/* Copies a page of the schema table and its child pages. Returns false if one of the files does not
 * have such a page. */
static bool copy_tree(const struct schema_patch *p, uint32_t number, int depth)
{
    size_t at = (number - 1) * p->page, skip = number == 1 ? HEAD : 0;
    if (number == 0 || depth == 0 || at + p->page > p->from->n || at + p->page > p->to->n)
        return false;
    const char *page = p->from->p + at, *head = page + skip;
    memcpy(p->to->p + at, page, p->page);
    if (head[0] == TABLE)
        return true;
    for (uint32_t i = 0, n = be(head + 3, 2); i < n; i++)
        if (!copy_tree(p, be(page + be(head + 12 + 2 * i, 2), 4), depth - 1))
            return false;
    return head[0] == INTERIOR && copy_tree(p, be(head + 8, 4), depth - 1);
}

/* The header of the new store, except for the size of this file, its change counter and, if the old
 * header is plausible, its list of free pages. */
static void keep_header(struct fumi_buf *to, const char old[HEAD], size_t page)
{
    uint32_t pages = (uint32_t)(to->n / page), changes = be(old + 24, 4);
    bool valid = memcmp(old, "SQLite format 3", 16) == 0 && be(old + 32, 4) <= pages &&
                 be(old + 36, 4) < pages;
    put_be(to->p + 24, changes);
    put_be(to->p + 28, pages);
    put_be(to->p + 32, valid ? be(old + 32, 4) : 0);
    put_be(to->p + 36, valid ? be(old + 36, 4) : 0);
    put_be(to->p + 92, changes);
}

static bool patch(struct fumi_buf *to, const struct fumi_buf *from)
{
    char old[HEAD];
    struct schema_patch p = {to, from, from->n > HEAD ? be(from->p + 16, 2) : 0};
    if (!p.page || to->n < p.page)
        return false;
    memcpy(old, to->p, HEAD);
    if (!copy_tree(&p, 1, 4))
        return false;
    keep_header(to, old, p.page);
    return true;
}

static int swap(const struct store_sqlite *s, const struct fumi_buf *repaired, struct fumi_err *e)
{
    char *new = store_sqlite_path_new(s->path, ".new"), *kept = store_sqlite_path_kept(s->path);
    int rc = write_file(new, repaired, e) || store_sqlite_file_like(new, s->path, e) ||
                     store_sqlite_file_swap(s->path, new, kept, e)
                 ? -1
                 : 0;
    if (rc)
        unlink(new);
    else
        fumi_log(s->log, FUMI_WARN, "store.repaired", {"what", fumi_str("the schema table"), 0},
                 {"kept", fumi_str(kept), 0});
    fumi_resize(new, 0);
    fumi_resize(kept, 0);
    return rc;
}

int store_sqlite_salvage_schema(struct store_sqlite *s, struct fumi_err *e)
{
    struct fumi_buf is = {0}, new = {0};
    int rc = read_file(s->path, &is, e) || make_new(s, &new, e) ? -1 : 0;
    if (!rc && !patch(&is, &new))
        rc = fumi_err_set(e, FUMI_LIMIT,
                          "The database is too damaged to be repaired: restore a backup (%s)",
                          s->path);
    if (!rc)
        rc = swap(s, &is, e);
    fumi_buf_done(&is);
    fumi_buf_done(&new);
    return rc;
}
