/* Keyword search in SQLite. FTS5 stores the index and returns the postings of each token. The
 * scores are computed here (words_rank.c), because the ranking of FTS5 reads a row of sizes for
 * every note that contains any of the words.
 *
 * The query becomes an OR of quoted terms. In queries the tokenizer returns the tokens of the
 * quoted term as they are, so no text is FTS5 syntax and nothing is tokenised twice. FTS5 treats
 * several tokens at one position as synonyms. The first row of the statement calls our function
 * (gather), which reads the postings of all tokens through the extension interface of FTS5: first
 * the beginning of each list, then the rest of the shorter lists. Then the candidates with the best
 * rough scores are checked against the filter, and those that pass are scored. */
#include "store/sqlite_words.h"

#include "base/buf.h"
#include "store/language.h"
#include "store/words_query.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLUMNS = 4,
    TEXT = 1,                 /* the column `text` */
    BEGINNING = 1024,         /* postings that are read of every list */
    BUDGET = 40000,           /* postings that are read of all lists together */
    BUDGET_ALONE = 120000,    /* the same, if few notes are found otherwise */
    COMMON = 50,              /* a minor token in more than 1/50 of the notes is common */
    SMALL = 8192,             /* notes: in a smaller project no token is common */
    SCORED = 100,             /* notes that are scored exactly, in addition to 2 * limit */
    LISTED = 12000,           /* if at most so many notes pass the filter, they are listed first */
    TAG_SETS_LISTED = 3000,   /* maximum of tag sets for such a list */
    HIGHEST_LISTED = 1 << 28, /* maximum seq for such a list */
    PIVOT = 60,               /* words: shorter notes do not score more */
    SAMPLES = 128,            /* notes to test for an estimate of how many pass the filter */
    SAMPLED = 64,             /* one of so many notes is sampled */
    ENDING_MARK = 2,          /* between a token and the hash of its project */
};

/* title, text, tags, source */
static const double column_weights[COLUMNS] = {2, 1, 2, 0.5};

const char store_sqlite_words_schema[] =
    "CREATE VIRTUAL TABLE words USING "
    "fts5(title, text, tags, source, content='', tokenize='fumi4')";

static const char pointer_type[] = "fumi_words";

static uint64_t hash_of(struct fumi_str s)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001B3);
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Two projects with the same hash would share their statistics, but not their results, because the
 * filter excludes the notes of other projects. */
struct words_ending store_sqlite_words_ending(struct fumi_str project, struct fumi_str id)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    struct words_ending out = {.n = WORDS_ENDING, .text = {ENDING_MARK}};
    uint64_t hash = hash_of(project);
    for (size_t i = 1; i < WORDS_ENDING; i++, hash >>= 6)
        out.text[i] = digits[hash & 63];
    out.sampled = id.p && hash_of(id) % SAMPLED == 0;
    return out;
}

struct emit {
    const struct words_ending *ending;
    void *to;
    int (*token)(void *, int, const char *, int, int, int);
    size_t last;
    bool any;
};

static int emit_token(struct emit *e, struct fumi_str token, int flags, const struct word *w)
{
    char whole[TOKEN_MAX + WORDS_ENDING];
    memcpy(whole, token.p, token.n);
    memcpy(whole + token.n, e->ending->text, e->ending->n);
    return e->token(e->to, flags, whole, (int)(token.n + e->ending->n), (int)w->begin, (int)w->end);
}

/* The token of a sampled note has the position of its first word, so that it is not counted as a
 * word. */
static int emit_word(void *arg, const struct word *w)
{
    struct emit *e = arg;
    char buf[TOKEN_MAX];
    bool first = !e->any;
    int flags = e->any && w->position == e->last ? FTS5_TOKEN_COLOCATED : 0;
    e->any = true;
    e->last = w->position;
    int rc = emit_token(e, words_token(w, buf), flags, w);
    return rc == SQLITE_OK && first && e->ending->sampled
               ? emit_token(e, FUMI_STR(""), FTS5_TOKEN_COLOCATED, w)
               : rc;
}

