/* fumi watch: prints the changes of the store, by any process, as they happen. The change number of
 * the store tells that there are new ones; the history says what they are. */
#include "app/cli_notes.h"
#include "app/interrupt.h"
#include "app/session.h"
#include "app/show.h"
#include "app/terminal.h"

#include <inttypes.h>
#include <poll.h>

enum { CHECK_MS = 200, PAGE = 200, KEEP = 1 << 20 };

struct watch {
    struct invocation *i;
    struct session s;
    struct fumi_str project; /* null: all */
    int64_t number;          /* change number of the store */
    int64_t last;            /* number of the last change that was printed */
    struct fumi_arena a;     /* of one check */
};

static int64_t change_of(const struct fumi_val *item)
{
    int64_t n = 0;
    fumi_int(fumi_get(item, "change"), &n);
    return n;
}

/* One page of the history, newest first. */
static int read_page(struct watch *w, int64_t limit, struct fumi_str cursor,
                     const struct fumi_val **result, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    notes_put(&o, "projectId", w->project);
    notes_put(&o, "cursor", cursor);
    fumi_put_key(&o, "limit");
    fumi_put_int(&o, limit);
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, &w->a)};
    return session_ask(&w->s, &w->a, "memory.history", json, result, e);
}

/* The beginning of the text of a note, or its title; empty if the note is gone. */
static struct fumi_str caption(struct watch *w, struct fumi_str id)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *note = NULL;
    struct fumi_err ignored = {0};
    fumi_put_open(&o, '{');
    notes_put(&o, "id", id);
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, &w->a)};
    if (session_ask(&w->s, &w->a, "memory.get", json, &note, &ignored))
        return FUMI_STR("");
    struct fumi_str title = show_line(&w->a, fumi_text(&w->a, fumi_get(note, "title")));
    return title.n ? title : show_line(&w->a, fumi_text(&w->a, fumi_get(note, "text")));
}

static void print_text(struct watch *w, const struct fumi_val *item)
{
    struct fumi_arena *a = &w->a;
    struct fumi_str op = fumi_text(a, fumi_get(item, "op"));
    struct fumi_str id = show_line(a, fumi_text(a, fumi_get(item, "id")));
    size_t columns = terminal_columns(stdout);
    bool note = fumi_eq(op, FUMI_STR("add")) || fumi_eq(op, FUMI_STR("update"));
    struct fumi_str what = note ? caption(w, id) : FUMI_STR("");
    printf("%.*s  %s%-8.*s%s  %.*s", FUMI_ARG(notes_minute(a, fumi_get(item, "at"))),
           show_style(stdout, SHOW_BOLD), FUMI_ARG(op), show_style(stdout, SHOW_PLAIN),
           FUMI_ARG(id));
    notes_print_author(a, fumi_get(item, "by"));
    if (!w->project.p)
        printf("  %.*s", FUMI_ARG(show_line(a, fumi_text(a, fumi_get(item, "projectId")))));
    if (what.n)
        printf("\n    %.*s", FUMI_ARG(show_cut(what, columns ? columns - 4 : 60)));
    putchar('\n');
}

static void print_item(struct watch *w, const struct fumi_val *item)
{
    if (!w->i->json)
        print_text(w, item);
    else
        printf("%.*s\n", FUMI_ARG(show_escaped(&w->a, fumi_compact(&w->a, item).text)));
}

/* Prints the changes after w->last, oldest first. */
static int print_new(struct watch *w, struct fumi_err *e)
{
    const struct fumi_val **found = NULL, *result;
    struct fumi_str cursor = {0};
    size_t n = 0;
    bool more = true;
    while (more) {
        if (read_page(w, PAGE, cursor, &result, e)) {
            fumi_resize(found, 0);
            return -1;
        }
        const struct fumi_val *items = fumi_get(result, "items");
        cursor = fumi_text(&w->a, fumi_get(result, "nextCursor"));
        more = cursor.n;
        found = fumi_resize(found, (n + fumi_size(items) + 1) * sizeof(*found));
        for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v)) {
            more = more && change_of(v) > w->last;
            if (change_of(v) > w->last)
                found[n++] = v;
        }
    }
    for (size_t k = n; k > 0; k--)
        print_item(w, found[k - 1]);
    if (n)
        w->last = change_of(found[0]);
    fumi_resize(found, 0);
    fflush(stdout);
    return 0;
}

/* Changes before this moment are not printed. */
static int begin(struct watch *w, struct fumi_err *e)
{
    const struct fumi_val *result;
    struct fumi_str none = {0};
    if (store_change_number(memory_store(w->s.memory), &w->number, e) ||
        read_page(w, 1, none, &result, e))
        return -1;
    w->last = change_of(fumi_first(fumi_get(result, "items")));
    fputs("watching; press Ctrl-C to stop\n", stderr);
    return 0;
}

static int watch_all(struct watch *w, struct fumi_err *e)
{
    if (begin(w, e))
        return -1;
    while (!interrupted() && !ferror(stdout)) {
        int64_t number;
        fumi_arena_reset(&w->a, KEEP);
        if (store_change_number(memory_store(w->s.memory), &number, e) ||
            (number != w->number && print_new(w, e)))
            return -1;
        w->number = number;
        poll(NULL, 0, CHECK_MS);
    }
    return 0;
}

struct watch_flags {
    struct fumi_str project;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct watch_flags, project, "project",
               "Only changes of this project; of all projects if not given."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct watch_flags, fields);
static const struct flag_alias aliases[] = {{"p", "project"}, COMMAND_ALIASES};

static int watch(struct invocation *i)
{
    const struct watch_flags *f = i->flags;
    struct watch w = {.i = i, .s = {.existing = true, .short_ids = !i->json}};
    struct fumi_err e = {0};
    interrupt_catch();
    if (i->json)
        terminal_data();
    int rc = session_open(&w.s, &i->common, &e) ||
             (f->project.p && session_project(&w.s, i->a, f->project, &w.project, &e)) ||
             watch_all(&w, &e);
    session_close(&w.s);
    fumi_arena_done(&w.a);
    if (rc)
        return command_report(&e);
    return interrupted() ? interrupt_status(NULL) : STATUS_FAILED; /* main() reports stdout */
}

const struct command command_watch = {
    .name = "watch",
    .usage = "",
    .help = "Prints changes of the memory as they happen, until Ctrl-C.",
    .more = "A line says when, what was done, the id, and by whom; below an added or changed note "
            "is the beginning of its text. With --json, each line is one item of memory.history.",
    .shape = &shape,
    .aliases = aliases,
    .output = OUTPUT_JSON,
    .prints = "For each change one line: an item of the result of `memory.history`.",
    .run = watch,
};
