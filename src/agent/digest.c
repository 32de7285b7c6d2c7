/* The digest: what an agent should know when a session begins, within a byte limit. The most
 * important parts come first; notes that do not fit are counted. */
#include "agent/agent_parts.h"

#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>

enum {
    TOKEN = 4,      /* bytes */
    RULES = 50,     /* notes of each tag */
    NEWEST = 10,    /* notes of the group "global" */
    IMPORTANT = 30, /* more than these cause a warning */
    LINE = 600,     /* bytes of a note or a setting */
    SHORT = 200,    /* bytes of a setting that is shown although it is not a standard one */
    NAME = 120,     /* bytes of the project, or of an embedder */
    SHORTEST = 120, /* no line is started in fewer bytes */
    LAST = 96,      /* reserved for the number of notes that did not fit */
    TAIL = 160,     /* reserved for the sentence on the number of notes */
    SETTINGS_SHARE = 40,
    RULES_SHARE = 45, /* percent of the remaining space, so that later parts get some */
    IMPORTANT_SHARE = 50,
    SHOWN_MAX = 2 * RULES + NEWEST,
};

struct digest_writer {
    struct memory *memory;
    struct fumi_arena *arena;
    struct fumi_str project;
    struct fumi_buf text;
    size_t part_limit;   /* of text.n, for the current part */
    size_t limit;        /* of text.n, for the whole digest */
    const char *heading; /* to write before the next line; NULL: written already */
    size_t missing;      /* notes that did not fit */
    struct agent_given *given;
    int64_t shown[SHOWN_MAX];
    size_t shown_n;
};

/* The maximum length of the next line, after its heading; 0: no line fits. */
static size_t space(const struct digest_writer *d)
{
    size_t head = d->heading ? strlen(d->heading) : 0;
    size_t left = d->part_limit > d->text.n + head ? d->part_limit - d->text.n - head : 0;
    return left < SHORTEST ? 0 : left < LINE ? left : LINE;
}

static void add(struct digest_writer *d, struct fumi_str line)
{
    if (d->heading)
        render_add(&d->text, fumi_str(d->heading));
    d->heading = NULL;
    render_add(&d->text, line);
}

/* Adds a sentence if it fits. */
static void add_if_fits(struct digest_writer *d, struct fumi_str line)
{
    if (line.n <= space(d))
        add(d, line);
}

/* The standard settings, in the order of the digest. */
static const char *const standard[] = {
    "global.project.conventions",
    "global.memory.groupDefaults",
    "global.memory.embedder.provider",
    "global.memory.embedder.model",
};

static const struct global *find(const struct globals *all, const char *key)
{
    for (size_t i = 0; i < all->n; i++)
        if (fumi_eq(all->items[i].key, fumi_str(key)))
            return &all->items[i];
    return NULL;
}

/* Reports a setting that differs from the embedder in use. */
static void compare(struct digest_writer *d, const struct globals *all, const char *key,
                    struct fumi_str is)
{
    const struct global *g = find(all, key);
    struct fumi_err ignored;
    const struct fumi_val *v = g ? fumi_parse(d->arena, g->value, &ignored) : NULL;
    if (!fumi_is(v, FUMI_STRING) || fumi_text_is(v, is))
        return;
    add_if_fits(d,
                fumi_fmt(d->arena, "- %s differs from the embedder in use (%.*s): ask the user.\n",
                         key, FUMI_ARG(render_quoted(d->arena, is, NAME))));
}

/* A value is cut to what fits into a line. */
static int cut_value(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    (void)arg;
    (void)bytes;
    (void)e;
    struct global *g = row;
    g->value = fumi_utf8_cut(g->value, LINE);
    return ROW_KEEP;
}

static void share(struct digest_writer *d, size_t percent)
{
    size_t end = d->limit > TAIL ? d->limit - TAIL : 0;
    d->part_limit = end > d->text.n ? d->text.n + (end - d->text.n) * percent / 100 : end;
}

static bool is_standard(struct fumi_str key)
{
    for (size_t i = 0; i < FUMI_COUNT(standard); i++)
        if (fumi_eq(key, fumi_str(standard[i])))
            return true;
    return false;
}

/* Returns whether the setting fits. */
static bool add_setting(struct digest_writer *d, const struct global *g)
{
    size_t most = space(d);
    if (!most)
        return false;
    struct fumi_str line = fumi_fmt(d->arena, "- %.*s: %.*s%s", FUMI_ARG(g->key),
                                    FUMI_ARG(note_line(d->arena, g->value)),
                                    g->value.n > LINE - 4 ? "…" : ""); /* cut_value cut it */
    add(d, fumi_fmt(d->arena, "%.*s\n", FUMI_ARG(render_cut(d->arena, line, most - 1))));
    return true;
}

