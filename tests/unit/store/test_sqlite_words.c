/* Keyword search in a real SQLite database: which note must rank first, that no query is parsed
 * as FTS5 syntax, and that filters hold. */
#include "test.h"

#include "store/sqlite_words.h"

#define PROJECT FUMI_STR("p")

static const struct scan_filter everything = {NULL, 0, INT64_MIN, INT64_MAX};

struct fixture {
    sqlite3 *db;
    sqlite3_stmt *note, *words;
    struct fumi_arena a;
    struct fumi_err e;
    struct keyword_hits found;
    struct words_ending ending;
    int64_t seq;
};

static void run(struct fixture *s, const char *sql)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        TEST_FAIL("%s: %s", sql, sqlite3_errmsg(s->db));
}

static void fixture_open(struct fixture *s)
{
    *s = (struct fixture){.ending = store_sqlite_words_ending(PROJECT, (struct fumi_str){0})};
    if (sqlite3_open(":memory:", &s->db) != SQLITE_OK ||
        store_sqlite_words_register(s->db, &s->ending, &s->e))
        TEST_FAIL("no database: %s", s->e.text);
    run(s, "CREATE TABLE notes(seq INTEGER PRIMARY KEY, tag_set INTEGER, created INTEGER)");
    run(s, "CREATE INDEX notes_tag_set ON notes(tag_set, created)");
    run(s, store_sqlite_words_schema);
    run(s, "BEGIN");
    sqlite3_prepare_v2(s->db, "INSERT INTO notes VALUES(?1, ?2, ?3)", -1, &s->note, NULL);
    sqlite3_prepare_v2(s->db, "INSERT INTO words(rowid, title, text, tags) VALUES(?1, ?2, ?3, ?4)",
                       -1, &s->words, NULL);
}

static void fixture_close(struct fixture *s)
{
    sqlite3_finalize(s->note);
    sqlite3_finalize(s->words);
    fumi_arena_done(&s->a);
    if (sqlite3_close(s->db) != SQLITE_OK)
        TEST_FAIL("statements were left open");
}

struct given {
    const char *title, *text, *tags;
    int64_t place, created;
};

static int64_t put(struct fixture *s, struct given g)
{
    s->seq++;
    sqlite3_bind_int64(s->note, 1, s->seq);
    sqlite3_bind_int64(s->note, 2, g.place);
    sqlite3_bind_int64(s->note, 3, g.created);
    sqlite3_bind_int64(s->words, 1, s->seq);
    sqlite3_bind_text(s->words, 2, g.title, -1, SQLITE_STATIC);
    sqlite3_bind_text(s->words, 3, g.text, -1, SQLITE_STATIC);
    sqlite3_bind_text(s->words, 4, g.tags, -1, SQLITE_STATIC);
    if (sqlite3_step(s->note) != SQLITE_DONE || sqlite3_step(s->words) != SQLITE_DONE)
        TEST_FAIL("%s", sqlite3_errmsg(s->db));
    sqlite3_reset(s->note);
    sqlite3_reset(s->words);
    return s->seq;
}

static int64_t put_text(struct fixture *s, const char *text)
{
    return put(s, (struct given){.text = text});
}

static int match(struct fixture *s, const struct scan_filter *f, struct fumi_str text, size_t limit)
{
    struct keyword_query query = {.text = text, .limit = limit};
    struct words_search what = {
        .project = PROJECT, .filter = f, .narrow = f != &everything, .query = &query};
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(s->db, "SELECT count(*), sum(words_in(sz)) FROM words_docsize", -1, &q,
                       NULL);
    if (q && sqlite3_step(q) == SQLITE_ROW) {
        what.notes = sqlite3_column_int64(q, 0);
        what.words = sqlite3_column_int64(q, 1);
    }
    what.notes += !q; /* there is no index */
    sqlite3_finalize(q);
    return store_sqlite_words_match(s->db, &s->a, &what, &s->found, &s->e);
}

/* The seq of the best note; 0 if none was found, -1 on an error. */
static int64_t best_of(struct fixture *s, const struct scan_filter *f, const char *query)
{
    s->e = (struct fumi_err){0};
    if (match(s, f, fumi_str(query), 10))
        return -1;
    for (size_t i = 1; i < s->found.hits.n; i++) {
        if (s->found.hits.items[i - 1].score < s->found.hits.items[i].score)
            TEST_FAIL("not in order: %s", query);
    }
    return s->found.hits.n ? s->found.hits.items[0].seq : 0;
}

