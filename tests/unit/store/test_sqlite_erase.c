/* Deleted and replaced texts are erased: all files of the store are searched for their bytes. */
#include "test.h"

#include "store/scan_parts.h"
#include "store/sqlite_bytes.h"
#include "store/sqlite_parts.h"
#include "store_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

enum { NOTES = 400, RARE = 20, LONG = 6000 };

/* The content of a note. Its words consist of random letters, so that they occur nowhere else and
 * share no prefix with adjacent words in the index. */
struct rare {
    char id[16], sentence[64], text[LONG + 400], title[32], source[32], tag[RARE];
    char plain[RARE], stemmed[RARE + 4], folded[RARE];
};

static uint64_t turn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_word(uint64_t *state, char out[RARE])
{
    static const char letters[] = "bcdfghjklmnpqrtvwxz";
    for (int i = 0; i < RARE - 4; i++)
        out[i] = letters[turn(state) % (sizeof(letters) - 1)];
    out[RARE - 4] = 0;
}

/* `version` is the number of earlier texts of the note. */
static void make_rare(struct rare *r, unsigned i, unsigned version)
{
    uint64_t state = (uint64_t)i * 1000 + version + 1;
    char marker[RARE], title[RARE], source[RARE];
    for (int k = 0; k < 8; k++)
        turn(&state);
    make_word(&state, r->plain);
    make_word(&state, r->stemmed);
    make_word(&state, r->folded);
    make_word(&state, r->tag);
    make_word(&state, marker);
    make_word(&state, title);
    make_word(&state, source);
    snprintf(r->id, sizeof(r->id), "note-%u", i);
    snprintf(r->sentence, sizeof(r->sentence), "Marked %s, sentence %u.", marker, i);
    snprintf(r->title, sizeof(r->title), "Title %s", title);
    snprintf(r->source, sizeof(r->source), "%s.md", source);
    int n = snprintf(r->text, sizeof(r->text),
                     "The quick brown fox of the project. %s It met %s and some %sings, and then "
                     "\xc3\x89%s.",
                     r->sentence, r->plain, r->stemmed, r->folded);
    /* Lengths vary; the longest rows need overflow pages. */
    const int most = i % 7 ? (int)(turn(&state) % 1500) : LONG;
    for (unsigned k = 0; n < most; k++)
        n += snprintf(r->text + n, sizeof(r->text) - (size_t)n, " common%u words %s", k % 50,
                      k % 40 ? "again" : r->sentence);
}

static struct note note_of(struct rare *r, struct fumi_str *tag)
{
    struct note n = fixture_note(r->id, r->text);
    *tag = fumi_str(r->tag);
    n.title = fumi_str(r->title);
    n.source = fumi_str(r->source);
    n.tags = (struct fumi_strs){tag, 1};
    return n;
}

static int put_rare(struct fixture *t, unsigned i)
{
    struct rare r;
    struct fumi_str tag;
    make_rare(&r, i, 0);
    struct note n = note_of(&r, &tag);
    return fixture_put(t, &n, (double)i / 100);
}

static int patch_rare(struct fixture *t, unsigned i, unsigned version)
{
    struct rare r;
    struct fumi_str tag;
    make_rare(&r, i, version);
    struct note n = note_of(&r, &tag);
    return store_update_note(t->s, &t->a, n.id, &n,
                             NOTE_TEXT | NOTE_TITLE | NOTE_SOURCE | NOTE_TAGS, NULL, &t->e);
}

static bool fill(struct fixture *t)
{
    if (!fixture_open(t))
        return false;
    for (unsigned i = 0; i < NOTES; i++)
        if (put_rare(t, i))
            return false;
    return true;
}

static bool holds(struct fumi_str file, const char *what)
{
    return file.n && memmem(file.p, file.n, what, strlen(what));
}

/* Returns a part of the note that the file contains, or NULL. The index omits the prefix that a
 * word shares with the previous word, so the first letters of words are not searched for. */
