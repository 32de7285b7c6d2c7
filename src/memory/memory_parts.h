/* What the files of memory/ share. */
#ifndef FUMI_MEMORY_MEMORY_PARTS_H
#define FUMI_MEMORY_MEMORY_PARTS_H

#include "base/uuid.h"
#include "memory/memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* An embedder with its configuration. Counted: a call takes the current one and keeps it to its
 * end, while another may already be in use. */
struct space {
    _Atomic int refs;
    struct fumi_arena arena; /* of the configuration's strings */
    struct embed_config config;
    struct embedder *embedder;
};

struct worker {
    pthread_t thread;
    bool started, stop, woken;
    bool running;
    struct fumi_err error; /* of the last try; code 0: it went well */
    int64_t passages;      /* of long notes, so far */
    int64_t from, since;   /* for the rate: done so many at that moment (fumi_ticks) */
    double per_second;
    char lease[FUMI_UUID_SIZE]; /* our name in the fact "worker" */
};

struct memory {
    struct store *store; /* whole: for the background and the spaces */
    struct store *view;  /* within the scope: for whatever a caller asks; often the same */
    struct fumi_arena arena;
    struct memory_options o;
    pthread_mutex_t lock; /* guards all below; held for moments only */
    pthread_cond_t wake;
    pthread_mutex_t change; /* one change of settings at a time */
    pthread_mutex_t saving; /* and one writing of them */
    struct space *now;      /* new vectors are made here */
    struct space *serving;  /* queries are embedded here: the same, or the one before it */
    bool settled;           /* the store knows the name of the space that answers */
    struct worker worker;
};

struct space *space_new(const struct embed_config *c, const struct fumi_log *log,
                        struct fumi_err *e);
struct space *space_take(struct memory *m, struct space *const *which); /* &m->now, &m->serving */
void space_put(struct space *sp);
/* "PROVIDER:MODEL:DIMENSION"; the dimension is 0 until the provider has answered once. */
struct fumi_str space_name(const struct space *sp, struct fumi_arena *a);
/* The parts of such a name, borrowed from it. Returns false if it is none, or has a dimension that
 * no vector may have. */
bool space_split(struct fumi_str name, struct embed_config *out);
bool space_same_model(const struct embed_config *a, const struct embed_config *b);

/* The texts of notes as vectors of the space, one struct for each text. */
int space_embed(struct space *sp, struct fumi_arena *a, const struct fumi_str *texts, size_t n,
                int64_t ms, struct vectors *out, struct fumi_err *e);
/* A text of more bytes than this is embedded in slices by the background. */
enum { LONG_BYTES = 16 << 10 };

/* The vectors of a long text while they are made, some passages at a time. */
struct slices {
    struct fumi_arena arena;
    int64_t seq, version;     /* of the note; seq 0: there is none */
    struct text_ranges spans; /* all of its passages */
    struct vectors v;         /* v.n of them have their vectors */
};
/* The next passages of the text, which is the same in each call. 1: those were the last. */
int slices_next(struct slices *s, struct space *sp, struct fumi_arena *a, struct fumi_str text,
                int64_t ms, struct fumi_err *e);
void slices_done(struct slices *s);

/* A query as one vector. */
int space_query(struct space *sp, struct fumi_arena *a, struct fumi_str text, int64_t ms,
                float **out, struct fumi_err *e);

/* Makes `sp` the one in use, and the one that answers when `serves`; else that is `before`, or as
 * it was when that is NULL. Takes over both references. */
void memory_use(struct memory *m, struct space *sp, bool serves, struct space *before);
/* Another process may have changed the embedder: whether it did and we follow. */
bool memory_follow(struct memory *m, struct fumi_arena *a, struct fumi_err *e);
/* Writes the configuration down; previous NULL: there is none. */
int memory_save(struct memory *m, const struct embed_config *now,
                const struct embed_config *previous, struct fumi_err *e);

/* After the first vectors of a space that also answers: writes down that it is the complete one. */
int memory_settle(struct memory *m, struct fumi_arena *a, struct space *sp, struct fumi_err *e);

int worker_start(struct memory *m, struct fumi_err *e);
void worker_stop(struct memory *m);

/* "FACT_SPACE": whose vectors are complete; "FACT_TARGET": the one in use. */
#define FACT_SPACE  "space"
#define FACT_TARGET "target"
#define FACT_WORKER "worker"

#endif
