/* fumi model: shows and tests the local model; fumi model install: packs one. */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/session.h"
#include "base/clock.h"
#include "embed/gloss.h"
#include "embed/gloss_file.h"
#include "embed/model.h"
#include "pack/pack.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum { TIMEOUT_MS = 60000 };

/* The order is that of enum pack_pooling. */
static const char *const poolings[] = {"published", "mean", "cls", NULL};

struct model_flags {
    struct fumi_str to, name;
    int pooling;
    struct fumi_str query_prefix, passage_prefix;
    struct fumi_json relevance;
};

static const struct fumi_field calibration_fields[] = {
    FUMI_FIELD(struct embed_calibration, bias, "bias", NULL, .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct embed_calibration, cosine, "cosine", NULL, .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct embed_calibration, share, "share", NULL, .flags = FUMI_REQUIRED),
    FUMI_FIELD(struct embed_calibration, both, "both", NULL, .flags = FUMI_REQUIRED),
};
static const struct fumi_shape calibration = FUMI_SHAPE(struct embed_calibration,
                                                        calibration_fields);

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct model_flags, to, "to",
               "File to install; fumi-minilm.bin or fumi-edict.bin in the data directory of "
               "the user if not given."),
    FUMI_FIELD(struct model_flags, name, "name",
               "Name of the model; that of its directory if not given."),
    FUMI_FIELD(
        struct model_flags, pooling, "pooling",
        "How the vectors of tokens become one: as the files of the model say, their mean, or "
        "the vector of [CLS].",
        .choices = poolings, .def = "\"published\""),
    FUMI_FIELD(struct model_flags, query_prefix, "queryPrefix",
               "Text before every query, as in \"query: \"; as published if not given."),
    FUMI_FIELD(struct model_flags, passage_prefix, "passagePrefix",
               "Text before every text to be found, as in \"passage: \"; as published if not "
               "given."),
    FUMI_FIELD(struct model_flags, relevance, "relevance",
               "Calibration of the relevance, a JSON object with the numbers bias, cosine, share "
               "and both.",
               .flags = FUMI_OBJECT_ONLY),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct model_flags, fields);

/* Sets *path to the model file that the configuration selects. */
static int locate(struct invocation *i, const char **path, struct fumi_err *e)
{
    struct session s = {0};
    struct fumi_str found = {0};
    int rc = session_config(&s, &i->common, false, e);
    if (!rc) {
        found = s.config.embedder.set.model_file;
        if (!found.n)
            found = model_find(i->a, e);
        rc = found.n ? 0 : -1;
    }
    if (!rc)
        *path = files_name(i->a, found);
    session_close(&s);
    return rc;
}

/* Embeds a sentence twice, and prints the times with and without loading the model. */
static int test_model(struct invocation *i, const char *path, struct fumi_err *e)
{
    struct model *file = model_open(path, e);
    if (!file)
        return -1;
    const struct embed_config c = {.provider = FUMI_STR("local"),
                                   .model = fumi_dup(i->a, model_name(file)),
                                   .model_file = fumi_str(path)};
    model_close(file);
    struct fumi_str sentence = FUMI_STR("A blue bird sings in the garden.");
    float *x;
    struct embedder *m = embed_open(&c, NULL, e);
    if (!m)
        return -1;
    int64_t began = fumi_ticks();
    int rc = m->ops->embed(m, i->a, &sentence, 1, TIMEOUT_MS, &x, e);
    int64_t loaded = fumi_ticks();
    rc = rc || m->ops->embed(m, i->a, &sentence, 1, TIMEOUT_MS, &x, e);
    int64_t again = fumi_ticks();
    if (!rc)
        printf("test      \"%.*s\" -> %zu numbers in %.1f ms (%.1f ms with loading)\n",
               FUMI_ARG(sentence), atomic_load(&m->dim), (double)(again - loaded) / 1e6,
               (double)(loaded - began) / 1e6);
    m->ops->free(m);
    return rc ? -1 : 0;
}

static void put_text(const char *label, struct fumi_str text)
{
    if (text.n)
        printf("%-9s \"%.*s\"\n", label, FUMI_ARG(text));
}

