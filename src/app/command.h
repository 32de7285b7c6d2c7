/* The commands of the program: a table that dispatch, help, completion and the manual are made of.
 */
#ifndef FUMI_APP_COMMAND_H
#define FUMI_APP_COMMAND_H

#include "app/config.h"
#include "app/flags.h"
#include "base/version.h"

#include <stdio.h>

/* How the program ends. Errors of methods are mapped by command_status. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,    /* the command line or a parameter is wrong */
    STATUS_MISSING = 3,  /* no such note, group or method */
    STATUS_TAKEN = 4,    /* it is there already */
    STATUS_PROVIDER = 5, /* the embedding provider failed, or has no key */
    STATUS_NEWER = 6,    /* the database was written by a newer version */
};

/* Flags of commands that write. */
struct write_flags {
    uint64_t given;
    int secrets; /* enum secrets_mode */
};

/* Flags of every command that opens the memory. */
struct common {
    bool help;
    struct fumi_str config, data_dir, db;
    bool allow_http;
    int log, log_format;
    struct write_flags writing; /* as command_writing describes it */
};

struct invocation {
    const struct command *command;
    struct fumi_arena *a;
    struct common common;
    void *flags;             /* as command->shape describes them */
    struct config_http http; /* serve: what flags say */
    struct fumi_json params; /* call, and commands with a method: what flags say, as an object */
    struct fumi_strs words;
};

struct command {
    const char *name;
    const char *usage;              /* what stands behind the name, flags left out */
    const char *help;               /* one sentence */
    const char *more;               /* paragraphs; may be NULL */
    const struct fumi_shape *shape; /* flags of its own; may be NULL */
    /* The method that it calls; NULL: none. The params of the method are flags too, projectId as
     * --project, but for the one that the words give (NULL: none). */
    const char *method, *word_param;
    const struct flag_alias *aliases;
    bool bare;    /* takes no common flags but --help */
    bool writes;  /* takes those of command_writing too */
    bool serves;  /* takes those of fumi_settings_shape too */
    bool methods; /* its first word is a method, whose parameters are flags */
    size_t words; /* how many at most */
    int (*run)(struct invocation *i);
};

/* The commands in the order of help. */
#define COMMAND_LIST(X)                                                                            \
    X(serve)                                                                                       \
    X(search)                                                                                      \
    X(call)                                                                                        \
    X(add)                                                                                         \
    X(list)                                                                                        \
    X(get)                                                                                         \
    X(delete)                                                                                      \
    X(reembed)                                                                                     \
    X(import)                                                                                      \
    X(export)                                                                                      \
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
enum { COMMANDS = COMMAND_LIST(COMMAND_ONE), ANY_WORDS = 1 << 20, COMMAND_SETS = 5 };
#undef COMMAND_ONE
extern const struct command *const commands[COMMANDS];
const struct command *command_find(struct fumi_str name); /* NULL: there is none */

/* The common flags that it takes. */
const struct fumi_shape *command_common(const struct command *c);
/* For a struct write_flags. */
extern const struct fumi_shape command_writing;
/* Short names that all have, and a row of those alone. */
#define COMMAND_ALIASES                                                                            \
    {"c", "config"}, {"h", "help"},                                                                \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
extern const struct flag_alias command_aliases[];

/* The flags that a command with a method takes from the params of the method. The set lives in the
 * arena. Limits are left to the method. */
struct flag_set command_inherited(struct fumi_arena *a, const struct command *c);

/* Its flags for listing: nothing is read into them. */
struct flag_table command_flags(struct fumi_arena *a, const struct command *c,
                                struct flag_set sets[COMMAND_SETS]);

/* "error: ..." on stderr; the status. */
int command_fail(enum status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a hint at the command's help. */
int command_misuse(const struct invocation *i, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* An error of a method or of our own, with its code where that says more, and its data. */
int command_report(const struct fumi_err *e);
enum status command_status(int code);

/* The words as one text with blanks between. */
struct fumi_str command_joined(struct fumi_arena *a, struct fumi_strs words);

/* All of standard input; at most `limit` bytes. */
int command_input(struct fumi_arena *a, size_t limit, struct fumi_str *out, struct fumi_err *e);

void command_print(struct fumi_buf *b); /* to stdout, and frees it */

/* help.c */
void help_general(FILE *to);
void help_command(const struct command *c, FILE *to);

#endif
