/* Ctrl-C for commands that take long: they stop at the next point where that is safe, and say what
 * was done. */
#ifndef FUMI_APP_INTERRUPT_H
#define FUMI_APP_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only noted; the second one ends the process. */
void interrupt_catch(void);

bool interrupted(void);

/* Prints the sentence to stderr, if there is one, and returns the exit status of a command that was
 * interrupted: 130. */
int interrupt_status(const char *sentence);

#endif
