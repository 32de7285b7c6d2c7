/* Private to scan.c and scan_keep.c: a scan and its keeper. scan.c opens, closes and searches; the
 * keeper is a thread that runs scan_step until the rows are as new as they were asked for.
 *
 * Requests are numbered. A request is answered when a step that began after it has ended with the
 * rows up to date. */
#ifndef FUMI_STORE_SCAN_KEEP_H
#define FUMI_STORE_SCAN_KEEP_H

#include "store/scan_parts.h"

#include <pthread.h>

#define SCAN_UNKNOWN INT64_MIN

struct scan {
    struct fumi_str space;
    size_t dim;
    struct scan_source source;
    const struct fumi_log *log;
    /* Of the keeper. */
    char *path; /* NULL: in memory only */
    char *temp_path;
    int fd; /* -1: none */

    pthread_mutex_t lock; /* guards the members below; held for moments only */
    pthread_cond_t work, news;
    pthread_t keeper;
    bool started, stop;
    uint64_t asked;          /* the number of the last request */
    int64_t wanted;          /* the change number of all open requests, or SCAN_UNKNOWN */
    uint64_t whole, deleted; /* the last request that is answered, by scan_refresh, ..._deleted */
    uint64_t failed;         /* the last request that failed, with `error` */
    struct fumi_err error;
    struct scan_map *map;    /* NULL: not open yet. Written by the keeper only */
    struct scan_state state; /* the same */
    bool slow;               /* a request waited in vain */
    bool damaged;            /* a search found damage */
    bool unwiped;            /* deleted rows may not have been overwritten yet */
    struct scan_scratch *spare;
    size_t spares;
};

/* Drops a reference to a map; NULL is allowed. */
void scan_unref(struct scan *s, struct scan_map *m);
bool scan_stopping(struct scan *s);
/* What is left to do after a step. */
enum scan_left {
    SCAN_NOTHING, /* the rows are up to date */
    SCAN_ROWS,    /* rows that were not read yet */
    SCAN_CHANGES, /* later changes; rows may be missing, too */
};
/* One piece of work: opens the file, begins a new one, or reads changes and rows from the source.
 * Only the keeper calls it. Returns -1 with *e set on failure. */
int scan_step(struct scan *s, enum scan_left *left, struct fumi_err *e);
void scan_close_file(struct scan *s);

#endif
