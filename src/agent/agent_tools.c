/* The tools. A description says when to use the tool, then what it returns and which tool to use
 * instead. The core list is part of the context of every conversation, so
 * tests/unit/agent/test_agent.c keeps it under 8,000 bytes. */
#include "agent/agent_parts.h"

enum {
    READS = FUMI_MCP_IDEMPOTENT,
    ADDS = 0,
    CHANGES = FUMI_MCP_DESTRUCTIVE | FUMI_MCP_IDEMPOTENT,
};

/* Members of _meta. SHOWN: hosts that show MCP Apps show this one with the result. */
#define ALWAYS(hint) "\"anthropic/alwaysLoad\":true,\"anthropic/searchHint\":\"" hint "\""
/* Arguments of right calls, for errors. */
#define IN_PROJECT "\"projectId\":\"/home/ann/app\""
#define BY_ID      "{\"id\":\"3f2a77c1\"}"
#define SHOWN      "\"resourceUri\":\"" AGENT_APP_URI "\""

/* The tools for notes. */
#define NOTES                                                                                      \
    {.name = "memory_add_note",                                                                    \
     .title = "Remember",                                                                          \
     .description = "Use when something was learned that later sessions need: a preference or "    \
                    "rule, a decision and why, a failure with its cure, a finding. Search first; " \
                    "replace an outdated note with supersedes. One fact per note; no secrets.",    \
     .method = "memory.add_note",                                                                  \
     .example = "{" IN_PROJECT                                                                     \
                ",\"groupId\":\"global\",\"text\":\"The port is 8765, because 8080 is "            \
                "taken.\",\"tags\":[\"decision\"],\"metadata\":{\"file\":\"main.c\"}}",            \
     .flags = ADDS,                                                                                \
     .meta = "{" ALWAYS("remember store preference decision lesson") "}"},                         \
        {.name = "memory_search",                                                                  \
         .title = "Recall",                                                                        \
         .description =                                                                            \
             "Use when a task begins, before a decision or a question to the user, and when a "    \
             "command fails. Finds notes by meaning and word, best first. confidence none: "       \
             "nothing relevant is known; rephrase, or drop filters.",                              \
         .method = "memory.search",                                                                \
         .example =                                                                                \
             "{" IN_PROJECT ",\"query\":\"which port, and "                                        \
             "why?\",\"topK\":5,\"anyTags\":[\"decision\",\"rule\"],\"since\":\"2026-01-01\"}",    \
         .flags = READS,                                                                           \
         .meta = "{" ALWAYS("recall past decisions preferences history") ",\"ui\":{" SHOWN "}}"},  \
        {.name = "memory_get",                                                                     \
         .title = "Read a note",                                                                   \
         .description = "Use when you need the whole note.",                                       \
         .method = "memory.get",                                                                   \
         .example = BY_ID,                                                                         \
         .flags = READS},                                                                          \
        {.name = "memory_update",                                                                  \
         .title = "Correct a note",                                                                \
         .description = "Use when a note is incomplete, or its status changed (retag it).",        \
         .method = "memory.update",                                                                \
         .example = "{\"id\":\"3f2a77c1\",\"patch\":{\"text\":\"The port is "                      \
                    "8766.\",\"tags\":[\"done\"]}}",                                               \
         .flags = CHANGES},                                                                        \
        {.name = "memory_delete",                                                                  \
         .title = "Delete",                                                                        \
         .description = "Use to delete a note or a global; memory_undo puts it back. "             \
                        "Ask first when notes contradict.",                                        \
         .method = "memory.delete",                                                                \
         .example = BY_ID,                                                                         \
         .flags = CHANGES},                                                                        \
    {                                                                                              \
        .name = "memory_list_recent", .title = "Newest notes",                                     \
        .description = "Use when a session begins, or to browse: the newest "                      \
                       "notes, page by page.",                                                     \
        .method = "memory.list_recent",                                                            \
        .example = "{" IN_PROJECT ",\"limit\":10,\"anyTags\":[\"rule\",\"important\"]}",           \
        .flags = READS                                                                             \
    }

