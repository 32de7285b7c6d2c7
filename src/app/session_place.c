#include "app/files.h"
#include "app/git_files.h"
#include "app/session.h"
#include "app/show.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

int session_place(const struct session *s, struct fumi_arena *a, struct fumi_str given,
                  struct place *out, struct fumi_err *e)
{
    return place_find(a, given, s->config.projects.per_worktree, out, e);
}

static struct store *store_of(const struct session *s)
{
    return s->memory ? memory_store(s->memory) : s->store;
}

/* The number of notes of a project; 0 if the store fails: another call will report that. */
static int64_t count(const struct session *s, struct fumi_str project)
{
    const struct filter f = {.project = project, .since = INT64_MIN, .until = INT64_MAX};
    struct filtered n = {0};
    struct fumi_err ignored;
    return store_count_notes(store_of(s), &f, &n, &ignored) ? 0 : n.project;
}

/* "OLD NEW", as words of a shell. */
static struct fumi_str words_of(struct fumi_arena *a, struct fumi_str old, struct fumi_str now)
{
    struct fumi_buf b = {0};
    show_word(&b, old);
    fumi_buf_put(&b, ' ');
    show_word(&b, now);
    return fumi_buf_keep(&b, a);
}

bool session_has_notes(const struct session *s, struct fumi_str project)
{
    return count(s, project) > 0;
}

static void tell_elsewhere(const struct session *s, struct fumi_arena *a, struct fumi_str path,
                           struct fumi_str project)
{
    int64_t n = fumi_eq(path, project) ? 0 : count(s, path);
    if (!n)
        return;
    session_warn(s, "project.elsewhere",
                 fumi_fmt(a,
                          "%" PRId64 " %s stored under %.*s, which belongs to the project %.*s: "
                          "to move them there, run fumi projects merge %.*s",
                          n, n == 1 ? "note is" : "notes are", FUMI_ARG(show_line(a, path)),
                          FUMI_ARG(show_line(a, project)), FUMI_ARG(words_of(a, path, project))));
}

/* The project, other than this one, that has the most notes of the same remote; of those whose
 * directory is gone, if `gone`. */
static struct project other_of(struct fumi_arena *a, const struct projects *all,
                               struct fumi_str project, bool gone)
{
    struct project best = {.notes = 0};
    for (size_t i = 0; i < all->n; i++) {
        const struct project *p = &all->items[i];
        bool moved = !gone || (p->name.n && p->name.p[0] == '/' &&
                               access(files_name(a, p->name), F_OK) && errno == ENOENT);
        if (!fumi_eq(p->name, project) && p->notes > best.notes && moved)
            best = *p;
    }
    return best;
}

static bool is_among(const struct projects *all, struct fumi_str project)
{
    for (size_t i = 0; i < all->n; i++)
        if (fumi_eq(all->items[i].name, project))
            return true;
    return false;
}

/* Failures are ignored: a store that can only be read keeps no remotes. */
static void keep_remote(const struct session *s, struct fumi_str project, struct fumi_str remote)
{
    struct fumi_err ignored;
    store_set_project_remote(store_of(s), project, remote, fumi_now(), &ignored);
}

/* A repository whose notes are stored under another path is recognised by its remote. */
struct fumi_str session_follow_remote(struct session *s, struct fumi_arena *a,
                                      const struct place *p)
{
    struct fumi_str remote = {0}, none = {0};
    struct projects known = {0};
    struct fumi_err ignored;
    if (p->common.p && !s->config.projects.per_worktree)
        remote = git_remote(a, p->common);
    if (!remote.p || store_find_projects(store_of(s), a, remote, &known, &ignored))
        return none;
    bool has_notes = session_has_notes(s, p->project);
    if (s->memory && has_notes && !is_among(&known, p->project))
        keep_remote(s, p->project, remote);
    if (!has_notes)
        s->first = (struct first_notes){fumi_dup(&s->arena, p->project),
                                        fumi_dup(&s->arena, remote)};
    struct project other = other_of(a, &known, p->project, has_notes);
    if (!other.notes)
        return none;
    return fumi_fmt(a,
                    "%" PRId64 " %s of this repository (%.*s) %s stored under %.*s: to move them "
                    "here, run fumi projects merge %.*s",
                    other.notes, other.notes == 1 ? "note" : "notes",
                    FUMI_ARG(show_line(a, remote)), other.notes == 1 ? "is" : "are",
                    FUMI_ARG(show_line(a, other.name)),
                    FUMI_ARG(words_of(a, other.name, p->project)));
}

