/* The header of the file gives the dimensions of the model, and these the size and offset of
 * each part. Only model_verify reads the whole file. */
#include "embed/model.h"

#include "base/utf8.h"
#include "embed/model_file.h"
#include "model/codes.h"
#include "model/dim.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMEDY "run \"fumi model install\""

struct model {
    const char *file; /* mapped; NULL before */
    size_t size;
    struct model_head head; /* a copy; of files of version 1 with zeros at the end */
    struct model_views views;
};

/* The file while its parts are assigned one after the other. */
struct part_cursor {
    char *base; /* NULL: sizes are only added up */
    size_t at;
};

static void *part(struct part_cursor *c, size_t size)
{
    char *p = c->base ? c->base + c->at : NULL;
    c->at += (size + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
    return p;
}

static const float *floats(struct part_cursor *c, size_t n)
{
    return part(c, n * sizeof(float));
}

static struct encoder_table lay_table(struct part_cursor *c, size_t rows, size_t columns)
{
    struct encoder_table t = {.rows = rows, .columns = columns};
    t.q = part(c, rows * columns);
    t.scale = floats(c, rows);
    t.offset = floats(c, rows);
    return t;
}

static struct encoder_norm lay_norm(struct part_cursor *c, size_t n)
{
    struct encoder_norm norm = {.gain = floats(c, n)};
    norm.shift = floats(c, n);
    return norm;
}

static struct encoder_dense lay_dense(struct part_cursor *c, size_t in, size_t out)
{
    struct encoder_dense d = {.in = in, .out = out};
    d.panels = part(c, dense_panels_size(in, out));
    d.sums = part(c, out * sizeof(*d.sums));
    d.scale = floats(c, out);
    d.offset = floats(c, out);
    d.bias = floats(c, out);
    return d;
}

static void lay_layer(struct part_cursor *c, const struct model_head *h, struct encoder_layer *l)
{
    l->query = lay_dense(c, h->hidden, h->hidden);
    l->key = lay_dense(c, h->hidden, h->hidden);
    l->value = lay_dense(c, h->hidden, h->hidden);
    l->attention_out = lay_dense(c, h->hidden, h->hidden);
    l->attention_norm = lay_norm(c, h->hidden);
    l->expand = lay_dense(c, h->hidden, h->inner);
    l->contract = lay_dense(c, h->inner, h->hidden);
    l->output_norm = lay_norm(c, h->hidden);
}

static struct wordpiece lay_pieces(struct part_cursor *c, const struct model_head *h)
{
    struct wordpiece p = {
        .words.n = h->cells,
        .specials.n = h->specials,
        .continuation = h->continuation,
        .unk = h->unk,
        .ids = (int32_t)h->words,
        .flags = h->flags,
        .max_chars = h->max_chars,
    };
    p.words.cells = part(c, p.words.n * sizeof(*p.words.cells));
    p.specials.cells = part(c, p.specials.n * sizeof(*p.specials.cells));
    return p;
}

size_t model_layout(const struct model_head *h, char *base, struct model_views *v)
{
    struct part_cursor c = {base, h->head_size};
    v->pieces = lay_pieces(&c, h);
    struct encoder_weights *w = &v->weights;
    *w = (struct encoder_weights){
        .layers = h->layers,
        .hidden = h->hidden,
        .heads = h->heads,
        .inner = h->inner,
        .positions = h->positions,
        .epsilon = h->epsilon,
        .pooling = (enum encoder_pooling)h->pooling,
        .layer = v->layer,
    };
    w->word_table = lay_table(&c, h->words, h->hidden);
    w->position_table = lay_table(&c, h->positions, h->hidden);
    w->type_table = lay_table(&c, h->types, h->hidden);
    w->embedding_norm = lay_norm(&c, h->hidden);
    for (size_t i = 0; i < h->layers; i++)
        lay_layer(&c, h, &v->layer[i]);
    assert(c.at % MODEL_ALIGN == 0);
    return c.at;
}

struct head_limit {
    const char *name;
    size_t offset;
    uint32_t min, max;
};
#define LIMIT(member, min, max)                                                                    \
    {                                                                                              \
#member, offsetof(struct model_head, member), min, max                                     \
    }

/* Small enough that the sum of all sizes does not overflow. */
static const struct head_limit limits[] = {
    LIMIT(layers, 1, MODEL_LAYERS_MAX),
    LIMIT(hidden, VECTOR_DIM_MIN, VECTOR_DIM_MAX),
    LIMIT(heads, 1, 256),
    LIMIT(inner, 1, 16384),
    LIMIT(positions, 8, 65536),
    LIMIT(types, 1, 64),
    LIMIT(words, 3, 1 << 22),
    LIMIT(max_chars, 1, 100),
    LIMIT(cells, 1, 1 << 27),
    LIMIT(specials, 1, 1 << 22),
    LIMIT(pooling, ENCODER_MEAN, ENCODER_CLS),
    LIMIT(max_tokens, 0, 65536),
    LIMIT(calibrated, 0, 1),
};

static bool is_token(const struct model_head *h, int32_t id)
{
    return id >= 0 && (uint32_t)id < h->words;
}

/* Whether the array contains a string that ends inside of it. */
static bool is_text(const char *array, size_t size)
{
    const char *end = memchr(array, 0, size);
    return end && fumi_utf8_valid((struct fumi_str){array, (size_t)(end - array)});
}

static bool is_finite(const struct embed_calibration *c)
{
    return isfinite(c->bias) && isfinite(c->cosine) && isfinite(c->share) && isfinite(c->both);
}

/* The strings and the calibration. */
static const char *check_description(const struct model_head *h)
{
    if (!is_text(h->name, sizeof(h->name)))
        return "name";
    if (!is_text(h->query_prefix, sizeof(h->query_prefix)))
        return "query prefix";
    if (!is_text(h->passage_prefix, sizeof(h->passage_prefix)))
        return "passage prefix";
    return is_finite(&h->calibration) ? NULL : "calibration";
}

const char *model_check_head(const struct model_head *h)
{
    for (size_t i = 0; i < FUMI_COUNT(limits); i++) {
        uint32_t number;
        memcpy(&number, (const char *)h + limits[i].offset, sizeof(number));
        if (number < limits[i].min || number > limits[i].max)
            return limits[i].name;
    }
    if (h->hidden % h->heads)
        return "heads";
    if (h->continuation >= h->cells)
        return "continuation";
    if (!is_token(h, h->unk) || !is_token(h, h->cls) || !is_token(h, h->sep))
        return "special tokens";
    if (!isfinite(h->epsilon) || h->epsilon <= 0)
        return "epsilon";
    return check_description(h);
}

uint64_t model_panel_layout(void)
{
    enum { SIDE = 40 };
    int8_t w[SIDE * SIDE];
    int32_t sums[SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        w[i] = (int8_t)(i * 31 % 251 - 125);
    size_t n = dense_panels_size(SIDE, SIDE);
    int8_t *panels = fumi_resize(NULL, n + MODEL_ALIGN);
    int8_t *aligned = panels + (MODEL_ALIGN - (uintptr_t)panels % MODEL_ALIGN);
    memset(aligned, 0, n);
    dense_pack(w, SIDE, SIDE, aligned, sums);
    uint64_t sum = 0xCBF29CE484222325;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ (uint8_t)aligned[i]) * 0x100000001B3;
    fumi_resize(panels, 0);
    return sum;
}

static int refuse(struct fumi_err *e, const char *path, const char *what)
{
    return fumi_err_set(e, ERR_PROVIDER, "the model file %s %s: " REMEDY, path, what);
}

/* Copies the header, whose length depends on the version. */
static int read_head(struct model *m, const char *path, struct fumi_err *e)
{
    struct model_head *h = &m->head;
    memcpy(h, m->file, MODEL_HEAD_1);
    if (memcmp(h->magic, MODEL_MAGIC, sizeof(h->magic)))
        return refuse(e, path, "is not a Fumi model");
    if (h->version > MODEL_VERSION)
        return fumi_err_set(e, ERR_PROVIDER,
                            "the model file %s has the format version %u, and this version of Fumi "
                            "knows those up to %d: update Fumi, or " REMEDY,
                            path, (unsigned)h->version, MODEL_VERSION);
    size_t size = h->version == 1 ? (size_t)MODEL_HEAD_1 : sizeof(*h);
    if (h->version < 1 || h->head_size != size)
        return refuse(e, path, "is damaged");
    if (m->size < size)
        return refuse(e, path, "is truncated");
    memcpy(h, m->file, size);
    if (h->version == 1)
        memset(&h->pooling, 0, sizeof(*h) - offsetof(struct model_head, pooling));
    return 0;
}

static int check(struct model *m, const char *path, struct fumi_err *e)
{
    const struct model_head *h = &m->head;
    if (read_head(m, path, e))
        return -1;
    const char *wrong = model_check_head(h);
    if (wrong)
        return fumi_err_set(e, ERR_PROVIDER,
                            "the model file %s is damaged (its %s is not valid): " REMEDY, path,
                            wrong);
    if (h->panel_layout != model_panel_layout())
        return refuse(e, path, "was made by another version of Fumi");
    if (model_layout(h, (char *)(uintptr_t)m->file, &m->views) != m->size || h->size != m->size)
        return refuse(e, path, "is damaged or truncated");
    return 0;
}

static int map(struct model *m, int fd, const char *path, struct fumi_err *e)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return refuse(e, path, "is not a file");
    if (st.st_size < MODEL_HEAD_1)
        return refuse(e, path, "is truncated");
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return fumi_err_set(e, ERR_PROVIDER, "the model file %s cannot be mapped: %s", path,
                            strerror(errno));
    m->file = p;
    m->size = (size_t)st.st_size;
    return check(m, path, e);
}

