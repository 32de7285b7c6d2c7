/* fumi export: writes all projects or one, as JSON lines or as Markdown. */
#include "app/interrupt.h"
#include "app/session.h"
#include "app/show.h"
#include "app/transfer.h"
#include "base/clock.h"

#include <unistd.h>

enum { PAGE = 256, KEEP = 4 << 20 };

struct flags {
    struct fumi_str project, group;
    int format;
};

static const char *const formats[] = {"jsonl", "markdown", NULL};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct flags, project, "project", "Project to export; all projects if not given."),
    FUMI_FIELD(struct flags, group, "group", "Export only the notes of this group of the project."),
    FUMI_FIELD(struct flags, format, "format", "Output format.", .choices = formats,
               .def = "\"jsonl\""),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct flags, fields);

static const struct flag_alias aliases[] = {
    {"p", "project"},
    {"g", "group"},
    {"f", "format"},
    COMMAND_ALIASES,
};

struct export
{
    struct store *store;
    struct filter filter; /* project is null: all projects */
    bool markdown;
    struct fumi_arena kept; /* project names */
    struct fumi_strs projects;
    struct fumi_str heading; /* project of the previous note */
    int64_t notes, groups, globals;
    struct progress bar;
    int64_t total;   /* notes; 0: not known */
    bool incomplete; /* something could not be exported */
};

/* Control characters are escaped if standard output is a terminal. */
static void write_line(const struct transfer *t)
{
    struct fumi_arena a = {0};
    struct fumi_buf line = {0};
    transfer_write(&line, t);
    struct fumi_str text = fumi_buf_str(&line);
    if (isatty(1))
        text = show_escaped(&a, text);
    printf("%.*s\n", FUMI_ARG(text));
    fumi_buf_done(&line);
    fumi_arena_done(&a);
}

static void write_markdown(struct export *x, struct fumi_arena *a, const struct note *n)
{
    char time[FUMI_TIME_SIZE];
    struct fumi_str title = show_line(a, n->title);
    fumi_time_write(n->created.ms, time);
    if (!x->heading.p || !fumi_eq(x->heading, n->project)) {
        x->heading = fumi_dup(&x->kept, n->project);
        printf("# %.*s\n\n", FUMI_ARG(show_line(a, n->project)));
    }
    printf("## %.*s\n\n", FUMI_ARG(title.n ? title : n->id));
    printf("- id: %.*s\n- group: %.*s\n- created: %.*s\n", FUMI_ARG(n->id), FUMI_ARG(n->group),
           FUMI_TIME_SIZE, time);
    for (size_t i = 0; i < n->tags.n; i++)
        printf("%s%.*s%s", i ? ", " : "- tags: ", FUMI_ARG(show_line(a, n->tags.items[i])),
               i + 1 == n->tags.n ? "\n" : "");
    if (n->session.n)
        printf("- session: %.*s\n", FUMI_ARG(show_line(a, n->session)));
    if (n->source.n)
        printf("- source: %.*s\n", FUMI_ARG(show_line(a, n->source)));
    if (n->metadata.text.n)
        printf("- metadata: `%.*s`\n", FUMI_ARG(note_line(a, show_escaped(a, n->metadata.text))));
    printf("\n%.*s\n\n", FUMI_ARG(show_lines(a, n->text)));
}

static void add_project(struct export *x, struct fumi_str project)
{
    struct fumi_strs *p = &x->projects;
    for (size_t i = p->n; i > 0; i--) {
        if (fumi_eq(p->items[i - 1], project))
            return;
    }
    p->items = fumi_resize(p->items, (p->n + 1) * sizeof(*p->items));
    p->items[p->n++] = fumi_dup(&x->kept, project);
}

static int write_notes(struct export *x, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    const struct filter *f = x->filter.project.p ? &x->filter : NULL;
    struct notes page;
    int64_t after = 0;
    int rc;
    do {
        page = (struct notes){0};
        rc = store_list_by_seq(x->store, &a, f, after, PAGE, &page, e);
        for (size_t i = 0; !rc && i < page.n; i++) {
            add_project(x, page.items[i].project);
            if (x->markdown)
                write_markdown(x, &a, &page.items[i]);
            else
                write_line(&(struct transfer){.kind = TRANSFER_NOTE, .note = page.items[i]});
            after = page.items[i].seq;
            x->notes++;
        }
        fumi_arena_reset(&a, KEEP);
        progress_at(&x->bar, x->notes, x->total);
    } while (!rc && page.n && !interrupted());
    fumi_arena_done(&a);
    return rc;
}

/* Writes the groups and globals of a project; null: of all projects. A group without an id exists
 * only in notes; importing the notes restores it, so it is omitted. */
