/* The methods of the memory, on a store of its own in FUMI_DATA_DIR. */
#include "memory/methods.h"
#include "talk.h"

#include <stdlib.h>

static const struct fumi_log quiet = {.level = FUMI_SILENT};

static struct memory *open_in(const char *dir, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_str path = fumi_fmt(&a, "%s/memory.db", dir);
    struct memory_options o = {
        .store = sqlite_open(&(struct sqlite_options){.path = path.p, .log = &quiet}, e),
        .embed = {.provider = FUMI_STR("local")},
        .facts = {.transport = FUMI_STR("stdio"), .store_type = FUMI_STR("sqlite")},
        .log = &quiet,
    };
    struct memory *m = o.store ? memory_open(&o, e) : NULL;
    fumi_arena_done(&a);
    return m;
}

struct stage *stage_open(struct fumi_server *s, struct fumi_err *e)
{
    struct memory *m = open_in(getenv("FUMI_DATA_DIR"), e);
    if (!m || (!memory_start(m, e) && !memory_methods(s, m, e)))
        return (struct stage *)m;
    memory_close(m);
    return NULL;
}

void stage_close(struct stage *stage)
{
    memory_close((struct memory *)stage);
}
