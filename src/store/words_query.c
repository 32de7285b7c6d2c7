/* Turns the text of a query into atoms, groups and terms (words_query.h). */
#include "store/words_query.h"

#include "store/language.h"

/* The first byte of some tokens. */
enum { JOINED_MARK = 1, FOREIGN_MARK = 3, LANGUAGE_MARK = 4 };
static const char marks[WORD_KINDS] = {
    [WORD_JOINED] = JOINED_MARK, [WORD_FOREIGN] = FOREIGN_MARK, [WORD_LANGUAGE] = LANGUAGE_MARK};

static const double part_weight = 0.8, hiragana_weight = 0.5, punct_weight = 0.2;
static const double function_weight = 0.2;

struct fumi_str words_token(const struct word *w, char *buf)
{
    char mark = marks[w->kind];
    if (!mark)
        return w->text;
    size_t n = w->text.n < TOKEN_MAX - 1 ? w->text.n : TOKEN_MAX - 1;
    buf[0] = mark;
    memcpy(buf + 1, w->text.p, n);
    return (struct fumi_str){buf, n + 1};
}

struct fumi_str words_next_token(struct fumi_str *tokens)
{
    const char *mark = tokens->n ? memchr(tokens->p + 1, FOREIGN_MARK, tokens->n - 1) : NULL;
    struct fumi_str first = {tokens->p, mark ? (size_t)(mark - tokens->p) : tokens->n};
    *tokens = (struct fumi_str){first.p + first.n, tokens->n - first.n};
    return first;
}

static uint16_t add_term(struct query *q, enum word_kind kind, struct fumi_str text)
{
    char buf[TOKEN_MAX];
    struct fumi_str token = words_token(&(struct word){.text = text, .kind = kind}, buf);
    for (size_t i = 0; i < q->n_terms; i++) {
        if (fumi_eq(q->terms[i].token, token))
            return (uint16_t)i;
    }
    if (q->n_terms == QUERY_TERMS)
        return QUERY_NONE;
    q->terms[q->n_terms] = (struct query_term){.token = fumi_dup(q->a, token)};
    return (uint16_t)q->n_terms++;
}

static int add_atom(struct query *q, const struct word *w, double weight)
{
    if (q->n_atoms == QUERY_ATOMS)
        return 1;
    q->atoms[q->n_atoms++] = (struct query_atom){
        .exact = add_term(q, WORD_PLAIN, w->text),
        .stem = QUERY_NONE,
        .joined = w->kind == WORD_PLAIN ? add_term(q, WORD_JOINED, w->text) : QUERY_NONE,
        .positioned = w->kind != WORD_PUNCT,
        .position = w->position,
        .begin = w->begin,
        .end = w->end,
        .weight = weight};
    return 0;
}

static bool has_separator(struct fumi_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x80 && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return true;
    }
    return false;
}

static bool is_compound(struct fumi_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((text.p[i] < 'a' || text.p[i] > 'z') && text.p[i] != '-')
            return false;
    }
    return has_separator(text) && text.p[0] != '-';
}

static void add_variant(struct query_group *g, uint16_t to)
{
    if (g->n < QUERY_VARIANTS && to != QUERY_NONE)
        g->terms[g->n++] = to;
}

static int add_group(struct query *q, const struct word *w)
{
    struct query_group *g = q->n_groups ? &q->groups[q->n_groups - 1] : NULL;
    for (; g && g >= q->groups && (g->begin != w->begin || g->end != w->end);)
        g = g > q->groups ? g - 1 : NULL;
    if (!g && q->n_groups == QUERY_GROUPS)
        return 1;
    if (!g) {
        g = &q->groups[q->n_groups++];
        *g = (struct query_group){.position = w->position,
                                  .begin = w->begin,
                                  .end = w->end,
                                  .compound = is_compound(w->text)};
    }
    if (w->kind == WORD_WHOLE)
        add_variant(g, add_term(q, WORD_PLAIN, w->text));
    if (!has_separator(w->text)) {
        add_variant(g, add_term(q, WORD_JOINED, w->text));
        if (w->kind == WORD_JOINED)
            add_variant(g, add_term(q, WORD_PLAIN, w->text));
    }
    return 0;
}

/* Some function words are rare in notes, so that their idf would overrate them. */
static bool is_function_word(const struct query *q, struct fumi_str word)
{
    return language_stop_word(word) & q->languages;
}

/* Adds a stem to those of its word. If there are stems of other languages, the English one is among
 * them even if it is the word itself. */
