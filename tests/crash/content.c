/* The data that the drivers write. All of it is derived from writer, number and state, so that a
 * check can generate it again and compare every byte. */
#include "crash.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>

enum { LONG_TEXT = 9000, PARTS = 5 };

uint64_t crash_mix(uint64_t seed)
{
    seed += 0x9E3779B97F4A7C15u;
    seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9u;
    seed = (seed ^ seed >> 27) * 0x94D049BB133111EBu;
    return seed ^ seed >> 31;
}

static uint64_t seed_of(struct crash_thing t, unsigned more)
{
    uint64_t s = crash_mix(t.writer);
    s = crash_mix(s ^ t.number);
    s = crash_mix(s ^ t.state);
    return crash_mix(s ^ more);
}

struct fumi_str crash_id(struct fumi_arena *a, struct crash_thing t)
{
    return fumi_fmt(a, "%08x-%04x-4000-8000-%012x", t.writer, (unsigned)t.kind, t.number);
}

bool crash_id_read(struct fumi_str id, struct crash_thing *out)
{
    char text[40];
    unsigned kind;
    if (id.n != 36)
        return false;
    memcpy(text, id.p, 36);
    text[36] = 0;
    return sscanf(text, "%8x-%4x-4000-8000-%12x", &out->writer, &kind, &out->number) == 3 &&
           kind == (unsigned)out->kind;
}

struct fumi_str crash_word(struct fumi_arena *a, struct crash_thing t)
{
    char w[16];
    size_t n = 0;
    const struct {
        unsigned value, letters;
    } parts[] = {{t.writer, 3}, {t.number, 4}, {t.state, 3}};
    w[n++] = 'z';
    w[n++] = 'q';
    for (size_t i = 0; i < FUMI_COUNT(parts); i++)
        for (unsigned k = 0, v = parts[i].value; k < parts[i].letters; k++, v /= 26)
            w[n++] = (char)('a' + v % 26);
    w[n++] = 'k';
    return fumi_dup(a, (struct fumi_str){w, n});
}

/* One of a few hundred words of two to four syllables. */
static void add_filler(struct fumi_buf *b, uint64_t random)
{
    static const char syllables[] = "kotamirenusahofukeyo";
    for (unsigned i = 0; i < 2 + random % 3; i++)
        fumi_buf_add(b, syllables + (random >> (8 + 4 * i)) % 10 * 2, 2);
    fumi_buf_put(b, ' ');
}

/* Usually some hundred bytes; one text in 16 takes several pages of the file. */
struct fumi_str crash_text(struct fumi_arena *a, struct crash_thing t)
{
    struct fumi_buf b = {0};
    uint64_t r = seed_of(t, 1);
    size_t size = r % 16 == 0 ? LONG_TEXT + r / 16 % 4096 : 60 + r / 16 % 500;
    struct fumi_str head = fumi_fmt(a, "Note %u of writer %u, state %u: %.*s. ", t.number, t.writer,
                                    t.state, FUMI_ARG(crash_word(a, t)));
    fumi_buf_add(&b, head.p, head.n);
    while (b.n < size)
        add_filler(&b, r = crash_mix(r));
    struct fumi_str text = fumi_dup(a, fumi_buf_str(&b));
    fumi_buf_done(&b);
    return text;
}

unsigned crash_state_of(struct fumi_str text)
{
    char head[80] = "";
    unsigned number, writer, state = 0;
    memcpy(head, text.p ? text.p : "", text.n < 79 ? text.n : 79);
    return sscanf(head, "Note %u of writer %u, state %u:", &number, &writer, &state) == 3 ? state
                                                                                          : 0;
}

void crash_vector(struct crash_thing t, unsigned passage, float out[CRASH_DIM])
{
    double length = 0, x[CRASH_DIM];
    for (unsigned i = 0; i < CRASH_DIM; i++) {
        x[i] = (double)(seed_of(t, 100 + passage * 32 + i) >> 11) / 4503599627370496.0 - 1;
        length += x[i] * x[i];
    }
    for (unsigned i = 0; i < CRASH_DIM; i++)
        out[i] = (float)(x[i] / sqrt(length));
}

static void add_passage(struct fumi_arena *a, struct crash_thing t, struct vectors *v,
                        struct passage span)
{
    float *x = fumi_alloc(a, CRASH_DIM * sizeof(float));
    crash_vector(t, (unsigned)v->n, x);
    span.x = x;
    v->items[v->n++] = span;
}

