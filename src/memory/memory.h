/* The memory: the rules of notes, groups, globals, search and the embedding space in use. No JSON
 * text but for error data, no SQL, no knowledge of who calls. Any thread may call. What is returned
 * lives in the arena given. */
#ifndef FUMI_MEMORY_MEMORY_H
#define FUMI_MEMORY_MEMORY_H

#include "embed/embed.h"
#include "model/secrets.h"
#include "store/scoped.h"

struct memory;

/* What get_config shows beside the embedder; borrowed for the life of the memory. */
struct memory_facts {
    struct fumi_str transport, store_type, store_path, store_url, config_path, data_dir;
    struct fumi_str flags; /* with which a command uses the same memory: " --data-dir X", or none */
};

/* Settings of the memory that users can set. */
struct memory_settings {
    bool frozen; /* set_config is refused */
    int secrets; /* enum secrets_mode: what happens to values that look like secrets */
};

struct memory_options {
    struct store *store; /* owned by the memory from now on; closed by memory_close */
    struct memory_settings set;
    struct embed_config embed;
    struct embed_config previous; /* provider null: none. Serves until new vectors are made */
    struct fumi_str openai_key;   /* of the environment: for OpenAI's own address only */
    struct memory_facts facts;
    const struct fumi_log *log;
    /* What callers see and may do; {0}: everything. The project as it was given. The background
     * works on the whole store, and on nothing if the scope is read-only. */
    struct scope scope;
    /* Writes the configuration down before a change of it counts. previous->provider null: forget
     * it. NULL: nothing is written. */
    int (*save)(void *arg, const struct embed_config *now, const struct embed_config *previous,
                struct fumi_err *e);
    /* Reads it again, because another process changed it: what memory_options.embed and .previous
     * would be now, in the arena. NULL: never. */
    int (*reload)(void *arg, struct fumi_arena *a, struct embed_config *now,
                  struct embed_config *previous, struct fumi_err *e);
    void *arg;
};

/* Waits for nothing but the store. NULL with *e set; the store is closed then too. */
struct memory *memory_open(const struct memory_options *o, struct fumi_err *e);
/* Begins to embed in the background what lacks vectors. */
int memory_start(struct memory *m, struct fumi_err *e);
void memory_close(struct memory *m); /* no call may be open */

/* The namespace in use: "local:all-MiniLM-L6-v2:384". */
struct fumi_str memory_space(struct memory *m, struct fumi_arena *a);
struct store *memory_store(struct memory *m); /* as callers see it: within the scope */
const struct scope *memory_scope(const struct memory *m);
struct fumi_arena *memory_arena(struct memory *m); /* lives as long; while nobody serves only */
enum secrets_mode memory_secrets(const struct memory *m);

/* What became of the vectors of a note that was written. */
struct written {
    struct fumi_str space;
    bool pending;            /* stored, found by words, embedded later */
    struct fumi_str warning; /* why; null: all is well */
};

/* Notes. add: n->project is made canonical, n->id set when null, n->created if it is not set.
 * `ms`: how long embedding may take. A provider that has no key: ERR_NO_API_KEY, and nothing is
 * stored. */
int memory_add(struct memory *m, struct fumi_arena *a, struct note *n, int64_t ms,
               struct written *out, struct fumi_err *e);
int memory_update(struct memory *m, struct fumi_arena *a, struct fumi_str id, const struct note *to,
                  unsigned set, int64_t ms, struct written *out, struct fumi_err *e);

enum search_mode { SEARCH_HYBRID, SEARCH_MEANING, SEARCH_WORDS };

struct search {
    struct filter filter; /* the project as it was given */
    struct fumi_str query;
    size_t top;
    enum search_mode mode;
    double floor;      /* least score */
    size_t max_tokens; /* 0: any */
    int64_t ms;        /* for embedding the query */
    /* As that of struct loading; shown are the notes that become results, their texts as they are
     * answered. NULL: all are kept. */
    int (*each)(void *arg, void *row, size_t bytes, struct fumi_err *e);
    void *arg;
};

/* How a result came about; ranks count from 1, 0: not among the candidates of that side. */
struct result {
    struct note note; /* its text is cut to the best passage when `part` is set */
    double score;     /* 0 to 1, 1 best */
    double words;     /* BM25; 0: no word in common */
    double meaning;   /* cosine; 0 without vectors */
    size_t words_rank, meaning_rank;
    uint32_t begin, end; /* the best passage; both 0 without vectors */
    bool part;
};

struct results {
    struct result *items;
    size_t n;
};

struct found {
    struct fumi_str space;
    struct results results;
    struct results misses;   /* the best of those below the floor, at most 3 */
    size_t below;            /* how many those are */
    struct fumi_strs rest;   /* ids that did not fit into max_tokens */
    enum search_mode mode;   /* what was really used */
    struct fumi_str warning; /* null: none */
    struct filtered filtered;
    size_t tokens; /* about how many the texts of the results have */
};

int memory_search(struct memory *m, struct fumi_arena *a, struct search *s, struct found *out,
                  struct fumi_err *e);

/* Settings. Null members of `change` stay as they are; provider or model of another value begins
 * with the dimension unknown. One text is embedded before anything changes, for at most `ms`. A
 * provider that gives no answer, or says to come back later, is set all the same, with a warning;
 * null: it answered. `anywhere`: the base URL may have any host, else only one that stands in the
 * configuration or that embed_check_host allows. */
int memory_set_embedder(struct memory *m, struct fumi_arena *a, const struct embed_config *change,
                        int64_t ms, bool anywhere, struct fumi_str *warning, struct fumi_err *e);
/* The embedder as it is set, in the arena; its key is there to be seen or not, never to be shown.
 */
struct embed_config memory_embedder(struct memory *m, struct fumi_arena *a);
const struct memory_facts *memory_facts_of(const struct memory *m);

/* How far the vectors of the space are made. */
struct embedding_progress {
    bool running;            /* something lacks vectors, and the background works on it */
    int64_t done, total;     /* notes */
    int64_t passages;        /* of long notes, that this process has made so far */
    double per_second;       /* of the last while; 0: not known */
    int64_t seconds_left;    /* -1: not known */
    struct fumi_str error;   /* why it waits; null: it does not */
    int code;                /* of that error; 0: none */
    struct fumi_str serving; /* whose vectors answer searches: another space than the one in use
                                until that is complete */
};
int memory_progress(struct memory *m, struct fumi_arena *a, struct embedding_progress *out,
                    struct fumi_err *e);
void memory_wake(struct memory *m); /* looks at once for what lacks vectors */

#endif
