/* Private to scan*.c and their test. scan_file.c knows the file, scan_rank.c searches in it, scan.c
 * keeps it up to date; scan_bits.c makes the bits.
 *
 * The file is a page of header and then blocks of SCAN_BLOCK rows; a block holds its rows by
 * columns. Rows are only ever added. A row that no longer holds gets the number of the generation
 * from which on it is gone, so a search that began before still sees what was there then, in this
 * process and in others, without a lock. Rows of a note that was removed are
 * overwritten with zeros once no search of this process uses an older generation; a search of
 * another process may find a row of zeros then, which leads to no vector. A generation (number of
 * rows, change number, rows gone) is published by writing one of two slots in the header, in turn:
 * whoever is killed half way leaves the older slot valid, and what he had prepared does not count.
 */
#ifndef FUMI_STORE_SCAN_PARTS_H
#define FUMI_STORE_SCAN_PARTS_H

#include "base/arena.h"
#include "store/scan.h"
#include "store/vector_parts.h"

enum {
    SCAN_BLOCK = 1024, /* rows */
    SCAN_HEAD = 4096,  /* bytes of the header */
    SCAN_SLOTS = 2048, /* where the two slots stand in it */
    SCAN_VERSION = 1,
};
#define SCAN_HERE UINT32_MAX /* the generation from which on a row is gone that is not */

struct scan_head {
    char magic[8];
    uint32_t version, block, dim, space_n;
    char space[SCAN_SPACE];
    uint64_t space_sum;
    uint64_t sum; /* of all before it */
};

struct scan_state {
    uint64_t rows;
    int64_t change;
    int64_t newest;      /* the largest note number of any row: a larger one has no rows yet */
    uint64_t gone_sum;   /* over the rows that are gone: finds a mark that was damaged */
    uint32_t generation; /* from 1 */
    uint32_t gone;       /* rows */
    uint64_t sum;        /* of all before it */
};

/* How a block is laid out: bytes of it and where each column begins in it. */
struct scan_shape {
    size_t dim, words;
    size_t stride; /* bytes of an 8-bit row: dim rounded up, the rest 0 */
    size_t note, vector, created, place, gone, sum, about, small;
    size_t block;
};

/* A mapping. It may reach beyond the end of the file, so that the file can grow under it. */
struct scan_map {
    struct scan_shape shape;
    const struct vector_code *code;
    unsigned char *base;
    size_t size;  /* bytes mapped */
    size_t refs;  /* guarded by the lock of its scan */
    int8_t key[]; /* `stride` of them, none 0: a row's product with it is its sum */
};

/* What belongs to an 8-bit row; together, because a search fetches both with it. */
struct scan_about {
    float scale;
    uint32_t sum; /* checked when the row is used */
};

/* The columns of one block. */
struct scan_block {
    uint64_t *bits;
    int64_t *note, *vector, *created;
    uint32_t *place;
    uint32_t *gone; /* changes while others read: atomic */
    uint32_t *sum;  /* of all the rest, checked when the file is opened */
    struct scan_about *about;
    int8_t *small;
};

static inline struct scan_block scan_block(const struct scan_map *m, size_t index)
{
    const struct scan_shape *s = &m->shape;
    unsigned char *p = m->base + SCAN_HEAD + index * s->block;
    return (struct scan_block){
        .bits = (uint64_t *)p,
        .note = (int64_t *)(p + s->note),
        .vector = (int64_t *)(p + s->vector),
        .created = (int64_t *)(p + s->created),
        .place = (uint32_t *)(p + s->place),
        .gone = (uint32_t *)(p + s->gone),
        .sum = (uint32_t *)(p + s->sum),
        .about = (struct scan_about *)(p + s->about),
        .small = (int8_t *)(p + s->small),
    };
}

static inline size_t scan_blocks(uint64_t rows)
{
    return (size_t)((rows + SCAN_BLOCK - 1) / SCAN_BLOCK);
}

static inline bool scan_is_gone(const struct scan_block *b, size_t i, uint32_t generation)
{
    return __atomic_load_n(&b->gone[i], __ATOMIC_RELAXED) <= generation;
}

