#include "test.h"

#include "store/sqlite_parts.h"
#include "store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static int sql(const char *path, const char *text)
{
    sqlite3 *h = NULL;
    int rc = sqlite3_open(path, &h);
    if (!rc)
        rc = sqlite3_exec(h, text, NULL, NULL, NULL);
    if (rc)
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(h));
    sqlite3_close(h);
    return rc;
}

/* The findings of store_check, one per line. */
struct findings {
    char text[8000];
    size_t n;
};

static void add_finding(void *arg, const char *sentence)
{
    struct findings *h = arg;
    int n = snprintf(h->text + h->n, sizeof(h->text) - h->n, "%s\n", sentence);
    if (n > 0 && h->n + (size_t)n < sizeof(h->text))
        h->n += (size_t)n;
}

/* Opens the store as doctor does. */
static bool open_lenient(struct fixture *t)
{
    struct store_sqlite_options o = {
        .path = t->path, .lenient = true, .salvage = true, .nosync = true, .log = &fixture_silent};
    t->s = store_sqlite_open(&o, &t->e);
    return t->s != NULL;
}

static int doctor(struct fixture *t, bool repair, struct findings *h)
{
    *h = (struct findings){.n = 0};
    return store_check(t->s, repair, add_finding, h, &t->e);
}

/* Flips a bit in every occurrence of the text in the closed file. Returns the number of
 * occurrences.
 */
static int flip(const char *path, const char *text, int bit)
{
    FILE *f = fopen(path, "r+");
    static char bytes[1 << 20];
    size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
    int found = 0;
    for (char *p = bytes; n && (p = memmem(p, (size_t)(bytes + n - p), text, strlen(text))); p++) {
        p[0] ^= (char)(1 << bit);
        fseek(f, p - bytes, SEEK_SET);
        fwrite(p, 1, 1, f);
        found++;
    }
    if (f)
        fclose(f);
    return found;
}

TEST(a_store_without_damage_has_no_findings)
{
    struct fixture t = {0};
    struct findings h;
    CHECK(fixture_open(&t));
    CHECK_INT(doctor(&t, false, &h), 0);
    CHECK_INT(fixture_add(&t, "1", "one", 0.1), 0);
    CHECK_INT(fixture_add(&t, "2", "two", NAN), 0);
    CHECK_INT(doctor(&t, false, &h), 0);
    CHECK(strstr(h.text, "Notes checked: 2") != NULL);
    CHECK_INT(doctor(&t, true, &h), 0);
    fixture_end(&t);
}

/* Flips bits in each field of a note: reading the note fails and never returns a wrong text. */
TEST(damaged_texts_are_errors_not_answers)
{
    static const char *const words[] = {"marktext",    "marktitle", "marksource", "markmeta",
                                        "markproject", "markgroup", "marktag",    "markid"};
    for (size_t i = 0; i < FUMI_COUNT(words); i++)
        for (int bit = 0; bit < 8; bit += 3) {
            struct fixture t = {0};
            struct findings h;
            struct note got;
            struct fumi_str tag = FUMI_STR("marktag");
            struct note n = {.id = FUMI_STR("markid"),
                             .project = FUMI_STR("markproject"),
                             .group = FUMI_STR("markgroup"),
                             .title = FUMI_STR("marktitle"),
                             .text = FUMI_STR("marktext"),
                             .source = FUMI_STR("marksource"),
                             .metadata = {FUMI_STR("{\"markmeta\":1}")},
                             .tags = {&tag, 1},
                             .created = {1, true}};
            CHECK(fixture_open(&t));
            CHECK_INT(fixture_put(&t, &n, NAN), 0);
            CHECK_INT(fixture_add(&t, "other", "sound", NAN), 0);
            fixture_shut(&t);
            CHECK(flip(t.path, words[i], bit) > 0);
            if (!fixture_open(&t))
                TEST_FAIL("%s, bit %d", words[i], bit);
            if (!t.s)
                return;
            int rc = store_get_note(t.s, &t.a, n.id, &got, &t.e);
            if (rc == 0 || (t.e.code != FUMI_LIMIT && t.e.code != ERR_NOT_FOUND))
                TEST_FAIL("%s, bit %d: %d", words[i], bit, t.e.code);
            struct notes all;
            CHECK_INT(store_list_by_seq(t.s, &t.a, NULL, 0, 10, &all, &t.e), 0);
            CHECK_STR(fixture_note_ids(&t, &all), "other");
            CHECK_INT(store_load_notes(t.s, ALL_IN(&t.a), (int64_t[]){1, 2}, 2, &all, &t.e), 0);
            CHECK_STR(fixture_note_ids(&t, &all), "other");
            struct unembeddeds u;
            CHECK_INT(store_list_unembedded(t.s, &t.a, SPACE, 0, 10, &u, &t.e), 0);
            CHECK_INT(u.n, 1);
            CHECK_INT(doctor(&t, true, &h), -1);
            CHECK(strstr(h.text, "note ") && strstr(h.text, "is damaged"));
            fixture_end(&t);
        }
}

