/* The side file: layout, checks and writing. The file is only a cache, so it is never synced:
 * after a power cut the checksums tell whether rows and header belong together. */
#include "store/scan_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "fumiscan";
#define MIX 0x9e3779b97f4a7c15u

_Static_assert(sizeof(struct scan_header) <= SCAN_SLOTS, "the header reaches into the slots");
_Static_assert(sizeof(struct scan_state) == 56, "padding would be part of the checksum");

static inline uint64_t hash_step(uint64_t checksum, uint64_t word)
{
    uint64_t x = (checksum ^ word) * MIX;
    return x << 29 | x >> 35;
}

static inline uint32_t hash_fold(uint64_t checksum)
{
    checksum *= MIX;
    return (uint32_t)(checksum ^ checksum >> 32);
}

static inline uint64_t load_word(const void *p, size_t i)
{
    uint64_t w;
    memcpy(&w, (const char *)p + i * sizeof(w), sizeof(w));
    return w;
}

/* Four independent chains, because each multiplication waits for the one before it. */
static uint64_t checksum_of_words(const void *p, size_t n, uint64_t seed)
{
    uint64_t a = seed, b = ~seed, c = seed + MIX, d = ~seed + MIX;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a = hash_step(a, load_word(p, i));
        b = hash_step(b, load_word(p, i + 1));
        c = hash_step(c, load_word(p, i + 2));
        d = hash_step(d, load_word(p, i + 3));
    }
    for (; i < n; i++)
        a = hash_step(a, load_word(p, i));
    return hash_step(hash_step(a, b), hash_step(c, d));
}

static uint64_t checksum_of_text(struct fumi_str s)
{
    uint64_t checksum = s.n;
    for (size_t i = 0; i < s.n; i++)
        checksum = hash_step(checksum, (unsigned char)s.p[i]);
    return checksum;
}

/* Includes the number of the row, so that exchanged rows are found. */
static uint32_t row_checksum(const struct scan_layout *s, const struct scan_block *b, size_t i,
                             uint64_t row)
{
    uint64_t code_info;
    _Static_assert(sizeof(code_info) == sizeof(b->code_info[i]), "the checksum covers all members");
    memcpy(&code_info, &b->code_info[i], sizeof(code_info));
    uint64_t x = hash_step(hash_step(row, (uint64_t)b->note[i]), (uint64_t)b->vector[i]);
    uint64_t y = hash_step(hash_step(MIX, (uint64_t)b->created[i]), b->tag_set[i]);
    uint64_t z = checksum_of_words(b->bits + i * s->words, s->words, code_info);
    return hash_fold(hash_step(hash_step(x, y), z));
}

static uint64_t header_checksum(const struct scan_header *h)
{
    return checksum_of_words(h, offsetof(struct scan_header, checksum) / 8, MIX);
}

static uint64_t state_checksum(const struct scan_state *s)
{
    return checksum_of_words(s, offsetof(struct scan_state, checksum) / 8, MIX);
}