/* The token of a language, or, with an empty name, of any language but English. */
static struct word language_word(struct fumi_str name, size_t position)
{
    return (struct word){.text = name, .position = position, .kind = WORD_LANGUAGE};
}

/* Emits the words of a note and, if it is not in English, the tokens of its languages. */
static int emit_words(struct emit *e, struct fumi_str text)
{
    unsigned languages = language_of(text, 0);
    int rc = words_each(text, languages, emit_word, e);
    struct word any = language_word(FUMI_STR(""), e->last);
    if (languages && rc == SQLITE_OK)
        rc = emit_word(e, &any);
    for (unsigned i = 0; i < LANGUAGES && rc == SQLITE_OK; i++) {
        struct word w = language_word(language_name((enum language)i), e->last);
        if (languages >> i & 1)
            rc = emit_word(e, &w);
    }
    return rc;
}

static int emit_synonyms(struct emit *e, struct fumi_str tokens)
{
    int rc = SQLITE_OK, n = (int)tokens.n;
    for (int flags = 0; rc == SQLITE_OK && tokens.n; flags = FTS5_TOKEN_COLOCATED) {
        struct fumi_str token = words_next_token(&tokens);
        rc = e->token(e->to, flags, token.p, (int)token.n, 0, n);
    }
    return rc;
}

static int tokenize(Fts5Tokenizer *self, void *to, int flags, const char *text, int n,
                    int (*token)(void *, int, const char *, int, int, int))
{
    struct emit e = {.ending = (const void *)self, .to = to, .token = token};
    if (n <= 0)
        return SQLITE_OK;
    struct fumi_str all = {text, (size_t)n};
    return flags & FTS5_TOKENIZE_QUERY ? emit_synonyms(&e, all) : emit_words(&e, all);
}

/* The tokenizer of a connection is the ending that it appends. */
static int make(void *arg, const char **args, int n, Fts5Tokenizer **out)
{
    (void)args, (void)n;
    *out = arg;
    return SQLITE_OK;
}

static void unmake(Fts5Tokenizer *self)
{
    (void)self;
}

/* The state of one search, which owns the statements. */
struct keyword_search {
    sqlite3 *db;
    sqlite3_stmt *gather, *holds, *note, *tagged, *sized, *highest;
    const Fts5ExtensionApi *api; /* while the postings are read */
    Fts5Context *fts;
    const struct words_search *what;
    const struct scan_filter *filter;
    uint64_t *passing; /* a bit for each seq; NULL: notes are looked up one by one */
    int64_t last;      /* the highest seq, if `passing` is set */
    int64_t *sample;   /* seqs of the sampled notes, ascending; NULL: not read yet */
    size_t sample_n, sample_cap;
    size_t limit;
    struct fumi_arena *a;
    struct query query;
    struct words_rank rank;
    size_t used;       /* postings that were read and are scored */
    double found;      /* estimate: how many of these pass the filter */
    uint16_t term;     /* the term whose list is being read */
    size_t read, most; /* postings of this list: read so far, and maximum */
    int broken;        /* result code of SQLite of a failed read, or 0 */
};

