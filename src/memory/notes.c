/* Writing notes. A note is embedded first and then stored together with its vectors. If the
 * provider fails, the note is stored without vectors. */
#include "base/clock.h"
#include "base/uuid.h"
#include "memory/memory_parts.h"

/* The local model embeds LONG_PASSAGES in about a second. A text of more than VERY_LONG_BYTES is
 * not split to count its passages. */
enum { LONG_PASSAGES = 48, VERY_LONG_BYTES = 128 << 10 };

/* The state of writing one note. */
struct note_write {
    struct memory *m;
    struct space *sp;
    struct fumi_arena *a;
    int64_t ms;
    struct written *out;
};

static bool is_long(struct note_write *w, struct fumi_str text)
{
    struct embedder *em = w->sp->embedder;
    return text.n > VERY_LONG_BYTES ||
           (text.n > LONG_BYTES && em->ops->split(em, w->a, text).n > LONG_PASSAGES);
}

/* Embeds the text within the call. A text of many passages is left to the background thread,
 * because it would delay the response and block the thread for other calls. */
static int embed_now(struct note_write *w, struct fumi_str text, struct vectors *v,
                     struct fumi_err *e)
{
    if (is_long(w, text))
        return fumi_err_set(e, ERR_PROVIDER, "the text is very long");
    return space_embed(w->sp, w->a, &text, 1, w->ms, v, e);
}

/* Sets *v to the vectors of the text. If the provider fails, *v is empty and the note is pending.
 * Returns -1 if the provider lacks its key or the store fails. */
static int embed_text(struct note_write *w, struct fumi_str text, struct vectors *v,
                      struct fumi_err *e)
{
    struct fumi_err why = {0};
    int rc = embed_now(w, text, v, &why);
    w->out->space = space_name(w->sp, w->a);
    if (!rc)
        return memory_settle(w->m, w->a, w->sp, e);
    if (why.code != ERR_PROVIDER) {
        *e = why;
        return -1;
    }
    *v = (struct vectors){.space = w->out->space};
    w->out->pending = true;
    w->out->warning = fumi_fmt(
        w->a, "stored, but not embedded yet; until then found by keyword only: %s", why.text);
    return 0;
}

static struct note_write begin(struct memory *m, struct fumi_arena *a, int64_t ms,
                               struct written *out)
{
    *out = (struct written){.pending = false};
    return (struct note_write){m, space_take(m, &m->now), a, ms, out};
}

static int end(struct note_write *w, int rc)
{
    space_put(w->sp);
    if (!rc && w->out->pending)
        memory_wake(w->m);
    return rc;
}

static int add_in(struct note_write *w, struct note *n, struct fumi_err *e)
{
    struct store *store = w->m->view;
    struct vectors v;
    return embed_text(w, n->text, &v, e) || store_add_note(store, n, &v, e) ? -1 : 0;
}

int memory_add(struct memory *m, struct fumi_arena *a, struct note *n, int64_t ms,
               struct written *out, struct fumi_err *e)
{
    const struct scope *scope = &m->o.scope;
    if (project_writable(a, n->project, &n->project, e) || scope_writes(scope, e) ||
        scope_admits(scope, n->project, e))
        return -1; /* before the text is embedded */
    if (!n->id.p) {
        char *id = fumi_alloc(a, FUMI_UUID_SIZE);
        fumi_uuid(id);
        n->id = (struct fumi_str){id, FUMI_UUID_SIZE};
    }
    if (!n->created.set)
        n->created = (struct fumi_time){fumi_now(), true};
    struct note_write w = begin(m, a, ms, out);
    return end(&w, add_in(&w, n, e));
}

static int update_in(struct note_write *w, struct fumi_str id, const struct note *to, unsigned set,
                     struct fumi_err *e)
{
    struct store *store = w->m->view;
    struct note old;
    struct vectors v = {.n = 0};
    if (store_get_note(store, w->a, id, &old, e))
        return -1;
    if ((set & NOTE_TEXT) && fumi_eq(old.text, to->text))
        set &= ~(unsigned)NOTE_TEXT; /* the text is unchanged, so its vectors stay valid */
    if ((set & NOTE_TEXT) && embed_text(w, to->text, &v, e))
        return -1;
    return store_update_note(store, id, to, set, &v, e);
}

int memory_update(struct memory *m, struct fumi_arena *a, struct fumi_str id, const struct note *to,
                  unsigned set, int64_t ms, struct written *out, struct fumi_err *e)
{
    if (scope_writes(&m->o.scope, e))
        return -1;
    struct note_write w = begin(m, a, ms, out);
    return end(&w, update_in(&w, id, to, set, e));
}
