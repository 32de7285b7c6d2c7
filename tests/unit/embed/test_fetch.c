#include "embed/fetch.h"
#include "embed/provider_url.h"
#include "fake_provider.h"
#include "model/codes.h"
#include "test.h"

#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>

#define SECRET   "sk-very-secret-0123456789"
#define QUESTION "{\"model\":\"fake\",\"input\":[\"one\",\"two\"]}"

/* Replaces the resolver of libcurl, so that names can resolve to addresses that must be refused. */
static sem_t slow_asked, slow_goes;

static int answer_with(const char *number, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(number, service, hints, out);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    static const char *const names[][2] = {
        {"metadata.test", "169.254.169.254"},
        {"mapped.test", "::ffff:169.254.169.254"},
        {"fe80.test", "fe80::1"},
        {"here.test", "127.0.0.1"},
    };
    if (name && strcmp(name, "slow.test") == 0) {
        sem_post(&slow_asked);
        sem_wait(&slow_goes);
        return EAI_NONAME;
    }
    for (size_t i = 0; name && i < FUMI_COUNT(names); i++) {
        if (strcmp(name, names[i][0]) == 0)
            return answer_with(names[i][1], service, hints, out);
    }
    return name && strstr(name, ".test") ? EAI_NONAME : answer_with(name, service, hints, out);
}

struct fixture {
    struct fake *fake;
    struct fumi_arena a;
    struct fetch_request request;
    struct fetch_answer answer;
    struct fumi_err e;
    char url[200];
};

static struct fixture begin(enum fake_mode mode)
{
    struct fixture s = {.fake = fake_start(0)};
    if (!s.fake)
        abort();
    s.fake->mode = mode;
    s.request = (struct fetch_request){
        .api_key = FUMI_STR(SECRET), .body = FUMI_STR(QUESTION), .ms = 20000};
    return s;
}

static int post_to(struct fixture *s, const char *scheme, const char *host)
{
    snprintf(s->url, sizeof(s->url), "%s://%s:%d/v1/embeddings", scheme, host, s->fake->port);
    s->request.url = s->url;
    return fetch_post(&s->a, &s->request, &s->answer, &s->e);
}

static int post(struct fixture *s)
{
    return post_to(s, "http", "127.0.0.1");
}

static void end(struct fixture *s)
{
    fake_stop(s->fake);
    fumi_arena_done(&s->a);
}

static int check_url(struct fumi_str url, bool allow_http, struct fumi_err *e)
{
    struct provider_url ignored;
    return provider_url_read(url, allow_http, &ignored, e);
}

TEST(urls)
{
    static const struct {
        const char *url;
        bool allow_http, fine;
    } rows[] = {
        {"https://api.openai.com/v1", false, true},
        {"HTTPS://api.openai.com/v1", false, true},
        {"http://localhost:11434", false, true},
        {"http://LOCALHOST", false, true},
        {"http://x.localhost:1", false, true},
        {"http://127.0.0.1:8080/v1", false, true},
        {"http://127.9.9.9", false, true},
        {"http://[::1]:11434", false, true},
        {"http://[::ffff:127.0.0.1]/", false, true},
        {"http://2130706433/", false, true}, /* 127.0.0.1 */
        {"http://example.com", true, true},
        {"https://192.168.1.7:8443/v1", false, true},
        {"http://example.com", false, false},
        {"http://192.168.1.7", false, false},
        {"http://0.0.0.0", false, false},
        {"http://localhost.example.com", false, false},
        {"http://notlocalhost", false, false},
        {"http://127.0.0.1.example.com", false, false},
        {"http://user@localhost", false, false},
        {"http://user:pass@localhost", false, false},
        {"http://localhost@example.com", true, false},
        {"https://169.254.169.254/latest", false, false},
        {"http://169.254.169.254/latest", true, false},
        {"http://0xa9fea9fe/", true, false},
        {"http://2852039166/", true, false},
        {"http://[fe80::1]/", true, false},
        {"http://[fe80::1%25eth0]/", true, false},
        {"http://[::ffff:169.254.169.254]/", true, false},
        {"http://[64:ff9b::a9fe:a9fe]/", true, false},
        {"ftp://localhost/", true, false},
        {"file:///etc/passwd", true, false},
        {"gopher://localhost/", true, false},
        {"localhost:11434", true, false},
        {"//localhost", true, false},
        {"http:/localhost", true, false},
        {"http://", true, false},
        {"https://", true, false},
        {"", true, false},
        {"http://localhost/a b", true, false},
        {"http://localhost/\r\nX: y", true, false},
        {"http://local\thost/", true, false},
        {"http://localhost\x7f/", true, false},
        {"http://api.openai.com@evil.example/", true, false},
        {"https://api.openai.com\\@evil.example/", true, false},
        {"https://api.openai.com:443@evil.example/v1", true, false},
        {"https://api.openai.com#@evil.example/", true, false},
        {"https://api.openai.com?@evil.example/", true, false},
        {"https://evil.example\\.api.openai.com/", true, false},
        {"https://evil.example/'; ls '", true, false},
        {"https://evil.example/%27", true, true},
        {"https://evil.example/a'b", true, false},
        {"https://evil.example/a\"b", true, false},
        {"http://localhost:99999/", true, false},
        {"http://[::1", true, false},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_err e = {0};
        struct fumi_str url = fumi_str(rows[i].url);
        int rc = check_url(url, rows[i].allow_http, &e);
        if ((rc == 0) != rows[i].fine)
            TEST_FAIL("%s: %d %s", rows[i].url, rc, e.text);
        if (rc && e.code != FUMI_INVALID_PARAMS)
            TEST_FAIL("%s: code %d", rows[i].url, e.code);
    }
    struct fumi_err e;
    CHECK_INT(check_url((struct fumi_str){0}, true, &e), -1);
    CHECK_INT(check_url((struct fumi_str){"http://localhost\0x", 18}, true, &e), -1);
}

