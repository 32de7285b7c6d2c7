/* `fumi import` beside other processes, and killed.
 *
 * Old values of globals are imported while others write new ones: 10,000 updates, and no new value
 * may be lost. The importers are processes; the writers are threads of this one. */
#include "store_fixture.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    UPDATES = 10000,
    WRITERS = 2,
    IMPORTERS = 2,
    FIRST = 1000, /* times in ms: of the existing values, of those in the file, of those written
                     during the import */
    OLD = 2000,
    NEW = 3000,
};

static const char *const values[] = {[FIRST / 1000] = "\"first\"", "\"old\"", "\"new\""};

static int put(struct fixture *t, int i, int64_t when)
{
    char id[16], key[48];
    snprintf(id, sizeof(id), "%d", i);
    snprintf(key, sizeof(key), "global.k%d", i);
    struct global g = {.id = fumi_str(id),
                       .project = FUMI_STR("p"),
                       .key = fumi_str(key),
                       .value = fumi_str(values[when / 1000]),
                       .updated = when};
    int rc = store_set_global(t->s, &t->a, &g, NULL, &t->e);
    fumi_arena_reset(&t->a, 1 << 16);
    return rc;
}

/* Each file has all the lines; the importers go through the keys as the writers do. */
static bool write_lines(const char *path)
{
    FILE *f = fopen(path, "we");
    for (int i = 0; f && i < UPDATES; i++)
        fprintf(f,
                "{\"kind\":\"global\",\"projectId\":\"p\",\"key\":\"global.k%d\",\"value\":%s,"
                "\"updatedAt\":\"1970-01-01T00:00:02.000Z\"}\n",
                i, values[OLD / 1000]);
    return f && fclose(f) == 0;
}

static pid_t import(const char *dir, const char *file)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    if (!freopen("/dev/null", "w", stdout))
        _exit(126);
    execl(FUMI, FUMI, "import", "--data-dir", dir, file, (char *)NULL);
    _exit(127);
}

struct writer {
    struct fixture fixture;
    int first, failed;
};

static void *update(void *arg)
{
    struct writer *w = arg;
    for (int i = w->first; i < UPDATES; i += WRITERS)
        w->failed += put(&w->fixture, i, NEW) != 0;
    return NULL;
}

static int count_new(struct fixture *t)
{
    int found = 0;
    struct globals all;
    if (store_list_globals(t->s, ALL_IN(&t->a), FUMI_STR("p"), FUMI_STR(""), &all, &t->e))
        return -1;
    for (size_t i = 0; i < all.n; i++)
        found += all.items[i].updated == NEW &&
                 fumi_eq(all.items[i].value, fumi_str(values[NEW / 1000]));
    return found;
}

TEST(an_import_of_old_values_loses_no_new_one)
{
    struct fixture t = {0};
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    pid_t pids[IMPORTERS];
    char dir[80], file[80];
    CHECK(fixture_open(&t));
    snprintf(dir, sizeof(dir), "%s/data", t.top);
    snprintf(file, sizeof(file), "%s/old.jsonl", t.top);
    CHECK(write_lines(file));
    for (int i = 0; i < UPDATES; i++)
        CHECK_INT(put(&t, i, FIRST), 0);
    for (int i = 0; i < IMPORTERS; i++)
        pids[i] = import(dir, file);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.fixture = {.s = t.s}, .first = i};
        CHECK_INT(pthread_create(&threads[i], NULL, update, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(writers[i].failed, 0);
        fumi_arena_done(&writers[i].fixture.a);
    }
    for (int i = 0; i < IMPORTERS; i++) {
        int status = -1;
        CHECK(pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i]);
        CHECK_INT(status, 0);
    }
    CHECK_INT(count_new(&t), UPDATES);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}

/* Imports from the pipe whose writing end is *in. */
static pid_t import_pipe(const char *dir, int *in)
{
    int ends[2];
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (!pid) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(126);
        execl(FUMI, FUMI, "import", "--data-dir", dir, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *in = ends[1];
    return pid;
}

static int write_notes(FILE *f, int from, int to)
{
    for (int i = from; i < to; i++)
        fprintf(f,
                "{\"id\":\"11111111-2222-4333-8444-%012d\",\"projectId\":\"p\",\"groupId\":\"g\","
                "\"text\":\"note number %d\"}\n",
                i, i);
    return fflush(f);
}

static int64_t notes_in(struct fixture *t)
{
    struct store_stats st = {.notes = -1};
    store_stats(t->s, &st, &t->e);
    return st.notes;
}

static int64_t wait_for_notes(struct fixture *t, int64_t least)
{
    int64_t n = notes_in(t);
    for (int i = 0; i < 6000 && n < least; i++, n = notes_in(t))
        usleep(10000);
    return n;
}

/* What was read before a pause of the input is stored without waiting for more. A killed import
 * loses nothing of that, and importing everything again adds the rest. */
TEST(a_killed_import_is_continued)
{
    enum { BEFORE = 300, ALL = 20000 };
    struct fixture t = {0};
    char dir[80];
    int in = -1, status;
    CHECK(fixture_open(&t));
    snprintf(dir, sizeof(dir), "%s/data", t.top);
    signal(SIGPIPE, SIG_IGN);
    pid_t pid = import_pipe(dir, &in);
    FILE *f = pid > 0 ? fdopen(in, "w") : NULL;
    CHECK(f);
    write_notes(f, 0, BEFORE);
    CHECK_INT(wait_for_notes(&t, BEFORE), BEFORE);
    write_notes(f, BEFORE, ALL / 2);
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    fclose(f);
    int64_t stored = notes_in(&t);
    CHECK(stored >= BEFORE && stored < ALL);
    pid = import_pipe(dir, &in);
    f = pid > 0 ? fdopen(in, "w") : NULL;
    CHECK(f);
    CHECK_INT(write_notes(f, 0, ALL), 0);
    fclose(f);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_INT(notes_in(&t), ALL);
    CHECK(fixture_sound(&t));
    fixture_end(&t);
}
