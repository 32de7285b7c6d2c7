/* The memory on a real store, with a provider that works or fails. */
#include "memory_fixture.h"

TEST(a_dimension_is_learned_and_kept)
{
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct written w = {.pending = false};
    CHECK(begin(&s, "m"));
    CHECK_STR(memory_space(s.m, &s.a), "openai:m:0");
    CHECK_INT(add(&s, "one", &w), 0);
    CHECK_STR(w.space, "openai:m:8");
    memory_close(s.m);
    s.m = open_memory(&s, fake_config(&s, "m"), none, false);
    CHECK(s.m);
    CHECK_STR(memory_space(s.m, &s.a), "openai:m:8");
    end(&s);
}

TEST(a_note_outlives_a_provider_that_fails)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "well before", &w), 0);
    CHECK(!w.pending && !w.warning.p);
    atomic_store(&s.fake->mode, FAKE_500);
    CHECK_INT(add(&s, "the disk was full on tuesday", &w), 0);
    CHECK(!w.pending && !w.warning.p); /* the failure is not known yet */
    CHECK(fails(&s));
    CHECK_INT(add(&s, "and on wednesday", &w), 0);
    CHECK(w.pending && w.warning.n);
    CHECK_INT(look(&s, "tuesday", SEARCH_HYBRID, &f), 0);
    CHECK_INT(f.results.n, 1);
    CHECK(f.warning.n);
    CHECK_INT(f.mode, SEARCH_WORDS);
    CHECK_INT(look(&s, "tuesday", SEARCH_MEANING, &f), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    atomic_store(&s.fake->mode, FAKE_WELL);
    CHECK(complete(&s));
    CHECK_INT(look(&s, "tuesday", SEARCH_MEANING, &f), 0);
    CHECK_INT(f.results.n, 3);
    CHECK(!f.warning.p);
    CHECK_INT(add(&s, "well again", &w), 0);
    CHECK(!w.pending && !w.warning.p);
    end(&s);
}

/* Notes that another process left for erasure are erased even while the provider fails. */
TEST(a_provider_that_fails_does_not_delay_erasing)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct fumi_str left = FUMI_STR("log");
    const struct timespec moment = {0, 10000000};
    CHECK(begin(&s, "m"));
    atomic_store(&s.fake->mode, FAKE_500);
    CHECK_INT(add(&s, "waits for its vector", &w), 0);
    CHECK(w.pending);
    struct store *store = memory_store(s.m);
    CHECK_INT(store_set_meta(store, "erase", left, &s.e), 0);
    int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    while (left.p && fumi_ticks() < until) {
        nanosleep(&moment, NULL);
        CHECK_INT(store_get_meta(store, &s.a, "erase", &left, &s.e), 0);
    }
    CHECK(!left.p);
    end(&s);
}

TEST(without_its_key_nothing_is_stored)
{
    struct fixture s;
    struct embed_config none = {.dim = 0}, c = {.provider = FUMI_STR("openai")};
    struct written w = {.pending = false};
    struct found f;
    struct store_stats st;
    CHECK(begin(&s, "m"));
    memory_close(s.m);
    s.m = open_memory(&s, c, none, true);
    CHECK(s.m);
    CHECK_INT(add(&s, "x", &w), -1);
    CHECK_INT(s.e.code, ERR_NO_API_KEY);
    CHECK(s.e.data.n && memmem(s.e.data.p, s.e.data.n, "remedy", 6));
    struct note many[] = {
        {.project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = FUMI_STR("x")}};
    struct many_written stored = {.stored = 1};
    s.e.code = 0;
    CHECK_INT(memory_add_many(s.m, &s.a, many, 1, &stored, &s.e), -1);
    CHECK(s.e.code == ERR_NO_API_KEY && !stored.stored);
    CHECK_INT(look(&s, "x", SEARCH_HYBRID, &f), -1);
    CHECK_INT(s.e.code, ERR_NO_API_KEY);
    CHECK_INT(look(&s, "x", SEARCH_WORDS, &f), 0);
    CHECK_INT(store_stats(memory_store(s.m), &st, &s.e), 0);
    CHECK_INT(st.notes, 0);
    end(&s);
}