TEST(a_long_url_is_refused)
{
    char url[5000];
    struct fumi_err e;
    memset(url, 'a', sizeof(url));
    memcpy(url, "http://localhost/", 17);
    CHECK_INT(check_url((struct fumi_str){url, 2000}, false, &e), 0);
    CHECK_INT(check_url((struct fumi_str){url, sizeof(url)}, false, &e), -1);
}

TEST(addresses)
{
    static const struct {
        const char *number;
        bool anywhere, here;
    } rows[] = {
        {"127.0.0.1", true, true},
        {"127.255.0.1", true, true},
        {"192.0.2.1", true, false},
        {"169.254.0.1", false, false},
        {"169.254.169.254", false, false},
        {"169.253.0.1", true, false},
        {"0.0.0.0", true, false},
        {"::1", true, true},
        {"::ffff:127.0.0.1", true, true},
        {"::ffff:192.0.2.1", true, false},
        {"::ffff:169.254.1.1", false, false},
        {"fe80::1", false, false},
        {"febf::1", false, false},
        {"fec0::1", true, false},
        {"2001:db8::1", true, false},
        {"64:ff9b::169.254.169.254", false, false},
        {"64:ff9b::127.0.0.1", false, false}, /* loopback behind a NAT64 gateway */
        {"64:ff9b::192.0.2.1", true, false},
        {"::", true, false},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        bool old = inet_pton(AF_INET, rows[i].number, &v4.sin_addr) == 1;
        const struct sockaddr *at = old ? (void *)&v4 : (void *)&v6;
        if (!old && inet_pton(AF_INET6, rows[i].number, &v6.sin6_addr) != 1)
            TEST_FAIL("%s is no address", rows[i].number);
        if (provider_url_may_connect(at, false) != rows[i].anywhere ||
            provider_url_may_connect(at, true) != rows[i].here)
            TEST_FAIL("%s", rows[i].number);
    }
    struct sockaddr unix_socket = {.sa_family = AF_UNIX};
    CHECK(!provider_url_may_connect(&unix_socket, false));
}

TEST(post_returns_the_answer)
{
    struct fixture s = begin(FAKE_WELL);
    CHECK_INT(post(&s), 0);
    CHECK_INT(s.answer.status, 200);
    CHECK_INT(s.answer.retry_after, 0);
    CHECK(!s.answer.location.p);
    CHECK(fumi_starts(s.answer.body, FUMI_STR("{\"object\":\"list\"")));
    CHECK_STR(fumi_str(s.fake->key), "Bearer " SECRET);
    CHECK_STR(fumi_buf_str(&s.fake->last), "/v1/embeddings " QUESTION);
    end(&s);
}

TEST(no_key_no_authorization)
{
    struct fixture s = begin(FAKE_WELL);
    s.request.api_key = (struct fumi_str){0};
    CHECK_INT(post(&s), 0);
    CHECK_STR(fumi_str(s.fake->key), "");
    s.request.api_key = FUMI_STR("");
    CHECK_INT(post(&s), 0);
    CHECK_STR(fumi_str(s.fake->key), "");
    end(&s);
}

