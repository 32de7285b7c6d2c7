/* A search of a memory, and its answer. */
#ifndef FUMI_MEMORY_MEMORY_SEARCH_H
#define FUMI_MEMORY_MEMORY_SEARCH_H

#include "memory/dates.h"
#include "store/store.h"

struct memory;

enum search_mode { SEARCH_HYBRID, SEARCH_MEANING, SEARCH_WORDS };

enum { SEARCH_TIMES = 4 };

/* Parts of the ranking that a measurement can switch off. */
enum {
    SEARCH_NO_PIVOT = 1,
    SEARCH_NO_NAMES = 2,
    SEARCH_NO_NEIGHBOURS = 4,
    SEARCH_NO_DATES = 8,
};

struct result;
struct found;

/* How many tokens (tokens_of) the caller needs to write an answer. */
struct answer_size {
    size_t (*frame)(void *arg, const struct found *f); /* of all but the results */
    size_t (*result)(void *arg, const struct result *r);
    void *arg;
};

struct search {
    /* The project need not be canonical. PROJECT_ALL: all projects. Of any other one, the notes of
     * PROJECT_USER are searched, too. */
    struct filter filter;
    struct fumi_str query;
    size_t top;
    enum search_mode mode;
    double floor;                   /* minimum score */
    double min_relevance;           /* minimum relevance */
    bool strict;                    /* without confidence: no results, but at most two misses */
    int64_t now;                    /* time that "yesterday" refers to; 0: the present */
    unsigned off;                   /* SEARCH_NO_*; 0: everything is on */
    size_t max_tokens;              /* limit of the answer; 0: unlimited */
    const struct answer_size *size; /* NULL: only the texts of the results count */
    bool short_ids;                 /* results get short ids */
    int64_t ms;                     /* time limit for embedding the query */
    /* As in struct loading: called for each note that becomes a result, with its text as it is
     * returned. NULL: all are kept. */
    int (*each)(void *arg, void *row, size_t bytes, struct fumi_err *e);
    void *arg;
};

/* A result. A rank of 0 means that the note was no candidate by keyword, or by meaning. */
struct result {
    struct note note;                /* if `part` is set, only a part of it: see there */
    double score;                    /* 0 to 1, 1 best */
    double words;                    /* BM25 score; 0: no keyword matches */
    double meaning;                  /* cosine similarity; 0: no vectors */
    double share;                    /* of the words of the query, see struct keyword_hits */
    double neighbours;               /* part of the score that comes from neighbours */
    double time;                     /* part of the score that comes from a date in the query */
    bool in_time;                    /* created at a time that the query names */
    double relevance;                /* 0 to 1, see relevance.h */
    size_t words_rank, meaning_rank; /* from 1 */
    uint32_t begin, end;             /* byte range of the best passage; both 0: no vectors */
    /* To respect max_tokens, the note is incomplete: its text is this byte range of the whole text,
     * and other members may be missing. */
    bool part;
    uint32_t text_begin, text_end;
    struct fumi_str short_id; /* null: not known */
};

struct results {
    struct result *items;
    size_t n;
};

/* What the best relevance says about an answer: it probably contains what was asked for, it may, or
 * it does not. */
enum confidence { CONFIDENCE_NONE, CONFIDENCE_LOW, CONFIDENCE_HIGH };

struct found {
    struct fumi_str space;
    struct results results;
    struct results misses; /* the best results below a minimum, at most 3 */
    size_t below;          /* number of results below a minimum */
    size_t omitted;        /* number of results that did not fit into max_tokens */
    enum {
        TERSE_NOTHING,
        TERSE_MISSES,
        TERSE_FILTERED, /* and the times */
        TERSE_WARNING,  /* and the message and `pending` */
        TERSE_MOST = TERSE_WARNING
    } terse; /* what the answer leaves out to respect max_tokens: this, and what is before it */
    enum search_mode mode;   /* the mode that was used */
    struct fumi_str warning; /* null: none */
    struct filtered filtered;
    enum confidence confidence;
    struct date_span times[SEARCH_TIMES]; /* that the query names */
    size_t times_n;
    bool unknown;         /* the project has no notes; */
    struct fumi_str near; /* perhaps this one is meant; null: none is similar */
    int64_t pending;      /* notes of the project that lack vectors; all, if `behind` */
    bool behind;          /* the vector cache is being built: notes are found by keyword only */
    size_t tokens;        /* of the answer, at most */
};

/* Sets *out to the name of the project that a name without notes most likely stands for, in the
 * arena; null: none is similar. */
int memory_near_project(struct memory *m, struct fumi_arena *a, struct fumi_str name,
                        struct fumi_str *out, struct fumi_err *e);

int memory_search(struct memory *m, struct fumi_arena *a, struct search *s, struct found *out,
                  struct fumi_err *e);

#endif
