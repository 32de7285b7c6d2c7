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
    SMALL = 8192,             /* notes: in a smaller store no token is common */
    SCORED = 100,             /* notes that are scored exactly, in addition to 2 * limit */
    LISTED = 12000,           /* if at most so many notes pass the filter, they are listed first */
    TAG_SETS_LISTED = 3000,   /* maximum of tag sets for such a list */
    HIGHEST_LISTED = 1 << 28, /* maximum seq for such a list */
    SAMPLES = 128,            /* notes to test for an estimate of how many pass the filter */
};

/* title, text, tags, source */
static const double column_weights[COLUMNS] = {2, 1, 2, 0.5};

const char store_sqlite_words_schema[] =
    "CREATE VIRTUAL TABLE words USING "
    "fts5(title, text, tags, source, content='', tokenize='fumi')";

static const char pointer_type[] = "fumi_words";

struct emit {
    void *to;
    int (*token)(void *, int, const char *, int, int, int);
    size_t last;
    bool any;
};

static int emit_word(void *arg, const struct word *w)
{
    struct emit *e = arg;
    char buf[TOKEN_MAX];
    struct fumi_str token = words_token(w, buf);
    int flags = e->any && w->position == e->last ? FTS5_TOKEN_COLOCATED : 0;
    e->any = true;
    e->last = w->position;
    return e->token(e->to, flags, token.p, (int)token.n, (int)w->begin, (int)w->end);
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
    struct emit e = {.to = to, .token = token};
    (void)self;
    if (n <= 0)
        return SQLITE_OK;
    struct fumi_str all = {text, (size_t)n};
    return flags & FTS5_TOKENIZE_QUERY ? emit_synonyms(&e, all) : emit_words(&e, all);
}

static int make(void *arg, const char **args, int n, Fts5Tokenizer **out)
{
    static const char self;
    (void)arg, (void)args, (void)n;
    *out = (Fts5Tokenizer *)(void *)&self; /* no state, but it must not be NULL */
    return SQLITE_OK;
}

static void unmake(Fts5Tokenizer *self)
{
    (void)self;
}

/* The state of one search, which owns the statements. */
struct keyword_search {
    sqlite3 *db;
    sqlite3_stmt *gather, *note, *tagged, *sized, *highest;
    const struct scan_filter *filter;
    uint64_t *passing; /* a bit for each seq; NULL: notes are looked up one by one */
    int64_t last;      /* the highest seq */
    size_t limit;
    struct fumi_arena *a;
    struct query query;
    struct words_rank rank;
    size_t used;       /* postings that were read and are scored */
    double found;      /* estimate: how many of these pass the filter */
    uint16_t term;     /* the term whose list is being read */
    size_t read, most; /* postings of this list: read so far, and maximum */
    double ratio;      /* fraction of all notes that pass the filter */
    int broken;        /* result code of SQLite of a failed read, or 0 */
};

