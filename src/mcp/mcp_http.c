/* MCP over HTTP: detects the revision of each POST, checks its headers and dispatches it.
 *
 * A modern request belongs to its connection and is cancelled when the connection closes. A legacy
 * request belongs to its session, which outlives connections (mcp_http_sessions.c). */
#include "mcp/mcp_http_parts.h"

/* One POST request while it is read and dispatched. */
struct http_post {
    struct fumi_mcp *mcp;
    const struct fumi_http_request *request;
    struct fumi_str body;
    struct fumi_reply *reply;
    struct fumi_arena arena;
    struct fumi_err err;
    struct fumi_exchange *message; /* the parsed message; NULL: dispatched, or invalid */
    const struct fumi_val *document, *method, *params, *id;
    struct fumi_str version; /* MCP-Protocol-Version; null: not sent */
};

static void end_with(struct fumi_reply *reply, int status, struct fumi_buf *body)
{
    struct fumi_page page = {.status = status, .type = "application/json"};
    fumi_reply_end(reply, &page, body);
    fumi_buf_done(body);
}

void mcp_http_reply(struct fumi_reply *reply, int status, const struct fumi_err *e,
                    const struct fumi_val *id)
{
    struct fumi_buf b = {0};
    if (e)
        fumi_put_error(&b, e, id, FUMI_ID_NONE);
    end_with(reply, status, &b);
}

/* The id of an error for a message without a usable id, as the revision of the session requires. */
static enum fumi_lost_id lost_id(const struct http_post *p)
{
    struct fumi_str name = fumi_http_field(p->request, "mcp-session-id");
    struct mcp_http_session *s = name.p
                                     ? mcp_http_session_find(p->mcp->http, name, p->request->peer)
                                     : NULL;
    if (!s)
        return FUMI_ID_NONE;
    enum fumi_lost_id lost = fumi_peer_lost_id(mcp_http_session_peer(s));
    mcp_http_session_unref(s);
    return lost;
}

static void reply_error(struct http_post *p, int status)
{
    struct fumi_buf b = {0};
    fumi_put_error(&b, &p->err, p->id, p->id ? FUMI_ID_NONE : lost_id(p));
    end_with(p->reply, status, &b);
}

static void reply_text(struct http_post *p, int status, int code, const char *text)
{
    fumi_err_set(&p->err, code, "%s", text);
    reply_error(p, status);
}

/* A dispatched message until its reply. */
struct http_call {
    struct fumi_mcp *mcp;
    struct fumi_reply *reply;
    struct mcp_http_session *session; /* NULL: modern */
    bool initializes;                 /* it is the initialize of the session */
    bool events_only;                 /* the client does not accept JSON */
    bool has_id;                      /* it is a request, not a notification */
};

static int status_of(const struct http_call *r, int code)
{
    if (r->session)
        return 200;
    switch (code) {
    case FUMI_METHOD_NOT_FOUND:
        return 404;
    case MCP_HEADER_MISMATCH:
    case MCP_MISSING_CAPABILITY:
    case MCP_UNSUPPORTED_VERSION:
        return 400;
    }
    return 200;
}

static void on_notify(void *arg, struct fumi_buf *message)
{
    fumi_reply_event(((struct http_call *)arg)->reply, message);
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct http_call *r = arg;
    struct fumi_page page = {.status = answer->n ? status_of(r, code) : 202,
                             .type = "application/json"};
    if (!answer->n && r->has_id && mcp_http_ended(r->mcp->http))
        page = (struct fumi_page){.status = 503, .field = "Retry-After", .value = "1"};
    if (r->initializes && !code)
        mcp_http_session_name(r->session, &page);
    if (r->events_only && !r->initializes && page.status == 200) {
        fumi_reply_event(r->reply, answer);
        fumi_buf_reset(answer, 0);
    }
    fumi_reply_end(r->reply, &page, answer);
    if (r->initializes && code)
        mcp_http_session_close(r->session);
    if (r->session)
        mcp_http_session_unref(r->session);
    fumi_resize(r, 0);
}

static void dispatch(struct http_post *p, struct mcp_http_session *session, bool initializes)
{
    struct http_call *r = fumi_resize(NULL, sizeof(*r));
    bool events = fumi_accepts_events(p->request);
    struct fumi_peer *peer = session ? mcp_http_session_peer(session) : p->request->peer;
    *r = (struct http_call){p->mcp, p->reply, session, initializes, !fumi_accepts_json(p->request),
                            p->id};
    if (!session) {
        fumi_peer_set_lost_id(peer, FUMI_ID_NONE);
        fumi_reply_watch(p->reply, NULL, NULL);
    }
    struct fumi_exchange *message = p->message;
    p->message = NULL;
    fumi_message_handle(message, peer,
                        (struct fumi_sink){.notify = events ? on_notify : NULL,
                                           .reply = on_reply,
                                           .arg = r,
                                           .source = fumi_http_source(p->request)});
}