static const char *trace_of(struct fumi_str file, const struct rare *r)
{
    enum { SHARED = 3 };
    const char *const all[] = {r->sentence,        r->plain + SHARED, r->stemmed + SHARED,
                               r->folded + SHARED, r->tag + SHARED,   r->title + 6 + SHARED,
                               r->source + SHARED};
    for (size_t i = 0; i < FUMI_COUNT(all); i++)
        if (holds(file, all[i]))
            return all[i];
    return NULL;
}

static struct fumi_str whole(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    struct fumi_str out = {0};
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        char *p = malloc((size_t)st.st_size);
        ssize_t got = read(fd, p, (size_t)st.st_size);
        out = (struct fumi_str){p, got > 0 ? (size_t)got : 0};
    }
    if (fd >= 0)
        close(fd);
    return out;
}

struct gone {
    unsigned note, version;
};

/* The number of texts of which the file contains a part. */
static int count_traces(const char *path, const struct gone *all, size_t n, bool print)
{
    struct fumi_str file = whole(path);
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        struct rare r;
        make_rare(&r, all[i].note, all[i].version);
        const char *what = trace_of(file, &r);
        found += what != NULL;
        if (what && print)
            fprintf(stderr, "%s holds %s of note %u\n", path, what, all[i].note);
    }
    free((char *)file.p);
    return found;
}

/* The number of pages whose unused space, between the cell pointers and the cells, is not zeroed.
 */
static int count_unclean(const char *path)
{
    struct fumi_str file = whole(path);
    int unclean = 0;
    for (size_t at = 0; at + 4096 <= file.n; at += 4096) {
        const char *page = file.p + at, *head = page + (at ? 0 : 100);
        bool leaf = head[0] == 10 || head[0] == 13, any = false;
        if (!leaf && head[0] != 2 && head[0] != 5)
            continue;
        const char *end = page + be(head + 5, 2);
        for (const char *p = head + (leaf ? 8 : 12) + 2 * be(head + 3, 2); p < end; p++)
            any |= *p != 0;
        unclean += any;
    }
    free((char *)file.p);
    return unclean;
}

static int look_into_all(const char *dir, const struct gone *all, size_t n, bool print)
{
    DIR *d = opendir(dir);
    int found = 0, files = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
        if (f->d_name[0] == '.')
            continue;
        files++;
        found += count_traces(path, all, n, print);
    }
    if (d)
        closedir(d);
    return files ? found : -1;
}

/* As look_into_all, in another process: closing a file in this one would release SQLite's locks on
 * it.
 */
static int traces(struct fixture *t, const struct gone *all, size_t n, bool print)
{
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/data", t->top);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int found = look_into_all(dir, all, n, print);
        fflush(NULL);
        _exit(found < 0 ? 255 : found > 200 ? 200 : found);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static int back_up(struct fixture *t, const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/data/%s", t->top, name);
    return store_backup(t->s, fumi_str(path), &t->e);
}

/* The backup contains the notes that are deleted next. */
static int remove_copy(struct fixture *t, const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/data/%s", t->top, name);
    return unlink(path);
}

static int drop(struct fixture *t, unsigned i)
{
    struct rare r;
    make_rare(&r, i, 0);
    return fixture_forget(t, r.id);
}

static bool is_found(struct fixture *t, unsigned i, unsigned version)
{
    struct rare r;
    struct hits h;
    make_rare(&r, i, version);
    return fixture_match(t, NULL, fumi_str(r.plain), 3, &h) == 0 && h.n == 1;
}

TEST(one_note_is_gone)
{
    struct fixture t = {0};
    struct hits h;
    CHECK(fill(&t));
    for (unsigned i = 100; i < 108; i++) {
        const struct gone g = {i, 0};
        char name[32];
        CHECK_INT(fixture_near(&t, NULL, 1, 5, &h), 0);
        CHECK(traces(&t, &g, 1, false) > 0);
        CHECK(is_found(&t, i, 0));
        if (i % 2) {
            fixture_shut(&t);
            CHECK(fixture_open(&t));
        }
        CHECK_INT(drop(&t, i), 0);
        if (i % 2 == 0)
            CHECK_INT(store_check(t.s, false, NULL, NULL, &t.e), 0);
        CHECK_INT(traces(&t, &g, 1, true), 0);
        snprintf(name, sizeof(name), "copy-%u.db", i);
        CHECK_INT(back_up(&t, name), 0);
        CHECK_INT(traces(&t, &g, 1, true), 0);
        CHECK_INT(remove_copy(&t, name), 0);
        CHECK(!is_found(&t, i, 0) && is_found(&t, i + 100, 0));
    }
    fixture_end(&t);
}

/* Removes the texts of the notes that were not forgotten. Returns their number. */
static size_t only_forgotten(struct gone *all, size_t n, const bool *forgotten)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (forgotten[all[i].note])
            all[left++] = all[i];
    return left;
}

