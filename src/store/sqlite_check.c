/* Checks the whole database and repairs it. Data that can be derived from the notes is rebuilt:
 * indexes, keywords, tag sets, counts, the vector cache. Invalid vectors are deleted, and their
 * notes are embedded again. A damaged text can only be restored from a backup. If damage remains,
 * all readable rows are written into a new file (sqlite_salvage.c). */
#include "store/scan.h"
#include "store/sqlite_erase.h"
#include "store/sqlite_index.h"
#include "store/sqlite_journal.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <stdio.h>
#include <unistd.h>

struct check {
    struct store *store;
    bool repair, quiet;
    bool repaired; /* something was repaired, so the vector cache is made again */
    void (*print)(void *arg, const char *sentence);
    void *arg;
    struct fumi_arena arena;
    int64_t faults; /* found by the current check */
    int64_t lost;   /* damaged notes, groups and globals, which cannot be rebuilt */
};

__attribute__((format(printf, 2, 3))) static void report(struct check *x, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (x->print && !x->quiet)
        x->print(x->arg, text);
}

static int look_at_schema(struct db *d, struct check *x, struct fumi_err *e)
{
    const char *sql;
    int missing = store_sqlite_schema_missing(d, &sql, e);
    if (missing > 0)
        report(x, "An index is missing: %s.", sql);
    x->faults += missing > 0;
    return missing < 0 ? -1 : 0;
}

static int look_at_pages(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    sqlite3_stmt *q = store_sqlite_query(d, e, "PRAGMA integrity_check(20)", "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        struct fumi_str text = store_sqlite_text(q, 0);
        if (fumi_eq(text, FUMI_STR("ok")))
            continue;
        x->faults++;
        report(x, "Damage in the file: %.*s.", FUMI_ARG(text));
    }
    return more < 0 || store_sqlite_schema_check(d, e) ? -1 : look_at_schema(d, x, e);
}

static int repair_indexes(struct db *d, void *arg, struct fumi_err *e)
{
    return store_sqlite_run(d, e, "REINDEX", "") || store_sqlite_schema_complete(d, arg, e) ? -1
                                                                                            : 0;
}

static void report_lost(void *arg, const char *what, struct fumi_str id)
{
    struct check *x = arg;
    x->lost++;
    report(x, "The %s %.*s is damaged: restore it from a backup, or delete it.", what,
           (int)(id.n < 64 ? id.n : 64), id.p);
}

static int look_at_note(struct db *d, struct check *x, int64_t seq, struct fumi_err *e)
{
    struct stored n;
    int found = store_sqlite_find(d, &x->arena, (struct fumi_str){0}, seq, &n, e);
    if (found > 0 && n.damaged)
        report_lost(x, "note", n.note.id);
    fumi_arena_reset(&x->arena, 1 << 20);
    return found < 0 ? -1 : 0;
}

static int look_at_texts(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT seq FROM notes", "");
    int64_t notes = 0;
    int more = q ? 1 : -1;
    for (; more > 0 && (more = store_sqlite_row(d, q, e)) > 0; notes++)
        if (look_at_note(d, x, sqlite3_column_int64(q, 0), e)) {
            store_sqlite_end(q);
            return -1;
        }
    if (more < 0 || store_sqlite_groups_check(d, report_lost, x, e) ||
        store_sqlite_globals_check(d, report_lost, x, e))
        return -1;
    report(x, "Notes checked: %lld; damaged texts: %lld.", (long long)notes, (long long)x->lost);
    return 0;
}

/* Compares the keyword index with the notes. A damaged note may be missing from the index. */
static int look_at_words(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    int64_t missing = 0, extra = 0;
    int rc = sqlite3_exec(d->h, "INSERT INTO words(words) VALUES('integrity-check')", NULL, NULL,
                          NULL);
    if (rc && (rc & 0xFF) != SQLITE_CORRUPT)
        return store_sqlite_fault(d, rc, e);
    if (store_sqlite_number(
            d, e, &missing,
            "SELECT count(*) FROM notes WHERE seq NOT IN (SELECT id FROM words_docsize)", "") < 0 ||
        store_sqlite_number(
            d, e, &extra,
            "SELECT count(*) FROM words_docsize WHERE id NOT IN (SELECT seq FROM notes)", "") < 0)
        return -1;
    missing = missing > x->lost ? missing - x->lost : 0;
    if (rc || missing || extra)
        report(x, "The keyword index does not match the notes: %s, %lld missing, %lld too many.",
               rc ? "damaged" : "readable", (long long)missing, (long long)extra);
    x->faults += rc || missing || extra;
    return 0;
}

