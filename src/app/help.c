/* Help texts and the generated parts of the manual pages, both made from the tables of commands and
 * settings. */
#include "app/command.h"

#include "app/show.h"
#include "app/terminal.h"

enum { COLUMN = 12, WIDTH = 78 };

void help_general(FILE *to)
{
    fputs("Long-term memory for AI agents.\n\nusage: fumi COMMAND [FLAG]... "
          "[WORD]...\n\n",
          to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-*s%s\n", COLUMN, commands[i]->name, commands[i]->help);
    fputs("\nWithout a command, fumi serves JSON-RPC and MCP on standard input and "
          "output.\n"
          "Run 'fumi help COMMAND' for the flags of a command.\n",
          to);
}

/* Prints paragraphs. */
static void put_folded(struct fumi_str text, FILE *to)
{
    size_t column = 0, columns = terminal_text_columns(to, WIDTH);
    for (const char *p = text.p, *end = text.p + text.n; p < end;) {
        size_t n = strcspn(p, " \n");
        n = n > (size_t)(end - p) ? (size_t)(end - p) : n;
        size_t width = show_width((struct fumi_str){p, n});
        if (column && column + 1 + width > columns) {
            fputc('\n', to);
            column = 0;
        }
        column += fprintf(to, "%s%.*s", column ? " " : "", (int)n, p) > 0 ? width + (column > 0)
                                                                          : 0;
        p += n;
        if (p < end && *p == '\n') {
            fputc('\n', to);
            column = 0;
        }
        p++;
    }
    fputc('\n', to);
}

void help_command(const struct command *c, FILE *to)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    struct fumi_buf text = {0};
    fprintf(to, "usage: fumi %s [FLAG]...%s%s\n\n", c->name, c->usage[0] ? " " : "", c->usage);
    put_folded(fumi_str(c->help), to);
    if (c->more) {
        fputc('\n', to);
        put_folded(fumi_str(c->more), to);
    }
    flags_explain(&t, &text, terminal_text_columns(to, WIDTH));
    fprintf(to, "\n%.*s", FUMI_ARG(fumi_buf_str(&text)));
    fumi_buf_done(&text);
    fumi_arena_done(&a);
}

static void put_flags(const struct fumi_shape *s, bool members, FILE *to)
{
    struct flag_set set = {.shape = s};
    struct fumi_buf text = {0};
    flags_explain(&(struct flag_table){.sets = &set, .n = 1, .members = members}, &text,
                  terminal_text_columns(to, WIDTH));
    fwrite(fumi_buf_str(&text).p, 1, text.n, to);
    fumi_buf_done(&text);
}

void help_method(struct fumi_str name, const struct fumi_method *m, FILE *to)
{
    const struct fumi_shape *s = m->params;
    fprintf(to, "usage: fumi call %.*s [FLAG]...\n       fumi call %.*s JSON|-\n\n", FUMI_ARG(name),
            FUMI_ARG(name));
    put_folded(fumi_str(m->help), to);
    fputs(s && s->n ? "\nThe params, as flags:\n" : "\nThe method has no params.\n", to);
    if (s)
        put_flags(s, false, to);
    for (size_t i = 0; s && i < s->n; i++) {
        char flag[FLAG_NAME];
        if (!s->fields[i].shape)
            continue;
        flags_name(s->fields[i].name, flag);
        fprintf(to, "\nThe members of %s%s:\n",
                s->fields[i].type == FUMI_T_LIST ? "an item of " : "", flag);
        put_flags(s->fields[i].shape, true, to);
    }
    if (m->result && m->result->n) {
        fputs("\nThe members of the result:\n", to);
        put_flags(m->result, true, to);
    }
    fputs("\nRun 'fumi help call' for the flags of fumi call.\n", to);
}

/* Prints text with the characters escaped that have a meaning in mdoc. */
static void put_mdoc(const char *text, size_t n, FILE *to)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            fputs("\\e", to);
        else if (text[i] == '-' && i + 1 < n && text[i + 1] == '-')
            fputs("\\-", to);
        else if (text[i] == '\n')
            fputs("\n.Pp\n", to);
        else if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n'))
            fprintf(to, "\\&%c", text[i]);
        else
            fputc(text[i], to);
    }
}

