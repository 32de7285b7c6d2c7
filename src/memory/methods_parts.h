/* What the methods share: fields of params, and notes as they travel. */
#ifndef FUMI_MEMORY_METHODS_PARTS_H
#define FUMI_MEMORY_METHODS_PARTS_H

#include "memory/guard.h"
#include "memory/methods.h"

extern const struct fumi_method note_methods[], group_methods[], global_methods[],
    setting_methods[], search_methods[];
extern const size_t note_methods_n, group_methods_n, global_methods_n, setting_methods_n,
    search_methods_n;

/* The flags of all methods: those that read from memory alone, that read the store, that write. */
enum {
    QUICK = FUMI_TOOL | FUMI_DETAILED_ERRORS | FUMI_READ_ONLY,
    READ = QUICK | FUMI_BLOCKING,
    WRITE = FUMI_TOOL | FUMI_DETAILED_ERRORS | FUMI_BLOCKING,
};

/* Methods that answer no more than that it is done. */
struct done {
    bool ok;
};
extern const struct fumi_shape done_shape;

struct by_id {
    struct fumi_str id;
};
extern const struct fumi_shape by_id_shape;

/* Checks of fields. */
const char *check_description(struct fumi_str s); /* of a group; it may have several lines */
const char *check_tag_filter(struct fumi_str s);  /* also finds tags that older versions stored */
const char *check_query(struct fumi_str s);
int check_metadata(struct fumi_str json, const char *field, struct fumi_err *e);

/* Guards what this call writes, as the memory is set to; `where` as in struct guard. */
struct guard guard_of(const struct fumi_call *call, const char *where);

/* How long an embedding may take within this call. */
int64_t time_for_embedding(const struct fumi_call *call);

/* A note as memory.get and memory.list_recent return it. In lists, tools leave out the project,
 * because the caller named it. */
struct note_result {
    struct note note;
    struct fumi_str name_space;
};
extern const struct fumi_shape note_result_shape, note_list_shape;

#define PROJECT_FIELD(T)                                                                           \
    FUMI_FIELD(T, project, "projectId", "Path of the repository, or any name.",                    \
               .flags = FUMI_REQUIRED)

#endif
