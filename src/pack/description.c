/* How texts are embedded, and the name that follows from it. Sentence encoders are published with
 * these files (the format of sentence-transformers), each of which may be missing:
 *   - modules.json: the steps after the encoder, and their directories;
 *   - 1_Pooling/config.json: how the vectors of tokens become one;
 *   - config_sentence_transformers.json: the prefixes, called prompts;
 *   - sentence_bert_config.json, tokenizer_config.json: the longest text, and lower case. */
#include "base/utf8.h"
#include "model/codes.h"
#include "pack/pack_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS_MIN = 8, NAME_SHOWN = 64 };

/* Models that were published without prompts, by the beginning of their names. The pooling is used
 * only if 1_Pooling is missing. */
static const struct family {
    const char *begins, *contains;
    enum encoder_pooling pooling;
    const char *query, *passage;
} families[] = {
    {"e5-", "", ENCODER_MEAN, "query: ", "passage: "},
    {"bge-", "-en", ENCODER_CLS, "Represent this sentence for searching relevant passages: ", ""},
    {"bge-", "-zh", ENCODER_CLS, "为这个句子生成表示以用于检索相关文章：", ""},
};

struct describer {
    const struct pack_files *f;
    struct fumi_str dirs[2]; /* of the model and of its tokenizer */
    const struct pack_options *o;
    const struct family *family; /* NULL: none */
    struct pack_description *out;
    struct fumi_err *e;
};

static const struct family *family_of(struct fumi_str name)
{
    for (size_t i = 0; i < FUMI_COUNT(families); i++) {
        struct fumi_str part = fumi_str(families[i].contains);
        if (fumi_starts(name, fumi_str(families[i].begins)) &&
            memmem(name.p, name.n, part.p, part.n))
            return &families[i];
    }
    return NULL;
}

/* Parses a file in `below`, a directory of the model. *v is NULL if there is no such file. */
static int read_json(struct describer *d, const char *below, const char *name,
                     const struct fumi_val **v)
{
    struct fumi_err inner;
    const struct pack_file *file = NULL;
    for (size_t i = 0; !file && i < FUMI_COUNT(d->dirs); i++)
        file = pack_file_in(d->f, fumi_str(name),
                            fumi_fmt(d->f->a, "%.*s%s", FUMI_ARG(d->dirs[i]), below));
    *v = file ? fumi_parse(d->f->a, file->bytes, &inner) : NULL;
    if (file && !*v)
        return pack_fault(d->e, "%s%s is not valid JSON: %s", below, name, inner.text);
    return 0;
}

static struct fumi_str last_part(struct fumi_str type)
{
    const char *dot = type.n ? memrchr(type.p, '.', type.n) : NULL;
    return dot ? (struct fumi_str){dot + 1, (size_t)(type.p + type.n - dot - 1)} : type;
}

/* Refuses modules that the encoder does not implement. Vectors always have unit length, so
 * Normalize changes nothing. Sets *pooling to the directory of the module Pooling. */
static int read_modules(struct describer *d, const char **pooling)
{
    const struct fumi_val *all;
    *pooling = "1_Pooling/";
    if (read_json(d, "", "modules.json", &all))
        return -1;
    for (const struct fumi_val *i = fumi_first(all); i; i = fumi_after(all, i)) {
        struct fumi_str type = last_part(fumi_text(d->f->a, fumi_get(i, "type")));
        struct fumi_str path = fumi_text(d->f->a, fumi_get(i, "path"));
        if (fumi_eq(type, FUMI_STR("Pooling")) && path.n)
            *pooling = fumi_fmt(d->f->a, "%.*s/", FUMI_ARG(path)).p;
        else if (!fumi_eq(type, FUMI_STR("Transformer")) && !fumi_eq(type, FUMI_STR("Pooling")) &&
                 !fumi_eq(type, FUMI_STR("Normalize")))
            return pack_fault(d->e,
                              "modules.json: the module %.*s is not supported, only Transformer, "
                              "Pooling and Normalize",
                              FUMI_ARG(fumi_utf8_cut(type, NAME_SHOWN)));
    }
    return 0;
}

