/* Parses a command line into structs, through their shapes: "--idle-time 500" sets the member
 * idleTime. */
#ifndef FUMI_APP_FLAGS_H
#define FUMI_APP_FLAGS_H

#include "json/shape.h"

/* A shape whose members are flags, and the struct that receives their values. */
struct flag_set {
    const struct fumi_shape *shape;
    void *into; /* zeroed by the caller; filled with defaults and with the flags that were given */
    /* The flags given are also written as a JSON object with the names of these members, which have
     * the same order as those of `shape`. NULL: not written, unless `into` is NULL. */
    const struct fumi_shape *wire;
};

/* A short name of a flag, both without dashes: {"k", "top-k"}. */
struct flag_alias {
    const char *alias, *name;
};

/* All flags of a command. A set whose `into` is NULL is not bound: its flags are collected,
 * unchecked, in a JSON object under the names of the members. */
struct flag_table {
    const struct flag_set *sets;
    size_t n;
    const struct flag_alias *aliases; /* ends with {NULL}; NULL: no aliases */
    struct fumi_json *unbound;        /* receives that object; NULL if every set is bound */
    bool members;                     /* flags_explain describes members of JSON, not flags */
};

/* Parses argv, starting at argv[1]. One dash is equivalent to two. A value is the next argument or
 * follows '='. A bool needs no value ("--access-log", "--access-log=false"). A list is a flag that
 * is given several times. Flags and other arguments may be mixed; "--" ends the flags. Other
 * arguments are collected in *words. Strings live in the arena. The value of --token is wiped from
 * argv. Returns -1 on failure: *e names the flag and the remedy; for an unknown flag, also the flag
 * with the closest name. */
int flags_parse(struct fumi_arena *a, const struct flag_table *t, char **argv,
                struct fumi_strs *words, struct fumi_err *e);

/* Appends the text for --help: "  -k, --top-k N    What it means (default 5)" for each flag, in
 * lines of that many columns. */
void flags_explain(const struct flag_table *t, struct fumi_buf *out, size_t columns);

/* The parts of that text, for other formats. The name includes its dashes. The kind describes the
 * value ("MS", "text|json") and is empty for a bool. The note gives the default, or says that the
 * flag is required or may be repeated. */
enum { FLAG_NAME = 64 };
struct fumi_str flags_name(const char *member, char out[FLAG_NAME]);
void flags_put_kind(struct fumi_buf *out, const struct fumi_field *f);
void flags_put_note(struct fumi_buf *out, const struct fumi_field *f);
/* The short name of a flag. Returns NULL if it has none. */
const char *flags_alias(const struct flag_table *t, const struct fumi_field *f);

/* Writes a text as the JSON value that the field takes. A text of another type is written as a
 * string, which fumi_bind then rejects. */
void flags_put_value(struct fumi_arena *a, struct fumi_out *o, const struct fumi_field *f,
                     struct fumi_str text);

#endif