TEST(a_list_goes_on_behind_what_is_damaged)
{
    struct fixture t = {0};
    struct notes out;
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    for (int i = 0; i < 6; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", NAN), 0);
    CHECK_INT(sql(t.path, "UPDATE notes SET text='y' WHERE seq IN (5, 6)"), 0);
    CHECK_INT(store_list_recent(t.s, ALL_IN(&t.a), &f, (struct cursor){0, 0}, 2, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "3 2");
    CHECK_INT(store_list_by_seq(t.s, &t.a, &f, 3, 10, &out, &t.e), 0);
    CHECK_STR(fixture_note_ids(&t, &out), "3");
    fixture_end(&t);
}

TEST(a_damaged_note_can_be_deleted_but_not_patched)
{
    struct fixture t = {0};
    struct findings h;
    struct note to = {.title = FUMI_STR("t")};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "giraffe", 0.1), 0);
    CHECK_INT(fixture_add(&t, "2", "elephant", 0.1), 0);
    CHECK_INT(sql(t.path, "UPDATE notes SET text='zebra' WHERE seq=1"), 0);
    CHECK_INT(store_update_note(t.s, &t.a, FUMI_STR("1"), &to, NOTE_TITLE, NULL, &t.e), -1);
    CHECK(strstr(t.e.text, "Note 1 is damaged"));
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("1"), NULL, &t.e), 0);
    CHECK_INT(doctor(&t, false, &h), -1); /* its keywords are still in the index */
    CHECK_INT(doctor(&t, true, &h), 0);
    struct hits hits;
    struct filter f = fixture_filter("p");
    CHECK_INT(fixture_match(&t, &f, FUMI_STR("giraffe elephant"), 5, &hits), 0);
    CHECK_STR(fixture_ids(&t, &hits), "2");
    CHECK_INT(doctor(&t, false, &h), 0);
    fixture_end(&t);
}

