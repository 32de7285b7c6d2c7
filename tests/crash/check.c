/* Checks a store against a ledger: every acknowledged operation is stored, everything that is
 * stored belongs to an operation that was begun, and all ways to find a note agree. */
#include "crash.h"
#include "store/sqlite.h"

#include "base/arena.h"

#include <stdio.h>

enum { PAGE = 100, HITS = 8, OUTPUT_MAX = 1 << 16, FINDS = 400 };

struct checking {
    struct store *s;
    const struct ledger *l;
    unsigned look;
    struct fumi_buf *output;
    struct fumi_arena arena; /* reset after each object */
    int faults;
    int64_t notes;   /* found one by one */
    unsigned stride; /* one of so many notes is searched for */
    struct filter all;
};

static void __attribute__((format(printf, 2, 3))) fault(struct checking *c, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    c->faults++;
    if (!c->output || c->output->n > OUTPUT_MAX)
        return;
    fumi_buf_add(c->output, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
    fumi_buf_put(c->output, '\n');
}

static bool same(struct fumi_str a, struct fumi_str b)
{
    return fumi_eq(a, b) && !a.p == !b.p;
}

bool crash_note_is(const struct note *n, struct crash_thing t)
{
    struct fumi_arena a = {0};
    struct note want;
    struct vectors v;
    crash_note(&a, t, &want, &v);
    bool is = same(n->id, want.id) && same(n->project, want.project) &&
              same(n->group, want.group) && same(n->title, want.title) &&
              same(n->text, want.text) && same(n->source, want.source) &&
              same(n->metadata.text, want.metadata.text) && n->created.ms == want.created.ms &&
              n->tags.n == want.tags.n;
    for (size_t i = 0; is && i < want.tags.n; i++)
        is = same(n->tags.items[i], want.tags.items[i]);
    fumi_arena_done(&a);
    return is;
}

static bool may(const struct crash_row *r, unsigned state)
{
    return r->done == state || (r->open && r->begun == state);
}

static const struct crash_row *row_of(const struct ledger *l, struct crash_thing t)
{
    static const struct crash_row none = {0};
    if (t.writer >= l->writers || t.number >= l->rows[t.kind][t.writer].n)
        return &none;
    return &l->rows[t.kind][t.writer].items[t.number];
}

static bool among(const struct hits *h, int64_t seq, double *score)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].seq == seq) {
            *score = h->items[i].score;
            return true;
        }
    return false;
}

/* A note that exists (seq > 0) must be found by its keyword and its vector; a state that does not
 * exist (seq 0) must not be found. */
static void find(struct checking *c, struct crash_thing t, int64_t seq)
{
    struct fumi_err e = {0};
    struct hits h = {0};
    float x[CRASH_DIM];
    double score = 0;
    const struct keyword_query word = {.text = crash_word(&c->arena, t), .limit = HITS};
    struct keyword_hits found = {0};
    int rc = store_match_keywords(c->s, &c->arena, &c->all, &word, &found, &e);
    h = found.hits;
    if (rc)
        fault(c, "keyword search for note %u/%u: %s", t.writer, t.number, e.text);
    else if (among(&h, seq, &score) != (seq != 0) || h.n > 1)
        fault(c, "note %u/%u state %u (seq %lld): %zu found by its keyword", t.writer, t.number,
              t.state, (long long)seq, h.n);
    if (!seq)
        return;
    crash_vector(t, 0, x);
    if (store_nearest(c->s, &c->arena, &c->all, CRASH_SPACE, x, CRASH_DIM, HITS, &h, &e))
        fault(c, "vector search for note %u/%u: %s", t.writer, t.number, e.text);
    else if (!among(&h, seq, &score) || score < 0.999)
        fault(c, "note %u/%u is not found by its vector (%zu hits, score %f)", t.writer, t.number,
              h.n, score);
}