/* Many notes are stored without vectors. The background thread embeds them. */
TEST(many_notes_are_embedded_later)
{
    enum { MANY = 300 };
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct note *notes = NULL;
    struct embedding_progress p;
    struct found f;
    struct many_written stored = {.stored = 0};
    CHECK(begin(&s, "m"));
    memory_close(s.m);
    s.m = open_memory(&s, fake_config(&s, "m"), none, false);
    CHECK(s.m);
    notes = fumi_alloc(&s.a, MANY * sizeof(*notes));
    for (int i = 0; i < MANY; i++)
        notes[i] = (struct note){.project = FUMI_STR("p"),
                                 .group = FUMI_STR("g"),
                                 .text = fumi_fmt(&s.a, "number%d otter", i)};
    CHECK_INT(memory_add_many(s.m, &s.a, notes, MANY, &stored, &s.e), 0);
    CHECK_INT(stored.stored, MANY);
    CHECK(notes[MANY - 1].id.n && notes[MANY - 1].created.set);
    CHECK_INT(memory_progress(s.m, &s.a, &p, &s.e), 0);
    CHECK(p.done == 0 && p.total == MANY);
    CHECK_INT(look(&s, "number299", SEARCH_WORDS, &f), 0);
    CHECK(f.results.n && fumi_eq(f.results.items[0].note.text, notes[299].text));
    CHECK_INT(memory_start(s.m, &s.e), 0);
    CHECK(complete(&s));
    CHECK_INT(look(&s, "number299 otter", SEARCH_MEANING, &f), 0);
    CHECK_INT(f.results.n, 5);
    end(&s);
}

/* Vectors of an unsupported length: the note is stored without them, and after a restart the
 * dimension is still unknown. */
TEST(a_first_answer_that_does_not_fit)
{
    static const struct {
        size_t dim;
        int mode;
    } rows[] = {{1, FAKE_WELL},   {9000, FAKE_WELL}, {70000, FAKE_WELL}, {8, FAKE_NAN_TEXT},
                {8, FAKE_NESTED}, {8, FAKE_NULL},    {8, FAKE_EMPTY}};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fixture s;
        struct embed_config none = {.dim = 0};
        struct written w = {.pending = false};
        struct found f;
        CHECK(begin(&s, "m"));
        atomic_store(&s.fake->dim, rows[i].dim);
        atomic_store(&s.fake->mode, rows[i].mode);
        for (int restarted = 0; restarted < 2; restarted++) {
            CHECK_INT(add(&s, "the disk was full on tuesday", &w), 0);
            CHECK(w.pending && w.warning.n);
            CHECK_STR(w.space, "openai:m:0");
            CHECK_INT(look(&s, "tuesday", SEARCH_HYBRID, &f), 0);
            CHECK_INT(f.results.n, (size_t)restarted + 1);
            memory_close(s.m);
            s.m = open_memory(&s, fake_config(&s, "m"), none, true);
            CHECK(s.m);
            CHECK_STR(memory_space(s.m, &s.a), "openai:m:0");
        }
        CHECK_INT(s.saves, 0);
        atomic_store(&s.fake->dim, 16);
        atomic_store(&s.fake->mode, FAKE_WELL);
        memory_wake(s.m);
        CHECK(complete(&s));
        CHECK_STR(memory_space(s.m, &s.a), "openai:m:16");
        CHECK_INT(look(&s, "tuesday", SEARCH_MEANING, &f), 0);
        CHECK_INT(f.results.n, 2);
        end(&s);
    }
}

/* Earlier versions stored the dimension of any first answer. */
TEST(a_stored_dimension_that_does_not_fit)
{
    static const char *const names[] = {"openai:m:1", "openai:m:9000", "openai:m:70000",
                                        "openai:m:99999999999999999999"};
    for (size_t i = 0; i < FUMI_COUNT(names); i++) {
        struct fixture s;
        struct embed_config none = {.dim = 0};
        struct written w = {.pending = false};
        struct fumi_str fact;
        CHECK(begin(&s, "m"));
        struct store *store = memory_store(s.m);
        CHECK_INT(store_set_meta(store, "space", fumi_str(names[i]), &s.e), 0);
        CHECK_INT(store_set_meta(store, "target", fumi_str(names[i]), &s.e), 0);
        memory_close(s.m);
        s.m = open_memory(&s, fake_config(&s, "m"), none, true);
        CHECK(s.m);
        CHECK_STR(memory_space(s.m, &s.a), "openai:m:0");
        CHECK_INT(add(&s, "well again", &w), 0);
        CHECK(!w.pending);
        store = memory_store(s.m);
        CHECK_INT(store_get_meta(store, &s.a, "space", &fact, &s.e), 0);
        CHECK_STR(fact, "openai:m:8");
        end(&s);
    }
}

