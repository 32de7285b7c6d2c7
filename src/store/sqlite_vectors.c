/* Vectors in the database: one row per passage, as little-endian floats. */
#include "store/sqlite_parts.h"

#include "base/arena.h"
#include "store/vector.h"

#include <endian.h>
#include <math.h>

int store_sqlite_space(struct db *d, struct fumi_str name, size_t dim, bool make, int64_t *space,
                       struct fumi_err *e)
{
    *space = 0;
    int64_t known = (int64_t)dim;
    int found = store_sqlite_number(d, e, space, "SELECT space FROM spaces WHERE name=?1", "s",
                                    name);
    if (found > 0)
        found = store_sqlite_number(d, e, &known, "SELECT dim FROM spaces WHERE name=?1", "s",
                                    name);
    if (found < 0)
        return -1;
    if (dim < 1 || dim > VECTOR_DIM_MAX || known != (int64_t)dim)
        return fumi_err_set(
            e, FUMI_INTERNAL_ERROR,
            "Vectors of %zu dimensions do not fit this embedding space, which has %d: "
            "use another namespace for the other model (%.*s)",
            dim, (int)known, (int)(name.n < 80 ? name.n : 80), name.p);
    if (found || !make)
        return 0;
    if (store_sqlite_run(d, e, "INSERT INTO spaces(name, dim, notes) VALUES(?1, ?2, 0)", "si", name,
                         (int64_t)dim))
        return -1;
    *space = sqlite3_last_insert_rowid(d->h);
    return 0;
}

static bool is_finite(const float *x, size_t dim)
{
    float zero = 0; /* infinity * 0 and NaN * 0 are NaN */
    for (size_t i = 0; i < dim; i++)
        zero += x[i] * 0;
    return zero == 0;
}

/* The search needs vectors of unit length. */
static bool to_unit(float *x, size_t dim)
{
    float length = vector_dot(x, x, dim);
    return (length > 0.999f && length < 1.001f) || vector_normalise(x, dim);
}

static void to_bytes(const float *x, size_t dim, uint32_t *bytes)
{
    memcpy(bytes, x, dim * sizeof(*bytes));
    for (size_t i = 0; i < dim; i++)
        bytes[i] = htole32(bytes[i]);
}

static int put_one(struct db *d, int64_t seq, int64_t space, const struct vectors *v, size_t i,
                   uint32_t *bytes, struct fumi_err *e)
{
    const struct passage *p = &v->items[i];
    float *x = (float *)(bytes + v->dim);
    memcpy(x, p->x, v->dim * sizeof(*x));
    if (!to_unit(x, v->dim))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "The embedding of a text has length 0 or numbers that are not finite: "
                            "use another model (%.*s)",
                            (int)(v->space.n < 80 ? v->space.n : 80), v->space.p);
    to_bytes(x, v->dim, bytes);
    return store_sqlite_run(
        d, e, "INSERT INTO vectors(space, note, first, last, x) VALUES(?1, ?2, ?3, ?4, ?5)",
        "iiiib", space, seq, (int64_t)p->begin, (int64_t)p->end,
        (struct fumi_str){(const char *)bytes, v->dim * sizeof(*bytes)});
}

int store_sqlite_vectors_put(struct db *d, int64_t seq, const struct vectors *v, struct fumi_err *e)
{
    int64_t space;
    if (!v || !v->n)
        return 0;
    if (store_sqlite_space(d, v->space, v->dim, true, &space, e))
        return -1;
    uint32_t *bytes = fumi_resize(NULL, 2 * v->dim * sizeof(*bytes)); /* bytes, then floats */
    int rc = 0;
    for (size_t i = 0; i < v->n && !rc; i++)
        rc = put_one(d, seq, space, v, i, bytes, e);
    fumi_resize(bytes, 0);
    return rc ? -1
              : store_sqlite_run(d, e, "UPDATE spaces SET notes=notes+1 WHERE space=?1", "i",
                                 space);
}

int store_sqlite_vectors_drop(struct db *d, int64_t seq, struct fumi_err *e)
{
    return store_sqlite_run(d, e,
                            "UPDATE spaces SET notes=notes-1 WHERE space IN "
                            "(SELECT space FROM vectors WHERE note=?1)",
                            "i", seq) ||
                   store_sqlite_run(d, e, "DELETE FROM vectors WHERE note=?1", "i", seq)
               ? -1
               : 0;
}

int store_sqlite_vectors_drop_in(struct db *d, int64_t seq, int64_t space, struct fumi_err *e)
{
    if (store_sqlite_run(d, e, "DELETE FROM vectors WHERE note=?1 AND space=?2", "ii", seq, space))
        return -1;
    if (!sqlite3_changes(d->h))
        return 0;
    return store_sqlite_run(d, e, "UPDATE spaces SET notes=notes-1 WHERE space=?1", "i", space);
}

bool store_sqlite_vector_read(struct fumi_str blob, size_t dim, float *to)
{
    if (blob.n != dim * sizeof(*to))
        return false;
    uint32_t word;
    for (size_t i = 0; i < dim; i++) {
        memcpy(&word, blob.p + i * sizeof(word), sizeof(word));
        word = le32toh(word);
        memcpy(&to[i], &word, sizeof(word));
    }
    return is_finite(to, dim);
}

/* Deletes all vectors of the note in that space, because a note has all of its passages or none. */
static int forget(struct db *d, void *arg, struct fumi_err *e)
{
    int64_t vector = *(int64_t *)arg, note = 0, space = 0;
    int found = store_sqlite_number(d, e, &note, "SELECT note FROM vectors WHERE vector=?1", "i",
                                    vector);
    if (found > 0)
        found = store_sqlite_number(d, e, &space, "SELECT space FROM vectors WHERE vector=?1", "i",
                                    vector);
    if (found <= 0)
        return found;
    return store_sqlite_vectors_drop_in(d, note, space, e) || store_sqlite_note_changed(d, note, e)
               ? -1
               : 0;
}

void store_sqlite_vector_damaged(struct store_sqlite *s, int64_t vector)
{
    struct fumi_err e = {0};
    fumi_log(s->log, FUMI_WARN, "store.damaged_vector", {.key = "vector", .number = vector},
             {.key = "remedy", .text = FUMI_STR("its note is embedded again")});
    if (store_sqlite_write(&s->base, forget, &vector, &e))
        fumi_log(s->log, FUMI_ERROR, "store.failed", {.key = "text", .text = fumi_str(e.text)});
}
