/* fumi: long-term memory for agents. The first argument is a command; without one, fumi serves
 * standard input and output. */
#include "app/session.h"
#include "app/terminal.h"
#include "base/closest_name.h"

#include <errno.h>
#include <sys/stat.h>

/* Finds the method of `fumi call` before the flags are known: the first argument that is a method,
 * or else the first that looks like one, or else the first that is no flag. The order matters,
 * because the value of a flag may come before the method. */
static struct fumi_str find_method(const struct fumi_server *s, char **argv)
{
    struct fumi_str first = {0}, like = {0};
    for (char **at = argv + 1; *at; at++) {
        struct fumi_str word = fumi_str(*at);
        if (session_method(s, word))
            return word;
        if (!like.p &&
            (fumi_starts(word, FUMI_STR("memory.")) || fumi_starts(word, FUMI_STR("rpc."))))
            like = word;
        if (!first.p && word.n && word.p[0] != '-')
            first = word;
    }
    return like.p ? like : first;
}

static const char *nearest(const struct fumi_server *s, struct fumi_str name)
{
    struct closest_name near = closest_name_start(name);
    struct fumi_str is, best = {0};
    for (size_t i = 0; i < fumi_server_size(s); i++) {
        fumi_server_at(s, i, &is);
        if (closest_name_improves(&near, is))
            best = is;
    }
    return best.p; /* names end with NUL */
}

/* Whether --url is given: another server may have methods that are unknown here. */
static bool is_remote(char **argv)
{
    for (char **at = argv + 1; *at; at++) {
        if (strncmp(*at + ((*at)[0] == '-' && (*at)[1] == '-'), "-url", 4) == 0)
            return true;
    }
    return false;
}

/* Adds the parameters of the called method to the flags. */
static int add_method(const struct fumi_server *s, char **argv, struct flag_set *set,
                      struct fumi_err *e)
{
    static const struct fumi_shape none = {.given = FUMI_NONE, .ignored = FUMI_NONE};
    struct fumi_str name = find_method(s, argv);
    const struct fumi_method *m = session_method(s, name);
    const char *near = nearest(s, name);
    *set = (struct flag_set){.shape = m && m->params ? m->params : &none};
    if (m || !name.p || fumi_starts(name, FUMI_STR("rpc.")) || is_remote(argv))
        return 0;
    return fumi_err_set(e, FUMI_METHOD_NOT_FOUND, "unknown method %.*s%s%s%s",
                        name.n > 64 ? 64 : (int)name.n, name.p, near ? "; did you mean " : "",
                        near ? near : "", near ? "?" : "");
}

/* Parses the common flags, the command's own flags, and the shared sets that it accepts. */
static int parse(struct invocation *i, char **argv, const struct fumi_server *registry,
                 struct fumi_err *e)
{
    const struct command *c = i->command;
    struct flag_set sets[COMMAND_SETS] = {{command_common(c), &i->common, NULL}};
    struct flag_table t = {.sets = sets,
                           .n = 1,
                           .aliases = c->aliases ? c->aliases : command_aliases,
                           .unbound = &i->params};
    struct fumi_shape http = config_http_shape();
    if (c->shape) {
        i->flags = fumi_alloc(i->a, c->shape->size);
        sets[t.n++] = (struct flag_set){c->shape, i->flags, NULL};
    }
    if (c->method)
        sets[t.n++] = command_inherited(i->a, c);
    if (command_printing(c))
        sets[t.n++] = (struct flag_set){command_printing(c), &i->common.output, NULL};
    if (c->serves)
        sets[t.n++] = (struct flag_set){&http, &i->http, NULL};
    if (c->writes)
        sets[t.n++] = (struct flag_set){&command_writing, &i->common.writing, NULL};
    if (registry && add_method(registry, argv, &sets[t.n++], e))
        return -1;
    return flags_parse(i->a, &t, argv, &i->words, e);
}

static int read_flags(struct invocation *i, char **argv, struct fumi_err *e)
{
    struct fumi_server *registry = NULL;
    if (i->command->methods && !(registry = session_registry(e)))
        return -1;
    int rc = parse(i, argv, registry, e);
    i->json = i->common.output.json || i->common.output.format;
    if (registry)
        fumi_server_free(registry);
    return rc;
}

