/* The project that a name without notes most likely stands for. */
#include "base/closest_name.h"
#include "memory/memory_parts.h"

#include <strings.h>

enum { PAGE = 256, PROJECTS_MOST = 10000 };

/* The last part of a path. */
static struct fumi_str last_part(struct fumi_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    size_t at = slash ? (size_t)(slash + 1 - path.p) : 0;
    return (struct fumi_str){path.p + at, path.n - at};
}

static bool same_name(struct fumi_str a, struct fumi_str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Paths may be longer than what closest_name compares, so their last parts are compared, too. */
struct nearest {
    struct fumi_str name, part;
    struct closest_name whole, parts;
    struct fumi_str same, like; /* the best names: with the same last part; similar */
};

static void consider(struct nearest *n, struct fumi_str name)
{
    struct fumi_str part = last_part(name);
    if (!n->same.p && same_name(part, n->part))
        n->same = name;
    if (closest_name_improves(&n->whole, name) || closest_name_improves(&n->parts, part))
        n->like = name;
}

int memory_near_project(struct memory *m, struct fumi_arena *a, struct fumi_str name,
                        struct fumi_str *out, struct fumi_err *e)
{
    struct naming what = {.kind = NAME_PROJECT, .limit = PAGE};
    struct nearest n = {.name = name, .part = last_part(name)};
    struct names page;
    n.whole = closest_name_start(name);
    n.parts = closest_name_start(n.part);
    for (size_t seen = 0; seen < PROJECTS_MOST; seen += page.n) {
        if (store_list_names(m->view, a, &what, &page, e))
            return -1;
        for (size_t i = 0; i < page.n; i++)
            if (page.items[i].notes && !fumi_eq(page.items[i].text, name))
                consider(&n, page.items[i].text);
        if (page.n < PAGE)
            break;
        what.after = page.items[page.n - 1].text;
    }
    *out = n.same.p ? n.same : n.like;
    return 0;
}
