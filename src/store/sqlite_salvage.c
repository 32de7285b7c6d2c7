/* Salvages a damaged database: all rows that can still be read are written into a new file, which
 * then replaces the damaged one. Notes are inserted as new ones, with their keywords and tag sets;
 * the rows of other tables are copied. Where a page cannot be read, the range of row numbers is
 * halved until everything around the page has been read. */
#include "store/sqlite_bytes.h"
#include "store/sqlite_file.h"
#include "store/sqlite_journal.h"
#include "store/sqlite_ops.h"

#include "base/arena.h"

#include <assert.h>
#include <unistd.h>

enum {
    TORN_MAX = 1 << 17, /* unreadable ranges of one table */
    LEAF = 13,          /* first byte of a page with rows of a table */
    FIRST_FIELDS = 13,  /* of a note in version 1: FIRST_COLUMNS and four columns of the store */
    CHAIN = FIRST_FIELDS,
    FIELDS = FIRST_FIELDS + 6,
    ROW_MAX = 16 << 20,
    LOCK_WAIT = 2000,   /* milliseconds to wait for the exclusive lock */
    SEQUENCE_BITS = 40, /* a larger row number is taken for damage */
};

struct salvage {
    struct db *from, *to;
    struct store_sqlite_salvaged *out;
    store_sqlite_fn *finish;
    void *arg;
    struct fumi_arena arena;
    int64_t unread; /* notes that exist but are damaged */
    int torn;       /* unreadable ranges of the current table */
};

/* A table to salvage. `read` selects the rows between two row numbers, with the number as the first
 * column, in ascending order; `row` is called for each. */
struct salvage_table {
    const char *last, *read;
    int (*row)(struct salvage *x, const struct salvage_table *t, sqlite3_stmt *q,
               struct fumi_err *e);
    const char *write; /* inserts the columns after the first */
    int columns;
};

/* Returns -1 if writing the new file failed. Failures to read the old file are counted in x->torn.
 */
static int walk(struct salvage *x, const struct salvage_table *t, int64_t low, int64_t high,
                struct fumi_err *e)
{
    struct fumi_err ignored;
    sqlite3_stmt *q = store_sqlite_query(x->from, &ignored, t->read, "ii", low, high);
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(x->from, q, &ignored)) > 0) {
        int64_t n = sqlite3_column_int64(q, 0);
        bool rises = n >= low && n <= high;
        int rc = rises ? t->row(x, t, q, e) : 0;
        if (!rises || rc)
            store_sqlite_end(q);
        if (rc)
            return -1;
        more = rises ? 1 : -1;
        low = rises ? n + 1 : low;
    }
    if (!more)
        return 0;
    x->torn++;
    if (low >= high || x->torn > TORN_MAX)
        return 0;
    int64_t middle = low + (high - low) / 2;
    return walk(x, t, low, middle, e) || walk(x, t, middle + 1, high, e) ? -1 : 0;
}

static int walk_all(struct salvage *x, const struct salvage_table *t, struct fumi_err *e)
{
    struct fumi_err ignored;
    int64_t last = 0;
    x->torn = 0;
    if (store_sqlite_number(x->from, &ignored, &last, t->last, "") < 0)
        last = (int64_t)1 << SEQUENCE_BITS;
    return walk(x, t, 1, last, e);
}

/* Skips the note if its id or seq is in use. */
static int save_once(struct salvage *x, const struct stored *n, struct fumi_err *e)
{
    int64_t there;
    int found = store_sqlite_number(x->to, e, &there, "SELECT 1 FROM notes WHERE id=?1 OR seq=?2",
                                    "si", n->note.id, n->note.seq);
    if (found)
        return found < 0 ? -1 : 0;
    x->out->notes++;
    return store_sqlite_note_save(x->to, &x->arena, n, e);
}

static int save_note(struct salvage *x, const struct salvage_table *t, sqlite3_stmt *q,
                     struct fumi_err *e)
{
    (void)t;
    struct stored n;
    struct fumi_err ignored;
    int64_t seq = sqlite3_column_int64(q, 0);
    fumi_arena_reset(&x->arena, 1 << 20);
    int found = store_sqlite_find(x->from, &x->arena, (struct fumi_str){0}, seq, &n, &ignored);
    if (found <= 0 || n.damaged) {
        x->unread++;
        return 0;
    }
    return save_once(x, &n, e);
}

