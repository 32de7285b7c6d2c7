/* The built-in methods of every server: rpc.discover describes the server as an OpenRPC document,
 * and rpc.cancel cancels an open call. */
#include "rpc/exchange.h"

static void put_param(struct fumi_out *o, const struct fumi_field *f)
{
    fumi_put_open(o, '{');
    fumi_put_key(o, "name");
    fumi_put_str(o, f->name ? fumi_str(f->name) : FUMI_STR("params"));
    if (f->help) {
        fumi_put_key(o, "description");
        fumi_put_str(o, fumi_str(f->help));
    }
    if (f->flags & FUMI_REQUIRED) {
        fumi_put_key(o, "required");
        fumi_put_bool(o, true);
    }
    fumi_put_key(o, "schema");
    fumi_schema_field(o, f);
    fumi_put_close(o, '}');
}

static void put_method(struct fumi_out *o, const struct method_entry *e)
{
    const struct fumi_shape *params = e->method->params;
    fumi_put_open(o, '{');
    fumi_put_key(o, "name");
    fumi_put_str(o, e->name);
    if (e->method->help) {
        fumi_put_key(o, "summary");
        fumi_put_str(o, fumi_str(e->method->help));
    }
    fumi_put_key(o, "paramStructure");
    fumi_put_str(o, FUMI_STR("either"));
    fumi_put_key(o, "params");
    fumi_put_open(o, '[');
    for (size_t i = 0; params && i < params->n; i++)
        put_param(o, &params->fields[i]);
    fumi_put_close(o, ']');
    fumi_put_key(o, "result");
    fumi_put_open(o, '{');
    fumi_put_key(o, "name");
    fumi_put_str(o, FUMI_STR("result"));
    fumi_put_key(o, "schema");
    fumi_schema(o, e->method->result);
    fumi_put_close(o, '}');
    fumi_put_close(o, '}');
}

void fumi_discover(const struct fumi_server *s, struct fumi_out *o)
{
    fumi_put_open(o, '{');
    fumi_put_key(o, "openrpc");
    fumi_put_str(o, FUMI_STR("1.3.2"));
    fumi_put_key(o, "info");
    fumi_put_open(o, '{');
    fumi_put_key(o, "title");
    fumi_put_str(o, fumi_str(s->title));
    fumi_put_key(o, "version");
    fumi_put_str(o, fumi_str(s->version));
    fumi_put_close(o, '}');
    fumi_put_key(o, "methods");
    fumi_put_open(o, '[');
    for (size_t i = 0; i < s->n; i++) {
        if (!(s->entries[i].method->flags & FUMI_HIDDEN))
            put_method(o, &s->entries[i]);
    }
    fumi_put_close(o, ']');
    fumi_put_close(o, '}');
}

static enum fumi_ret discover(struct fumi_call *c, const void *params, void *result)
{
    (void)params, (void)result;
    fumi_discover(c->self, fumi_result(c));
    return FUMI_OK;
}

struct cancel_params {
    const struct fumi_val *id;
};
static const struct fumi_field cancel_fields[] = {
    FUMI_FIELD(struct cancel_params, id, "id", "Id of the call.", .flags = FUMI_REQUIRED),
};
static const struct fumi_shape cancel_shape = FUMI_SHAPE(struct cancel_params, cancel_fields);

struct cancel_result {
    bool found;
};
static const struct fumi_field cancelled_fields[] = {
    FUMI_VALUE(struct cancel_result, found, "Whether there was such a call."),
};
static const struct fumi_shape cancelled_shape = FUMI_SHAPE(struct cancel_result, cancelled_fields);

static enum fumi_ret cancel(struct fumi_call *c, const void *params, void *result)
{
    const struct cancel_params *p = params;
    struct cancel_result *r = result;
    r->found = fumi_cancel(c->peer, p->id);
    return FUMI_OK;
}

const struct fumi_method built_in[] = {
    {"rpc.discover", "Describes the methods of this server as an OpenRPC document.", NULL, NULL,
     discover, FUMI_HIDDEN | FUMI_READ_ONLY},
    {"rpc.cancel", "Cancels an open call of the same connection.", &cancel_shape, &cancelled_shape,
     cancel, FUMI_HIDDEN | FUMI_READ_ONLY | FUMI_UNORDERED},
};
const size_t built_in_n = FUMI_COUNT(built_in);
