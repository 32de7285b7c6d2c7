#include "embed/local.h"

#include "base/clock.h"
#include "embed/model_file.h"
#include "model/codes.h"
#include "model_fixture.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

static struct embedder *open_tiny(const struct tiny *t, const char *name)
{
    struct fumi_err e = {0};
    char path[256];
    tiny_path(t, "out.fumi", path);
    struct embed_config c = {
        .provider = FUMI_STR("local"), .model = fumi_str(name), .model_file = fumi_str(path)};
    return local_open(&c, NULL, &e);
}

/* The packed file has the name of its directory. */
static const char *name_of(const struct tiny *t)
{
    return strrchr(t->dir, '/') + 1;
}

static struct tiny *tiny_packed(void)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    model_close(tiny_open(t, &e));
    return t;
}

static int embed_one(struct embedder *em, struct fumi_arena *a, const char *text, float **out,
                     struct fumi_err *e)
{
    struct fumi_str s = fumi_str(text);
    return em->ops->embed(em, a, &s, 1, 10000, out, e);
}

TEST(vectors_have_unit_length)
{
    static const struct fumi_str texts[] = {
        FUMI_STR(""),
        FUMI_STR(" "),
        FUMI_STR("the"),
        FUMI_STR("hello world, running"),
        FUMI_STR("zzz zzz zzz"),
    };
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    CHECK_INT(atomic_load(&em->dim), TINY_HIDDEN);
    CHECK(em->ops->supports(em, FUMI_STR("設定")));
    float *x;
    CHECK_INT(em->ops->embed(em, &a, texts, FUMI_COUNT(texts), 10000, &x, &e), 0);
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        double sum = 0;
        for (size_t k = 0; k < TINY_HIDDEN; k++)
            sum += (double)x[i * TINY_HIDDEN + k] * (double)x[i * TINY_HIDDEN + k];
        CHECK(fabs(sum - 1) < 1e-4);
    }
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

/* The vector of a text does not depend on the other texts of the call. */
TEST(batches_give_the_same_vectors)
{
    enum { N = 90 };
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    struct fumi_str texts[N];
    for (size_t i = 0; i < N; i++) {
        struct fumi_buf b = {0};
        for (size_t k = 0; k <= i; k++)
            say(&b, "%s ", tiny_words[5 + tiny_random(t) % 30]);
        texts[i] = fumi_dup(&a, fumi_buf_str(&b));
        fumi_buf_done(&b);
    }
    float *all, *one;
    CHECK_INT(em->ops->embed(em, &a, texts, N, 60000, &all, &e), 0);
    for (size_t i = 0; i < N; i++) {
        CHECK_INT(em->ops->embed(em, &a, &texts[i], 1, 10000, &one, &e), 0);
        CHECK(cosine(all + i * TINY_HIDDEN, one, TINY_HIDDEN) > 0.9999);
    }
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(no_texts)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    float *x;
    CHECK_INT(em->ops->embed(em, &a, NULL, 0, 1000, &x, &e), 0);
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

static bool data_says(struct fumi_arena *a, const struct fumi_err *e, bool retryable)
{
    struct fumi_err inner;
    const struct fumi_val *v = fumi_parse(a, e->data, &inner);
    return fumi_text_is(fumi_get(v, "provider"), FUMI_STR("local")) &&
           fumi_is(fumi_get(v, "retryable"), retryable ? FUMI_TRUE : FUMI_FALSE) &&
           (retryable || fumi_is(fumi_get(v, "remedy"), FUMI_STRING));
}

TEST(a_file_installed_later_is_used)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct embedder *em = open_tiny(t, name_of(t));
    float *x;
    CHECK(em);
    CHECK_INT(embed_one(em, &a, "the", &x, &e), -1);
    CHECK_INT(e.code, ERR_PROVIDER);
    CHECK(strstr(e.text, "out.fumi") && strstr(e.text, "fumi model install"));
    CHECK(data_says(&a, &e, false));
    CHECK_INT(em->ops->split(em, &a, FUMI_STR("the text")).n, 1);
    tiny_write(t, "out.fumi", "not yet", 7);
    CHECK_INT(embed_one(em, &a, "the", &x, &e), -1);
    model_close(tiny_open(t, &e));
    CHECK_INT(embed_one(em, &a, "the", &x, &e), 0);
    CHECK_INT(atomic_load(&em->dim), TINY_HIDDEN);
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(another_model_is_refused)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, NULL);
    float *x;
    CHECK_INT(atomic_load(&em->dim), 384);
    CHECK(!em->ops->supports(em, FUMI_STR("設定")));
    CHECK_INT(embed_one(em, &a, "the", &x, &e), -1);
    CHECK_INT(e.code, ERR_PROVIDER);
    CHECK(strstr(e.text, "all-MiniLM-L6-v2") && strstr(e.text, name_of(t)));
    CHECK(data_says(&a, &e, false));
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(another_dimension_is_refused)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    char path[256];
    tiny_path(t, "out.fumi", path);
    struct embed_config c = {
        .model = fumi_str(name_of(t)), .model_file = fumi_str(path), .dim = 384};
    struct embedder *em = local_open(&c, NULL, &e);
    float *x;
    CHECK_INT(embed_one(em, &a, "the", &x, &e), -1);
    CHECK(strstr(e.text, "32 dimensions"));
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

