/* Shared by the crash tests: data that is derived from three numbers, a ledger of the operations
 * that drivers began and that the store acknowledged, and the check of a store against it. */
#ifndef CRASH_H
#define CRASH_H

#include "base/buf.h"
#include "store/store.h"

#include <sys/types.h>

enum { CRASH_DIM = 8 };
#define CRASH_SPACE   FUMI_STR("test:t:8")
#define CRASH_PROJECT FUMI_STR("crash")

/* An object of a writer (note, global or group) in one of its states. State 0: it does not exist.
 */
enum crash_kind { CRASH_NOTE, CRASH_GLOBAL, CRASH_GROUP, CRASH_KINDS };
struct crash_thing {
    enum crash_kind kind;
    unsigned writer, number, state;
};

/* Contents (content.c). */
struct fumi_str crash_id(struct fumi_arena *a, struct crash_thing t);
/* Sets writer and number. Returns false if the id is not one of out->kind. */
bool crash_id_read(struct fumi_str id, struct crash_thing *out);
struct fumi_str crash_text(struct fumi_arena *a, struct crash_thing t);
/* A word that only this text contains. */
struct fumi_str crash_word(struct fumi_arena *a, struct crash_thing t);
void crash_vector(struct crash_thing t, unsigned passage, float out[CRASH_DIM]);
void crash_note(struct fumi_arena *a, struct crash_thing t, struct note *n, struct vectors *v);
void crash_group(struct fumi_arena *a, struct crash_thing t, struct group *g);
void crash_global(struct fumi_arena *a, struct crash_thing t, struct global *g);
uint64_t crash_mix(uint64_t seed); /* a deterministic pseudo-random number */

/* Adds, updates or deletes the object, so that it has its state in the store. */
int crash_do(struct store *s, struct crash_thing t, struct fumi_err *e);
/* Operation `part` of a step of a writer. mixed: all kinds of operations, otherwise only new notes.
 * Returns false if the step has no such operation. */
bool crash_plan(unsigned writer, unsigned step, unsigned part, bool mixed, struct crash_thing *out);

/* A step of the life of notes, and the check that the journal of a store agrees with its notes; it
 * undoes all of them (life.c). Returns the number of faults. */
int crash_live(struct store *s, unsigned writer, unsigned step, struct fumi_err *e);
int crash_life_check(const char *path, struct fumi_buf *out);

/* The ledger (ledger.c): for each object the last acknowledged state and, if `open`, the state of
 * an operation that was begun and may or may not have been stored. */
struct crash_row {
    unsigned done, begun;
    bool open;
};

struct crash_rows {
    struct crash_row *items;
    size_t n;
};

struct ledger {
    struct crash_rows *rows[CRASH_KINDS]; /* one per writer */
    size_t writers;
    size_t acknowledged;
};

/* crash_line writes "B note 1 17 2\n" (begun) or "D ..." (done). ledger_line reads it and returns
 * false if it is not such a line. */
int crash_line(char *out, size_t size, char mark, struct crash_thing t);
bool ledger_line(struct ledger *l, struct fumi_str line);
/* Reads all complete lines and removes them from the buffer. */
void ledger_lines(struct ledger *l, struct fumi_buf *from);
void ledger_set(struct ledger *l, char mark, struct crash_thing t);
void ledger_copy(struct ledger *to, const struct ledger *from);
void ledger_done(struct ledger *l);

/* The check (check.c). Returns the number of faults and appends a line for each to `output`. */
enum crash_look {
    LOOK_FIND = 1,   /* notes are found by keyword and by vector; of many notes, a sample */
    LOOK_DOCTOR = 2, /* store_check finds no damage */
    LOOK_WRITE = 4,  /* a note can be added and deleted */
    LOOK_ALL = 7,
};
int crash_check(struct store *s, const struct ledger *l, unsigned look, struct fumi_buf *output);
int crash_check_file(const char *path, const struct ledger *l, unsigned look,
                     struct fumi_buf *output);
/* Whether the note has exactly the content of this state. */
bool crash_note_is(const struct note *n, struct crash_thing t);
/* The state in the text of a note; 0: none. */
unsigned crash_state_of(struct fumi_str text);

/* Processes, directories and files (processes.c). */
struct crash_child {
    pid_t pid;
    int in, out; /* its stdin and stdout */
    struct fumi_buf output;
};
/* Starts a program. words: its arguments; env: "NAME=value" or NULL; both end with NULL. The child
 * is killed when its parent ends. */
int crash_start(struct crash_child *c, const char *const *words, const char *const *env);
/* Waits up to `ms` milliseconds (-1: without a limit) for output and appends it to c->output.
 * Returns false at the end of the output. */
bool crash_read_output(struct crash_child *c, int ms);
/* Reads the rest of the output and returns the exit status as waitpid does. */
int crash_end(struct crash_child *c);
void crash_stop(struct crash_child *c); /* kill -9; then as crash_end */
void crash_free(struct crash_child *c);

/* Creates a directory. fast: in memory, if possible. Sets `out` to "" on failure. */
void crash_dir(char *out, size_t size, bool fast);
void crash_dir_remove(const char *path);
void crash_dir_empty(const char *path);
/* A number from the environment; `otherwise` is the default. */
unsigned crash_setting(const char *name, unsigned otherwise);
/* Read or write a whole file. Return 0, or -1 with errno set. */
int crash_read(const char *path, struct fumi_buf *out);
int crash_write(const char *path, const void *bytes, size_t n);

#endif
