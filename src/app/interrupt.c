#include "app/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

enum { STATUS_INTERRUPTED = 128 + SIGINT };

/* Signals are those of the process. */
static volatile sig_atomic_t caught;

static void note(int signal)
{
    (void)signal;
    caught = 1;
}

void interrupt_catch(void)
{
    struct sigaction a = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

bool interrupted(void)
{
    return caught;
}

int interrupt_status(const char *sentence)
{
    if (sentence)
        fprintf(stderr, "interrupted: %s\n", sentence);
    return STATUS_INTERRUPTED;
}
