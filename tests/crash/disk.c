#include "disk.h"

#include "base/arena.h"
#include "crash.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* The model of a disk after a power cut.
 *
 * A sector of a write is on disk completely or not at all; other bytes are not affected; a name
 * that was synced is kept. Nothing else is guaranteed: in particular, the sync of a file does not
 * sync its name, and the sync of a directory does not sync its own name in its parent directory. If
 * the name of a directory is lost, everything in it is lost. */

enum { ROOT = 0, SECTOR = 512, NO_FILE = -1 };

static bool next_event(struct disk *d, size_t *at)
{
    struct disk_event e;
    if (d->log.n - *at < sizeof(e.r))
        return false;
    memcpy(&e.r, d->log.p + *at, sizeof(e.r));
    *at += sizeof(e.r);
    if (d->log.n - *at < (size_t)e.r.name + e.r.bytes)
        return false;
    e.name = (struct fumi_str){d->log.p + *at, e.r.name};
    e.bytes = (struct fumi_str){d->log.p + *at + e.r.name, e.r.bytes};
    *at += (size_t)e.r.name + e.r.bytes;
    if (!(d->n & (d->n + 1)))
        d->events = fumi_resize(d->events, (d->n + 1) * 2 * sizeof(e));
    d->events[d->n++] = e;
    return true;
}

static size_t new_file(struct disk *d, bool directory)
{
    if (!(d->files_n & (d->files_n + 1)))
        d->files = fumi_resize(d->files, (d->files_n + 1) * 2 * sizeof(*d->files));
    d->files[d->files_n] = (struct disk_file){.directory = directory};
    return d->files_n++;
}

int disk_load(struct disk *d, const char *log)
{
    size_t at = 0;
    if (crash_read(log, &d->log))
        return -1;
    while (next_event(d, &at)) {}
    for (size_t i = 0; i < FUMI_COUNT(d->fds); i++)
        d->fds[i] = (size_t)NO_FILE;
    new_file(d, true);
    return at == d->log.n ? 0 : -1;
}

void disk_done(struct disk *d)
{
    for (size_t i = 0; i < d->files_n; i++) {
        fumi_buf_done(&d->files[i].safe);
        fumi_resize(d->files[i].pending, 0);
    }
    fumi_resize(d->files, 0);
    fumi_resize(d->events, 0);
    fumi_resize(d->now.items, 0);
    fumi_resize(d->safe.items, 0);
    fumi_resize(d->changes, 0);
    fumi_buf_done(&d->log);
}

/* Names */

static struct disk_name *lookup(const struct disk_names *all, struct fumi_str name)
{
    for (size_t i = 0; i < all->n; i++)
        if (fumi_eq(all->items[i].name, name))
            return &all->items[i];
    return NULL;
}

static void remove_name(struct disk_names *all, struct fumi_str name)
{
    struct disk_name *found = lookup(all, name);
    if (found)
        *found = all->items[--all->n];
}

static void set_name(struct disk_names *all, struct fumi_str name, size_t file)
{
    remove_name(all, name);
    all->items = fumi_resize(all->items, (all->n + 1) * sizeof(*all->items));
    all->items[all->n++] = (struct disk_name){name, file};
}

static void apply_change(struct disk_names *all, const struct disk_change *c)
{
    if (c->gone.p)
        remove_name(all, c->gone);
    if (c->name.p)
        set_name(all, c->name, c->file);
}

static void change(struct disk *d, struct disk_change c)
{
    c.seed = d->at;
    apply_change(&d->now, &c);
    d->changes = fumi_resize(d->changes, (d->changes_n + 1) * sizeof(c));
    d->changes[d->changes_n++] = c;
}

/* The parent directory of a name; "" is the recorded directory itself. */
static struct fumi_str parent(struct fumi_str name)
{
    while (name.n && name.p[name.n - 1] != '/')
        name.n--;
    name.n -= name.n ? 1 : 0;
    return name;
}

static size_t file_of(struct disk *d, struct fumi_str name)
{
    if (!name.n)
        return ROOT;
    struct disk_name *found = lookup(&d->now, name);
    return found ? found->file : (size_t)NO_FILE;
}

static bool is_in(struct disk *d, const struct disk_change *c, size_t directory)
{
    return file_of(d, parent(c->name.p ? c->name : c->gone)) == directory;
}

static void sync_directory(struct disk *d, size_t directory)
{
    size_t left = 0;
    for (size_t i = 0; i < d->changes_n; i++)
        if (is_in(d, &d->changes[i], directory))
            apply_change(&d->safe, &d->changes[i]);
        else
            d->changes[left++] = d->changes[i];
    d->changes_n = left;
}

