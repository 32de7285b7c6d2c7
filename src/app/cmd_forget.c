/* fumi forget */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/session.h"
#include "app/show.h"

#include <inttypes.h>
#include <unistd.h>

struct forget_flags {
    struct fumi_time unused_since;
    struct fumi_str project;
    bool dry_run, copies;
};

#define FIELD(member, wire, ...) FUMI_FIELD(struct forget_flags, member, wire, __VA_ARGS__)
static const struct fumi_field fields[] = {
    FIELD(unused_since, "unusedSince",
          "Forget the notes of the project that were created before this time and that no agent "
          "has used since then."),
    FIELD(project, "project",
          "Project for --unused-since; the project of the working directory if not given."),
    FIELD(dry_run, "dryRun", "Only list the notes."),
    FIELD(copies, "copies", "Also delete the copies of the database that migrations have made."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct forget_flags, fields);

static const struct flag_alias aliases[] = {{"p", "project"}, {"f", "format"}, COMMAND_ALIASES};

static int find_unused(struct invocation *i, struct session *s, const struct fumi_val **items,
                       struct fumi_err *e)
{
    const struct forget_flags *f = i->flags;
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct fumi_str project;
    const struct fumi_val *result;
    char since[FUMI_TIME_SIZE];
    if (session_project(s, i->a, f->project, &project, e))
        return -1;
    fumi_put_open(&o, '{');
    notes_put(&o, "projectId", project);
    fumi_time_write(f->unused_since.ms, since);
    notes_put(&o, "since", (struct fumi_str){since, FUMI_TIME_SIZE});
    fumi_put_key(&o, "limit");
    fumi_put_int(&o, FORGET_MAX);
    fumi_put_close(&o, '}');
    if (session_ask(s, i->a, "memory.unused", (struct fumi_json){fumi_buf_keep(&params, i->a)},
                    &result, e))
        return -1;
    *items = fumi_get(result, "items");
    return 0;
}

static void print_unused(struct fumi_arena *a, const struct fumi_val *items)
{
    for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v)) {
        struct fumi_str text = show_line(a, fumi_text(a, fumi_get(v, "text")));
        printf("%.*s  %.*s  %.*s\n", FUMI_ARG(show_line(a, fumi_text(a, fumi_get(v, "id")))),
               FUMI_ARG(notes_time(a, fumi_get(v, "createdAt"))), FUMI_ARG(show_cut(text, 60)));
    }
}

static bool confirmed(size_t n)
{
    char answer[16] = "";
    if (!isatty(0) || !isatty(1))
        return true;
    printf("Erase %zu notes for good? [y/N] ", n);
    fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int forget_all(struct invocation *i, struct session *s, const struct fumi_strs *ids,
                      const struct fumi_val **result, struct fumi_err *e)
{
    const struct forget_flags *f = i->flags;
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "ids");
    fumi_put_open(&o, '[');
    for (size_t k = 0; k < ids->n; k++)
        fumi_put_str(&o, ids->items[k]);
    fumi_put_close(&o, ']');
    fumi_put_key(&o, "copies");
    fumi_put_bool(&o, f->copies);
    fumi_put_close(&o, '}');
    return session_ask(s, i->a, "memory.forget", (struct fumi_json){fumi_buf_keep(&params, i->a)},
                       result, e);
}

static void print_paths(struct fumi_arena *a, const struct fumi_val *paths, const char *what)
{
    for (const struct fumi_val *v = fumi_first(paths); v; v = fumi_after(paths, v))
        printf("%s %.*s\n", what, FUMI_ARG(show_line(a, fumi_text(a, v))));
}

static void print_forgotten(struct invocation *i, const struct fumi_val *result)
{
    int64_t n = 0;
    if (i->json) {
        notes_print_result(result);
        return;
    }
    if (fumi_int(fumi_get(result, "notes"), &n) && n)
        printf("%" PRId64 " forgotten.\n", n);
    else if (!fumi_first(fumi_get(result, "removed")))
        puts("No copies of migrations are left.");
    print_paths(i->a, fumi_get(result, "removed"), "deleted:");
    print_paths(i->a, fumi_get(result, "copies"), "may still contain the text:");
}

static struct fumi_strs ids_of(struct fumi_arena *a, const struct fumi_val *items)
{
    struct fumi_strs ids = {fumi_alloc(a, (fumi_size(items) + 1) * sizeof(*ids.items)), 0};
    for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v))
        ids.items[ids.n++] = fumi_text(a, fumi_get(v, "id"));
    return ids;
}

/* Lists the unused notes and, if they are to be forgotten, sets *ids. */
static int choose_unused(struct invocation *i, struct session *s, struct fumi_strs *ids,
                         struct fumi_err *e)
{
    const struct forget_flags *f = i->flags;
    const struct fumi_val *items = NULL;
    if (find_unused(i, s, &items, e))
        return -1;
    if (i->json && f->dry_run)
        notes_print_result(items);
    else if (!i->json)
        print_unused(i->a, items);
    if (!fumi_first(items) && !i->json)
        puts("No such notes.");
    if (fumi_size(items) == FORGET_MAX)
        fprintf(stderr, "there may be more notes: a run lists and erases %d\n", FORGET_MAX);
    if (!f->dry_run && fumi_first(items) && confirmed(fumi_size(items)))
        *ids = ids_of(i->a, items);
    return 0;
}

static int forget(struct invocation *i)
{
    const struct forget_flags *f = i->flags;
    struct session s = {.short_ids = !i->json, .existing = true};
    struct fumi_err e = {0};
    struct fumi_strs ids = i->words;
    const struct fumi_val *result = NULL;
    bool only_copies = f->copies && !ids.n && !f->unused_since.set;
    if (f->unused_since.set == (ids.n > 0) && !only_copies)
        return command_misuse(i, "either ids or --unused-since is required");
    if (f->dry_run && !f->unused_since.set)
        return command_misuse(i, "--dry-run is for --unused-since");
    int rc = session_open(&s, &i->common, &e);
    if (!rc && f->unused_since.set)
        rc = choose_unused(i, &s, &ids, &e);
    if (!rc && (ids.n || only_copies))
        rc = forget_all(i, &s, &ids, &result, &e);
    if (!rc && !result && !f->dry_run && i->json)
        result = fumi_parse(i->a, FUMI_STR("{\"notes\":0,\"removed\":[],\"copies\":[]}"), &e);
    if (!rc && result)
        print_forgotten(i, result);
    session_close(&s);
    return rc ? command_report(&e) : STATUS_OK;
}

const struct command command_forget = {
    .name = "forget",
    .usage = "ID... | --unused-since TIME | --copies",
    .help = "Erases notes for good, with their history.",
    .more = "Unlike 'fumi delete', this cannot be undone: text, words, vectors and history are "
            "erased in the database, its index and its cache. Copies that Fumi knows of but "
            "cannot clean, such as backups, are named. --copies deletes those that migrations have "
            "made, also without ids. The ids may be those of deleted notes.",
    .shape = &shape,
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .prints = "The result of `memory.forget`; with `--dry-run`, `items` of `memory.unused`.",
    .words = ANY_WORDS,
    .run = forget,
};