/* Compares the tag set of each note with the project, group and tags of the note. */
static int look_at_tag_sets(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    int64_t wrong = 0;
    static const char sql[] =
        "SELECT count(*) FROM notes n LEFT JOIN tag_sets p USING(tag_set) LEFT "
        "JOIN project_groups r USING(project_group) WHERE r.project IS NOT n.project OR "
        "r.group_key "
        "IS NOT n.group_key OR p.tags IS NOT " SUPERSEDED_TAGS;
    if (store_sqlite_number(d, e, &wrong, sql, "") < 0)
        return -1;
    if (wrong)
        report(x, "There are notes with the wrong tag set: %lld.", (long long)wrong);
    x->faults += wrong;
    return 0;
}

static int put_tags(struct db *d, struct check *x, int64_t tag_set, struct fumi_str json,
                    struct fumi_err *e)
{
    struct fumi_strs tags;
    struct fumi_err ignored;
    store_sqlite_tags_read(&x->arena, json, &tags, &ignored);
    for (size_t i = 0; i < tags.n; i++)
        if (store_sqlite_run(d, e,
                             "INSERT OR IGNORE INTO tag_set_tags(tag, tag_set) VALUES(?1, ?2)",
                             "si", tags.items[i], tag_set))
            return -1;
    return 0;
}

static int repair_tags(struct db *d, struct check *x, struct fumi_err *e)
{
    sqlite3_stmt *q = store_sqlite_query(d, e, "SELECT tag_set, tags FROM tag_sets NOT INDEXED",
                                         "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0) {
        int rc = put_tags(d, x, sqlite3_column_int64(q, 0), store_sqlite_text(q, 1), e);
        fumi_arena_reset(&x->arena, 1 << 20);
        if (rc) {
            store_sqlite_end(q);
            return -1;
        }
    }
    return more;
}

static int repair_tag_sets(struct db *d, void *arg, struct fumi_err *e)
{
    static const char *const all[] = {
        "DELETE FROM tag_set_tags",
        "DELETE FROM tag_sets",
        "DELETE FROM project_groups",
        "INSERT INTO project_groups(project, group_key, notes) SELECT project, group_key, count(*) "
        "FROM notes GROUP BY "
        "project, group_key",
        "INSERT INTO tag_sets(project_group, tags, notes) SELECT project_group, " SUPERSEDED_TAGS
        ", count(*) FROM notes n JOIN "
        "project_groups r ON r.project=n.project AND r.group_key=n.group_key GROUP BY 1, 2",
        "UPDATE notes AS n SET tag_set=(SELECT p.tag_set FROM project_groups r JOIN tag_sets p "
        "USING(project_group) WHERE "
        "r.project=n.project AND r.group_key=n.group_key AND p.tags=" SUPERSEDED_TAGS ")",
    };
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (store_sqlite_run(d, e, all[i], ""))
            return -1;
    return repair_tags(d, arg, e) ? -1 : store_sqlite_note_changed(d, 0, e);
}

#define WORDS_OF_GROUP                                                                             \
    "SELECT coalesce(sum(words_in(sz)), 0) FROM tag_sets p JOIN notes n USING(tag_set) JOIN "      \
    "words_docsize d ON d.id=n.seq WHERE p.project_group=r.project_group"

/* Redundant data, in the order in which it must be repaired. The JSON functions of SQLite end a
 * string at a NUL character, so tags that contain one are not checked. */