/* Bytes */

static void set_size(struct fumi_buf *b, size_t size)
{
    if (size > b->n) {
        char *to = fumi_buf_reserve(b, size - b->n);
        memset(to, 0, size - b->n);
    }
    b->n = size;
}

static void set_bytes(struct fumi_buf *b, size_t at, const char *bytes, size_t n)
{
    if (b->n < at + n)
        set_size(b, at + n);
    memcpy(b->p + at, bytes, n);
}

/* Whether a sector of a write is on disk. */
static bool chosen(struct disk_cut cut, size_t event, size_t sector, bool last)
{
    uint64_t random = crash_mix(cut.seed ^ crash_mix(event * 4096 + sector));
    switch (cut.parts) {
    case DISK_NONE:
    case DISK_ZERO:
        return false;
    case DISK_ALL:
        return true;
    case DISK_SOME_512:
        return random & 1;
    case DISK_SOME_4096:
        return crash_mix(cut.seed ^ crash_mix(event * 4096 + sector / 8)) & 1;
    case DISK_TORN:
        return !last || sector * 2 < crash_mix(cut.seed) % 16;
    }
    return false;
}

static void apply_write(struct fumi_buf *b, const struct disk_event *e, struct disk_cut cut,
                        size_t event, bool last)
{
    size_t at = e->r.number, end = at + e->bytes.n, first = at / SECTOR, stop;
    for (size_t p = at; p < end; p = stop) {
        stop = (p / SECTOR + 1) * SECTOR < end ? (p / SECTOR + 1) * SECTOR : end;
        if (chosen(cut, event, p / SECTOR - (cut.parts == DISK_TORN ? first : 0), last))
            set_bytes(b, p, e->bytes.p + (p - at), stop - p);
    }
    if (cut.parts == DISK_ZERO && b->n < end)
        set_size(b, end);
}

/* Applies an event to the content of a file. A change of size is applied completely or not at all.
 */
static void apply(struct disk *d, struct fumi_buf *b, size_t event, struct disk_cut cut)
{
    const struct disk_event *e = &d->events[event];
    bool last = event + 1 == d->at;
    if (e->r.kind == RECORD_WRITE)
        apply_write(b, e, cut, event, last);
    else if (!chosen(cut, event, 0, false) && cut.parts != DISK_ZERO)
        return;
    else if (e->r.kind == RECORD_SIZE || e->r.number > b->n)
        set_size(b, e->r.number);
}

static void sync_file(struct disk *d, struct disk_file *f)
{
    for (size_t i = 0; i < f->pending_n; i++)
        apply(d, &f->safe, f->pending[i], (struct disk_cut){.parts = DISK_ALL});
    f->pending_n = 0;
}

static void wait_for_sync(struct disk *d, struct disk_file *f)
{
    f->pending = fumi_resize(f->pending, (f->pending_n + 1) * sizeof(*f->pending));
    f->pending[f->pending_n++] = d->at;
}

/* Events */

static void opened(struct disk *d, const struct disk_event *e)
{
    size_t file = file_of(d, e->name);
    if (file == (size_t)NO_FILE) {
        file = new_file(d, false);
        change(d, (struct disk_change){.name = e->name, .file = file});
    }
    if (e->r.number & O_TRUNC)
        d->fault = "a file was truncated by opening it, which is not modelled";
    if (e->r.fd >= 0)
        d->fds[e->r.fd] = file;
}

static bool has_name(const struct disk *d, size_t file, const char *ending)
{
    size_t n = strlen(ending);
    for (size_t i = 0; i < d->now.n; i++) {
        struct fumi_str name = d->now.items[i].name;
        if (d->now.items[i].file == file && name.n > n &&
            memcmp(name.p + name.n - n, ending, n) == 0)
            return true;
    }
    return false;
}

static bool is_synced(const struct disk *d, size_t file)
{
    switch (d->ignored) {
    case DISK_IGNORES_NONE:
        return true;
    case DISK_IGNORES_DIRECTORIES:
        return !d->files[file].directory;
    case DISK_IGNORES_WAL:
        return !has_name(d, file, "-wal");
    }
    return true;
}

static void on_file(struct disk *d, const struct disk_event *e)
{
    size_t file = e->r.fd >= 0 ? d->fds[e->r.fd] : (size_t)NO_FILE;
    if (file == (size_t)NO_FILE) {
        d->fault = "a descriptor that was never opened";
        return;
    }
    if (e->r.kind != RECORD_SYNC)
        wait_for_sync(d, &d->files[file]);
    else if (!is_synced(d, file))
        return;
    else if (d->files[file].directory)
        sync_directory(d, file);
    else
        sync_file(d, &d->files[file]);
}