static int64_t best(struct fixture *s, const char *query)
{
    return best_of(s, &everything, query);
}

/* Texts that contain only part of the words of other texts, but are shorter or repeat them. */
static const char *const crowd[] = {
    "Notes of the meeting: we decided to keep the old layout for now.",
    "016",
    "ADR ADR ADR, that is how decisions are written here; number 16 or 160 or 0160.",
    "main",
    "src src src src c c c c",
    "The main source directory holds C files.",
    "user user user user",
    "name name name name",
    "The name of the user is shown.",
    "set the name, then get the user",
    "get user",
    "or",
    "and",
    "not and or",
    "The build is not done and the tests or the docs are missing.",
    "定設",
    "設備の予定を確認した。",
    "新しい機能の予定について話した。",
    "A star is born.",
    "smile",
    "Version 2 of the plan, part 1, chapter 3.",
    "host user",
    "123",
    "C is a language",
    "naive cafe",
};

TEST(the_note_that_contains_the_query_ranks_first)
{
    static const struct {
        const char *text, *query;
    } rows[] = {
        {"The 設定 file is read at start.", "設定"},
        {"サーバーの設定を変更した。", "設定を変更"},
        {"ADR-016 says that SQLite is the store.", "ADR-016"},
        {"The entry point is src/main.c, which parses the flags.", "src/main.c"},
        {"Call getUserName() before the page is drawn.", "getUserName"},
        {"The user name may not be empty when the form is sent to the server.", "user name"},
        {"Put it in \"quotes\" to be safe.", "\""},
        {"Someone searched for AND OR NOT * and got an error from another tool.", "AND OR NOT *"},
        {"Shipped 🎉 to everybody on Friday.", "🎉"},
        {"We moved to v2.1.3 last week.", "v2.1.3"},
        {"Mail alice@example.org about the key.", "alice@example.org"},
        {"Fixed in #123 by Bob.", "#123"},
        {"The old parts are written in C++ and will stay.", "c++"},
        {"fn parse(x: Option<T>) -> Result<T>", "->"},
        {"El Niño piñata", "pinata"},
        {"Straße in München", "STRASSE"},
        {"ﾃﾞｰﾀﾍﾞｰｽの移行", "データベース"},
        {"한국어 문서를 찾는다", "한국어"},
        {"ภาษาไทยไม่มีช่องว่าง", "ภาษาไทย"},
        {"鬼", "鬼"},
        {"x_y_z_total is wrong", "x_y_z_total"},
        {"the flag --dry-run prints only", "--dry-run"},
        {"https://example.com/a/b.html explains it", "https://example.com/a/b.html"},
        {"sha256 sums are checked", "sha256"},
    };
    struct fixture s;
    fixture_open(&s);
    for (size_t i = 0; i < FUMI_COUNT(crowd); i++)
        put_text(&s, crowd[i]);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int64_t seq = put_text(&s, rows[i].text);
        for (size_t k = 0; k < FUMI_COUNT(crowd); k++)
            put_text(&s, crowd[k]);
        int64_t got = best(&s, rows[i].query);
        if (got != seq)
            TEST_FAIL("%s: found %lld, not %lld (of %zu)", rows[i].query, (long long)got,
                      (long long)seq, s.found.hits.n);
    }
    fixture_close(&s);
}

TEST(spellings_of_a_name_in_one_store)
{
    struct fixture s;
    fixture_open(&s);
    int64_t pair = put_text(&s, "The user name is asked for.");
    int64_t camel = put_text(&s, "Call getUserName().");
    int64_t snake = put_text(&s, "get_user_name");
    int64_t words = put_text(&s, "How to get the user a name.");
    (void)words;
    CHECK_INT(best(&s, "user name"), pair);
    CHECK_INT(s.found.hits.n, 4);
    CHECK_INT(best(&s, "getUserName"), camel);
    CHECK_INT(s.found.hits.items[1].seq, snake);
    CHECK_INT(s.found.hits.n, 4);
    CHECK_INT(best(&s, "get_user_name"), snake);
    CHECK_INT(s.found.hits.items[1].seq, camel);
    CHECK_INT(best(&s, "getusername"), camel);
    CHECK_INT(s.found.hits.n, 2);
    fixture_close(&s);
}

