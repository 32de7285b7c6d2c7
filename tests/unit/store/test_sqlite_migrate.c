/* Opening a store of schema version 1. tests/crash/test_migrate.c kills the migration and cuts the
 * power. */
#include "test.h"

#include "old_version_fixture.h"
#include "store/sqlite_file.h"
#include "store/sqlite_parts.h"
#include "store_fixture.h"

#include <pthread.h>

enum { NOTES = 60 };

struct old {
    struct fixture t;
    int version;
    char today[160], bak[160]; /* a current store with the same rows; the backup of the migration */
};

static int run(const char *path, const char *sql)
{
    static const struct words_ending none; /* of a version before 3 */
    sqlite3 *h = NULL;
    struct fumi_err ignored;
    int rc = sqlite3_open(path, &h) || store_sqlite_words_register(h, &none, &ignored) ||
             old_version_exec(h, sql);
    sqlite3_close(h);
    return rc ? -1 : 0;
}

/* The result of a query on the file, with a second file attached as "other"; -1 on failure. */
static int64_t number(const char *path, const char *other, const char *sql)
{
    sqlite3 *h = NULL;
    sqlite3_stmt *q = NULL;
    char attach[256];
    int64_t n = -1;
    snprintf(attach, sizeof(attach), "ATTACH '%s' AS other", other);
    if (sqlite3_open(path, &h) == 0 && old_version_exec(h, attach) == 0 &&
        sqlite3_prepare_v2(h, sql, -1, &q, NULL) == 0 && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(h);
    return n;
}

static int add_notes(struct fixture *t)
{
    struct fumi_str tags[] = {FUMI_STR("red"), FUMI_STR("green"), FUMI_STR("blue")};
    for (int i = 0; i < NOTES; i++) {
        struct note n = fixture_note(fumi_fmt(&t->a, "%d", i).p,
                                     fumi_fmt(&t->a, "word%d common", i).p);
        n.group = fumi_fmt(&t->a, "g%d", i % 4);
        n.project = i % 5 ? FUMI_STR("p") : FUMI_STR("q");
        n.tags = (struct fumi_strs){tags, (size_t)i % 4};
        n.created = (struct fumi_time){1000 + i, true};
        if (fixture_put(t, &n, i % 7 ? i * 0.05 : NAN))
            return -1;
    }
    for (int i = 0; i < NOTES; i += 11)
        if (store_delete(t->s, &t->a, fumi_fmt(&t->a, "%d", i), NULL, &t->e))
            return -1;
    return 0;
}

static int add_others(struct fixture *t)
{
    struct group g = {.id = FUMI_STR("group"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("g1"),
                      .title = FUMI_STR("G"),
                      .description = FUMI_STR("a group")};
    struct global v = {.id = FUMI_STR("global"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("k"),
                       .value = FUMI_STR("17")};
    return store_add_group(t->s, &g, NULL, &t->e) ||
                   store_set_global(t->s, &t->a, &v, NULL, &t->e) ||
                   store_set_meta(t->s, "space", FUMI_STR("local"), &t->e)
               ? -1
               : 0;
}

/* Creates a file of an older version at t.path, and a current store with the same rows at `today`.
 */
static bool old_begin(struct old *o, int version)
{
    struct fixture *t = &o->t;
    o->version = version;
    if (!fixture_open(t))
        return false;
    int rc = add_notes(t) || add_others(t);
    fixture_shut(t);
    snprintf(o->today, sizeof(o->today), "%s/today.db", t->top);
    snprintf(o->bak, sizeof(o->bak), "%s.v%d.bak", t->path, version);
    return !rc && rename(t->path, o->today) == 0 &&
           old_version_make(version, o->today, t->path) == 0;
}

/* Whether all rows and the schema equal those of the current store, but for the journal. The
 * keyword index was built in another order, so its segments differ; so do root pages. */
static bool same_as_today(struct old *o)
{
    static const char *const tables[] = {
        "project_groups", "tag_sets", "tag_set_tags", "notes",         "spaces",      "vectors",
        "changes",        "groups",   "globals",      "words_docsize", "words_config"};
    for (size_t i = 0; i < FUMI_COUNT(tables); i++) {
        const char *sql = fumi_fmt(&o->t.a,
                                   "SELECT (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT "
                                   "SELECT * FROM other.%s)) + (SELECT count(*) FROM (SELECT * "
                                   "FROM other.%s EXCEPT SELECT * FROM main.%s))",
                                   tables[i], tables[i], tables[i], tables[i])
                              .p;
        int64_t n = number(o->t.path, o->today, sql);
        if (n) {
            TEST_FAIL("%s: %lld rows differ", tables[i], (long long)n);
            return false;
        }
    }
    static const char rest[] =
        "SELECT count(*) FROM (SELECT * FROM main.meta WHERE name NOT LIKE 'root.%' EXCEPT SELECT "
        "* FROM other.meta UNION ALL SELECT * FROM main.sqlite_sequence EXCEPT SELECT * FROM "
        "other.sqlite_sequence)";
    static const char schema[] =
        "SELECT (SELECT count(*) FROM main.sqlite_schema) - (SELECT count(*) FROM (SELECT type, "
        "name, tbl_name, sql FROM main.sqlite_schema INTERSECT SELECT type, name, tbl_name, sql "
        "FROM other.sqlite_schema))";
    return number(o->t.path, o->today, rest) == 0 && number(o->t.path, o->today, schema) == 0;
}

/* The results of some searches and lists as text. They must be equal for both stores. */
static struct fumi_str answers(struct fixture *t)
{
    struct fumi_str tag = FUMI_STR("red"), out = FUMI_STR("");
    struct filter filters[] = {fixture_filter("p"), fixture_filter("p"), fixture_filter("q")};
    filters[0].tags = (struct fumi_strs){&tag, 1};
    filters[1].group = FUMI_STR("g2");
    for (size_t i = 0; i < FUMI_COUNT(filters); i++) {
        struct hits near, match;
        struct notes recent;
        if (fixture_near(t, &filters[i], 0.5, 10, &near) ||
            fixture_match(t, &filters[i], FUMI_STR("common word7"), 10, &match) ||
            store_list_recent(t->s, ALL_IN(&t->a), &filters[i], (struct cursor){0}, 10, &recent,
                              &t->e))
            return FUMI_STR("failed");
        out = fumi_fmt(&t->a, "%.*s[%.*s|%.*s|%.*s]", FUMI_ARG(out),
                       FUMI_ARG(fixture_ids(t, &near)), FUMI_ARG(fixture_ids(t, &match)),
                       FUMI_ARG(fixture_note_ids(t, &recent)));
    }
    return out;
}

static struct fumi_str bytes_of(struct fumi_arena *a, const char *path)
{
    FILE *f = fopen(path, "r");
    char *p = fumi_alloc(a, 1 << 20);
    size_t n = f ? fread(p, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    return (struct fumi_str){p, n};
}

static void becomes_new(int version)
{
    struct old o = {0};
    CHECK(old_begin(&o, version));
    CHECK(fixture_open(&o.t));
    CHECK(fixture_sound(&o.t));
    fixture_shut(&o.t);
    CHECK_INT(number(o.t.path, o.today, "PRAGMA main.user_version"), STORE_SCHEMA);
    CHECK(same_as_today(&o));
    struct fixture bak = {0}, today = {0};
    CHECK_INT(number(o.bak, o.today, "PRAGMA main.user_version"), version);
    CHECK_INT(number(o.bak, o.today,
                     fumi_fmt(&o.t.a, "SELECT count(*) FROM %s", old_versions[version].groups).p),
              number(o.bak, o.today, "SELECT count(*) FROM other.project_groups"));
    today.s = fixture_store(&today, o.today);
    bak.s = fixture_store(&bak, o.bak);
    CHECK(fixture_open(&o.t) && today.s && bak.s);
    CHECK_STR(answers(&o.t), fumi_fmt(&o.t.a, "%.*s", FUMI_ARG(answers(&today))).p);
    CHECK_STR(answers(&bak), fumi_fmt(&o.t.a, "%.*s", FUMI_ARG(answers(&today))).p);
    CHECK_INT(fixture_add(&o.t, "more", "x", 0.3), 0);
    store_close(today.s);
    store_close(bak.s);
    fumi_arena_done(&today.a);
    fumi_arena_done(&bak.a);
    fixture_end(&o.t);
}

TEST(an_old_version_becomes_what_a_new_store_is)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        becomes_new(i);
}

/* The schema without later objects is in the first page, and its root pages are those of version 1.
 * Therefore the schema table of any store can be replaced by that of a new one. */
static void has_the_same_roots(int version)
{
    struct old o = {0};
    CHECK(old_begin(&o, version));
    static const char roots[] =
        "SELECT count(*) FROM main.sqlite_schema a JOIN other.sqlite_schema "
        "b ON a.rowid=b.rowid WHERE a.type=b.type AND a.rootpage=b.rootpage AND a.rowid<=27";
    CHECK_INT(number(o.t.path, o.today, roots), 27);
    fixture_end(&o.t);
}

/* The schema table of a store without the objects of later versions is one leaf page. */
static void is_one_page(void)
{
    struct fixture t = {0};
    CHECK(fixture_begin(&t));
    struct store *s = store_sqlite_open(
        &(struct store_sqlite_options){.path = t.path, .nosync = true, .bare = true}, &t.e);
    CHECK(s);
    store_close(s);
    struct fumi_str bytes = bytes_of(&t.a, t.path);
    CHECK(bytes.n > 4096 && bytes.p[100] == 0x0D);
    fixture_end(&t);
}

TEST(the_schema_is_in_the_first_page)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        has_the_same_roots(i);
    is_one_page();
}

static void keeps_the_cache(int version)
{
    struct old o = {0};
    struct hits hits;
    char vec[160];
    CHECK(old_begin(&o, version));
    snprintf(vec, sizeof(vec), "%s.vec", o.t.path);
    struct fixture today = {0};
    today.s = fixture_store(&today, o.today);
    struct filter f = fixture_filter("p");
    CHECK(today.s && fixture_near(&today, &f, 0.5, 5, &hits) == 0);
    store_close(today.s);
    fumi_arena_done(&today.a);
    CHECK_INT(rename(fumi_fmt(&o.t.a, "%s.vec", o.today).p, vec), 0);
    struct fumi_str before = bytes_of(&o.t.a, vec);
    CHECK(fixture_open(&o.t));
    CHECK_INT(fixture_near(&o.t, &f, 0.5, 5, &hits), 0);
    CHECK_INT(hits.n, 5);
    fixture_shut(&o.t);
    struct fumi_str after = bytes_of(&o.t.a, vec);
    CHECK(before.n && fumi_eq(before, after));
    fixture_end(&o.t);
}

TEST(the_cache_of_vectors_stays_valid)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        keeps_the_cache(i);
}

/* A program of an older version knows the tokenizer by its first name only. */
static int make_nothing(void *arg, const char **args, int n, Fts5Tokenizer **out)
{
    (void)args, (void)n;
    *out = arg;
    return SQLITE_OK;
}

static void free_nothing(Fts5Tokenizer *t)
{
    (void)t;
}

static int one_token(Fts5Tokenizer *t, void *to, int flags, const char *text, int n,
                     int (*token)(void *, int, const char *, int, int, int))
{
    (void)t, (void)flags;
    return token(to, 0, text, n, 0, n);
}

static sqlite3 *open_old_program(const char *path)
{
    static fts5_tokenizer tokenizer = {make_nothing, free_nothing, one_token};
    sqlite3 *h = NULL;
    sqlite3_stmt *q = NULL;
    fts5_api *api = NULL;
    if (sqlite3_open(path, &h) == 0 &&
        sqlite3_prepare_v2(h, "SELECT fts5(?1)", -1, &q, NULL) == 0) {
        sqlite3_bind_pointer(q, 1, (void *)&api, "fts5_api_ptr", NULL);
        sqlite3_step(q);
    }
    sqlite3_finalize(q);
    if (api) {
        api->xCreateTokenizer(api, "fumi", &tokenizer, &tokenizer, NULL);
        api->xCreateTokenizer(api, "fumi3", &tokenizer, &tokenizer, NULL);
    }
    return h;
}

static bool writes_words(sqlite3 *h)
{
    int rc = sqlite3_exec(h, "INSERT INTO words(rowid, text) VALUES(1000000, 'word')", NULL, NULL,
                          NULL);
    return rc == SQLITE_OK;
}

static void fails_in_an_old_program(int version)
{
    struct old o = {0};
    CHECK(old_begin(&o, version));
    sqlite3 *h = open_old_program(o.t.path);
    CHECK_INT(sqlite3_exec(h, "BEGIN", NULL, NULL, NULL), 0);
    CHECK(writes_words(h));
    CHECK_INT(sqlite3_exec(h, "ROLLBACK", NULL, NULL, NULL), 0);
    CHECK(fixture_open(&o.t));
    CHECK(!writes_words(h)); /* the new program would not find the note */
    sqlite3_close(h);
    fixture_end(&o.t);
}

TEST(an_old_program_fails_after_the_migration)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        fails_in_an_old_program(i);
}