/* scan_file.c */

/* The file at a path, for reading and writing, made when it is missing; -1 with errno. */
int scan_file_open(const char *path);
/* A new, empty one in place of what stands there; and one that is only memory. -1 with errno. */
int scan_file_new(const char *path);
int scan_file_memory(void);
/* Waits until nobody else holds it, but not for ever. Closing it lets go. */
bool scan_file_lock(int fd);
void scan_file_unlock(int fd);
bool scan_file_is(int fd, const char *path); /* it is what stands there */

struct scan_shape scan_shape_of(size_t dim);

/* Maps the file and reads its newest generation. NULL: all is well; else what is odd about it, and
 * nothing is mapped. */
const char *scan_map_open(int fd, struct fumi_str space, size_t dim, struct scan_map **out,
                          struct scan_state *state);
void scan_map_free(struct scan_map *m);
/* The newest generation of a mapped file that others may have changed; the first `known` rows are
 * not looked at again. *out: the same mapping, or a larger one. NULL, or what is odd. */
const char *scan_map_news(int fd, struct scan_map *m, uint64_t known, struct scan_map **out,
                          struct scan_state *state);

/* Writes rows behind those of `state`; nobody sees them before scan_write_end. The map may be
 * replaced by a larger one of the same file on the way: `fresh` says so. */
struct scan_writer {
    int fd;
    struct scan_map *map;
    bool fresh;    /* map was made by the writer; whoever takes it owns it */
    bool full;     /* there was no room for a row */
    uint64_t room; /* rows that file and map can hold now */
    struct scan_state before, state;
};

/* An empty file with its header. -1: errno says why. */
int scan_write_new(struct scan_writer *w, int fd, struct fumi_str space, size_t dim);
void scan_write_more(struct scan_writer *w, int fd, struct scan_map *map,
                     const struct scan_state *state);
int scan_write_row(struct scan_writer *w, const struct scan_row *row, struct fumi_err *e);
/* -1 also when the row is damaged; `full` tells. */
int scan_write_copy(struct scan_writer *w, const struct scan_map *from, size_t row,
                    struct fumi_err *e);
void scan_sort(int64_t *notes, size_t n);
/* Marks the rows that these notes, sorted, had before as gone with the coming generation. */
void scan_write_gone(struct scan_writer *w, const int64_t *notes, size_t n);
void scan_write_end(struct scan_writer *w, int64_t change);
/* Overwrites the rows of notes that have none in this generation with zeros, but for the number of
 * the note. */
void scan_wipe(const struct scan_map *m, const struct scan_state *state);
/* The same for rows that a writer wrote and did not publish. Only with the lock of the file. */
void scan_wipe_unpublished(const struct scan_map *m, int fd, const struct scan_state *state);

/* Costs no more than the product that a search needs anyway, and any single byte counts. */
static inline uint32_t scan_small_sum(const struct scan_map *m, const int8_t *small)
{
    return (uint32_t)m->code->small_dot(small, m->key, m->shape.stride);
}

/* scan_bits.c: one bit for each dimension, of the vector after it was turned. */
void scan_bits(const float *x, size_t dim, uint64_t *bits);

/* scan_rank.c */

/* What a search needs beside the rows; kept from one to the next. {0} is ready. */
struct scan_scratch {
    struct scan_scratch *next;
    uint16_t *far;
    uint32_t *list;
    struct scan_best *best;
    size_t far_cap, list_cap, best_cap;
    uint64_t bits[VECTOR_DIM_MAX / 64];
    _Alignas(64) int8_t small[VECTOR_DIM_MAX];
};
void scan_scratch_done(struct scan_scratch *x);

/* One search. `odd` is set when a row is found to be damaged; its cosine is then from its bits. */
struct scan_job {
    const struct scan_map *map;
    const struct scan_state *state;
    const struct scan_filter *filter;
    struct scan_scratch *scratch;
    bool odd;
};
size_t scan_rank(struct scan_job *j, const float *query, size_t limit, struct scan_hit *out);

#endif
