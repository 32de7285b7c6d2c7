#include "mixed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLES = 4096, BATCHES = 256, SEED = 20260316 };

enum spacing { COMPACT, AFTER, ANYWHERE }; /* AFTER: as Python's json.dumps writes it */

struct writer {
    uint64_t state;
    enum spacing spacing;
    char *p;
    size_t n, cap;
};

static uint32_t roll(struct writer *w, uint32_t below)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->state >> 33) % below);
}

static void put(struct writer *w, const char *p, size_t n)
{
    if (n > w->cap - w->n) {
        w->cap = 2 * w->cap + n;
        w->p = realloc(w->p, w->cap);
        if (!w->p)
            abort();
    }
    memcpy(w->p + w->n, p, n);
    w->n += n;
}

static void text(struct writer *w, const char *s)
{
    put(w, s, strlen(s));
}

static void number(struct writer *w, int decimals, double d)
{
    char digits[48];
    put(w, digits, (size_t)snprintf(digits, sizeof(digits), "%.*f", decimals, d));
}

/* A character of the structure, with the white space of this message around it. */
static void mark(struct writer *w, char c)
{
    static const char blanks[][3] = {"", " ", "\t", "  ", ""};
    if (w->spacing == ANYWHERE)
        text(w, blanks[roll(w, 5)]);
    put(w, &c, 1);
    if (w->spacing == ANYWHERE)
        text(w, blanks[roll(w, 5)]);
    if (w->spacing == AFTER && (c == ',' || c == ':'))
        text(w, " ");
}

static void key(struct writer *w, const char *name)
{
    text(w, "\"");
    text(w, name);
    text(w, "\"");
    mark(w, ':');
}

/* Words with a quote, a newline, a letter outside ASCII now and then. */
static void prose(struct writer *w, uint32_t words)
{
    static const char *const usual[] = {
        "river", "the",  "bird",  "a",      "of",   "morning",     "and",  "water",
        "in",    "mill", "quiet", "stands", "over", "kingfishers", "cold", "notes",
    };
    static const char *const rare[] = {"caf\xc3\xa9", "\\\"here\\\"", "\\n", "\xe5\xb7\x9d",
                                       "\\u00e9t\\u00e9"};
    text(w, "\"");
    for (uint32_t i = 0; i < words; i++) {
        text(w, i ? " " : "");
        text(w, roll(w, 24) ? usual[roll(w, 16)] : rare[roll(w, 5)]);
    }
    text(w, "\"");
}

static void real(struct writer *w)
{
    static const int decimals[] = {0, 0, 0, 0, 1, 2, 2, 3};
    double d = (double)roll(w, 1u << roll(w, 20)) / 4;
    number(w, decimals[roll(w, 8)], roll(w, 8) ? d : -d);
}

static void uuid(struct writer *w)
{
    char s[40];
    snprintf(s, sizeof(s), "\"%08x-%04x-4%03x-a%03x-%06x%06x\"", roll(w, 1u << 31), roll(w, 65536),
             roll(w, 4096), roll(w, 4096), roll(w, 1 << 24), roll(w, 1 << 24));
    text(w, s);
}

/* One member of an object. */
typedef void member(struct writer *w);

/* The members in any order; each of those behind `required` is left out half of the time. */
static void object(struct writer *w, member *const *members, size_t n, size_t required)
{
    size_t order[8], left = 0;
    for (size_t i = 0; i < n; i++)
        if (i < required || roll(w, 2))
            order[left++] = i;
    mark(w, '{');
    for (bool first = true; left; first = false) {
        size_t at = roll(w, 3) ? 0 : roll(w, (uint32_t)left); /* mostly in the usual order */
        if (!first)
            mark(w, ',');
        members[order[at]](w);
        left--;
        memmove(order + at, order + at + 1, (left - at) * sizeof(*order));
    }
    mark(w, '}');
}

static void minuend(struct writer *w)
{
    key(w, "minuend");
    real(w);
}

static void subtrahend(struct writer *w)
{
    key(w, "subtrahend");
    real(w);
}

static void project(struct writer *w)
{
    static const char *const names[] = {"\"demo\"", "\"field-notes\"", "\"a\"",
                                        "\"https://example.org/river.git\""};
    key(w, "projectId");
    text(w, names[roll(w, 4)]);
}