struct model *model_open(const char *path, struct fumi_err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fumi_err_set(e, ERR_PROVIDER, "the model file %s cannot be opened (%s): " REMEDY, path,
                     strerror(errno));
        return NULL;
    }
    struct model *m = fumi_resize(NULL, sizeof(*m));
    m->file = NULL;
    int rc = map(m, fd, path, e);
    close(fd);
    if (!rc)
        return m;
    model_close(m);
    return NULL;
}

void model_close(struct model *m)
{
    if (m && m->file)
        munmap((void *)(uintptr_t)m->file, m->size);
    fumi_resize(m, 0);
}

int model_checksum(const void *bytes, size_t n, unsigned char out[32], struct fumi_err *e)
{
    if (EVP_Digest(bytes, n, out, NULL, EVP_sha256(), NULL) == 1)
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "libcrypto failed to compute a SHA-256");
}

int model_verify(const struct model *m, struct fumi_err *e)
{
    unsigned char sum[32];
    if (model_checksum(m->file + MODEL_SUM_START, m->size - MODEL_SUM_START, sum, e))
        return -1;
    if (memcmp(sum, m->head.sha256, sizeof(sum)) == 0)
        return 0;
    return fumi_err_set(e, ERR_PROVIDER,
                        "the model file is damaged (its checksum is wrong): " REMEDY);
}