TEST(searches_go_on_while_the_model_changes)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "first"));
    for (int i = 0; i < 40; i++)
        CHECK_INT(add(&s, fumi_fmt(&s.a, "note number %d of many", i).p, &w), 0);
    struct embed_config change = {.model = FUMI_STR("second")};
    atomic_store(&s.fake->dim, 512);
    /* While the provider returns vectors of the new dimension only, the old vectors cannot be
     * compared with them, so searches use keywords until the change is complete. No search returns
     * nothing. */
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), 0);
    CHECK_STR(memory_space(s.m, &s.a), "openai:second:512");
    CHECK_INT(s.saves >= 1, 1);
    bool done = false;
    for (int i = 0; i < 2000 && !done; i++) {
        struct embedding_progress p;
        CHECK_INT(look(&s, "note number 7", SEARCH_HYBRID, &f), 0);
        CHECK_INT(f.results.n, 5);
        CHECK_INT(memory_progress(s.m, &s.a, &p, &s.e), 0);
        CHECK_INT(p.total, 40);
        done = p.done == 40 && fumi_eq(p.serving, FUMI_STR("openai:second:512"));
    }
    CHECK(complete(&s));
    CHECK(!s.saved_previous.provider.p);
    CHECK_INT(look(&s, "note number 7 of many", SEARCH_MEANING, &f), 0);
    CHECK_INT(f.results.n, 5);
    CHECK_STR(f.results.items[0].note.text, "note number 7 of many");
    end(&s);
}

TEST(a_change_goes_on_after_a_restart)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct embedding_progress p;
    struct found f;
    CHECK(begin(&s, "first"));
    for (int i = 0; i < 10; i++)
        CHECK_INT(add(&s, fumi_fmt(&s.a, "note %d", i).p, &w), 0);
    CHECK(complete(&s));
    memory_close(s.m);
    struct embed_config c = fake_config(&s, "second"), old = fake_config(&s, "first");
    s.m = open_memory(&s, c, old, false); /* the background thread is not running */
    CHECK(s.m);
    CHECK_INT(memory_progress(s.m, &s.a, &p, &s.e), 0);
    CHECK_STR(p.serving, "openai:first:8");
    CHECK_INT(look(&s, "note 3", SEARCH_MEANING, &f), 0);
    CHECK_INT(f.results.n, 5);
    CHECK_STR(f.results.items[0].note.text, "note 3");
    memory_close(s.m);
    s.m = open_memory(&s, c, old, true);
    CHECK(s.m && complete(&s));
    CHECK_INT(look(&s, "note 3", SEARCH_MEANING, &f), 0);
    CHECK_STR(f.results.items[0].note.text, "note 3");
    end(&s);
}

TEST(a_change_that_fails_changes_nothing)
{
    static const int modes[] = {FAKE_401, FAKE_HTML, FAKE_NAN, FAKE_CUT_JSON, FAKE_NO_MODEL};
    struct fixture s;
    struct embed_config change = {.model = FUMI_STR("other")};
    CHECK(begin(&s, "m"));
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        atomic_store(&s.fake->mode, modes[i]);
        CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), -1);
        CHECK_INT(s.e.code, ERR_PROVIDER);
    }
    CHECK_INT(s.saves, 0);
    CHECK_STR(memory_space(s.m, &s.a), "openai:m:0");
    change = (struct embed_config){.base_url = FUMI_STR("")}; /* OpenAI itself, without a key */
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, ERR_NO_API_KEY);
    CHECK_INT(s.saves, 0);
    change = (struct embed_config){.provider = FUMI_STR("openay")};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, FUMI_INVALID_PARAMS);
    end(&s);
}