/* A row that violates a constraint is damaged and skipped. */
static int copy_row(struct salvage *x, const struct salvage_table *t, sqlite3_stmt *q,
                    struct fumi_err *e)
{
    sqlite3_stmt *put = store_sqlite_query(x->to, e, t->write, "");
    if (!put)
        return -1;
    for (int i = 0; i < t->columns; i++)
        sqlite3_bind_value(put, i + 1, sqlite3_column_value(q, i + 1));
    int rc = sqlite3_step(put);
    store_sqlite_end(put);
    if (rc == SQLITE_DONE)
        return 0;
    return (rc & 0xFF) == SQLITE_CONSTRAINT ? 0 : store_sqlite_fault(x->to, rc, e);
}

static const struct salvage_table notes = {
    "SELECT coalesce(max(seq), 0) FROM notes NOT INDEXED",
    "SELECT seq FROM notes NOT INDEXED WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq", save_note, NULL,
    0};

static const struct salvage_table vectors = {
    "SELECT coalesce(max(vector), 0) FROM vectors NOT INDEXED",
    "SELECT vector, vector, space, note, first, last, x FROM vectors NOT INDEXED WHERE vector "
    "BETWEEN ?1 AND ?2 ORDER BY vector",
    copy_row, "INSERT OR IGNORE INTO vectors VALUES(?1, ?2, ?3, ?4, ?5, ?6)", 6};

static const struct salvage_table copied[] = {
    {"SELECT coalesce(max(rowid), 0) FROM groups NOT INDEXED",
     "SELECT rowid, * FROM groups NOT INDEXED WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid",
     copy_row, "INSERT OR IGNORE INTO groups VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", 8},
    {"SELECT coalesce(max(rowid), 0) FROM globals NOT INDEXED",
     "SELECT rowid, * FROM globals NOT INDEXED WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid",
     copy_row, "INSERT OR IGNORE INTO globals VALUES(?1, ?2, ?3, ?4, ?5, ?6)", 6},
    {"SELECT coalesce(max(space), 0) FROM spaces NOT INDEXED",
     "SELECT space, * FROM spaces NOT INDEXED WHERE space BETWEEN ?1 AND ?2 ORDER BY space",
     copy_row, "INSERT OR IGNORE INTO spaces VALUES(?1, ?2, ?3, ?4)", 4},
    {"SELECT coalesce(max(origin), 0) FROM origins NOT INDEXED",
     "SELECT origin, * FROM origins NOT INDEXED WHERE origin BETWEEN ?1 AND ?2 ORDER BY origin",
     copy_row, "INSERT OR IGNORE INTO origins VALUES(?1, ?2, ?3, ?4, ?5, ?6)", 6},
    {"SELECT coalesce(max(n), 0) FROM journal NOT INDEXED",
     "SELECT n, * FROM journal NOT INDEXED WHERE n BETWEEN ?1 AND ?2 ORDER BY n", copy_row,
     "INSERT OR IGNORE INTO journal VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", 10},
    {"SELECT coalesce(max(n), 0) FROM injections NOT INDEXED",
     "SELECT n, * FROM injections NOT INDEXED WHERE n BETWEEN ?1 AND ?2 ORDER BY n", copy_row,
     "INSERT OR IGNORE INTO injections VALUES(?1, ?2, ?3, ?4, ?5, ?6)", 6},
    {"SELECT coalesce(max(note), 0) FROM uses NOT INDEXED",
     "SELECT note, * FROM uses NOT INDEXED WHERE note BETWEEN ?1 AND ?2 ORDER BY note", copy_row,
     "INSERT OR IGNORE INTO uses VALUES(?1, ?2, ?3)", 3},
};