/* Of one change: that of a call whose result named it. */
#define UNDO                                                                                       \
    {                                                                                              \
        .name = "memory_undo", .title = "Undo",                                                    \
        .description = "Use to put back what a call did; its result has `change`.",                \
        .method = "memory.undo", .example = "{\"change\":12}", .flags = CHANGES                    \
    }

#define GROUP_LIST                                                                                 \
    {                                                                                              \
        .name = "memory_group_list", .title = "Groups",                                            \
        .description = "Use before choosing a groupId: the groups in use, with counts. "           \
                       "\"global\" always exists, unlisted.",                                      \
        .method = "memory.group_list", .example = "{" IN_PROJECT "}", .flags = READS               \
    }

#define LIST_GLOBALS                                                                               \
    {                                                                                              \
        .name = "memory_list_globals", .title = "Project settings",                                \
        .description = "Use when work begins: all settings of the project, such as "               \
                       "global.project.conventions.",                                              \
        .method = "memory.list_globals", .example = "{" IN_PROJECT "}", .flags = READS             \
    }

/* Accepting is for people: with these tools a model could accept what it has written itself. So
 * only the app gets them. */
#define FOR_APP "{\"ui\":{" SHOWN ",\"visibility\":[\"app\"]}}"
#define REVIEW                                                                                     \
    {.name = "memory_review",                                                                      \
     .title = "Notes to review",                                                                   \
     .description = "Use in the app: lists notes that wait for review.",                           \
     .method = "memory.review",                                                                    \
     .flags = READS | FUMI_MCP_APP_ONLY,                                                           \
     .meta = FOR_APP},                                                                             \
        {.name = "memory_review_accept",                                                           \
         .title = "Accept notes",                                                                  \
         .description = "Use in the app, when the user presses the button: stores notes that "     \
                        "wait for review.",                                                        \
         .method = "memory.review_accept",                                                         \
         .flags = FUMI_MCP_DESTRUCTIVE | FUMI_MCP_APP_ONLY,                                        \
         .meta = FOR_APP},                                                                         \
    {                                                                                              \
        .name = "memory_review_reject", .title = "Reject notes",                                   \
        .description = "Use in the app, when the user presses the button: discards notes that "    \
                       "wait for review.",                                                         \
        .method = "memory.review_reject", .flags = FUMI_MCP_DESTRUCTIVE | FUMI_MCP_APP_ONLY,       \
        .meta = FOR_APP                                                                            \
    }

