/* Reading and writing single notes. A note, its keywords, its vectors, the counts of its tag set
 * and the change number are written in one transaction. Each row has a checksum of all its columns;
 * a row that does not match it is reported as damaged and never returned. */
#include "store/sqlite_changes.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"

#include <assert.h>
#include <endian.h>

enum {
    CHANGES_KEPT = 65536, /* on average */
    CHANGE_GAP = 1 << 20, /* maximum, between the numbers of two changes */
    PRUNE_EVERY = 256,    /* changes, on average */
};

/* A bijection of `word` for a given sum, so a change within one word always changes the result. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    return sum ^ sum >> 32;
}

uint64_t store_sqlite_sum_number(uint64_t sum, int64_t n)
{
    return mix(sum, (uint64_t)n);
}

uint64_t store_sqlite_sum_str(uint64_t sum, struct fumi_str s)
{
    sum = mix(sum, s.p ? s.n + 1 : 0);
    for (; s.n; s.p += 8, s.n -= 8) {
        uint64_t word = 0;
        memcpy(&word, s.p, s.n < 8 ? s.n : 8);
        sum = mix(sum, le64toh(word));
        if (s.n <= 8)
            break;
    }
    return sum;
}

/* FIRST_COLUMNS except `created`, in the order of the checksum. */
static const enum note_index summed[] = {NOTE_INDEX_ID,       NOTE_INDEX_PROJECT, NOTE_INDEX_GROUP,
                                         NOTE_INDEX_TAGS,     NOTE_INDEX_TITLE,   NOTE_INDEX_SOURCE,
                                         NOTE_INDEX_METADATA, NOTE_INDEX_TEXT};

/* A column that is newer than FIRST_COLUMNS counts only if it has a value, and with its name, so
 * further columns do not change the checksums of existing rows. */
static int64_t sum_of(const struct note *n, struct fumi_str tags_json)
{
    uint64_t sum = store_sqlite_sum_number(0, n->created.ms);
    for (size_t i = 0; i < FUMI_COUNT(summed); i++)
        sum = store_sqlite_sum_str(sum, summed[i] == NOTE_INDEX_TAGS ? tags_json
                                                                     : note_text_of(n, summed[i]));
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        struct fumi_str newer = note_text_of(n, i);
        struct fumi_time time = note_time_of(n, i);
        if (FIRST_COLUMNS >> i & 1 || (!newer.p && !time.set))
            continue;
        sum = store_sqlite_sum_str(sum, fumi_str(note_columns[i].name));
        sum = time.set ? store_sqlite_sum_number(sum, time.ms) : store_sqlite_sum_str(sum, newer);
    }
    return (int64_t)sum;
}

void store_sqlite_log_damage(struct store_sqlite *s, const char *what, struct fumi_str id)
{
    fumi_log(s->log, FUMI_ERROR, "store.damaged", {.key = "what", .text = fumi_str(what)},
             {.key = "id", .text = id},
             {.key = "remedy", .text = FUMI_STR("run fumi doctor, or restore a backup")});
}

struct fumi_str store_sqlite_id_shown(struct fumi_str id)
{
    return (struct fumi_str){id.p, id.n < 64 ? id.n : 64};
}

int store_sqlite_note_damaged(struct fumi_str id, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_LIMIT,
                        "Note %.*s is damaged in the database file: restore it from a backup, or "
                        "delete it; fumi doctor lists all such notes",
                        FUMI_ARG(store_sqlite_id_shown(id)));
}

#define SQL_NAME(T, at, NAME, member, type, wire, sql, ...) ", " sql
#define SQL_VALUE(T, at, NAME, ...)                         ", ?"
#define SQL_SET(T, at, NAME, member, type, wire, sql, ...)  ", " sql "=?"

/* The columns of struct note follow those of the store itself. */
#define COLUMNS                                                                                    \
    "SELECT seq, tag_set, version, checksum, chain" NOTE_COLUMNS(SQL_NAME, , ) " FROM notes "
