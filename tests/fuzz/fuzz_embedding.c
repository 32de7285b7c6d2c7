/* The answer of an embedding server. The first byte selects the API and the number of texts. Any
 * answer gives vectors of unit length or an error message. */
#include "fuzz.h"

#include "embed/remote.h"
#include "model/codes.h"

#include <math.h>

static void check(const struct remote_api *w, size_t n, struct fumi_str text)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct remote_vectors v;
    int rc = remote_read(&a, w, text, n, &v, &e);
    MUST(rc == 0 || (rc == -1 && e.code == ERR_PROVIDER && e.text[0]));
    MUST(rc || (v.dim && v.x && !v.cut));
    for (size_t i = 0; !rc && i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < v.dim; k++)
            sum += (double)v.x[i * v.dim + k] * (double)v.x[i * v.dim + k];
        MUST(fabs(sum - 1) < 1e-4);
    }
    fumi_arena_done(&a);
}

/* The same bytes as the error answer of a server. */
static void check_fault(struct embedder *em, int status, struct fumi_str text)
{
    struct remote *r = (struct remote *)em;
    struct fumi_arena a = {0};
    struct fumi_err e = {0}, ignored;
    struct remote_fault f;
    struct fetch_answer answer = {.status = status, .body = text};
    MUST(remote_refused(r, &a, &answer, &f, &e) == -1);
    MUST(f.detail.n <= 224 && !memmem(f.detail.p, f.detail.n, r->key.p, r->key.n));
    MUST(!memmem(e.text, strlen(e.text), r->key.p, r->key.n));
    MUST(remote_set_data(r, &a, &f, &e) == -1 && fumi_parse(&a, e.data, &ignored));
    fumi_arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct remote_provider *const providers[] = {&openai_provider, &ollama_provider};
    struct embed_config c = {.api_key = FUMI_STR("key-1")};
    struct fumi_err e;
    if (!n)
        return 0;
    const struct remote_provider *p = providers[data[0] & 1];
    const struct remote_api *w = &p->apis[data[0] >> 1 & 1];
    size_t texts = 1 + (data[0] >> 2) % w->most;
    struct fumi_str text = exact_copy(data + 1, n - 1);
    check(w, texts, text);
    struct remote *r = remote_open(p, &c, NULL, &e);
    MUST(r);
    check_fault(&r->base, data[0] & 2 ? 404 : 401, text);
    remote_free(&r->base);
    exact_free(text);
    return 0;
}
