/* Exact-enough nearest-neighbour search by scanning all vectors, without a graph or a tree.
 *
 * Each row holds one vector (of a passage of a note) in two compressed forms: one sign bit per
 * dimension, and 8 bits per dimension. A search compares the bits of all rows that pass the filter
 * (Hamming distance), computes the 8-bit cosine of the rows whose bits are near enough, and returns
 * the best. The caller rescores these from the float vectors, which stay in the database.
 *
 * The rows are kept in a side file, a cache of the database that all processes map and share. Only
 * one thread of each process writes it, the keeper. The keeper brings the file up to date by change
 * number, and builds it again if it is missing, damaged or made for another embedding space. It
 * works in pieces: each piece is one snapshot of the database, and a kill undoes at most one piece.
 * A process continues a build that another one began. The file is never the only copy of anything,
 * so deleting it is safe.
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

/* Part of the work of bringing the rows up to date. The rows of the file are those whose vector is
 * at most `upto`, as of the change number `since`. */
struct scan_piece {
    int64_t since, upto;  /* both 0: there are no rows yet */
    size_t changes, rows; /* how many to read, at most */

    /* Set by the source. */
    int64_t change, last; /* since and upto after this piece; last INT64_MAX: all rows are read */
    bool more;            /* there are later changes */
    bool too_old; /* the changes since `since` are not known: all rows have to be read again */
};

/* Reads rows from the database, so that scan*.c contain no SQL. `read` runs on the keeper thread.
 * In one snapshot of the database it calls `note` for each note that changed after `since`, deleted
 * ones included, and `put` for the rows up to `upto` that these notes have now; then, if there are
 * no later changes, `put` for the next rows after `upto`. Returns 0, or -1 with *e set. It must
 * stop and return -1 if `put` returns other than 0. */
typedef int scan_put_fn(void *to, const struct scan_row *row, struct fumi_err *e);
typedef void scan_note_fn(void *to, int64_t seq);
struct scan_source {
    int (*read)(void *arg, struct scan_piece *p, scan_note_fn *note, scan_put_fn *put, void *to,
                struct fumi_err *e);
    void *arg;
};

/* Prepares a scan of this space with the side file at `path`. If path is NULL, or the file cannot
 * be used (read-only, disk full), the rows are kept in memory. There are no rows before
 * scan_refresh. Returns NULL, with *e set, if dim is not 1 to VECTOR_DIM_MAX. The caller frees the
 * result with scan_close.
 *
 * A file with the same space name and dimension is assumed to belong to the same database; if files
 * of several databases could be confused, the space name must distinguish them. The log is borrowed
 * until scan_close, and `source->arg` too; `space` is copied. Not usable in the child after a fork.
 */
struct scan *scan_open(const char *path, struct fumi_str space, size_t dim,
                       const struct scan_source *source, const struct fumi_log *log,
                       struct fumi_err *e);
void scan_close(struct scan *s); /* no other call may be running; s may be NULL */

/* Lets the keeper bring the rows up to date, at least to `change`, the current change number of the
 * database, and waits up to `ms` milliseconds for it, but not again for the same build.
 * Thread-safe. Returns 0 if the rows are up to date; 1 if the keeper still works: searches then
 * miss rows; -1, with *e set, if the source failed or there is no memory. */
int scan_refresh(struct scan *s, int64_t change, int64_t ms, struct fumi_err *e);
/* The same, but also returns 0 if only rows that were not read yet are missing: deleted rows are
 * deleted. */
int scan_refresh_deleted(struct scan *s, int64_t change, int64_t ms, struct fumi_err *e);
/* Whether all rows have been read. */
bool scan_is_whole(struct scan *s);

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
/* Checks every row of the file at `path`, which this process must not have open. Returns NULL if it
 * has no damage, if there is no file, or if another process is writing to it; otherwise what is
 * damaged. */
const char *scan_check(const char *path);

#endif
