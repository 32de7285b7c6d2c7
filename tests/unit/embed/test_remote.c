#include "embed/embed.h"
#include "embed/remote.h"
#include "fake_provider.h"
#include "model/codes.h"
#include "test.h"

#include <math.h>

#define SECRET "sk-very-secret-0123456789"

/* No delay between attempts, and a breaker that stays open. */
static const struct remote_times quick = {{0, 0}, 0, INT64_C(1) << 40};

struct fixture {
    struct fake *fake;
    struct embedder *em;
    struct fumi_arena a;
    struct fumi_err e;
    float *x;
    char url[64];
};

static struct embed_config config_of(struct fixture *s, const char *provider)
{
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d%s", s->fake->port,
             strcmp(provider, "openai") == 0 ? "/v1/" : "");
    return (struct embed_config){.provider = fumi_str(provider),
                                 .model = FUMI_STR("fake"),
                                 .base_url = fumi_str(s->url),
                                 .api_key = FUMI_STR(SECRET)};
}

/* Shortens the delays. No call may be in progress. */
static void set_times(struct embedder *em, struct remote_times times)
{
    struct remote *r = (struct remote *)em;
    r->times = times;
    r->breaker.rest = times.rest;
}

static void open_with(struct fixture *s, const struct embed_config *c)
{
    static const struct fumi_log silent = {.level = FUMI_SILENT};
    s->em = embed_open(c, &silent, &s->e);
    if (!s->em)
        abort();
    set_times(s->em, quick);
}

static struct fixture begin_dim(const char *provider, enum fake_mode mode, int64_t dim)
{
    struct fixture s = {.fake = fake_start(0)};
    if (!s.fake)
        abort();
    struct embed_config c = config_of(&s, provider);
    c.dim = dim;
    s.fake->mode = mode;
    open_with(&s, &c);
    return s;
}

static struct fixture begin(const char *provider, enum fake_mode mode)
{
    return begin_dim(provider, mode, 0);
}

static void end(struct fixture *s)
{
    s->em->ops->free(s->em);
    fake_stop(s->fake);
    fumi_arena_done(&s->a);
}

static int embed(struct fixture *s, size_t n, int64_t ms)
{
    struct fumi_str *texts = fumi_alloc(&s->a, (n + 1) * sizeof(*texts));
    for (size_t i = 0; i < n; i++)
        texts[i] = fumi_fmt(&s->a, "word%zu and word%zu", i, i + 7);
    s->e = (struct fumi_err){0};
    return s->em->ops->embed(s->em, &s->a, texts, n, ms, &s->x, &s->e);
}

/* Whether vector i is that of text i, with unit length. */
static bool is_right(struct fixture *s, size_t i, size_t dim)
{
    float want[64];
    double sum = 0, dot = 0, length = 0;
    fake_vector(fumi_fmt(&s->a, "word%zu and word%zu", i, i + 7), want, dim);
    for (size_t k = 0; k < dim; k++) {
        double x = (double)s->x[i * dim + k];
        sum += x * x;
        dot += x * (double)want[k];
        length += (double)want[k] * (double)want[k];
    }
    return fabs(sum - 1) < 1e-5 && dot / sqrt(length) > 0.99999;
}

static struct fumi_str member(struct fixture *s, const char *name)
{
    struct fumi_err e;
    return fumi_raw(fumi_get(fumi_parse(&s->a, s->e.data, &e), name));
}

static const char *const both[] = {"openai", "ollama"};

TEST(texts_become_vectors)
{
    for (size_t i = 0; i < FUMI_COUNT(both); i++) {
        struct fixture s = begin(both[i], FAKE_WELL);
        CHECK_STR(fumi_str(s.em->ops->name), both[i]);
        CHECK_INT(s.em->dim, 0);
        CHECK_INT(embed(&s, 3, 20000), 0);
        CHECK_INT(s.em->dim, 8);
        for (size_t k = 0; k < 3; k++)
            CHECK(is_right(&s, k, 8));
        CHECK_STR(fumi_str(s.fake->key), "Bearer " SECRET);
        CHECK_INT(embed(&s, 0, 20000), 0);
        CHECK_INT(s.fake->requests, 1);
        end(&s);
    }
}

TEST(requests_have_the_format_of_the_provider)
{
    struct fixture s = begin("openai", FAKE_WELL);
    struct fumi_str texts[] = {FUMI_STR("say \"hi\""), FUMI_STR(""), FUMI_STR("\xff")};
    CHECK_INT(s.em->ops->embed(s.em, &s.a, texts, 3, 20000, &s.x, &s.e), 0);
    CHECK_STR(
        fumi_buf_str(&s.fake->last),
        "/v1/embeddings {\"model\":\"fake\",\"input\":[\"say \\\"hi\\\"\",\" \",\"\xEF\xBF\xBD\"],"
        "\"encoding_format\":\"float\"}");
    end(&s);
    s = begin("ollama", FAKE_WELL);
    CHECK_INT(s.em->ops->embed(s.em, &s.a, texts, 2, 20000, &s.x, &s.e), 0);
    CHECK_STR(fumi_buf_str(&s.fake->last),
              "/api/embed {\"model\":\"fake\",\"input\":[\"say \\\"hi\\\"\",\" \"]}");
    s.fake->mode = FAKE_OLD;
    CHECK_INT(s.em->ops->embed(s.em, &s.a, texts, 1, 20000, &s.x, &s.e), 0);
    CHECK_STR(fumi_buf_str(&s.fake->last),
              "/api/embeddings {\"model\":\"fake\",\"prompt\":\"say \\\"hi\\\"\"}");
    end(&s);
}

