/* Exact-enough nearest-neighbour search by scanning all vectors, without a graph or a tree.
 *
 * Each row holds one vector (of a passage of a note) in two compressed forms: one sign bit per
 * dimension, and 8 bits per dimension. A search compares the bits of all rows that pass the filter
 * (Hamming distance), computes the 8-bit cosine of the rows whose bits are near enough, and returns
 * the best. The caller rescores these from the float vectors, which stay in the database.
 *
 * The rows are kept in a side file, a cache of the database that all processes map and share. The
 * file is brought up to date by change number, and is rebuilt if it is missing, damaged or made for
 * another embedding space. It is never the only copy of anything, so deleting it is safe.
 *
 * A tag set is a number that the store assigns to a combination of project, group and tags. A
 * filter is therefore a set of tag set numbers and a range of time. */
#ifndef FUMI_STORE_SCAN_H
#define FUMI_STORE_SCAN_H

#include "base/err.h"
#include "base/log.h"

struct scan;

struct scan_row {
    int64_t note;   /* seq of the note */
    int64_t vector; /* id of the vector in the database; never 0 */
    int64_t created;
    uint32_t tag_set;
    const float *x; /* `dim` numbers, unit length */
};

/* Reads rows from the database, so that scan*.c contain no SQL. The functions call `put` for each
 * row, in any order, and return 0, or -1 with *e set. They must stop and return -1 if `put` or
 * `note` returns other than 0. They run on the thread that opens or refreshes, one at a time. */
typedef int scan_put_fn(void *to, const struct scan_row *row, struct fumi_err *e);
struct scan_source {
    /* Reads every row of the space; *change is the change number of the snapshot that was read. */
    int (*all)(void *arg, scan_put_fn *put, void *to, int64_t *change, struct fumi_err *e);
    /* Reads what changed after the change number `since`: calls `note` for each changed note,
     * deleted ones included, and `put` for the rows that these notes have now; *change is the new
     * change number. Returns 1 if the changes since `since` are not known: the caller then reads
     * all rows. */
    int (*changed)(void *arg, int64_t since, int (*note)(void *to, int64_t seq), scan_put_fn *put,
                   void *to, int64_t *change, struct fumi_err *e);
    void *arg;
};

/* Opens the side file at `path` for this space, or creates it. If path is NULL, or the file cannot
 * be written (read-only, disk full), the rows are kept in memory. Returns NULL, with *e set, if the
 * source failed or dim is not 1 to VECTOR_DIM_MAX. The caller frees the result with scan_close.
 *
 * A file with the same space name and dimension is assumed to belong to the same database; if files
 * of several databases could be confused, the space name must distinguish them. The rows may be out
 * of date: call scan_refresh before the first search. The log is borrowed until scan_close, and
 * `source->arg` too; `space` is copied. Not usable in the child after a fork. */
struct scan *scan_open(const char *path, struct fumi_str space, size_t dim,
                       const struct scan_source *source, const struct fumi_log *log,
                       struct fumi_err *e);
void scan_close(struct scan *s); /* no other call may be running; s may be NULL */

/* Brings the rows up to date if `change`, the current change number of the database, differs from
 * theirs. Thread-safe. Returns -1, with *e set, if the source failed or there is no memory; the
 * rows then stay as they were. */
int scan_refresh(struct scan *s, int64_t change, struct fumi_err *e);

/* A row passes if its tag set has its bit set in `tag_sets`, and since <= created <= until. Numbers
 * from tag_sets_n on do not pass. tag_sets NULL: every tag set passes. INT64_MIN and INT64_MAX: any
 * time. */
struct scan_filter {
    const uint64_t *tag_sets;
    size_t tag_sets_n; /* bits */
    int64_t since, until;
};

struct scan_hit {
    int64_t note, vector;
    float cosine; /* approximate: computed from 8-bit codes */
};

/* Writes the `limit` rows with the highest 8-bit cosine among those that pass, best first, to
 * `out`, and returns their number. f NULL: all rows pass. Several rows of one note are returned
 * separately. A row whose note was deleted by another process during the search may be returned
 * with vector 0. Thread-safe; searches run in parallel and do not wait for a refresh. */
size_t scan_nearest(struct scan *s, const struct scan_filter *f, const float *query, size_t limit,
                    struct scan_hit *out);

/* Reads which space the file at `path` was made for. Writes the name to `space` (without a
 * terminator), its length to *n, and returns the dimension. Returns 0 if there is no valid file, or
 * if the name is longer than SCAN_SPACE bytes. */
enum { SCAN_SPACE = 512 }; /* bytes of the name that the file stores */
size_t scan_peek(const char *path, char space[SCAN_SPACE], size_t *n);

#endif
