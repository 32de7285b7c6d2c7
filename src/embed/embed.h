/* The interface of embedders, which turn texts into vectors. Any thread may call an embedder at any
 * time. Vectors have unit length and finite numbers. */
#ifndef FUMI_EMBED_EMBED_H
#define FUMI_EMBED_EMBED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"

struct embedder;

/* A part of a text, in bytes; `end` is exclusive. */
struct text_range {
    uint32_t begin, end;
};

struct text_ranges {
    struct text_range *items;
    size_t n;
};

struct embedder_ops {
    const char *name; /* the provider */
    /* Embeds n texts into n x dim floats in the arena, within `ms` milliseconds. A text longer than
     * a passage is cut. Fails with ERR_NO_API_KEY if a key is missing, otherwise with ERR_PROVIDER;
     * both have the data {"provider","remedy"?,"status"?,"retryable"}. */
    int (*embed)(struct embedder *, struct fumi_arena *, const struct fumi_str *texts, size_t n,
                 int64_t ms, float **out, struct fumi_err *);
    /* The same for one query. Some models embed queries and the texts to be found differently. */
    int (*embed_query)(struct embedder *, struct fumi_arena *, struct fumi_str query, int64_t ms,
                       float **out, struct fumi_err *);
    /* Fails as `embed` does if the key or the model is missing. Makes no request to a server. */
    int (*ready)(struct embedder *, struct fumi_arena *, struct fumi_err *);
    /* Divides a text into overlapping passages that this embedder does not cut, preferably at the
     * ends of sentences. They cover the whole text; a short text is one passage. */
    struct text_ranges (*split)(struct embedder *, struct fumi_arena *, struct fumi_str text);
    /* Whether the model supports the language of a text that is mostly not in Latin letters. */
    bool (*supports)(struct embedder *, struct fumi_str text);
    void (*free)(struct embedder *);
};

/* How the relevance of a note follows from its cosine and the share of the words of the query that
 * it contains: 1 / (1 + exp(-(bias + cosine * C + share * S + both * C * S))). Cosines of different
 * models cannot be compared, so these numbers belong to a model; bench/calibrate.c computes them.
 */
struct embed_calibration {
    double bias, cosine, share, both;
};

/* The first member of every embedder. */
struct embedder {
    const struct embedder_ops *ops;
    size_t batch;                                /* the best number of texts per call */
    const struct embed_calibration *calibration; /* NULL: not known */
    /* Appended to the model in the name of its space, if texts are changed before they are
     * embedded; otherwise "". Never changes. */
    const char *variant;
    /* The length of vectors; 0 until the first response if it is not known before. */
    _Atomic size_t dim;
    /* Set by the owner to shut down: current and later calls fail soon. */
    _Atomic bool stop;
};

/* The settings of a user. Strings are borrowed for the time of the call. */
struct embed_config {
    struct fumi_str provider;       /* "local", "openai", "ollama" */
    struct fumi_str model;          /* empty: the default of the provider */
    struct fumi_str base_url;       /* empty: the default of the provider */
    struct fumi_str api_key;        /* empty: no key */
    int64_t dim;                    /* 0: that of the model */
    struct fumi_str model_file;     /* of "local"; empty: see model_find */
    bool no_gloss;                  /* of "local": embed Japanese texts as they are (gloss.h) */
    bool allow_http;                /* allow plain http to other machines */
    struct fumi_strs allowed_hosts; /* "HOST" or "HOST:PORT", only for embed_check_host */
};

/* Opens an embedder, which the caller frees with ops->free; `log` must outlive it. Does not wait
 * and opens no connection. Returns NULL with FUMI_INVALID_PARAMS for an unknown provider (the
 * message suggests the nearest name), a dimension out of range, or a URL that is refused, even if
 * the provider does not use it. */
struct embedder *embed_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e);

/* Whether a client without a terminal may set base_url: it is empty, or its host is one of the
 * provider's own, this machine, or in allowed_hosts. Otherwise returns -1 with FUMI_INVALID_PARAMS
 * and a message that names the host. */
int embed_check_host(const struct embed_config *c, struct fumi_err *e);

/* The calibration of a model of the provider "local" that the program knows; NULL: none. A model
 * file may have another one (model.h). */
const struct embed_calibration *embed_known_calibration(struct fumi_str model);

/* The default model of a provider. Returns a null string if there is no such provider. */
struct fumi_str embed_default_model(struct fumi_str provider);

#endif
