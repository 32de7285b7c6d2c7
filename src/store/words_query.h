/* Private to the search by words: what a query asks for, and how well a note answers it. Knows no
 * SQL. */
#ifndef FUMI_STORE_WORDS_QUERY_H
#define FUMI_STORE_WORDS_QUERY_H

#include "store/words.h"

enum {
    QUERY_ATOMS = 64, /* what is behind them is not looked for */
    QUERY_GROUPS = 64,
    QUERY_TERMS = 256,
    QUERY_NONE = QUERY_TERMS, /* no term */
    QUERY_VARIANTS = 4,
    TOKEN_MAX = WORD_MAX + 1,
};

/* A token of the index that is looked for. */
struct query_term {
    struct fumi_str token;
    double notes;  /* how many that pass the filter hold it, counted or estimated */
    double length; /* the same of all notes */
    int64_t last;  /* the highest seq that was read */
    double idf;
    bool used;       /* its postings count */
    bool minor;      /* it stands for grammar or punctuation, not for what is meant */
    size_t first, n; /* its postings */
};

/* A word of the query in its variants, or one part of an identifier. */
struct query_atom {
    uint16_t exact, stem, joined; /* terms */
    bool chains;                  /* its position in the query means something */
    size_t position, begin, end;
    double weight;
};

/* An identifier, or a piece of one: these tokens stand for atoms [first, last). */
struct query_group {
    uint16_t terms[QUERY_VARIANTS];
    size_t n, first, last, position, begin, end;
    bool compound; /* an ordinary word with hyphens, such as long-term */
};

struct query {
    struct fumi_arena *a;
    struct query_atom atoms[QUERY_ATOMS];
    struct query_group groups[QUERY_GROUPS];
    struct query_term terms[QUERY_TERMS];
    size_t n_atoms, n_groups, n_terms;
    size_t pair_end; /* byte of the text where the last pair ends */
    bool grammar;    /* there is nothing but minor terms; then none is marked so */
};

/* What the index holds for a word; `room` is TOKEN_MAX bytes that it may use. Null: nothing. */
struct fumi_str words_token(const struct word *w, char *room);

/* Reads the text; all of it is text. No terms: there is no word in it. */
void query_read(struct query *q, struct fumi_arena *a, struct fumi_str text);

/* One note that holds a term. */
struct posting {
    int64_t seq;
    float tf;    /* how often, columns weighted */
    uint32_t at; /* its places: where in rank.places */
    uint16_t n;  /* how many */
    uint16_t term;
    uint32_t next; /* of the same note; 0: none */
};

/* A note that holds some. */
struct candidate {
    int64_t seq;
    uint32_t first; /* posting */
    float rough;    /* its score before its length is known */
};

struct rank {
    struct query *q;
    struct posting *postings; /* the first is not used */
    size_t n_postings, cap_postings;
    uint32_t *places; /* column << 24 | position */
    size_t n_places, cap_places;
    struct candidate *candidates;
    size_t n;
    double notes, length; /* how many may be found, and their average length in words */
};

enum { RANK_PLACES = 32 }; /* of a posting that are kept */
void rank_add(struct rank *r, uint16_t term, int64_t seq, double tf, const uint32_t *places,
              size_t n);
/* From the postings of the terms used: the candidates, in no order, without scores. */
void rank_collect(struct rank *r);
/* Sets idf, and the rough scores: without lengths, and with what words are worth together only
 * where all of them are. */
void rank_rough(struct rank *r);
double rank_score(const struct rank *r, const struct candidate *c, double length);
void rank_done(struct rank *r);

#endif
