/* The members of a note, each described once. This list gives struct note, the params of
 * memory.add_note and memory.import, the patch of memory.update, the results, the columns of the
 * database, the lines of fumi export and the flags of fumi add.
 *
 * To add a member, which must be a string, JSON or a time that may be absent: add the last row
 * here, and the last column to the table of each store, with a migration.
 *
 * NOTE_COLUMNS(X, T, at) expands, for each row,
 *   X(T, at, NAME, member, type, wire name, SQL column, flags of struct note_column,
 *     in params, (field), in the patch, (field), result flags, flags added in lists, result help)
 * T and `at` are passed on to X: the struct that the fields of a shape belong to, and the path to
 * the note in T ("note."; empty if T is struct note). A (field) is what follows the wire name in
 * FUMI_FIELD. In params a member is REQUIRED, OPTIONAL, ABSENT or the PROJECT, which every method
 * declares in the same way; in the patch it is PATCHED or ABSENT. */
#ifndef FUMI_MODEL_NOTE_COLUMNS_H
#define FUMI_MODEL_NOTE_COLUMNS_H

/* clang-format off */
#define NOTE_COLUMNS(X, T, at)                                                                     \
    X(T, at, ID, id, struct fumi_str, "id", "id", 0,                                               \
      ABSENT, (""),                                                                                \
      ABSENT, (""),                                                                                \
      0, 0, "Id of the note.")                                                                     \
    X(T, at, PROJECT, project, struct fumi_str, "projectId", "project", 0,                         \
      PROJECT, (""),                                                                               \
      ABSENT, (""),                                                                                \
      0, FUMI_DETAIL, "The project, in its canonical form.")                                       \
    X(T, at, GROUP, group, struct fumi_str, "groupId", "group_key", 0,                             \
      REQUIRED, ("global: the whole project; else like lessons, task-7.",                         \
                 .flags = FUMI_REQUIRED, .tool_def = "\"global\"", .check = note_group_fault),                                \
      PATCHED, ("Another group.", .check = note_given_group_fault),                                \
      0, 0, "The group within the project.")                                                       \
    X(T, at, TITLE, title, struct fumi_str, "title", "title", NOTE_FREE_TEXT,                      \
      OPTIONAL, ("A short title.", .flags = FUMI_NULLABLE, .check = note_title_fault),             \
      PATCHED, ("Null clears it.", .flags = FUMI_NULLABLE | FUMI_LENIENT,                          \
                .check = note_title_fault),                                                        \
      FUMI_NULLABLE, 0, "Title of the note.")                                                      \
    X(T, at, TEXT, text, struct fumi_str, "text", "text", NOTE_FREE_TEXT,                          \
      REQUIRED, ("The fact and its reason, clear without this conversation.",                      \
                 .flags = FUMI_REQUIRED, .check = note_text_fault),                                \
      PATCHED, ("The whole new text.", .check = note_text_fault),                                  \
      0, 0, "Text of the note; with maxTokens, search may return only the best passage.")          \
    X(T, at, TAGS, tags, struct fumi_strs, "tags", "tags", NOTE_FREE_TEXT,                         \
      OPTIONAL, ("Like rule, decision; case counts.", .flags = FUMI_NULLABLE,                      \
                 .max = NOTE_TAGS_MAX, .check = note_tag_fault),                                   \
      PATCHED, ("Replaces the old value.", .flags = FUMI_NULL_KEEPS, .max = NOTE_TAGS_MAX,         \
                .check = note_tag_fault),                                                          \
      FUMI_SPARSE, 0, "Tags of the note.")                                                         \
    X(T, at, SOURCE, source, struct fumi_str, "source", "source", NOTE_FREE_TEXT,                  \
      OPTIONAL, ("A file, a URL, a person.", .flags = FUMI_NULLABLE, .check = note_source_fault),  \
      PATCHED, ("Null clears it.", .flags = FUMI_NULLABLE | FUMI_LENIENT,                          \
                .check = note_source_fault),                                                       \
      FUMI_NULLABLE, 0, "Where the note came from.")                                               \
    X(T, at, CREATED, created, struct fumi_time, "createdAt", "created", 0,                        \
      OPTIONAL, ("Default now.", .flags = FUMI_NULLABLE),                                          \
      ABSENT, (""),                                                                                \
      0, 0, "Time of creation, UTC.")                                                              \
    X(T, at, METADATA, metadata, struct fumi_json, "metadata", "metadata", NOTE_FREE_TEXT,         \
      OPTIONAL, ("Any object.", .flags = FUMI_NULLABLE | FUMI_OBJECT_ONLY),                        \
      PATCHED, ("Replaces the old value.",                                                         \
                .flags = FUMI_NULLABLE | FUMI_LENIENT | FUMI_OBJECT_ONLY),                         \
      FUMI_NULLABLE | FUMI_OBJECT_ONLY, 0, "The object stored with the note.")                     \
    X(T, at, SESSION, session, struct fumi_str, "session", "session", NOTE_FREE_TEXT,              \
      OPTIONAL, ("The conversation or run that the note belongs to.",                              \
                 .flags = FUMI_NULLABLE | FUMI_OMIT | FUMI_DETAIL, .check = note_session_fault),   \
      ABSENT, (""),                                                                                \
      FUMI_OMIT | FUMI_DETAIL, 0, "The conversation or run that the note belongs to.")             \
    X(T, at, KEY, key, struct fumi_str, "key", "key", NOTE_FREE_TEXT,                              \
      OPTIONAL, ("Subject like billing.database; replaces its old note.",               \
                 .flags = FUMI_NULLABLE | FUMI_OMIT, .check = note_subject_fault),                 \
      PATCHED, ("Null clears it.", .flags = FUMI_NULLABLE | FUMI_LENIENT | FUMI_DETAIL,            \
                .check = note_subject_fault),                                                      \
      FUMI_OMIT | FUMI_DETAIL, 0, "The project has one current note with this key.")               \
    X(T, at, SUPERSEDED_BY, superseded_by, struct fumi_str, "supersededBy", "superseded_by", 0,    \
      ABSENT, (""),                                                                                \
      ABSENT, (""),                                                                                \
      FUMI_OMIT, 0, "Id of the note that replaces this one.")                                      \
    X(T, at, EXPIRES, expires, struct fumi_time, "expiresAt", "expires", 0,                        \
      OPTIONAL, ("The note is deleted at this time.",                                              \
                 .flags = FUMI_NULLABLE | FUMI_OMIT | FUMI_DETAIL),                                \
      PATCHED, ("Null: never.", .flags = FUMI_NULLABLE | FUMI_LENIENT | FUMI_DETAIL),              \
      FUMI_OMIT | FUMI_DETAIL, 0, "Time at which the note is deleted, UTC.")
