/* Private to sqlite*.c: the queue of writes (sqlite_write.c). */
#ifndef FUMI_STORE_SQLITE_WRITE_H
#define FUMI_STORE_SQLITE_WRITE_H

#include "store/store.h"

#include <pthread.h>

struct db;
/* The work of a transaction. May be called twice: the first transaction was then rolled back. */
typedef int store_sqlite_fn(struct db *d, void *arg, struct fumi_err *e);

/* A write. result: 0, or -1 with *e set. */
struct store_sqlite_job {
    store_sqlite_fn *run;
    void *arg;
    struct fumi_err *e;
    int result;
};

struct store_sqlite_write;
struct store_sqlite_queue {
    pthread_mutex_t lock; /* guards all */
    struct store_sqlite_write *first, *last;
    size_t n;        /* number of threads in the queue */
    size_t awaited;  /* the leader is woken when so many are in it; 0: it does not wait */
    size_t together; /* number of threads that the last transaction served */
    int64_t took;    /* nanoseconds, of the last transaction */
    bool leading;    /* a thread is running writes */
    struct store_sqlite_truth *truth; /* NULL: the file is not the replica of another store */
};

/* The store of which the file is a replica: it has to confirm each transaction. Called on the
 * thread that leads the queue. begin: after the transaction of the file has begun; it may change
 * the file. commit: commits both, or returns -1 with *e set. end: the transaction is rolled back.
 * After begin or commit has failed, end is not called. */
struct store_sqlite_truth {
    int (*begin)(struct store_sqlite_truth *t, struct db *d, struct fumi_err *e);
    int (*commit)(struct store_sqlite_truth *t, struct db *d, struct fumi_err *e);
    void (*end)(struct store_sqlite_truth *t);
};

/* Any thread. Calls `run` in a write transaction, together with the writes of other threads and
 * possibly on one of these threads; returns when the transaction is on disk or rolled back.
 * write_all: several jobs, in their order and usually in one transaction. A job that fails without
 * having changed anything does not affect the others; after any other failure, the jobs that follow
 * are not done and get the same error. Each job has its result. */
int store_sqlite_write(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);
void store_sqlite_write_all(struct store *s, struct store_sqlite_job *jobs, size_t n);
/* As store_sqlite_write, but calls `run` outside of a transaction and without other writes. */
int store_sqlite_write_alone(struct store *s, store_sqlite_fn *run, void *arg, struct fumi_err *e);

#endif