static bool has_row(struct keyword_search *s, sqlite3_stmt *q)
{
    int rc = sqlite3_step(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        s->broken = rc;
    return rc == SQLITE_ROW;
}

static bool has_bit(const uint64_t *bits, size_t n, int64_t i)
{
    return i >= 0 && (uint64_t)i < n && (bits[i / 64] >> (i % 64) & 1);
}

/* Whether the note in the current row passes. Columns: tag_set, created. */
static bool passes(const struct scan_filter *f, sqlite3_stmt *found)
{
    int64_t tag_set = sqlite3_column_int64(found, 0), created = sqlite3_column_int64(found, 1);
    return created >= f->since && (created < f->until || f->until == INT64_MAX) &&
           (!f->tag_sets || has_bit(f->tag_sets, f->tag_sets_n, tag_set));
}

static bool seq_passes(struct keyword_search *s, int64_t seq)
{
    if (s->passing)
        return has_bit(s->passing, (size_t)s->last + 1, seq);
    sqlite3_bind_int64(s->note, 1, seq);
    bool ok = has_row(s, s->note) && passes(s->filter, s->note);
    sqlite3_reset(s->note);
    return ok;
}

/* The size of the text in words. FTS5 stores the sizes of the columns as big-endian varints with
 * seven bits per byte. */
static double text_size(const unsigned char *p, const unsigned char *end)
{
    uint64_t size = 0;
    for (int column = 0; column <= TEXT && p < end; column++) {
        size = 0;
        for (; p < end && *p & 0x80; p++)
            size = size << 7 | (*p & 0x7F);
        size = p < end ? size << 7 | *p++ : size;
    }
    return (double)size;
}

/* Returns whether the note passes, and sets *length to its length in words. */
static bool length_of(struct keyword_search *s, int64_t seq, double *length)
{
    if (s->passing && !seq_passes(s, seq))
        return false;
    sqlite3_bind_int64(s->sized, 1, seq);
    bool ok = has_row(s, s->sized) && passes(s->filter, s->sized);
    const unsigned char *p = ok ? sqlite3_column_blob(s->sized, 2) : NULL;
    *length = p ? text_size(p, p + sqlite3_column_bytes(s->sized, 2)) : s->rank.length;
    sqlite3_reset(s->sized);
    return ok;
}

static void words_in(sqlite3_context *out, int n, sqlite3_value **values)
{
    (void)n;
    const unsigned char *p = sqlite3_value_blob(values[0]);
    sqlite3_result_int64(out, p ? (int64_t)text_size(p, p + sqlite3_value_bytes(values[0])) : 0);
}

/* Called by FTS5 for each sampled note. */
static int read_sampled(const Fts5ExtensionApi *api, Fts5Context *fts, void *arg)
{
    struct keyword_search *s = arg;
    if (s->sample_n == s->sample_cap) {
        s->sample_cap *= 2;
        s->sample = fumi_resize(s->sample, s->sample_cap * sizeof(*s->sample));
    }
    s->sample[s->sample_n++] = api->xRowid(fts);
    return SQLITE_OK;
}

/* The sample belongs to the project alone: what is estimated from it does not depend on where the
 * notes of other projects are. Its token is the last one of the expression. */
static int need_sample(struct keyword_search *s)
{
    if (s->sample)
        return SQLITE_OK;
    s->sample_cap = SAMPLES;
    s->sample = fumi_resize(NULL, s->sample_cap * sizeof(*s->sample));
    return s->api->xQueryPhrase(s->fts, (int)s->query.n_terms, s, read_sampled);
}

/* Estimates how many notes of the project pass. */
static double estimate(struct keyword_search *s)
{
    size_t step = s->sample_n / SAMPLES + 1;
    double seen = 0, passed = 0;
    for (size_t i = 0; i < s->sample_n; i += step, seen++)
        passed += seq_passes(s, s->sample[i]);
    return seen > 0 ? s->rank.notes * passed / seen : s->rank.notes;
}

static size_t tag_sets_in(const struct scan_filter *f)
{
    size_t n = 0;
    for (size_t i = 0; i < (f->tag_sets_n + 63) / 64; i++)
        n += (size_t)__builtin_popcountll(f->tag_sets[i]);
    return n;
}

/* Sets the bits of the notes with one tag set. */
static void list_tag_set(struct keyword_search *s, int64_t tag_set)
{
    sqlite3_bind_int64(s->tagged, 1, tag_set);
    while (has_row(s, s->tagged)) {
        int64_t seq = sqlite3_column_int64(s->tagged, 0);
        if (seq >= 0 && seq <= s->last)
            s->passing[seq / 64] |= UINT64_C(1) << (seq % 64);
    }
    sqlite3_reset(s->tagged);
}

static void list_passing(struct keyword_search *s)
{
    const struct scan_filter *f = s->filter;
    s->passing = fumi_alloc(s->a, ((size_t)s->last / 64 + 1) * sizeof(*s->passing));
    sqlite3_bind_int64(s->tagged, 2, f->since);
    sqlite3_bind_int64(s->tagged, 3, f->until);
    for (size_t i = 0; i < (f->tag_sets_n + 63) / 64; i++) {
        for (uint64_t bits = f->tag_sets[i]; bits; bits &= bits - 1)
            list_tag_set(s, (int64_t)i * 64 + __builtin_ctzll(bits));
    }
}

/* Lists the notes that pass if they are few; otherwise a list would cost more than it saves. */
static int look_at_filter(struct keyword_search *s)
{
    bool many = s->rank.notes > LISTED;
    if (!s->what->narrow || !s->filter->tag_sets || tag_sets_in(s->filter) > TAG_SETS_LISTED)
        return SQLITE_OK;
    s->last = has_row(s, s->highest) ? sqlite3_column_int64(s->highest, 0) : 0;
    sqlite3_reset(s->highest);
    int rc = many ? need_sample(s) : SQLITE_OK;
    if (rc == SQLITE_OK && s->last < HIGHEST_LISTED && (!many || estimate(s) <= LISTED))
        list_passing(s);
    return rc;
}

/* Called by FTS5 for each note in the list of the current term. */
static int read_posting(const Fts5ExtensionApi *api, Fts5Context *fts, void *arg)
{
    struct keyword_search *s = arg;
    struct query_term *t = &s->query.terms[s->term];
    uint32_t positions[RANK_POSITIONS];
    Fts5PhraseIter i;
    int column, position;
    size_t n = 0;
    double tf = 0;
    int64_t seq = api->xRowid(fts);
    if (s->read++ == s->most)
        return SQLITE_DONE;
    t->last = seq;
    t->read++;
    if (s->passing && !seq_passes(s, seq))
        return SQLITE_OK;
    int rc = api->xPhraseFirst(fts, 0, &i, &column, &position);
    for (; rc == SQLITE_OK && column >= 0; api->xPhraseNext(fts, &i, &column, &position)) {
        tf += column_weights[column % COLUMNS];
        if (n < RANK_POSITIONS)
            positions[n++] = (uint32_t)column << 24 | ((uint32_t)position & 0xFFFFFF);
    }
    words_rank_add(&s->rank, s->term, seq, tf, positions, n);
    t->n++;
    return rc;
}

/* Estimates how many postings of the term pass. If `passing` is known, only postings that pass were
 * added; otherwise samples are looked up. */
static double count_passing(struct keyword_search *s, const struct query_term *t)
{
    size_t samples = SAMPLES / s->query.n_terms + 1, step = t->n / samples + 1;
    double seen = 0, passed = 0;
    if (s->passing || !s->what->narrow)
        return (double)t->n;
    for (size_t i = 0; i < t->n; i += step, seen++)
        passed += seq_passes(s, s->rank.postings[t->first + i].seq);
    return (double)t->n * (passed + 0.5) / (seen + 1);
}

/* Estimates how many postings a list has of which only the beginning was read: as if the word were
 * as frequent in the rest of the notes. */
static double extrapolate(const struct keyword_search *s, const struct query_term *t)
{
    size_t low = 0, high = s->sample_n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->sample[mid] <= t->last)
            low = mid + 1;
        else
            high = mid;
    }
    double part = ((double)low + 0.5) / ((double)s->sample_n + 1), read = (double)t->read;
    return fmax(read, fmin(read / part, s->rank.notes));
}

