/* fumi import: each line by itself, so that a bad one costs no other. */
#include "app/session.h"
#include "app/transfer.h"
#include "base/utf8.h"

#include <errno.h>

enum { LINE_LIMIT = 8 << 20, KEEP = 1 << 20 };

struct import {
    struct store *store;
    FILE *from;
    struct fumi_buf line;
    bool over;     /* nothing more comes */
    bool too_long; /* the line is, and was left out */
    size_t number; /* of the line */
    size_t added, same, older, bad;
    struct fumi_arena a;
};

/* The next line; false at the end. */
static bool next(struct import *m)
{
    int c;
    m->line.n = 0;
    m->too_long = false;
    if (m->over)
        return false;
    while ((c = getc_unlocked(m->from)) != EOF && c != '\n') {
        if (m->line.n < LINE_LIMIT)
            fumi_buf_put(&m->line, (char)c);
        else
            m->too_long = true;
    }
    m->over = c == EOF;
    m->number++;
    return !m->over || m->line.n;
}

static bool is_blank(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr(" \t\r", s.p[i]))
            return false;
    }
    return true;
}

static bool same_tags(struct fumi_strs a, struct fumi_strs b)
{
    bool same = a.n == b.n;
    for (size_t i = 0; same && i < a.n; i++)
        same = fumi_eq(a.items[i], b.items[i]);
    return same;
}

static bool same_str(struct fumi_str a, struct fumi_str b)
{
    return a.p && b.p ? fumi_eq(a, b) : !a.p && !b.p;
}

static bool same_note(const struct note *a, const struct note *b)
{
    return same_str(a->project, b->project) && same_str(a->group, b->group) &&
           same_str(a->title, b->title) && same_str(a->text, b->text) &&
           same_str(a->source, b->source) && same_str(a->metadata, b->metadata) &&
           a->created == b->created && same_tags(a->tags, b->tags);
}

/* 0: it is there now; -1 with *e. The counts say what came of it. */
static int put_note(struct import *m, struct note *n, struct fumi_err *e)
{
    struct note is;
    if (m->store->ops->get_note(m->store, &m->a, n->id, &is, e) == 0) {
        if (!same_note(n, &is))
            return fumi_err_set(e, ERR_CONFLICT, "a note with the id %.*s is there and differs",
                                FUMI_ARG(n->id));
        m->same++;
        return 0;
    }
    if (e->code != ERR_NOT_FOUND || m->store->ops->put_note(m->store, n, &(struct vectors){0}, e))
        return -1;
    m->added++;
    return 0;
}

static const struct group *find_group(const struct groups *all, struct fumi_str key)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].id.p && fumi_eq(all->items[i].key, key))
            return &all->items[i];
    }
    return NULL;
}

static int put_group(struct import *m, const struct group *g, struct fumi_err *e)
{
    struct groups all = {0};
    const struct loading to = {.arena = &m->a};
    if (m->store->ops->list_groups(m->store, &to, g->project, &all, e))
        return -1;
    const struct group *is = find_group(&all, g->key);
    if (is && fumi_eq(is->id, g->id) && fumi_eq(is->title, g->title) &&
        fumi_eq(is->description, g->description)) {
        m->same++;
        return 0;
    }
    if (is)
        return fumi_err_set(e, ERR_CONFLICT, "the group %.*s is there and differs",
                            FUMI_ARG(g->key));
    if (m->store->ops->put_group(m->store, g, e))
        return -1;
    m->added++;
    return 0;
}

/* The newer value wins. */
static int put_global(struct import *m, struct global *g, struct fumi_err *e)
{
    struct global is;
    int rc = m->store->ops->get_global(m->store, &m->a, g->project, g->key, &is, e);
    if (rc && e->code != ERR_NOT_FOUND)
        return -1;
    if (!rc && (fumi_eq(is.value, g->value) || is.updated > g->updated)) {
        *(fumi_eq(is.value, g->value) ? &m->same : &m->older) += 1;
        return 0;
    }
    if (m->store->ops->put_global(m->store, &m->a, g, e))
        return -1;
    m->added++;
    return 0;
}

static int put(struct import *m, struct transfer *t, struct fumi_err *e)
{
    switch (t->kind) {
    case TRANSFER_NOTE:
        return put_note(m, &t->note, e);
    case TRANSFER_GROUP:
        return put_group(m, &t->group, e);
    case TRANSFER_GLOBAL:
        return put_global(m, &t->global, e);
    }
    return -1;
}

static int take_line(struct import *m, struct fumi_err *e)
{
    struct transfer t;
    struct fumi_str line = fumi_buf_str(&m->line);
    if (m->too_long)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "it is longer than %d bytes", LINE_LIMIT);
    if (!fumi_utf8_valid(line))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "it is not UTF-8 text");
    return transfer_read(&m->a, line, &t, e) || put(m, &t, e) ? -1 : 0;
}

static void import_all(struct import *m)
{
    while (next(m)) {
        struct fumi_err e = {0};
        if (is_blank(fumi_buf_str(&m->line)) && !m->too_long)
            continue;
        if (take_line(m, &e)) {
            fprintf(stderr, "line %zu: %s\n", m->number, e.text);
            m->bad++;
        }
        fumi_arena_reset(&m->a, KEEP);
    }
}

static void print_counts(const struct import *m)
{
    printf("%zu added, %zu there already", m->added, m->same);
    if (m->older)
        printf(", %zu older than what is there", m->older);
    printf(", %zu bad\n", m->bad);
    if (m->added)
        fputs("notes are found by words now; fumi reembed, or a running server, adds their "
              "meaning\n",
              stderr);
}

static int import_from(struct invocation *i, FILE *from)
{
    struct session s = {0};
    struct fumi_err e = {0};
    struct import m = {.from = from};
    int status = STATUS_OK;
    if (session_store(&s, &i->common, &e)) {
        status = command_report(&e);
    } else {
        m.store = s.store;
        import_all(&m);
        print_counts(&m);
        status = m.bad || ferror(from) ? STATUS_FAILED : STATUS_OK;
    }
    if (ferror(from))
        command_fail(STATUS_FAILED, "the input cannot be read to its end");
    fumi_buf_done(&m.line);
    fumi_arena_done(&m.a);
    session_close(&s);
    return status;
}

static int import(struct invocation *i)
{
    struct fumi_str name = i->words.n ? i->words.items[0] : FUMI_STR("-");
    if (fumi_eq(name, FUMI_STR("-")))
        return import_from(i, stdin);
    FILE *from = fopen(fumi_fmt(i->a, "%.*s", FUMI_ARG(name)).p, "re");
    if (!from)
        return command_fail(STATUS_FAILED, "cannot open %.*s: %s", FUMI_ARG(name), strerror(errno));
    int status = import_from(i, from);
    fclose(from);
    return status;
}

const struct command command_import = {
    .name = "import",
    .usage = "[FILE]",
    .help = "Reads notes, groups and globals, one JSON object a line, as export writes them.",
    .more = "Ids and times are kept; what is there already in the same words is skipped, and of a "
            "global the newer value stays. A line that is wrong is named by its number and the "
            "others go on; the status is 1 then. Without a file, standard input is read.",
    .words = 1,
    .run = import,
};
