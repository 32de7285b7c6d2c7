/* Subscriptions to changes, and the notifications they cause.
 *
 * A legacy session gets all notifications of changed lists once it is initialized, and those of
 * resources it subscribed to (resources/subscribe). A modern client sends subscriptions/listen,
 * which stays pending until the client cancels it or the server ends. The thread that removes such
 * a call from the list finishes it. */
#include "mcp/mcp_parts.h"

#include <stdlib.h>

/* Pending calls count against the limits of open calls, and each subscribed resource is read again
 * after every change, so subscriptions are limited. */
enum {
    SUBSCRIPTIONS_MAX = 256,     /* of all clients */
    PEER_SUBSCRIPTIONS_MAX = 64, /* of one connection */
    URIS_MAX = 256,              /* of one session or subscription */
    TOTAL_URIS_MAX = 1024,       /* of all clients */
    URI_MAX = 4096,              /* bytes */
};

static const struct {
    const char *method; /* the notification */
    const char *filter; /* its key in the params of subscriptions/listen */
} lists[] = {
    [FUMI_MCP_TOOLS] = {"notifications/tools/list_changed", "toolsListChanged"},
    [FUMI_MCP_PROMPTS] = {"notifications/prompts/list_changed", "promptsListChanged"},
    [FUMI_MCP_RESOURCES] = {"notifications/resources/list_changed", "resourcesListChanged"},
};

static bool list_can_change(const struct fumi_mcp *m, size_t list)
{
    const bool present[] = {m->o.tools_n, m->o.prompts_n, m->o.resources};
    return present[list] && m->o.changes >> list & 1;
}

static bool contains(const struct fumi_strs *uris, struct fumi_str uri)
{
    for (size_t i = 0; i < uris->n; i++)
        if (fumi_eq(uris->items[i], uri))
            return true;
    return false;
}

void mcp_update_watched(struct fumi_mcp *m)
{
    bool any = false;
    for (const struct mcp_session *s = m->sessions; s && m->o.resources; s = s->next)
        any |= s->ready;
    for (const struct subscription *l = m->subscriptions; l; l = l->next)
        any |= l->uris.n || l->lists >> FUMI_MCP_RESOURCES & 1;
    any &= !m->ended;
    if (any == m->watched)
        return;
    m->watched = any;
    if (m->o.watched)
        m->o.watched(m->o.self, any);
}

static struct fumi_json params_of(struct fumi_buf *b, struct fumi_str uri, struct fumi_json id)
{
    struct fumi_out o = {.buf = b};
    fumi_put_open(&o, '{');
    if (uri.p) {
        fumi_put_key(&o, "uri");
        fumi_put_str(&o, uri);
    }
    if (id.text.p) {
        fumi_put_key(&o, "_meta");
        fumi_put_open(&o, '{');
        fumi_put_key(&o, MCP_META "subscriptionId");
        fumi_put_json(&o, id);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, '}');
    return (struct fumi_json){fumi_buf_str(b)};
}

static void notify_subscription(struct subscription *l, const char *method, struct fumi_str uri)
{
    struct fumi_buf b = {0};
    fumi_notify(l->call, method, &mcp_text_shape, &(struct mcp_text){params_of(&b, uri, l->id)});
    fumi_buf_done(&b);
}

void fumi_mcp_changed(struct fumi_mcp *m, enum fumi_mcp_list what)
{
    pthread_mutex_lock(&m->lock);
    for (struct mcp_session *s = m->sessions; s && !m->ended; s = s->next)
        if (s->ready)
            fumi_push(s->peer, lists[what].method, NULL, NULL);
    for (struct subscription *l = m->subscriptions; l; l = l->next)
        if (l->lists >> what & 1)
            notify_subscription(l, lists[what].method, (struct fumi_str){0});
    pthread_mutex_unlock(&m->lock);
}

void fumi_mcp_updated(struct fumi_mcp *m, struct fumi_str uri)
{
    static const char method[] = "notifications/resources/updated";
    struct fumi_buf b = {0};
    struct mcp_text params = {params_of(&b, uri, (struct fumi_json){{0}})};
    pthread_mutex_lock(&m->lock);
    for (struct mcp_session *s = m->sessions; s && !m->ended; s = s->next)
        if (s->ready && contains(&s->uris, uri))
            fumi_push(s->peer, method, &mcp_text_shape, &params);
    for (struct subscription *l = m->subscriptions; l; l = l->next)
        if (contains(&l->uris, uri))
            notify_subscription(l, method, uri);
    pthread_mutex_unlock(&m->lock);
    fumi_buf_done(&b);
}