static void *open_it(void *arg)
{
    struct fixture *t = arg;
    t->s = fixture_store(t, t->path);
    return NULL;
}

static void opens_at_once(int version)
{
    struct old o = {0};
    struct fixture all[4] = {0};
    pthread_t threads[4];
    CHECK(old_begin(&o, version));
    for (int i = 0; i < 4; i++) {
        memcpy(all[i].path, o.t.path, sizeof(o.t.path));
        CHECK_INT(pthread_create(&threads[i], NULL, open_it, &all[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        if (!all[i].s)
            TEST_FAIL("%s", all[i].e.text);
    }
    for (int i = 0; i < 4; i++)
        if (all[i].s)
            store_close(all[i].s);
    CHECK(same_as_today(&o));
    fixture_end(&o.t);
}

TEST(several_open_it_at_once)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        opens_at_once(i);
}

/* A file of version 1 whose schema another program has changed is refused, without a backup. */
TEST(changed_tables_of_version_1_are_refused)
{
    static const char *const changes[] = {
        "CREATE TABLE more(x)",
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT * FROM rooms",
        "DROP INDEX notes_place",
        "DROP TABLE facts",
        "ALTER TABLE places ADD COLUMN more TEXT",
        "ALTER TABLE rooms RENAME TO project_groups",
    };
    for (size_t i = 0; i < FUMI_COUNT(changes); i++) {
        struct old o = {0};
        CHECK(old_begin(&o, 1));
        CHECK_INT(run(o.t.path, changes[i]), 0);
        struct fumi_str before = bytes_of(&o.t.a, o.t.path);
        o.t.s = fixture_store(&o.t, o.t.path);
        if (o.t.s || !strstr(o.t.e.text, "not those that fumi created"))
            TEST_FAIL("%s: %s", changes[i], o.t.s ? "opened" : o.t.e.text);
        CHECK(fumi_eq(before, bytes_of(&o.t.a, o.t.path)));
        CHECK(!store_sqlite_file_exists(o.bak));
        fixture_end(&o.t);
    }
}

/* Deleted texts that were not erased yet are erased in the backup, which therefore has no mark. */
static void erases_the_copy(int version)
{
    struct old o = {0};
    CHECK(old_begin(&o, version));
    const char *meta = old_versions[version].meta;
    CHECK_INT(run(o.t.path, fumi_fmt(&o.t.a, "REPLACE INTO %s VALUES('erase', 'words')", meta).p),
              0);
    CHECK(fixture_open(&o.t));
    fixture_shut(&o.t);
    CHECK_INT(number(o.bak, o.today,
                     fumi_fmt(&o.t.a, "SELECT count(*) FROM %s WHERE name='erase'", meta).p),
              0);
    CHECK_INT(number(o.t.path, o.today, "SELECT count(*) FROM meta WHERE name='erase'"), 1);
    fixture_end(&o.t);
}

TEST(the_copy_is_erased)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        erases_the_copy(i);
}

struct doctor {
    char text[4000];
};

static void add_finding(void *arg, const char *sentence)
{
    struct doctor *d = arg;
    size_t n = strlen(d->text);
    snprintf(d->text + n, sizeof(d->text) - n, "%s\n", sentence);
}

static struct store *open_lenient(struct old *o)
{
    struct store_sqlite_options lenient = {.path = o->t.path,
                                           .nosync = true,
                                           .lenient = true,
                                           .salvage = true,
                                           .log = &fixture_silent};
    return store_sqlite_open(&lenient, &o->t.e);
}

/* Damage in any page: opening fails without changing the file, and doctor salvages the notes. */
static void is_repaired(int version)
{
    static const struct {
        long page, byte;
        int least; /* minimum number of notes after the repair */
    } hits[] = {{0, 103, 54}, {0, 2000, 54}, {1, 3, 54},  {3, 5, 54}, {5, 5, 54},
                {7, 5, 1},    {9, 5, 54},    {16, 5, 54}, {22, 5, 54}};
    for (size_t i = 0; i < FUMI_COUNT(hits); i++) {
        struct old o = {0};
        struct doctor d = {0};
        struct store_stats stats = {0};
        CHECK(old_begin(&o, version));
        FILE *f = fopen(o.t.path, "r+");
        CHECK(f && fseek(f, hits[i].page * 4096 + hits[i].byte, SEEK_SET) == 0 &&
              fwrite("\xff\xff\xff\xff", 4, 1, f) == 1);
        fclose(f);
        struct fumi_str before = bytes_of(&o.t.a, o.t.path);
        o.t.s = fixture_store(&o.t, o.t.path);
        CHECK(!o.t.s && fumi_eq(before, bytes_of(&o.t.a, o.t.path)));
        o.t.s = open_lenient(&o);
        if (!o.t.s) {
            TEST_FAIL("page %ld: %s", hits[i].page + 1, o.t.e.text);
            fixture_end(&o.t);
            continue;
        }
        int rc = store_check(o.t.s, true, add_finding, &d, &o.t.e);
        CHECK_INT(store_stats(o.t.s, &stats, &o.t.e), 0);
        struct filter all = fixture_filter("p");
        struct hits match = {0};
        CHECK_INT(fixture_match(&o.t, &all, FUMI_STR("common"), 100, &match), 0);
        if (rc || stats.notes < hits[i].least || (int64_t)match.n * 5 < stats.notes * 3 ||
            !fixture_sound(&o.t))
            TEST_FAIL("page %ld: %d, %lld notes\n%s%s", hits[i].page + 1, rc,
                      (long long)stats.notes, d.text, o.t.e.text);
        fixture_end(&o.t);
    }
}

TEST(a_damaged_store_of_an_old_version_is_repaired)
{
    for (int i = 1; i < OLD_VERSIONS; i++)
        is_repaired(i);
}

/* Damages the schema table of a store of an older version, and replaces it as doctor does, which
 * is killed before it repairs anything else. */
static bool is_replaced(struct old *o, int version)
{
    if (!old_begin(o, version))
        return false;
    FILE *f = fopen(o->t.path, "r+");
    bool done = f && fseek(f, 2000, SEEK_SET) == 0 && fwrite("\xff\xff\xff\xff", 4, 1, f) == 1;
    if (f)
        fclose(f);
    o->t.s = done ? open_lenient(o) : NULL;
    done = o->t.s != NULL;
    fixture_shut(&o->t);
    return done;
}

/* Whether a search by keyword finds all notes of project p, of which `more` are new. */
static bool finds_all(struct old *o, int64_t more)
{
    struct filter f = fixture_filter("p");
    struct hits found = {0};
    int64_t notes = number(o->t.path, o->today,
                           "SELECT count(*) FROM other.notes WHERE project='p'");
    return notes > 0 && fixture_match(&o->t, &f, FUMI_STR("common"), 100, &found) == 0 &&
           (int64_t)found.n == notes + more;
}

/* The next program that opens the store finds the notes from before the damage. A store of version
 * 3 has an index that the new schema table does not name: its pages belong to nothing then, and
 * opening refuses the file until doctor has repaired it. */
TEST(a_repair_that_was_killed_is_completed)
{
    for (int i = 1; i < 3; i++) {
        struct old o = {0};
        struct doctor d = {0};
        CHECK(is_replaced(&o, i));
        CHECK(fixture_open(&o.t));
        CHECK(finds_all(&o, 0));
        CHECK_INT(fixture_add(&o.t, "new", "a common pear", NAN), 0);
        CHECK(finds_all(&o, 1));
        if (store_check(o.t.s, false, add_finding, &d, &o.t.e))
            TEST_FAIL("version %d: %s", i, d.text);
        fixture_end(&o.t);
    }
}

/* So does doctor, also if an import, which opens damaged stores too, has written meanwhile. */
TEST(doctor_completes_a_repair_that_was_killed)
{
    for (int i = 1; i < OLD_VERSIONS; i++) {
        struct old o = {0};
        struct doctor d = {0};
        CHECK(is_replaced(&o, i));
        o.t.s = open_lenient(&o);
        CHECK(o.t.s);
        CHECK_INT(fixture_add(&o.t, "new", "a common pear", NAN), 0);
        fixture_shut(&o.t);
        o.t.s = open_lenient(&o);
        CHECK(o.t.s);
        CHECK_INT(store_check(o.t.s, false, add_finding, &d, &o.t.e), -1);
        if (store_check(o.t.s, true, add_finding, &d, &o.t.e) || !finds_all(&o, 1) ||
            store_check(o.t.s, false, add_finding, &d, &o.t.e))
            TEST_FAIL("version %d: %s", i, d.text);
        fixture_end(&o.t);
    }
}

/* The tables that were added later are at different root pages in a new and in a migrated store.
 * When the schema table was damaged, both still have their journal. */
static void keeps_its_journal(struct old *o, size_t rows)
{
    struct doctor d = {0};
    struct changes all = {0};
    struct history_query q = {.since = INT64_MIN, .until = INT64_MAX, .limit = 1000};
    struct undone out;
    CHECK(fixture_open(&o->t));
    struct review r = {.id = FUMI_STR("r"), .project = FUMI_STR("p"), .body = FUMI_STR("{}")};
    CHECK_INT(store_add_review(o->t.s, &r, &o->t.e), 0);
    CHECK_INT(fixture_add(&o->t, "more", "one more", NAN), 0);
    CHECK_INT(store_delete(o->t.s, &o->t.a, FUMI_STR("more"), NULL, &o->t.e), 0);
    fixture_shut(&o->t);
    FILE *f = fopen(o->t.path, "r+");
    CHECK(f && fseek(f, 103, SEEK_SET) == 0 && fwrite("\xff\xff\xff\xff", 4, 1, f) == 1);
    fclose(f);
    o->t.s = open_lenient(o);
    CHECK(o->t.s);
    if (store_check(o->t.s, true, add_finding, &d, &o->t.e))
        TEST_FAIL("%s\n%s", d.text, o->t.e.text);
    CHECK_INT(store_history(o->t.s, &o->t.a, &q, &all, &o->t.e), 0);
    CHECK_INT(all.n, rows + 2);
    CHECK(!store_undo(o->t.s, &o->t.a, &(struct undo_query){.change = all.items[0].change}, NULL,
                      &out, &o->t.e) &&
          out.rows_n == 1);
    CHECK_INT(store_get_review(o->t.s, &o->t.a, r.id, &r, &o->t.e), 0);
    CHECK(fixture_sound(&o->t));
}

TEST(the_journal_survives_a_damaged_schema)
{
    for (int i = 0; i < OLD_VERSIONS; i++) {
        struct old o = {0};
        if (i)
            CHECK(old_begin(&o, i));
        else
            CHECK(fixture_begin(&o.t));
        keeps_its_journal(&o, 0);
        fixture_end(&o.t);
    }
}
