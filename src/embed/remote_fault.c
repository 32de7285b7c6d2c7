#include "base/chars.h"
#include "base/utf8.h"
#include "embed/remote.h"
#include "model/codes.h"

enum {
    MESSAGE_MAX = 200, /* bytes of the message of a provider */
    ERROR_MAX =
        148,     /* bytes of our message, so that the text around it fits into struct fumi_err */
    FEWEST = 16, /* fewer bytes of the provider's message are not shown */
    JSON_MOST = 64 << 10, /* bytes of an answer that is parsed for a message */
};

/* HTTP statuses: whether to retry, and the remedy. */
static const struct status_rule {
    int from, to;
    bool retryable;
    const char *remedy;
} rules[] = {
    {401, 401, false, "check the API key"},
    {403, 403, false, "check the API key"},
    {404, 404, false, "check embedder.model and embedder.baseUrl"},
    {408, 408, true, NULL},
    {425, 425, true, NULL},
    {429, 429, true, NULL},
    {500, 599, true, NULL},
};

/* What to show for the character at p. *step is set to its bytes. */
static struct fumi_str shown(const char *p, const char *end, size_t *step)
{
    uint32_t c = fumi_char_at(p, end, step);
    if (c == 0xFFFD) /* or invalid UTF-8 */
        return FUMI_STR("?");
    if (c == '"') /* would end the quotation */
        return FUMI_STR("'");
    bool plain = fumi_char_kind(c) == FUMI_CHAR_PLAIN;
    return plain ? (struct fumi_str){p, *step} : FUMI_STR(" ");
}

/* At most MESSAGE_MAX bytes of the text as one line of valid UTF-8, without double quotes and with
 * asterisks instead of the key. */
static struct fumi_str clean(struct fumi_arena *a, struct fumi_str text, struct fumi_str key)
{
    char *out = fumi_alloc(a, MESSAGE_MAX);
    size_t n = 0;
    for (const char *p = text.p, *end = fumi_end(text); p < end;) {
        struct fumi_str rest = {p, (size_t)(end - p)};
        bool secret = key.n && fumi_starts(rest, key);
        size_t step = key.n;
        struct fumi_str put = secret ? FUMI_STR("***") : shown(p, end, &step);
        if (n + put.n > MESSAGE_MAX)
            break;
        memcpy(out + n, put.p, put.n);
        n += put.n;
        p += step;
    }
    return (struct fumi_str){out, n};
}

/* The message in an error answer: {"error":{"message":..}}, {"error":..},
 * {"message":..} or {"detail":..}; otherwise the whole answer. */
static struct fumi_str message_of(struct fumi_arena *a, struct fumi_str body)
{
    struct fumi_err ignored;
    const struct fumi_val *v = body.n <= JSON_MOST ? fumi_parse(a, body, &ignored) : NULL;
    const struct fumi_val *error = fumi_get(v, "error");
    const struct fumi_val *texts[] = {fumi_get(error, "message"), error, fumi_get(v, "message"),
                                      fumi_get(v, "detail")};
    for (size_t i = 0; i < FUMI_COUNT(texts); i++) {
        if (fumi_is(texts[i], FUMI_STRING))
            return fumi_text(a, texts[i]);
    }
    return body;
}

static bool lacks_model(const struct remote *r, int status, struct fumi_str words)
{
    return status == 404 && r->provider->pull && memmem(words.p, words.n, "model", 5) &&
           memmem(words.p, words.n, "not found", 9);
}

static struct fumi_str remedy_of(const struct remote *r, struct fumi_arena *a,
                                 const struct fetch_answer *answer, const struct status_rule *rule,
                                 struct fumi_str words)
{
    if (lacks_model(r, answer->status, words))
        return fumi_fmt(a, "%s%.*s", r->provider->pull, FUMI_ARG(r->model));
    if (answer->status / 100 == 3)
        return FUMI_STR("redirects are not followed: check embedder.baseUrl");
    return rule ? fumi_str(rule->remedy) : (struct fumi_str){0};
}

static const struct status_rule *rule_of(int status)
{
    for (size_t i = 0; i < FUMI_COUNT(rules); i++) {
        if (status >= rules[i].from && status <= rules[i].to)
            return &rules[i];
    }
    return NULL;
}

/* The message of the provider, quoted and marked as such, because language models read it too. */
static struct fumi_str detail_of(struct fumi_arena *a, struct fumi_str words, struct fumi_str to)
{
    if (!words.n && !to.n)
        return (struct fumi_str){0};
    return fumi_fmt(a, "the provider's words: \"%.*s\"%s%.*s%s", FUMI_ARG(words),
                    to.n ? "; redirect to \"" : "", FUMI_ARG(to), to.n ? "\"" : "");
}

/* Sets the error message, with as much of the provider's message as fits between the quotes. */
static int refuse(const struct remote *r, struct fumi_arena *a, const struct remote_fault *f,
                  struct fumi_str words, struct fumi_err *e)
{
    struct fumi_str start = fumi_fmt(a, "%s answered %d%s%.*s", r->provider->ops.name, f->status,
                                     f->remedy.n ? ", " : "", FUMI_ARG(f->remedy));
    static const char mark[] = "; the provider's words: \"\"";
    size_t used = start.n + sizeof(mark) - 1, left = used < ERROR_MAX ? ERROR_MAX - used : 0;
    bool cut = words.n > left;
    if (cut)
        words = fumi_utf8_cut(words, left > FEWEST ? left - 3 : 0);
    if (!words.n)
        return fumi_err_set(e, ERR_PROVIDER, "%.*s", FUMI_ARG(start));
    return fumi_err_set(e, ERR_PROVIDER, "%.*s; the provider's words: \"%.*s%s\"", FUMI_ARG(start),
                        FUMI_ARG(words), cut ? "..." : "");
}

int remote_refused(const struct remote *r, struct fumi_arena *a, const struct fetch_answer *answer,
                   struct remote_fault *f, struct fumi_err *e)
{
    const struct fumi_str none = {0};
    const struct status_rule *rule = rule_of(answer->status);
    struct fumi_str words = clean(a, message_of(a, answer->body), r->key);
    *f = (struct remote_fault){
        .status = answer->status,
        .retryable = rule && rule->retryable,
        .retry_after = answer->retry_after,
        .detail = detail_of(a, words, clean(a, answer->location, none)),
        .remedy = remedy_of(r, a, answer, rule, words),
    };
    if (answer->status == 404 && !lacks_model(r, answer->status, words))
        f->mismatch = REMOTE_NO_PATH;
    return refuse(r, a, f, words, e);
}

int remote_set_data(const struct remote *r, struct fumi_arena *a, const struct remote_fault *f,
                    struct fumi_err *e)
{
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "provider");
    fumi_put_str(&o, fumi_str(r->provider->ops.name));
    if (f->status) {
        fumi_put_key(&o, "status");
        fumi_put_int(&o, f->status);
    }
    fumi_put_key(&o, "retryable");
    fumi_put_bool(&o, f->retryable);
    if (f->retry_after > 0) {
        fumi_put_key(&o, "retryAfterMs");
        fumi_put_int(&o, f->retry_after);
    }
    if (f->remedy.n) {
        fumi_put_key(&o, "remedy");
        fumi_put_str(&o, f->remedy);
    }
    if (f->detail.n) {
        fumi_put_key(&o, "detail");
        fumi_put_str(&o, f->detail);
    }
    fumi_put_close(&o, '}');
    e->data = fumi_buf_keep(&text, a);
    return -1;
}