TEST(damaged_groups_and_globals_are_errors)
{
    struct fixture t = {0};
    struct findings h;
    struct group g = {.id = FUMI_STR("g1"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = FUMI_STR("title")};
    struct global v = {.id = FUMI_STR("v1"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.a"),
                       .value = FUMI_STR("1")};
    CHECK(fixture_open(&t));
    CHECK_INT(store_add_group(t.s, &g, NULL, &t.e), 0);
    CHECK_INT(store_set_global(t.s, &t.a, &v, NULL, &t.e), 0);
    CHECK_INT(sql(t.path, "UPDATE groups SET title='other'; UPDATE globals SET value='2'"), 0);
    CHECK_INT(store_get_group(t.s, &t.a, g.id, &g, &t.e), -1);
    CHECK_INT(t.e.code, FUMI_LIMIT);
    CHECK_INT(store_get_global(t.s, &t.a, FUMI_STR("p"), FUMI_STR("global.a"), &v, &t.e), -1);
    CHECK_INT(t.e.code, FUMI_LIMIT);
    struct groups groups;
    struct globals globals;
    CHECK_INT(store_list_groups(t.s, ALL_IN(&t.a), FUMI_STR("p"), &groups, &t.e), 0);
    CHECK_INT(groups.n, 0);
    CHECK_INT(store_list_globals(t.s, ALL_IN(&t.a), FUMI_STR("p"), FUMI_STR(""), &globals, &t.e),
              0);
    CHECK_INT(globals.n, 0);
    CHECK_INT(doctor(&t, true, &h), -1);
    CHECK(strstr(h.text, "group g1") && strstr(h.text, "global v1"));
    fixture_end(&t);
}

TEST(an_import_replaces_a_damaged_global)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    struct global g = {.id = FUMI_STR("v1"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.a"),
                       .value = FUMI_STR("1"),
                       .updated = 10};
    struct merge_row row = {.kind = MERGE_GLOBAL, .global = g};
    CHECK_INT(store_set_global(t.s, &t.a, &g, NULL, &t.e), 0);
    CHECK_INT(sql(t.path, "UPDATE globals SET value='2'"), 0);
    row.global.value = FUMI_STR("3");
    row.global.updated = 9; /* older than the damaged one */
    store_merge(t.s, &t.a, &row, 1, NULL);
    CHECK_INT(row.outcome, MERGED_ADDED);
    CHECK_INT(store_get_global(t.s, &t.a, g.project, g.key, &g, &t.e), 0);
    CHECK_STR(g.value, "3");
    fixture_end(&t);
}

/* Everything that can be derived from the notes is repaired. */
TEST(doctor_repairs)
{
    static const struct {
        const char *damage, *finding;
    } rows[] = {
        {"UPDATE tag_sets SET notes=7", "wrong counts of the notes with a tag set"},
        {"UPDATE project_groups SET notes=7", "wrong counts of the notes in a group"},
        {"UPDATE spaces SET notes=7", "wrong counts of the notes in a space"},
        {"DELETE FROM tag_set_tags", "tags missing from the index of tags"},
        {"UPDATE project_groups SET project='q'", "wrong tag set"},
        {"UPDATE tag_sets SET tags=tags||'x'", "wrong tag set"},
        {"DELETE FROM tag_sets; DELETE FROM project_groups; DELETE FROM tag_set_tags",
         "wrong tag set"},
        {"INSERT INTO tag_set_tags VALUES('t', 99), ('u', 1)", "tags that belong to no tag set"},
        {"INSERT INTO vectors(space, note, first, last, x) VALUES(1, 99, 0, 1, zeroblob(16))",
         "vectors without a note or a space"},
        {"INSERT INTO vectors(space, note, first, last, x) VALUES(9, 1, 0, 1, zeroblob(16))",
         "vectors without a note or a space"},
        {"UPDATE vectors SET x=x'0102' WHERE note=1", "vectors of the wrong size"},
        {"INSERT INTO tag_sets(project_group, tags, notes) VALUES(1, '[\"z\"]', 0)",
         "tag sets without notes"},
        {"INSERT INTO project_groups(project, group_key, notes) VALUES('z', 'z', 0)",
         "groups without tag sets"},
        {"DELETE FROM words_docsize WHERE id=1", "keyword index does not match"},
        {"INSERT INTO words_docsize SELECT 99, sz FROM words_docsize LIMIT 1",
         "keyword index does not match"},
        {"DELETE FROM words_data WHERE id>10", "keyword index does not match"},
        {"UPDATE project_groups SET words=7", "wrong counts of the words in a group"},
        {"DROP INDEX notes_chain", "An index is missing: CREATE INDEX notes_chain"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture t = {0};
        struct findings h;
        struct hits hits;
        struct fumi_str tag = FUMI_STR("tagged");
        struct filter f = fixture_filter("p");
        f.tags = (struct fumi_strs){&tag, 1};
        struct note n = fixture_note("1", "giraffe");
        n.tags = f.tags;
        CHECK(fixture_open(&t));
        CHECK_INT(fixture_put(&t, &n, 0.1), 0);
        CHECK_INT(fixture_add(&t, "2", "elephant", 0.1), 0);
        CHECK_INT(fixture_near(&t, &f, 0, 5, &hits), 0);
        fixture_shut(&t);
        CHECK_INT(sql(t.path, rows[i].damage), 0);
        CHECK(open_lenient(&t));
        int before = doctor(&t, false, &h);
        bool reported = strstr(h.text, rows[i].finding);
        int repaired = doctor(&t, true, &h), after = doctor(&t, false, &h);
        if (before != -1 || !reported || repaired || after)
            TEST_FAIL("%s: %d %d %d %d\n%s", rows[i].damage, before, reported, repaired, after,
                      h.text);
        CHECK_INT(fixture_match(&t, &f, FUMI_STR("giraffe"), 5, &hits), 0);
        CHECK_STR(fixture_ids(&t, &hits), "1");
        fixture_end(&t);
    }
}

static void flip_in_cache(const struct fixture *t, long at)
{
    char path[200];
    snprintf(path, sizeof(path), "%s.vec", t->path);
    FILE *f = fopen(path, "r+b");
    if (!f || fseek(f, at, SEEK_SET))
        abort();
    int byte = getc(f);
    fseek(f, at, SEEK_SET);
    putc(byte ^ 1, f);
    fclose(f);
}

/* A cache is derived data, but to build it takes long in a large store. */
TEST(doctor_keeps_a_sound_vector_cache)
{
    struct fixture t = {0};
    struct findings h;
    struct hits hits;
    struct stat before, after;
    struct filter f = fixture_filter("p");
    CHECK(fixture_open(&t));
    const char *side = fumi_fmt(&t.a, "%s.vec", t.path).p;
    CHECK_INT(doctor(&t, true, &h), 0);
    CHECK(!strstr(h.text, "vector cache")); /* there is none */
    CHECK_INT(fixture_add(&t, "1", "one", 0.1), 0);
    CHECK_INT(fixture_near(&t, &f, 0, 5, &hits), 0);
    CHECK(stat(side, &before) == 0);
    CHECK_INT(doctor(&t, true, &h), 0);
    CHECK(strstr(h.text, "The vector cache: no damage.") != NULL);
    CHECK(stat(side, &after) == 0 && after.st_ino == before.st_ino);
    static const long places[] = {0, 200, 4096 + 3}; /* the header, and a row */
    for (size_t i = 0; i < FUMI_COUNT(places); i++) {
        fixture_shut(&t);
        flip_in_cache(&t, places[i]);
        CHECK(fixture_open(&t));
        CHECK_INT(doctor(&t, true, &h), 0);
        CHECK(strstr(h.text, "The vector cache: deleted") != NULL);
        CHECK_INT(fixture_near(&t, &f, 0, 5, &hits), 0);
        CHECK_INT(hits.n, 1);
    }
    fixture_end(&t);
}

TEST(doctor_rebuilds_indexes)
{
    struct fixture t = {0};
    struct findings h;
    struct note got;
    CHECK(fixture_open(&t));
    for (int i = 0; i < 5; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", NAN), 0);
    fixture_shut(&t);
    CHECK_INT(sql(t.path, "PRAGMA writable_schema=ON;"
                          "UPDATE sqlite_schema SET type='x', name='x', tbl_name='x', rootpage=0, "
                          "sql=NULL WHERE name='notes_time'"),
              0);
    CHECK(!fixture_store(&t, t.path)); /* an index is missing in the schema */
    fixture_end(&t);

    t = (struct fixture){0};
    CHECK(fixture_open(&t));
    for (int i = 0; i < 5; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "x", NAN), 0);
    fixture_shut(&t);
    CHECK_INT(sql(t.path,
                  "PRAGMA writable_schema=ON;"
                  "CREATE TABLE keep AS SELECT * FROM sqlite_schema WHERE name='notes_time';"
                  "DELETE FROM sqlite_schema WHERE name='notes_time';"),
              0);
    CHECK_INT(sql(t.path, "DELETE FROM notes WHERE seq=2"), 0);
    CHECK_INT(sql(t.path, "PRAGMA writable_schema=ON;"
                          "INSERT INTO sqlite_schema SELECT * FROM keep;"
                          "DELETE FROM sqlite_schema WHERE name='keep'"),
              0);
    t.s = store_sqlite_open(
        &(struct store_sqlite_options){.path = t.path, .lenient = true, .nosync = true}, &t.e);
    CHECK(t.s != NULL);
    CHECK_INT(doctor(&t, false, &h), -1);
    CHECK(strstr(h.text, "notes_time") != NULL);
    doctor(&t, true, &h);
    CHECK(strstr(h.text, "notes_time") != NULL);
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("3"), &got, &t.e), 0);
    fixture_end(&t);
}

/* Each page in turn is overwritten with zeros: doctor salvages all notes that are not on that page
 * and keeps the damaged file; deleted notes do not reappear. */
TEST(doctor_salvages_a_damaged_file)
{
    enum { NOTES = 60, PAGE = 4096 };
    static const char zeros[PAGE];
    struct fixture t = {0};
    struct findings h;
    struct stat st;
    CHECK(fixture_open(&t));
    for (int i = 0; i < NOTES; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p,
                              fumi_fmt(&t.a, "note %d %0*d", i, i == 7 ? 9000 : 300, 0).p, 0.1),
                  0);
    for (int i = 20; i < 40; i++)
        CHECK_INT(store_delete(t.s, &t.a, fumi_fmt(&t.a, "%d", i), NULL, &t.e), 0);
    CHECK_INT(store_set_meta(t.s, "fact", FUMI_STR("kept"), &t.e), 0);
    fixture_shut(&t);
    CHECK_INT(stat(t.path, &st), 0);
    struct fumi_str copy = fumi_fmt(&t.a, "%s/copy.db", t.top);
    CHECK_INT(rename(t.path, copy.p), 0);
    for (off_t page = 1; page < st.st_size / PAGE; page++) {
        char *bytes = fumi_alloc(&t.a, (size_t)st.st_size);
        FILE *f = fopen(copy.p, "r");
        CHECK(f && fread(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size && !fclose(f));
        memcpy(bytes + page * PAGE, zeros, PAGE);
        f = fopen(t.path, "w");
        CHECK(f && fwrite(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size && !fclose(f));
        t.s = store_sqlite_open(&(struct store_sqlite_options){.path = t.path,
                                                               .lenient = true,
                                                               .salvage = true,
                                                               .nosync = true,
                                                               .log = &fixture_silent},
                                &t.e);
        CHECK(t.s != NULL);
        int rc = doctor(&t, true, &h), right = 0, back = 0;
        for (int i = 0; t.s && i < NOTES; i++) {
            struct note got;
            bool is = !store_get_note(t.s, &t.a, fumi_fmt(&t.a, "%d", i), &got, &t.e);
            right += is && (i < 20 || i >= 40);
            back += is && i >= 20 && i < 40;
        }
        if ((rc && !strstr(h.text, "note 7 is damaged")) || right < NOTES - 20 - PAGE / 300 || back)
            TEST_FAIL("page %d: %d, %d right, %d back\n%s%s", (int)page, rc, right, back, h.text,
                      t.e.text);
        CHECK(!strstr(h.text, "is kept") || strstr(h.text, ".damaged-"));
        CHECK_INT(fixture_add(&t, "new", "x", 0.1), 0);
        struct note got;
        CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("new"), &got, &t.e), 0);
        CHECK_INT(got.seq, NOTES + 1);
        fixture_shut(&t);
        nftw(fumi_fmt(&t.a, "%s/data", t.top).p, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
        CHECK_INT(mkdir(fumi_fmt(&t.a, "%s/data", t.top).p, 0700), 0);
        fumi_arena_reset(&t.a, 1 << 20);
        copy = fumi_fmt(&t.a, "%s/copy.db", t.top);
    }
    fixture_end(&t);
}

/* A file that another process has open is not salvaged. */
TEST(doctor_leaves_a_file_that_others_use)
{
    struct fixture t = {0};
    struct findings h;
    sqlite3 *other = NULL;
    static const char zeros[4096];
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "x", 0.1), 0);
    fixture_shut(&t);
    FILE *f = fopen(t.path, "r+");
    CHECK(f && !fseek(f, 4096, SEEK_SET) && fwrite(zeros, 4096, 1, f) == 1 && !fclose(f));
    CHECK_INT(sqlite3_open(t.path, &other), 0);
    CHECK_INT(sqlite3_exec(other, "SELECT count(*) FROM meta", NULL, NULL, NULL), 0);
    t.s = store_sqlite_open(
        &(struct store_sqlite_options){.path = t.path, .lenient = true, .nosync = true}, &t.e);
    CHECK(t.s != NULL);
    CHECK_INT(doctor(&t, true, &h), -1);
    CHECK(strstr(t.e.text, "another process has it open"));
    sqlite3_close(other);
    CHECK_INT(doctor(&t, true, &h), 0);
    CHECK(strstr(h.text, "Notes saved: 1; lost: 0."));
    fixture_end(&t);
}

