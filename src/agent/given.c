#include "agent/agent_parts.h"
#include "base/clock.h"
#include "memory/uses.h"

void given_add(struct agent_given *g, struct fumi_arena *a, const struct note *n)
{
    if (!g || g->n == AGENT_GIVEN_MOST)
        return;
    g->ids[g->n] = fumi_dup(a, n->id);
    g->seqs[g->n++] = n->seq;
}

void given_record(const struct agent_given *g, struct memory *m, const struct fumi_call *call,
                  const char *kind, struct fumi_str project)
{
    const struct injection i = {.at = fumi_now(),
                                .project = project,
                                .by = memory_author_of(m, call),
                                .kind = fumi_str(kind),
                                .ids = {(struct fumi_str *)(uintptr_t)g->ids, g->n}};
    if (g->n)
        memory_add_injection(m, &i, g->seqs, g->n);
}
