/* Types of the life of notes: who changed what, what can be put back, and what waits for review.
 * Structs that a function returns, and the arrays in them, live in the arena of the call. */
#ifndef FUMI_STORE_STORE_LIFE_H
#define FUMI_STORE_STORE_LIFE_H

#include "model/note.h"

struct vectors;

/* Who made a change. Null strings: unknown. The client and its version are as the client claims. */
struct author {
    struct fumi_str client, version, session, transport, user;
};

/* How a note is added, updated or deleted, and what came of it. */
struct note_change {
    const struct author *by;       /* NULL: unknown */
    const struct vectors *vectors; /* NULL or empty: the note is embedded later */
    struct fumi_strs supersedes;   /* ids of notes of the same project */
    bool allow_duplicate;          /* add a note that says the same as another one */
    bool duplicate;                /* result: a note that says the same exists */
    struct fumi_strs superseded;   /* result: ids of the notes that the change superseded */
    int64_t change;                /* result: number of the change; 0: nothing changed */
};

enum change_op {
    CHANGE_ADD,
    CHANGE_UPDATE,
    CHANGE_DELETE,
    CHANGE_EXPIRE, /* deleted because its time had come */
    CHANGE_FORGET, /* erased; the row has neither text nor project */
    CHANGE_GROUP_ADD,
    CHANGE_GROUP_UPDATE,
    CHANGE_GROUP_DELETE,
    CHANGE_GLOBAL_ADD,
    CHANGE_GLOBAL_UPDATE,
    CHANGE_GLOBAL_DELETE,
    CHANGE_OPS,
};

/* A row of the journal: what a call did to one note, group or global. The rows of one call have the
 * same `change`, the number of the first of them. */
struct change {
    int64_t n, change, at; /* at: milliseconds since 1970 */
    struct author by;
    enum change_op op;
    int64_t undoes; /* number of the change that this row put back; 0: none */
    struct fumi_str project, id;
    struct fumi_str before; /* object of the members that changed, with their values before */
};

struct changes {
    struct change *items;
    size_t n;
};

struct history_query {
    struct fumi_str id, project, session, client; /* null: any */
    int64_t since, until;                         /* since <= at < until */
    int64_t before_n; /* only rows before this one; 0: from the newest */
    size_t limit;
};

/* What to put back: one change, the changes of a session, or all changes since a time. The others
 * are 0 or null. */
struct undo_query {
    int64_t change;
    struct fumi_str session;
    int64_t since;
    struct fumi_str project; /* only changes of this project; null: of all */
    bool dry_run;            /* only report what would be done */
};

struct undone_row {
    enum change_op op; /* of the row that was put back */
    struct fumi_str id;
};

/* A row that was not put back, because a later change concerns the same members. */
struct undo_conflict {
    struct fumi_str id;
    int64_t change; /* the later one; 0: the note has left the project */
};

struct undone {
    int64_t change; /* the number under which the undo itself can be undone; 0: nothing was done */
    struct undone_row *rows;
    size_t rows_n;
    struct undo_conflict *conflicts;
    size_t conflicts_n;
};

struct forget_query {
    struct fumi_strs ids;    /* of notes, stored or deleted */
    struct fumi_str project; /* notes of other projects are not found; null: of all */
};

struct forgotten {
    int64_t notes;           /* erased */
    struct fumi_strs copies; /* files that were not cleaned: backups, copies before migrations */
};

/* What a hook or a prompt gave to a session. */
struct injection {
    int64_t n, at;
    struct fumi_str project;
    struct author by; /* the session that received it */
    struct fumi_str kind;
    struct fumi_strs ids;
};

struct injections {
    struct injection *items;
    size_t n;
};

struct injection_query {
    struct fumi_str project, session, id; /* null: any; id: of a note that was given */
    int64_t before_n;                     /* 0: from the newest */
    size_t limit;
};

/* Uses of a note, and of a result of store_list_unused, which is sorted by `last`, oldest first. */
struct note_use {
    int64_t seq, n, last; /* last: time of the last use; 0: never */
    struct fumi_str id, project;
    int64_t created;
};

struct note_uses {
    struct note_use *items;
    size_t n;
};

/* A note that waits for review. */
struct review {
    struct fumi_str id;
    int64_t at;
    struct fumi_str project;
    struct author by;
    enum change_op op;    /* CHANGE_ADD or CHANGE_UPDATE */
    struct fumi_str note; /* id of the note to update; null: a new note */
    struct fumi_str body; /* JSON of the params */
};

struct reviews {
    struct review *items;
    size_t n;
};

struct project {
    struct fumi_str name, remote; /* remote: normalised URL; null: none is known */
    int64_t notes, seen, changed; /* seen: time of set_project_remote; changed: time of the last
                                                      change, else of the newest note; 0: none */
};

struct moved_rows {
    int64_t notes, groups, globals;
};

/* Moving or deleting what a project has, several calls in one change. */
struct moving {
    struct fumi_str from, to; /* to null: it is deleted */
    size_t limit;             /* notes of one call */
    const struct author *by;
    int64_t change;          /* 0 before the first call; set to the number of the change */
    struct moved_rows moved; /* of all calls; with those whose key the target had */
    bool more;               /* result: call again */
};

struct projects {
    struct project *items;
    size_t n;
};

#endif
