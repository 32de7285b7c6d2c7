/* What the published files of a model say about how texts are embedded. */
#include "model/codes.h"
#include "model_fixture.h"

enum { FILES = 3, NAME_SIZE = 64 };

struct source {
    struct {
        const char *name, *text;
    } files[FILES];
    struct pack_options options;
};

/* Writes the tiny model with these files. */
static struct tiny *tiny_of(const struct source *s)
{
    struct tiny *t = tiny_new();
    char path[256];
    tiny_safetensors(t, "F32", "");
    tiny_tokenizer(t);
    for (size_t i = 0; i < FILES && s->files[i].name; i++) {
        const char *slash = strchr(s->files[i].name, '/');
        if (slash) {
            char dir[64];
            snprintf(dir, sizeof(dir), "%.*s", (int)(slash - s->files[i].name), s->files[i].name);
            tiny_path(t, dir, path);
            mkdir(path, 0700);
        }
        tiny_write(t, s->files[i].name, s->files[i].text, strlen(s->files[i].text));
    }
    t->options = s->options;
    if (!t->options.name.n)
        t->options.name = FUMI_STR("plain");
    return t;
}

#define POOLING   "1_Pooling/config.json"
#define PROMPTS   "config_sentence_transformers.json"
#define SENTENCE  "sentence_bert_config.json"
#define TOKENIZER "tokenizer_config.json"
#define MODULES   "modules.json"
#define RETRIEVE  "Represent this sentence for searching relevant passages: "
#define CLS       "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}"
#define MODULE    "{\"type\":\"sentence_transformers.models."

static const struct described {
    struct source source;
    enum encoder_pooling pooling;
    const char *query, *passage;
    size_t tokens;
} described[] = {
    {{{{NULL, NULL}}, {.name = {0}}}, ENCODER_MEAN, "", "", TINY_PLACES},
    /* pooling */
    {{{{POOLING, "{\"pooling_mode_mean_tokens\":true}"}}, {.name = {0}}},
     ENCODER_MEAN,
     "",
     "",
     TINY_PLACES},
    {{{{POOLING, CLS}}, {.name = {0}}}, ENCODER_CLS, "", "", TINY_PLACES},
    {{{{POOLING, "{\"pooling_mode\":\"cls\"}"}}, {.name = {0}}}, ENCODER_CLS, "", "", TINY_PLACES},
    {{{{POOLING, "{\"pooling_mode\":\"mean\"}"}}, {.name = {0}}},
     ENCODER_MEAN,
     "",
     "",
     TINY_PLACES},
    {{{{POOLING, "{}"}}, {.name = {0}}}, ENCODER_MEAN, "", "", TINY_PLACES},
    {{{{MODULES, "[" MODULE "Transformer\",\"path\":\"\"}," MODULE
                 "Pooling\",\"path\":\"pool\"}," MODULE "Normalize\",\"path\":\"2_Normalize\"}]"},
       {"pool/config.json", CLS}},
      {.name = {0}}},
     ENCODER_CLS,
     "",
     "",
     TINY_PLACES},
    {{{{POOLING, CLS}}, {.pooling = PACK_MEAN}}, ENCODER_MEAN, "", "", TINY_PLACES},
    {{{{NULL, NULL}}, {.pooling = PACK_CLS}}, ENCODER_CLS, "", "", TINY_PLACES},
    {{{{POOLING, "{\"pooling_mode_max_tokens\":true}"}}, {.pooling = PACK_MEAN}},
     ENCODER_MEAN,
     "",
     "",
     TINY_PLACES},
    /* prefixes */
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"the: \",\"document\":\"un: \",\"passage\":\"no\"}}"}},
      {.name = {0}}},
     ENCODER_MEAN,
     "the: ",
     "un: ",
     TINY_PLACES},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"the: \",\"passage\":\"un: \"}}"}}, {.name = {0}}},
     ENCODER_MEAN,
     "the: ",
     "un: ",
     TINY_PLACES},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"the: \"},\"default_prompt_name\":null}"}},
      {.name = {0}}},
     ENCODER_MEAN,
     "the: ",
     "",
     TINY_PLACES},
    {{{{PROMPTS,
        "{\"prompts\":{\"query\":\"the: \",\"x\":\"un: \"},\"default_prompt_name\":\"x\"}"}},
      {.name = {0}}},
     ENCODER_MEAN,
     "the: ",
     "un: ",
     TINY_PLACES},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"the: \",\"document\":\"un: \"}}"}},
      {.query_prefix = FUMI_STR("a:"), .passage_prefix = FUMI_STR("")}},
     ENCODER_MEAN,
     "a:",
     "",
     TINY_PLACES},
    {{{{POOLING, "{\"pooling_mode\":\"cls\",\"include_prompt\":false}"}},
      {.query_prefix = FUMI_STR("a:")}},
     ENCODER_CLS,
     "a:",
     "",
     TINY_PLACES},
    /* known families */
    {{{{NULL, NULL}}, {.name = FUMI_STR("e5-small-v2")}},
     ENCODER_MEAN,
     "query: ",
     "passage: ",
     TINY_PLACES},
    {{{{NULL, NULL}}, {.name = FUMI_STR("bge-small-en-v1.5")}},
     ENCODER_CLS,
     RETRIEVE,
     "",
     TINY_PLACES},
    {{{{NULL, NULL}}, {.name = FUMI_STR("bge-small-zh-v1.5")}},
     ENCODER_CLS,
     "为这个句子生成表示以用于检索相关文章：",
     "",
     TINY_PLACES},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"\",\"document\":\"\"}}"}},
      {.name = FUMI_STR("e5-base")}},
     ENCODER_MEAN,
     "query: ",
     "passage: ",
     TINY_PLACES},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"the: \"}}"}, {POOLING, CLS}},
      {.name = FUMI_STR("e5-base")}},
     ENCODER_CLS,
     "the: ",
     "",
     TINY_PLACES},
    {{{{NULL, NULL}},
      {.name = FUMI_STR("e5-base"), .query_prefix = FUMI_STR(""), .passage_prefix = FUMI_STR("")}},
     ENCODER_MEAN,
     "",
     "",
     TINY_PLACES},
    {{{{NULL, NULL}}, {.name = FUMI_STR("bge-m3")}}, ENCODER_MEAN, "", "", TINY_PLACES},
    /* the longest text */
    {{{{SENTENCE, "{\"max_seq_length\":20}"}}, {.name = {0}}}, ENCODER_MEAN, "", "", 20},
    {{{{SENTENCE, "{\"max_seq_length\":20}"}, {TOKENIZER, "{\"model_max_length\":16}"}},
      {.name = {0}}},
     ENCODER_MEAN,
     "",
     "",
     16},
    {{{{TOKENIZER, "{\"model_max_length\":1000000000000000019884624838656}"}}, {.name = {0}}},
     ENCODER_MEAN,
     "",
     "",
     TINY_PLACES},
    {{{{SENTENCE, "{\"max_seq_length\":null}"}}, {.name = {0}}}, ENCODER_MEAN, "", "", TINY_PLACES},
};

