#include "net/patience.h"

#include "test.h"

static uint64_t clock_now;
static unsigned clock_reads;

static uint64_t now(void)
{
    clock_reads++;
    return clock_now;
}

enum { US = 1000 };

/* A turn with so many events, which took so long in all. */
static bool turn(struct patience *p, unsigned events, unsigned us)
{
    for (unsigned i = 1; i <= events; i++) {
        clock_now += (uint64_t)us * US / events;
        patience_has(p, i, now);
    }
    return patience_looks(p, events, now);
}

/* Looks in vain, each time for so long, until it sleeps: how often. */
static int looks(struct patience *p, unsigned us)
{
    int n = 0;
    do {
        clock_now += (uint64_t)us * US;
        n++;
    } while (patience_looks(p, 0, now) && n < 1000000);
    return n;
}

static struct patience fresh(void)
{
    clock_now = 1000000000;
    clock_reads = 0;
    return (struct patience){0};
}

TEST(a_lone_caller_never_makes_it_look)
{
    struct patience p = fresh();
    for (int i = 0; i < 1000; i++)
        CHECK(!turn(&p, 1, 5));
    CHECK_INT(clock_reads, 0);
    CHECK(!turn(&p, 3, 15));
    CHECK(!turn(&p, 0, 0));
}

TEST(several_at_a_time_make_it_look_for_a_twelfth_of_the_time_they_took)
{
    struct patience p = fresh();
    CHECK(turn(&p, 10, 1000)); /* 900 us are counted, less the first look, which is free */
    int n = looks(&p, 1);
    CHECK(n >= 65 && n <= 85);
    CHECK(!turn(&p, 1, 5));
}

TEST(no_try_takes_longer_than_the_longest)
{
    struct patience p = fresh();
    CHECK(turn(&p, 100, 1000000));
    int n = looks(&p, 1);
    CHECK(n >= 105 && n <= 115);
}

/* While something comes each time, all looking together gets no more than its share. */
TEST(what_was_spent_must_be_earned_again)
{
    struct patience p = fresh();
    uint64_t spent = 0, busy = 0;
    for (int i = 0; i < 1000; i++) {
        if (!turn(&p, 4, 40))
            continue;
        busy += 40;
        bool still = true;
        for (int k = 0; k < 9 && still; k++) {
            clock_now += US;
            spent++;
            still = patience_looks(&p, 0, now);
        }
    }
    CHECK(busy > 0 && spent > busy / 24);
    CHECK(spent <= busy / 8); /* the first look of a try is always free */
}

/* Being busy for long after a look that was worth it earns as much as before. */
TEST(being_busy_is_not_looking)
{
    struct patience p = fresh();
    CHECK(turn(&p, 10, 1000));
    CHECK(patience_looks(&p, 0, now));
    CHECK(turn(&p, 1, 1000));
    clock_now += US;
    CHECK(patience_looks(&p, 0, now));
    int n = looks(&p, 1);
    CHECK(n >= 105 && n <= 115);
}

TEST(what_is_earned_is_kept_while_it_is_awake)
{
    struct patience p = fresh();
    CHECK(turn(&p, 10, 1000));
    for (int i = 0; i < 10; i++)
        CHECK(turn(&p, 10, 10));
    CHECK_INT(clock_reads, 1);
    int n = looks(&p, 1);
    CHECK(n >= 75 && n <= 95);
}

/* Waking for something else, a timer say, is a time to sleep too. */
TEST(turns_without_events_count)
{
    struct patience p = fresh();
    while (p.passed == 0) {
        turn(&p, 16, 100);
        looks(&p, 1);
    }
    CHECK(!turn(&p, 0, 0));
    CHECK(turn(&p, 16, 100));
}

/* Where the peers wait for the same core, looking never helps. */
TEST(it_gives_up_where_nothing_comes_of_it)
{
    struct patience p = fresh();
    int tried = 0, late = 0;
    for (int i = 0; i < 100000; i++) {
        bool looks_on = turn(&p, 16, 100);
        tried += looks_on;
        late += looks_on && i >= 50000;
        if (looks_on)
            looks(&p, 1);
    }
    CHECK(tried >= 10 && tried < 150);
    CHECK(late > 20 && late < 60); /* one time in 1024, so that it notices when that changes */
}

TEST(one_success_makes_up_for_failures)
{
    struct patience p = fresh();
    while (p.passed == 0) {
        CHECK(turn(&p, 16, 100));
        looks(&p, 1);
    }
    unsigned slept = 0;
    for (; !turn(&p, 16, 100); slept++)
        continue;
    CHECK_INT(slept, 1);
    clock_now += US;
    CHECK(patience_looks(&p, 0, now));
    CHECK(turn(&p, 1, 5)); /* it has not slept: even one event keeps it awake */
    CHECK_INT(p.failed, 0);
    for (int i = 0; i < 3; i++) {
        looks(&p, 1);
        CHECK(turn(&p, 16, 100)); /* as many may fail by chance */
    }
}
