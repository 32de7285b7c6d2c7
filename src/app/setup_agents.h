/* The agents that `fumi setup` supports: the paths and the formats of their configuration files. */
#ifndef FUMI_APP_SETUP_AGENTS_H
#define FUMI_APP_SETUP_AGENTS_H

#include "app/setup.h"

enum setup_scope { SETUP_USER, SETUP_PROJECT };

/* Where a configuration file is. The user's file is in the directory that a variable names, or else
 * in the home directory; the project's file is in the working directory. */
struct setup_location {
    const char *variable, *under; /* path below the variable's directory; NULL: no variable */
    const char *home, *project;   /* NULL: no file in that scope */
    const char *other; /* suffix of another name, used if only that file exists; NULL: none */
};

/* How an agent describes a server that it starts, and one that it reaches by a URL. */
struct setup_style {
    const char *program, *remote; /* the value of "type"; NULL: no such member */
    bool one_list;                /* command and arguments are one list */
    bool enabled;                 /* has a member "enabled" */
};

/* A hook: what the agent runs at an event. */
struct setup_event {
    const char *path[3]; /* of the list of hooks in the file; NULL at the end */
    const char *command; /* of fumi */
    const char *matcher; /* NULL: no such member */
};

enum { SETUP_EVENTS = 4 };

struct setup_agent {
    const char *name, *alias, *title;
    const char *programs[3];
    const char *directory; /* in the home directory; exists if the agent has been used */
    struct setup_location server, hook; /* hook.home NULL: the agent has no hooks */
    struct setup_spot spot;
    struct setup_style style;
    struct setup_event events[SETUP_EVENTS]; /* command NULL after the last one */
    bool strict;                             /* of the file with the hooks, see struct setup_spot */
    const char *instructions;                /* the instruction file that it reads in a project */
    const char *notes[2];                    /* printed after setup, by scope; may be NULL */
    const char *hook_note;                   /* may be NULL */
};

enum { SETUP_AGENTS = 6 };
extern const struct setup_agent setup_agents[SETUP_AGENTS];

const struct setup_agent *setup_agent_find(struct fumi_str name); /* NULL: unknown agent */

/* The absolute path of the file; null if there is none in that scope. */
int setup_location_path(struct fumi_arena *a, const struct setup_location *p,
                        enum setup_scope scope, struct fumi_str *out, struct fumi_err *e);

/* The path of the agent's program, or of the directory it created; null if neither exists. */
struct fumi_str setup_agent_installed(struct fumi_arena *a, const struct setup_agent *g);

/* The server: a command line, whose words[0] is the program, or a URL if that is not null. */
struct setup_server {
    struct fumi_strs words;
    struct fumi_str url;
};
/* Entries for setup_format.put. The command of the hook is a command line for a shell. */
struct fumi_str setup_server_entry(struct fumi_arena *a, const struct setup_agent *g,
                                   const struct setup_server *s);
struct fumi_str setup_hook_entry(struct fumi_arena *a, const struct setup_event *v,
                                 struct fumi_str command);
struct fumi_str setup_instructions(void);

/* The path of this program: one through PATH if that leads to the same file. */
int setup_program(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e);

#endif