static struct vectors vectors_of(struct fumi_arena *a, struct crash_thing t, size_t text)
{
    struct vectors v = {CRASH_SPACE, CRASH_DIM, fumi_alloc(a, 2 * sizeof(struct passage)), 0};
    uint32_t end = (uint32_t)text, middle = t.number % 5 ? end : end / 2;
    add_passage(a, t, &v, (struct passage){0, middle, NULL});
    if (middle < end)
        add_passage(a, t, &v, (struct passage){middle, end, NULL});
    return v;
}

void crash_note(struct fumi_arena *a, struct crash_thing t, struct note *n, struct vectors *v)
{
    size_t tags = t.number % 4;
    *n = (struct note){.id = crash_id(a, t), .project = CRASH_PROJECT};
    n->group = fumi_fmt(a, "g%u", t.number % 3);
    n->text = crash_text(a, t);
    n->created = (struct fumi_time){1700000000000 + t.number, true};
    n->tags = (struct fumi_strs){fumi_alloc(a, (tags + 1) * sizeof(struct fumi_str)), tags};
    for (size_t i = 0; i < tags; i++)
        n->tags.items[i] = fumi_fmt(a, "tag%zu", i);
    if (t.number % 3)
        n->title = fumi_fmt(a, "Title %u", t.number);
    if (t.number % 2)
        n->metadata.text = fumi_fmt(a, "{\"n\":%u}", t.number);
    *v = vectors_of(a, t, n->text.n);
}

void crash_group(struct fumi_arena *a, struct crash_thing t, struct group *g)
{
    *g = (struct group){.id = crash_id(a, t), .project = CRASH_PROJECT, .created = 1, .updated = 1};
    g->key = fumi_fmt(a, "k%u-%u", t.writer, t.number);
    g->title = fumi_fmt(a, "Group in state %u", t.state);
    g->description = crash_text(a, t);
}

void crash_global(struct fumi_arena *a, struct crash_thing t, struct global *g)
{
    *g = (struct global){.id = crash_id(a, t), .project = CRASH_PROJECT, .updated = 1};
    g->key = fumi_fmt(a, "global.w%u.%u", t.writer, t.number);
    g->value = fumi_fmt(a, "{\"state\":%u,\"why\":\"%.*s\"}", t.state, FUMI_ARG(crash_text(a, t)));
}

static int do_note(struct store *s, struct fumi_arena *a, struct crash_thing t, struct fumi_err *e)
{
    struct note n;
    struct vectors v;
    crash_note(a, t, &n, &v);
    struct note_change how = {.vectors = &v};
    if (t.state == 0)
        return store_delete(s, a, n.id, NULL, e);
    return t.state == 1 ? store_add_note(s, a, &n, &how, e)
                        : store_update_note(s, a, n.id, &n, NOTE_TEXT, &how, e);
}

static int do_group(struct store *s, struct fumi_arena *a, struct crash_thing t, struct fumi_err *e)
{
    struct group g;
    crash_group(a, t, &g);
    if (t.state == 0)
        return store_delete_group(s, g.id, NULL, e);
    return t.state == 1 ? store_add_group(s, &g, NULL, e)
                        : store_update_group(s, g.id, g.title, g.description, 2, NULL, e);
}

static int do_global(struct store *s, struct fumi_arena *a, struct crash_thing t,
                     struct fumi_err *e)
{
    struct global g;
    crash_global(a, t, &g);
    return t.state ? store_set_global(s, a, &g, NULL, e) : store_delete(s, a, g.id, NULL, e);
}

int crash_do(struct store *s, struct crash_thing t, struct fumi_err *e)
{
    static int (*const kinds[])(struct store *, struct fumi_arena *, struct crash_thing,
                                struct fumi_err *) = {do_note, do_global, do_group};
    struct fumi_arena a = {0};
    int rc = kinds[t.kind](s, &a, t, e);
    fumi_arena_done(&a);
    return rc;
}

/* Every step adds a note; every few steps an existing object is changed or deleted. */
bool crash_plan(unsigned writer, unsigned step, unsigned part, bool mixed, struct crash_thing *out)
{
    const struct {
        bool now;
        struct crash_thing thing;
    } parts[PARTS] = {
        {true, {CRASH_NOTE, writer, step, 1}},
        {step % 3 == 2, {CRASH_NOTE, writer, step - 1, 2}},
        {step % 7 == 6, {CRASH_NOTE, writer, step - 4, 0}},
        {step % 4 == 1, {CRASH_GLOBAL, writer, step / 4 % 3, step % 24 == 21 ? 0 : step}},
        {step % 6 >= 3 && step % 12 != 11, {CRASH_GROUP, writer, step / 6, (step % 6 - 2) % 3}},
    };
    unsigned seen = 0;
    for (unsigned i = 0; i < (mixed ? PARTS : 1); i++)
        if (parts[i].now && seen++ == part) {
            *out = parts[i].thing;
            return true;
        }
    return false;
}
