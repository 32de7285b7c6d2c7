/* Shared by the files of memory/.
 *
 * An embedding space is an embedder and the name under which its vectors are stored. A memory has
 * two: the current one, in which new vectors are made (`now`), and the one that answers searches
 * (`serving`). They differ after a change of the embedder, until all notes have new vectors. */
#ifndef FUMI_MEMORY_MEMORY_PARTS_H
#define FUMI_MEMORY_MEMORY_PARTS_H

#include "base/uuid.h"
#include "memory/memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* An embedding space. Reference counted: a call keeps its reference until it ends, even if the
 * memory switches to another space. */
struct space {
    _Atomic int refs;
    struct fumi_arena arena; /* of the strings in `config` */
    struct embed_config config;
    struct embedder *embedder;
};

/* The state of the background thread; guarded by memory.lock. */
struct worker {
    pthread_t thread;
    bool started, stop, woken;
    bool whole; /* notes that are not owed may lack vectors: begin a pass over all notes */
    bool running;
    struct fumi_err error;   /* of the last attempt; code 0: it succeeded */
    struct fumi_err failing; /* why the last owed note has no vector; code 0: notes are embedded */
    int64_t passages;        /* of long notes, embedded so far */
    int64_t from, since;     /* for the rate: notes embedded since that time (fumi_ticks) */
    double per_second;
    char lease[FUMI_UUID_SIZE]; /* our id in META_WORKER */
};

/* The notes whose vectors this process owes, the oldest first; guarded by memory.lock. */
struct owed {
    struct owed_note {
        int64_t seq;
        uint64_t project;
        size_t bytes; /* of the text */
    } * items;
    size_t n, room;
    int64_t since;    /* when the list was last empty (fumi_ticks) */
    unsigned waiting; /* threads that wait for vectors */
    uint64_t dropped; /* notes that have left the list */
};

/* Uses of notes that are not written yet (uses.c); guarded by memory.lock. */
struct use_count {
    int64_t seq, n, last;
};
struct uses {
    struct use_count *items;
    size_t n, cap;
};

struct fumi_call;

/* The open calls of memory.watch (methods_watch.c). */
struct watch {
    pthread_mutex_t lock; /* guards all members; held while notifying, never during I/O */
    pthread_cond_t wake;
    pthread_t thread;
    struct watcher *all;
    bool started, stop;
    bool began; /* a call began since the last check */
    bool ended; /* no further calls: the server ends */
};
void watch_init(struct watch *w);
void watch_done(struct watch *w); /* no call may be open */
/* Returns the name that an open call of memory.watch gave the connection of this call, in the arena
 * of this call, or {0}. */
struct fumi_str watch_client(struct watch *w, const struct fumi_call *call);

struct memory {
    struct store *store; /* the whole store, for the background thread and the spaces */
    struct store *view;  /* limited to the scope, for callers; the same if there is no scope */
    struct fumi_arena arena;
    struct memory_options o;
    pthread_mutex_t lock; /* guards now, serving, settled, worker and owed; held for moments only */
    pthread_cond_t wake;
    pthread_cond_t paid;    /* notes have left the list of owed ones */
    pthread_mutex_t change; /* serializes changes of the embedder */
    pthread_mutex_t saving; /* serializes calls of options.save */
    struct space *now;      /* the current space: new vectors are made in it */
    struct space *serving;  /* answers searches: the current space, or the previous one */
    bool settled;           /* META_SPACE has the name of the current space */
    struct worker worker;
    struct owed owed;
    struct uses uses;
    struct watch watch;
    int64_t opened; /* when, as fumi_now */
};

/* Returns NULL with *e set on failure. The caller owns the reference. */
struct space *space_new(const struct embed_config *c, const struct fumi_log *log,
                        struct fumi_err *e);
/* Adds a reference to &m->now or &m->serving; space_put drops one, and frees the space with the
 * last. space_put(NULL) does nothing. */
struct space *space_take(struct memory *m, struct space *const *which);
void space_put(struct space *sp);
/* A copy of the configuration in the arena, without allowed_hosts. */
struct embed_config space_copy_config(struct fumi_arena *a, const struct embed_config *c);
/* "PROVIDER:MODEL:DIMENSION"; the dimension is 0 until the provider has answered once. After the
 * model comes the variant of the embedder, if it has one: "local:all-MiniLM-L6-v2+edict:384". */
struct fumi_str space_name(const struct space *sp, struct fumi_arena *a);
/* Splits such a name into a configuration that gives this space; the strings are borrowed from it.
 * Returns false if it is not a valid name or has an invalid dimension. */
