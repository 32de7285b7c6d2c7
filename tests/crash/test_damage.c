/* Damaged files: no crash, no hang, and never a wrong text. A child process opens each file as any
 * program would, lets doctor repair it, and opens it again. CRASH_FILES: number of files. */
#include "base/arena.h"
#include "crash.h"
#include "store/sqlite.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTES = 200, FILES = 60, PAGE = 4096, PATIENCE = 60, ON_A_PAGE = 60, PAGES = 1024 };

struct bytes {
    struct fumi_buf db, wal;
    char owners[PAGES][32]; /* of the pages of db: the table or index that each belongs to */
};

/* The results of a child process, in shared memory. */
struct seen {
    int wrong;           /* texts that differ from what was stored */
    int right, again;    /* correct notes before and after doctor */
    int missing;         /* notes reported as not found before doctor */
    bool opened, usable; /* the file could be opened before and after doctor */
    bool doctor_ok;      /* doctor found no damage in the end */
    char output[200];    /* the last error text */
};

static size_t pages(const struct fumi_buf *b)
{
    return b->n / PAGE;
}

static void flip(struct fumi_buf *b, uint64_t r)
{
    b->p[r % b->n] ^= (char)(1 << (r >> 40 & 7));
}

static void scribble(struct fumi_buf *b, uint64_t r)
{
    for (size_t i = 0, at = r % b->n; i < 16 && at + i < b->n; i++)
        b->p[at + i] = (char)crash_mix(r + i);
}

static void zero_sector(struct fumi_buf *b, uint64_t r)
{
    memset(b->p + r % (b->n / 512) * 512, 0, 512);
}

static void zero_page(struct fumi_buf *b, uint64_t r)
{
    memset(b->p + (1 + r % (pages(b) - 1)) * PAGE, 0, PAGE);
}

static void other_page(struct fumi_buf *b, uint64_t r)
{
    memcpy(b->p + r % pages(b) * PAGE, b->p + (r >> 20) % pages(b) * PAGE, PAGE);
}

static void header(struct fumi_buf *b, uint64_t r)
{
    b->p[r % 100] ^= (char)(r >> 40 | 1);
}

static void page_head(struct fumi_buf *b, uint64_t r)
{
    b->p[(1 + r % (pages(b) - 1)) * PAGE + (r >> 20) % 12] ^= (char)(r >> 40 | 1);
}

static void cut_short(struct fumi_buf *b, uint64_t r)
{
    b->n = r % b->n;
}

static void cut_pages(struct fumi_buf *b, uint64_t r)
{
    b->n = r % pages(b) * PAGE;
}

static const struct damage {
    const char *name;
    void (*hurt)(struct fumi_buf *b, uint64_t random);
    bool wal;   /* damages the log, not the file */
    bool local; /* damages one page: notes of other pages must be readable after doctor */
} damages[] = {
    {"a bit", flip, false, true},
    {"sixteen bytes", scribble, false, true},
    {"a sector of zeros", zero_sector, false, true},
    {"a page of zeros", zero_page, false, true},
    {"a page that is another", other_page, false, true},
    {"the head of a page", page_head, false, true},
    {"the head of the file", header, false, false},
    {"cut", cut_short, false, false},
    {"cut between pages", cut_pages, false, false},
    {"a bit of the log", flip, true, false},
    {"sixteen bytes of the log", scribble, true, false},
    {"the log cut", cut_short, true, false},
};

/* Every operation that returns a text must return the right one. */
static void check_note(struct seen *s, const struct note *n)
{
    struct crash_thing t = {CRASH_NOTE, 0, 0, 1};
    if (!crash_id_read(n->id, &t) || !crash_note_is(n, t))
        s->wrong++;
}

static void get_each(struct store *s, struct seen *seen, int *right, int *missing)
{
    struct fumi_arena a = {0};
    for (unsigned i = 0; i < NOTES; i++) {
        struct fumi_err e = {0};
        struct note n = {0};
        struct crash_thing t = {CRASH_NOTE, 1, i, 1};
        int rc = store_get_note(s, &a, crash_id(&a, t), &n, &e);
        if (!rc && !crash_note_is(&n, t))
            seen->wrong++;
        *right += !rc;
        *missing += rc && e.code == ERR_NOT_FOUND;
        fumi_arena_reset(&a, 1 << 16);
    }
    fumi_arena_done(&a);
}

static void check_hits(struct store *s, struct fumi_arena *a, struct seen *seen,
                       const struct hits *h)
{
    struct fumi_err e = {0};
    struct notes found = {0};
    for (size_t i = 0; i < h->n; i++) {
        if (store_load_notes(s, &(struct loading){.arena = a}, &h->items[i].seq, 1, &found, &e))
            continue;
        for (size_t k = 0; k < found.n; k++)
            check_note(seen, &found.items[k]);
    }
}

