/* The resources:
 *
 *   memory://projects                          all projects, as JSON
 *   memory://project/{project}/recent          its newest notes, as Markdown
 *   memory://project/{project}/groups          its groups, as JSON
 *   memory://project/{project}/group/{group}   the newest notes of one, as Markdown
 *   memory://note/{id}                         one whole note, as Markdown
 *   ui://fumi/notes                            the app, as HTML
 *
 * Lists of names are JSON, because programs read them too; notes are Markdown. */
#include "agent/agent_parts.h"

enum {
    RECENT = 20,     /* notes of a project */
    IN_GROUP = 50,   /* notes of a group */
    CUT = 2000,      /* bytes of each of them */
    PROJECTS = 1000, /* in memory://projects */
    PAGE = 49,       /* projects in a page: two rows each, and two at the beginning */
};

#define MARKDOWN "text/markdown"
#define JSON     "application/json"

/* A parsed URI. */
struct resource_request {
    struct memory *memory;
    struct fumi_arena *arena;
    struct fumi_call *call;        /* that reads the resource; NULL: none */
    struct fumi_str project, name; /* name: of the group, or the id of a note */
};

typedef int read_fn(const struct resource_request *w, struct resource_text *out,
                    struct fumi_err *e);

static int read_projects(const struct resource_request *w, struct resource_text *out,
                         struct fumi_err *e)
{
    struct store *store = memory_store(w->memory);
    const struct naming what = {.kind = NAME_PROJECT, .limit = PROJECTS + 1};
    struct names all;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    if (store_list_names(store, w->arena, &what, &all, e))
        return -1;
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "projects");
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < all.n && i < PROJECTS; i++) {
        fumi_put_open(&o, '{');
        fumi_put_key(&o, "project");
        fumi_put_str(&o, all.items[i].text);
        fumi_put_key(&o, "notes");
        fumi_put_int(&o, all.items[i].notes);
        fumi_put_close(&o, '}');
    }
    fumi_put_close(&o, ']');
    if (all.n > PROJECTS) {
        fumi_put_key(&o, "more");
        fumi_put_str(&o, FUMI_STR("resources/list has all of them"));
    }
    fumi_put_close(&o, '}');
    *out = (struct resource_text){.type = JSON, .text = fumi_buf_keep(&b, w->arena)};
    return 0;
}

/* Whether the project, or the group if not null, exists: 1, 0, or -1 with *e set. Every existing
 * project has the group "global". */
static int is_known(const struct resource_request *w, struct fumi_str group, struct fumi_err *e)
{
    struct store *store = memory_store(w->memory);
    struct naming what = {.kind = group.p ? NAME_GROUP : NAME_PROJECT,
                          .project = group.p ? w->project : (struct fumi_str){0},
                          .part = group.p ? group : w->project,
                          .limit = SIZE_MAX >> 1};
    struct names all;
    if (store_list_names(store, w->arena, &what, &all, e))
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (fumi_eq(all.items[i].text, what.part))
            return 1;
    if (!group.p || !fumi_eq(group, FUMI_STR("global")))
        return 0;
    return is_known(w, (struct fumi_str){0}, e);
}

struct rendering {
    struct fumi_arena *arena;
    struct fumi_buf text;
    size_t n, limit; /* notes found, and notes to show */
    struct agent_given *given;
};

/* For struct loading: renders a note; the note itself is not kept. */
static int show_note(void *rendering, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes;
    (void)e;
    struct rendering *r = rendering;
    if (r->n++ < r->limit) {
        render_note(&r->text, r->arena, row, CUT);
        given_add(r->given, r->arena, row);
    }
    return ROW_SKIP;
}

static int read_notes(const struct resource_request *w, struct fumi_str group, size_t limit,
                      struct resource_text *out, struct fumi_err *e)
{
    struct store *store = memory_store(w->memory);
    const struct filter f = {
        .project = w->project, .group = group, .since = INT64_MIN, .until = INT64_MAX};
    struct rendering r = {.arena = w->arena, .limit = limit, .given = &out->given};
    const struct loading to = {w->arena, show_note, &r};
    struct notes none;
    int known = is_known(w, group, e);
    if (known <= 0)
        return known;
    struct fumi_str of = group.p ? render_group(w->arena, group) : group;
    render_add(&r.text, fumi_fmt(w->arena, NOTES_ARE_DATA "\n# Newest notes of %.*s%s%.*s\n\n",
                                 FUMI_ARG(render_quoted(w->arena, w->project, SIZE_MAX)),
                                 group.p ? ", group " : "", FUMI_ARG(of)));
    int rc = store_list_recent(store, &to, &f, (struct cursor){0, 0}, limit + 1, &none, e);
    if (r.n > limit)
        render_add(&r.text, FUMI_STR("There are more: memory_list_recent, memory_search.\n"));
    if (!r.n)
        render_add(&r.text, FUMI_STR("There are none yet.\n"));
    out->type = MARKDOWN;
    out->text = fumi_buf_keep(&r.text, w->arena);
    out->project = w->project;
    return rc;
}