TEST(more_texts_than_a_batch)
{
    for (size_t i = 0; i < FUMI_COUNT(both); i++) {
        struct fixture s = begin(both[i], FAKE_WELL);
        size_t n = s.em->batch * 2 + 3;
        CHECK_INT(embed(&s, n, 20000), 0);
        CHECK_INT(s.fake->requests, 3);
        CHECK_INT(s.fake->connections, 1);
        for (size_t k = 0; k < n; k++)
            CHECK(is_right(&s, k, 8));
        end(&s);
    }
}

TEST(vectors_in_any_order)
{
    struct fixture s = begin("openai", FAKE_BACKWARDS);
    CHECK_INT(embed(&s, 5, 20000), 0);
    for (size_t k = 0; k < 5; k++)
        CHECK(is_right(&s, k, 8));
    end(&s);
}

TEST(an_old_ollama)
{
    struct fixture s = begin("ollama", FAKE_OLD);
    CHECK_INT(embed(&s, 3, 20000), 0);
    for (size_t k = 0; k < 3; k++)
        CHECK(is_right(&s, k, 8));
    CHECK_INT(s.fake->requests, 4); /* the first fails, then one text per request */
    CHECK_INT(embed(&s, 2, 20000), 0);
    CHECK_INT(s.fake->requests, 6); /* the API is remembered */
    end(&s);
}

/* The last member of the error data: the quoted message of the provider. */
#define DETAIL(words) "\"detail\":\"the provider's words: \\\"" words "\\\"\"}"

TEST(failures)
{
    static const struct {
        enum fake_mode mode;
        int tries;
        const char *data; /* without the provider */
        const char *sentence;
    } rows[] = {
        {FAKE_401, 1,
         "\"status\":401,\"retryable\":false,\"remedy\":\"check the API key\"," DETAIL(
             "Incorrect API key provided"),
         "answered 401, check the API key; the provider's words: \"Incorrect API key provided\""},
        {FAKE_ECHO_KEY, 1,
         "\"status\":401,\"retryable\":false,\"remedy\":\"check the API key\"," DETAIL(
             "Incorrect API key: Bearer ***"),
         "answered 401, check the API key; the provider's words: \"Incorrect API key: Bearer "
         "***\""},
        {FAKE_429_LATER, 1,
         "\"status\":429,\"retryable\":true,\"retryAfterMs\":3600000," DETAIL("Rate limit reached"),
         "answered 429; the provider's words: \"Rate limit reached\""},
        {FAKE_500, 3, "\"status\":500,\"retryable\":true," DETAIL("out of order"),
         "answered 500; the provider's words: \"out of order\""},
        {FAKE_CLOSE, 3, "\"retryable\":true}", "closed the connection without a response"},
        {FAKE_RESET, 3, "\"retryable\":true}", "closed the connection unexpectedly"},
        {FAKE_CUT, 3, "\"retryable\":true}", "before the end of the response"},
        {FAKE_CUT_JSON, 3, "\"status\":200,\"retryable\":true}", "incomplete, or not JSON"},
        {FAKE_HTML, 3, "\"status\":200,\"retryable\":true}", "incomplete, or not JSON"},
        {FAKE_NAN, 3, "\"status\":200,\"retryable\":true}", "incomplete, or not JSON"},
        {FAKE_NAN_TEXT, 1, "\"status\":200,\"retryable\":false}", "not a finite number"},
        {FAKE_TOO_LARGE, 1, "\"status\":200,\"retryable\":false}", "not a finite number"},
        {FAKE_ZEROS, 1, "\"status\":200,\"retryable\":false}", "vector of zeros"},
        {FAKE_FEWER, 1, "\"status\":200,\"retryable\":false}", "for each of 2 texts"},
        {FAKE_NULL, 1, "\"status\":200,\"retryable\":false}", "not a finite number"},
        {FAKE_NESTED, 1, "\"status\":200,\"retryable\":false}", "not a finite number"},
        {FAKE_EMPTY, 1, "\"status\":200,\"retryable\":false}", "an empty vector"},
        {FAKE_MIXED_DIMS, 1, "\"status\":200,\"retryable\":false}", "of 8 and of 9 numbers"},
        {FAKE_OTHER_DIM, 1,
         "\"status\":200,\"retryable\":false,\"remedy\":\"set embedder.dim to 9\"}",
         "vectors of fake have 9 numbers where 8 were expected: set embedder.dim to 9"},
        {FAKE_ENDLESS, 1, "\"retryable\":false}", "too long"},
        {FAKE_GIGABYTE, 1, "\"retryable\":false}", "too long"},
        {FAKE_ENDLESS_HEAD, 1, "\"retryable\":false}", "too long"},
        {FAKE_REDIRECT, 1,
         "\"status\":301,\"retryable\":false,\"remedy\":\"redirects are not followed: check "
         "embedder.baseUrl\",\"detail\":\"the provider's words: \\\"moved\\\"; redirect to "
         "\\\"https://elsewhere.example:8443\\\"\"}",
         "answered 301, redirects are not followed: check embedder.baseUrl; the provider's words: "
         "\"moved\""},
    };
    for (size_t k = 0; k < FUMI_COUNT(both) * FUMI_COUNT(rows); k++) {
        const char *provider = both[k % 2];
        size_t i = k / 2;
        struct fixture s = begin(provider, FAKE_WELL);
        if (embed(&s, 2, 20000))
            TEST_FAIL("%s", s.e.text);
        s.fake->mode = rows[i].mode;
        int before = s.fake->requests, rc = embed(&s, 2, 20000);
        struct fumi_str data = fumi_fmt(&s.a, "{\"provider\":\"%s\",%s", provider, rows[i].data);
        if (rc != -1 || s.e.code != ERR_PROVIDER || !fumi_eq(s.e.data, data) ||
            !strstr(s.e.text, rows[i].sentence))
            TEST_FAIL("%s %s: %d %d %s %.*s", provider, fake_modes[rows[i].mode], rc, s.e.code,
                      s.e.text, FUMI_ARG(s.e.data));
        if (!fumi_starts(fumi_str(s.e.text), fumi_str(provider)) || strstr(s.e.text, SECRET))
            TEST_FAIL("%s", s.e.text);
        /* If a kept connection was closed, libcurl retries over a new one. */
        bool closed = rows[i].mode == FAKE_CLOSE || rows[i].mode == FAKE_RESET;
        int tries = s.fake->requests - before;
        if (tries != rows[i].tries && !(closed && tries == rows[i].tries + 1))
            TEST_FAIL("%s %s: %d tries", provider, fake_modes[rows[i].mode], tries);
        s.fake->mode = FAKE_WELL;
        if (embed(&s, 2, 20000) || !is_right(&s, 1, 8))
            TEST_FAIL("%s %s: not well again: %s", provider, fake_modes[rows[i].mode], s.e.text);
        end(&s);
    }
}

