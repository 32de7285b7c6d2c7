/* Embedding in the background: finds the notes without vectors in a space, adds their vectors, and
 * deletes spaces that are no longer used. */
#include "store/sqlite_counts.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

enum {
    AT_ONCE = 4096,        /* vectors per transaction when spaces are deleted */
    LIST_BYTES = 16 << 10, /* of texts: a list ends with the note that reaches this size */
};

/* Sets *all to the number of notes, *have to the number of notes with vectors in the space. */
static int count(struct db *d, struct fumi_str space, int64_t *have, int64_t *all,
                 struct fumi_err *e)
{
    static const struct fumi_str every = {0};
    struct project_counts counts;
    *have = *all = 0;
    if (store_sqlite_count_project(d, every, &counts, e))
        return -1;
    *all = counts.notes;
    int found = store_sqlite_number(d, e, have, "SELECT notes FROM spaces WHERE name=?1", "s",
                                    space);
    return found < 0 ? -1 : 0;
}

struct list_unembedded_args {
    struct fumi_arena *arena;
    struct fumi_str space;
    int64_t after;
    size_t limit, bytes;
    struct unembeddeds *out;
};

/* Damaged notes are omitted, because their text is not known. */
static int take_note(struct db *d, struct list_unembedded_args *l, int64_t seq, struct fumi_err *e)
{
    struct stored n;
    int found = store_sqlite_find(d, l->arena, (struct fumi_str){0}, seq, &n, e);
    if (found <= 0)
        return found;
    if (n.damaged)
        store_sqlite_log_damage(d->store, "a note", n.note.id);
    else
        l->out->items[l->out->n++] = (struct unembedded){
            .seq = seq, .text = n.note.text, .version = n.version};
    l->bytes += n.note.text.n;
    return 0;
}

static int list_some(struct db *d, struct list_unembedded_args *l, int64_t space,
                     struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(
        d, e,
        "SELECT seq FROM notes WHERE seq>?1 AND NOT EXISTS (SELECT 1 "
        "FROM vectors WHERE note=seq AND space=?2) ORDER BY seq",
        "ii", l->after, space);
    int more = q ? 1 : -1;
    l->bytes = 0;
    while (more > 0 && l->out->n < l->limit && l->bytes < LIST_BYTES &&
           (more = store_sqlite_row(d, q, e)) > 0)
        if (take_note(d, l, sqlite3_column_int64(q, 0), e)) {
            store_sqlite_end(q);
            return -1;
        }
    if (more > 0)
        store_sqlite_end(q);
    return more < 0 ? -1 : 0;
}

static int list_unembedded(struct db *d, void *arg, struct fumi_err *e)
{
    struct list_unembedded_args *l = arg;
    int64_t have, all, space = 0;
    *l->out = (struct unembeddeds){0};
    if (count(d, l->space, &have, &all, e))
        return -1;
    if (have >= all || !l->limit)
        return 0;
    if (store_sqlite_number(d, e, &space, "SELECT space FROM spaces WHERE name=?1", "s", l->space) <
        0)
        return -1;
    size_t most = l->limit < (size_t)all ? l->limit : (size_t)all;
    l->limit = most;
    l->out->items = fumi_alloc(l->arena, most * sizeof(*l->out->items));
    return list_some(d, l, space, e);
}

int store_sqlite_list_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                                 int64_t after, size_t limit, struct unembeddeds *out,
                                 struct fumi_err *e)
{
    struct list_unembedded_args l = {a, space, after, limit, 0, out};
    return store_sqlite_read(s, list_unembedded, &l, e);
}

struct load_unembedded_args {
    struct list_unembedded_args list;
    const int64_t *seqs;
    size_t n;
};

static int load_unembedded(struct db *d, void *arg, struct fumi_err *e)
{
    struct load_unembedded_args *l = arg;
    int64_t space = 0, ignored;
    l->list.out->n = 0;
    if (store_sqlite_number(d, e, &space, "SELECT space FROM spaces WHERE name=?1", "s",
                            l->list.space) < 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        int has = store_sqlite_number(d, e, &ignored,
                                      "SELECT 1 FROM vectors WHERE note=?1 AND space=?2", "ii",
                                      l->seqs[i], space);
        if (has < 0 || (!has && take_note(d, &l->list, l->seqs[i], e)))
            return -1;
    }
    return 0;
}

int store_sqlite_load_unembedded(struct store *s, struct fumi_arena *a, struct fumi_str space,
                                 const int64_t *seqs, size_t n, struct unembeddeds *out,
                                 struct fumi_err *e)
{
    struct load_unembedded_args l = {
        .list = {.arena = a, .space = space, .out = out}, .seqs = seqs, .n = n};
    *out = (struct unembeddeds){.items = fumi_alloc(a, (n + 1) * sizeof(*out->items))};
    return store_sqlite_read(s, load_unembedded, &l, e);
}

struct add_vectors_args {
    const struct unembedded *notes;
    const struct vectors *vectors;
    size_t n;
};