/* Notes are changed and forgotten in random order, so that pages are split and merged. */
TEST(many_notes_are_gone)
{
    struct fixture t = {0};
    static struct gone all[4 * NOTES];
    unsigned version[NOTES] = {0};
    bool gone[NOTES] = {0};
    size_t n = 0;
    uint64_t state = 7;
    char copy[128];
    CHECK(fill(&t));
    CHECK(traces(&t, &(struct gone){0, 0}, 1, false) > 0);
    for (int i = 0; i < 2 * NOTES; i++) {
        unsigned k = (unsigned)(turn(&state) % NOTES);
        if (gone[k])
            continue;
        gone[k] = turn(&state) % 3 == 0;
        all[n++] = (struct gone){k, version[k]};
        CHECK_INT(gone[k] ? drop(&t, k) : patch_rare(&t, k, ++version[k]), 0);
    }
    n = only_forgotten(all, n, gone);
    CHECK_INT(back_up(&t, "copy.db"), 0);
    CHECK_INT(store_check(t.s, false, NULL, NULL, &t.e), 0);
    CHECK_INT(traces(&t, all, n, true), 0);
    for (unsigned i = 0; i < NOTES; i++)
        CHECK(is_found(&t, i, version[i]) == !gone[i]);
    fixture_shut(&t);
    snprintf(copy, sizeof(copy), "%s/data/copy.db", t.top);
    CHECK_INT(count_unclean(t.path), 0);
    CHECK_INT(count_unclean(copy), 0);
    CHECK((t.s = fixture_store(&t, copy)) && fixture_sound(&t));
    fixture_end(&t);
}

/* Globals, groups, and replaced texts. */
TEST(other_things_are_gone)
{
    struct fixture t = {0};
    struct rare a, b, c, d;
    CHECK(fill(&t));
    const struct gone all[] = {{1001, 0}, {1002, 0}, {1003, 0}, {1004, 0}, {50, 0}};
    struct rare *const rares[] = {&a, &b, &c, &d};
    for (unsigned i = 0; i < 4; i++)
        make_rare(rares[i], 1001 + i, 0);
    struct global g = {.id = FUMI_STR("g1"),
                       .project = FUMI_STR("p"),
                       .key = FUMI_STR("global.x"),
                       .value = fumi_fmt(&t.a, "\"%s\"", a.sentence)};
    struct group h = {.id = FUMI_STR("h1"),
                      .project = FUMI_STR("p"),
                      .key = FUMI_STR("k"),
                      .title = fumi_str(c.sentence)};
    CHECK_INT(store_set_global(t.s, &t.a, &g, NULL, &t.e), 0);
    CHECK_INT(store_add_group(t.s, &h, NULL, &t.e), 0);
    g.id = FUMI_STR("g2");
    g.value = fumi_fmt(&t.a, "\"%s\"", b.sentence);
    CHECK_INT(store_set_global(t.s, &t.a, &g, NULL, &t.e), 0);
    CHECK_INT(
        store_update_group(t.s, h.id, fumi_str(d.sentence), (struct fumi_str){0}, 1, NULL, &t.e),
        0);
    CHECK_INT(patch_rare(&t, 50, 1), 0);
    CHECK(traces(&t, all, 5, false) >= 2);
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("g1"), NULL, &t.e), 0);
    CHECK_INT(store_delete_group(t.s, h.id, NULL, &t.e), 0);
    CHECK_INT(fixture_forget(&t, "g1"), 0);
    CHECK_INT(fixture_forget(&t, "h1"), 0);
    CHECK_INT(fixture_forget(&t, "note-50"), 0);
    CHECK_INT(store_check(t.s, false, NULL, NULL, &t.e), 0);
    CHECK_INT(traces(&t, all, 5, true), 0);
    CHECK(!is_found(&t, 50, 1));
    fixture_end(&t);
}

