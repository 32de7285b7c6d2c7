/* How editors and agents find a server without configuration: a lock file per port, with the token
 * in it (behaviour.md 3.1, 3.4), in a directory that only the user can read. */
#ifndef FUMI_NET_DISCOVERY_H
#define FUMI_NET_DISCOVERY_H

#include "base/err.h"
#include "base/str.h"

enum { TOKEN = 43 }; /* bytes of a token: 256 random bits as base64url */

/* Makes the directory, mode 0700, and tightens one that is there; its parent must exist. */
int discovery_directory(const char *directory, struct fumi_err *e);

/* The token of the file DIRECTORY/token, mode 0600: read, or made of the system's random bits when
 * there is none; two processes that start at once get the same. A file that others can read, or
 * that holds no token, is a fault that names the remedy. `out` is terminated. */
int discovery_token(const char *directory, char out[TOKEN + 1], struct fumi_err *e);

enum { TOKEN_LEAST = 16, TOKEN_MOST = 512 }; /* bytes of a token that a user chose */

/* The token of a file that a user named: one line of visible ASCII characters, in a regular file of
 * ours or of root's that nobody else can read. `out` is terminated. Returns 0; 1 if there is no
 * such file; -1 with *e set, which names the file and the remedy. */
int discovery_token_file(const char *path, char out[TOKEN_MOST + 1], struct fumi_err *e);

/* Writes DIRECTORY/lock/PORT.lock, 0600, under another name first. Lock files of processes that are
 * gone are removed on the way. */
struct lock_file {
    char path[4096];
};
int discovery_announce(struct lock_file *l, const char *directory, struct fumi_str url,
                       uint16_t port, const char *token, const char *version, struct fumi_err *e);
void discovery_withdraw(struct lock_file *l); /* {0}: nothing */

#endif
