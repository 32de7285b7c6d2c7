/* The counts of projects. A project can have tens of thousands of groups, and a search needs the
 * sums over them several times, so the sums are kept until the change number rises: each
 * transaction that writes project_groups raises it. */
#include "store/sqlite_counts.h"

#include "base/arena.h"

#include <assert.h>

enum { COUNTS = 8 };

struct cached_counts {
    struct cached_project {
        struct fumi_str project; /* owned; null: all projects */
        int64_t change;          /* 0: the entry is free */
        struct project_counts counts;
    } items[COUNTS];
    size_t next; /* the entry to replace */
};

/* The entry of the project, or NULL. Needs filters_lock. */
static struct cached_project *entry(struct cached_counts *c, struct fumi_str project)
{
    for (size_t i = 0; c && i < COUNTS; i++) {
        struct cached_project *p = &c->items[i];
        if (p->change && !p->project.p == !project.p && fumi_eq(p->project, project))
            return p;
    }
    return NULL;
}

static bool recall(struct store_sqlite *s, struct fumi_str project, int64_t change,
                   struct project_counts *out)
{
    pthread_mutex_lock(&s->filters_lock);
    const struct cached_project *p = entry(s->counts, project);
    bool found = p && p->change == change;
    if (found)
        *out = p->counts;
    pthread_mutex_unlock(&s->filters_lock);
    return found;
}

static struct fumi_str copy(struct fumi_str s)
{
    if (!s.p)
        return s;
    return (struct fumi_str){memcpy(fumi_resize(NULL, s.n + 1), s.p, s.n), s.n};
}

/* Needs filters_lock. */
static struct cached_project *make_entry(struct store_sqlite *s, struct fumi_str project)
{
    if (!s->counts) {
        s->counts = fumi_resize(NULL, sizeof(*s->counts));
        memset(s->counts, 0, sizeof(*s->counts));
    }
    struct cached_project *p = &s->counts->items[s->counts->next++ % COUNTS];
    fumi_resize((void *)(uintptr_t)p->project.p, 0);
    p->project = copy(project);
    return p;
}

/* Another thread may have stored the counts of a later snapshot: the next search counts again. */
static void remember(struct store_sqlite *s, struct fumi_str project, int64_t change,
                     const struct project_counts *counts)
{
    pthread_mutex_lock(&s->filters_lock);
    struct cached_project *p = entry(s->counts, project);
    if (!p)
        p = make_entry(s, project);
    p->change = change;
    p->counts = *counts;
    pthread_mutex_unlock(&s->filters_lock);
}

void store_sqlite_counts_done(struct store_sqlite *s)
{
    for (size_t i = 0; s->counts && i < COUNTS; i++)
        fumi_resize((void *)(uintptr_t)s->counts->items[i].project.p, 0);
    fumi_resize(s->counts, 0);
    s->counts = NULL;
}

static int add_up(struct db *d, struct fumi_str project, struct project_counts *out,
                  struct fumi_err *e)
{
    static const char all[] = "SELECT sum(notes), sum(words) FROM project_groups",
                      one[] = "SELECT sum(notes), sum(words) FROM project_groups WHERE project=?1";
    sqlite3_stmt *q = project.p ? store_sqlite_query(d, e, one, "s", project)
                                : store_sqlite_query(d, e, all, "");
    if (!q || store_sqlite_row(d, q, e) <= 0)
        return -1;
    *out = (struct project_counts){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)};
    store_sqlite_end(q);
    return 0;
}

int store_sqlite_count_project(struct db *d, struct fumi_str project, struct project_counts *out,
                               struct fumi_err *e)
{
    int64_t change = 0;
    assert(sqlite3_txn_state(d->h, "main") != SQLITE_TXN_WRITE); /* it may be rolled back */
    if (store_sqlite_number(d, e, &change, "SELECT max(n) FROM changes", "") < 0)
        return -1;
    if (change && recall(d->store, project, change, out))
        return 0;
    if (add_up(d, project, out, e))
        return -1;
    if (change)
        remember(d->store, project, change, out);
    return 0;
}