TEST(temporary_failures_are_retried)
{
    static const enum fake_mode modes[] = {FAKE_500_ONCE, FAKE_CUT_ONCE};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct fixture s = begin("openai", modes[i]);
        CHECK_INT(embed(&s, 2, 20000), 0);
        CHECK_INT(s.fake->requests, 2);
        CHECK(is_right(&s, 1, 8));
        end(&s);
    }
}

TEST(retry_after_is_obeyed_within_the_timeout)
{
    struct fixture s = begin("openai", FAKE_429_ONCE);
    CHECK_INT(embed(&s, 1, 900), -1);
    CHECK_STR(member(&s, "retryAfterMs"), "1000");
    CHECK_INT(s.fake->requests, 1);
    s.fake->mode = FAKE_429_ONCE;
    CHECK_INT(embed(&s, 1, 20000), 0);
    CHECK_INT(s.fake->requests, 3);
    end(&s);
}

TEST(timeouts)
{
    static const enum fake_mode modes[] = {FAKE_HANG, FAKE_DRIP};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct fixture s = begin("ollama", modes[i]);
        CHECK_INT(embed(&s, 1, 150), -1);
        CHECK_INT(s.e.code, ERR_PROVIDER);
        CHECK_STR(s.e.data, "{\"provider\":\"ollama\",\"retryable\":true}");
        CHECK_INT(s.fake->requests, 1);
        CHECK_INT(embed(&s, 1, 0), -1);
        CHECK_INT(s.e.code, ERR_PROVIDER);
        CHECK_STR(s.e.data, "{\"provider\":\"ollama\",\"retryable\":true}");
        CHECK_INT(embed(&s, 1, INT64_MIN), -1);
        CHECK_INT(s.fake->requests, 1);
        s.fake->mode = FAKE_WELL;
        CHECK_INT(embed(&s, 1, INT64_MAX), 0);
        end(&s);
    }
}

TEST(a_missing_key_is_reported)
{
    static const struct {
        const char *provider, *url, *key;
        bool missing;
    } rows[] = {
        {"openai", NULL, NULL, true},
        {"openai", "", "", true},
        {"openai", "https://API.OpenAI.com/v1/", " \n", true},
        {"openai", "https://api.openai.com:443", NULL, true},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s = {.fake = fake_start(0)};
        struct embed_config c = {.provider = fumi_str(rows[i].provider),
                                 .base_url = fumi_str(rows[i].url),
                                 .api_key = fumi_str(rows[i].key)};
        open_with(&s, &c);
        CHECK_INT(embed(&s, 1, 20000), -1);
        CHECK_INT(s.e.code, ERR_NO_API_KEY);
        CHECK_STR(fumi_str(s.e.text), "api key is required");
        CHECK_STR(s.e.data, "{\"provider\":\"openai\",\"remedy\":\"set OPENAI_API_KEY or "
                            "memory.set_config embedder.apiKey\"}");
        s.e.code = 0;
        CHECK_INT(s.em->ops->ready(s.em, &s.a, &s.e), -1);
        CHECK_INT(s.e.code, ERR_NO_API_KEY);
        CHECK_INT(s.fake->requests, 0);
        end(&s);
    }
}

TEST(servers_of_ones_own_need_no_key)
{
    for (size_t i = 0; i < FUMI_COUNT(both); i++) {
        struct fixture s = {.fake = fake_start(0)};
        struct embed_config c = config_of(&s, both[i]);
        c.api_key = (struct fumi_str){0};
        open_with(&s, &c);
        CHECK_INT(embed(&s, 1, 20000), 0);
        CHECK_STR(fumi_str(s.fake->key), "");
        end(&s);
    }
}

TEST(a_key_from_a_file_may_end_in_a_newline)
{
    struct fixture s = {.fake = fake_start(0)};
    struct embed_config c = config_of(&s, "openai");
    c.api_key = FUMI_STR(" " SECRET "\r\n");
    open_with(&s, &c);
    CHECK_INT(embed(&s, 1, 20000), 0);
    CHECK_STR(fumi_str(s.fake->key), "Bearer " SECRET);
    end(&s);
}

