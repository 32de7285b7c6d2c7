/* Reads a tar archive (ustar, pax and GNU long names) through zlib, which also reads archives that
 * are not compressed. Wanted files are kept in memory; nothing is written to disk.
 *
 * The archive is not trusted: a small one may decompress to any size. So everything that it can
 * make grow is bounded: the length of a name, the number of members, the bytes of kept and of
 * skipped files, and, in pack_add_file, the number of kept files and the bytes of their paths. */
#include "pack/pack_parts.h"

#include <assert.h>
#include <errno.h>
#include <zlib.h>

enum {
    BLOCK = 512,
    PATH_SIZE = 4096,         /* bytes of a name */
    MEMBERS_MAX = 100000,     /* headers of any kind */
    EXTENSION_SIZE = 1 << 16, /* bytes of an extended header */
    EXTENSIONS_MAX = 16,      /* extended headers before one member */
    PIECE = 1 << 18, /* bytes per read: memory grows with the data, not with the size in a header */
};
#define SKIPPED_MAX ((uint64_t)1 << 34) /* bytes of all members that are not kept */

struct tar {
    struct pack_files *files;
    gzFile file;
    uint64_t skipped;
    size_t members;
    struct fumi_err *e;
    /* From the extended headers of the next member. */
    int extensions;
    bool has_path, has_size;
    uint64_t size;
    /* The path of the next member, then of the current one. */
    char path[PATH_SIZE];
    size_t path_n;
};

struct tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a tar header is one block");

static int fault(struct tar *t, const char *what)
{
    return pack_fault(t->e, "the archive %s %s", t->files->from, what);
}

static int read_bytes(struct tar *t, void *to, size_t n)
{
    for (char *p = to; n;) {
        int got = gzread(t->file, p, n < PIECE ? (unsigned)n : PIECE);
        if (got <= 0)
            return fault(t, "is damaged or truncated: download it again");
        p += got;
        n -= (size_t)got;
    }
    return 0;
}

static int skip(struct tar *t, uint64_t n)
{
    char bytes[BLOCK * 16];
    t->skipped += n;
    if (n > SKIPPED_MAX || t->skipped > SKIPPED_MAX)
        return fault(t, "is too large");
    for (; n; n -= n < sizeof(bytes) ? n : sizeof(bytes))
        if (read_bytes(t, bytes, n < sizeof(bytes) ? (size_t)n : sizeof(bytes)))
            return -1;
    return 0;
}

