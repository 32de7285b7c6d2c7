/* The memory: the rules for notes, groups, globals and search, and the choice of the embedding
 * space. It contains no SQL, does not depend on a transport, and uses JSON only for error data.
 *
 * Any thread may call any function, except where noted. Results live in the arena that is passed.
 * Functions that return int return 0, or -1 with *e set. */
#ifndef FUMI_MEMORY_MEMORY_H
#define FUMI_MEMORY_MEMORY_H

#include "embed/embed.h"
#include "memory/memory_search.h"
#include "memory/similar.h"
#include "model/secrets.h"
#include "store/scoped.h"

struct memory;

/* What get_config reports besides the embedder. The strings must outlive the memory. */
struct memory_facts {
    struct fumi_str transport, store_type, store_path, store_url, config_path, data_dir;
    struct fumi_str
        flags; /* of a command that uses the same memory: " --data-dir X"; may be empty */
};

/* Settings of the memory that users can set. */
struct memory_settings {
    bool frozen; /* set_config is refused */
    int secrets; /* enum secrets_mode: what happens to values that look like secrets */
    bool review; /* notes that agents write wait for review; a project may have its own setting */
    int64_t history_days, history_bytes; /* how long the history is kept, and how much; 0: all */
};

struct memory_options {
    struct store *store; /* owned by the memory from now on; closed by memory_close */
    struct memory_settings set;
    struct embed_config embed;
    struct embed_config
        previous; /* answers searches until all notes have new vectors; provider null: none */
    struct fumi_str openai_key; /* OPENAI_API_KEY; sent to OpenAI's own address only */
    struct memory_facts facts;
    const struct fumi_log *log;
    /* What callers may see and do; {0}: everything. The project need not be canonical. The worker
     * thread works on the whole store, or on nothing if the scope is read-only. */
    struct scope scope;
    int64_t patience; /* milliseconds that a search waits for vectors of notes that this memory has
                         just stored; 0: 100 */
    struct author by; /* of all changes, if the client is not null: the program itself makes them */
    bool short_ids;   /* the methods return short ids, for people; never for programs */
    /* Saves the configuration; called before a change takes effect. previous->provider null: remove
     * the previous embedder. NULL: the configuration is not saved. */
    int (*save)(void *arg, const struct embed_config *now, const struct embed_config *previous,
                struct fumi_err *e);
    /* Loads the configuration again after another process has changed it: sets *now and *previous
     * to the present values of `embed` and `previous`, in the arena. NULL: other processes are not
     * followed. */
    int (*reload)(void *arg, struct fumi_arena *a, struct embed_config *now,
                  struct embed_config *previous, struct fumi_err *e);
    void *arg;
};

/* Opens a memory. Waits only for the store, never for a provider. Returns NULL with *e set on
 * failure; the store is then closed, too. */
struct memory *memory_open(const struct memory_options *o, struct fumi_err *e);
/* Starts the background thread, which embeds notes that lack vectors. */
int memory_start(struct memory *m, struct fumi_err *e);
/* Stops the background thread, closes the store and frees the memory. No other thread may still use
 * it. NULL is allowed. */
void memory_close(struct memory *m);

/* The name of the current embedding space: "local:all-MiniLM-L6-v2:384". */
struct fumi_str memory_space(struct memory *m, struct fumi_arena *a);
struct store *memory_store(struct memory *m); /* limited to the scope */
const struct scope *memory_scope(const struct memory *m);
/* An arena that lives as long as the memory. Not thread-safe: for use before calls are served. */
struct fumi_arena *memory_arena(struct memory *m);
enum secrets_mode memory_secrets(const struct memory *m);
const struct memory_settings *memory_settings_of(const struct memory *m);
const struct author *memory_author(const struct memory *m); /* options.by */
bool memory_shows_short_ids(const struct memory *m);

/* Short ids: the first ID_PREFIX_MIN or more bytes of an id, as many as tell it from all other ids
 * of these kinds (enum id_kind) that the scope permits to see.
 *
 * memory_short_id returns a slice of the id; all of it if the store fails. memory_find_id sets *out
 * to the id that begins with `given`, or to `given` if that is an id, too short, or not the
 * beginning of any: the caller then finds nothing. FUMI_INVALID_PARAMS: several ids begin so. */
