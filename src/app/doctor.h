/* What fumi doctor looks at beside the database. */
#ifndef FUMI_APP_DOCTOR_H
#define FUMI_APP_DOCTOR_H

#include "app/session.h"

/* Prints the id of each note, group and global that holds values which look like secrets, with
 * their kinds, never the values. Changes nothing. Returns how many there are, or -1 with *e. */
int doctor_secrets(struct session *s, struct fumi_err *e);

#endif
