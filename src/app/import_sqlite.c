/* SQLite databases of other memories. The names of tables and columns are those of the published
 * source of each program; docs/import.md names the versions. A column that other versions lack is
 * asked for first. */
#include "app/import_formats.h"
#include "app/show.h"
#include "base/uuid.h"
#include "store/foreign.h"

#include <stdlib.h>
#include <unistd.h>

enum { KEEP = 1 << 20, TITLE_COLUMNS = 100 };

static bool has(struct fumi_str path, struct fumi_str start, const char *table, const char *column)
{
    struct fumi_err ignored;
    struct foreign *db = foreign_is_database(start) ? foreign_open(path, &ignored) : NULL;
    bool is = db && foreign_has(db, table, column);
    foreign_close(db);
    return is;
}

bool import_database_fault(int fd, struct fumi_str path, struct fumi_err *e)
{
    char start[IMPORT_START];
    ssize_t n = pread(fd, start, sizeof(start), 0);
    if (n <= 0 || !foreign_is_database((struct fumi_str){start, (size_t)n}))
        return false;
    struct foreign *db = foreign_open(path, e);
    foreign_close(db);
    return !db;
}

bool import_is_embedding_mcp(struct fumi_str path, struct fumi_str start)
{
    return has(path, start, "notes", "namespace") && has(path, start, "notes", "project_id");
}

bool import_is_memory_service(struct fumi_str path, struct fumi_str start)
{
    return has(path, start, "memories", "content_hash");
}

bool import_is_claude_mem(struct fumi_str path, struct fumi_str start)
{
    return has(path, start, "observations", "memory_session_id");
}

/* A database that is read. */
struct reader {
    struct import_file f; /* with the arena of the row */
    struct fumi_arena a;
    struct foreign *db;
};

static size_t number_of(struct fumi_str column)
{
    return column.n ? strtoul(column.p, NULL, 10) : 0;
}

/* Milliseconds since 1970. */
static struct fumi_time time_of(struct fumi_str column)
{
    return (struct fumi_time){column.n ? strtoll(column.p, NULL, 10) : 0, column.n > 0};
}

/* The strings of a JSON array; null if it is another text. */
static const struct fumi_val *array_of(struct fumi_arena *a, struct fumi_str json)
{
    struct fumi_err ignored;
    const struct fumi_val *v = json.n ? fumi_parse(a, json, &ignored) : NULL;
    return fumi_is(v, FUMI_ARRAY) ? v : NULL;
}

/* Tags are a JSON array, or texts between commas. */
static void add_tags(struct fumi_arena *a, struct fumi_strs *tags, struct fumi_str column)
{
    const struct fumi_val *list = array_of(a, column);
    struct fumi_strs parts = {0};
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i))
        import_tag(a, tags, fumi_text(a, i));
    if (!list && column.n && !fumi_eq(column, FUMI_STR("null")))
        import_split(a, column, ",", &parts);
    for (size_t i = 0; i < parts.n; i++)
        import_tag(a, tags, parts.items[i]);
}

/* An object; another value becomes its member "metadata". */
static struct fumi_str metadata_of(struct fumi_arena *a, struct fumi_str column)
{
    struct fumi_err ignored;
    const struct fumi_val *v = column.n ? fumi_parse(a, column, &ignored) : NULL;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (!column.n || fumi_is(v, FUMI_OBJECT) || fumi_is(v, FUMI_NULL))
        return fumi_is(v, FUMI_OBJECT) ? column : (struct fumi_str){0};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "metadata");
    if (v)
        fumi_put_val(&o, v);
    else
        fumi_put_str(&o, column);
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, a);
}

static int end_row(struct reader *r, int rc)
{
    fumi_arena_reset(&r->a, KEEP);
    return rc;
}

/* Reads the rows of a query, with *r as the argument of `each`. A database that cannot be read is
 * reported in row 0, and the import goes on with the next file. */
static int rows(struct reader *r, const char *sql,
                int (*each)(void *arg, const struct fumi_str *columns, struct fumi_err *e),
                struct fumi_err *e)
{
    struct fumi_err bad = {0};
    int rc = foreign_rows(r->db, sql, each, r, &bad);
    if (rc && bad.code == FUMI_INVALID_PARAMS)
        return import_bad(&r->f, 0, bad.text, e);
    if (rc)
        *e = bad;
    return rc;
}