TEST(a_pool_keeps_the_connection_and_forgets_the_key)
{
    struct fixture s = begin(FAKE_WELL);
    s.request.pool = fetch_pool_new();
    for (int i = 0; i < 5; i++)
        CHECK_INT(post(&s), 0);
    CHECK_INT(s.fake->connections, 1);
    s.request.api_key = (struct fumi_str){0};
    CHECK_INT(post(&s), 0);
    CHECK_STR(fumi_str(s.fake->key), "");
    CHECK_INT(s.fake->connections, 1);
    fetch_pool_free(s.request.pool);
    s.request.pool = NULL;
    CHECK_INT(post(&s), 0);
    CHECK_INT(post(&s), 0);
    CHECK_INT(s.fake->connections, 3);
    fetch_pool_free(NULL);
    end(&s);
}

TEST(a_large_request_arrives_whole)
{
    struct fixture s = begin(FAKE_WELL);
    struct fumi_str text = {fumi_alloc(&s.a, 3 << 20), 3 << 20};
    memset((char *)text.p, 'x', text.n);
    s.request.body = fumi_fmt(&s.a, "{\"model\":\"fake\",\"input\":\"%.*s\"}", FUMI_ARG(text));
    CHECK_INT(post(&s), 0);
    CHECK_INT(s.answer.status, 200);
    CHECK_INT(s.fake->last.n, s.request.body.n + strlen("/v1/embeddings "));
    end(&s);
}

TEST(statuses_are_answers)
{
    static const struct {
        enum fake_mode mode;
        int status;
        int64_t retry_after;
    } rows[] = {
        {FAKE_401, 401, 0},      {FAKE_429, 429, 1000},   {FAKE_429_LATER, 429, 3600000},
        {FAKE_500, 500, 0},      {FAKE_HTML, 200, 0},     {FAKE_REDIRECT, 301, 0},
        {FAKE_NO_MODEL, 404, 0}, {FAKE_CUT_JSON, 200, 0},
    };
    struct fixture s = begin(FAKE_WELL);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        s.fake->mode = rows[i].mode;
        int rc = post(&s);
        if (rc || s.answer.status != rows[i].status || s.answer.retry_after != rows[i].retry_after)
            TEST_FAIL("%s: %d %d", fake_modes[rows[i].mode], rc, s.answer.status);
    }
    end(&s);
}

TEST(a_redirect_is_not_followed)
{
    struct fixture s = begin(FAKE_REDIRECT);
    CHECK_INT(post(&s), 0);
    CHECK_INT(s.answer.status, 301);
    CHECK_STR(s.answer.location, "https://elsewhere.example:8443");
    CHECK_INT(s.fake->requests, 1);
    end(&s);
}

TEST(failures)
{
    static const struct {
        enum fake_mode mode;
        bool retryable;
        const char *sentence;
    } rows[] = {
        {FAKE_CLOSE, true, "closed the connection"},
        {FAKE_RESET, true, "closed the connection"},
        {FAKE_CUT, true, "before the end of the response"},
        {FAKE_ENDLESS, false, "too long"},
        {FAKE_GIGABYTE, false, "too long"},
        {FAKE_ENDLESS_HEAD, false, "too long"},
    };
    struct fixture s = begin(FAKE_WELL);
    s.request.pool = fetch_pool_new();
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        s.fake->mode = rows[i].mode;
        int rc = post(&s);
        if (rc != -1 || s.answer.retryable != rows[i].retryable || s.e.code != ERR_PROVIDER)
            TEST_FAIL("%s: %d %d %s", fake_modes[rows[i].mode], rc, s.e.code, s.e.text);
        if (!strstr(s.e.text, rows[i].sentence) || !strstr(s.e.text, "127.0.0.1:") ||
            strstr(s.e.text, "/v1") || strstr(s.e.text, SECRET))
            TEST_FAIL("%s: %s", fake_modes[rows[i].mode], s.e.text);
    }
    fetch_pool_free(s.request.pool);
    end(&s);
}

TEST(the_limit_of_the_request_applies)
{
    struct fixture s = begin(FAKE_WELL);
    CHECK_INT(post(&s), 0);
    s.request.limit = s.answer.body.n;
    CHECK_INT(post(&s), 0);
    s.request.limit--;
    CHECK_INT(post(&s), -1);
    CHECK(strstr(s.e.text, "too long"));
    end(&s);
}

