#include "spec-server/methods.h"
#include "talk.h"

struct stage *stage_open(struct fumi_server *s, struct fumi_err *e)
{
    return (struct stage *)spec_open(s, e);
}

void stage_close(struct stage *stage)
{
    spec_close((struct spec *)stage);
}
