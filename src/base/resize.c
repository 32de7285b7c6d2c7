/* The allocator. It has its own file because CMakeLists.txt compiles it with other options, so that
 * a program can replace fumi_resize in the shared library too. */
#include "base/arena.h"

#include <stdlib.h>
#include <unistd.h>

__attribute__((weak)) void *fumi_resize(void *old, size_t size)
{
    static const char message[] = "fumi: out of memory\n";
    if (!size) {
        free(old);
        return NULL;
    }
    void *p = realloc(old, size);
    if (p)
        return p;
    if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
        _exit(71);
    _exit(70);
}
