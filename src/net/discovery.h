/* How editors and agents find a server without configuration: one lock file per port, which
 * contains the URL and the token, in a directory that only the user can read. The format of the
 * lock file is that of editor extensions: pid, workspaceFolders, ideName, transport, authToken. All
 * functions may be called from any thread. */
#ifndef FUMI_NET_DISCOVERY_H
#define FUMI_NET_DISCOVERY_H

#include "base/err.h"
#include "base/str.h"

enum { DISCOVERY_TOKEN = 43 }; /* bytes of a generated token: 256 random bits as base64url */

/* Creates the directory with mode 0700, or restricts the mode of an existing one. Its parent must
 * exist. */
int discovery_directory(const char *directory, struct fumi_err *e);

/* Reads the token from DIRECTORY/token (mode 0600). If there is no such file, creates it with a
 * random token; processes that start at the same time get the same token. Returns -1 with *e set,
 * naming the remedy, if others can read the file or if it contains no token. `out` is terminated.
 */
int discovery_token(const char *directory, char out[DISCOVERY_TOKEN + 1], struct fumi_err *e);

enum {
    DISCOVERY_TOKEN_MIN = 16,
    DISCOVERY_TOKEN_MAX = 512
}; /* bytes of a token chosen by the user */

/* Reads a token from a file named by the user: one line of visible ASCII characters, in a regular
 * file that belongs to the user or root and that others cannot read. `out` is terminated. Returns
 * 0; 1 if the file does not exist; -1 with *e set, naming the file and the remedy. */
int discovery_token_file(const char *path, char out[DISCOVERY_TOKEN_MAX + 1], struct fumi_err *e);

/* Writes DIRECTORY/lock/PORT.lock (mode 0600) atomically. Also removes lock files of processes that
 * no longer exist. */
struct lock_file {
    char path[4096];
};
int discovery_announce(struct lock_file *l, const char *directory, struct fumi_str url,
                       uint16_t port, const char *token, const char *version, struct fumi_err *e);
void discovery_withdraw(
    struct lock_file *l); /* removes the file if it is still ours; {0} is allowed */

#endif