enum { OWN_COLUMNS = 5 };

void store_sqlite_note_verify(struct stored *s, struct fumi_arena *a, struct fumi_str tags,
                              int64_t sum)
{
    struct fumi_err ignored;
    s->damaged = sum != sum_of(&s->note, tags) ||
                 store_sqlite_tags_read(a, tags, &s->note.tags, &ignored) != 0;
}

static struct fumi_time time_of(sqlite3_stmt *q, int column)
{
    return (struct fumi_time){sqlite3_column_int64(q, column),
                              sqlite3_column_type(q, column) != SQLITE_NULL};
}

/* The strings belong to SQLite and are valid until the statement is stepped or reset. Only the tags
 * are copied, because their parsed form refers to their text. */
static void view_row(sqlite3_stmt *q, struct fumi_arena *a, struct stored *out)
{
    struct fumi_str tags = {0};
    *out = (struct stored){
        .note = {.seq = sqlite3_column_int64(q, 0), .chain = sqlite3_column_int64(q, 4)},
        .tag_set = sqlite3_column_int64(q, 1),
        .version = sqlite3_column_int64(q, 2)};
    for (int i = 0; i < NOTE_INDEX_N; i++) {
        struct fumi_str *text = note_text_at(&out->note, (size_t)i);
        struct fumi_time *time = note_time_at(&out->note, (size_t)i);
        if (text)
            *text = store_sqlite_text(q, OWN_COLUMNS + i);
        else if (time)
            *time = time_of(q, OWN_COLUMNS + i);
        else if (i == NOTE_INDEX_TAGS)
            tags = store_sqlite_keep(q, OWN_COLUMNS + i, a);
    }
    store_sqlite_note_verify(out, a, tags, sqlite3_column_int64(q, 3));
}

/* Copies what view_row has not copied. */
static void keep_strings(struct note *n, struct fumi_arena *a)
{
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        struct fumi_str *text = note_text_at(n, i);
        if (text)
            *text = fumi_dup(a, *text);
    }
}

int store_sqlite_find(struct db *d, struct fumi_arena *a, struct fumi_str id, int64_t seq,
                      struct stored *out, struct fumi_err *e)
{
    sqlite3_stmt *q = id.p ? store_sqlite_query(d, e, COLUMNS "WHERE id=?1", "s", id)
                           : store_sqlite_query(d, e, COLUMNS "WHERE seq=?1", "i", seq);
    int found = q ? store_sqlite_row(d, q, e) : -1;
    if (found <= 0)
        return found;
    view_row(q, a, out);
    keep_strings(&out->note, a);
    store_sqlite_end(q);
    return 1;
}

static int show(const struct loading *to, struct note *n, struct notes *out, struct fumi_err *e)
{
    int verdict = loading_each(to, n, note_bytes(n), e);
    if (verdict == ROW_KEEP) {
        keep_strings(n, to->arena);
        out->items[out->n++] = *n;
    }
    return verdict < 0 ? -1 : verdict != ROW_END;
}

int store_sqlite_note_load(struct db *d, const struct loading *to, int64_t seq, struct notes *out,
                           size_t *shown, struct fumi_err *e)
{
    struct stored n;
    sqlite3_stmt *q = store_sqlite_query(d, e, COLUMNS "WHERE seq=?1", "i", seq);
    int found = q ? store_sqlite_row(d, q, e) : -1, rc = 1;
    if (found <= 0)
        return found < 0 ? -1 : 1;
    view_row(q, to->arena, &n);
    bool expired = !n.damaged && store_sqlite_note_expired(&n.note);
    *shown += !n.damaged && !expired;
    if (n.damaged)
        store_sqlite_log_damage(d->store, "a note", n.note.id);
    else if (!expired)
        rc = show(to, &n.note, out, e);
    store_sqlite_end(q);
    return rc;
}

