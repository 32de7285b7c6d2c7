/* The other side of the protocol: builds messages and matches answers. Like the server it knows no
 * socket: what it builds is sent by the caller, what arrives is given to it. */
#ifndef FUMI_RPC_CLIENT_H
#define FUMI_RPC_CLIENT_H

#include "../rpc/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fumi_client;

/* What came of a request. `result` and `err.data` live in the arena given to fumi_client_take. */
struct fumi_answer {
    int64_t id; /* as fumi_client_request gave it; 0: an error that names no request */
    bool ok;
    struct fumi_json result;
    struct fumi_err err;
    void *user; /* as given to fumi_client_request */
};

struct fumi_answers {
    struct fumi_answer *items;
    size_t n;
    size_t requests; /* requests and notifications of the peer in this message; see `asks` */
};

/* Not for two threads at once. Free it after use; open requests are simply forgotten. */
struct fumi_client *fumi_client_new(void);
void fumi_client_free(struct fumi_client *c);

/* Append a request or a notification to `out`: params an array, an object, or none. The id, 1 or
 * more, is never used twice by one client. -1: params that are neither. Inside a batch they are
 * parts of it. */
int64_t fumi_client_request(struct fumi_client *c, struct fumi_buf *out, const char *method,
                            struct fumi_json params, void *user);
int fumi_client_notify(struct fumi_client *c, struct fumi_buf *out, const char *method,
                       struct fumi_json params);
void fumi_client_batch_open(struct fumi_client *c, struct fumi_buf *out);
void fumi_client_batch_close(struct fumi_client *c, struct fumi_buf *out);

/* No answer will be taken for that request any more; writes the notification that says so. An id
 * that is not open writes nothing. */
void fumi_client_cancel(struct fumi_client *c, struct fumi_buf *out, int64_t id);

size_t fumi_client_open(const struct fumi_client *c); /* requests that wait for an answer */

/* Takes one message: an answer, a batch of them, or something the peer asks, which is counted in
 * `asked` and is the business of whoever serves it. -1 with *e set: not a message, or an answer
 * that is none (both result and error, an error without code, an id that is not open); the
 * others of its batch are still in *out. */
int fumi_client_take(struct fumi_client *c, struct fumi_arena *a, struct fumi_str message,
                     struct fumi_answers *out, struct fumi_err *e);

#ifdef __cplusplus
}
#endif

#endif
