/* fumi mirror */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/mirror.h"
#include "base/uuid.h"

#include <signal.h>
#include <unistd.h>

enum { WATCH_MS = 250 };

struct flags {
    struct fumi_str project;
    bool take, deleted, watch, dry_run;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct flags, project, "project", "Only this project; all projects if not given."),
    FUMI_FIELD(struct flags, take, "take", "First store what was edited in the folder."),
    FUMI_FIELD(struct flags, deleted, "delete",
               "With --take: delete the notes whose files were deleted."),
    FUMI_FIELD(struct flags, watch, "watch", "Keep the folder up to date until Ctrl-C."),
    FUMI_FIELD(struct flags, dry_run, "dry-run", "Print what would be done; change nothing."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct flags, fields);

static const struct flag_alias aliases[] = {{"p", "project"}, COMMAND_ALIASES};

static int open_session(struct invocation *i, struct session *s, bool writes, struct fumi_err *e)
{
    char id[FUMI_UUID_SIZE];
    if (!writes)
        return session_old_store(s, &i->common, e);
    fumi_uuid(id);
    if (session_config(s, &i->common, false, e))
        return -1;
    if (s->config.store.path.p && access(files_name(i->a, s->config.store.path), F_OK))
        return fumi_err_set(e, ERR_NOT_FOUND,
                            "there is no database at %.*s: check --data-dir and --db",
                            FUMI_ARG(s->config.store.path));
    s->by = session_author(s);
    s->by.session = fumi_fmt(i->a, "mirror-%.8s", id);
    return session_begin_command(s, e);
}

