/* fumi review: goes through the notes that wait for review. In a pipe it lists them. */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/session.h"
#include "app/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const struct flag_alias aliases[] = {
    {"p", "project"}, {"n", "limit"}, {"f", "format"}, COMMAND_ALIASES};

static void print_member(struct fumi_arena *a, const char *name, const struct fumi_val *v)
{
    struct fumi_str text = fumi_text(a, v);
    if (!v || fumi_is(v, FUMI_NULL))
        return;
    if (!fumi_is(v, FUMI_STRING))
        text = show_escaped(a, fumi_compact(a, v).text);
    printf("  %-9s %.*s\n", name, FUMI_ARG(show_lines(a, text)));
}

/* An update: each member of the patch, and what the note has now. */
static void print_patch(struct fumi_arena *a, const struct fumi_val *patch,
                        const struct fumi_val *now)
{
    for (const struct fumi_val *k = fumi_first(patch); k; k = fumi_after(patch, k)) {
        struct fumi_str name = show_line(a, fumi_text(a, k));
        const char *label = fumi_fmt(a, "%.*s", FUMI_ARG(name)).p;
        const struct fumi_val *was = NULL;
        for (const struct fumi_val *n = fumi_first(now); n && !was; n = fumi_after(now, n))
            was = fumi_eq(fumi_text(a, n), name) ? fumi_of(n) : NULL;
        print_member(a, label, fumi_of(k));
        print_member(a, "  now", was);
    }
}

static void print_item(struct fumi_arena *a, const struct fumi_val *item)
{
    const struct fumi_val *params = fumi_get(item, "params");
    bool adds = fumi_text_is(fumi_get(item, "op"), FUMI_STR("add"));
    printf("%s%.*s%s  %.*s  %s", show_style(stdout, SHOW_BOLD),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(item, "id")))),
           show_style(stdout, SHOW_PLAIN), FUMI_ARG(notes_minute(a, fumi_get(item, "at"))),
           adds ? "new note" : "change of a note");
    notes_print_author(a, fumi_get(item, "by"));
    printf("\n  %-9s %.*s\n", "project",
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(item, "projectId")))));
    if (!adds) {
        print_member(a, "note", fumi_get(item, "note"));
        print_patch(a, fumi_get(params, "patch"), fumi_get(item, "now"));
        return;
    }
    print_member(a, "group", fumi_get(params, "groupId"));
    print_member(a, "title", fumi_get(params, "title"));
    if (fumi_first(fumi_get(params, "tags")))
        print_member(a, "tags", fumi_get(params, "tags"));
    print_member(a, "key", fumi_get(params, "key"));
    print_member(a, "text", fumi_get(params, "text"));
}

/* Reads one key without waiting for the end of the line. Returns 'q' at the end of the input. */
static int read_key(void)
{
    struct termios was, raw;
    unsigned char key = 'q';
    if (tcgetattr(0, &was))
        return 'q';
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(0, TCSANOW, &raw);
    while (read(0, &key, 1) < 0 && errno == EINTR)
        ;
    tcsetattr(0, TCSANOW, &was);
    return key;
}

/* Runs $VISUAL, $EDITOR or vi on the file, through the shell because the variable may contain
 * arguments. */
