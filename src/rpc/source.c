#include "rpc/source.h"

#include "base/arena.h"
#include "rpc/exchange.h"

#include <assert.h>

struct fumi_source {
    atomic_uint refs;
    bool attached;
    void *context;
    void (*done)(void *context);
    bool traced;
    struct fumi_trace trace;
    char state[]; /* of the trace */
};

/* Creates a source, or enlarges it for the state of its trace. May move the source, so it is only
 * called before another reference exists. */
static struct fumi_source *grow(struct fumi_source *s, size_t state)
{
    assert(!s || atomic_load(&s->refs) == 1);
    bool is_new = !s;
    s = fumi_resize(s, sizeof(*s) + state);
    if (is_new) {
        memset(s, 0, sizeof(*s));
        atomic_init(&s->refs, 1);
    }
    return s;
}

int fumi_source_attach(struct fumi_source **s, void *context, void (*done)(void *context))
{
    if (*s && (*s)->attached)
        return -1;
    if (!*s)
        *s = grow(NULL, 0);
    (*s)->attached = true;
    (*s)->context = context;
    (*s)->done = done;
    return 0;
}

void fumi_source_set_trace(struct fumi_source **s, const struct fumi_trace *trace)
{
    struct fumi_source *is = grow(*s, trace->state.n);
    is->traced = true;
    is->trace = *trace;
    if (trace->state.p)
        is->trace.state.p = memcpy(is->state, trace->state.p, trace->state.n);
    *s = is;
}

void *fumi_source_context(const struct fumi_source *s)
{
    return s ? s->context : NULL;
}

const struct fumi_trace *fumi_source_trace(const struct fumi_source *s)
{
    return s && s->traced ? &s->trace : NULL;
}

struct fumi_source *source_ref(struct fumi_source *s)
{
    assert(!s || atomic_load(&s->refs) > 0);
    if (s)
        atomic_fetch_add(&s->refs, 1);
    return s;
}

void fumi_source_release(struct fumi_source *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    if (s->done)
        s->done(s->context);
    fumi_resize(s, 0);
}
