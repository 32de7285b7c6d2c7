/* How notes are added, corrected and deleted: what says the same is stored once, and a note that
 * supersedes others marks them. Each change of a note is written to the journal. */
#include "store/sqlite_changes.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_merge.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"
#include "base/clock.h"

enum { ALL_MEMBERS = (1 << NOTE_INDEX_N) - 1 };

static int journal(struct db *d, struct store_sqlite_change *c, enum change_op op,
                   const struct note *n, struct fumi_str before, struct fumi_err *e)
{
    return store_sqlite_journal(d, c, &(struct journal_row){op, n->project, n->id, before}, e);
}

int store_sqlite_change_add(struct db *d, struct store_sqlite_change *c, struct note *n,
                            const struct vectors *v, struct fumi_err *e)
{
    return store_sqlite_note_put(d, c->arena, n, v, e) ||
                   journal(d, c, CHANGE_ADD, n, (struct fumi_str){0}, e)
               ? -1
               : 0;
}

/* A note in another group or project is in another chain; so it is after an undo, which sets
 * to->chain. */
static int64_t chain_after(const struct note *old, const struct note *to)
{
    if (fumi_eq(old->project, to->project) && fumi_eq(old->group, to->group))
        return old->chain;
    return to->chain != old->chain ? to->chain : 0;
}

int store_sqlite_change_note(struct db *d, struct store_sqlite_change *c, const struct stored *old,
                             const struct note *to, unsigned set, const struct vectors *v,
                             struct fumi_err *e)
{
    struct note now = old->note;
    unsigned differ = 0;
    note_assign(&now, to, set);
    now.chain = to->chain;
    now.chain = chain_after(&old->note, &now);
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        differ |= note_same_member(&old->note, &now, i) ? 0 : 1u << i;
    if (store_sqlite_note_rewrite(d, c->arena, &(struct note_rewrite){old, &now, set, v}, e))
        return -1;
    if (!differ)
        return 0;
    int64_t chain = now.chain != old->note.chain ? old->note.chain : 0;
    return journal(d, c, CHANGE_UPDATE, &old->note,
                   store_sqlite_before(c->arena, &journal_note, &old->note, differ, chain), e);
}

/* Sets the successor of a note; null: it becomes current. */
static int set_successor(struct db *d, struct store_sqlite_change *c, const struct stored *old,
                         struct fumi_str successor, struct fumi_err *e)
{
    struct note to = old->note;
    to.superseded_by = successor;
    return store_sqlite_change_note(d, c, old, &to, NOTE_SUPERSEDED_BY, NULL, e);
}

/* The numbers of the rows that a statement selects, because they are changed afterwards. */
struct seqs {
    int64_t *items;
    size_t n, cap;
};

static int collect(struct db *d, struct fumi_arena *a, sqlite3_stmt *q, struct seqs *out,
                   struct fumi_err *e)
{
    int more = q ? 1 : -1;
    *out = (struct seqs){0};
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        out->items = store_sqlite_room(a, out->items, out->n, &out->cap, sizeof(*out->items));
        out->items[out->n++] = sqlite3_column_int64(q, 0);
    }
    return more;
}

static int release_one(struct db *d, struct store_sqlite_change *c, int64_t seq,
                       struct fumi_str successor, struct fumi_err *e)
{
    struct stored one;
    int found = store_sqlite_find(d, c->arena, (struct fumi_str){0}, seq, &one, e);
    if (found <= 0 || one.damaged)
        return found < 0 ? -1 : 0;
    return set_successor(d, c, &one, successor, e) ||
                   store_sqlite_change_settle(d, c, one.note.id, false, e)
               ? -1
               : 0;
}

/* Gives the notes that `removed` supersedes its successor, except for those of the project `with`
 * (null: none). Of an undo, these rows put nothing back. */
static int release(struct db *d, struct store_sqlite_change *c, const struct note *removed,
                   struct fumi_str with, struct fumi_err *e)
{
    struct seqs all;
    int64_t undoes = c->undoes;
    int rc = collect(d, c->arena,
                     store_sqlite_query(d, e,
                                        "SELECT seq FROM notes WHERE superseded_by=?1 AND (?2 IS "
                                        "NULL OR project<>?2)",
                                        "ss", removed->id, with),
                     &all, e);
    c->undoes = 0;
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = release_one(d, c, all.items[i], removed->superseded_by, e);
    c->undoes = undoes;
    return rc;
}

