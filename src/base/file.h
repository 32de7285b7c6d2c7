/* Helpers for writing files. */
#ifndef FUMI_BASE_FILE_H
#define FUMI_BASE_FILE_H

#include "base/str.h"

/* Calls write(2) until all bytes are written. Returns 0, or -1 with errno set. */
int file_write_all(int fd, struct fumi_str bytes);

/* Syncs a directory, so that files created or renamed in it survive a power failure. Succeeds if
 * the file system cannot sync directories. Returns 0, or -1 with errno set. */
int file_sync_dir(const char *dir);

#endif