/* A provider that does not answer can be set: notes wait for it and are found by keyword. */
TEST(a_provider_out_of_reach_is_set_with_a_warning)
{
    static const int modes[] = {FAKE_RESET, FAKE_500, FAKE_429};
    for (size_t i = 0; i < FUMI_COUNT(modes); i++) {
        struct fixture s;
        struct written w = {.pending = false};
        struct found f;
        struct embed_config change = {.model = FUMI_STR("other")}, none = {.dim = 0};
        CHECK(begin(&s, "m"));
        atomic_store(&s.fake->mode, modes[i]);
        CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), 0);
        CHECK(s.warning.n);
        CHECK_STR(memory_space(s.m, &s.a), "openai:other:0");
        CHECK_STR(s.saved.model, "other");
        CHECK_INT(s.saved.dim, 0);
        CHECK_INT(add(&s, "the disk was full on tuesday", &w), 0);
        CHECK(w.pending && w.warning.n);
        CHECK_INT(look(&s, "tuesday", SEARCH_HYBRID, &f), 0);
        CHECK_INT(f.results.n, 1);
        CHECK(f.warning.n);
        CHECK_INT(f.mode, SEARCH_WORDS);
        atomic_store(&s.fake->mode, FAKE_WELL);
        CHECK(complete(&s));
        CHECK_STR(memory_space(s.m, &s.a), "openai:other:8");
        CHECK_INT(look(&s, "tuesday", SEARCH_MEANING, &f), 0);
        CHECK_INT(f.results.n, 1);
        CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), 0);
        CHECK(!s.warning.p);
        memory_close(s.m);
        s.m = open_memory(&s, fake_config(&s, "other"), none, false);
        CHECK(s.m);
        CHECK_STR(memory_space(s.m, &s.a), "openai:other:8");
        end(&s);
    }
}

/* Notes with vectors of the old space are found by them until the new provider answers, also after
 * a restart. */
TEST(old_vectors_answer_while_the_new_provider_is_out_of_reach)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    struct fake *other = fake_start(0);
    CHECK(begin(&s, "m") && other);
    CHECK_INT(add(&s, "well before", &w), 0);
    atomic_store(&other->mode, FAKE_RESET);
    atomic_store(&other->dim, 16);
    struct embed_config change = {
        .model = FUMI_STR("n"), .base_url = fumi_fmt(&s.a, "http://127.0.0.1:%d/v1", other->port)};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), 0);
    CHECK_STR(memory_space(s.m, &s.a), "openai:n:0");
    for (int restarted = 0; restarted < 2; restarted++) {
        CHECK_INT(look(&s, "well before", SEARCH_MEANING, &f), 0);
        CHECK_INT(f.results.n, 1);
        CHECK_INT(add(&s, "out of reach", &w), 0);
        CHECK(w.pending);
        CHECK_INT(look(&s, "reach", SEARCH_HYBRID, &f), 0);
        CHECK(f.results.n > 0 && fumi_eq(f.results.items[0].note.text, FUMI_STR("out of reach")));
        memory_close(s.m);
        s.m = open_memory(&s, s.saved, s.saved_previous, true);
        CHECK(s.m);
        CHECK_STR(memory_space(s.m, &s.a), "openai:n:0");
    }
    atomic_store(&other->mode, FAKE_WELL);
    CHECK(complete(&s));
    CHECK_STR(memory_space(s.m, &s.a), "openai:n:16");
    CHECK_INT(s.saved.dim, 16);
    CHECK_INT(look(&s, "well before", SEARCH_MEANING, &f), 0);
    CHECK_INT(f.results.n, 3);
    end(&s);
    fake_stop(other);
}

TEST(a_key_is_not_sent_to_another_address)
{
    struct fixture s;
    struct fake *other = fake_start(0);
    CHECK(begin(&s, "m") && other);
    struct embed_config change = {
        .base_url = fumi_fmt(&s.a, "http://127.0.0.1:%d/v1", other->port)};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), 0);
    CHECK(atomic_load(&other->requests) > 0);
    CHECK(!strstr(other->key, "sk-test-key"));
    CHECK(!memory_embedder(s.m, &s.a).api_key.n);
    end(&s);
    fake_stop(other);
}