static int read_list(struct keyword_search *s, size_t most)
{
    struct query_term *t = &s->query.terms[s->term];
    t->first = s->rank.n_postings ? s->rank.n_postings : 1;
    t->n = t->read = 0;
    s->read = 0;
    s->most = most;
    int rc = s->api->xQueryPhrase(s->fts, s->term, s, read_posting);
    t->used = s->read <= most;
    if (rc == SQLITE_OK && !t->used && !s->what->query->rare)
        rc = need_sample(s);
    t->notes = t->used || !s->sample ? (double)t->read : extrapolate(s, t);
    s->used += t->used ? t->read : 0;
    s->found += t->used ? count_passing(s, t) : 0;
    return rc;
}

/* The term with the shortest list among those that were not read to the end, or QUERY_NONE. */
static uint16_t shortest(const struct query *q, const bool *done)
{
    uint16_t best = QUERY_NONE;
    for (uint16_t i = 0; i < q->n_terms; i++) {
        if (!q->terms[i].used && !done[i] &&
            (best == QUERY_NONE || q->terms[i].notes < q->terms[best].notes))
            best = i;
    }
    return best;
}

/* Whether to read a long list. Lists of common words are read within the budget, because a phrase
 * may contain them. Lists of common minor words are skipped if enough notes are found by other
 * words. */
