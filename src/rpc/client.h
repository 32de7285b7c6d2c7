/* The client side of JSON-RPC: builds requests and matches answers to them. It uses no sockets: the
 * caller sends what it builds, and passes it what arrives. net/rpc_connection.h has a client with a
 * transport. */
#ifndef FUMI_RPC_CLIENT_H
#define FUMI_RPC_CLIENT_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_client;

/* The answer to a request. `result` and `err.data` live in the arena passed to fumi_client_take. */
struct fumi_answer {
    int64_t id; /* of fumi_client_request; 0: an error that names no request */
    bool ok;    /* `result` is set; false: `err` is set */
    struct fumi_json result;
    struct fumi_err err;
    void *user; /* as passed to fumi_client_request */
};

struct fumi_answers {
    struct fumi_answer *items;
    size_t n;
    size_t requests; /* number of requests and notifications of the peer in the message */
};

/* Not thread-safe. fumi_client_free accepts NULL, and drops open requests. */
struct fumi_client *fumi_client_new(void);
void fumi_client_free(struct fumi_client *c);

/* Append a request or a notification to `out`. fumi_client_request returns its id, which is
 * positive and never reused by this client; fumi_client_notify returns 0. Both return -1, and
 * append nothing, if params is neither an array nor an object nor absent. Between
 * fumi_client_batch_open and fumi_client_batch_close they are members of a batch. */
int64_t fumi_client_request(struct fumi_client *c, struct fumi_buf *out, const char *method,
                            struct fumi_json params, void *user);
int fumi_client_notify(struct fumi_client *c, struct fumi_buf *out, const char *method,
                       struct fumi_json params);
void fumi_client_batch_open(struct fumi_client *c, struct fumi_buf *out);
void fumi_client_batch_close(struct fumi_client *c, struct fumi_buf *out);

/* Cancels a request: appends the notification rpc.cancel, and a later answer to the request is an
 * error. Appends nothing if the id is not that of an open request. */
void fumi_client_cancel(struct fumi_client *c, struct fumi_buf *out, int64_t id);

/* The number of requests that wait for an answer. */
size_t fumi_client_open(const struct fumi_client *c);

/* Reads one message: an answer or a batch of answers, which end their requests. Requests and
 * notifications of the peer are only counted, in out->requests. Returns -1 with *e set if the
 * message is not JSON or has an invalid answer (result and error, an error without code, an id that
 * is not that of an open request); *out has the valid answers of the batch even then. */
int fumi_client_take(struct fumi_client *c, struct fumi_arena *a, struct fumi_str message,
                     struct fumi_answers *out, struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
