/* fumi add, list, get, delete: one call each. */
#include "app/files.h"
#include "app/notes.h"
#include "app/session.h"
#include "app/show.h"
#include "model/note.h"

#include <unistd.h>

static const char *const formats[] = {"text", "json", NULL};

/* The project that was given, else where we are. */
static int project_or_here(struct invocation *i, struct fumi_str *project)
{
    struct fumi_err e = {0};
    if (project->n || files_project(i->a, project, &e) == 0)
        return STATUS_OK;
    return command_report(&e);
}

static void print_result(struct invocation *i, const struct fumi_val *v)
{
    struct fumi_buf out = {0};
    (void)i;
    show_json(&out, v);
    command_print(&out);
}

/* --- add --- */

struct add_flags {
    struct fumi_str project, group, title, source, created;
    struct fumi_strs tags;
    struct fumi_json metadata;
    int format;
};

#define ADD(member, wire, ...) FUMI_FIELD(struct add_flags, member, wire, __VA_ARGS__)

static const struct fumi_field add_fields[] = {
    ADD(project, "project", "Project of the note; without it that of the working directory."),
    ADD(group, "group", "Group of the note.", .def = "\"global\""),
    ADD(title, "title", "Its title."),
    ADD(tags, "tags", "Its tags, with commas between."),
    ADD(source, "source", "Where it comes from."),
    ADD(created, "createdAt", "Time when it was so; without it now."),
    ADD(metadata, "metadata", "Any object to keep with it.", .flags = FUMI_OBJECT_ONLY),
    ADD(format, "format", "text for the id alone, json for all of the answer.", .choices = formats,
        .def = "\"text\""),
};
static const struct fumi_shape add_shape = FUMI_SHAPE(struct add_flags, add_fields);

static const struct flag_alias add_aliases[] = {
    {"p", "project"}, {"g", "group"}, {"t", "title"}, {"f", "format"}, COMMAND_ALIASES,
};

/* The words, or standard input when there are none or a dash. */
static int find_text(struct invocation *i, struct fumi_str *text)
{
    struct fumi_err e = {0};
    bool dash = i->words.n == 1 && fumi_eq(i->words.items[0], FUMI_STR("-"));
    if (i->words.n && !dash) {
        *text = command_joined(i->a, i->words);
        return STATUS_OK;
    }
    if (!dash && isatty(0))
        return command_misuse(i, "text is required: give words, or a text on standard input");
    if (command_input(i->a, NOTE_TEXT_MAX + 1, text, &e))
        return command_report(&e);
    while (text->n && text->p[text->n - 1] == '\n')
        text->n--;
    return STATUS_OK;
}

static void put_note(struct fumi_out *o, const struct add_flags *f, struct fumi_str text)
{
    fumi_put_open(o, '{');
    notes_put(o, "projectId", f->project);
    notes_put(o, "groupId", f->group);
    notes_put(o, "text", text);
    notes_put(o, "title", f->title);
    notes_put_tags(o, f->tags);
    notes_put(o, "source", f->source);
    notes_put(o, "createdAt", f->created);
    if (f->metadata.text.p) {
        fumi_put_key(o, "metadata");
        fumi_put_json(o, f->metadata);
    }
    fumi_put_close(o, '}');
}

static int add(struct invocation *i)
{
    struct add_flags *f = i->flags;
    struct fumi_buf params = {0};
    struct fumi_str text = {0};
    const struct fumi_val *result = NULL;
    int status = find_text(i, &text);
    if (status || (status = project_or_here(i, &f->project)))
        return status;
    put_note(&(struct fumi_out){.buf = &params}, f, text);
    if ((status = session_once(i, "memory.add_note", &params, &result)))
        return status;
    notes_warn(i->a, result);
    if (f->format)
        print_result(i, result);
    else
        printf("%.*s\n", FUMI_ARG(fumi_text(i->a, fumi_get(result, "id"))));
    return STATUS_OK;
}

const struct command command_add = {
    .name = "add",
    .usage = "[WORD...]",
    .help = "Stores a note and prints its id.",
    .more = "The words are the text; without words, or with a dash, it is read from standard "
            "input. The project of a working directory is the nearest directory above it that "
            "holds .git, or else itself.",
    .shape = &add_shape,
    .aliases = add_aliases,
    .words = ANY_WORDS,
    .writes = true,
    .run = add,
};

/* --- list --- */

struct list_flags {
    struct fumi_str project, group, cursor;
    struct fumi_strs tags;
    int64_t limit;
    int format;
};

#define LIST(member, wire, ...) FUMI_FIELD(struct list_flags, member, wire, __VA_ARGS__)

