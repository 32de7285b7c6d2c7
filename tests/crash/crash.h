/* What the crash tests share: notes whose every byte follows from three numbers, a ledger of what a
 * driver began and what was acknowledged, and the check of a store against it. */
#ifndef CRASH_H
#define CRASH_H

#include "base/buf.h"
#include "store/store.h"

#include <sys/types.h>

enum { CRASH_DIM = 8 };
#define CRASH_SPACE   FUMI_STR("test:t:8")
#define CRASH_PROJECT FUMI_STR("crash")

/* One thing that a writer keeps: a note, a global or a group, and which state of it. 0: it is not
 * there. */
enum crash_kind { CRASH_NOTE, CRASH_GLOBAL, CRASH_GROUP, CRASH_KINDS };
struct crash_thing {
    enum crash_kind kind;
    unsigned writer, number, state;
};

/* Contents (content.c). */
struct fumi_str crash_id(struct fumi_arena *a, struct crash_thing t);
bool crash_id_read(struct fumi_str id, struct crash_thing *out); /* kind and state: as they were */
struct fumi_str crash_text(struct fumi_arena *a, struct crash_thing t);
struct fumi_str crash_word(struct fumi_arena *a, struct crash_thing t); /* only this text has it */
void crash_vector(struct crash_thing t, unsigned passage, float out[CRASH_DIM]);
void crash_note(struct fumi_arena *a, struct crash_thing t, struct note *n, struct vectors *v);
void crash_group(struct fumi_arena *a, struct crash_thing t, struct group *g);
void crash_global(struct fumi_arena *a, struct crash_thing t, struct global *g);
uint64_t crash_mix(uint64_t seed); /* numbers that look random and are the same every time */

/* Brings it to its state in the store. */
int crash_do(struct store *s, struct crash_thing t, struct fumi_err *e);
/* The i-th thing that a writer does, of adds alone or of everything. False: there is none. */
bool crash_plan(unsigned writer, unsigned step, unsigned part, bool mixed, struct crash_thing *out);

/* The ledger (ledger.c). Of each thing the last acknowledged state, and the one that was begun and
 * may have come about or not. */
struct crash_row {
    unsigned done, begun;
    bool open;
};

struct crash_rows {
    struct crash_row *items;
    size_t n;
};

struct ledger {
    struct crash_rows *rows[CRASH_KINDS]; /* of each writer */
    size_t writers;
    size_t acknowledged;
};

/* "B note 1 17 2\n": begun; "D ...": done. False: it is no such line. */
int crash_line(char *out, size_t size, char mark, struct crash_thing t);
bool ledger_line(struct ledger *l, struct fumi_str line);
/* Takes whole lines from the front of the buffer. */
void ledger_lines(struct ledger *l, struct fumi_buf *from);
void ledger_set(struct ledger *l, char mark, struct crash_thing t);
void ledger_copy(struct ledger *to, const struct ledger *from);
void ledger_done(struct ledger *l);

/* The check (check.c). Returns how many faults there are, and says each in a line. */
enum crash_look {
    LOOK_FIND = 1,   /* notes by word and by vector; of very many only some */
    LOOK_DOCTOR = 2, /* the store itself says that it is sound */
    LOOK_WRITE = 4,  /* a note can be put and dropped */
    LOOK_ALL = 7,
};
int crash_check(struct store *s, const struct ledger *l, unsigned look, struct fumi_buf *said);
int crash_check_file(const char *path, const struct ledger *l, unsigned look,
                     struct fumi_buf *said);
/* One note against what it must say; the states that it may have. */
bool crash_note_is(const struct note *n, struct crash_thing t);
/* The state that a note's text claims; 0: none. */
unsigned crash_state_of(struct fumi_str text);

/* Processes and directories (place.c). */
struct crash_child {
    pid_t pid;
    int in, out; /* its stdin and stdout */
    struct fumi_buf said;
};
/* env: "NAME=value" or NULL. The child ends with its parent. */
int crash_start(struct crash_child *c, const char *const *words, const char *const *env);
/* Reads what comes until `ms` are over (-1: no end) or it has ended. False: it has ended. */
bool crash_hear(struct crash_child *c, int ms);
/* Waits for its end, and gives its status as waitpid does. */
int crash_end(struct crash_child *c);
void crash_stop(struct crash_child *c); /* kill -9, and what it had said is heard */
void crash_free(struct crash_child *c);

/* A fresh directory; `fast`: in memory where that is possible. "" when it cannot be made. */
void crash_dir(char *out, size_t size, bool fast);
void crash_dir_remove(const char *path);
void crash_dir_empty(const char *path);
unsigned crash_setting(const char *name, unsigned otherwise); /* from the environment */
/* A copy of a whole file; -1: errno says why. */
int crash_read(const char *path, struct fumi_buf *out);
int crash_write(const char *path, const void *bytes, size_t n);

#endif