/* The vectors reveal something of the notes, so the mode must be 0600. */
static int checked(int fd)
{
    struct stat st;
    if (fd < 0)
        return -1;
    errno = EINVAL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        ((st.st_mode & 0777) == 0600 || fchmod(fd, 0600) == 0))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int scan_file_open(const char *path)
{
    return checked(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

int scan_file_new(const char *path)
{
    if (unlink(path) && errno != ENOENT)
        return -1;
    int fd = checked(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

int scan_file_memory(void)
{
    return memfd_create("fumi-scan", MFD_CLOEXEC);
}

int scan_file_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK || errno == EINTR ? 1 : -1;
}

void scan_file_unlock(int fd)
{
    flock(fd, LOCK_UN);
}

bool scan_file_is_at(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

static size_t take(size_t *at, size_t each)
{
    size_t begin = *at;
    *at += each * SCAN_BLOCK;
    return begin;
}

struct scan_layout scan_layout_of(size_t dim)
{
    struct scan_layout s = {.dim = dim, .words = vector_words(dim)};
    s.stride = (dim + 31) / 32 * 32;
    size_t at = s.words * sizeof(uint64_t) * SCAN_BLOCK;
    s.note = take(&at, sizeof(int64_t));
    s.vector = take(&at, sizeof(int64_t));
    s.created = take(&at, sizeof(int64_t));
    s.tag_set = take(&at, sizeof(uint32_t));
    s.deleted = take(&at, sizeof(uint32_t));
    s.checksum = take(&at, sizeof(uint32_t));
    s.code_info = take(&at, sizeof(struct scan_code_info));
    s.code = take(&at, s.stride);
    s.block = at;
    return s;
}

static struct scan_header header_of(struct fumi_str space, size_t dim)
{
    struct scan_header h = {.version = SCAN_VERSION, .block = SCAN_BLOCK, .dim = (uint32_t)dim};
    memcpy(h.magic, magic, sizeof(magic));
    h.space_n = (uint32_t)space.n;
    if (space.n)
        memcpy(h.space, space.p, space.n < SCAN_SPACE ? space.n : SCAN_SPACE);
    h.space_checksum = checksum_of_text(space);
    h.checksum = header_checksum(&h);
    return h;
}

static struct scan_state *slot(const struct scan_map *m, uint32_t generation)
{
    return (struct scan_state *)(void *)(m->base + SCAN_SLOTS) + generation % 2;
}

/* Maps space for twice the rows and 16 blocks more, so that a new mapping is rarely needed. */
static struct scan_map *map_new(int fd, size_t dim, uint64_t rows)
{
    struct scan_map m = {.layout = scan_layout_of(dim), .impl = vector_best(), .refs = 1};
    m.size = SCAN_HEADER + (scan_blocks(rows) * 2 + 16) * m.layout.block;
    m.base = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m.base == MAP_FAILED)
        return NULL;
    struct scan_map *out = fumi_resize(NULL, sizeof(*out) + m.layout.stride);
    *out = m;
    for (size_t i = 0; i < m.layout.stride; i++)
        out->key[i] = (int8_t)(hash_step(MIX, i) >> 56 | 1);
    return out;
}

void scan_map_free(struct scan_map *m)
{
    if (!m)
        return;
    munmap(m->base, m->size);
    fumi_resize(m, 0);
}

static uint64_t capacity_of(const struct scan_layout *s, int fd)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_size < SCAN_HEADER)
        return 0;
    return (uint64_t)(st.st_size - SCAN_HEADER) / s->block * SCAN_BLOCK;
}

static const char *header_fault(const struct scan_header *h, struct fumi_str space, size_t dim)
{
    struct scan_header want = header_of(space, dim);
    if (memcmp(h->magic, magic, sizeof(magic)) != 0)
        return "magic";
    if (h->version != SCAN_VERSION || h->block != SCAN_BLOCK)
        return "version";
    if (h->checksum != header_checksum(h))
        return "header";
    return memcmp(h, &want, sizeof(want)) == 0 ? NULL : "space";
}

static bool newest_state(const struct scan_map *m, struct scan_state *out)
{
    struct scan_state s;
    bool found = false;
    for (uint32_t k = 0; k < 2; k++) {
        memcpy(&s, slot(m, k), sizeof(s));
        if (s.checksum != state_checksum(&s) || s.generation % 2 != k || !s.generation)
            continue;
        if (!found || s.generation > out->generation)
            *out = s;
        found = true;
    }
    return found;
}

static size_t rows_at(uint64_t at, uint64_t rows)
{
    return rows - at < SCAN_BLOCK ? (size_t)(rows - at) : SCAN_BLOCK;
}

/* Deleted rows are not checked: another process may be overwriting them. */
static bool rows_are_valid(const struct scan_map *m, const struct scan_state *s, uint64_t begin)
{
    const uint64_t end = s->rows;
    for (uint64_t at = begin - begin % SCAN_BLOCK; at < end; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(m, (size_t)(at / SCAN_BLOCK));
        size_t n = rows_at(at, end);
        for (size_t i = at < begin ? (size_t)(begin - at) : 0; i < n; i++)
            if (!scan_is_deleted(&b, i, s->generation) &&
                b.checksum[i] != row_checksum(&m->layout, &b, i, at + i))
                return false;
    }
    return true;
}

static bool deletions_are_valid(const struct scan_map *m, const struct scan_state *s)
{
    uint64_t checksum = 0, count = 0;
    for (uint64_t at = 0; at < s->rows; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(m, (size_t)(at / SCAN_BLOCK));
        size_t n = rows_at(at, s->rows);
        for (size_t i = 0; i < n; i++) {
            bool deleted = scan_is_deleted(&b, i, s->generation);
            checksum += deleted ? hash_step(MIX, at + i) : 0;
            count += deleted;
        }
    }
    return checksum == s->deleted_checksum && count == s->deleted;
}

static const char *state_fault(const struct scan_map *m, int fd, uint64_t known,
                               struct scan_state *state)
{
    uint64_t capacity = capacity_of(&m->layout, fd);
    if (capacity < known)
        return "size";
    if (!newest_state(m, state))
        return "state";
    if (state->rows < known || state->deleted > state->rows || state->rows >= SCAN_LIVE)
        return "count";
    return capacity < state->rows ? "size" : NULL;
}

static size_t size_for(const struct scan_layout *s, uint64_t rows)
{
    return SCAN_HEADER + scan_blocks(rows) * s->block;
}

const char *scan_map_update(int fd, struct scan_map *m, uint64_t known, struct scan_map **out,
                            struct scan_state *state)
{
    const char *why = state_fault(m, fd, known, state);
    if (why)
        return why;
    *out = size_for(&m->layout, state->rows) <= m->size ? m
                                                        : map_new(fd, m->layout.dim, state->rows);
    if (!*out)
        return "memory";
    if (rows_are_valid(*out, state, known))
        return NULL;
    if (*out != m)
        scan_map_free(*out);
    return "rows";
}

static const char *file_fault(const struct scan_map *m, int fd, struct fumi_str space,
                              struct scan_state *state)
{
    const struct scan_header *h = (const struct scan_header *)(const void *)m->base;
    const char *why = header_fault(h, space, m->layout.dim);
    if (!why)
        why = state_fault(m, fd, 0, state);
    if (!why && !rows_are_valid(m, state, 0))
        why = "rows";
    return why || deletions_are_valid(m, state) ? why : "marks";
}

/* The number of rows is only known from the file, so the mapping is sized by the file. */
const char *scan_map_open(int fd, struct fumi_str space, size_t dim, struct scan_map **out,
                          struct scan_state *state)
{
    struct stat st = {0};
    struct scan_layout layout = scan_layout_of(dim);
    if (fstat(fd, &st) || st.st_size < SCAN_HEADER)
        return st.st_size == 0 ? "missing" : "size";
    struct scan_map *m = map_new(fd, dim, capacity_of(&layout, fd));
    if (!m)
        return "memory";
    const char *why = file_fault(m, fd, space, state);
    if (why)
        scan_map_free(m);
    else
        *out = m;
    return why;
}

/* Allocates disk blocks instead of leaving a hole: a full disk is then an error here, not a
 * SIGBUS later. */
static int grow(struct scan_writer *w, uint64_t rows)
{
    const struct scan_layout *s = &w->map->layout;
    size_t size = size_for(s, rows);
    int why = posix_fallocate(w->fd, 0, (off_t)size);
    if (why) {
        errno = why;
        return -1;
    }
    if (size > w->map->size) {
        struct scan_map *larger = map_new(w->fd, s->dim, rows);
        if (!larger)
            return -1;
        if (w->owns_map)
            scan_map_free(w->map);
        w->map = larger;
        w->owns_map = true;
    }
    w->capacity = scan_blocks(rows) * SCAN_BLOCK;
    return 0;
}

int scan_write_new(struct scan_writer *w, int fd, struct fumi_str space, size_t dim)
{
    *w = (struct scan_writer){.fd = fd, .map = map_new(fd, dim, 0), .owns_map = true};
    w->state.newest = w->before.newest = INT64_MIN;
    if (!w->map)
        return -1;
    if (grow(w, 1)) {
        scan_map_free(w->map);
        return -1;
    }
    struct scan_header h = header_of(space, dim);
    memcpy(w->map->base, &h, sizeof(h));
    return 0;
}

void scan_write_append(struct scan_writer *w, int fd, struct scan_map *map,
                       const struct scan_state *state)
{
    *w = (struct scan_writer){.fd = fd, .map = map, .state = *state, .before = *state};
    uint64_t file = capacity_of(&map->layout, fd);
    uint64_t mapped = (map->size - SCAN_HEADER) / map->layout.block * SCAN_BLOCK;
    w->capacity = file < mapped ? file : mapped;
}

static int reserve_row(struct scan_writer *w, struct fumi_err *e)
{
    if (w->state.rows < SCAN_LIVE - 1 &&
        (w->state.rows < w->capacity || !grow(w, w->state.rows + 1)))
        return 0;
    w->full = true;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "no disk space for the vector cache: %s; free some and try again",
                        strerror(errno));
}