static void put_flag(const struct flag_table *t, const struct fumi_field *f, FILE *to)
{
    char name[FLAG_NAME];
    const char *alias = flags_alias(t, f);
    struct fumi_buf kind = {0}, note = {0};
    flags_put_kind(&kind, f);
    flags_put_note(&note, f);
    flags_name(f->name, name);
    fputs(".It ", to);
    if (alias)
        fprintf(to, "Fl %s , ", alias);
    fprintf(to, "Fl \\-%s", name + 2);
    if (kind.n)
        fprintf(to, " Ar %.*s", FUMI_ARG(fumi_buf_str(&kind)));
    fputc('\n', to);
    put_mdoc(f->help, strlen(f->help), to);
    if (note.n)
        put_mdoc(note.p, note.n, to);
    fputc('\n', to);
    fumi_buf_done(&kind);
    fumi_buf_done(&note);
}

static void put_set(const struct flag_table *t, const struct fumi_shape *s, FILE *to)
{
    fputs(".Bl -tag -width Ds\n", to);
    for (size_t i = 0; i < s->n; i++)
        put_flag(t, &s->fields[i], to);
    fputs(".El\n", to);
}

static void put_command(const struct command *c, FILE *to)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    fprintf(to, ".Ss %s%s%s\n", c->name, c->usage[0] ? " " : "", c->usage);
    put_mdoc(c->help, strlen(c->help), to);
    fputc('\n', to);
    if (c->more) {
        fputs(".Pp\n", to);
        put_mdoc(c->more, strlen(c->more), to);
        fputc('\n', to);
    }
    for (size_t i = 0; i + 1 < t.n; i++)
        put_set(&t, t.sets[i].shape, to);
    fumi_arena_done(&a);
}

static void put_commands(FILE *to)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    const struct flag_table t = command_flags(&a, &command_list, sets);
    fputs(".Sh COMMANDS\n", to);
    for (size_t i = 0; i < COMMANDS; i++)
        put_command(commands[i], to);
    fputs(".Sh FLAGS OF ALL COMMANDS\n", to);
    put_set(&t, command_common(&command_list), to);
    fumi_arena_done(&a);
}

static void put_key(const struct config_section *s, const struct fumi_field *f, FILE *to)
{
    struct fumi_arena a = {0};
    struct fumi_buf note = {0};
    const char *variable = config_variable(&a, s, f);
    if (f->type != FUMI_T_STRS)
        flags_put_note(&note, f);
    fprintf(to, ".It Ic %s\n", f->name);
    put_mdoc(f->help, strlen(f->help), to);
    if (note.n)
        put_mdoc(note.p, note.n, to);
    if (variable)
        fprintf(to, "\n.Ev %s", variable);
    fputc('\n', to);
    fumi_buf_done(&note);
    fumi_arena_done(&a);
}

static void put_keys(FILE *to)
{
    struct config_section sections[CONFIG_SECTIONS];
    config_sections(sections);
    fputs(".Sh KEYS\n", to);
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &sections[i];
        fprintf(to, ".Ss %s\n%s\n", s->name, s->help);
        if (strcmp(s->name, "previousEmbedder") == 0)
            continue;
        fputs(".Bl -tag -width Ds\n", to);
        for (size_t row = 0; row < s->shape.n; row++)
            put_key(s, &s->shape.fields[row], to);
        fputs(".El\n", to);
    }
}

struct help_flags {
    int mdoc;
};

static const char *const parts[] = {"none", "commands", "keys", NULL};
static const struct fumi_field fields[] = {
    FUMI_FIELD(struct help_flags, mdoc, "mdoc",
               "Print a generated part of the manual pages in mdoc.", .choices = parts,
               .def = "\"none\""),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct help_flags, fields);

static int help(struct invocation *i)
{
    const struct help_flags *f = i->flags;
    if (f->mdoc) {
        (f->mdoc == 1 ? put_commands : put_keys)(stdout);
        return STATUS_OK;
    }
    if (!i->words.n) {
        help_general(stdout);
        return STATUS_OK;
    }
    const struct command *c = command_find(i->words.items[0]);
    if (!c)
        return command_fail(STATUS_USAGE, "unknown command %.*s; run 'fumi help' for a list",
                            FUMI_ARG(i->words.items[0]));
    help_command(c, stdout);
    return STATUS_OK;
}

const struct command command_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .help = "Lists the commands, or describes one.",
    .shape = &shape,
    .bare = true,
    .words = 1,
    .run = help,
};