static void check_note(struct checking *c, struct crash_thing t, const struct crash_row *r)
{
    struct fumi_err e = {0};
    struct note n = {0};
    int rc = store_get_note(c->s, &c->arena, crash_id(&c->arena, t), &n, &e);
    t.state = rc ? 0 : crash_state_of(n.text);
    if (rc && e.code != ERR_NOT_FOUND)
        fault(c, "note %u/%u: %s", t.writer, t.number, e.text);
    else if (!may(r, t.state))
        fault(c, "note %u/%u is in state %u, acknowledged %u%s", t.writer, t.number, t.state,
              r->done, r->open ? ", another begun" : "");
    else if (!rc && !crash_note_is(&n, t))
        fault(c, "note %u/%u differs from what was stored", t.writer, t.number);
    c->notes += rc ? 0 : 1;
    if (!(c->look & LOOK_FIND) || (t.writer + t.number) % c->stride)
        return;
    if (!rc)
        find(c, t, n.seq);
    t.state = 1;
    if (rc && r->done == 0 && r->begun == 0)
        find(c, t, 0);
}

static void check_global(struct checking *c, struct crash_thing t, const struct crash_row *r)
{
    struct fumi_err e = {0};
    struct global got = {0}, want;
    crash_global(&c->arena, t, &want);
    int rc = store_get_global(c->s, &c->arena, CRASH_PROJECT, want.key, &got, &e);
    const unsigned states[] = {r->done, r->open ? r->begun : r->done};
    if (rc && e.code != ERR_NOT_FOUND)
        fault(c, "global %u/%u: %s", t.writer, t.number, e.text);
    for (size_t i = 0; i < FUMI_COUNT(states); i++) {
        t.state = states[i];
        crash_global(&c->arena, t, &want);
        if (rc ? t.state == 0 : t.state && same(got.value, want.value))
            return;
    }
    fault(c, "global %u/%u is not as acknowledged (%u)", t.writer, t.number, r->done);
}

static void check_group(struct checking *c, struct crash_thing t, const struct crash_row *r)
{
    struct fumi_err e = {0};
    struct group got = {0}, want;
    int rc = store_get_group(c->s, &c->arena, crash_id(&c->arena, t), &got, &e);
    const unsigned states[] = {r->done, r->open ? r->begun : r->done};
    if (rc && e.code != ERR_NOT_FOUND)
        fault(c, "group %u/%u: %s", t.writer, t.number, e.text);
    for (size_t i = 0; i < FUMI_COUNT(states); i++) {
        t.state = states[i];
        crash_group(&c->arena, t, &want);
        if (rc ? t.state == 0
               : t.state && same(got.title, want.title) && same(got.description, want.description))
            return;
    }
    fault(c, "group %u/%u is not as acknowledged (%u)", t.writer, t.number, r->done);
}

static void check_rows(struct checking *c, enum crash_kind kind, unsigned writer)
{
    static void (*const kinds[])(struct checking *, struct crash_thing,
                                 const struct crash_row *) = {check_note, check_global,
                                                              check_group};
    const struct crash_rows *rows = &c->l->rows[kind][writer];
    for (unsigned i = 0; i < rows->n; i++) {
        kinds[kind](c, (struct crash_thing){kind, writer, i, 0}, &rows->items[i]);
        fumi_arena_reset(&c->arena, 1 << 16);
    }
}

/* A note that no writer has begun is a fault, like a missing note. */
static void check_listed(struct checking *c, const struct note *n)
{
    struct crash_thing t = {CRASH_NOTE, 0, 0, crash_state_of(n->text)};
    if (!crash_id_read(n->id, &t))
        fault(c, "a note with an unknown id: %.*s", FUMI_ARG(n->id));
    else if (t.state == 0 || !may(row_of(c->l, t), t.state) || !crash_note_is(n, t))
        fault(c, "the list has note %u/%u in state %u", t.writer, t.number, t.state);
}

