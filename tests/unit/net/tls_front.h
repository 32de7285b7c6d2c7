/* A TLS proxy in front of a plain server, with certificates of every kind and with TLS behaviour
 * that a client must refuse. Loopback only. */
#ifndef FUMI_TLS_FRONT_H
#define FUMI_TLS_FRONT_H

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A certificate and its key. */
struct tls_cert {
    EVP_PKEY *key;
    X509 *x;
};

/* Creates a certificate with the common name "localhost". names: subjectAltName, such as
 * "DNS:localhost,IP:127.0.0.1"; NULL: none. Without names and signer it is an authority. Valid from
 * `from` to `to`, in seconds from now. signer NULL: self-signed. */
static inline struct tls_cert tls_cert_new(const char *names, long from, long to,
                                           const struct tls_cert *signer)
{
    static long serial;
    struct tls_cert c = {EVP_EC_gen("P-256"), X509_new()};
    const struct tls_cert *by = signer ? signer : &c;
    X509V3_CTX context;
    char name[40] = "localhost";
    if (!names && !signer)
        snprintf(name, sizeof(name), "CA %ld", serial);
    X509_set_version(c.x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c.x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(c.x), from);
    X509_gmtime_adj(X509_getm_notAfter(c.x), to);
    X509_set_pubkey(c.x, c.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c.x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(c.x, X509_get_subject_name(by->x));
    X509V3_set_ctx(&context, by->x, c.x, NULL, NULL, 0);
    const struct {
        int nid;
        const char *value;
    } extensions[] = {{NID_basic_constraints, names || signer ? "CA:FALSE" : "critical,CA:TRUE"},
                      {NID_subject_alt_name, names}};
    for (size_t i = 0; i < 2; i++) {
        X509_EXTENSION *e = extensions[i].value
                                ? X509V3_EXT_conf_nid(NULL, &context, extensions[i].nid,
                                                      extensions[i].value)
                                : NULL;
        if (e)
            X509_add_ext(c.x, e, -1);
        X509_EXTENSION_free(e);
    }
    X509_sign(c.x, by->key, EVP_sha256());
    return c;
}

static inline void tls_cert_free(struct tls_cert *c)
{
    EVP_PKEY_free(c->key);
    X509_free(c->x);
}

/* Writes the certificate to a new file; `path` ends with XXXXXX. */
static inline void tls_cert_write(const struct tls_cert *c, char *path)
{
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f || !PEM_write_X509(f, c->x) || fclose(f))
        abort();
}

enum tls_mood {
    TLS_FINE,
    TLS_CUT,         /* closes the socket without close_notify */
    TLS_SILENT,      /* never answers the handshake */
    TLS_HANG_UP,     /* closes the socket instead of a handshake */
    TLS_RENEGOTIATE, /* requests renegotiation before it sends data (TLS 1.2) */
    TLS_NEW_KEYS,    /* requests a key update before it sends data (TLS 1.3) */
};

struct tls_front {
    SSL_CTX *context;
    enum tls_mood mood;
    const char *behind; /* the plain server: "127.0.0.1:PORT" or the path of its socket */
    int listener, port;
    pthread_t thread;
    /* valid after tls_front_stop */
    size_t received; /* bytes received over TLS */
    int hellos;      /* handshakes started */
    char name[64];   /* server name of the last handshake; "": none */
};

static inline int tls_socket(struct sockaddr_in *at)
{
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Forwards data from the plain server to the client. Returns false at its end. */
static inline bool tls_say(const struct tls_front *f, SSL *ssl, int behind)
{
    char bytes[60000];
    ssize_t n = recv(behind, bytes, sizeof(bytes), 0);
    if (n <= 0)
        return false;
    if (f->mood == TLS_RENEGOTIATE && (SSL_renegotiate(ssl) != 1 || SSL_do_handshake(ssl) != 1))
        abort();
    if (f->mood == TLS_NEW_KEYS && SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) != 1)
        abort();
    return SSL_write(ssl, bytes, (int)n) > 0;
}