int store_sqlite_change_release(struct db *d, struct store_sqlite_change *c,
                                const struct note *removed, struct fumi_err *e)
{
    return release(d, c, removed, (struct fumi_str){0}, e);
}

/* The journal cannot keep a damaged note. */
int store_sqlite_change_remove(struct db *d, struct store_sqlite_change *c,
                               const struct stored *old, enum change_op op, struct fumi_err *e)
{
    struct fumi_str before = {0};
    if (!old->damaged)
        before = store_sqlite_before(c->arena, &journal_note, &old->note, ALL_MEMBERS,
                                     old->note.chain);
    if (journal(d, c, op, &old->note, before, e) || store_sqlite_note_drop(d, c->arena, old, e))
        return -1;
    return store_sqlite_change_release(d, c, &old->note, e);
}

/* Current notes of the project with the key, except for the note `seq`. */
static int with_key(struct db *d, struct fumi_arena *a, const struct note *n, struct seqs *out,
                    struct fumi_err *e)
{
    return collect(d, a,
                   store_sqlite_query(d, e,
                                      "SELECT seq FROM notes WHERE project=?1 AND key=?2 AND "
                                      "superseded_by IS NULL AND seq<>?3",
                                      "ssi", n->project, n->key, n->seq),
                   out, e);
}

static void add_id(struct fumi_arena *a, struct fumi_strs *list, struct fumi_str id)
{
    struct fumi_str *items = fumi_alloc(a, (list->n + 1) * sizeof(*items));
    if (list->n)
        memcpy(items, list->items, list->n * sizeof(*items));
    items[list->n] = id;
    *list = (struct fumi_strs){items, list->n + 1};
}

/* The note becomes the successor of the current notes with its key; see settle. */
static int supersede_key(struct db *d, struct store_sqlite_change *c, const struct note *n,
                         bool last, struct fumi_strs *done, struct fumi_err *e)
{
    struct seqs others;
    if (!n->key.p || n->superseded_by.p)
        return 0;
    if (with_key(d, c->arena, n, &others, e))
        return -1;
    for (size_t i = 0; i < others.n; i++) {
        struct stored other;
        int found = store_sqlite_find(d, c->arena, (struct fumi_str){0}, others.items[i], &other,
                                      e);
        if (found <= 0 || other.damaged) {
            if (found < 0)
                return -1;
            continue;
        }
        if (!last && other.note.created.ms > n->created.ms) {
            struct stored own;
            if (store_sqlite_find(d, c->arena, n->id, 0, &own, e) < 0)
                return -1;
            return set_successor(d, c, &own, other.note.id, e);
        }
        if (set_successor(d, c, &other, n->id, e))
            return -1;
        if (done)
            add_id(c->arena, done, other.note.id);
    }
    return 0;
}

int store_sqlite_change_settle(struct db *d, struct store_sqlite_change *c, struct fumi_str id,
                               bool last, struct fumi_err *e)
{
    struct stored n;
    int found = store_sqlite_find(d, c->arena, id, 0, &n, e);
    if (found <= 0 || n.damaged)
        return found < 0 ? -1 : 0;
    return supersede_key(d, c, &n.note, last, NULL, e);
}

/* A cycle, which a damaged file may have, ends the search: `mark` is a note that the search has
 * passed, and moves on after 1, 2, 4 ... steps. */
int store_sqlite_is_successor(struct db *d, struct fumi_arena *a, struct fumi_str of,
                              struct fumi_str id, struct fumi_err *e)
{
    struct fumi_str mark = {0};
    struct stored s;
    for (size_t i = 1; of.p && !fumi_eq(of, id); i++, of = s.note.superseded_by) {
        int found = store_sqlite_find(d, a, of, 0, &s, e);
        if (found <= 0)
            return found;
        if (mark.p && fumi_eq(of, mark))
            return 0;
        mark = i & (i - 1) ? mark : of;
    }
    return of.p != NULL;
}

/* Finds the notes that `n` is to supersede, before anything is changed. */
static int find_superseded(struct db *d, struct fumi_arena *a, const struct note *n,
                           struct fumi_strs ids, struct stored *out, struct fumi_err *e)
{
    for (size_t i = 0; i < ids.n; i++) {
        struct fumi_str id = ids.items[i];
        int found = store_sqlite_find(d, a, id, 0, &out[i], e);
        int cycle = found > 0 ? store_sqlite_is_successor(d, a, n->id, id, e) : 0;
        if (found < 0 || cycle < 0)
            return -1;
        if (!found || !fumi_eq(out[i].note.project, n->project))
            return fumi_err_set(e, ERR_NOT_FOUND,
                                "supersedes: this project has no note with the id %.*s",
                                FUMI_ARG(store_sqlite_id_shown(id)));
        if (cycle)
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "supersedes: the note would supersede itself: leave out the id "
                                "%.*s",
                                FUMI_ARG(store_sqlite_id_shown(id)));
        if (out[i].damaged)
            return store_sqlite_note_damaged(id, e);
    }
    return 0;
}

