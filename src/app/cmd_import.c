/* fumi import: stores each line as if alone, so that an invalid line does not prevent the import of
 * the others, but many lines with one sync. If the store fails, for example because the disk is
 * full, the import stops, because all further lines would fail, too.
 *
 * Lines are collected until there are enough of them for a batch, or no more input is there: a
 * program that writes a line to a pipe and waits is not kept waiting for further lines.
 *
 * Files of other formats are converted to such lines (import_formats.h). Batches go on from file to
 * file, so that a folder of small files needs few syncs. */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/import_formats.h"
#include "app/import_line.h"
#include "app/import_successors.h"
#include "app/interrupt.h"
#include "app/session.h"
#include "app/show.h"
#include "app/transfer.h"
#include "base/utf8.h"
#include "memory/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_LIMIT = NOTE_JSON_MAX,
    KEEP = 4 << 20,
    BATCH_LINES = 256,     /* in one batch, at most */
    BATCH_BYTES = 1 << 18, /* a batch ends at this size */
    SHOWN = 5,             /* number of notes that --dry-run prints of each file */
};

struct flags {
    struct fumi_str project;
    int format;
    bool dry_run;
};

static const char *const formats[] = {
    "auto",        "jsonl",        "markdown",      "rules",          "json",       "server-memory",
    "claude-code", "basic-memory", "embedding-mcp", "memory-service", "claude-mem", "codex",
    NULL};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct flags, project, "project",
               "Project of the notes, for all formats but jsonl; that of the working directory if "
               "not given."),
    FUMI_FIELD(struct flags, format, "format", "Format of the input; auto recognises it.",
               .choices = formats, .def = "\"auto\""),
    FUMI_FIELD(struct flags, dry_run, "dry-run", "Print what would be imported; store nothing."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct flags, fields);

static const struct flag_alias aliases[] = {
    {"p", "project"},
    {"f", "format"},
    COMMAND_ALIASES,
};

/* A line of the batch. */
struct line {
    struct import_line at;
    struct transfer t;
    struct fumi_err e; /* code 0: the line is valid */
};

struct import {
    struct session *session;
    const struct flags *flags;
    struct fumi_arena *names; /* of paths; outlives the batches */
    struct store *store;      /* NULL: --dry-run */
    struct author by;
    struct fumi_str project;            /* of files that name none; null: not known yet */
    struct fumi_str root, base;         /* paths are shown relative to these: see shown_path */
    const struct import_format *format; /* given by the user; NULL: recognised */
    int from;
    struct fumi_str file;      /* that is read; null: standard input */
    struct fumi_str previewed; /* by --dry-run: the file, */
    size_t shown;              /* and the number of its notes */
    size_t files;              /* number of files that were opened */
    size_t unread;             /* number of files and folders that could not be read */
    char buf[1 << 16];         /* input */
    size_t at, end;            /* of the rest of it */
    bool over;                 /* end of the input, or an error */
    int failed;                /* errno of that error; 0: none */
    struct fumi_buf text;
    bool too_long; /* the line is too long and is not imported */
    size_t number; /* of the current line */
    struct import_line failed_at;
    struct line lines[BATCH_LINES];
    struct merge_row rows[BATCH_LINES]; /* of the valid lines */
    size_t n, bytes;                    /* of the batch */
    size_t merged[MERGED_EQUAL + 1];    /* number of lines, by result */
    size_t notes;                       /* number of notes added */
    size_t bad;
    struct fumi_arena a; /* of the batch */
    struct guard guard;
    struct import_successors successors;
    struct progress bar;
    bool json;
    int64_t size, read; /* bytes of the file in the format jsonl; 0: not known */
    int64_t taken;      /* lines, of all files */
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
        fprintf(stderr,
                IMPORT_LINE ": the id %.*s is already in use; added under the new id %.*s\n",
                IMPORT_LINE_ARG(l->at), FUMI_ARG(id_of(&given)), FUMI_ARG(id_of(r)));
    }
    if (l->t.cleaned.n && r->outcome <= MERGED_RENAMED) {
        fprintf(stderr,
                IMPORT_LINE ": added without line breaks, control characters and bidirectional "
                            "controls in: %.*s\n",
                IMPORT_LINE_ARG(l->at), FUMI_ARG(l->t.cleaned));
    }
}