static void check_described(const struct described *d, size_t row)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_of(&d->source);
    struct model *m = tiny_open(t, &e);
    if (!m)
        TEST_FAIL("row %zu: %s", row, e.text);
    else if (model_weights(m)->pooling != d->pooling || model_max_tokens(m) != d->tokens ||
             !fumi_eq(model_query_prefix(m), fumi_str(d->query)) ||
             !fumi_eq(model_passage_prefix(m), fumi_str(d->passage)))
        TEST_FAIL("row %zu: pooling %d, %zu tokens, prefixes \"%.*s\" and \"%.*s\"", row,
                  (int)model_weights(m)->pooling, model_max_tokens(m),
                  FUMI_ARG(model_query_prefix(m)), FUMI_ARG(model_passage_prefix(m)));
    model_close(m);
    tiny_free(t);
}

TEST(the_files_of_a_model_describe_it)
{
    for (size_t i = 0; i < FUMI_COUNT(described); i++)
        check_described(&described[i], i);
}

#define REFUSES_MODULE(name)                                                                       \
    "modules.json: the module " name " is not supported, only Transformer, Pooling and Normalize"

static const struct refused {
    struct source source;
    const char *sentence;
} refused[] = {
    {{{{MODULES, "[" MODULE "Dense\",\"path\":\"2_Dense\"}]"}}, {.name = {0}}},
     REFUSES_MODULE("Dense")},
    {{{{MODULES, "[{\"type\":\"custom_st.Transformer\"},{\"type\":\"custom_st.Whitening\"}]"}},
      {.name = {0}}},
     REFUSES_MODULE("Whitening")},
    {{{{MODULES, "[{}]"}}, {.name = {0}}}, REFUSES_MODULE("")},
    {{{{MODULES, "[{"}}, {.name = {0}}}, "modules.json is not valid JSON"},
    {{{{POOLING, "{\"pooling_mode_mean_tokens\":false}"}}, {.name = {0}}},
     POOLING ": the pooling none is not supported, only mean and cls"},
    {{{{POOLING, "{\"pooling_mode_max_tokens\":true}"}}, {.name = {0}}}, "the pooling max is not"},
    {{{{POOLING, "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}"}},
      {.name = {0}}},
     "the pooling mean+cls is not"},
    {{{{POOLING, "{\"pooling_mode\":\"lasttoken\"}"}}, {.name = {0}}},
     "the pooling lasttoken is not"},
    {{{{POOLING, "x"}}, {.name = {0}}}, POOLING " is not valid JSON"},
    {{{{POOLING, "{\"include_prompt\":false}"}}, {.query_prefix = FUMI_STR("a:")}},
     POOLING ": include_prompt must be true"},
    {{{{PROMPTS, "{"}}, {.name = {0}}}, PROMPTS " is not valid JSON"},
    {{{{PROMPTS, "{\"prompts\":{\"query\":\"a\\u0000b\"}}"}}, {.name = {0}}},
     "the prefix for queries must be UTF-8 text without NUL"},
    {{{{PROMPTS, "{\"prompts\":{\"query\":7}}"}}, {.name = {0}}},
     PROMPTS ": the prompt query must be a string"},
    {{{{NULL, NULL}}, {.passage_prefix = {(const char[300]){"x"}, 300}}},
     "the prefix for passages has more than 255"},
    {{{{NULL, NULL}}, {.passage_prefix = FUMI_STR("a a a a a a a a a a a a a a a a a a a a a ")}},
     "the prefix for passages has 21 tokens, more than half of 40"},
    {{{{SENTENCE, "{\"max_seq_length\":20}"}},
      {.query_prefix = FUMI_STR("a a a a a a a a a a a ")}},
     "the prefix for queries has 11 tokens, more than half of 20"},
    {{{{SENTENCE, "{\"max_seq_length\":7}"}}, {.name = {0}}},
     SENTENCE ": max_seq_length must be at least 8"},
    {{{{TOKENIZER, "{\"model_max_length\":1}"}}, {.name = {0}}},
     TOKENIZER ": model_max_length must be at least 8"},
};