void session_keep_remote(const struct session *s)
{
    if (s->memory && s->first.remote.p && session_has_notes(s, s->first.project))
        keep_remote(s, s->first.project, s->first.remote);
}

void session_tell_place(struct session *s, const struct place *p)
{
    struct fumi_arena a = {0};
    if (p->warning.p)
        session_warn(s, "project.git", show_line(&a, p->warning));
    if (p->path.p)
        tell_elsewhere(s, &a, p->path, p->project);
    if (p->root.p && !fumi_eq(p->root, p->path))
        tell_elsewhere(s, &a, p->root, p->project);
    struct fumi_str moved = session_follow_remote(s, &a, p);
    if (moved.p)
        session_warn(s, "project.moved", moved);
    fumi_arena_done(&a);
}

int session_project(struct session *s, struct fumi_arena *a, struct fumi_str given,
                    struct fumi_str *out, struct fumi_err *e)
{
    struct place p;
    if (session_place(s, a, given, &p, e))
        return -1;
    session_tell_place(s, &p);
    *out = p.project;
    return 0;
}

static const struct fumi_field *project_param(const struct fumi_method *m)
{
    const struct fumi_shape *s = m ? m->params : NULL;
    for (size_t i = 0; s && i < s->n; i++)
        if (strcmp(s->fields[i].name, "projectId") == 0)
            return &s->fields[i];
    return NULL;
}

/* Methods that are no tools, such as memory.project_delete, must be told which project is meant. */
static bool requires_project(const struct fumi_method *m)
{
    const struct fumi_field *f = project_param(m);
    return f && f->flags & FUMI_REQUIRED && m->flags & FUMI_TOOL;
}

static const struct fumi_val *read_params(struct fumi_arena *a, struct fumi_json params,
                                          struct fumi_err *e)
{
    return fumi_parse(a, params.text.n ? params.text : FUMI_STR("{}"), e);
}

static void put_project(struct fumi_arena *a, const struct fumi_val *given, struct fumi_str project,
                        struct fumi_json *params)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "projectId");
    fumi_put_str(&o, project);
    for (const struct fumi_val *key = fumi_first(given); key; key = fumi_after(given, key)) {
        if (fumi_text_is(key, FUMI_STR("projectId")))
            continue;
        fumi_put_key_str(&o, fumi_text(a, key));
        fumi_put_val(&o, fumi_of(key));
    }
    fumi_put_close(&o, '}');
    params->text = fumi_buf_keep(&b, a);
}

struct fumi_str session_home(struct session *s, struct fumi_str *moved)
{
    struct fumi_str none = {0};
    struct fumi_err ignored;
    struct place here;
    if (session_place(s, &s->arena, none, &here, &ignored))
        return none;
    session_tell_place(s, &here);
    if (moved)
        *moved = session_follow_remote(s, &s->arena, &here);
    return here.root.p || session_has_notes(s, here.project) ? here.project : none;
}

int session_put_project(struct session *s, struct fumi_arena *a, const char *method,
                        struct fumi_json *params, struct fumi_err *e)
{
    const struct fumi_method *m = memory_method(method);
    struct fumi_str project;
    if (!project_param(m))
        return 0;
    const struct fumi_val *object = read_params(a, *params, e);
    const struct fumi_val *given = fumi_get(object, "projectId");
    if (!object)
        return -1;
    if (!given && !requires_project(m))
        return 0;
    if (session_project(s, a, fumi_text(a, given), &project, e))
        return -1;
    put_project(a, object, project, params);
    return 0;
}

int session_add_home(struct session *s, struct fumi_arena *a, const char *method,
                     struct fumi_json *params, struct fumi_err *e)
{
    if (!requires_project(memory_method(method)))
        return 0;
    const struct fumi_val *given = read_params(a, *params, e);
    if (!given)
        return -1;
    if (!fumi_is(given, FUMI_OBJECT) || fumi_get(given, "projectId"))
        return 0;
    struct fumi_str home = session_home(s, NULL);
    if (home.p)
        put_project(a, given, home, params);
    return 0;
}
