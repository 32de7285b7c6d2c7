/* Reads a tar archive (ustar, pax and GNU names) through zlib, which takes plain ones as well.
 * Nothing is written anywhere: what matters is kept in memory. */
#include "pack/pack_parts.h"

#include <errno.h>
#include <zlib.h>

enum {
    BLOCK = 512,
    NAME_MAX_BYTES = 1 << 16, /* of pax and GNU names */
    EXTENSIONS_MAX = 16,
    PIECE = 1 << 18,    /* memory grows as bytes arrive, not as a head promises */
    KEPT_MAX = 1 << 30, /* of all files that matter */
};
#define SKIPPED_MAX ((uint64_t)1 << 34) /* of all others */

struct tar {
    struct pack_files *files;
    struct fumi_arena *a;
    struct fumi_str from;
    gzFile file;
    uint64_t skipped;
    int extensions;            /* heads so far that say something about the next entry */
    struct fumi_str long_name; /* of the next entry; null: it has its own */
    bool has_size;             /* the next entry's size is this one */
    uint64_t size;
    struct fumi_err *e;
};

struct head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "a tar head is one block");

static int fault(struct tar *t, const char *what)
{
    return pack_fault(t->e, "the archive %.*s %s", FUMI_ARG(t->from), what);
}

static int read_bytes(struct tar *t, void *to, size_t n)
{
    for (char *p = to; n;) {
        int got = gzread(t->file, p, n < PIECE ? (unsigned)n : PIECE);
        if (got <= 0)
            return fault(t, "is damaged or cut short: get it again");
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

/* The contents of an entry, on the heap. */
static int read_contents(struct tar *t, uint64_t size, size_t max, struct fumi_buf *out)
{
    if (size > max)
        return fault(t, "has a file that is too large: unpack it and name the directory");
    for (uint64_t left = size; left;) {
        size_t n = left < PIECE ? (size_t)left : PIECE;
        if (read_bytes(t, fumi_buf_reserve(out, n), n))
            return -1;
        out->n += n;
        left -= n;
    }
    return skip(t, padding(size));
}

static bool octal(const char *p, size_t n, uint64_t *out)
{
    *out = 0;
    while (n && *p == ' ')
        p++, n--;
    for (; n && *p >= '0' && *p <= '7'; p++, n--)
        *out = *out << 3 | (uint64_t)(*p - '0');
    return !n || *p == 0 || *p == ' ';
}

/* Large sizes are base 256 with the highest bit set. */
static bool number(const char *p, size_t n, uint64_t *out)
{
    if (!(*p & 0x80))
        return octal(p, n, out);
    *out = (unsigned char)*p & 0x3F;
    for (size_t i = 1; i < n; i++) {
        if (*out >> 55)
            return false;
        *out = *out << 8 | (unsigned char)p[i];
    }
    return true;
}

static bool sum_is_right(const struct head *h)
{
    const unsigned char *p = (const void *)h;
    uint64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= offsetof(struct head, sum) && i < offsetof(struct head, type) ? ' ' : p[i];
    return octal(h->sum, sizeof(h->sum), &want) && want == sum;
}

static bool is_empty(const struct head *h)
{
    const char *p = (const void *)h;
    for (size_t i = 0; i < BLOCK; i++)
        if (p[i])
            return false;
    return true;
}

static struct fumi_str entry_name(struct tar *t, const struct head *h)
{
    if (t->long_name.p)
        return t->long_name;
    int name = (int)strnlen(h->name, sizeof(h->name));
    int prefix = (int)strnlen(h->prefix, sizeof(h->prefix));
    if (memcmp(h->magic, "ustar", 5) || !prefix)
        return fumi_fmt(t->a, "%.*s", name, h->name);
    return fumi_fmt(t->a, "%.*s/%.*s", prefix, h->prefix, name, h->name);
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

/* A record of a pax head: "LENGTH KEY=VALUE\n". */
static void take_record(struct tar *t, struct fumi_str key, struct fumi_str value)
{
    if (fumi_eq(key, FUMI_STR("path"))) {
        t->long_name = fumi_fmt(t->a, "%.*s", FUMI_ARG(value));
    } else if (fumi_eq(key, FUMI_STR("size")) && value.n < 20) {
        t->has_size = true;
        t->size = 0;
        for (size_t i = 0; i < value.n && value.p[i] >= '0' && value.p[i] <= '9'; i++)
            t->size = t->size * 10 + (uint64_t)(value.p[i] - '0');
    }
}

static int take_pax(struct tar *t, struct fumi_str s)
{
    while (s.n) {
        size_t length = 0, i = 0;
        for (; i < s.n && i < 9 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
            length = length * 10 + (size_t)(s.p[i] - '0');
        if (i == s.n || s.p[i] != ' ' || length > s.n || length < i + 3)
            return fault(t, "has a wrong extended head");
        struct fumi_str record = {s.p + i + 1, length - i - 2};
        const char *equals = memchr(record.p, '=', record.n);
        if (equals) {
            size_t key = (size_t)(equals - record.p);
            take_record(t, (struct fumi_str){record.p, key},
                        (struct fumi_str){equals + 1, record.n - key - 1});
        }
        s.p += length;
        s.n -= length;
    }
    return 0;
}

/* What says something about the next entry. */
static int take_extension(struct tar *t, char type, uint64_t size)
{
    struct fumi_buf contents = {0};
    if (++t->extensions > EXTENSIONS_MAX)
        return fault(t, "has too many extended heads");
    int rc = read_contents(t, size, NAME_MAX_BYTES, &contents);
    struct fumi_str s = fumi_buf_str(&contents);
    if (!rc && type == 'x')
        rc = take_pax(t, s);
    else if (!rc)
        t->long_name = fumi_fmt(t->a, "%.*s", (int)strnlen(s.p, s.n), s.p);
    fumi_buf_done(&contents);
    return rc;
}

static int take_file(struct tar *t, struct fumi_str path, uint64_t size)
{
    struct fumi_buf contents = {0};
    if (read_contents(t, size, KEPT_MAX - t->files->kept, &contents)) {
        fumi_buf_done(&contents);
        return -1;
    }
    t->files->kept += contents.n;
    pack_add_file(t->files, path, fumi_buf_str(&contents), false);
    return 0;
}

static int take_entry(struct tar *t, const struct head *h)
{
    uint64_t size;
    if (!sum_is_right(h) || !number(h->size, sizeof(h->size), &size))
        return fault(t, "is damaged, or no tar archive: get it again");
    if (h->type == 'x' || h->type == 'L')
        return take_extension(t, h->type, size);
    struct fumi_str path = entry_name(t, h);
    size = t->has_size ? t->size : size;
    bool plain = h->type == '0' || h->type == 0 || h->type == '7';
    t->long_name.p = NULL;
    t->has_size = false;
    t->extensions = 0;
    if (leads_outside(path))
        return fault(t, "names a file outside of itself");
    if (plain && pack_is_wanted(path))
        return take_file(t, path, size);
    return size > SKIPPED_MAX ? fault(t, "is too large") : skip(t, size + padding(size));
}

/* What follows the last entry is read too, so that the checksum at the very end is checked. */
static int drain(struct tar *t)
{
    char bytes[BLOCK * 16];
    int got;
    while ((got = gzread(t->file, bytes, sizeof(bytes))) > 0 && t->skipped <= SKIPPED_MAX)
        t->skipped += (uint64_t)got;
    int status;
    gzerror(t->file, &status);
    return got < 0 || status < 0 ? fault(t, "is damaged or cut short: get it again") : 0;
}

static int read_entries(struct tar *t)
{
    struct head h;
    for (;;) {
        if (!t->extensions)
            fumi_arena_reset(t->a, BLOCK);
        if (read_bytes(t, &h, sizeof(h)))
            return -1;
        if (is_empty(&h))
            return drain(t);
        if (take_entry(t, &h))
            return -1;
    }
}

int pack_read_tar(struct pack_files *f, const char *from, struct fumi_err *e)
{
    struct fumi_arena names = {0};
    struct tar t = {.files = f, .a = &names, .from = fumi_str(from), .e = e};
    t.file = gzopen(from, "rbe");
    if (!t.file)
        return pack_fault(e, "%s cannot be read: %s", from, strerror(errno));
    gzbuffer(t.file, PIECE);
    int rc = read_entries(&t);
    gzclose(t.file);
    fumi_arena_done(&names);
    return rc;
}
