/* Entries in JSON files: a member of an object, and a hook in an array of hooks. */
#include "app/setup_json.h"

enum { DEEP = 8 }; /* maximum number of names in a path */

/* {"b":{"c":VALUE}} for the names b and c. */
static struct fumi_str wrapped(struct fumi_arena *a, const char *const *names,
                               struct fumi_str value)
{
    if (!names[0])
        return value;
    struct fumi_str inner = wrapped(a, names + 1, value);
    return fumi_fmt(a, "{\"%s\":%.*s}", names[0], FUMI_ARG(inner));
}

/* Adds a whole document to a text that is empty or has only comments. */
static int put_whole(struct fumi_arena *a, const struct setup_text *t, const char *const *path,
                     struct fumi_str value, struct fumi_str *out, struct fumi_err *e)
{
    const char *eol = setup_eol(t->text);
    struct fumi_str kept = t->text;
    struct setup_json j;
    while (kept.n && memchr(" \t\r\n", kept.p[kept.n - 1], 4))
        kept.n--;
    struct setup_text empty = {t->name, FUMI_STR("{}")};
    if (setup_json_read(a, &empty, true, &j, e))
        return -1;
    struct fumi_str text = setup_json_add(a, &j, j.root, path[0], wrapped(a, path + 1, value));
    struct fumi_buf b = {0};
    fumi_buf_add(&b, kept.p, kept.n);
    if (kept.n && !fumi_eq(kept, FUMI_STR("\xEF\xBB\xBF")))
        fumi_buf_add(&b, eol, strlen(eol)); /* after comments */
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n')
            fumi_buf_add(&b, eol, strlen(eol));
        else
            fumi_buf_put(&b, text.p[i]);
    }
    fumi_buf_add(&b, eol, strlen(eol));
    *out = fumi_buf_keep(&b, a);
    return 0;
}

/* Adds the members that are missing on the path. If none is missing, sets *old to the value there
 * and leaves *out alone. */
static int put_missing(struct fumi_arena *a, const struct setup_json *j, const char *const *path,
                       struct fumi_str value, const struct fumi_val **old, struct fumi_str *out,
                       struct fumi_err *e)
{
    int n;
    *old = NULL;
    if (!j->root)
        return put_whole(a, j->t, path, value, out, e);
    const struct fumi_val *at = setup_json_walk(j, path, &n, e);
    if (n < 0)
        return -1;
    if (!path[n])
        *old = at;
    else
        *out = setup_json_add(a, j, at, path[n], wrapped(a, path + n + 1, value));
    return 0;
}

/* Removes objects and arrays on the path that are empty now. */
static int prune(struct fumi_arena *a, const struct setup_spot *s, struct setup_text *t,
                 const char *const *path, struct fumi_err *e)
{
    const char *names[DEEP + 1] = {0};
    size_t depth = 0;
    while (path[depth] && depth < DEEP)
        names[depth] = path[depth], depth++;
    for (; depth; names[--depth] = NULL) {
        struct setup_json j;
        int n;
        if (setup_json_read(a, t, s->strict, &j, e))
            return -1;
        const struct fumi_val *v = setup_json_walk(&j, names, &n, e);
        if (n != (int)depth || fumi_first(v) || fumi_raw(v).n != 2)
            return 0;
        names[depth - 1] = NULL;
        const struct fumi_val *parent = setup_json_walk(&j, names, &n, e);
        names[depth - 1] = path[depth - 1];
        t->text = setup_json_remove(a, &j, parent, v - 1);
    }
    return 0;
}

static int find_member(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                       struct fumi_str *found, struct fumi_err *e)
{
    struct setup_json j;
    int n = 0;
    *found = (struct fumi_str){0};
    if (setup_json_read(a, t, s->strict, &j, e))
        return -1;
    const struct fumi_val *v = j.root ? setup_json_walk(&j, s->path, &n, e) : NULL;
    if (n < 0)
        return -1;
    if (v && !s->path[n])
        *found = fumi_compact(a, v).text;
    return 0;
}

/* Whether both entries start a program, or both have a URL. */
static bool is_same_kind(const struct fumi_val *x, const struct fumi_val *y)
{
    static const char *const kinds[] = {"command", "url"};
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++) {
        if (setup_json_key(x, kinds[i]) && setup_json_key(y, kinds[i]))
            return true;
    }
    return false;
}

/* Sets one member of the existing entry. */
static int set_member(struct fumi_arena *a, const struct setup_spot *s, struct setup_text *t,
                      const struct fumi_val *name, struct fumi_err *e)
{
    struct setup_json j;
    int n;
    struct fumi_str value = fumi_compact(a, fumi_of(name)).text;
    if (setup_json_read(a, t, s->strict, &j, e))
        return -1;
    const char *named = files_name(a, fumi_text(a, name));
    const struct fumi_val *entry = setup_json_walk(&j, s->path, &n, e);
    const struct fumi_val *key = setup_json_key(entry, named);
    if (!key)
        t->text = setup_json_add(a, &j, entry, named, value);
    else if (!fumi_eq(fumi_compact(a, fumi_of(key)).text, value))
        t->text = setup_json_replace(a, &j, fumi_of(key), value);
    return 0;
}