static bool is_repeated(struct fumi_strs ids, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (fumi_eq(ids.items[i], ids.items[at]))
            return true;
    return false;
}

static int supersede(struct db *d, struct store_sqlite_change *c, const struct note *n,
                     const struct stored *old, struct fumi_strs ids, struct fumi_strs *done,
                     struct fumi_err *e)
{
    for (size_t i = 0; i < ids.n; i++) {
        bool done_before = old[i].note.superseded_by.p && fumi_eq(old[i].note.superseded_by, n->id);
        if (done_before || is_repeated(ids, i))
            continue;
        if (set_successor(d, c, &old[i], n->id, e))
            return -1;
        add_id(c->arena, done, old[i].note.id);
    }
    return 0;
}

/* The state of adding, updating or deleting a note. `how` is never NULL. */
struct changing {
    struct fumi_arena *arena;
    struct fumi_str id;
    struct note *note;     /* add: the new note */
    const struct note *to; /* update */
    unsigned set;
    struct note_change *how;
};

static struct store_sqlite_change begin(const struct changing *p)
{
    p->how->duplicate = false;
    p->how->superseded = (struct fumi_strs){0};
    p->how->change = 0;
    return store_sqlite_change_begin(p->how->by, p->arena);
}

/* Marks the notes that `n` supersedes, by id and by key. */
static int correct(struct db *d, struct store_sqlite_change *c, const struct changing *p,
                   const struct note *n, const struct stored *old, struct fumi_err *e)
{
    struct fumi_strs *done = &p->how->superseded;
    if (supersede(d, c, n, old, p->how->supersedes, done, e) ||
        supersede_key(d, c, n, true, done, e))
        return -1;
    p->how->change = c->change;
    return 0;
}

static bool same_or_absent(struct fumi_str given, struct fumi_str stored)
{
    return !given.p || (stored.p && fumi_eq(given, stored));
}

/* Whether a stored note already says what `n` says. */
static bool says_the_same(const struct note *n, const struct stored *is)
{
    const struct note *s = &is->note;
    return !is->damaged && !s->superseded_by.p && !store_sqlite_note_expired(s) &&
           fumi_eq(s->project, n->project) && fumi_eq(s->group, n->group) &&
           fumi_eq(note_trimmed(s->text), note_trimmed(n->text)) &&
           same_or_absent(n->title, s->title) && same_or_absent(n->source, s->source) &&
           same_or_absent(n->metadata.text, s->metadata.text) && same_or_absent(n->key, s->key) &&
           (!n->expires.set || (s->expires.set && s->expires.ms == n->expires.ms));
}

/* Returns 1 with the oldest note that says the same; 0 if there is none; -1 with *e set. */
static int find_same(struct db *d, struct fumi_arena *a, const struct note *n, struct stored *out,
                     struct fumi_err *e)
{
    struct seqs all;
    if (n->superseded_by.p)
        return 0;
    if (collect(d, a,
                store_sqlite_query(d, e, "SELECT seq FROM notes WHERE said=?1 ORDER BY seq", "i",
                                   note_said(n->project, n->group, n->text)),
                &all, e))
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        int found = store_sqlite_find(d, a, (struct fumi_str){0}, all.items[i], out, e);
        if (found < 0 || (found && says_the_same(n, out)))
            return found;
    }
    return 0;
}

static bool has_tag(const struct note *n, struct fumi_str tag)
{
    for (size_t i = 0; i < n->tags.n; i++)
        if (fumi_eq(n->tags.items[i], tag))
            return true;
    return false;
}

/* Adds the tags of the note that the stored one lacks. */
static int add_tags(struct db *d, struct store_sqlite_change *c, const struct note *n,
                    const struct stored *is, struct fumi_err *e)
{
    struct note to = is->note;
    size_t had = to.tags.n;
    to.tags.items = fumi_alloc(c->arena, (had + n->tags.n) * sizeof(*to.tags.items));
    if (had)
        memcpy(to.tags.items, is->note.tags.items, had * sizeof(*to.tags.items));
    for (size_t i = 0; i < n->tags.n && to.tags.n < NOTE_TAGS_MAX; i++)
        if (!has_tag(&to, n->tags.items[i]))
            to.tags.items[to.tags.n++] = n->tags.items[i];
    return to.tags.n > had ? store_sqlite_change_note(d, c, is, &to, NOTE_TAGS, NULL, e) : 0;
}