static int mismatch(struct http_post *p, const char *header, const char *why)
{
    return fumi_err_set(&p->err, MCP_HEADER_MISMATCH, "The header %s %s", header, why);
}

/* Decodes a header value that is base64 between =?base64? and ?=; others stay as they are. Returns
 * false if the encoding is invalid. */
static bool decode(struct fumi_arena *a, struct fumi_str *value)
{
    const struct fumi_str begin = FUMI_STR("=?base64?"), end = FUMI_STR("?=");
    struct fumi_str v = *value;
    if (v.n < begin.n + end.n || !fumi_starts(v, begin) ||
        memcmp(v.p + v.n - end.n, end.p, end.n) != 0)
        return true;
    *value = fumi_base64_read(a, (struct fumi_str){v.p + begin.n, v.n - begin.n - end.n});
    return value->p && fumi_utf8_valid(*value);
}

/* A header must repeat a string of the body. */
static int check_mirror(struct http_post *p, const char *header, struct fumi_str must)
{
    struct fumi_str value = fumi_http_field(p->request, header);
    if (!value.p)
        return mismatch(p, header, "is missing: it must repeat the body");
    if (!decode(&p->arena, &value))
        return mismatch(p, header, "is not valid base64 of UTF-8");
    return fumi_eq(value, must) ? 0 : mismatch(p, header, "differs from the body");
}

static int check_name(struct http_post *p)
{
    static const struct {
        const char *method, *member;
    } rows[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        const struct fumi_val *v = fumi_get(p->params, rows[i].member);
        if (fumi_text_is(p->method, fumi_str(rows[i].method)) && fumi_is(v, FUMI_STRING))
            return check_mirror(p, "mcp-name", fumi_text(&p->arena, v));
    }
    return 0;
}

/* Strings compare by content, integers by value, anything else by its JSON text. */
static bool same_value(struct http_post *p, const struct fumi_val *v, struct fumi_str header)
{
    struct fumi_err ignored;
    int64_t a, b;
    if (fumi_is(v, FUMI_STRING))
        return fumi_eq(fumi_text(&p->arena, v), header);
    if (fumi_int(v, &a) && fumi_int(fumi_parse(&p->arena, header, &ignored), &b))
        return a == b;
    return fumi_eq(fumi_raw(v), header);
}

static int check_param(struct http_post *p, struct fumi_str name, const struct fumi_val *value)
{
    char header[128] = "mcp-param-";
    size_t n = strlen(header);
    for (size_t i = 0; i < name.n && n + 1 < sizeof(header); i++)
        header[n++] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    header[n] = '\0';
    struct fumi_str is = fumi_http_field(p->request, header);
    bool given = value && !fumi_is(value, FUMI_NULL);
    if (given != (is.p != NULL))
        return mismatch(p, header,
                        given ? "is missing: it must repeat the argument"
                              : "is present, but the argument that it must repeat is not");
    if (!given)
        return 0;
    if (!decode(&p->arena, &is))
        return mismatch(p, header, "is not valid base64 of UTF-8");
    return same_value(p, value, is) ? 0 : mismatch(p, header, "differs from the argument");
}

/* Arguments whose schema has x-mcp-header must be repeated in that header. */
static int check_params(struct http_post *p, const struct fumi_val *schema,
                        const struct fumi_val *arguments, int depth)
{
    const struct fumi_val *properties = fumi_get(schema, "properties");
    if (depth == 0 || !fumi_is(properties, FUMI_OBJECT))
        return 0;
    for (const struct fumi_val *k = fumi_first(properties); k; k = fumi_after(properties, k)) {
        struct fumi_str name = fumi_text(&p->arena, k);
        const char *key = fumi_fmt(&p->arena, "%.*s", FUMI_ARG(name)).p;
        const struct fumi_val *value = fumi_get(arguments, key);
        struct fumi_str header = fumi_text(&p->arena, fumi_get(fumi_of(k), "x-mcp-header"));
        if (header.p && check_param(p, header, value))
            return -1;
        if (check_params(p, fumi_of(k), value, depth - 1))
            return -1;
    }
    return 0;
}