static const struct fumi_field list_fields[] = {
    LIST(project, "project",
         "Project whose notes are listed; without it that of the working "
         "directory."),
    LIST(group, "group", "Group to list; without it all of them."),
    LIST(limit, "limit", "How many at most.", .def = "10"),
    LIST(tags, "tags", "Tags that a note must have, all of them; with commas between."),
    LIST(cursor, "cursor", "Where to go on: the nextCursor of the list before."),
    LIST(format, "format", "How it is printed.", .choices = formats, .def = "\"text\""),
};
static const struct fumi_shape list_shape = FUMI_SHAPE(struct list_flags, list_fields);

static const struct flag_alias list_aliases[] = {
    {"p", "project"}, {"g", "group"}, {"n", "limit"}, {"f", "format"}, COMMAND_ALIASES,
};

/* "2026-11-15T21:48:58.123Z" -> "2026-11-15 21:48" */
static struct fumi_str minute_of(struct fumi_arena *a, const struct fumi_val *time)
{
    struct fumi_str s = show_line(a, fumi_text(a, time));
    return s.n < 16 ? s : fumi_fmt(a, "%.10s %.5s", s.p, s.p + 11);
}

static void print_item(struct fumi_arena *a, const struct fumi_val *note)
{
    struct fumi_str title = show_line(a, fumi_text(a, fumi_get(note, "title")));
    if (!title.n)
        title = FUMI_STR("(no title)");
    printf("%s%.*s%s  %.*s  [%.*s]  %s%.*s%s\n", show_style(stdout, SHOW_DIM),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(note, "id")))),
           show_style(stdout, SHOW_PLAIN), FUMI_ARG(minute_of(a, fumi_get(note, "createdAt"))),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(note, "groupId")))),
           show_style(stdout, SHOW_BOLD), FUMI_ARG(title), show_style(stdout, SHOW_PLAIN));
    notes_print_compact(a, note);
}

static void print_list(struct fumi_arena *a, const struct fumi_val *result)
{
    const struct fumi_val *items = fumi_get(result, "items");
    struct fumi_str next = fumi_text(a, fumi_get(result, "nextCursor"));
    if (!fumi_first(items))
        puts("No notes.");
    for (const struct fumi_val *note = fumi_first(items); note; note = fumi_after(items, note))
        print_item(a, note);
    if (next.n)
        fprintf(stderr, "there are more: --cursor %.*s\n", FUMI_ARG(next));
}

static int list(struct invocation *i)
{
    struct list_flags *f = i->flags;
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result = NULL;
    int status = project_or_here(i, &f->project);
    if (status)
        return status;
    fumi_put_open(&o, '{');
    notes_put(&o, "projectId", f->project);
    notes_put(&o, "groupId", f->group.n ? f->group : (struct fumi_str){0});
    fumi_put_key(&o, "limit");
    fumi_put_int(&o, f->limit);
    notes_put_tags(&o, f->tags);
    notes_put(&o, "cursor", f->cursor);
    fumi_put_close(&o, '}');
    if ((status = session_once(i, "memory.list_recent", &params, &result)))
        return status;
    if (f->format)
        print_result(i, result);
    else
        print_list(i->a, result);
    return STATUS_OK;
}

const struct command command_list = {
    .name = "list",
    .usage = "",
    .help = "Lists the newest notes of a project.",
    .shape = &list_shape,
    .aliases = list_aliases,
    .run = list,
};

/* --- get and delete --- */

struct get_flags {
    int format;
};

static const struct fumi_field get_fields[] = {
    FUMI_FIELD(struct get_flags, format, "format", "How it is printed.", .choices = formats,
               .def = "\"text\""),
};
static const struct fumi_shape get_shape = FUMI_SHAPE(struct get_flags, get_fields);

static const struct flag_alias get_aliases[] = {{"f", "format"}, COMMAND_ALIASES};

static int call_with_id(struct invocation *i, const char *method, const struct fumi_val **result)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    if (!i->words.n)
        return command_misuse(i, "id is required");
    fumi_put_open(&o, '{');
    notes_put(&o, "id", i->words.items[0]);
    fumi_put_close(&o, '}');
    return session_once(i, method, &params, result);
}

static int get(struct invocation *i)
{
    const struct get_flags *f = i->flags;
    const struct fumi_val *note = NULL;
    int status = call_with_id(i, "memory.get", &note);
    if (status)
        return status;
    if (f->format)
        print_result(i, note);
    else
        notes_print(i->a, note);
    return STATUS_OK;
}

const struct command command_get = {
    .name = "get",
    .usage = "ID",
    .help = "Prints one note.",
    .shape = &get_shape,
    .aliases = get_aliases,
    .words = 1,
    .run = get,
};

static int delete_note(struct invocation *i)
{
    const struct fumi_val *ignored;
    return call_with_id(i, "memory.delete", &ignored);
}

const struct command command_delete = {
    .name = "delete",
    .usage = "ID",
    .help = "Removes a note, or a global, for good.",
    .words = 1,
    .run = delete_note,
};