/* Reports and counts a line that is invalid, or that a stored row contradicts. */
static void reject(struct import *m, const struct line *l, const struct fumi_err *e)
{
    fprintf(stderr, IMPORT_LINE ": %.*s\n", IMPORT_LINE_ARG(l->at),
            FUMI_ARG(show_line(&m->a, fumi_str(e->text))));
    m->bad++;
}

/* Ends the list of the notes of a file. */
static void end_preview(struct import *m)
{
    if (m->shown > SHOWN)
        printf("  and %zu more\n", m->shown - SHOWN);
    m->shown = 0;
}

/* Prints the first notes of a file. */
static void preview(struct import *m, const struct line *l, const struct merge_row *r)
{
    const struct note *n = &r->note;
    bool same = fumi_eq(m->previewed, l->at.file);
    if (m->json)
        return;
    if (!same) {
        end_preview(m);
        printf("%.*s:\n", FUMI_ARG(l->at.file));
    }
    m->shown++;
    m->previewed = l->at.file;
    if (r->kind != MERGE_NOTE || m->shown > SHOWN)
        return;
    printf("  line %zu: ", l->at.number);
    if (n->title.n)
        printf("%.*s | ", FUMI_ARG(show_cut(show_line(&m->a, n->title), 40)));
    printf("%.*s\n", FUMI_ARG(show_cut(show_line(&m->a, n->text), 60)));
}

static void accept(struct import *m, const struct line *l, const struct merge_row *r)
{
    if (m->store && r->kind == MERGE_NOTE)
        import_keep_successor(&m->successors, l->at, &l->t.note, &r->note);
    m->merged[r->outcome]++;
    m->notes += r->kind == MERGE_NOTE && r->outcome <= MERGED_RENAMED;
    if (m->store)
        report(l, r);
    else
        preview(m, l, r);
}

/* Reports on the lines in their order. Returns -1 with *e set and m->failed_at set to the first
 * line that was not stored because the store failed. */
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
            m->failed_at = l->at;
            *e = r->e;
            return -1;
        }
        r++;
    }
    return 0;
}

/* The number of lines is estimated from the length of those that were read. */
static void show_progress(struct import *m)
{
    int64_t total = m->size > 0 && m->read > 0 && m->number
                        ? m->taken + (int64_t)((double)m->number * (double)(m->size - m->read) /
                                               (double)m->read)
                        : 0;
    progress_at(&m->bar, m->taken, total);
}

/* Stores the batch, which is then empty. */
static int flush(struct import *m, struct fumi_err *e)
{
    size_t rows = 0;
    m->taken += (int64_t)m->n;
    show_progress(m);
    for (size_t i = 0; i < m->n; i++)
        if (!m->lines[i].e.code)
            m->rows[rows++] = row_of(&m->lines[i].t);
    if (m->store)
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
    *l = (struct line){.at = {m->file, m->number}};
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
    while (n < 0 && errno == EINTR && !interrupted());
    m->failed = n < 0 && !interrupted() ? errno : 0;
    m->read += n > 0 ? n : 0;
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
    while ((more = next(m, e)) > 0 && !interrupted()) {
        if (!is_blank(fumi_buf_str(&m->text)) || m->too_long)
            take_line(m);
        if ((m->n == BATCH_LINES || m->bytes >= BATCH_BYTES) && flush(m, e))
            return -1;
    }
    return more;
}

static int take_converted(void *to, const struct import_file *f, size_t number,
                          struct fumi_str json, const char *fault, struct fumi_err *e)
{
    struct import *m = to;
    m->file = f->shown;
    m->number = number;
    m->text.n = 0;
    fumi_buf_add(&m->text, json.p, json.n);
    take_line(m);
    if (fault) {
        m->lines[m->n - 1].e = (struct fumi_err){0};
        fumi_err_set(&m->lines[m->n - 1].e, FUMI_INVALID_PARAMS, "%s", fault);
    }
    if (interrupted())
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "interrupted");
    return m->n == BATCH_LINES || m->bytes >= BATCH_BYTES ? flush(m, e) : 0;
}

