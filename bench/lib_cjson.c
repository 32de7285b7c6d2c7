#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct cjson_doc {
    const char *text;
    size_t n;
};

static void *open_doc(const char *text, size_t n)
{
    struct cjson_doc *d = malloc(sizeof(*d));
    if (!d)
        abort();
    *d = (struct cjson_doc){text, n};
    return d;
}

static cJSON *read_doc(const struct cjson_doc *d)
{
    return cJSON_ParseWithLength(d->text, d->n);
}

static int parse(void *doc)
{
    cJSON *root = read_doc(doc);
    if (!root)
        return -1;
    cJSON_Delete(root);
    return 0;
}

/* cJSON does not store lengths. */
static void take_text(const cJSON *v, struct sum *sum)
{
    const char *s = cJSON_GetStringValue(v);
    size_t n = s ? strlen(s) : 0;
    sum->bytes += n + (n ? (unsigned char)s[n - 1] : 0);
}

static void take(const cJSON *v, struct sum *sum)
{
    const cJSON *item;
    if (cJSON_IsNumber(v))
        sum->numbers += v->valuedouble;
    else if (cJSON_IsString(v))
        take_text(v, sum);
    else
        cJSON_ArrayForEach(item, v) take(item, sum);
}

static void take_call(const cJSON *call, struct sum *sum)
{
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(call, "jsonrpc"));
    if (!version || strcmp(version, "2.0") != 0)
        return;
    sum->calls++;
    take_text(cJSON_GetObjectItemCaseSensitive(call, "method"), sum);
    take(cJSON_GetObjectItemCaseSensitive(call, "id"), sum);
    take(cJSON_GetObjectItemCaseSensitive(call, "params"), sum);
}

static void take_all(const cJSON *root, struct sum *sum)
{
    const cJSON *item;
    if (cJSON_IsObject(root)) {
        take_call(root, sum);
        return;
    }
    cJSON_ArrayForEach(item, root) if (cJSON_IsObject(item)) take_call(item, sum);
    else take(item, sum);
}

static int use(void *doc, struct sum *sum)
{
    cJSON *root = read_doc(doc);
    if (!root)
        return -1;
    take_all(root, sum);
    cJSON_Delete(root);
    return 0;
}

const struct lib lib_cjson = {"cJSON", open_doc, parse, use, free};
