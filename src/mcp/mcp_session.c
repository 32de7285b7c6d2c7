/* The session of a legacy connection: the negotiated version and capabilities, and its
 * subscriptions. */
#include "mcp/mcp_parts.h"

/* Bytes of a client's capabilities, and of its name and version; longer ones are ignored. */
enum { CAPABILITIES_MAX = 16 << 10, INFO_MAX = 256 };

/* A client that closes its end of the connection ends its subscriptions. */
static void on_eof(struct fumi_peer *peer)
{
    const struct mcp_session *s = peer->session;
    mcp_end_subscriptions(s->mcp, peer);
}

static void on_gone(struct fumi_peer *peer)
{
    struct mcp_session *s = peer->session;
    pthread_mutex_lock(&s->mcp->lock);
    mcp_session_leave(s);
    mcp_update_watched(s->mcp);
    pthread_mutex_unlock(&s->mcp->lock);
}

static void on_done(struct fumi_peer *peer)
{
    struct mcp_session *s = peer->session;
    mcp_session_done(s);
    fumi_resize(s, 0);
}

static const struct fumi_session_ops ops = {on_eof, on_gone, on_done};

void mcp_session_init(struct mcp_session *s, struct fumi_mcp *m, struct fumi_peer *peer)
{
    *s = (struct mcp_session){.mcp = m, .peer = peer, .version = -1, .level = FUMI_MCP_WARNING};
}

void mcp_session_join(struct mcp_session *s)
{
    struct fumi_mcp *m = s->mcp;
    assert(!s->at);
    s->next = m->sessions;
    s->at = &m->sessions;
    if (s->next)
        s->next->at = &s->next;
    m->sessions = s;
}

void mcp_session_leave(struct mcp_session *s)
{
    if (!s->at)
        return;
    s->mcp->uris_n -= s->uris.n;
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    s->at = NULL;
}

void mcp_session_done(struct mcp_session *s)
{
    assert(!s->at);
    for (size_t i = 0; i < s->uris.n; i++)
        fumi_resize((char *)s->uris.items[i].p, 0);
    fumi_resize(s->uris.items, 0);
    fumi_arena_done(&s->arena);
}

/* The session joins the list before it is attached to the peer, because on_gone, which removes it
 * from the list, may run as soon as it is attached. */
struct mcp_session *mcp_session_of(struct fumi_mcp *m, struct fumi_call *call)
{
    struct fumi_peer *peer = call->peer;
    struct mcp_session *is = __atomic_load_n((struct mcp_session **)&peer->session,
                                             __ATOMIC_ACQUIRE);
    if (is || !peer->push)
        return is;
    struct mcp_session *s = fumi_resize(NULL, sizeof(*s));
    mcp_session_init(s, m, peer);
    pthread_mutex_lock(&m->lock);
    mcp_session_join(s);
    pthread_mutex_unlock(&m->lock);
    if (fumi_peer_attach(peer, s, &ops)) {
        if (fumi_peer_lost_id(peer) == FUMI_ID_NULL)
            fumi_peer_set_lost_id(peer, FUMI_ID_FOUND);
        return s;
    }
    pthread_mutex_lock(&m->lock);
    mcp_session_leave(s);
    pthread_mutex_unlock(&m->lock);
    mcp_session_done(s);
    fumi_resize(s, 0);
    return __atomic_load_n((struct mcp_session **)&peer->session, __ATOMIC_ACQUIRE);
}

/* A member of the clientInfo; null if it is missing or too long. */
static struct fumi_str info_of(struct mcp_session *s, const struct fumi_val *params,
                               const char *name)
{
    const struct fumi_val *v = fumi_get(fumi_get(params, "clientInfo"), name);
    bool fits = fumi_is(v, FUMI_STRING) && v->n <= INFO_MAX;
    return fits ? fumi_dup(&s->arena, fumi_text(&s->arena, v)) : (struct fumi_str){0};
}

void mcp_session_negotiated(struct mcp_session *s, const struct fumi_val *params, int version)
{
    struct fumi_err ignored;
    const struct fumi_val *capabilities = fumi_get(params, "capabilities");
    struct fumi_str client = info_of(s, params, "name"), of = info_of(s, params, "version");
    bool fits = fumi_is(capabilities, FUMI_OBJECT) && fumi_raw(capabilities).n <= CAPABILITIES_MAX;
    struct fumi_json text = {{0}};
    if (fits)
        text = fumi_compact(&s->arena, capabilities);
    pthread_mutex_lock(&s->mcp->lock);
    s->capabilities = fits ? fumi_parse(&s->arena, text.text, &ignored) : NULL;
    s->client = client;
    s->client_version = of;
    s->version = version;
    fumi_peer_set_lost_id(s->peer,
                          version >= MCP_VERSION_WITHOUT_NULL_ID ? FUMI_ID_NONE : FUMI_ID_FOUND);
    pthread_mutex_unlock(&s->mcp->lock);
}

/* A random name for the session or the connection. It is not the Mcp-Session-Id, which only the
 * client may know. A request over HTTP without a session belongs to no conversation. */
static struct fumi_str conversation_of(const struct fumi_call *c)
{
    if (!c->peer->push)
        return (struct fumi_str){0};
    return fumi_fmt(c->arena, "mcp-%016llx", (unsigned long long)fumi_peer_number(c->peer));
}

void mcp_identify(const struct mcp_context *x)
{
    x->call->conversation = conversation_of(x->call);
    x->call->client = x->client;
    x->call->client_version = x->client_version;
}

void mcp_mark_modern(struct fumi_mcp *m, struct fumi_peer *peer)
{
    struct mcp_session *s = __atomic_load_n((struct mcp_session **)&peer->session,
                                            __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&m->lock);
    if (peer->push && (!s || s->version < 0))
        fumi_peer_set_lost_id(peer, FUMI_ID_NONE);
    pthread_mutex_unlock(&m->lock);
}