/* Updates the entry, and keeps what the user added to it, such as environment variables. */
static int merge(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                 const struct fumi_val *entry, struct fumi_str *out, struct fumi_err *e)
{
    struct setup_text now = *t;
    for (const struct fumi_val *key = fumi_first(entry); key; key = fumi_after(entry, key)) {
        if (set_member(a, s, &now, key, e))
            return -1;
    }
    *out = now.text;
    return 0;
}

static int put_member(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                      struct fumi_str entry, struct fumi_str *out, struct fumi_err *e)
{
    struct setup_json j;
    const struct fumi_val *old, *new = fumi_parse(a, entry, e);
    if (!new || setup_json_read(a, t, s->strict, &j, e) ||
        put_missing(a, &j, s->path, entry, &old, out, e))
        return -1;
    if (!old)
        return 0;
    if (is_same_kind(old, new))
        return merge(a, s, t, new, out, e);
    *out = setup_json_replace(a, &j, old, entry);
    return 0;
}

static int drop_member(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                       struct fumi_str *out, struct fumi_err *e)
{
    const char *parents[DEEP + 1] = {0};
    struct setup_text now = *t;
    struct setup_json j;
    int n = 0;
    *out = t->text;
    if (setup_json_read(a, t, s->strict, &j, e))
        return -1;
    const struct fumi_val *v = j.root ? setup_json_walk(&j, s->path, &n, e) : NULL;
    if (n <= 0 || s->path[n])
        return n < 0 ? -1 : 0;
    for (int i = 0; i < n - 1 && i < DEEP; i++)
        parents[i] = s->path[i];
    now.text = setup_json_remove(a, &j, setup_json_walk(&j, parents, &n, e), v - 1);
    if (prune(a, s, &now, parents, e))
        return -1;
    *out = now.text;
    return 0;
}

const struct setup_format setup_member = {find_member, put_member, drop_member};

/* {"matcher":...,"hooks":[{"type":"command","command":"... hook NAME"}]} in an array. */
struct hook_entry {
    const struct fumi_val *list, *group, *hooks, *one; /* NULL: not found */
};

static bool is_ours(const struct setup_spot *s, const struct fumi_val *one)
{
    const struct fumi_val *command = fumi_get(one, "command");
    return fumi_is(command, FUMI_STRING) &&
           memmem(command->p, command->n, s->command, strlen(s->command));
}

static void find_one(const struct setup_spot *s, const struct fumi_val *group, struct hook_entry *h)
{
    const struct fumi_val *hooks = fumi_get(group, "hooks");
    for (const struct fumi_val *i = fumi_first(hooks); i && !h->one; i = fumi_after(hooks, i)) {
        if (is_ours(s, i))
            *h = (struct hook_entry){h->list, group, hooks, i};
    }
}

static int locate(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                  struct setup_json *j, struct hook_entry *h, struct fumi_err *e)
{
    int n = 0;
    *h = (struct hook_entry){0};
    if (setup_json_read(a, t, s->strict, j, e))
        return -1;
    const struct fumi_val *list = j->root ? setup_json_walk(j, s->path, &n, e) : NULL;
    if (n < 0)
        return -1;
    if (!list || s->path[n])
        return 0;
    if (!fumi_is(list, FUMI_ARRAY))
        return setup_fail_at(e, t, setup_json_begin(j, list),
                             "\"%s\" must be an array; nothing was changed: correct the file first",
                             s->path[n - 1]);
    h->list = list;
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i))
        find_one(s, i, h);
    return 0;
}

static int find_hook(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                     struct fumi_str *found, struct fumi_err *e)
{
    struct setup_json j;
    struct hook_entry h;
    if (locate(a, s, t, &j, &h, e))
        return -1;
    *found = h.group ? fumi_compact(a, h.group).text : (struct fumi_str){0};
    return 0;
}

static int put_hook(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                    struct fumi_str entry, struct fumi_str *out, struct fumi_err *e)
{
    struct setup_json j;
    struct hook_entry h;
    const struct fumi_val *old, *new = fumi_parse(a, entry, e);
    if (!new || locate(a, s, t, &j, &h, e))
        return -1;
    *out = t->text;
    if (h.one) {
        const struct fumi_val *is = fumi_get(h.one, "command");
        struct fumi_str command = fumi_raw(fumi_get(fumi_first(fumi_get(new, "hooks")), "command"));
        if (!fumi_eq(fumi_raw(is), command))
            *out = setup_json_replace(a, &j, is, command);
        return 0;
    }
    if (h.list) {
        *out = setup_json_add(a, &j, h.list, NULL, entry);
        return 0;
    }
    return put_missing(a, &j, s->path, fumi_fmt(a, "[%.*s]", FUMI_ARG(entry)), &old, out, e);
}

static int drop_hook(struct fumi_arena *a, const struct setup_spot *s, const struct setup_text *t,
                     struct fumi_str *out, struct fumi_err *e)
{
    struct setup_text now = *t;
    struct setup_json j;
    struct hook_entry h;
    *out = t->text;
    if (locate(a, s, t, &j, &h, e))
        return -1;
    if (!h.one)
        return 0;
    now.text = fumi_size(h.hooks) > 1 ? setup_json_remove(a, &j, h.hooks, h.one)
                                      : setup_json_remove(a, &j, h.list, h.group);
    if (prune(a, s, &now, s->path, e))
        return -1;
    *out = now.text;
    return 0;
}

const struct setup_format setup_hook = {find_hook, put_hook, drop_hook};
