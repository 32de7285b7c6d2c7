#include "store/sqlite_merge.h"

#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <inttypes.h>

int store_sqlite_id_taken(struct db *d, struct fumi_str id, struct fumi_err *e)
{
    int64_t one;
    return store_sqlite_number(
        d, e, &one,
        "SELECT 1 FROM notes WHERE id=?1 UNION ALL SELECT 1 FROM groups WHERE "
        "id=?1 UNION ALL SELECT 1 FROM globals WHERE id=?1 LIMIT 1",
        "s", id);
}

/* A UUID of version 8 (RFC 9562), whose bits the application defines. */
struct fumi_str store_sqlite_id_next(struct fumi_arena *a, struct fumi_str id,
                                     struct fumi_str project)
{
    uint64_t high = store_sqlite_sum_str(store_sqlite_sum_str(1, project), id);
    uint64_t low = store_sqlite_sum_str(store_sqlite_sum_str(2, id), project);
    return fumi_fmt(a, "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                    high >> 32, high >> 16 & 0xFFFF, high & 0xFFF, (low >> 48 & 0x3FFF) | 0x8000,
                    low & 0xFFFFFFFFFFFF);
}

int store_sqlite_id_none(struct fumi_str id, struct fumi_err *e)
{
    return fumi_err_set(e, ERR_CONFLICT,
                        "no unused id was found for %.*s: change the id in this line",
                        FUMI_ARG(id));
}

int store_sqlite_id_free(struct db *d, struct fumi_arena *a, struct fumi_str project,
                         struct fumi_str *id, enum merged *out, struct fumi_err *e)
{
    struct fumi_str given = *id;
    *out = MERGED_ADDED;
    for (int i = 0; i < MERGE_IDS; i++) {
        int taken = store_sqlite_id_taken(d, *id, e);
        if (taken <= 0)
            return taken;
        *id = store_sqlite_id_next(a, *id, project);
        *out = MERGED_RENAMED;
    }
    return store_sqlite_id_none(given, e);
}

/* A transaction may run twice: its rows then get new numbers. */
void store_sqlite_merge_begin(struct store_sqlite_merging *m)
{
    m->now = *m->given;
    if (m->first)
        *m->change = store_sqlite_change_begin(m->change->by, m->change->arena);
}

static store_sqlite_fn *const merges[] = {[MERGE_NOTE] = store_sqlite_merge_note,
                                          [MERGE_GROUP] = store_sqlite_merge_group,
                                          [MERGE_GLOBAL] = store_sqlite_merge_global};

void store_sqlite_merge(struct store *s, struct fumi_arena *a, struct merge_row *rows, size_t n,
                        const struct author *by)
{
    struct store_sqlite_merging *m = fumi_alloc(a, n * sizeof(*m));
    struct store_sqlite_job *jobs = fumi_alloc(a, n * sizeof(*jobs));
    struct store_sqlite_change change = store_sqlite_change_begin(by, a);
    for (size_t i = 0; i < n; i++) {
        rows[i].e = (struct fumi_err){0};
        m[i] = (struct store_sqlite_merging){
            .given = &rows[i], .arena = a, .change = &change, .first = i == 0};
        jobs[i] = (struct store_sqlite_job){merges[rows[i].kind], &m[i], &rows[i].e, 0};
    }
    store_sqlite_write_all(s, jobs, n);
    for (size_t i = 0; i < n; i++)
        if (!jobs[i].result)
            rows[i] = m[i].now;
}