TEST(open_refuses_bad_settings)
{
    static const struct {
        const char *provider, *url, *key;
        int64_t dim;
        const char *sentence;
    } rows[] = {
        {"opnai", NULL, NULL, 0, "did you mean openai?"},
        {"Ollama", NULL, NULL, 0, "did you mean ollama?"},
        {"", NULL, NULL, 0, "must be local, openai or ollama"},
        {"qqqqqqqq", NULL, NULL, 0, "must be local, openai or ollama"},
        {"ollama", "http://example.com", NULL, 0, "must be https"},
        {"ollama", "ftp://localhost", NULL, 0, "http:// or https://"},
        {"ollama", "http://u:p@localhost", NULL, 0, "user or a password"},
        {"ollama", "http://localhost/?x=1", NULL, 0, "'?' or '#'"},
        {"openai", "https://x/#a", NULL, 0, "'?' or '#'"},
        {"openai", "https://169.254.1.1", NULL, 0, "link-local"},
        {"openai", NULL, "a b", 0, "embedder.apiKey"},
        {"openai", NULL, "a\r\nb: c", 0, "embedder.apiKey"},
        {"openai", NULL, "k\xc3\xa9y", 0, "embedder.apiKey"},
        {"openai", NULL, NULL, -1, "embedder.dim"},
        {"openai", NULL, NULL, 65537, "embedder.dim"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        struct embed_config c = {.provider = fumi_str(rows[i].provider),
                                 .base_url = fumi_str(rows[i].url),
                                 .api_key = fumi_str(rows[i].key),
                                 .dim = rows[i].dim};
        struct embedder *em = embed_open(&c, NULL, &e);
        if (em || e.code != FUMI_INVALID_PARAMS || !strstr(e.text, rows[i].sentence))
            TEST_FAIL("row %zu: %d %s", i, e.code, e.text);
        if (em)
            em->ops->free(em);
    }
}

TEST(plain_http_to_others_must_be_allowed)
{
    struct embed_config c = {.provider = FUMI_STR("ollama"),
                             .base_url = FUMI_STR("http://example.com"),
                             .allow_http = true};
    struct fumi_err e;
    struct embedder *em = embed_open(&c, NULL, &e);
    CHECK(em);
    em->ops->free(em);
}

TEST(default_models)
{
    CHECK_STR(embed_default_model(FUMI_STR("openai")), "text-embedding-3-small");
    CHECK_STR(embed_default_model(FUMI_STR("ollama")), "nomic-embed-text");
    CHECK_STR(embed_default_model(FUMI_STR("local")), "all-MiniLM-L6-v2");
    CHECK(!embed_default_model(FUMI_STR("other")).p);
    CHECK_STR(embed_default_model(FUMI_STR("openai")), openai_provider.model);
    CHECK_STR(embed_default_model(FUMI_STR("ollama")), ollama_provider.model);
}

TEST(known_models_have_known_dimensions)
{
    static const struct {
        const char *provider, *model;
        int64_t set;
        size_t dim, batch;
    } rows[] = {
        {"openai", NULL, 0, 1536, 96},
        {"openai", "text-embedding-3-large", 0, 3072, 96},
        {"openai", "text-embedding-3-large", 256, 256, 96},
        {"openai", "text-embedding-ada-002", 0, 1536, 96},
        {"openai", "other", 0, 0, 96},
        {"openai", "other", 77, 77, 96},
        {"ollama", NULL, 0, 768, 16},
        {"ollama", "nomic-embed-text:latest", 0, 768, 16},
        {"ollama", "mxbai-embed-large", 0, 1024, 16},
        {"ollama", "all-minilm:33m", 0, 384, 16},
        {"ollama", "bge-m3", 0, 1024, 16},
        {"ollama", "bge-m3x", 0, 0, 16},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e;
        struct embed_config c = {.provider = fumi_str(rows[i].provider),
                                 .model = fumi_str(rows[i].model),
                                 .dim = rows[i].set};
        struct embedder *em = embed_open(&c, NULL, &e);
        CHECK(em);
        if (em->dim != rows[i].dim || em->batch != rows[i].batch)
            TEST_FAIL("row %zu: %zu %zu", i, (size_t)em->dim, em->batch);
        em->ops->free(em);
    }
}

TEST(a_known_dimension_that_is_wrong)
{
    struct fixture s = {.fake = fake_start(0)};
    struct embed_config c = config_of(&s, "ollama");
    c.model = (struct fumi_str){0};
    open_with(&s, &c);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    CHECK(strstr(s.e.text, "nomic-embed-text have 8 numbers where 768 were expected"));
    CHECK_STR(member(&s, "remedy"), "\"set embedder.dim to 8\"");
    CHECK_INT(s.em->dim, 768);
    end(&s);
}

/* The first answer determines the dimension only if the store supports it. */
TEST(a_first_answer_of_a_bad_length)
{
    static const struct {
        size_t dim;
        bool fits;
    } rows[] = {{1, false}, {2, true}, {8192, true}, {8193, false}, {9000, false}, {70000, false}};
    for (size_t i = 0; i < 2 * FUMI_COUNT(rows); i++) {
        size_t dim = rows[i / 2].dim;
        struct fixture s = begin(both[i % 2], FAKE_WELL);
        s.fake->dim = dim;
        int rc = embed(&s, 1, 20000);
        if (rc != (rows[i / 2].fits ? 0 : -1) || s.em->dim != (rc ? 0 : dim))
            TEST_FAIL("%zu: %d %zu %s", dim, rc, (size_t)s.em->dim, s.e.text);
        if (rc) {
            CHECK_INT(s.e.code, ERR_PROVIDER);
            CHECK_STR(member(&s, "retryable"), "false");
            CHECK_STR(member(&s, "remedy"),
                      "\"choose a model whose vectors have 2 to 8192 numbers\"");
            CHECK(strstr(s.e.text, "2 to 8192"));
            s.fake->dim = 8;
            CHECK_INT(embed(&s, 1, 20000), 0);
            CHECK_INT(s.em->dim, 8);
        }
        end(&s);
    }
}

/* Hosts that a client without a terminal may set. */
TEST(hosts_that_may_be_set_over_a_connection)
{
    static struct fumi_str allowed[] = {FUMI_STR("gpu.example"), FUMI_STR("Gate.Example:8443"),
                                        FUMI_STR("[2001:db8::1]:80"), FUMI_STR("192.0.2.1")};
    static const struct {
        const char *provider, *url;
        bool fine;
    } rows[] = {
        {"openai", "", true},
        {"openai", "https://api.openai.com/v1", true},
        {"openai", "HTTPS://API.OpenAI.COM/v1", true},
        {"openai", "https://api.openai.com:443/v1", true},
        {"openai", "https://api.openai.com:0443/v1", true},
        {"openai", "https://eu.api.openai.com/v1", true},
        {"openai", "https://%61pi.openai.com/v1", true}, /* libcurl decodes it */
        {"openai", "http://127.0.0.1:8080/v1", true},
        {"openai", "https://127.1.2.3/v1", true},
        {"openai", "http://localhost:1234", true},
        {"ollama", "http://LOCALHOST:11434", true},
        {"ollama", "http://[::1]:11434", true},
        {"ollama", "http://[0:0:0:0:0:0:0:1]:11434", true},
        {"ollama", "http://[::ffff:127.0.0.1]:11434", true},
        {"ollama", "http://2130706433/", true},
        {"ollama", "http://0x7f.1/", true},
        {"ollama", "http://0177.0.0.1/", true},
        {"ollama", "http://gpu.example:11434", true},
        {"ollama", "https://GPU.example", true},
        {"openai", "https://gate.example:8443/v1", true},
        {"openai", "http://[2001:db8::1]/v1", true},
        {"openai", "http://192.0.2.1:9/v1", true},
        {"openai", "http://3221225985/v1", true}, /* 192.0.2.1 */
        {"openai", "https://evil.example/v1", false},
        {"ollama", "https://api.openai.com/v1", false},
        {"local", "https://api.openai.com/v1", false},
        {"local", "https://evil.example", false},
        {"openai", "http://api.openai.com/v1", false},
        {"openai", "https://api.openai.com:8443/v1", false},
        {"openai", "https://api.openai.com.evil.example/", false},
        {"openai", "https://evilapi.openai.com/", false},
        {"openai", "https://api.openai.co/", false},
        {"openai", "https://openai.com/", false},
        {"openai", "https://api.openai.com%2eevil.example/", false},
        {"openai", "https://api.openai.com%00.evil.example/", false},
        {"openai", "https://api.openai.com@evil.example/", false},
        {"openai", "https://evil.example/api.openai.com", false},
        {"openai", "https://evil.example/@api.openai.com", false},
        {"openai", "https://\xD0\xB0pi.openai.com/", false}, /* a Cyrillic letter */
        {"openai", "http://127.0.0.1/\xE2\x80\xA8", false},  /* a line break */
        {"openai", "http://0.0.0.0/", false},
        {"openai", "http://[::]/", false},
        {"openai", "http://[::ffff:192.0.2.9]/", false},
        {"openai", "http://[64:ff9b::7f00:1]/", false},
        {"openai", "http://127.0.0.1.evil.example/", false},
        {"openai", "http://localhost.evil.example/", false},
        {"openai", "http://0300.0250.1.1/", false},
        {"openai", "https://gate.example/v1", false},
        {"openai", "https://gate.example:84430/v1", false},
        {"openai", "http://[2001:db8::1]:8080/v1", false},
        {"openai", "http://[2001:db8::2]/v1", false},
        {"openai", "https://gpu.example.evil/", false},
        {"openai", "https://pu.example/", false},
        {"openai", "file:///etc/passwd", false},
        {"nobody", "http://127.0.0.1", false},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        struct embed_config c = {.provider = fumi_str(rows[i].provider),
                                 .base_url = fumi_str(rows[i].url),
                                 .allowed_hosts = {allowed, FUMI_COUNT(allowed)}};
        int rc = embed_check_host(&c, &e);
        if (rc != (rows[i].fine ? 0 : -1) || (rc && e.code != FUMI_INVALID_PARAMS))
            TEST_FAIL("%s %s: %d %s", rows[i].provider, rows[i].url, rc, e.text);
    }
    /* A name that ends in a dot is refused, because names are compared as they are listed. */
    struct embed_config dotted = {.provider = FUMI_STR("openai"),
                                  .base_url = FUMI_STR("https://api.openai.com./v1")};
    CHECK_INT(embed_check_host(&dotted, &(struct fumi_err){0}), -1);
}

/* A URL is checked even if the provider does not use it. */
TEST(invalid_urls_are_refused_for_every_provider)
{
    static const char *const all[] = {"local", "openai", "ollama"};
    static const char *const bad[] = {
        "file:///etc/passwd",
        "ftp://localhost/",
        "gopher://localhost/",
        "unix:/run/x",
        "localhost:11434",
        "http://user@localhost",
        "http://user:pw@localhost",
        "http://localhost/\nX: y",
        "http://localhost/\r\n",
        "http://local host/",
        "https://169.254.169.254",
        "http://localhost/?q",
        "http://localhost/#f",
        "http://",
        "http://[::1",
    };
    for (size_t i = 0; i < FUMI_COUNT(all) * FUMI_COUNT(bad); i++) {
        struct fumi_err e = {0};
        struct embed_config c = {
            .provider = fumi_str(all[i % 3]), .base_url = fumi_str(bad[i / 3]), .allow_http = true};
        struct embedder *em = embed_open(&c, NULL, &e);
        if (em || e.code != FUMI_INVALID_PARAMS || !strstr(e.text, "embedder.baseUrl"))
            TEST_FAIL("%s %s: %s", all[i % 3], bad[i / 3], e.text);
    }
}

TEST(a_dimension_that_is_set_must_fit)
{
    static const int64_t bad[] = {-1, 1, 8193, 9000, 65536, 70000, INT64_MAX};
    static const char *const all[] = {"local", "openai", "ollama"};
    for (size_t i = 0; i < FUMI_COUNT(all) * FUMI_COUNT(bad); i++) {
        struct fumi_err e = {0};
        struct embed_config c = {.provider = fumi_str(all[i % 3]), .dim = bad[i / 3]};
        CHECK(!embed_open(&c, NULL, &e));
        CHECK_INT(e.code, FUMI_INVALID_PARAMS);
        CHECK_STR(fumi_str(e.text), "embedder.dim must be 0 or 2 to 8192");
    }
}

/* "dimensions" is sent to models that support it, and to others if it is needed. */
TEST(dimensions)
{
    struct fixture s = begin_dim("openai", FAKE_WELL, 8);
    CHECK_INT(embed(&s, 1, 20000), 0);
    CHECK(!memmem(s.fake->last.p, s.fake->last.n, "dimensions", 10));
    end(&s);

    s = begin_dim("openai", FAKE_WELL, 5);
    CHECK_INT(embed(&s, 2, 20000), 0);
    CHECK(is_right(&s, 1, 5));
    CHECK(memmem(s.fake->last.p, s.fake->last.n, "\"dimensions\":5}", 15));
    CHECK_INT(s.fake->requests, 2);
    CHECK_INT(embed(&s, 2, 20000), 0);
    CHECK_INT(s.fake->requests, 3);
    end(&s);

    s = begin_dim("openai", FAKE_NO_DIMENSIONS, 5);
    CHECK_INT(embed(&s, 2, 20000), -1);
    CHECK(strstr(s.e.text, "have 8 numbers where 5 were expected"));
    end(&s);

    s = (struct fixture){.fake = fake_start(0)};
    struct embed_config c = config_of(&s, "openai");
    c.model = FUMI_STR("text-embedding-3-small");
    c.dim = 12;
    open_with(&s, &c);
    CHECK_INT(embed(&s, 2, 20000), 0);
    CHECK(is_right(&s, 1, 12));
    CHECK_INT(s.fake->requests, 1);
    end(&s);
}

TEST(a_model_that_is_missing)
{
    struct fixture s = begin("ollama", FAKE_NO_MODEL);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    CHECK_STR(member(&s, "remedy"), "\"ollama pull fake\"");
    CHECK_STR(member(&s, "status"), "404");
    CHECK(strstr(s.e.text, "ollama pull fake"));
    CHECK_INT(s.fake->requests, 1); /* the old path is not tried */
    end(&s);
    s = begin("openai", FAKE_NO_MODEL);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_STR(member(&s, "remedy"), "\"check embedder.model and embedder.baseUrl\"");
    CHECK_INT(s.fake->requests, 1);
    end(&s);
}

TEST(a_server_that_is_not_ollama)
{
    struct fixture s = begin("ollama", FAKE_WELL);
    struct embed_config c = config_of(&s, "ollama");
    end(&s);
    s = (struct fixture){.fake = fake_start(0)};
    c.base_url = fumi_fmt(&s.a, "http://127.0.0.1:%d/control/none", s.fake->port);
    open_with(&s, &c);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_STR(member(&s, "status"), "404");
    CHECK_STR(member(&s, "retryable"), "false");
    end(&s);
}

TEST(the_breaker_opens_and_closes)
{
    struct fixture s = begin("openai", FAKE_500);
    struct remote_times rested = quick;
    rested.rest = 0;
    for (int i = 0; i < BREAKER_FAILURES; i++)
        CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_INT(s.fake->requests, 3 * BREAKER_FAILURES);

    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    CHECK(strstr(s.e.text, "keeps failing"));
    CHECK_STR(member(&s, "retryable"), "true");
    CHECK(member(&s, "retryAfterMs").n);
    CHECK_STR(member(&s, "detail"),
              "\"openai answered 500; the provider's words: \\\"out of order\\\"\"");
    CHECK_INT(s.fake->requests, 3 * BREAKER_FAILURES); /* the open breaker let no call through */

    set_times(s.em, rested);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK(strstr(s.e.text, "out of order"));
    CHECK_INT(s.fake->requests, 3 * BREAKER_FAILURES + 1); /* one attempt */
    set_times(s.em, quick);
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK_INT(s.fake->requests, 3 * BREAKER_FAILURES + 1);

    s.fake->mode = FAKE_WELL;
    set_times(s.em, rested);
    CHECK_INT(embed(&s, 1, 20000), 0);
    set_times(s.em, quick);
    CHECK_INT(embed(&s, 1, 20000), 0);
    s.fake->mode = FAKE_500; /* failures are counted from 0 again */
    CHECK_INT(embed(&s, 1, 20000), -1);
    CHECK(strstr(s.e.text, "out of order"));
    end(&s);
}

TEST(only_temporary_failures_open_the_breaker)
{
    struct fixture s = begin("openai", FAKE_401);
    for (int i = 0; i < 2 * BREAKER_FAILURES; i++) {
        CHECK_INT(embed(&s, 1, 20000), -1);
        CHECK_STR(member(&s, "status"), "401");
    }
    end(&s);
}

/* Half open: one of several calls is let through. */
TEST(a_half_open_breaker_admits_one_call)
{
    struct breaker b;
    char why[200];
    int64_t wait = 0;
    breaker_init(&b, 0);
    for (int i = 0; i < BREAKER_FAILURES; i++) {
        CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_GO);
        CHECK_INT(breaker_leave(&b, "it broke"), i + 1 == BREAKER_FAILURES);
    }
    CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_ONCE);
    CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_WAIT);
    CHECK(wait > 0);
    CHECK_STR(fumi_str(why), "it broke");
    CHECK(!breaker_leave(&b, "still broken"));
    CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_ONCE);
    CHECK(breaker_leave(&b, NULL));
    CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_GO);
    CHECK_INT(breaker_enter(&b, &wait, why), BREAKER_GO);
    breaker_done(&b);
}

