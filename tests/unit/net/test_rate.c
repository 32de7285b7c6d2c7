#include "net/rate.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

static int take_all(struct rate *r, const char *client, int64_t now)
{
    int n = 0;
    while (n < 1000000 && rate_take(r, fumi_str(client), now))
        n++;
    return n;
}

TEST(twice_as_many_at_once_then_each_second)
{
    struct rate *r = rate_new(10);
    CHECK_INT(take_all(r, "a", 5000), 20);
    CHECK_INT(take_all(r, "a", 5099), 0);
    CHECK_INT(take_all(r, "a", 5100), 1);
    CHECK_INT(take_all(r, "a", 6100), 10);
    CHECK_INT(take_all(r, "a", 7600), 15);
    CHECK_INT(take_all(r, "a", 9600), 20);
    CHECK_INT(take_all(r, "a", 999999), 20);
    rate_free(r);
}

TEST(nothing_is_lost_in_small_steps)
{
    struct rate *r = rate_new(3);
    int n = 0;
    CHECK_INT(take_all(r, "a", 0), 6);
    for (int64_t now = 1; now <= 10000; now++)
        n += take_all(r, "a", now);
    CHECK_INT(n, 30);
    rate_free(r);
}

TEST(being_refused_costs_nothing)
{
    struct rate *r = rate_new(1);
    CHECK_INT(take_all(r, "a", 0), 2);
    for (int64_t now = 1; now < 1000; now++)
        CHECK(!rate_take(r, FUMI_STR("a"), now));
    CHECK(rate_take(r, FUMI_STR("a"), 1000));
    rate_free(r);
}

TEST(each_client_has_its_own)
{
    struct rate *r = rate_new(1);
    static const char *const clients[] = {"127.0.0.1",
                                          "127.0.0.2",
                                          "::1",
                                          "uid 0",
                                          "uid 1000",
                                          "",
                                          "2001:db8:1234:5678:9abc:def0:1234:5678",
                                          "2001:db8:1234:5678:9abc:def0:1234:5679"};
    for (size_t i = 0; i < FUMI_COUNT(clients); i++)
        CHECK_INT(take_all(r, clients[i], 0), 2);
    for (size_t i = 0; i < FUMI_COUNT(clients); i++)
        CHECK_INT(take_all(r, clients[i], 0), 0);
    CHECK(!rate_take(r, (struct fumi_str){0}, 0)); /* an empty name is one client */
    rate_free(r);
}

/* Names may contain any bytes; long names with the same beginning share a bucket. */
TEST(names_may_be_long)
{
    struct rate *r = rate_new(1);
    char name[200];
    memset(name, 'x', sizeof(name));
    CHECK(rate_take(r, (struct fumi_str){name, 48}, 0));
    CHECK(rate_take(r, (struct fumi_str){name, 200}, 0));
    CHECK(!rate_take(r, (struct fumi_str){name, 49}, 0));
    CHECK(rate_take(r, (struct fumi_str){name, 47}, 0));
    rate_free(r);
}

TEST(time_that_seems_to_go_back_gives_nothing)
{
    struct rate *r = rate_new(1);
    CHECK_INT(take_all(r, "a", 1000), 2);
    CHECK_INT(take_all(r, "a", 0), 0);
    CHECK_INT(take_all(r, "a", 1999), 0);
    CHECK_INT(take_all(r, "a", 2000), 1);
    rate_free(r);
}

TEST(a_rate_has_bounds)
{
    struct rate *none = rate_new(0), *any = rate_new(INT64_MAX);
    CHECK_INT(take_all(none, "a", 0), 2);
    for (int i = 0; i < 100000; i++)
        CHECK(rate_take(any, FUMI_STR("a"), i));
    CHECK(rate_take(any, FUMI_STR("a"), INT64_MAX));
    rate_free(none);
    rate_free(any);
    rate_free(NULL);
}

/* Many new clients evict clients that have been idle for long, never one that is active. */
TEST(new_clients_do_not_displace_frequent_ones)
{
    struct rate *r = rate_new(1);
    char name[32];
    CHECK_INT(take_all(r, "long ago", 0), 2);
    CHECK_INT(take_all(r, "often", 0), 2);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "stranger %d", i);
        int64_t now = 1 + i / 1000; /* much less than the time of one message */
        CHECK_INT(take_all(r, name, now), 2);
        CHECK(!rate_take(r, FUMI_STR("often"), now));
    }
    CHECK_INT(take_all(r, "long ago", 101), 2);
    rate_free(r);
}

enum { THREADS = 4, ROUNDS = 20000 };

struct crowd {
    struct rate *rate;
    atomic_int taken;
    int number;
};

static void *take_often(void *arg)
{
    struct crowd *c = arg;
    char own[32];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(own, sizeof(own), "thread %d, %d", c->number, i % 100);
        rate_take(c->rate, fumi_str(own), i);
        c->taken += rate_take(c->rate, FUMI_STR("shared"), 1);
    }
    return NULL;
}

TEST(threads_share_one_bucket)
{
    struct rate *r = rate_new(1000);
    struct crowd crowd[THREADS];
    pthread_t threads[THREADS];
    int taken = 0;
    for (int i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){.rate = r, .number = i};
        CHECK(pthread_create(&threads[i], NULL, take_often, &crowd[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        taken += crowd[i].taken;
    }
    CHECK_INT(taken, 2000);
    rate_free(r);
}
