#include "app/files.h"
#include "app/import_formats.h"
#include "app/interrupt.h"
#include "app/mirror.h"
#include "app/show.h"
#include "base/chars.h"

enum { NAMES = 100, KEEP = 4 << 20 };

static struct fumi_str compact(struct fumi_arena *a, struct fumi_str json)
{
    struct fumi_err ignored;
    const struct fumi_val *v = json.p ? fumi_parse(a, json, &ignored) : NULL;
    return v ? fumi_compact(a, v).text : json;
}

/* The members of the file that differ from the stored ones, as enum note_bit. */
static unsigned differences(struct fumi_arena *a, const struct note *file, const struct note *is)
{
    struct note x = *file, y = *is;
    unsigned out = 0;
    x.text = note_trimmed(x.text), y.text = note_trimmed(y.text);
    x.metadata.text = compact(a, x.metadata.text), y.metadata.text = compact(a, y.metadata.text);
    x.superseded_by = y.superseded_by;
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        if (!note_same_member(&x, &y, i))
            out |= 1u << i;
    return out;
}

static void put_value(struct fumi_out *o, const struct note *n, size_t column)
{
    char time[FUMI_TIME_SIZE];
    enum fumi_type type = note_columns[column].type;
    fumi_put_key(o, note_columns[column].name);
    if (type == FUMI_T_STRS) {
        fumi_put_open(o, '[');
        for (size_t i = 0; i < n->tags.n; i++)
            fumi_put_str(o, n->tags.items[i]);
        fumi_put_close(o, ']');
    } else if (type == FUMI_T_JSON) {
        fumi_put_json(o, n->metadata);
    } else if (type == FUMI_T_STR) {
        fumi_put_str(o, note_text_of(n, column));
    } else if (note_time_of(n, column).set) {
        fumi_time_write(note_time_of(n, column).ms, time);
        fumi_put_str(o, (struct fumi_str){time, sizeof(time)});
    } else {
        fumi_put_null(o);
    }
}

/* Notes stored one after the other often have the same warning, such as that of a missing model. */
static void warn(struct mirror *m, struct fumi_arena *a, struct fumi_str path,
                 struct fumi_str warning)
{
    if (!warning.n || fumi_eq(warning, m->warned))
        return;
    m->warned = fumi_dup(m->a, warning);
    fprintf(stderr, "%.*s: %.*s\n", FUMI_ARG(show_line(a, path)), FUMI_ARG(warning));
}

/* Calls a method for a file, and frees the params. Failures are reported as faults of the file. */
static const struct fumi_val *call(struct mirror *m, struct fumi_arena *a, struct fumi_str path,
                                   const char *method, struct fumi_buf *params)
{
    struct fumi_err e = {0};
    struct fumi_json given = {fumi_buf_keep(params, a)};
    const struct fumi_val *result = NULL;
    if (session_ask(m->session, a, method, given, &result, &e)) {
        struct fumi_err ignored;
        struct fumi_str data = fumi_text(a, e.data.p ? fumi_parse(a, e.data, &ignored) : NULL);
        if (data.n && strstr(e.text, fumi_fmt(a, "%.*s", FUMI_ARG(data)).p))
            data.n = 0; /* as in "Invalid params: ..." */
        mirror_fault(m, path, "%s%s%.*s", e.text, data.n ? ": " : "", FUMI_ARG(data));
        return NULL;
    }
    warn(m, a, path, fumi_text(a, fumi_get(result, "warning")));
    return result;
}

