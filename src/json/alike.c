/* Objects that are like one before. */
#include "json/parser.h"

enum { MISSES = 4 }; /* in a row; then no more are compared */

static void model_of(struct fumi_like *m, const struct fumi_val *v, const char *end, bool brief)
{
    m->v = v;
    m->n = fumi_span(v);
    m->end = end;
    m->brief = brief;
    m->holes = 0;
    m->holes_n = 0;
    m->left_out = brief ? m->n - 1 : 0;
    m->steps[0] = (struct fumi_step){.text = v->p,
                                     .n = v->n,
                                     .from = v + m->left_out + 1,
                                     .moved = (uint32_t)(m->n - m->left_out - 1),
                                     .hole = (unsigned char)m->n,
                                     .kind = FUMI_OBJECT};
}

void fumi_like_set(struct fumi_like *like, const struct fumi_val *v)
{
    like->v = NULL;
    if (fumi_is(v, FUMI_OBJECT) && fumi_span(v) <= FUMI_ALIKE_MAX)
        model_of(like, v, v->p + v->n, true);
}

static inline bool is_key(const struct fumi_val *string)
{
    return *parse_skip(string->p + string->n + 1) == ':';
}

typedef uint64_t words __attribute__((vector_size(16)));
_Static_assert(sizeof(struct fumi_val) == sizeof(words) && offsetof(struct fumi_val, n) == 8,
               "a value is two words, and the first is where it stands");

/* Copies values to where their text stands `by` bytes further on. */
static inline void move(struct fumi_val *to, const struct fumi_val *from, size_t n, uint64_t by)
{
    for (size_t i = 0; i < n; i++) {
        words w;
        memcpy(&w, &from[i], sizeof(w));
        w += (words){by, 0};
        memcpy(&to[i], &w, sizeof(w));
    }
}

static void look_around(struct fumi_like *m)
{
    for (size_t i = 1, in = 0; i < m->n; in = i++) {
        while (i >= in + fumi_span(&m->v[in]))
            in = m->around[in];
        m->around[i] = (unsigned char)in;
    }
}

/* The value of a member of the object: the one that this place in the row is in. */
static size_t member_at(const struct fumi_like *m, size_t place)
{
    while (m->around[place])
        place = m->around[place];
    return place;
}

/* The step ends at the scalar i, and another one follows. */
static void split(struct fumi_like *m, struct fumi_step *step, size_t i)
{
    const struct fumi_val *v = m->v + i;
    const char *behind = v->p + v->n + fumi_is(v, FUMI_STRING), *end = step->text + step->n;
    if (step->kind != FUMI_OBJECT)
        memmove(step + 2, step + 1, (size_t)(m->steps + m->holes_n - step) * sizeof(*step));
    step[1] = *step;
    step[1].text = behind;
    step[1].n = (uint32_t)(end - behind);
    step[1].from = v + 1;
    step[1].moved = (uint32_t)(step->hole - i - 1);
    step->n = (uint32_t)(v->p - step->text);
    step->moved = (uint32_t)(v - step->from);
    step->hole_n = v->n;
    step->hole = (unsigned char)i;
    step->kind = v->bits & 7;
    step->around = m->around[i];
}

/* The scalar of this step that has the byte at p in it or right behind it becomes another hole.
 * False: there is none, or there are too many holes. */
static __attribute__((noinline)) bool learn(struct fumi_like *m, struct fumi_step *step,
                                            const char *p)
{
    bool first = step == m->steps;
    size_t i = first ? 1 : step[-1].hole + 1u, end = step->hole;
    const struct fumi_val *v = m->v + i;
    while (i < end && (p < v->p || p > v->p + v->n || (v->bits & 7) >= FUMI_ARRAY))
        i++, v++;
    if (i == end || m->holes_n * 3 > m->n || (fumi_is(v, FUMI_STRING) && is_key(v)))
        return false;
    if (!m->holes)
        look_around(m);
    if (m->brief && first) {
        m->left_out = member_at(m, i) - 1;
        step->from = m->v + m->left_out + 1;
    }
    split(m, step, i);
    m->holes |= UINT64_C(1) << i;
    m->holes_n++;
    return true;
}

/* The end of a number, or NULL; most are a few digits. */
static inline const char *quick_number(const char *p)
{
    const char *q = parse_digits(p);
    if (FUMI_MOSTLY(q > p && *p != '0' && *q != '.' && (*q | 0x20) != 'e'))
        return q;
    return parse_number(p);
}