static void note_id(struct writer *w)
{
    key(w, "id");
    uuid(w);
}

static void title(struct writer *w)
{
    key(w, "title");
    prose(w, 2 + roll(w, 8));
}

static void note_text(struct writer *w)
{
    key(w, "text");
    prose(w, roll(w, 6) ? 5 + roll(w, 30) : 50 + roll(w, 150));
}

static void tags(struct writer *w)
{
    key(w, "tags");
    mark(w, '[');
    for (uint32_t n = roll(w, 5), i = 0; i < n; i++) {
        if (i)
            mark(w, ',');
        prose(w, 1);
    }
    mark(w, ']');
}

static void metadata(struct writer *w)
{
    key(w, "metadata");
    mark(w, '{');
    key(w, "count");
    real(w);
    mark(w, ',');
    key(w, "sure");
    text(w, roll(w, 2) ? "true" : "false");
    mark(w, '}');
}

static void query(struct writer *w)
{
    key(w, "query");
    prose(w, 1 + roll(w, 12));
}

static void limit(struct writer *w)
{
    key(w, "limit");
    number(w, 0, 1 + roll(w, 3));
}

static void min_score(struct writer *w)
{
    key(w, "minScore");
    number(w, 2, roll(w, 100) / 1e2);
}

static void with_text(struct writer *w)
{
    key(w, "withText");
    text(w, roll(w, 2) ? "true" : "false");
}

static void mode(struct writer *w)
{
    static const char *const modes[] = {"\"words\"", "\"vectors\"", "\"both\""};
    key(w, "mode");
    text(w, modes[roll(w, 3)]);
}

static void nested(struct writer *w)
{
    key(w, "nested");
    mark(w, '[');
    text(w, "null");
    mark(w, ',');
    mark(w, '{');
    tags(w);
    mark(w, '}');
    mark(w, ']');
}

#define OBJECT(w, required, ...)                                                                   \
    object(w, (member *const[]){__VA_ARGS__},                                                      \
           sizeof((member *const[]){__VA_ARGS__}) / sizeof(member *), required)

static void two_numbers(struct writer *w)
{
    mark(w, '[');
    real(w);
    mark(w, ',');
    real(w);
    mark(w, ']');
}

static void named_numbers(struct writer *w)
{
    OBJECT(w, 2, minuend, subtrahend);
}

static void many_numbers(struct writer *w)
{
    mark(w, '[');
    for (uint32_t n = 1 + roll(w, 12), i = 0; i < n; i++) {
        if (i)
            mark(w, ',');
        real(w);
    }
    mark(w, ']');
}

static void anything(struct writer *w)
{
    OBJECT(w, 1, nested, title, tags, metadata, mode);
}

static void new_note(struct writer *w)
{
    OBJECT(w, 3, project, title, note_text, tags, metadata);
}

static void known_note(struct writer *w)
{
    OBJECT(w, 2, project, note_id, with_text);
}

static void question(struct writer *w)
{
    OBJECT(w, 2, project, query, limit, min_score, tags, mode);
}

static void no_question(struct writer *w)
{
    OBJECT(w, 1, project, limit, tags);
}

static void settings(struct writer *w)
{
    OBJECT(w, 0, with_text, limit, min_score, mode, tags);
}

