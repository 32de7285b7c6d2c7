/* Completes names of projects, groups and tags. An argument has the same name in all prompts and
 * templates, so its name alone decides what to complete. */
#include "agent/agent_parts.h"

enum { LIMIT = 101 }; /* one more than is sent, to detect that there are more */

static const struct {
    const char *argument;
    enum name_kind kind;
} kinds[] = {{"project", NAME_PROJECT}, {"group", NAME_GROUP}, {"tag", NAME_TAG}};

/* Paths are stored in full, but may be typed with "~" or "." in front. */
static struct fumi_str typed(struct fumi_arena *a, struct fumi_str value)
{
    struct fumi_str whole;
    struct fumi_err ignored;
    if (!value.n || (value.p[0] != '~' && value.p[0] != '.'))
        return value;
    return project_canonical(a, value, &whole, &ignored) ? value : whole;
}

enum fumi_ret agent_complete(struct fumi_mcp_call *c, const struct fumi_mcp_completion_request *q)
{
    const struct agent *self = c->self;
    struct store *store = memory_store(self->memory);
    struct fumi_arena *a = c->call->arena;
    struct fumi_str project = fumi_text(a, fumi_get(q->context, "project"));
    struct naming what = {.part = q->value, .limit = LIMIT};
    struct names found;
    size_t i = 0;
    while (i < FUMI_COUNT(kinds) && !fumi_eq(q->argument, fumi_str(kinds[i].argument)))
        i++;
    if (i == FUMI_COUNT(kinds))
        return FUMI_OK;
    what.kind = kinds[i].kind;
    if (what.kind == NAME_PROJECT)
        what.part = typed(a, q->value);
    else if (project.n && project_canonical(a, project, &what.project, &c->call->err))
        return FUMI_FAIL;
    if (store_list_names(store, a, &what, &found, &c->call->err))
        return FUMI_FAIL;
    for (i = 0; i < found.n; i++)
        fumi_mcp_add_completion(c, found.items[i].text);
    return FUMI_OK;
}
