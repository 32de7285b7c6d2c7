/* pack_model: what is published is read as tensors and a tokenizer, laid out in memory as the
 * file will be, and written beside the target before it takes its place. */
#include "pack/pack.h"

#include "base/file.h"
#include "pack/pack_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
    struct fumi_arena a;
    struct pack_files files;
    struct pack_source source;
    struct pack_vocabulary vocabulary;
    struct model_head head;
    struct model_views views;
    char *memory, *image; /* image: aligned, in memory */
    size_t size;
};

static int read_source(struct job *j, const char *from, struct fumi_err *e)
{
    bool found;
    if (pack_read_files(&j->files, from, e) || pack_read_tfjs(&j->files, &j->source, &found, e))
        return -1;
    if (!found && pack_read_safetensors(&j->files, &j->source, &found, e))
        return -1;
    if (!found)
        return pack_fault(e,
                          "%s holds no model: neither a model.json of TensorFlow.js nor a "
                          "model.safetensors",
                          from);
    return 0;
}

static const struct pack_file *tokenizer(const struct job *j)
{
    return pack_find_file(&j->files, "tokenizer.json", j->source.dir);
}

static int read_tokenizer(struct job *j, struct fumi_err *e)
{
    const struct pack_file *file = tokenizer(j);
    if (!file)
        return pack_fault(e, "there is no tokenizer.json: it is published beside the model");
    return pack_read_vocabulary(&j->a, file, &j->vocabulary, e);
}

/* The directory of the tokenizer is mostly called as the model is; at the root, what is installed
 * itself. Only plain characters, since the name becomes part of keys. */
static void set_name(struct job *j, const char *from)
{
    char real[PATH_MAX];
    struct fumi_str s = pack_dir(tokenizer(j)->path);
    if (!s.n || fumi_eq(s, FUMI_STR("./")))
        s = fumi_str(realpath(from, real) ? real : from);
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    struct fumi_str dir = pack_dir(s);
    s = (struct fumi_str){s.p + dir.n, s.n - dir.n};
    if (s.n > 4 && memcmp(s.p + s.n - 4, ".tgz", 4) == 0)
        s.n -= 4;
    s.n = s.n > MODEL_NAME_MAX ? MODEL_NAME_MAX : s.n;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        j->head.name[i] = plain || c == '.' || c == '_' ? c : '-';
    }
}