static struct global rare_global(struct fixture *t, const char *id, const char *key, unsigned i)
{
    struct rare r;
    make_rare(&r, i, 0);
    return (struct global){.id = fumi_str(id),
                           .project = FUMI_STR("p"),
                           .key = fumi_str(key),
                           .value = fumi_fmt(&t->a, "\"%s\"", r.sentence),
                           .updated = i};
}

static int removal(struct fixture *t, unsigned way)
{
    struct global g = rare_global(t, "other", way == 1 ? "global.a" : "global.b", 3000);
    struct merge_row row = {.kind = MERGE_GLOBAL, .global = g};
    switch (way) {
    case 0:
        return store_delete(t->s, &t->a, FUMI_STR("note-60"), NULL, &t->e);
    case 1:
        return store_set_global(t->s, &t->a, &g, NULL, &t->e);
    case 2:
        store_merge(t->s, &t->a, &row, 1, NULL);
        return row.e.code;
    case 3:
        return store_delete(t->s, &t->a, FUMI_STR("gc"), NULL, &t->e);
    case 4:
        return store_update_group(t->s, FUMI_STR("h1"), FUMI_STR("T"), FUMI_STR("D"), 1, NULL,
                                  &t->e);
    case 5:
        return store_delete_group(t->s, FUMI_STR("h2"), NULL, &t->e);
    case 6:
        return patch_rare(t, 66, 1);
    }
    return -1;
}

/* Each way to delete or replace a text, without doctor and without closing the store: the journal
 * keeps the text until what had it is forgotten. */
TEST(gone_whichever_way_it_is_removed)
{
    static const char *const ids[] = {"note-60", "ga", "gb", "gc", "h1", "h2", "note-66"};
    struct fixture t = {0};
    const struct gone all[] = {{60, 0},   {2001, 0}, {2002, 0}, {2003, 0},
                               {2004, 0}, {2005, 0}, {66, 0}};
    struct rare title, description;
    CHECK(fill(&t));
    make_rare(&title, 2004, 0);
    make_rare(&description, 2005, 0);
    struct global globals[] = {rare_global(&t, "ga", "global.a", 2001),
                               rare_global(&t, "gb", "global.b", 2002),
                               rare_global(&t, "gc", "global.c", 2003)};
    struct group groups[] = {{.id = FUMI_STR("h1"),
                              .project = FUMI_STR("p"),
                              .key = FUMI_STR("k"),
                              .title = fumi_str(title.sentence)},
                             {.id = FUMI_STR("h2"),
                              .project = FUMI_STR("p"),
                              .key = FUMI_STR("l"),
                              .title = FUMI_STR("T"),
                              .description = fumi_str(description.sentence)}};
    for (size_t i = 0; i < FUMI_COUNT(globals); i++)
        CHECK_INT(store_set_global(t.s, &t.a, &globals[i], NULL, &t.e), 0);
    for (size_t i = 0; i < FUMI_COUNT(groups); i++)
        CHECK_INT(store_add_group(t.s, &groups[i], NULL, &t.e), 0);
    for (unsigned way = 0; way < FUMI_COUNT(all); way++) {
        bool more = true;
        CHECK(traces(&t, &all[way], 1, false) > 0);
        CHECK_INT(removal(&t, way), 0);
        CHECK(traces(&t, &all[way], 1, false) > 0);
        CHECK_INT(fixture_forget(&t, ids[way]), 0);
        for (int i = 0; i < 100 && more; i++)
            CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
        CHECK_INT(traces(&t, &all[way], 1, true), 0);
    }
    fixture_end(&t);
}

struct intruder {
    sqlite3 *h;
    int begun;
};

