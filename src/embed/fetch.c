/* A handle of libcurl keeps its connections open, so a few idle handles are kept between calls. The
 * address that a host name resolves to is checked before a socket is opened for it. */
#include "embed/fetch.h"

#include "base/buf.h"
#include "embed/curl.h"
#include "embed/provider_url.h"
#include "model/codes.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    CONNECT_MS = 5000,
    WHOLE_MS = 30000,
    ANSWER = 16 << 20, /* bytes of a body */
    HEAD = 64 << 10,   /* bytes of all header fields */
    KEPT = 8,          /* idle handles */
};

struct fetch_pool {
    pthread_mutex_t lock;
    size_t n;
    CURL *idle[KEPT];
};

struct fetch_pool *fetch_pool_new(void)
{
    struct fetch_pool *p = fumi_resize(NULL, sizeof(*p));
    memset(p, 0, sizeof(*p));
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void fetch_pool_free(struct fetch_pool *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        curl_calls()->easy_cleanup(p->idle[i]);
    pthread_mutex_destroy(&p->lock);
    fumi_resize(p, 0);
}

static CURL *take(struct fetch_pool *p)
{
    CURL *c = NULL;
    if (p) {
        pthread_mutex_lock(&p->lock);
        c = p->n ? p->idle[--p->n] : NULL;
        pthread_mutex_unlock(&p->lock);
    }
    return c ? c : curl_calls()->easy_init();
}

/* Resetting a handle drops the request, including the key, and keeps the connections. */
static void give(struct fetch_pool *p, CURL *c)
{
    curl_calls()->easy_reset(c);
    if (p) {
        pthread_mutex_lock(&p->lock);
        assert(p->n <= KEPT);
        if (p->n < KEPT) {
            p->idle[p->n++] = c;
            c = NULL;
        }
        pthread_mutex_unlock(&p->lock);
    }
    curl_calls()->easy_cleanup(c);
}

/* One request in progress. */
struct fetch_transfer {
    const struct fetch_request *request;
    struct provider_url target;
    struct fumi_buf body;
    size_t head;   /* bytes of header fields received */
    bool refused;  /* the address was refused */
    bool too_long; /* the answer exceeds a limit */
};

static size_t receive(char *bytes, size_t one, size_t n, void *arg)
{
    struct fetch_transfer *t = arg;
    fumi_buf_add(&t->body, bytes, one * n);
    t->too_long = t->body.full;
    return t->body.full ? 0 : one * n;
}

static size_t receive_field(char *bytes, size_t one, size_t n, void *arg)
{
    struct fetch_transfer *t = arg;
    (void)bytes;
    t->head += one * n;
    t->too_long = t->head > HEAD;
    return t->too_long ? 0 : one * n;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct fetch_transfer *t = arg;
    bool only_local = t->target.local || (t->target.plain && !t->request->allow_http);
    (void)purpose;
    if (!provider_url_may_connect(&address->addr, only_local)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* A proxy from the environment is not used for this machine. With CURLOPT_QUICK_EXIT a timeout does
 * not wait for a resolver that is still running. */
static bool set_guards(CURL *c, struct fetch_transfer *t)
{
    unsigned bad = 0;
    bad |= curl_calls()->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_calls()->easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_OPENSOCKETDATA, t);
    if (t->target.local)
        bad |= curl_calls()->easy_setopt(c, CURLOPT_PROXY, "");
    return !bad;
}

/* Called about once a second and whenever data arrives. */
static int check_stop(void *arg, curl_off_t all, curl_off_t now, curl_off_t all_up,
                      curl_off_t now_up)
{
    const struct fetch_transfer *t = arg;
    (void)all, (void)now, (void)all_up, (void)now_up;
    return t->request->stop && atomic_load(t->request->stop);
}

static bool set_limits(CURL *c, struct fetch_transfer *t)
{
    long ms = t->request->ms < WHOLE_MS ? (long)t->request->ms : WHOLE_MS;
    unsigned bad = 0;
    t->body.limit = t->request->limit ? t->request->limit : ANSWER;
    bad |= curl_calls()->easy_setopt(c, CURLOPT_TIMEOUT_MS, ms);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                                     ms < CONNECT_MS ? ms : CONNECT_MS);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->body.limit);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_XFERINFOFUNCTION, check_stop);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_XFERINFODATA, t);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_WRITEFUNCTION, receive);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_WRITEDATA, t);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_HEADERFUNCTION, receive_field);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_HEADERDATA, t);
    return !bad;
}