static int put_once(struct db *d, struct changing *p, struct store_sqlite_change *c,
                    struct fumi_err *e)
{
    struct stored is, *old = fumi_alloc(p->arena, p->how->supersedes.n * sizeof(*old));
    int same = p->how->allow_duplicate ? 0 : find_same(d, p->arena, p->note, &is, e);
    const struct note *n = same > 0 ? &is.note : p->note;
    if (same < 0 || find_superseded(d, p->arena, n, p->how->supersedes, old, e))
        return -1;
    if (same ? add_tags(d, c, p->note, &is, e)
             : store_sqlite_change_add(d, c, p->note, p->how->vectors, e))
        return -1;
    p->how->duplicate = same;
    if (same) {
        p->note->id = is.note.id;
        p->note->seq = is.note.seq;
    }
    return correct(d, c, p, n, old, e);
}

static int put(struct db *d, void *arg, struct fumi_err *e)
{
    struct changing *p = arg;
    struct store_sqlite_change c = begin(p);
    int64_t there;
    p->note->id = p->id;
    int found = store_sqlite_number(d, e, &there, "SELECT 1 FROM notes WHERE id=?1", "s", p->id);
    if (found)
        return found < 0 ? -1 : fumi_err_set(e, ERR_CONFLICT, "A note with this id exists");
    return put_once(d, p, &c, e);
}

int store_sqlite_add_note(struct store *s, struct fumi_arena *a, struct note *n,
                          struct note_change *change, struct fumi_err *e)
{
    struct note_change none = {.by = NULL};
    struct changing p = {.arena = a, .id = n->id, .note = n, .how = change ? change : &none};
    int rc = store_sqlite_write(s, put, &p, e);
    n->seq = rc ? 0 : n->seq;
    return rc;
}

static int patch(struct db *d, void *arg, struct fumi_err *e)
{
    struct changing *p = arg;
    struct store_sqlite_change c = begin(p);
    struct stored is, *old = fumi_alloc(p->arena, p->how->supersedes.n * sizeof(*old));
    if (store_sqlite_note_find(d, p->arena, p->id, &is, e))
        return -1;
    if (is.damaged)
        return store_sqlite_note_damaged(p->id, e);
    struct note now = is.note;
    note_assign(&now, p->to, p->set);
    if (find_superseded(d, p->arena, &now, p->how->supersedes, old, e) ||
        (p->set && store_sqlite_change_note(d, &c, &is, &now, p->set, p->how->vectors, e)) ||
        (!fumi_eq(now.project, is.note.project) && release(d, &c, &is.note, now.project, e)))
        return -1;
    return correct(d, &c, p, &now, old, e);
}

int store_sqlite_update_note(struct store *s, struct fumi_arena *a, struct fumi_str id,
                             const struct note *to, unsigned set, struct note_change *change,
                             struct fumi_err *e)
{
    struct note_change none = {.by = NULL};
    struct changing p = {.arena = a,
                         .id = id.p ? id : FUMI_STR(""),
                         .to = to,
                         .set = set,
                         .how = change ? change : &none};
    return store_sqlite_write(s, patch, &p, e);
}

static int drop_global(struct db *d, struct store_sqlite_change *c, struct fumi_str id,
                       struct fumi_err *e)
{
    struct global g;
    bool valid;
    int found = store_sqlite_global_find(d, c->arena, id, &g, &valid, e);
    if (found <= 0)
        return found < 0 ? -1 : fumi_err_set(e, ERR_NOT_FOUND, "Not found");
    return store_sqlite_global_drop(d, c, &g, valid, e);
}

static int drop(struct db *d, void *arg, struct fumi_err *e)
{
    struct changing *p = arg;
    struct store_sqlite_change c = begin(p);
    struct stored found;
    int is = store_sqlite_find(d, p->arena, p->id, 0, &found, e);
    if (is < 0 || (is ? store_sqlite_change_remove(d, &c, &found, CHANGE_DELETE, e)
                      : drop_global(d, &c, p->id, e)))
        return -1;
    p->how->change = c.change;
    return 0;
}

