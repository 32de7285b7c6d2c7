#include "app/verbs.h"

#include "app/cli_notes.h"
#include "app/show.h"

const struct verb *verb_find(const struct command *c, struct fumi_str name)
{
    for (const struct verb *v = c->verbs; v && v->name; v++)
        if (fumi_eq(name, fumi_str(v->name)))
            return v;
    return NULL;
}

/* "list, rename, merge or delete" */
static struct fumi_str names_of(struct invocation *i)
{
    struct fumi_buf b = {0};
    for (const struct verb *v = i->command->verbs; v->name; v++) {
        const char *before = v == i->command->verbs ? "" : v[1].name ? ", " : " or ";
        fumi_buf_add(&b, before, strlen(before));
        fumi_buf_add(&b, v->name, strlen(v->name));
    }
    return fumi_buf_keep(&b, i->a);
}

static int call(struct invocation *i, const struct verb *v, struct session *s,
                const struct fumi_val **result, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    for (size_t k = 0; k < i->words.n && k < VERB_WORDS; k++)
        if (v->params[k])
            notes_put(&o, v->params[k], i->words.items[k]);
    int rc = v->put ? v->put(i, s, &o, e) : 0;
    fumi_put_close(&o, '}');
    struct fumi_json json = {fumi_buf_keep(&params, i->a)};
    return rc || session_ask(s, i->a, v->method, json, result, e) ? -1 : 0;
}

static int run_method(struct invocation *i, const struct verb *v, const struct fumi_val **result,
                      struct fumi_err *e)
{
    struct session s = {.short_ids = !i->json, .existing = session_needs_store(v->method)};
    int rc = session_open(&s, &i->common, e) || call(i, v, &s, result, e);
    session_close(&s);
    return rc ? -1 : 0;
}

static int run(struct invocation *i, const struct verb *v)
{
    const struct fumi_val *result = NULL;
    struct fumi_err e = {0};
    if (v->method ? run_method(i, v, &result, &e) : v->run(i, &result, &e))
        return command_report(&e);
    notes_warn(i->a, result);
    if (i->json)
        notes_print_result(result);
    else if (v->print)
        v->print(i, result);
    return STATUS_OK;
}

int verb_run(struct invocation *i)
{
    const struct command *c = i->command;
    struct fumi_str name = i->words.n ? i->words.items[0] : fumi_str(c->verbs->name);
    const struct verb *v = verb_find(c, name);
    if (!v)
        return command_misuse(i, "unknown: %s %.*s; give %.*s", c->name,
                              FUMI_ARG(show_line(i->a, name)), FUMI_ARG(names_of(i)));
    if (i->words.n) {
        i->words.items++;
        i->words.n--;
    }
    if (i->words.n < v->least || i->words.n > v->most)
        return command_misuse(i, "give: %s %s%s%s", c->name, v->name, v->usage[0] ? " " : "",
                              v->usage);
    return run(i, v);
}
