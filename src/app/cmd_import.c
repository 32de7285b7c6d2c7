/* fumi import: stores each line as if alone, so that an invalid line does not prevent the import of
 * the others, but many lines with one sync. If the store fails, for example because the disk is
 * full, the import stops, because all further lines would fail, too.
 *
 * Lines are collected until there are enough of them for a batch, or no more input is there: a
 * program that writes a line to a pipe and waits is not kept waiting for further lines. */
#include "app/import_successors.h"
#include "app/session.h"
#include "app/show.h"
#include "app/transfer.h"
#include "base/utf8.h"
#include "memory/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum {
    LINE_LIMIT = NOTE_JSON_MAX,
    KEEP = 4 << 20,
    BATCH_LINES = 256,     /* in one batch, at most */
    BATCH_BYTES = 1 << 18, /* a batch ends at this size */
};

/* A line of the batch. */
struct line {
    size_t number;
    struct transfer t;
    struct fumi_err e; /* code 0: the line is valid */
};

struct import {
    struct store *store;
    struct author by;
    int from;
    char buf[1 << 16]; /* input */
    size_t at, end;    /* of the rest of it */
    bool over;         /* end of the input, or an error */
    int failed;        /* errno of that error; 0: none */
    struct fumi_buf text;
    bool too_long; /* the line is too long and is not imported */
    size_t number; /* of the current line */
    struct line lines[BATCH_LINES];
    struct merge_row rows[BATCH_LINES]; /* of the valid lines */
    size_t n, bytes;                    /* of the batch */
    size_t merged[MERGED_EQUAL + 1];    /* number of lines, by result */
    size_t notes;                       /* number of notes added */
    size_t bad;
    struct fumi_arena a; /* of the batch */
    struct guard guard;
    struct import_successors successors;
};

static bool is_blank(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr(" \t\r", s.p[i]))
            return false;
    }
    return true;
}

static struct merge_row row_of(const struct transfer *t)
{
    struct merge_row r = {.kind = MERGE_GLOBAL, .global = t->global};
    switch (t->kind) {
    case TRANSFER_NOTE:
        r = (struct merge_row){.kind = MERGE_NOTE, .note = t->note};
        r.note.superseded_by = (struct fumi_str){0}; /* see import_set_successors */
        break;
    case TRANSFER_GROUP:
        return (struct merge_row){.kind = MERGE_GROUP, .group = t->group};
    case TRANSFER_GLOBAL:
        break;
    }
    return r;
}

static struct fumi_str id_of(const struct merge_row *r)
{
    switch (r->kind) {
    case MERGE_NOTE:
        return r->note.id;
    case MERGE_GROUP:
        return r->group.id;
    case MERGE_GLOBAL:
        break;
    }
    return r->global.id;
}

static int guard(struct import *m, struct transfer *t, struct fumi_err *e)
{
    switch (t->kind) {
    case TRANSFER_NOTE:
        return guard_note(&m->guard, &t->note, e);
    case TRANSFER_GROUP:
        return guard_group(&m->guard, &t->group, e);
    case TRANSFER_GLOBAL:
        return guard_global(&m->guard, &t->global, e);
    }
    return -1;
}

static int read_line(struct import *m, struct transfer *out, struct fumi_err *e)
{
    struct fumi_str line = fumi_dup(&m->a, fumi_buf_str(&m->text));
    if (m->too_long)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is longer than %d bytes", LINE_LIMIT);
    if (!fumi_utf8_valid(line))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is not UTF-8 text");
    return transfer_read(&m->a, line, out, e) || guard(m, out, e) ? -1 : 0;
}

/* Reports how the stored object differs from the line: a new id, or members that were cleaned. */
static void report(const struct line *l, const struct merge_row *r)
{
    if (r->outcome == MERGED_RENAMED) {
        const struct merge_row given = row_of(&l->t);
        fprintf(stderr, "line %zu: the id %.*s is already in use; added under the new id %.*s\n",
                l->number, FUMI_ARG(id_of(&given)), FUMI_ARG(id_of(r)));
    }
    if (l->t.cleaned.n && r->outcome <= MERGED_RENAMED)
        fprintf(stderr,
                "line %zu: added without line breaks, control characters and bidirectional "
                "controls in: %.*s\n",
                l->number, FUMI_ARG(l->t.cleaned));
}

