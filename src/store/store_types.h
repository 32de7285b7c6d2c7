/* The types of the functions in store.h. Structs that a function returns, and the arrays in them,
 * live in the arena of the call. */
#ifndef FUMI_STORE_STORE_TYPES_H
#define FUMI_STORE_STORE_TYPES_H

#include "store/store_life.h"

/* The vectors of one text: one for each passage, in the order of the text. Each has unit length. */
struct passage {
    uint32_t begin, end; /* bytes of the text */
    const float *x;      /* `dim` numbers */
};

struct vectors {
    struct fumi_str space; /* name of the embedding space, such as "local:all-MiniLM-L6-v2:384" */
    size_t dim;
    struct passage *items;
    size_t n; /* 0: none; the note is embedded later */
};

/* A search result: a note, found by its best passage or by its keywords. */
struct hit {
    int64_t seq;
    double score;        /* larger is better; match_keywords: BM25, otherwise the cosine */
    double share;        /* match_keywords: see struct keyword_hits */
    uint32_t begin, end; /* nearest, score_vectors: the best passage */
};

struct hits {
    struct hit *items;
    size_t n;
    bool behind; /* nearest: the vector cache is being built, and nothing was searched */
};

struct keyword_query {
    struct fumi_str text; /* plain text, without operators */
    size_t limit;         /* 0: only the words of the query are counted */
    size_t rare;          /* words in more notes than this count for nothing; 0: all words count */
    bool plain_length;    /* for measurements: short notes score more, as in standard BM25 */
};

/* A word of the query. */
struct query_word {
    uint32_t begin, end; /* bytes of the query */
    double notes;        /* of the project that contain the word; an estimate if they are many */
};

/* hits.items[i].share is the share of the words of the query that the note contains, from 0 to 1,
 * each weighted by its rarity in the project. */
struct keyword_hits {
    struct hits hits;
    struct query_word *words; /* in the order of the query, without punctuation */
    size_t words_n;
    double notes; /* of the project */
};

/* The notes before and after a note in its chain (note_chain), by time of creation, then by seq:
 * two before, one before, one after, two after; 0: none. */
struct neighbours {
    int64_t seq[4];
};

/* How many notes each part of a filter excludes, applied in this order. */
struct filtered {
    int64_t project; /* notes of the project */
    int64_t group, tags, time, superseded;
    int64_t left; /* notes that pass */
};

/* A page of a list begins after this note. {0, 0}: at the beginning. */
struct cursor {
    int64_t created, seq;
};

/* Receives the rows of a list. `each` is called with each row (a struct note, group or global)
 * before the row is copied: its strings belong to the store and are valid until `each` returns, and
 * `bytes` is the length of its texts (of a note: note_bytes). `each` may
 * shorten the strings or set them to null. It returns -1 with *e set to let the list fail, or one
 * of these. */
enum {
    ROW_SKIP, /* omit the row */
    ROW_KEEP, /* copy the row into the arena and add it to the list */
    ROW_END,  /* omit the row and all rows after it */
};

struct loading {
    struct fumi_arena *arena;
    int (*each)(void *arg, void *row, size_t bytes, struct fumi_err *e); /* NULL: keep all */
    void *arg;
};

static inline int loading_each(const struct loading *to, void *row, size_t bytes,
                               struct fumi_err *e)
{
    return to->each ? to->each(to->arg, row, bytes, e) : ROW_KEEP;
}

/* A note whose text has no vectors in a space. */
struct unembedded {
    int64_t seq;
    struct fumi_str text;
    int64_t version; /* of the text; rises when the text changes */
};

struct unembeddeds {
    struct unembedded *items;
    size_t n;
};

/* Names in use, with the number of their notes. A note with the same tag twice may count twice. */
enum name_kind { NAME_PROJECT, NAME_GROUP, NAME_TAG };

struct naming {
    enum name_kind kind;
    struct fumi_str project; /* groups and tags: of this project; null: of all */
    struct fumi_str part;    /* only names that contain it, ignoring the case of ASCII letters */
    struct fumi_str after;   /* only names after this one; null: from the first */
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

/* Days that have notes, in ascending order. */
struct day {
    int64_t number; /* days since 1970-01-01 */
    int64_t notes;
};

struct days {
    struct day *items;
    size_t n;
};

/* Notes with the vectors of their first passages: x[i * dim] is the first number of the vector of
 * notes.items[i]. */
struct sample {
    struct notes notes;
    float *x;
    size_t dim;
    int64_t total;   /* notes that pass the filter */
    int64_t without; /* of the chosen notes, those that have no vector and are omitted */
};

/* Ids that begin with a text. */
enum id_kind {
    ID_OF_NOTE = 1,
    ID_OF_GROUP = 2,
    ID_OF_GLOBAL = 4,
    ID_OF_CHANGE = 8, /* what the journal has, also if it was deleted */
};

struct id_prefix {
    unsigned kinds;          /* of enum id_kind */
    struct fumi_str project; /* null: of all */
    struct fumi_str text;
    size_t limit; /* of each kind */
};

/* The outcome of importing a note, group or global. */
enum merged {
    MERGED_ADDED,   /* added; a global may have replaced an older value */
    MERGED_RENAMED, /* added under a new id, because its id belongs to another row */
    MERGED_SAME,    /* an equal row exists */
    MERGED_OLDER,   /* the existing value is as new or newer, and stays */
    MERGED_EQUAL,   /* another note says the same; it has the tags of this one now */
};

/* A row to import, and its result. */
enum merge_kind { MERGE_NOTE, MERGE_GROUP, MERGE_GLOBAL };

struct merge_row {
    enum merge_kind kind;
    union {
        struct note note;
        struct group group;
        struct global global;
    };
    enum merged outcome; /* if e.code is 0 */
    struct fumi_err e;   /* code 0: the row is in the store */
};

struct store_stats {
    int64_t notes, projects, groups, globals, vectors, bytes;
    int schema;
    int64_t backup; /* time of the last backup; 0: none is known */
    int64_t cache;  /* bytes of the vector cache; 0: there is none */
    bool building;  /* whether this process builds the vector cache */
};

#endif
