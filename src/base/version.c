#include "base/version.h"

const char *fumi_version(void)
{
    return FUMI_VERSION;
}