/* The standard settings, and the others that are short. */
static int settings(struct digest_writer *d, struct fumi_err *e)
{
    struct store *store = memory_store(d->memory);
    const struct loading to = {d->arena, cut_value, NULL};
    struct globals all;
    if (store_list_globals(store, &to, d->project, FUMI_STR(""), &all, e))
        return -1;
    d->heading = "\n## Settings\n";
    size_t named = 0;
    for (size_t i = 0; i < FUMI_COUNT(standard); i++) {
        const struct global *g = find(&all, standard[i]);
        named += g && add_setting(d, g);
    }
    struct embed_config c = memory_embedder(d->memory, d->arena);
    compare(d, &all, standard[2], c.provider);
    compare(d, &all, standard[3], c.model);
    share(d, SETTINGS_SHARE);
    for (size_t i = 0; i < all.n; i++) {
        const struct global *g = &all.items[i];
        named += !is_standard(g->key) && g->value.n <= SHORT && add_setting(d, g);
    }
    d->part_limit = d->limit;
    if (all.n > named)
        add_if_fits(d, fumi_fmt(d->arena, "- %zu more: memory_list_globals\n", all.n - named));
    return 0;
}

static bool is_shown(const struct digest_writer *d, int64_t seq)
{
    for (size_t i = 0; i < d->shown_n; i++)
        if (d->shown[i] == seq)
            return true;
    return false;
}

/* For struct loading: writes the line of a note; the note itself is not kept. */
static int show(void *digest, void *row, size_t bytes, struct fumi_err *e)
{
    (void)bytes;
    (void)e;
    struct digest_writer *d = digest;
    const struct note *n = row;
    if (is_shown(d, n->seq))
        return ROW_SKIP;
    assert(d->shown_n < SHOWN_MAX);
    d->shown[d->shown_n++] = n->seq;
    if (!space(d)) {
        d->missing++;
        return ROW_SKIP;
    }
    add(d, render_line(d->arena, n, space(d)));
    given_add(d->given, d->arena, n);
    return ROW_SKIP;
}

/* The newest notes of a group or with a tag; both NULL: of all. */
static int notes(struct digest_writer *d, const char *group, const char *tag, size_t limit,
                 struct fumi_err *e)
{
    struct store *store = memory_store(d->memory);
    struct fumi_str one = fumi_str(tag);
    const struct filter f = {.project = d->project,
                             .group = fumi_str(group),
                             .tags = {&one, tag != NULL},
                             .since = INT64_MIN,
                             .until = INT64_MAX};
    const struct loading to = {d->arena, show, d};
    struct notes none;
    return store_list_recent(store, &to, &f, (struct cursor){0, 0}, limit, &none, e);
}

static int warn(struct digest_writer *d, int64_t *in_project, struct fumi_err *e)
{
    struct store *store = memory_store(d->memory);
    struct fumi_str tag = FUMI_STR("important");
    const struct filter f = {
        .project = d->project, .tags = {&tag, 1}, .since = INT64_MIN, .until = INT64_MAX};
    struct filtered n;
    if (store_count_notes(store, &f, &n, e))
        return -1;
    *in_project = n.project;
    if (n.left > IMPORTANT)
        add_if_fits(d, fumi_fmt(d->arena,
                                "- %" PRId64
                                " notes are tagged important, which is too many: propose to "
                                "merge or retag some.\n",
                                n.left));
    return 0;
}

static int fill(struct digest_writer *d, struct fumi_err *e)
{
    int64_t in_project = 0;
    render_add(&d->text, fumi_fmt(d->arena, NOTES_ARE_DATA "\n# Memory of %.*s\n",
                                  FUMI_ARG(render_quoted(d->arena, d->project, NAME))));
    if (settings(d, e))
        return -1;
    d->heading = "\n## Rules and important notes\n";
    if (warn(d, &in_project, e))
        return -1;
    share(d, RULES_SHARE);
    if (notes(d, NULL, "rule", RULES, e))
        return -1;
    share(d, IMPORTANT_SHARE);
    if (notes(d, NULL, "important", RULES, e))
        return -1;
    share(d, 100);
    d->heading = "\n## Newest of the group global\n";
    if (notes(d, "global", NULL, NEWEST, e))
        return -1;
    d->heading = NULL;
    d->part_limit = d->limit;
    if (!in_project)
        add_if_fits(d, FUMI_STR("\nNo note is stored yet. Store what later sessions need.\n"));
    else
        add_if_fits(d, fumi_fmt(d->arena,
                                "\nNotes in total: %" PRId64 ". Use memory_search to find them.\n",
                                in_project));
    if (d->missing)
        add(d, fumi_fmt(d->arena, "%zu more notes did not fit: use memory_list_recent.\n",
                        d->missing));
    return 0;
}

int agent_digest(struct memory *m, struct fumi_arena *a, struct fumi_str project, size_t max_tokens,
                 struct fumi_str *out, struct agent_given *given, struct fumi_err *e)
{
    struct digest_writer d = {
        .memory = m, .arena = a, .given = given, .part_limit = max_tokens * TOKEN};
    d.part_limit -= d.part_limit > LAST ? LAST : 0;
    d.limit = d.part_limit;
    if (project_canonical(a, project, &d.project, e))
        return -1;
    int rc = fill(&d, e);
    *out = fumi_buf_keep(&d.text, a);
    return rc;
}
