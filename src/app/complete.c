/* Completion scripts for shells, generated from the tables of commands, flags and agents. */
#include "app/session.h"
#include "app/setup_agents.h"

static void put_flag_names(const struct command *c)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    char name[FLAG_NAME];
    for (size_t i = 0; i < t.n; i++) {
        for (size_t row = 0; row < t.sets[i].shape->n; row++) {
            flags_name(t.sets[i].shape->fields[row].name, name);
            printf(" %s", name);
        }
    }
    fumi_arena_done(&a);
}

static void put_command_names(const char *before)
{
    for (size_t i = 0; i < COMMANDS; i++)
        printf("%s%s", i ? " " : before, commands[i]->name);
}

static void put_methods(const char *before)
{
    struct fumi_err e;
    struct fumi_str name;
    struct fumi_server *s = session_registry(&e);
    for (size_t i = 0; s && i < fumi_server_size(s); i++) {
        fumi_server_at(s, i, &name);
        printf("%s%.*s", i ? " " : before, FUMI_ARG(name));
    }
    if (s)
        fumi_server_free(s);
}

static void put_agents(void)
{
    for (size_t i = 0; i < SETUP_AGENTS; i++)
        printf("%s%s", i ? " " : "", setup_agents[i].name);
}

/* Possible arguments of commands other than flags. */
static const struct {
    const char *command;
    const char *words; /* NULL: the names of the agents */
} words[] = {{"model", "install"},
             {"setup", NULL},
             {"test", "add"},
             {"hook", "session-start"},
             {"completion", "bash zsh fish"}};

static void put_words(size_t row)
{
    if (words[row].words)
        fputs(words[row].words, stdout);
    else
        put_agents();
}

static void bash_choices(const struct command *c)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    char name[FLAG_NAME];
    for (size_t i = 0; i < t.n; i++) {
        for (size_t row = 0; row < t.sets[i].shape->n; row++) {
            const struct fumi_field *f = &t.sets[i].shape->fields[row];
            if (f->type != FUMI_T_CHOICE)
                continue;
            flags_name(f->name, name);
            printf("    %s:%s) COMPREPLY=($(compgen -W \"", c->name, name);
            for (size_t k = 0; f->choices[k]; k++)
                printf("%s%s", k ? " " : "", f->choices[k]);
            puts("\" -- \"$cur\")); return ;;");
        }
    }
    fumi_arena_done(&a);
}

