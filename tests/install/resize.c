/* A program with its own allocator, which serves all allocations of the library. */
#include <fumi/fumi.h>

#include <stdio.h>
#include <stdlib.h>

static size_t calls;

void *fumi_resize(void *old, size_t size)
{
    calls++;
    if (!size) {
        free(old);
        return NULL;
    }
    void *p = realloc(old, size);
    if (!p)
        abort();
    return p;
}

int main(void)
{
    struct fumi_arena a = {0};
    fumi_alloc(&a, 100000);
    fumi_arena_done(&a);
    struct fumi_server *s = fumi_server_new("own", "1");
    fumi_server_free(s);
    if (calls < 4)
        fprintf(stderr, "only %zu calls reached the fumi_resize of the program\n", calls);
    return calls < 4;
}