/* Tables without row numbers. They are read forwards and, if that fails, backwards. */
static const struct keyed_table {
    const char *up, *down;
    struct salvage_table to;
} keyed[] = {
    {"SELECT 1, * FROM meta ORDER BY name",
     "SELECT 1, * FROM meta ORDER BY name DESC",
     {.write = "INSERT OR IGNORE INTO meta VALUES(?1, ?2)", .columns = 2}},
    {"SELECT 1, * FROM reviews ORDER BY id",
     "SELECT 1, * FROM reviews ORDER BY id DESC",
     {.write = "INSERT OR IGNORE INTO reviews VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      .columns = 8}},
    {"SELECT 1, * FROM projects ORDER BY project",
     "SELECT 1, * FROM projects ORDER BY project DESC",
     {.write = "INSERT OR IGNORE INTO projects VALUES(?1, ?2, ?3)", .columns = 3}},
};

static int copy_keyed(struct salvage *x, const struct keyed_table *t, struct fumi_err *e)
{
    struct fumi_err ignored;
    int more = -1;
    for (int i = 0; i < 2 && more < 0; i++) {
        sqlite3_stmt *q = store_sqlite_query(x->from, &ignored, i ? t->down : t->up, "");
        more = q ? 1 : -1;
        while (more > 0 && (more = store_sqlite_row(x->from, q, &ignored)) > 0)
            if (copy_row(x, &t->to, q, e)) {
                store_sqlite_end(q);
                return -1;
            }
    }
    return 0;
}

static int copy_all_keyed(struct salvage *x, struct fumi_err *e)
{
    for (size_t i = 0; i < FUMI_COUNT(keyed); i++)
        if (copy_keyed(x, &keyed[i], e))
            return -1;
    return 0;
}

struct damaged_rows {
    struct salvage *x;
    const char *drop;
    struct fumi_err *e;
    int rc;
};

static void drop_damaged(void *arg, const char *what, struct fumi_str id)
{
    struct damaged_rows *s = arg;
    (void)what;
    s->x->out->damaged++;
    s->rc |= store_sqlite_run(s->x->to, s->e, s->drop, "s", id);
}

/* Deletes copied rows that do not match their checksums. */
static int check_copied(struct salvage *x, struct fumi_err *e)
{
    struct damaged_rows groups = {x, "DELETE FROM groups WHERE id=?1", e, 0},
                        globals = {x, "DELETE FROM globals WHERE id=?1", e, 0},
                        journal = {x, "DELETE FROM journal WHERE n=CAST(?1 AS INTEGER)", e, 0},
                        reviews = {x, "DELETE FROM reviews WHERE id=?1", e, 0};
    if (store_sqlite_groups_check(x->to, drop_damaged, &groups, e) || groups.rc ||
        store_sqlite_globals_check(x->to, drop_damaged, &globals, e) || globals.rc ||
        store_sqlite_journal_check(x->to, drop_damaged, &journal, e) || journal.rc ||
        store_sqlite_reviews_check(x->to, drop_damaged, &reviews, e) || reviews.rc)
        return -1;
    static const char count[] = "SELECT (SELECT count(*) FROM groups) + (SELECT count(*) FROM "
                                "globals) + (SELECT count(*) FROM meta)";
    return store_sqlite_number(x->to, e, &x->out->others, count, "") < 0 ? -1 : 0;
}

static int drop_if_torn(struct salvage *x, sqlite3_stmt *q, struct fumi_err *e)
{
    int64_t note = sqlite3_column_int64(q, 0), space = sqlite3_column_int64(q, 1), is;
    int found = store_sqlite_number(x->to, e, &is, "SELECT 1 FROM vectors WHERE vector=?1", "i",
                                    sqlite3_column_int64(q, 2));
    if (found)
        return found < 0 ? -1 : 0;
    return store_sqlite_run(x->to, e, "DELETE FROM vectors WHERE note=?1 AND space=?2", "ii", note,
                            space);
}

/* A note must have the vectors of all its passages or none. Only the index still knows how many it
 * had; without the index all vectors are deleted. */
static int drop_torn_vectors(struct salvage *x, struct fumi_err *e)
{
    struct fumi_err ignored;
    sqlite3_stmt *q = store_sqlite_query(x->from, &ignored,
                                         "SELECT note, space, vector FROM vectors INDEXED BY "
                                         "vectors_note ORDER BY note",
                                         "");
    int more = q ? 1 : -1;
    while (more > 0 && (more = store_sqlite_row(x->from, q, &ignored)) > 0)
        if (drop_if_torn(x, q, e)) {
            store_sqlite_end(q);
            return -1;
        }
    return more < 0 ? store_sqlite_run(x->to, e, "DELETE FROM vectors", "") : 0;
}

static int save_vectors(struct salvage *x, struct fumi_err *e)
{
    if (walk_all(x, &vectors, e) || (x->torn && drop_torn_vectors(x, e)))
        return -1;
    return 0;
}

/* The number of notes in the damaged file: the largest count that can be read. */
static int64_t known_notes(struct salvage *x)
{
    static const char *const counts[] = {
        "SELECT count(*) FROM notes INDEXED BY notes_time WHERE created>=-9223372036854775807",
        "SELECT count(*) FROM notes INDEXED BY notes_tag_set WHERE tag_set>=0",
        "SELECT sum(notes) FROM project_groups",
    };
    int64_t most = 0;
    for (size_t i = 0; i < FUMI_COUNT(counts); i++) {
        struct fumi_err ignored;
        int64_t n = 0;
        if (store_sqlite_number(x->from, &ignored, &n, counts[i], "") > 0 && n > most)
            most = n;
    }
    return most;
}

/* Row numbers are never reused, also not in the new file. */
static int keep_sequence(struct salvage *x, const char *table, struct fumi_err *e)
{
    struct fumi_err ignored;
    int64_t last = 0, now = 0;
    store_sqlite_number(x->from, &ignored, &last, "SELECT seq FROM sqlite_sequence WHERE name=?1",
                        "s", fumi_str(table));
    if (store_sqlite_number(x->to, e, &now, "SELECT seq FROM sqlite_sequence WHERE name=?1", "s",
                            fumi_str(table)) < 0)
        return -1;
    if (last <= now || last >> SEQUENCE_BITS)
        return 0;
    return store_sqlite_run(x->to, e, "DELETE FROM sqlite_sequence WHERE name=?1", "s",
                            fumi_str(table)) ||
                   store_sqlite_run(x->to, e,
                                    "INSERT INTO sqlite_sequence(name, seq) VALUES(?1, ?2)", "si",
                                    fumi_str(table), last)
               ? -1
               : 0;
}

/* The change numbers of the new file must differ from those of the old file. */
static int keep_changes(struct salvage *x, struct fumi_err *e)
{
    struct fumi_err ignored;
    int64_t last = 0;
    store_sqlite_number(x->from, &ignored, &last, "SELECT coalesce(max(n), 0) FROM changes", "");
    last = last < 0 || last >> 60 ? 0 : last;
    return store_sqlite_run(x->to, e,
                            "INSERT INTO changes(n, note) VALUES(?1 + 1 + (random() & ?2), 0)",
                            "ii", last, ((int64_t)1 << SEQUENCE_BITS) - 1);
}

/* Reads the file page by page, for notes that are not reachable from the root page. In SQLite's
 * file format numbers are big-endian, the leaf page of a table begins with 13, and a long row
 * continues in a chain of overflow pages. */
struct raw_pages {
    sqlite3_file *file;
    uint32_t size, used, n; /* bytes per page, usable bytes per page, number of pages */
    unsigned char *page;
    bool *unused; /* by page number: free pages, whose content was deleted */
};

struct raw_cell {
    const unsigned char *p, *end;
};

static int64_t varint(struct raw_cell *c)
{
    uint64_t v = 0;
    for (int i = 0; i < 9 && c->p < c->end; i++) {
        unsigned char b = *c->p++;
        if (i == 8)
            return (int64_t)(v << 8 | b);
        v = v << 7 | (b & 0x7F);
        if (b < 0x80)
            break;
    }
    return (int64_t)v;
}

static bool read_page(struct raw_pages *f, uint32_t number, unsigned char *to)
{
    return number >= 1 && number <= f->n &&
           f->file->pMethods->xRead(f->file, to, (int)f->size,
                                    (sqlite3_int64)(number - 1) * f->size) == 0;
}

static void find_unused(struct raw_pages *f, uint32_t trunk)
{
    for (uint32_t i = 0; i < f->n && trunk && read_page(f, trunk, f->page); i++) {
        uint32_t count = be(f->page + 4, 4);
        f->unused[trunk] = true;
        for (uint32_t k = 0; k < count && 8 + k * 4 + 4 <= f->used; k++) {
            uint32_t leaf = be(f->page + 8 + k * 4, 4);
            if (leaf <= f->n)
                f->unused[leaf] = true;
        }
        trunk = be(f->page, 4);
    }
}

static bool pages_open(struct raw_pages *f, struct db *d, struct fumi_arena *a)
{
    unsigned char head[100];
    sqlite3_int64 bytes = 0;
    if (sqlite3_file_control(d->h, "main", SQLITE_FCNTL_FILE_POINTER, &f->file) || !f->file ||
        !f->file->pMethods || f->file->pMethods->xFileSize(f->file, &bytes) ||
        f->file->pMethods->xRead(f->file, head, sizeof(head), 0))
        return false;
    f->size = be(head + 16, 2) == 1 ? 65536 : be(head + 16, 2);
    if (f->size < 512 || head[20] > 32)
        return false;
    f->used = f->size - head[20];
    f->n = (uint32_t)(bytes / f->size);
    f->page = fumi_alloc(a, f->size);
    f->unused = fumi_alloc(a, f->n + 1);
    memset(f->unused, 0, f->n + 1);
    find_unused(f, be(head + 32, 4));
    return true;
}

/* The number of bytes of a row that are stored in its leaf page. */
static uint32_t local_bytes(const struct raw_pages *f, uint32_t n)
{
    uint32_t most = f->used - 35, least = (f->used - 12) * 32 / 255 - 23;
    if (n <= most)
        return n;
    uint32_t k = least + (n - least) % (f->used - 4);
    return k <= most ? k : least;
}

/* Sets *c to the whole row, in the arena. Returns false if the bytes are not a row. */
static bool row_bytes(struct raw_pages *f, struct fumi_arena *a, struct raw_cell *c, int64_t n)
{
    if (n < FIRST_FIELDS || n > ROW_MAX)
        return false;
    uint32_t local = local_bytes(f, (uint32_t)n), have = local;
    if (c->end - c->p < (ptrdiff_t)local + (local < n ? 4 : 0))
        return false;
    unsigned char *row = fumi_alloc(a, (size_t)n), *page = fumi_alloc(a, f->size);
    memcpy(row, c->p, local);
    uint32_t next = local < n ? be(c->p + local, 4) : 0;
    while (have < n) {
        uint32_t part = (uint32_t)n - have < f->used - 4 ? (uint32_t)n - have : f->used - 4;
        if (!read_page(f, next, page))
            return false;
        memcpy(row + have, page + 4, part);
        have += part;
        next = be(page, 4);
    }
    assert(have == n);
    *c = (struct raw_cell){row, row + n};
    return true;
}

struct raw_field {
    struct fumi_str text;
    int64_t number;
    bool set; /* not NULL */
};

/* Reads one value by its serial type: NULL, integers of several sizes, 0, 1, text. */
static bool read_field(struct raw_cell *c, int64_t type, struct raw_field *out)
{
    static const int sizes[] = {0, 1, 2, 3, 4, 6, 8, -1, 0, 0};
    bool text = type >= 13 && type % 2;
    int64_t n = text ? (type - 13) / 2 : type >= 0 && type < 10 ? sizes[type] : -1;
    if (n < 0 || n > c->end - c->p)
        return false;
    *out = (struct raw_field){.number = type == 9, .set = type != 0};
    if (text)
        out->text = (struct fumi_str){(const char *)c->p, (size_t)n};
    for (int64_t i = 0; !text && i < n; i++)
        out->number = (int64_t)((uint64_t)(i                          ? out->number
                                           : (signed char)c->p[0] < 0 ? -1
                                                                      : 0)
                                    << 8 |
                                c->p[i]);
    c->p += n;
    return true;
}

static bool read_fields(struct raw_cell row, struct raw_field *out)
{
    struct raw_cell head = row;
    int64_t size = varint(&head);
    if (size < FIRST_FIELDS || size > row.end - row.p)
        return false;
    struct raw_cell body = {row.p + size, row.end};
    head.end = body.p;
    memset(out, 0, FIELDS * sizeof(*out)); /* an older row lacks the last columns */
    for (int i = 0; i < FIELDS && (head.p < head.end || i < FIRST_FIELDS); i++)
        if (head.p >= head.end || !read_field(&body, varint(&head), &out[i]))
            return false;
    return head.p == head.end && body.p == body.end;
}

/* The fields of the columns that are newer than FIRST_COLUMNS; 0: an older one. */
static const unsigned char newer[NOTE_INDEX_N] = {
    [NOTE_INDEX_SESSION] = 14,
    [NOTE_INDEX_KEY] = 16,
    [NOTE_INDEX_SUPERSEDED_BY] = 17,
    [NOTE_INDEX_EXPIRES] = 18,
};

/* The fields are in the order of the columns in CREATE TABLE. */
static void note_of(const struct raw_field *v, int64_t seq, struct fumi_arena *a,
                    struct stored *out)
{
    *out = (struct stored){.tag_set = v[2].number, .version = v[4].number};
    out->note = (struct note){.seq = seq,
                              .chain = v[CHAIN].number,
                              .id = v[1].text,
                              .created = {v[3].number, true},
                              .project = v[6].text,
                              .group = v[7].text,
                              .title = v[9].text,
                              .source = v[10].text,
                              .metadata = {v[11].text},
                              .text = v[12].text};
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        if (newer[i] && note_columns[i].type == FUMI_T_TIME)
            *note_time_at(&out->note, i) = (struct fumi_time){v[newer[i]].number, v[newer[i]].set};
        else if (newer[i])
            *note_text_at(&out->note, i) = v[newer[i]].text;
    store_sqlite_note_verify(out, a, v[8].text, v[5].number);
}

/* Whether the index on ids has the note. True if the index cannot be read. */
static bool was_indexed(struct salvage *x, const struct note *n)
{
    struct fumi_err ignored;
    int64_t seq = n->seq;
    int found = store_sqlite_number(x->from, &ignored, &seq, "SELECT seq FROM notes WHERE id=?1",
                                    "s", n->id);
    return found < 0 || (found && seq == n->seq);
}

static int save_cell(struct salvage *x, struct raw_pages *f, uint32_t at, struct fumi_err *e)
{
    struct raw_cell c = {f->page + at, f->page + f->used};
    struct raw_field fields[FIELDS];
    struct stored n;
    int64_t bytes = varint(&c), seq = varint(&c);
    fumi_arena_reset(&x->arena, 1 << 20);
    if (seq < 1 || !row_bytes(f, &x->arena, &c, bytes) || !read_fields(c, fields))
        return 0;
    note_of(fields, seq, &x->arena, &n);
    return n.damaged || !n.note.id.p || !was_indexed(x, &n.note) ? 0 : save_once(x, &n, e);
}

static int save_leaf(struct salvage *x, struct raw_pages *f, struct fumi_err *e)
{
    uint32_t cells = be(f->page + 3, 2);
    for (uint32_t i = 0; i < cells && 8 + i * 2 + 2 <= f->used; i++) {
        uint32_t at = be(f->page + 8 + i * 2, 2);
        if (at >= 8 && at < f->used && save_cell(x, f, at, e))
            return -1;
    }
    return 0;
}

static int save_pages(struct salvage *x, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct raw_pages f = {0};
    int rc = 0;
    if (pages_open(&f, x->from, &a))
        for (uint32_t i = 2; i <= f.n && !rc; i++)
            if (!f.unused[i] && read_page(&f, i, f.page) && f.page[0] == LEAF)
                rc = save_leaf(x, &f, e);
    fumi_arena_done(&a);
    return rc;
}

static int save_rows(struct db *to, void *arg, struct fumi_err *e)
{
    struct salvage *x = arg;
    x->to = to;
    if (walk_all(x, &notes, e) || save_pages(x, e))
        return -1;
    for (size_t i = 0; i < FUMI_COUNT(copied); i++)
        if (walk_all(x, &copied[i], e))
            return -1;
    if (copy_all_keyed(x, e) || check_copied(x, e) || save_vectors(x, e) || keep_changes(x, e) ||
        x->finish(to, x->arg, e))
        return -1;
    if (store_sqlite_number(to, e, &x->out->vectors, "SELECT count(*) FROM vectors", "") < 0)
        return -1;
    return keep_sequence(x, "notes", e) || keep_sequence(x, "vectors", e) ||
                   keep_sequence(x, "journal", e) || keep_sequence(x, "injections", e)
               ? -1
               : 0;
}

static int count_lost(struct salvage *x, struct fumi_err *e)
{
    int64_t lost = known_notes(x) - x->out->notes;
    x->out->lost = lost > x->unread ? lost : x->unread;
    if (x->out->lost && !x->out->notes)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "No note can be read: restore a backup; the file was not changed (%s)",
                            x->from->store->path);
    return 0;
}

/* Creates a store at `path`. After it is closed, all data must be in its file, not in the log. */
static int save_to(struct salvage *x, const char *path, struct fumi_err *e)
{
    struct store_sqlite_options o = {.path = path, .nosync = true, .log = x->from->store->log};
    struct store *to = store_sqlite_open(&o, e);
    if (!to)
        return -1;
    int rc = store_sqlite_write(to, save_rows, x, e);
    store_close(to);
    if (rc || count_lost(x, e))
        return -1;
    char *wal = store_sqlite_path(path, "-wal");
    bool whole = !store_sqlite_file_exists(wal);
    fumi_resize(wal, 0);
    if (!whole)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "The copy cannot be written: %s; check the free disk space (%s)",
                            sqlite3_errstr(SQLITE_FULL), path);
    return store_sqlite_file_like(path, x->from->store->path, e) || store_sqlite_file_sync(path, e)
               ? -1
               : 0;
}