static void put_description(const struct model *m)
{
    const struct embed_calibration *c = model_calibration(m);
    printf("name      %.*s%s\n", FUMI_ARG(model_name(m)),
           model_english_only(m) ? " (English)" : "");
    printf("pooling   %s\n",
           poolings[model_weights(m)->pooling == ENCODER_CLS ? PACK_CLS : PACK_MEAN]);
    put_text("queries", model_query_prefix(m));
    put_text("passages", model_passage_prefix(m));
    if (c)
        printf("relevance bias %g, cosine %g, share %g, both %g\n", c->bias, c->cosine, c->share,
               c->both);
}

static int describe(const char *path, struct fumi_err *e)
{
    char sha[64];
    struct model *m = model_open(path, e);
    if (!m)
        return -1;
    int rc = model_verify(m, e);
    model_sha256(m, sha);
    if (!rc) {
        printf("file      %s\n", path);
        put_description(m);
        printf("sha256    %.64s (verified)\n", sha);
    }
    model_close(m);
    return rc;
}

static int describe_gloss(struct fumi_arena *a, const char *model, struct fumi_err *e)
{
    struct fumi_str path = gloss_find(a, model);
    if (!path.p) {
        struct fumi_str to = files_join(a, files_dir(a, fumi_str(model)), GLOSS_FILE);
        printf("glosses   none: Japanese is embedded as it is; to change this, install the package "
               "edict, and run\n          fumi model install /usr/share/edict/edict --to %.*s\n",
               FUMI_ARG(to));
        return 0;
    }
    struct gloss *g = gloss_open(path.p, e);
    int rc = g ? gloss_verify(g, path.p, e) : -1;
    if (!rc)
        printf("glosses   %.*s, %zu Japanese words and forms, for English models (verified)\n"
               "          %s\n",
               FUMI_ARG(gloss_name(g)), gloss_words(g), path.p);
    gloss_close(g);
    return rc;
}

struct model_result {
    struct fumi_str file, name, sha256, pooling, query_prefix, passage_prefix;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct model_result, file, "file", "The file."),
    FUMI_FIELD(struct model_result, name, "name", "The model; not of a dictionary.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct model_result, pooling, "pooling", "How vectors of tokens become one.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct model_result, query_prefix, "queryPrefix", "Text before every query.",
               .flags = FUMI_OMIT),
    FUMI_FIELD(struct model_result, passage_prefix, "passagePrefix",
               "Text before every text to be found.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct model_result, sha256, "sha256", "Checksum of the file.", .flags = FUMI_OMIT),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct model_result, result_fields);

/* Verifies the file and prints what the text prints, without the test. */
static int print_json(struct invocation *i, const char *path, struct fumi_err *e)
{
    char sha[64];
    struct model *m = model_open(path, e);
    int rc = m ? model_verify(m, e) : -1;
    if (!rc) {
        model_sha256(m, sha);
        bool cls = model_weights(m)->pooling == ENCODER_CLS;
        notes_print_struct(
            i->a, &result_shape,
            &(struct model_result){.file = fumi_str(path),
                                   .name = model_name(m),
                                   .sha256 = {sha, sizeof(sha)},
                                   .pooling = fumi_str(poolings[cls ? PACK_CLS : PACK_MEAN]),
                                   .query_prefix = model_query_prefix(m),
                                   .passage_prefix = model_passage_prefix(m)});
    }
    if (m)
        model_close(m);
    return rc;
}

static int show(struct invocation *i)
{
    struct fumi_err e = {0};
    const char *path;
    if (i->json)
        return locate(i, &path, &e) || print_json(i, path, &e) ? command_report(&e) : STATUS_OK;
    if (locate(i, &path, &e) || describe(path, &e) || describe_gloss(i->a, path, &e) ||
        test_model(i, path, &e))
        return command_report(&e);
    return STATUS_OK;
}

static int destination(struct invocation *i, bool edict, struct fumi_str *to, struct fumi_err *e)
{
    const struct model_flags *f = i->flags;
    struct fumi_str none = {0};
    if (f->to.p)
        return files_expand(i->a, f->to, none, to, e);
    if (files_xdg(i->a, "XDG_DATA_HOME", ".local/share", to, e))
        return -1;
    *to = files_join(i->a, *to, edict ? GLOSS_FILE : "fumi-minilm.bin");
    return 0;
}

static int read_options(struct invocation *i, struct pack_options *o, struct fumi_err *e)
{
    const struct model_flags *f = i->flags;
    struct embed_calibration *c = fumi_alloc(i->a, sizeof(*c));
    *o = (struct pack_options){.name = f->name,
                               .pooling = (enum pack_pooling)f->pooling,
                               .query_prefix = f->query_prefix,
                               .passage_prefix = f->passage_prefix};
    if (!f->relevance.text.n)
        return 0;
    struct fumi_err why = {0};
    const struct fumi_val *v = fumi_parse(i->a, f->relevance.text, &why);
    if (fumi_bind(i->a, &calibration, v, c, &why))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "--relevance: %s", why.text);
    o->calibration = c;
    return 0;
}