static int read_recent(const struct resource_request *w, struct resource_text *out,
                       struct fumi_err *e)
{
    return read_notes(w, (struct fumi_str){0}, RECENT, out, e);
}

static int read_group(const struct resource_request *w, struct resource_text *out,
                      struct fumi_err *e)
{
    return read_notes(w, w->name, IN_GROUP, out, e);
}

static void put_member(struct fumi_out *o, const char *key, struct fumi_str value)
{
    if (!value.n)
        return;
    fumi_put_key(o, key);
    fumi_put_str(o, value);
}

static void put_group(struct fumi_out *o, const struct group *g)
{
    fumi_put_open(o, '{');
    put_member(o, "groupId", g->key);
    put_member(o, "title", g->title);
    put_member(o, "description", g->description);
    put_member(o, "id", g->id);
    fumi_put_key(o, "notes");
    fumi_put_int(o, g->notes);
    fumi_put_close(o, '}');
}

static int read_groups(const struct resource_request *w, struct resource_text *out,
                       struct fumi_err *e)
{
    struct store *store = memory_store(w->memory);
    struct listing listing = {.call = w->call};
    const struct loading to = {w->arena, w->call ? listing_row : NULL, &listing};
    struct groups all;
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    int known = is_known(w, (struct fumi_str){0}, e);
    if (known <= 0)
        return known;
    if (store_list_groups(store, &to, w->project, &all, e))
        return -1;
    fumi_put_open(&o, '{');
    put_member(&o, "project", w->project);
    fumi_put_key(&o, "groups");
    fumi_put_open(&o, '[');
    for (size_t i = 0; i < all.n; i++)
        put_group(&o, &all.items[i]);
    fumi_put_close(&o, ']');
    fumi_put_close(&o, '}');
    *out = (struct resource_text){.type = JSON, .text = fumi_buf_keep(&b, w->arena)};
    return 0;
}

static int read_note(const struct resource_request *w, struct resource_text *out,
                     struct fumi_err *e)
{
    struct store *store = memory_store(w->memory);
    struct note n;
    struct fumi_buf b = {0};
    struct fumi_err why = {0};
    struct fumi_str id;
    if (memory_find_id(w->memory, w->arena, ID_OF_NOTE, w->name, &id, &why) ||
        store_get_note(store, w->arena, id, &n, &why)) {
        *e = why;
        return why.code == ERR_NOT_FOUND ? 0 : -1;
    }
    render_add(&b, FUMI_STR(NOTES_ARE_DATA "\n"));
    render_note(&b, w->arena, &n, SIZE_MAX);
    render_add(&b, fumi_fmt(w->arena, "Project: %.*s\n",
                            FUMI_ARG(render_quoted(w->arena, n.project, SIZE_MAX))));
    if (n.metadata.text.n)
        render_add(&b, fumi_fmt(w->arena, "Metadata: %.*s\n",
                                FUMI_ARG(note_line(w->arena, n.metadata.text))));
    *out = (struct resource_text){
        .type = MARKDOWN, .text = fumi_buf_keep(&b, w->arena), .project = n.project};
    given_add(&out->given, w->arena, &n);
    return 0;
}

/* Takes the next segment of a path. */
static struct fumi_str step(struct fumi_str *rest)
{
    const char *slash = rest->n ? memchr(rest->p, '/', rest->n) : NULL;
    struct fumi_str part = {rest->p, slash ? (size_t)(slash - rest->p) : rest->n};
    size_t used = part.n + (slash != NULL);
    *rest = (struct fumi_str){rest->p + used, rest->n - used};
    return part;
}

/* The segments of each path: "*" is the project, "?" the name. */
static const struct resource_route {
    const char *path[4];
    read_fn *read;
} routes[] = {
    {{"projects"}, read_projects},
    {{"note", "?"}, read_note},
    {{"project", "*", "recent"}, read_recent},
    {{"project", "*", "groups"}, read_groups},
    {{"project", "*", "group", "?"}, read_group},
};

static bool fits(const struct resource_route *r, struct fumi_str path, struct resource_request *w)
{
    for (size_t i = 0; i < FUMI_COUNT(r->path) && r->path[i]; i++) {
        const char *want = r->path[i];
        struct fumi_str part = step(&path), *to = *want == '*' ? &w->project : &w->name;
        bool variable = *want == '*' || *want == '?';
        if (!part.n ||
            (variable ? !uri_decode(w->arena, part, to) : !fumi_eq(part, fumi_str(want))))
            return false;
    }
    return path.n == 0;
}

