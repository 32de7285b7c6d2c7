#include "mixed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLES = 4096, BATCHES = 256, SEED = 20260316 };

enum spacing {
    COMPACT,
    AFTER,
    ANYWHERE
}; /* AFTER: a space after ":" and ",", as Python's json.dumps writes */

struct mixed_writer {
    uint64_t state;
    enum spacing spacing;
    char *p;
    size_t n, cap;
};

static uint32_t roll(struct mixed_writer *w, uint32_t below)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->state >> 33) % below);
}

static void put(struct mixed_writer *w, const char *p, size_t n)
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

static void text(struct mixed_writer *w, const char *s)
{
    put(w, s, strlen(s));
}

static void number(struct mixed_writer *w, int decimals, double d)
{
    char digits[48];
    put(w, digits, (size_t)snprintf(digits, sizeof(digits), "%.*f", decimals, d));
}

/* Writes a structural character, with the white space of this message around it. */
static void mark(struct mixed_writer *w, char c)
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

static void key(struct mixed_writer *w, const char *name)
{
    text(w, "\"");
    text(w, name);
    text(w, "\"");
    mark(w, ':');
}

/* Random words; some contain a quote, a newline or a letter outside ASCII. */
static void prose(struct mixed_writer *w, uint32_t words)
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

static void real(struct mixed_writer *w)
{
    static const int decimals[] = {0, 0, 0, 0, 1, 2, 2, 3};
    double d = (double)roll(w, 1u << roll(w, 20)) / 4;
    number(w, decimals[roll(w, 8)], roll(w, 8) ? d : -d);
}

static void uuid(struct mixed_writer *w)
{
    char s[40];
    snprintf(s, sizeof(s), "\"%08x-%04x-4%03x-a%03x-%06x%06x\"", roll(w, 1u << 31), roll(w, 65536),
             roll(w, 4096), roll(w, 4096), roll(w, 1 << 24), roll(w, 1 << 24));
    text(w, s);
}

/* Writes a value of one kind. Lower-case letters are the fields of notes and searches. */
static void value(struct mixed_writer *w, char kind);

/* A member of params: its key, and the kind of its value. */
struct field {
    const char *key;
    char value;
};

static void member(struct mixed_writer *w, struct field f)
{
    key(w, f.key);
    value(w, f.value);
}

/* Writes the members, mostly in their usual order. Those after `required` are left out half of
 * the time. */
static void object(struct mixed_writer *w, const struct field *fields, size_t required)
{
    struct field left[8];
    size_t n = 0;
    for (size_t i = 0; fields[i].key; i++)
        if (i < required || roll(w, 2))
            left[n++] = fields[i];
    mark(w, '{');
    for (bool first = true; n; first = false) {
        size_t at = roll(w, 3) ? 0 : roll(w, (uint32_t)n);
        if (!first)
            mark(w, ',');
        member(w, left[at]);
        n--;
        memmove(left + at, left + at + 1, (n - at) * sizeof(*left));
    }
    mark(w, '}');
}

static void array(struct mixed_writer *w, uint32_t n, char kind)
{
    mark(w, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            mark(w, ',');
        value(w, kind);
    }
    mark(w, ']');
}

/* The possible words of a value. */
static const struct {
    char kind;
    unsigned char n;
    const char *words[4];
} choices[] = {
    {'b', 2, {"false", "true"}},
    {'m', 3, {"\"words\"", "\"vectors\"", "\"both\""}},
    {'p', 4, {"\"demo\"", "\"field-notes\"", "\"a\"", "\"https://example.org/river.git\""}},
};

static void value(struct mixed_writer *w, char kind)
{
    static const struct field metadata[] = {{"count", 'n'}, {"sure", 'b'}, {0}};
    switch (kind) {
    case 'n':
        real(w);
        break;
    case 'l': /* a limit */
        number(w, 0, 1 + roll(w, 3));
        break;
    case 's': /* a score */
        number(w, 2, roll(w, 100) / 1e2);
        break;
    case 'u':
        uuid(w);
        break;
    case 'w':
        prose(w, 1);
        break;
    case 'q': /* a title or a query */
        prose(w, 1 + roll(w, 12));
        break;
    case 't': /* the text of a note: mostly short */
        prose(w, roll(w, 6) ? 5 + roll(w, 30) : 50 + roll(w, 150));
        break;
    case 'g': /* tags */
        array(w, roll(w, 5), 'w');
        break;
    case 'd':
        object(w, metadata, 2);
        break;
    default:
        for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++)
            if (choices[i].kind == kind)
                text(w, choices[i].words[roll(w, choices[i].n)]);
    }
}

/* The kinds of requests, with their frequency. Faulty ones are rare, as in real traffic. Params
 * are an object of fields, an array of numbers, or absent. */
