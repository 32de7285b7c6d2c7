/* fumi update: changes members of a note. The members of the patch are flags. */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"
#include "model/note.h"

#include <inttypes.h>

static const struct flag_alias aliases[] = {
    {"p", "project"},
    {"g", "group"},
    {"t", "title"},
    COMMAND_ALIASES,
};

/* Sets *text to the words after the id, to standard input if they are a dash, or else to null. */
static int find_text(struct invocation *i, struct fumi_str *text, struct fumi_err *e)
{
    struct fumi_strs words = {i->words.items + 1, i->words.n - 1};
    *text = (struct fumi_str){0};
    if (!words.n)
        return 0;
    *text = command_joined(i->a, words);
    if (!fumi_eq(*text, FUMI_STR("-")))
        return 0;
    if (command_input(i->a, NOTE_TEXT_MAX + 1, text, e))
        return -1;
    while (text->n && text->p[text->n - 1] == '\n')
        text->n--;
    return 0;
}

/* Tags are split at commas, as in fumi add. An empty value clears the member. */
static void put_member(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *key)
{
    const struct fumi_val *v = fumi_of(key);
    fumi_put_key_str(o, fumi_text(a, key));
    if (fumi_is(v, FUMI_ARRAY))
        notes_put_lists(a, o, v);
    else if (fumi_is(v, FUMI_STRING) && !fumi_text(a, v).n)
        fumi_put_null(o);
    else
        fumi_put_val(o, v);
}

static int put_patch(struct invocation *i, struct session *s, struct fumi_out *o,
                     const struct fumi_val *given, struct fumi_err *e)
{
    struct fumi_str text, project;
    if (find_text(i, &text, e))
        return -1;
    fumi_put_key(o, "patch");
    fumi_put_open(o, '{');
    notes_put(o, "text", text);
    for (const struct fumi_val *key = fumi_first(given); key; key = fumi_after(given, key)) {
        if (fumi_text_is(key, FUMI_STR("supersedes")))
            continue;
        if (!fumi_text_is(key, FUMI_STR("projectId"))) {
            put_member(i->a, o, key);
            continue;
        }
        if (session_project(s, i->a, fumi_text(i->a, fumi_of(key)), &project, e))
            return -1;
        notes_put(o, "projectId", project);
    }
    fumi_put_close(o, '}');
    return 0;
}

static int call(struct invocation *i, struct session *s, const struct fumi_val **result,
                struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *given = fumi_parse(i->a, i->params.text, e);
    if (!given)
        return -1;
    fumi_put_open(&o, '{');
    notes_put(&o, "id", i->words.items[0]);
    int rc = put_patch(i, s, &o, given, e);
    if (fumi_get(given, "supersedes")) {
        fumi_put_key(&o, "supersedes");
        notes_put_lists(i->a, &o, fumi_get(given, "supersedes"));
    }
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    return rc || session_ask(s, i->a, command_update.method, json, result, e) ? -1 : 0;
}

/* The method ignores members of the wrong type; a person must know. */
static int report_ignored(struct invocation *i, const struct fumi_val *result)
{
    const struct fumi_val *names = fumi_get(result, "ignored"), *first = fumi_first(names);
    if (!first)
        return STATUS_OK;
    return command_fail(STATUS_USAGE,
                        "%.*s has the wrong type and was not changed: run 'fumi help update'",
                        FUMI_ARG(fumi_text(i->a, first)));
}

static void print(struct invocation *i, const struct fumi_val *result)
{
    int64_t change = 0;
    fumi_int(fumi_get(result, "change"), &change);
    printf("updated %.*s", FUMI_ARG(show_line(i->a, i->words.items[0])));
    if (change)
        printf("; to undo this, run fumi undo %" PRId64, change);
    putchar('\n');
}

static int update(struct invocation *i)
{
    struct session s = {.short_ids = !i->json, .existing = true};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL;
    if (!i->words.n)
        return command_misuse(i, "id is required");
    if (i->words.n == 1 && fumi_eq(i->params.text, FUMI_STR("{}")))
        return command_misuse(i, "nothing to change: give a new text, or flags such as --title");
    int rc = session_open(&s, &i->common, &e) || call(i, &s, &result, &e);
    session_close(&s);
    if (rc)
        return command_report(&e);
    notes_warn(i->a, result);
    if (i->json)
        notes_print_result(result);
    else
        print(i, result);
    return report_ignored(i, result);
}

const struct command command_update = {
    .name = "update",
    .usage = "ID [WORD...|-]",
    .help = "Changes the text, the title or other members of a note.",
    .more = "The words after the id are the new text; a dash reads it from standard input. Without "
            "words the text stays. An empty value clears a member, as in --title ''; metadata is "
            "cleared by null. Separate tags by commas. --project moves the note to another "
            "project. 'fumi history ID' shows what the note said before, and 'fumi undo' puts "
            "that back.",
    .method = "memory.update",
    .nested = "patch",
    .word_param = "id",
    .aliases = aliases,
    .output = OUTPUT_JSON,
    .words = ANY_WORDS,
    .writes = true,
    .run = update,
};
