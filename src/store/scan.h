/* The nearest vectors by scanning all of them, cheaply: 1 bit a dimension, then 8 bits, then the
 * caller's exact ones. The rows stand in a side file that is only a cache of the database: mapped
 * at start, shared by all processes, brought up to date by change number, and made again when it is
 * missing, damaged or of another space. Nothing in it is ever the only copy.
 *
 * A row is a passage: its note's number and place. A place is a number that the store gives to a
 * combination of project, group and tags, so a filter is a set of places and a span of time. */
#ifndef FUMI_STORE_SCAN_H
#define FUMI_STORE_SCAN_H

#include "base/err.h"
#include "base/log.h"

struct scan;

struct scan_row {
    int64_t note;   /* seq */
    int64_t vector; /* the number of the vector in the database */
    int64_t created;
    uint32_t place;
    const float *x; /* `dim`, unit length */
};

/* Where rows come from, so that scan knows no SQL. Each calls `put` for rows in any order and
 * returns 0, or -1 with *e set (as when `put` or `note` gives something else than 0). They run in
 * the thread that opens or refreshes, one at a time. */
typedef int scan_put_fn(void *to, const struct scan_row *row, struct fumi_err *e);
struct scan_source {
    /* Every row of the space, and the change number at which it holds (of the same snapshot). */
    int (*all)(void *arg, scan_put_fn *put, void *to, int64_t *change, struct fumi_err *e);
    /* The notes changed behind `since`: `note` for each of them, gone or not, and then the rows
     * they have now; and the new change number. 1: `since` is too old to know, or a number that was
     * never given: read all. */
    int (*changed)(void *arg, int64_t since, int (*note)(void *to, int64_t seq), scan_put_fn *put,
                   void *to, int64_t *change, struct fumi_err *e);
    void *arg;
};

/* Opens or makes the file for this space; path NULL: in memory only. A file that cannot be made
 * (read-only, full) is no fault: the rows are then kept in memory. NULL with *e: the source failed.
 * A file of the same space and length is believed to be of the same database: let the name of the
 * space tell databases apart where one could take another's place. The rows are those of the last
 * refresh of anybody: refresh before the first search. Borrows the log. Not across a fork. */
struct scan *scan_open(const char *path, struct fumi_str space, size_t dim,
                       const struct scan_source *source, const struct fumi_log *log,
                       struct fumi_err *e);
void scan_close(struct scan *s);

/* Reads what changed since, when `change` (the database's current number) is not that of the rows.
 */
int scan_refresh(struct scan *s, int64_t change, struct fumi_err *e);

/* A filter; NULL lets everything pass. places: a bit for each place number below `places_n`, others
 * do not pass; NULL: all places. since and until pass too; INT64_MIN and INT64_MAX: any time. */
struct scan_filter {
    const uint64_t *places;
    size_t places_n;
    int64_t since, until;
};

struct scan_hit {
    int64_t note, vector;
    float cosine; /* nearly: from 8 bits */
};

/* The best `limit` rows (passages) by 8-bit cosine among those that pass, best first; fewer when
 * there are fewer. Rows of one note are not merged. From any thread, several at once. Returns how
 * many. */
size_t scan_nearest(struct scan *s, const struct scan_filter *f, const float *query, size_t limit,
                    struct scan_hit *out);

size_t scan_size(struct scan *s); /* rows in use */

/* Which space the file at a path holds: writes its name to `space` and its length to *n. Returns
 * its number of dimensions; 0: there is no such file, or its name is longer than `space`. */
enum { SCAN_SPACE = 512 }; /* bytes of the name that are kept in the file */
size_t scan_peek(const char *path, char space[SCAN_SPACE], size_t *n);

#endif