bool space_split(struct fumi_str name, struct embed_config *out);
/* The variants may differ. */
bool space_same_model(const struct embed_config *a, const struct embed_config *b);

/* Embeds n texts of notes; out[i] receives the vectors of texts[i]. */
int space_embed(struct space *sp, struct fumi_arena *a, const struct fumi_str *texts, size_t n,
                int64_t ms, struct vectors *out, struct fumi_err *e);
/* Returns -1 with *e set if texts can never be embedded, for example with ERR_NO_API_KEY. *why: the
 * reason why they cannot be embedded at present, such as a missing model; code 0: they can. */
int space_ready(struct space *sp, struct fumi_arena *a, struct fumi_err *why, struct fumi_err *e);
/* Texts of more bytes are embedded in slices by the background thread. */
enum { LONG_BYTES = 16 << 10 };

/* A long text that is being embedded, a few passages at a time. */
struct slices {
    struct fumi_arena arena;
    int64_t seq, version;     /* of the note; seq 0: no note */
    struct text_ranges spans; /* all of its passages */
    struct vectors v;         /* of the first v.n passages */
};
/* Embeds the next passages of the text, which must be the same in each call. Returns 1 if these
 * were the last ones, 0 if there are more, -1 with *e set on failure. */
int slices_next(struct slices *s, struct space *sp, struct fumi_arena *a, struct fumi_str text,
                int64_t ms, struct fumi_err *e);
void slices_done(struct slices *s);

/* Embeds a query as one vector, in the arena. */
int space_query(struct space *sp, struct fumi_arena *a, struct fumi_str text, int64_t ms,
                float **out, struct fumi_err *e);

/* Makes `sp` the current space. If `serves`, it also answers searches; otherwise `before` does, or,
 * if that is NULL, the same space as now. Takes ownership of both references. */
void memory_use(struct memory *m, struct space *sp, bool serves, struct space *before);
/* Switches to the embedder that another process has set. Returns false if there is no such change,
 * or if it cannot be followed. */
bool memory_follow(struct memory *m, struct fumi_arena *a, struct fumi_err *e);
/* Saves the configuration; previous NULL: there is no previous embedder. */
int memory_save(struct memory *m, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e);

/* Writes META_TARGET and META_SPACE once, if the current space also answers searches and its
 * dimension is known. Called when a text was embedded, before its note is stored, and when no note
 * lacks vectors. */
int memory_settle(struct memory *m, struct fumi_arena *a, struct space *sp, struct fumi_err *e);

/* Notes that this process owes vectors (owed.c). add: also wakes the background thread. first: sets
 * seqs to the next notes of a batch and returns their number, or 0 and *later if they are to be
 * embedded in so many milliseconds (NULL: now). drop: removes the first n. wait: until
 * the vectors of the notes of the project that are in the list now are stored, unless they will not
 * be soon; wait_all: of all notes. */
void owed_add(struct memory *m, int64_t seq, struct fumi_str project, size_t bytes);
size_t owed_first(struct memory *m, int64_t *seqs, size_t most, int64_t *later);
void owed_drop(struct memory *m, size_t n);
void owed_wait(struct memory *m, struct fumi_str project, int64_t ms);
void owed_wait_all(struct memory *m, int64_t ms);
/* Embeds those of the notes that lack vectors in the space, and stores the vectors. */
int notes_embed(struct memory *m, struct space *sp, struct fumi_arena *a, const int64_t *seqs,
                size_t n, int64_t ms, struct fumi_err *e);
int uses_write(struct memory *m, struct fumi_err *e); /* writes what memory_count_uses counted */

/* upkeep.c: for the background thread, which calls upkeep often and upkeep_end at its end. */
struct upkeep {
    int64_t next; /* when to do it again, in milliseconds of fumi_ticks */
    bool failed;  /* the last attempt failed */
};
void upkeep(struct memory *m, struct upkeep *u);
void upkeep_end(struct memory *m);

int worker_start(struct memory *m, struct fumi_err *e);
void worker_stop(struct memory *m);
/* What callers may read about an error of embedding. */
struct fumi_str worker_reason(const struct memory *m, struct fumi_arena *a,
                              const struct fumi_err *e);

/* Keys of the store's metadata: the space whose vectors are complete, the current space, and the
 * lease of the background thread. */
#define META_SPACE  "space"
#define META_TARGET "target"
#define META_WORKER "worker"

#endif
