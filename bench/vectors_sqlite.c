/* sqlite-vec: a vec0 table with the tag set as a metadata column, as its manual recommends. */
#include "vectors.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

struct vec_table {
    sqlite3 *db;
    sqlite3_stmt *all, *some;
};

static void must(sqlite3 *db, int good)
{
    if (good)
        return;
    fprintf(stderr, "bench_vectors: sqlite-vec: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static sqlite3 *open_db(const char *file)
{
    sqlite3 *db;
    must(NULL, sqlite3_open(file, &db) == SQLITE_OK);
    must(db, sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) == SQLITE_OK);
    must(db, sqlite3_load_extension(db, vec0_path, NULL, NULL) == SQLITE_OK);
    return db;
}

static void run(sqlite3 *db, const char *sql)
{
    must(db, sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st;
    must(db, sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK);
    return st;
}

static void build(const struct vector_set *s, const char *file)
{
    sqlite3 *db = open_db(file);
    run(db,
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
        "CREATE VIRTUAL TABLE v USING vec0(x float[384] distance_metric=cosine, tag_set integer)");
    sqlite3_stmt *st = prepared(db, "INSERT INTO v(rowid, x, tag_set) VALUES(?, ?, ?)");
    for (size_t i = 0; i < s->n; i++) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)i);
        sqlite3_bind_blob(st, 2, s->x + i * DIM, DIM * sizeof(float), SQLITE_STATIC);
        sqlite3_bind_int64(st, 3, s->tag_set[i]);
        must(db, sqlite3_step(st) == SQLITE_DONE);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
    run(db, "COMMIT");
    sqlite3_close(db);
}

static void *open_table(const struct vector_set *s, const char *file)
{
    (void)s;
    struct vec_table *t = malloc(sizeof(*t));
    if (!t)
        abort();
    t->db = open_db(file);
    t->all = prepared(t->db, "SELECT rowid FROM v WHERE x MATCH ? AND k = 10");
    t->some = prepared(t->db, "SELECT rowid FROM v WHERE x MATCH ? AND k = 10 AND tag_set < ?");
    return t;
}

static size_t search(void *h, const float *query, uint32_t below, size_t effort, int64_t *out)
{
    (void)effort;
    struct vec_table *t = h;
    sqlite3_stmt *st = below < TAG_SETS ? t->some : t->all;
    sqlite3_bind_blob(st, 1, query, DIM * sizeof(float), SQLITE_STATIC);
    if (below < TAG_SETS)
        sqlite3_bind_int64(st, 2, below);
    size_t n = 0;
    while (n < ANSWERS && sqlite3_step(st) == SQLITE_ROW)
        out[n++] = sqlite3_column_int64(st, 0);
    must(t->db, n > 0);
    sqlite3_reset(st);
    return n;
}

static void close_table(void *h)
{
    struct vec_table *t = h;
    sqlite3_finalize(t->all);
    sqlite3_finalize(t->some);
    sqlite3_close(t->db);
    free(t);
}

const struct engine engine_sqlite_vec = {"sqlite-vec", 1, build, open_table, search, close_table};
