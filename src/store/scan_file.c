/* The side file: layout, checks, and writing. Nothing in it has to survive, so nothing is ever
 * synced: after a power cut the sums tell whether rows and header belong together. */
#include "store/scan_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "fumiscan";
#define MIX 0x9e3779b97f4a7c15u

_Static_assert(sizeof(struct scan_head) <= SCAN_SLOTS, "the header reaches into the slots");
_Static_assert(sizeof(struct scan_state) == 48, "a hole would count in the sum");

/* Sums */

static inline uint64_t stir(uint64_t sum, uint64_t word)
{
    uint64_t x = (sum ^ word) * MIX;
    return x << 29 | x >> 35;
}

static inline uint32_t folded(uint64_t sum)
{
    sum *= MIX;
    return (uint32_t)(sum ^ sum >> 32);
}

static inline uint64_t word(const void *p, size_t i)
{
    uint64_t w;
    memcpy(&w, (const char *)p + i * sizeof(w), sizeof(w));
    return w;
}

/* Four at once, because a multiplication waits for the one before it. */
static uint64_t words_sum(const void *p, size_t n, uint64_t seed)
{
    uint64_t a = seed, b = ~seed, c = seed + MIX, d = ~seed + MIX;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a = stir(a, word(p, i));
        b = stir(b, word(p, i + 1));
        c = stir(c, word(p, i + 2));
        d = stir(d, word(p, i + 3));
    }
    for (; i < n; i++)
        a = stir(a, word(p, i));
    return stir(stir(a, b), stir(c, d));
}

static uint64_t text_sum(struct fumi_str s)
{
    uint64_t sum = s.n;
    for (size_t i = 0; i < s.n; i++)
        sum = stir(sum, (unsigned char)s.p[i]);
    return sum;
}

/* Two short chains beside the bits. The row's own number counts: rows cannot be exchanged. */
static uint32_t row_sum(const struct scan_shape *s, const struct scan_block *b, size_t i,
                        uint64_t row)
{
    uint64_t about;
    _Static_assert(sizeof(about) == sizeof(b->about[i]), "all of it counts");
    memcpy(&about, &b->about[i], sizeof(about));
    uint64_t x = stir(stir(row, (uint64_t)b->note[i]), (uint64_t)b->vector[i]);
    uint64_t y = stir(stir(MIX, (uint64_t)b->created[i]), b->place[i]);
    uint64_t z = words_sum(b->bits + i * s->words, s->words, about);
    return folded(stir(stir(x, y), z));
}

static uint64_t head_sum(const struct scan_head *h)
{
    return words_sum(h, offsetof(struct scan_head, sum) / 8, MIX);
}

static uint64_t state_sum(const struct scan_state *s)
{
    return words_sum(s, offsetof(struct scan_state, sum) / 8, MIX);
}

/* Files */

/* Mode 0600 whatever it was: the vectors tell of the notes. */
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

/* Whoever holds it may be making a large file, or may have been stopped. Who waits wants to search:
 * then the rows are read into memory. */
bool scan_file_lock(int fd)
{
    const int64_t end = fumi_ticks() + 2 * INT64_C(1000000000);
    struct timespec wait = {0, 100000};
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || fumi_ticks() > end)
            return false;
        nanosleep(&wait, NULL);
        wait.tv_nsec = wait.tv_nsec < 5000000 ? wait.tv_nsec * 2 : wait.tv_nsec;
    }
    return true;
}

void scan_file_unlock(int fd)
{
    flock(fd, LOCK_UN);
}

bool scan_file_is(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

/* Layout */

static size_t take(size_t *at, size_t each)
{
    size_t begin = *at;
    *at += each * SCAN_BLOCK;
    return begin;
}

struct scan_shape scan_shape_of(size_t dim)
{
    struct scan_shape s = {.dim = dim, .words = vector_words(dim)};
    s.stride = (dim + 31) / 32 * 32;
    size_t at = s.words * sizeof(uint64_t) * SCAN_BLOCK;
    s.note = take(&at, sizeof(int64_t));
    s.vector = take(&at, sizeof(int64_t));
    s.created = take(&at, sizeof(int64_t));
    s.place = take(&at, sizeof(uint32_t));
    s.gone = take(&at, sizeof(uint32_t));
    s.sum = take(&at, sizeof(uint32_t));
    s.about = take(&at, sizeof(struct scan_about));
    s.small = take(&at, s.stride);
    s.block = at;
    return s;
}

static struct scan_head head_of(struct fumi_str space, size_t dim)
{
    struct scan_head h = {.version = SCAN_VERSION, .block = SCAN_BLOCK, .dim = (uint32_t)dim};
    memcpy(h.magic, magic, sizeof(magic));
    h.space_n = (uint32_t)space.n;
    if (space.n)
        memcpy(h.space, space.p, space.n < SCAN_SPACE ? space.n : SCAN_SPACE);
    h.space_sum = text_sum(space);
    h.sum = head_sum(&h);
    return h;
}

static struct scan_state *slot(const struct scan_map *m, uint32_t generation)
{
    return (struct scan_state *)(void *)(m->base + SCAN_SLOTS) + generation % 2;
}

/* Room for twice the rows and a little more, so that mapping anew is rare. */
static struct scan_map *map_new(int fd, size_t dim, uint64_t rows)
{
    struct scan_map m = {.shape = scan_shape_of(dim), .code = vector_best(), .refs = 1};
    m.size = SCAN_HEAD + (scan_blocks(rows) * 2 + 16) * m.shape.block;
    m.base = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m.base == MAP_FAILED)
        return NULL;
    struct scan_map *out = fumi_resize(NULL, sizeof(*out) + m.shape.stride);
    *out = m;
    for (size_t i = 0; i < m.shape.stride; i++)
        out->key[i] = (int8_t)(stir(MIX, i) >> 56 | 1);
    return out;
}

