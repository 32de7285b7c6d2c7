/* Follows the changes that other servers make: looks twice a second, and at once when PostgreSQL
 * notifies it. A lost notification only costs that half second. */
#include "store/postgres_parts.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_MS = 500 };

struct replica_state {
    struct pg_position at;
    int64_t generation;
};

static int read_position(struct db *d, void *arg, struct fumi_err *e)
{
    struct replica_state *is = arg;
    return pg_position_read(d, &is->at, &is->generation, e);
}

/* Copies what is new, if there is anything. Another process may have copied everything again: then
 * only the caches of this one are dropped. */
static int look(struct truth *t, struct pg *p, struct fumi_err *e)
{
    PGresult *r;
    struct replica_state here;
    if (pg_exec(p, "SELECT change, token FROM fumi.store", &r, e))
        return -1;
    struct pg_position there = {-1, 0};
    if (p->q->ntuples(r))
        there = (struct pg_position){pg_number(p, r, 0), pg_number(p, r, 1)};
    p->q->clear(r);
    if (store_sqlite_read(&t->replica->base, read_position, &here, e))
        return -1;
    bool same = here.at.change == there.change && here.at.token == there.token &&
                here.generation == __atomic_load_n(&t->generation, __ATOMIC_RELAXED);
    return same ? 0 : pg_sync(t, e);
}

/* Waits for a notification, at most LOOK_MS. Returns false if the thread is to end. */
static bool pause_for(struct truth *t, struct pg *p)
{
    struct pollfd f[] = {{.fd = t->stop, .events = POLLIN},
                         {.fd = p->c ? p->q->socket(p->c) : -1, .events = POLLIN}};
    poll(f, 2, LOOK_MS);
    if (f[1].revents && !p->q->consumeInput(p->c))
        p->bad = true;
    for (PGnotify *n; p->c && (n = p->q->notifies(p->c));)
        p->q->freemem(n);
    return !f[0].revents;
}

static int connect_and_listen(struct truth *t, struct pg *p, struct fumi_err *e)
{
    if (p->c && !p->bad)
        return 0;
    return pg_connect(p, t->url, e) || pg_exec(p, "LISTEN fumi", NULL, e) ? -1 : 0;
}

static void *follow(void *arg)
{
    struct truth *t = arg;
    struct pg p = {.q = libpq()};
    bool failed = false;
    while (pause_for(t, &p)) {
        struct fumi_err e = {0};
        bool fails = connect_and_listen(t, &p, &e) || look(t, &p, &e);
        if (fails != failed)
            fumi_log(t->log, fails ? FUMI_WARN : FUMI_INFO,
                     fails ? "store.unreachable" : "store.reachable", {"why", fumi_str(e.text), 0});
        failed = fails;
    }
    pg_disconnect(&p);
    return NULL;
}

int pg_follow(struct truth *t, struct fumi_err *e)
{
    t->stop = eventfd(0, EFD_CLOEXEC);
    int rc = t->stop < 0 ? errno : pthread_create(&t->follower, NULL, follow, t);
    t->following = rc == 0;
    return rc ? fumi_err_set(e, FUMI_LIMIT, "Cannot start a thread: %s", strerror(rc)) : 0;
}

void pg_follow_end(struct truth *t)
{
    const uint64_t one = 1;
    if (t->following && write(t->stop, &one, sizeof(one)) == sizeof(one))
        pthread_join(t->follower, NULL);
    t->following = false;
    if (t->stop >= 0)
        close(t->stop);
    t->stop = -1;
}
