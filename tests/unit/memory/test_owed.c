/* Notes are stored before they have vectors. */
#include "memory_fixture.h"

#include <pthread.h>

/* Waits until the provider has received more than `before` requests. */
static bool asked(struct fixture *s, int before)
{
    int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 1000000};
    for (; fumi_ticks() < until; nanosleep(&moment, NULL))
        if (atomic_load(&s->fake->requests) > before)
            return true;
    return false;
}

/* Lets a provider that waits go on, a moment after it was asked. */
static void *release(void *arg)
{
    struct fixture *s = arg;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    atomic_store(&s->fake->mode, FAKE_WELL);
    return NULL;
}

static int search_released(struct fixture *s, const char *query, struct found *f)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, release, s))
        return -1;
    int rc = look(s, query, SEARCH_MEANING, f);
    pthread_join(thread, NULL);
    return rc;
}

static int64_t embedded(struct fixture *s)
{
    struct embedding_progress p;
    return memory_progress(s->m, &s->a, &p, &s->e) ? -1 : p.done;
}

/* An add and an update are answered before the provider answers. A search waits for their vectors.
 */
TEST(a_write_does_not_wait_for_its_vector_but_a_search_does)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "first", &w), 0);
    struct note n = {
        .project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = FUMI_STR("zebras gallop")};
    int before = atomic_load(&s.fake->requests);
    atomic_store(&s.fake->mode, FAKE_WAIT);
    CHECK_INT(memory_add(s.m, &s.a, &n, EMBED_MS, &w, &s.e), 0);
    CHECK(!w.pending && !w.warning.p);
    CHECK(asked(&s, before));
    CHECK_INT(embedded(&s), 1);
    CHECK_INT(look(&s, "zebras", SEARCH_WORDS, &f), 0); /* does not wait */
    CHECK_INT(f.results.n, 1);
    CHECK_INT(search_released(&s, "gallop", &f), 0);
    CHECK(f.results.n == 2 && f.pending == 0);

    struct note to = {.text = FUMI_STR("camels saunter")};
    CHECK(complete(&s));
    before = atomic_load(&s.fake->requests);
    atomic_store(&s.fake->mode, FAKE_WAIT);
    CHECK_INT(memory_update(s.m, &s.a, n.id, &to, NOTE_TEXT, EMBED_MS, &w, &s.e), 0);
    CHECK(!w.pending && asked(&s, before));
    CHECK_INT(embedded(&s), 1);
    CHECK_INT(search_released(&s, "saunter", &f), 0);
    CHECK(f.results.n == 2 && f.pending == 0);
    end(&s);
}

/* A search waits neither for notes of another project nor for a provider that fails. */
TEST(a_search_waits_only_for_what_comes_soon)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    struct search q = {.filter = {.since = INT64_MIN, .until = INT64_MAX},
                       .query = FUMI_STR("first"),
                       .top = 5,
                       .ms = 100};
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "first", &w), 0);
    atomic_store(&s.fake->mode, FAKE_WAIT);
    CHECK_INT(add(&s, "second", &w), 0);
    q.filter.project = FUMI_STR("other");
    int64_t began = fumi_ticks();
    CHECK_INT(memory_search(s.m, &s.a, &q, &f, &s.e), 0);
    CHECK(fumi_ticks() - began < (int64_t)PATIENCE_MS * 1000000);
    atomic_store(&s.fake->mode, FAKE_401);
    CHECK(fails(&s));
    CHECK_INT(add(&s, "third", &w), 0);
    CHECK(w.pending && w.warning.n);
    q.filter.project = FUMI_STR("p");
    began = fumi_ticks();
    CHECK_INT(memory_search(s.m, &s.a, &q, &f, &s.e), 0);
    CHECK(f.warning.n && f.pending == 2);
    CHECK(fumi_ticks() - began < (int64_t)PATIENCE_MS * 1000000);
    end(&s);
}