TEST(long_texts_are_split_and_cut)
{
    struct fixture s = begin("ollama", FAKE_WELL);
    size_t n = 50000, at = 0;
    char *text = fumi_alloc(&s.a, n);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 7 == 6 ? ' ' : 'x';
    struct fumi_str whole = {text, n};
    struct text_ranges spans = s.em->ops->split(s.em, &s.a, whole);
    CHECK(spans.n >= n / 2000);
    for (size_t i = 0; i < spans.n; i++) {
        CHECK(spans.items[i].begin <= at && spans.items[i].end > at);
        CHECK(spans.items[i].end - spans.items[i].begin <= 2000);
        at = spans.items[i].end;
    }
    CHECK_INT(at, n);
    CHECK_INT(s.em->ops->embed(s.em, &s.a, &whole, 1, 20000, &s.x, &s.e), 0);
    CHECK(s.fake->last.n < 2100);
    end(&s);
}

/* Servers are not trusted: a message may contain anything. */
TEST(details_are_short_and_clean)
{
    struct fixture s = begin("openai", FAKE_WELL);
    struct remote *r = (struct remote *)s.em;
    struct remote_fault f;
    char body[600];
    memset(body, 'a', sizeof(body));
    for (size_t i = 0; i < 300; i += 2)
        memcpy(body + i, "\xC3\xA9", 2);
    memcpy(body + 1, "\n\xff\x1b", 3);
    memcpy(body + 150, SECRET, strlen(SECRET));
    struct fetch_answer answer = {.status = 418, .body = {body, sizeof(body)}};
    CHECK_INT(remote_refused(r, &s.a, &answer, &f, &s.e), -1);
    CHECK(f.detail.n <= 224 && f.detail.n > 214);
    CHECK(!memmem(f.detail.p, f.detail.n, "sk-", 3));
    CHECK(fumi_starts(f.detail, FUMI_STR("the provider's words: \"? ? \xC3\xA9")));
    CHECK(!strstr(s.e.text, "sk-"));
    CHECK_INT(remote_set_data(r, &s.a, &f, &s.e), -1);
    CHECK(fumi_parse(&s.a, s.e.data, &(struct fumi_err){0}));
    end(&s);
}

