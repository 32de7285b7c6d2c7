/* Neighbours of notes. The notes of one chain (note_chain) are in one index, ordered by time. */
#include "store/sqlite_ops.h"

enum { SIDE = 2 }; /* neighbours on each side */

/* Superseded notes are nobody's neighbours. The project and the group are compared too, because two
 * chains may have the same number. */
#define SAME_CHAIN                                                                                 \
    "SELECT x.seq FROM notes n CROSS JOIN notes x WHERE n.seq=?1 AND x.chain=n.chain AND "         \
    "x.project=n.project AND x.group_key=n.group_key AND x.superseded_by IS NULL AND x.created"

/* First the notes of the same time, then the others: SQLite would not use seq in one range of both,
 * and read all notes of the same time. */
static const char *const before[] = {
    SAME_CHAIN "=n.created AND x.seq<n.seq ORDER BY x.seq DESC LIMIT 2",
    SAME_CHAIN "<n.created ORDER BY x.created DESC, x.seq DESC LIMIT 2",
};
static const char *const after[] = {
    SAME_CHAIN "=n.created AND x.seq>n.seq ORDER BY x.seq LIMIT 2",
    SAME_CHAIN ">n.created ORDER BY x.created, x.seq LIMIT 2",
};

struct neighbours_args {
    const int64_t *seqs;
    size_t n;
    struct neighbours *out;
};

/* Sets found[0] to the nearest and found[1] to the next; 0: none. */
static int read_side(struct db *d, const char *const sql[2], int64_t seq, int64_t found[SIDE],
                     struct fumi_err *e)
{
    size_t n = 0;
    for (size_t i = 0; i < 2 && n < SIDE; i++) {
        sqlite3_stmt *q = store_sqlite_query(d, e, sql[i], "i", seq);
        int more = q ? 1 : -1;
        while (more > 0 && (more = store_sqlite_row(d, q, e)) > 0 && n < SIDE)
            found[n++] = sqlite3_column_int64(q, 0);
        if (more < 0)
            return -1;
        if (more)
            store_sqlite_end(q);
    }
    return 0;
}

static int read_neighbours(struct db *d, void *arg, struct fumi_err *e)
{
    struct neighbours_args *p = arg;
    for (size_t i = 0; i < p->n; i++) {
        int64_t back[SIDE] = {0}, forth[SIDE] = {0};
        if (read_side(d, before, p->seqs[i], back, e) || read_side(d, after, p->seqs[i], forth, e))
            return -1;
        p->out[i] = (struct neighbours){{back[1], back[0], forth[0], forth[1]}};
    }
    return 0;
}

int store_sqlite_neighbours(struct store *s, struct fumi_arena *a, const int64_t *seqs, size_t n,
                            struct neighbours *out, struct fumi_err *e)
{
    struct neighbours_args p = {seqs, n, out};
    (void)a;
    return store_sqlite_read(s, read_neighbours, &p, e);
}
