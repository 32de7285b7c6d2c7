#include "app/pinned.h"

#include "app/files.h"
#include "app/show.h"
#include "base/utf8.h"
#include "model/limits.h"

#include <stdio.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 8 << 20 };

static bool is_blank(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i] || !strchr(" \t\r\n", s.p[i]))
            return false;
    return true;
}

const char *pinned_fault(struct fumi_str question)
{
    if (question.n > QUERY_MAX)
        return "must have at most 8192 bytes";
    return is_blank(question) ? "must not be blank" : NULL;
}

#define NOTE(member, ...)     FUMI_FIELD(struct pinned_note, member, #member, __VA_ARGS__)
#define QUESTION(member, ...) FUMI_FIELD(struct pinned_question, member, __VA_ARGS__)

static const struct fumi_field note_fields[] = {
    NOTE(id, "Id of the note.", .flags = FUMI_REQUIRED, .format = "uuid"),
    NOTE(rank, "Its rank when it was pinned.", .flags = FUMI_OMIT, .min = 0, .max = 1000000),
    NOTE(text, "Title or beginning of the note.", .flags = FUMI_OMIT),
};
static const struct fumi_shape note_shape = FUMI_SHAPE(struct pinned_note, note_fields);

static const struct fumi_field question_fields[] = {
    QUESTION(text, "question", "The question.", .flags = FUMI_REQUIRED, .check = pinned_fault),
    QUESTION(notes, "notes", "The notes that it must find.", .flags = FUMI_REQUIRED, .min = 1,
             .max = PINNED_NOTES_MAX, .shape = &note_shape),
    QUESTION(project, "project", "Project of the notes.", .flags = FUMI_OMIT | FUMI_NULLABLE,
             .min = 1, .max = 4096),
};
static const struct fumi_shape question_shape = FUMI_SHAPE(struct pinned_question, question_fields);

static int read_line(struct fumi_arena *a, struct fumi_str line, struct pinned_question *out,
                     struct fumi_err *e)
{
    *out = (struct pinned_question){.line = line};
    if (!fumi_utf8_valid(line))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is not UTF-8 text");
    const struct fumi_val *v = fumi_parse(a, line, e);
    if (!v)
        return -1;
    if (!fumi_is(v, FUMI_OBJECT))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line is not a JSON object");
    return fumi_bind(a, &question_shape, v, out, e);
}

/* The next line without its line break; the rest of the text stays in *text. */
static struct fumi_str take_line(struct fumi_str *text)
{
    const char *end = memchr(text->p, '\n', text->n);
    struct fumi_str line = {text->p, end ? (size_t)(end - text->p) : text->n};
    size_t n = line.n + (end != NULL);
    *text = (struct fumi_str){text->p + n, text->n - n};
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static struct pinned_question *append(struct fumi_arena *a, struct fumi_list *to)
{
    struct pinned_question *grown = fumi_alloc(a, (to->n + 1) * sizeof(*grown));
    if (to->n)
        memcpy(grown, to->items, to->n * sizeof(*grown));
    to->items = grown;
    return &grown[to->n++];
}

static size_t count_lines(struct fumi_str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static void report_line(struct fumi_arena *a, struct fumi_str path, size_t number,
                        const struct fumi_err *e)
{
    fprintf(stderr, "%.*s:%zu: %.*s\n", FUMI_ARG(path), number,
            FUMI_ARG(show_line(a, fumi_str(e->text))));
}

int pinned_read(struct fumi_arena *a, struct fumi_str path, struct pinned_file *out,
                struct fumi_err *e)
{
    struct file_text file;
    size_t bad = 0;
    *out = (struct pinned_file){.path = path};
    if (files_read(a, path, FILE_LIMIT, &file, e))
        return -1;
    out->mode = file.mode;
    struct fumi_str rest = file.text;
    struct pinned_question *to = fumi_alloc(a, count_lines(rest) * sizeof(*to));
    out->questions.items = to;
    for (size_t number = 1; rest.n; number++) {
        struct fumi_str line = take_line(&rest);
        if (is_blank(line))
            continue;
        if (read_line(a, line, &to[out->questions.n], e) == 0) {
            out->questions.n++;
            continue;
        }
        report_line(a, path, number, e);
        bad++;
    }
    if (bad)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "%zu line%s of %.*s %s invalid", bad,
                            bad == 1 ? "" : "s", FUMI_ARG(files_shown(path)),
                            bad == 1 ? "is" : "are");
    return 0;
}

int pinned_write(struct fumi_arena *a, const struct pinned_file *file, struct fumi_err *e)
{
    const struct pinned_question *q = file->questions.items;
    struct fumi_buf text = {0};
    bool changed = false;
    for (size_t i = 0; i < file->questions.n; i++) {
        changed = changed || !q[i].line.p;
        if (q[i].line.p)
            fumi_buf_add(&text, q[i].line.p, q[i].line.n);
        else
            fumi_emit(&(struct fumi_out){.buf = &text}, &question_shape, &q[i]);
        fumi_buf_put(&text, '\n');
    }
    int rc = changed ? files_write(file->path, fumi_buf_str(&text), e) : 0;
    fumi_buf_done(&text);
    /* files_write makes files private; this one belongs to a repository. */
    if (!rc && changed && chmod(files_name(a, file->path), file->mode ? file->mode : 0644))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "cannot set the permissions of %.*s",
                            FUMI_ARG(files_shown(file->path)));
    return rc;
}

struct pinned_question *pinned_find(const struct pinned_file *file, struct fumi_str text,
                                    struct fumi_str project)
{
    struct pinned_question *q = file->questions.items;
    for (size_t i = 0; i < file->questions.n; i++)
        if (fumi_eq(q[i].text, text) && fumi_eq(q[i].project, project))
            return &q[i];
    return NULL;
}

struct pinned_note *pinned_find_note(const struct pinned_question *q, struct fumi_str id)
{
    struct pinned_note *n = q->notes.items;
    for (size_t i = 0; i < q->notes.n; i++)
        if (fumi_eq(n[i].id, id))
            return &n[i];
    return NULL;
}

int pinned_add(struct fumi_arena *a, struct pinned_file *file, const struct pinned_question *q,
               struct fumi_err *e)
{
    struct pinned_question *to = pinned_find(file, q->text, q->project);
    const struct pinned_note *from = q->notes.items;
    if (!to) {
        to = append(a, &file->questions);
        *to = (struct pinned_question){.text = q->text, .project = q->project};
    }
    struct pinned_note *notes = fumi_alloc(a, (to->notes.n + q->notes.n) * sizeof(*notes));
    if (to->notes.n)
        memcpy(notes, to->notes.items, to->notes.n * sizeof(*notes));
    to->notes.items = notes;
    to->line = (struct fumi_str){0};
    for (size_t i = 0; i < q->notes.n; i++) {
        struct pinned_note *same = pinned_find_note(to, from[i].id);
        *(same ? same : &notes[to->notes.n++]) = from[i];
    }
    if (to->notes.n > PINNED_NOTES_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "a question may have at most %d notes, and this one would have %zu: "
                            "nothing was pinned",
                            PINNED_NOTES_MAX, to->notes.n);
    return 0;
}
