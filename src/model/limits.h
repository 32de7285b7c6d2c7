/* Limits of stored data and of queries. */
#ifndef FUMI_MODEL_LIMITS_H
#define FUMI_MODEL_LIMITS_H

/* X(name, value, unit, what it limits). The limit of a message, 1 MiB by default, may be reached
 * before NOTE_TEXT_MAX. */
#define MEMORY_LIMITS(X)                                                                           \
    X(NOTE_TEXT_MAX, 8 << 20, "bytes", "Text of a note")                                           \
    X(NOTE_TITLE_MAX, 4 << 10, "bytes", "Title of a note or group")                                \
    X(NOTE_SOURCE_MAX, 4 << 10, "bytes", "Source of a note; description of a group")               \
    X(NOTE_TAGS_MAX, 64, "tags", "One note or one filter")                                         \
    X(NOTE_TAG_MAX, 128, "bytes", "One tag")                                                       \
    X(NOTE_SESSION_MAX, 256, "bytes", "Session of a note")                                         \
    X(NOTE_SUBJECT_MAX, 128, "characters", "Key of a note")                                        \
    X(NOTE_METADATA_MAX, 64 << 10, "bytes", "Metadata of a note, as JSON")                         \
    X(NOTE_METADATA_DEPTH, 16, "levels", "Nesting of metadata")                                    \
    X(SUPERSEDES_MAX, 64, "notes", "Notes that one note replaces in one call")                     \
    X(FORGET_MAX, 1000, "notes", "One call of memory.forget")                                      \
    X(IMPORT_MAX, 1000, "notes", "One call of memory.import")                                      \
    X(RESULTS_MAX, 1000, "notes", "One answer of memory.search or memory.list_recent")             \
    X(VALUE_MAX, 256 << 10, "bytes", "Value of a global, as JSON")                                 \
    X(PROJECT_MAX, 4 << 10, "bytes", "Name or path of a project")                                  \
    X(GROUP_MAX, 128, "characters", "Key of a group (groupId, groupKey) or of a global")           \
    X(QUERY_MAX, 8 << 10, "bytes", "Query of a search")

enum memory_limit {
#define MEMORY_LIMIT(name, value, ...) name = value,
    MEMORY_LIMITS(MEMORY_LIMIT)
#undef MEMORY_LIMIT
        NOTE_JSON_MAX = 6 * NOTE_TEXT_MAX + (1 << 20), /* a note as JSON, every byte escaped */
};

#endif
