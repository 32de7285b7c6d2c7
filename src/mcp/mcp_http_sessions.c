/* Sessions of legacy clients over HTTP. A session has one peer for all of its connections, so a
 * call of one connection can be cancelled, and a request of the server answered, through another.
 *
 * References are held by the list of sessions, by calls, by the stream, and by functions that use a
 * session. Lock order: that of fumi_mcp before that of mcp_http or of a stream. */
#include "mcp/mcp_http_parts.h"

#include "base/clock.h"
#include "base/uuid.h"

#include <stdio.h>

enum { SESSIONS_MAX = 1000, IDLE_MS = 30 * 60 * 1000, NAME = 32 };

struct mcp_http_session {
    struct mcp_session base;
    struct fumi_peer peer;
    struct mcp_http *http;
    struct mcp_http_session *next; /* in mcp_http.sessions */
    char name[NAME + 1];
    size_t refs;               /* guarded by http->lock */
    int64_t last_used;         /* time of the last request */
    bool closed;               /* removed from the list; guarded by http->lock */
    pthread_mutex_t lock;      /* guards stream */
    struct fumi_reply *stream; /* of the GET, for messages that belong to no call; NULL: none */
    char user[16];
};

struct mcp_http {
    struct fumi_mcp *mcp;
    pthread_mutex_t lock;
    struct mcp_http_session *sessions;
    size_t n;
    bool ended;
};