/* A client may set only a URL that is harmless or already configured. */
TEST(addresses_that_a_client_may_set)
{
    struct fixture s;
    struct embed_config none = {.dim = 0};
    CHECK(begin(&s, "m"));
    struct embed_config evil = {.base_url = FUMI_STR("https://evil.example/v1")};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &evil, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, FUMI_INVALID_PARAMS);
    CHECK(strstr(s.e.text, "embedder.baseUrl: the host evil.example is not in "
                           "embedder.allowedHosts"));
    CHECK(memmem(s.e.data.p, s.e.data.n, "fumi call memory.set_config '{", 30));
    CHECK_INT(s.saves, 0);
    CHECK_STR(memory_embedder(s.m, &s.a).base_url, url(&s).p);
    evil.provider = FUMI_STR("local");
    CHECK_INT(memory_set_embedder(s.m, &s.a, &evil, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, FUMI_INVALID_PARAMS);
    memory_close(s.m);

    struct embed_config c = fake_config(&s, "m"); /* the URL in use may be set again */
    c.base_url = fumi_fmt(&s.a, "http://0.0.0.0:%d/v1", s.fake->port);
    c.allow_http = true;
    s.m = open_memory(&s, c, none, false);
    struct embed_config same[] = {{.model = FUMI_STR("n")}, {.base_url = c.base_url}};
    for (size_t i = 0; i < FUMI_COUNT(same); i++) {
        CHECK_INT(memory_set_embedder(s.m, &s.a, &same[i], EMBED_MS, false, &s.warning, &s.e), 0);
        CHECK_STR(memory_embedder(s.m, &s.a).base_url, c.base_url.p);
        CHECK_STR(fumi_str(s.fake->key), "Bearer sk-test-key");
    }
    struct embed_config other = {.base_url = fumi_fmt(&s.a, "%.*s/x", FUMI_ARG(c.base_url))};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &other, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, FUMI_INVALID_PARAMS);
    CHECK_INT(memory_set_embedder(s.m, &s.a, &other, EMBED_MS, true, &s.warning, &s.e), 0);
    CHECK_STR(memory_embedder(s.m, &s.a).base_url, other.base_url.p);
    CHECK_STR(fumi_str(s.fake->key), "");
    end(&s);
}

/* Another provider with the same URL: the URL is kept, the key is not. */
TEST(another_provider_at_the_same_address)
{
    struct fixture s;
    CHECK(begin(&s, "m"));
    struct embed_config change = {.provider = FUMI_STR("ollama"), .base_url = url(&s)};
    CHECK_INT(memory_set_embedder(s.m, &s.a, &change, EMBED_MS, false, &s.warning, &s.e), -1);
    CHECK_INT(s.e.code, ERR_PROVIDER);
    CHECK(fumi_starts(fumi_buf_str(&s.fake->last), FUMI_STR("/v1/api/embed")));
    CHECK_STR(fumi_str(s.fake->key), "");
    end(&s);
}

TEST(unchanged_texts_keep_their_vectors)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "the text", &w), 0);
    CHECK_INT(look(&s, "the text", SEARCH_MEANING, &f), 0);
    struct fumi_str id = f.results.items[0].note.id;
    double before = f.results.items[0].score;
    atomic_store(&s.fake->mode, FAKE_500);
    struct note to = {.title = FUMI_STR("t"), .text = FUMI_STR("the text")};
    CHECK_INT(memory_update(s.m, &s.a, id, &to, NOTE_TITLE | NOTE_TEXT, EMBED_MS, &w, &s.e), 0);
    CHECK(!w.pending);
    atomic_store(&s.fake->mode, FAKE_WELL);
    CHECK_INT(look(&s, "the text", SEARCH_MEANING, &f), 0);
    CHECK(f.results.n == 1 && f.results.items[0].score == before);
    CHECK_STR(f.results.items[0].note.title, "t");
    end(&s);
}

