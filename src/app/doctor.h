/* The parts of fumi doctor. */
#ifndef FUMI_APP_DOCTOR_H
#define FUMI_APP_DOCTOR_H

#include "app/session.h"

/* What doctor reports: lines for people, or members of a JSON object. */
struct doctor {
    struct fumi_arena *a;
    struct progress bar;
    bool json;
    struct fumi_strs findings; /* with `json` */
};

/* Reports one finding. */
void doctor_say(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports each stored note, group and global with a value that looks like a key. Changes nothing.
 * Returns their number, or -1 and sets *e. */
int doctor_secrets(struct doctor *d, struct session *s, struct fumi_err *e);

#endif