/* clang-format on */

/* Fields of a shape over T: params (all required members, then all optional ones; the project and
 * the id are not among them), the patch, a single result and a row of a list. */
#define NOTE_REQUIRED_FIELDS(T, at) NOTE_COLUMNS(NOTE_REQUIRED_ROW, T, at)
#define NOTE_OPTIONAL_FIELDS(T, at) NOTE_COLUMNS(NOTE_OPTIONAL_ROW, T, at)
#define NOTE_PATCH_FIELDS(T, at)    NOTE_COLUMNS(NOTE_PATCH_ROW, T, at)
#define NOTE_RESULT_FIELDS(T, at)   NOTE_COLUMNS(NOTE_RESULT_ROW, T, at)
#define NOTE_LIST_FIELDS(T, at)     NOTE_COLUMNS(NOTE_LIST_ROW, T, at)

#define NOTE_UNWRAP(...)                 __VA_ARGS__
#define NOTE_FIELD(T, path, wire, field) FUMI_FIELD(T, path, wire, NOTE_UNWRAP field),
#define NOTE_REQUIRED_ROW(T, at, N, m, type, wire, sql, f, p, ...)                                 \
    NOTE_IF_REQUIRED_##p(T, at m, wire, __VA_ARGS__)
#define NOTE_OPTIONAL_ROW(T, at, N, m, type, wire, sql, f, p, ...)                                 \
    NOTE_IF_OPTIONAL_##p(T, at m, wire, __VA_ARGS__)
#define NOTE_PATCH_ROW(T, at, N, m, type, wire, sql, f, p, pf, u, ...)                             \
    NOTE_IF_PATCHED_##u(T, at m, wire, __VA_ARGS__)
#define NOTE_IF_REQUIRED_REQUIRED(T, path, wire, field, ...) NOTE_FIELD(T, path, wire, field)
#define NOTE_IF_REQUIRED_OPTIONAL(...)
#define NOTE_IF_REQUIRED_PROJECT(...)
#define NOTE_IF_REQUIRED_ABSENT(...)
#define NOTE_IF_OPTIONAL_OPTIONAL(T, path, wire, field, ...) NOTE_FIELD(T, path, wire, field)
#define NOTE_IF_OPTIONAL_REQUIRED(...)
#define NOTE_IF_OPTIONAL_PROJECT(...)
#define NOTE_IF_OPTIONAL_ABSENT(...)
#define NOTE_IF_PATCHED_PATCHED(T, path, wire, field, ...) NOTE_FIELD(T, path, wire, field)
#define NOTE_IF_PATCHED_ABSENT(...)
#define NOTE_RESULT_ROW(T, at, N, m, type, wire, sql, f, p, pf, u, uf, result, list, help)         \
    FUMI_FIELD(T, at m, wire, help, .flags = (result)),
#define NOTE_LIST_ROW(T, at, N, m, type, wire, sql, f, p, pf, u, uf, result, list, help)           \
    FUMI_FIELD(T, at m, wire, help, .flags = (result) | (list)),

#endif