const struct encoder_weights *model_weights(const struct model *m)
{
    return &m->views.weights;
}

struct fumi_str model_name(const struct model *m)
{
    return fumi_str(m->head.name);
}

bool model_english_only(const struct model *m)
{
    return m->head.flags & MODEL_ENGLISH_ONLY;
}

struct fumi_str model_query_prefix(const struct model *m)
{
    return fumi_str(m->head.query_prefix);
}

struct fumi_str model_passage_prefix(const struct model *m)
{
    return fumi_str(m->head.passage_prefix);
}

size_t model_max_tokens(const struct model *m)
{
    uint32_t most = m->head.max_tokens;
    return most && most < m->head.positions ? most : m->head.positions;
}

const struct embed_calibration *model_calibration(const struct model *m)
{
    return m->head.calibrated ? &m->head.calibration : NULL;
}

void model_sha256(const struct model *m, char hex[64])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 64; i++) {
        unsigned byte = m->head.sha256[i / 2];
        hex[i] = digits[i % 2 ? byte & 15 : byte >> 4];
    }
}

struct model_token *model_tokens_at(const struct model *m, struct fumi_arena *a,
                                    struct fumi_str text, size_t *n)
{
    struct fumi_buf found = {0};
    wordpiece_run(&m->views.pieces, text, SIZE_MAX, &found);
    *n = found.n / sizeof(struct model_token);
    struct model_token *tokens = fumi_alloc(a, found.n);
    if (found.n)
        memcpy(tokens, found.p, found.n);
    fumi_buf_done(&found);
    return tokens;
}

const int32_t *model_tokens(const struct model *m, struct fumi_arena *a, struct fumi_str text,
                            size_t max, size_t *n)
{
    struct fumi_buf found = {0};
    max = max < 2 ? 2 : max;
    wordpiece_run(&m->views.pieces, text, max - 2, &found);
    *n = found.n / sizeof(struct model_token) + 2;
    int32_t *ids = fumi_alloc(a, *n * sizeof(*ids));
    ids[0] = m->head.cls;
    for (size_t i = 1; i < *n - 1; i++) {
        struct model_token t;
        memcpy(&t, found.p + (i - 1) * sizeof(t), sizeof(t));
        ids[i] = t.id;
    }
    ids[*n - 1] = m->head.sep;
    fumi_buf_done(&found);
    return ids;
}
