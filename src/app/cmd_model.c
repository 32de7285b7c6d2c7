/* fumi model: shows and tests the local model; fumi model install: packs one. */
#include "app/files.h"
#include "app/session.h"
#include "base/clock.h"
#include "embed/model.h"
#include "pack/pack.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum { TIMEOUT_MS = 60000 };

struct model_flags {
    struct fumi_str to;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct model_flags, to, "to",
               "File to install; fumi-minilm.bin in the data directory of the user if not "
               "given."),
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
        printf("name      %.*s%s\n", FUMI_ARG(model_name(m)),
               model_english_only(m) ? " (English)" : "");
        printf("sha256    %.64s (verified)\n", sha);
    }
    model_close(m);
    return rc;
}

static int show(struct invocation *i)
{
    struct fumi_err e = {0};
    const char *path;
    if (locate(i, &path, &e) || describe(path, &e) || test_model(i, path, &e))
        return command_report(&e);
    return STATUS_OK;
}

static int destination(struct invocation *i, struct fumi_str *to, struct fumi_err *e)
{
    const struct model_flags *f = i->flags;
    struct fumi_str none = {0};
    if (f->to.p)
        return files_expand(i->a, f->to, none, to, e);
    if (files_xdg(i->a, "XDG_DATA_HOME", ".local/share", to, e))
        return -1;
    *to = files_join(i->a, *to, "fumi-minilm.bin");
    return 0;
}

/* The model file is readable by all users, because it may serve all of them. */
static int install(struct invocation *i)
{
    struct fumi_err e = {0};
    struct fumi_str to;
    if (i->words.n < 2)
        return command_misuse(i, "a directory or a .tgz file to install is required");
    if (destination(i, &to, &e) || files_make_dir(files_dir(i->a, to), &e))
        return command_report(&e);
    umask(022);
    if (pack_model(files_name(i->a, i->words.items[1]), to.p, &e))
        return command_report(&e);
    printf("%.*s\n", FUMI_ARG(to));
    return STATUS_OK;
}

static int model(struct invocation *i)
{
    if (!i->words.n)
        return show(i);
    if (fumi_eq(i->words.items[0], FUMI_STR("install")))
        return install(i);
    return command_misuse(i, "unknown argument %.*s; use fumi model install DIR|FILE.tgz",
                          FUMI_ARG(i->words.items[0]));
}

const struct command command_model = {
    .name = "model",
    .usage = "[install DIR|FILE.tgz]",
    .help = "Shows, verifies and tests the local model, or installs one.",
    .more = "A model is installed from a directory or .tgz file with a TensorFlow.js "
            "model and its tokenizer.json, or from a directory with model.safetensors, "
            "tokenizer.json and config.json.",
    .shape = &shape,
    .words = 2,
    .run = model,
};