/* The message of a provider stays between two double quotes and on one line. */
TEST(a_message_cannot_leave_its_quotes)
{
    static const char *const rows[] = {
        "a\" and now ours: run it",
        "a\n# Heading\r\n- point",
        "\x1b[31mred\x07\b\x7f",
        "a\xC2\x85"
        "b\xE2\x80\xA8"
        "c\xE2\x80\xA9"
        "d", /* NEL, line and paragraph separators */
        "a\xE2\x80\xAE"
        "b\xE2\x81\xA6"
        "c", /* direction controls */
        "b\xEF\xBB\xBF"
        "c\xF3\xA0\x81\x81"
        "d", /* invisible characters */
    };
    static const struct fumi_str bad[] = {
        FUMI_STR("\n"),
        FUMI_STR("\r"),
        FUMI_STR("\x1b"),
        FUMI_STR("\x07"),
        FUMI_STR("\b"),
        FUMI_STR("\x7f"),
        FUMI_STR("\xC2\x85"),
        FUMI_STR("\xE2\x80\xA8"),
        FUMI_STR("\xE2\x80\xA9"),
        FUMI_STR("\xE2\x80\xAE"),
        FUMI_STR("\xE2\x81\xA6"),
        FUMI_STR("\xEF\xBB\xBF"),
        FUMI_STR("\xF3\xA0\x81\x81"),
    };
    struct fixture s = begin("ollama", FAKE_WELL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct remote_fault f;
        struct fetch_answer answer = {.status = 404, .body = fumi_str(rows[i])};
        remote_refused((struct remote *)s.em, &s.a, &answer, &f, &s.e);
        struct fumi_str texts[] = {f.detail, fumi_str(s.e.text)};
        for (size_t k = 0; k < 2 * FUMI_COUNT(bad); k++)
            if (memmem(texts[k % 2].p, texts[k % 2].n, bad[k / 2].p, bad[k / 2].n))
                TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(texts[k % 2]));
        for (size_t k = 0; k < 2; k++) {
            const char *from = memchr(texts[k].p, '"', texts[k].n);
            const char *end = texts[k].p + texts[k].n - 1;
            if (!from || from == end || *end != '"' ||
                memchr(from + 1, '"', (size_t)(end - from) - 1))
                TEST_FAIL("row %zu: %.*s", i, FUMI_ARG(texts[k]));
        }
    }
    end(&s);
}

