/* The command line as a struct, through its shape: "--idle-time 500" sets the member idleTime. */
#ifndef FUMI_APP_FLAGS_H
#define FUMI_APP_FLAGS_H

#include "json/shape.h"

/* One shape whose members are flags, and where they go. */
struct flag_set {
    const struct fumi_shape *shape;
    void *into; /* zeroed; filled with defaults and with what was given */
    /* What was given is also written as a JSON object, under the names of these members, which
     * stand in the order of `shape`. NULL: not, unless `into` is NULL. */
    const struct fumi_shape *wire;
};

/* Another name of a flag, without dashes: {"k", "top-k"}. */
struct flag_alias {
    const char *alias, *name;
};

/* All flags of a command. A set whose `into` is NULL is not bound: what was given for it is written
 * down as a JSON object under the names of its members, for somebody else to judge. */
struct flag_table {
    const struct flag_set *sets;
    size_t n;
    const struct flag_alias *aliases; /* {NULL} ends it; NULL: there are none */
    struct fumi_json *unbound;        /* where that object goes; NULL: every set is bound */
};

/* Reads argv from its second word on. One dash is as good as two; a value is the next word or
 * stands behind '='; a bool needs none ("--access-log", "--access-log=false"); a list is a flag
 * given several times; flags and other words may stand in any order, "--" ends the flags. Other
 * words are gathered in *words. Strings live in the arena; the value of --token is wiped from argv.
 * -1: *e names the flag and the remedy, and the nearest flag when there is none of that name. */
int flags_parse(struct fumi_arena *a, const struct flag_table *t, char **argv,
                struct fumi_strs *words, struct fumi_err *e);
/* The same without aliases. */
int flags_read(struct fumi_arena *a, const struct flag_set *sets, size_t n, char **argv,
               struct fumi_strs *words, struct fumi_err *e);

/* "  -k, --top-k N    What it means (default 5)" for each flag, for --help. */
void flags_explain(const struct flag_table *t, struct fumi_buf *out);
/* "  --idle-time MS    What it means (default 75000)" for each flag, for --help. */
void flags_help(const struct flag_set *sets, size_t n, struct fumi_buf *out);

/* The parts of that, for those who list flags in another form. The name has its dashes; the kind is
 * what a value looks like ("MS", "text|json"), empty for a bool; the note is the default or that
 * the flag is required. */
enum { FLAG_NAME = 64 };
struct fumi_str flags_name(const char *member, char out[FLAG_NAME]);
void flags_put_kind(struct fumi_buf *out, const struct fumi_field *f);
void flags_put_note(struct fumi_buf *out, const struct fumi_field *f);
const char *flags_alias(const struct flag_table *t, const struct fumi_field *f); /* NULL: none */

/* A text as the JSON value that the field wants. What is none of that kind becomes a string, for
 * the shape to judge. */
void flags_put_value(struct fumi_arena *a, struct fumi_out *o, const struct fumi_field *f,
                     struct fumi_str text);

#endif