/* Writes the note as it is stored now into its file. The content of the file is in the store. */
static int put_back(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                    struct fumi_str was, struct fumi_str from, struct fumi_err *e)
{
    struct note n;
    if (store_get_note(m->store, a, f->id, &n, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    return mirror_put(m, f, was, from, &n, e) < 0 ? -1 : 0;
}

/* --- Both sides have changed: the file gets what the store has, and a file beside it what the user
 * has written. --- */

static int keep_edit(struct mirror *m, struct fumi_arena *a, struct fumi_str path,
                     struct fumi_str text, struct fumi_str *kept, struct fumi_err *e)
{
    struct fumi_str none = {0}, is;
    for (int i = 1; i < NAMES; i++) {
        *kept = i == 1 ? fumi_fmt(a, "%.*s.conflict", FUMI_ARG(path))
                       : fumi_fmt(a, "%.*s.conflict-%d", FUMI_ARG(path), i);
        if (mirror_read(&m->tree, a, *kept, &is, e))
            return -1;
        if (is.n && fumi_eq(is, text))
            return 0;
        int rc = is.n ? 1 : mirror_replace(&m->tree, *kept, none, text, e);
        if (rc <= 0)
            return rc ? -1 : mirror_sync(&m->tree, e);
    }
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "there are too many files %.*s: delete them",
                        FUMI_ARG(*kept));
}

static int take_conflict(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                         const struct mirror_note *in, struct fumi_str text, struct fumi_err *e)
{
    struct fumi_str kept;
    mirror_tell(m, "conflict", f->path);
    m->counts.conflicts++;
    if (m->dry_run)
        return 0;
    if (keep_edit(m, a, f->path, text, &kept, e))
        return -1;
    fprintf(stderr,
            "%.*s: the note has changed too: the file has the stored note now, and %.*s what you "
            "wrote\n",
            FUMI_ARG(show_line(a, f->path)), FUMI_ARG(show_line(a, kept)));
    return put_back(m, a, f, text, mirror_dir(a, &in->note), e);
}

/* --- Edited files. --- */

static int update_note(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                       const struct mirror_note *in, struct fumi_str text, struct fumi_err *e)
{
    const unsigned fixed = NOTE_CREATED | NOTE_SESSION;
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    struct note n;
    if (store_get_note(m->store, a, f->id, &n, e))
        return -1;
    unsigned set = differences(a, &in->note, &n);
    if (set & fixed)
        mirror_fault(m, f->path, "created and session cannot be changed");
    if (set & ~fixed) {
        fumi_put_open(&o, '{');
        fumi_put_key(&o, "id");
        fumi_put_str(&o, f->id);
        fumi_put_key(&o, "patch");
        fumi_put_open(&o, '{');
        for (size_t i = 0; i < NOTE_INDEX_N; i++)
            if (set & ~fixed & 1u << i)
                put_value(&o, &in->note, i);
        fumi_put_close(&o, '}');
        fumi_put_close(&o, '}');
        if (!call(m, a, f->path, "memory.update", &params))
            return 0;
        mirror_tell(m, "updated", f->path);
        m->counts.updated++;
    }
    return put_back(m, a, f, text, mirror_dir(a, &n), e);
}

static int take_edit(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                     const struct mirror_item *item, struct fumi_err *e)
{
    struct mirror_note in;
    struct fumi_str text;
    struct fumi_err bad = {0};
    if (item->file != f || !mirror_is_edited(f) || fumi_eq(f->version, item->version))
        return 0;
    if (mirror_load(m, a, f->path, &text, &in, &bad) || !fumi_eq(in.note.id, f->id)) {
        mirror_fault(m, f->path, "has changed again");
        return 0;
    }
    if (!fumi_eq(f->base, item->version))
        return take_conflict(m, a, f, &in, text, e);
    if (!m->dry_run)
        return update_note(m, a, f, &in, text, e);
    mirror_tell(m, "updated", f->path);
    m->counts.updated++;
    return 0;
}

/* --- New files. --- */

static bool is_under(struct fumi_str path, struct fumi_str folder)
{
    return fumi_starts(path, folder) && path.n > folder.n && path.p[folder.n] == '/';
}

/* The project in whose folder the file is; null: none. */
static struct fumi_str project_of(const struct mirror *m, struct fumi_arena *a,
                                  struct fumi_str path)
{
    struct fumi_str none = {0};
    if (m->project.p && is_under(path, mirror_folder(a, m->project)))
        return m->project;
    for (size_t i = 0; i < m->items_n; i++)
        if (is_under(path, mirror_folder(a, m->items[i].project)))
            return m->items[i].project;
    return none;
}

/* The folder within that of the project, if it can be the name of a group. */
static struct fumi_str group_of(struct fumi_str path)
{
    const char *end = fumi_end(path), *from = memchr(path.p, '/', path.n);
    const char *slash = from ? memchr(from + 1, '/', (size_t)(end - from - 1)) : NULL;
    struct fumi_str group = {from + 1, slash ? (size_t)(slash - from - 1) : 0};
    return slash && !note_given_group_fault(group) ? group : FUMI_STR("global");
}

static struct fumi_str title_of(struct fumi_str path)
{
    struct fumi_str name = import_base_name(path);
    const char *dot = memrchr(name.p, '.', name.n);
    return (struct fumi_str){name.p, (size_t)(dot - name.p)};
}

static void put_new(struct fumi_out *o, const struct note *n)
{
    fumi_put_open(o, '{');
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        enum fumi_type type = note_columns[i].type;
        bool has = type == FUMI_T_STRS   ? n->tags.n > 0
                   : type == FUMI_T_TIME ? note_time_of(n, i).set
                                         : note_text_of(n, i).p != NULL;
        if (has)
            put_value(o, n, i);
    }
    fumi_put_close(o, '}');
}

