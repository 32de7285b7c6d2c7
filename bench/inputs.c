/* The documents. They are the same in every run: words and numbers come from a generator with a
 * fixed seed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { NOTE_SIZE = 1024, LARGE_SIZE = 1000000, LINE = 80, CALLS = 10000, FLOATS = 1536 };

static const char input_request[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\","
    "\"params\":{\"minuend\":42,\"subtrahend\":23},\"id\":\"request-17\"}";
_Static_assert(sizeof(input_request) - 1 == 95, "the request has 95 bytes");

static const char note_head[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"memory.add_note\",\"params\":{\"projectId\":\"demo\","
    "\"groupId\":\"birds\",\"title\":\"Kingfishers of the lower river\","
    "\"tags\":[\"birds\",\"river\",\"caf\xc3\xa9\"],\"source\":\"field book, page 12\","
    "\"createdAt\":\"2026-03-14T09:26:53Z\",\"metadata\":{\"count\":3,\"sure\":true},\"text\":\"";
static const char note_foot[] = "\"},\"id\":17}";

static const char note_text[] =
    "Seen at the old mill, a little after nine.\\nTwo adults and one young bird, \\\"the bold "
    "one\\\", which fished from the broken sluice gate.\\nThe call is a thin whistle; it carries "
    "over the weir. Caf\xc3\xa9 terrace opposite is the best place to watch, \xe2\x80\x9c"
    "from the far "
    "table\xe2\x80\x9d, says the owner.\\nWater low, about 40 cm under the mark, clear, cold.\\n";

static const char *const english[] = {
    "river",   "the",    "bird",   "a",     "of",      "morning", "and",   "water", "in",  "old",
    "mill",    "stands", "over",   "quiet", "fishing", "again",   "while", "light", "on",  "stone",
    "bridges", "we",     "walked", "to",    "north",   "under",   "trees", "wind",  "was", "cold",
    "notes",   "from",   "that",   "day",   "say",     "little",  "about", "it",    "but", "enough",
};

static const char *const japanese[] = {
    "川の",   "朝は",     "静かで、", "鳥が",     "水面を",     "渡る。", "古い",
    "水車の", "そばで、", "カワセミ", "を見た。", "橋の下に",   "光が",   "落ちて、",
    "記録は", "短いが",   "十分だ。", "ノートに", "書き残す。", "風が",   "冷たく、",
    "北へ",   "歩いた。", "もう一度", "来ようと", "思う。",
};

/* A text with a fixed capacity. */
struct input_text {
    char *p;
    size_t n, cap;
};

static struct input_text text_new(size_t cap)
{
    struct input_text t = {malloc(cap), 0, cap};
    if (!t.p)
        abort();
    return t;
}

static void add(struct input_text *t, const char *s)
{
    size_t n = strlen(s);
    if (n > t->cap - t->n)
        abort();
    memcpy(t->p + t->n, s, n);
    t->n += n;
}

static uint32_t roll(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Shrinks the text to exactly n bytes, so that memory checkers report a read past the end. */
static struct input finished(const char *name, struct input_text t)
{
    char *exact = realloc(t.p, t.n);
    if (!exact)
        abort();
    return (struct input){name, exact, t.n};
}

static struct input request(void)
{
    struct input_text t = text_new(sizeof(input_request));
    add(&t, input_request);
    return finished("95 B request", t);
}

/* Padded with full stops to NOTE_SIZE bytes. */
static struct input note(void)
{
    struct input_text t = text_new(NOTE_SIZE);
    add(&t, note_head);
    while (t.n + strlen(note_text) + strlen(note_foot) <= NOTE_SIZE)
        add(&t, note_text);
    while (t.n + strlen(note_foot) < NOTE_SIZE)
        add(&t, ".");
    add(&t, note_foot);
    return finished("1 KB note", t);
}

struct prose {
    const char *name;
    const char *const *words;
    size_t n;
    const char *between;
    const char *quoted; /* inserted occasionally */
};

static struct input large_note(const struct prose *prose)
{
    struct input_text t = text_new(LARGE_SIZE + 256);
    uint64_t state = 11;
    size_t line = t.n;
    add(&t, note_head);
    while (t.n < LARGE_SIZE) {
        uint32_t r = roll(&state);
        add(&t, r % 401 ? prose->words[r % prose->n] : prose->quoted);
        add(&t, t.n - line < LINE ? prose->between : "\\n");
        line = t.n - line < LINE ? line : t.n;
    }
    add(&t, note_foot);
    return finished(prose->name, t);
}

static struct input batch(void)
{
    struct input_text t = text_new(CALLS * 100);
    uint64_t state = 12;
    for (int i = 0; i < CALLS; i++) {
        char call[100];
        uint32_t minuend = roll(&state) % 100000, subtrahend = roll(&state) % 1000;
        snprintf(call, sizeof(call),
                 "%c{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[%u,%u],\"id\":%d}",
                 i ? ',' : '[', minuend, subtrahend, i + 1);
        add(&t, call);
    }
    add(&t, "]");
    return finished("batch of 10,000", t);
}

/* Six to nine digits each, distributed around zero, like embeddings. */
static struct input floats(void)
{
    struct input_text t = text_new(FLOATS * 24);
    uint64_t state = 13;
    for (int i = 0; i < FLOATS; i++) {
        char number[24];
        double spread = (double)roll(&state) / 0x1p31 + (double)roll(&state) / 0x1p31 - 1;
        snprintf(number, sizeof(number), "%c%.*g", i ? ',' : '[', 6 + (int)(roll(&state) % 4),
                 spread / 8);
        add(&t, number);
    }
    add(&t, "]");
    return finished("1,536 floats", t);
}

void inputs_make(struct input out[INPUTS])
{
    static const struct prose prose[] = {
        {"1 MB note", english, sizeof(english) / sizeof(*english), " ", "\\\"here\\\""},
        {"1 MB Japanese", japanese, sizeof(japanese) / sizeof(*japanese), "", "\\\"ここ\\\""},
    };
    out[INPUT_REQUEST] = request();
    out[INPUT_NOTE] = note();
    out[INPUT_LARGE_NOTE] = large_note(&prose[0]);
    out[INPUT_JAPANESE_NOTE] = large_note(&prose[1]);
    out[INPUT_BATCH] = batch();
    out[INPUT_FLOATS] = floats();
}

void inputs_free(struct input in[INPUTS])
{
    for (int i = 0; i < INPUTS; i++)
        free(in[i].text);
}
