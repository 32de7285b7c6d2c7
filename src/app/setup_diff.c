/* A unified diff with one hunk: the common lines at both ends are left out except for two lines of
 * context. That suffices, because setup changes one part of a file. */
#include "app/setup.h"
#include "app/show.h"

enum {
    CONTEXT = 2,
    WIDE = 160, /* columns of a line that are shown */
    BEFORE = 40 /* bytes that are shown before the first difference in a long line */
};

/* Takes the first line from `rest`, without its line break. */
static bool take_line(struct fumi_str *rest, struct fumi_str *line)
{
    if (!rest->n)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    *line = (struct fumi_str){rest->p, n && rest->p[n - 1] == '\r' ? n - 1 : n};
    n += end != NULL;
    *rest = (struct fumi_str){rest->p + n, rest->n - n};
    return true;
}

static size_t count_lines(struct fumi_str s)
{
    size_t n = 0;
    for (struct fumi_str line; take_line(&s, &line);)
        n++;
    return n;
}

static struct fumi_strs lines_of(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_strs all = {fumi_alloc(a, (count_lines(s) + 1) * sizeof(*all.items)), 0};
    while (take_line(&s, &all.items[all.n]))
        all.n++;
    return all;
}

/* Prints a line; of a long line, WIDE columns starting at byte `from`. */
static void put_line(FILE *to, char sign, struct fumi_str line, size_t from)
{
    struct fumi_arena a = {0};
    enum show_style style = sign == ' ' ? SHOW_DIM : SHOW_BOLD;
    from = from < line.n && line.n > WIDE ? from : 0;
    while (from && ((unsigned char)line.p[from] & 0xC0) == 0x80)
        from--;
    struct fumi_str rest = {line.p + from, line.n - from}, cut = show_cut(rest, WIDE);
    fprintf(to, "%s%c%s%.*s%s%s\n", show_style(to, style), sign, from ? "... " : "",
            FUMI_ARG(show_lines(&a, cut)), cut.n < rest.n ? " ..." : "",
            show_style(to, SHOW_PLAIN));
    fumi_arena_done(&a);
}

/* Where to start showing two long lines: a little before their first difference. */
static size_t window(struct fumi_str x, struct fumi_str y)
{
    size_t n = 0;
    while (n < x.n && n < y.n && x.p[n] == y.p[n])
        n++;
    return n > 2 * BEFORE ? n - BEFORE : 0;
}

static void put_change(FILE *to, char sign, struct fumi_strs all, size_t begin, size_t end,
                       size_t from)
{
    for (size_t i = begin; i < end; i++)
        put_line(to, sign, all.items[i], i == begin ? from : 0);
}

static void put_hunk(FILE *to, struct fumi_strs old, struct fumi_strs new)
{
    size_t head = 0, tail = 0, from = 0;
    while (head < old.n && head < new.n &&fumi_eq(old.items[head], new.items[head]))
        head++;
    while (tail < old.n - head &&
           tail < new.n - head &&fumi_eq(old.items[old.n - 1 - tail], new.items[new.n - 1 - tail]))
        tail++;
    size_t before = head < CONTEXT ? head : CONTEXT, after = tail < CONTEXT ? tail : CONTEXT;
    size_t removed = old.n - head - tail, added = new.n - head - tail;
    if (removed && added)
        from = window(old.items[head], new.items[head]);
    fprintf(to, "@@ -%zu,%zu +%zu,%zu @@\n", head - before + (old.n > 0), removed + before + after,
            head - before + (new.n > 0), added + before + after);
    put_change(to, ' ', old, head - before, head, 0);
    put_change(to, '-', old, head, head + removed, from);
    put_change(to, '+', new, head, head + added, from);
    put_change(to, ' ', new, head + added, head + added + after, 0);
}

void setup_diff(struct fumi_str name, struct fumi_str old, struct fumi_str new, FILE *to)
{
    struct fumi_arena a = {0};
    fprintf(to, "--- %.*s\n+++ %.*s\n", FUMI_ARG(old.p ? name : FUMI_STR("/dev/null")),
            FUMI_ARG(new.p ? name : FUMI_STR("/dev/null")));
    put_hunk(to, lines_of(&a, old), lines_of(&a, new));
    fumi_arena_done(&a);
}
