/* Gives each call a deadline; run.c and deadline.c enforce it. */
#include "rpc/processors.h"

/* If several processors set a deadline, the earliest applies. */
static enum fumi_ret set_deadline(void *self, struct fumi_call *c)
{
    const struct fumi_time_limit *limit = self;
    bool endless = c->method && c->method->flags & FUMI_SUBSCRIPTION;
    if (endless || limit->ms <= 0 || limit->ms > (INT64_MAX - c->began) / 1000000)
        return FUMI_OK;
    int64_t end = c->began + limit->ms * 1000000;
    if (!c->deadline || end < c->deadline)
        c->deadline = end;
    return FUMI_OK;
}

struct fumi_processor fumi_limit_time(const struct fumi_time_limit *limit)
{
    return (struct fumi_processor){
        .name = "time limit", .before = set_deadline, .self = (void *)limit};
}