TEST(closing_does_not_wait_for_a_provider_that_hangs)
{
    struct fixture s;
    struct written w = {.pending = false};
    CHECK(begin(&s, "m"));
    CHECK_INT(add(&s, "first", &w), 0);
    atomic_store(&s.fake->mode, FAKE_HANG);
    int asked = atomic_load(&s.fake->requests);
    CHECK_INT(add(&s, "second", &w), 0);
    CHECK(!w.pending);
    for (int i = 0; i < 1000 && atomic_load(&s.fake->requests) == asked; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    end(&s); /* the background thread is waiting for an answer */
}

/* About 900 KiB; the last passage has unique words. */
static struct fumi_str long_text(struct fixture *s)
{
    struct fumi_buf b = {0};
    for (int i = 0; b.n < 900 << 10; i++)
        fumi_buf_add(&b, "the same words again. ", 22);
    for (int i = 0; i < 400; i++)
        fumi_buf_add(&b, "Zebras gallop. ", 15);
    struct fumi_str text = fumi_fmt(&s->a, "%.*s", FUMI_ARG(fumi_buf_str(&b)));
    fumi_buf_done(&b);
    return text;
}

TEST(a_long_note_is_stored_at_once_and_found_by_its_end)
{
    struct fixture s;
    struct written w = {.pending = false};
    struct found f;
    struct fumi_str text;
    CHECK(begin(&s, "m"));
    atomic_store(&s.fake->dim, 64);
    CHECK_INT(add(&s, "short", &w), 0);
    text = long_text(&s);
    struct note n = {.project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = text};
    int asked = atomic_load(&s.fake->requests);
    CHECK_INT(memory_add(s.m, &s.a, &n, EMBED_MS, &w, &s.e), 0);
    CHECK(w.pending && w.warning.n);
    CHECK_INT(look(&s, "zebras gallop", SEARCH_WORDS, &f), 0);
    CHECK_INT(f.results.n, 1);
    struct search few = {
        .filter = {.project = FUMI_STR("p"), .since = INT64_MIN, .until = INT64_MAX},
        .query = FUMI_STR("zebras gallop"),
        .top = 5,
        .mode = SEARCH_WORDS,
        .max_tokens = 100};
    CHECK_INT(memory_search(s.m, &s.a, &few, &f, &s.e), 0);
    CHECK(f.results.n == 1 && f.results.items[0].part && f.tokens <= 100);
    CHECK(memmem(f.results.items[0].note.text.p, f.results.items[0].note.text.n, "Zebras", 6));
    CHECK(complete(&s));
    CHECK(atomic_load(&s.fake->requests) > asked + 10); /* in slices */
    CHECK_INT(look(&s, "zebras gallop", SEARCH_MEANING, &f), 0);
    CHECK(f.results.n && fumi_eq(f.results.items[0].note.text, text));
    CHECK(f.results.n && f.results.items[0].note.text.n > 900 << 10);
    end(&s);
}

TEST(short_notes_do_not_wait_for_a_long_one)
{
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct written w = {.pending = false};
    CHECK(begin(&s, "m"));
    memory_close(s.m);
    s.m = open_memory(&s, fake_config(&s, "m"), none, false);
    CHECK_INT(add(&s, "learned", &w), 0);
    CHECK_INT(add(&s, long_text(&s).p, &w), 0);
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        struct vectors none_yet = {.n = 0};
        struct note n = {.id = fumi_str(ids[i]),
                         .project = FUMI_STR("p"),
                         .group = FUMI_STR("g"),
                         .text = FUMI_STR("short")};
        CHECK_INT(store_add_note(
                      memory_store(s.m), &s.a, &n,
                      &(struct note_change){.vectors = &none_yet, .allow_duplicate = true}, &s.e),
                  0);
    }
    CHECK_INT(memory_start(s.m, &s.e), 0);
    CHECK(complete(&s));
    CHECK_INT(number(&s, "SELECT max(vector) FROM vectors WHERE note > 2"), 4);
    CHECK_INT(number(&s, "SELECT min(vector) FROM vectors WHERE note = 2"), 5);
    CHECK(number(&s, "SELECT count(*) FROM vectors WHERE note = 2") > 100);
    end(&s);
}

static const char *camels(struct fixture *s)
{
    struct fumi_buf b = {0};
    while (b.n < 6000)
        fumi_buf_add(&b, "Camels saunter. ", 16);
    return fumi_buf_keep(&b, &s->a).p;
}

TEST(a_long_note_goes_on_after_a_restart_and_follows_changes)
{
    struct fixture s;
    struct embed_config none = {.dim = 0};
    struct written w = {.pending = false};
    struct found f;
    CHECK(begin(&s, "m"));
    atomic_store(&s.fake->dim, 64);
    CHECK_INT(add(&s, "learned", &w), 0);
    struct note n = {.project = FUMI_STR("p"), .group = FUMI_STR("g"), .text = long_text(&s)};
    CHECK_INT(memory_add(s.m, &s.a, &n, EMBED_MS, &w, &s.e), 0);
    memory_close(s.m); /* while it is embedded */
    s.m = open_memory(&s, fake_config(&s, "m"), none, true);
    struct note to = {.text = long_text(&s)};
    to.text.n -= 6000;
    to.text = fumi_fmt(&s.a, "%.*s%.*s", FUMI_ARG(to.text), 5999, camels(&s));
    CHECK_INT(memory_update(s.m, &s.a, n.id, &to, NOTE_TEXT, EMBED_MS, &w, &s.e), 0);
    CHECK(w.pending);
    CHECK(complete(&s));
    CHECK_INT(look(&s, "camels saunter", SEARCH_MEANING, &f), 0);
    CHECK(f.results.n && fumi_eq(f.results.items[0].note.id, n.id));
    end(&s);
}
