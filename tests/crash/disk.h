/* A disk that keeps only what it must: the log of record.c, played up to any event, and a directory
 * as it may be found when the power fails there. */
#ifndef CRASH_DISK_H
#define CRASH_DISK_H

#include "base/buf.h"
#include "record.h"

/* Of what was written and not synced, which parts are there. */
enum disk_parts {
    DISK_NONE,
    DISK_ALL,
    DISK_SOME_512,  /* any of these sectors */
    DISK_SOME_4096, /* any of these pages */
    DISK_TORN,      /* all, but only the beginning of the last write */
    DISK_ZERO,      /* files have their new sizes, with zeros where the bytes should be */
};

/* And of names that were made, changed or removed in a directory that was not synced. */
struct disk_cut {
    enum disk_parts parts, names; /* names: NONE, ALL or SOME_512 */
    uint64_t seed;
};

struct disk_event {
    struct record r;
    struct fumi_str name, bytes;
};

struct disk_file {
    struct fumi_buf safe; /* as synced */
    size_t *pending;      /* events since then */
    size_t pending_n;
    bool directory;
};

struct disk_name {
    struct fumi_str name;
    size_t file;
};

struct disk_names {
    struct disk_name *items;
    size_t n;
};

/* A change of a directory: `name` becomes `file`, or goes. One rename is two of them that happen
 * together. */
struct disk_change {
    struct fumi_str name, gone; /* null: none */
    size_t file;
    uint64_t seed;
};

/* Syncs that are taken as if the program had not made them, to see that they are missed. */
enum disk_deaf { DISK_HEARS, DISK_DEAF_TO_DIRECTORIES, DISK_DEAF_TO_WAL };

struct disk {
    enum disk_deaf deaf;
    struct fumi_buf log;
    struct disk_event *events;
    size_t n, at; /* `at` events have happened */
    struct disk_file *files;
    size_t files_n;
    struct disk_names now, safe;
    struct disk_change *changes; /* of directories, not synced */
    size_t changes_n;
    size_t fds[1024]; /* the files behind descriptors */
    const char *fault;
};

/* Into one that is {0}, or deaf. */
int disk_load(struct disk *d, const char *log);
/* Lets one more event happen. NULL: there is none, or d->fault says what is wrong with the log. */
const struct disk_event *disk_step(struct disk *d);
/* Fills the empty directory. Files that are only caches (-shm, .vec) are left out. A sum of what
 * is there, equal for equal directories. */
int disk_cut(struct disk *d, const char *dir, struct disk_cut cut, uint64_t *sum);
void disk_done(struct disk *d);

#endif