static bool worth_reading(const struct keyword_search *s, const struct query_term *t)
{
    double after = (double)s->used + t->notes;
    bool common = t->minor && t->notes > s->rank.notes / COMMON && s->rank.notes > SMALL;
    if (s->found < 1)
        return true;
    if (s->query.only_minor || s->found < SCORED + 2 * (double)s->limit)
        return after <= BUDGET_ALONE;
    return after <= BUDGET && !common;
}

/* Reads long lists, shorter ones first. */
static int read_rest(struct keyword_search *s)
{
    struct query *q = &s->query;
    bool done[QUERY_TERMS] = {0};
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && (s->term = shortest(q, done)) != QUERY_NONE) {
        done[s->term] = true;
        if (!worth_reading(s, &q->terms[s->term]))
            continue;
        rc = read_list(s, BUDGET_ALONE);
        q->terms[s->term].used = true;
    }
    return rc;
}

static void gather(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *out, int n,
                   sqlite3_value **values)
{
    struct keyword_search *s = n == 1 ? sqlite3_value_pointer(values[0], pointer_type) : NULL;
    if (!s) {
        sqlite3_result_error(out, "fumi_words is not for use in SQL.", -1);
        return;
    }
    s->api = api;
    s->fts = fts;
    int rc = look_at_filter(s);
    size_t rare = s->what->query->rare;
    for (s->term = 0; rc == SQLITE_OK && s->term < s->query.n_terms; s->term++)
        rc = read_list(s, rare ? rare : BEGINNING);
    if (rc == SQLITE_OK && !rare)
        rc = read_rest(s);
    if (rc == SQLITE_OK)
        sqlite3_result_int(out, 1);
    else
        sqlite3_result_error_code(out, rc);
}

int store_sqlite_words_register(sqlite3 *db, const struct words_ending *ending, struct fumi_err *e)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    void *arg = (void *)(uintptr_t)ending;
    fts5_api *api = NULL;
    sqlite3_stmt *s = NULL;
    fts5_tokenizer tokenizer = {make, unmake, tokenize};
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    if (!api || api->xCreateTokenizer(api, "fumi4", arg, &tokenizer, NULL) != SQLITE_OK ||
        api->xCreateTokenizer(api, "fumi3", arg, &tokenizer, NULL) != SQLITE_OK ||
        api->xCreateTokenizer(api, "fumi", arg, &tokenizer, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "words_in", 1, flags, NULL, words_in, NULL, NULL) ||
        api->xCreateFunction(api, "fumi_words", NULL, gather, NULL) != SQLITE_OK)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "SQLite %s has no FTS5; install a libsqlite3 that is built with it.",
                            sqlite3_libversion());
    return 0;
}

/* Among equal scores the newest note comes first. */
static bool above(const struct candidate *x, const struct candidate *y)
{
    return x->rough > y->rough || (x->rough == y->rough && x->seq > y->seq);
}

