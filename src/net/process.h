/* Private to net/: changes that services make to their process. Services that run at the same time
 * share a change, and the last of them reverts it. All functions may be called from any thread. */
#ifndef FUMI_NET_PROCESS_H
#define FUMI_NET_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>

/* Opens /dev/null on each of the descriptors 0 to 2 that is closed, until process_unfill. Otherwise
 * the next file that is opened would become a standard descriptor. Returns a mask with bit n set if
 * descriptor n was closed. */
unsigned process_fill(void);
void process_unfill(void);

/* Reserves stdin and stdout. Returns false if another service has them. */
bool process_take_stdio(void);
void process_give_stdio(void);

/* Raises the limit of open descriptors, if necessary, by `need`, the number for one more service.
 * Returns the number that the service may use. */
rlim_t process_descriptors(rlim_t need);
void process_descriptors_done(rlim_t need);

/* Calls `start`, which installs a handler of the signal; process_uncatch calls `stop`, which
 * removes it. The last process_uncatch restores the action that the signal had before, unless the
 * host program has changed the action since. Returns what `start` returns: 0, or an error. */
int process_catch(int signal, int (*start)(void *arg), void *arg);
void process_uncatch(int signal, void (*stop)(void *arg), void *arg);

#endif
