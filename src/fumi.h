/* Includes the complete public API of libfumi. */
#ifndef FUMI_H
#define FUMI_H

#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "base/version.h"
#include "mcp/mcp.h"
#include "mcp/mcp_http.h"
#include "net/http.h"
#include "net/rpc_connection.h"
#include "net/serve.h"
#include "net/stdio.h"
#include "rpc/client.h"
#include "rpc/processors.h"
#include "rpc/record.h"
#include "rpc/rpc.h"
#include "rpc/source.h"
#include "rpc/trace.h"

#endif
