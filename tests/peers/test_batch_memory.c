/* The memory of a running `fumi serve` for answers that are too large: a store of 1,000 notes of
 * 250 KB each, and batches that request all of them ten times. Every test starts its own server,
 * because VmHWM is the peak of a process. */
#include "base/arena.h"
#include "store/sqlite.h"
#include "test.h"
#include "wire.h"

#include <ftw.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature) /* clang */
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

enum {
    NOTES = 1000,
    TEXT = 256000,
    FIT = 32, /* notes in an answer of 8 MiB; one more is too many */
    DIM = 384,
    CLIENTS = 16,
    /* KiB; a sanitizer needs several times as much. */
    BOUND = SANITIZED ? 1 << 20 : 100 << 10,
};

#define LIST(limit)                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"memory.list_recent\",\"params\":"                  \
    "{\"projectId\":\"p\",\"limit\":" #limit "}}"
#define LIST_5 LIST(1000) "," LIST(1000) "," LIST(1000) "," LIST(1000) "," LIST(1000)
#define BATCH  "[" LIST_5 "," LIST_5 "]"
#define SEARCH(more)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"memory.search\",\"params\":"                       \
    "{\"projectId\":\"p\",\"query\":\"apple\",\"mode\":\"words\",\"topK\":1000" more "}}"

static const char too_large[] =
    "{\"code\":-32000,\"message\":\"The answer is larger than 8388608 bytes; ask for less\"}";

static const struct fumi_log quiet = {.level = FUMI_SILENT};
static char dir[] = "/tmp/fumi-batch-XXXXXX";

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void drop_dir(void)
{
    nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* Each note has a vector, so that the server has nothing to embed. */
static int put_notes(struct store *s, struct fumi_arena *a, struct fumi_err *e)
{
    char *text = fumi_alloc(a, TEXT);
    float *x = fumi_alloc(a, DIM * sizeof(*x));
    struct passage p = {0, 5, x};
    struct vectors v = {FUMI_STR("local:all-MiniLM-L6-v2:384"), DIM, &p, 1};
    memset(text, ' ', TEXT);
    memcpy(text, "apple", 5);
    text[TEXT - 1] = '.';
    x[0] = 1;
    for (int i = 0; i < NOTES; i++) {
        struct note n = {.id = fumi_fmt(a, "%d", i),
                         .project = FUMI_STR("p"),
                         .group = FUMI_STR("g"),
                         .text = {text, TEXT},
                         .created = {1000 + i, true}};
        if (store_add_note(s, a, &n, &(struct note_change){.vectors = &v, .allow_duplicate = true},
                           e))
            return -1;
    }
    return 0;
}

/* Creates the store on first use; it exists until the program ends. */
static int make_store(void)
{
    static bool made;
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    if (made)
        return 0;
    if (!mkdtemp(dir))
        return -1;
    made = true;
    atexit(drop_dir);
    struct fumi_str path = fumi_fmt(&a, "%s/memory.db", dir);
    struct store *s = store_sqlite_open(
        &(struct store_sqlite_options){.path = path.p, .nosync = true, .log = &quiet}, &e);
    int rc = s ? put_notes(s, &a, &e) : -1;
    if (s)
        store_close(s);
    if (rc)
        fprintf(stderr, "the store cannot be made: %s\n", e.text);
    fumi_arena_done(&a);
    return rc;
}

static int start(struct live *s)
{
    char flags[128];
    if (make_store())
        return -1;
    snprintf(flags, sizeof(flags), "--data-dir %s --auth none", dir);
    return live_start_as(s, FUMI, "serve", flags);
}

/* Sends a line and reads a line, which is valid until the next one is read. */
static struct fumi_str call(struct wire *w, const char *message)
{
    if (!wire_put(w, fumi_str(message)) || !wire_put(w, FUMI_STR("\n")))
        return (struct fumi_str){0};
    return wire_until(w, "\n");
}

static size_t times(struct fumi_str all, const char *what)
{
    size_t n = 0;
    for (const char *at; all.n && (at = memmem(all.p, all.n, what, strlen(what))); n++)
        all = (struct fumi_str){at + 1, (size_t)(all.p + all.n - at - 1)};
    return n;
}

TEST(a_batch_of_lists_that_are_too_large)
{
    struct live s;
    struct wire w;
    CHECK_INT(start(&s), 0);
    wire_unix(&w, &s);
    struct fumi_str answer = call(&w, BATCH);
    CHECK_INT(times(answer, "\"id\":1"), 10);
    CHECK_INT(times(answer, too_large), 10);
    long most = live_status_of(&s, "VmHWM:");
    wire_close(&w);
    printf("peak of a batch of ten lists: %ld KiB\n", most);
    CHECK(most > 0);
    CHECK(most < BOUND);
    CHECK_INT(live_stop(&s), 0);
}

/* Texts that are read but not part of the answer do not count: the note after the last one of a
 * list, and texts that maxTokens excludes. */
TEST(texts_outside_the_answer_do_not_count)
{
    struct live s;
    struct wire w;
    CHECK_INT(start(&s), 0);
    wire_unix(&w, &s);
    struct fumi_str answer = call(&w, LIST(32));
    CHECK_INT(times(answer, "apple"), FIT);
    CHECK_INT(times(answer, "\"nextCursor\""), 1);
    CHECK_INT(times(call(&w, LIST(33)), too_large), 1);
    CHECK_INT(times(call(&w, SEARCH()), too_large), 1);
    answer = call(&w, SEARCH(",\"maxTokens\":100")); /* a part of the first, and no more */
    CHECK_INT(times(answer, "apple"), 1);
    CHECK_INT(times(answer, "\"omitted\":999"), 1);
    wire_close(&w);
    CHECK_INT(live_stop(&s), 0);
}

/* A last client is answered after the others have disconnected. */
static void disconnect_clients(struct live *s, bool http)
{
    struct wire all[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        if (http)
            wire_tcp(&all[i], s);
        else
            wire_unix(&all[i], s);
        if (http)
            wire_post(&all[i], s, FUMI_STR(BATCH), "");
        else
            wire_put(&all[i], FUMI_STR(BATCH "\n"));
    }
    for (size_t i = 0; i < CLIENTS; i++)
        wire_close(&all[i]);
    struct wire last;
    wire_unix(&last, s);
    CHECK_INT(times(call(&last, LIST(1000)), too_large), 1);
    wire_close(&last);
}

/* Repeats the check until memory stays below the limit: calls that are still running may need more
 * again. */
static bool memory_returns(const struct live *s)
{
    enum { STAYS = 30 };
    int below = 0;
    for (int i = 0; i < LIVE_PATIENCE * 100 && below < STAYS; i++) {
        below = live_memory(s) < BOUND ? below + 1 : 0;
        poll(NULL, 0, 10);
    }
    return below == STAYS;
}

TEST(memory_of_disconnected_clients_is_freed)
{
    struct live s;
    CHECK_INT(start(&s), 0);
    for (int http = 0; http < 2; http++) {
        disconnect_clients(&s, http);
        bool back = memory_returns(&s);
        printf("after %d clients that left, %s: %ld KiB, most %ld KiB\n", CLIENTS,
               http ? "HTTP" : "lines", live_memory(&s), live_status_of(&s, "VmHWM:"));
        CHECK(back);
    }
    CHECK_INT(live_stop(&s), 0);
}
