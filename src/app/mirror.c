#include "app/mirror.h"

#include "app/files.h"
#include "app/import_formats.h"
#include "app/interrupt.h"
#include "app/show.h"
#include "base/uuid.h"

#include <stdarg.h>
#include <stdlib.h>

enum { PAGE = 256, KEEP = 4 << 20 };

void mirror_fault(struct mirror *m, struct fumi_str path, const char *fmt, ...)
{
    va_list args;
    if (m->again)
        return;
    m->counts.faults++;
    if (m->writing)
        progress_hide(&m->bar);
    fprintf(stderr, "%.*s: ", FUMI_ARG(show_line(m->a, path)));
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void mirror_tell(struct mirror *m, const char *what, struct fumi_str path)
{
    if (m->quiet)
        return;
    if (m->writing)
        progress_hide(&m->bar);
    printf("%s%-8s %.*s\n", m->dry_run ? "would be " : "", what, FUMI_ARG(show_line(m->a, path)));
}

bool mirror_is_edited(const struct mirror_file *f)
{
    return !fumi_eq(f->version, f->base);
}

static int by_id(const void *a, const void *b)
{
    const struct mirror_item *x = a, *y = b;
    return memcmp(x->id.p, y->id.p, FUMI_UUID_SIZE);
}

struct mirror_item *mirror_item(const struct mirror *m, struct fumi_str id)
{
    const struct mirror_item key = {.id = id};
    if (!m->items_n || id.n != FUMI_UUID_SIZE)
        return NULL;
    return bsearch(&key, m->items, m->items_n, sizeof(*m->items), by_id);
}

/* --- What the store has. --- */

static void add_item(struct mirror *m, size_t *room, const struct note *n)
{
    if (m->items_n == *room) {
        *room = *room ? 2 * *room : PAGE;
        struct mirror_item *more = fumi_alloc(m->a, *room * sizeof(*more));
        if (m->items_n)
            memcpy(more, m->items, m->items_n * sizeof(*more));
        m->items = more;
    }
    m->items[m->items_n++] = (struct mirror_item){.id = fumi_dup(m->a, n->id),
                                                  .version = mirror_version(m->a, n),
                                                  .project = fumi_dup(m->a, n->project),
                                                  .group = fumi_dup(m->a, n->group),
                                                  .session = fumi_dup(m->a, n->session),
                                                  .created = n->created};
}

static int list_notes(struct mirror *m, struct fumi_err *e)
{
    const struct filter f = {.project = m->project, .since = INT64_MIN, .until = INT64_MAX};
    struct fumi_arena a = {0};
    struct notes page;
    size_t room = 0;
    int64_t after = 0;
    int rc;
    m->items_n = 0;
    do {
        page = (struct notes){0};
        rc = store_list_by_seq(m->store, &a, m->project.p ? &f : NULL, after, PAGE, &page, e);
        for (size_t i = 0; !rc && i < page.n; i++) {
            after = page.items[i].seq;
            if (!page.items[i].superseded_by.p && page.items[i].id.n == FUMI_UUID_SIZE)
                add_item(m, &room, &page.items[i]);
        }
        fumi_arena_reset(&a, KEEP);
    } while (!rc && page.n);
    fumi_arena_done(&a);
    if (!rc && m->items_n)
        qsort(m->items, m->items_n, sizeof(*m->items), by_id);
    return rc;
}

/* --- What the folder has. --- */

struct gathering {
    struct mirror *m;
    struct fumi_arena text;
    size_t room;
};

static const struct mirror_row *row_at(const struct mirror *m, struct fumi_str path)
{
    for (size_t i = 0; i < m->state.n; i++)
        if (fumi_eq(m->state.rows[i].path, path))
            return &m->state.rows[i];
    return NULL;
}

bool mirror_is_blocked(const struct mirror *m, struct fumi_str path)
{
    const struct mirror_row *row = row_at(m, path);
    const struct mirror_item *item = row ? mirror_item(m, row->id) : NULL;
    return item && item->blocked;
}

/* The version that the state has for the note of a file without a version. */
static struct fumi_str base_of(const struct mirror *m, const struct mirror_note *n)
{
    const struct mirror_item *item = mirror_item(m, n->note.id);
    return n->version.p ? n->version : item && item->row ? item->row->version : n->version;
}

int mirror_load(const struct mirror *m, struct fumi_arena *a, struct fumi_str path,
                struct fumi_str *text, struct mirror_note *out, struct fumi_err *e)
{
    if (mirror_read(&m->tree, a, path, text, e) || mirror_read_note(a, *text, out, e))
        return -1;
    struct note *n = &out->note;
    const struct mirror_item *item = mirror_item(m, n->id);
    if (!item)
        return 0;
    n->project = n->project.p ? n->project : item->project;
    n->group = n->group.p ? n->group : item->group;
    n->session = n->session.p ? n->session : item->session;
    n->created = n->created.set ? n->created : item->created;
    return 0;
}

static struct mirror_file *new_file(struct gathering *x, struct fumi_str path)
{
    struct mirror *m = x->m;
    if (m->files_n == x->room) {
        x->room = x->room ? 2 * x->room : PAGE;
        struct mirror_file *more = fumi_alloc(m->a, x->room * sizeof(*more));
        if (m->files_n)
            memcpy(more, m->files, m->files_n * sizeof(*more));
        m->files = more;
    }
    m->files[m->files_n] = (struct mirror_file){.path = path};
    return &m->files[m->files_n++];
}

static void add_file(void *arg, struct fumi_str path)
{
    struct gathering *x = arg;
    struct mirror *m = x->m;
    struct mirror_note n;
    struct fumi_str text;
    struct fumi_err bad = {0};
    int rc = mirror_load(m, &x->text, path, &text, &n, &bad);
    if (note_line_fault(path)) {
        m->unclear = true;
        mirror_fault(m, path, "the name must be one line of visible text");
    }
    if (!rc && !text.n) {
        const struct mirror_row *row = row_at(m, path);
        struct mirror_item *item = row ? mirror_item(m, row->id) : NULL;
        if (item)
            item->emptied = true;
    } else if (!note_line_fault(path)) {
        struct mirror_file *f = new_file(x, path);
        f->fault = rc ? fumi_fmt(m->a, "%s", bad.text) : f->fault;
        f->id = rc ? f->id : fumi_dup(m->a, n.note.id);
        f->base = rc ? f->base : fumi_dup(m->a, base_of(m, &n));
        f->project = rc ? f->project : fumi_dup(m->a, n.note.project);
        f->version = rc ? f->version : mirror_version(m->a, &n.note);
    }
    fumi_arena_reset(&x->text, KEEP);
}

/* A file without an id is new, unless the mirror has written it. */
static void block(struct mirror *m, const struct mirror_file *f)
{
    const struct mirror_row *row = row_at(m, f->path);
    struct mirror_item *item = row ? mirror_item(m, row->id) : NULL;
    if (!item || item->file)
        return;
    item->blocked = true;
    if (f->fault.p)
        mirror_fault(m, f->path, "%.*s", FUMI_ARG(f->fault));
    else
        mirror_fault(m, f->path,
                     "has lost its id: add the line \"id: %.*s\" to its front matter, or rename "
                     "the file to store a new note",
                     FUMI_ARG(row->id));
}

/* Finds the file of each note: the one where the mirror wrote it, else the first with its id. */
static void attach(struct mirror *m)
{
    for (size_t i = 0; i < m->files_n; i++) {
        struct mirror_file *f = &m->files[i], *other;
        struct mirror_item *item = f->id.p ? mirror_item(m, f->id) : NULL;
        if (!item)
            continue;
        other = item->file;
        if (!other || (item->row && fumi_eq(item->row->path, f->path)))
            item->file = f;
        if (other)
            mirror_fault(m, item->file == f ? other->path : f->path,
                         "has the id of %.*s: remove the line to store a new note",
                         FUMI_ARG(item->file->path));
    }
    for (size_t i = 0; i < m->files_n; i++)
        if (!m->files[i].id.p)
            block(m, &m->files[i]);
}

static int gather(struct mirror *m, struct fumi_err *e)
{
    struct gathering x = {.m = m};
    m->files_n = 0;
    m->files = NULL;
    if (list_notes(m, e))
        return -1;
    for (size_t i = 0; i < m->state.n; i++) {
        struct mirror_item *item = mirror_item(m, m->state.rows[i].id);
        if (item)
            item->row = &m->state.rows[i];
    }
    int rc = mirror_scan(&m->tree, m->a, add_file, &x, &m->unread, e);
    fumi_arena_done(&x.text);
    if (rc)
        return -1;
    if (m->unread)
        mirror_fault(m, m->dir, "%zu folders cannot be read", m->unread);
    attach(m);
    return 0;
}

/* --- Writing. --- */

static bool is_in(struct fumi_str path, struct fumi_str dir)
{
    const char *slash = memrchr(path.p, '/', path.n);
    return slash && fumi_eq((struct fumi_str){path.p, (size_t)(slash - path.p)}, dir);
}

static struct fumi_str path_in(struct mirror *m, struct fumi_str dir, struct fumi_str name)
{
    return files_join(m->a, dir, files_name(m->a, name));
}

/* Moves a file to another folder of the mirror. It stays if its names there are taken. */
static int move(struct mirror *m, struct mirror_file *f, const struct note *n, struct fumi_str dir,
                struct fumi_err *e)
{
    const struct fumi_str names[] = {import_base_name(f->path), mirror_name(m->a, n, true)};
    int rc = 1;
    for (size_t i = 0; rc > 0 && i < FUMI_COUNT(names); i++) {
        struct fumi_str to = path_in(m, dir, names[i]);
        rc = mirror_move(&m->tree, f->path, to, e);
        if (!rc)
            f->path = to;
    }
    return rc < 0 ? -1 : 0;
}

int mirror_put(struct mirror *m, struct mirror_file *f, struct fumi_str was, struct fumi_str from,
               const struct note *n, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    struct fumi_str dir = mirror_dir(m->a, n);
    if (!fumi_eq(from, dir) && is_in(f->path, from) && move(m, f, n, dir, e))
        return -1;
    mirror_write_note(&b, n);
    int rc = mirror_replace(&m->tree, f->path, was, fumi_buf_str(&b), e);
    fumi_buf_done(&b);
    if (!rc) {
        f->id = fumi_dup(m->a, n->id);
        f->version = f->base = mirror_version(m->a, n);
    }
    return rc;
}

/* Returns 1 if the note cannot be read now; its file then stays as it is. */
static int fetch(struct mirror *m, struct fumi_arena *a, const struct mirror_item *item,
                 struct note *n)
{
    struct fumi_err bad = {0};
    if (!store_get_note(m->store, a, item->id, n, &bad))
        return 0;
    if (bad.code != ERR_NOT_FOUND)
        mirror_fault(m, item->id, "%s", bad.text);
    return 1;
}

static int create(struct mirror *m, struct fumi_arena *a, struct mirror_item *item,
                  struct fumi_err *e)
{
    struct note n;
    if (fetch(m, a, item, &n))
        return 0;
    struct fumi_str dir = mirror_dir(m->a, &n), none = {0};
    bool there = item->row && is_in(item->row->path, dir);
    const struct fumi_str paths[] = {there ? item->row->path
                                           : path_in(m, dir, mirror_name(m->a, &n, false)),
                                     path_in(m, dir, mirror_name(m->a, &n, true))};
    item->file = fumi_alloc(m->a, sizeof(*item->file));
    int rc = 1;
    for (size_t i = 0; rc > 0 && i < FUMI_COUNT(paths); i++) {
        item->file->path = paths[i];
        rc = m->dry_run ? 0 : mirror_put(m, item->file, none, none, &n, e);
    }
    if (rc > 0)
        mirror_fault(m, paths[0], "is not written: another file has its name");
    m->counts.written += !rc;
    item->file = rc ? NULL : item->file;
    return rc < 0 ? -1 : 0;
}

static int rewrite(struct mirror *m, struct fumi_arena *a, struct mirror_item *item,
                   struct fumi_err *e)
{
    struct mirror_file *f = item->file;
    struct mirror_note in;
    struct fumi_str text;
    struct fumi_err bad = {0};
    struct note n;
    if (fetch(m, a, item, &n))
        return 0;
    int rc = mirror_load(m, a, f->path, &text, &in, &bad) ||
             !fumi_eq(mirror_version(a, &in.note), f->version);
    if (!rc && !m->dry_run)
        rc = mirror_put(m, f, text, mirror_dir(m->a, &in.note), &n, e);
    m->counts.edited += rc > 0;
    m->counts.written += !rc;
    return rc < 0 ? -1 : 0;
}

static int update(struct mirror *m, struct fumi_arena *a, struct mirror_item *item,
                  struct fumi_err *e)
{
    const struct mirror_file *f = item->file;
    if (item->blocked)
        return 0;
    if (!f)
        return create(m, a, item, e);
    if (fumi_eq(f->version, item->version)) {
        m->counts.same += !mirror_is_edited(f);
        return mirror_is_edited(f) ? rewrite(m, a, item, e) : 0;
    }
    if (!mirror_is_edited(f))
        return rewrite(m, a, item, e);
    m->counts.edited++;
    if (!m->take)
        mirror_tell(m, "edited", f->path);
    return 0;
}

/* Whether the mirror must not have the note: it is deleted or superseded, not only unreadable or
 * outside of the given project. */
static bool is_gone(struct mirror *m, struct fumi_arena *a, const struct mirror_file *f)
{
    struct note n;
    struct fumi_err bad = {0};
    if (m->project.p && !fumi_eq(m->project, f->project))
        return false;
    if (store_get_note(m->store, a, f->id, &n, &bad))
        return bad.code == ERR_NOT_FOUND;
    return n.superseded_by.p != NULL;
}

/* Removes the file of a note that is gone, unless it is edited. Returns 1 if the file stays. */
static int drop(struct mirror *m, struct fumi_arena *a, const struct mirror_file *f,
                struct fumi_err *e)
{
    struct mirror_note in;
    struct fumi_str text;
    struct fumi_err bad = {0};
    if (!is_gone(m, a, f))
        return 1;
    if (mirror_is_edited(f)) {
        mirror_fault(m, f->path,
                     "no current note has its id, and the file was edited: remove the line \"id\" "
                     "to store a new note, or delete the file");
        return 1;
    }
    int rc = mirror_load(m, a, f->path, &text, &in, &bad) ||
             !fumi_eq(mirror_version(a, &in.note), f->version);
    if (!rc && !m->dry_run)
        rc = mirror_remove(&m->tree, f->path, text, e);
    m->counts.removed += !rc;
    return rc;
}

static void add_row(struct mirror_state *s, struct fumi_str id, struct fumi_str version,
                    struct fumi_str path)
{
    if (version.n == MIRROR_VERSION_SIZE)
        s->rows[s->n++] = (struct mirror_row){id, version, path};
}

/* The rows of the files that are there. Rows of other projects stay. */
static void add_rows(struct mirror *m, struct mirror_state *s)
{
    for (size_t i = 0; i < m->items_n; i++) {
        const struct mirror_item *item = &m->items[i];
        if (item->file)
            add_row(s, item->id, item->file->base, item->file->path);
        else if (item->blocked && item->row)
            s->rows[s->n++] = *item->row;
    }
    for (size_t i = 0; m->project.p && i < m->state.n; i++)
        if (!mirror_item(m, m->state.rows[i].id))
            s->rows[s->n++] = m->state.rows[i];
}

static int write_all(struct mirror *m, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = 0;
    progress_begin(&m->bar, "mirror", "notes", 0, (int64_t)m->items_n);
    m->writing = true;
    for (size_t i = 0; rc >= 0 && i < m->items_n && !interrupted(); i++) {
        rc = update(m, &a, &m->items[i], e);
        progress_at(&m->bar, (int64_t)i + 1, (int64_t)m->items_n);
        fumi_arena_reset(&a, KEEP);
    }
    m->writing = false;
    progress_end(&m->bar);
    for (size_t i = 0; rc >= 0 && i < m->files_n && !interrupted(); i++) {
        if (m->files[i].id.p && !mirror_item(m, m->files[i].id))
            rc = drop(m, &a, &m->files[i], e);
        fumi_arena_reset(&a, KEEP);
    }
    fumi_arena_done(&a);
    return rc < 0 ? -1 : 0;
}

static int save_state(struct mirror *m, struct fumi_err *e)
{
    struct mirror_state s = {.text = m->state.text, .store = m->state.store};
    s.rows = fumi_alloc(m->a, (m->items_n + m->state.n + 1) * sizeof(*s.rows));
    add_rows(m, &s);
    if (m->counts.written && mirror_sync(&m->tree, e))
        return -1;
    return mirror_state_write(&m->tree, &s, e);
}

/* A folder belongs to one memory: the notes of another one would replace all of its files. */
static int check_store(struct mirror *m, struct fumi_err *e)
{
    struct fumi_str name;
    if (m->dry_run && !m->state.store.p)
        return 0;
    if (mirror_store_name(m->store, m->a, &name, e))
        return -1;
    if (m->state.store.p && !fumi_eq(name, m->state.store))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "the folder is the mirror of another memory: check --data-dir and "
                            "--db, or name another folder");
    m->state.store = name;
    return 0;
}

static int pass(struct mirror *m, struct fumi_err *e)
{
    m->again = false;
    if (mirror_state_read(&m->tree, m->a, &m->state, e) || check_store(m, e) || gather(m, e))
        return -1;
    if (m->take) {
        if (mirror_take(m, e))
            return -1;
        m->again = true;
        int rc = m->dry_run ? 0 : gather(m, e);
        m->again = false;
        if (rc)
            return -1;
    }
    return write_all(m, e) || (!m->dry_run && save_state(m, e)) ? -1 : 0;
}

int mirror_pass(struct mirror *m, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    if (mirror_open(&m->tree, m->dir, !m->take && !m->dry_run, e))
        return -1;
    m->a = &a;
    m->counts = (struct mirror_counts){0};
    int rc = pass(m, e);
    mirror_close(&m->tree);
    fumi_arena_done(&a);
    return rc;
}