int store_sqlite_delete(struct store *s, struct fumi_arena *a, struct fumi_str id,
                        struct note_change *change, struct fumi_err *e)
{
    struct note_change none = {.by = NULL};
    struct changing p = {
        .arena = a, .id = id.p ? id : FUMI_STR(""), .how = change ? change : &none};
    return store_sqlite_write(s, drop, &p, e);
}

struct expiring {
    size_t limit;
    bool more;
    struct fumi_arena arena;
};

static int expire(struct db *d, void *arg, struct fumi_err *e)
{
    struct expiring *x = arg;
    struct store_sqlite_change c = store_sqlite_change_begin(NULL, &x->arena);
    struct seqs all;
    if (collect(d, &x->arena,
                store_sqlite_query(d, e, "SELECT seq FROM notes WHERE expires<=?1 LIMIT ?2", "ii",
                                   c.at, (int64_t)x->limit),
                &all, e))
        return -1;
    x->more = all.n == x->limit;
    for (size_t i = 0; i < all.n; i++) {
        struct stored one;
        int found = store_sqlite_find(d, &x->arena, (struct fumi_str){0}, all.items[i], &one, e);
        if (found < 0 || (found && store_sqlite_change_remove(d, &c, &one, CHANGE_EXPIRE, e)))
            return -1;
    }
    return 0;
}

static int look_for_expired(struct db *d, void *arg, struct fumi_err *e)
{
    int64_t *any = arg;
    return store_sqlite_number(d, e, any, "SELECT 1 FROM notes WHERE expires<=?1 LIMIT 1", "i",
                               fumi_now()) < 0
               ? -1
               : 0;
}

int store_sqlite_expire(struct store *s, size_t limit, bool *more, struct fumi_err *e)
{
    struct expiring x = {.limit = limit};
    int64_t any = 0;
    int rc = store_sqlite_read(s, look_for_expired, &any, e);
    if (!rc && any && limit)
        rc = store_sqlite_write(s, expire, &x, e);
    fumi_arena_done(&x.arena);
    *more = x.more;
    return rc;
}

enum { ID_FREE, ID_SAME, ID_ELSE }; /* unused; of an equal note; of another row */

/* Finds out what has the id. Returns -1 with *e set, also if a note of the project differs. */
static int look(struct db *d, struct fumi_arena *a, const struct note *now, struct fumi_err *e)
{
    struct stored is;
    int found = store_sqlite_find(d, a, now->id, 0, &is, e);
    int taken = found ? found : store_sqlite_id_taken(d, now->id, e);
    if (taken <= 0)
        return taken < 0 ? -1 : ID_FREE;
    if (!found || !fumi_eq(is.note.project, now->project))
        return ID_ELSE;
    if (!is.damaged && note_same(now, &is.note))
        return ID_SAME;
    return fumi_err_set(e, ERR_CONFLICT, "a note with the id %.*s exists and %s",
                        FUMI_ARG(store_sqlite_id_shown(now->id)),
                        is.damaged ? "is damaged" : "differs");
}

/* A note that is imported does not supersede one with its key that was created later. */
static int merge_new(struct db *d, struct store_sqlite_merging *m, struct fumi_err *e)
{
    struct note *now = &m->now.note;
    struct stored is;
    int same = find_same(d, m->arena, now, &is, e);
    if (same < 0)
        return -1;
    if (same) {
        now->id = is.note.id;
        m->now.outcome = MERGED_EQUAL;
        return add_tags(d, m->change, now, &is, e);
    }
    if (!now->created.set)
        now->created = (struct fumi_time){fumi_now(), true};
    return store_sqlite_change_add(d, m->change, now, NULL, e) ||
                   store_sqlite_change_settle(d, m->change, now->id, false, e)
               ? -1
               : 0;
}

int store_sqlite_merge_note(struct db *d, void *arg, struct fumi_err *e)
{
    struct store_sqlite_merging *m = arg;
    struct note *now = &m->now.note;
    int found = ID_ELSE;
    store_sqlite_merge_begin(m);
    m->now.outcome = MERGED_ADDED;
    for (int i = 0; i < MERGE_IDS && (found = look(d, m->arena, now, e)) == ID_ELSE; i++) {
        now->id = store_sqlite_id_next(m->arena, now->id, now->project);
        m->now.outcome = MERGED_RENAMED;
    }
    if (found == ID_ELSE)
        return store_sqlite_id_none(m->given->note.id, e);
    if (found == ID_SAME)
        m->now.outcome = MERGED_SAME;
    if (found != ID_FREE)
        return found < 0 ? -1 : 0;
    return merge_new(d, m, e);
}