static int with_database(struct import_file *f, int (*read)(struct reader *r, struct fumi_err *e),
                         struct fumi_err *e)
{
    struct reader r = {.f = *f};
    struct fumi_err bad = {0};
    r.f.a = &r.a;
    r.db = foreign_open(f->path, &bad);
    int rc = r.db ? read(&r, e) : import_bad(f, 0, bad.text, e);
    foreign_close(r.db);
    fumi_arena_done(&r.a);
    return rc;
}

/* --- embedding-mcp --- */

static int embedding_note(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    struct reader *r = arg;
    struct note n = {.project = c[2],
                     .group = c[3],
                     .title = c[4],
                     .text = c[5],
                     .source = c[7],
                     .metadata.text = metadata_of(&r->a, c[9])};
    n.id = fumi_is_uuid(c[1]) ? c[1] : n.id;
    add_tags(&r->a, &n.tags, c[6]);
    if (c[8].n)
        import_time(&r->a, c[8], &n.created);
    return end_row(r, import_note(&r->f, number_of(c[0]), &n, e));
}

static int64_t ms_of(struct fumi_arena *a, struct fumi_str column)
{
    struct fumi_time t = {0};
    if (column.n)
        import_time(a, column, &t);
    return t.ms;
}

static int embedding_group(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    struct reader *r = arg;
    struct transfer t = {.kind = TRANSFER_GROUP,
                         .group = {.id = c[1],
                                   .project = c[2],
                                   .key = c[3],
                                   .title = c[4],
                                   .description = c[5],
                                   .created = ms_of(&r->a, c[6]),
                                   .updated = ms_of(&r->a, c[7])}};
    return end_row(r, import_object(&r->f, number_of(c[0]), &t, e));
}

static int embedding_global(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    struct reader *r = arg;
    struct fumi_err bad = {0};
    struct transfer t = {.kind = TRANSFER_GLOBAL,
                         .global = {.id = c[1],
                                    .project = c[2],
                                    .key = c[3],
                                    .value = c[4].n ? c[4] : FUMI_STR("null"),
                                    .updated = ms_of(&r->a, c[5])}};
    int rc = fumi_parse(&r->a, t.global.value, &bad)
                 ? import_object(&r->f, number_of(c[0]), &t, e)
                 : import_bad(&r->f, number_of(c[0]), "the value of the global is not JSON", e);
    return end_row(r, rc);
}

static int read_embedding(struct reader *r, struct fumi_err *e)
{
    int rc = rows(r,
                  "SELECT rowid, id, project_id, group_id, title, text, tags, source, created_at, "
                  "metadata FROM notes ORDER BY rowid",
                  embedding_note, e);
    if (!rc && foreign_has(r->db, "groups", "group_key"))
        rc = rows(r,
                  "SELECT rowid, id, project_id, group_key, title, description, created_at, "
                  "updated_at FROM groups ORDER BY rowid",
                  embedding_group, e);
    if (!rc && foreign_has(r->db, "global_configs", "key"))
        rc = rows(r,
                  "SELECT rowid, id, project_id, key, value, updated_at FROM global_configs "
                  "ORDER BY rowid",
                  embedding_global, e);
    return rc;
}

int import_read_embedding_mcp(struct import_file *f, struct fumi_err *e)
{
    return with_database(f, read_embedding, e);
}

/* --- memory-service --- */

static int service_row(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    struct reader *r = arg;
    struct note n = {
        .text = c[1], .metadata.text = metadata_of(&r->a, c[4]), .created = time_of(c[5])};
    add_tags(&r->a, &n.tags, c[2]);
    if (c[3].n)
        import_tag(&r->a, &n.tags, c[3]);
    return end_row(r, import_note(&r->f, number_of(c[0]), &n, e));
}

#define SERVICE_COLUMNS                                                                            \
    "SELECT id, content, tags, memory_type, metadata, CAST(round(created_at * 1000) AS INTEGER) "  \
    "FROM memories "

static int read_service(struct reader *r, struct fumi_err *e)
{
    bool marks = foreign_has(r->db, "memories", "deleted_at");
    return rows(r,
                marks ? SERVICE_COLUMNS "WHERE deleted_at IS NULL ORDER BY id"
                      : SERVICE_COLUMNS "ORDER BY id",
                service_row, e);
}

int import_read_memory_service(struct import_file *f, struct fumi_err *e)
{
    return with_database(f, read_service, e);
}

/* --- claude-mem --- */

