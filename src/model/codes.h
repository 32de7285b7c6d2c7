/* The error codes of the memory beside JSON-RPC's own (base/err.h). */
#ifndef FUMI_MODEL_CODES_H
#define FUMI_MODEL_CODES_H

/* X(name, code, meaning) */
#define MEMORY_CODES(X)                                                                            \
    X(ERR_NO_API_KEY, -32001, "The embedding provider needs an API key and has none.")             \
    X(ERR_KEY_PREFIX, -32002, "The key of a global does not begin with \"global.\".")              \
    X(ERR_NOT_FOUND, -32003, "No such note, group or global.")                                     \
    X(ERR_PROVIDER, -32004, "The embedding provider failed.")                                      \
    X(ERR_CONFLICT, -32005, "A key that must be unique is already in use.")                        \
    X(ERR_NEWER, -32006, "The database was written by a newer version of fumi.")

enum memory_code {
#define MEMORY_CODE(name, code, ...) name = code,
    MEMORY_CODES(MEMORY_CODE)
#undef MEMORY_CODE
};

#endif
