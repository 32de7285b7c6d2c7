/* Where notes, groups, globals and vectors are kept: the interface of every store.
 *
 * Any thread may call any function at any time. What is returned lives in the arena given. What is
 * not there: ERR_NOT_FOUND; a unique key that is taken: ERR_CONFLICT; what the user can put right
 * (disk, rights, damage): FUMI_LIMIT with a sentence that says how; a file of a newer version:
 * ERR_NEWER; anything else that breaks: FUMI_INTERNAL_ERROR with a sentence for the log. When a
 * function that writes returns 0, what it wrote survives a power cut. */
#ifndef FUMI_STORE_STORE_H
#define FUMI_STORE_STORE_H

#include "base/log.h"
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

struct store;

struct store_ops {
    const char *name;

    /* Notes. put: with its words and vectors, at once or not at all; sets n->seq. get: of a damaged
     * note or group at least the project is set. patch: sets the fields named in `set`, in one
     * transaction with what it reads; with NOTE_TEXT the vectors of all spaces are replaced by `v`
     * (none: pending), else they are kept. drop: a note of that id, else a global. */
    int (*put_note)(struct store *, struct note *n, const struct vectors *v, struct fumi_err *);
    int (*get_note)(struct store *, struct fumi_arena *, struct fumi_str id, struct note *out,
                    struct fumi_err *);
    int (*patch_note)(struct store *, struct fumi_str id, const struct note *to, unsigned set,
                      const struct vectors *v, struct fumi_err *);
    int (*drop)(struct store *, struct fumi_str id, struct fumi_err *);

    /* Lists. recent: newest first, then highest seq, at most `limit` rows whether they are kept or
     * not. page: of all projects (filter NULL) or as filtered, by rising seq, behind `after`. Notes
     * that are damaged are left out and logged. */
    int (*recent)(struct store *, const struct loading *, const struct filter *,
                  struct cursor after, size_t limit, struct notes *out, struct fumi_err *);
    int (*page)(struct store *, struct fumi_arena *, const struct filter *, int64_t after,
                size_t limit, struct notes *out, struct fumi_err *);
    /* The notes of these numbers, in this order; those that are gone meanwhile are left out. heads:
     * only their seq, id and created, whether they are damaged or not. */
    int (*load)(struct store *, const struct loading *, const int64_t *seqs, size_t n,
                struct notes *out, struct fumi_err *);
    int (*heads)(struct store *, struct fumi_arena *, const int64_t *seqs, size_t n,
                 struct notes *out, struct fumi_err *);

    /* In the order of their bytes; with a part, those that begin with it come first. Projects also
     * have a name, and groups, when no note is there. */
    int (*names)(struct store *, struct fumi_arena *, const struct naming *, struct names *out,
                 struct fumi_err *);

    /* Search. near: the nearest by meaning among those that pass the filter. score: the same for
     * given notes, in their order, those without vectors left out. match: by words, all the text of
     * a query taken as text. */
    int (*near)(struct store *, struct fumi_arena *, const struct filter *, struct fumi_str space,
                const float *query, size_t dim, size_t limit, struct hits *out, struct fumi_err *);
    int (*score)(struct store *, struct fumi_arena *, struct fumi_str space, const float *query,
                 size_t dim, const int64_t *seqs, size_t n, struct hits *out, struct fumi_err *);
    int (*match)(struct store *, struct fumi_arena *, const struct filter *, struct fumi_str query,
                 size_t limit, struct hits *out, struct fumi_err *);
    int (*count)(struct store *, const struct filter *, struct filtered *out, struct fumi_err *);

    /* Groups and globals. put_group: ERR_CONFLICT when the project has that key. patch_group: title
     * and description where not null. list_groups: by created, then those that only notes name, by
     * key. Both lists without a project: those of all, but no groups that only notes name.
     * put_global: sets g->id to the one it has when the key exists; ERR_CONFLICT when the key is
     * new and another global has g->id. */
    int (*put_group)(struct store *, const struct group *g, struct fumi_err *);
    int (*get_group)(struct store *, struct fumi_arena *, struct fumi_str id, struct group *out,
                     struct fumi_err *);
    int (*patch_group)(struct store *, struct fumi_str id, struct fumi_str title,
                       struct fumi_str description, int64_t now, struct fumi_err *);
    int (*drop_group)(struct store *, struct fumi_str id, struct fumi_err *);
    int (*list_groups)(struct store *, const struct loading *, struct fumi_str project,
                       struct groups *out, struct fumi_err *);
    int (*put_global)(struct store *, struct fumi_arena *, struct global *g, struct fumi_err *);
    int (*get_global)(struct store *, struct fumi_arena *, struct fumi_str project,
                      struct fumi_str key, struct global *out, struct fumi_err *);
    int (*list_globals)(struct store *, const struct loading *, struct fumi_str project,
                        struct fumi_str prefix, struct globals *out, struct fumi_err *);