/* What can be asked. Real clients rarely ask for what is not there. */
static const struct kind {
    const char *method;
    member *params; /* NULL: none */
    uint32_t weight;
    bool notification, fails;
} kinds[] = {
    {"subtract", two_numbers, 3, false, false},
    {"subtract", named_numbers, 3, false, false},
    {"sum", many_numbers, 3, false, false},
    {"echo", anything, 3, false, false},
    {"notes.add", new_note, 4, false, false},
    {"notes.get", known_note, 4, false, false},
    {"notes.search", question, 4, false, false},
    {"config.set", settings, 2, false, false},
    {"ping", NULL, 2, false, false},
    {"changed", known_note, 2, true, false},
    {"notes.search", no_question, 1, false, true}, /* -32602 */
    {"notes.find", question, 1, false, true},      /* -32601 */
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct kind *draw(struct writer *w)
{
    uint32_t sum = 0, at;
    for (size_t i = 0; i < KINDS; i++)
        sum += kinds[i].weight;
    at = roll(w, sum);
    for (const struct kind *k = kinds;; k++) {
        if (at < k->weight)
            return k;
        at -= k->weight;
    }
}

static void put_id(struct writer *w, struct message *m)
{
    key(w, "id");
    m->id = w->n;
    if (roll(w, 2)) {
        number(w, 0, roll(w, roll(w, 2) ? 100 : 1u << 31));
    } else if (roll(w, 2)) {
        text(w, "\"request-");
        number(w, 0, roll(w, 100000));
        text(w, "\"");
    } else {
        uuid(w);
    }
    m->id_n = w->n - m->id;
}

enum part { VERSION, METHOD, PARAMS, ID, PARTS };

static void put_part(struct writer *w, struct message *m, const struct kind *k, enum part part)
{
    switch (part) {
    case VERSION:
        key(w, "jsonrpc");
        text(w, "\"2.0\"");
        break;
    case METHOD:
        key(w, "method");
        text(w, "\"");
        text(w, k->method);
        text(w, "\"");
        break;
    case PARAMS:
        key(w, "params");
        k->params(w);
        break;
    case ID:
        put_id(w, m);
        break;
    case PARTS:
        break;
    }
}

/* The orders that common clients write their keys in. */
static const enum part orders[][PARTS] = {
    {VERSION, METHOD, PARAMS, ID}, {VERSION, ID, METHOD, PARAMS}, {VERSION, METHOD, ID, PARAMS},
    {METHOD, PARAMS, ID, VERSION}, {ID, VERSION, METHOD, PARAMS}, {METHOD, PARAMS, VERSION, ID},
};

static void put_call(struct writer *w, struct message *m, const struct kind *k)
{
    const enum part *order = orders[roll(w, sizeof(orders) / sizeof(*orders))];
    bool first = true;
    text(w, "{");
    for (int i = 0; i < PARTS; i++) {
        if ((order[i] == PARAMS && !k->params) || (order[i] == ID && k->notification))
            continue;
        if (!first)
            mark(w, ',');
        first = false;
        put_part(w, m, k, order[i]);
    }
    text(w, "}");
    m->calls++;
    m->results += !k->notification && !k->fails;
    m->errors += k->fails;
}

static void put_batch(struct writer *w, struct message *m, uint32_t calls)
{
    put_call(w, m, &kinds[0]); /* so that there is an answer */
    for (uint32_t i = 1; i < calls; i++) {
        mark(w, ',');
        put_call(w, m, draw(w));
    }
    m->id_n = 0;
}

static struct message make_one(uint64_t *state, size_t batch)
{
    static const enum spacing spacings[] = {COMPACT, COMPACT, COMPACT, AFTER, AFTER, ANYWHERE};
    struct message m = {0};
    struct writer w = {.state = *state};
    w.spacing = spacings[roll(&w, 6)];
    if (batch > 1) {
        text(&w, "[");
        put_batch(&w, &m, (uint32_t)batch / 2 + roll(&w, (uint32_t)batch + 1));
        text(&w, "]");
    } else {
        const struct kind *k = draw(&w);
        put_call(&w, &m, k);
        text(&w, k->notification ? " " : "");
    }
    *state = w.state;
    m.text = realloc(w.p, w.n); /* exactly n bytes, so that a checker sees any read past the end */
    m.n = w.n;
    if (!m.text)
        abort();
    return m;
}

void mixed_make(struct mixed *m, uint64_t seed, size_t batch)
{
    uint64_t state = seed;
    m->seed = seed;
    m->n = batch > 1 ? BATCHES : SINGLES;
    m->all = calloc(m->n, sizeof(*m->all));
    if (!m->all)
        abort();
    for (size_t i = 0; i < m->n; i++)
        m->all[i] = make_one(&state, batch);
}

void mixed_free(struct mixed *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->all[i].text);
    free(m->all);
}

uint64_t mixed_seed(void)
{
    const char *given = getenv("SEED");
    return given && *given ? strtoull(given, NULL, 10) : SEED;
}
