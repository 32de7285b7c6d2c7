/* The Porter stemmer: the examples of the paper, and generated words compared with the stemmer of
 * FTS5. */
#include "test.h"

#include "store/words.h"

#include <sqlite3.h>

static struct fumi_str stem_of(const char *word, char *room)
{
    size_t n = strlen(word);
    memcpy(room, word, n);
    return (struct fumi_str){room, words_stem(room, n)};
}

TEST(examples_of_the_paper)
{
    static const char *const rows[][2] = {
        {"caresses", "caress"},
        {"ponies", "poni"},
        {"ties", "ti"},
        {"caress", "caress"},
        {"cats", "cat"},
        {"feed", "feed"},
        {"agreed", "agre"},
        {"plastered", "plaster"},
        {"bled", "bled"},
        {"motoring", "motor"},
        {"sing", "sing"},
        {"conflated", "conflat"},
        {"troubled", "troubl"},
        {"sized", "size"},
        {"hopping", "hop"},
        {"tanned", "tan"},
        {"falling", "fall"},
        {"hissing", "hiss"},
        {"fizzed", "fizz"},
        {"failing", "fail"},
        {"filing", "file"},
        {"happy", "happi"},
        {"sky", "sky"},
        {"relational", "relat"},
        {"conditional", "condit"},
        {"rational", "ration"},
        {"valenci", "valenc"},
        {"digitizer", "digit"},
        {"conformabli", "conform"},
        {"radicalli", "radic"},
        {"differentli", "differ"},
        {"vileli", "vile"},
        {"analogousli", "analog"},
        {"vietnamization", "vietnam"},
        {"predication", "predic"},
        {"operator", "oper"},
        {"feudalism", "feudal"},
        {"decisiveness", "decis"},
        {"hopefulness", "hope"},
        {"callousness", "callous"},
        {"formaliti", "formal"},
        {"sensitiviti", "sensit"},
        {"sensibiliti", "sensibl"},
        {"triplicate", "triplic"},
        {"formative", "form"},
        {"formalize", "formal"},
        {"electriciti", "electr"},
        {"electrical", "electr"},
        {"hopeful", "hope"},
        {"goodness", "good"},
        {"revival", "reviv"},
        {"allowance", "allow"},
        {"inference", "infer"},
        {"airliner", "airlin"},
        {"adjustable", "adjust"},
        {"defensible", "defens"},
        {"irritant", "irrit"},
        {"replacement", "replac"},
        {"adjustment", "adjust"},
        {"dependent", "depend"},
        {"adoption", "adopt"},
        {"communism", "commun"},
        {"activate", "activ"},
        {"homologous", "homolog"},
        {"effective", "effect"},
        {"bowdlerize", "bowdler"},
        {"probate", "probat"},
        {"rate", "rate"},
        {"cease", "ceas"},
        {"controll", "control"},
        {"roll", "roll"},
        {"apology", "apolog"},
        {"possibly", "possibl"},
        {"is", "is"},
        {"a", "a"},
    };
    char room[64];
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str got = stem_of(rows[i][0], room);
        if (!fumi_eq(got, fumi_str(rows[i][1])))
            TEST_FAIL("%s: %.*s, not %s", rows[i][0], FUMI_ARG(got), rows[i][1]);
    }
}

/* The generated words are all combinations of these. */
static const char *const heads[] = {"",    "s",    "be",   "cry",   "hop",   "trou",  "syz",
                                    "oy",  "play", "snow", "relat", "contr", "ratio", "yon",
                                    "app", "buzz", "fall", "tool",  "xax",   "crim"};
static const char *const middles[] = {"",    "e",   "at",  "iz",  "bl",  "al",   "iv", "ic", "ous",
                                      "ful", "ent", "ion", "abl", "log", "tion", "ss", "ll"};
static const char *const tails[] = {"",     "s",    "es",  "ies",  "ed",    "eed",   "ing",
                                    "er",   "izer", "li",  "ly",   "ness",  "ment",  "ement",
                                    "ance", "ence", "ity", "iti",  "ism",   "ate",   "ator",
                                    "ible", "able", "ize", "ical", "ative", "ation", "e"};

TEST(same_stems_as_fts5)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *put = NULL, *get = NULL;
    char word[64], room[64];
    CHECK_INT(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_exec(db,
                 "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter ascii');"
                 "CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance'); BEGIN",
                 NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO t(x) VALUES(?1)", -1, &put, NULL);
    for (size_t i = 0; i < FUMI_COUNT(heads) * FUMI_COUNT(middles) * FUMI_COUNT(tails); i++) {
        size_t rest = i / FUMI_COUNT(tails);
        snprintf(word, sizeof(word), "%s%s%s", heads[rest / FUMI_COUNT(middles)],
                 middles[rest % FUMI_COUNT(middles)], tails[i % FUMI_COUNT(tails)]);
        sqlite3_bind_text(put, 1, word, -1, SQLITE_TRANSIENT);
        sqlite3_step(put);
        sqlite3_reset(put);
    }
    sqlite3_finalize(put);
    sqlite3_prepare_v2(db, "SELECT x, term FROM v JOIN t ON t.rowid = v.doc", -1, &get, NULL);
    int rows = 0;
    for (; sqlite3_step(get) == SQLITE_ROW; rows++) {
        const char *from = (const char *)sqlite3_column_text(get, 0);
        const char *want = (const char *)sqlite3_column_text(get, 1);
        struct fumi_str got = stem_of(from, room);
        if (!fumi_eq(got, fumi_str(want)))
            TEST_FAIL("%s: %.*s, not %s", from, FUMI_ARG(got), want);
    }
    sqlite3_finalize(get);
    sqlite3_close(db);
    CHECK(rows > 9000);
}
