/* What the shell may offer at the end of a command line. */
#ifndef FUMI_APP_COMPLETE_H
#define FUMI_APP_COMPLETE_H

#include "app/command.h"

/* Prints a line "VALUE<tab>DESCRIPTION" for each value that the last word could become; the words
 * are those after `fumi`. Prints nothing where only a file name fits. Never fails: what cannot be
 * read, such as a database that does not exist, offers nothing. */
void complete_words(struct fumi_arena *a, struct fumi_strs words);

#endif