/* In each row the first text must rank before the second, which is shorter or repeats the words. */
TEST(better_kinds_of_match)
{
    static const struct {
        const char *query, *better, *worse;
    } rows[] = {
        {"connection pool", "The server keeps a connection pool for each of its many hosts.",
         "pool of connection"},
        {"running", "She was running late.", "She runs late."},
        {"e-mail", "Send an e-mail to the list of all people who asked.", "e mail e mail"},
        {"email", "Send an email to the list.", "Send an e-mail to the list."},
        {"utf-8", "All text is utf8 here, in files and on the wire.", "8 utf 8"},
        {"what is the parser", "It has a parser.", "what is the"},
        {"1000", "There are 1,000 of them in the box.", "1 000 1"},
        {"検索の結果", "昨日の検索の結果を保存しておいた。", "結果の検索"},
        {"don't panic", "don’t panic", "panic t don"},
        {"Caroline", "Caroline's dog is called Rex and likes long walks.", "Carol line"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        fixture_open(&s);
        for (size_t k = 0; k < 12; k++)
            put_text(&s, "Nothing to see here, move on.");
        int64_t seq = put_text(&s, rows[i].better);
        put_text(&s, rows[i].worse);
        if (best(&s, rows[i].query) != seq)
            TEST_FAIL("%s: \"%s\" came first", rows[i].query, rows[i].worse);
        fixture_close(&s);
    }
}

TEST(columns)
{
    struct fixture s;
    fixture_open(&s);
    put_text(&s, "A migration is planned.");
    int64_t title = put(&s, (struct given){.title = "Migration", .text = "It is planned."});
    put_text(&s, "Once more: a migration was done.");
    CHECK_INT(best(&s, "migration"), title);
    CHECK_INT(s.found.hits.n, 3);
    int64_t tag = put(&s, (struct given){.text = "Anything at all.", .tags = "deploy ops-team"});
    CHECK_INT(best(&s, "deploy"), tag);
    CHECK_INT(best(&s, "ops-team"), tag);
    fixture_close(&s);
}

TEST(queries_have_no_syntax)
{
    static const char *const rows[] = {
        "\"",
        "\"\"\"",
        "*",
        "a*",
        "^a",
        "AND",
        "NEAR(a b, 2)",
        "title:a",
        "- a",
        "{title} : a",
        "a AND",
        "(",
        "a OR",
        "a + b",
        "NOT",
        "'; DROP TABLE notes; --",
        "\\",
        "%",
        "\x01",
        "\x01z",
        "\xff\xfe",
        "\xe3\x81",
        "a\"b\"c",
        "\"a\" OR",
        "{",
        "fumi_words(words)",
    };
    struct fixture s;
    fixture_open(&s);
    put_text(&s, "Just a note about b and c.");
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        if (best(&s, rows[i]) < 0)
            TEST_FAIL("%s: %s", rows[i], s.e.text);
    }
    CHECK_INT(best(&s, ""), 0);
    CHECK_INT(best(&s, " \n\t"), 0);
    CHECK_INT(best(&s, "title:a"), 1);
    CHECK_INT(match(&s, &everything, (struct fumi_str){"a\0b", 3}, 10), 0);
    CHECK_INT(s.found.hits.n, 1);
    fixture_close(&s);
}

TEST(long_query)
{
    struct fixture s;
    fixture_open(&s);
    put_text(&s, "word7 and word8");
    char *query = fumi_alloc(&s.a, 8192);
    size_t n = 0;
    for (int i = 0; n < 8000; i++)
        n += (size_t)snprintf(query + n, 8192 - n, "Word%d-%dx ", i, i);
    CHECK_INT(match(&s, &everything, (struct fumi_str){query, n}, 5), 0);
    CHECK_INT(s.found.hits.n, 1);
    fixture_close(&s);
}

TEST(limit_and_order)
{
    struct fixture s;
    fixture_open(&s);
    for (int i = 0; i < 30; i++)
        put_text(&s, i == 17 ? "apple apple apple" : "apple pie with cream");
    CHECK_INT(best(&s, "apple"), 18);
    CHECK_INT(s.found.hits.n, 10);
    CHECK_INT(s.found.hits.items[1].seq, 30); /* equal scores: newest first */
    CHECK(s.found.hits.items[0].score > s.found.hits.items[1].score &&
          s.found.hits.items[9].score > 0);
    CHECK_INT(match(&s, &everything, FUMI_STR("apple"), 0), 0);
    CHECK_INT(s.found.hits.n, 0);
    fixture_close(&s);
}