/* Deletes the oldest changes now and then. A vector cache that is older is rebuilt. */
int store_sqlite_changes_prune(struct db *d, struct fumi_err *e)
{
    return store_sqlite_run(d, e, "DELETE FROM changes WHERE n<(SELECT max(n) FROM changes)-?1",
                            "i", (int64_t)CHANGES_KEPT * (CHANGE_GAP / 2));
}

int store_sqlite_note_changed(struct db *d, int64_t seq, struct fumi_err *e)
{
    assert(seq >= CHANGED_ELSE && !sqlite3_get_autocommit(d->h));
    static const char sql[] = "INSERT INTO changes(n, note) VALUES((SELECT coalesce(max(n), 0) "
                              "FROM changes) + 1 + (random() & ?1), ?2)";
    if (store_sqlite_run(d, e, sql, "ii", (int64_t)CHANGE_GAP - 1, seq))
        return -1;
    return sqlite3_last_insert_rowid(d->h) % PRUNE_EVERY ? 0 : store_sqlite_changes_prune(d, e);
}

static struct fumi_str tag_words(struct fumi_arena *a, struct fumi_strs tags)
{
    struct fumi_buf buf = {0};
    for (size_t i = 0; i < tags.n; i++) {
        fumi_buf_add(&buf, tags.items[i].p, tags.items[i].n);
        fumi_buf_put(&buf, '\n');
    }
    return fumi_buf_keep(&buf, a);
}

/* Adds the words of a note to those of its group (sign 1), or subtracts them (-1). */
static int count_words(struct db *d, const struct note *n, int64_t sign, struct fumi_err *e)
{
    return store_sqlite_run(d, e,
                            "UPDATE project_groups SET words=words+?4*words_in((SELECT sz FROM "
                            "words_docsize WHERE id=?1)) WHERE project=?2 AND group_key=?3",
                            "issi", n->seq, n->project, n->group, sign);
}

int store_sqlite_note_words(struct db *d, struct fumi_arena *a, const struct note *n,
                            struct fumi_err *e)
{
    d->ending = store_sqlite_words_ending(n->project, n->id);
    if (store_sqlite_run(d, e,
                         "INSERT INTO words(rowid, title, text, tags, source) "
                         "VALUES(?1, ?2, ?3, ?4, ?5)",
                         "issss", n->seq, n->title, n->text, tag_words(a, n->tags), n->source))
        return -1;
    return count_words(d, n, 1, e);
}

/* The index is contentless: to delete an entry, FTS5 needs exactly the text that was inserted. */
int store_sqlite_note_words_drop(struct db *d, struct fumi_arena *a, const struct note *n,
                                 struct fumi_err *e)
{
    d->ending = store_sqlite_words_ending(n->project, n->id);
    if (count_words(d, n, -1, e))
        return -1;
    return store_sqlite_run(d, e,
                            "INSERT INTO words(words, rowid, title, text, tags, source) "
                            "VALUES('delete', ?1, ?2, ?3, ?4, ?5)",
                            "issss", n->seq, n->title, n->text, tag_words(a, n->tags), n->source);
}

static int index_note(struct db *d, struct fumi_arena *a, int64_t seq, struct fumi_err *e)
{
    struct stored n;
    int found = store_sqlite_find(d, a, (struct fumi_str){0}, seq, &n, e);
    if (found > 0 && !n.damaged && store_sqlite_note_words(d, a, &n.note, e))
        found = -1;
    fumi_arena_reset(a, 1 << 20);
    return found < 0 ? -1 : 0;
}