static const struct fumi_tool all[] = {
    NOTES,
    {.name = "memory_get_config",
     .title = "Configuration",
     .description = "Use when the user asks how the memory is set up: embedder, store and paths. "
                    "Keys are never shown.",
     .method = "memory.get_config",
     .flags = READS},
    {.name = "memory_upsert_global",
     .title = "Set a project setting",
     .description =
         "Use when the user sets a convention or policy for the whole project that has one current "
         "value, like global.project.conventions or global.memory.groupDefaults. Replaces the "
         "value, which may be any JSON. For single facts use memory_add_note.",
     .method = "memory.upsert_global",
     .example = "{" IN_PROJECT
                ",\"key\":\"global.project.conventions\",\"value\":\"Four spaces.\"}",
     .flags = CHANGES},
    {.name = "memory_get_global",
     .title = "Read a project setting",
     .description = "Use when you need one setting and know its key; found is false when it is not "
                    "set. To see all use memory_list_globals.",
     .method = "memory.get_global",
     .example = "{" IN_PROJECT ",\"key\":\"global.project.conventions\"}",
     .flags = READS},
    {.name = "memory_group_create",
     .title = "Make a group",
     .description = "Use when a feature or task gets many notes: gives a groupId a title and a "
                    "description. Notes can name a group without this.",
     .method = "memory.group_create",
     .example = "{" IN_PROJECT ",\"groupKey\":\"feature-login\",\"title\":\"Login\"}",
     .flags = 0},
    {.name = "memory_group_get",
     .title = "Read a group",
     .description = "Use when you have the id of a group. To find it use memory_group_list.",
     .method = "memory.group_get",
     .example = BY_ID,
     .flags = READS},
    {.name = "memory_group_update",
     .title = "Change a group",
     .description = "Use when title or description of a group are out of date. Its key stays.",
     .method = "memory.group_update",
     .example = "{\"id\":\"3f2a77c1\",\"patch\":{\"title\":\"Login\"}}",
     .flags = CHANGES},
    {.name = "memory_group_delete",
     .title = "Remove a group",
     .description = "Use when a group is no longer wanted. Its notes stay, under the same groupId.",
     .method = "memory.group_delete",
     .example = BY_ID,
     .flags = CHANGES},
    GROUP_LIST,
    LIST_GLOBALS,
    UNDO,
    {.name = "memory_import",
     .title = "Remember many",
     .description =
         "Use when many notes are to be stored at once, up to 1,000: notes of another "
         "memory, a list of rules. With a progress token it reports progress. "
         "Returns their ids; `left` is the number of notes that were not stored. For single "
         "facts use memory_add_note.",
     .method = "memory.import",
     .example = "{" IN_PROJECT
                ",\"notes\":[{\"text\":\"The port is 8765.\",\"tags\":[\"decision\"]}]}",
     .flags = 0},
    {.name = "memory_stats",
     .title = "Counts",
     .description =
         "Use when the user asks how much is remembered, or whether all notes have their "
         "vectors.",
     .method = "memory.stats",
     .flags = READS},
    {.name = "memory_reembed",
     .title = "Make missing vectors",
     .description =
         "Use when memory_stats shows pending notes and the embedding provider works again. They "
         "are embedded in the background anyway; this call starts at once. With a progress token "
         "it reports progress and returns when all notes are embedded.",
     .method = "memory.reembed",
     .flags = FUMI_MCP_WRITES | FUMI_MCP_IDEMPOTENT},
    REVIEW,
    /* Must be the last one: only AGENT_ADMIN includes it. */
    {.name = "memory_set_config",
     .title = "Change the embedder",
     .description =
         "Use only when the user wants another embedding provider or model. The new "
         "embedder is tested first; then all notes are embedded again in the background while "
         "searches continue. For settings of a project use memory_upsert_global.",
     .method = "memory.set_config",
     .flags = CHANGES | FUMI_MCP_OPEN_WORLD},
};

/* The tools for notes, the list of groups, so that agents use existing ones, and the list of
 * globals, which needs no key. An agent that wants to keep a rule stores a note tagged `rule`. */
static const struct fumi_tool core[] = {NOTES, GROUP_LIST, LIST_GLOBALS, UNDO, REVIEW};

const struct fumi_tool *agent_tools(enum agent_set set, size_t *n)
{
    switch (set) {
    case AGENT_ALL:
        *n = FUMI_COUNT(all) - 1;
        return all;
    case AGENT_CORE:
        *n = FUMI_COUNT(core);
        return core;
    case AGENT_ADMIN:
        break;
    }
    *n = FUMI_COUNT(all);
    return all;
}

const char *agent_remedy(void *self, const struct fumi_err *e)
{
    (void)self;
    switch (e->code) {
    case FUMI_INVALID_PARAMS:
        if (fumi_starts(fumi_str(e->text), FUMI_STR("embedder.baseUrl")))
            return "Do not try another address: only the user can allow one";
        return "Correct the argument according to the tool's inputSchema, and call the tool again";
    case FUMI_LIMIT:
        return "If the error persists, tell the user";
    case ERR_NOT_FOUND:
        return fumi_starts(fumi_str(e->text), FUMI_STR("Group"))
                   ? "memory_group_list shows the ids of groups"
                   : "memory_search and memory_list_recent show the ids of notes";
    case ERR_CONFLICT:
        return "The group exists, and notes can name it; memory_group_list shows it";
    case ERR_KEY_PREFIX:
        return "A key looks like global.project.conventions";
    case ERR_NO_API_KEY:
        return "Ask the user to set the key, or to choose the local embedder";
    case ERR_PROVIDER:
        return "Try again later, or ask the user to check the embedder";
    default:
        return NULL;
    }
}