TEST(deleted)
{
    struct fixture s;
    fixture_open(&s);
    put_text(&s, "ADR-016: 設定 of getUserName 🎉");
    int64_t other = put_text(&s, "ADR-017");
    run(&s, "INSERT INTO words(words, rowid, title, text, tags, source) "
            "VALUES('delete', 1, NULL, 'ADR-016: 設定 of getUserName 🎉', NULL, NULL)");
    CHECK_INT(best(&s, "設定"), 0);
    CHECK_INT(best(&s, "getusername"), 0);
    CHECK_INT(best(&s, "adr"), other);
    run(&s, "INSERT INTO words(words) VALUES('integrity-check')");
    fixture_close(&s);
}

TEST(filter)
{
    struct fixture s;
    fixture_open(&s);
    for (int i = 0; i < 200; i++)
        put(&s, (struct given){.text = i % 2 ? "red apple" : "green apple",
                               .place = i % 100,
                               .created = 1000 + i});
    uint64_t tag_sets[2] = {0};
    struct scan_filter f = {tag_sets, 100, INT64_MIN, INT64_MAX};
    CHECK_INT(best_of(&s, &f, "apple"), 0);
    tag_sets[1] = 1; /* tag set 64: notes 65 and 165 */
    CHECK_INT(best_of(&s, &f, "apple"), 165);
    CHECK_INT(s.found.hits.n, 2);
    CHECK_INT(best_of(&s, &f, "red"), 0);
    f.until = 1164;
    CHECK_INT(best_of(&s, &f, "apple"), 65);
    CHECK_INT(s.found.hits.n, 1);
    f.tag_sets = NULL;
    f.since = 1050;
    f.until = 1053;
    CHECK_INT(best_of(&s, &f, "apple"), 53);
    CHECK_INT(s.found.hits.n, 3);
    f = (struct scan_filter){tag_sets, 64, INT64_MIN, INT64_MAX}; /* tag_sets_n excludes the bit */
    CHECK_INT(best_of(&s, &f, "apple"), 0);
    fixture_close(&s);
}

enum { MANY = 20000, PLACES = 4000 };

/* A store in which most words are common, and each tag set has few notes. */
static void fill(struct fixture *s)
{
    static const char *const colours[] = {"red", "green", "blue", "grey", "pink"};
    char text[100];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "the %s apple of the day item%dx is %s", colours[i % 5], i,
                 i % 2 ? "sweet" : "sour");
        put(s, (struct given){.text = text, .place = i % PLACES, .created = i});
    }
}

static void set_places(uint64_t *bits, size_t n)
{
    memset(bits, 0, (PLACES / 64 + 1) * sizeof(*bits));
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= UINT64_C(1) << (i % 64);
}

/* However the filter is applied, exactly the notes that pass are found. */
TEST(large_store)
{
    static const size_t counts[] = {1, 2, 50, 1000, 3500, PLACES};
    uint64_t bits[PLACES / 64 + 1];
    struct fixture s;
    fixture_open(&s);
    fill(&s);
    CHECK_INT(best(&s, "item777x"), 778);
    CHECK_INT(best(&s, "the apple item777x of the day is sweet"), 778);
    CHECK(best(&s, "the") > 0 && s.found.hits.n == 10);
    for (size_t i = 0; i < FUMI_COUNT(counts); i++) {
        struct scan_filter f = {bits, PLACES, INT64_MIN, INT64_MAX};
        set_places(bits, counts[i]);
        CHECK(best_of(&s, &f, "apple of the day") > 0);
        CHECK_INT(s.found.hits.n, counts[i] > 1 ? 10 : 5);
        for (size_t k = 0; k < s.found.hits.n; k++)
            CHECK((size_t)(s.found.hits.items[k].seq - 1) % PLACES < counts[i]);
        f.since = 8000;
        CHECK(best_of(&s, &f, "apple") > 8000);
        CHECK_INT(best_of(&s, &f, "item4x"), 0);
    }
    fixture_close(&s);
}

/* One note contains the phrase; thousands of others contain its words more often, but not
 * adjacent. */
TEST(a_phrase_ranks_before_scattered_words)
{
    struct fixture s;
    fixture_open(&s);
    int64_t phrase = 0, grammar = 0;
    for (int i = 0; i < 9000; i++) {
        put_text(&s, i % 2 ? "name of user of name of user"
                           : "the name is that of the user, not and or");
        if (i == 4000)
            phrase = put_text(&s,
                              "In a long note with many other words the user name stands once.");
        if (i == 5000)
            grammar = put_text(&s,
                               "In a long note with many other words stands AND OR NOT * once.");
    }
    CHECK_INT(best(&s, "user name"), phrase);
    CHECK_INT(best(&s, "the user name stands"), phrase);
    CHECK_INT(best(&s, "AND OR NOT *"), grammar);
    fixture_close(&s);
}