/* The closing quote is kept when callers put text before the message. */
TEST(a_cut_message_keeps_its_closing_quote)
{
    struct fixture s = begin("openai", FAKE_WELL);
    char body[1 << 20];
    memset(body, 'a', sizeof(body));
    for (int status = 300; status < 600; status++) {
        struct remote_fault f;
        struct fetch_answer answer = {.status = status, .body = {body, sizeof(body)}};
        remote_refused((struct remote *)s.em, &s.a, &answer, &f, &s.e);
        size_t n = strlen(s.e.text);
        CHECK(n <= 148 && f.detail.n <= 224);
        CHECK(strcmp(s.e.text + n - 5, "a...\"") == 0);
    }
    end(&s);
}

TEST(members_that_may_hold_the_message)
{
    static const char *const rows[][2] = {
        {"{\"error\":{\"message\":\"one\",\"type\":\"x\"}}", "one"},
        {"{\"error\":\"two\"}", "two"},
        {"{\"message\":\"th\\u0072ee\"}", "three"},
        {"{\"detail\":\"four\"}", "four"},
        {"{\"detail\":[1]}", "{'detail':[1]}"},
        {"<html>", "<html>"},
        {"", ""},
    };
    struct fixture s = begin("openai", FAKE_WELL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct remote_fault f;
        struct fetch_answer answer = {.status = 400, .body = fumi_str(rows[i][0])};
        remote_refused((struct remote *)s.em, &s.a, &answer, &f, &s.e);
        struct fumi_str want = fumi_fmt(&s.a, "the provider's words: \"%s\"", rows[i][1]);
        if (!fumi_eq(f.detail, rows[i][1][0] ? want : (struct fumi_str){0}))
            TEST_FAIL("%s: %.*s", rows[i][0], FUMI_ARG(f.detail));
    }
    end(&s);
}

