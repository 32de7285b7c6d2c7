#include "talk.h"

#include <stdio.h>
#include <stdlib.h>

const char *const mode_names[MODES] = {
    [DIRECT] = "direct", [STDIO] = "stdio",       [BURST] = "burst",         [UNIX] = "unix",
    [HTTP] = "http",     [HTTPUNIX] = "httpunix", [WEBSOCKET] = "websocket",
};

struct reader {
    struct talk *talk;
    struct fumi_str title;
    struct step **steps; /* where the next message is appended */
    struct want **wants;
    int line;
};

static int complain(const struct reader *r, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", r->talk->path, r->line, what);
    return -1;
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, c | 32);
    return at ? (int)(at - digits) : -1;
}

/* Writes the value of the escape at the start of `s`. Returns its length, or 0 if it is no escape.
 */
static size_t unfold(struct fumi_buf *out, struct fumi_str s)
{
    if (s.n >= 4 && s.p[1] == 'x' && hex(s.p[2]) >= 0 && hex(s.p[3]) >= 0) {
        fumi_buf_put(out, (char)(hex(s.p[2]) * 16 + hex(s.p[3])));
        return 4;
    }
    const char *close = s.n > 1 && s.p[1] == '(' ? memchr(s.p, ')', s.n) : NULL;
    const char *star = close ? memchr(s.p, '*', (size_t)(close - s.p)) : NULL;
    if (!star)
        return 0;
    for (long i = strtol(s.p + 2, NULL, 10); i > 0; i--)
        fumi_buf_add(out, star + 1, (size_t)(close - star - 1));
    return (size_t)(close - s.p) + 1;
}

static struct fumi_str unfold_all(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_buf out = {0};
    for (size_t i = 0, n; i < s.n; i += n) {
        n = s.p[i] == '\\' ? unfold(&out, (struct fumi_str){s.p + i, s.n - i}) : 0;
        if (n == 0) {
            fumi_buf_put(&out, s.p[i]);
            n = 1;
        }
    }
    struct fumi_str whole = fumi_dup(a, fumi_buf_str(&out));
    fumi_buf_done(&out);
    return whole;
}

static int on_title(struct reader *r, struct fumi_str rest)
{
    r->title = rest;
    return 0;
}

static unsigned mode_bit(struct fumi_str name)
{
    for (unsigned i = 0; i < MODES; i++)
        if (fumi_eq(name, fumi_str(mode_names[i])))
            return 1u << i;
    return 0;
}

static int on_modes(struct reader *r, struct fumi_str rest)
{
    if (r->line != 1)
        return complain(r, "#! must be the first line");
    r->talk->modes = 0;
    for (size_t n; rest.n > 0; rest = (struct fumi_str){rest.p + n, rest.n - n}) {
        const char *space = memchr(rest.p, ' ', rest.n);
        struct fumi_str name = {rest.p, space ? (size_t)(space - rest.p) : rest.n};
        if (!mode_bit(name))
            return complain(r, "#! must be followed by names of modes");
        r->talk->modes |= mode_bit(name);
        n = name.n + (space != NULL);
    }
    return 0;
}

static int on_message(struct reader *r, struct fumi_str rest)
{
    struct step *step = fumi_alloc(&r->talk->arena, sizeof(*step));
    *step = (struct step){.title = r->title, .message = rest, .line = r->line};
    *r->steps = step;
    r->steps = &step->next;
    r->wants = &step->wants;
    r->talk->n++;
    return 0;
}

static int on_folded(struct reader *r, struct fumi_str rest)
{
    return on_message(r, unfold_all(&r->talk->arena, rest));
}

static int add_want(struct reader *r, struct fumi_str rest, bool exact)
{
    struct fumi_err e = {0};
    if (!r->wants)
        return complain(r, "an answer needs a message before it");
    if (!exact && !fumi_parse(&r->talk->arena, rest, &e))
        return complain(r, e.text);
    struct want *want = fumi_alloc(&r->talk->arena, sizeof(*want));
    *want = (struct want){.text = rest, .line = r->line, .exact = exact};
    *r->wants = want;
    r->wants = &want->next;
    return 0;
}