static int mark_again(unsigned kind, void *arg, void *statement, void *text)
{
    struct intruder *x = arg;
    (void)kind, (void)statement;
    if (strcmp(text, "BEGIN IMMEDIATE") == 0 && ++x->begun == 3)
        sqlite3_exec(x->h, "REPLACE INTO meta VALUES('erase', 'log')", NULL, NULL, NULL);
    return 0;
}

/* A deletion has three transactions: it deletes, merges the index and removes the mark in `meta`.
 * If another process sets the mark before the third transaction, the mark stays. */
TEST(the_mark_of_another_stays)
{
    struct fixture t = {0};
    struct intruder x = {0};
    struct fumi_str mark;
    CHECK(fixture_open(&t) && put_rare(&t, 1) == 0);
    CHECK_INT(sqlite3_open(t.path, &x.h), 0);
    sqlite3_trace_v2(((struct store_sqlite *)t.s)->writer->h, SQLITE_TRACE_STMT, mark_again, &x);
    CHECK_INT(drop(&t, 1), 0);
    CHECK_INT(x.begun, 3);
    CHECK_INT(store_get_meta(t.s, &t.a, "erase", &mark, &t.e), 0);
    CHECK_STR(mark, "log");
    sqlite3_close(x.h);
    fixture_end(&t);
}

/* Starts a process that holds a read transaction until the pipe is closed. */
static pid_t read_elsewhere(const char *path, int end[2], int ready[2])
{
    pid_t child = fork();
    if (child)
        return child;
    sqlite3 *h = NULL;
    char byte = 0;
    close(end[1]);
    int rc = sqlite3_open(path, &h) ||
             sqlite3_exec(h, "BEGIN; SELECT count(*) FROM notes", NULL, NULL, NULL);
    if (!rc && write(ready[1], &byte, 1) == 1)
        while (read(end[0], &byte, 1) > 0) {}
    _exit(rc);
}

/* The log cannot be truncated while another process reads old pages from it. */
TEST(gone_after_others_have_read)
{
    struct fixture t = {0};
    const struct gone g = {7, 0};
    int end[2], ready[2], status = 1;
    char byte;
    bool more = false;
    CHECK(fill(&t) && pipe(end) == 0 && pipe(ready) == 0);
    pid_t child = read_elsewhere(t.path, end, ready);
    CHECK(child > 0 && read(ready[0], &byte, 1) == 1);
    CHECK_INT(drop(&t, 7), 0);
    CHECK(!is_found(&t, 7, 0));
    CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
    CHECK(more && traces(&t, &g, 1, false) > 0);
    CHECK_INT(back_up(&t, "copy.db"), 0);
    for (int i = 0; i < 2; i++) {
        close(end[i]);
        close(ready[i]);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
    CHECK(!more);
    CHECK_INT(traces(&t, &g, 1, true), 0);
    fixture_end(&t);
}

/* A process is killed after a deletion: the next process completes the erasure. */
TEST(gone_after_a_kill)
{
    struct fixture t = {0};
    const struct gone all[] = {{20, 0}, {21, 0}, {22, 0}};
    bool more = true;
    CHECK(fill(&t));
    fixture_shut(&t);
    pid_t child = fork();
    if (child == 0) {
        bool ok = fixture_open(&t);
        for (unsigned i = 20; i < 23 && ok; i++)
            ok = drop(&t, i) == 0;
        raise(ok ? SIGKILL : SIGTERM);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGKILL);
    CHECK(traces(&t, all, 3, false) > 0);
    CHECK(fixture_open(&t));
    for (int i = 0; i < 100 && more; i++)
        CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
    CHECK(!more);
    CHECK_INT(traces(&t, all, 3, true), 0);
    fixture_end(&t);
}

static int killed_at_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return raise(SIGKILL);
}

