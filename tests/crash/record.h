/* The log of what a program does to the files under a directory, as record.c writes it and disk.c
 * reads it. */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H

#include <stdint.h>

enum record_kind {
    RECORD_OPEN,     /* name; number: the flags of open */
    RECORD_CLOSE,    /* the descriptor */
    RECORD_WRITE,    /* number: where; the bytes */
    RECORD_SIZE,     /* number: the new size */
    RECORD_ALLOCATE, /* number: at least this size */
    RECORD_SYNC,
    RECORD_MKDIR,   /* name */
    RECORD_RENAME,  /* name, and the new one as bytes */
    RECORD_LINK,    /* the same */
    RECORD_UNLINK,  /* name */
    RECORD_SAY,     /* what was written to stdout, as bytes */
    RECORD_STRANGE, /* something that the log cannot hold: its name */
};

/* An event: this, then the name, then the bytes. Names are relative to the directory. */
struct record {
    uint32_t kind;
    int32_t fd;
    uint64_t number;
    uint32_t name, bytes; /* lengths */
};

#endif