/* The end of a short string without escapes and all in ASCII, which most are: its quote. NULL: it
 * is another. */
static inline const char *quick_string(const char *p, const char *end)
{
    uint64_t odd = end - p >= SCAN_BLOCK ? scan_block(p).odd : 0;
    const char *q = p + (odd ? __builtin_ctzll(odd) : 0);
    return FUMI_MOSTLY(odd && *q == '"') ? q : NULL;
}

/* The scalar at p, in the hole of a step, if that takes no more than a look; returns what follows
 * it. NULL: it does. */
static inline const char *quick_hole(const struct fumi_step *step, const char *p, const char *end,
                                     struct fumi_val *to)
{
    const char *q;
    if (FUMI_MOSTLY(step->kind == FUMI_NUMBER)) {
        if (FUMI_MOSTLY(q = quick_number(p)))
            *to = (struct fumi_val){p, (uint32_t)(q - p), FUMI_NUMBER | ONE};
        return q;
    }
    if (step->kind != FUMI_STRING || !(q = quick_string(p, end)))
        return NULL;
    *to = (struct fumi_val){p, (uint32_t)(q - p), FUMI_STRING | ONE};
    return q + 1;
}

/* The same for strings and literals that take more. */
static __attribute__((noinline)) const char *
slow_hole(struct parser *s, const struct fumi_step *step, const char *p, struct fumi_val *to)
{
    if (step->kind == FUMI_NUMBER)
        return NULL;
    return step->kind == FUMI_STRING ? parse_string(s, p, to) : parse_literal(s, p, to);
}

/* The scalar in the hole of a step has n bytes: if that is not what it has in the model, the
 * containers that hold it are longer, too. `first`: the first value that is not left out. */
static inline void stretch(const struct fumi_like *m, const struct fumi_step *step, uint32_t n,
                           struct fumi_val *first)
{
    for (size_t at = n == step->hole_n ? 0 : step->around; at; at = m->around[at])
        first[at - m->left_out - 1].n += n - step->hole_n;
}

static inline bool agrees(const struct parser *s, const struct fumi_like *m, const char *text,
                          const char *p, size_t n)
{
    return FUMI_MOSTLY(scan_agree(text, p, n, (size_t)(m->end - text), (size_t)(s->end - p)));
}

/* The values that are taken over with the text of a step, which is at p; returns what follows. */
static inline struct fumi_val *take_over(const struct fumi_step *step, const char *p,
                                         struct fumi_val *to)
{
    move(to, step->from, step->moved, (uintptr_t)p - (uintptr_t)step->text);
    return to + step->moved;
}

static inline void close_object(struct fumi_val *to, const struct fumi_val *next, const char *p,
                                const char *end)
{
    *to = (struct fumi_val){p, (uint32_t)(end - p),
                            FUMI_OBJECT | FUMI_ALIKE | (uint32_t)(next - to) << FUMI_SPAN_SHIFT};
}

/* Where the text is the same, so are the values, and nothing of it needs to be read again; only
 * scalars may differ, and not many of them: the holes. */
const char *alike_whole(struct parser *s, const char *start, struct fumi_like *m,
                        struct fumi_val *to)
{
    const char *p = start;
    struct fumi_val *next = to + 1;
    for (struct fumi_step *step = m->steps;;) {
        if (FUMI_RARELY(!agrees(s, m, step->text, p, step->n))) {
            size_t n = step->n, most = (size_t)(s->end - p);
            if (!learn(m, step, step->text + scan_same(step->text, p, n < most ? n : most)))
                return NULL;
            continue; /* with the part of the step that is the same */
        }
        next = take_over(step, p, next);
        p += step->n;
        if (step->kind == FUMI_OBJECT)
            break;
        const char *behind = quick_hole(step, p, s->end, next);
        if (FUMI_RARELY(!behind) && !(behind = slow_hole(s, step, p, next)))
            return NULL;
        stretch(m, step++, next++->n, to + 1);
        p = behind;
    }
    close_object(to, next, start, p);
    return p;
}

/* The holes of an item, and what is between them: p is where the first is, and its value goes to
 * *next. Returns what follows the last one. NULL: it is not like the model, or a hole needs more
 * than a look. */