int store_sqlite_words_rebuild(struct db *d, void *arg, struct fumi_err *e)
{
    (void)arg;
    struct fumi_arena a = {0};
    if (store_sqlite_run(d, e, "INSERT INTO words(words) VALUES('delete-all')", "") ||
        store_sqlite_run(d, e, "UPDATE project_groups SET words=0", ""))
        return -1;
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT seq FROM notes ORDER BY seq", "");
    int more = q ? 1 : -1, rc = 0;
    while (!rc && more > 0 && (more = store_sqlite_row(d, q, e)) > 0)
        rc = index_note(d, &a, sqlite3_column_int64(q, 0), e);
    if (rc)
        store_sqlite_end(q);
    fumi_arena_done(&a);
    return rc ? -1 : more;
}

static struct tag_set_key tag_set_of(struct fumi_arena *a, const struct note *n)
{
    return (struct tag_set_key){n->project, n->group, store_sqlite_tags_json(a, n->tags), n->tags,
                                n->superseded_by.p != NULL};
}

/* A note that is in the store already keeps its chain, unless a session determines it. */
static int64_t chain_of(const struct note *n)
{
    return n->session.p || n->writer ? note_chain(n) : n->chain;
}

/* A seq of 0 takes the next number. */
static int insert(struct db *d, const struct stored *s, struct fumi_str tags_json,
                  struct fumi_err *e)
{
    const struct note *n = &s->note;
    return store_sqlite_run(
        d, e,
        "INSERT INTO notes(seq, tag_set, version, checksum, chain, said" NOTE_COLUMNS(
            SQL_NAME,
            , ) ") VALUES(nullif(?1, 0), ?2, ?3, ?4, nullif(?5, 0), ?6" NOTE_COLUMNS(SQL_VALUE,
                                                                                     , ) ")",
        "iiiiiin", n->seq, s->tag_set, s->version, sum_of(n, tags_json), chain_of(n),
        note_said(n->project, n->group, n->text), n, tags_json);
}

int store_sqlite_note_put(struct db *d, struct fumi_arena *a, struct note *n,
                          const struct vectors *v, struct fumi_err *e)
{
    struct tag_set_key key = tag_set_of(a, n);
    struct stored now = {.note = *n, .version = 1};
    now.note.seq = 0;
    if (store_sqlite_tag_set_add(d, &key, &now.tag_set, e) || insert(d, &now, key.tags_json, e))
        return -1;
    n->seq = sqlite3_last_insert_rowid(d->h);
    return store_sqlite_note_words(d, a, n, e) || store_sqlite_vectors_put(d, n->seq, v, e) ||
                   store_sqlite_note_changed(d, n->seq, e)
               ? -1
               : 0;
}

int store_sqlite_note_save(struct db *d, struct fumi_arena *a, const struct stored *s,
                           struct fumi_err *e)
{
    assert(s->note.seq > 0 && !s->damaged);
    struct stored now = *s;
    struct tag_set_key p = tag_set_of(a, &s->note);
    if (store_sqlite_tag_set_add(d, &p, &now.tag_set, e) || insert(d, &now, p.tags_json, e))
        return -1;
    return store_sqlite_note_words(d, a, &s->note, e);
}

bool store_sqlite_note_expired(const struct note *n)
{
    return n->expires.set && n->expires.ms <= fumi_now();
}

struct get_note_args {
    struct fumi_arena *arena;
    struct fumi_str id;
    struct note *out;
};

static int get(struct db *d, void *arg, struct fumi_err *e)
{
    struct get_note_args *g = arg;
    struct stored found;
    int is = store_sqlite_note_find(d, g->arena, g->id, &found, e);
    if (is < 0)
        return -1;
    *g->out = found.note;
    return found.damaged ? store_sqlite_note_damaged(g->id, e) : 0;
}

int store_sqlite_get_note(struct store *s, struct fumi_arena *a, struct fumi_str id,
                          struct note *out, struct fumi_err *e)
{
    struct get_note_args g = {a, id.p ? id : FUMI_STR(""), out};
    return store_sqlite_read(s, get, &g, e);
}