static uint64_t padding(uint64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

static int read_contents(struct tar *t, uint64_t size, size_t max, struct fumi_buf *out)
{
    if (size > max)
        return fault(t, "contains a file that is too large: unpack the archive and specify the "
                        "directory");
    for (uint64_t left = size; left;) {
        size_t n = left < PIECE ? (size_t)left : PIECE;
        if (read_bytes(t, fumi_buf_reserve(out, n), n))
            return -1;
        out->n += n;
        left -= n;
    }
    return skip(t, padding(size));
}

static bool read_octal(const char *p, size_t n, uint64_t *out)
{
    *out = 0;
    while (n && *p == ' ')
        p++, n--;
    for (; n && *p >= '0' && *p <= '7'; p++, n--)
        *out = *out << 3 | (uint64_t)(*p - '0');
    return !n || *p == 0 || *p == ' ';
}

/* Octal, or base 256 if the highest bit is set, as GNU tar writes large sizes. */
static bool read_number(const char *p, size_t n, uint64_t *out)
{
    if (!(*p & 0x80))
        return read_octal(p, n, out);
    *out = (unsigned char)*p & 0x3F;
    for (size_t i = 1; i < n; i++) {
        if (*out >> 55)
            return false;
        *out = *out << 8 | (unsigned char)p[i];
    }
    return true;
}

static bool sum_is_right(const struct tar_header *h)
{
    const unsigned char *p = (const void *)h;
    uint64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= offsetof(struct tar_header, sum) && i < offsetof(struct tar_header, type)
                   ? ' '
                   : p[i];
    return read_octal(h->sum, sizeof(h->sum), &want) && want == sum;
}

static bool is_zero(const struct tar_header *h)
{
    const char *p = (const void *)h;
    for (size_t i = 0; i < BLOCK; i++)
        if (p[i])
            return false;
    return true;
}

static void append(struct tar *t, const char *p, size_t n)
{
    assert(n <= sizeof(t->path) - t->path_n);
    memcpy(t->path + t->path_n, p, n);
    t->path_n += n;
}

/* Sets the path of the next member, up to a NUL in s. */
static int set_path(struct tar *t, struct fumi_str s)
{
    size_t n = strnlen(s.p, s.n);
    if (n > sizeof(t->path))
        return fault(t, "contains a file with a name that is too long");
    t->path_n = 0;
    append(t, s.p, n);
    t->has_path = true;
    return 0;
}

/* PREFIX/NAME of a ustar header, or NAME. */
static void set_short_path(struct tar *t, const struct tar_header *h)
{
    size_t prefix = strnlen(h->prefix, sizeof(h->prefix));
    t->path_n = 0;
    if (memcmp(h->magic, "ustar", 5) == 0 && prefix) {
        append(t, h->prefix, prefix);
        append(t, "/", 1);
    }
    append(t, h->name, strnlen(h->name, sizeof(h->name)));
}

static bool leads_outside(struct fumi_str path)
{
    if (path.n && path.p[0] == '/')
        return true;
    for (size_t i = 0; i + 1 < path.n; i++)
        if (path.p[i] == '.' && path.p[i + 1] == '.' && (!i || path.p[i - 1] == '/') &&
            (i + 2 == path.n || path.p[i + 2] == '/'))
            return true;
    return false;
}

static int take_record(struct tar *t, struct fumi_str key, struct fumi_str value)
{
    if (fumi_eq(key, FUMI_STR("path")))
        return set_path(t, value);
    if (fumi_eq(key, FUMI_STR("size")) && value.n < 20) {
        t->has_size = true;
        t->size = 0;
        for (size_t i = 0; i < value.n && value.p[i] >= '0' && value.p[i] <= '9'; i++)
            t->size = t->size * 10 + (uint64_t)(value.p[i] - '0');
    }
    return 0;
}

/* The records of a pax header: "LENGTH KEY=VALUE\n", with LENGTH of the whole record. */
static int take_pax(struct tar *t, struct fumi_str s)
{
    while (s.n) {
        size_t length = 0, i = 0;
        for (; i < s.n && i < 9 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
            length = length * 10 + (size_t)(s.p[i] - '0');
        if (i == s.n || s.p[i] != ' ' || length > s.n || length < i + 3)
            return fault(t, "has a damaged extended header");
        struct fumi_str record = {s.p + i + 1, length - i - 2};
        const char *equals = memchr(record.p, '=', record.n);
        size_t key = equals ? (size_t)(equals - record.p) : 0;
        if (equals && take_record(t, (struct fumi_str){record.p, key},
                                  (struct fumi_str){equals + 1, record.n - key - 1}))
            return -1;
        s.p += length;
        s.n -= length;
    }
    return 0;
}

/* An extended header: pax (type 'x') or a GNU long name ('L'). It describes the next member. */
static int take_extension(struct tar *t, char type, uint64_t size)
{
    struct fumi_buf contents = {0};
    if (++t->extensions > EXTENSIONS_MAX)
        return fault(t, "has too many extended headers");
    int rc = read_contents(t, size, EXTENSION_SIZE, &contents);
    struct fumi_str s = fumi_buf_str(&contents);
    if (!rc)
        rc = type == 'x' ? take_pax(t, s) : set_path(t, s);
    fumi_buf_done(&contents);
    return rc;
}

static int keep(struct tar *t, struct fumi_str path, uint64_t size)
{
    struct fumi_buf contents = {0};
    assert(t->files->kept <= PACK_KEPT_MAX);
    size_t left = PACK_KEPT_MAX - t->files->kept, max = pack_size_max(path);
    if (read_contents(t, size, max < left ? max : left, &contents)) {
        fumi_buf_done(&contents);
        return -1;
    }
    t->files->kept += contents.n;
    return pack_add_file(t->files, path, fumi_buf_str(&contents), false, t->e);
}

static int take_member(struct tar *t, const struct tar_header *h)
{
    uint64_t size;
    if (!sum_is_right(h) || !read_number(h->size, sizeof(h->size), &size))
        return fault(t, "is damaged, or is not a tar archive: download it again");
    if (++t->members > MEMBERS_MAX)
        return fault(t, "contains too many files: unpack the archive and specify the directory");
    if (h->type == 'x' || h->type == 'L')
        return take_extension(t, h->type, size);
    if (!t->has_path)
        set_short_path(t, h);
    size = t->has_size ? t->size : size;
    t->has_path = t->has_size = false;
    t->extensions = 0;
    struct fumi_str path = {t->path, t->path_n};
    if (leads_outside(path))
        return fault(t, "contains a path that leads outside of the archive");
    bool is_file = h->type == '0' || h->type == 0 || h->type == '7';
    if (is_file && pack_is_wanted(path))
        return keep(t, path, size);
    return size > SKIPPED_MAX ? fault(t, "is too large") : skip(t, size + padding(size));
}

/* Reads what follows the last member, because gzip's checksum is at the end of the file. */
static int drain(struct tar *t)
{
    char bytes[BLOCK * 16];
    int got;
    while ((got = gzread(t->file, bytes, sizeof(bytes))) > 0 && t->skipped <= SKIPPED_MAX)
        t->skipped += (uint64_t)got;
    int status;
    gzerror(t->file, &status);
    return got < 0 || status < 0 ? fault(t, "is damaged or truncated: download it again") : 0;
}

static int read_members(struct tar *t)
{
    struct tar_header h;
    for (;;) {
        if (read_bytes(t, &h, sizeof(h)))
            return -1;
        if (is_zero(&h))
            return drain(t);
        if (take_member(t, &h))
            return -1;
    }
}

int pack_read_tar(struct pack_files *f, struct fumi_err *e)
{
    struct tar t = {.files = f, .e = e};
    t.file = gzopen(f->from, "rbe");
    if (!t.file)
        return pack_fault(e, "%s cannot be read: %s", f->from, strerror(errno));
    gzbuffer(t.file, PIECE);
    int rc = read_members(&t);
    gzclose(t.file);
    return rc;
}
