/* SIGTERM while a note is being stored: a stored note is acknowledged, so that no client stores it
 * twice. This process holds a lock on the database, which delays the commit. */
#include "live.h"
#include "test.h"

#include <sqlite3.h>
#include <sys/ioctl.h>

/* fumi on standard input and output, with its own directory. */
struct child {
    pid_t pid;
    int in, out, err; /* ours, of its descriptors 0, 1 and 2 */
    char dir[32];
    struct fumi_buf output, errors;
};

static void be_child(const struct child *c, const char *drain, int in, int out, int err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("FUMI_MODEL", "/nowhere", 1); /* notes wait for their vectors */
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    execl(FUMI, FUMI, "serve", "--data-dir", c->dir, "--drain", drain, (char *)NULL);
    _exit(127);
}

static bool begin(struct child *c, const char *drain)
{
    int in[2], out[2], err[2];
    *c = (struct child){.dir = "/tmp/fumi-commit-XXXXXX"};
    if (!mkdtemp(c->dir) || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        return false;
    c->pid = fork();
    if (c->pid == 0)
        be_child(c, drain, in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c->in = in[1];
    c->out = out[0];
    c->err = err[0];
    return c->pid > 0;
}

/* Reads until the text is found. Returns false at the end of the output. */
static bool read_until(int fd, struct fumi_buf *to, const char *what)
{
    while (!to->n || !memmem(to->p, to->n, what, strlen(what))) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, LIVE_PATIENCE * 1000) <= 0)
            return false;
        ssize_t n = read(fd, fumi_buf_reserve(to, 4096), 4096);
        if (n <= 0)
            return false;
        to->n += (size_t)n;
    }
    return true;
}

/* Returns when the server has read the line; it processes the line before it checks for signals. */
static bool send_line(const struct child *c, const char *line)
{
    int left = 1;
    if (write(c->in, line, strlen(line)) != (ssize_t)strlen(line))
        return false;
    for (int i = 0; i < LIVE_PATIENCE * 1000 && left; i++) {
        if (ioctl(c->in, FIONREAD, &left))
            return false;
        poll(NULL, 0, 1);
    }
    return left == 0;
}

static sqlite3 *open_database(const struct child *c)
{
    char path[64];
    sqlite3 *db = NULL;
    snprintf(path, sizeof(path), "%s/memory.db", c->dir);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL))
        return NULL;
    sqlite3_busy_timeout(db, LIVE_PATIENCE * 1000);
    return db;
}

static int on_count(void *arg, int n, char **values, char **names)
{
    (void)n, (void)names;
    *(int *)arg = (int)strtol(values[0], NULL, 10);
    return 0;
}

static int count_notes(sqlite3 *db)
{
    int n = -1;
    sqlite3_exec(db, "SELECT count(*) FROM notes", on_count, &n, NULL);
    return n;
}

static void drop_all(const char *dir)
{
    char path[300];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static int end(struct child *c)
{
    int status = -1;
    waitpid(c->pid, &status, 0);
    close(c->in);
    close(c->out);
    close(c->err);
    drop_all(c->dir);
    fumi_buf_done(&c->output);
    fumi_buf_done(&c->errors);
    return status;
}

#define ADD(id, text)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"memory.add_note\",\"params\":{"               \
    "\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"" text "\"}}\n"

TEST(a_stored_note_is_answered_despite_sigterm)
{
    struct child c;
    CHECK(begin(&c, "0"));
    CHECK(send_line(&c, ADD("1", "the first")) && read_until(c.out, &c.output, "\"id\":1}\n"));
    sqlite3 *db = open_database(&c);
    CHECK(db && !sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    CHECK(send_line(&c, ADD("2", "the second")));
    kill(c.pid, SIGTERM);
    bool late = read_until(c.err, &c.errors, "serve.cancelled"); /* or the server has ended */
    CHECK_INT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), 0);
    bool answered = read_until(c.out, &c.output, "\"id\":2}\n");
    read_until(c.err, &c.errors, "until it ends");
    int stored = count_notes(db);
    sqlite3_close(db);
    bool named = c.errors.n && memmem(c.errors.p, c.errors.n, "memory.add_note", 15);
    bool failed = c.output.n && memmem(c.output.p, c.output.n, "\"error\"", 7);
    if (!named)
        fprintf(stderr, "stderr: %.*s\n", FUMI_ARG(fumi_buf_str(&c.errors)));
    CHECK_INT(end(&c), 0);
    CHECK(late && answered && named && !failed);
    CHECK_INT(stored, 2);
}

/* A commit that does not end is abandoned, and the log names the method. */
TEST(abandoned_calls_are_named_in_the_log)
{
    struct child c;
    CHECK(begin(&c, "300"));
    CHECK(send_line(&c, ADD("1", "the first")) && read_until(c.out, &c.output, "\"id\":1}\n"));
    sqlite3 *db = open_database(&c);
    CHECK(db && !sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    CHECK(send_line(&c, ADD("2", "the second")));
    kill(c.pid, SIGTERM);
    read_until(c.err, &c.errors, "until it ends");
    read_until(c.out, &c.output, "until it ends");
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    bool answered = c.output.n && memmem(c.output.p, c.output.n, "\"id\":2}\n", 8);
    fumi_buf_put(&c.errors, '\0');
    const char *line = strstr(c.errors.p, "serve.abandoned");
    bool named = line && strstr(line, "calls=1") && strstr(line, "memory.add_note");
    if (!named)
        fprintf(stderr, "stderr: %s\n", c.errors.p);
    int stored = count_notes(db);
    sqlite3_close(db);
    CHECK_INT(end(&c), 0);
    CHECK(!answered && named);
    CHECK_INT(stored, 1);
}