static int on_answer(struct reader *r, struct fumi_str rest)
{
    return add_want(r, rest, false);
}

static int on_exact(struct reader *r, struct fumi_str rest)
{
    return add_want(r, rest, true);
}

/* For searches that wait for vectors. */
static int on_repeated(struct reader *r, struct fumi_str rest)
{
    enum { TIMES = 50 };
    for (int i = 0; i < TIMES; i++)
        if (on_message(r, rest) || on_answer(r, FUMI_STR("{\"result\":\"*\",\"...\":0}")))
            return -1;
    r->wants = NULL;
    return 0;
}

/* If one mark is a prefix of another, the longer one comes first. */
static const struct {
    struct fumi_str mark;
    int (*on)(struct reader *r, struct fumi_str rest);
} marks[] = {
    {{"#!", 2}, on_modes},     {{"#", 1}, on_title},    {{"-->", 3}, on_message},
    {{"~~>", 3}, on_folded},   {{"<--", 3}, on_answer}, {{"<==", 3}, on_exact},
    {{"**>", 3}, on_repeated},
};

static int read_line(struct reader *r, struct fumi_str line)
{
    if (line.n == 0)
        return 0;
    for (size_t i = 0; i < FUMI_COUNT(marks); i++) {
        if (!fumi_starts(line, marks[i].mark))
            continue;
        size_t skip = marks[i].mark.n;
        skip += line.n > skip && line.p[skip] == ' ';
        return marks[i].on(r, (struct fumi_str){line.p + skip, line.n - skip});
    }
    return complain(r, "a line must begin with #, -->, ~~>, **>, <-- or <==");
}

static int read_file(struct fumi_buf *into, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 1;
    while (f && n > 0) {
        n = fread(fumi_buf_reserve(into, 65536), 1, 65536, f);
        into->n += n;
    }
    if (!f || ferror(f)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        into->n = 0;
    }
    if (f)
        fclose(f);
    return into->n > 0 ? 0 : -1;
}

int talk_read(struct talk *t)
{
    struct reader r = {.talk = t, .steps = &t->steps};
    t->modes = (1u << MODES) - 1;
    if (read_file(&t->source, t->path))
        return -1;
    const char *p = t->source.p, *end = p + t->source.n;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        r.line++;
        if (read_line(&r, (struct fumi_str){p, (size_t)(stop - p)}))
            return -1;
        p = stop + 1;
    }
    return t->n > 0 ? 0 : complain(&r, "there is no message in it");
}

void talk_done(struct talk *t)
{
    fumi_buf_done(&t->source);
    fumi_arena_done(&t->arena);
}

void talk_remember(struct talk *t, struct fumi_str name, struct fumi_str value)
{
    struct named *n = fumi_alloc(&t->arena, sizeof(*n));
    *n = (struct named){fumi_dup(&t->arena, name), fumi_dup(&t->arena, value), t->named};
    t->named = n; /* before an older value of the same name */
}

struct fumi_str talk_recall(const struct talk *t, struct fumi_str name)
{
    for (const struct named *n = t->named; n; n = n->next)
        if (fumi_eq(n->name, name))
            return n->value;
    return (struct fumi_str){0};
}

struct fumi_str talk_message(struct talk *t, const struct step *step)
{
    struct fumi_str m = step->message;
    struct fumi_buf out = {0};
    for (size_t i = 0, n; i < m.n; i += n) {
        const char *end = m.n - i > 2 && memcmp(m.p + i, "\"$", 2) == 0
                              ? memchr(m.p + i + 1, '"', m.n - i - 1)
                              : NULL;
        struct fumi_str name = {m.p + i + 1, end ? (size_t)(end - m.p) - i - 1 : 0};
        struct fumi_str value = end ? talk_recall(t, name) : (struct fumi_str){0};
        n = value.p ? name.n + 2 : 1;
        fumi_buf_add(&out, value.p ? value.p : m.p + i, value.p ? value.n : 1);
    }
    m = fumi_dup(&t->arena, fumi_buf_str(&out));
    fumi_buf_done(&out);
    return m;
}