static bool set_request(CURL *c, const struct fetch_request *r, struct curl_slist *fields)
{
    unsigned bad = 0;
    bad |= curl_calls()->easy_setopt(c, CURLOPT_URL, r->url);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_POST, 1L);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_POSTFIELDS, r->body.p);
    bad |= curl_calls()->easy_setopt(c, CURLOPT_USERAGENT, "fumi");
    bad |= curl_calls()->easy_setopt(c, CURLOPT_HTTPHEADER, fields);
    return !bad;
}

/* The error messages, to follow the name of the host. */
struct fetch_failure {
    CURLcode code;
    bool retryable;
    const char *what;
};

static const struct fetch_failure failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, true, "has no address: check embedder.baseUrl"},
    {CURLE_COULDNT_RESOLVE_PROXY, true, "cannot be reached: the proxy has no address"},
    {CURLE_COULDNT_CONNECT, true,
     "does not accept connections: check that the server runs, and embedder.baseUrl"},
    {CURLE_OPERATION_TIMEDOUT, true, "did not respond in time"},
    {CURLE_ABORTED_BY_CALLBACK, true, "did not respond before the program was stopped"},
    {CURLE_GOT_NOTHING, true, "closed the connection without a response"},
    {CURLE_PARTIAL_FILE, true, "closed the connection before the end of the response"},
    {CURLE_RECV_ERROR, true, "closed the connection unexpectedly"},
    {CURLE_SEND_ERROR, true, "closed the connection unexpectedly"},
    {CURLE_FILESIZE_EXCEEDED, false, "sent a response that is too long"},
    {CURLE_PEER_FAILED_VERIFICATION, false,
     "has a certificate that cannot be verified: check embedder.baseUrl"},
    {CURLE_SSL_CONNECT_ERROR, false, "does not support TLS 1.2 or newer: check embedder.baseUrl"},
    {CURLE_UNSUPPORTED_PROTOCOL, false, "does not support HTTP: check embedder.baseUrl"},
    {CURLE_WEIRD_SERVER_REPLY, false, "does not support HTTP: check embedder.baseUrl"},
};

/* The part of a URL that may be shown: not the path, which could contain a secret. */
static struct fumi_str host_of(const char *url)
{
    const char *mark = strstr(url, "://");
    const char *host = mark ? mark + 3 : url;
    return (struct fumi_str){host, strcspn(host, "/?#")};
}

static int fail(const struct fetch_transfer *t, CURLcode code, bool *retryable, struct fumi_err *e)
{
    struct fumi_str host = host_of(t->request->url);
    if (t->refused && code == CURLE_COULDNT_CONNECT)
        return fumi_err_set(e, ERR_PROVIDER,
                            "%.*s has an address that is refused: link-local, or plain http to "
                            "another machine",
                            FUMI_ARG(host));
    code = t->too_long ? CURLE_FILESIZE_EXCEEDED : code;
    for (size_t i = 0; i < FUMI_COUNT(failures); i++) {
        if (failures[i].code != code)
            continue;
        *retryable = failures[i].retryable;
        return fumi_err_set(e, ERR_PROVIDER, "%.*s %s", FUMI_ARG(host), failures[i].what);
    }
    return fumi_err_set(e, ERR_PROVIDER, "%.*s cannot be reached: %s", FUMI_ARG(host),
                        curl_calls()->easy_strerror(code));
}

/* Scheme, host and port of a redirect, which the user may want to set instead. */
static struct fumi_str origin(struct fumi_arena *a, const char *url)
{
    struct fumi_str host = host_of(url);
    const char *user = memchr(host.p, '@', host.n);
    if (user)
        host = (struct fumi_str){user + 1, host.n - (size_t)(user + 1 - host.p)};
    bool tls = strncasecmp(url, "https://", 8) == 0;
    return host.n > 255 || !provider_url_is_text(host)
               ? (struct fumi_str){0}
               : fumi_fmt(a, "%s://%.*s", tls ? "https" : "http", FUMI_ARG(host));
}