/* The first chunk is always run; the deadline is checked before the second. */
TEST(the_deadline_is_kept)
{
    enum { N = 400 };
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    struct fumi_str texts[N];
    for (size_t i = 0; i < N; i++)
        texts[i] = FUMI_STR("the hello world running, the unaffable");
    float *x;
    CHECK_INT(em->ops->embed(em, &a, texts, N, 0, &x, &e), -1);
    CHECK_INT(e.code, ERR_PROVIDER);
    CHECK(data_says(&a, &e, true));
    CHECK_INT(em->ops->embed(em, &a, texts, N, INT64_MAX, &x, &e), 0);
    em->ops->free(em);
    fumi_arena_done(&a);
    tiny_free(t);
}

/* The model has fewer positions than LOCAL_TOKENS, so its passages are shorter. */
TEST(long_texts_are_split)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_buf b = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    for (int i = 0; i < 300; i++)
        say(&b, "the world %s", i % 7 ? "" : ". ");
    struct fumi_str text = fumi_buf_str(&b);
    struct text_ranges s = em->ops->split(em, &a, text);
    CHECK(s.n > 600 / (TINY_PLACES - 2));
    CHECK_INT(s.items[0].begin, 0);
    CHECK_INT(s.items[s.n - 1].end, text.n);
    for (size_t i = 0; i < s.n; i++) {
        struct fumi_str part = {text.p + s.items[i].begin, s.items[i].end - s.items[i].begin};
        float *x;
        CHECK_INT(em->ops->embed(em, &a, &part, 1, 10000, &x, &e), 0);
    }
    float *x;
    CHECK_INT(em->ops->embed(em, &a, &text, 1, 10000, &x, &e), 0); /* cut */
    em->ops->free(em);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
    tiny_free(t);
}

static const char *const poolings[] = {"mean", "cls"};

/* Packs the tiny model with prefixes and opens it. */
static struct embedder *open_with_prefixes(struct tiny *t, enum pack_pooling pooling)
{
    struct fumi_err e = {0};
    t->options = (struct pack_options){.pooling = pooling,
                                       .query_prefix = FUMI_STR("run: "),
                                       .passage_prefix = FUMI_STR("hello the world: ")};
    struct model *m = tiny_open(t, &e);
    char name[MODEL_NAME_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", FUMI_ARG(m ? model_name(m) : (struct fumi_str){0}));
    model_close(m);
    return open_tiny(t, name);
}

/* The vector of a text without a prefix, computed by the encoder alone. */
static void encode(const struct tiny *t, const char *text, float out[TINY_HIDDEN])
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    char path[256];
    tiny_path(t, "out.fumi", path);
    struct model *m = model_open(path, &e);
    struct encoder_text x;
    x.tokens = model_tokens(m, &a, fumi_str(text), TINY_PLACES, &x.n);
    encoder_run(model_weights(m), &x, 1, out);
    model_close(m);
    fumi_arena_done(&a);
}

TEST(queries_and_passages_have_prefixes)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    const struct fumi_str text = FUMI_STR("the cafe"), none = {0};
    float *x, want[TINY_HIDDEN], means[2][TINY_HIDDEN];
    for (size_t i = 0; i < 2; i++) {
        struct tiny *t = tiny_new();
        tiny_tfjs(t);
        tiny_tokenizer(t);
        struct embedder *em = open_with_prefixes(t, i ? PACK_CLS : PACK_MEAN);
        CHECK_INT(em->ops->embed_query(em, &a, text, 10000, &x, &e), 0);
        encode(t, "run: the cafe", want);
        if (memcmp(x, want, sizeof(want)))
            TEST_FAIL("%s: a query has another vector", poolings[i]);
        memcpy(means[i], want, sizeof(want));
        CHECK_INT(em->ops->embed(em, &a, &text, 1, 10000, &x, &e), 0);
        CHECK(memcmp(x, want, sizeof(want)) != 0);
        encode(t, "hello the world: the cafe", want);
        if (memcmp(x, want, sizeof(want)))
            TEST_FAIL("%s: a passage has another vector", poolings[i]);
        CHECK_INT(em->ops->embed_query(em, &a, none, 10000, &x, &e), 0);
        encode(t, "run: ", want);
        CHECK(memcmp(x, want, sizeof(want)) == 0);
        em->ops->free(em);
        tiny_free(t);
    }
    CHECK(cosine(means[0], means[1], TINY_HIDDEN) < 0.999);
    fumi_arena_done(&a);
}