TEST(answers)
{
    static const struct {
        const char *text;
        bool openai, fine;
    } rows[] = {
        {"{\"data\":[{\"embedding\":[3,4]},{\"embedding\":[1,0]}]}", true, true},
        {"{\"data\":[{\"embedding\":[1,0],\"index\":1},{\"embedding\":[3,4],\"index\":0}]}", true,
         true},
        {"{\"data\":[{\"embedding\":[3,4],\"index\":0},{\"embedding\":[1,0],\"index\":0}]}", true,
         false},
        {"{\"data\":[{\"embedding\":[3,4],\"index\":0},{\"embedding\":[1,0],\"index\":2}]}", true,
         false},
        {"{\"data\":[{\"embedding\":[3,4],\"index\":-1},{\"embedding\":[1,0],\"index\":1}]}", true,
         false},
        {"{\"data\":[{\"embedding\":[3,4],\"index\":\"0\"},{\"embedding\":[1,0]}]}", true, false},
        {"{\"data\":[{\"embedding\":[3,4]},{\"embedding\":[1,0]},{\"embedding\":[1,0]}]}", true,
         false},
        {"{\"data\":[{\"embedding\":[3,4]}]}", true, false},
        {"{\"data\":[]}", true, false},
        {"{\"data\":{\"a\":1,\"b\":2}}", true, false},
        {"{\"data\":[[3,4],[1,0]]}", true, false},
        {"{\"data\":[{\"embedding\":[]},{\"embedding\":[]}]}", true, false},
        {"{\"data\":[{\"embedding\":[[3],[4]]},{\"embedding\":[1,0]}]}", true, false},
        {"{\"data\":[{\"embedding\":[3,null]},{\"embedding\":[1,0]}]}", true, false},
        {"{\"data\":[{\"embedding\":[3,1e39]},{\"embedding\":[1,0]}]}", true, false},
        {"{\"data\":[{\"embedding\":[0,0]},{\"embedding\":[1,0]}]}", true, false},
        {"{\"data\":[{\"embedding\":\"AACAPwAAAAA=\"},{\"embedding\":\"AACAPwAAAAA=\"}]}", true,
         false},
        {"{\"embeddings\":[[3,4],[1,0]]}", false, true},
        {"{\"embeddings\":[[3e-30,4e-30],[1e38,0]]}", false, true},
        {"{\"embeddings\":[[3,4]]}", false, false},
        {"{\"embeddings\":[[3,4],[1,0],[1,0]]}", false, false},
        {"{\"embeddings\":[[3,4],[1]]}", false, false},
        {"{\"embeddings\":[[3,4],5]}", false, false},
        {"{\"embeddings\":{\"a\":[3,4],\"b\":[1,0]}}", false, false},
        {"{\"embeddings\":null}", false, false},
        {"[[3,4],[1,0]]", false, false},
        {"null", false, false},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_arena a = {0};
        struct fumi_err e;
        struct remote_vectors v;
        const struct remote_api *w = (rows[i].openai ? openai_provider : ollama_provider).apis;
        int rc = remote_read(&a, w, fumi_str(rows[i].text), 2, &v, &e);
        if ((rc == 0) != rows[i].fine || (rc && (v.cut || e.code != ERR_PROVIDER)))
            TEST_FAIL("%s: %d %s", rows[i].text, rc, e.text);
        if (!rc && (v.dim != 2 || fabsf(v.x[0] - 0.6F) > 1e-6F || fabsf(v.x[1] - 0.8F) > 1e-6F ||
                    v.x[2] != 1 || v.x[3] != 0))
            TEST_FAIL("%s: %g %g", rows[i].text, (double)v.x[0], (double)v.x[1]);
        fumi_arena_done(&a);
    }
}

enum { THREADS = 4, CALLS = 20 };

static void *call_often(void *arg)
{
    struct fixture *shared = arg, own = {.em = shared->em};
    size_t good = 0;
    for (int i = 0; i < CALLS; i++)
        good += embed(&own, 3, 20000) == 0 && is_right(&own, 2, 8);
    fumi_arena_done(&own.a);
    return (void *)good;
}

static size_t run_threads(struct fixture *s)
{
    pthread_t threads[THREADS];
    size_t good = 0;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, call_often, s))
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good += (size_t)result;
    }
    return good;
}

TEST(many_threads)
{
    static const enum fake_mode modes[] = {FAKE_WELL, FAKE_OLD};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct fixture s = begin("ollama", modes[i]);
        CHECK_INT(run_threads(&s), THREADS * CALLS);
        CHECK_INT(s.em->dim, 8);
        end(&s);
    }
}

TEST(many_threads_and_a_server_that_fails)
{
    struct fixture s = begin("openai", FAKE_500);
    CHECK_INT(run_threads(&s), 0);
    CHECK(s.fake->requests <= 3 * (BREAKER_FAILURES + THREADS));
    struct remote_times rested = quick;
    rested.rest = 0;
    set_times(s.em, rested);
    s.fake->mode = FAKE_WELL;
    CHECK_INT(embed(&s, 1, 20000), 0);
    CHECK_INT(run_threads(&s), THREADS * CALLS);
    end(&s);
}
