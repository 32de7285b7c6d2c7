/* Shared by the files of bench_json: the documents, and the libraries that parse them. Also
 * included from C++, so it is plain C. */
#ifndef FUMI_BENCH_BENCH_H
#define FUMI_BENCH_BENCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct input {
    const char *name;
    char *text; /* owned; exactly n bytes, without padding or terminator */
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

/* What a handler would read from a document. All libraries must get the same values. */
struct sum {
    double numbers; /* all numbers of params and ids */
    size_t bytes;   /* of all decoded strings, plus the value of the last byte of each */
    size_t calls;   /* objects with "jsonrpc": "2.0" and a method */
};

/* One library. `open` prepares a document outside the timing. `parse` parses all of it and frees
 * the result; `use` also checks jsonrpc and reads method, id and every param. Both return 0, or
 * -1 if the library refuses the text. */
struct lib {
    const char *name;
    void *(*open)(const char *text, size_t n);
    int (*parse)(void *doc);
    int (*use)(void *doc, struct sum *sum);
    void (*close)(void *doc);
};
extern const struct lib lib_fumi, lib_jansson, lib_cjson, lib_simdjson;

/* All measurements: a row per input, a column per library and kind of work. */
enum { LIBS = 4 };
enum column { PARSE, USE = PARSE + LIBS, COLUMNS = USE + LIBS };
struct cell {
    const struct lib *lib;
    void *doc; /* owned by the library */
    enum column column;
    size_t reps;   /* runs per measurement */
    double best;   /* nanoseconds per run */
    double allocs; /* per run, in the steady state; negative: unknown */
};
struct grid {
    struct input inputs[INPUTS];
    struct cell cells[INPUTS][COLUMNS];
};

/* Returns -1, with a message on stderr, if a library refuses an input or two libraries read
 * different values. */
int grid_make(struct grid *g);
void grid_free(struct grid *g);
int cell_run(struct cell *c); /* runs once; returns 0, or -1 on failure */

#ifdef __cplusplus
}
#endif

#endif
