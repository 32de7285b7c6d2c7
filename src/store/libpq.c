#include "store/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Set once, in load. Like the loaded library itself, they belong to the process. */
static struct libpq calls;
static bool loaded;

/* In POSIX the result of dlsym may be a pointer to a function, but C has no cast for it. */
static bool find(void *library, const char *name, void *to)
{
    void *at = dlsym(library, name);
    memcpy(to, &at, sizeof(at));
    return at != NULL;
}

static void load(void)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    loaded = library != NULL;
#define LIBPQ_FIND(type, name, args) loaded = loaded && find(library, "PQ" #name, &calls.name);
    LIBPQ_CALLS(LIBPQ_FIND)
#undef LIBPQ_FIND
}

const struct libpq *libpq(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? &calls : NULL;
}