/* Lists and searches may fail or be incomplete; the notes that they return must be right. */
static void list_and_search(struct store *s, struct seen *seen)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct filter f = {.project = CRASH_PROJECT, .since = INT64_MIN, .until = INT64_MAX};
    struct notes list = {0};
    struct hits h = {0};
    if (store_list_recent(s, &(struct loading){.arena = &a}, &f, (struct cursor){0, 0}, NOTES,
                          &list, &e) == 0)
        for (size_t i = 0; i < list.n; i++)
            check_note(seen, &list.items[i]);
    if (store_list_by_seq(s, &a, NULL, 0, NOTES, &list, &e) == 0)
        for (size_t i = 0; i < list.n; i++)
            check_note(seen, &list.items[i]);
    for (unsigned i = 0; i < NOTES; i += 20) {
        float x[CRASH_DIM];
        struct crash_thing t = {CRASH_NOTE, 1, i, 1};
        crash_vector(t, 0, x);
        const struct keyword_query word = {.text = crash_word(&a, t), .limit = 5};
        struct keyword_hits found = {0};
        if (store_match_keywords(s, &a, &f, &word, &found, &e) == 0)
            check_hits(s, &a, seen, &found.hits);
        if (store_nearest(s, &a, &f, CRASH_SPACE, x, CRASH_DIM, 5, &h, &e) == 0)
            check_hits(s, &a, seen, &h);
    }
    fumi_arena_done(&a);
}

static void write_some(struct store *s)
{
    struct fumi_err e = {0};
    crash_do(s, (struct crash_thing){CRASH_NOTE, 1, 5, 2}, &e);
    crash_do(s, (struct crash_thing){CRASH_NOTE, 1, 5, 0}, &e);
}

static struct store *open_file(const char *path, bool lenient, struct seen *seen)
{
    static const struct fumi_log silent = {.level = FUMI_SILENT};
    struct fumi_err e = {0};
    struct store_sqlite_options o = {
        .path = path, .nosync = true, .lenient = lenient, .salvage = lenient, .log = &silent};
    struct store *s = store_sqlite_open(&o, &e);
    if (!s)
        memcpy(seen->output, e.text, sizeof(seen->output));
    return s;
}

static void ignore(void *arg, const char *sentence)
{
    (void)arg;
    if (getenv("CRASH_SAY"))
        fprintf(stderr, "  %s\n", sentence);
}

static void examine(const char *path, struct seen *seen)
{
    struct fumi_err e = {0};
    int missing = 0;
    struct store *s = open_file(path, false, seen);
    if ((seen->opened = s)) {
        get_each(s, seen, &seen->right, &seen->missing);
        list_and_search(s, seen);
        store_close(s);
    }
    if ((s = open_file(path, true, seen))) {
        seen->doctor_ok = store_check(s, true, ignore, NULL, &e) == 0;
        if (!seen->doctor_ok)
            memcpy(seen->output, e.text, sizeof(seen->output));
        store_close(s);
    }
    bool strict = true;
    if (!(s = open_file(path, false, seen))) {
        s = open_file(path, true, seen);
        strict = false;
    }
    seen->usable = s && strict;
    if (!s)
        return;
    get_each(s, seen, &seen->again, &missing);
    list_and_search(s, seen);
    write_some(s);
    store_close(s);
}

static int look(const char *path, struct seen *seen)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE);
        examine(path, seen);
        exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

/* The file of a store that was not closed: the first half of the notes in the file, the second half
 * in the log. */
static bool make(const char *dir, struct bytes *out)
{
    char path[96], wal[104];
    struct fumi_err e = {0};
    snprintf(path, sizeof(path), "%s/made.db", dir);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    bool well = true;
    for (unsigned half = 0; half < 2; half++) {
        struct store *s = store_sqlite_open(
            &(struct store_sqlite_options){.path = path, .nosync = true}, &e);
        for (unsigned i = half * NOTES / 2; s && i < (half + 1) * NOTES / 2; i++)
            well = well && !crash_do(s, (struct crash_thing){CRASH_NOTE, 1, i, 1}, &e);
        well = well && s && (!half || (!crash_read(path, &out->db) && !crash_read(wal, &out->wal)));
        if (s)
            store_close(s);
    }
    return well && out->wal.n;
}

/* Reads the owners from the table dbstat. If SQLite was built without it, they stay unknown. */
static void find_owners(const char *path, struct bytes *out)
{
    sqlite3 *h = NULL;
    sqlite3_stmt *q = NULL;
    if (sqlite3_open_v2(path, &h, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(h, "SELECT pageno, name FROM dbstat", -1, &q, NULL) == SQLITE_OK)
        while (sqlite3_step(q) == SQLITE_ROW) {
            int page = sqlite3_column_int(q, 0);
            if (page > 0 && page <= PAGES)
                snprintf(out->owners[page - 1], sizeof(out->owners[0]), "%s",
                         (const char *)sqlite3_column_text(q, 1));
        }
    sqlite3_finalize(q);
    sqlite3_close(h);
}

static bool make_closed(const char *dir, struct bytes *out)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/made.db", dir);
    find_owners(path, out);
    return crash_read(path, &out->db) == 0;
}

/* The owner of the first page that differs. */
static const char *owner(const struct bytes *b, const struct fumi_buf *hurt)
{
    for (size_t i = 0; i < pages(hurt) && i < PAGES; i++)
        if (memcmp(hurt->p + i * PAGE, b->db.p + i * PAGE, PAGE) != 0)
            return b->owners[i];
    return "";
}