/* The process ends between an add and its vector. */
TEST(a_note_without_its_vector_is_embedded_after_a_restart)
{
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "first", &w), 0);
    atomic_store(&s.fake->mode, FAKE_WAIT);
    CHECK_INT(add(&s, "zebras gallop", &w), 0);
    memory_close(s.m);
    s.m = open_memory(&s, fake_config(&s, "m"), none, false);
    CHECK(s.m);
    CHECK_INT(embedded(&s), 1);
    atomic_store(&s.fake->mode, FAKE_WELL);
    CHECK_INT(memory_start(s.m, &s.e), 0);
    CHECK(complete(&s));
    CHECK_INT(look(&s, "zebras gallop", SEARCH_MEANING, &f), 0);
    CHECK(f.results.n == 2 && fumi_eq(f.results.items[0].note.text, FUMI_STR("zebras gallop")));
    end(&s);
}

/* A note that was just stored is embedded before a backlog. */
TEST(new_notes_do_not_wait_for_old_ones)
{
    enum { MANY = 1000 };
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct written w = {.pending = false};
    struct many_written stored = {.stored = 0};
    CHECK(begin(&s, "m"));
    memory_close(s.m);
    s.m = open_memory(&s, fake_config(&s, "m"), none, false);
    CHECK(s.m && !add(&s, "learned", &w));
    struct note *notes = fumi_alloc(&s.a, MANY * sizeof(*notes));
    for (int i = 0; i < MANY; i++)
        notes[i] = (struct note){.project = FUMI_STR("p"),
                                 .group = FUMI_STR("g"),
                                 .text = fumi_fmt(&s.a, "number%d otter", i)};
    CHECK_INT(memory_add_many(s.m, &s.a, notes, MANY, &stored, &s.e), 0);
    int before = atomic_load(&s.fake->requests);
    atomic_store(&s.fake->mode, FAKE_WAIT);
    CHECK_INT(memory_start(s.m, &s.e), 0);
    CHECK(asked(&s, before)); /* for the first batch */
    CHECK_INT(add(&s, "newest", &w), 0);
    atomic_store(&s.fake->mode, FAKE_WELL);
    CHECK(complete(&s));
    int64_t earlier = number(&s, "SELECT count(*) FROM vectors WHERE vector < (SELECT vector FROM "
                                 "vectors WHERE note = (SELECT max(seq) FROM notes))");
    CHECK(earlier > 0 && earlier <= 1 + 2 * 96);
    end(&s);
}

struct writer {
    struct fixture *s;
    pthread_t thread;
    int failed;
};

static void *write_notes(void *arg)
{
    struct writer *t = arg;
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct written w = {.change.allow_duplicate = true};
    for (int i = 0; i < 100; i++) {
        struct note n = {.project = i % 2 ? FUMI_STR("p") : FUMI_STR("q"),
                         .group = FUMI_STR("g"),
                         .text = fumi_fmt(&a, "note %d", i)};
        struct search q = {.filter = {.project = FUMI_STR("p"), .until = INT64_MAX},
                           .query = FUMI_STR("note"),
                           .top = 1,
                           .ms = EMBED_MS};
        struct found f;
        t->failed += memory_add(t->s->m, &a, &n, EMBED_MS, &w, &e) != 0;
        t->failed += i % 10 == 0 && memory_search(t->s->m, &a, &q, &f, &e) != 0;
    }
    fumi_arena_done(&a);
    return NULL;
}

TEST(many_threads_write_and_search)
{
    enum { WRITERS = 4 };
    struct fixture s;
    struct written w = {.pending = false};
    struct writer t[WRITERS] = {{0}};
    CHECK(begin(&s, "m") && !add(&s, "learned", &w));
    for (int i = 0; i < WRITERS; i++) {
        t[i].s = &s;
        CHECK(pthread_create(&t[i].thread, NULL, write_notes, &t[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(t[i].thread, NULL);
        CHECK_INT(t[i].failed, 0);
    }
    CHECK(complete(&s));
    CHECK_INT(embedded(&s), 1 + WRITERS * 100);
    end(&s);
}
