/* What services change in the process that they run in. Services that run at once share a change,
 * and the last of them to end undoes it. From any thread. */
#ifndef FUMI_NET_PROCESS_H
#define FUMI_NET_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>

/* A closed standard descriptor would be given to the next file that is opened: those that are
 * closed lead to /dev/null until process_unfill. Returns bit n for descriptor n. */
unsigned process_fill(void);
void process_unfill(void);

/* Takes stdin and stdout. Returns false if another service has them. */
bool process_take_stdio(void);
void process_give_stdio(void);

/* Raises the limit of descriptors, if it has to be, by as many as one more service needs. Returns
 * how many that service may have. */
rlim_t process_descriptors(rlim_t need);
void process_descriptors_done(rlim_t need);

/* Has `start` install a handler of a signal, and `stop` remove it. The last process_let restores
 * the action that the signal had before, unless the host program has set another meanwhile. Returns
 * what `start` returns: 0, or a fault. */
int process_catch(int signal, int (*start)(void *arg), void *arg);
void process_let(int signal, void (*stop)(void *arg), void *arg);

#endif
