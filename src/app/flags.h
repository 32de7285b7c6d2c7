/* The command line as a struct, through its shape: "--idle-time 500" sets the member idleTime. */
#ifndef FUMI_APP_FLAGS_H
#define FUMI_APP_FLAGS_H

#include "json/shape.h"

/* One shape whose members are flags, and where they go. */
struct flag_set {
    const struct fumi_shape *shape;
    void *into; /* zeroed; filled with defaults and with what was given */
};

/* Reads argv from its second word on. One dash is as good as two; a value is the next word or
 * stands behind '='; a bool needs none ("--access-log", "--access-log=false"); a list is a flag
 * given several times; flags and other words may stand in any order, "--" ends the flags. Other
 * words are gathered in *words. Strings live in the arena. -1: *e names the flag and the remedy,
 * and the nearest flag when there is none of that name. */
int flags_read(struct fumi_arena *a, const struct flag_set *sets, size_t n, char **argv,
               struct fumi_strs *words, struct fumi_err *e);

/* "  --idle-time MS    What it means (default 75000)" for each flag, for --help. */
void flags_help(const struct flag_set *sets, size_t n, struct fumi_buf *out);

#endif
