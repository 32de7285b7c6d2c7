/* Shared by the benchmarks: the documents that are read, and the libraries that read them. Also
 * included from C++, so it holds plain C only. */
#ifndef FUMI_BENCH_BENCH_H
#define FUMI_BENCH_BENCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct input {
    const char *name;
    char *text; /* owned; ends where n says, without padding or terminator */
    size_t n;
};

enum input_name {
    INPUT_REQUEST,
    INPUT_NOTE,
    INPUT_LARGE_NOTE,
    INPUT_JAPANESE_NOTE,
    INPUT_BATCH,
    INPUT_FLOATS,
    INPUTS
};
void inputs_make(struct input out[INPUTS]);
void inputs_free(struct input in[INPUTS]);

/* What a handler would take out of a document. All libraries must come to the same. */
struct sum {
    double numbers; /* all numbers of params and ids */
    size_t bytes;   /* of all decoded strings, with the last byte of each added */
    size_t calls;   /* objects with "jsonrpc": "2.0" and a method */
};

/* One library. `open` prepares a document outside the timing; `parse` reads all of it and lets go
 * again; `use` also checks jsonrpc, takes method, id and every param. Both return 0, or -1 when
 * the library refuses the text. */
struct lib {
    const char *name;
    void *(*open)(const char *text, size_t n);
    int (*parse)(void *doc);
    int (*use)(void *doc, struct sum *sum);
    void (*close)(void *doc);
};
extern const struct lib lib_fumi, lib_jansson, lib_cjson, lib_simdjson;

/* Everything that is measured: a row for each input, a column for each kind of work. */
enum { LIBS = 4 };
enum column { PARSE, USE = PARSE + LIBS, COLUMNS = USE + LIBS };
struct cell {
    const struct lib *lib;
    void *doc; /* of the library */
    enum column column;
    size_t reps;   /* runs in one measurement */
    double best;   /* nanoseconds a run */
    double allocs; /* a run, in the steady state; negative: not known */
};
struct grid {
    struct input inputs[INPUTS];
    struct cell cells[INPUTS][COLUMNS];
};

/* -1, with a line on stderr: a library refused an input, or two read it differently. */
int grid_make(struct grid *g);
void grid_free(struct grid *g);
int cell_run(struct cell *c); /* once; 0, or -1 when it failed */

#ifdef __cplusplus
}
#endif

#endif