static void add_stem(struct query *q, const struct word *w)
{
    char buf[TOKEN_MAX];
    struct query_atom *atom = &q->atoms[q->n_atoms - 1];
    struct fumi_str token = words_token(w, buf), before = atom->stems;
    if (atom->exact == QUERY_NONE)
        return;
    if (w->kind == WORD_FOREIGN && !before.n)
        before = q->terms[atom->exact].token;
    atom->stems = fumi_fmt(q->a, "%.*s%.*s", FUMI_ARG(before), FUMI_ARG(token));
}

/* Whether a bigram consists of hiragana only: such bigrams are mostly particles and endings. */
static bool is_hiragana(struct fumi_str pair)
{
    for (size_t i = 0; i + 2 < pair.n; i += 3) {
        unsigned c = ((unsigned char)pair.p[i] & 15u) << 12 |
                     ((unsigned char)pair.p[i + 1] & 63u) << 6 |
                     ((unsigned char)pair.p[i + 2] & 63u);
        if (c < 0x3041 || c > 0x309F)
            return false;
    }
    return pair.n == 6;
}

static int collect(void *arg, const struct word *w)
{
    struct query *q = arg;
    switch (w->kind) {
    case WORD_PLAIN:
        return add_atom(q, w, is_function_word(q, w->text) ? function_weight : 1);
    case WORD_SYMBOL:
        return add_atom(q, w, 1);
    case WORD_STEM:
    case WORD_FOREIGN:
        add_stem(q, w);
        return 0;
    case WORD_WHOLE:
    case WORD_JOINED:
        return add_group(q, w);
    case WORD_BIGRAM:
        q->pair_end = w->end;
        return add_atom(q, w, is_hiragana(w->text) ? hiragana_weight : 1);
    case WORD_UNIGRAM: /* only if it is not part of a bigram */
        return w->begin < q->pair_end ? 0 : add_atom(q, w, 1);
    case WORD_PUNCT:
    case WORD_LANGUAGE:
    case WORD_KINDS:
        return 0;
    }
    return 0;
}

/* Punctuation that ends or encloses sentences is not searched for if the query contains words. */
static bool is_searchable_punct(struct fumi_str punct)
{
    return punct.n == 1 && !strchr(".,;:!?'\"()-", punct.p[0]);
}

static int collect_puncts(void *arg, const struct word *w)
{
    struct query *q = arg;
    bool words = q->n_atoms && q->atoms[0].positioned;
    if (w->kind != WORD_PUNCT || (words && !is_searchable_punct(w->text)))
        return 0;
    return add_atom(q, w, words ? punct_weight : 1);
}

/* Sets the range of atoms that a group matches. Parts of an identifier weigh less than words. */
static void link_atoms(struct query *q, struct query_group *g)
{
    for (size_t i = 0; i < q->n_atoms; i++) {
        struct query_atom *atom = &q->atoms[i];
        if (atom->position != g->position || atom->begin < g->begin || atom->end > g->end)
            continue;
        if (g->first == g->last)
            g->first = i;
        g->last = i + 1;
        if (!g->compound && atom->weight > part_weight)
            atom->weight = part_weight;
    }
}

static void mark_major(struct query *q, uint16_t term)
{
    if (term != QUERY_NONE)
        q->terms[term].minor = false;
}

static void mark_minor(struct query *q)
{
    bool any = q->n_groups > 0;
    for (size_t i = 0; i < q->n_atoms; i++)
        any = any || q->atoms[i].weight > function_weight;
    q->only_minor = !any;
    for (size_t i = 0; i < q->n_terms; i++)
        q->terms[i].minor = any;
    for (size_t i = 0; i < q->n_atoms; i++) {
        const struct query_atom *atom = &q->atoms[i];
        if (atom->weight <= function_weight)
            continue;
        mark_major(q, atom->exact);
        mark_major(q, atom->stem);
        mark_major(q, atom->joined);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n; k++)
            mark_major(q, q->groups[i].terms[k]);
    }
}

unsigned words_query_languages(struct fumi_str text)
{
    return words_mostly_non_latin(text) ? 0 : language_of(text, LATIN_LANGUAGES);
}

void words_query_read(struct query *q, struct fumi_arena *a, struct fumi_str text,
                      unsigned languages)
{
    q->a = a;
    q->n_atoms = q->n_groups = q->n_terms = q->pair_end = 0;
    q->languages = 1U << LANGUAGE_ENGLISH | (languages & language_of(text, 0));
    words_each(text, languages, collect, q);
    for (size_t i = 0; i < q->n_atoms; i++) {
        if (q->atoms[i].stems.n)
            q->atoms[i].stem = add_term(q, WORD_STEM, q->atoms[i].stems);
    }
    for (size_t i = 0; i < q->n_groups; i++)
        link_atoms(q, &q->groups[i]);
    words_each(text, 0, collect_puncts, q);
    mark_minor(q);
}
