/* Tokenizes arbitrary bytes and checks the invariants of every word: within the text, within the
 * length limit, in order, and at most eight words per byte. Then stores the bytes as a note and
 * uses them as the query, which must find that note. */
#include "fuzz.h"

#include "base/utf8.h"
#include "store/language.h"
#include "store/sqlite_words.h"
#include "store/words.h"

struct watch {
    size_t n, words, position;
    bool any;
};

static int watch(void *arg, const struct word *w)
{
    struct watch *x = arg;
    MUST(w->begin < w->end && w->end <= x->n);
    MUST(w->text.n && w->text.n <= WORD_MAX && fumi_utf8_valid(w->text));
    MUST(w->position == x->position || w->position == x->position + 1);
    MUST(x->any || w->position == 0);
    MUST((w->kind != WORD_STEM && w->kind != WORD_FOREIGN) || w->position == x->position);
    x->position = w->position;
    x->any = true;
    x->words++;
    return 0;
}

#define PROJECT FUMI_STR("p")

static sqlite3 *database(void)
{
    static sqlite3 *db;
    static struct words_ending ending;
    struct fumi_err e;
    if (db)
        return db;
    ending = store_sqlite_words_ending(PROJECT, FUMI_STR("id"));
    MUST(sqlite3_open(":memory:", &db) == SQLITE_OK &&
         store_sqlite_words_register(db, &ending, &e) == 0);
    MUST(sqlite3_exec(db, store_sqlite_words_schema, NULL, NULL, NULL) == SQLITE_OK);
    MUST(sqlite3_exec(
             db,
             "CREATE TABLE notes(seq INTEGER PRIMARY KEY, tag_set INTEGER, created INTEGER);"
             "INSERT INTO notes VALUES(1, 0, 0)",
             NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

static void put(sqlite3 *db, const char *sql, struct fumi_str text)
{
    sqlite3_stmt *q = NULL;
    MUST(sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK);
    sqlite3_bind_text(q, 1, text.p, (int)text.n, SQLITE_STATIC);
    MUST(sqlite3_step(q) == SQLITE_DONE);
    sqlite3_finalize(q);
}

/* A text with at least one word must find itself. */
static void use_query(struct fumi_str text, bool any)
{
    static const struct scan_filter all = {NULL, 0, INT64_MIN, INT64_MAX};
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct keyword_hits found;
    const struct keyword_query query = {.text = text, .limit = 10};
    const struct words_search what = {
        .project = PROJECT, .notes = 1, .words = 10, .filter = &all, .query = &query};
    sqlite3 *db = database();
    MUST(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    put(db, "INSERT INTO words(rowid, text) VALUES(1, ?1)", text);
    MUST(store_sqlite_words_match(db, &a, &what, &found, &e) == 0);
    MUST(found.hits.n == any &&
         (!any || (found.hits.items[0].seq == 1 && found.hits.items[0].score > 0)));
    MUST(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    fumi_arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_str text = exact_copy(data, n);
    struct watch w = {.n = n}, all = {.n = n};
    MUST(words_each(text, LATIN_LANGUAGES, watch, &all) == 0);
    MUST(words_each(text, language_of(text, 0), watch, &w) == 0);
    MUST(w.words <= all.words && all.words <= 8 * n);
    words_mostly_non_latin(text);
    if (n && n <= 256) /* slow, because of the database */
        use_query(text, w.any);
    exact_free(text);
    return 0;
}