int resource_text(struct memory *m, struct fumi_arena *a, struct fumi_call *call,
                  struct fumi_str uri, struct resource_text *out, struct fumi_err *e)
{
    static const struct fumi_str scheme = {"memory://", sizeof("memory://") - 1};
    struct fumi_err ignored;
    *out = (struct resource_text){.type = NULL};
    if (fumi_eq(uri, FUMI_STR(AGENT_APP_URI))) {
        out->type = FUMI_MCP_APP_TYPE;
        out->text = (struct fumi_str){agent_app, agent_app_n};
        return 0;
    }
    if (!fumi_starts(uri, scheme))
        return 0;
    struct fumi_str path = {uri.p + scheme.n, uri.n - scheme.n};
    for (size_t i = 0; i < FUMI_COUNT(routes); i++) {
        struct resource_request w = {.memory = m, .arena = a, .call = call};
        if (!fits(&routes[i], path, &w))
            continue;
        if (w.project.p && project_canonical(a, w.project, &w.project, &ignored))
            return 0;
        return routes[i].read(&w, out, e);
    }
    return 0;
}

static enum fumi_ret read(struct fumi_mcp_call *c, struct fumi_str uri)
{
    const struct agent *self = c->self;
    struct resource_text found;
    if (resource_text(self->memory, c->call->arena, c->call, uri, &found, &c->call->err))
        return FUMI_FAIL;
    given_record(&found.given, self->memory, c->call, "resource", found.project);
    if (found.text.p)
        fumi_mcp_contents(c, uri, found.type, found.text);
    return FUMI_OK;
}

static void list_project(struct fumi_mcp_call *c, const struct name *n)
{
    struct fumi_arena *a = c->call->arena;
    struct fumi_str part = uri_encode(a, n->text), shown = note_line(a, n->text);
    fumi_mcp_resource(c, &(struct fumi_resource){
                             .uri = fumi_fmt(a, "memory://project/%.*s/recent", FUMI_ARG(part)),
                             .name = fumi_fmt(a, "recent notes of %.*s", FUMI_ARG(shown)),
                             .type = FUMI_STR(MARKDOWN)});
    fumi_mcp_resource(c, &(struct fumi_resource){
                             .uri = fumi_fmt(a, "memory://project/%.*s/groups", FUMI_ARG(part)),
                             .name = fumi_fmt(a, "groups of %.*s", FUMI_ARG(shown)),
                             .type = FUMI_STR(JSON)});
}

/* A cursor is MARK and the last project of the previous page, percent-encoded. */
#define MARK "after-"

static bool read_cursor(struct fumi_arena *a, struct fumi_str cursor, struct fumi_str *after)
{
    const struct fumi_str mark = FUMI_STR(MARK);
    *after = (struct fumi_str){0};
    if (!cursor.n)
        return true;
    if (!fumi_starts(cursor, mark) || cursor.n == mark.n)
        return false;
    struct fumi_str rest = {cursor.p + mark.n, cursor.n - mark.n};
    return uri_decode(a, rest, after) && fumi_eq(uri_encode(a, *after), rest);
}

const struct fumi_resource agent_projects = {
    .uri = FUMI_STR("memory://projects"),
    .name = FUMI_STR("projects"),
    .title = FUMI_STR("Projects"),
    .description = FUMI_STR("All projects, with counts of notes."),
    .type = FUMI_STR(JSON)};

const struct fumi_resource agent_app_page = {
    .uri = FUMI_STR(AGENT_APP_URI),
    .name = FUMI_STR("app"),
    .title = FUMI_STR("Notes"),
    .description = FUMI_STR("Search, read and review notes."),
    .type = FUMI_STR(FUMI_MCP_APP_TYPE)};

static enum fumi_ret list(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    const struct agent *self = c->self;
    struct store *store = memory_store(self->memory);
    struct fumi_arena *a = c->call->arena;
    struct naming what = {.kind = NAME_PROJECT, .limit = PAGE + 1};
    struct names all;
    if (!read_cursor(a, cursor, &what.after))
        return fumi_fail(c->call, FUMI_INVALID_PARAMS,
                         "cursor must be a nextCursor as it was answered");
    if (store_list_names(store, a, &what, &all, &c->call->err))
        return FUMI_FAIL;
    if (!what.after.p) {
        fumi_mcp_resource(c, &agent_projects);
        fumi_mcp_resource(c, &agent_app_page);
    }
    for (size_t i = 0; i < all.n && i < PAGE; i++)
        list_project(c, &all.items[i]);
    if (all.n > PAGE)
        fumi_mcp_next_cursor(
            c, fumi_fmt(a, MARK "%.*s", FUMI_ARG(uri_encode(a, all.items[PAGE - 1].text))));
    return FUMI_OK;
}

static const struct fumi_template templates[] = {
    {"memory://project/{project}/recent", "recent notes", "Recent notes",
     "The newest notes of a project.", MARKDOWN},
    {"memory://project/{project}/groups", "groups", "Groups",
     "The groups of a project, with counts of notes.", JSON},
    {"memory://project/{project}/group/{group}", "notes of a group", "Notes of a group",
     "The newest notes of one group.", MARKDOWN},
    {"memory://note/{id}", "note", "Note", "One whole note.", MARKDOWN},
};

const struct fumi_resources agent_resources = {
    .list = list,
    .read = read,
    .templates = templates,
    .templates_n = FUMI_COUNT(templates),
    .flags = FUMI_BLOCKING | FUMI_READ_ONLY,
};
