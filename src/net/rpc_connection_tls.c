/* TLS for https and wss through libssl; no other file uses libssl. TLS 1.2 or newer; the
 * certificate and the host name are always verified. libssl reads and writes the socket through our
 * own BIO, because its own raises SIGPIPE. Without read-ahead libssl reads one record at a time,
 * which is smaller than the buffer of rpc_connection_read, so libssl never holds decrypted data
 * that poll(2) does not report. */
#include "net/rpc_connection_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

enum { TEXT = 120 };

struct rpc_connection_tls {
    SSL_CTX *context;
    BIO_METHOD *socket;
    SSL *ssl;         /* session of the current connection, else NULL */
    bool open;        /* after the handshake, until an error */
    bool ended;       /* end of file on the socket */
    bool wants_write; /* reading continues when the socket is writable */
    char fault[TEXT]; /* text of the last error */
};

static int keep_retry(BIO *b, ssize_t n, int retry)
{
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int socket_write(BIO *b, const char *bytes, int n)
{
    const struct fumi_rpc_connection *c = BIO_get_data(b);
    return keep_retry(b, send(c->fd, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL),
                      BIO_FLAGS_WRITE);
}

static int socket_read(BIO *b, char *to, int n)
{
    const struct fumi_rpc_connection *c = BIO_get_data(b);
    ssize_t got = recv(c->fd, to, (size_t)n, MSG_DONTWAIT);
    c->tls->ended |= got == 0;
    return keep_retry(b, got, BIO_FLAGS_READ);
}

static long socket_control(BIO *b, int what, long number, void *p)
{
    const struct fumi_rpc_connection *c = BIO_get_data(b);
    (void)number, (void)p;
    return what == BIO_CTRL_EOF ? c->tls->ended : what == BIO_CTRL_FLUSH;
}

static int no_tls(struct fumi_err *e)
{
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "libssl cannot be used: %s",
                        ERR_reason_error_string(ERR_peek_last_error()));
}

static int trust(const struct fumi_rpc_connection *c, struct fumi_err *e)
{
    const char *file = c->options.ca_file;
    if (!file)
        return SSL_CTX_set_default_verify_paths(c->tls->context) == 1 ? 0 : no_tls(e);
    if (SSL_CTX_load_verify_file(c->tls->context, file) == 1)
        return 0;
    unsigned long why = ERR_peek_error();
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "the CA file %s cannot be used: %s; it must hold certificates as PEM", file,
                        ERR_SYSTEM_ERROR(why) ? strerror(ERR_GET_REASON(why))
                                              : "it holds no certificate");
}

int rpc_connection_tls_new(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    ERR_clear_error();
    struct rpc_connection_tls *t = c->tls = fumi_resize(NULL, sizeof(*t));
    *t = (struct rpc_connection_tls){
        .context = SSL_CTX_new(TLS_client_method()),
        .socket = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "fumi rpc connection")};
    if (!t->context || !t->socket || SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION) != 1)
        return no_tls(e);
    BIO_meth_set_write(t->socket, socket_write);
    BIO_meth_set_read(t->socket, socket_read);
    BIO_meth_set_ctrl(t->socket, socket_control);
    SSL_CTX_set_options(t->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(t->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
    return trust(c, e);
}

static bool is_address(const char *host)
{
    struct in6_addr any;
    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* The subject of a certificate is ignored; names are in subjectAltName (RFC 9525). */
static bool expect_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *want = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(want, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                              X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(want, host) == 1;
    return X509_VERIFY_PARAM_set1_host(want, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

static int begin(struct fumi_rpc_connection *c, struct fumi_err *e)
{
    static const unsigned char protocols[] = "\x08http/1.1";
    struct rpc_connection_tls *t = c->tls;
    char host[256];
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(c->endpoint.host, "%"),
             c->endpoint.host); /* without an IPv6 zone */
    t->open = t->ended = t->wants_write = false;
    t->fault[0] = 0;
    t->ssl = SSL_new(t->context);
    BIO *bio = t->ssl ? BIO_new(t->socket) : NULL;
    if (!bio)
        return no_tls(e);
    BIO_set_data(bio, c);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    if (!expect_host(t->ssl, host) ||
        SSL_set_alpn_protos(t->ssl, protocols, sizeof(protocols) - 1) != 0)
        return no_tls(e);
    return 0;
}

static const struct {
    long result;
    const char *what;
} distrusts[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "is not valid yet: is the clock right?"},
    {X509_V_ERR_HOSTNAME_MISMATCH, "is for another host"},
    {X509_V_ERR_IP_ADDRESS_MISMATCH, "is for another host"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "is self-signed: name it as the CA file to trust it"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
     "is signed by an authority that is not trusted: name that as the CA file"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
     "is signed by an authority that is not trusted: name that as the CA file"},
    {X509_V_ERR_CERT_REVOKED, "was revoked"},
};

/* FUMI_INVALID_REQUEST is final: another attempt would fail too. */
static int distrusted(const struct fumi_rpc_connection *c, long result, struct fumi_err *e)
{
    for (size_t i = 0; i < FUMI_COUNT(distrusts); i++)
        if (distrusts[i].result == result)
            return fumi_err_set(e, FUMI_INVALID_REQUEST, "the certificate of %s %s",
                                c->endpoint.url, distrusts[i].what);
    return fumi_err_set(e, FUMI_INVALID_REQUEST, "the certificate of %s is refused: %s",
                        c->endpoint.url, X509_verify_cert_error_string(result));
}

static const struct {
    int reason;
    const char *what;
} refusals[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "is the port right, and is it https or wss?"},
    {SSL_R_HTTP_REQUEST, "is the port right, and is it https or wss?"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "TLS 1.2 or newer is required"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "TLS 1.2 or newer is required"},
};

/* Short description of the last error. */
static const char *reason(struct rpc_connection_tls *t, int number)
{
    unsigned long why = ERR_peek_error();
    const char *text = why ? ERR_reason_error_string(why) : NULL;
    if (t->ended)
        text = "the connection ended without close_notify: the data may be cut off";
    else if (!text)
        text = number ? strerror(number) : "unknown error";
    snprintf(t->fault, sizeof(t->fault), "%s", text);
    return t->fault;
}

static int no_handshake(const struct fumi_rpc_connection *c, int number, struct fumi_err *e)
{
    struct rpc_connection_tls *t = c->tls;
    long result = SSL_get_verify_result(t->ssl);
    int why = ERR_GET_REASON(ERR_peek_error());
    if (result != X509_V_OK)
        return distrusted(c, result, e);
    if (t->ended || !ERR_peek_error())
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "the connection to %s was lost during the TLS handshake",
                            c->endpoint.url);
    for (size_t i = 0; i < FUMI_COUNT(refusals); i++)
        if (refusals[i].reason == why)
            return fumi_err_set(e, FUMI_INVALID_REQUEST,
                                "the TLS handshake with %s failed (%s): %s", c->endpoint.url,
                                reason(t, number), refusals[i].what);
    return fumi_err_set(e, FUMI_INVALID_REQUEST, "the TLS handshake with %s failed: %s",
                        c->endpoint.url, reason(t, number));
}