static const struct {
    const char *member, *mode;
} modes[] = {
    {"pooling_mode_mean_tokens", "mean"},
    {"pooling_mode_cls_token", "cls"},
    {"pooling_mode_max_tokens", "max"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    {"pooling_mode_weightedmean_tokens", "weightedmean"},
    {"pooling_mode_lasttoken", "lasttoken"},
};

/* The kind of pooling that a configuration names; null if it says nothing. Older versions have a
 * boolean for each kind, newer ones a string. */
static struct fumi_str pooling_mode(const struct describer *d, const struct fumi_val *v)
{
    struct fumi_str found = fumi_text(d->f->a, fumi_get(v, "pooling_mode"));
    bool says = found.p;
    for (size_t i = 0; !says && i < FUMI_COUNT(modes); i++) {
        const struct fumi_val *on = fumi_get(v, modes[i].member);
        if (fumi_is(on, FUMI_TRUE))
            found = found.p ? fumi_fmt(d->f->a, "%.*s+%s", FUMI_ARG(found), modes[i].mode)
                            : fumi_str(modes[i].mode);
    }
    bool no_mean = fumi_is(fumi_get(v, modes[0].member), FUMI_FALSE);
    return !found.p && no_mean ? FUMI_STR("none") : found;
}

static int read_pooling(struct describer *d, const char *dir)
{
    const struct fumi_val *v;
    if (read_json(d, dir, "config.json", &v))
        return -1;
    struct fumi_str mode = pooling_mode(d, v);
    d->out->pooling = d->family ? d->family->pooling : ENCODER_MEAN;
    d->out->hides_prompt = fumi_is(fumi_get(v, "include_prompt"), FUMI_FALSE);
    if (d->o->pooling != PACK_PUBLISHED)
        d->out->pooling = d->o->pooling == PACK_CLS ? ENCODER_CLS : ENCODER_MEAN;
    else if (fumi_eq(mode, FUMI_STR("cls")) || fumi_eq(mode, FUMI_STR("mean")))
        d->out->pooling = mode.p[0] == 'c' ? ENCODER_CLS : ENCODER_MEAN;
    else if (mode.p)
        return pack_fault(d->e,
                          "%sconfig.json: the pooling %.*s is not supported, only mean and cls",
                          dir, FUMI_ARG(fumi_utf8_cut(mode, NAME_SHOWN)));
    return 0;
}

/* Sets *out to the first of the prompts that exists, otherwise to the default prompt; empty if
 * there is none. */
static int find_prompt(struct describer *d, const struct fumi_val *v, const char *const *names,
                       struct fumi_str *out)
{
    const struct fumi_val *all = fumi_get(v, "prompts"), *found = NULL;
    struct fumi_str name = {0};
    for (; *names && !found; names++) {
        name = fumi_str(*names);
        found = fumi_get(all, *names);
    }
    struct fumi_str by_default = fumi_text(d->f->a, fumi_get(v, "default_prompt_name"));
    if (!found && by_default.n) {
        name = fumi_utf8_cut(by_default, NAME_SHOWN);
        found = fumi_get(all, fumi_fmt(d->f->a, "%.*s", FUMI_ARG(by_default)).p);
    }
    *out = fumi_text(d->f->a, found);
    if (found && !fumi_is(found, FUMI_NULL) && !out->p)
        return pack_fault(d->e,
                          "config_sentence_transformers.json: the prompt %.*s must be a string",
                          FUMI_ARG(name));
    return 0;
}

static int check_prefix(struct describer *d, struct fumi_str text, const char *what)
{
    if (text.n > MODEL_PREFIX_MAX)
        return pack_fault(d->e, "the prefix for %s has more than %d bytes", what, MODEL_PREFIX_MAX);
    if (text.n && (!fumi_utf8_valid(text) || memchr(text.p, 0, text.n)))
        return pack_fault(d->e, "the prefix for %s must be UTF-8 text without NUL", what);
    return 0;
}

static int read_prefixes(struct describer *d)
{
    static const char *const query[] = {"query", NULL};
    static const char *const passage[] = {"document", "passage", "corpus", NULL};
    struct pack_description *out = d->out;
    const struct fumi_val *v;
    if (read_json(d, "", "config_sentence_transformers.json", &v) ||
        find_prompt(d, v, query, &out->query_prefix) ||
        find_prompt(d, v, passage, &out->passage_prefix))
        return -1;
    if (d->family && !out->query_prefix.n && !out->passage_prefix.n) {
        out->query_prefix = fumi_str(d->family->query);
        out->passage_prefix = fumi_str(d->family->passage);
    }
    if (d->o->query_prefix.p)
        out->query_prefix = d->o->query_prefix;
    if (d->o->passage_prefix.p)
        out->passage_prefix = d->o->passage_prefix;
    if (out->hides_prompt && out->pooling == ENCODER_MEAN &&
        (out->query_prefix.n || out->passage_prefix.n))
        return pack_fault(d->e, "1_Pooling/config.json: include_prompt must be true: the mean "
                                "always includes the tokens of the prefix");
    return check_prefix(d, out->query_prefix, "queries") ||
                   check_prefix(d, out->passage_prefix, "passages")
               ? -1
               : 0;
}

/* The smaller of the limits that the files name. Some tokenizers state a huge number, which means
 * that they have no limit. */
static int read_length(struct describer *d, const struct fumi_val *sentence,
                       const struct fumi_val *tokenizer)
{
    int64_t limits[2] = {0, 0};
    fumi_int(fumi_get(sentence, "max_seq_length"), &limits[0]);
    fumi_int(fumi_get(tokenizer, "model_max_length"), &limits[1]);
    for (size_t i = 0; i < 2; i++) {
        if (limits[i] <= 0 || limits[i] > 65536)
            continue;
        if (limits[i] < TOKENS_MIN)
            return pack_fault(d->e, "%s must be at least %d",
                              i ? "tokenizer_config.json: model_max_length"
                                : "sentence_bert_config.json: max_seq_length",
                              TOKENS_MIN);
        if (!d->out->max_tokens || limits[i] < (int64_t)d->out->max_tokens)
            d->out->max_tokens = (uint32_t)limits[i];
    }
    return 0;
}

static void set_flag(uint32_t *flags, uint32_t flag, bool on)
{
    *flags = on ? *flags | flag : *flags & ~flag;
}

/* tokenizer_config.json overrides the normalizer of tokenizer.json. */
static void read_case(const struct fumi_val *sentence, const struct fumi_val *tokenizer,
                      uint32_t *flags)
{
    const struct fumi_val *lower = fumi_get(tokenizer, "do_lower_case");
    const struct fumi_val *strip = fumi_get(tokenizer, "strip_accents");
    const struct fumi_val *cjk = fumi_get(tokenizer, "tokenize_chinese_chars");
    if (fumi_is_bool(lower)) {
        bool on = fumi_is(lower, FUMI_TRUE);
        set_flag(flags, WORDPIECE_LOWER, on);
        set_flag(flags, WORDPIECE_STRIP, fumi_is_bool(strip) ? fumi_is(strip, FUMI_TRUE) : on);
    }
    if (fumi_is_bool(cjk))
        set_flag(flags, WORDPIECE_CJK, fumi_is(cjk, FUMI_TRUE));
    if (fumi_is(fumi_get(sentence, "do_lower_case"), FUMI_TRUE))
        set_flag(flags, WORDPIECE_LOWER, true);
}

static int read_tokenizing(struct describer *d, uint32_t *flags)
{
    const struct fumi_val *sentence, *tokenizer;
    if (read_json(d, "", "sentence_bert_config.json", &sentence) ||
        read_json(d, "", "tokenizer_config.json", &tokenizer))
        return -1;
    read_case(sentence, tokenizer, flags);
    return read_length(d, sentence, tokenizer);
}

static struct fumi_str without_end(struct fumi_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n > n && memcmp(s.p + s.n - n, end, n) == 0 ? (struct fumi_str){s.p, s.n - n} : s;
}

static struct fumi_str last_name(struct fumi_str path)
{
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    size_t n = pack_dir(path).n;
    return (struct fumi_str){path.p + n, path.n - n};
}

/* The cache of a model hub has directories models--OWNER--NAME/snapshots/HASH. */
static struct fumi_str name_in_cache(struct fumi_str path)
{
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    struct fumi_str above = pack_dir(path);
    if (!fumi_eq(last_name(above), FUMI_STR("snapshots")))
        return last_name(path);
    while (above.n && above.p[above.n - 1] == '/')
        above.n--;
    struct fumi_str name = last_name(pack_dir(above));
    for (size_t i = name.n; fumi_starts(name, FUMI_STR("models--")) && i > 1; i--)
        if (name.p[i - 1] == '-' && name.p[i - 2] == '-')
            return (struct fumi_str){name.p + i, name.n - i};
    return last_name(path);
}

/* The model is named after the directory of its tokenizer; if that is the root, after the directory
 * or archive itself. */
static struct fumi_str published_name(const struct describer *d)
{
    char real[PATH_MAX];
    struct fumi_str dir = d->dirs[1];
    if (dir.n && !fumi_eq(dir, FUMI_STR("./")))
        return last_name(dir);
    struct fumi_str path = fumi_str(realpath(d->f->from, real) ? real : d->f->from);
    return fumi_dup(d->f->a, without_end(name_in_cache(path), ".tgz"));
}

/* Vectors are stored by the name of the model. So the name differs if the vectors do: unless a
 * model has mean pooling and no prefixes, as all of format version 1, a checksum of the pooling and
 * the prefixes is appended. */
static int set_name(struct describer *d, struct fumi_str name)
{
    struct pack_description *out = d->out;
    char suffix[10] = "";
    bool plain = out->pooling == ENCODER_MEAN && !out->query_prefix.n && !out->passage_prefix.n;
    if (!plain) {
        unsigned char sum[32];
        struct fumi_str text = fumi_fmt(d->f->a, "%d\n%zu\n%.*s%.*s", (int)out->pooling,
                                        out->query_prefix.n, FUMI_ARG(out->query_prefix),
                                        FUMI_ARG(out->passage_prefix));
        if (model_checksum(text.p, text.n, sum, d->e))
            return -1;
        snprintf(suffix, sizeof(suffix), "-%02x%02x%02x%02x", sum[0], sum[1], sum[2], sum[3]);
    }
    size_t most = MODEL_NAME_MAX - strlen(suffix);
    snprintf(out->name, sizeof(out->name), "%.*s%s", (int)(name.n < most ? name.n : most), name.p,
             suffix);
    return 0;
}

/* The name becomes part of keys, so other characters than letters, digits, '.' and '_' become '-'.
 */
static struct fumi_str clean(struct fumi_arena *a, struct fumi_str name)
{
    char *p = fumi_alloc(a, name.n + 1);
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9');
        p[i] = alphanumeric || c == '.' || c == '_' ? c : '-';
    }
    return (struct fumi_str){p, name.n};
}

int pack_describe(const struct pack_files *f, const struct pack_description_source *from,
                  const struct pack_options *o, struct pack_description *out, struct fumi_err *e)
{
    struct describer d = {.f = f, .dirs = {from->model, from->tokenizer}, .o = o, .out = out};
    const char *pooling;
    d.e = e;
    struct fumi_str name = clean(f->a, o->name.n ? o->name : published_name(&d));
    d.family = family_of(name);
    if (read_modules(&d, &pooling) || read_pooling(&d, pooling) || read_prefixes(&d) ||
        read_tokenizing(&d, &out->tokenizer_flags) || set_name(&d, name))
        return -1;
    const struct embed_calibration *known = embed_known_calibration(fumi_str(out->name));
    out->calibration = o->calibration ? o->calibration : known;
    return 0;
}
