#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct jansson_doc {
    const char *text;
    size_t n;
};

static void *open_doc(const char *text, size_t n)
{
    struct jansson_doc *d = malloc(sizeof(*d));
    if (!d)
        abort();
    *d = (struct jansson_doc){text, n};
    return d;
}

static json_t *read_doc(const struct jansson_doc *d)
{
    json_error_t e;
    return json_loadb(d->text, d->n, 0, &e);
}

static int parse(void *doc)
{
    json_t *root = read_doc(doc);
    if (!root)
        return -1;
    json_decref(root);
    return 0;
}

static void take_text(const json_t *v, struct sum *sum)
{
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    sum->bytes += n + (n ? (unsigned char)s[n - 1] : 0);
}

static void take(json_t *v, struct sum *sum)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_number(v))
        sum->numbers += json_number_value(v);
    else if (json_is_string(v))
        take_text(v, sum);
    else if (json_is_object(v))
        json_object_foreach(v, key, item) take(item, sum);
    else
        json_array_foreach(v, i, item) take(item, sum);
}

static void take_call(json_t *call, struct sum *sum)
{
    const char *version = json_string_value(json_object_get(call, "jsonrpc"));
    if (!version || strcmp(version, "2.0") != 0)
        return;
    sum->calls++;
    take_text(json_object_get(call, "method"), sum);
    take(json_object_get(call, "id"), sum);
    take(json_object_get(call, "params"), sum);
}

static void take_all(json_t *root, struct sum *sum)
{
    json_t *item;
    size_t i;
    if (json_is_object(root))
        take_call(root, sum);
    json_array_foreach(root, i, item) if (json_is_object(item)) take_call(item, sum);
    else take(item, sum);
}

static int use(void *doc, struct sum *sum)
{
    json_t *root = read_doc(doc);
    if (!root)
        return -1;
    take_all(root, sum);
    json_decref(root);
    return 0;
}

const struct lib lib_jansson = {"jansson", open_doc, parse, use, free};
