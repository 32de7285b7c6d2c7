/* Servers with a bad certificate or an old TLS version: no byte of a request may reach them. */
#include "embed/fetch.h"
#include "model/codes.h"
#include "test.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "sk-very-secret-0123456789"

struct server {
    SSL_CTX *context;
    int listener, port;
    pthread_t thread;
    int got; /* bytes of a request */
};

/* A self-signed certificate for "localhost". */
static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1,
                               0);
    X509_set_issuer_name(x, name);
    X509_sign(x, key, EVP_sha256());
    return x;
}

static SSL_CTX *make_context(int newest)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = make_certificate(key);
    if (!c || SSL_CTX_use_certificate(c, x) != 1 || SSL_CTX_use_PrivateKey(c, key) != 1)
        abort();
    SSL_CTX_set_security_level(c, 0);
    SSL_CTX_set_min_proto_version(c, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(c, newest);
    X509_free(x);
    EVP_PKEY_free(key);
    return c;
}

/* Accepts one connection and counts the bytes of its request. */
static void *serve(void *arg)
{
    struct server *s = arg;
    char bytes[4096];
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    SSL *ssl = SSL_new(s->context);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        int n = SSL_read(ssl, bytes, sizeof(bytes));
        s->got += n > 0 ? n : 0;
    }
    SSL_free(ssl);
    close(fd);
    return NULL;
}

static struct server *start(int newest)
{
    struct server *s = calloc(1, sizeof(*s));
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(at);
    signal(SIGPIPE, SIG_IGN);
    s->context = make_context(newest);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&at, n) || listen(s->listener, 4) ||
        getsockname(s->listener, (struct sockaddr *)&at, &n) ||
        pthread_create(&s->thread, NULL, serve, s))
        abort();
    s->port = ntohs(at.sin_port);
    return s;
}

/* Returns the number of request bytes that the server received. */
static int stop(struct server *s)
{
    pthread_join(s->thread, NULL);
    int got = s->got;
    close(s->listener);
    SSL_CTX_free(s->context);
    free(s);
    return got;
}

struct outcome {
    int rc, got;
    bool retryable;
    struct fumi_err e;
};

static struct outcome ask(int newest)
{
    struct outcome o = {0};
    struct server *s = start(newest);
    struct fumi_arena a = {0};
    struct fetch_answer answer;
    char url[100];
    snprintf(url, sizeof(url), "https://localhost:%d/v1/embeddings", s->port);
    struct fetch_request r = {
        .url = url, .api_key = FUMI_STR(SECRET), .body = FUMI_STR("{}"), .ms = 20000};
    o.rc = fetch_post(&a, &r, &answer, &o.e);
    o.retryable = answer.retryable;
    o.got = stop(s);
    fumi_arena_done(&a);
    return o;
}

TEST(a_self_signed_certificate_is_refused)
{
    struct outcome o = ask(TLS1_3_VERSION);
    CHECK_INT(o.rc, -1);
    CHECK_INT(o.e.code, ERR_PROVIDER);
    CHECK(strstr(o.e.text, "certificate that cannot be verified"));
    CHECK(!strstr(o.e.text, SECRET));
    CHECK(!o.retryable);
    CHECK_INT(o.got, 0);
}

TEST(old_tls_is_refused)
{
    struct outcome o = ask(TLS1_1_VERSION);
    CHECK_INT(o.rc, -1);
    CHECK_INT(o.e.code, ERR_PROVIDER);
    CHECK(strstr(o.e.text, "does not support TLS 1.2"));
    CHECK(!o.retryable);
    CHECK_INT(o.got, 0);
}