/* Completes a row whose columns are filled in, and counts it. */
static void seal(struct scan_writer *w, const struct scan_block *b, size_t i)
{
    assert(w->state.rows < w->capacity);
    b->code_info[i].checksum = scan_code_checksum(w->map, b->code + i * w->map->layout.stride);
    b->checksum[i] = row_checksum(&w->map->layout, b, i, w->state.rows);
    __atomic_store_n(&b->deleted[i], SCAN_LIVE, __ATOMIC_RELAXED);
    if (b->note[i] > w->state.newest)
        w->state.newest = b->note[i];
    w->state.rows++;
}

int scan_write_row(struct scan_writer *w, const struct scan_row *row, struct fumi_err *e)
{
    if (reserve_row(w, e))
        return -1;
    const struct scan_layout *s = &w->map->layout;
    struct scan_block b = scan_block(w->map, (size_t)(w->state.rows / SCAN_BLOCK));
    size_t i = w->state.rows % SCAN_BLOCK;
    int8_t *code = b.code + i * s->stride;
    b.note[i] = row->note;
    b.vector[i] = row->vector;
    b.created[i] = row->created;
    b.tag_set[i] = row->tag_set;
    scan_bits(row->x, s->dim, b.bits + i * s->words);
    vector_quantize(row->x, s->dim, code, &b.code_info[i].scale);
    memset(code + s->dim, 0, s->stride - s->dim);
    seal(w, &b, i);
    return 0;
}

