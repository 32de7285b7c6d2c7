/* Private to embed/: what the embedders have in common that ask a server over HTTP. A provider is a
 * table: its names, its limits, and one or more wires, which are forms of question and answer. */
#ifndef FUMI_EMBED_REMOTE_H
#define FUMI_EMBED_REMOTE_H

#include "embed/breaker.h"
#include "embed/embed.h"
#include "embed/fetch.h"
#include "json/json.h"

struct remote_question {
    struct fumi_str model;
    const struct fumi_str *texts;
    size_t n;
    size_t dim; /* as the user set it; 0: as the model has it */
};

/* What an answer may say about the wire it came over. */
enum remote_miss {
    REMOTE_HIT,
    REMOTE_NO_PATH,   /* the server knows no such path */
    REMOTE_OTHER_DIM, /* vectors of another length than the user set */
};

struct remote_wire {
    const char *path;         /* behind the base URL */
    size_t most;              /* texts in one question */
    enum remote_miss next_at; /* when the next wire is to be tried */
    void (*write)(struct fumi_out *o, const struct remote_question *q);
    /* Finds the array of numbers of each of n texts. False: the answer is of another form. */
    bool (*find)(const struct fumi_val *answer, const struct fumi_val **vectors, size_t n);
};

struct remote_model {
    const char *name;
    size_t dim;
    bool english_only;
};

struct remote_provider {
    struct embedder_ops ops;
    const char *base_url, *model; /* the usual ones */
    const char *key_host;         /* this host takes no question without a key; NULL: none such */
    const char *key_remedy;       /* what to do about a missing key */
    const char *pull;             /* before the model's name: how to get it; NULL: no such way */
    size_t batch;                 /* texts in one question */
    size_t passage;               /* bytes */
    const struct remote_model *models;
    size_t n_models;
    const struct remote_wire *wires;
    size_t n_wires;
};

/* How patient it is, in milliseconds. */
struct remote_times {
    int64_t again[2]; /* before the second and the third try */
    int64_t jitter;   /* at most this is added to each */
    int64_t rest;     /* how long a server is left alone that keeps failing */
};

struct remote {
    struct embedder base;
    const struct remote_provider *provider;
    const struct fumi_log *log;
    struct fetch_pool *pool;
    struct fumi_str model, base_url, key; /* its own */
    size_t dim;                           /* as the user set it */
    bool allow_http, lacks_key;
    struct remote_times times;
    _Atomic size_t wire; /* which one the server speaks, as far as is known */
    struct breaker breaker;
};

struct remote *remote_open(const struct remote_provider *p, const struct embed_config *c,
                           const struct fumi_log *log, struct fumi_err *e);

/* "model" and, as most servers want them, the texts as "input". */
void remote_write_texts(struct fumi_out *o, const struct remote_question *q);

/* The members of every remote provider's ops. */
int remote_embed(struct embedder *, struct fumi_arena *, const struct fumi_str *texts, size_t n,
                 int64_t ms, float **out, struct fumi_err *);
struct text_ranges remote_split(struct embedder *, struct fumi_arena *, struct fumi_str text);
void remote_free(struct embedder *);

/* For tests: no call may be under way. */
void remote_set_times(struct embedder *, struct remote_times times);

struct embedder *openai_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e);
struct embedder *ollama_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e);
extern const struct remote_provider openai_provider, ollama_provider;

/* remote_answer.c: the text of an answer into n vectors of unit length in the arena. */
struct remote_vectors {
    float *x;
    size_t dim;
    bool cut; /* it is no JSON, as when only a part has come */
};
int remote_read(struct fumi_arena *a, const struct remote_wire *w, struct fumi_str text, size_t n,
                struct remote_vectors *out, struct fumi_err *e);

/* remote_fault.c: what went wrong, as others are told it. */
struct remote_fault {
    int status; /* of the answer; 0: none */
    bool retryable;
    int64_t retry_after; /* milliseconds; 0: not known */
    enum remote_miss miss;
    struct fumi_str detail; /* the server's words, cleaned, quoted and without the key */
    struct fumi_str remedy;
};

/* An answer whose status is not a good one: fills *f and sets the sentence. */
int remote_refused(const struct remote *r, struct fumi_arena *a, const struct fetch_answer *answer,
                   struct remote_fault *f, struct fumi_err *e);

/* Puts the fault into e->data, in the arena. Returns -1. */
int remote_tell(const struct remote *r, struct fumi_arena *a, const struct remote_fault *f,
                struct fumi_err *e);

#endif