static void add_part(struct fumi_buf *b, const char *label, struct fumi_str part)
{
    part = note_trimmed(part);
    if (!part.n)
        return;
    fumi_buf_add(b, "\n\n", b->n ? 2 : 0);
    fumi_buf_add(b, label, strlen(label));
    fumi_buf_add(b, part.p, part.n);
}

static void add_facts(struct fumi_arena *a, struct fumi_buf *b, struct fumi_str json)
{
    const struct fumi_val *list = array_of(a, json);
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i)) {
        struct fumi_str fact = note_trimmed(fumi_text(a, i));
        fumi_buf_add(b, "\n\n- ", !b->n ? 0 : i == fumi_first(list) ? 2 : 1);
        fumi_buf_add(b, "- ", 2);
        fumi_buf_add(b, fact.p, fact.n);
    }
}

static void put_array(struct fumi_arena *a, struct fumi_out *o, const char *name,
                      struct fumi_str json)
{
    const struct fumi_val *list = array_of(a, json);
    if (!fumi_first(list))
        return;
    fumi_put_key(o, name);
    fumi_put_val(o, list);
}

/* The session, unless it could not be that of a note. */
static struct fumi_str session_of(struct fumi_str column)
{
    return column.n && !note_session_fault(column) ? column : (struct fumi_str){0};
}

static int observation(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    struct reader *r = arg;
    struct fumi_buf text = {0}, metadata = {0};
    struct fumi_out o = {.buf = &metadata};
    struct note n = {
        .project = c[1], .title = c[3], .session = session_of(c[9]), .created = time_of(c[10])};
    add_part(&text, "", c[4]);
    add_part(&text, "", c[5]);
    add_facts(&r->a, &text, c[6]);
    add_part(&text, "", c[8]);
    if (!text.n)
        add_part(&text, "", c[3]);
    n.text = fumi_buf_keep(&text, &r->a);
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "type");
    fumi_put_str(&o, c[2]);
    put_array(&r->a, &o, "filesRead", c[11]);
    put_array(&r->a, &o, "filesModified", c[12]);
    fumi_put_close(&o, '}');
    n.metadata.text = fumi_buf_keep(&metadata, &r->a);
    add_tags(&r->a, &n.tags, c[7]);
    import_tag(&r->a, &n.tags, c[2]);
    return end_row(r, import_note(&r->f, number_of(c[0]), &n, e));
}

static int summary(void *arg, const struct fumi_str *c, struct fumi_err *e)
{
    static const char *const labels[] = {
        "", "Investigated: ", "Learned: ", "Completed: ", "Next steps: ", "Notes: "};
    struct reader *r = arg;
    struct fumi_buf text = {0};
    struct note n = {.project = c[1], .session = session_of(c[8]), .created = time_of(c[9])};
    if (c[2].n)
        n.title = show_cut(show_line(&r->a, c[2]), TITLE_COLUMNS);
    for (size_t i = 0; i < FUMI_COUNT(labels); i++)
        add_part(&text, labels[i], c[2 + i]);
    n.text = fumi_buf_keep(&text, &r->a);
    import_tag(&r->a, &n.tags, FUMI_STR("session-summary"));
    return end_row(r, import_note(&r->f, number_of(c[0]), &n, e));
}

/* The project of a worktree that was merged into another one is that one. */
static int claude_rows(struct reader *r, const char *table, const char *columns,
                       int (*each)(void *arg, const struct fumi_str *columns, struct fumi_err *e),
                       struct fumi_err *e)
{
    struct fumi_arena a = {0};
    bool merged = foreign_has(r->db, table, "merged_into_project");
    struct fumi_str sql = fumi_fmt(&a, "SELECT id, %s, %s FROM %s ORDER BY id",
                                   merged ? "coalesce(merged_into_project, project)" : "project",
                                   columns, table);
    int rc = rows(r, sql.p, each, e);
    fumi_arena_done(&a);
    return rc;
}

static int read_claude(struct reader *r, struct fumi_err *e)
{
    int rc = claude_rows(r, "observations",
                         "type, title, subtitle, narrative, facts, concepts, text, "
                         "memory_session_id, created_at_epoch, files_read, files_modified",
                         observation, e);
    if (!rc && foreign_has(r->db, "session_summaries", "memory_session_id"))
        rc = claude_rows(r, "session_summaries",
                         "request, investigated, learned, completed, next_steps, notes, "
                         "memory_session_id, created_at_epoch",
                         summary, e);
    return rc;
}

int import_read_claude_mem(struct import_file *f, struct fumi_err *e)
{
    return with_database(f, read_claude, e);
}