struct mcp_http *mcp_http_new(struct fumi_mcp *m)
{
    struct mcp_http *h = fumi_resize(NULL, sizeof(*h));
    *h = (struct mcp_http){.mcp = m};
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

static void session_free(struct mcp_http_session *s)
{
    fumi_peer_done(&s->peer);
    mcp_session_done(&s->base);
    pthread_mutex_destroy(&s->lock);
    fumi_resize(s, 0);
}

void mcp_http_session_unref(struct mcp_http_session *s)
{
    struct mcp_http *h = s->http;
    pthread_mutex_lock(&h->lock);
    assert(s->refs > 0);
    bool last = --s->refs == 0;
    pthread_mutex_unlock(&h->lock);
    if (last)
        session_free(s);
}

/* The caller must end the stream. */
static struct fumi_reply *take_stream(struct mcp_http_session *s)
{
    pthread_mutex_lock(&s->lock);
    struct fumi_reply *stream = s->stream;
    s->stream = NULL;
    pthread_mutex_unlock(&s->lock);
    return stream;
}

static void end_stream(struct mcp_http_session *s)
{
    struct fumi_reply *stream = take_stream(s);
    if (stream)
        mcp_http_reply(stream, 200, NULL, NULL);
}

/* Without a stream the message is dropped, as MCP allows. */
static void push(struct fumi_peer *peer, struct fumi_buf *message)
{
    struct mcp_http_session *s = FUMI_OWNER(peer, struct mcp_http_session, peer);
    pthread_mutex_lock(&s->lock);
    if (s->stream)
        fumi_reply_event(s->stream, message);
    pthread_mutex_unlock(&s->lock);
}

/* A call that missed its deadline still uses the session. */
static void keep(struct fumi_peer *peer, bool keep)
{
    struct mcp_http_session *s = FUMI_OWNER(peer, struct mcp_http_session, peer);
    if (!keep) {
        mcp_http_session_unref(s);
        return;
    }
    pthread_mutex_lock(&s->http->lock);
    s->refs++;
    pthread_mutex_unlock(&s->http->lock);
}

static void unlist(struct mcp_http *h, struct mcp_http_session *s)
{
    for (struct mcp_http_session **at = &h->sessions; *at; at = &(*at)->next) {
        if (*at != s)
            continue;
        *at = s->next;
        h->n--;
        return;
    }
}

void mcp_http_session_close(struct mcp_http_session *s)
{
    struct mcp_http *h = s->http;
    pthread_mutex_lock(&h->lock);
    bool first = !s->closed;
    s->closed = true;
    if (first)
        unlist(h, s);
    pthread_mutex_unlock(&h->lock);
    if (!first)
        return;
    pthread_mutex_lock(&h->mcp->lock);
    mcp_session_leave(&s->base);
    mcp_update_watched(h->mcp);
    pthread_mutex_unlock(&h->mcp->lock);
    fumi_peer_close(&s->peer);
    end_stream(s);
    mcp_http_session_unref(s); /* the list's reference */
}

/* An unused session that expired; if the list is full, the unused session whose last request is the
 * oldest. Returns a reference, or NULL if there is none. */
static struct mcp_http_session *find_stale(struct mcp_http *h)
{
    struct mcp_http_session *oldest = NULL;
    pthread_mutex_lock(&h->lock);
    int64_t limit = h->n >= SESSIONS_MAX ? INT64_MAX : fumi_now() - IDLE_MS;
    for (struct mcp_http_session *s = h->sessions; s; s = s->next) {
        if (s->refs > 1 || s->last_used >= limit)
            continue;
        limit = s->last_used;
        oldest = s;
    }
    if (oldest)
        oldest->refs++;
    pthread_mutex_unlock(&h->lock);
    return oldest;
}

static void close_stale(struct mcp_http *h)
{
    struct mcp_http_session *s;
    while ((s = find_stale(h))) {
        mcp_http_session_close(s);
        mcp_http_session_unref(s);
    }
}

static struct mcp_http_session *session_make(struct mcp_http *h, const struct fumi_peer *like)
{
    unsigned char random[NAME / 2];
    struct mcp_http_session *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    fumi_random(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(s->name + 2 * i, 3, "%02x", random[i]);
    snprintf(s->user, sizeof(s->user), "%.*s", FUMI_ARG(like->user));
    s->http = h;
    s->refs = 2; /* of the list and of the caller */
    s->last_used = fumi_now();
    s->peer = (struct fumi_peer){.transport = "http",
                                 .session = &s->base,
                                 .push = push,
                                 .keep = keep,
                                 .lost_id = FUMI_ID_FOUND};
    s->peer.user = (struct fumi_str){like->user.p ? s->user : NULL, strlen(s->user)};
    pthread_mutex_init(&s->lock, NULL);
    fumi_peer_share(&s->peer);
    mcp_session_init(&s->base, h->mcp, &s->peer);
    return s;
}

/* Whether the session or the server ended, possibly before the stream was attached. */
static bool has_ended(struct mcp_http_session *s)
{
    pthread_mutex_lock(&s->http->lock);
    bool over = s->closed || s->http->ended;
    pthread_mutex_unlock(&s->http->lock);
    return over;
}

struct mcp_http_session *mcp_http_session_new(struct mcp_http *h, const struct fumi_peer *like)
{
    close_stale(h);
    struct mcp_http_session *s = session_make(h, like);
    pthread_mutex_lock(&h->lock);
    bool full = h->n >= SESSIONS_MAX || h->ended;
    if (!full) {
        s->next = h->sessions;
        h->sessions = s;
        h->n++;
    }
    pthread_mutex_unlock(&h->lock);
    if (full) {
        session_free(s);
        return NULL;
    }
    pthread_mutex_lock(&h->mcp->lock);
    if (!has_ended(s)) /* otherwise it was closed by another thread */
        mcp_session_join(&s->base);
    pthread_mutex_unlock(&h->mcp->lock);
    return s;
}

struct mcp_http_session *mcp_http_session_find(struct mcp_http *h, struct fumi_str name,
                                               const struct fumi_peer *by)
{
    struct mcp_http_session *found = NULL;
    pthread_mutex_lock(&h->lock);
    for (struct mcp_http_session *s = h->sessions; s && !found; s = s->next)
        if (fumi_eq(name, (struct fumi_str){s->name, NAME}) && fumi_eq(s->peer.user, by->user))
            found = s;
    if (found) {
        found->refs++;
        found->last_used = fumi_now();
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}

struct fumi_peer *mcp_http_session_peer(struct mcp_http_session *s)
{
    return &s->peer;
}

int mcp_http_session_version(struct mcp_http_session *s)
{
    pthread_mutex_lock(&s->http->mcp->lock);
    int version = s->base.version;
    pthread_mutex_unlock(&s->http->mcp->lock);
    return version;
}

void mcp_http_session_name(const struct mcp_http_session *s, struct fumi_page *page)
{
    page->field = "Mcp-Session-Id";
    memcpy(page->value, s->name, sizeof(s->name));
}

/* The connection of the stream closed (left), or the stream was ended. */
static void on_stream_over(void *arg, bool left)
{
    struct mcp_http_session *s = arg;
    if (left)
        end_stream(s);
    mcp_http_session_unref(s);
}

bool mcp_http_ended(struct mcp_http *h)
{
    pthread_mutex_lock(&h->lock);
    bool ended = h->ended;
    pthread_mutex_unlock(&h->lock);
    return ended;
}

static bool attach(struct mcp_http_session *s, struct fumi_reply *reply)
{
    pthread_mutex_lock(&s->lock);
    bool first = !s->stream;
    if (first) {
        s->stream = reply;
        fumi_reply_event(reply, &(struct fumi_buf){0}); /* sends the head of the reply */
    }
    pthread_mutex_unlock(&s->lock);
    return first;
}

void mcp_http_session_stream(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply)
{
    struct fumi_err e;
    if (!fumi_accepts_events(r)) {
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "Accept must allow text/event-stream");
        mcp_http_reply(reply, 406, &e, NULL);
        return;
    }
    struct mcp_http_session *s = mcp_http_session_for(m, r, reply, NULL);
    if (!s)
        return;
    if (attach(s, reply)) {
        fumi_reply_watch(reply, on_stream_over, s); /* passes on the reference */
        if (has_ended(s))
            end_stream(s);
        return;
    }
    fumi_err_set(&e, FUMI_INVALID_REQUEST, "the session has a stream already");
    mcp_http_reply(reply, 409, &e, NULL);
    mcp_http_session_unref(s);
}

void mcp_http_session_delete(struct fumi_mcp *m, const struct fumi_http_request *r,
                             struct fumi_reply *reply)
{
    struct mcp_http_session *s = mcp_http_session_for(m, r, reply, NULL);
    if (!s)
        return;
    mcp_http_session_close(s);
    mcp_http_session_unref(s);
    mcp_http_reply(reply, 200, NULL, NULL);
}

static struct mcp_http_session *first_of(struct mcp_http *h)
{
    pthread_mutex_lock(&h->lock);
    struct mcp_http_session *s = h->sessions;
    if (s)
        s->refs++;
    pthread_mutex_unlock(&h->lock);
    return s;
}

/* All sessions, each with a reference; the caller frees the array. Marks the list as ended. */
static struct mcp_http_session **end_list(struct mcp_http *h, size_t *n)
{
    size_t i = 0;
    pthread_mutex_lock(&h->lock);
    h->ended = true;
    struct mcp_http_session **all = fumi_resize(NULL,
                                                (h->n + 1) * sizeof(struct mcp_http_session *));
    for (struct mcp_http_session *s = h->sessions; s; s = s->next) {
        s->refs++;
        all[i++] = s;
    }
    pthread_mutex_unlock(&h->lock);
    *n = i;
    return all;
}

/* Ends all streams at once. Calls go on unless `now` is set. */
void mcp_http_end(struct mcp_http *h, bool now)
{
    struct mcp_http_session *s;
    size_t n;
    struct mcp_http_session **all = end_list(h, &n);
    for (size_t i = 0; i < n; i++) {
        fumi_peer_eof(&all[i]->peer); /* no more responses can arrive */
        end_stream(all[i]);
        mcp_http_session_unref(all[i]);
    }
    fumi_resize(all, 0);
    while (now && (s = first_of(h))) {
        mcp_http_session_close(s);
        mcp_http_session_unref(s);
    }
}

void mcp_http_free(struct mcp_http *h)
{
    mcp_http_end(h, true);
    assert(!h->sessions && !h->n);
    pthread_mutex_destroy(&h->lock);
    fumi_resize(h, 0);
}
