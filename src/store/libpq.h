/* libpq, PostgreSQL's client library, loaded at its first use. Loading it and its own libraries
 * takes longer than the rest of the start, and only teams need it. */
#ifndef FUMI_STORE_LIBPQ_H
#define FUMI_STORE_LIBPQ_H

#include <libpq-fe.h>

#define LIBPQ_CALLS(X)                                                                             \
    X(PGconn *, connectdbParams,                                                                   \
      (const char *const *keywords, const char *const *values, int expand))                        \
    X(void, finish, (PGconn * c))                                                                  \
    X(ConnStatusType, status, (const PGconn *c))                                                   \
    X(char *, errorMessage, (const PGconn *c))                                                     \
    X(const char *, parameterStatus, (const PGconn *c, const char *name))                          \
    X(int, serverVersion, (const PGconn *c))                                                       \
    X(int, socket, (const PGconn *c))                                                              \
    X(int, consumeInput, (PGconn * c))                                                             \
    X(int, isBusy, (PGconn * c))                                                                   \
    X(PGresult *, getResult, (PGconn * c))                                                         \
    X(int, sendQuery, (PGconn * c, const char *sql))                                               \
    X(int, sendQueryParams,                                                                        \
      (PGconn * c, const char *sql, int n, const Oid *types, const char *const *values,            \
       const int *lengths, const int *formats, int result_format))                                 \
    X(int, sendPrepare, (PGconn * c, const char *name, const char *sql, int n, const Oid *types))  \
    X(int, sendQueryPrepared,                                                                      \
      (PGconn * c, const char *name, int n, const char *const *values, const int *lengths,         \
       const int *formats, int result_format))                                                     \
    X(int, enterPipelineMode, (PGconn * c))                                                        \
    X(int, exitPipelineMode, (PGconn * c))                                                         \
    X(int, pipelineSync, (PGconn * c))                                                             \
    X(int, sendFlushRequest, (PGconn * c))                                                         \
    X(int, flush, (PGconn * c))                                                                    \
    X(int, setSingleRowMode, (PGconn * c))                                                         \
    X(ExecStatusType, resultStatus, (const PGresult *r))                                           \
    X(char *, resultErrorField, (const PGresult *r, int field))                                    \
    X(void, clear, (PGresult * r))                                                                 \
    X(int, ntuples, (const PGresult *r))                                                           \
    X(char *, getvalue, (const PGresult *r, int row, int column))                                  \
    X(int, getlength, (const PGresult *r, int row, int column))                                    \
    X(int, getisnull, (const PGresult *r, int row, int column))                                    \
    X(PGnotify *, notifies, (PGconn * c))                                                          \
    X(void, freemem, (void *p))                                                                    \
    X(PQnoticeProcessor, setNoticeProcessor, (PGconn * c, PQnoticeProcessor f, void *arg))

/* PQconnectdbParams is ->connectdbParams, and so on. */
struct libpq {
#define LIBPQ_CALL(type, name, args) type(*name) args;
    LIBPQ_CALLS(LIBPQ_CALL)
#undef LIBPQ_CALL
};

/* Returns NULL if libpq 14 or later is not installed. Any thread may call it. */
const struct libpq *libpq(void);

#endif
