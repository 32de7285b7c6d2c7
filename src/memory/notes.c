/* Writing notes. A note is stored without vectors. In a server, the background thread then embeds
 * it (owed.c); a command embeds it before it ends, and so does a server as long as it does not know
 * the dimension of the vectors, which is part of the answer. */
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

/* The background thread embeds the note later. */
static void postpone(struct note_write *w, struct fumi_str why)
{
    w->out->pending = true;
    w->out->warning = fumi_fmt(
        w->a, "stored, but not embedded yet; until then found by keyword only: %.*s",
        FUMI_ARG(why));
}

/* Why the note of this call was not embedded. */
static struct fumi_str reason(const struct note_write *w, const struct fumi_err *e)
{
    if (e->code == ERR_PROVIDER || e->code == FUMI_LIMIT)
        return fumi_dup(w->a, fumi_str(e->text));
    fumi_log(w->m->o.log, FUMI_WARN, "a note could not be embedded", {"why", fumi_str(e->text), 0});
    return FUMI_STR("an internal error; see the log");
}

/* Whether the note is embedded within the call. */
static bool embeds_now(struct note_write *w)
{
    pthread_mutex_lock(&w->m->lock);
    bool now = !w->m->worker.started;
    pthread_mutex_unlock(&w->m->lock);
    return now || !atomic_load(&w->sp->embedder->dim);
}

static void embed_now(struct note_write *w, int64_t seq)
{
    struct fumi_err why = {0};
    if (notes_embed(w->m, w->sp, w->a, &seq, 1, w->ms, &why))
        postpone(w, reason(w, &why));
}

/* Leaves the note to the background thread. */
static void embed_later(struct note_write *w, const struct note *n)
{
    struct fumi_err failing;
    owed_add(w->m, n->seq, n->project, n->text.n);
    pthread_mutex_lock(&w->m->lock);
    failing = w->m->worker.failing.code ? w->m->worker.failing : w->m->worker.error;
    pthread_mutex_unlock(&w->m->lock);
    if (failing.code)
        postpone(w, worker_reason(w->m, w->a, &failing));
}

/* After the note is stored. `why`: why no text can be embedded at present. */
static void embed(struct note_write *w, const struct note *n, const struct fumi_err *why)
{
    if (why->code)
        postpone(w, reason(w, why));
    else if (is_long(w, n->text))
        postpone(w, FUMI_STR("the text is very long"));
    else if (embeds_now(w))
        embed_now(w, n->seq);
    else
        embed_later(w, n);
    if (w->out->pending)
        memory_wake(w->m);
}

static struct note_write begin(struct memory *m, struct fumi_arena *a, int64_t ms,
                               struct written *out)
{
    *out = (struct written){.change = out->change, .similar = out->similar};
    return (struct note_write){m, space_take(m, &m->now), a, ms, out};
}

static int end(struct note_write *w, int rc)
{
    w->out->space = space_name(w->sp, w->a);
    space_put(w->sp);
    return rc;
}

/* The note is stored, so a failure to find similar ones is not one of the call. */
static void find_similar(const struct note_write *w, const struct note *n)
{
    struct fumi_err ignored;
    if (w->out->similar && memory_similar(w->m, w->a, n, w->out->similar, &ignored))
        w->out->similar->n = 0;
}

static int add_in(struct note_write *w, struct note *n, struct fumi_err *e)
{
    struct note_change *change = &w->out->change;
    struct fumi_err why;
    if (space_ready(w->sp, w->a, &why, e) || store_add_note(w->m->view, w->a, n, change, e))
        return -1;
    if (change->duplicate) /* it is embedded already, or will be */
        return 0;
    find_similar(w, n);
    embed(w, n, &why);
    return 0;
}

int memory_add(struct memory *m, struct fumi_arena *a, struct note *n, int64_t ms,
               struct written *out, struct fumi_err *e)
{
    const struct scope *scope = &m->o.scope;
    if (project_writable(a, n->project, &n->project, e) || scope_writes(scope, e) ||
        scope_admits(scope, n->project, e))
        return -1;
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
    struct note n;
    struct fumi_err why;
    if (store_get_note(store, w->a, id, &n, e))
        return -1;
    if ((set & NOTE_TEXT) && fumi_eq(n.text, to->text))
        set &= ~(unsigned)NOTE_TEXT; /* the text is unchanged, so its vectors stay valid */
    if ((set & NOTE_TEXT) && space_ready(w->sp, w->a, &why, e))
        return -1;
    if (store_update_note(store, w->a, id, to, set, &w->out->change, e))
        return -1;
    note_assign(&n, to, set);
    if (set & (NOTE_TEXT | NOTE_TITLE))
        find_similar(w, &n);
    if (set & NOTE_TEXT)
        embed(w, &n, &why);
    return 0;
}

int memory_update(struct memory *m, struct fumi_arena *a, struct fumi_str id, const struct note *to,
                  unsigned set, int64_t ms, struct written *out, struct fumi_err *e)
{
    struct note to_canonical = *to;
    if (scope_writes(&m->o.scope, e) ||
        (set & NOTE_PROJECT && (project_writable(a, to->project, &to_canonical.project, e) ||
                                scope_admits(&m->o.scope, to_canonical.project, e))))
        return -1;
    struct note_write w = begin(m, a, ms, out);
    return end(&w, update_in(&w, id, &to_canonical, set, e));
}