static size_t add_all(struct fumi_str *to, const struct fumi_strs *uris)
{
    if (uris->n)
        memcpy(to, uris->items, uris->n * sizeof(*to));
    return uris->n;
}

static int by_text(const void *a, const void *b)
{
    const struct fumi_str *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->p, y->p, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Sorts the URIs, removes duplicates and copies the rest. */
static struct fumi_strs distinct(struct fumi_arena *a, struct fumi_strs all)
{
    size_t n = 0;
    if (all.n)
        qsort(all.items, all.n, sizeof(*all.items), by_text);
    for (size_t i = 0; i < all.n; i++)
        if (n == 0 || !fumi_eq(all.items[n - 1], all.items[i]))
            all.items[n++] = all.items[i];
    for (size_t i = 0; i < n; i++)
        all.items[i] = fumi_dup(a, all.items[i]);
    return (struct fumi_strs){all.items, n};
}

struct fumi_strs fumi_mcp_subscribed(struct fumi_mcp *m, struct fumi_arena *a)
{
    struct fumi_strs all = {fumi_alloc(a, TOTAL_URIS_MAX * sizeof(struct fumi_str)), 0};
    pthread_mutex_lock(&m->lock);
    for (const struct mcp_session *s = m->sessions; s; s = s->next)
        all.n += add_all(all.items + all.n, &s->uris);
    for (const struct subscription *l = m->subscriptions; l; l = l->next)
        all.n += add_all(all.items + all.n, &l->uris);
    all = distinct(a, all);
    pthread_mutex_unlock(&m->lock);
    return all;
}

static void remove_uri(struct fumi_mcp *m, struct fumi_strs *uris, struct fumi_str uri)
{
    for (size_t i = 0; i < uris->n; i++) {
        if (!fumi_eq(uris->items[i], uri))
            continue;
        fumi_resize((char *)uris->items[i].p, 0);
        uris->items[i] = uris->items[--uris->n];
        m->uris_n--;
        return;
    }
}

static int too_many_of_one(struct fumi_err *e, int limit, const char *what, const char *remedy)
{
    return fumi_err_set(e, MCP_TOO_MANY_SUBSCRIPTIONS,
                        "Too many subscriptions: a connection may have %d %s; %s", limit, what,
                        remedy);
}

static int too_many_in_all(struct fumi_err *e, int limit, const char *what, size_t left)
{
    return fumi_err_set(e, MCP_TOO_MANY_SUBSCRIPTIONS,
                        "Too many subscriptions: all clients together may have %d %s, and %zu are "
                        "left; try again with fewer, or later",
                        limit, what, left);
}

static int add_uri(struct fumi_mcp *m, struct fumi_strs *uris, struct fumi_str uri,
                   struct fumi_err *e)
{
    if (contains(uris, uri))
        return 0;
    if (uris->n == URIS_MAX)
        return too_many_of_one(e, URIS_MAX, "resources", "unsubscribe from one first");
    if (m->uris_n >= TOTAL_URIS_MAX)
        return too_many_in_all(e, TOTAL_URIS_MAX, "resources", 0);
    m->uris_n++;
    char *copy = fumi_resize(NULL, uri.n + 1);
    memcpy(copy, uri.p, uri.n);
    uris->items = fumi_resize(uris->items, (uris->n + 1) * sizeof(*uris->items));
    uris->items[uris->n++] = (struct fumi_str){copy, uri.n};
    return 0;
}

static enum fumi_ret subscribe(struct fumi_call *call, bool wants)
{
    struct mcp_context x;
    if (mcp_context_init(&x, call, MCP_LEGACY) != FUMI_OK)
        return FUMI_FAIL;
    struct fumi_str uri = fumi_text(call->arena, fumi_get(x.params, "uri"));
    struct mcp_session *s = mcp_session_of(x.mcp, call);
    int rc = 0;
    if (!uri.p || uri.n > URI_MAX)
        return fumi_fail(call, FUMI_INVALID_PARAMS, "uri is required: a string of at most %d bytes",
                         URI_MAX);
    if (!s)
        return fumi_fail(call, FUMI_INVALID_REQUEST,
                         "there is no session that can receive notifications: initialize one");
    pthread_mutex_lock(&x.mcp->lock);
    if (wants)
        rc = add_uri(x.mcp, &s->uris, uri, &call->err);
    else
        remove_uri(x.mcp, &s->uris, uri);
    pthread_mutex_unlock(&x.mcp->lock);
    return rc ? FUMI_FAIL : mcp_empty_result(&x);
}

enum fumi_ret mcp_subscribe(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return subscribe(call, true);
}

enum fumi_ret mcp_unsubscribe(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return subscribe(call, false);
}

/* Reads which changes the client wants. Lists that never change are ignored. */
static enum fumi_ret read_filter(struct mcp_context *x, const struct fumi_val *filter,
                                 struct subscription *l)
{
    struct fumi_call *call = x->call;
    const struct fumi_val *uris = fumi_get(filter, "resourceSubscriptions");
    if (!fumi_is(filter, FUMI_OBJECT))
        return fumi_fail(call, FUMI_INVALID_PARAMS, "notifications is required: an object");
    for (size_t i = 0; i < FUMI_COUNT(lists); i++)
        if (fumi_is(fumi_get(filter, lists[i].filter), FUMI_TRUE) && list_can_change(x->mcp, i))
            l->lists |= 1u << i;
    if (!uris || !x->mcp->o.resources)
        return FUMI_OK;
    if (!fumi_is(uris, FUMI_ARRAY) || fumi_size(uris) > URIS_MAX)
        return fumi_fail(call, FUMI_INVALID_PARAMS,
                         "notifications.resourceSubscriptions must be an array of at most %d URIs",
                         URIS_MAX);
    l->uris.items = fumi_alloc(call->arena, (fumi_size(uris) + 1) * sizeof(*l->uris.items));
    for (const struct fumi_val *v = fumi_first(uris); v; v = fumi_after(uris, v)) {
        struct fumi_str uri = fumi_text(call->arena, v);
        if (!uri.p || uri.n > URI_MAX)
            return fumi_fail(
                call, FUMI_INVALID_PARAMS,
                "notifications.resourceSubscriptions must contain strings of at most %d "
                "bytes",
                URI_MAX);
        l->uris.items[l->uris.n++] = uri;
    }
    return FUMI_OK;
}

static void put_accepted(struct fumi_out *o, const struct subscription *l)
{
    fumi_put_key(o, "notifications");
    fumi_put_open(o, '{');
    for (size_t i = 0; i < FUMI_COUNT(lists); i++) {
        if (!(l->lists >> i & 1))
            continue;
        fumi_put_key(o, lists[i].filter);
        fumi_put_bool(o, true);
    }
    if (l->uris.n) {
        fumi_put_key(o, "resourceSubscriptions");
        fumi_put_open(o, '[');
        for (size_t i = 0; i < l->uris.n; i++)
            fumi_put_str(o, l->uris.items[i]);
        fumi_put_close(o, ']');
    }
    fumi_put_close(o, '}');
}

static void put_meta(struct fumi_out *o, struct fumi_json id, const struct fumi_json *info)
{
    fumi_put_key(o, "_meta");
    fumi_put_open(o, '{');
    fumi_put_key(o, MCP_META "subscriptionId");
    fumi_put_json(o, id);
    if (info) {
        fumi_put_key(o, MCP_META "serverInfo");
        fumi_put_json(o, *info);
    }
    fumi_put_close(o, '}');
}

static void acknowledge(const struct subscription *l)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    put_accepted(&o, l);
    put_meta(&o, l->id, NULL);
    fumi_put_close(&o, '}');
    fumi_notify(l->call, "notifications/subscriptions/acknowledged", &mcp_text_shape,
                &(struct mcp_text){{fumi_buf_str(&b)}});
    fumi_buf_done(&b);
}