int scan_write_copy(struct scan_writer *w, const struct scan_map *from, size_t row,
                    struct fumi_err *e)
{
    if (reserve_row(w, e))
        return -1;
    const struct scan_layout *s = &w->map->layout;
    struct scan_block b = scan_block(w->map, (size_t)(w->state.rows / SCAN_BLOCK));
    struct scan_block f = scan_block(from, row / SCAN_BLOCK);
    size_t i = w->state.rows % SCAN_BLOCK, k = row % SCAN_BLOCK;
    if (f.checksum[k] != row_checksum(s, &f, k, row) ||
        f.code_info[k].checksum != scan_code_checksum(from, f.code + k * s->stride))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "row %zu of the vector cache is damaged", row);
    b.note[i] = f.note[k];
    b.vector[i] = f.vector[k];
    b.created[i] = f.created[k];
    b.tag_set[i] = f.tag_set[k];
    b.code_info[i].scale = f.code_info[k].scale;
    memcpy(b.bits + i * s->words, f.bits + k * s->words, s->words * sizeof(uint64_t));
    memcpy(b.code + i * s->stride, f.code + k * s->stride, s->stride);
    seal(w, &b, i);
    return 0;
}

/* The index of the last element that is <= note, or 0. */
static size_t last_upto(const int64_t *sorted, size_t n, int64_t note)
{
    size_t low = 0;
    while (n > 1) {
        size_t half = n / 2;
        low += sorted[low + half] <= note ? half : 0;
        n -= half;
    }
    return low;
}

