#include "embed/passages.h"

#include "base/utf8.h"
#include "model_fixture.h"

/* The invariants: in order, without gaps, none inside another, covering the whole text. */
static bool covers(struct fumi_str text, struct text_ranges s)
{
    if (!s.n || s.items[0].begin != 0 || s.items[s.n - 1].end != text.n)
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (s.items[i].begin > s.items[i - 1].end || s.items[i].begin <= s.items[i - 1].begin ||
            s.items[i].end <= s.items[i - 1].end)
            return false;
    return true;
}

static struct fumi_str passage(struct fumi_str text, struct text_range s)
{
    return (struct fumi_str){text.p + s.begin, s.end - s.begin};
}

TEST(short_texts_are_one_passage)
{
    struct fumi_arena a = {0};
    static const char *const texts[] = {"", " ", "a", "One sentence.", "1234567890"};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        struct text_ranges s = passages_by_bytes(&a, fumi_str(texts[i]), 20, 5);
        CHECK_INT(s.n, 1);
        CHECK(covers(fumi_str(texts[i]), s));
        s = passages_by_tokens(&a, fumi_str(texts[i]), NULL, 0, 20, 5);
        CHECK_INT(s.n, 1);
        CHECK(covers(fumi_str(texts[i]), s));
    }
    fumi_arena_done(&a);
}

TEST(passages_end_with_sentences)
{
    struct fumi_arena a = {0};
    struct fumi_str text = FUMI_STR("The first sentence is here. The second one follows. Then a "
                                    "third comes along. And the last of them is this one.");
    struct text_ranges s = passages_by_bytes(&a, text, 60, 10);
    CHECK(covers(text, s));
    CHECK_STR(passage(text, s.items[0]), "The first sentence is here. The second one follows. ");
    CHECK(fumi_starts(passage(text, s.items[1]), FUMI_STR("follows. Then a third")));
    fumi_arena_done(&a);
}

TEST(paragraphs_are_preferred)
{
    struct fumi_arena a = {0};
    struct fumi_str text = FUMI_STR("One two three four five six seven eight.\n\nNine ten. Eleven "
                                    "twelve thirteen fourteen fifteen.");
    struct text_ranges s = passages_by_bytes(&a, text, 54, 0);
    CHECK_STR(passage(text, s.items[0]), "One two three four five six seven eight.\n\n");
    text = FUMI_STR("設定を変更しました。次の文です。最後の文はここにあります。");
    s = passages_by_bytes(&a, text, 54, 0);
    CHECK_STR(passage(text, s.items[0]), "設定を変更しました。次の文です。");
    fumi_arena_done(&a);
}

TEST(neighbours_share_some_words)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    for (int i = 0; i < 500; i++)
        say(&b, "word%d ", i);
    struct fumi_str text = fumi_buf_str(&b);
    struct text_ranges s = passages_by_bytes(&a, text, 400, 60);
    CHECK(covers(text, s));
    for (size_t i = 0; i < s.n; i++)
        CHECK(s.items[i].end - s.items[i].begin <= 400);
    for (size_t i = 1; i < s.n; i++) {
        size_t shared = s.items[i - 1].end - s.items[i].begin;
        CHECK(shared >= 40 && shared <= 90);
        CHECK(fumi_starts(passage(text, s.items[i]), FUMI_STR("word")));
    }
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

/* A text of random pieces, some of them invalid UTF-8. */
static void fill(struct tiny *t, struct fumi_buf *b, size_t pieces, bool valid)
{
    static const char *const parts[] = {"a", "b",    " ",  "\n",   "\n\n", ". ", "設", "。",
                                        "é", "🙂", "定", "word", "!",    "0x", "-",  "\t"};
    b->n = 0;
    for (size_t i = 0; i < pieces; i++) {
        const char *s = parts[tiny_random(t) % FUMI_COUNT(parts)];
        fumi_buf_add(b, s, strlen(s));
        if (!valid && tiny_random(t) % 4 == 0)
            fumi_buf_put(b, (char)(0x80 + tiny_random(t) % 128));
    }
}

TEST(any_text_is_covered_by_bytes)
{
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct tiny *t = tiny_new();
    for (int round = 0; round < 1000; round++) {
        bool valid = round % 3;
        size_t most = tiny_random(t) % 100, overlap = tiny_random(t) % 120;
        fill(t, &b, tiny_random(t) % 300, valid);
        struct fumi_str text = fumi_buf_str(&b);
        struct text_ranges s = passages_by_bytes(&a, text, most, overlap);
        CHECK(covers(text, s));
        for (size_t i = 0; i < s.n; i++) {
            CHECK(s.items[i].end - s.items[i].begin <= (most < 8 ? 8 : most));
            CHECK(!valid || fumi_utf8_valid(passage(text, s.items[i])));
        }
        fumi_arena_reset(&a, 1 << 16);
    }
    tiny_free(t);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}

static void check_tokens(const struct model *m, struct fumi_str text, size_t most, size_t overlap)
{
    struct fumi_arena a = {0};
    size_t n, in_part;
    struct model_token *tokens = model_tokens_at(m, &a, text, &n);
    struct text_ranges s = passages_by_tokens(&a, text, tokens, n, most, overlap);
    CHECK(covers(text, s));
    CHECK(n > most || s.n == 1);
    for (size_t i = 0; i < s.n; i++) {
        model_tokens_at(m, &a, passage(text, s.items[i]), &in_part);
        if (in_part > most)
            TEST_FAIL("passage %zu has %zu tokens of %zu", i, in_part, most);
    }
    fumi_arena_done(&a);
}

/* Tokenized alone, a passage has no more tokens than counted, so it is not cut. */
TEST(any_text_is_covered_by_tokens)
{
    struct fumi_err e = {0};
    struct fumi_buf b = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    for (int round = 0; round < 300; round++) {
        fill(t, &b, tiny_random(t) % 2000, round % 3);
        check_tokens(m, fumi_buf_str(&b), 254, 40);
    }
    for (int round = 0; round < 50; round++) { /* long words, and characters of several tokens */
        b.n = 0;
        for (int i = 0; i < 300; i++)
            for (uint32_t n = 1 + tiny_random(t) % 99; n; n--)
                say(&b, "%s", n == 1 ? " " : round % 2 ? "\uac01" : "ab");
        check_tokens(m, fumi_buf_str(&b), 254, 40);
    }
    model_close(m);
    tiny_free(t);
    fumi_buf_done(&b);
}

TEST(a_long_text_is_covered)
{
    struct fumi_err e = {0};
    struct fumi_arena a = {0};
    struct fumi_buf b = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct model *m = tiny_open(t, &e);
    CHECK(m);
    while (b.n < 256 << 10)
        say(&b, "The hello world running, the unaffable. ");
    struct fumi_str text = fumi_buf_str(&b);
    size_t n;
    struct model_token *tokens = model_tokens_at(m, &a, text, &n);
    struct text_ranges s = passages_by_tokens(&a, text, tokens, n, 254, 40);
    CHECK(covers(text, s));
    CHECK(s.n > n / 254 && s.n < n / 180);
    for (size_t i = 1; i < s.n; i++)
        CHECK(fumi_starts(passage(text, s.items[i]), FUMI_STR("The hello")));
    model_close(m);
    tiny_free(t);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
}
