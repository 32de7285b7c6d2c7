/* Reads the data sets: one JSON object per line. */
#include "eval.h"

#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The time of the first document of a set without dates; each document is a second newer. */
#define EPOCH_MS INT64_C(1767225600000)

/* Owns everything that is loaded. */
static struct fumi_arena kept;

static const struct fumi_val *parse(struct fumi_arena *a, struct fumi_str line, const char *path)
{
    struct fumi_err e = {0};
    const struct fumi_val *row = fumi_parse(a, line, &e);
    if (!row)
        eval_die(path, &e);
    return row;
}

/* Calls `each` for every line of a file, parsed as JSON into an arena that is reset after the call.
 */
static void each_line(const struct eval *ev, const char *name, const char *kind,
                      void (*each)(void *arg, struct fumi_arena *a, const struct fumi_val *row),
                      void *arg)
{
    struct fumi_arena a = {0};
    char path[4096], *line = NULL;
    size_t capacity = 0;
    ssize_t got;
    snprintf(path, sizeof(path), "%s/%s.%s.jsonl", ev->dir, name, kind);
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "eval: cannot open %s\n", path);
        exit(1);
    }
    while ((got = getline(&line, &capacity, f)) > 0) {
        each(arg, &a, parse(&a, (struct fumi_str){line, (size_t)got}, path));
        fumi_arena_reset(&a, 1 << 20);
    }
    free(line);
    fclose(f);
    fumi_arena_done(&a);
}

static struct fumi_str text_of(struct fumi_arena *a, const struct fumi_val *row, const char *name)
{
    return fumi_dup(&kept, fumi_text(a, fumi_get(row, name)));
}

static struct fumi_str id_in(struct fumi_arena *a, struct fumi_str space, const struct fumi_val *id)
{
    return fumi_fmt(&kept, "%.*s/%.*s", FUMI_ARG(space), FUMI_ARG(fumi_text(a, id)));
}

/* Appends to an array of n items of `size` bytes, whose capacity is a power of two. */
static void *append(void *items, size_t *n, size_t size, const void *item)
{
    if (!(*n & (*n - 1)))
        items = fumi_resize(items, (*n ? *n * 2 : 1) * size);
    memcpy((char *)items + *n * size, item, size);
    ++*n;
    return items;
}

/* "1:56 pm on 8 May, 2023". */
static int64_t date_of(struct fumi_str s)
{
    struct tm t = {.tm_sec = 0};
    char text[64];
    snprintf(text, sizeof(text), "%.*s", FUMI_ARG(s));
    if (!strptime(text, "%I:%M %p on %d %B, %Y", &t))
        eval_die("a document has no readable date", NULL);
    return (int64_t)timegm(&t) * 1000;
}

static void add_doc(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct eval_set *set = arg;
    struct eval_doc d = {.space = text_of(a, row, "space"), .text = text_of(a, row, "text")};
    if (!d.text.n)
        return; /* Cranfield contains two empty abstracts */
    d.id = id_in(a, d.space, fumi_get(row, "id"));
    if (fumi_get(row, "date")) {
        d.created = date_of(text_of(a, row, "date"));
        d.session = text_of(a, row, "session");
    } else { /* without a session, notes that are imported have no neighbours */
        d.created = EPOCH_MS + (int64_t)set->n_docs * 1000;
    }
    set->docs = append(set->docs, &set->n_docs, sizeof(d), &d);
}

static int64_t newest(const struct eval_set *set, struct fumi_str space)
{
    int64_t ms = INT64_MIN;
    for (size_t i = 0; i < set->n_docs; i++)
        if (fumi_eq(set->docs[i].space, space) && set->docs[i].created > ms)
            ms = set->docs[i].created;
    return ms;
}

static void add_query(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct eval_set *set = arg;
    const struct fumi_val *rel = fumi_get(row, "rel");
    struct eval_query q = {.space = text_of(a, row, "space"),
                           .text = text_of(a, row, "text"),
                           .cat = text_of(a, row, "cat")};
    q.rel.items = fumi_alloc(&kept, fumi_size(rel) * sizeof(*q.rel.items));
    for (const struct fumi_val *r = fumi_first(rel); r; r = fumi_after(rel, r))
        q.rel.items[q.rel.n++] = id_in(a, q.space, r);
    q.now = set->n_queries && fumi_eq(set->queries[set->n_queries - 1].space, q.space)
                ? set->queries[set->n_queries - 1].now
                : newest(set, q.space);
    set->queries = append(set->queries, &set->n_queries, sizeof(q), &q);
}

struct eval_set eval_load_set(const struct eval *ev, const char *name)
{
    struct eval_set set = {.name = name};
    each_line(ev, name, "docs", add_doc, &set);
    each_line(ev, name, "queries", add_query, &set);
    return set;
}

static void add_pair(void *arg, struct fumi_arena *a, const struct fumi_val *row)
{
    struct eval_pairs *p = arg;
    struct eval_pair pair = {.a = text_of(a, row, "a"), .b = text_of(a, row, "b")};
    fumi_real(fumi_get(row, "score"), &pair.human);
    p->items = append(p->items, &p->n, sizeof(pair), &pair);
}

struct eval_pairs eval_load_pairs(const struct eval *ev, const char *name)
{
    struct eval_pairs p = {.name = name};
    each_line(ev, name, "sts", add_pair, &p);
    return p;
}
