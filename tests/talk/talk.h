/* What the parts of the talk runner share; main.c says what a .talk file is. */
#ifndef TALK_H
#define TALK_H

#include "rpc/rpc.h"

enum { PATIENCE = 20 }; /* seconds until a program counts as stuck */

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

/* A value that was remembered, as it was written. */
struct named {
    struct fumi_str name, value; /* the name with its '$' */
    struct named *next;
};

/* {.path = "..."} before talk_read. */
struct talk {
    const char *path;
    struct fumi_arena arena;
    struct fumi_buf source;
    unsigned modes; /* those in which it is played, a bit for each */
    struct step *steps;
    size_t n;
    struct named *named; /* what "$name" stands for */
};

struct tally {
    int passed, failed, skipped;
};

/* script.c: -1 after a line on stderr that says what is wrong with the file. */
int talk_read(struct talk *t);
void talk_done(struct talk *t);

/* The message as it is sent: with what was remembered in place of each "$name". */
struct fumi_str talk_message(struct talk *t, const struct step *step);
void talk_remember(struct talk *t, struct fumi_str name, struct fumi_str value);
struct fumi_str talk_recall(const struct talk *t, struct fumi_str name); /* null: nothing */

/* compare.c: whether that is the answer; what went wrong, on stderr. No string stands for no
 * answer, no `want` for none expected. */
bool talk_answers(struct talk *t, const struct want *want, struct fumi_str got);
void talk_report(const struct talk *t, const struct step *step, const struct want *want,
                 struct fumi_str got);
void talk_show(const char *label, struct fumi_str s);

/* direct.c, program.c and network.c: the ways to play one. */
typedef void talk_play_fn(struct talk *t, const char *program, struct tally *tally);
talk_play_fn play_direct, play_stdio, play_burst, play_unix, play_http, play_httpunix,
    play_websocket;

/* fixture_spec.c or fixture_memory.c: the methods of a talk that is played direct. */
struct fixture;
struct fixture *fixture_open(struct fumi_server *s, struct fumi_err *e);
void fixture_close(struct fixture *fixture);

static inline void tally_add(struct tally *tally, bool right)
{
    ++*(right ? &tally->passed : &tally->failed);
}

#endif