static const struct check_rule {
    const char *what;
    const char *look; /* counts the wrong rows */
    const char *repair;
} rules[] = {
    {"root pages that are not recorded",
     "SELECT count(*) FROM sqlite_schema s WHERE " STORE_ADDED_TABLE
     " AND NOT EXISTS (SELECT 1 FROM meta m WHERE m.name='root.' || s.name AND "
     "m.value=CAST(s.rootpage AS TEXT))",
     STORE_KEEP_ROOTS},
    {"uses of notes that do not exist",
     "SELECT count(*) FROM uses WHERE note NOT IN (SELECT seq FROM notes)",
     "DELETE FROM uses WHERE note NOT IN (SELECT seq FROM notes)"},
    {"wrong hashes of texts",
     "SELECT count(*) FROM notes WHERE said IS NOT said_of(project, group_key, text)",
     "UPDATE notes SET said=said_of(project, group_key, text)"},
    {"vectors without a note or a space",
     "SELECT count(*) FROM vectors WHERE note NOT IN (SELECT seq FROM notes) OR space NOT IN "
     "(SELECT space FROM spaces)",
     "DELETE FROM vectors WHERE note NOT IN (SELECT seq FROM notes) OR space NOT IN "
     "(SELECT space FROM spaces)"},
    {"vectors of the wrong size",
     "SELECT count(*) FROM vectors JOIN spaces USING(space) WHERE length(x)<>dim*4",
     "DELETE FROM vectors WHERE (note, space) IN (SELECT note, v.space FROM vectors v JOIN spaces "
     "s "
     "ON s.space=v.space WHERE length(x)<>dim*4)"},
    {"wrong counts of the notes in a space",
     "SELECT count(*) FROM spaces s WHERE notes<>(SELECT count(DISTINCT note) FROM vectors v WHERE "
     "v.space=s.space)",
     "UPDATE spaces SET notes=(SELECT count(DISTINCT note) FROM vectors v WHERE "
     "v.space=spaces.space)"},
    {"tag sets without notes",
     "SELECT count(*) FROM tag_sets p WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE "
     "n.tag_set=p.tag_set)",
     "DELETE FROM tag_sets WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE "
     "n.tag_set=tag_sets.tag_set)"},
    {"wrong counts of the notes with a tag set",
     "SELECT count(*) FROM tag_sets p WHERE notes<>(SELECT count(*) FROM notes n WHERE "
     "n.tag_set=p.tag_set)",
     "UPDATE tag_sets SET notes=(SELECT count(*) FROM notes n WHERE n.tag_set=tag_sets.tag_set)"},
    {"groups without tag sets",
     "SELECT count(*) FROM project_groups WHERE project_group NOT IN (SELECT project_group FROM "
     "tag_sets)",
     "DELETE FROM project_groups WHERE project_group NOT IN (SELECT project_group FROM tag_sets)"},
    {"wrong counts of the notes in a group",
     "SELECT count(*) FROM project_groups r WHERE notes<>(SELECT coalesce(sum(p.notes), 0) FROM "
     "tag_sets p "
     "WHERE p.project_group=r.project_group)",
     "UPDATE project_groups SET notes=(SELECT coalesce(sum(p.notes), 0) FROM tag_sets p WHERE "
     "p.project_group=project_groups.project_group)"},
    {"wrong counts of the words in a group",
     "SELECT count(*) FROM project_groups r WHERE words<>(" WORDS_OF_GROUP ")",
     "UPDATE project_groups AS r SET words=(" WORDS_OF_GROUP ")"},
    {"tags that belong to no tag set",
     "SELECT count(*) FROM tag_set_tags t LEFT JOIN tag_sets p USING(tag_set) WHERE p.tag_set IS "
     "NULL OR "
     "(json_valid(p.tags) AND instr(p.tags, '\\u0000')=0 AND tag NOT IN (SELECT value FROM "
     "json_each(p.tags)))",
     "DELETE FROM tag_set_tags WHERE tag_set NOT IN (SELECT tag_set FROM tag_sets) OR EXISTS "
     "(SELECT 1 "
     "FROM "
     "tag_sets p WHERE p.tag_set=tag_set_tags.tag_set AND json_valid(p.tags) AND instr(p.tags, "
     "'\\u0000')=0 AND tag NOT IN (SELECT value FROM json_each(p.tags)))"},
    {"tags missing from the index of tags",
     "SELECT count(*) FROM tag_sets p, json_each(CASE WHEN json_valid(p.tags) THEN p.tags ELSE "
     "'[]' "
     "END) j WHERE instr(p.tags, '\\u0000')=0 AND NOT EXISTS (SELECT 1 FROM tag_set_tags t WHERE "
     "t.tag=j.value AND t.tag_set=p.tag_set)",
     "INSERT OR IGNORE INTO tag_set_tags SELECT j.value, p.tag_set FROM tag_sets p, json_each(CASE "
     "WHEN "
     "json_valid(p.tags) THEN p.tags ELSE '[]' END) j WHERE instr(p.tags, '\\u0000')=0"},
};

static int look_at_rules(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    for (size_t i = 0; i < FUMI_COUNT(rules); i++) {
        int64_t wrong = 0;
        if (store_sqlite_number(d, e, &wrong, rules[i].look, "") < 0)
            return -1;
        if (wrong)
            report(x, "There are %s: %lld.", rules[i].what, (long long)wrong);
        x->faults += wrong;
    }
    return 0;
}