/* Each passage fits together with the prefix, and is not much shorter than that. */
TEST(passages_leave_room_for_the_prefix)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct fumi_buf b = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct embedder *em = open_with_prefixes(t, PACK_MEAN);
    for (int i = 0; i < 200; i++)
        say(&b, "the world %s", i % 7 ? "" : ". ");
    struct fumi_str text = fumi_buf_str(&b);
    struct text_ranges s = em->ops->split(em, &a, text);
    size_t prefix = 4, longest = 0, n;
    char path[256];
    tiny_path(t, "out.fumi", path);
    struct model *m = model_open(path, &e);
    for (size_t i = 0; i < s.n; i++) {
        struct fumi_str part = {text.p + s.items[i].begin, s.items[i].end - s.items[i].begin};
        model_tokens_at(m, &a, part, &n);
        longest = n > longest ? n : longest;
    }
    CHECK(longest <= TINY_PLACES - 2 - prefix && longest > TINY_PLACES - 2 - 2 * prefix);
    CHECK_INT(s.items[s.n - 1].end, text.n);
    model_close(m);
    em->ops->free(em);
    fumi_buf_done(&b);
    fumi_arena_done(&a);
    tiny_free(t);
}

TEST(the_calibration_is_that_of_the_file)
{
    static const struct embed_calibration given = {-1, 2, 3, 4};
    struct fumi_err e = {0};
    struct tiny *t = tiny_packed();
    struct embedder *em = open_tiny(t, name_of(t));
    CHECK(!em->calibration);
    em->ops->free(em);
    t->options.calibration = &given;
    model_close(tiny_open(t, &e));
    em = open_tiny(t, name_of(t));
    CHECK(em->calibration && memcmp(em->calibration, &given, sizeof(given)) == 0);
    em->ops->free(em);
    em = open_tiny(t, NULL); /* the default model, which the file does not contain */
    CHECK(em->calibration == embed_known_calibration(FUMI_STR("all-MiniLM-L6-v2")));
    CHECK(em->calibration);
    em->ops->free(em);
    tiny_free(t);
}

static void *embed_often(void *arg)
{
    struct embedder *em = arg;
    size_t failed = 0;
    for (int i = 0; i < 50; i++) {
        struct fumi_arena a = {0};
        struct fumi_err e = {0};
        float *x;
        failed += embed_one(em, &a, "the hello world", &x, &e) != 0;
        failed += em->ops->split(em, &a, FUMI_STR("the hello world")).n != 1;
        failed += atomic_load(&em->dim) != TINY_HIDDEN;
        fumi_arena_done(&a);
    }
    return (void *)failed;
}

TEST(threads_share_an_embedder)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new();
    tiny_tfjs(t);
    tiny_tokenizer(t);
    struct embedder *em = open_tiny(t, name_of(t)); /* no file yet: the threads race to map it */
    model_close(tiny_open(t, &e));
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, embed_often, em);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        CHECK(!failed);
    }
    em->ops->free(em);
    tiny_free(t);
}

/* With the real model, texts of similar meaning are nearer. */
TEST(meaning)
{
    static const struct {
        const char *query, *near, *far;
    } rows[] = {
        {"how do I log in", "authentication uses JWT tokens", "the cat sleeps on the warm roof"},
        {"how do I log in", "Sign in with your user name and password.", "Bake it for one hour."},
        {"database is slow", "add an index to speed up SQL queries", "the meeting is on Friday"},
        {"A man is playing a guitar.", "Someone plays music on a string instrument.",
         "The stock market fell."},
        {"how to undo the last commit", "git reset --soft HEAD~1", "npm install --save-dev"},
    };
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct embed_config c = {.provider = FUMI_STR("local")};
    struct embedder *em = local_open(&c, NULL, &e);
    float *x;
    if (embed_one(em, &a, "the", &x, &e))
        printf("meaning skipped: %s\n", e.text);
    for (size_t i = 0; !e.code && i < FUMI_COUNT(rows); i++) {
        struct fumi_str texts[] = {fumi_str(rows[i].query), fumi_str(rows[i].near),
                                   fumi_str(rows[i].far)};
        CHECK_INT(em->ops->embed(em, &a, texts, 3, 60000, &x, &e), 0);
        double near = cosine(x, x + 384, 384), far = cosine(x, x + 768, 384);
        if (near < far + 0.05)
            TEST_FAIL("%s: %f is not above %f", rows[i].query, near, far);
    }
    em->ops->free(em);
    fumi_arena_done(&a);
}