static inline bool tls_hear(struct tls_front *f, SSL *ssl, int behind)
{
    char bytes[20000]; /* larger than a record */
    int n = SSL_read(ssl, bytes, sizeof(bytes));
    if (n <= 0)
        return SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ;
    f->received += (size_t)n;
    return send(behind, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static inline int tls_connect(const char *where)
{
    struct sockaddr_in tcp;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    bool path = *where == '/';
    int fd = path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : tls_socket(&tcp);
    snprintf(local.sun_path, sizeof(local.sun_path), "%s", where);
    const char *port = strchr(where, ':');
    if (!path)
        tcp.sin_port = htons(port ? (in_port_t)strtol(port + 1, NULL, 10) : 0);
    if (connect(fd, path ? (void *)&local : &tcp, path ? sizeof(local) : sizeof(tcp)) == 0)
        return fd;
    close(fd);
    return -1;
}

static inline void tls_relay(struct tls_front *f, SSL *ssl, int fd)
{
    int behind = tls_connect(f->behind);
    bool more = behind >= 0;
    while (more) {
        struct pollfd p[] = {{fd, POLLIN, 0}, {behind, POLLIN, 0}};
        poll(p, 2, -1);
        more = (!p[0].revents || tls_hear(f, ssl, behind)) &&
               (!p[1].revents || tls_say(f, ssl, behind));
    }
    close(behind);
}

static inline void tls_meet(struct tls_front *f, int fd)
{
    char byte;
    SSL *ssl = SSL_new(f->context);
    SSL_set_fd(ssl, fd);
    if (f->mood == TLS_SILENT)
        while (recv(fd, &byte, 1, 0) > 0) {}
    else if (f->mood != TLS_HANG_UP && SSL_accept(ssl) == 1) {
        tls_relay(f, ssl, fd);
        if (f->mood != TLS_CUT)
            SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    close(fd);
}

static inline void *tls_serve(void *arg)
{
    struct tls_front *f = arg;
    for (int fd; (fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        tls_meet(f, fd);
    return NULL;
}

static inline int tls_on_hello(SSL *ssl, int *alert, void *arg)
{
    (void)ssl, (void)alert;
    ((struct tls_front *)arg)->hellos++;
    return SSL_CLIENT_HELLO_SUCCESS;
}

static inline int tls_on_name(SSL *ssl, int *alert, void *arg)
{
    struct tls_front *f = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    snprintf(f->name, sizeof(f->name), "%s", name ? name : "");
    return SSL_TLSEXT_ERR_OK;
}

/* newest: highest TLS version; 0: any. The caller must ignore SIGPIPE, which libssl's own sockets
 * raise. */
static inline struct tls_front *tls_front_open(const struct tls_cert *c, int newest,
                                               enum tls_mood mood, const char *behind)
{
    struct tls_front *f = calloc(1, sizeof(*f));
    struct sockaddr_in at;
    socklen_t n = sizeof(at);
    *f = (struct tls_front){
        .context = SSL_CTX_new(TLS_server_method()), .mood = mood, .behind = behind};
    if (SSL_CTX_use_certificate(f->context, c->x) != 1 ||
        SSL_CTX_use_PrivateKey(f->context, c->key) != 1)
        abort();
    SSL_CTX_set_security_level(f->context, 0);
    SSL_CTX_set_min_proto_version(f->context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(f->context, newest);
    SSL_CTX_clear_mode(f->context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_client_hello_cb(f->context, tls_on_hello, f);
    SSL_CTX_set_tlsext_servername_callback(f->context, tls_on_name);
    SSL_CTX_set_tlsext_servername_arg(f->context, f);
    f->listener = tls_socket(&at);
    if (bind(f->listener, (struct sockaddr *)&at, n) || listen(f->listener, 8) ||
        getsockname(f->listener, (struct sockaddr *)&at, &n))
        abort();
    f->port = ntohs(at.sin_port);
    return f;
}

/* The same, in a new thread. */
static inline struct tls_front *tls_front_start(const struct tls_cert *c, int newest,
                                                enum tls_mood mood, const char *behind)
{
    struct tls_front *f = tls_front_open(c, newest, mood, behind);
    if (pthread_create(&f->thread, NULL, tls_serve, f))
        abort();
    return f;
}

/* Call it after the client has closed its connections. */
static inline void tls_front_stop(struct tls_front *f)
{
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->listener);
    SSL_CTX_free(f->context);
}

#endif
