/* Reads the published tensors and tokenizer, builds the image of the model file in memory, writes
 * it to a temporary file next to the target and renames that. */
#include "pack/pack.h"

#include "base/file.h"
#include "embed/local.h"
#include "pack/pack_parts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct pack_job {
    struct fumi_arena a;
    struct pack_files files;
    struct pack_source source;
    struct pack_vocabulary vocabulary;
    struct pack_description description;
    struct model_head head;
    struct model_views views;
    char *memory; /* allocated */
    char *image;  /* the file, aligned to MODEL_ALIGN inside of `memory` */
    size_t size;
};

static int read_source(struct pack_job *j, const char *from, struct fumi_err *e)
{
    bool found;
    if (pack_read_files(&j->files, from, e) || pack_read_tfjs(&j->files, &j->source, &found, e))
        return -1;
    if (!found && pack_read_safetensors(&j->files, &j->source, &found, e))
        return -1;
    if (!found)
        return pack_fault(e,
                          "%s contains no model: neither a TensorFlow.js model.json nor a "
                          "model.safetensors",
                          from);
    return 0;
}

static const struct pack_file *tokenizer(const struct pack_job *j)
{
    return pack_find_file(&j->files, "tokenizer.json", j->source.dir);
}

static int read_tokenizer(struct pack_job *j, struct fumi_err *e)
{
    const struct pack_file *file = tokenizer(j);
    if (!file)
        return pack_fault(e, "there is no tokenizer.json: it is published together with the model");
    return pack_read_vocabulary(&j->a, file, &j->vocabulary, e);
}

static int describe(struct pack_job *j, const struct pack_options *o, struct fumi_err *e)
{
    struct pack_description_source from = {j->source.dir, pack_dir(tokenizer(j)->path)};
    j->description.tokenizer_flags = j->vocabulary.flags;
    return pack_describe(&j->files, &from, o, &j->description, e);
}

