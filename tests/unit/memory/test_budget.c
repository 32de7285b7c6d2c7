#include "base/buf.h"
#include "base/utf8.h"
#include "memory/budget.h"
#include "model/tokens.h"
#include "test.h"

/* An answer of a line for each result: id, title and text. */
static size_t frame_of(void *arg, const struct found *f)
{
    (void)arg;
    return 5 + (f->terse < TERSE_MISSES ? 20 : 0) + (f->terse < TERSE_FILTERED ? 10 : 0) +
           (f->terse < TERSE_WARNING ? 40 : 0);
}

static size_t line_of(void *arg, const struct result *r)
{
    (void)arg;
    return 3 + tokens_of(r->note.id) + tokens_of(r->note.title) + tokens_of(r->note.text);
}

static const struct answer_size size = {frame_of, line_of, NULL};

static struct result of(struct fumi_str text)
{
    return (struct result){
        .note = {.id = FUMI_STR("11111111-2222-4333-8444-555555555555"), .text = text},
        .short_id = FUMI_STR("11111111")};
}

static struct fumi_str repeated(struct fumi_arena *a, const char *word, size_t n,
                                const char *middle)
{
    struct fumi_buf b = {0};
    for (size_t i = 0; i < 2 * n; i++) {
        if (i == n)
            fumi_buf_add(&b, middle, strlen(middle));
        fumi_buf_add(&b, word, strlen(word));
    }
    return fumi_buf_keep(&b, a);
}

TEST(a_result_that_fits_stays_whole)
{
    struct budget b = {.size = &size, .left = 100};
    struct result r = of(FUMI_STR("the note"));
    size_t whole = line_of(NULL, &r);
    CHECK(budget_take(&b, &r, FUMI_STR("note")) && !r.part && b.any);
    CHECK_STR(r.note.text, "the note");
    CHECK_INT(b.left, 100 - whole);
}

TEST(the_first_result_is_cut_around_the_match)
{
    struct fumi_arena a = {0};
    struct fumi_str text = repeated(&a, "some other words ", 400, "the Gateway port is 8443 ");
    for (size_t left = 45; left < 2000; left += 13) {
        struct budget b = {.size = &size, .left = left};
        struct result r = of(text);
        CHECK(budget_take(&b, &r, FUMI_STR("which gateway")));
        CHECK(r.part && memmem(r.note.text.p, r.note.text.n, "Gateway", 7));
        CHECK(r.note.text.p == text.p + r.text_begin && r.text_end - r.text_begin == r.note.text.n);
        CHECK(line_of(NULL, &r) + b.left == left);
        CHECK(left - b.left > left / 2 || r.note.text.n > 700); /* no more is cut than necessary */
    }
    fumi_arena_done(&a);
}

TEST(the_best_passage_comes_before_a_window)
{
    struct fumi_arena a = {0};
    struct fumi_str text = repeated(&a, "some other words ", 400, "the answer ");
    struct budget b = {.size = &size, .left = 60};
    struct result r = of(text);
    r.begin = 17, r.end = 17 + 33;
    CHECK(budget_take(&b, &r, FUMI_STR("answer")));
    CHECK_INT(r.text_begin, 17);
    CHECK_STR(r.note.text, "some other words some other words");
    fumi_arena_done(&a);
}

TEST(a_cut_keeps_characters_and_words_whole)
{
    struct fumi_arena a = {0};
    struct fumi_str plain = repeated(&a, "abcdef ghijkl ", 300, "match ");
    struct fumi_str kanji = repeated(&a, "日本語", 300, "照合");
    for (size_t left = 45; left < 700; left += 7) {
        struct budget b = {.size = &size, .left = left}, c = b;
        struct result r = of(plain), q = of(kanji);
        CHECK(budget_take(&b, &r, FUMI_STR("match")) && budget_take(&c, &q, FUMI_STR("照合")));
        CHECK(fumi_utf8_valid(q.note.text) && memmem(q.note.text.p, q.note.text.n, "照合", 6));
        size_t end = r.text_end;
        CHECK(end == plain.n || plain.p[end] == ' ' || plain.p[end - 1] == ' ');
        CHECK(r.text_begin == 0 || plain.p[r.text_begin - 1] == ' ');
    }
    fumi_arena_done(&a);
}