static int run_editor(const char *path, struct fumi_err *e)
{
    const char *editor = getenv("VISUAL") ? getenv("VISUAL") : getenv("EDITOR");
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("FUMI_EDITOR", editor && *editor ? editor : "vi", 1);
        execl("/bin/sh", "sh", "-c", "eval \"$FUMI_EDITOR \\\"\\$1\\\"\"", "sh", path, NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return fumi_err_set(e, FUMI_LIMIT, "the editor failed: set EDITOR to the command to use");
}

/* Opens the file again, because editors replace it. */
static int read_file(struct fumi_arena *a, const char *path, struct fumi_str *out,
                     struct fumi_err *e)
{
    struct fumi_buf b = {0};
    char part[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fumi_err_set(e, FUMI_LIMIT, "the edited text cannot be read: %s", strerror(errno));
    while ((n = read(fd, part, sizeof(part))) > 0 && b.n <= NOTE_TEXT_MAX)
        fumi_buf_add(&b, part, (size_t)n);
    while (b.n && b.p[b.n - 1] == '\n')
        b.n--;
    close(fd);
    *out = b.n ? fumi_buf_keep(&b, a) : FUMI_STR(""); /* null would accept the text as it is */
    fumi_buf_done(&b);
    return 0;
}

/* Lets the user edit a text. */
static int edit(struct fumi_arena *a, struct fumi_str text, struct fumi_str *out,
                struct fumi_err *e)
{
    char path[] = "/tmp/fumi-review-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return fumi_err_set(e, FUMI_LIMIT, "no file for the editor: %s", strerror(errno));
    bool written = write(fd, text.p, text.n) == (ssize_t)text.n && write(fd, "\n", 1) == 1;
    close(fd);
    int rc = written ? run_editor(path, e)
                     : fumi_err_set(e, FUMI_LIMIT, "the file for the editor cannot be written");
    if (!rc)
        rc = read_file(a, path, out, e);
    unlink(path);
    return rc;
}

/* Accepts or rejects; text null: as it is. */
static int decide(struct session *s, struct fumi_arena *a, const struct fumi_val *item,
                  const char *method, struct fumi_str text, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result;
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "ids");
    fumi_put_open(&o, '[');
    fumi_put_val(&o, fumi_get(item, "id"));
    fumi_put_close(&o, ']');
    notes_put(&o, "text", text);
    fumi_put_close(&o, '}');
    if (session_ask(s, a, method, (struct fumi_json){fumi_buf_keep(&params, a)}, &result, e))
        return -1;
    notes_warn(a, result);
    return 0;
}

static int edit_and_accept(struct session *s, struct fumi_arena *a, const struct fumi_val *item,
                           struct fumi_err *e)
{
    const struct fumi_val *params = fumi_get(item, "params");
    const struct fumi_val *text = fumi_get(params, "text");
    struct fumi_str edited;
    if (!text)
        text = fumi_get(fumi_get(params, "patch"), "text");
    if (!text)
        text = fumi_get(fumi_get(item, "now"), "text");
    return edit(a, fumi_text(a, text), &edited, e) ||
                   decide(s, a, item, "memory.review_accept", edited, e)
               ? -1
               : 0;
}

/* Asks about one item. Returns 1 to go on, 0 to stop, -1 with *e set. */
static int ask(struct session *s, struct fumi_arena *a, const struct fumi_val *item,
               struct fumi_err *e)
{
    const struct fumi_str none = {0};
    print_item(a, item);
    for (;;) {
        fputs("[a]ccept  [r]eject  [e]dit  [s]kip  [q]uit ", stdout);
        fflush(stdout);
        int key = read_key();
        printf("%c\n", key >= ' ' && key < 127 ? key : ' ');
        switch (key) {
        case 'a':
            return decide(s, a, item, "memory.review_accept", none, e) ? -1 : 1;
        case 'r':
            return decide(s, a, item, "memory.review_reject", none, e) ? -1 : 1;
        case 'e':
            return edit_and_accept(s, a, item, e) ? -1 : 1;
        case 's':
            return 1;
        case 'q':
        case 4: /* Ctrl-D */
            return 0;
        default:
            break;
        }
    }
}

/* An item that cannot be accepted, for example because its note was deleted, stays in the list. */
static void go_through(struct session *s, struct fumi_arena *a, const struct fumi_val *items)
{
    int more = 1;
    for (const struct fumi_val *v = fumi_first(items); v && more; v = fumi_after(items, v)) {
        struct fumi_err e = {0};
        more = ask(s, a, v, &e);
        if (more < 0)
            command_report(&e);
    }
}

static int list(struct invocation *i, struct session *s, const struct fumi_val **result,
                struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *given = fumi_parse(i->a, i->params.text, e);
    if (!given)
        return -1;
    fumi_put_open(&o, '{');
    notes_put_given(i->a, &o, given);
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    if (session_put_project(s, i->a, command_review.method, &json, e))
        return -1;
    return session_ask(s, i->a, command_review.method, json, result, e);
}

/* fumi review accept ID..., for scripts. Prints the ids of the notes. */
static int decide_all(struct invocation *i, const char *method)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result = NULL;
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "ids");
    fumi_put_open(&o, '[');
    for (size_t k = 1; k < i->words.n; k++)
        fumi_put_str(&o, i->words.items[k]);
    fumi_put_close(&o, ']');
    fumi_put_close(&o, '}');
    int status = session_once(i, method, &params, &result);
    if (status)
        return status;
    notes_warn(i->a, result);
    if (i->json) {
        notes_print_result(result);
        return STATUS_OK;
    }
    const struct fumi_val *ids = fumi_get(result, "ids");
    for (const struct fumi_val *v = fumi_first(ids); v; v = fumi_after(ids, v))
        printf("%.*s\n", FUMI_ARG(show_line(i->a, fumi_text(i->a, v))));
    return STATUS_OK;
}

static int review(struct invocation *i)
{
    static const struct {
        const char *word, *method;
    } verbs[] = {{"accept", "memory.review_accept"}, {"reject", "memory.review_reject"}};
    for (size_t k = 0; k < FUMI_COUNT(verbs) && i->words.n > 1; k++)
        if (fumi_eq(i->words.items[0], fumi_str(verbs[k].word)))
            return decide_all(i, verbs[k].method);
    if (i->words.n)
        return command_misuse(i, "give: review accept ID... or review reject ID...");
    struct session s = {.existing = true};
    struct fumi_err e = {0};
    const struct fumi_val *result = NULL;
    int rc = session_open(&s, &i->common, &e) || list(i, &s, &result, &e);
    const struct fumi_val *items = fumi_get(result, "items");
    if (!rc && i->json)
        notes_print_result(result);
    else if (!rc && !fumi_first(items))
        puts("Nothing waits for review.");
    else if (!rc && isatty(0) && isatty(1))
        go_through(&s, i->a, items);
    else if (!rc)
        for (const struct fumi_val *v = fumi_first(items); v; v = fumi_after(items, v))
            print_item(i->a, v);
    session_close(&s);
    return rc ? command_report(&e) : STATUS_OK;
}

const struct command command_review = {
    .name = "review",
    .usage = "[accept ID... | reject ID...]",
    .help = "Goes through the notes that agents wrote and that wait for review.",
    .more = "In a terminal, each is shown, and a key decides: a accepts it, r rejects it, e edits "
            "its text with $VISUAL or $EDITOR and accepts that, s skips it, q quits. In a pipe "
            "they are listed; accept and reject decide about those with the given ids. Notes wait "
            "for review if safety.review is set, or if the project "
            "has the global global.memory.review with the value true.",
    .method = "memory.review",
    .aliases = aliases,
    .output = OUTPUT_FORMAT,
    .words = ANY_WORDS,
    .prints = "The result of `memory.review`, `memory.review_accept` or `memory.review_reject`.",
    .run = review,
};
