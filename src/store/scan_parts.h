/* Private to scan*.c and their tests. scan_file.c reads and writes the side file, scan_keep.c
 * keeps it up to date, scan_rank.c searches in it, scan_bits.c computes the sign bits.
 *
 * The file is a header of one page, followed by blocks of SCAN_BLOCK rows. A block stores its rows
 * by column. Rows are only appended. To delete a row, its `deleted` column is set to the number of
 * the next generation; a search that uses an older generation still sees the row, in this process
 * and in others, without a lock.
 *
 * A generation (row count, change number, last vector, deleted rows) is published by writing one of
 * two slots in the header, in turn. If a writer is killed half-way, the older slot is still valid
 * and the unpublished rows and marks do not count.
 *
 * For privacy, the rows of a deleted note are overwritten with zeros as soon as no search of this
 * process uses an older generation. A search in another process may then return a row of zeros,
 * whose vector id 0 does not exist. */
#ifndef FUMI_STORE_SCAN_PARTS_H
#define FUMI_STORE_SCAN_PARTS_H

#include "base/arena.h"
#include "store/scan.h"
#include "store/vector_parts.h"

#include <assert.h>

enum {
    SCAN_BLOCK = 1024,  /* rows */
    SCAN_HEADER = 4096, /* bytes of the header */
    SCAN_SLOTS = 2048,  /* offset of the two slots in the header */
    SCAN_VERSION = 2,
};
#define SCAN_LIVE UINT32_MAX /* the `deleted` column of a row that is not deleted */

struct scan_header {
    char magic[8];
    uint32_t version, block, dim, space_n;
    char space[SCAN_SPACE];
    uint64_t space_checksum; /* of the whole name, also if it is longer than SCAN_SPACE */
    uint64_t checksum;       /* of all members before it */
};

struct scan_state {
    uint64_t rows;
    int64_t change;
    int64_t upto;              /* the rows of vectors up to this one; INT64_MAX: all rows */
    int64_t newest;            /* the largest note seq of any row */
    uint64_t deleted_checksum; /* of the numbers of the deleted rows: finds damaged marks */
    uint32_t generation;       /* from 1 */
    uint32_t deleted;          /* rows */
    uint64_t checksum;         /* of all members before it */
};

/* The layout of a block: its size in bytes, and the offset of each column. */
struct scan_layout {
    size_t dim, words;
    size_t stride; /* bytes of an 8-bit code: dim rounded up, padded with 0 */
    size_t note, vector, created, tag_set, deleted, checksum, code_info, code;
    size_t block;
};

/* A mapping of the file. It may extend past the end of the file, so that the file can grow without
 * a new mapping. */
struct scan_map {
    struct scan_layout layout;
    const struct vector_impl *impl;
    unsigned char *base;
    size_t size;  /* bytes mapped */
    size_t refs;  /* guarded by the lock of its scan */
    int8_t key[]; /* `stride` random odd numbers: the dot product with a code is its checksum */
};

/* Belongs to an 8-bit code. One struct, because a search reads both members with the code. */
struct scan_code_info {
    float scale;
    uint32_t checksum; /* of the code; checked when a search uses the code */
};

/* The columns of one block. */
struct scan_block {
    uint64_t *bits;
    int64_t *note, *vector, *created;
    uint32_t *tag_set;
    uint32_t *deleted;  /* generation, or SCAN_LIVE; written while others read, so atomic */
    uint32_t *checksum; /* of all columns but `deleted` and `code`; checked on opening */
    struct scan_code_info *code_info;
    int8_t *code;
};

static inline struct scan_block scan_block(const struct scan_map *m, size_t index)
{
    const struct scan_layout *s = &m->layout;
    assert(SCAN_HEADER + (index + 1) * s->block <= m->size);
    unsigned char *p = m->base + SCAN_HEADER + index * s->block;
    return (struct scan_block){
        .bits = (uint64_t *)p,
        .note = (int64_t *)(p + s->note),
        .vector = (int64_t *)(p + s->vector),
        .created = (int64_t *)(p + s->created),
        .tag_set = (uint32_t *)(p + s->tag_set),
        .deleted = (uint32_t *)(p + s->deleted),
        .checksum = (uint32_t *)(p + s->checksum),
        .code_info = (struct scan_code_info *)(p + s->code_info),
        .code = (int8_t *)(p + s->code),
    };
}

static inline size_t scan_blocks(uint64_t rows)
{
    return (size_t)((rows + SCAN_BLOCK - 1) / SCAN_BLOCK);
}

static inline bool scan_is_deleted(const struct scan_block *b, size_t i, uint32_t generation)
{
    return __atomic_load_n(&b->deleted[i], __ATOMIC_RELAXED) <= generation;
}