static int check_tool(struct http_post *p)
{
    const struct mcp_tool *t = fumi_text_is(p->method, FUMI_STR("tools/call"))
                                   ? mcp_tool_find(p->mcp, fumi_get(p->params, "name"))
                                   : NULL;
    if (!t || !t->mirrors)
        return 0;
    return check_params(p, t->mirrors, fumi_get(p->params, "arguments"), 8);
}

static int check_headers(struct http_post *p, struct fumi_str version)
{
    struct fumi_str method = fumi_text(&p->arena, p->method);
    struct fumi_str header = fumi_http_field(p->request, "mcp-method");
    if (p->version.p && !fumi_eq(p->version, version))
        return mismatch(p, "mcp-protocol-version", "differs from the body");
    if (header.p && !fumi_eq(header, method))
        return mismatch(p, "mcp-method", "differs from the body");
    if (mcp_version_check(&p->arena, version, &p->err))
        return -1;
    if (!p->version.p)
        return mismatch(p, "mcp-protocol-version", "is missing: it must repeat the body");
    if (!header.p)
        return mismatch(p, "mcp-method", "is missing: it must repeat the body");
    return check_name(p) || check_tool(p) ? -1 : 0;
}

static void serve_modern(struct http_post *p, struct fumi_str version)
{
    if (check_headers(p, version)) {
        reply_error(p, 400);
        return;
    }
    if (fumi_text_is(p->method, FUMI_STR("subscriptions/listen")) &&
        !fumi_accepts_events(p->request)) {
        reply_text(p, 406, FUMI_INVALID_REQUEST, "Accept must allow text/event-stream");
        return;
    }
    dispatch(p, NULL, false);
}

static void serve_handshake(struct http_post *p)
{
    struct mcp_http_session *s;
    if (mcp_is_modern(p->version)) {
        fumi_err_set(&p->err, MCP_HEADER_MISMATCH,
                     "initialize does not exist in the version of MCP-Protocol-Version");
        reply_error(p, 400);
    } else if (fumi_http_field(p->request, "mcp-session-id").p) {
        if (!(s = mcp_http_session_for(p->mcp, p->request, p->reply, p->id)))
            return;
        mcp_http_session_unref(s);
        reply_text(p, 400, FUMI_INVALID_REQUEST, "the session is initialized already");
    } else if (!(s = mcp_http_session_new(p->mcp->http, p->request->peer))) {
        reply_text(p, 503, FUMI_LIMIT, "there are too many sessions: end some, or try again");
    } else {
        dispatch(p, s, true);
    }
}

struct mcp_http_session *mcp_http_session_for(struct fumi_mcp *m, const struct fumi_http_request *r,
                                              struct fumi_reply *reply, const struct fumi_val *id)
{
    struct fumi_err e;
    struct fumi_str name = fumi_http_field(r, "mcp-session-id");
    struct fumi_str version = fumi_http_field(r, "mcp-protocol-version");
    if (version.p && mcp_version_of(version) < 0) {
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "MCP-Protocol-Version is not a supported version");
        mcp_http_reply(reply, 400, &e, id);
        return NULL;
    }
    if (!name.p) {
        fumi_err_set(&e, FUMI_INVALID_REQUEST, "Mcp-Session-Id is required: begin with initialize");
        mcp_http_reply(reply, 400, &e, id);
        return NULL;
    }
    struct mcp_http_session *s = mcp_http_session_find(m->http, name, r->peer);
    if (!s) {
        fumi_err_set(&e, MCP_NO_SESSION, "Session not found");
        mcp_http_reply(reply, 404, &e, id);
    }
    return s;
}

static void serve_legacy(struct http_post *p)
{
    struct mcp_http_session *s = mcp_http_session_for(p->mcp, p->request, p->reply, p->id);
    if (s)
        dispatch(p, s, false);
}

static bool has_version(const struct fumi_val *message)
{
    const struct fumi_val *meta = fumi_get(fumi_get(message, "params"), "_meta");
    return fumi_get(meta, MCP_META "protocolVersion");
}

static bool is_message(const struct fumi_val *v)
{
    return fumi_is(v, FUMI_OBJECT) && fumi_text_is(fumi_get(v, "jsonrpc"), FUMI_STR("2.0")) &&
           (fumi_is(fumi_get(v, "method"), FUMI_STRING) || fumi_get(v, "result") ||
            fumi_get(v, "error"));
}