static bool has_row(struct keyword_search *s, sqlite3_stmt *q)
{
    int rc = sqlite3_step(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        s->broken = rc;
    return rc == SQLITE_ROW;
}

static bool is_open(const struct scan_filter *f)
{
    return !f->tag_sets && f->since == INT64_MIN && f->until == INT64_MAX;
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

/* Estimates how many notes pass, from evenly spaced samples. */
static double estimate(struct keyword_search *s)
{
    int64_t highest = s->last, step = highest / SAMPLES + 1;
    double seen = 0, passed = 0;
    for (int64_t seq = highest; seq > 0; seq -= step, seen++)
        passed += seq_passes(s, seq);
    return s->rank.notes * passed / fmax(1, seen);
}

static size_t tag_sets_in(const struct scan_filter *f)
{
    size_t n = 0;
    for (size_t i = 0; i < (f->tag_sets_n + 63) / 64; i++)
        n += (size_t)__builtin_popcountll(f->tag_sets[i]);
    return n;
}

/* Sets the bits of the notes with one tag set; returns their number. */
static double list_tag_set(struct keyword_search *s, int64_t tag_set)
{
    double n = 0;
    sqlite3_bind_int64(s->tagged, 1, tag_set);
    for (; has_row(s, s->tagged); n++) {
        int64_t seq = sqlite3_column_int64(s->tagged, 0);
        if (seq >= 0 && seq <= s->last)
            s->passing[seq / 64] |= UINT64_C(1) << (seq % 64);
    }
    sqlite3_reset(s->tagged);
    return n;
}

/* Lists the notes that pass; returns their number. */
static double list_passing(struct keyword_search *s)
{
    const struct scan_filter *f = s->filter;
    double n = 0;
    s->passing = fumi_alloc(s->a, ((size_t)s->last / 64 + 1) * sizeof(*s->passing));
    sqlite3_bind_int64(s->tagged, 2, f->since);
    sqlite3_bind_int64(s->tagged, 3, f->until);
    for (size_t i = 0; i < (f->tag_sets_n + 63) / 64; i++) {
        for (uint64_t bits = f->tag_sets[i]; bits; bits &= bits - 1)
            n += list_tag_set(s, (int64_t)i * 64 + __builtin_ctzll(bits));
    }
    return n;
}

/* Sets the number of notes that pass. Notes that pass are listed only if they are few; otherwise a
 * list would cost more than it saves. */
static void look_at_filter(struct keyword_search *s)
{
    double all = s->rank.notes;
    s->ratio = 1;
    if (is_open(s->filter))
        return;
    bool small = s->filter->tag_sets && s->last < HIGHEST_LISTED &&
                 tag_sets_in(s->filter) <= TAG_SETS_LISTED;
    s->rank.notes = small && all <= LISTED ? 0 : estimate(s);
    if (small && s->rank.notes <= LISTED)
        s->rank.notes = list_passing(s);
    s->rank.notes = fmax(1, s->rank.notes);
    s->ratio = fmin(1, s->rank.notes / fmax(1, all));
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

/* Estimates how many postings of the term pass, so that notes of other projects do not make a word
 * common. If `passing` is known, only postings that pass were added; otherwise samples are looked
 * up, unless most notes pass anyway. */
static double count_passing(struct keyword_search *s, const struct query_term *t)
{
    size_t samples = SAMPLES / s->query.n_terms + 1, step = t->n / samples + 1;
    double seen = 0, passed = 0;
    if (s->passing)
        return (double)t->n;
    if (s->ratio > 0.5)
        return (double)t->n * s->ratio;
    for (size_t i = 0; i < t->n; i += step, seen++)
        passed += seq_passes(s, s->rank.postings[t->first + i].seq);
    return (double)t->n * (passed + 0.5) / (seen + 1);
}

static int read_list(struct keyword_search *s, const Fts5ExtensionApi *api, Fts5Context *fts,
                     size_t most)
{
    struct query_term *t = &s->query.terms[s->term];
    t->first = s->rank.n_postings ? s->rank.n_postings : 1;
    t->n = 0;
    s->read = 0;
    s->most = most;
    int rc = api->xQueryPhrase(fts, s->term, s, read_posting);
    double passed = count_passing(s, t), spread = 1;
    t->used = s->read <= most;
    if (!t->used) /* extrapolates, as if the notes were evenly spaced */
        spread = fmax(1, (double)s->last / fmax(1, (double)t->last));
    t->length = spread * (double)(t->used ? s->read : most);
    t->notes = spread * passed;
    s->used += t->used ? s->read : 0;
    s->found += t->used ? passed : 0;
    return rc;
}

/* The term with the shortest list among those that were not read to the end, or QUERY_NONE. */
static uint16_t shortest(const struct query *q, const bool *done)
{
    uint16_t best = QUERY_NONE;
    for (uint16_t i = 0; i < q->n_terms; i++) {
        if (!q->terms[i].used && !done[i] &&
            (best == QUERY_NONE || q->terms[i].length < q->terms[best].length))
            best = i;
    }
    return best;
}

/* Whether to read a long list. Lists of common words are read within the budget, because a phrase
 * may contain them. Lists of common minor words are skipped if enough notes are found by other
 * words. */
static bool worth_reading(const struct keyword_search *s, const struct query_term *t)
{
    double after = (double)s->used + t->length;
    bool common = t->minor && t->notes > s->rank.notes / COMMON && s->last > SMALL;
    if (s->found < 1)
        return true;
    if (s->query.only_minor || s->found < SCORED + 2 * (double)s->limit)
        return after <= BUDGET_ALONE;
    return after <= BUDGET && !common;
}

/* Reads long lists, shorter ones first. */
static int read_rest(struct keyword_search *s, const Fts5ExtensionApi *api, Fts5Context *fts)
{
    struct query *q = &s->query;
    bool done[QUERY_TERMS] = {0};
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && (s->term = shortest(q, done)) != QUERY_NONE) {
        done[s->term] = true;
        if (!worth_reading(s, &q->terms[s->term]))
            continue;
        rc = read_list(s, api, fts, BUDGET_ALONE);
        q->terms[s->term].used = true;
    }
    return rc;
}

static void gather(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *out, int n,
                   sqlite3_value **values)
{
    struct keyword_search *s = n == 1 ? sqlite3_value_pointer(values[0], pointer_type) : NULL;
    sqlite3_int64 all = 0, words = 0;
    if (!s) {
        sqlite3_result_error(out, "fumi_words is not for use in SQL.", -1);
        return;
    }
    int rc = api->xRowCount(fts, &all);
    if (rc == SQLITE_OK)
        rc = api->xColumnTotalSize(fts, TEXT, &words);
    s->rank.notes = (double)all;
    s->rank.length = fmax(1, (double)words / fmax(1, (double)all));
    look_at_filter(s);
    for (s->term = 0; rc == SQLITE_OK && s->term < s->query.n_terms; s->term++)
        rc = read_list(s, api, fts, BEGINNING);
    if (rc == SQLITE_OK)
        rc = read_rest(s, api, fts);
    if (rc == SQLITE_OK)
        sqlite3_result_int(out, 1);
    else
        sqlite3_result_error_code(out, rc);
}

int store_sqlite_words_register(sqlite3 *db, struct fumi_err *e)
{
    fts5_api *api = NULL;
    sqlite3_stmt *s = NULL;
    fts5_tokenizer tokenizer = {make, unmake, tokenize};
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    if (!api || api->xCreateTokenizer(api, "fumi", NULL, &tokenizer, NULL) != SQLITE_OK ||
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
            out->items[out->n++] = (struct hit){.seq = best.seq, .score = score};
    }
    qsort(out->items, out->n, sizeof(*out->items), better);
    out->n = out->n < s->limit ? out->n : s->limit;
}

/* The query as an FTS5 expression. */
static struct fumi_str match_text(struct keyword_search *s, struct fumi_buf *b)
{
    for (size_t i = 0; i < s->query.n_terms; i++) {
        struct fumi_str t = s->query.terms[i].token;
        fumi_buf_add(b, i ? " OR \"" : "\"", i ? 5 : 1);
        for (size_t k = 0; k < t.n; k++) {
            if (t.p[k] == '"')
                fumi_buf_put(b, '"');
            fumi_buf_put(b, t.p[k]);
        }
        fumi_buf_put(b, '"');
    }
    return fumi_buf_str(b);
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
    if (has_row(s, s->highest))
        s->last = sqlite3_column_int64(s->highest, 0);
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
    int found = read_lists(s);
    if (found <= 0)
        return found < 0 ? fault(s, e) : 0;
    words_rank_collect(&s->rank);
    words_rank_rough(&s->rank);
    choose(s, out);
    return s->broken ? fault(s, e) : 0;
}

int store_sqlite_words_match(sqlite3 *db, struct fumi_arena *a, const struct scan_filter *f,
                             struct fumi_str query, size_t limit, struct hits *out,
                             struct fumi_err *e)
{
    struct keyword_search *s = fumi_alloc(a, sizeof(*s));
    s->db = db;
    s->a = a;
    s->filter = f;
    s->limit = limit;
    s->rank.q = &s->query;
    *out = (struct hits){0};
    words_query_read(&s->query, a, query, words_query_languages(query));
    int rc = s->query.n_terms && limit ? search(s, out, e) : 0;
    sqlite3_finalize(s->gather);
    sqlite3_finalize(s->note);
    sqlite3_finalize(s->tagged);
    sqlite3_finalize(s->sized);
    sqlite3_finalize(s->highest);
    words_rank_done(&s->rank);
    return rc;
}