TEST(what_is_not_supported_is_refused_by_name)
{
    for (size_t i = 0; i < FUMI_COUNT(refused); i++) {
        struct fumi_err e = {0};
        struct tiny *t = tiny_of(&refused[i].source);
        struct model *m = tiny_open(t, &e);
        if (m || e.code != ERR_PROVIDER || !strstr(e.text, refused[i].sentence))
            TEST_FAIL("%s: %s", refused[i].sentence, m ? "taken" : e.text);
        model_close(m);
        tiny_free(t);
    }
}

/* The ids of the tokens of "É" and "定", which depend on the options of the tokenizer. */
static void check_case(const char *name, const char *text, bool lower, bool strip, bool cjk)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct tiny *t = tiny_of(&(struct source){{{name, text}}, {.name = {0}}});
    struct model *m = tiny_open(t, &e);
    size_t n;
    if (!m)
        TEST_FAIL("%s: %s", text, e.text);
    const int32_t *ids = model_tokens(m, &a, FUMI_STR("THE"), 8, &n);
    if ((ids[1] == tiny_id("the")) != lower)
        TEST_FAIL("%s: lower case", text);
    ids = model_tokens(m, &a, FUMI_STR("caf\xc3\xa9"), 8, &n);
    if ((ids[1] == tiny_id("cafe")) != strip)
        TEST_FAIL("%s: accents", text);
    model_tokens(m, &a, FUMI_STR("定定"), 8, &n);
    if ((n == 4) != cjk)
        TEST_FAIL("%s: ideographs", text);
    model_close(m);
    fumi_arena_done(&a);
    tiny_free(t);
}

/* tokenizer.json has lower case, no accents, and single ideographs. */
TEST(tokenizer_config_overrides_the_normalizer)
{
    check_case(TOKENIZER, "{}", true, true, true);
    check_case(TOKENIZER, "{\"do_lower_case\":false}", false, false, true);
    check_case(TOKENIZER, "{\"do_lower_case\":true}", true, true, true);
    check_case(TOKENIZER, "{\"do_lower_case\":true,\"strip_accents\":false}", true, false, true);
    check_case(TOKENIZER, "{\"do_lower_case\":false,\"strip_accents\":true}", false, true, true);
    check_case(TOKENIZER, "{\"tokenize_chinese_chars\":false}", true, true, false);
    check_case(SENTENCE, "{\"do_lower_case\":true}", true, true, true);
}