/* Makes the store kill the process when it truncates its log. */
static bool kill_at_truncate(struct fixture *t)
{
    static sqlite3_io_methods methods;
    sqlite3_file *log = NULL;
    struct store_sqlite *s = (struct store_sqlite *)t->s;
    if (sqlite3_file_control(s->writer->h, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ||
        !log->pMethods)
        return false;
    methods = *log->pMethods;
    methods.xTruncate = killed_at_truncate;
    log->pMethods = &methods;
    return true;
}

/* Starts a process that waits for a byte, and is killed while it deletes note 33. */
static pid_t drop_and_die(struct fixture *t, int begin[2])
{
    pid_t child = fork();
    if (child)
        return child;
    char byte;
    if (read(begin[0], &byte, 1) != 1 || !fixture_open(t) || put_rare(t, 2000) ||
        !kill_at_truncate(t) || drop(t, 33))
        _exit(1);
    _exit(0);
}

/* The mark remains until the log is truncated: if a process is killed after merging the index,
 * another process truncates the log. */
TEST(gone_after_a_kill_before_the_log_is_empty)
{
    struct fixture t = {0};
    const struct gone g = {33, 0};
    int begin[2], status = 0;
    bool more = true;
    CHECK(fill(&t) && pipe(begin) == 0);
    fixture_shut(&t);
    pid_t child = drop_and_die(&t, begin);
    CHECK(fixture_open(&t)); /* keeps the log from being removed */
    CHECK(write(begin[1], "", 1) == 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(traces(&t, &g, 1, false) > 0);
    for (int i = 0; i < 100 && more; i++)
        CHECK_INT(store_erase_step(t.s, &more, &t.e), 0);
    CHECK(!more);
    CHECK_INT(traces(&t, &g, 1, true), 0);
    close(begin[0]);
    close(begin[1]);
    fixture_end(&t);
}

/* The index needs many steps, and the process only deletes one note: closing the store completes
 * the erasure. */
TEST(gone_when_the_store_is_closed)
{
    struct fixture t = {0};
    const struct gone g = {77, 0};
    CHECK(fill(&t));
    for (unsigned i = NOTES; i < 8 * NOTES; i++)
        CHECK_INT(put_rare(&t, i), 0);
    fixture_shut(&t);
    CHECK(fixture_open(&t));
    CHECK_INT(drop(&t, 77), 0);
    CHECK(traces(&t, &g, 1, false) > 0);
    fixture_shut(&t);
    CHECK_INT(traces(&t, &g, 1, true), 0);
    fixture_end(&t);
}

/* The number of rows of the note in the vector cache that are not zeroed. */
static int rows_in_cache(struct fixture *t, int64_t seq)
{
    char path[160];
    struct scan_map *m = NULL;
    struct scan_state state;
    snprintf(path, sizeof(path), "%s.vec", t->path);
    int fd = open(path, O_RDWR | O_CLOEXEC), rows = 0;
    const char *why = scan_map_open(fd, SPACE, DIM, &m, &state);
    for (uint64_t row = 0; !why && row < state.rows; row++) {
        struct scan_block b = scan_block(m, (size_t)(row / SCAN_BLOCK));
        size_t i = row % SCAN_BLOCK;
        rows += b.note[i] == seq && (b.vector[i] || b.bits[i * m->layout.words]);
    }
    scan_map_free(m);
    close(fd);
    return why ? -1 : rows;
}

/* Rows of the cache are zeroed, whether or not this process has searched. */
TEST(gone_from_the_cache)
{
    struct fixture t = {0};
    struct hits h;
    CHECK(fill(&t));
    CHECK_INT(fixture_near(&t, NULL, 1, 5, &h), 0);
    CHECK_INT(rows_in_cache(&t, 31), 1);
    CHECK_INT(drop(&t, 30), 0);
    CHECK_INT(rows_in_cache(&t, 31), 0);
    fixture_shut(&t);
    CHECK(fixture_open(&t));
    CHECK_INT(rows_in_cache(&t, 41), 1);
    CHECK_INT(drop(&t, 40), 0);
    CHECK_INT(rows_in_cache(&t, 41), 0);
    CHECK_INT(rows_in_cache(&t, 42), 1);
    CHECK_INT(fixture_near(&t, NULL, 0.4, 400, &h), 0);
    CHECK_INT(h.n, NOTES - 2);
    fixture_end(&t);
}
