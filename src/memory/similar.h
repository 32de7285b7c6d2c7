/* Notes like one that is being written. */
#ifndef FUMI_MEMORY_SIMILAR_H
#define FUMI_MEMORY_SIMILAR_H

#include "model/note.h"

struct memory;

enum { SIMILAR_MOST = 3 };
struct similar_note {
    struct fumi_str id, text; /* text: the first line, cut */
    double relevance;
};
struct similar_notes {
    struct similar_note items[SIMILAR_MOST];
    size_t n;
};

/* Sets *out to notes of the project that have rare words in common with the note, best first. Uses
 * no vectors and no long lists of the keyword index, so that the writing of a note may wait for it.
 * The note itself and superseded notes are not among the results. */
int memory_similar(struct memory *m, struct fumi_arena *a, const struct note *n,
                   struct similar_notes *out, struct fumi_err *e);

#endif