static void name_of(const struct pack_options *o, char name[NAME_SIZE])
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_of(&(struct source){{{NULL, NULL}}, *o});
    struct model *m = tiny_open(t, &e);
    snprintf(name, NAME_SIZE, "%.*s", FUMI_ARG(m ? model_name(m) : (struct fumi_str){0}));
    model_close(m);
    tiny_free(t);
}

/* Vectors are stored by the name of the model. */
TEST(models_with_other_vectors_have_other_names)
{
    static const struct pack_options options[] = {
        {.name = FUMI_STR("m")},
        {.name = FUMI_STR("m"), .pooling = PACK_CLS},
        {.name = FUMI_STR("m"), .query_prefix = FUMI_STR("a:")},
        {.name = FUMI_STR("m"), .passage_prefix = FUMI_STR("a:")},
        {.name = FUMI_STR("m"), .query_prefix = FUMI_STR("a:"), .pooling = PACK_CLS},
        {.name = FUMI_STR("m"), .query_prefix = FUMI_STR("a"), .passage_prefix = FUMI_STR(":")},
    };
    char names[FUMI_COUNT(options)][NAME_SIZE];
    for (size_t i = 0; i < FUMI_COUNT(options); i++) {
        name_of(&options[i], names[i]);
        CHECK_INT(strlen(names[i]), i ? 10 : 1);
        CHECK(strncmp(names[i], "m-", i ? 2 : 1) == 0);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(names[i], names[k]) != 0);
    }
    char again[NAME_SIZE], longest[NAME_SIZE];
    name_of(&options[1], again);
    CHECK_STR(fumi_str(again), names[1]);
    name_of(&(struct pack_options){.name = FUMI_STR("a name/with spaces and more than sixty-three "
                                                    "bytes in all of its many words"),
                                   .pooling = PACK_CLS},
            longest);
    CHECK_INT(strlen(longest), NAME_SIZE - 1);
    CHECK(strncmp(longest, "a-name-with-spaces-", 19) == 0);
}

TEST(the_name_in_the_cache_of_a_model_hub)
{
    struct fumi_err e = {0};
    struct tiny *t = tiny_new(), *hub = tiny_new();
    char path[256], to[256];
    tiny_path(hub, "models--BAAI--bge-small-en-v1.5", path);
    CHECK_INT(mkdir(path, 0700), 0);
    tiny_path(hub, "models--BAAI--bge-small-en-v1.5/snapshots", path);
    CHECK_INT(mkdir(path, 0700), 0);
    tiny_path(hub, "models--BAAI--bge-small-en-v1.5/snapshots/0123abcd", path);
    tiny_tfjs(t);
    tiny_tokenizer(t);
    CHECK_INT(rename(t->dir, path), 0);
    tiny_path(hub, "out.fumi", to);
    CHECK_INT(pack_model(path, to, &t->options, &e), 0);
    struct model *m = model_open(to, &e);
    CHECK(m);
    CHECK(fumi_starts(model_name(m), FUMI_STR("bge-small-en-v1.5-")));
    CHECK_STR(model_query_prefix(m), RETRIEVE);
    CHECK_INT(model_weights(m)->pooling, ENCODER_CLS);
    model_close(m);
    tiny_free(t);
    tiny_free(hub);
}

TEST(a_known_model_has_a_calibration)
{
    struct fumi_err e = {0};
    const struct fumi_str name = FUMI_STR("all-MiniLM-L6-v2");
    const struct embed_calibration given = {1, 2, 3, 4}, *c;
    struct tiny *t = tiny_of(&(struct source){{{NULL, NULL}}, {.name = name}});
    struct model *m = tiny_open(t, &e);
    CHECK(m && (c = model_calibration(m)));
    CHECK(memcmp(c, embed_known_calibration(name), sizeof(*c)) == 0);
    model_close(m);
    t->options.calibration = &given;
    m = tiny_open(t, &e);
    CHECK(m && (c = model_calibration(m)));
    CHECK(memcmp(c, &given, sizeof(*c)) == 0);
    model_close(m);
    t->options = (struct pack_options){.name = name, .pooling = PACK_CLS};
    m = tiny_open(t, &e); /* another model */
    CHECK(m && !model_calibration(m));
    model_close(m);
    tiny_free(t);
}
