#include "memory/guard.h"

#include "json/json.h"

#include <stdio.h>

/* Fails if the text contains a secret. */
static int refuse(const struct guard *g, const char *field, struct fumi_str text,
                  struct fumi_str name, struct fumi_err *e)
{
    struct secrets_scan scan = {.text = text, .name = name};
    struct secret is;
    if (!secrets_next(&scan, &is))
        return 0;
    return fumi_err_set(e, FUMI_INVALID_PARAMS,
                        "%s%s contains a value that looks like %s: remove it, or set "
                        "safety.secrets to mask or allow",
                        g->where ? g->where : "", field, secret_name(is.kind));
}

static int guard_text(struct guard *g, const char *field, struct fumi_str *text,
                      struct fumi_str name, struct fumi_err *e)
{
    switch (g->mode) {
    case SECRETS_MASK:
        *text = secrets_mask(g->a, *text, name, &g->found);
        return 0;
    case SECRETS_REFUSE:
        return refuse(g, field, *text, name, e);
    case SECRETS_ALLOW:
        return 0;
    }
    return 0;
}

/* Guards one string of a JSON text. If it was masked, the JSON from *done up to the string and the
 * masked string are appended to `out`. */
static int guard_string(struct guard *g, const char *field, const struct fumi_val *v,
                        struct fumi_str name, struct fumi_buf *out, const char **done,
                        struct fumi_err *e)
{
    struct fumi_str text = fumi_text(g->a, v), was = text;
    if (guard_text(g, field, &text, name, e))
        return -1;
    if (text.p == was.p)
        return 0;
    fumi_buf_add(out, *done, (size_t)(v->p - 1 - *done));
    fumi_put_str(&(struct fumi_out){.buf = out}, text);
    *done = v->p + v->n + 1;
    return 0;
}

/* Guards all strings below `root`, keys included: the values of a document are stored in one array.
 * The name of a value is its key; an array element has none. */
static int guard_row(struct guard *g, const char *field, const struct fumi_val *root,
                     struct fumi_buf *out, const char **done, struct fumi_err *e)
{
    const struct fumi_val *end = fumi_next(root);
    struct fumi_str name = {0};
    for (const struct fumi_val *v = root + 1; v < end; v++) {
        bool string = fumi_is(v, FUMI_STRING);
        if (string && guard_string(g, field, v, name, out, done, e))
            return -1;
        const char *after = v->p + v->n + 1;
        while (string && *after && strchr(" \t\r\n", *after))
            after++;
        name = string && *after == ':' ? fumi_text(g->a, v) : (struct fumi_str){0};
    }
    return 0;
}

/* Guards the decoded strings of a JSON text, so that an escape cannot hide a secret. `name` is the
 * name of the whole value. */
static int guard_json(struct guard *g, const char *field, struct fumi_str *json,
                      struct fumi_str name, struct fumi_err *e)
{
    struct fumi_buf out = {0};
    const char *done = json->p;
    if (!json->p || g->mode == SECRETS_ALLOW)
        return 0;
    const struct fumi_val *root = fumi_parse(g->a, *json, e);
    if (!root)
        return -1;
    if (fumi_is(root, FUMI_STRING)) {
        struct fumi_str text = fumi_text(g->a, root), was = text;
        if (guard_text(g, field, &text, name, e))
            return -1;
        if (text.p == was.p)
            return 0;
        fumi_put_str(&(struct fumi_out){.buf = &out}, text);
        *json = fumi_buf_keep(&out, g->a);
        return 0;
    }
    int rc = guard_row(g, field, root, &out, &done, e);
    if (!rc && out.n) {
        fumi_buf_add(&out, done, (size_t)(json->p + json->n - done));
        *json = fumi_buf_keep(&out, g->a);
    }
    fumi_buf_done(&out);
    return rc;
}

/* Copies the list before it changes an item, because the list belongs to the caller. */
static int guard_list(struct guard *g, const char *name, struct fumi_strs *list, struct fumi_err *e)
{
    struct fumi_str *items = NULL;
    for (size_t i = 0; i < list->n; i++) {
        char field[32];
        struct fumi_str item = list->items[i];
        snprintf(field, sizeof(field), "%s[%zu]", name, i);
        if (guard_text(g, field, &item, (struct fumi_str){0}, e))
            return -1;
        if (item.p == list->items[i].p)
            continue;
        if (!items) {
            items = fumi_alloc(g->a, list->n * sizeof(*items));
            memcpy(items, list->items, list->n * sizeof(*items));
        }
        items[i] = item;
    }
    if (items)
        list->items = items;
    return 0;
}

static int guard_column(struct guard *g, struct note *n, size_t column, struct fumi_err *e)
{
    const struct note_column *c = &note_columns[column];
    struct fumi_str *text = note_text_at(n, column), none = {0};
    if (c->type == FUMI_T_STRS)
        return guard_list(g, c->name, (struct fumi_strs *)(void *)((char *)n + c->offset), e);
    return (c->type == FUMI_T_JSON ? guard_json : guard_text)(g, c->name, text, none, e);
}

int guard_note(struct guard *g, struct note *n, struct fumi_err *e)
{
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        if (note_columns[i].flags & NOTE_FREE_TEXT && guard_column(g, n, i, e))
            return -1;
    return 0;
}

int guard_group(struct guard *g, struct group *group, struct fumi_err *e)
{
    const struct fumi_str none = {0};
    return guard_text(g, "title", &group->title, none, e) ||
                   guard_text(g, "description", &group->description, none, e)
               ? -1
               : 0;
}

int guard_global(struct guard *g, struct global *global, struct fumi_err *e)
{
    return guard_json(g, "value", &global->value, global->key, e);
}

struct fumi_str guard_warning(const struct guard *g, struct fumi_str other)
{
    struct fumi_str list = secrets_list(g->a, &g->found);
    if (!list.n)
        return other;
    return fumi_fmt(g->a, "masked %.*s%s%.*s", FUMI_ARG(list), other.n ? "; " : "",
                    FUMI_ARG(other));
}