static void sink(struct candidate *heap, size_t n, size_t i)
{
    struct candidate c = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && above(&heap[child + 1], &heap[child]);
        if (!above(&heap[child], &c))
            break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

static int better(const void *x, const void *y)
{
    const struct hit *one = x, *two = y;
    if (one->score != two->score)
        return one->score > two->score ? -1 : 1;
    return one->seq > two->seq ? -1 : one->seq < two->seq;
}

/* Takes candidates by rough score until enough of them pass, and scores these. */
static void choose(struct keyword_search *s, struct hits *out)
{
    struct words_rank *r = &s->rank;
    size_t most = SCORED + 2 * s->limit;
    most = most < r->n ? most : r->n;
    out->items = fumi_alloc(s->a, (most + 1) * sizeof(*out->items));
    for (size_t i = r->n / 2; i-- > 0;)
        sink(r->candidates, r->n, i);
    for (size_t left = r->n; left && out->n < most;) {
        struct candidate best = r->candidates[0];
        r->candidates[0] = r->candidates[--left];
        sink(r->candidates, left, 0);
        double length;
        if (!length_of(s, best.seq, &length))
            continue;
        double score = words_rank_score(r, &best, length);
        if (score > 0)
            out->items[out->n++] = (struct hit){
                .seq = best.seq, .score = score, .share = words_rank_share(r, &best)};
    }
    qsort(out->items, out->n, sizeof(*out->items), better);
    out->n = out->n < s->limit ? out->n : s->limit;
}

/* The end of the tokens in an FTS5 expression. In a search of all projects each token is a prefix,
 * up to the mark, of the tokens in the index. */
static struct fumi_str query_ending(const struct keyword_search *s, struct words_ending *e)
{
    static const struct fumi_str null;
    *e = store_sqlite_words_ending(s->what->project, null);
    return (struct fumi_str){e->text, s->what->project.p ? e->n : 1};
}

/* Appends the tokens of a term to an FTS5 expression. */
static void put_term(const struct keyword_search *s, struct fumi_buf *b, struct fumi_str tokens)
{
    struct words_ending e;
    struct fumi_str ending = query_ending(s, &e);
    fumi_buf_put(b, '"');
    do {
        struct fumi_str t = words_next_token(&tokens);
        for (size_t k = 0; k < t.n; k++) {
            if (t.p[k] == '"')
                fumi_buf_put(b, '"');
            fumi_buf_put(b, t.p[k]);
        }
        fumi_buf_add(b, ending.p, ending.n);
    } while (tokens.n);
    fumi_buf_add(b, "\" *", s->what->project.p ? 1 : 3);
}

/* The query as an FTS5 expression, and the token of the sample. */
static struct fumi_str match_text(struct keyword_search *s, struct fumi_buf *b)
{
    for (size_t i = 0; i < s->query.n_terms; i++) {
        put_term(s, b, s->query.terms[i].token);
        fumi_buf_add(b, " OR ", 4);
    }
    put_term(s, b, FUMI_STR(""));
    return fumi_buf_str(b);
}

/* Whether the project has a text in the language with this name (see language_word). */
static bool holds(struct keyword_search *s, struct fumi_str name)
{
    char buf[TOKEN_MAX];
    struct word w = language_word(name, 0);
    struct fumi_buf b = {0};
    put_term(s, &b, words_token(&w, buf));
    struct fumi_str text = fumi_buf_str(&b);
    sqlite3_bind_text(s->holds, 1, text.p, (int)text.n, SQLITE_STATIC);
    bool found = has_row(s, s->holds);
    sqlite3_reset(s->holds);
    fumi_buf_done(&b);
    return found;
}

/* Stems of languages that no note is in would only cost time. */
static void read_query(struct keyword_search *s, struct fumi_str text)
{
    unsigned languages = words_query_languages(text);
    if (languages && !holds(s, FUMI_STR("")))
        languages = 0;
    for (unsigned i = 0; i < LANGUAGES; i++) {
        if (languages >> i & 1 && !holds(s, language_name((enum language)i)))
            languages &= ~(1U << i);
    }
    words_query_read(&s->query, s->a, text, languages);
}

static int fault(struct keyword_search *s, struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                        "The keyword index cannot be read (%s); \"fumi doctor\" rebuilds it.",
                        s->broken ? sqlite3_errstr(s->broken) : sqlite3_errmsg(s->db));
}