TEST(members_go_before_the_text_becomes_very_short)
{
    struct fumi_arena a = {0};
    struct budget b = {.size = &size, .left = 60};
    struct result r = of(FUMI_STR("The gateway listens on port 8443 of the first machine."));
    r.note.title = repeated(&a, "a long title ", 60, "");
    r.note.metadata.text = FUMI_STR("{}");
    r.note.created = (struct fumi_time){1, true};
    CHECK(budget_take(&b, &r, FUMI_STR("gateway")));
    CHECK(r.part && !r.note.title.p && !r.note.metadata.text.p && r.note.created.set);
    CHECK_STR(r.note.text, "The gateway listens on port 8443 of the first machine.");
    CHECK_STR(r.note.id, "11111111-2222-4333-8444-555555555555");
    b = (struct budget){.size = &size, .left = 15};
    r = of(FUMI_STR("The gateway listens on port 8443 of the first machine."));
    CHECK(budget_take(&b, &r, FUMI_STR("gateway")));
    CHECK_STR(r.note.id, "11111111");
    fumi_arena_done(&a);
}

TEST(later_results_are_cut_to_the_passage_or_skipped)
{
    struct fumi_arena a = {0};
    struct fumi_str text = repeated(&a, "some other words ", 200, "");
    struct budget b = {.size = &size, .left = 200, .any = true};
    struct result r = of(text), tight = of(text), small = of(FUMI_STR("tiny"));
    r.end = tight.end = 160;
    CHECK(budget_take(&b, &r, FUMI_STR("words")) && r.part);
    CHECK_INT(r.note.text.n, 160);
    b.left = 45;
    CHECK(!budget_take(&b, &tight, FUMI_STR("words")));
    CHECK_INT(b.left, 45);
    CHECK(budget_take(&b, &small, FUMI_STR("words")) && !small.part);
    fumi_arena_done(&a);
}

TEST(too_little_for_one_result_is_an_error_that_says_how_much)
{
    struct fumi_err e = {0};
    struct budget b = {.size = &size, .left = 6};
    struct result r = of(FUMI_STR("text"));
    CHECK(!budget_take(&b, &r, FUMI_STR("q")) && !b.any);
    CHECK_INT(budget_refuse(&b, 60, &e), -1);
    CHECK_INT(e.code, FUMI_INVALID_PARAMS);
    size_t least = 0;
    CHECK(sscanf(strrchr(e.text, ' '), "%zu", &least) == 1 && least > 60);
    b = (struct budget){.size = &size, .left = 6 + least - 60};
    r = of(FUMI_STR("text"));
    CHECK(budget_take(&b, &r, FUMI_STR("q")));
}

TEST(the_frame_gives_way_to_the_results)
{
    static const struct {
        size_t max;
        int terse;
        size_t left;
    } rows[] = {{0, TERSE_NOTHING, SIZE_MAX - 75},
                {400, TERSE_NOTHING, 325},
                {240, TERSE_MISSES, 185},
                {200, TERSE_FILTERED, 155},
                {60, TERSE_WARNING, 55}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct found f = {.omitted = 0};
        struct budget b = budget_begin(&size, rows[i].max, &f, true);
        CHECK_INT(f.terse, rows[i].terse);
        CHECK(b.left == rows[i].left);
    }
    struct found f = {.omitted = 0};
    CHECK_INT(budget_begin(&size, 80, &f, false).left, 5);
    CHECK_INT(f.terse, TERSE_NOTHING);
}
