/* Shared by methods*.c: fields of params, checks, and the shapes of notes in results. */
#ifndef FUMI_MEMORY_METHODS_PARTS_H
#define FUMI_MEMORY_METHODS_PARTS_H

#include "memory/guard.h"
#include "memory/methods.h"

extern const struct fumi_method note_methods[], group_methods[], global_methods[],
    setting_methods[], search_methods[], recent_methods[], history_methods[], forget_methods[],
    review_methods[], project_methods[], overview_methods[], watch_methods[];
extern const size_t note_methods_n, group_methods_n, global_methods_n, setting_methods_n,
    search_methods_n, recent_methods_n, history_methods_n, forget_methods_n, review_methods_n,
    project_methods_n, overview_methods_n, watch_methods_n;

/* The flags of methods. QUICK: does not use the store. READ: reads the store. ..._BY_PEOPLE: the
 * same, but not offered to agents. WRITE: changes data. */
enum {
    QUICK = FUMI_TOOL | FUMI_DETAILED_ERRORS | FUMI_READ_ONLY,
    READ = QUICK | FUMI_BLOCKING,
    WRITE = FUMI_TOOL | FUMI_DETAILED_ERRORS | FUMI_BLOCKING,
    READ_BY_PEOPLE = READ & ~FUMI_TOOL,
    WRITE_BY_PEOPLE = WRITE & ~FUMI_TOOL,
};

/* The result of methods that return only their success. */
struct done {
    bool ok;
};
extern const struct fumi_shape done_shape;

struct by_id {
    struct fumi_str id;
};
extern const struct fumi_shape by_id_shape;

/* Checks of fields. */
const char *check_description(struct fumi_str s); /* of a group; may have several lines */
const char *check_tag_filter(struct fumi_str s);  /* permits tags that older versions stored */
const char *check_query(struct fumi_str s);
int check_metadata(struct fumi_str json, const char *field, struct fumi_err *e);

/* Returns a guard for the data of this call, in the mode of the memory; `where` as in struct guard.
 */
struct guard guard_of(const struct fumi_call *call, const char *where);

/* memory_author_of the memory of the call. */
struct author author_of(const struct fumi_call *call);

/* Returns how long embedding may take within this call, in milliseconds. */
int64_t time_for_embedding(const struct fumi_call *call);

/* Replaces an id (kinds: enum id_kind) by the id that it is the beginning of: memory_find_id. */
int find_id(struct fumi_call *call, unsigned kinds, struct fumi_str *id);
/* Shortens an id in a result for a tool or for people. */
void show_id(struct fumi_call *call, unsigned kinds, struct fumi_str *id);
/* Shortens the id of a note and, in a result for a tool, omits the group "global". */
void show_note(struct fumi_call *call, struct note *n);
void omit_global_group(struct note *n);
bool shows_short_ids(const struct fumi_call *call);

/* Notes and globals, whose ids memory.delete takes. */
enum {
    ID_TO_DELETE = ID_OF_NOTE | ID_OF_GLOBAL,
    ID_OF_HISTORY = ID_TO_DELETE | ID_OF_GROUP | ID_OF_CHANGE, /* also deleted ones */
};

/* A note as memory.get returns it. */
struct note_result {
    struct note note;
    struct fumi_str name_space;
};
extern const struct fumi_shape note_result_shape;

/* A limit of the answer in tokens, for methods that return notes. The answer is then written in the
 * form for tools, and notes may be incomplete: their member `passage` says which bytes of the text
 * they have. */
enum { TOKENS_LEAST = 60 };
int check_max_tokens(int64_t n, struct fumi_err *e);
/* The tokens of a result as it will be written. */
size_t tokens_of_result(const struct fumi_shape *s, const void *from, bool compact);
/* Writes the result of a call with maxTokens; without, the shape of the method applies. */
void write_within(struct fumi_call *call, const struct fumi_shape *s, const void *result,
                  size_t max_tokens);
struct fumi_json passage_of(struct fumi_arena *a, const struct result *r); /* null: not a part */
/* Returns a struct as JSON text, for members that may be omitted. */
struct fumi_json text_of(struct fumi_arena *a, const struct fumi_shape *s, const void *from);

struct passage_at {
    int64_t begin, end;
};
extern const struct fumi_shape passage_shape;

#define MAX_TOKENS_FIELD(T)                                                                        \
    FUMI_FIELD(T, max_tokens, "maxTokens", "0: no limit.", .flags = FUMI_NULLABLE, .min = 0,       \
               .max = 1000000, .def = "0", .tool_def = "2000")
#define PASSAGE_FIELD(T)                                                                           \
    FUMI_FIELD(T, passage, "passage",                                                              \
               "If the note is incomplete: begin and end of text in the note, in bytes.",          \
               .flags = FUMI_OMIT)
#define SUPERSEDED_FIELD(T)                                                                        \
    FUMI_FIELD(T, superseded, "includeSuperseded", "Also notes that newer ones replace.",          \
               .flags = FUMI_NULLABLE | FUMI_DETAIL, .def = "false")
#define ANY_TAGS_FIELD(T)                                                                          \
    FUMI_FIELD(T, any_tags, "anyTags", "With one of these.", .flags = FUMI_NULLABLE,               \
               .max = NOTE_TAGS_MAX, .check = check_tag_filter)
#define PROJECT_FIELD(T)                                                                           \
    FUMI_FIELD(T, project, "projectId", "Repository path, or any name.", .flags = FUMI_REQUIRED)

#endif
