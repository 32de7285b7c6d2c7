/* Writing notes: shared by the methods that write them and by those that accept a note that waits
 * for review (methods_review.c). */
#ifndef FUMI_MEMORY_METHODS_WRITE_H
#define FUMI_MEMORY_METHODS_WRITE_H

#include "memory/methods_parts.h"

/* The params of memory.add_note. */
struct add_params {
    struct fumi_str project;
    struct note note; /* without a project */
    struct fumi_strs supersedes;
    bool allow_duplicate;
};
extern const struct fumi_shape add_params_shape;

/* The params of memory.update. */
struct note_patch {
    struct note to;
    uint64_t given, ignored; /* bits in the order of the fields of the patch */
};
struct update_params {
    struct fumi_str id;
    struct note_patch patch;
    struct fumi_strs supersedes;
};
extern const struct fumi_shape update_params_shape;

void patch_text(struct note_patch *p, struct fumi_str text); /* adds a text to the patch */

/* The outcome of either. `written` has the change and, if wanted, similar notes. */
struct note_written {
    struct fumi_str id, project;
    struct written written;
    struct similar_notes similar;
    struct fumi_str warning;
};

/* Write the note of a call, by this author. add_bound: id null: a new one. Secrets are masked or
 * refused. Return -1 with call->err set. */
int add_bound(struct fumi_call *call, const struct add_params *p, struct fumi_str id,
              const struct author *by, struct note_written *out);
int update_bound(struct fumi_call *call, const struct update_params *p, const struct author *by,
                 struct note_written *out);

/* Whether what this call writes into the project waits for review: a call of an agent, if the
 * setting or the global REVIEW_KEY of the project says so. Returns 1, 0, or -1 with call->err set.
 */
#define REVIEW_KEY "global.memory.review"
int waits_for_review(struct fumi_call *call, struct fumi_str project);
/* Fails if the call is one of an agent and the id is that of a global REVIEW_KEY. */
int keeps_review(struct fumi_call *call, struct fumi_str id);
/* Puts the params of the call (p: of this shape, already guarded) aside. `id` is the id of the new
 * note, or of the note to be changed. Returns -1 with call->err set. */
int put_aside(struct fumi_call *call, enum change_op op, struct fumi_str project,
              struct fumi_str id, const struct fumi_shape *s, const void *p);
extern const struct fumi_str review_warning; /* what the result then says */

/* Members of results. */
struct similar_item {
    struct fumi_str id;
    double relevance;
    struct fumi_str text;
};
extern const struct fumi_shape similar_shape;
struct fumi_list similar_of(struct fumi_call *call, const struct similar_notes *s);
/* The ids as they are shown (show_id). */
struct fumi_strs show_ids(struct fumi_call *call, unsigned kinds, struct fumi_strs ids);

#define WRITTEN_FIELDS(T)                                                                          \
    FUMI_FIELD(T, superseded, "superseded", "Ids of the notes that this one replaces now.",        \
               .flags = FUMI_OMIT),                                                                \
        FUMI_FIELD(T, similar, "similar",                                                          \
                   "Up to three notes with rare words in common: correct one of these instead?",   \
                   .flags = FUMI_OMIT, .shape = &similar_shape),                                   \
        FUMI_FIELD(T, change, "change", "Number of the change, for memory.undo.",                  \
                   .flags = FUMI_OMIT)

#endif
