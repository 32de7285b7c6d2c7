/* The error codes of the memory beside JSON-RPC's own (base/err.h). */
#ifndef FUMI_MODEL_CODES_H
#define FUMI_MODEL_CODES_H

enum memory_code {
    ERR_NO_API_KEY = -32001, /* the provider needs a key and has none */
    ERR_KEY_PREFIX = -32002, /* a global's key must begin with "global." */
    ERR_NOT_FOUND = -32003,
    ERR_PROVIDER = -32004, /* the embedding provider failed */
    ERR_CONFLICT = -32005, /* a unique key is taken */
    ERR_NEWER = -32006,    /* the database was written by a newer version */
};

#endif
