/* The context of a message: which calls and hooks see it, and when it is freed. */
#include "peer_fixture.h"

#include "rpc/processors.h"
#include "rpc/record.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

/* A context. The sanitizers find one that is used after it was freed, or freed twice. */
struct who {
    const char *name;
    atomic_int *freed;
};

static void who_done(void *context)
{
    struct who *w = context;
    atomic_fetch_add(w->freed, 1);
    w->name = NULL;
    free(w);
}

static struct fumi_source *source_of(const char *name, atomic_int *freed)
{
    struct fumi_source *s = NULL;
    struct who *w = malloc(sizeof(*w));
    if (!w)
        abort();
    *w = (struct who){name, freed};
    if (fumi_source_attach(&s, w, who_done))
        abort();
    return s;
}

static const char *name_of(const void *context)
{
    return context ? ((const struct who *)context)->name : "nobody";
}

/* The contexts that the hooks saw, in order. */
struct book {
    pthread_mutex_t lock;
    char text[256];
};

static void book_note(struct book *b, const char *hook, const void *context)
{
    pthread_mutex_lock(&b->lock);
    size_t n = strlen(b->text);
    snprintf(b->text + n, sizeof(b->text) - n, "%s:%s ", hook, name_of(context));
    pthread_mutex_unlock(&b->lock);
}

static enum fumi_ret admit(void *self, const struct fumi_arrival *a, struct fumi_err *e)
{
    (void)e;
    book_note(self, "admit", a->context);
    return FUMI_OK;
}

static enum fumi_ret before(void *self, struct fumi_call *call)
{
    book_note(self, "before", call->context);
    return FUMI_OK;
}

static void after(void *self, struct fumi_call *call)
{
    book_note(self, "after", call->context);
}

static enum fumi_ret run_who(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_put_str(fumi_result(call), fumi_str(name_of(call->context)));
    return FUMI_OK;
}

/* The same through fumi_invoke. */
static enum fumi_ret run_through(struct fumi_call *call, const void *params, void *result)
{
    (void)params, (void)result;
    return fumi_invoke(call, FUMI_STR("who"), NULL, false, fumi_result(call), NULL);
}

static const struct fumi_method who_methods[] = {
    {"who", "", NULL, NULL, run_who, FUMI_READ_ONLY},
    {"through", "", NULL, NULL, run_through, FUMI_READ_ONLY},
};

static void use(struct server_fixture *t, struct fumi_processor p)
{
    struct fumi_err e;
    if (fumi_server_use(t->server, &p, &e) ||
        fumi_server_add(t->server, NULL, who_methods, FUMI_COUNT(who_methods), NULL, &e))
        abort();
}

TEST(hooks_and_methods_see_the_context_of_their_message)
{
    struct server_fixture t;
    atomic_int freed = 0;
    struct book book = {.lock = PTHREAD_MUTEX_INITIALIZER};
    server_fixture_open(&t);
    use(&t, (struct fumi_processor){"book", admit, before, after, &book});
    t.c.source = source_of("alice", &freed);
    CHECK_STR(reply_to(&t.c, CALL("who", "1")), OK("\"alice\"", "1"));
    CHECK_STR(reply_to(&t.c, CALL("through", "2")), OK("\"alice\"", "2"));
    fumi_source_release(t.c.source);
    CHECK_INT(freed, 1);
    t.c.source = source_of("bob", &freed);
    CHECK_STR(reply_to(&t.c, "[" CALL("who", "3") "," CALL("who", "4") "]"),
              "[" OK("\"bob\"", "3") "," OK("\"bob\"", "4") "]");
    fumi_source_release(t.c.source);
    t.c.source = NULL;
    CHECK_STR(reply_to(&t.c, CALL("who", "5")), OK("\"nobody\"", "5"));
    CHECK_INT(freed, 2);
    CHECK_STR(fumi_str(book.text),
              "admit:alice before:alice after:alice admit:alice before:alice after:alice "
              "admit:bob before:bob after:bob before:bob after:bob "
              "admit:nobody before:nobody after:nobody ");
    server_fixture_done(&t);
}

/* If the message has no context, that of the connection applies. */
TEST(the_context_of_the_peer_is_the_second_choice)
{
    struct server_fixture t;
    atomic_int freed = 0;
    struct who carol = {"carol", NULL};
    struct fumi_trace trace = {.id = "1", .span = "2"};
    server_fixture_open(&t);
    use(&t, (struct fumi_processor){.name = "none"});
    t.c.peer.context = &carol;
    CHECK_STR(reply_to(&t.c, CALL("who", "1")), OK("\"carol\"", "1"));
    fumi_source_set_trace(&t.c.source, &trace); /* a source without a context */
    CHECK_STR(reply_to(&t.c, CALL("who", "2")), OK("\"carol\"", "2"));
    CHECK_INT(fumi_source_attach(&t.c.source, &carol, NULL), 0);
    CHECK_INT(fumi_source_attach(&t.c.source, NULL, NULL), -1);
    fumi_source_release(t.c.source);
    t.c.source = source_of("alice", &freed);
    CHECK_STR(reply_to(&t.c, CALL("who", "3")), OK("\"alice\"", "3"));
    fumi_source_release(t.c.source);
    CHECK_INT(freed, 1);
    server_fixture_done(&t);
}

TEST(a_recorder_passes_the_context_on)
{
    struct server_fixture t;
    atomic_int freed = 0;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    server_fixture_open(&t);
    use(&t, (struct fumi_processor){.name = "none"});
    struct fumi_record *r = fumi_record_new(fumi_handle, t.server, fd);
    t.c.handle = fumi_record_handle;
    t.c.self = r;
    t.c.source = source_of("alice", &freed);
    CHECK_STR(reply_to(&t.c, CALL("who", "1")), OK("\"alice\"", "1"));
    fumi_source_release(t.c.source);
    fumi_record_free(r);
    close(fd);
    server_fixture_done(&t);
}

/* The transport releases its reference after the reply, while the method still runs. */
TEST(a_late_call_keeps_its_context)
{
    static const struct fumi_time_limit limit = {100};
    struct server_fixture t;
    atomic_int freed = 0;
    server_fixture_open_pool(&t, 2);
    use(&t, fumi_limit_time(&limit));
    t.c.source = source_of("alice", &freed);
    reply_to(&t.c, "[" CALL("wait", "1") "," CALL("defer", "2") "]");
    fumi_source_release(t.c.source);
    t.c.source = NULL;
    struct fumi_call *deferred = fixture_pending(&t.fixture, 0);
    CHECK_INT(freed, 0);
    CHECK_STR(fumi_str(name_of(deferred->context)), "alice");
    let_in(&t.fixture, 1);
    CHECK_STR(reply_to(&t.c, CALL("who", "3")), OK("\"nobody\"", "3"));
    CHECK_STR(fumi_str(name_of(deferred->context)), "alice");
    fumi_finish(deferred, FUMI_OK);
    server_fixture_done(&t); /* waits for both */
    CHECK_INT(freed, 1);
}
