/* The methods of the memory and MCP, with a new store in FUMI_DATA_DIR. */
#include "agent/agent.h"
#include "base/version.h"
#include "memory/methods.h"
#include "store/sqlite.h"
#include "talk.h"

#include <stdlib.h>

static const struct fumi_log quiet = {.level = FUMI_SILENT};

struct fixture {
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

static int begin(struct fixture *fixture, struct fumi_server *s, struct fumi_err *e)
{
    fixture->memory = open_in(getenv("FUMI_DATA_DIR"), e);
    if (!fixture->memory || memory_start(fixture->memory, e) ||
        memory_methods(s, fixture->memory, e))
        return -1;
    fixture->agent = agent_new(s, fixture->memory, AGENT_ALL, FUMI_VERSION, NULL, e);
    return fixture->agent ? 0 : -1;
}

struct fixture *fixture_open(struct fumi_server *s, struct fumi_err *e)
{
    struct fixture *fixture = fumi_resize(NULL, sizeof(*fixture));
    *fixture = (struct fixture){0};
    if (!begin(fixture, s, e))
        return fixture;
    fixture_close(fixture);
    return NULL;
}

void fixture_close(struct fixture *fixture)
{
    agent_free(fixture->agent);
    if (fixture->memory)
        memory_close(fixture->memory);
    fumi_resize(fixture, 0);
}
