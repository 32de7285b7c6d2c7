#include "memory/query_names.h"
#include "test.h"

enum { NOTES = 100 };

/* The words of the query, separated by one of " ?.,'", each in as many notes as `notes` says. */
static struct keyword_hits words_of(struct fumi_arena *a, struct fumi_str query,
                                    const double *notes)
{
    struct keyword_hits out = {.notes = NOTES};
    out.words = fumi_alloc(a, (query.n + 1) * sizeof(*out.words));
    for (size_t i = 0, n; i < query.n; i += n + 1) {
        for (n = 0; i + n < query.n && !strchr(" ?.,'", query.p[i + n]); n++) {}
        if (n) {
            out.words[out.words_n] = (struct query_word){(uint32_t)i, (uint32_t)(i + n),
                                                         notes[out.words_n]};
            out.words_n++;
        }
    }
    return out;
}

static const struct {
    const char *query;
    double notes[8];
    const char *embedded;
} rows[] = {
    {"When did Anna paint?", {1, 1, 50, 1}, "When did paint?"},
    {"When did Anna paint?", {1, 1, 20, 1}, "When did Anna paint?"}, /* a fifth */
    {"When did anna paint?", {1, 1, 50, 1}, "When did anna paint?"},
    {"What is Anna's address?", {1, 1, 50, 0, 1}, "What is address?"},
    {"Did Anna and Ben meet", {1, 50, 1, 50, 1}, "Did and meet"},
    {"Anna", {50}, "Anna"},
    {"Is Anna here?", {60, 50, 60}, "Is Anna here?"}, /* nothing rarer would be left */
    {"the \u00C9mile letter", {1, 50, 1}, "the letter"},
    {"where is NODE_ENV set", {1, 1, 50, 1}, "where is set"},
    {"", {0}, ""},
};

TEST(common_names_are_left_out)
{
    struct fumi_arena a = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str query = fumi_str(rows[i].query);
        struct keyword_hits words = words_of(&a, query, rows[i].notes);
        struct fumi_str got = query_without_names(&a, query, &words);
        if (!fumi_eq(got, fumi_str(rows[i].embedded)))
            TEST_FAIL("%s: got \"%.*s\"", rows[i].query, FUMI_ARG(got));
    }
    fumi_arena_done(&a);
}

TEST(a_part_of_an_identifier_stays)
{
    struct fumi_arena a = {0};
    static const char *const queries[] = {"set Node.js up", "set NODE_Env up", "set a@Node up",
                                          "set my-Node up", "set Node/x up"};
    for (size_t i = 0; i < FUMI_COUNT(queries); i++) {
        struct fumi_str query = fumi_str(queries[i]);
        const char *at = strpbrk(query.p, "NE");
        size_t n = strspn(at, "Nodenv");
        struct query_word words[] = {{0, 3, 1}, {0, 0, 50}};
        words[1].begin = (uint32_t)(at - query.p);
        words[1].end = (uint32_t)(words[1].begin + n);
        struct keyword_hits hits = {.words = words, .words_n = 2, .notes = NOTES};
        struct fumi_str got = query_without_names(&a, query, &hits);
        if (!fumi_eq(got, query))
            TEST_FAIL("%s: got \"%.*s\"", queries[i], FUMI_ARG(got));
    }
    fumi_arena_done(&a);
}

TEST(a_small_project_keeps_its_names)
{
    struct fumi_arena a = {0};
    struct fumi_str query = FUMI_STR("When did Anna paint?");
    struct keyword_hits words = words_of(&a, query, (double[]){1, 1, 40, 1});
    words.notes = 49;
    CHECK_STR(query_without_names(&a, query, &words), "When did Anna paint?");
    words.notes = 50;
    CHECK_STR(query_without_names(&a, query, &words), "When did paint?");
    fumi_arena_done(&a);
}