void scan_map_free(struct scan_map *m)
{
    if (!m)
        return;
    munmap(m->base, m->size);
    fumi_resize(m, 0);
}

static uint64_t room_of(const struct scan_shape *s, int fd)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_size < SCAN_HEAD)
        return 0;
    return (uint64_t)(st.st_size - SCAN_HEAD) / s->block * SCAN_BLOCK;
}

/* Checks */

static const char *odd_head(const struct scan_head *h, struct fumi_str space, size_t dim)
{
    struct scan_head want = head_of(space, dim);
    if (memcmp(h->magic, magic, sizeof(magic)) != 0)
        return "magic";
    if (h->version != SCAN_VERSION || h->block != SCAN_BLOCK)
        return "version";
    if (h->sum != head_sum(h))
        return "header";
    return memcmp(h, &want, sizeof(want)) == 0 ? NULL : "space";
}

static bool newest_state(const struct scan_map *m, struct scan_state *out)
{
    struct scan_state s;
    bool found = false;
    for (uint32_t k = 0; k < 2; k++) {
        memcpy(&s, slot(m, k), sizeof(s));
        if (s.sum != state_sum(&s) || s.generation % 2 != k || !s.generation)
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

/* Rows that are gone do not matter: they may be overwritten at this moment. */
static bool rows_hold(const struct scan_map *m, const struct scan_state *s, uint64_t begin)
{
    const uint64_t end = s->rows;
    for (uint64_t at = begin - begin % SCAN_BLOCK; at < end; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(m, (size_t)(at / SCAN_BLOCK));
        size_t n = rows_at(at, end);
        for (size_t i = at < begin ? (size_t)(begin - at) : 0; i < n; i++)
            if (!scan_is_gone(&b, i, s->generation) &&
                b.sum[i] != row_sum(&m->shape, &b, i, at + i))
                return false;
    }
    return true;
}

static bool marks_hold(const struct scan_map *m, const struct scan_state *s)
{
    uint64_t sum = 0, count = 0;
    for (uint64_t at = 0; at < s->rows; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(m, (size_t)(at / SCAN_BLOCK));
        size_t n = rows_at(at, s->rows);
        for (size_t i = 0; i < n; i++) {
            bool gone = scan_is_gone(&b, i, s->generation);
            sum += gone ? stir(MIX, at + i) : 0;
            count += gone;
        }
    }
    return sum == s->gone_sum && count == s->gone;
}

static const char *odd_state(const struct scan_map *m, int fd, uint64_t known,
                             struct scan_state *state)
{
    uint64_t room = room_of(&m->shape, fd);
    if (room < known)
        return "size";
    if (!newest_state(m, state))
        return "state";
    if (state->rows < known || state->gone > state->rows || state->rows >= SCAN_HERE)
        return "count";
    return room < state->rows ? "size" : NULL;
}

static size_t size_for(const struct scan_shape *s, uint64_t rows)
{
    return SCAN_HEAD + scan_blocks(rows) * s->block;
}

const char *scan_map_news(int fd, struct scan_map *m, uint64_t known, struct scan_map **out,
                          struct scan_state *state)
{
    const char *why = odd_state(m, fd, known, state);
    if (why)
        return why;
    *out = size_for(&m->shape, state->rows) <= m->size ? m : map_new(fd, m->shape.dim, state->rows);
    if (!*out)
        return "memory";
    if (rows_hold(*out, state, known))
        return NULL;
    if (*out != m)
        scan_map_free(*out);
    return "rows";
}

static const char *odd(const struct scan_map *m, int fd, struct fumi_str space,
                       struct scan_state *state)
{
    const struct scan_head *h = (const struct scan_head *)(const void *)m->base;
    const char *why = odd_head(h, space, m->shape.dim);
    if (!why)
        why = odd_state(m, fd, 0, state);
    if (!why && !rows_hold(m, state, 0))
        why = "rows";
    return why || marks_hold(m, state) ? why : "marks";
}

/* The number of rows is known only from the file, so it is mapped with the room that it has. */
const char *scan_map_open(int fd, struct fumi_str space, size_t dim, struct scan_map **out,
                          struct scan_state *state)
{
    struct stat st = {0};
    struct scan_shape shape = scan_shape_of(dim);
    if (fstat(fd, &st) || st.st_size < SCAN_HEAD)
        return st.st_size == 0 ? "missing" : "size";
    struct scan_map *m = map_new(fd, dim, room_of(&shape, fd));
    if (!m)
        return "memory";
    const char *why = odd(m, fd, space, state);
    if (why)
        scan_map_free(m);
    else
        *out = m;
    return why;
}

/* Writing */

/* As blocks on the disk, not as a hole: a full disk is then an error here and no signal later. */
static int grow(struct scan_writer *w, uint64_t rows)
{
    const struct scan_shape *s = &w->map->shape;
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
        if (w->fresh)
            scan_map_free(w->map);
        w->map = larger;
        w->fresh = true;
    }
    w->room = scan_blocks(rows) * SCAN_BLOCK;
    return 0;
}

int scan_write_new(struct scan_writer *w, int fd, struct fumi_str space, size_t dim)
{
    *w = (struct scan_writer){.fd = fd, .map = map_new(fd, dim, 0), .fresh = true};
    w->state.newest = w->before.newest = INT64_MIN;
    if (!w->map)
        return -1;
    if (grow(w, 1)) {
        scan_map_free(w->map);
        return -1;
    }
    struct scan_head h = head_of(space, dim);
    memcpy(w->map->base, &h, sizeof(h));
    return 0;
}

void scan_write_more(struct scan_writer *w, int fd, struct scan_map *map,
                     const struct scan_state *state)
{
    *w = (struct scan_writer){.fd = fd, .map = map, .state = *state, .before = *state};
    uint64_t file = room_of(&map->shape, fd);
    uint64_t mapped = (map->size - SCAN_HEAD) / map->shape.block * SCAN_BLOCK;
    w->room = file < mapped ? file : mapped;
}

static int row_room(struct scan_writer *w, struct fumi_err *e)
{
    if (w->state.rows < SCAN_HERE - 1 && (w->state.rows < w->room || !grow(w, w->state.rows + 1)))
        return 0;
    w->full = true;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "the rows of the vectors have no room: %s; make room and try again",
                        strerror(errno));
}

