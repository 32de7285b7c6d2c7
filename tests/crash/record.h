/* The log of the changes that a program makes to the files in a directory. record.c writes it,
 * disk.c reads it. */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H

#include <stdint.h>

enum record_kind {
    RECORD_OPEN,     /* name; number: the flags of open */
    RECORD_CLOSE,    /* the descriptor */
    RECORD_WRITE,    /* number: the offset; the bytes */
    RECORD_SIZE,     /* number: the new size */
    RECORD_ALLOCATE, /* number: at least this size */
    RECORD_SYNC,
    RECORD_MKDIR,       /* name */
    RECORD_RENAME,      /* name, and the new one as bytes */
    RECORD_LINK,        /* the same */
    RECORD_UNLINK,      /* name */
    RECORD_OUTPUT,      /* output on stdout, as bytes */
    RECORD_UNSUPPORTED, /* a call that the log does not support; name: that of the call */
};

/* The header of an event; the name and the bytes follow. Names are relative to the directory. */
struct record {
    uint32_t kind;
    int32_t fd;
    uint64_t number;
    uint32_t name, bytes; /* lengths */
};

#endif
