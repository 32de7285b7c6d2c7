/* Private to embed/: the common part of embedders that use a server over HTTP. A provider is a
 * table with its names, its limits and one or more APIs, which are formats of request and answer.
 */
#ifndef FUMI_EMBED_REMOTE_H
#define FUMI_EMBED_REMOTE_H

#include "embed/breaker.h"
#include "embed/embed.h"
#include "embed/fetch.h"
#include "json/json.h"

struct remote_request {
    struct fumi_str model;
    const struct fumi_str *texts;
    size_t n;
    size_t dim; /* as the user set it; 0: that of the model */
};

/* Whether an answer shows that the server needs another API. */
enum remote_mismatch {
    REMOTE_MATCH,
    REMOTE_NO_PATH,   /* the server does not have the path */
    REMOTE_OTHER_DIM, /* vectors of another length than the user set */
};

struct remote_api {
    const char *path;             /* appended to the base URL */
    size_t most;                  /* texts per request */
    enum remote_mismatch next_at; /* when to try the next API */
    void (*write)(struct fumi_out *o, const struct remote_request *q);
    /* Sets vectors[i] to the JSON array for text i of n. Returns false if the answer has another
     * format. `vectors` is all NULL before. */
    bool (*find)(const struct fumi_val *answer, const struct fumi_val **vectors, size_t n);
};

struct remote_model {
    const char *name;
    size_t dim;
    bool english_only;
};

struct remote_provider {
    struct embedder_ops ops;
    const char *base_url, *model; /* the defaults */
    const char *key_host;         /* a host that requires a key; NULL: none */
    const char *key_remedy;       /* the remedy for a missing key */
    const char *pull;             /* a command to get a model, before its name; NULL: none */
    size_t batch;                 /* texts per request */
    size_t passage;               /* bytes; longer texts are cut */
    const struct remote_model *models;
    size_t n_models;
    const struct remote_api *apis;
    size_t n_apis;
};

/* Delays, in milliseconds. */
struct remote_times {
    int64_t again[2]; /* before the second and the third attempt */
    int64_t jitter;   /* a random time up to this is added to each */
    int64_t rest;     /* how long the breaker stays open */
};

struct remote {
    struct embedder base;
    const struct remote_provider *provider;
    const struct fumi_log *log;
    struct fetch_pool *pool;
    struct fumi_str model, base_url, key; /* owned */
    size_t dim;                           /* as the user set it */
    bool allow_http, lacks_key;
    bool english_only; /* the model supports hardly any other language */
    struct remote_times times;
    _Atomic size_t api; /* index of the API that worked last */
    struct breaker breaker;
};

/* Returns NULL with FUMI_INVALID_PARAMS if the URL or the key is refused. */
struct remote *remote_open(const struct remote_provider *p, const struct embed_config *c,
                           const struct fumi_log *log, struct fumi_err *e);

/* Writes "model" and, as most servers expect them, the texts as "input". */
void remote_write_texts(struct fumi_out *o, const struct remote_request *q);

/* The members of struct embedder_ops for all remote providers. */
int remote_embed(struct embedder *, struct fumi_arena *, const struct fumi_str *texts, size_t n,
                 int64_t ms, float **out, struct fumi_err *);
int remote_embed_query(struct embedder *, struct fumi_arena *, struct fumi_str query, int64_t ms,
                       float **out, struct fumi_err *);
int remote_ready(struct embedder *, struct fumi_arena *, struct fumi_err *);
struct text_ranges remote_split(struct embedder *, struct fumi_arena *, struct fumi_str text);
bool remote_supports(struct embedder *, struct fumi_str text);
void remote_free(struct embedder *);

struct embedder *openai_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e);
struct embedder *ollama_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e);
extern const struct remote_provider openai_provider, ollama_provider;

/* remote_answer.c: reads n vectors from the text of an answer and scales them to unit length, in
 * the arena. */
struct remote_vectors {
    float *x;
    size_t dim;
    bool cut; /* set on failure: the answer is not valid JSON, perhaps incomplete */
};
int remote_read(struct fumi_arena *a, const struct remote_api *w, struct fumi_str text, size_t n,
                struct remote_vectors *out, struct fumi_err *e);

/* remote_fault.c: a failure as it is reported to callers. */
struct remote_fault {
    int status; /* of the answer; 0: none */
    bool retryable;
    int64_t retry_after; /* milliseconds; 0: unknown */
    enum remote_mismatch mismatch;
    struct fumi_str detail; /* the message of the server, quoted, one line, without the key */
    struct fumi_str remedy;
};

/* Fills *f from an answer whose status is not 2xx and sets the error message. Returns -1. */
int remote_refused(const struct remote *r, struct fumi_arena *a, const struct fetch_answer *answer,
                   struct remote_fault *f, struct fumi_err *e);

/* Sets e->data to the JSON of the fault, in the arena. Returns -1. */
int remote_set_data(const struct remote *r, struct fumi_arena *a, const struct remote_fault *f,
                    struct fumi_err *e);

#endif
