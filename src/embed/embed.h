/* Text into vectors: the interface of every embedder.
 *
 * Any thread may call at any time. Vectors come out with unit length, every number finite. */
#ifndef FUMI_EMBED_EMBED_H
#define FUMI_EMBED_EMBED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"

struct embedder;

/* Which bytes of a text one vector stands for. */
struct text_range {
    uint32_t begin, end;
};

struct text_ranges {
    struct text_range *items;
    size_t n;
};

struct embedder_ops {
    const char *name; /* the provider */
    /* n texts into n x dim floats in the arena. `ms`: how long it may take at most. A key that is
     * missing: ERR_NO_API_KEY; anything else that fails: ERR_PROVIDER; both with data
     * {"provider","remedy"?,"status"?,"retryable"}. A text longer than a passage is cut. */
    int (*embed)(struct embedder *, struct fumi_arena *, const struct fumi_str *texts, size_t n,
                 int64_t ms, float **out, struct fumi_err *);
    /* A text as passages that this embedder can take whole: overlapping, at borders of sentences,
     * every byte of the text in one of them. One for a short text. */
    struct text_ranges (*split)(struct embedder *, struct fumi_arena *, struct fumi_str text);
    void (*free)(struct embedder *);
};

/* Every embedder begins with one. */
struct embedder {
    const struct embedder_ops *ops;
    size_t batch;      /* texts that are best embedded in one call */
    bool english_only; /* what other scripts mean is hardly known to it */
    /* How many numbers a vector has; 0 until the first answer of a provider that did not say. Read
     * and written atomically. */
    _Atomic size_t dim;
    /* Set by the owner, who wants to end: calls under way and later ones fail soon. */
    _Atomic bool stop;
};

/* What a user may set. Strings are borrowed for the time of embed_open. */
struct embed_config {
    struct fumi_str provider;       /* "local", "openai", "ollama" */
    struct fumi_str model;          /* none: the provider's usual one */
    struct fumi_str base_url;       /* none: the provider's usual one */
    struct fumi_str api_key;        /* none: no key */
    int64_t dim;                    /* 0: as the model has it */
    struct fumi_str model_file;     /* local: none: where the program finds it, see model_find */
    bool allow_http;                /* plain http to others than this machine */
    struct fumi_strs allowed_hosts; /* "HOST" or "HOST:PORT", for embed_check_host alone */
};

/* Never waits and opens no connection; the local model is mapped at first use. NULL with *e set
 * (FUMI_INVALID_PARAMS): an unknown provider (the nearest is named), a dimension that does not fit,
 * or a URL that is refused, also one that the provider does not use. */
struct embedder *embed_open(const struct embed_config *c, const struct fumi_log *log,
                            struct fumi_err *e);

/* Whether base_url may be set by somebody who is not at the terminal: it is none, or its host is
 * one of the provider's own, this machine, or among allowed_hosts. -1, FUMI_INVALID_PARAMS: it is
 * not; the sentence names the host. */
int embed_check_host(const struct embed_config *c, struct fumi_err *e);

/* The model that a provider uses when none is named; null: no such provider. */
struct fumi_str embed_usual_model(struct fumi_str provider);

#endif