struct mirror_result {
    int64_t updated, added, deleted, conflicts, written, removed, same, edited, faults;
    struct fumi_str session;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct mirror_result, updated, "updated", "Notes that --take updated."),
    FUMI_FIELD(struct mirror_result, added, "added", "Notes that --take added."),
    FUMI_FIELD(struct mirror_result, deleted, "deleted", "Notes that --take deleted."),
    FUMI_FIELD(struct mirror_result, conflicts, "conflicts", "Notes that both sides have changed."),
    FUMI_FIELD(struct mirror_result, written, "written", "Files that were written."),
    FUMI_FIELD(struct mirror_result, removed, "removed", "Files that were removed."),
    FUMI_FIELD(struct mirror_result, same, "upToDate", "Files that were up to date."),
    FUMI_FIELD(struct mirror_result, edited, "edited", "Files whose edits are not stored."),
    FUMI_FIELD(struct mirror_result, faults, "faults", "Files that stderr names."),
    FUMI_FIELD(struct mirror_result, session, "session",
               "For fumi undo --session, if something was stored.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct mirror_result, result_fields);

static bool has_stored(const struct mirror *m)
{
    return !m->dry_run && m->counts.updated + m->counts.added + m->counts.deleted;
}

static void print_json(const struct mirror *m)
{
    const struct mirror_counts *c = &m->counts;
    struct fumi_arena a = {0};
    struct mirror_result r = {.updated = (int64_t)c->updated,
                              .added = (int64_t)c->added,
                              .deleted = (int64_t)c->deleted,
                              .conflicts = (int64_t)c->conflicts,
                              .written = (int64_t)c->written,
                              .removed = (int64_t)c->removed,
                              .same = (int64_t)c->same,
                              .edited = (int64_t)c->edited,
                              .faults = (int64_t)c->faults};
    if (has_stored(m))
        r.session = m->session->by.session;
    notes_print_struct(&a, &result_shape, &r);
    fumi_arena_done(&a);
}

static void print_counts(const struct mirror *m)
{
    if (m->quiet) {
        print_json(m);
        return;
    }
    const struct mirror_counts *c = &m->counts;
    const char *would = m->dry_run ? "would be " : "";
    if (m->take)
        printf("notes: %s%zu updated, %zu added, %zu deleted, %zu in conflict\n", would, c->updated,
               c->added, c->deleted, c->conflicts);
    printf("files: %s%zu written, %zu removed, %zu up to date", would, c->written, c->removed,
           c->same);
    if (c->edited)
        printf(", %zu edited%s", c->edited, m->take ? "" : " (fumi mirror --take stores them)");
    putchar('\n');
    if (has_stored(m))
        printf("To undo what was stored: fumi undo --session %.*s\n",
               FUMI_ARG(m->session->by.session));
}

/* Waits until something in the store changes. Returns 1 after Ctrl-C, -1 with *e set. */
static int wait_for_change(struct mirror *m, int64_t *number, struct fumi_err *e)
{
    const struct timespec pause = {0, WATCH_MS * 1000000L};
    sigset_t end;
    int64_t now = *number;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    while (now == *number) {
        if (sigtimedwait(&end, NULL, &pause) > 0)
            return 1;
        if (store_change_number(m->store, &now, e))
            return -1;
    }
    *number = now;
    return 0;
}

/* Signals wait until a pass is complete. */
static int watch(struct mirror *m, struct fumi_err *e)
{
    sigset_t end;
    int64_t number;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    int rc = store_change_number(m->store, &number, e);
    for (bool first = true; !rc; first = false) {
        if (mirror_pass(m, e))
            return -1;
        if (first || m->counts.written + m->counts.removed)
            print_counts(m);
        fflush(stdout);
        rc = wait_for_change(m, &number, e);
    }
    return rc < 0 ? -1 : 0;
}

static int run(struct invocation *i, struct mirror *m, struct fumi_err *e)
{
    const struct flags *f = i->flags;
    if (open_session(i, m->session, f->take && !f->dry_run, e) ||
        files_expand(i->a, i->words.items[0], (struct fumi_str){0}, &m->dir, e) ||
        (f->project.p && session_project(m->session, i->a, f->project, &m->project, e)))
        return -1;
    m->store = m->session->memory ? memory_store(m->session->memory) : m->session->store;
    if (f->watch)
        return watch(m, e);
    interrupt_catch();
    int rc = mirror_pass(m, e);
    if (!rc || has_stored(m))
        print_counts(m);
    return rc;
}

static int mirror(struct invocation *i)
{
    const struct flags *f = i->flags;
    struct session s = {0};
    struct fumi_err e = {0};
    if (!i->words.n)
        return command_misuse(i, "the folder is required");
    if (f->deleted && !f->take)
        return command_misuse(i, "--delete requires --take");
    if (f->watch && (f->take || f->dry_run))
        return command_misuse(i, "--watch cannot be combined with --take and --dry-run");
    struct mirror m = {.session = &s,
                       .take = f->take,
                       .take_deleted = f->deleted,
                       .dry_run = f->dry_run,
                       .quiet = i->json};
    int rc = run(i, &m, &e);
    session_close(&s);
    if (rc)
        return command_report(&e);
    if (interrupted())
        return interrupt_status("run the same again for the rest");
    return m.counts.faults + m.counts.conflicts ? STATUS_FAILED : STATUS_OK;
}

const struct command command_mirror = {
    .name = "mirror",
    .usage = "DIR",
    .help = "Keeps a folder with a Markdown file for each note, and stores edits of these files.",
    .more =
        "Writes a file for each current note, in a folder for its project and group, and removes "
        "the files of notes that are gone. Only files that differ are written; files that were "
        "edited, and other files in the folder, stay as they are. With --take, what was edited is "
        "stored first: a file is known by the id in its front matter, and a Markdown file without "
        "an id in the folder of a project becomes a note. If a note and its file have both "
        "changed, the file gets the stored note, and what you wrote is kept beside it, in a file "
        "with the ending .conflict. A deleted file is written again unless --delete is given. "
        "All that --take stores can be undone at once; the command is printed. The exit status is "
        "1 if there are conflicts or files that cannot be read.",
    .shape = &shape,
    .aliases = aliases,
    .words = 1,
    .writes = true,
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = mirror,
};