    /* Import compares what is there with what comes in the transaction that writes. A note is known
     * by its id and project, a group and a global by project and key. An id that belongs to
     * anything else is replaced by a new one, the same each time; n->id and g->id are set to it.
     * ERR_CONFLICT: a note or group is there and differs. NOTE_NOW equals any time. */
    int (*merge_note)(struct store *, struct fumi_arena *, struct note *n, enum merged *out,
                      struct fumi_err *);
    int (*merge_group)(struct store *, struct fumi_arena *, struct group *g, enum merged *out,
                       struct fumi_err *);
    int (*merge_global)(struct store *, struct fumi_arena *, struct global *g, enum merged *out,
                        struct fumi_err *);

    /* Embedding later. lacking: notes without vectors in the space behind `after`, by seq; fewer if
     * they are long. fill: their vectors, unless the text has another version by now. progress:
     * notes in all, and with vectors in the space. drop_spaces: all but these two (null: none). */
    int (*lacking)(struct store *, struct fumi_arena *, struct fumi_str space, int64_t after,
                   size_t limit, struct unembeddeds *out, struct fumi_err *);
    int (*fill)(struct store *, const struct unembedded *notes, const struct vectors *v, size_t n,
                struct fumi_err *);
    int (*progress)(struct store *, struct fumi_str space, int64_t *have, int64_t *all,
                    struct fumi_err *);
    int (*drop_spaces)(struct store *, struct fumi_str keep, struct fumi_str also,
                       struct fumi_err *);

    /* Small facts that all processes share, such as the space in use. No such fact: null. */
    int (*get_fact)(struct store *, struct fumi_arena *, const char *name, struct fumi_str *out,
                    struct fumi_err *);
    int (*put_fact)(struct store *, const char *name, struct fumi_str value, struct fumi_err *);
    /* Rises with each change that any process makes to notes, vectors, groups or globals. */
    int (*changed)(struct store *, int64_t *out, struct fumi_err *);
    int (*stats)(struct store *, struct store_stats *out, struct fumi_err *);
    /* The same of one project, with bytes 0; *have: its notes that have vectors in the space. */
    int (*project_stats)(struct store *, struct fumi_str project, struct fumi_str space,
                         struct store_stats *out, int64_t *have, struct fumi_err *);
    /* A sound copy under a new name while others write; nothing under that name until it is whole.
     * An existing file is not overwritten (ERR_CONFLICT). */
    int (*backup)(struct store *, struct fumi_str path, struct fumi_err *);
    /* Looks at everything, repairs what can be made again from the notes (words, vectors' cache,
     * counts), and says in one sentence each what it found and did. Pages that cannot be mended:
     * all that can be read is written anew, and the damaged file is kept beside it. Nobody else may
     * use the store meanwhile. 0: sound in the end. */
    int (*doctor)(struct store *, bool repair, void (*say)(void *arg, const char *sentence),
                  void *arg, struct fumi_err *);
    /* One step of erasing what removed texts left in the files: words in the index, pages in the
     * log, rows in the vectors' cache. *more: call it again later. drop and patch take a step
     * themselves, at most once a second; backup erases in the copy, doctor everything. */
    int (*erase)(struct store *, bool *more, struct fumi_err *);
    void (*close)(struct store *);
};

/* Every store begins with one. */
struct store {
    const struct store_ops *ops;
};

struct sqlite_options {
    const char *path; /* its directory is made when it is missing, mode 0700 */
    bool nosync;      /* tests and benchmarks only: the last notes may be lost by a power cut */
    bool lenient;     /* for doctor: a small file that is damaged is opened too */
    bool mend; /* for doctor: one whose table of tables is damaged gets a new one, and is kept */
    const struct fumi_log *log; /* borrowed; may be NULL */
};

/* Opens, creates or migrates. NULL with *e set, and nothing touched, when the file is no database
 * of ours, damaged, of a newer version, or cannot be written. */
struct store *sqlite_open(const struct sqlite_options *o, struct fumi_err *e);

#endif
