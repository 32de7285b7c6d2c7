/* The ledger: operations that were begun, and those that were acknowledged. */
#include "crash.h"

#include "base/arena.h"

#include <stdio.h>

static const char *const kinds[CRASH_KINDS] = {"note", "global", "group"};

int crash_line(char *out, size_t size, char mark, struct crash_thing t)
{
    return snprintf(out, size, "%c %s %u %u %u\n", mark, kinds[t.kind], t.writer, t.number,
                    t.state);
}

static void *widen(void *old, size_t had, size_t has, size_t each)
{
    char *p = fumi_resize(old, has * each);
    memset(p + had * each, 0, (has - had) * each);
    return p;
}

static struct crash_row *row_of(struct ledger *l, struct crash_thing t)
{
    if (t.writer >= l->writers) {
        size_t n = t.writer + 16;
        for (size_t i = 0; i < CRASH_KINDS; i++)
            l->rows[i] = widen(l->rows[i], l->writers, n, sizeof(struct crash_rows));
        l->writers = n;
    }
    struct crash_rows *r = &l->rows[t.kind][t.writer];
    if (t.number >= r->n) {
        size_t n = (t.number + 1) * 2;
        r->items = widen(r->items, r->n, n, sizeof(struct crash_row));
        r->n = n;
    }
    return &r->items[t.number];
}

void ledger_set(struct ledger *l, char mark, struct crash_thing t)
{
    struct crash_row *r = row_of(l, t);
    r->begun = t.state;
    r->open = mark == 'B';
    if (mark != 'D')
        return;
    r->done = t.state;
    l->acknowledged++;
}

bool ledger_line(struct ledger *l, struct fumi_str line)
{
    char text[64] = "", mark, kind[8];
    struct crash_thing t = {0};
    if (line.n >= sizeof(text))
        return false;
    memcpy(text, line.p, line.n);
    if (sscanf(text, "%c %7s %u %u %u", &mark, kind, &t.writer, &t.number, &t.state) != 5 ||
        (mark != 'B' && mark != 'D'))
        return false;
    while (strcmp(kinds[t.kind], kind) != 0)
        if (++t.kind == CRASH_KINDS)
            return false;
    ledger_set(l, mark, t);
    return true;
}

void ledger_lines(struct ledger *l, struct fumi_buf *from)
{
    if (!from->n)
        return;
    char *p = from->p, *end = from->p + from->n, *stop;
    while (p < end && (stop = memchr(p, '\n', (size_t)(end - p)))) {
        ledger_line(l, (struct fumi_str){p, (size_t)(stop - p)});
        p = stop + 1;
    }
    from->n = (size_t)(end - p);
    if (from->n)
        memmove(from->p, p, from->n);
}

static void *copied(const void *from, size_t n)
{
    void *to = n ? fumi_resize(NULL, n) : NULL;
    return to ? memcpy(to, from, n) : NULL;
}

void ledger_copy(struct ledger *to, const struct ledger *from)
{
    *to = *from;
    for (size_t k = 0; k < CRASH_KINDS; k++) {
        to->rows[k] = copied(from->rows[k], from->writers * sizeof(struct crash_rows));
        for (size_t w = 0; w < from->writers; w++) {
            struct crash_rows *r = &to->rows[k][w];
            r->items = copied(r->items, r->n * sizeof(struct crash_row));
        }
    }
}

void ledger_done(struct ledger *l)
{
    for (size_t k = 0; k < CRASH_KINDS; k++) {
        for (size_t w = 0; w < l->writers; w++)
            fumi_resize(l->rows[k][w].items, 0);
        fumi_resize(l->rows[k], 0);
    }
    *l = (struct ledger){0};
}