static void read_answer(CURL *c, struct fumi_arena *a, struct fetch_transfer *t,
                        struct fetch_answer *out)
{
    enum { DAY = 86400 };
    long status = 0;
    curl_off_t seconds = 0;
    char *location = NULL;
    curl_calls()->easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl_calls()->easy_getinfo(c, CURLINFO_RETRY_AFTER, &seconds);
    curl_calls()->easy_getinfo(c, CURLINFO_REDIRECT_URL, &location);
    out->status = (int)status;
    out->retry_after = (seconds < 0 ? 0 : seconds > DAY ? DAY : (int64_t)seconds) * 1000;
    out->body = fumi_dup(a, fumi_buf_str(&t->body));
    if (location)
        out->location = origin(a, location);
}

static int perform(CURL *c, struct fumi_arena *a, struct fetch_transfer *t,
                   struct curl_slist *fields, struct fetch_answer *out, struct fumi_err *e)
{
    if (!set_guards(c, t) || !set_limits(c, t) || !set_request(c, t->request, fields))
        return fumi_err_set(e, ERR_PROVIDER,
                            "libcurl is too old: it lacks options that a safe request needs");
    CURLcode code = curl_calls()->easy_perform(c);
    if (code)
        return fail(t, code, &out->retryable, e);
    read_answer(c, a, t, out);
    return 0;
}

static int send_on_handle(struct fumi_arena *a, struct fetch_transfer *t, struct curl_slist *fields,
                          struct fetch_answer *out, struct fumi_err *e)
{
    CURL *c = take(t->request->pool);
    if (!c)
        return fumi_err_set(e, ERR_PROVIDER, "libcurl cannot be started");
    int rc = perform(c, a, t, fields, out, e);
    give(t->request->pool, c);
    fumi_buf_done(&t->body);
    return rc;
}

/* The header fields are on the stack; the one with the key is erased after use. "Expect" is
 * removed, because many servers do not answer it. */
static int send_fields(struct fumi_arena *a, struct fetch_transfer *t, struct fetch_answer *out,
                       struct fumi_err *e)
{
    struct fumi_buf key = {0};
    char type[] = "Content-Type: application/json", accept[] = "Accept: application/json",
         expect[] = "Expect:";
    struct curl_slist fields[] = {
        {type, fields + 1}, {accept, fields + 2}, {expect, NULL}, {NULL, NULL}};
    if (t->request->api_key.n) {
        static const char prefix[] = "Authorization: Bearer ";
        fumi_buf_reserve(&key, sizeof(prefix) + t->request->api_key.n);
        fumi_buf_add(&key, prefix, sizeof(prefix) - 1);
        fumi_buf_add(&key, t->request->api_key.p, t->request->api_key.n);
        fumi_buf_put(&key, '\0');
        fields[3].data = key.p;
        fields[2].next = fields + 3;
    }
    int rc = send_on_handle(a, t, fields, out, e);
    if (key.p)
        explicit_bzero(key.p, key.n);
    fumi_buf_done(&key);
    return rc;
}

int fetch_post(struct fumi_arena *a, const struct fetch_request *r, struct fetch_answer *out,
               struct fumi_err *e)
{
    struct fetch_transfer t = {.request = r};
    *out = (struct fetch_answer){0};
    if (provider_url_read(fumi_str(r->url), r->allow_http, &t.target, e)) {
        e->code = ERR_PROVIDER;
        return -1;
    }
    if (!provider_url_is_text(r->api_key))
        return fumi_err_set(e, ERR_PROVIDER,
                            "the API key contains blanks or control characters: set it again");
    if (r->ms <= 0) {
        out->retryable = true;
        return fumi_err_set(e, ERR_PROVIDER,
                            "no time was left for a request to the embedding server");
    }
    return send_fields(a, &t, out, e);
}
