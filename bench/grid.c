#include <stdio.h>
#include <string.h>

#include "bench.h"

static const struct lib *const libs[LIBS] = {&lib_fumi, &lib_jansson, &lib_cjson, &lib_simdjson};

int cell_run(struct cell *c)
{
    struct sum sum = {0};
    return c->column < USE ? c->lib->parse(c->doc) : c->lib->use(c->doc, &sum);
}

static int same(const struct sum *a, const struct sum *b)
{
    return a->numbers == b->numbers && a->bytes == b->bytes && a->calls == b->calls;
}

static int check_lib(const struct cell *c, const char *input, struct sum *wanted)
{
    struct sum sum = {0};
    if (c->lib->parse(c->doc) || c->lib->use(c->doc, &sum)) {
        fprintf(stderr, "bench: %s refuses \"%s\"\n", c->lib->name, input);
        return -1;
    }
    if (c->lib == libs[0])
        *wanted = sum;
    if (same(&sum, wanted))
        return 0;
    fprintf(stderr, "bench: for \"%s\" %s reads %.17g, %zu, %zu and %s %.17g, %zu, %zu\n", input,
            c->lib->name, sum.numbers, sum.bytes, sum.calls, libs[0]->name, wanted->numbers,
            wanted->bytes, wanted->calls);
    return -1;
}

static int make_row(const struct input *in, struct cell row[COLUMNS])
{
    struct sum wanted = {0};
    for (int i = 0; i < LIBS; i++) {
        void *doc = libs[i]->open(in->text, in->n);
        row[PARSE + i] = (struct cell){libs[i], doc, PARSE, 1, 0, -1};
        row[USE + i] = (struct cell){libs[i], doc, USE, 1, 0, -1};
        if (check_lib(&row[USE + i], in->name, &wanted))
            return -1;
    }
    return 0;
}

int grid_make(struct grid *g)
{
    memset(g, 0, sizeof(*g));
    inputs_make(g->inputs);
    for (int i = 0; i < INPUTS; i++)
        if (make_row(&g->inputs[i], g->cells[i]))
            return -1;
    return 0;
}

static void free_row(struct cell row[COLUMNS])
{
    for (int i = 0; i < LIBS; i++)
        if (row[PARSE + i].doc)
            libs[i]->close(row[PARSE + i].doc);
}

void grid_free(struct grid *g)
{
    for (int i = 0; i < INPUTS; i++)
        free_row(g->cells[i]);
    inputs_free(g->inputs);
}
