/* What test_scan.c and test_scan_file.c begin with: a directory, a table, a scan of it in a file.
 */
#ifndef FUMI_SCAN_FIXTURE_H
#define FUMI_SCAN_FIXTURE_H

#include "scan_table.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct fumi_log silent = {.level = FUMI_SILENT};

/* A directory with the file's name in it, a table and a scan of it. */
struct fixture {
    char dir[64], path[80], beside[88];
    struct table table;
    struct scan *scan;
};

static inline bool set_up(struct fixture *s, size_t dim, size_t notes)
{
    snprintf(s->dir, sizeof(s->dir), "/tmp/test_scan.XXXXXX");
    if (!mkdtemp(s->dir))
        return false;
    snprintf(s->path, sizeof(s->path), "%s/a.vec", s->dir);
    snprintf(s->beside, sizeof(s->beside), "%s.new", s->path);
    table_init(&s->table, dim);
    table_grow(&s->table, notes);
    s->scan = table_scan(&s->table, s->path, &silent);
    return s->scan;
}

static inline void tear_down(struct fixture *s)
{
    scan_close(s->scan);
    table_done(&s->table);
    unlink(s->path);
    unlink(s->beside);
    if (rmdir(s->dir))
        TEST_FAIL("%s is not empty", s->dir);
}

static inline bool reopen(struct fixture *s)
{
    scan_close(s->scan);
    s->scan = table_scan(&s->table, s->path, &silent);
    return s->scan;
}

static inline void see(const char *where, const char *why)
{
    if (why)
        TEST_FAIL("%s: %s", where, why);
}

static inline int refresh(struct fixture *s)
{
    struct fumi_err e = {0};
    return scan_refresh(s->scan, table_now(&s->table), &e);
}

static inline off_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

/* One change as a store makes them: a note comes, goes, moves or gets another text. */
static inline void step(struct table *t)
{
    int64_t last = t->n ? t->items[t->n - 1].note : 0;
    int64_t note = 1 + (int64_t)(table_random(t) % (uint64_t)(last + 1));
    uint32_t place = (uint32_t)(table_random(t) % 100);
    bool grows = table_random(t) % 4 == 0;
    pthread_mutex_lock(&t->lock);
    if (!grows)
        table_drop(t, note);
    if (grows || table_random(t) % 4)
        table_add(t, grows ? last + 1 : note, place);
    if (table_random(t) % 8 == 0)
        table_add(t, grows ? last + 1 : note, place);
    table_commit(t);
    pthread_mutex_unlock(&t->lock);
}

#endif