int store_sqlite_note_find(struct db *d, struct fumi_arena *a, struct fumi_str id,
                           struct stored *out, struct fumi_err *e)
{
    int is = store_sqlite_find(d, a, id, 0, out, e);
    if (is < 0)
        return -1;
    return is && !store_sqlite_note_expired(&out->note)
               ? 0
               : fumi_err_set(e, ERR_NOT_FOUND, "Note not found");
}

/* Adds the new tag set before removing the old one, so that a tag set that the note keeps is not
 * deleted and created again. */
static int change_tag_set(struct db *d, const struct tag_set_key *p, int64_t *tag_set, unsigned set,
                          struct fumi_err *e)
{
    int64_t old = *tag_set;
    if (!(set & (NOTE_PROJECT | NOTE_GROUP | NOTE_TAGS | NOTE_SUPERSEDED_BY)))
        return 0;
    return store_sqlite_tag_set_add(d, p, tag_set, e) || store_sqlite_tag_set_remove(d, old, e) ? -1
                                                                                                : 0;
}

static int update(struct db *d, const struct note *n, const struct stored *to,
                  struct fumi_str tags_json, struct fumi_err *e)
{
    return store_sqlite_run(
        d, e,
        "UPDATE notes SET tag_set=?2, version=?3, checksum=?4, "
        "chain=nullif(?5, 0), said=?6" NOTE_COLUMNS(SQL_SET, , ) " WHERE seq=?1",
        "iiiiiin", n->seq, to->tag_set, to->version, sum_of(n, tags_json), chain_of(n),
        note_said(n->project, n->group, n->text), n, tags_json);
}

static int replace_words(struct db *d, struct fumi_arena *a, const struct note_rewrite *w,
                         struct fumi_err *e)
{
    if (!(w->set & (NOTE_TITLE | NOTE_TEXT | NOTE_TAGS | NOTE_SOURCE | NOTE_GROUP | NOTE_PROJECT)))
        return 0;
    return store_sqlite_note_words_drop(d, a, &w->old->note, e) ||
                   store_sqlite_note_words(d, a, w->now, e)
               ? -1
               : 0;
}

static int replace_vectors(struct db *d, const struct note_rewrite *w, struct fumi_err *e)
{
    const int64_t seq = w->old->note.seq;
    if (!(w->set & NOTE_TEXT))
        return 0;
    return store_sqlite_vectors_drop(d, seq, e) || store_sqlite_vectors_put(d, seq, w->vectors, e)
               ? -1
               : 0;
}

int store_sqlite_note_rewrite(struct db *d, struct fumi_arena *a, const struct note_rewrite *w,
                              struct fumi_err *e)
{
    struct stored to = *w->old;
    struct tag_set_key key = tag_set_of(a, w->now);
    to.version += !!(w->set & NOTE_TEXT);
    if (change_tag_set(d, &key, &to.tag_set, w->set, e) || update(d, w->now, &to, key.tags_json, e))
        return -1;
    return replace_words(d, a, w, e) || replace_vectors(d, w, e) ||
                   store_sqlite_note_changed(d, w->now->seq, e)
               ? -1
               : 0;
}

/* The keywords of a damaged note cannot be deleted, because its text is not known. They stay in the
 * index, but a search ignores entries without a note. */
int store_sqlite_note_drop(struct db *d, struct fumi_arena *a, const struct stored *n,
                           struct fumi_err *e)
{
    if (store_sqlite_run(d, e, "DELETE FROM notes WHERE seq=?1", "i", n->note.seq) ||
        store_sqlite_run(d, e, "DELETE FROM uses WHERE note=?1", "i", n->note.seq) ||
        store_sqlite_tag_set_remove(d, n->tag_set, e) ||
        store_sqlite_vectors_drop(d, n->note.seq, e) ||
        (!n->damaged && store_sqlite_note_words_drop(d, a, &n->note, e)))
        return -1;
    if (n->damaged)
        store_sqlite_log_damage(d->store, "a note that was deleted", n->note.id);
    return store_sqlite_note_changed(d, n->note.seq, e);
}
