/* Private to embed/: what the parts of pack_model share. */
#ifndef FUMI_PACK_PACK_PARTS_H
#define FUMI_PACK_PACK_PARTS_H

#include "embed/model_file.h"
#include "json/json.h"

/* The files of a directory or an archive that may matter. */
struct pack_file {
    struct fumi_str path; /* from the root of what is installed */
    struct fumi_str bytes;
    bool mapped; /* else on the heap */
};

struct pack_files {
    struct fumi_arena *a;
    struct fumi_buf list; /* of struct pack_file */
    size_t kept;          /* bytes on the heap */
};

/* pack_files.c. `from` is a directory or an archive. */
int pack_read_files(struct pack_files *f, const char *from, struct fumi_err *e);
void pack_files_done(struct pack_files *f);
const struct pack_file *pack_file_at(const struct pack_files *f, size_t i); /* NULL: the end */
bool pack_is_wanted(struct fumi_str path);
void pack_add_file(struct pack_files *f, struct fumi_str path, struct fumi_str bytes, bool mapped);

/* The file of that name in the directory `dir` ("" or with a slash at its end), else the one with
 * the shortest path; NULL: none. pack_file_in takes only one in that directory. */
const struct pack_file *pack_find_file(const struct pack_files *f, const char *name,
                                       struct fumi_str dir);
const struct pack_file *pack_file_in(const struct pack_files *f, struct fumi_str name,
                                     struct fumi_str dir);
struct fumi_str pack_dir(struct fumi_str path); /* with its slash, or empty */

/* pack_read_tar.c: a tar archive, compressed by gzip or not. */
int pack_read_tar(struct pack_files *f, const char *from, struct fumi_err *e);

/* Tensors as they are published. */
enum pack_type { PACK_OTHER, PACK_F32, PACK_F16, PACK_BF16, PACK_U8, PACK_U16 };

struct pack_tensor {
    struct fumi_str name;
    enum pack_type type;
    size_t dims, shape[2]; /* dims above 2: nothing that is looked for */
    size_t n;              /* of numbers; they lie at p, not aligned */
    const char *p;
    double scale, min; /* PACK_U8, PACK_U16: value = q * scale + min */
};

struct pack_tensors {
    const struct pack_tensor *items;
    size_t n;
};

/* How a format names things. */
struct pack_naming {
    const char *layer; /* before its number */
    const char *kernel, *bias, *gain, *shift;
    const char *old_gain, *old_shift; /* NULL: none */
    char slash;
    bool turned; /* kernels are [out][in] */
};

struct pack_source {
    struct pack_tensors tensors;
    const struct pack_naming *style;
    const struct pack_tensor *words, *places, *kinds;
    size_t layers, heads;
    double epsilon;
    struct fumi_str dir; /* where the model lies */
};

/* pack_read_tfjs.c, pack_read_safetensors.c: 0 and *found false when there is no such model. */
int pack_read_tfjs(const struct pack_files *f, struct pack_source *s, bool *found,
                   struct fumi_err *e);
int pack_read_safetensors(const struct pack_files *f, struct pack_source *s, bool *found,
                          struct fumi_err *e);

/* pack_tensor.c. The first whose name is `name` or ends with it behind a slash; NULL: none. */
const struct pack_tensor *pack_find_tensor(const struct pack_source *s, const char *name);
bool pack_read_shape(const struct fumi_val *sides, struct pack_tensor *t); /* dims, shape and n */
double pack_tensor_value(const struct pack_tensor *t, size_t i);
size_t pack_type_size(enum pack_type type);
/* The parts of the file from the tensors. v was laid over memory that may be written. */
int pack_weights(const struct pack_source *s, const struct model_head *h,
                 const struct model_views *v, struct fumi_err *e);

/* pack_vocabulary.c: the tokenizer of the model. */
struct pack_vocabulary {
    struct fumi_buf cells, specials; /* of struct trie_cell */
    uint32_t inside;
    uint32_t flags; /* MODEL_ENGLISH_ONLY too */
    uint32_t max_chars;
    int32_t unknown, first, last;
    int32_t most; /* the highest id */
};
int pack_read_vocabulary(struct fumi_arena *a, const struct pack_file *tokenizer,
                         struct pack_vocabulary *v, struct fumi_err *e);
void pack_vocabulary_done(struct pack_vocabulary *v);

/* pack_build_trie.c. Puts the words in order on the way. */
struct pack_word {
    struct fumi_str text;
    int32_t id;
};
void pack_build_trie(struct pack_word *words, size_t n, struct fumi_buf *cells);

/* Sentences of all parts: ERR_PROVIDER, -1. */
int pack_fault(struct fumi_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