/* The result that ends a subscription. */
static void write_result(const struct fumi_mcp *m, const struct subscription *l)
{
    struct fumi_out *o = fumi_result(l->call);
    fumi_put_open(o, '{');
    mcp_put_text(o, "resultType", "complete");
    put_meta(o, l->id, &m->brief_info);
    fumi_put_close(o, '}');
}

/* Removes the subscriptions that were cancelled and, with `end`, those of the peer (NULL: of all
 * peers), and finishes their calls. They are finished without the lock, because fumi_finish may
 * wait for on_cancel, which takes it. */
static void finish_matching(struct fumi_mcp *m, bool end, const struct fumi_peer *peer)
{
    struct subscription *taken = NULL, *next;
    pthread_mutex_lock(&m->lock);
    for (struct subscription **at = &m->subscriptions; *at;) {
        struct subscription *l = *at;
        bool ends = fumi_cancelled(l->call) || (end && (!peer || l->call->peer == peer));
        if (!ends) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = taken;
        taken = l;
        assert(m->subscriptions_n > 0 && m->uris_n >= l->uris.n);
        m->subscriptions_n--;
        m->uris_n -= l->uris.n;
    }
    mcp_update_watched(m);
    pthread_mutex_unlock(&m->lock);
    for (struct subscription *l = taken; l; l = next) {
        next = l->next; /* fumi_finish frees the arena of l */
        write_result(m, l);
        fumi_finish(l->call, FUMI_OK);
    }
}