static int fill_one(struct db *d, const struct unembedded *n, const struct vectors *v,
                    struct fumi_err *e)
{
    int64_t version = 0, space;
    int found = store_sqlite_number(d, e, &version, "SELECT version FROM notes WHERE seq=?1", "i",
                                    n->seq);
    if (found < 0)
        return -1;
    if (!found || version != n->version || !v->n)
        return 0;
    if (store_sqlite_space(d, v->space, v->dim, true, &space, e) ||
        store_sqlite_vectors_drop_in(d, n->seq, space, e))
        return -1;
    return store_sqlite_vectors_put(d, n->seq, v, e) || store_sqlite_note_changed(d, n->seq, e) ? -1
                                                                                                : 0;
}

static int fill(struct db *d, void *arg, struct fumi_err *e)
{
    struct add_vectors_args *f = arg;
    for (size_t i = 0; i < f->n; i++)
        if (fill_one(d, &f->notes[i], &f->vectors[i], e))
            return -1;
    return 0;
}

int store_sqlite_add_vectors(struct store *s, const struct unembedded *notes,
                             const struct vectors *v, size_t n, struct fumi_err *e)
{
    struct add_vectors_args f = {notes, v, n};
    return store_sqlite_write(s, fill, &f, e);
}

struct embedding_progress_args {
    struct fumi_str space;
    int64_t *have, *all;
};

static int progress(struct db *d, void *arg, struct fumi_err *e)
{
    struct embedding_progress_args *p = arg;
    return count(d, p->space, p->have, p->all, e);
}

int store_sqlite_embedding_progress(struct store *s, struct fumi_str space, int64_t *have,
                                    int64_t *all, struct fumi_err *e)
{
    struct embedding_progress_args p = {space, have, all};
    return store_sqlite_read(s, progress, &p, e);
}

struct count_unembedded_args {
    struct fumi_str project, space;
    int64_t *out;
};

/* Looks for the notes that lack vectors from the newest note on, and stops when all are found. */
static int count_unembedded(struct db *d, void *arg, struct fumi_err *e)
{
    static const char sql[] =
        "SELECT count(*) FILTER (WHERE project=?1) FROM (SELECT project FROM notes WHERE NOT "
        "EXISTS (SELECT 1 FROM vectors WHERE note=seq AND space=(SELECT space FROM spaces WHERE "
        "name=?2)) ORDER BY seq DESC LIMIT ?3)";
    const struct count_unembedded_args *p = arg;
    int64_t have, all;
    if (count(d, p->space, &have, &all, e))
        return -1;
    *p->out = all > have ? all - have : 0;
    if (!*p->out || !p->project.p)
        return 0;
    return store_sqlite_number(d, e, p->out, sql, "ssi", p->project, p->space, *p->out) < 0 ? -1
                                                                                            : 0;
}

int store_sqlite_count_unembedded(struct store *s, struct fumi_str project, struct fumi_str space,
                                  int64_t *out, struct fumi_err *e)
{
    struct count_unembedded_args p = {project, space, out};
    return store_sqlite_read(s, count_unembedded, &p, e);
}

struct delete_spaces_args {
    struct fumi_str keep, also;
    int64_t next, last; /* range of vector numbers that remains */
};

/* Deletes the spaces. Their vectors then belong to no space and are not found any more. */
static int drop_names(struct db *d, void *arg, struct fumi_err *e)
{
    struct delete_spaces_args *k = arg;
    if (store_sqlite_run(d, e, "DELETE FROM spaces WHERE name IS NOT ?1 AND name IS NOT ?2", "ss",
                         k->keep, k->also))
        return -1;
    int gone = sqlite3_changes(d->h);
    if (store_sqlite_number(d, e, &k->next, "SELECT coalesce(min(vector), 1) FROM vectors", "") <
            0 ||
        store_sqlite_number(d, e, &k->last, "SELECT coalesce(max(vector), 0) FROM vectors", "") < 0)
        return -1;
    return gone ? store_sqlite_note_changed(d, 0, e) : 0;
}

static int drop_some(struct db *d, void *arg, struct fumi_err *e)
{
    struct delete_spaces_args *k = arg;
    return store_sqlite_run(d, e,
                            "DELETE FROM vectors WHERE vector>=?1 AND vector<?2 "
                            "AND space NOT IN (SELECT space FROM spaces)",
                            "ii", k->next, k->next + AT_ONCE);
}

/* In many small transactions, so that other writers do not wait for long. */
int store_sqlite_delete_spaces(struct store *s, struct fumi_str keep, struct fumi_str also,
                               struct fumi_err *e)
{
    struct delete_spaces_args k = {.keep = keep, .also = also};
    if (store_sqlite_write(s, drop_names, &k, e))
        return -1;
    for (; k.next <= k.last; k.next += AT_ONCE)
        if (store_sqlite_write(s, drop_some, &k, e))
            return -1;
    return 0;
}
