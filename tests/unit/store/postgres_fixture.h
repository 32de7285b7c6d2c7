/* Databases for tests, in the server that tests/with-postgres started (FUMI_TEST_POSTGRES). */
#ifndef FUMI_POSTGRES_FIXTURE_H
#define FUMI_POSTGRES_FIXTURE_H

#include "store/libpq.h"
#include "store/postgres.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The address of a database of the server. */
static inline void postgres_url(const char *name, char *to, size_t size)
{
    const char *url = getenv("FUMI_TEST_POSTGRES"), *at = url ? strstr(url, "/postgres?") : NULL;
    snprintf(to, size, "%.*s/%s%s", at ? (int)(at - url) : 0, url ? url : "", name,
             at ? at + strlen("/postgres") : "");
}

/* Runs SQL in a database and returns the first value of the result as a number; 0 if there is
 * none; -1 on failure. */
static inline int64_t postgres_run(const char *name, const char *sql)
{
    char url[300];
    const char *const keys[] = {"dbname", NULL}, *const values[] = {url, NULL};
    const struct libpq *q = libpq();
    postgres_url(name, url, sizeof(url));
    PGconn *c = q->connectdbParams(keys, values, 1);
    PGresult *r = NULL;
    int64_t out = q->sendQuery(c, sql) ? 0 : -1;
    while (out >= 0 && (r = q->getResult(c))) {
        ExecStatusType is = q->resultStatus(r);
        if (is == PGRES_TUPLES_OK && q->ntuples(r))
            out = strtoll(q->getvalue(r, 0, 0), NULL, 10);
        if (is != PGRES_TUPLES_OK && is != PGRES_COMMAND_OK)
            out = -1;
        q->clear(r);
    }
    if (out < 0)
        fprintf(stderr, "%s: %s: %s\n", name, sql, q->errorMessage(c));
    q->finish(c);
    return out;
}

/* Compares the rows of two replicas, table by table. */
static inline bool postgres_same(const char *one, const char *other)
{
    static const char *const tables[] = {
        "origins",
        "spaces",
        "tag_sets",
        "tag_set_tags",
        "notes",
        "project_groups",
        "vectors",
        "groups",
        "globals",
        "journal",
        "injections",
        "uses",
        "reviews",
        "projects",
        "changes",
        "sqlite_sequence",
        "meta WHERE name NOT IN ('erase', 'replica') AND name NOT GLOB '*[.:]*'"};
    sqlite3 *h = NULL;
    bool same = sqlite3_open(one, &h) == SQLITE_OK;
    char *sql = sqlite3_mprintf("ATTACH %Q AS other", other);
    same = same && sqlite3_exec(h, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_free(sql);
    for (size_t i = 0; same && i < 2 * (sizeof(tables) / sizeof(*tables)); i++) {
        const char *t = tables[i / 2], *from = i % 2 ? "other." : "main.",
                   *to = i % 2 ? "main." : "other.";
        sqlite3_stmt *q = NULL;
        sql = sqlite3_mprintf("SELECT * FROM %s%s EXCEPT SELECT * FROM %s%s", from, t, to, t);
        int rc = sqlite3_prepare_v2(h, sql, -1, &q, NULL);
        same = !rc && sqlite3_step(q) == SQLITE_DONE;
        if (!same)
            fprintf(stderr, "%s (%s): %s\n", sql, rc ? sqlite3_errmsg(h) : one,
                    rc ? "" : (const char *)sqlite3_column_text(q, 0));
        sqlite3_finalize(q);
        sqlite3_free(sql);
    }
    sqlite3_close(h);
    return same;
}

#endif
