#include "embed/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Set once, in load. Like the loaded library itself, they belong to the process. */
static struct curl_calls calls;
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
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    bool all = library != NULL;
#define CURL_FIND(type, name, args) all = all && find(library, "curl_" #name, &calls.name);
    CURL_CALLS(CURL_FIND)
#undef CURL_FIND
    loaded = all && calls.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const struct curl_calls *curl_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? &calls : NULL;
}