/* Pages are overwritten with random bytes: reading a note returns an error or the right text. */
TEST(damaged_pages_never_give_a_wrong_text)
{
    enum { NOTES = 60 };
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    for (int i = 0; i < NOTES; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p,
                              fumi_fmt(&t.a, "the text of note %d and some more of it", i).p, 0.1),
                  0);
    fixture_shut(&t);
    struct stat st;
    CHECK_INT(stat(t.path, &st), 0);
    char *sound = fumi_alloc(&t.a, (size_t)st.st_size),
         *bytes = fumi_alloc(&t.a, (size_t)st.st_size);
    FILE *f = fopen(t.path, "r");
    CHECK(f && fread(sound, 1, (size_t)st.st_size, f) == (size_t)st.st_size);
    fclose(f);
    uint32_t state = 7;
    for (int turn = 0; turn < 120; turn++) {
        memcpy(bytes, sound, (size_t)st.st_size);
        for (int k = 0; k < 1 + turn % 7; k++) {
            state = state * 1664525 + 1013904223;
            size_t at = 100 + (state >> 4) % ((size_t)st.st_size - 200), n = turn % 3 ? 1 : 64;
            for (size_t i = 0; i < n; i++)
                bytes[at + i] ^= (char)(turn % 3 ? 1 << (state >> 28) % 8 : 0x5A);
        }
        f = fopen(t.path, "w");
        CHECK(f && fwrite(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size && !fclose(f));
        t.s = store_sqlite_open(
            &(struct store_sqlite_options){
                .path = t.path, .lenient = turn % 2, .nosync = true, .log = &fixture_silent},
            &t.e);
        if (!t.s)
            continue;
        for (int i = 0; i < NOTES; i++) {
            struct note got;
            struct fumi_str want = fumi_fmt(&t.a, "the text of note %d and some more of it", i);
            if (!store_get_note(t.s, &t.a, fumi_fmt(&t.a, "%d", i), &got, &t.e) &&
                !fumi_eq(got.text, want))
                TEST_FAIL("turn %d: note %d: %.*s", turn, i, FUMI_ARG(got.text));
        }
        struct notes all;
        struct hits hits;
        struct findings h;
        struct filter any = fixture_filter("p");
        store_list_recent(t.s, ALL_IN(&t.a), &any, (struct cursor){0, 0}, 100, &all, &t.e);
        fixture_match(&t, &any, FUMI_STR("text note 7"), 10, &hits);
        fixture_near(&t, &any, 0, 10, &hits);
        fixture_add(&t, "new", "x", 0.1);
        doctor(&t, turn % 4 == 1, &h);
        fixture_shut(&t);
    }
    fixture_end(&t);
}

