/* Private to pack/: what the steps of pack_model share. */
#ifndef FUMI_PACK_PACK_PARTS_H
#define FUMI_PACK_PACK_PARTS_H

#include "embed/model_file.h"
#include "pack/pack.h"
#include "json/json.h"

enum { PACK_KEPT_MAX = 1 << 30 }; /* bytes of file contents on the heap */

/* A file of the source that may be part of the model. */
struct pack_file {
    struct fumi_str path; /* relative to the root of the source */
    struct fumi_str bytes;
    bool mapped; /* bytes are mapped; otherwise on the heap */
};

/* Begins with the arena alone; pack_files_done frees the rest. */
struct pack_files {
    struct fumi_arena *a;
    const char *from;     /* the source, as the user named it */
    struct fumi_buf list; /* of struct pack_file */
    size_t path_bytes;    /* of all paths */
    size_t kept;          /* bytes of contents on the heap */
};

/* source_files.c */

/* Reads `from`, a directory or an archive, which must outlive *f. */
int pack_read_files(struct pack_files *f, const char *from, struct fumi_err *e);
void pack_files_done(struct pack_files *f);
/* Returns NULL past the last file. */
const struct pack_file *pack_file_at(const struct pack_files *f, size_t i);

/* Whether a file of this name may be part of a model, and the most bytes it may have. */
bool pack_is_wanted(struct fumi_str path);
size_t pack_size_max(struct fumi_str path);

/* Adds a file. Copies the path and takes over the bytes, even if it fails: too many files, or too
 * many bytes of paths. */
int pack_add_file(struct pack_files *f, struct fumi_str path, struct fumi_str bytes, bool mapped,
                  struct fumi_err *e);

/* pack_file_in returns the file `name` in the directory `dir` ("" or ending in a slash), or NULL.
 * pack_find_file falls back to the file of that name with the shortest path. */
const struct pack_file *pack_file_in(const struct pack_files *f, struct fumi_str name,
                                     struct fumi_str dir);
const struct pack_file *pack_find_file(const struct pack_files *f, const char *name,
                                       struct fumi_str dir);

/* The directory part of a path: empty, or ending in a slash. */
struct fumi_str pack_dir(struct fumi_str path);

/* Sets an ERR_PROVIDER error. Returns -1. */
int pack_fault(struct fumi_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* pack.c: replaces the file `to` completely or not at all (mode 0644). */
int pack_write_file(const char *to, struct fumi_str bytes, struct fumi_err *e);

/* tar.c: reads f->from, a tar archive, compressed by gzip or not. */
int pack_read_tar(struct pack_files *f, struct fumi_err *e);

/* Types of published numbers. PACK_OTHER is stored in some models but never used. */
enum pack_type { PACK_OTHER, PACK_F32, PACK_F16, PACK_BF16, PACK_U8, PACK_U16 };

struct pack_tensor {
    struct fumi_str name;
    enum pack_type type;
    size_t dims, shape[2]; /* tensors of more than 2 dimensions are listed but not used */
    size_t n;              /* numbers */
    const char *p;         /* their first byte, not aligned; borrowed from a pack_file */
    double scale, min;     /* PACK_U8, PACK_U16: value = q * scale + min */
};

struct pack_tensors {
    const struct pack_tensor *items;
    size_t n;
};

/* How a format names the tensors of a BERT model. */
struct pack_naming {
    const char *layer; /* before the number of a layer */
    const char *kernel, *bias, *gain, *shift;
    const char *old_gain, *old_shift; /* alternative names; NULL: none */
    char separator;                   /* between the parts of a name */
    bool transposed;                  /* kernels are [out][in] */
};

/* A published model: its tensors, borrowed from struct pack_files, and its dimensions. */
struct pack_source {
    struct pack_tensors tensors;
    const struct pack_naming *naming;
    const struct pack_tensor *words, *positions, *types; /* embedding tables */
    size_t layers, heads;
    double epsilon;
    struct fumi_str dir; /* the model's directory in the source */
};

/* tfjs.c, safetensors.c. *found is false, and 0 returned, if the files have no such model. */
int pack_read_tfjs(const struct pack_files *f, struct pack_source *s, bool *found,
                   struct fumi_err *e);
int pack_read_safetensors(const struct pack_files *f, struct pack_source *s, bool *found,
                          struct fumi_err *e);

/* tensor.c */

/* The first tensor whose name is `name` or ends in a separator and `name`; NULL if there is none.
 */
const struct pack_tensor *pack_find_tensor(const struct pack_source *s, const char *name);
/* Sets dims, shape and n from a JSON array. Returns false if it is not a valid shape. */
bool pack_read_shape(const struct fumi_val *shape, struct pack_tensor *t);
double pack_tensor_value(const struct pack_tensor *t, size_t i); /* i < t->n */
size_t pack_type_size(enum pack_type type);                      /* bytes; 0 for PACK_OTHER */
/* Quantizes the tensors into *v, whose parts lie in writable memory (model_layout). */
int pack_weights(const struct pack_source *s, const struct model_head *h,
                 const struct model_views *v, struct fumi_err *e);

/* vocabulary.c: the WordPiece tokenizer of the model. Begins as {0}. */
struct pack_vocabulary {
    struct fumi_buf cells, specials; /* of struct trie_cell */
    uint32_t continuation;           /* the cell reached by "##" */
    uint32_t flags;                  /* WORDPIECE_* and MODEL_ENGLISH_ONLY */
    uint32_t max_chars;
    int32_t unk, cls, sep;
    int32_t max_id;
};
int pack_read_vocabulary(struct fumi_arena *a, const struct pack_file *tokenizer,
                         struct pack_vocabulary *v, struct fumi_err *e);
void pack_vocabulary_done(struct pack_vocabulary *v);

/* description.c: how texts are embedded. The directories of the source with the files that describe
 * it, and what these say. */
struct pack_description_source {
    struct fumi_str model, tokenizer;
};
struct pack_description {
    char name[MODEL_NAME_MAX + 1];
    enum encoder_pooling pooling;
    struct fumi_str query_prefix, passage_prefix;
    bool hides_prompt;        /* the tokens of a prefix do not count for the mean */
    uint32_t max_tokens;      /* of a text; 0: not limited */
    uint32_t tokenizer_flags; /* WORDPIECE_*: set before, and changed */
    const struct embed_calibration *calibration; /* NULL: none */
};
int pack_describe(const struct pack_files *f, const struct pack_description_source *from,
                  const struct pack_options *o, struct pack_description *out, struct fumi_err *e);

/* trie.c: appends the trie of the words to `cells`. Sorts the words in place. */
struct pack_word {
    struct fumi_str text;
    int32_t id;
};
void pack_build_trie(struct pack_word *words, size_t n, struct fumi_buf *cells);

#endif