/* Reports and counts a line that is invalid, or that a stored row contradicts. */
static void reject(struct import *m, const struct line *l, const struct fumi_err *e)
{
    fprintf(stderr, "line %zu: %.*s\n", l->number, FUMI_ARG(show_line(&m->a, fumi_str(e->text))));
    m->bad++;
}

static void accept(struct import *m, const struct line *l, const struct merge_row *r)
{
    if (r->kind == MERGE_NOTE)
        import_keep_successor(&m->successors, l->number, &l->t.note, &r->note);
    m->merged[r->outcome]++;
    m->notes += r->kind == MERGE_NOTE && r->outcome <= MERGED_RENAMED;
    report(l, r);
}

/* Reports on the lines in their order. Returns -1 with *e set and m->number set to the first line
 * that was not stored because the store failed. */
static int report_all(struct import *m, struct fumi_err *e)
{
    const struct merge_row *r = m->rows;
    for (const struct line *l = m->lines; l < m->lines + m->n; l++) {
        if (l->e.code) {
            reject(m, l, &l->e);
            continue;
        }
        if (!r->e.code) {
            accept(m, l, r);
        } else if (r->e.code == ERR_CONFLICT) {
            reject(m, l, &r->e);
        } else {
            m->number = l->number;
            *e = r->e;
            return -1;
        }
        r++;
    }
    return 0;
}

/* Stores the batch, which is then empty. */
static int flush(struct import *m, struct fumi_err *e)
{
    size_t rows = 0;
    for (size_t i = 0; i < m->n; i++)
        if (!m->lines[i].e.code)
            m->rows[rows++] = row_of(&m->lines[i].t);
    store_merge(m->store, &m->a, m->rows, rows, &m->by);
    int rc = report_all(m, e);
    m->n = m->bytes = 0;
    fumi_arena_reset(&m->a, KEEP);
    return rc;
}

/* Adds the current line to the batch. */
static void take_line(struct import *m)
{
    struct line *l = &m->lines[m->n++];
    *l = (struct line){.number = m->number};
    m->bytes += m->text.n;
    read_line(m, &l->t, &l->e);
}

static bool is_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

/* Reads more input. A batch is stored before waiting for input. Returns -1 with *e set if the store
 * fails. */
static int fill(struct import *m, struct fumi_err *e)
{
    ssize_t n;
    if (m->n && !is_ready(m->from) && flush(m, e))
        return -1;
    do
        n = read(m->from, m->buf, sizeof(m->buf));
    while (n < 0 && errno == EINTR);
    m->failed = n < 0 ? errno : 0;
    m->over = n <= 0;
    m->at = 0;
    m->end = n > 0 ? (size_t)n : 0;
    return 0;
}

/* Appends the input up to the end of the line, which it skips. Returns whether the line ended. */
static bool take_text(struct import *m)
{
    const char *p = m->buf + m->at, *end = memchr(p, '\n', m->end - m->at);
    size_t n = end ? (size_t)(end - p) : m->end - m->at;
    size_t kept = n <= LINE_LIMIT - m->text.n ? n : LINE_LIMIT - m->text.n;
    fumi_buf_add(&m->text, p, kept);
    m->too_long |= kept < n;
    m->at += n + !!end;
    return end;
}

/* Reads the next line. Returns 1; 0 at the end of the input; -1 with *e set if the store fails. */
static int next(struct import *m, struct fumi_err *e)
{
    bool ended = false;
    m->text.n = 0;
    m->too_long = false;
    while (!ended && !m->over) {
        if (m->at == m->end && fill(m, e))
            return -1;
        ended = take_text(m);
    }
    m->number += ended || m->text.n;
    return ended || m->text.n;
}