static void bash(void)
{
    puts("# bash completion for fumi: source <(fumi completion bash)\n_fumi() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local cmd=${COMP_WORDS[1]} flags= words=");
    put_command_names("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                      "        COMPREPLY=($(compgen -W \"");
    puts("\" -- \"$cur\"))\n        return\n    fi\n    case $cmd:$prev in");
    for (size_t i = 0; i < COMMANDS; i++)
        bash_choices(commands[i]);
    puts("    esac\n    case $cmd in");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("    %s) flags=\"", commands[i]->name);
        put_flag_names(commands[i]);
        puts("\" ;;");
    }
    puts("    esac\n    case $cmd in");
    put_methods("    call) words=\"");
    puts("\" ;;");
    put_command_names("    help) words=\"");
    puts("\" ;;");
    for (size_t i = 0; i < FUMI_COUNT(words); i++) {
        printf("    %s) words=\"", words[i].command);
        put_words(i);
        puts("\" ;;");
    }
    puts("    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n"
         "    esac\n}\ncomplete -F _fumi fumi");
}

/* Text inside single quotes; the characters in `escaped` get a backslash. */
static void put_quoted(const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(escaped, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_flag(const struct fumi_field *f)
{
    char name[FLAG_NAME];
    flags_name(f->name, name);
    printf(" \\\n      '%s%s[", f->type == FUMI_T_STRS ? "*" : "", name);
    put_quoted(f->help, "[]\\:");
    putchar(']');
    if (f->type == FUMI_T_CHOICE) {
        fputs(":value:(", stdout);
        for (size_t i = 0; f->choices[i]; i++)
            printf("%s%s", i ? " " : "", f->choices[i]);
        putchar(')');
    } else if (f->type != FUMI_T_BOOL) {
        fputs(":value:_files", stdout);
    }
    putchar('\'');
}

static void zsh_command(const struct command *c)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    printf("    %s) _arguments", c->name);
    for (size_t i = 0; i < t.n; i++) {
        for (size_t row = 0; row < t.sets[i].shape->n; row++)
            zsh_flag(&t.sets[i].shape->fields[row]);
    }
    if (c->methods) {
        put_methods(" \\\n      '1:method:(");
        fputs(")'", stdout);
    } else if (c == &command_help) {
        put_command_names(" \\\n      '1:command:(");
        fputs(")'", stdout);
    }
    for (size_t i = 0; i < FUMI_COUNT(words); i++) {
        if (strcmp(words[i].command, c->name) != 0)
            continue;
        fputs(" \\\n      '1:word:(", stdout);
        put_words(i);
        fputs(")'", stdout);
    }
    puts(" \\\n      '*:word:_files' ;;");
    fumi_arena_done(&a);
}

static void zsh(void)
{
    puts("#compdef fumi\n_fumi() {\n  local -a commands\n  commands=(");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("    '%s:", commands[i]->name);
        put_quoted(commands[i]->help, "");
        puts("'");
    }
    puts("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local cmd=${words[2]}\n  shift words\n  (( CURRENT-- ))\n  case $cmd in");
    for (size_t i = 0; i < COMMANDS; i++)
        zsh_command(commands[i]);
    puts("  esac\n}\ncompdef _fumi fumi");
}

static void fish_flag(const struct command *c, const struct flag_table *t,
                      const struct fumi_field *f)
{
    char name[FLAG_NAME];
    const char *alias = flags_alias(t, f);
    flags_name(f->name, name);
    printf("complete -c fumi -n '__fish_seen_subcommand_from %s' -l %s", c->name, name + 2);
    if (alias)
        printf(" -s %s", alias);
    if (f->type == FUMI_T_CHOICE) {
        fputs(" -xa '", stdout);
        for (size_t i = 0; f->choices[i]; i++)
            printf("%s%s", i ? " " : "", f->choices[i]);
        putchar('\'');
    } else if (f->type != FUMI_T_BOOL) {
        fputs(" -r", stdout);
    }
    fputs(" -d '", stdout);
    for (const char *p = f->help; *p; p++)
        printf("%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
    puts("'");
}

static void fish_command(const struct command *c)
{
    struct fumi_arena a = {0};
    struct flag_set sets[COMMAND_SETS];
    struct flag_table t = command_flags(&a, c, sets);
    printf("complete -c fumi -n __fish_use_subcommand -f -a %s -d '%s'\n", c->name, c->help);
    for (size_t i = 0; i < t.n; i++) {
        for (size_t row = 0; row < t.sets[i].shape->n; row++)
            fish_flag(c, &t, &t.sets[i].shape->fields[row]);
    }
    fumi_arena_done(&a);
}

static void fish(void)
{
    puts("# fish completion for fumi: fumi completion fish | source");
    for (size_t i = 0; i < COMMANDS; i++)
        fish_command(commands[i]);
    put_methods("complete -c fumi -n '__fish_seen_subcommand_from call' -a '");
    put_command_names("'\ncomplete -c fumi -n '__fish_seen_subcommand_from help' -f -a '");
    puts("'");
    for (size_t i = 0; i < FUMI_COUNT(words); i++) {
        printf("complete -c fumi -n '__fish_seen_subcommand_from %s' -a '", words[i].command);
        put_words(i);
        puts("'");
    }
}

static int completion(struct invocation *i)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t k = 0; i->words.n && k < FUMI_COUNT(shells); k++) {
        if (fumi_eq(i->words.items[0], fumi_str(shells[k].name))) {
            shells[k].print();
            return STATUS_OK;
        }
    }
    return command_misuse(i, "the shell must be bash, zsh or fish");
}

const struct command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .help = "Prints a completion script for a shell.",
    .more = "bash: source <(fumi completion bash). zsh: write the script to a file _fumi in a "
            "directory of fpath. fish: write it to ~/.config/fish/completions/fumi.fish.",
    .bare = true,
    .words = 1,
    .output = OUTPUT_DATA,
    .run = completion,
};
