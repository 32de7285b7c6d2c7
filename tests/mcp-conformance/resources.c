#include "fixtures.h"

#define STATIC_TEXT   "test://static-text"
#define STATIC_BINARY "test://static-binary"
#define WATCHED       "test://watched-resource"

static enum fumi_ret list(struct fumi_mcp_call *c, struct fumi_str cursor)
{
    static const struct {
        const char *uri, *name, *description, *type;
    } rows[] = {
        {STATIC_TEXT, "Static text", "A text that never changes.", "text/plain"},
        {STATIC_BINARY, "Static image", "An image that never changes.", "image/png"},
        {WATCHED, "Watched resource", "A text that clients may subscribe to.", "text/plain"},
    };
    if (cursor.p)
        return fumi_mcp_refuse(c, FUMI_INVALID_PARAMS, "there is one page only; leave out cursor");
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_resource r = {.uri = fumi_str(rows[i].uri),
                                  .name = fumi_str(rows[i].name),
                                  .description = fumi_str(rows[i].description),
                                  .type = fumi_str(rows[i].type)};
        fumi_mcp_resource(c, &r);
    }
    return FUMI_OK;
}

/* The ID in test://template/ID/data; null if the URI has another form. */
static struct fumi_str template_id(struct fumi_str uri)
{
    struct fumi_str begin = FUMI_STR("test://template/"), end = FUMI_STR("/data");
    if (!fumi_starts(uri, begin) || uri.n <= begin.n + end.n)
        return (struct fumi_str){0};
    struct fumi_str id = {uri.p + begin.n, uri.n - begin.n - end.n};
    bool whole = fumi_same(id.p + id.n, end.p, end.n) && !memchr(id.p, '/', id.n);
    return whole ? id : (struct fumi_str){0};
}

static void give_template(struct fumi_mcp_call *c, struct fumi_str uri, struct fumi_str id)
{
    struct fumi_buf text = {0};
    struct fumi_out o = {.buf = &text};
    struct fumi_str data = fumi_fmt(c->call->arena, "Data for ID: %.*s", FUMI_ARG(id));
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "id");
    fumi_put_str(&o, id);
    fumi_put_key(&o, "templateTest");
    fumi_put_bool(&o, true);
    fumi_put_key(&o, "data");
    fumi_put_str(&o, data);
    fumi_put_close(&o, '}');
    fumi_mcp_contents(c, uri, "application/json", fumi_buf_str(&text));
    fumi_buf_done(&text);
}

static enum fumi_ret give(struct fumi_mcp_call *c, struct fumi_str uri)
{
    struct fumi_str id = template_id(uri);
    if (id.p)
        give_template(c, uri, id);
    else if (fumi_eq(uri, FUMI_STR(STATIC_TEXT)))
        fumi_mcp_contents(c, uri, "text/plain",
                          FUMI_STR("This is the content of the static text resource."));
    else if (fumi_eq(uri, FUMI_STR(STATIC_BINARY)))
        fumi_mcp_blob(c, uri, "image/png", FUMI_STR(FIXTURE_PNG));
    else if (fumi_eq(uri, FUMI_STR(WATCHED)))
        fumi_mcp_contents(c, uri, "text/plain", FUMI_STR("Nothing has changed yet."));
    return FUMI_OK;
}

static const struct fumi_template templates[] = {
    {.uri = "test://template/{id}/data",
     .name = "Data of an ID",
     .description = "A document made for the ID in its URI.",
     .type = "application/json"},
};

const struct fumi_resources fixture_resources = {
    .list = list,
    .read = give,
    .templates = templates,
    .templates_n = FUMI_COUNT(templates),
};