static bool contains(const int64_t *sorted, size_t n, int64_t note)
{
    return n && sorted[last_upto(sorted, n, note)] == note;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void scan_sort(int64_t *notes, size_t n)
{
    if (n)
        qsort(notes, n, sizeof(*notes), compare);
}

/* A mark of a writer that was killed before it published does not count. Its note has changed
 * since the valid generation, so this writer marks the row again. */
static void mark(struct scan_writer *w, const struct scan_block *b, size_t i, uint64_t row)
{
    if (scan_is_deleted(b, i, w->state.generation))
        return;
    __atomic_store_n(&b->deleted[i], w->state.generation + 1, __ATOMIC_RELAXED);
    w->state.deleted++;
    w->state.deleted_checksum += hash_step(MIX, row);
}

void scan_write_deleted(struct scan_writer *w, const int64_t *notes, size_t n)
{
    if (!n || notes[0] > w->before.newest)
        return;
    assert(notes[0] <= notes[n - 1]);
    const int64_t first = notes[0], last = notes[n - 1];
    for (uint64_t at = 0; at < w->before.rows; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(w->map, (size_t)(at / SCAN_BLOCK));
        size_t end = rows_at(at, w->before.rows);
        for (size_t i = 0; i < end; i++)
            if (b.note[i] >= first && b.note[i] <= last && contains(notes, n, b.note[i]))
                mark(w, &b, i, at + i);
    }
}

/* The rows are written before the slot, which is the one that the previous generation does not
 * use; so a writer that is killed leaves a valid file. Other processes see the stores in order
 * because of the file lock, other threads because of the mutex. */
void scan_write_publish(struct scan_writer *w, int64_t change, int64_t upto)
{
    assert(w->state.rows >= w->before.rows && w->state.deleted <= w->state.rows);
    w->state.change = change;
    w->state.upto = upto;
    w->state.generation++;
    w->state.checksum = state_checksum(&w->state);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(slot(w->map, w->state.generation), &w->state, sizeof(w->state));
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Keeps the seq of the note, in case only the previous generation turns out to be valid. */
static void wipe(const struct scan_map *m, const struct scan_block *b, size_t i, uint64_t row)
{
    const struct scan_layout *s = &m->layout;
    b->vector[i] = b->created[i] = 0;
    b->tag_set[i] = 0;
    b->code_info[i] = (struct scan_code_info){0};
    memset(b->bits + i * s->words, 0, s->words * sizeof(uint64_t));
    memset(b->code + i * s->stride, 0, s->stride);
    b->checksum[i] = row_checksum(s, b, i, row);
}

/* No vector has the id 0. */
static bool is_unwiped(const struct scan_map *m, const struct scan_state *s, uint64_t row,
                       struct scan_block *b)
{
    *b = scan_block(m, (size_t)(row / SCAN_BLOCK));
    return scan_is_deleted(b, row % SCAN_BLOCK, s->generation) && b->vector[row % SCAN_BLOCK];
}

/* The seqs of the notes whose rows are to be wiped, sorted, without duplicates. Notes that have
 * newer rows are left out: a search of another process that uses an older generation must find
 * the old or the new row. */
static size_t wiped_notes(const struct scan_map *m, const struct scan_state *s, int64_t *notes)
{
    struct scan_block b;
    size_t n = 0, left = 0;
    for (uint64_t row = 0; row < s->rows; row++)
        if (is_unwiped(m, s, row, &b))
            notes[n++] = b.note[row % SCAN_BLOCK];
    scan_sort(notes, n);
    bool *live = fumi_resize(NULL, n + 1);
    memset(live, 0, n + 1);
    for (uint64_t row = 0; n && row < s->rows; row++) {
        b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        size_t at = last_upto(notes, n, b.note[row % SCAN_BLOCK]);
        live[at] |= notes[at] == b.note[row % SCAN_BLOCK] &&
                    !scan_is_deleted(&b, row % SCAN_BLOCK, s->generation);
    }
    for (size_t i = 0; i < n; i++)
        if ((i + 1 == n || notes[i + 1] != notes[i]) && !live[i])
            notes[left++] = notes[i];
    fumi_resize(live, 0);
    return left;
}

void scan_wipe(const struct scan_map *m, const struct scan_state *state)
{
    struct scan_block b;
    int64_t *notes = state->deleted ? fumi_resize(NULL, state->deleted * sizeof(*notes)) : NULL;
    size_t n = notes ? wiped_notes(m, state, notes) : 0;
    for (uint64_t row = 0; n && row < state->rows; row++)
        if (is_unwiped(m, state, row, &b) && contains(notes, n, b.note[row % SCAN_BLOCK]))
            wipe(m, &b, row % SCAN_BLOCK, row);
    fumi_resize(notes, 0);
}

void scan_wipe_unpublished(const struct scan_map *m, int fd, const struct scan_state *state)
{
    uint64_t capacity = capacity_of(&m->layout, fd);
    for (uint64_t row = state->rows; row < capacity; row++) {
        struct scan_block b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        if (b.vector[row % SCAN_BLOCK])
            wipe(m, &b, row % SCAN_BLOCK, row);
    }
}

size_t scan_peek(const char *path, char space[SCAN_SPACE], size_t *n)
{
    struct scan_header h = {0};
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool valid = fd >= 0 && read(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) &&
                 memcmp(h.magic, magic, sizeof(magic)) == 0 && h.version == SCAN_VERSION &&
                 h.checksum == header_checksum(&h) && h.space_n <= SCAN_SPACE;
    if (fd >= 0)
        close(fd);
    if (!valid)
        return 0;
    memcpy(space, h.space, h.space_n);
    *n = h.space_n;
    return h.dim;
}

static bool codes_are_valid(const struct scan_map *m, const struct scan_state *s)
{
    for (uint64_t row = 0; row < s->rows; row++) {
        struct scan_block b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        size_t i = row % SCAN_BLOCK;
        if (!scan_is_deleted(&b, i, s->generation) &&
            b.code_info[i].checksum != scan_code_checksum(m, b.code + i * m->layout.stride))
            return false;
    }
    return true;
}

static const char *check_file(int fd, struct fumi_str space, size_t dim)
{
    struct scan_map *m;
    struct scan_state state;
    int locked = scan_file_lock(fd);
    if (locked)
        return locked > 0 ? NULL : "it cannot be locked";
    const char *why = scan_map_open(fd, space, dim, &m, &state);
    if (why)
        return why;
    why = codes_are_valid(m, &state) ? NULL : "rows";
    scan_map_free(m);
    return why;
}

const char *scan_check(const char *path)
{
    char name[SCAN_SPACE];
    struct fumi_str space = {name, 0};
    size_t dim = scan_peek(path, name, &space.n);
    if (access(path, F_OK))
        return NULL;
    int fd = dim ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
        return "header";
    const char *why = check_file(fd, space, dim);
    close(fd);
    return why;
}
