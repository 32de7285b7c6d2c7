/* What the background thread does besides embedding, once a minute: deletes expired notes, shortens
 * the history and writes the uses of notes. */
#include "base/clock.h"
#include "memory/memory_parts.h"

enum {
    EVERY_MS = 60000,
    SOON_MS = 100, /* while more is left */
    EXPIRE = 100,  /* notes in a step */
};
static const int64_t DAY_MS = 86400000;

static int prune(struct memory *m, bool *more, struct fumi_err *e)
{
    const struct memory_settings *s = &m->o.set;
    int64_t before = s->history_days ? fumi_now() - s->history_days * DAY_MS : INT64_MIN;
    if (!s->history_days && !s->history_bytes)
        return 0;
    return store_prune_history(m->store, before, s->history_bytes, more, e);
}

/* Each part is done even if another one fails. */
static int do_all(struct memory *m, bool *more, struct fumi_err *e)
{
    bool expired = false, pruned = false;
    int rc = store_expire(m->store, EXPIRE, &expired, e);
    rc |= prune(m, &pruned, e);
    rc |= uses_write(m, e);
    *more = expired || pruned;
    return rc;
}

void upkeep(struct memory *m, struct upkeep *u)
{
    struct fumi_err e = {0};
    bool more = false;
    int64_t now = fumi_ticks() / 1000000;
    if (m->o.scope.read_only || now < u->next)
        return;
    int rc = do_all(m, &more, &e);
    if (rc && !u->failed)
        fumi_log(m->o.log, FUMI_WARN, "expiring notes or shortening the history failed",
                 {"why", fumi_str(e.text), 0}, {"retry in ms", {0}, EVERY_MS});
    u->failed = rc != 0;
    u->next = now + (more && !rc ? SOON_MS : EVERY_MS);
}

void upkeep_end(struct memory *m)
{
    struct fumi_err e = {0};
    if (!m->o.scope.read_only && uses_write(m, &e))
        fumi_log(m->o.log, FUMI_WARN, "the uses of notes were not written",
                 {"why", fumi_str(e.text), 0});
}