/* Prints what must be set for the model to be used, unless it is the default. */
static int advise(struct fumi_arena *a, struct fumi_str path, struct fumi_err *e)
{
    struct fumi_err ignored = {0};
    struct model *m = model_open(path.p, e);
    if (!m)
        return -1;
    struct fumi_str name = model_name(m);
    put_description(m);
    if (!fumi_eq(model_find(a, &ignored), path))
        printf("the file is used if FUMI_MODEL or embedder.modelFile names it\n");
    if (!fumi_eq(name, embed_default_model(FUMI_STR("local"))))
        printf("to use it: fumi call memory.set_config "
               "'{\"embedder\":{\"provider\":\"local\",\"model\":\"%.*s\"}}'\n",
               FUMI_ARG(name));
    model_close(m);
    return 0;
}

static bool describes_model(const struct model_flags *f)
{
    return f->name.p || f->pooling || f->query_prefix.p || f->passage_prefix.p ||
           f->relevance.text.n;
}

/* The model file is readable by all users, because it may serve all of them. */
static int install(struct invocation *i)
{
    struct fumi_err e = {0};
    struct fumi_str to;
    struct pack_options o;
    if (i->words.n < 2)
        return command_misuse(
            i, "a directory, a .tgz file or the dictionary EDICT to install is required");
    const char *from = files_name(i->a, i->words.items[1]);
    bool edict = pack_is_edict(from);
    if (edict && describes_model(i->flags))
        return command_misuse(i, "only --to can be given with the dictionary EDICT");
    if (read_options(i, &o, &e) || destination(i, edict, &to, &e) ||
        files_make_dir(files_dir(i->a, to), &e))
        return command_report(&e);
    umask(022);
    struct progress bar;
    progress_begin(&bar, "installing", "", 0, 0);
    int rc = edict ? pack_edict(from, to.p, &e) : pack_model(from, to.p, &o, &e);
    progress_end(&bar);
    if (rc)
        return command_report(&e);
    if (i->json && edict)
        notes_print_struct(i->a, &result_shape, &(struct model_result){.file = to});
    if (i->json)
        return !edict && print_json(i, to.p, &e) ? command_report(&e) : STATUS_OK;
    printf("%.*s\n", FUMI_ARG(to));
    return !edict && advise(i->a, to, &e) ? command_report(&e) : STATUS_OK;
}

static int model(struct invocation *i)
{
    if (!i->words.n)
        return show(i);
    if (fumi_eq(i->words.items[0], FUMI_STR("install")))
        return install(i);
    return command_misuse(i, "unknown argument %.*s; use fumi model install DIR|FILE.tgz|EDICT",
                          FUMI_ARG(i->words.items[0]));
}

const struct command command_model = {
    .name = "model",
    .usage = "[install DIR|FILE.tgz|EDICT]",
    .help = "Shows, verifies and tests the local model, or installs one.",
    .more = "A model is installed from a directory or .tgz file with a TensorFlow.js "
            "model and its tokenizer.json, or from a directory with model.safetensors, "
            "tokenizer.json and config.json. It must be of the BERT family and have a WordPiece "
            "tokenizer. Pooling and prefixes are read from the files of the model; flags have "
            "priority. EDICT is the dictionary file of Debian's package edict, by which an "
            "English model also understands Japanese.",
    .shape = &shape,
    .words = 2,
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = model,
};
