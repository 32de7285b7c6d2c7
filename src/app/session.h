/* A memory that is opened for one command or for a server. */
#ifndef FUMI_APP_SESSION_H
#define FUMI_APP_SESSION_H

#include "app/command.h"
#include "memory/methods.h"
#include "rpc/client.h"

struct session {
    struct fumi_arena arena;
    struct config_wish wish;
    struct config config;
    struct fumi_log log;
    bool salvage;        /* a database that cannot be opened for its damage, set before */
    struct scope scope;  /* of the memory, set before session_begin; {0}: everything */
    struct store *store; /* of the memory, when there is one */
    struct memory *memory;
    struct fumi_server *server;
    struct fumi_client *client;
};

/* Begin with {0}; close it also after a failure. session_config reads the configuration and says
 * what it ignored; session_store also opens the store; session_open also the memory, with a server
 * for its methods. The memory's settings are written back and read again where the configuration
 * is. `transport` is what get_config shows. */
int session_config(struct session *s, const struct common *flags, bool freeze, struct fumi_err *e);
int session_store(struct session *s, const struct common *flags, struct fumi_err *e);
/* The same, but one that does not exist is not made. */
int session_old_store(struct session *s, const struct common *flags, struct fumi_err *e);
int session_open(struct session *s, const struct common *flags, struct fumi_err *e);
int session_begin(struct session *s, const char *transport, struct fumi_err *e); /* after config */
void session_close(struct session *s);

/* One call of a method, through the server as any other. -1 with *e: it could not be made, or its
 * answer is an error. */
int session_call(struct session *s, struct fumi_arena *a, const char *method,
                 struct fumi_json params, struct fumi_json *result, struct fumi_err *e);

/* A server with the methods, that serves nothing: to look them up. */
struct fumi_server *session_registry(struct fumi_err *e);
const struct fumi_method *session_method(const struct fumi_server *s, struct fumi_str name);

/* For a command that is one call: opens, calls, closes; *result lives in i->a. Reports an error and
 * returns its status; STATUS_OK: there is a result. */
int session_once(struct invocation *i, const char *method, struct fumi_buf *params,
                 const struct fumi_val **result);

#endif