static int import_all(struct import *m, struct fumi_err *e)
{
    int more;
    while ((more = next(m, e)) > 0) {
        if (!is_blank(fumi_buf_str(&m->text)) || m->too_long)
            take_line(m);
        if ((m->n == BATCH_LINES || m->bytes >= BATCH_BYTES) && flush(m, e))
            return -1;
    }
    return more ? -1 : flush(m, e);
}

static size_t added(const struct import *m)
{
    return m->merged[MERGED_ADDED] + m->merged[MERGED_RENAMED];
}

static void print_counts(const struct import *m)
{
    printf("%zu added", added(m));
    if (m->merged[MERGED_RENAMED])
        printf(" (%zu under new ids)", m->merged[MERGED_RENAMED]);
    printf(", %zu already present", m->merged[MERGED_SAME] + m->merged[MERGED_EQUAL]);
    if (m->merged[MERGED_OLDER])
        printf(", %zu not newer than the stored value", m->merged[MERGED_OLDER]);
    printf(", %zu bad\n", m->bad);
    struct fumi_str warning = guard_warning(&m->guard, (struct fumi_str){0});
    if (warning.n)
        fprintf(stderr, "warning: %.*s\n", FUMI_ARG(warning));
}

static int import_into(struct import *m)
{
    struct fumi_err e = {0};
    int rc = import_all(m, &e) ||
             import_set_successors(&m->successors, m->store, &m->by, &m->number, &e);
    print_counts(m);
    if (rc)
        return command_fail(STATUS_FAILED,
                            "line %zu was not imported: %s. The import stopped; %zu lines were "
                            "imported before. Import the same file again: these lines are skipped",
                            m->number, e.text, added(m));
    if (m->failed)
        return command_fail(STATUS_FAILED, "the input cannot be read to its end: %s",
                            strerror(m->failed));
    if (m->notes)
        show_import_hint();
    return m->bad ? STATUS_FAILED : STATUS_OK;
}

static int import_from(struct invocation *i, int from)
{
    struct session s = {0};
    struct fumi_err e = {0};
    struct import *m = fumi_resize(NULL, sizeof(*m));
    int status;
    memset(m, 0, sizeof(*m));
    m->from = from;
    if (session_store(&s, &i->common, &e)) {
        status = command_report(&e);
    } else {
        m->store = s.store;
        m->by = session_author(&s);
        m->guard = (struct guard){.a = &m->a,
                                  .mode = (enum secrets_mode)s.config.safety.memory.secrets};
        status = import_into(m);
    }
    fumi_buf_done(&m->text);
    fumi_arena_done(&m->a);
    import_successors_done(&m->successors);
    fumi_resize(m, 0);
    session_close(&s);
    return status;
}

static int import(struct invocation *i)
{
    struct fumi_str name = i->words.n ? i->words.items[0] : FUMI_STR("-");
    if (fumi_eq(name, FUMI_STR("-")))
        return import_from(i, STDIN_FILENO);
    int from = open(fumi_fmt(i->a, "%.*s", FUMI_ARG(name)).p, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return command_fail(STATUS_FAILED, "cannot open %.*s: %s", FUMI_ARG(name), strerror(errno));
    int status = import_from(i, from);
    close(from);
    return status;
}

const struct command command_import = {
    .name = "import",
    .usage = "[FILE]",
    .help = "Imports notes, groups and globals from the output of export.",
    .more = "The input has one JSON object per line; without FILE, standard input is "
            "read. Ids and times are kept. Lines that exist already with the same content "
            "are skipped; of a global, the newer value is kept. If an id already belongs "
            "to something else, such as a note of another project, the line is added "
            "under a new id, which is printed; importing the file again does not add it "
            "twice. Line breaks and control characters in titles, tags, sources and "
            "project names, which older versions accepted, are removed and reported. "
            "Lines that are invalid, or whose note or group exists with different "
            "content, are reported by number and not imported; the exit status is then 1. "
            "A superseded note whose successor is not there becomes current. "
            "A full disk or another database error stops the import; the same file can be "
            "imported again.",
    .words = 1,
    .writes = true,
    .run = import,
};
