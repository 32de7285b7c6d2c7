/* The methods of the memory and MCP, on a store of its own in FUMI_DATA_DIR. */
#include "agent/agent.h"
#include "base/version.h"
#include "memory/methods.h"
#include "store/sqlite.h"
#include "talk.h"

#include <stdlib.h>

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct stage {
    struct memory *memory;
    struct agent *agent;
};

static struct memory *open_in(const char *dir, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_str path = fumi_fmt(&a, "%s/memory.db", dir);
    struct memory_options o = {
        .store = store_sqlite_open(&(struct store_sqlite_options){.path = path.p, .log = &quiet},
                                   e),
        .embed = {.provider = FUMI_STR("local")},
        .facts = {.transport = FUMI_STR("stdio"), .store_type = FUMI_STR("sqlite")},
        .log = &quiet,
    };
    struct memory *m = o.store ? memory_open(&o, e) : NULL;
    fumi_arena_done(&a);
    return m;
}

static int begin(struct stage *stage, struct fumi_server *s, struct fumi_err *e)
{
    stage->memory = open_in(getenv("FUMI_DATA_DIR"), e);
    if (!stage->memory || memory_start(stage->memory, e) || memory_methods(s, stage->memory, e))
        return -1;
    stage->agent = agent_new(s, stage->memory, AGENT_ALL, FUMI_VERSION, e);
    return stage->agent ? 0 : -1;
}

struct stage *stage_open(struct fumi_server *s, struct fumi_err *e)
{
    struct stage *stage = fumi_resize(NULL, sizeof(*stage));
    *stage = (struct stage){0};
    if (!begin(stage, s, e))
        return stage;
    stage_close(stage);
    return NULL;
}

void stage_close(struct stage *stage)
{
    agent_free(stage->agent);
    if (stage->memory)
        memory_close(stage->memory);
    fumi_resize(stage, 0);
}