/* Lists all notes by ascending seq. */
static void check_pages(struct checking *c)
{
    struct fumi_err e = {0};
    struct notes page;
    int64_t after = 0, listed = 0;
    do {
        fumi_arena_reset(&c->arena, 1 << 16);
        page = (struct notes){0};
        if (store_list_by_seq(c->s, &c->arena, NULL, after, PAGE, &page, &e)) {
            fault(c, "pages: %s", e.text);
            return;
        }
        for (size_t i = 0; i < page.n; i++)
            check_listed(c, &page.items[i]);
        listed += (int64_t)page.n;
        after = page.n ? page.items[page.n - 1].seq : after;
    } while (page.n == PAGE);
    if (listed != c->notes)
        fault(c, "pages have %lld notes, of which %lld are known", (long long)listed,
              (long long)c->notes);
}

/* The stored counts must match the notes. */
static void check_counts(struct checking *c)
{
    struct fumi_err e = {0};
    struct store_stats stats = {0};
    struct filtered left = {0};
    int64_t have = -1, all = -1;
    if (store_stats(c->s, &stats, &e) || store_count_notes(c->s, &c->all, &left, &e) ||
        store_embedding_progress(c->s, CRASH_SPACE, &have, &all, &e)) {
        fault(c, "counts: %s", e.text);
        return;
    }
    if (stats.notes != c->notes || left.left != c->notes || all != c->notes || have != c->notes)
        fault(c, "%lld notes, but stats have %lld, count %lld, progress %lld of %lld",
              (long long)c->notes, (long long)stats.notes, (long long)left.left, (long long)have,
              (long long)all);
}

static void add_sentence(void *arg, const char *sentence)
{
    struct checking *c = arg;
    if (c->output && c->output->n < OUTPUT_MAX) {
        fumi_buf_add(c->output, "doctor: ", 8);
        fumi_buf_add(c->output, sentence, strlen(sentence));
        fumi_buf_put(c->output, '\n');
    }
}

static void check_doctor(struct checking *c)
{
    struct fumi_err e = {0};
    size_t before = c->output ? c->output->n : 0;
    if (store_check(c->s, false, add_sentence, c, &e))
        fault(c, "doctor finds damage: %s", e.text);
    else if (c->output)
        c->output->n = before;
}

/* A note can be added and deleted. */
static void check_write(struct checking *c)
{
    struct fumi_err e = {0};
    struct crash_thing t = {CRASH_NOTE, 9999, 1, 1};
    if (crash_do(c->s, t, &e)) {
        fault(c, "cannot be written: %s", e.text);
        return;
    }
    t.state = 0;
    if (crash_do(c->s, t, &e))
        fault(c, "the added note cannot be deleted: %s", e.text);
}

int crash_check(struct store *s, const struct ledger *l, unsigned look, struct fumi_buf *output)
{
    struct checking c = {.s = s, .l = l, .look = look, .output = output};
    c.all = (struct filter){.project = CRASH_PROJECT, .since = INT64_MIN, .until = INT64_MAX};
    c.stride = (unsigned)(l->acknowledged / FINDS + 1);
    for (unsigned k = 0; k < CRASH_KINDS; k++)
        for (unsigned w = 0; w < l->writers; w++)
            check_rows(&c, k, w);
    check_pages(&c);
    check_counts(&c);
    if (look & LOOK_DOCTOR)
        check_doctor(&c);
    if (look & LOOK_WRITE)
        check_write(&c);
    fumi_arena_done(&c.arena);
    return c.faults;
}

int crash_check_file(const char *path, const struct ledger *l, unsigned look,
                     struct fumi_buf *output)
{
    struct fumi_err e = {0};
    struct fumi_log log = {.level = FUMI_SILENT};
    struct store_sqlite_options o = {.path = path, .nosync = true, .log = &log};
    struct store *s = store_sqlite_open(&o, &e);
    if (!s) {
        struct checking c = {.output = output};
        fault(&c, "cannot be opened: %s", e.text);
        return c.faults;
    }
    int faults = crash_check(s, l, look, output);
    store_close(s);
    return faults;
}
