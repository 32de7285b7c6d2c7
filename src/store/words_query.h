/* Private to keyword search: the parsed query, and the scoring of notes. Independent of SQL.
 *
 * A query is a list of atoms: its words, and the parts of its identifiers. An atom is matched by
 * one or more terms: the word as it is, its stems, and the word as an identifier without
 * separators. A term is a token of the index or, for stems in several languages, the union of a
 * few. A group is an identifier (or a part of one that has parts itself): its terms match several
 * atoms at once.
 *
 * The caller (sqlite_words.c) reads the postings of the terms from the index, adds them with
 * words_rank_add, and scores the notes: words_rank_collect, words_rank_rough, words_rank_score. */
#ifndef FUMI_STORE_WORDS_QUERY_H
#define FUMI_STORE_WORDS_QUERY_H

#include "store/words.h"

enum {
    QUERY_ATOMS = 64, /* further words of a query are ignored */
    QUERY_GROUPS = 64,
    QUERY_TERMS = 256,
    QUERY_NONE = QUERY_TERMS, /* no term */
    QUERY_VARIANTS = 4,
    TOKEN_MAX = WORD_MAX + 1,
};

/* A token of the index, or several (words_next_token). */
struct query_term {
    struct fumi_str token;
    double notes; /* number of notes of the project that contain it, counted or estimated */
    size_t read;  /* postings that were read, and the highest seq among them */
    int64_t last;
    double idf;
    bool used;       /* its postings were read and are scored */
    bool minor;      /* function word, punctuation or the like */
    size_t first, n; /* its postings in words_rank.postings */
};

/* A word of the query, or one part of an identifier. */
struct query_atom {
    uint16_t exact, stem, joined; /* terms, or QUERY_NONE */
    struct fumi_str stems;        /* tokens of the stems; null: none */
    bool positioned;              /* its position counts for phrases; false for punctuation */
    size_t position, begin, end;
    double weight;
};

/* An identifier, or a piece of one: each of its terms matches atoms [first, last) at once. */
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
    size_t pair_end;    /* end of the last bigram in the text */
    unsigned languages; /* whose stop words weigh less */
    bool only_minor;    /* all terms are minor; `minor` is then false in each of them */
};

/* Returns the token that the index stores for a word. The token is either the text of the word or
 * is written to `buf`, which has TOKEN_MAX bytes. */
struct fumi_str words_token(const struct word *w, char *buf);

/* Removes the first token from those of a term and returns it. */
struct fumi_str words_next_token(struct fumi_str *tokens);

/* The languages, besides English, whose stems a query may need: its own, or all if its stop words
 * do not show it, as in most queries of a few words. */
unsigned words_query_languages(struct fumi_str text);

/* Parses a query, with the stems of these languages. There is no query syntax: all of the text is
 * searched for. Tokens are allocated in the arena. n_terms is 0 if the text contains no word. */
void words_query_read(struct query *q, struct fumi_arena *a, struct fumi_str text,
                      unsigned languages);

/* One note that contains a term. */
struct posting {
    int64_t seq;
    float tf;    /* term frequency, weighted by column */
    uint32_t at; /* its positions begin here in words_rank.positions */
    uint16_t n;  /* number of positions */
    uint16_t term;
    uint32_t next; /* posting of the same note; 0: none */
};

/* A note that contains at least one term. */
struct candidate {
    int64_t seq;
    uint32_t first; /* its first posting */
    float rough;    /* score of the rough pass */
};

/* Begins as {0} with q, notes and length set; words_rank_done frees it. */
struct words_rank {
    struct query *q;
    struct posting *postings; /* [0] is unused, so that 0 means none */
    size_t n_postings, cap_postings;
    uint32_t *positions; /* column << 24 | position in the column */
    size_t n_positions, cap_positions;
    struct candidate *candidates;
    size_t n;
    double notes, length; /* of the project: number of notes, and their average length in words */
    double pivot;         /* words; a note that is shorter is scored as if it had this length */
};

enum { RANK_POSITIONS = 32 }; /* positions kept per posting */
/* Adds a posting. The positions (at most RANK_POSITIONS, ascending) are copied. The caller adds all
 * postings of a term in one go and sets query_term.first and n. */
void words_rank_add(struct words_rank *r, uint16_t term, int64_t seq, double tf,
                    const uint32_t *positions, size_t n);
/* Builds the candidates, unordered and without scores, from the postings of the terms with `used`.
 */
void words_rank_collect(struct words_rank *r);
/* The rough pass: sets the idf of all terms and the rough score of all candidates. Phrases are only
 * checked in notes that contain all words of the query. r->notes and r->length must be set. */
void words_rank_rough(struct words_rank *r);
/* The exact score of a candidate whose length in words is `length`; needs words_rank_rough. */
double words_rank_score(const struct words_rank *r, const struct candidate *c, double length);
/* The share of the words of the query that the candidate contains, 0 to 1, each weighted by its
 * idf; needs words_rank_rough. */
double words_rank_share(const struct words_rank *r, const struct candidate *c);
void words_rank_done(struct words_rank *r);

#endif