/* Backups. */

struct told {
    int64_t calls, stop_at, done, total;
};

static bool tell(void *arg, int64_t done, int64_t total)
{
    struct told *t = arg;
    t->done = done;
    t->total = total;
    return ++t->calls != t->stop_at;
}

/* What is told rises to the total; where it answers no, nothing is left behind. */
TEST(backup_and_check_tell_their_progress_and_can_be_stopped)
{
    struct fixture t = {0};
    struct told told = {.stop_at = 1};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "giraffe", 0.1), 0);
    fixture_shut(&t);
    struct store_sqlite_options o = {
        .path = t.path, .log = &fixture_silent, .progress = {tell, &told}};
    t.s = store_sqlite_open(&o, &t.e);
    CHECK(t.s != NULL);
    struct fumi_str copy = fumi_fmt(&t.a, "%s/copy.db", t.top);
    CHECK_INT(store_backup(t.s, copy, &t.e), -1);
    CHECK(access(copy.p, F_OK) != 0);
    told = (struct told){.stop_at = 3};
    CHECK_INT(store_check(t.s, true, NULL, NULL, &t.e), -1);
    CHECK_INT(told.done, 2);
    told = (struct told){0};
    CHECK_INT(store_check(t.s, true, NULL, NULL, &t.e), 0);
    CHECK_INT(told.calls, told.total);
    told = (struct told){0};
    CHECK_INT(store_backup(t.s, copy, &t.e), 0);
    CHECK(told.calls > 0 && told.total >= told.done);
    fixture_end(&t);
}