TEST(timeouts)
{
    static const enum fake_mode modes[] = {FAKE_HANG, FAKE_DRIP};
    struct fixture s = begin(FAKE_WELL);
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        s.fake->mode = modes[i];
        s.request.ms = 150;
        CHECK_INT(post(&s), -1);
        CHECK_INT(s.e.code, ERR_PROVIDER);
        CHECK(s.answer.retryable);
        CHECK(strstr(s.e.text, "in time"));
    }
    int before = s.fake->requests;
    s.request.ms = 0;
    CHECK_INT(post(&s), -1);
    s.request.ms = INT64_MIN;
    CHECK_INT(post(&s), -1);
    CHECK(s.answer.retryable);
    CHECK_INT(s.fake->requests, before);
    s.fake->mode = FAKE_WELL;
    s.request.ms = INT64_MAX;
    CHECK_INT(post(&s), 0);
    end(&s);
}

TEST(connection_refused)
{
    struct fixture s = begin(FAKE_WELL), gone = begin(FAKE_WELL);
    int port = gone.fake->port;
    end(&gone);
    snprintf(s.url, sizeof(s.url), "http://127.0.0.1:%d/v1/embeddings", port);
    s.request.url = s.url;
    CHECK_INT(fetch_post(&s.a, &s.request, &s.answer, &s.e), -1);
    CHECK(s.answer.retryable);
    CHECK(strstr(s.e.text, "does not accept connections"));
    end(&s);
}

TEST(a_server_without_tls)
{
    struct fixture s = begin(FAKE_WELL);
    CHECK_INT(post_to(&s, "https", "127.0.0.1"), -1);
    CHECK(!s.answer.retryable);
    CHECK(strstr(s.e.text, "does not support TLS"));
    CHECK_INT(s.fake->requests, 0);
    end(&s);
}

TEST(resolved_addresses_are_checked)
{
    static const char *const names[] = {"metadata.test", "mapped.test", "fe80.test"};
    struct fixture s = begin(FAKE_WELL);
    s.request.allow_http = true;
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        CHECK_INT(post_to(&s, "http", names[i]), -1);
        CHECK_INT(s.e.code, ERR_PROVIDER);
        CHECK(strstr(s.e.text, "refused: link-local"));
        CHECK(!s.answer.retryable);
        CHECK_INT(post_to(&s, "https", names[i]), -1);
        CHECK(strstr(s.e.text, "refused: link-local"));
    }
    CHECK_INT(post_to(&s, "http", "here.test"), 0);
    CHECK_INT(post_to(&s, "http", "nowhere.test"), -1);
    CHECK(s.answer.retryable);
    CHECK(strstr(s.e.text, "no address"));
    s.request.allow_http = false;
    CHECK_INT(post_to(&s, "http", "here.test"), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    CHECK(strstr(s.e.text, "must be https"));
    CHECK_INT(post_to(&s, "http", "sub.localhost"), 0);
    end(&s);
}

TEST(a_slow_resolver_does_not_hold_the_caller)
{
    struct fixture s = begin(FAKE_WELL);
    sem_init(&slow_asked, 0, 0);
    sem_init(&slow_goes, 0, 0);
    s.request.ms = 100;
    CHECK_INT(post_to(&s, "https", "slow.test"), -1);
    CHECK(strstr(s.e.text, "in time"));
    sem_wait(&slow_asked);
    sem_post(&slow_goes);
    end(&s);
}

TEST(local_hosts_bypass_the_proxy)
{
    struct fixture s = begin(FAKE_WELL);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    int rc = post(&s), named = post_to(&s, "http", "localhost");
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    CHECK_INT(rc, 0);
    CHECK_INT(named, 0);
    end(&s);
}

TEST(a_key_cannot_add_header_fields)
{
    struct fixture s = begin(FAKE_WELL);
    s.request.api_key = FUMI_STR("key\r\nX-Other: 1");
    CHECK_INT(post(&s), -1);
    CHECK(!strstr(s.e.text, "X-Other"));
    CHECK_INT(s.fake->requests, 0);
    end(&s);
}

enum { THREADS = 4, CALLS = 25 };

static void *call_often(void *arg)
{
    struct fixture *shared = arg, own = *shared;
    own.a = (struct fumi_arena){0};
    size_t good = 0;
    for (int i = 0; i < CALLS; i++)
        good += post(&own) == 0 && own.answer.status == 200;
    fumi_arena_done(&own.a);
    return (void *)good;
}

TEST(many_threads_share_a_pool)
{
    struct fixture s = begin(FAKE_WELL);
    pthread_t threads[THREADS];
    size_t good = 0;
    s.request.pool = fetch_pool_new();
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, call_often, &s), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good += (size_t)result;
    }
    CHECK_INT(good, THREADS * CALLS);
    CHECK(s.fake->connections <= THREADS);
    fetch_pool_free(s.request.pool);
    end(&s);
}
