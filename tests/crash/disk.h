/* A simulated disk: replays the log of record.c up to any event and creates the directory as it may
 * be after a power cut at that event. Only synced data is guaranteed to be on the disk. */
#ifndef CRASH_DISK_H
#define CRASH_DISK_H

#include "base/buf.h"
#include "record.h"

/* Which parts of the data that was written but not synced are on the disk. */
enum disk_parts {
    DISK_NONE,
    DISK_ALL,
    DISK_SOME_512,  /* any of these sectors */
    DISK_SOME_4096, /* any of these pages */
    DISK_TORN,      /* all, but only the beginning of the last write */
    DISK_ZERO,      /* files have their new sizes, with zeros where the bytes should be */
};

/* A power cut: the same choice for data, and for names in directories that were not synced. */
struct disk_cut {
    enum disk_parts parts, names; /* names: NONE, ALL or SOME_512 */
    uint64_t seed;
};

struct disk_event {
    struct record r;
    struct fumi_str name, bytes;
};

struct disk_file {
    struct fumi_buf safe; /* the synced content */
    size_t *pending;      /* events since the last sync */
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

/* A change of a directory: `gone` is removed, and `name` is set to `file`. A rename does both. */
struct disk_change {
    struct fumi_str name, gone; /* null: none */
    size_t file;
    uint64_t seed;
};

/* Syncs that the disk ignores, to test that the checks detect missing syncs. */
enum disk_ignored { DISK_IGNORES_NONE, DISK_IGNORES_DIRECTORIES, DISK_IGNORES_WAL };

struct disk {
    enum disk_ignored ignored;
    struct fumi_buf log;
    struct disk_event *events;
    size_t n, at; /* `at` events have been replayed */
    struct disk_file *files;
    size_t files_n;
    struct disk_names now, safe;
    struct disk_change *changes; /* of directories, not synced */
    size_t changes_n;
    size_t fds[1024];  /* the file of each descriptor */
    const char *fault; /* the log cannot be replayed; NULL: none */
};

/* Reads the log into *d, which must be {0} except for `ignored`. Returns 0 or -1. */
int disk_load(struct disk *d, const char *log);
/* Replays one more event. Returns NULL after the last event, or if d->fault is set. */
const struct disk_event *disk_step(struct disk *d);
/* Writes the files after a power cut to the empty directory `dir`, except for caches (-shm, .vec).
 * *sum is a checksum of the directory. Returns 0 or -1. */
int disk_cut(struct disk *d, const char *dir, struct disk_cut cut, uint64_t *sum);
void disk_done(struct disk *d);

#endif