/* The query has a word that is rare, but only in other tag sets. It must not displace the common
 * words, the only ones in this tag set. */
TEST(idf_counts_only_notes_that_pass)
{
    uint64_t bits[PLACES / 64 + 1];
    struct scan_filter f = {bits, PLACES, INT64_MIN, INT64_MAX};
    struct fixture s;
    fixture_open(&s);
    fill(&s);
    for (int i = 0; i < 600; i++)
        put(&s, (struct given){.text = "zebra", .place = PLACES - 1});
    set_places(bits, 3);
    CHECK(best_of(&s, &f, "zebra apple") > 0);
    CHECK_INT(s.found.hits.n, 10);
    fixture_close(&s);
}

/* The notes of one project are found in the same order with the same scores whatever notes other
 * projects have, before, between and after them. The seqs differ, so notes are compared by their
 * time. Lists of postings are long enough to be extrapolated, and filters let many notes pass. */
enum { OURS = 14000, OTHERS = 20000 };

struct shared {
    struct fixture f;
    int64_t notes, words; /* of the project */
    int64_t *ours;        /* seq by number */
    size_t n;
};

static void put_other(struct shared *s, int i)
{
    char text[100];
    snprintf(text, sizeof(text), "the apple of item%d zebra was %s", i % 700,
             i % 3 ? "red and sweet" : "a long story about things that nobody knows");
    s->f.ending = store_sqlite_words_ending(FUMI_STR("q"), fumi_str(text + 10));
    put(&s->f, (struct given){.text = text, .place = 9});
}

static void put_own(struct shared *s, int i)
{
    char text[160], id[32];
    snprintf(text, sizeof(text), "%s apple %s item%dx %s%s", i % 3 ? "the" : "an",
             i % 2 ? "red of zebra" : "green", i % 900, i % 40 ? "day" : "night and day",
             i % 7 ? "" : " is sweet and the story is long, but nobody tells it to the end");
    snprintf(id, sizeof(id), "id%d", i);
    s->f.ending = store_sqlite_words_ending(PROJECT, fumi_str(id));
    s->ours[s->n++] = put(&s->f, (struct given){.text = text, .place = i % 8, .created = 1000 + i});
}

static void fill_shared(struct shared *s, bool alone)
{
    fixture_open(&s->f);
    s->ours = fumi_alloc(&s->f.a, OURS * sizeof(*s->ours));
    for (int i = 0, other = 0; i < OURS; i++) {
        for (; !alone && other < OTHERS * (i + 2000.0) / (OURS + 4000); other++)
            put_other(s, other);
        put_own(s, i);
    }
    for (int i = 0; !alone && i < 2000; i++)
        put_other(s, i);
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(s->f.db,
                       "SELECT count(*), sum(words_in(sz)) FROM words_docsize JOIN notes ON seq=id "
                       "WHERE tag_set<9",
                       -1, &q, NULL);
    if (sqlite3_step(q) == SQLITE_ROW) {
        s->notes = sqlite3_column_int64(q, 0);
        s->words = sqlite3_column_int64(q, 1);
    }
    sqlite3_finalize(q);
}

/* The number of a note of ours. */
static size_t number_of(const struct shared *s, int64_t seq)
{
    size_t i = 0;
    while (i < s->n && s->ours[i] != seq)
        i++;
    return i;
}

static int find(struct shared *s, const struct scan_filter *f, bool narrow, const char *text)
{
    struct keyword_query query = {.text = fumi_str(text), .limit = 50};
    struct words_search what = {.project = PROJECT,
                                .notes = s->notes,
                                .words = s->words,
                                .filter = f,
                                .narrow = narrow,
                                .query = &query};
    return store_sqlite_words_match(s->f.db, &s->f.a, &what, &s->f.found, &s->f.e);
}

/* Whether both have found the same. */
static bool agree(struct shared *x, struct shared *y)
{
    const struct keyword_hits *a = &x->f.found, *b = &y->f.found;
    if (a->hits.n != b->hits.n || a->words_n != b->words_n || a->notes != b->notes)
        return false;
    for (size_t i = 0; i < a->words_n; i++)
        if (a->words[i].notes != b->words[i].notes)
            return false;
    for (size_t i = 0; i < a->hits.n; i++) {
        const struct hit *p = &a->hits.items[i], *q = &b->hits.items[i];
        size_t number = number_of(x, p->seq);
        if (p->score != q->score || p->share != q->share || number == x->n ||
            number != number_of(y, q->seq))
            return false;
    }
    return true;
}

