#include "app/marks.h"

#include "app/show.h"
#include "base/utf8.h"
#include "store/language.h"
#include "store/words.h"

enum {
    WORDS = 64,  /* of a query that are marked, */
    SPANS = 64,  /* and in a text */
    BEFORE = 24, /* columns before the first word that is marked */
    DOTS = 4,    /* columns of " ..." */
};

struct marks {
    struct fumi_arena *a;
    struct fumi_str words[WORDS];
    size_t n;
    bool stop_words; /* these too */
};

struct found {
    const struct marks *m;
    struct span {
        size_t begin, end;
    } spans[SPANS];
    size_t n;
};

/* Joined identifiers and foreign stems would mark too much; punctuation means nothing. */
static bool is_marked(const struct word *w)
{
    return w->kind != WORD_PUNCT && w->kind != WORD_JOINED && w->kind != WORD_FOREIGN &&
           w->kind != WORD_UNIGRAM;
}

static int add_word(void *arg, const struct word *w)
{
    struct marks *m = arg;
    if (is_marked(w) && m->n < WORDS && (m->stop_words || !language_stop_word(w->text)))
        m->words[m->n++] = fumi_dup(m->a, w->text);
    return 0;
}

struct marks *marks_new(struct fumi_arena *a, struct fumi_str query)
{
    struct marks *m = fumi_alloc(a, sizeof(*m));
    *m = (struct marks){.a = a};
    words_each(query, 0, add_word, m);
    m->stop_words = !m->n;
    if (m->stop_words)
        words_each(query, 0, add_word, m);
    return m;
}

/* Spans that touch become one. */
static int find_word(void *arg, const struct word *w)
{
    struct found *f = arg;
    bool hit = false;
    for (size_t i = 0; i < f->m->n && is_marked(w) && !hit; i++)
        hit = fumi_eq(f->m->words[i], w->text);
    struct span *last = f->n ? &f->spans[f->n - 1] : NULL;
    if (hit && last && w->begin <= last->end) {
        last->begin = w->begin < last->begin ? w->begin : last->begin;
        last->end = w->end > last->end ? w->end : last->end;
    } else if (hit && f->n < SPANS) {
        f->spans[f->n++] = (struct span){w->begin, w->end};
    }
    return 0;
}

/* The first byte that is printed, so that the first span fits into the columns. */
static size_t beginning(struct fumi_str line, const struct found *f, size_t columns)
{
    if (!f->n || show_width((struct fumi_str){line.p, f->spans[0].end}) + DOTS <= columns)
        return 0;
    struct fumi_str before = {line.p, f->spans[0].begin};
    size_t skipped = show_width(before) > BEFORE ? show_width(before) - BEFORE : 0;
    size_t at = show_cut(before, skipped).n;
    while (at < before.n && line.p[at] != ' ')
        at++; /* not inside a word */
    return at < before.n ? at + 1 : before.n;
}

static void print_part(struct fumi_str line, size_t from, size_t to, enum show_style style)
{
    if (from < to)
        printf("%s%.*s%s", style == SHOW_BOLD ? show_style(stdout, style) : "", (int)(to - from),
               line.p + from, style == SHOW_BOLD ? show_style(stdout, SHOW_PLAIN) : "");
}

void marks_print(struct fumi_arena *a, const struct marks *m, struct fumi_str line, size_t columns)
{
    struct found *f = fumi_alloc(a, sizeof(*f));
    *f = (struct found){.m = m};
    if (m)
        words_each(line, 0, find_word, f);
    size_t at = beginning(line, f, columns);
    columns = columns > 2 * DOTS ? columns - (at ? DOTS : 0) : columns;
    struct fumi_str rest = {line.p + at, line.n - at};
    bool cut = show_width(rest) > columns;
    size_t end = at + (cut ? show_cut(rest, columns - DOTS).n : rest.n);
    fputs(at ? "... " : "", stdout);
    for (size_t i = 0; i < f->n && f->spans[i].begin < end; i++) {
        size_t to = f->spans[i].end < end ? f->spans[i].end : end;
        if (to <= at)
            continue;
        print_part(line, at, f->spans[i].begin, SHOW_PLAIN);
        print_part(line, f->spans[i].begin > at ? f->spans[i].begin : at, to, SHOW_BOLD);
        at = to;
    }
    print_part(line, at, end, SHOW_PLAIN);
    fputs(cut ? " ..." : "", stdout);
}
