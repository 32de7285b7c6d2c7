#include "memory/fuse.h"
#include "test.h"

#include <math.h>

static struct hits hits_of(struct hit *items, size_t n)
{
    return (struct hits){.items = items, .n = n};
}

TEST(keyword_results_alone_keep_their_order)
{
    struct fumi_arena a = {0};
    struct hit words[] = {{7, 8.0, 0, 0, 0}, {3, 4.0, 0, 0, 0}, {5, 2.0, 0, 0, 0}};
    struct results r = fuse(&a, &(struct fuse_input){.words = hits_of(words, 3)});
    CHECK_INT(r.n, 3);
    CHECK_INT(r.items[0].note.seq, 7);
    CHECK_INT(r.items[1].note.seq, 3);
    CHECK_INT(r.items[2].note.seq, 5);
    CHECK(r.items[0].score == 1.0 && r.items[1].score == 0.5 && r.items[2].score == 0.25);
    CHECK_INT(r.items[1].words_rank, 2);
    CHECK_INT(r.items[1].meaning_rank, 0);
    fumi_arena_done(&a);
}

TEST(scores_of_both_searches_are_combined)
{
    struct fumi_arena a = {0};
    struct hit words[] = {{1, 10.0, 0, 0, 0}, {2, 5.0, 0, 0, 0}};
    struct hit meaning[] = {{2, 0.9, 0, 3, 8}, {1, 0.5, 0, 0, 2}, {4, 0.1, 0, 0, 1}};
    struct results r = fuse(&a, &(struct fuse_input){.words = hits_of(words, 2),
                                                     .meaning = hits_of(meaning, 3),
                                                     .weight = 0.5});
    CHECK_INT(r.n, 3);
    CHECK_INT(r.items[0].note.seq, 2);
    CHECK(fabs(r.items[0].score - 0.75) < 1e-12);
    CHECK_INT(r.items[0].begin, 3);
    CHECK_INT(r.items[0].end, 8);
    CHECK_INT(r.items[0].words_rank, 2);
    CHECK_INT(r.items[0].meaning_rank, 1);
    CHECK_INT(r.items[1].note.seq, 1);
    CHECK(fabs(r.items[1].score - 0.75) < 1e-12); /* equal scores: newer note first */
    CHECK_INT(r.items[2].note.seq, 4);
    CHECK(r.items[2].score == 0);
    fumi_arena_done(&a);
}

TEST(a_note_without_vectors_is_scored_by_keywords)
{
    struct fumi_arena a = {0};
    struct hit words[] = {{9, 3.0, 0, 0, 0}};
    struct hit meaning[] = {{10, 0.08, 0, 0, 1}, {11, 0.01, 0, 0, 1}};
    struct results r = fuse(&a, &(struct fuse_input){.words = hits_of(words, 1),
                                                     .meaning = hits_of(meaning, 2),
                                                     .weight = 0.5});
    CHECK_INT(r.n, 3);
    CHECK_INT(r.items[0].note.seq, 9);
    CHECK(r.items[0].score == 1);
    fumi_arena_done(&a);
}

/* "how long does a session last?": "a" is the only word that the first note shares with the query.
 */
TEST(function_words_alone_do_not_outweigh_the_meaning)
{
    struct fumi_arena a = {0};
    struct hit words[] = {{1, 0.3, 0.02, 0, 0}};
    struct hit meaning[] = {{2, 0.36, 0, 0, 1}, {1, 0.2, 0, 0, 1}, {3, -0.1, 0, 0, 1}};
    struct fuse_input in = {
        .words = hits_of(words, 1), .meaning = hits_of(meaning, 3), .weight = 0.5};
    struct results r = fuse(&a, &in);
    CHECK_INT(r.n, 3);
    CHECK_INT(r.items[0].note.seq, 2);
    CHECK(fabs(r.items[1].score - (0.5 * 0.3 / 0.46 + 0.5 * 0.2)) < 1e-6);
    words[0].share = 0.5; /* a rare word */
    r = fuse(&a, &in);
    CHECK_INT(r.items[0].note.seq, 1);
    in.weight = 0; /* keywords alone: the best score is 1 */
    words[0].share = 0.02;
    r = fuse(&a, &in);
    CHECK(r.items[0].note.seq == 1 && r.items[0].score == 1);
    fumi_arena_done(&a);
}

TEST(keyword_results_can_be_ranked_first)
{
    struct fumi_arena a = {0};
    struct hit words[] = {{1, 10.0, 0, 0, 0}, {2, 1.0, 0, 0, 0}};
    struct hit meaning[] = {{3, 0.9, 0, 0, 1}, {2, 0.8, 0, 0, 1}, {1, 0.1, 0, 0, 1}};
    struct results r = fuse(&a, &(struct fuse_input){.words = hits_of(words, 2),
                                                     .meaning = hits_of(meaning, 3),
                                                     .weight = 0.2,
                                                     .words_first = true});
    CHECK_INT(r.n, 3);
    CHECK_INT(r.items[0].note.seq, 1);
    CHECK_INT(r.items[1].note.seq, 2);
    CHECK_INT(r.items[2].note.seq, 3);
    CHECK(r.items[0].score == 1 && fabs(r.items[2].score - 0.2) < 1e-12);
    fumi_arena_done(&a);
}

TEST(scores_stay_between_0_and_1)
{
    struct fumi_arena a = {0};
    struct hit one[] = {{1, 1.0000001, 0, 0, 0}}, negative[] = {{1, -0.3, 0, 0, 0}};
    struct results r = fuse(&a, &(struct fuse_input){.meaning = hits_of(one, 1), .weight = 1});
    CHECK(r.n == 1 && r.items[0].score == 1);
    r = fuse(&a, &(struct fuse_input){.meaning = hits_of(negative, 1), .weight = 1});
    CHECK(r.n == 1 && r.items[0].score == 0);
    r = fuse(&a, &(struct fuse_input){.weight = 0.5});
    CHECK_INT(r.n, 0);
    fumi_arena_done(&a);
}