TEST(other_projects_change_nothing)
{
    static const char *const queries[] = {
        "apple",
        "the red apple",
        "zebra of the night",
        "item17x",
        "sweet day",
        "the story and item5x is",
        "night",
        "nobody tells the end",
    };
    uint64_t all = 0xFF, some = 0x7F, few = 2;
    const struct scan_filter filters[] = {{&all, 10, INT64_MIN, INT64_MAX},
                                          {&some, 10, INT64_MIN, INT64_MAX},
                                          {&few, 10, INT64_MIN, INT64_MAX},
                                          {&all, 10, 1500, INT64_MAX},
                                          {&all, 10, 3000, 3500}};
    struct shared alone = {0}, crowd_of = {0};
    size_t found = 0;
    fill_shared(&alone, true);
    fill_shared(&crowd_of, false);
    CHECK(alone.notes == OURS && crowd_of.notes == OURS && alone.words == crowd_of.words);
    for (size_t i = 0; i < FUMI_COUNT(queries) * FUMI_COUNT(filters); i++) {
        const char *query = queries[i / FUMI_COUNT(filters)];
        size_t f = i % FUMI_COUNT(filters);
        CHECK_INT(find(&alone, &filters[f], f > 0, query), 0);
        CHECK_INT(find(&crowd_of, &filters[f], f > 0, query), 0);
        found += alone.f.found.hits.n > 0;
        if (!agree(&alone, &crowd_of))
            TEST_FAIL("%s, filter %zu: %zu and %zu notes", query, f, alone.f.found.hits.n,
                      crowd_of.f.found.hits.n);
    }
    CHECK_INT(found, FUMI_COUNT(queries) * FUMI_COUNT(filters) - 2);
    fixture_close(&alone.f);
    fixture_close(&crowd_of.f);
}

/* The number of notes with a word is exact up to a limit, and beyond it an estimate. */
TEST(words_are_counted)
{
    static const struct {
        const char *query;
        double least, most;
    } rows[] = {{"item17x", 16, 16},
                {"night", 350, 350},
                {"red", 4900, 9800},
                {"apple", 14000, 14000},
                {"zebras", 0, 0}};
    const struct scan_filter everywhere = {NULL, 0, INT64_MIN, INT64_MAX};
    struct shared s = {0};
    fill_shared(&s, false);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct keyword_query query = {.text = fumi_str(rows[i].query), .limit = 0};
        struct words_search what = {.project = PROJECT,
                                    .notes = s.notes,
                                    .words = s.words,
                                    .filter = &everywhere,
                                    .query = &query};
        CHECK_INT(store_sqlite_words_match(s.f.db, &s.f.a, &what, &s.f.found, &s.f.e), 0);
        CHECK_INT(s.f.found.hits.n, 0);
        CHECK_INT(s.f.found.words_n, 1);
        double n = s.f.found.words[0].notes;
        if (n < rows[i].least || n > rows[i].most)
            TEST_FAIL("%s: %g", rows[i].query, n);
    }
    fixture_close(&s.f);
}

TEST(no_index)
{
    struct fixture s = {0};
    CHECK_INT(sqlite3_open(":memory:", &s.db), SQLITE_OK);
    CHECK_INT(store_sqlite_words_register(s.db, &s.ending, &s.e), 0);
    CHECK_INT(store_sqlite_words_register(s.db, &s.ending, &s.e), 0);
    CHECK_INT(best(&s, "a"), -1);
    CHECK_INT(s.e.code, FUMI_INTERNAL_ERROR);
    CHECK(strstr(s.e.text, "doctor"));
    run(&s, store_sqlite_words_schema);
    run(&s, "CREATE TABLE notes(seq INTEGER PRIMARY KEY, tag_set INTEGER, created INTEGER)");
    run(&s, "INSERT INTO words(rowid, text) VALUES(1, 'a')");
    CHECK_INT(best(&s, "a"), 0); /* the note is in the index, but not in the table */
    CHECK(sqlite3_exec(s.db, "SELECT fumi_words(words, 1) FROM words('a')", NULL, NULL, NULL) !=
          SQLITE_OK);
    fixture_close(&s);
}