static const struct request_kind {
    const char *method;
    uint32_t weight;
    bool notification, fails;
    uint32_t least, most; /* length of the array */
    size_t required;
    struct field fields[7];
} kinds[] = {
    {"subtract", 3, .least = 2, .most = 2},
    {"subtract", 3, .required = 2, .fields = {{"minuend", 'n'}, {"subtrahend", 'n'}}},
    {"sum", 3, .least = 1, .most = 12},
    {"echo", 3, .required = 1,
     .fields = {{"nested", 'd'}, {"title", 'q'}, {"tags", 'g'}, {"more", 'd'}, {"mode", 'm'}}},
    {"notes.add", 4, .required = 3,
     .fields =
         {{"projectId", 'p'}, {"title", 'q'}, {"text", 't'}, {"tags", 'g'}, {"metadata", 'd'}}},
    {"notes.get", 4, .required = 2, .fields = {{"projectId", 'p'}, {"id", 'u'}, {"withText", 'b'}}},
    {"notes.search", 4, .required = 2,
     .fields = {{"projectId", 'p'},
                {"query", 'q'},
                {"limit", 'l'},
                {"minScore", 's'},
                {"tags", 'g'},
                {"mode", 'm'}}},
    {"ping", .weight = 2},
    {"changed", 2, true, .required = 2,
     .fields = {{"projectId", 'p'}, {"id", 'u'}, {"withText", 'b'}}},
    /* errors -32602 and -32601 */
    {"notes.search", 1, .fails = true, .required = 1,
     .fields = {{"projectId", 'p'}, {"limit", 'l'}, {"tags", 'g'}}},
    {"notes.find", 1, .fails = true, .required = 2, .fields = {{"projectId", 'p'}, {"query", 'q'}}},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct request_kind *draw(struct mixed_writer *w)
{
    uint32_t sum = 0, at;
    for (size_t i = 0; i < KINDS; i++)
        sum += kinds[i].weight;
    at = roll(w, sum);
    for (const struct request_kind *k = kinds;; k++) {
        if (at < k->weight)
            return k;
        at -= k->weight;
    }
}

static void put_id(struct mixed_writer *w, struct mixed_message *m)
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

static void put_word(struct mixed_writer *w, const char *name, const char *word)
{
    key(w, name);
    text(w, "\"");
    text(w, word);
    text(w, "\"");
}

static void put_params(struct mixed_writer *w, const struct request_kind *k)
{
    key(w, "params");
    if (k->most)
        array(w, k->least + roll(w, k->most - k->least + 1), 'n');
    else
        object(w, k->fields, k->required);
}

/* The key orders of common clients, by first letters. */
static const char *const orders[] = {"jmpi", "jimp", "jmip", "mpij", "ijmp", "mpji"};

static void put_call(struct mixed_writer *w, struct mixed_message *m, const struct request_kind *k)
{
    bool params = k->most || k->fields[0].key;
    text(w, "{");
    for (const char *part = orders[roll(w, 6)], *first = part; *part; part++) {
        if ((*part == 'p' && !params) || (*part == 'i' && k->notification)) {
            first += part == first;
            continue;
        }
        if (part != first)
            mark(w, ',');
        if (*part == 'j')
            put_word(w, "jsonrpc", "2.0");
        else if (*part == 'm')
            put_word(w, "method", k->method);
        else if (*part == 'p')
            put_params(w, k);
        else
            put_id(w, m);
    }
    text(w, "}");
    m->calls++;
    m->results += !k->notification && !k->fails;
    m->errors += k->fails;
}

static void put_batch(struct mixed_writer *w, struct mixed_message *m, uint32_t calls)
{
    put_call(w, m, &kinds[0]); /* so that the batch has an answer */
    for (uint32_t i = 1; i < calls; i++) {
        mark(w, ',');
        put_call(w, m, draw(w));
    }
    m->id_n = 0;
}

static struct mixed_message make_one(uint64_t *state, size_t batch)
{
    static const enum spacing spacings[] = {COMPACT, COMPACT, COMPACT, AFTER, AFTER, ANYWHERE};
    struct mixed_message m = {0};
    struct mixed_writer w = {.state = *state};
    w.spacing = spacings[roll(&w, 6)];
    if (batch > 1) {
        text(&w, "[");
        put_batch(&w, &m, (uint32_t)batch / 2 + roll(&w, (uint32_t)batch + 1));
        text(&w, "]");
    } else {
        const struct request_kind *k = draw(&w);
        put_call(&w, &m, k);
        text(&w, k->notification ? " " : "");
    }
    *state = w.state;
    m.text = realloc(w.p,
                     w.n); /* exactly n bytes, so that memory checkers report a read past the end */
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