/* --help takes precedence over everything else on the command line. */
static bool wants_help(char **argv)
{
    for (char **at = argv + 1; *at && strcmp(*at, "--") != 0; at++) {
        if (strcmp(*at, "-h") == 0 || strcmp(*at, "-help") == 0 || strcmp(*at, "--help") == 0)
            return true;
    }
    return false;
}

/* `fumi call METHOD --help` describes the method. */
static void print_help(const struct command *c, char **argv)
{
    struct fumi_err ignored;
    struct fumi_server *registry = c->methods ? session_registry(&ignored) : NULL;
    struct fumi_str name = registry ? find_method(registry, argv) : (struct fumi_str){0};
    const struct fumi_method *m = name.p ? session_method(registry, name) : NULL;
    if (m)
        help_method(name, m, stdout);
    else
        help_command(c, stdout);
    if (registry)
        fumi_server_free(registry);
}

static int run(const struct command *c, char **argv, struct fumi_arena *a)
{
    struct invocation i = {.command = c, .a = a};
    struct fumi_err e = {0};
    if (!c->serves)
        terminal_wrap(c->output >= OUTPUT_DATA && !wants_help(argv));
    if (wants_help(argv)) {
        print_help(c, argv);
        return STATUS_OK;
    }
    if (read_flags(&i, argv, &e))
        return e.code == FUMI_INVALID_PARAMS ? command_misuse(&i, "%s", e.text)
                                             : command_report(&e);
    if (i.words.n && !c->words && command_find(i.words.items[0]))
        return command_misuse(&i, "flags come after the command: fumi %.*s ...",
                              FUMI_ARG(i.words.items[0]));
    if (i.words.n > c->words)
        return command_misuse(&i, "%s takes %s%zu argument%s; unexpected: %.*s", c->name,
                              c->words ? "at most " : "", c->words, c->words == 1 ? "" : "s",
                              FUMI_ARG(i.words.items[c->words]));
    return c->run(&i);
}

static int unknown(struct fumi_str name)
{
    struct closest_name near = closest_name_start(name);
    const char *best = NULL;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (closest_name_improves(&near, fumi_str(commands[i]->name)))
            best = commands[i]->name;
    }
    command_fail(STATUS_USAGE, "unknown command: %.*s%s%s%s", name.n > 40 ? 40 : (int)name.n,
                 name.p, best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
    fputs("run 'fumi help' for a list of commands\n", stderr);
    return STATUS_USAGE;
}

/* The command that the first argument selects. Without a command, fumi serves. */
static struct fumi_str name_of(const char *word)
{
    static const struct {
        const char *word, *name;
    } others[] = {
        {"-v", "version"}, {"-version", "version"}, {"--version", "version"},
        {"-h", "help"},    {"-help", "help"},       {"--help", "help"},
    };
    for (size_t i = 0; word && i < FUMI_COUNT(others); i++) {
        if (strcmp(word, others[i].word) == 0)
            return fumi_str(others[i].name);
    }
    return word && word[0] != '-' ? fumi_str(word) : FUMI_STR("serve");
}

/* Flushes standard output. An error, such as a full disk, makes the command fail. */
static int finish(int status)
{
    int why = fflush(stdout) ? errno : 0; /* 0: the error is an earlier one */
    if (!why && !ferror(stdout))
        return status;
    fprintf(stderr, "error: cannot write to standard output%s%s\n", why ? ": " : "",
            why ? strerror(why) : "");
    return status ? status : STATUS_FAILED;
}

int main(int argc, char **argv)
{
    struct fumi_arena a = {0};
    struct fumi_str name = name_of(argc > 1 ? argv[1] : NULL);
    const struct command *c = command_find(name);
    bool named = argc > 1 && (argv[1][0] != '-' || c != &command_serve);
    umask(077);
    int status = c ? run(c, argc > 0 ? argv + named : argv, &a) : unknown(name);
    fumi_arena_done(&a);
    return finish(status);
}