TEST(a_backup_is_a_whole_store)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    CHECK_INT(fixture_add(&t, "1", "giraffe", 0.1), 0);
    struct fumi_str copy = fumi_fmt(&t.a, "%s/copy.db", t.top);
    CHECK_INT(store_backup(t.s, copy, &t.e), 0);
    CHECK_INT(store_backup(t.s, copy, &t.e), -1);
    CHECK_INT(t.e.code, ERR_CONFLICT);
    CHECK_INT(store_backup(t.s, fumi_fmt(&t.a, "%s/none/copy.db", t.top), &t.e), -1);
    CHECK_INT(t.e.code, FUMI_INTERNAL_ERROR);
    CHECK_INT(fixture_add(&t, "2", "later", 0.1), 0);
    fixture_shut(&t);
    struct stat st;
    CHECK_INT(stat(copy.p, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    snprintf(t.path, sizeof(t.path), "%s", copy.p);
    CHECK(fixture_open(&t));
    struct note got;
    struct hits h;
    struct filter f = fixture_filter("p");
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("1"), &got, &t.e), 0);
    CHECK_INT(store_get_note(t.s, &t.a, FUMI_STR("2"), &got, &t.e), -1);
    CHECK_INT(fixture_match(&t, &f, FUMI_STR("giraffe"), 5, &h), 0);
    CHECK_INT(h.n, 1);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

