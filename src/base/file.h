/* What every writer of files needs. */
#ifndef FUMI_BASE_FILE_H
#define FUMI_BASE_FILE_H

#include "base/str.h"

/* Calls write(2) until all bytes are written. Returns 0, or -1 with errno set. */
int file_write_all(int fd, struct fumi_str bytes);

/* Writes the entries of a directory to the disk: new names survive a power cut. A file system that
 * cannot sync a directory need not. Returns 0, or -1 with errno set. */
int file_sync_dir(const char *dir);

#endif