/* The row's columns are all there: counts it in. */
static void seal(struct scan_writer *w, const struct scan_block *b, size_t i)
{
    b->about[i].sum = scan_small_sum(w->map, b->small + i * w->map->shape.stride);
    b->sum[i] = row_sum(&w->map->shape, b, i, w->state.rows);
    __atomic_store_n(&b->gone[i], SCAN_HERE, __ATOMIC_RELAXED);
    if (b->note[i] > w->state.newest)
        w->state.newest = b->note[i];
    w->state.rows++;
}

int scan_write_row(struct scan_writer *w, const struct scan_row *row, struct fumi_err *e)
{
    if (row_room(w, e))
        return -1;
    const struct scan_shape *s = &w->map->shape;
    struct scan_block b = scan_block(w->map, (size_t)(w->state.rows / SCAN_BLOCK));
    size_t i = w->state.rows % SCAN_BLOCK;
    int8_t *small = b.small + i * s->stride;
    b.note[i] = row->note;
    b.vector[i] = row->vector;
    b.created[i] = row->created;
    b.place[i] = row->place;
    scan_bits(row->x, s->dim, b.bits + i * s->words);
    vector_small(row->x, s->dim, small, &b.about[i].scale);
    memset(small + s->dim, 0, s->stride - s->dim);
    seal(w, &b, i);
    return 0;
}

int scan_write_copy(struct scan_writer *w, const struct scan_map *from, size_t row,
                    struct fumi_err *e)
{
    if (row_room(w, e))
        return -1;
    const struct scan_shape *s = &w->map->shape;
    struct scan_block b = scan_block(w->map, (size_t)(w->state.rows / SCAN_BLOCK));
    struct scan_block f = scan_block(from, row / SCAN_BLOCK);
    size_t i = w->state.rows % SCAN_BLOCK, k = row % SCAN_BLOCK;
    if (f.sum[k] != row_sum(s, &f, k, row) ||
        f.about[k].sum != scan_small_sum(from, f.small + k * s->stride))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "row %zu of the vectors is damaged", row);
    b.note[i] = f.note[k];
    b.vector[i] = f.vector[k];
    b.created[i] = f.created[k];
    b.place[i] = f.place[k];
    b.about[i].scale = f.about[k].scale;
    memcpy(b.bits + i * s->words, f.bits + k * s->words, s->words * sizeof(uint64_t));
    memcpy(b.small + i * s->stride, f.small + k * s->stride, s->stride);
    seal(w, &b, i);
    return 0;
}

