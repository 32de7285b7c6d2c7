/* fumi import: stores each line separately, so that an invalid line does not prevent the import of
 * the others. If the store fails, for example because the disk is full, the import stops, because
 * all further lines would fail, too. */
#include "app/session.h"
#include "app/show.h"
#include "app/transfer.h"
#include "base/utf8.h"
#include "memory/guard.h"

#include <errno.h>

enum { LINE_LIMIT = NOTE_JSON_MAX, KEEP = 1 << 20 };

struct import {
    struct store *store;
    FILE *from;
    struct fumi_buf line;
    bool over;                       /* end of the input */
    bool too_long;                   /* the line is too long and is not imported */
    size_t number;                   /* of the current line */
    size_t merged[MERGED_OLDER + 1]; /* number of lines, by result */
    size_t notes;                    /* number of notes added */
    size_t bad;
    struct fumi_arena a;
    struct guard guard;
};

/* Reads the next line. Returns false at the end of the input. */
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

static struct fumi_str *id_of(struct transfer *t)
{
    switch (t->kind) {
    case TRANSFER_NOTE:
        return &t->note.id;
    case TRANSFER_GROUP:
        return &t->group.id;
    case TRANSFER_GLOBAL:
        return &t->global.id;
    }
    return NULL;
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

static int merge(struct import *m, struct transfer *t, enum merged *out, struct fumi_err *e)
{
    switch (t->kind) {
    case TRANSFER_NOTE:
        return store_merge_note(m->store, &m->a, &t->note, out, e);
    case TRANSFER_GROUP:
        return store_merge_group(m->store, &m->a, &t->group, out, e);
    case TRANSFER_GLOBAL:
        return store_merge_global(m->store, &m->a, &t->global, out, e);
    }
    return -1;
}

static int read_line(struct import *m, struct transfer *out, struct fumi_err *e)
{
    struct fumi_str line = fumi_buf_str(&m->line);
    if (m->too_long)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is longer than %d bytes", LINE_LIMIT);
    if (!fumi_utf8_valid(line))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is not UTF-8 text");
    return transfer_read(&m->a, line, out, e) || guard(m, out, e) ? -1 : 0;
}

static void report_id(const struct import *m, struct fumi_str given, struct fumi_str id)
{
    fprintf(stderr, "line %zu: the id %.*s is already in use; added under the new id %.*s\n",
            m->number, FUMI_ARG(given), FUMI_ARG(id));
}

/* Reports how the stored object differs from the line: a new id, or members that were cleaned. */
static void report(const struct import *m, struct transfer *t, enum merged what,
                   struct fumi_str given)
{
    if (what == MERGED_RENAMED)
        report_id(m, given, *id_of(t));
    if (t->cleaned.n && what <= MERGED_RENAMED)
        fprintf(stderr,
                "line %zu: added without line breaks, control characters and bidirectional "
                "controls in: %.*s\n",
                m->number, FUMI_ARG(t->cleaned));
}

/* Imports the current line; reports and counts it if it is invalid. Returns -1 and sets *e if the
 * store fails. */
static int take_line(struct import *m, struct fumi_err *e)
{
    struct transfer t;
    enum merged what;
    if (read_line(m, &t, e) == 0) {
        struct fumi_str given = *id_of(&t);
        if (merge(m, &t, &what, e) == 0) {
            m->merged[what]++;
            m->notes += t.kind == TRANSFER_NOTE && what <= MERGED_RENAMED;
            report(m, &t, what, given);
            return 0;
        }
        if (e->code != ERR_CONFLICT)
            return -1;
    }
    fprintf(stderr, "line %zu: %.*s\n", m->number, FUMI_ARG(show_line(&m->a, fumi_str(e->text))));
    m->bad++;
    return 0;
}

static int import_all(struct import *m, struct fumi_err *e)
{
    int rc = 0;
    while (!rc && next(m)) {
        if (!is_blank(fumi_buf_str(&m->line)) || m->too_long)
            rc = take_line(m, e);
        fumi_arena_reset(&m->a, KEEP);
    }
    return rc;
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
    printf(", %zu already present", m->merged[MERGED_SAME]);
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
    int rc = import_all(m, &e);
    print_counts(m);
    if (rc)
        return command_fail(STATUS_FAILED,
                            "line %zu was not imported: %s. The import stopped; %zu lines were "
                            "imported before. Import the same file again: these lines are skipped",
                            m->number, e.text, added(m));
    if (ferror(m->from))
        return command_fail(STATUS_FAILED, "the input cannot be read to its end");
    if (m->notes)
        fputs(
            "search finds the imported notes by keyword; to find them by meaning, run fumi reembed "
            "or a server, which computes their vectors\n",
            stderr);
    return m->bad ? STATUS_FAILED : STATUS_OK;
}

static int import_from(struct invocation *i, FILE *from)
{
    struct session s = {0};
    struct fumi_err e = {0};
    struct import m = {.from = from};
    int status;
    if (session_store(&s, &i->common, &e)) {
        status = command_report(&e);
    } else {
        m.store = s.store;
        m.guard = (struct guard){.a = &m.a,
                                 .mode = (enum secrets_mode)s.config.safety.memory.secrets};
        status = import_into(&m);
    }
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
            "A full disk or another database error stops the import; the same file can be "
            "imported again.",
    .words = 1,
    .writes = true,
    .run = import,
};