static int repair_rules(struct db *d, void *arg, struct fumi_err *e)
{
    (void)arg;
    for (size_t i = 0; i < FUMI_COUNT(rules); i++)
        if (store_sqlite_run(d, e, rules[i].repair, ""))
            return -1;
    return store_sqlite_note_changed(d, 0, e);
}

/* Rows of the journal and reviews that do not match their checksums. A damaged row cannot be used
 * for anything, so the repair deletes it. */
struct bad_rows {
    struct fumi_arena *arena;
    struct fumi_strs journal, reviews;
    size_t journal_cap, reviews_cap;
};

static void add_bad(void *arg, const char *what, struct fumi_str id)
{
    struct bad_rows *b = arg;
    bool review = strcmp(what, "review") == 0;
    struct fumi_strs *to = review ? &b->reviews : &b->journal;
    size_t *cap = review ? &b->reviews_cap : &b->journal_cap;
    to->items = store_sqlite_room(b->arena, to->items, to->n, cap, sizeof(*to->items));
    to->items[to->n++] = fumi_dup(b->arena, id);
}

static int find_bad(struct db *d, struct bad_rows *b, struct fumi_err *e)
{
    return store_sqlite_journal_check(d, add_bad, b, e) ||
                   store_sqlite_reviews_check(d, add_bad, b, e)
               ? -1
               : 0;
}

static int look_at_journal(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    struct bad_rows b = {.arena = &x->arena};
    if (find_bad(d, &b, e))
        return -1;
    if (b.journal.n)
        report(x, "There are damaged rows of the journal: %zu.", b.journal.n);
    if (b.reviews.n)
        report(x, "There are damaged reviews: %zu.", b.reviews.n);
    x->faults += (int64_t)(b.journal.n + b.reviews.n);
    return 0;
}

static int drop_each(struct db *d, const char *sql, struct fumi_strs ids, struct fumi_err *e)
{
    for (size_t i = 0; i < ids.n; i++)
        if (store_sqlite_run(d, e, sql, "s", ids.items[i]))
            return -1;
    return 0;
}

static int repair_journal(struct db *d, void *arg, struct fumi_err *e)
{
    struct check *x = arg;
    struct bad_rows b = {.arena = &x->arena};
    return find_bad(d, &b, e) ||
                   drop_each(d, "DELETE FROM journal WHERE n=CAST(?1 AS INTEGER)", b.journal, e) ||
                   drop_each(d, "DELETE FROM reviews WHERE id=?1", b.reviews, e)
               ? -1
               : 0;
}

/* In this order, because the later parts rely on the earlier ones. */
static const struct check_part {
    const char *name;
    store_sqlite_fn *look, *repair;
} parts[] = {
    {"The pages of the file", look_at_pages, repair_indexes},
    {"The keyword index", look_at_words, store_sqlite_words_rebuild},
    {"The tag sets of the notes", look_at_tag_sets, repair_tag_sets},
    {"The counts, tags and vectors", look_at_rules, repair_rules},
    {"The journal and the reviews", look_at_journal, repair_journal},
};

/* Checks one part; with `repair`, repairs it and checks it again. Adds the faults that remain to
 * *faults. The check of the keyword index is an INSERT, so it needs a write transaction. */
static int examine(struct check *x, const struct check_part *p, int64_t *faults, struct fumi_err *e)
{
    x->faults = 0;
    if (store_sqlite_write(x->store, p->look, x, e))
        return -1;
    if (!x->faults)
        report(x, "%s: no damage.", p->name);
    if (x->faults && x->repair) {
        if (store_sqlite_write(x->store, p->repair, x, e))
            return -1;
        x->repaired = true;
        x->faults = 0;
        x->quiet = true;
        int rc = store_sqlite_write(x->store, p->look, x, e);
        x->quiet = false;
        if (rc)
            return -1;
        report(x, x->faults ? "%s: cannot be repaired." : "%s: rebuilt.", p->name);
    }
    *faults += x->faults;
    return 0;
}