/* Whether doctor can rebuild the table or index from the notes and their tag sets. */
static bool is_derived(const char *owner)
{
    static const char *const names[] = {"sqlite_autoindex_", "notes_tag_set", "notes_time",
                                        "vectors",           "words_",        "changes",
                                        "tag_set_tags",      "spaces"};
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (strncmp(owner, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *put(const char *path, const struct bytes *b, const struct damage *d,
                       uint64_t random)
{
    char wal[128];
    struct fumi_buf hurt = {0};
    const struct fumi_buf *from = d->wal ? &b->wal : &b->db;
    snprintf(wal, sizeof(wal), "%s-wal", path);
    fumi_buf_add(&hurt, from->p, from->n);
    d->hurt(&hurt, random);
    crash_write(path, d->wal ? b->db.p : hurt.p, d->wal ? b->db.n : hurt.n);
    if (d->wal)
        crash_write(wal, hurt.p, hurt.n);
    const char *whose = d->wal ? "" : owner(b, &hurt);
    fumi_buf_done(&hurt);
    return whose;
}

struct sums {
    unsigned files;
    int refused, usable, ok, right, missing;
};

static void add_up(struct sums *sums, const struct seen *s)
{
    sums->files++;
    sums->refused += !s->opened;
    sums->missing += s->missing;
    sums->usable += s->usable;
    sums->ok += s->doctor_ok;
    sums->right += s->again;
}

struct scene {
    char dir[64], sub[80], path[96];
    struct bytes closed, open;
    struct seen *seen;
    struct sums sums;
};

/* Damages one file and examines it. Returns the owner of the damaged page. */
static const char *hurt_one(struct scene *c, unsigned i)
{
    const struct damage *d = &damages[i % FUMI_COUNT(damages)];
    crash_dir_empty(c->sub);
    memset(c->seen, 0, sizeof(*c->seen));
    const char *whose = put(c->path, d->wal ? &c->open : &c->closed, d, crash_mix(i));
    int status = look(c->path, c->seen);
    if (status)
        TEST_FAIL("file %u (%s of %s): the child ended with %d", i, d->name, whose, status);
    if (c->seen->wrong)
        TEST_FAIL("file %u (%s of %s): %d wrong texts", i, d->name, whose, c->seen->wrong);
    add_up(&c->sums, c->seen);
    return whose;
}

/* One page was damaged: the notes of other pages must be saved, and derived data rebuilt. */
static void check_saved(const struct seen *seen, unsigned i, const char *whose)
{
    const char *name = damages[i % FUMI_COUNT(damages)].name;
    int least = is_derived(whose) ? NOTES : NOTES - ON_A_PAGE;
    if (seen->again < least)
        TEST_FAIL("file %u (%s of %s): %d of %d notes can be read after doctor: %s", i, name, whose,
                  seen->again, NOTES, seen->output);
    else if (is_derived(whose) && !seen->usable)
        TEST_FAIL("file %u (%s of %s): cannot be used after doctor: %s", i, name, whose,
                  seen->output);
}

static bool scene(struct scene *c)
{
    memset(c, 0, sizeof(*c));
    c->seen = mmap(NULL, sizeof(*c->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    crash_dir(c->dir, sizeof(c->dir), true);
    snprintf(c->sub, sizeof(c->sub), "%s/f", c->dir);
    snprintf(c->path, sizeof(c->path), "%s/x.db", c->sub);
    return make(c->dir, &c->open) && make_closed(c->dir, &c->closed) && mkdir(c->sub, 0700) == 0;
}

static void leave(struct scene *c)
{
    const struct sums *s = &c->sums;
    printf("%u files: %d refused at once; after doctor %d can be used, %d without damage, and %.1f "
           "of %d notes are right; %d notes were reported as not found before\n",
           s->files, s->refused, s->usable, s->ok, s->files ? (double)s->right / s->files : 0,
           NOTES, s->missing);
    fumi_buf_done(&c->closed.db);
    fumi_buf_done(&c->open.db);
    fumi_buf_done(&c->open.wal);
    munmap(c->seen, sizeof(*c->seen));
    crash_dir_remove(c->dir);
}

TEST(damage_is_never_served_as_text)
{
    static struct scene c;
    unsigned files = crash_setting("CRASH_FILES", FILES);
    CHECK(scene(&c));
    for (unsigned i = 0; i < files; i++) {
        hurt_one(&c, i);
        if (c.seen->doctor_ok && !c.seen->usable)
            TEST_FAIL("file %u: refused, although doctor found no damage: %s", i, c.seen->output);
    }
    leave(&c);
}

TEST(doctor_saves_undamaged_notes)
{
    static struct scene c;
    unsigned files = crash_setting("CRASH_FILES", FILES), only = crash_setting("CRASH_ONLY", 0);
    CHECK(scene(&c));
    for (unsigned i = 1; i < files; i++)
        if (damages[i % FUMI_COUNT(damages)].local && (!only || only == i))
            check_saved(c.seen, i, hurt_one(&c, i));
    leave(&c);
}