static int write_groups(struct export *x, struct fumi_arena *a, struct fumi_str project,
                        struct fumi_err *e)
{
    struct groups groups = {0};
    struct globals globals = {0};
    struct fumi_str any = {0};
    const struct loading to = {.arena = a};
    if (store_list_groups(x->store, &to, project, &groups, e) ||
        store_list_globals(x->store, &to, project, any, &globals, e))
        return -1;
    for (size_t i = 0; i < groups.n; i++) {
        if (!groups.items[i].id.p)
            continue;
        write_line(&(struct transfer){.kind = TRANSFER_GROUP, .group = groups.items[i]});
        x->groups++;
    }
    for (size_t i = 0; i < globals.n; i++, x->globals++)
        write_line(&(struct transfer){.kind = TRANSFER_GLOBAL, .global = globals.items[i]});
    return 0;
}

/* Compares the counts of the store with the number of exported rows, and reports rows that were not
 * exported: damaged notes, and groups and globals of projects without notes. */
static int check(struct export *x, struct fumi_err *e)
{
    struct store_stats stats;
    if (x->filter.project.p || x->markdown)
        return 0;
    if (store_stats(x->store, &stats, e))
        return -1;
    int64_t notes = stats.notes - x->notes;
    int64_t others = stats.groups - x->groups + stats.globals - x->globals;
    x->incomplete = notes > 0 || others > 0;
    if (notes > 0)
        fprintf(stderr, "error: %lld notes are damaged and were not exported: run fumi doctor\n",
                (long long)notes);
    if (others > 0)
        fprintf(
            stderr,
            "error: %lld groups and globals of projects without notes were not exported: export "
            "them with --project\n",
            (long long)others);
    return 0;
}

/* Lists all projects at once. If the store returns nothing, lists each project that has notes. */
static int write_all_groups(struct export *x, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = write_groups(x, &a, x->filter.project, e);
    bool done = x->filter.project.p || x->groups || x->globals;
    for (size_t i = 0; !rc && !done && i < x->projects.n; i++)
        rc = write_groups(x, &a, x->projects.items[i], e);
    fumi_arena_done(&a);
    return rc;
}

static int write_everything(struct export *x, struct fumi_err *e)
{
    struct store_stats stats;
    if (!x->filter.project.p && store_stats(x->store, &stats, e) == 0)
        x->total = stats.notes;
    if (!isatty(1)) /* the notes themselves show the progress */
        progress_begin(&x->bar, "export", "notes", 0, x->total);
    int rc = write_notes(x, e);
    progress_end(&x->bar);
    if (rc || interrupted())
        return rc;
    if (!x->markdown && !x->filter.group.p && write_all_groups(x, e))
        return -1;
    return check(x, e);
}

static int export(struct invocation *i)
{
    const struct flags *f = i->flags;
    struct session s = {0};
    struct fumi_err e = {0};
    struct export x = {.markdown = f->format == 1};
    x.filter = (struct filter){
        .group = f->group, .since = INT64_MIN, .until = INT64_MAX, .superseded = true};
    if (i->json && x.markdown)
        return command_misuse(i, "--json is the format jsonl, not markdown: give one of them");
    if (f->group.n && !f->project.n)
        return command_misuse(i, "--group needs --project");
    interrupt_catch();
    int rc = session_old_store(&s, &i->common, &e);
    x.store = s.store;
    if (!rc && f->project.n)
        rc = session_project(&s, i->a, f->project, &x.filter.project, &e);
    if (!rc)
        rc = write_everything(&x, &e);
    session_close(&s);
    fumi_resize(x.projects.items, 0);
    fumi_arena_done(&x.kept);
    if (rc)
        return command_report(&e);
    if (interrupted())
        return interrupt_status(
            fumi_fmt(i->a, "%lld notes were written, not all", (long long)x.notes).p);
    if (f->project.n && !(x.notes + x.groups + x.globals))
        fprintf(stderr, "nothing is stored in the %s\n",
                f->group.n ? "group" : "project: fumi projects lists all");
    return x.incomplete ? STATUS_FAILED : STATUS_OK;
}

const struct command command_export = {
    .name = "export",
    .usage = "",
    .help = "Writes notes, groups and globals to standard output.",
    .more = "jsonl is the format that import reads: one JSON object per line, whose kind "
            "is note, group or global. Vectors are not exported. markdown contains only "
            "the notes. The exit status is 1 if something could not be exported.",
    .shape = &shape,
    .aliases = aliases,
    .output = OUTPUT_LINES,
    .prints = "One object per line, as without `--json`: what `fumi import` reads.",
    .run = export,
};