/* Keeps a vector cache that is sound. Otherwise the next process that searches makes it again. */
static void check_caches(struct check *x)
{
    struct store_sqlite *s = (struct store_sqlite *)x->store;
    pthread_mutex_lock(&s->filters_lock);
    store_sqlite_filters_done(s);
    pthread_mutex_unlock(&s->filters_lock);
    store_sqlite_index_close(s);
    const char *fault = x->repaired ? "the database was repaired" : scan_check(s->side);
    if (!fault && access(s->side, F_OK) == 0)
        report(x, "The vector cache: no damage.");
    if (fault && unlink(s->side) == 0)
        report(x, "The vector cache: deleted (%s); it is built again in the background.", fault);
}

/* Erases the traces of deleted texts, marked or not. If another process reads the log, or the disk
 * is full, this is not counted as damage. */
static int erase(struct check *x, struct fumi_err *e)
{
    struct store_sqlite *s = (struct store_sqlite *)x->store;
    bool done = false;
    if (store_sqlite_erase_all(s, &done, e)) {
        if (__atomic_load_n(&s->corrupt, __ATOMIC_RELAXED))
            return -1;
        report(x, "Deleted texts: not erased. %s.", e->text);
        return 0;
    }
    report(x, done
                  ? "Deleted texts: erased."
                  : "Deleted texts: not erased from the log yet, because another process reads it; "
                    "run doctor again later.");
    return 0;
}

/* Tells how many of the steps of look_through are done. */
static int step(struct check *x, int64_t done, struct fumi_err *e)
{
    if (store_sqlite_tell((struct store_sqlite *)x->store, done, FUMI_COUNT(parts) + 2))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "The check was interrupted");
}

static int look_through(struct check *x, int64_t *faults, struct fumi_err *e)
{
    if (step(x, 0, e) || examine(x, &parts[0], faults, e))
        return -1;
    if (*faults)
        return 0;
    if (step(x, 1, e) || store_sqlite_read(x->store, look_at_texts, x, e))
        return -1;
    for (size_t i = 1; i < FUMI_COUNT(parts); i++)
        if (step(x, 1 + (int64_t)i, e) || examine(x, &parts[i], faults, e))
            return -1;
    if (step(x, 1 + FUMI_COUNT(parts), e))
        return -1;
    if (x->repair)
        check_caches(x);
    return *faults ? 0 : erase(x, e);
}

/* The same, but damage that makes the check fail counts as a fault. */
static int look_once(struct check *x, int64_t *faults, struct fumi_err *e)
{
    struct store_sqlite *s = (struct store_sqlite *)x->store;
    *faults = x->lost = 0;
    __atomic_store_n(&s->corrupt, false, __ATOMIC_RELAXED);
    if (look_through(x, faults, e) == 0)
        return 0;
    if (!__atomic_load_n(&s->corrupt, __ATOMIC_RELAXED))
        return -1;
    ++*faults;
    report(x, "%s.", e->text);
    return 0;
}

static int rewrite(struct check *x, struct fumi_err *e)
{
    struct store_sqlite_salvaged saved;
    report(x,
           "The file cannot be repaired in place: all readable rows are written into a new file.");
    if (store_sqlite_salvage((struct store_sqlite *)x->store, repair_rules, x, &saved, e))
        return -1;
    report(x, "Notes saved: %lld; lost: %lld.", (long long)saved.notes, (long long)saved.lost);
    report(x, "Groups, globals and settings saved: %lld; damaged: %lld.", (long long)saved.others,
           (long long)saved.damaged);
    report(x, "Vectors saved: %lld; notes without any are embedded again.",
           (long long)saved.vectors);
    report(x, "The new file has replaced the damaged one, which is kept: %s.", saved.kept);
    fumi_resize(saved.kept, 0);
    x->repaired = true;
    check_caches(x);
    return 0;
}

static int examine_all(struct check *x, int64_t *faults, struct fumi_err *e)
{
    if (look_once(x, faults, e))
        return -1;
    if (!*faults || !x->repair)
        return 0;
    return rewrite(x, e) ? -1 : look_once(x, faults, e);
}

int store_sqlite_check(struct store *s, bool repair, void (*print)(void *arg, const char *sentence),
                       void *arg, struct fumi_err *e)
{
    struct check x = {.store = s, .repair = repair, .print = print, .arg = arg};
    int64_t faults = 0;
    int rc = examine_all(&x, &faults, e);
    fumi_arena_done(&x.arena);
    if (rc || (!faults && !x.lost))
        return rc;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "The database is damaged: %lld faults, %lld texts lost; %s",
                        (long long)faults, (long long)x.lost,
                        faults && !repair ? "run fumi doctor to repair it"
                                          : "restore a backup, or delete the damaged data");
}
