/* The agents that `fumi setup` knows: where their files are and what they want in them. */
#ifndef FUMI_APP_SETUP_AGENTS_H
#define FUMI_APP_SETUP_AGENTS_H

#include "app/setup.h"

enum setup_scope { SETUP_USER, SETUP_PROJECT };

/* A file: of the user under the directory that a variable names, or else under the home directory;
 * of a project under the working directory. */
struct setup_place {
    const char *variable, *under; /* NULL: there is no such variable */
    const char *home, *project;   /* NULL: none in that scope */
    const char *other;            /* ending of another name that comes first when it exists; NULL */
};

/* How an agent writes a server that is a program, and one that is reached by a URL. */
struct setup_style {
    const char *program, *remote; /* the value of "type"; NULL: there is none */
    bool one_list;                /* the arguments stand in the same list as the command */
    bool enabled;                 /* says that it is */
};

struct setup_agent {
    const char *name, *alias, *title;
    const char *programs[3];
    const char *directory; /* in the home directory; where it is, the agent has been used */
    struct setup_place server, hook; /* hook: project NULL and home NULL, it has none */
    struct setup_spot spot, hook_spot;
    struct setup_style style;
    const char *matcher;      /* of the hook; NULL: none */
    const char *instructions; /* the file that it reads in a project */
    const char *notes[2];     /* to know, by scope; may be NULL */
    const char *hook_note;    /* may be NULL */
};

enum { SETUP_AGENTS = 6 };
extern const struct setup_agent setup_agents[SETUP_AGENTS];

const struct setup_agent *setup_agent_find(struct fumi_str name); /* NULL: there is none */

/* The path, absolute. Null: it has none in that scope. */
int setup_place_path(struct fumi_arena *a, const struct setup_place *p, enum setup_scope scope,
                     struct fumi_str *out, struct fumi_err *e);

/* The agent's program in PATH, or else a directory that it has made; null: it is not here. */
struct fumi_str setup_agent_seen(struct fumi_arena *a, const struct setup_agent *g);

/* The command line of the server: words[0] is the program. Or its URL, when that is not null. */
struct setup_server {
    struct fumi_strs words;
    struct fumi_str url;
};
/* Entries for `put`. The hook's command is a line for a shell. */
struct fumi_str setup_server_entry(struct fumi_arena *a, const struct setup_agent *g,
                                   const struct setup_server *s);
struct fumi_str setup_hook_entry(struct fumi_arena *a, const struct setup_agent *g,
                                 struct fumi_str command);
struct fumi_str setup_instructions(void);

/* The name under which this program is to be started: one in PATH when that leads to it. */
int setup_program(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e);

#endif
