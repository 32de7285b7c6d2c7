/* Parsing messages, which are mostly like one before, whole ones as well as the items of an array:
 * what differs is read, and the rest is taken over. */
#ifndef FUMI_JSON_LIKE_H
#define FUMI_JSON_LIKE_H

#include "json/json.h"

enum { FUMI_ALIKE_MAX = 64, FUMI_HOLES_MAX = FUMI_ALIKE_MAX / 3 + 1 };

/* Private to json/: text up to a value that differs, a hole. */
struct fumi_step {
    const char *text;
    const struct fumi_val *from; /* the first value in it that is taken over */
    uint32_t n, moved;           /* bytes; values */
    uint32_t hole_n;             /* the n of the hole in the model */
    unsigned char hole;   /* its place in the row of the model; behind the last step, its end */
    unsigned char kind;   /* of the hole; FUMI_OBJECT: there is none, this is the last step */
    unsigned char around; /* the hole: see `around` */
};

/* An object that others are compared with, and what is known of these. v is NULL: there is none. */
struct fumi_like {
    const struct fumi_val *v;
    uint64_t holes; /* scalars that have differed: a bit for each, by its place in the row */
    size_t holes_n;
    size_t n;        /* values */
    size_t left_out; /* of these, behind the first, in those that are like it */
    bool brief;      /* some may be left out */
    const char *end; /* of the text that it stands in */
    struct fumi_step steps[FUMI_HOLES_MAX + 1];
    /* Of each value, the place of the container that it is in; 0: the object. Not before there is a
     * hole. */
    unsigned char around[FUMI_ALIKE_MAX];
};

/* Remembers a document, with its text; nothing, if it is not fit for it. */
void fumi_like_set(struct fumi_like *like, const struct fumi_val *v);

/* As fumi_parse_deep; `like` (NULL: there is none) was parsed with the same depth. The document
 * itself, if it is like that, and the items of the outermost array that are like one before lack
 * some values: those behind the first up to the first member that has ever differed. What it lacks
 * is in that other one, with the same text. *differ: a set of all that differ between some that are
 * alike, a bit for each by its place in the row of a whole one. */
const struct fumi_val *fumi_parse_like(struct fumi_arena *a, struct fumi_str text, size_t depth,
                                       struct fumi_like *like, uint64_t *differ,
                                       struct fumi_err *e);

/* The value with all its values: itself, or a copy, if it is like the model. */
const struct fumi_val *fumi_whole(struct fumi_arena *a, const struct fumi_val *model,
                                  const struct fumi_val *v);

#endif
