/* Set-up for test_scan.c and test_scan_file.c: a directory, a table, and a scan of the table
 * with its side file in the directory. */
#ifndef FUMI_SCAN_FIXTURE_H
#define FUMI_SCAN_FIXTURE_H

#include "scan_table.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct fumi_log silent = {.level = FUMI_SILENT};

struct fixture {
    char dir[64], path[80], temp_path[88];
    struct scan_table table;
    struct scan *scan;
};

static inline bool set_up(struct fixture *s, size_t dim, size_t notes)
{
    snprintf(s->dir, sizeof(s->dir), "/tmp/test_scan.XXXXXX");
    if (!mkdtemp(s->dir))
        return false;
    snprintf(s->path, sizeof(s->path), "%s/a.vec", s->dir);
    snprintf(s->temp_path, sizeof(s->temp_path), "%s.new", s->path);
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
    unlink(s->temp_path);
    if (rmdir(s->dir))
        TEST_FAIL("%s is not empty", s->dir);
}

static inline bool reopen(struct fixture *s)
{
    scan_close(s->scan);
    s->scan = table_scan(&s->table, s->path, &silent);
    return s->scan;
}

static inline void check_same(const char *where, const char *why)
{
    if (why)
        TEST_FAIL("%s: %s", where, why);
}

static inline int refresh(struct fixture *s)
{
    struct fumi_err e = {0};
    return table_refresh(&s->table, s->scan, &e);
}

static inline off_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

/* The number of live rows, which is at most `max`. */
static inline size_t count_rows(struct scan *s, size_t max)
{
    static const float query[VECTOR_DIM_MAX] = {1};
    struct scan_hit *hits = fumi_resize(NULL, (max + 1) * sizeof(*hits));
    size_t n = scan_nearest(s, NULL, query, max + 1, hits);
    fumi_resize(hits, 0);
    return n;
}

/* One random change: a note is added, deleted, moved to another tag set or gets another text. */
static inline void step(struct scan_table *t)
{
    int64_t last = t->n ? t->items[t->n - 1].note : 0;
    int64_t note = 1 + (int64_t)(table_random(t) % (uint64_t)(last + 1));
    uint32_t tag_set = (uint32_t)(table_random(t) % 100);
    bool grows = table_random(t) % 4 == 0;
    pthread_mutex_lock(&t->lock);
    if (!grows)
        table_drop(t, note);
    if (grows || table_random(t) % 4)
        table_add(t, grows ? last + 1 : note, tag_set);
    if (table_random(t) % 8 == 0)
        table_add(t, grows ? last + 1 : note, tag_set);
    table_commit(t);
    pthread_mutex_unlock(&t->lock);
}

#endif