static int add_note(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                    const struct note *n, struct fumi_str was, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    put_new(&(struct fumi_out){.buf = &params}, n);
    const struct fumi_val *result = call(m, a, f->path, "memory.add_note", &params);
    struct fumi_str id = fumi_dup(m->a, fumi_text(a, fumi_get(result, "id")));
    const struct mirror_item *known = id.p ? mirror_item(m, id) : NULL;
    if (!id.p)
        return 0;
    if (known && known->file) {
        mirror_fault(m, f->path, "says the same as %.*s: delete one of the files",
                     FUMI_ARG(known->file->path));
        return 0;
    }
    mirror_tell(m, "added", f->path);
    m->counts.added++;
    f->id = id;
    return put_back(m, a, f, was, FUMI_STR(""), e);
}

static int take_new(struct mirror *m, struct fumi_arena *a, struct mirror_file *f,
                    struct fumi_err *e)
{
    struct mirror_note in;
    struct fumi_str text, folder = project_of(m, a, f->path);
    struct fumi_err bad = {0};
    if (f->fault.p || mirror_load(m, a, f->path, &text, &in, &bad)) {
        if (folder.p) {
            m->unclear = true;
            mirror_fault(m, f->path, "%.*s", FUMI_ARG(f->fault));
        }
        return 0;
    }
    struct note *n = &in.note;
    n->project = n->project.n ? n->project : folder;
    n->group = n->group.n ? n->group : group_of(f->path);
    n->title = n->title.p ? n->title : title_of(f->path);
    if (!n->project.p || (m->project.p && !fumi_eq(m->project, n->project)))
        return 0;
    if (!m->dry_run)
        return add_note(m, a, f, n, text, e);
    mirror_tell(m, "added", f->path);
    m->counts.added++;
    return 0;
}

/* --- Deleted files. --- */

static void delete_note(struct mirror *m, struct fumi_arena *a, const struct mirror_item *item)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "id");
    fumi_put_str(&o, item->id);
    fumi_put_close(&o, '}');
    if (!m->dry_run && !call(m, a, item->row->path, "memory.delete", &params))
        return;
    fumi_buf_done(&params);
    mirror_tell(m, "deleted", item->row->path);
    m->counts.deleted++;
}

static bool has_no_file(const struct mirror_item *item)
{
    return item->row && !item->file && !item->blocked && !item->emptied;
}

/* Whether so many files are missing that the folder is rather the wrong one. */
static bool are_all_missing(const struct mirror *m)
{
    size_t missing = 0, written = 0;
    for (size_t i = 0; i < m->items_n; i++) {
        written += m->items[i].row != NULL;
        missing += has_no_file(&m->items[i]);
    }
    return missing > 1 && missing == written;
}

/* Why the file of a note may exist although no file has the id of the note; NULL: it does not. */
static const char *may_exist(const struct mirror *m, const struct mirror_item *item)
{
    return m->unread    ? "may be in a folder that cannot be read"
           : m->unclear ? "may be one of the files that cannot be read"
           : !mirror_is_free(&m->tree, item->row->path) ? "is not the file of its note any more"
                                                        : NULL;
}

static void take_missing(struct mirror *m, struct fumi_arena *a, const struct mirror_item *item)
{
    const char *why = may_exist(m, item);
    if (why) {
        mirror_fault(m, item->row->path, "%s: the note is not deleted", why);
    } else if (fumi_eq(item->version, item->row->version)) {
        delete_note(m, a, item);
    } else {
        m->counts.conflicts++;
        mirror_tell(m, "conflict", item->row->path);
        fprintf(stderr,
                "%.*s: the note has changed since: it is kept, and the file written again\n",
                FUMI_ARG(show_line(a, item->row->path)));
    }
}

static void take_deleted(struct mirror *m, struct fumi_arena *a)
{
    if (are_all_missing(m)) {
        mirror_fault(m, m->dir,
                     "all files of the mirror are missing: no note is deleted; to delete all notes "
                     "of a project, use fumi projects delete");
        return;
    }
    for (size_t i = 0; i < m->items_n && !interrupted(); i++)
        if (has_no_file(&m->items[i]))
            take_missing(m, a, &m->items[i]);
}

int mirror_take(struct mirror *m, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < m->files_n && !interrupted(); i++) {
        struct mirror_file *f = &m->files[i];
        const struct mirror_item *item = f->id.p ? mirror_item(m, f->id) : NULL;
        if (item)
            rc = take_edit(m, &a, f, item, e);
        else if (!f->id.p && !mirror_is_blocked(m, f->path))
            rc = take_new(m, &a, f, e);
        fumi_arena_reset(&a, KEEP);
    }
    if (!rc && m->take_deleted && !interrupted())
        take_deleted(m, &a);
    fumi_arena_done(&a);
    return rc;
}
