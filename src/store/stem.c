/* The Porter stemmer (M. F. Porter, "An algorithm for suffix stripping", Program 14, 1980), with
 * his two later changes (the suffixes bli and logi). The functions are the steps of the paper, in
 * order.
 *
 * A word is viewed as [C](VC){m}[V], where C and V are runs of consonants and vowels. Most rules
 * remove a suffix only if the measure m of the rest is large enough: m > 0 or m > 1. */
#include "store/words.h"

struct stem {
    char *w;
    size_t n;
};

struct rule {
    struct fumi_str suffix;
    const char *to;
};

/* FUMI_STR is not a constant expression. */
#define S(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static bool consonant(const char *w, size_t i)
{
    switch (w[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y':
        return i == 0 || !consonant(w, i - 1);
    }
    return true;
}

/* The measure m of the first n letters: how often a consonant follows a vowel. */
static int measure(const char *w, size_t n)
{
    int m = 0;
    bool was_vowel = false;
    for (size_t i = 0; i < n; i++) {
        bool vowel = w[i] == 'y' ? i > 0 && !was_vowel : !consonant(w, i);
        m += was_vowel && !vowel;
        was_vowel = vowel;
    }
    return m;
}

static bool has_vowel(const char *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!consonant(w, i))
            return true;
    }
    return false;
}

static bool doubled(const char *w, size_t n)
{
    return n > 1 && w[n - 1] == w[n - 2] && consonant(w, n - 1);
}

/* Whether the word ends in consonant, vowel, consonant, and the last is not w, x or y: hop, but not
 * snow. */
static bool short_end(const char *w, size_t n)
{
    return n > 2 && consonant(w, n - 1) && !consonant(w, n - 2) && consonant(w, n - 3) &&
           w[n - 1] != 'w' && w[n - 1] != 'x' && w[n - 1] != 'y';
}

/* Whether the word is longer than the suffix and ends with it; *rest: the length before it. */
static bool ends(const struct stem *s, struct fumi_str suffix, size_t *rest)
{
    size_t n = suffix.n;
    if (s->n <= n || s->w[s->n - 1] != suffix.p[n - 1] || memcmp(s->w + s->n - n, suffix.p, n) != 0)
        return false;
    *rest = s->n - n;
    return true;
}

static void set_end(struct stem *s, size_t rest, const char *to)
{
    size_t n = strlen(to);
    memcpy(s->w + rest, to, n);
    s->n = rest + n;
}

/* Applies the first rule whose suffix matches, if the measure of the rest is more than m; later
 * rules are not tried. */
static void apply(struct stem *s, const struct rule *rules, size_t n, int m)
{
    size_t rest;
    for (size_t i = 0; i < n; i++) {
        if (!ends(s, rules[i].suffix, &rest))
            continue;
        if (measure(s->w, rest) > m)
            set_end(s, rest, rules[i].to);
        return;
    }
}

static void plurals(struct stem *s)
{
    static const struct rule rules[] = {
        {S("sses"), "ss"}, {S("ies"), "i"}, {S("ss"), "ss"}, {S("s"), ""}};
    apply(s, rules, FUMI_COUNT(rules), -1);
}

/* Repairs the stem after -ed or -ing was removed: conflat(ed), hopp(ing), fil(ing). */
static void repair(struct stem *s)
{
    static const struct fumi_str with_e[] = {S("at"), S("bl"), S("iz")};
    size_t rest;
    for (size_t i = 0; i < FUMI_COUNT(with_e); i++) {
        if (ends(s, with_e[i], &rest)) {
            set_end(s, s->n, "e");
            return;
        }
    }
    char last = s->w[s->n - 1];
    if (doubled(s->w, s->n) && last != 'l' && last != 's' && last != 'z')
        s->n--;
    else if (measure(s->w, s->n) == 1 && short_end(s->w, s->n))
        set_end(s, s->n, "e");
}

static void past_and_progress(struct stem *s)
{
    size_t rest;
    if (ends(s, FUMI_STR("eed"), &rest)) {
        if (measure(s->w, rest) > 0)
            s->n--;
        return;
    }
    if ((ends(s, FUMI_STR("ed"), &rest) || ends(s, FUMI_STR("ing"), &rest)) &&
        has_vowel(s->w, rest)) {
        s->n = rest;
        repair(s);
    }
}

static void final_y(struct stem *s)
{
    size_t rest;
    if (ends(s, FUMI_STR("y"), &rest) && has_vowel(s->w, rest))
        s->w[rest] = 'i';
}

static void double_suffixes(struct stem *s)
{
    static const struct rule rules[] = {
        {S("ational"), "ate"}, {S("tional"), "tion"}, {S("enci"), "ence"},   {S("anci"), "ance"},
        {S("izer"), "ize"},    {S("bli"), "ble"},     {S("alli"), "al"},     {S("entli"), "ent"},
        {S("eli"), "e"},       {S("ousli"), "ous"},   {S("ization"), "ize"}, {S("ation"), "ate"},
        {S("ator"), "ate"},    {S("alism"), "al"},    {S("iveness"), "ive"}, {S("fulness"), "ful"},
        {S("ousness"), "ous"}, {S("aliti"), "al"},    {S("iviti"), "ive"},   {S("biliti"), "ble"},
        {S("logi"), "log"},
    };
    apply(s, rules, FUMI_COUNT(rules), 0);
}

static void single_suffixes(struct stem *s)
{
    static const struct rule rules[] = {{S("icate"), "ic"}, {S("ative"), ""},  {S("alize"), "al"},
                                        {S("iciti"), "ic"}, {S("ical"), "ic"}, {S("ful"), ""},
                                        {S("ness"), ""}};
    apply(s, rules, FUMI_COUNT(rules), 0);
}

static void last_suffix(struct stem *s)
{
    static const struct rule rules[] = {
        {S("al"), ""},   {S("ance"), ""}, {S("ence"), ""}, {S("er"), ""},    {S("ic"), ""},
        {S("able"), ""}, {S("ible"), ""}, {S("ant"), ""},  {S("ement"), ""}, {S("ment"), ""},
        {S("ent"), ""},  {S("ou"), ""},   {S("ism"), ""},  {S("ate"), ""},   {S("iti"), ""},
        {S("ous"), ""},  {S("ive"), ""},  {S("ize"), ""},
    };
    size_t rest;
    if (!ends(s, FUMI_STR("ion"), &rest))
        apply(s, rules, FUMI_COUNT(rules), 1);
    else if ((s->w[rest - 1] == 's' || s->w[rest - 1] == 't') && measure(s->w, rest) > 1)
        s->n = rest;
}

static void final_e_and_ll(struct stem *s)
{
    size_t rest;
    if (ends(s, FUMI_STR("e"), &rest)) {
        int m = measure(s->w, rest);
        if (m > 1 || (m == 1 && !short_end(s->w, rest)))
            s->n = rest;
    }
    if (doubled(s->w, s->n) && s->w[s->n - 1] == 'l' && measure(s->w, s->n) > 1)
        s->n--;
}

size_t words_stem(char *word, size_t n)
{
    struct stem s = {word, n};
    if (n < 3)
        return n;
    plurals(&s);
    past_and_progress(&s);
    final_y(&s);
    double_suffixes(&s);
    single_suffixes(&s);
    last_suffix(&s);
    final_e_and_ll(&s);
    return s.n;
}
