/* Secrets in arbitrary bytes: each is inside the text, after the previous one, and is masked; a
 * masked JSON text is still JSON. The bytes 1 to 8 and 14 to 31 are replaced by pieces of keys, so
 * that the corpus contains no text that looks like a key. */
#include "fuzz.h"

#include "base/utf8.h"
#include "memory/guard.h"
#include "json/json.h"

static const char *const pieces[] = {
    [1] = "ghp_",
    [2] = "AKIA",
    [3] = "Q7RZX3W2TB4LM2VC",
    [4] = "q7Rz1Xw9Tb4Lm2Vc8Nf6Hj3KpD5sG0yUaE1i",
    [5] = "kQ3vT8xZ1mN6bR0sY5wP2dF7gH4jL9cA1eU3iO6q",
    [6] = "eyJ",
    [7] = "-----BEGIN RSA PRIVATE KEY-----",
    [8] = "-----END RSA PRIVATE KEY-----",
    [14] = "postgres://u:",
    [15] = "@host/",
    [16] = "aws_secret_access_key",
    [17] = "api_key = \"",
    [18] = "Bearer ",
    [19] = "sk-ant-",
    [20] = "glpat-",
    [21] = "hooks.slack.com/services/",
    [22] = "SG.",
    [23] = "whsec_",
    [24] = "0123456789abcdef0123456789abcdef",
    [25] = "\\n",
    [26] = "%3D",
    [27] = "AccountKey=",
    [28] = "xoxb-",
    [29] = "{\"client_secret\":\"",
    [30] = "\"}",
    [31] = "sk-",
};

static struct fumi_str expanded(struct fumi_arena *a, const uint8_t *data, size_t n)
{
    struct fumi_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        const char *piece = data[i] < FUMI_COUNT(pieces) ? pieces[data[i]] : NULL;
        if (piece)
            fumi_buf_add(&b, piece, strlen(piece));
        else
            fumi_buf_put(&b, (char)data[i]);
    }
    return fumi_buf_keep(&b, a);
}

static void use_scan(struct fumi_arena *a, struct fumi_str text)
{
    struct secrets_scan scan = {.text = text};
    struct secrets_found found = {{0}};
    struct secret is;
    size_t last = 0, n = 0, gone = 0, counted = 0;
    for (; secrets_next(&scan, &is); n++) {
        MUST(is.begin >= last && is.begin < is.end && is.end <= text.n);
        MUST(is.keep < is.end - is.begin && is.kind < SECRET_KINDS);
        gone += is.end - is.begin - is.keep;
        last = is.end;
    }
    struct fumi_str masked = secrets_mask(a, text, (struct fumi_str){0}, &found);
    for (size_t k = 0; k < SECRET_KINDS; k++)
        counted += found.n[k];
    MUST(counted == n && masked.n == text.n - gone + 4 * n);
    MUST(!fumi_utf8_valid(text) || fumi_utf8_valid(masked));
    MUST((masked.p == text.p) == (n == 0) && (secrets_list(a, &found).n > 0) == (n > 0));
}

static void use_json(struct fumi_arena *a, struct fumi_str text)
{
    struct fumi_err e = {0};
    struct guard g = {.a = a, .mode = SECRETS_MASK}, strict = {.a = a, .mode = SECRETS_REFUSE};
    struct global v = {.value = text};
    if (!text.n || !fumi_parse(a, text, &e))
        return;
    MUST(guard_global(&g, &v, &e) == 0 && fumi_parse(a, v.value, &e));
    bool masked = guard_warning(&g, (struct fumi_str){0}).n > 0;
    v.value = text;
    MUST((guard_global(&strict, &v, &e) != 0) == masked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_arena a = {0};
    struct fumi_str pieced = expanded(&a, data, n), text = exact_copy(pieced.p, pieced.n);
    use_scan(&a, text);
    use_json(&a, text);
    exact_free(text);
    fumi_arena_done(&a);
    return 0;
}
