/* The table of commands. Dispatch, help, shell completion and the manual pages are based on it. */
#ifndef FUMI_APP_COMMAND_H
#define FUMI_APP_COMMAND_H

#include "app/config.h"
#include "app/flags.h"
#include "base/version.h"
#include "rpc/rpc.h"

#include <stdio.h>

struct verb;

/* The exit status. command_status maps the error codes of methods. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,    /* the command line or a parameter is wrong */
    STATUS_MISSING = 3,  /* no such note, group or method */
    STATUS_TAKEN = 4,    /* the note, the group or the backup file exists already */
    STATUS_PROVIDER = 5, /* the embedding provider failed, or has no key */
    STATUS_NEWER = 6,    /* the database was written by a newer version */
};

/* Flags of commands that write. */
struct write_flags {
    uint64_t given;
    int secrets; /* enum secrets_mode */
};

/* Flags of commands that print results. */
struct output_flags {
    bool json;
    int format; /* 1: json */
};

/* What a command prints. */
enum command_output {
    OUTPUT_TEXT,   /* for people only */
    OUTPUT_JSON,   /* results: it takes --json */
    OUTPUT_FORMAT, /* the same, and --format text|json, which was there first */
    OUTPUT_DATA,   /* data, which is not wrapped in a terminal */
    OUTPUT_LINES,  /* data that is JSON: --json is allowed, and changes nothing */
};

/* Flags of every command that opens the memory. */
struct common {
    bool help;
    struct fumi_str config, data_dir, db, store;
    bool allow_http, per_worktree;
    int log, log_format;
    struct write_flags writing; /* of commands with `writes` */
    struct output_flags output; /* of commands with OUTPUT_JSON or OUTPUT_FORMAT */
};

struct invocation {
    const struct command *command;
    struct fumi_arena *a;
    struct common common;
    void *flags;             /* the struct that command->shape describes */
    struct config_http http; /* serve: the settings given by flags */
    struct fumi_json params; /* call, and commands with a method: the params given by flags */
    struct fumi_strs words;
    bool json;      /* results are printed as JSON */
    bool short_ids; /* the command prints results for people: session_once asks for short ids */
};

struct command {
    const char *name;
    const char *usage;              /* the arguments after the name, without flags */
    const char *help;               /* one sentence */
    const char *more;               /* paragraphs; may be NULL */
    const struct fumi_shape *shape; /* its own flags; may be NULL */
    /* The method that the command calls; NULL: none. Its params are also flags (projectId is
     * --project), except for word_param, whose value is the words; NULL: no such param. */
    const char *method, *word_param;
    const char *nested; /* the param whose members are flags instead of it; NULL: none */
    const struct flag_alias *aliases;
    enum command_output output;
    bool bare;                /* takes no common flags except --help */
    bool writes;              /* also takes the flags of command_writing */
    bool serves;              /* also takes the flags of fumi_settings_shape */
    bool methods;             /* its first word is a method, whose parameters are flags */
    size_t words;             /* maximum number */
    const struct verb *verbs; /* what the first word can be (verbs.h), up to a row without a name */
    const struct fumi_shape *result; /* of --json, if that is not the result of the method */
    const char *prints;              /* what --json prints, if that needs words; may be NULL */
    int (*run)(struct invocation *i);
};

/* The commands, in the order in which help lists them. */
#define COMMAND_LIST(X)                                                                            \
    X(serve)                                                                                       \
    X(open)                                                                                        \
    X(search)                                                                                      \
    X(call)                                                                                        \
    X(add)                                                                                         \
    X(list)                                                                                        \
    X(get)                                                                                         \
    X(update)                                                                                      \
    X(delete)                                                                                      \
    X(history)                                                                                     \
    X(undo)                                                                                        \
    X(forget)                                                                                      \
    X(review)                                                                                      \
    X(watch)                                                                                       \
    X(projects)                                                                                    \
    X(groups)                                                                                      \
    X(globals)                                                                                     \
    X(config)                                                                                      \
    X(stats)                                                                                       \
    X(reembed)                                                                                     \
    X(import)                                                                                      \
    X(export)                                                                                      \
    X(mirror)                                                                                      \
    X(test)                                                                                        \
    X(backup)                                                                                      \
    X(doctor)                                                                                      \
    X(model)                                                                                       \
    X(setup)                                                                                       \
    X(hook)                                                                                        \
    X(help)                                                                                        \
    X(completion)                                                                                  \
    X(version)
#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMAND_LIST(COMMAND_DECLARE)
#undef COMMAND_DECLARE
#define COMMAND_ONE(name) +1
enum { COMMANDS = COMMAND_LIST(COMMAND_ONE), ANY_WORDS = 1 << 20, COMMAND_SETS = 6 };
#undef COMMAND_ONE
extern const struct command *const commands[COMMANDS];
const struct command *command_find(struct fumi_str name); /* NULL: unknown */

/* The common flags that the command takes. */
const struct fumi_shape *command_common(const struct command *c);
/* The shape of struct write_flags. */
extern const struct fumi_shape command_writing;
/* The shape of struct output_flags as far as the command takes them; NULL: it takes none. */
const struct fumi_shape *command_printing(const struct command *c);
/* The short names that all commands have. command_aliases contains only these. */
#define COMMAND_ALIASES                                                                            \
    {"c", "config"}, {"h", "help"},                                                                \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
extern const struct flag_alias command_aliases[];

/* The flags that a command takes from the params of its method, in the arena. They have no limits:
 * the method checks these. */
struct flag_set command_inherited(struct fumi_arena *a, const struct command *c);

/* All flags of a command, for help and completion. Not for flags_parse. */
struct flag_table command_flags(struct fumi_arena *a, const struct command *c,
                                struct flag_set sets[COMMAND_SETS]);

/* Prints "error: ..." to stderr and returns the status. */
int command_fail(enum status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a reference to the command's help. Returns STATUS_USAGE. */
int command_misuse(const struct invocation *i, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints an error with its data, if that is a string, and its remedy. Returns its exit status. */
int command_report(const struct fumi_err *e);
enum status command_status(int code);

/* The words joined by blanks, in the arena. */
struct fumi_str command_joined(struct fumi_arena *a, struct fumi_strs words);

/* Reads all of standard input into the arena. Returns -1 and sets *e if reading fails, or if the
 * input has more than `limit` bytes or is not UTF-8. */
int command_input(struct fumi_arena *a, size_t limit, struct fumi_str *out, struct fumi_err *e);

void command_print(struct fumi_buf *b); /* writes the text to stdout and frees the buffer */

/* help.c */
void help_general(FILE *to);
void help_command(const struct command *c, FILE *to);
void help_method(struct fumi_str name, const struct fumi_method *m, FILE *to);

#endif