static void serve_batch(struct http_post *p)
{
    const struct fumi_val *all = p->document;
    bool fits = fumi_first(all) && !mcp_is_modern(p->version);
    for (const struct fumi_val *v = fumi_first(all); v && fits; v = fumi_after(all, v))
        fits = is_message(v) && !has_version(v);
    if (!fits) {
        reply_text(
            p, 400, FUMI_INVALID_REQUEST,
            "a batch must contain at least one request, and only requests of MCP 2025-03-26");
        return;
    }
    struct mcp_http_session *s = mcp_http_session_for(p->mcp, p->request, p->reply, NULL);
    if (!s)
        return;
    if (mcp_http_session_version(s) == MCP_VERSION_WITH_BATCHES) {
        dispatch(p, s, false);
        return;
    }
    mcp_http_session_unref(s);
    reply_text(p, 400, FUMI_INVALID_REQUEST,
               "this version of MCP has no batches: send each request by itself");
}

static void serve_request(struct http_post *p)
{
    struct mcp_meta meta;
    int rc = mcp_meta_read(&p->arena, p->params, &meta, &p->err);
    bool modern = meta.present && !rc && mcp_is_modern(meta.version);
    if (fumi_text_is(p->method, FUMI_STR("initialize")) && !modern)
        serve_handshake(p);
    else if (rc)
        reply_error(p, 400);
    else if (meta.present)
        serve_modern(p, meta.version);
    else if (mcp_is_modern(p->version))
        reply_text(p, 400, FUMI_INVALID_PARAMS,
                   "params._meta must have " MCP_META "protocolVersion and " MCP_META
                   "clientCapabilities");
    else
        serve_legacy(p);
}

static bool is_id(const struct fumi_val *id)
{
    return fumi_is(id, FUMI_STRING) || fumi_is(id, FUMI_NUMBER);
}

static void serve_message(struct http_post *p)
{
    const struct fumi_val *id = fumi_get(p->document, "id");
    p->method = fumi_get(p->document, "method");
    p->params = fumi_get(p->document, "params");
    p->id = is_id(id) ? id : NULL;
    if (!is_message(p->document) || (id && !p->id)) {
        reply_text(p, 400, FUMI_INVALID_REQUEST,
                   "a message has jsonrpc 2.0, a method, and an id that is a string or an integer");
        return;
    }
    bool modern = has_version(p->document) || mcp_is_modern(p->version);
    if (p->method && p->id)
        serve_request(p);
    else if (p->method && modern)
        mcp_http_reply(p->reply, 202, NULL, NULL); /* accepted and ignored */
    else
        serve_legacy(p);
}

static void serve_post(struct http_post *p)
{
    if (!fumi_http_field(p->request, "content-type").p) {
        reply_text(p, 415, FUMI_INVALID_REQUEST, "Content-Type must be application/json");
        return;
    }
    if (!fumi_accepts_json(p->request) && !fumi_accepts_events(p->request)) {
        reply_text(p, 406, FUMI_INVALID_REQUEST,
                   "Accept must allow application/json and text/event-stream");
        return;
    }
    p->version = fumi_http_field(p->request, "mcp-protocol-version");
    p->message = fumi_message_read(p->mcp->server, p->request->peer->spare, p->body, &p->document,
                                   &p->err);
    if (!p->document)
        reply_error(p, 400);
    else if (fumi_is(p->document, FUMI_ARRAY))
        serve_batch(p);
    else
        serve_message(p);
}

static void run(void *self, const struct fumi_http_request *r, struct fumi_str body,
                struct fumi_reply *reply)
{
    struct fumi_mcp *m = self;
    struct fumi_page not_allowed = {
        .status = 405, .field = "Allow", .value = "POST, GET, DELETE, OPTIONS"};
    struct http_post p = {.mcp = m, .request = r, .body = body, .reply = reply};
    if (fumi_eq(r->method, FUMI_STR("POST")))
        serve_post(&p);
    else if (fumi_eq(r->method, FUMI_STR("GET")))
        mcp_http_session_stream(m, r, reply);
    else if (fumi_eq(r->method, FUMI_STR("DELETE")))
        mcp_http_session_delete(m, r, reply);
    else
        fumi_reply_end(reply, &not_allowed, &(struct fumi_buf){0});
    if (p.message)
        fumi_message_drop(p.message, r->peer->spare);
    fumi_arena_done(&p.arena);
}

struct fumi_route fumi_mcp_route(struct fumi_mcp *m)
{
    if (!m->http)
        m->http = mcp_http_new(m);
    return (struct fumi_route){.path = "/mcp",
                               .methods = FUMI_GET | FUMI_POST | FUMI_DELETE,
                               .allow = "POST, GET, DELETE, OPTIONS",
                               .upgrades = true,
                               .run = run,
                               .self = m};
}