/* Reports a file or folder that cannot be read. The import goes on with the next one. */
static int skip(struct import *m, struct fumi_str path, const char *why)
{
    command_fail(STATUS_FAILED, "cannot import %.*s: %s", FUMI_ARG(path), why);
    m->unread++;
    return 0;
}

/* The path relative to the repository or the working directory, else to the folder that contains
 * what the user named. */
static struct fumi_str shown_path(struct import *m, struct fumi_str path)
{
    const struct fumi_str under[] = {m->root, m->base};
    for (size_t i = 0; i < FUMI_COUNT(under); i++) {
        size_t n = under[i].n;
        if (n && path.n > n + 1 && fumi_starts(path, under[i]) && path.p[n] == '/')
            return (struct fumi_str){path.p + n + 1, path.n - n - 1};
    }
    return path;
}

static int find_project(struct import *m, struct fumi_err *e)
{
    struct place here;
    if (m->project.p)
        return 0;
    if (session_place(m->session, m->names, m->flags->project, &here, e))
        return -1;
    if (m->store)
        session_tell_place(m->session, &here);
    m->project = here.project;
    return 0;
}

static int convert(struct import *m, const struct import_format *format, struct fumi_str path,
                   size_t size, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct file_text text = {0};
    struct fumi_err bad = {0};
    int rc = 0;
    if (find_project(m, e))
        return -1;
    struct import_file f = {.a = &a,
                            .path = path,
                            .shown = shown_path(m, path),
                            .project = m->project,
                            .one_project = m->flags->project.n > 0,
                            .take = take_converted,
                            .to = m};
    if (format->database)
        rc = format->read(&f, e);
    else if (files_read(&a, path, size < IMPORT_FILE_MAX ? size : IMPORT_FILE_MAX, &text, &bad))
        rc = skip(m, path, bad.text);
    else if (!fumi_utf8_valid(text.text))
        rc = skip(m, path, "the file is not UTF-8 text");
    else {
        f.text = text.text;
        rc = format->read(&f, e);
    }
    fumi_arena_done(&a);
    return rc;
}