static inline __attribute__((always_inline)) const char *
fill_holes(const struct parser *s, const struct fumi_like *m, const char *p,
           const struct fumi_step *last, struct fumi_val *first, struct fumi_val **next)
{
    for (const struct fumi_step *step = m->steps;;) {
        if (!(p = quick_hole(step, p, s->end, *next)))
            return NULL;
        stretch(m, step, (*next)++->n, first);
        if (++step == last)
            return p;
        if (!agrees(s, m, step->text, p, step->n))
            return NULL;
        *next = take_over(step, p, *next);
        p += step->n;
    }
}

/* Many items, with the same text between them as between the model and the `second`: the end of
 * one, what separates it from the next and the beginning of that are compared at once. The first of
 * them is at `start`, and its values go to *next. Returns where the one is that takes more than
 * that, and its values go to *next. This calls nobody, so that what it knows stays in registers. */
static __attribute__((noinline)) const char *fill_many(const struct parser *s, const char *start,
                                                       const struct fumi_like *m,
                                                       const char *second, struct fumi_val **next)
{
    const struct fumi_step *first = m->steps, *last = first + m->holes_n;
    size_t gap = (size_t)(second - (m->v->p + m->v->n)), all = last->n + gap + first->n;
    struct fumi_val *to = *next;
    if (first == last || all < SCAN_BLOCK || !agrees(s, m, first->text, start, first->n))
        return start;
    while ((ptrdiff_t)m->n < s->full - to) {
        struct fumi_val *v = take_over(first, start, to + 1);
        const char *p = fill_holes(s, m, start + first->n, last, to + 1, &v);
        if (!p || (size_t)(s->end - p) < all || !scan_equal_blocks(last->text, p, all))
            break;
        v = take_over(last, p, v);
        close_object(to, v, start, p + last->n);
        start = p + last->n + gap;
        to = v;
    }
    *next = to;
    return start;
}

/* Whether what will be at `next` follows an object in an array, with room for another of its size.
 * Large ones are not worth it: their numbers differ. */
static inline bool may_repeat(const struct parser *s, const struct fumi_val *next)
{
    if (s->closed == NO_PARENT || s->row[s->open].bits != FUMI_ARRAY || s->misses == MISSES)
        return false;
    const struct fumi_val *old = s->row + s->closed;
    return fumi_next(old) == next && fumi_is(old, FUMI_OBJECT) && next - old <= FUMI_ALIKE_MAX &&
           next - old < s->full - next;
}

/* The object behind the comma at p; NULL: there is none. */
static inline const char *next_object(const char *p)
{
    p = parse_skip(p);
    if (*p != ',')
        return NULL;
    p = parse_skip(p + 1);
    return *p == '{' ? p : NULL;
}

const char *alike_items(struct parser *s, const char *p, struct fumi_val **next)
{
    if (!may_repeat(s, *next))
        return NULL;
    struct fumi_like m __attribute__((uninitialized)); /* model_of does it */
    struct fumi_val *to = *next, *last = NULL;
    const char *second = p;
    bool many = false, more = true;
    model_of(&m, s->row + s->closed, s->end, s->brief && s->open == 0);
    while (p && (ptrdiff_t)m.n < s->full - to) {
        const char *end = alike_whole(s, p, &m, to);
        more = end && end != s->end;
        if (!more)
            break;
        last = to;
        to += fumi_span(to);
        p = next_object(end);
        if (p && many) {
            p = fill_many(s, p, &m, second, &to);
            many = to != last + fumi_span(last);
            last = to - fumi_span(last);
        } else {
            many = true;
        }
    }
    s->misses = more ? 0 : last ? 1 : s->misses + 1;
    s->differ |= m.holes;
    s->closed = more && !m.brief ? (uint32_t)(last - s->row) : NO_PARENT;
    *next = to;
    return last ? last->p + last->n : NULL;
}

const struct fumi_val *fumi_whole(struct fumi_arena *a, const struct fumi_val *model,
                                  const struct fumi_val *v)
{
    if (!fumi_is_alike(v))
        return v;
    size_t n = fumi_span(v), all = fumi_span(model);
    struct fumi_val *to = fumi_alloc(a, all * sizeof(*to));
    *to = (struct fumi_val){v->p, v->n, model->bits | FUMI_ALIKE};
    move(to + 1, model + 1, all - n, (uintptr_t)v->p - (uintptr_t)model->p);
    memcpy(to + 1 + all - n, v + 1, (n - 1) * sizeof(*v));
    return to;
}