/* The index of the last one that is not larger, or 0. */
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

static bool holds(const int64_t *sorted, size_t n, int64_t note)
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

/* A mark of a writer who was killed before he published counts as none: its note has changed since
 * the generation that holds, so it is marked again here. */
static void mark(struct scan_writer *w, const struct scan_block *b, size_t i, uint64_t row)
{
    if (scan_is_gone(b, i, w->state.generation))
        return;
    __atomic_store_n(&b->gone[i], w->state.generation + 1, __ATOMIC_RELAXED);
    w->state.gone++;
    w->state.gone_sum += stir(MIX, row);
}

void scan_write_gone(struct scan_writer *w, const int64_t *notes, size_t n)
{
    if (!n || notes[0] > w->before.newest)
        return;
    const int64_t first = notes[0], last = notes[n - 1];
    for (uint64_t at = 0; at < w->before.rows; at += SCAN_BLOCK) {
        struct scan_block b = scan_block(w->map, (size_t)(at / SCAN_BLOCK));
        size_t end = rows_at(at, w->before.rows);
        for (size_t i = 0; i < end; i++)
            if (b.note[i] >= first && b.note[i] <= last && holds(notes, n, b.note[i]))
                mark(w, &b, i, at + i);
    }
}

/* The rows first, then the slot that the generation before does not use: in this order for whoever
 * comes after a kill. Processes that live order their reading by the lock, threads by theirs. */
void scan_write_end(struct scan_writer *w, int64_t change)
{
    w->state.change = change;
    w->state.generation++;
    w->state.sum = state_sum(&w->state);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(slot(w->map, w->state.generation), &w->state, sizeof(w->state));
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Wiping */

/* The number of the note stays, for whoever finds that only the generation before is whole. */
static void wipe(const struct scan_map *m, const struct scan_block *b, size_t i, uint64_t row)
{
    const struct scan_shape *s = &m->shape;
    b->vector[i] = b->created[i] = 0;
    b->place[i] = 0;
    b->about[i] = (struct scan_about){0};
    memset(b->bits + i * s->words, 0, s->words * sizeof(uint64_t));
    memset(b->small + i * s->stride, 0, s->stride);
    b->sum[i] = row_sum(s, b, i, row);
}

/* No vector has the number 0. */
static bool is_unwiped(const struct scan_map *m, const struct scan_state *s, uint64_t row,
                       struct scan_block *b)
{
    *b = scan_block(m, (size_t)(row / SCAN_BLOCK));
    return scan_is_gone(b, row % SCAN_BLOCK, s->generation) && b->vector[row % SCAN_BLOCK];
}

/* The notes of the rows to be wiped, sorted, each once. Those that have other rows now are left
 * out: a search of another process that began before them must find one or the other. */
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
                    !scan_is_gone(&b, row % SCAN_BLOCK, s->generation);
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
    int64_t *notes = state->gone ? fumi_resize(NULL, state->gone * sizeof(*notes)) : NULL;
    size_t n = notes ? wiped_notes(m, state, notes) : 0;
    for (uint64_t row = 0; n && row < state->rows; row++)
        if (is_unwiped(m, state, row, &b) && holds(notes, n, b.note[row % SCAN_BLOCK]))
            wipe(m, &b, row % SCAN_BLOCK, row);
    fumi_resize(notes, 0);
}

void scan_wipe_unpublished(const struct scan_map *m, int fd, const struct scan_state *state)
{
    uint64_t room = room_of(&m->shape, fd);
    for (uint64_t row = state->rows; row < room; row++) {
        struct scan_block b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        if (b.vector[row % SCAN_BLOCK])
            wipe(m, &b, row % SCAN_BLOCK, row);
    }
}

size_t scan_peek(const char *path, char space[SCAN_SPACE], size_t *n)
{
    struct scan_head h = {0};
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool sound = fd >= 0 && read(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) &&
                 memcmp(h.magic, magic, sizeof(magic)) == 0 && h.version == SCAN_VERSION &&
                 h.sum == head_sum(&h) && h.space_n <= SCAN_SPACE;
    if (fd >= 0)
        close(fd);
    if (!sound)
        return 0;
    memcpy(space, h.space, h.space_n);
    *n = h.space_n;
    return h.dim;
}
