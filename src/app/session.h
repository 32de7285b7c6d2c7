/* A session: a memory opened for one command or for a server. Not thread-safe. */
#ifndef FUMI_APP_SESSION_H
#define FUMI_APP_SESSION_H

#include "app/command.h"
#include "app/place.h"
#include "app/progress.h"
#include "memory/methods.h"
#include "rpc/client.h"

/* The repository of the working directory, if its project had no notes when the session began. */
struct first_notes {
    struct fumi_str project, remote;
};

struct session {
    struct fumi_arena arena; /* of the configuration */
    struct config_overrides overrides;
    struct config config;
    struct fumi_log log;
    bool salvage;       /* set before opening: also open a database that must be repaired first */
    struct scope scope; /* set before session_begin; {0}: everything */
    struct author by;   /* of what a command changes; null strings in a server */
    bool existing;      /* set before session_open: see session_needs_store */
    bool short_ids;     /* set before session_begin: results have short ids, for people */
    int64_t patience;   /* set before session_begin: see struct store_sqlite_options */
    struct progress *progress; /* set before opening: of backup and doctor; may be NULL */
    struct store *store;       /* owned by `memory` if that is not NULL */
    struct memory *memory;
    struct fumi_server *server; /* with the methods of the memory */
    struct first_notes first;
    struct fumi_client *client;
};

/* Start with {0}, and call session_close even if opening failed. Each function returns -1 with *e
 * set on failure.
 *
 * session_config loads the configuration and prints its warnings. session_store also opens the
 * store, even if it is damaged. session_old_store does the same but does not create a missing
 * database. session_open loads the configuration and opens the memory and a server for its methods.
 * session_begin is the second half of session_open, after session_config; `transport` is what
 * get_config reports. Changes of the embedder are saved to the configuration file. */
int session_config(struct session *s, const struct common *flags, bool freeze, struct fumi_err *e);
/* The author of the changes that a command makes. */
struct author session_author(struct session *s);
int session_store(struct session *s, const struct common *flags, struct fumi_err *e);
int session_old_store(struct session *s, const struct common *flags, struct fumi_err *e);
int session_open(struct session *s, const struct common *flags, struct fumi_err *e);
int session_begin(struct session *s, const char *transport, struct fumi_err *e);
/* session_begin with the limits of a command: a message may contain the longest note. */
int session_begin_command(struct session *s, struct fumi_err *e);
void session_close(struct session *s);

/* Prints a warning, or logs it as an event. */
void session_warn(const struct session *s, const char *event, struct fumi_str text);

/* session_place.c: the project of a place (place.h), as the configuration defines it. Results live
 * in the arena. `given`: a path or a name of the user; null: the working directory.
 *
 * session_place: after session_config. session_tell_place: prints the warning of the place, and
 * one if notes are stored under its path instead of its project, as earlier versions did, and calls
 * session_follow_remote; with an open store. session_project: both. session_put_project: sets
 * the projectId in the params, which are an object, of a method that requires one, and replaces it
 * in those of a method that takes one. */
int session_place(const struct session *s, struct fumi_arena *a, struct fumi_str given,
                  struct place *out, struct fumi_err *e);
void session_tell_place(struct session *s, const struct place *p);
int session_project(struct session *s, struct fumi_arena *a, struct fumi_str given,
                    struct fumi_str *out, struct fumi_err *e);
int session_put_project(struct session *s, struct fumi_arena *a, const char *method,
                        struct fumi_json *params, struct fumi_err *e);
/* The same for raw params, which may be anything: adds session_home if they lack a projectId. */
int session_add_home(struct session *s, struct fumi_arena *a, const char *method,
                     struct fumi_json *params, struct fumi_err *e);
/* Records the remote of the repository if the project has notes. If another project of the same
 * remote has notes, and this one has none or the directory of the other one is gone, returns a
 * sentence that offers to merge them, in the arena; otherwise null. session_keep_remote, which
 * session_close calls, records the remote of a project whose first notes this session has stored.
 */
struct fumi_str session_follow_remote(struct session *s, struct fumi_arena *a,
                                      const struct place *p);
void session_keep_remote(const struct session *s);
/* Whether a project has notes; false if the store fails. */
bool session_has_notes(const struct session *s, struct fumi_str project);
/* The project of the working directory for calls that name none, after session_tell_place; null if
 * the directory is in no repository and has no notes: a client may start fumi in any directory.
 * *moved, unless `moved` is NULL: as session_follow_remote. */
struct fumi_str session_home(struct session *s, struct fumi_str *moved);

/* Calls a method through the server. *result lives in the arena. Returns -1 with *e set if the call
 * cannot be made or its response is an error. */
int session_call(struct session *s, struct fumi_arena *a, const char *method,
                 struct fumi_json params, struct fumi_json *result, struct fumi_err *e);

/* The same with a parsed result. */
int session_ask(struct session *s, struct fumi_arena *a, const char *method,
                struct fumi_json params, const struct fumi_val **result, struct fumi_err *e);

/* A server that only describes the methods: they must not be called. Owned by the caller. Returns
 * NULL with *e set on failure. */
struct fumi_server *session_registry(struct fumi_err *e);
/* Returns NULL if there is no such method. */
const struct fumi_method *session_method(const struct fumi_server *s, struct fumi_str name);

/* Whether a method needs a store that exists: all but those that put something into an empty one.
 * A session with `existing` creates no database where a flag says that there is one. */
bool session_needs_store(const char *method);

/* For a command that makes one call: opens a session, calls, closes it. Frees *params; *result
 * lives in i->a. Returns STATUS_OK, or reports the error and returns its exit status. */
int session_once(struct invocation *i, const char *method, struct fumi_buf *params,
                 const struct fumi_val **result);

/* The same for a method whose param is the id that the first word gives. */
int session_by_id(struct invocation *i, const char *method, const struct fumi_val **result);

#endif
