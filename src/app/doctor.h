/* Checks of fumi doctor other than those of the database. */
#ifndef FUMI_APP_DOCTOR_H
#define FUMI_APP_DOCTOR_H

#include "app/session.h"

/* Prints the id of each note, group and global that contains values that look like secrets, with
 * the kinds of these values but never the values. Changes nothing. Returns the number of ids
 * printed, or -1 with *e set. */
int doctor_secrets(struct session *s, struct fumi_err *e);

#endif
