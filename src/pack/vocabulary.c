/* Reads tokenizer.json: the vocabulary, the added tokens and the options of normalization. */
#include "base/utf8.h"
#include "pack/pack_parts.h"

enum { WORDS_MAX = 1 << 21, CHARS_MAX = 100, KIND_SHOWN = 32 };

struct word_list {
    struct pack_word *items;
    size_t n;
};

static bool text_is(const struct fumi_val *object, const char *name, const char *want)
{
    return fumi_text_is(fumi_get(object, name), fumi_str(want));
}

static bool is_true(const struct fumi_val *object, const char *name)
{
    return fumi_is(fumi_get(object, name), FUMI_TRUE);
}

/* The type of the tokenizer, as JSON. Older files do not state it: then only BPE has merges, and
 * only the vocabulary of Unigram is a list. */
static struct fumi_str kind_of(const struct fumi_val *model)
{
    const struct fumi_val *type = fumi_get(model, "type");
    if (type)
        return fumi_raw(type);
    if (fumi_get(model, "merges"))
        return FUMI_STR("\"BPE\"");
    return fumi_is(fumi_get(model, "vocab"), FUMI_ARRAY) ? FUMI_STR("\"Unigram\"")
                                                         : FUMI_STR("\"WordPiece\"");
}

static int check_kind(const struct fumi_val *root, struct fumi_err *e)
{
    struct fumi_str kind = kind_of(fumi_get(root, "model"));
    if (!fumi_eq(kind, FUMI_STR("\"WordPiece\"")))
        return pack_fault(e,
                          "tokenizer.json: the tokenizer %.*s is not supported, only \"WordPiece\" "
                          "(most models of the BERT family; multilingual ones often have "
                          "\"Unigram\" or \"BPE\")",
                          FUMI_ARG(fumi_utf8_cut(kind, KIND_SHOWN)));
    if (!text_is(fumi_get(root, "normalizer"), "type", "BertNormalizer"))
        return pack_fault(e, "tokenizer.json: only the normalizer BertNormalizer is supported");
    if (!text_is(fumi_get(root, "pre_tokenizer"), "type", "BertPreTokenizer"))
        return pack_fault(e, "tokenizer.json: only the pre_tokenizer BertPreTokenizer is "
                             "supported");
    return 0;
}

static uint32_t flags_of(const struct fumi_val *normalizer)
{
    const struct fumi_val *strip = fumi_get(normalizer, "strip_accents");
    bool lower = is_true(normalizer, "lowercase");
    bool strips = fumi_is_bool(strip) ? fumi_is(strip, FUMI_TRUE) : lower;
    return (is_true(normalizer, "clean_text") ? WORDPIECE_CLEAN : 0u) |
           (is_true(normalizer, "handle_chinese_chars") ? WORDPIECE_CJK : 0u) |
           (strips ? WORDPIECE_STRIP : 0u) | (lower ? WORDPIECE_LOWER : 0u);
}

static bool is_ascii(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] & 0x80)
            return false;
    return true;
}

/* In a multilingual vocabulary more than a tenth of the words are not ASCII; in an English one
 * about 3 percent, mostly symbols and single letters. */
static bool is_english(const struct word_list *w)
{
    size_t other = 0;
    for (size_t i = 0; i < w->n; i++)
        other += !is_ascii(w->items[i].text);
    return other * 10 < w->n;
}

static int add_word(struct word_list *w, struct fumi_str text, const struct fumi_val *number,
                    int32_t *max_id)
{
    int64_t id;
    if (!text.p || !fumi_int(number, &id) || id < 0 || id >= WORDS_MAX)
        return -1;
    w->items[w->n++] = (struct pack_word){text, (int32_t)id};
    *max_id = id > *max_id ? (int32_t)id : *max_id;
    return 0;
}

static int read_words(struct fumi_arena *a, const struct fumi_val *vocab, struct word_list *w,
                      int32_t *max_id, struct fumi_err *e)
{
    size_t n = fumi_size(vocab);
    if (!fumi_is(vocab, FUMI_OBJECT) || n < 3 || n > WORDS_MAX)
        return pack_fault(e, "tokenizer.json has no vocabulary, or one that is too large");
    w->items = fumi_alloc(a, n * sizeof(*w->items));
    for (const struct fumi_val *key = fumi_first(vocab); key; key = fumi_after(vocab, key))
        if (add_word(w, fumi_text(a, key), fumi_of(key), max_id))
            return pack_fault(e, "tokenizer.json: the id of a word is not valid");
    return 0;
}

/* Added tokens are matched in the text before normalization. Tokens that are matched otherwise
 * ("normalized", "single_word") are refused; BERT models do not have any. */
