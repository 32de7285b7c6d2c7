/* All of libfumi for those who use it. */
#ifndef FUMI_H
#define FUMI_H

#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "net/stdio.h"
#include "rpc/client.h"
#include "rpc/record.h"
#include "rpc/rpc.h"

#endif
