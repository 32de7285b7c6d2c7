/* OpenAI: POST /embeddings, which many servers implement. Not all of them support "dimensions", so
 * it is sent only to models that do, or after an answer without it had vectors of another length.
 */
#include "embed/remote.h"

static void write_plain(struct fumi_out *o, const struct remote_request *q)
{
    remote_write_texts(o, q);
    fumi_put_key(o, "encoding_format");
    fumi_put_str(o, FUMI_STR("float"));
}

static void write_with_dimensions(struct fumi_out *o, const struct remote_request *q)
{
    write_plain(o, q);
    fumi_put_key(o, "dimensions");
    fumi_put_int(o, (int64_t)q->dim);
}

/* {"data":[{"index":1,"embedding":[...]},...]} in any order; without "index" in this order. */
static bool find(const struct fumi_val *answer, const struct fumi_val **vectors, size_t n)
{
    const struct fumi_val *data = fumi_get(answer, "data");
    size_t at = 0;
    for (const struct fumi_val *v = fumi_first(data); v; v = fumi_after(data, v), at++) {
        const struct fumi_val *index = fumi_get(v, "index"), *vector = fumi_get(v, "embedding");
        int64_t i = (int64_t)at;
        if (index && !fumi_int(index, &i))
            return false;
        if (i < 0 || i >= (int64_t)n || vectors[i] || !fumi_is(vector, FUMI_ARRAY))
            return false;
        vectors[i] = vector;
    }
    return fumi_is(data, FUMI_ARRAY) && at == n;
}

enum { TEXTS = 96, PLAIN = 0, WITH_DIMENSIONS = 1 };

static const struct remote_api apis[] = {
    [PLAIN] = {"/embeddings", TEXTS, REMOTE_OTHER_DIM, write_plain, find},
    [WITH_DIMENSIONS] = {"/embeddings", TEXTS, REMOTE_MATCH, write_with_dimensions, find},
};

static const struct remote_model models[] = {
    {"text-embedding-3-small", 1536, false},
    {"text-embedding-3-large", 3072, false},
    {"text-embedding-ada-002", 1536, false},
};

const struct remote_provider openai_provider = {
    .ops = {"openai", remote_embed, remote_embed_query, remote_ready, remote_split, remote_supports,
            remote_free},
    .base_url = "https://api.openai.com/v1",
    .model = "text-embedding-3-small",
    .key_host = "api.openai.com",
    .key_remedy = "set OPENAI_API_KEY or memory.set_config embedder.apiKey",
    .batch = TEXTS,
    .passage = 6000,
    .models = models,
    .n_models = FUMI_COUNT(models),
    .apis = apis,
    .n_apis = FUMI_COUNT(apis),
};

struct embedder *openai_open(const struct embed_config *c, const struct fumi_log *log,
                             struct fumi_err *e)
{
    struct remote *r = remote_open(&openai_provider, c, log, e);
    if (!r)
        return NULL;
    if (r->dim && fumi_starts(r->model, FUMI_STR("text-embedding-3")))
        r->api = WITH_DIMENSIONS;
    return &r->base;
}
