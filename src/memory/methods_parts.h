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
const char *check_title(struct fumi_str s);
const char *check_source(struct fumi_str s);
const char *check_description(struct fumi_str s); /* of a group; it may have several lines */
const char *check_tag(struct fumi_str s);
const char *check_tag_filter(struct fumi_str s); /* also finds tags that older versions stored */
const char *check_group(struct fumi_str s);      /* an empty one is no group */
const char *check_query(struct fumi_str s);
int check_metadata(struct fumi_str json, const char *field, struct fumi_err *e);

/* Times: text on the wire, milliseconds inside; no text gives `none`. */
struct fumi_str time_text(struct fumi_arena *a, int64_t ms);
int64_t time_value(struct fumi_str s, int64_t none);

/* Guards what this call writes, as the memory is set to; `where` as in struct guard. */
struct guard guard_of(const struct fumi_call *call, const char *where);

/* How long an embedding may take within this call. */
int64_t time_for_embedding(const struct fumi_call *call);

/* A note as memory.get and memory.list_recent show it; to agents a list does not repeat the
 * project that they named. */
struct wire_note {
    struct fumi_str id, project, group, title, text, source, created, name_space;
    struct fumi_strs tags;
    struct fumi_json metadata;
};
extern const struct fumi_shape wire_note_shape, listed_note_shape;
struct wire_note wire_note(struct fumi_arena *a, const struct note *n, struct fumi_str name_space);

#define PROJECT_FIELD(T)                                                                           \
    FUMI_FIELD(T, project, "projectId", "Path of the repository, or any name.",                    \
               .flags = FUMI_REQUIRED)

#endif