struct writer {
    struct fixture *t;
    int acknowledged, failed;
    bool stop;
};

static void *write_on(void *arg)
{
    struct writer *w = arg;
    struct fixture mine = {.s = w->t->s};
    for (int i = 0; i < 100000 && !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); i++) {
        char id[32];
        snprintf(id, sizeof(id), "%d", i);
        w->failed += fixture_add(&mine, id, "x", 0.1) != 0;
        __atomic_store_n(&w->acknowledged, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

TEST(a_backup_while_others_write_holds_all_that_was_before)
{
    struct fixture t = {0};
    struct writer w = {.t = &t};
    pthread_t thread;
    CHECK(fixture_open(&t));
    CHECK_INT(pthread_create(&thread, NULL, write_on, &w), 0);
    int before[5], rc = 0;
    for (int i = 0; i < 5; i++) {
        before[i] = __atomic_load_n(&w.acknowledged, __ATOMIC_ACQUIRE);
        rc |= store_backup(t.s, fumi_fmt(&t.a, "%s/%d.db", t.top, i), &t.e);
    }
    __atomic_store_n(&w.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_INT(rc, 0);
    CHECK_INT(w.failed, 0);
    fixture_shut(&t);
    for (int i = 0; i < 5; i++) {
        snprintf(t.path, sizeof(t.path), "%s/%d.db", t.top, i);
        CHECK(fixture_open(&t));
        for (int k = 0; k < before[i]; k++) {
            struct note got;
            CHECK_INT(store_get_note(t.s, &t.a, fumi_fmt(&t.a, "%d", k), &got, &t.e), 0);
        }
        CHECK(fixture_sound(&t));
        fixture_shut(&t);
    }
    fixture_end(&t);
}

TEST(a_killed_backup_leaves_nothing_under_its_name)
{
    struct fixture t = {0};
    CHECK(fixture_open(&t));
    for (int i = 0; i < 200; i++)
        CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", i).p, "some text", 0.1), 0);
    fixture_shut(&t);
    for (int i = 0; i < 10; i++) {
        struct fumi_str copy = fumi_fmt(&t.a, "%s/copy%d.db", t.top, i);
        pid_t pid = fork();
        if (pid == 0) {
            struct store *s = fixture_store(&t, t.path);
            _exit(!s || store_backup(s, copy, &t.e));
        }
        usleep((useconds_t)(i * 700));
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        struct stat st;
        if (stat(copy.p, &st) == 0) {
            struct store *s = fixture_store(&t, copy.p);
            CHECK(s != NULL);
            struct store_stats count;
            CHECK_INT(store_stats(s, &count, &t.e), 0);
            CHECK_INT(count.notes, 200);
            store_close(s);
        }
    }
    CHECK(fixture_open(&t));
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Any damaged byte of the first page: the corrupt schema table is replaced by that of a new store,
 * and no note is lost. */
TEST(a_corrupt_schema_table_is_replaced)
{
    static const long hits[] = {100, 103, 105, 108, 120, 2000, 3000, 4000};
    for (size_t i = 0; i < FUMI_COUNT(hits); i++) {
        struct fixture t = {0};
        struct note got;
        CHECK(fixture_open(&t));
        for (int k = 1; k <= 40; k++)
            CHECK_INT(fixture_add(&t, fumi_fmt(&t.a, "%d", k).p, "x", NAN), 0);
        fixture_shut(&t);
        FILE *f = fopen(t.path, "r+");
        CHECK(f && fseek(f, hits[i], SEEK_SET) == 0 && fwrite("\xff\xff\xff\xff", 4, 1, f) == 1);
        fclose(f);
        if (!open_lenient(&t) || store_get_note(t.s, &t.a, FUMI_STR("40"), &got, &t.e))
            TEST_FAIL("byte %ld: %s", hits[i], t.e.text);
        fixture_end(&t);
    }
}

/* Adds 40 notes of one session to a store whose index of sessions has another root page than in a
 * new store, as after a migration. */
static bool with_sessions(struct fixture *t)
{
    struct findings h;
    if (!fixture_open(t))
        return false;
    fixture_shut(t);
    if (sql(t->path, "DROP INDEX notes_chain") || !open_lenient(t))
        return false;
    for (int k = 1; k <= 40; k++) {
        struct note n = fixture_note(fumi_fmt(&t->a, "%d", k).p,
                                     fumi_fmt(&t->a, "word%d %*d", k, 900, k).p);
        n.session = FUMI_STR("s");
        if (fixture_put(t, &n, NAN))
            return false;
    }
    bool done = doctor(t, true, &h) == 0;
    fixture_shut(t);
    return done;
}

TEST(sessions_survive_a_repair)
{
    static const long hits[] = {103, 3000, 7 * 4096 + 5, 12 * 4096 + 3};
    for (size_t i = 0; i < FUMI_COUNT(hits); i++) {
        struct fixture t = {0};
        struct findings h;
        struct notes all;
        struct neighbours n;
        struct filter f = fixture_filter("p");
        CHECK(with_sessions(&t));
        FILE *file = fopen(t.path, "r+");
        CHECK(file && fseek(file, hits[i], SEEK_SET) == 0 &&
              fwrite("\xff\xff\xff\xff", 4, 1, file) == 1);
        fclose(file);
        CHECK(open_lenient(&t));
        if (doctor(&t, true, &h) || !fixture_sound(&t))
            TEST_FAIL("byte %ld: %s", hits[i], h.text);
        CHECK_INT(store_list_by_seq(t.s, &t.a, &f, 0, 100, &all, &t.e), 0);
        CHECK(all.n > 20);
        for (size_t k = 0; k < all.n; k++) {
            CHECK_STR(all.items[k].session, "s");
            CHECK_INT(store_neighbours(t.s, &t.a, &all.items[k].seq, 1, &n, &t.e), 0);
            CHECK_INT(n.seq[1], k ? all.items[k - 1].seq : 0);
            CHECK_INT(n.seq[2], k + 1 < all.n ? all.items[k + 1].seq : 0);
        }
        fixture_end(&t);
    }
}