void mcp_end_subscriptions(struct fumi_mcp *m, const struct fumi_peer *peer)
{
    finish_matching(m, true, peer);
}

static void on_cancel(void *mcp)
{
    finish_matching(mcp, false, NULL);
}

/* Returns -1 and sets *e if the new subscription would exceed a limit. */
static int check_limits(const struct fumi_mcp *m, const struct subscription *new,
                        struct fumi_err *e)
{
    size_t n = 0;
    for (const struct subscription *l = m->subscriptions; l; l = l->next)
        n += l->call->peer == new->call->peer;
    if (n >= PEER_SUBSCRIPTIONS_MAX)
        return too_many_of_one(e, PEER_SUBSCRIPTIONS_MAX, "at a time", "cancel one first");
    if (m->subscriptions_n >= SUBSCRIPTIONS_MAX)
        return too_many_in_all(e, SUBSCRIPTIONS_MAX, "at a time", 0);
    if (m->uris_n + new->uris.n > TOTAL_URIS_MAX)
        return too_many_in_all(e, TOTAL_URIS_MAX, "resources", TOTAL_URIS_MAX - m->uris_n);
    return 0;
}

/* Once the subscription is in the list and the lock is released, another thread may finish the
 * call: it must not be used any more. */
static enum fumi_ret add_subscription(struct fumi_mcp *m, struct subscription *l)
{
    struct fumi_call *call = l->call;
    enum fumi_ret ret = FUMI_PENDING;
    pthread_mutex_lock(&m->lock);
    if (check_limits(m, l, &call->err)) {
        ret = FUMI_FAIL;
    } else {
        acknowledge(l);
        bool idle = m->ended || (!l->lists && !l->uris.n);
        if (idle || !fumi_on_cancel(call, on_cancel, m))
            ret = FUMI_OK;
    }
    if (ret == FUMI_OK)
        write_result(m, l);
    if (ret == FUMI_PENDING) {
        l->next = m->subscriptions;
        m->subscriptions = l;
        m->subscriptions_n++;
        m->uris_n += l->uris.n;
        mcp_update_watched(m);
    }
    pthread_mutex_unlock(&m->lock);
    return ret;
}

enum fumi_ret mcp_listen(struct fumi_call *call, const void *params, void *result)
{
    struct mcp_context x;
    (void)params, (void)result;
    if (mcp_context_init(&x, call, MCP_MODERN) != FUMI_OK)
        return FUMI_FAIL;
    if (!call->id || !fumi_can_notify(call))
        return fumi_fail(call, FUMI_INVALID_REQUEST,
                         "a subscription requires an id, and a connection that can receive events");
    struct subscription *l = fumi_alloc(call->arena, sizeof(*l));
    call->deadline = 0; /* no time limit */
    l->call = call;
    l->id.text = fumi_raw(call->id);
    if (read_filter(&x, fumi_get(x.params, "notifications"), l) != FUMI_OK)
        return FUMI_FAIL;
    mcp_mark_modern(x.mcp, call->peer);
    mcp_session_of(x.mcp, call); /* so that on_eof ends the subscription */
    return add_subscription(x.mcp, l);
}