/* scan_file.c */

/* The first three return a descriptor, or -1 with errno set. */
int scan_file_open(const char *path); /* for reading and writing; created if missing */
int scan_file_new(const char *path);  /* a new, empty, locked file in place of the old one */
int scan_file_memory(void);           /* an anonymous file in memory */
/* Takes the exclusive lock. Returns 0; 1 if it is held by another process; -1 if the file cannot be
 * locked. Closing the descriptor releases the lock. */
int scan_file_lock(int fd);
void scan_file_unlock(int fd);
bool scan_file_is_at(int fd, const char *path); /* the path still names this file */

struct scan_layout scan_layout_of(size_t dim);

/* Maps the file, checks it and reads its newest generation. Returns NULL on success, otherwise a
 * word for the fault (for the log), with nothing mapped. */
const char *scan_map_open(int fd, struct fumi_str space, size_t dim, struct scan_map **out,
                          struct scan_state *state);
void scan_map_free(struct scan_map *m); /* m may be NULL */
/* Reads the newest generation of a mapped file that other processes may have changed. The first
 * `known` rows are not checked again. *out is the same mapping, or a new, larger one that the
 * caller owns. Returns as scan_map_open does. Needs the lock of the file. */
const char *scan_map_update(int fd, struct scan_map *m, uint64_t known, struct scan_map **out,
                            struct scan_state *state);

/* Appends rows after those of `state`. Nothing is visible to others before scan_write_publish. All
 * scan_write_* functions need the lock of the file. The writer may replace the mapping by a larger
 * one. */
struct scan_writer {
    int fd;
    struct scan_map *map;
    bool owns_map;     /* map was made by the writer; the caller takes it over or frees it */
    bool full;         /* there was no space for a row */
    uint64_t capacity; /* rows that fit into the file and the mapping now */
    struct scan_state before, state;
};

/* Starts an empty file with its header. Returns -1 with errno set. */
int scan_write_new(struct scan_writer *w, int fd, struct fumi_str space, size_t dim);
/* Continues a file whose newest generation is `state`. */
void scan_write_append(struct scan_writer *w, int fd, struct scan_map *map,
                       const struct scan_state *state);
/* Both return -1, with *e set, if there is no space (`full` is then set, and errno);
 * scan_write_copy also if the row to copy is damaged. */
int scan_write_row(struct scan_writer *w, const struct scan_row *row, struct fumi_err *e);
int scan_write_copy(struct scan_writer *w, const struct scan_map *from, size_t row,
                    struct fumi_err *e);
void scan_sort(int64_t *notes, size_t n);
/* Marks the rows that these notes had before this writer began as deleted from the next generation
 * on. `notes` must be sorted. */
void scan_write_deleted(struct scan_writer *w, const int64_t *notes, size_t n);
/* Publishes the rows and marks as the next generation. */
void scan_write_publish(struct scan_writer *w, int64_t change, int64_t upto);
/* Overwrites the rows of notes that have no live row in this generation with zeros, except for the
 * seq of the note. */
void scan_wipe(const struct scan_map *m, const struct scan_state *state);
/* Overwrites rows that a killed writer left unpublished. Needs the lock of the file. */
void scan_wipe_unpublished(const struct scan_map *m, int fd, const struct scan_state *state);

/* Costs as much as the dot product that the search computes anyway. All keys are odd, so a change
 * of a single byte always changes the checksum. */
static inline uint32_t scan_code_checksum(const struct scan_map *m, const int8_t *code)
{
    return (uint32_t)m->impl->dot_int8(code, m->key, m->layout.stride);
}

/* scan_bits.c: the sign bits of the vector after a fixed random rotation. */
void scan_bits(const float *x, size_t dim, uint64_t *bits);

/* scan_rank.c */

/* Buffers of a search, reused by later searches. Starts as {0}. */
struct scan_scratch {
    struct scan_scratch *next;
    uint16_t *distances;
    uint32_t *list;
    struct scan_best *best;
    size_t distances_cap, list_cap, best_cap;
    uint64_t bits[VECTOR_DIM_MAX / 64];
    _Alignas(64) int8_t code[VECTOR_DIM_MAX];
};
void scan_scratch_done(struct scan_scratch *x);

/* One search. `damaged` is set if a row turns out to be damaged; its cosine is then estimated from
 * its sign bits. */
struct scan_job {
    const struct scan_map *map;
    const struct scan_state *state;
    const struct scan_filter *filter; /* NULL: all rows pass */
    struct scan_scratch *scratch;
    bool damaged;
};
size_t scan_rank(struct scan_job *j, const float *query, size_t limit, struct scan_hit *out);

#endif