enum { ID_PREFIX_MIN = 8 };
struct fumi_str memory_short_id(struct memory *m, struct fumi_arena *a, unsigned kinds,
                                struct fumi_str id);
int memory_find_id(struct memory *m, struct fumi_arena *a, unsigned kinds, struct fumi_str given,
                   struct fumi_str *out, struct fumi_err *e);

/* How a note is written, and what came of it. Set the members `by`, `supersedes` and
 * `allow_duplicate` of `change`, and `similar` unless it is NULL, before the call. */
struct written {
    struct note_change change;
    struct similar_notes *similar; /* receives notes like the written one; NULL: not wanted */
    struct fumi_str space;
    bool pending;            /* found by keyword only, for longer than a moment */
    struct fumi_str warning; /* why it is pending, and what was masked; null: no warning */
};

/* Stores a note. Makes n->project canonical, and sets n->id if it is null and n->created if it is
 * not set. The background thread embeds the note afterwards. Without that thread, or if the
 * dimension is not known yet, the note is embedded before the function returns, for at most `ms`
 * milliseconds. If the provider lacks an API key, fails with ERR_NO_API_KEY and stores nothing.
 * memory_update changes the members that `set` names. */
int memory_add(struct memory *m, struct fumi_arena *a, struct note *n, int64_t ms,
               struct written *out, struct fumi_err *e);
int memory_update(struct memory *m, struct fumi_arena *a, struct fumi_str id, const struct note *to,
                  unsigned set, int64_t ms, struct written *out, struct fumi_err *e);

/* Stores notes of one project without vectors, with one sync; the background thread embeds them. A
 * note that says the same as a stored one is skipped, and gets its id. */
struct many_written {
    const struct author *by; /* argument; NULL: unknown */
    size_t stored;           /* notes that are in the store: the first ones of the list */
    size_t skipped;          /* how many of these were there before */
};
/* Sets the members that memory_add sets. Returns -1 with *e set if not all notes are stored. */
int memory_add_many(struct memory *m, struct fumi_arena *a, struct note *notes, size_t n,
                    struct many_written *out, struct fumi_err *e);

/* Changes the embedder. Null members of `change` keep their values; after a change of the provider
 * or the model the dimension is unknown. First one text is embedded, for at most `ms` milliseconds.
 * If the provider is unreachable or responds that it is unavailable for now, the change is made
 * anyway, and *warning is set; otherwise *warning is null. `anywhere`: the base URL may have any
 * host; otherwise only hosts of the configuration and those that embed_check_host allows. */
int memory_set_embedder(struct memory *m, struct fumi_arena *a, const struct embed_config *change,
                        int64_t ms, bool anywhere, struct fumi_str *warning, struct fumi_err *e);
/* The current embedder, copied into the arena. Its key must never be shown. */
struct embed_config memory_embedder(struct memory *m, struct fumi_arena *a);
const struct memory_facts *memory_facts_of(const struct memory *m);

/* The progress of embedding in the current space. */
struct embedding_progress {
    bool running;            /* notes lack vectors, and the background thread embeds them */
    int64_t done, total;     /* notes */
    int64_t passages;        /* of long notes, embedded by this process */
    double per_second;       /* notes; 0: not known */
    int64_t seconds_left;    /* -1: not known */
    struct fumi_str error;   /* why embedding waits; null: it does not */
    int code;                /* of that error; 0: none */
    struct fumi_str serving; /* the space that answers searches: the previous one until the
                                current one is complete */
};
int memory_progress(struct memory *m, struct fumi_arena *a, struct embedding_progress *out,
                    struct fumi_err *e);
/* Finishes the open calls of memory.watch; later ones end at once. To be called when a server ends.
 */
void memory_end_watches(struct memory *m);
/* Wakes the background thread, which then searches for notes that lack vectors. */
void memory_wake(struct memory *m);

#endif