static int read_transfer(struct import *m, int from, struct fumi_str name, struct fumi_err *e)
{
    if (m->flags->project.n)
        return skip(m, name, "each line of jsonl names its project: leave out --project");
    struct stat st;
    m->from = from;
    m->file = name;
    m->over = false;
    m->number = m->at = m->end = 0;
    m->read = 0;
    m->size = fstat(from, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    int rc = import_all(m, e);
    m->size = 0;
    if (!rc && m->failed)
        return skip(m, name, strerror(m->failed));
    return rc;
}

static const struct import_format *format_of(struct import *m, int fd, const struct stat *st,
                                             struct fumi_str path)
{
    char start[IMPORT_START];
    ssize_t n = S_ISREG(st->st_mode) ? pread(fd, start, sizeof(start), 0) : -1;
    if (m->format)
        return m->format;
    if (n < 0 || (!n && !import_is_markdown(path)))
        return &import_formats[IMPORT_JSONL];
    return import_recognise(path, (struct fumi_str){start, (size_t)n});
}

static int skip_unknown(struct import *m, int fd, struct fumi_str path)
{
    struct fumi_err e = {0};
    bool bad = import_database_fault(fd, path, &e);
    return skip(m, path, bad ? e.text : "its format is not recognised: name it with --format");
}

static int import_file(struct import *m, struct fumi_str path, struct fumi_err *e)
{
    struct stat st;
    int fd = open(files_name(m->names, path), O_RDONLY | O_CLOEXEC), rc;
    if (fd < 0 || fstat(fd, &st)) {
        rc = skip(m, path, strerror(errno));
    } else {
        const struct import_format *format = format_of(m, fd, &st, path);
        m->files++;
        if (!format)
            rc = skip_unknown(m, fd, path);
        else if (!format->read)
            rc = read_transfer(m, fd, shown_path(m, path), e);
        else
            rc = convert(m, format, path, (size_t)st.st_size, e);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

static int import_found(void *to, struct fumi_str path, struct fumi_err *e)
{
    return import_file(to, path, e);
}

static void skip_found(void *to, struct fumi_str path, const char *why)
{
    skip(to, path, why);
}

static int import_path(struct import *m, struct fumi_str given, struct fumi_err *e)
{
    struct stat st;
    if (fumi_eq(given, FUMI_STR("-"))) {
        if (m->format && m->format->read)
            return skip(m, given, "standard input must be jsonl: for other formats, name a file");
        return read_transfer(m, STDIN_FILENO, (struct fumi_str){0}, e);
    }
    if (stat(files_name(m->names, given), &st))
        return skip(m, given, strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) /* a pipe has no canonical path */
        return import_file(m, given, e);
    char *real = realpath(files_name(m->names, given), NULL);
    if (!real)
        return skip(m, given, strerror(errno));
    struct fumi_str path = fumi_fmt(m->names, "%s", real);
    free(real);
    m->base = files_dir(m->names, path);
    if (!S_ISDIR(st.st_mode))
        return import_file(m, path, e);
    size_t before = m->files + m->unread;
    const struct import_walk walk = {m->names, import_found, skip_found, m};
    int rc = import_folder(&walk, path, IMPORT_DEPTH, e);
    if (!rc && m->files + m->unread == before)
        return skip(m, given, "the folder has no Markdown files: name other files themselves");
    return rc;
}

static size_t added(const struct import *m)
{
    return m->merged[MERGED_ADDED] + m->merged[MERGED_RENAMED];
}

struct import_result {
    int64_t added, renamed, present, older, bad, unread;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct import_result, added, "added",
               "What was added; with --dry-run what would be."),
    FUMI_FIELD(struct import_result, renamed, "renamed", "Of these, what got a new id."),
    FUMI_FIELD(struct import_result, present, "present", "What was there already."),
    FUMI_FIELD(struct import_result, older, "older", "Globals whose stored value is newer."),
    FUMI_FIELD(struct import_result, bad, "bad", "Lines and notes that are invalid."),
    FUMI_FIELD(struct import_result, unread, "unread", "Files that could not be read."),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct import_result, result_fields);

static void print_counts_json(const struct import *m)
{
    const struct import_result r = {
        .added = (int64_t)added(m),
        .renamed = (int64_t)m->merged[MERGED_RENAMED],
        .present = (int64_t)(m->merged[MERGED_SAME] + m->merged[MERGED_EQUAL]),
        .older = (int64_t)m->merged[MERGED_OLDER],
        .bad = (int64_t)m->bad,
        .unread = (int64_t)m->unread};
    notes_print_struct(m->names, &result_shape, &r);
}

static void print_counts(const struct import *m)
{
    printf(m->store ? "%zu added" : "%zu would be imported", added(m));
    if (m->merged[MERGED_RENAMED])
        printf(" (%zu under new ids)", m->merged[MERGED_RENAMED]);
    if (m->store)
        printf(", %zu already present", m->merged[MERGED_SAME] + m->merged[MERGED_EQUAL]);
    if (m->merged[MERGED_OLDER])
        printf(", %zu not newer than the stored value", m->merged[MERGED_OLDER]);
    printf(", %zu bad\n", m->bad);
}

static void print_warning(const struct import *m)
{
    struct fumi_str warning = guard_warning(&m->guard, (struct fumi_str){0});
    if (warning.n)
        fprintf(stderr, "warning: %.*s\n", FUMI_ARG(warning));
}

static int fail_at(const struct import *m, const struct fumi_err *e)
{
    if (!m->failed_at.number)
        return command_report(e);
    return command_fail(STATUS_FAILED,
                        IMPORT_LINE
                        " was not imported: %s. The import stopped; %zu lines were "
                        "imported before. Import the same file again: these lines are skipped",
                        IMPORT_LINE_ARG(m->failed_at), e->text, added(m));
}

static int import_words(struct import *m, struct fumi_strs words)
{
    struct fumi_str standard_input = FUMI_STR("-");
    struct fumi_err e = {0};
    int rc = 0;
    if (!words.n)
        words = (struct fumi_strs){&standard_input, 1};
    progress_begin(&m->bar, "import", "lines", 0, 0);
    for (size_t i = 0; i < words.n && !rc && !interrupted(); i++)
        rc = import_path(m, words.items[i], &e);
    if (!rc || interrupted())
        rc = flush(m, &e) ||
             import_set_successors(&m->successors, m->store, &m->by, &m->failed_at, &e);
    progress_end(&m->bar);
    end_preview(m);
    (m->json ? print_counts_json : print_counts)(m);
    print_warning(m);
    if (rc)
        return fail_at(m, &e);
    if (interrupted())
        return interrupt_status("import the same again for the rest; what is stored is skipped");
    if (m->notes && m->store)
        show_import_hint();
    return m->bad || m->unread ? STATUS_FAILED : STATUS_OK;
}

/* Prepares what the formats need: a dry run opens no database. */
static int open_session(struct import *m, struct invocation *i, struct fumi_err *e)
{
    struct session *s = m->session;
    struct place here = {0};
    struct fumi_err ignored = {0};
    if (m->flags->dry_run ? session_config(s, &i->common, false, e)
                          : session_store(s, &i->common, e))
        return -1;
    m->store = s->store;
    m->by = session_author(s);
    m->guard = (struct guard){.a = &m->a,
                              .mode = (enum secrets_mode)s->config.safety.memory.secrets};
    if (!session_place(s, i->a, (struct fumi_str){0}, &here, &ignored))
        m->root = here.root.n ? here.root : here.path;
    return 0;
}

static int import(struct invocation *i)
{
    const struct flags *f = i->flags;
    struct session s = {0};
    struct fumi_err e = {0};
    struct import *m = fumi_resize(NULL, sizeof(*m));
    interrupt_catch();
    memset(m, 0, sizeof(*m));
    m->names = i->a;
    m->session = &s;
    m->flags = f;
    m->json = i->json;
    for (size_t k = 0; k < IMPORT_FORMATS; k++)
        if (strcmp(import_formats[k].name, formats[f->format]) == 0)
            m->format = &import_formats[k];
    int status = open_session(m, i, &e) ? command_report(&e) : import_words(m, i->words);
    fumi_buf_done(&m->text);
    fumi_arena_done(&m->a);
    import_successors_done(&m->successors);
    fumi_resize(m, 0);
    session_close(&s);
    return status;
}

const struct command command_import = {
    .name = "import",
    .usage = "[PATH...]",
    .help = "Imports notes from the output of export, Markdown, and files of other programs.",
    .more =
        "A PATH is a file, or a folder whose Markdown files are imported. Without PATH, "
        "standard input is read. Formats: jsonl (the output of export; lines have projects, "
        "ids and times, which are kept), markdown (front matter, #tags, and a note for each "
        "of several ## headings), rules (CLAUDE.md, AGENTS.md, GEMINI.md: a note with the tag "
        "rule for each list item and section), server-memory (the file of the MCP reference "
        "server), json (an array of notes, or the results of mem0), claude-code (its auto memory), "
        "codex (MEMORY.md), basic-memory, and the databases of embedding-mcp, memory-service "
        "and claude-mem, whose notes keep their projects unless --project is given. Notes that "
        "exist already are skipped, so an interrupted import can be repeated. If an id already "
        "belongs to "
        "something else, such as a note of another project, the note is added under a new id, "
        "which is printed. Of a global, the newer value is kept. Line breaks and control "
        "characters in titles, tags, sources and project names are removed and reported. "
        "Files and lines that are invalid, or whose note or group exists with different "
        "content, are reported and not imported; the exit status is then 1. A superseded "
        "note whose successor is not there becomes current. A full disk or another database "
        "error stops the import.",
    .shape = &shape,
    .aliases = aliases,
    .words = ANY_WORDS,
    .writes = true,
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = import,
};