int rpc_connection_tls_open(struct fumi_rpc_connection *c, int64_t until, struct fumi_err *e)
{
    ERR_clear_error();
    if (begin(c, e))
        return -1;
    for (;;) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_connect(c->tls->ssl), number = errno;
        int what = SSL_get_error(c->tls->ssl, rc);
        if (rc == 1) {
            c->tls->open = true;
            return 0;
        }
        if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE)
            return no_handshake(c, number, e);
        if (!rpc_connection_poll(c->fd, what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until))
            return fumi_err_set(e, FUMI_LIMIT,
                                "%s does not answer the TLS handshake: does it support TLS?",
                                c->endpoint.url);
    }
}

/* Translates the result of SSL_read or SSL_write to that of recv or send; 0 means close_notify. */
static ssize_t result(struct rpc_connection_tls *t, int rc)
{
    int number = errno;
    if (rc > 0)
        return rc;
    int what = SSL_get_error(t->ssl, rc);
    t->wants_write = what == SSL_ERROR_WANT_WRITE;
    errno = EAGAIN;
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
        return -1;
    t->open = false;
    if (what == SSL_ERROR_ZERO_RETURN)
        return 0;
    reason(t, number);
    errno = EPROTO;
    return -1;
}

ssize_t rpc_connection_tls_read(struct fumi_rpc_connection *c, void *to, size_t n)
{
    ERR_clear_error();
    errno = 0;
    return result(c->tls, SSL_read(c->tls->ssl, to, n < INT32_MAX ? (int)n : INT32_MAX));
}

ssize_t rpc_connection_tls_write(struct fumi_rpc_connection *c, const void *from, size_t n)
{
    ERR_clear_error();
    errno = 0;
    bool wanted = c->tls->wants_write;
    ssize_t rc = result(c->tls, SSL_write(c->tls->ssl, from, n < INT32_MAX ? (int)n : INT32_MAX));
    c->tls->wants_write = wanted;
    return rc == 0 ? -1 : rc;
}

bool rpc_connection_tls_is_idle(struct fumi_rpc_connection *c)
{
    char byte;
    ERR_clear_error();
    errno = 0;
    return result(c->tls, SSL_peek(c->tls->ssl, &byte, 1)) < 0 && errno == EAGAIN;
}

bool rpc_connection_tls_wants_write(const struct fumi_rpc_connection *c)
{
    return c->tls && c->tls->wants_write;
}

const char *rpc_connection_tls_fault(const struct fumi_rpc_connection *c)
{
    return c->tls->fault;
}

/* Sends close_notify, if the socket accepts it without waiting. */
void rpc_connection_tls_close(struct fumi_rpc_connection *c)
{
    struct rpc_connection_tls *t = c->tls;
    if (!t || !t->ssl)
        return;
    ERR_clear_error();
    if (t->open)
        SSL_shutdown(t->ssl);
    SSL_free(t->ssl);
    t->ssl = NULL;
    t->open = t->wants_write = false;
    ERR_clear_error();
}

void rpc_connection_tls_done(struct fumi_rpc_connection *c)
{
    if (!c->tls)
        return;
    rpc_connection_tls_close(c);
    SSL_CTX_free(c->tls->context);
    BIO_meth_free(c->tls->socket);
    fumi_resize(c->tls, 0);
    c->tls = NULL;
}
