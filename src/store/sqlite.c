/* The store as a whole: opening, closing, and the connections that read. */
#include "store/sqlite_erase.h"
#include "store/sqlite_merge.h"
#include "store/sqlite_project.h"
#include "store/sqlite_readonly.h"

#include "base/arena.h"

enum { READERS_KEPT = 8 };

static struct db *take_reader(struct sqlite *s, struct fumi_err *e)
{
    pthread_mutex_lock(&s->readers_lock);
    struct db *d = s->readers;
    if (d) {
        s->readers = d->next;
        s->readers_n--;
    }
    pthread_mutex_unlock(&s->readers_lock);
    return d ? d : sqlite_connect(s, false, e);
}

static void give_reader(struct sqlite *s, struct db *d)
{
    pthread_mutex_lock(&s->readers_lock);
    bool keep = !d->bad && s->readers_n < READERS_KEPT;
    if (keep) {
        d->next = s->readers;
        s->readers = d;
        s->readers_n++;
    }
    pthread_mutex_unlock(&s->readers_lock);
    if (!keep)
        sqlite_disconnect(d);
}

static int read_once(struct db *d, sqlite_fn *run, void *arg, struct fumi_err *e)
{
    if (sqlite_run(d, e, "BEGIN", ""))
        return -1;
    int rc = run(d, arg, e);
    struct fumi_err ignored;
    if (sqlite_run(d, &ignored, "COMMIT", ""))
        d->bad = true;
    return rc;
}

int sqlite_read(struct store *base, sqlite_fn *run, void *arg, struct fumi_err *e)
{
    struct sqlite *s = (struct sqlite *)base;
    struct db *d = sqlite_readonly_check(s, e) ? NULL : take_reader(s, e);
    if (!d)
        return -1;
    int rc = read_once(d, run, arg, e);
    give_reader(s, d);
    return rc ? rc : sqlite_readonly_check(s, e);
}

static void close_readers(struct sqlite *s)
{
    while (s->readers) {
        struct db *d = s->readers;
        s->readers = d->next;
        sqlite_disconnect(d);
    }
    s->readers_n = 0;
}

void sqlite_idle(struct sqlite *s)
{
    sqlite_index_close(s);
    pthread_mutex_lock(&s->readers_lock);
    close_readers(s);
    pthread_mutex_unlock(&s->readers_lock);
    pthread_mutex_lock(&s->write_lock);
    if (!s->leading) {
        sqlite_disconnect(s->writer);
        s->writer = NULL;
    }
    pthread_mutex_unlock(&s->write_lock);
}

static void close_store(struct store *base)
{
    struct sqlite *s = (struct sqlite *)base;
    sqlite_erase_last(s);
    sqlite_index_close(s);
    close_readers(s);
    sqlite_disconnect(s->writer);
    sqlite_filters_done(s);
    pthread_mutex_destroy(&s->readers_lock);
    pthread_mutex_destroy(&s->write_lock);
    pthread_mutex_destroy(&s->filters_lock);
    pthread_rwlock_destroy(&s->scan_lock);
    fumi_resize(s->path, 0);
    fumi_resize(s->side, 0);
    fumi_resize(s->uri, 0);
    fumi_resize(s, 0);
}

static const struct store_ops ops = {
    .name = "sqlite",
    .put_note = sqlite_put_note,
    .get_note = sqlite_get_note,
    .patch_note = sqlite_patch_note,
    .drop = sqlite_drop,
    .recent = sqlite_recent,
    .page = sqlite_page,
    .load = sqlite_load,
    .heads = sqlite_heads,
    .names = sqlite_names,
    .near = sqlite_near,
    .score = sqlite_score,
    .match = sqlite_match,
    .count = sqlite_count,
    .put_group = sqlite_put_group,
    .get_group = sqlite_get_group,
    .patch_group = sqlite_patch_group,
    .drop_group = sqlite_drop_group,
    .list_groups = sqlite_list_groups,
    .put_global = sqlite_put_global,
    .get_global = sqlite_get_global,
    .list_globals = sqlite_list_globals,
    .merge_note = sqlite_merge_note,
    .merge_group = sqlite_merge_group,
    .merge_global = sqlite_merge_global,
    .lacking = sqlite_lacking,
    .fill = sqlite_fill,
    .progress = sqlite_progress,
    .drop_spaces = sqlite_drop_spaces,
    .get_fact = sqlite_get_fact,
    .put_fact = sqlite_put_fact,
    .changed = sqlite_changed,
    .stats = sqlite_stats,
    .project_stats = sqlite_project_stats,
    .backup = sqlite_backup,
    .doctor = sqlite_doctor,
    .erase = sqlite_erase,
    .close = close_store,
};

static struct sqlite *make(const struct sqlite_options *o)
{
    struct sqlite *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->base.ops = &ops;
    s->path = sqlite_path(o->path, "");
    s->side = sqlite_path(o->path, ".vec");
    s->nosync = o->nosync;
    s->lenient = o->lenient;
    s->log = o->log;
    pthread_mutex_init(&s->readers_lock, NULL);
    pthread_mutex_init(&s->write_lock, NULL);
    pthread_mutex_init(&s->filters_lock, NULL);
    pthread_rwlock_init(&s->scan_lock, NULL);
    sqlite_index_init(s);
    return s;
}

static int open_file(struct sqlite *s, struct fumi_err *e)
{
    if (sqlite_file_make(s->path, e) || sqlite_readonly_look(s, e))
        return -1;
    if (!s->uri)
        sqlite_file_sweep(s->path);
    s->writer = sqlite_connect(s, true, e);
    if (!s->writer || sqlite_schema_open(s->writer, e))
        return -1;
    s->ours = true;
    sqlite3_db_config(s->writer->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, s->uri != NULL, NULL);
    return 0;
}

/* Closed first: nobody may have the file open while it is mended. */
static int open_mended(struct sqlite *s, struct fumi_err *e)
{
    if (!s->corrupt)
        return -1;
    sqlite_idle(s);
    s->corrupt = false;
    return sqlite_mend(s, e) ? -1 : open_file(s, e);
}

struct store *sqlite_open(const struct sqlite_options *o, struct fumi_err *e)
{
    struct sqlite *s = make(o);
    if (open_file(s, e) == 0 || (o->mend && open_mended(s, e) == 0))
        return &s->base;
    close_store(&s->base);
    return NULL;
}