/* Too large a number becomes one that model_check_head refuses. */
static uint32_t clamp(size_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int check_tables(const struct pack_source *s, struct fumi_err *e)
{
    const struct pack_tensor *tables[] = {s->words, s->positions, s->types};
    for (size_t i = 0; i < FUMI_COUNT(tables); i++)
        if (tables[i]->dims != 2 || tables[i]->type == PACK_OTHER ||
            tables[i]->shape[1] != s->words->shape[1])
            return pack_fault(e,
                              "the tensor %.*s does not have the shape or type that a BERT model "
                              "needs",
                              FUMI_ARG(tables[i]->name));
    return 0;
}

/* The size of the feed-forward layer, which is that of its bias; 0 if there is none. */
static size_t inner_size(struct pack_job *j)
{
    const struct pack_naming *naming = j->source.naming;
    char *name =
        (char *)fumi_fmt(&j->a, "%s0/intermediate/dense/%s", naming->layer, naming->bias).p;
    for (char *p = name; *p; p++)
        *p = *p == '/' ? naming->separator : *p;
    const struct pack_tensor *t = pack_find_tensor(&j->source, name);
    return t && t->dims == 1 ? t->shape[0] : 0;
}

static void copy_text(struct fumi_str s, char *to)
{
    if (s.n)
        memcpy(to, s.p, s.n);
}

static void fill_description(struct model_head *h, const struct pack_description *d)
{
    memcpy(h->name, d->name, sizeof(h->name));
    h->flags = d->tokenizer_flags;
    h->pooling = d->pooling;
    h->max_tokens = d->max_tokens;
    copy_text(d->query_prefix, h->query_prefix);
    copy_text(d->passage_prefix, h->passage_prefix);
    h->calibrated = d->calibration != NULL;
    if (d->calibration)
        h->calibration = *d->calibration;
}

static int fill_head(struct pack_job *j, struct fumi_err *e)
{
    const struct pack_source *s = &j->source;
    const struct pack_vocabulary *v = &j->vocabulary;
    if (check_tables(s, e))
        return -1;
    j->head = (struct model_head){
        .magic = MODEL_MAGIC,
        .version = MODEL_VERSION,
        .head_size = sizeof(j->head),
        .panel_layout = model_panel_layout(),
        .layers = clamp(s->layers),
        .hidden = clamp(s->words->shape[1]),
        .heads = clamp(s->heads),
        .inner = clamp(inner_size(j)),
        .positions = clamp(s->positions->shape[0]),
        .types = clamp(s->types->shape[0]),
        .words = clamp(s->words->shape[0]),
        .epsilon = (float)s->epsilon,
        .max_chars = v->max_chars,
        .cells = clamp(v->cells.n / sizeof(struct trie_cell)),
        .specials = clamp(v->specials.n / sizeof(struct trie_cell)),
        .continuation = v->continuation,
        .unk = v->unk,
        .cls = v->cls,
        .sep = v->sep,
    };
    fill_description(&j->head, &j->description);
    const char *wrong = model_check_head(&j->head);
    if (wrong)
        return pack_fault(e, "the model is not supported: its %s is not valid", wrong);
    if ((uint32_t)v->max_id >= j->head.words)
        return pack_fault(e,
                          "tokenizer.json has token ids beyond the rows of the model's word table");
    return 0;
}

/* Whether the model has dimensions that need far more weights than the source contains; each weight
 * takes at least one byte there. Checked before memory is allocated for the weights. */
static bool is_too_large(const struct pack_job *j)
{
    const struct pack_file *file;
    size_t given = 1 << 26;
    for (size_t i = 0; (file = pack_file_at(&j->files, i)); i++)
        given += 2 * file->bytes.n;
    return j->size > given;
}

/* Whether at least half of the tokens are left for the text. */
static int check_prefix(const struct pack_job *j, struct fumi_str prefix, const char *what,
                        struct fumi_err *e)
{
    struct fumi_buf tokens = {0};
    size_t most = j->head.positions < LOCAL_TOKENS ? j->head.positions : LOCAL_TOKENS;
    most = j->head.max_tokens && j->head.max_tokens < most ? j->head.max_tokens : most;
    wordpiece_run(&j->views.pieces, prefix, SIZE_MAX, &tokens);
    size_t n = tokens.n / sizeof(struct model_token);
    fumi_buf_done(&tokens);
    if (2 * n <= most)
        return 0;
    return pack_fault(e,
                      "the prefix for %s has %zu tokens, more than half of %zu, the most of a text",
                      what, n, most);
}

static int check_prefixes(const struct pack_job *j, struct fumi_err *e)
{
    const struct pack_description *d = &j->description;
    return check_prefix(j, d->query_prefix, "queries", e) ||
                   check_prefix(j, d->passage_prefix, "passages", e)
               ? -1
               : 0;
}

static int build(struct pack_job *j, struct fumi_err *e)
{
    j->size = model_layout(&j->head, NULL, &j->views);
    j->head.size = j->size;
    if (is_too_large(j))
        return pack_fault(e, "the model has fewer weights than its sizes need");
    j->memory = fumi_resize(NULL, j->size + MODEL_ALIGN);
    j->image = j->memory + (MODEL_ALIGN - (uintptr_t)j->memory % MODEL_ALIGN);
    assert((uintptr_t)j->image % MODEL_ALIGN == 0);
    memset(j->image, 0, j->size);
    model_layout(&j->head, j->image, &j->views);
    const struct wordpiece *p = &j->views.pieces;
    memcpy((void *)p->words.cells, j->vocabulary.cells.p, j->vocabulary.cells.n);
    memcpy((void *)p->specials.cells, j->vocabulary.specials.p, j->vocabulary.specials.n);
    if (check_prefixes(j, e) || pack_weights(&j->source, &j->head, &j->views, e))
        return -1;
    memcpy(j->image, &j->head, sizeof(j->head));
    if (model_checksum(j->image + MODEL_SUM_START, j->size - MODEL_SUM_START, j->head.sha256, e))
        return -1;
    memcpy(j->image, &j->head, sizeof(j->head));
    return 0;
}

static int write_temporary(char *temporary, const char *to, struct fumi_str bytes,
                           struct fumi_err *e)
{
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return pack_fault(e, "%s cannot be written: %s", to, strerror(errno));
    bool ok = !file_write_all(fd, bytes) && !fchmod(fd, 0644) && !fsync(fd);
    int why = errno;
    if (close(fd) || !ok || rename(temporary, to)) {
        why = ok ? errno : why;
        unlink(temporary);
        return pack_fault(e, "%s cannot be written: %s", to, strerror(why));
    }
    return 0;
}

int pack_write_file(const char *to, struct fumi_str bytes, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_str dir = pack_dir(fumi_str(to));
    int rc = write_temporary((char *)fumi_fmt(&a, "%s.XXXXXX", to).p, to, bytes, e);
    if (!rc)
        file_sync_dir(dir.n ? fumi_fmt(&a, "%.*s", FUMI_ARG(dir)).p : ".");
    fumi_arena_done(&a);
    return rc;
}

static int run(struct pack_job *j, const char *from, const char *to, const struct pack_options *o,
               struct fumi_err *e)
{
    if (read_source(j, from, e) || read_tokenizer(j, e) || describe(j, o, e) || fill_head(j, e) ||
        build(j, e))
        return -1;
    return pack_write_file(to, (struct fumi_str){j->image, j->size}, e);
}

int pack_model(const char *from, const char *to, const struct pack_options *o, struct fumi_err *e)
{
    struct pack_job *j = fumi_resize(NULL, sizeof(*j));
    *j = (struct pack_job){0};
    j->files.a = &j->a;
    int rc = run(j, from, to, o, e);
    pack_vocabulary_done(&j->vocabulary);
    pack_files_done(&j->files);
    fumi_arena_done(&j->a);
    fumi_resize(j->memory, 0);
    fumi_resize(j, 0);
    return rc;
}