/* Locks the database exclusively and moves the content of the log into the file. */
static int lock_all(struct db *d, struct fumi_err *e)
{
    sqlite3_busy_timeout(d->h, LOCK_WAIT);
    int rc = sqlite3_exec(d->h, "PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; COMMIT", NULL,
                          NULL, NULL);
    if (!rc)
        rc = sqlite3_exec(d->h, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    if ((rc & 0xFF) == SQLITE_BUSY || (rc & 0xFF) == SQLITE_LOCKED)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "The file must be rewritten, but another process has it open: end it, "
                            "then run doctor again (%s)",
                            d->store->path);
    if (rc)
        return store_sqlite_fault(d, rc, e);
    return store_sqlite_file_sync_dir(d->store->path, e);
}

static int save_from(struct salvage *x, const char *path, struct fumi_err *e)
{
    if (lock_all(x->from, e))
        return -1;
    char *made = store_sqlite_path_new(path, ".salvage");
    char *kept = store_sqlite_path_kept(path);
    int fd = store_sqlite_file_fresh(made);
    int rc = save_to(x, made, e) || store_sqlite_file_swap(path, made, kept, e) ? -1 : 0;
    if (rc)
        store_sqlite_file_remove(made);
    if (fd >= 0)
        close(fd);
    x->out->kept = rc ? NULL : kept;
    fumi_resize(rc ? kept : NULL, 0);
    fumi_resize(made, 0);
    return rc;
}

int store_sqlite_salvage(struct store_sqlite *s, store_sqlite_fn *finish, void *arg,
                         struct store_sqlite_salvaged *out, struct fumi_err *e)
{
    struct salvage x = {.out = out, .finish = finish, .arg = arg};
    *out = (struct store_sqlite_salvaged){0};
    store_sqlite_idle(s);
    x.from = store_sqlite_connect(s, true, e);
    if (!x.from)
        return -1;
    int rc = save_from(&x, s->path, e);
    store_sqlite_disconnect(x.from);
    fumi_arena_done(&x.arena);
    return rc;
}