static int read_specials(struct fumi_arena *a, const struct fumi_val *list, struct word_list *w,
                         int32_t *max_id, struct fumi_err *e)
{
    w->items = fumi_alloc(a, (fumi_size(list) + 1) * sizeof(*w->items));
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i)) {
        struct fumi_str text = fumi_text(a, fumi_get(i, "content"));
        if (is_true(i, "normalized") || is_true(i, "single_word"))
            return pack_fault(e,
                              "tokenizer.json: the added token %.*s is \"normalized\" or "
                              "\"single_word\", which is not supported",
                              FUMI_ARG(text));
        if (add_word(w, text, fumi_get(i, "id"), max_id))
            return pack_fault(e, "tokenizer.json: an added token is not valid");
    }
    return 0;
}

static int find_id(const struct word_list *w, struct fumi_str text, int32_t *id, struct fumi_err *e)
{
    for (size_t i = 0; i < w->n; i++)
        if (fumi_eq(w->items[i].text, text)) {
            *id = w->items[i].id;
            return 0;
        }
    return pack_fault(e, "tokenizer.json: the vocabulary has no %.*s", FUMI_ARG(text));
}

static int find_ids(struct fumi_arena *a, const struct fumi_val *model, const struct word_list *w,
                    struct pack_vocabulary *v, struct fumi_err *e)
{
    const struct fumi_val *name = fumi_get(model, "unk_token");
    struct fumi_str unk = name ? fumi_text(a, name) : FUMI_STR("[UNK]");
    if (!unk.p)
        return pack_fault(e, "tokenizer.json: unk_token must be a string");
    return find_id(w, unk, &v->unk, e) || find_id(w, FUMI_STR("[CLS]"), &v->cls, e) ||
                   find_id(w, FUMI_STR("[SEP]"), &v->sep, e)
               ? -1
               : 0;
}

/* Finds the cell that the prefix of continuing pieces ("##") leads to. */
static int find_continuation(struct fumi_arena *a, const struct fumi_val *model,
                             struct pack_vocabulary *v, struct fumi_err *e)
{
    const struct fumi_val *given = fumi_get(model, "continuing_subword_prefix");
    struct fumi_str prefix = given ? fumi_text(a, given) : FUMI_STR("##");
    struct trie t = {(const void *)v->cells.p, v->cells.n / sizeof(struct trie_cell)};
    uint32_t at = 0;
    for (size_t i = 0; prefix.p && i < prefix.n && at != TRIE_NONE; i++)
        at = trie_step(t, at, (unsigned char)prefix.p[i]);
    if (!prefix.p || at == TRIE_NONE)
        return pack_fault(e, "tokenizer.json: no word begins with continuing_subword_prefix");
    v->continuation = at;
    return 0;
}

static int read_limit(const struct fumi_val *model, struct pack_vocabulary *v, struct fumi_err *e)
{
    const struct fumi_val *given = fumi_get(model, "max_input_chars_per_word");
    int64_t max = CHARS_MAX;
    if (given && (!fumi_int(given, &max) || max < 1 || max > CHARS_MAX))
        return pack_fault(e, "tokenizer.json: max_input_chars_per_word must be 1 to %d", CHARS_MAX);
    v->max_chars = (uint32_t)max;
    return 0;
}

int pack_read_vocabulary(struct fumi_arena *a, const struct pack_file *tokenizer,
                         struct pack_vocabulary *v, struct fumi_err *e)
{
    struct fumi_err inner;
    struct word_list words = {0}, specials = {0};
    const struct fumi_val *root = fumi_parse(a, tokenizer->bytes, &inner);
    const struct fumi_val *model = fumi_get(root, "model");
    if (!root)
        return pack_fault(e, "tokenizer.json is not valid JSON: %s", inner.text);
    if (check_kind(root, e) || read_limit(model, v, e) ||
        read_words(a, fumi_get(model, "vocab"), &words, &v->max_id, e) ||
        find_ids(a, model, &words, v, e) ||
        read_specials(a, fumi_get(root, "added_tokens"), &specials, &v->max_id, e))
        return -1;
    v->flags = flags_of(fumi_get(root, "normalizer"));
    v->flags |= is_english(&words) ? MODEL_ENGLISH_ONLY : 0u;
    pack_build_trie(words.items, words.n, &v->cells);
    pack_build_trie(specials.items, specials.n, &v->specials);
    return find_continuation(a, model, v, e);
}

void pack_vocabulary_done(struct pack_vocabulary *v)
{
    fumi_buf_done(&v->cells);
    fumi_buf_done(&v->specials);
}