static void play(struct disk *d, const struct disk_event *e)
{
    switch ((enum record_kind)e->r.kind) {
    case RECORD_OPEN:
        opened(d, e);
        return;
    case RECORD_CLOSE:
        d->fds[e->r.fd] = (size_t)NO_FILE;
        return;
    case RECORD_WRITE:
    case RECORD_SIZE:
    case RECORD_ALLOCATE:
    case RECORD_SYNC:
        on_file(d, e);
        return;
    case RECORD_MKDIR:
        change(d, (struct disk_change){.name = e->name, .file = new_file(d, true)});
        return;
    case RECORD_RENAME:
    case RECORD_LINK:
        change(d, (struct disk_change){.name = e->bytes,
                                       .gone = e->r.kind == RECORD_RENAME ? e->name
                                                                          : (struct fumi_str){0},
                                       .file = file_of(d, e->name)});
        return;
    case RECORD_UNLINK:
        change(d, (struct disk_change){.gone = e->name});
        return;
    case RECORD_OUTPUT:
        return;
    case RECORD_UNSUPPORTED:
        d->fault = "the program used a call that the recorder does not support";
        return;
    }
}

const struct disk_event *disk_step(struct disk *d)
{
    if (d->at >= d->n || d->fault)
        return NULL;
    const struct disk_event *e = &d->events[d->at];
    play(d, e);
    d->at++;
    return d->fault ? NULL : e;
}

/* Cuts */

static bool is_cache(struct fumi_str name)
{
    return memmem(name.p, name.n, "-shm", 4) || memmem(name.p, name.n, ".vec", 4);
}

static bool change_chosen(struct disk_cut cut, const struct disk_change *c)
{
    if (cut.names == DISK_NONE || cut.names == DISK_ALL)
        return cut.names == DISK_ALL;
    return crash_mix(cut.seed ^ crash_mix(c->seed)) & 1;
}

static struct disk_names names_left(struct disk *d, struct disk_cut cut)
{
    struct disk_names left = {0};
    for (size_t i = 0; i < d->safe.n; i++)
        set_name(&left, d->safe.items[i].name, d->safe.items[i].file);
    for (size_t i = 0; i < d->changes_n; i++)
        if (change_chosen(cut, &d->changes[i]))
            apply_change(&left, &d->changes[i]);
    return left;
}

static void contents(struct disk *d, const struct disk_file *f, struct disk_cut cut,
                     struct fumi_buf *out)
{
    out->n = 0;
    fumi_buf_add(out, f->safe.p, f->safe.n);
    for (size_t i = 0; i < f->pending_n; i++)
        apply(d, out, f->pending[i], cut);
}

static uint64_t sum_of(uint64_t sum, struct fumi_str s)
{
    sum = crash_mix(sum ^ s.n);
    for (; s.n >= 8; s.p += 8, s.n -= 8) {
        uint64_t word;
        memcpy(&word, s.p, 8);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 29;
    }
    for (; s.n; s.p++, s.n--)
        sum = crash_mix(sum ^ (unsigned char)*s.p);
    return sum;
}

static void make_parents(char *path, size_t from)
{
    for (char *p = path + from; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
}

static int put_name(struct disk *d, const char *dir, const struct disk_name *n, struct disk_cut cut,
                    struct fumi_buf *bytes)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%.*s", dir, FUMI_ARG(n->name));
    make_parents(path, strlen(dir) + 1);
    contents(d, &d->files[n->file], cut, bytes);
    return crash_write(path, bytes->p, bytes->n);
}

static bool reachable(struct disk *d, const struct disk_names *names, struct fumi_str name)
{
    struct fumi_str up = parent(name);
    if (!up.n)
        return true;
    struct disk_name *found = lookup(names, up);
    return found && d->files[found->file].directory && reachable(d, names, up);
}

int disk_cut(struct disk *d, const char *dir, struct disk_cut cut, uint64_t *sum)
{
    struct fumi_buf bytes = {0};
    struct disk_names left = names_left(d, cut);
    int rc = 0;
    *sum = 0;
    for (size_t i = 0; i < left.n && !rc; i++) {
        const struct disk_name *n = &left.items[i];
        if (d->files[n->file].directory || is_cache(n->name) || !reachable(d, &left, n->name))
            continue;
        rc = put_name(d, dir, n, cut, &bytes);
        *sum += sum_of(sum_of(0, n->name), fumi_buf_str(&bytes));
    }
    fumi_buf_done(&bytes);
    fumi_resize(left.items, 0);
    return rc;
}
