/* Short ids: the shortest prefix of an id that no other id has. They are made and resolved within
 * the scope of the memory, so that neither tells anything about other projects. */
#include "base/utf8.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"

enum {
    CANDIDATES = 5, /* named in the error for an ambiguous prefix, */
    LIST_MAX = 80,  /* within these bytes */
    GIVEN_MAX = 48, /* bytes of the prefix in that error */
    COMPARED = 16,  /* ids, at once */
};

static size_t common_prefix(struct fumi_str a, struct fumi_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

/* Returns 0 if no other id begins with the n bytes; otherwise a greater length, which tells it from
 * the ids that were compared. SIZE_MAX: the store failed. */
static size_t longer(struct store *s, struct fumi_arena *a, unsigned kinds, struct fumi_str id,
                     size_t n)
{
    const struct id_prefix what = {.kinds = kinds, .text = {id.p, n}, .limit = COMPARED};
    struct fumi_strs found;
    struct fumi_err ignored;
    size_t more = 0;
    if (store_find_ids(s, a, &what, &found, &ignored))
        return SIZE_MAX;
    for (size_t i = 0; i < found.n; i++) {
        size_t same = common_prefix(found.items[i], id);
        if (!fumi_eq(found.items[i], id) && same >= more)
            more = same + 1;
    }
    return more;
}

struct fumi_str memory_short_id(struct memory *m, struct fumi_arena *a, unsigned kinds,
                                struct fumi_str id)
{
    size_t n = ID_PREFIX_MIN;
    while (n < id.n) {
        while (n < id.n && ((unsigned char)id.p[n] & 0xC0) == 0x80)
            n++; /* not inside a character */
        size_t more = longer(m->view, a, kinds, id, n);
        if (!more)
            return (struct fumi_str){id.p, n};
        n = more;
    }
    return id;
}

static int refuse_ambiguous(struct memory *m, struct fumi_arena *a, unsigned kinds,
                            struct fumi_str given, const struct fumi_strs *found,
                            struct fumi_err *e)
{
    struct fumi_buf list = {0};
    size_t i = 0;
    for (; i < found->n && i < CANDIDATES; i++) {
        struct fumi_str id = memory_short_id(m, a, kinds, found->items[i]);
        if (list.n + id.n > LIST_MAX)
            break;
        fumi_buf_add(&list, ", ", i ? 2 : 0);
        fumi_buf_add(&list, id.p, id.n);
    }
    fumi_buf_add(&list, " ...", i < found->n ? 4 : 0);
    struct fumi_str names = fumi_buf_keep(&list, a), shown = fumi_utf8_cut(given, GIVEN_MAX);
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "id %.*s is ambiguous: give more of it: %.*s",
                        FUMI_ARG(shown), FUMI_ARG(names));
}

int memory_find_id(struct memory *m, struct fumi_arena *a, unsigned kinds, struct fumi_str given,
                   struct fumi_str *out, struct fumi_err *e)
{
    const struct id_prefix what = {.kinds = kinds, .text = given, .limit = CANDIDATES + 1};
    struct fumi_strs found;
    *out = given;
    if (given.n < ID_PREFIX_MIN || fumi_is_uuid(given))
        return 0;
    if (store_find_ids(m->view, a, &what, &found, e))
        return -1;
    for (size_t i = 0; i < found.n; i++)
        if (fumi_eq(found.items[i], given))
            return 0;
    if (found.n > 1)
        return refuse_ambiguous(m, a, kinds, given, &found, e);
    if (found.n)
        *out = found.items[0];
    return 0;
}
