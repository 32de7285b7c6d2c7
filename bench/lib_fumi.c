/* Fumi. The arena is reset before each run and keeps its memory, as in a server. */
#include <stdlib.h>

#include "bench.h"
#include "json/json.h"

struct fumi_doc {
    struct fumi_arena arena;
    struct fumi_str text;
    struct fumi_err err;
};

enum { KEEP = 1 << 26 };

static void *open_doc(const char *text, size_t n)
{
    struct fumi_doc *d = calloc(1, sizeof(*d));
    if (!d)
        abort();
    d->text = (struct fumi_str){text, n};
    return d;
}

static const struct fumi_val *read_doc(struct fumi_doc *d)
{
    fumi_arena_reset(&d->arena, KEEP);
    return fumi_parse(&d->arena, d->text, &d->err);
}

static int parse(void *doc)
{
    return read_doc(doc) ? 0 : -1;
}

static void take_text(struct fumi_doc *d, const struct fumi_val *v, struct sum *sum)
{
    struct fumi_str s = fumi_text(&d->arena, v);
    sum->bytes += s.n + (s.n ? (unsigned char)s.p[s.n - 1] : 0);
}

static void take(struct fumi_doc *d, const struct fumi_val *v, struct sum *sum)
{
    double number = 0;
    if (fumi_real(v, &number))
        sum->numbers += number;
    else if (fumi_is(v, FUMI_STRING))
        take_text(d, v, sum);
    else
        for (const struct fumi_val *i = fumi_first(v); i; i = fumi_after(v, i))
            take(d, fumi_is(v, FUMI_OBJECT) ? fumi_of(i) : i, sum);
}

static void take_call(struct fumi_doc *d, const struct fumi_val *call, struct sum *sum)
{
    if (!fumi_text_is(fumi_get(call, "jsonrpc"), FUMI_STR("2.0")))
        return;
    sum->calls++;
    take_text(d, fumi_get(call, "method"), sum);
    take(d, fumi_get(call, "id"), sum);
    take(d, fumi_get(call, "params"), sum);
}

static int use(void *doc, struct sum *sum)
{
    struct fumi_doc *d = doc;
    const struct fumi_val *root = read_doc(d);
    if (!root)
        return -1;
    if (fumi_is(root, FUMI_OBJECT)) {
        take_call(d, root, sum);
        return 0;
    }
    for (const struct fumi_val *i = fumi_first(root); i; i = fumi_after(root, i))
        if (fumi_is(i, FUMI_OBJECT))
            take_call(d, i, sum);
        else
            take(d, i, sum);
    return 0;
}

static void close_doc(void *doc)
{
    struct fumi_doc *d = doc;
    fumi_arena_done(&d->arena);
    free(d);
}

const struct lib lib_fumi = {"fumi", open_doc, parse, use, close_doc};