static int prepare(struct keyword_search *s)
{
    const struct {
        const char *sql;
        sqlite3_stmt **to;
    } all[] = {
        {"SELECT fumi_words(words, ?2) FROM words WHERE words MATCH ?1 LIMIT 1", &s->gather},
        {"SELECT 1 FROM words WHERE words MATCH ?1 LIMIT 1", &s->holds},
        {"SELECT tag_set, created FROM notes WHERE seq = ?1", &s->note},
        {"SELECT seq FROM notes WHERE tag_set = ?1 AND created >= ?2 AND created < ?3", &s->tagged},
        {"SELECT n.tag_set, n.created, d.sz FROM notes n LEFT JOIN words_docsize d ON d.id = n.seq "
         "WHERE n.seq = ?1",
         &s->sized},
        {"SELECT max(seq) FROM notes", &s->highest},
    };
    for (size_t i = 0; i < FUMI_COUNT(all); i++) {
        if (sqlite3_prepare_v2(s->db, all[i].sql, -1, all[i].to, NULL) != SQLITE_OK)
            return -1;
    }
    return 0;
}

/* Steps the statement to its only row and does not reset it, which keeps the snapshot. Returns 1; 0
 * if no note contains any of the tokens; -1 on failure. */
static int read_lists(struct keyword_search *s)
{
    struct fumi_buf b = {0};
    struct fumi_str text = match_text(s, &b);
    sqlite3_bind_text(s->gather, 1, text.p, (int)text.n, SQLITE_STATIC);
    sqlite3_bind_pointer(s->gather, 2, s, pointer_type, NULL);
    int rc = sqlite3_step(s->gather);
    fumi_buf_done(&b);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

static int search(struct keyword_search *s, struct hits *out, struct fumi_err *e)
{
    if (prepare(s) != 0)
        return fault(s, e);
    read_query(s, s->what->query->text);
    if (s->broken)
        return fault(s, e);
    int found = s->query.n_terms && s->what->notes > 0 ? read_lists(s) : 0;
    if (found <= 0)
        return found < 0 ? fault(s, e) : 0;
    if (!s->limit)
        return 0;
    words_rank_collect(&s->rank);
    words_rank_rough(&s->rank);
    choose(s, out);
    return s->broken ? fault(s, e) : 0;
}

/* Lists the words of the query with the numbers of their notes. */
static void count_words(const struct keyword_search *s, struct keyword_hits *out)
{
    const struct query *q = &s->query;
    out->words = fumi_alloc(s->a, (q->n_atoms + 1) * sizeof(*out->words));
    for (size_t i = 0; i < q->n_atoms; i++) {
        const struct query_atom *atom = &q->atoms[i];
        if (atom->positioned)
            out->words[out->words_n++] = (struct query_word){
                (uint32_t)atom->begin, (uint32_t)atom->end,
                atom->exact == QUERY_NONE ? 0 : q->terms[atom->exact].notes};
    }
}

int store_sqlite_words_match(sqlite3 *db, struct fumi_arena *a, const struct words_search *what,
                             struct keyword_hits *out, struct fumi_err *e)
{
    struct keyword_search *s = fumi_alloc(a, sizeof(*s));
    s->db = db;
    s->a = a;
    s->what = what;
    s->filter = what->filter;
    s->limit = what->query->limit;
    s->rank.q = &s->query;
    s->rank.notes = fmax(1, (double)what->notes);
    s->rank.length = fmax(1, (double)what->words / s->rank.notes);
    s->rank.pivot = what->query->plain_length ? 0 : PIVOT;
    *out = (struct keyword_hits){.notes = (double)what->notes};
    int rc = search(s, &out->hits, e);
    if (!rc)
        count_words(s, out);
    sqlite3_stmt *const all[] = {s->gather, s->holds, s->note, s->tagged, s->sized, s->highest};
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        sqlite3_finalize(all[i]);
    fumi_resize(s->sample, 0);
    words_rank_done(&s->rank);
    return rc;
}
