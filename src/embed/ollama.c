/* Ollama: POST /api/embed, and /api/embeddings of old versions, which takes one text per request.
 */
#include "embed/remote.h"

static void write_text(struct fumi_out *o, const struct remote_request *q)
{
    fumi_put_key(o, "model");
    fumi_put_str(o, q->model);
    fumi_put_key(o, "prompt");
    fumi_put_str(o, q->texts[0]);
}

/* {"embeddings":[[...],...]} */
static bool find_vectors(const struct fumi_val *answer, const struct fumi_val **vectors, size_t n)
{
    const struct fumi_val *rows = fumi_get(answer, "embeddings");
    size_t at = 0;
    for (const struct fumi_val *v = fumi_first(rows); v; v = fumi_after(rows, v)) {
        if (at == n || !fumi_is(v, FUMI_ARRAY))
            return false;
        vectors[at++] = v;
    }
    return fumi_is(rows, FUMI_ARRAY) && at == n;
}

/* {"embedding":[...]} */
static bool find_vector(const struct fumi_val *answer, const struct fumi_val **vectors, size_t n)
{
    vectors[0] = fumi_get(answer, "embedding");
    return n == 1 && fumi_is(vectors[0], FUMI_ARRAY);
}

enum { TEXTS = 16 };

static const struct remote_api apis[] = {
    {"/api/embed", TEXTS, REMOTE_NO_PATH, remote_write_texts, find_vectors},
    {"/api/embeddings", 1, REMOTE_NO_PATH, write_text, find_vector},
};

static const struct remote_model models[] = {
    {"nomic-embed-text", 768, true},
    {"mxbai-embed-large", 1024, true},
    {"all-minilm", 384, true},
    {"bge-m3", 1024, false},
};

const struct remote_provider ollama_provider = {
    .ops = {"ollama", remote_embed, remote_embed_query, remote_ready, remote_split, remote_supports,
            remote_free},
    .base_url = "http://localhost:11434",
    .model = "nomic-embed-text",
    .pull = "ollama pull ",
    .batch = TEXTS,
    .passage = 2000,
    .models = models,
    .n_models = FUMI_COUNT(models),
    .apis = apis,
    .n_apis = FUMI_COUNT(apis),
};

struct embedder *ollama_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e)
{
    struct remote *r = remote_open(&ollama_provider, c, log, e);
    return r ? &r->base : NULL;
}
