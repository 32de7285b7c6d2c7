/* What the functions of a store take and return. */
#ifndef FUMI_STORE_STORE_TYPES_H
#define FUMI_STORE_STORE_TYPES_H

#include "model/note.h"

/* The vectors of one text: one for each passage, in the order of the text. Each has unit length. */
struct passage {
    uint32_t begin, end; /* bytes of the text */
    const float *x;      /* `dim` of them */
};

struct vectors {
    struct fumi_str space; /* the namespace, such as "local:all-MiniLM-L6-v2:384" */
    size_t dim;
    struct passage *items;
    size_t n; /* 0: none yet; the note is pending in this space */
};

/* A note that was found, by its best passage or by its words. Best first. */
struct hit {
    int64_t seq;
    double score;        /* near and score: cosine; match: BM25, larger is better */
    uint32_t begin, end; /* near and score: the best passage */
};

struct hits {
    struct hit *items;
    size_t n;
};

/* How many notes each part of a filter takes away, in this order. */
struct filtered {
    int64_t project; /* notes of the project */
    int64_t group, tags, time;
    int64_t left;
};

/* Where a page of a list begins: behind this note. {0, 0}: at the beginning. */
struct cursor {
    int64_t created, seq;
};

/* Where the rows of a list go. Each row (a struct note, group or global) is shown to `each` before
 * it is copied: its strings belong to the store and are valid until `each` returns, and `bytes` is
 * the length of its texts (of a note: title, text, source and metadata). `each` may shorten the
 * strings or set them to null. It returns -1 with *e set to end the list as a failure; otherwise
 * one of these. */
enum {
    ROW_SKIP, /* the row is left out */
    ROW_KEEP, /* it is copied into the arena and becomes part of the list */
    ROW_END,  /* it is left out, and so are all rows behind it */
};

struct loading {
    struct fumi_arena *arena;
    int (*each)(void *arg, void *row, size_t bytes, struct fumi_err *e); /* NULL: keep all */
    void *arg;
};

static inline int loading_ask(const struct loading *to, void *row, size_t bytes, struct fumi_err *e)
{
    return to->each ? to->each(to->arg, row, bytes, e) : ROW_KEEP;
}

/* A note whose text has no vectors in a space. */
struct unembedded {
    int64_t seq;
    struct fumi_str text;
    int64_t version; /* of the text: says whether it changed meanwhile */
};

struct unembeddeds {
    struct unembedded *items;
    size_t n;
};

/* Names that occur, and how many notes each has. (One that has a tag twice may count twice.) */
enum name_kind { NAME_PROJECT, NAME_GROUP, NAME_TAG };

struct naming {
    enum name_kind kind;
    struct fumi_str project; /* groups and tags: of this one; null: of all */
    struct fumi_str part;    /* only names that hold it, whatever the case of English letters */
    struct fumi_str after;   /* only names behind this one; null: from the first */
    size_t limit;
};

struct name {
    struct fumi_str text;
    int64_t notes;
};

struct names {
    struct name *items;
    size_t n;
};

/* What became of a note, group or global that an import brought. */
enum merged {
    MERGED_ADDED,   /* or, of a global, replaced an older value */
    MERGED_RENAMED, /* added under a new id: the one it had belongs to something else */
    MERGED_SAME,    /* an equal one is there */
    MERGED_OLDER,   /* the value that is there is as new or newer, and stays */
};

struct store_stats {
    int64_t notes, projects, groups, globals, vectors, bytes;
    int schema;
};

#endif
