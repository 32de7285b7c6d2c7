#include "spec-server/methods.h"
#include "talk.h"

struct fixture *fixture_open(struct fumi_server *s, struct fumi_err *e)
{
    return (struct fixture *)spec_open(s, e);
}

void fixture_close(struct fixture *fixture)
{
    spec_close((struct spec *)fixture);
}
