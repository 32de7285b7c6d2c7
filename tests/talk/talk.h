/* Shared by the files of the talk runner; main.c describes .talk files. */
#ifndef TALK_H
#define TALK_H

#include "rpc/rpc.h"

enum { PATIENCE = 20 }; /* seconds until a program is considered stuck */

enum mode { DIRECT, STDIO, BURST, UNIX, HTTP, HTTPUNIX, WEBSOCKET, MODES };
extern const char *const mode_names[MODES];

struct want {
    struct fumi_str text;
    int line;
    bool exact;
    struct want *next;
};

struct step {
    struct fumi_str title, message;
    int line;
    struct want *wants;
    struct step *next;
};

/* A captured value, as it was written. */
struct named {
    struct fumi_str name, value; /* the name with its '$' */
    struct named *next;
};

/* {.path = "..."} before talk_read. */
struct talk {
    const char *path;
    struct fumi_arena arena;
    struct fumi_buf source;
    unsigned modes; /* bit set of the modes in which the file is played */
    struct step *steps;
    size_t n;
    struct named *named; /* captured values of "$name" */
};

struct tally {
    int passed, failed, skipped;
};

/* script.c: returns -1 after printing to stderr what is wrong with the file. */
int talk_read(struct talk *t);
void talk_done(struct talk *t);

/* The message to send, with each "$name" replaced by its captured value. */
struct fumi_str talk_message(struct talk *t, const struct step *step);
void talk_remember(struct talk *t, struct fumi_str name, struct fumi_str value);
struct fumi_str talk_recall(const struct talk *t, struct fumi_str name); /* null: nothing */

/* compare.c: returns whether `got` is the expected answer, and prints differences to stderr. A NULL
 * string means no answer, a NULL `want` that none is expected. */
bool talk_answers(struct talk *t, const struct want *want, struct fumi_str got);
void talk_report(const struct talk *t, const struct step *step, const struct want *want,
                 struct fumi_str got);
void talk_show(const char *label, struct fumi_str s);

/* direct.c, program.c and network.c: play a talk in one mode. */
typedef void talk_play_fn(struct talk *t, const char *program, struct tally *tally);
talk_play_fn play_direct, play_stdio, play_burst, play_unix, play_http, play_httpunix,
    play_websocket;

/* fixture_spec.c or fixture_memory.c: the methods for the mode direct. */
struct fixture;
struct fixture *fixture_open(struct fumi_server *s, struct fumi_err *e);
void fixture_close(struct fixture *fixture);

static inline void tally_add(struct tally *tally, bool right)
{
    ++*(right ? &tally->passed : &tally->failed);
}

#endif