static uint32_t number(size_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int check_tables(const struct pack_source *s, struct fumi_err *e)
{
    const struct pack_tensor *tables[] = {s->words, s->places, s->kinds};
    for (size_t i = 0; i < FUMI_COUNT(tables); i++)
        if (tables[i]->dims != 2 || tables[i]->type == PACK_OTHER ||
            tables[i]->shape[1] != s->words->shape[1])
            return pack_fault(e,
                              "the tensor %.*s has another shape or type than a BERT model needs",
                              FUMI_ARG(tables[i]->name));
    return 0;
}

/* How wide the inner layer is stands in its bias. */
static size_t inner_size(struct job *j)
{
    const struct pack_naming *style = j->source.style;
    char *name = (char *)fumi_fmt(&j->a, "%s0/intermediate/dense/%s", style->layer, style->bias).p;
    for (char *p = name; *p; p++)
        *p = *p == '/' ? style->slash : *p;
    const struct pack_tensor *t = pack_find_tensor(&j->source, name);
    return t && t->dims == 1 ? t->shape[0] : 0;
}

static int fill_head(struct job *j, const char *from, struct fumi_err *e)
{
    const struct pack_source *s = &j->source;
    const struct pack_vocabulary *v = &j->vocabulary;
    if (check_tables(s, e))
        return -1;
    j->head = (struct model_head){
        .magic = MODEL_MAGIC,
        .version = MODEL_VERSION,
        .head_size = sizeof(j->head),
        .order = model_order(),
        .layers = number(s->layers),
        .hidden = number(s->words->shape[1]),
        .heads = number(s->heads),
        .inner = number(inner_size(j)),
        .positions = number(s->places->shape[0]),
        .kinds = number(s->kinds->shape[0]),
        .words = number(s->words->shape[0]),
        .epsilon = (float)s->epsilon,
        .flags = v->flags,
        .max_chars = v->max_chars,
        .cells = number(v->cells.n / sizeof(struct trie_cell)),
        .specials = number(v->specials.n / sizeof(struct trie_cell)),
        .inside = v->inside,
        .unknown = v->unknown,
        .first = v->first,
        .last = v->last,
    };
    set_name(j, from);
    const char *wrong = model_check_head(&j->head);
    if (wrong)
        return pack_fault(e, "the model has a size that Fumi does not take: %s", wrong);
    if ((uint32_t)v->most >= j->head.words)
        return pack_fault(e, "tokenizer.json has more words than the model has rows for");
    return 0;
}

/* A weight takes a byte at least where it comes from, so a file that promises far more than it has
 * is found before memory is taken for it. */
static bool is_too_large(const struct job *j)
{
    const struct pack_file *file;
    size_t given = 1 << 26;
    for (size_t i = 0; (file = pack_file_at(&j->files, i)); i++)
        given += 2 * file->bytes.n;
    return j->size > given;
}

static int build(struct job *j, struct fumi_err *e)
{
    j->size = model_lay(&j->head, NULL, &j->views);
    j->head.size = j->size;
    if (is_too_large(j))
        return pack_fault(e, "the model has fewer weights than its sizes need");
    j->memory = fumi_resize(NULL, j->size + MODEL_ALIGN);
    j->image = j->memory + (MODEL_ALIGN - (uintptr_t)j->memory % MODEL_ALIGN);
    memset(j->image, 0, j->size);
    model_lay(&j->head, j->image, &j->views);
    const struct wordpiece *p = &j->views.pieces;
    memcpy((void *)p->words.cells, j->vocabulary.cells.p, j->vocabulary.cells.n);
    memcpy((void *)p->specials.cells, j->vocabulary.specials.p, j->vocabulary.specials.n);
    if (pack_weights(&j->source, &j->head, &j->views, e))
        return -1;
    memcpy(j->image, &j->head, sizeof(j->head));
    if (model_sum(j->image + MODEL_SUMMED, j->size - MODEL_SUMMED, j->head.sha256, e))
        return -1;
    memcpy(j->image, &j->head, sizeof(j->head));
    return 0;
}

static int publish(struct job *j, const char *to, struct fumi_err *e)
{
    char *beside = (char *)fumi_fmt(&j->a, "%s.XXXXXX", to).p;
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return pack_fault(e, "%s cannot be written: %s", to, strerror(errno));
    bool ok = !file_write_all(fd, (struct fumi_str){j->image, j->size}) && !fchmod(fd, 0644) &&
              !fsync(fd);
    int why = errno;
    if (close(fd) || !ok || rename(beside, to)) {
        why = ok ? errno : why;
        unlink(beside);
        return pack_fault(e, "%s cannot be written: %s", to, strerror(why));
    }
    struct fumi_str dir = pack_dir(fumi_str(to));
    file_sync_dir(dir.n ? fumi_fmt(&j->a, "%.*s", FUMI_ARG(dir)).p : ".");
    return 0;
}

static int run(struct job *j, const char *from, const char *to, struct fumi_err *e)
{
    if (read_source(j, from, e) || read_tokenizer(j, e) || fill_head(j, from, e) || build(j, e))
        return -1;
    return publish(j, to, e);
}

int pack_model(const char *from, const char *to, struct fumi_err *e)
{
    struct job *j = fumi_resize(NULL, sizeof(*j));
    *j = (struct job){0};
    j->files.a = &j->a;
    int rc = run(j, from, to, e);
    pack_vocabulary_done(&j->vocabulary);
    pack_files_done(&j->files);
    fumi_arena_done(&j->a);
    fumi_resize(j->memory, 0);
    fumi_resize(j, 0);
    return rc;
}
