#include "rpc/exchange.h"

#include <assert.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 128 };

static const struct fumi_limits standard = {
    .message = 1 << 20, .depth = FUMI_DEPTH, .batch = 100, .answer = 8 << 20, .request = 30000};

static const struct fumi_log warnings = {.level = FUMI_WARN, .fd = 2};

static inline uint64_t eight(const char *p)
{
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

/* Up to seven bytes as an integer. Different texts of the same length give different integers. */
static inline uint64_t few(struct fumi_str s)
{
    uint32_t first, last;
    if (s.n < 4) {
        const unsigned char *p = (const unsigned char *)s.p;
        return s.n ? p[0] | p[s.n / 2] << 8 | p[s.n - 1] << 16 : 0;
    }
    memcpy(&first, s.p, 4);
    memcpy(&last, s.p + s.n - 4, 4);
    return (uint64_t)last << 32 | first;
}

static inline uint64_t mix(uint64_t h, uint64_t w)
{
    h = (h ^ w) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

/* Hashes eight bytes at a time; the last eight may overlap those before them. */
static inline uint64_t hash(struct fumi_str s)
{
    if (s.n < 8)
        return mix(s.n, few(s));
    uint64_t h = s.n;
    for (size_t i = 0; i + 8 < s.n; i += 8)
        h = mix(h, eight(s.p + i));
    return mix(h, eight(s.p + s.n - 8));
}

const struct method_entry *server_find(const struct fumi_server *s, struct fumi_str name)
{
    for (size_t i = hash(name);; i++) {
        uint32_t slot = s->slots[i & s->mask];
        if (!slot)
            return NULL;
        const struct method_entry *e = &s->entries[slot - 1];
        if (e->name.n == name.n && fumi_same(e->name.p, name.p, name.n))
            return e;
    }
}

static void fill_slots(struct fumi_server *s)
{
    size_t size = 16;
    while (size < s->n * 3)
        size *= 2;
    s->slots = fumi_resize(s->slots, size * sizeof(*s->slots));
    memset(s->slots, 0, size * sizeof(*s->slots));
    s->mask = size - 1;
    for (size_t e = 0; e < s->n; e++) {
        size_t i = hash(s->entries[e].name);
        while (s->slots[i & s->mask])
            i++;
        s->slots[i & s->mask] = (uint32_t)e + 1;
    }
}

/* Whether a name or name space has 1 to NAME_MAX_BYTES visible ASCII characters without quote and
 * backslash. */
static bool well_formed(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    for (size_t i = 0; i < n; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
            return false;
    }
    return n > 0 && n <= NAME_MAX_BYTES;
}

static struct fumi_str full_name(const char *name_space, const char *name)
{
    size_t n = strlen(name) + (name_space ? strlen(name_space) + 1 : 0);
    char *text = fumi_resize(NULL, n + 1);
    snprintf(text, n + 1, "%s%s%s", name_space ? name_space : "", name_space ? "." : "", name);
    return (struct fumi_str){text, n};
}

static int check_method(const struct fumi_server *s, const struct fumi_method *m,
                        struct fumi_str name, struct fumi_err *e)
{
    if (fumi_starts(name, FUMI_STR("rpc.")) && m != &built_in[0] && m != &built_in[1])
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: names that begin with rpc. are reserved",
                            name.p);
    if (name.n > NAME_MAX_BYTES)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%.60s...: the name has more than %d bytes",
                            name.p, NAME_MAX_BYTES);
    if (server_find(s, name))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: a method of that name exists already",
                            name.p);
    if (!m->run)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "%s: the method has no function", name.p);
    char where[NAME_MAX_BYTES + sizeof(" params")];
    snprintf(where, sizeof(where), "%s params", name.p);
    if (fumi_shape_check(m->params, where, e))
        return -1;
    snprintf(where, sizeof(where), "%s result", name.p);
    return fumi_shape_check_result(m->result, where, e);
}

/* The size of a struct in a frame (params and result in one allocation), with padding. */
static size_t frame_size(const struct fumi_shape *s)
{
    const size_t step = _Alignof(max_align_t);
    return s ? (s->size + step - 1) / step * step : 0;
}

static int add_method(struct fumi_server *s, const char *name_space, const struct fumi_method *m,
                      void *self, struct fumi_err *e)
{
    bool in_order = !name_space || well_formed(name_space);
    const char *wrong = in_order ? m->name : name_space;
    if (!in_order || !well_formed(wrong))
        return fumi_err_set(
            e, FUMI_INTERNAL_ERROR,
            "\"%s\" is not a valid name: use 1 to %d visible ASCII characters other "
            "than \" and \\",
            wrong ? wrong : "", NAME_MAX_BYTES);
    struct fumi_str name = full_name(name_space, m->name);
    if (check_method(s, m, name, e)) {
        fumi_resize((char *)name.p, 0);
        return -1;
    }
    s->entries = fumi_resize(s->entries, (s->n + 1) * sizeof(*s->entries));
    size_t params = frame_size(m->params);
    s->entries[s->n++] = (struct method_entry){.name = name,
                                               .method = m,
                                               .self = self,
                                               .frame = params + frame_size(m->result),
                                               .result = params};
    fill_slots(s);
    return 0;
}

static void drop_methods(struct fumi_server *s, size_t n)
{
    while (s->n > n)
        fumi_resize((char *)s->entries[--s->n].name.p, 0);
    fill_slots(s);
}

static int refuse_late(const struct fumi_server *s, struct fumi_err *e)
{
    if (!atomic_load(&s->frozen))
        return 0;
    return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the server has already handled a message");
}

int fumi_server_add(struct fumi_server *s, const char *name_space,
                    const struct fumi_method *methods, size_t n, void *self, struct fumi_err *e)
{
    size_t before = s->n;
    if (refuse_late(s, e))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (add_method(s, name_space, &methods[i], self, e)) {
            drop_methods(s, before);
            return -1;
        }
    }
    return 0;
}

int fumi_server_use(struct fumi_server *s, const struct fumi_processor *p, struct fumi_err *e)
{
    if (refuse_late(s, e))
        return -1;
    s->processors = fumi_resize(s->processors, (s->processors_n + 1) * sizeof(*s->processors));
    s->processors[s->processors_n++] = *p;
    s->admits |= p->admit != NULL;
    s->hooks |= p->before || p->after;
    return 0;
}

struct fumi_server *fumi_server_new(const char *title, const char *version)
{
    struct fumi_err e;
    struct fumi_server *s = fumi_resize(NULL, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->title = title;
    s->version = version;
    s->limits = standard;
    s->log = &warnings;
    deadlines_init(&s->deadlines);
    fill_slots(s);
    fumi_server_add(s, NULL, built_in, built_in_n, s, &e);
    return s;
}

static void exchange_free(struct fumi_exchange *x)
{
    if (!x)
        return;
    assert(!x->open);
    run_free(x->run);
    fumi_arena_done(&x->arena);
    fumi_buf_done(&x->out);
    fumi_resize(x, 0);
}

void exchange_unref(struct fumi_exchange *x)
{
    unsigned refs = atomic_fetch_sub(&x->refs, 1);
    assert(refs > 0);
    if (refs == 1)
        exchange_free(x);
}

bool fumi_server_busy(const struct fumi_server *s)
{
    return atomic_load(&s->open);
}

void fumi_server_free(struct fumi_server *s)
{
    if (!s)
        return;
    deadlines_stop(&s->deadlines);
    if (fumi_server_busy(s))
        return;
    deadlines_done(&s->deadlines);
    stop_done(&s->stop);
    exchange_free(atomic_load(&s->spare));
    for (struct fumi_run *r = atomic_load(&s->lost), *next; r; r = next) {
        next = r->next_lost;
        exchange_unref(r->exchange);
        run_free(r);
    }
    drop_methods(s, 0);
    fumi_resize(s->entries, 0);
    fumi_resize(s->slots, 0);
    fumi_resize(s->processors, 0);
    fumi_resize(s, 0);
}

static struct fumi_exchange *exchange_new(struct fumi_server *s)
{
    struct fumi_exchange *x = atomic_exchange(&s->spare, NULL);
    if (x)
        return x;
    x = fumi_resize(NULL, sizeof(*x));
    memset(x, 0, sizeof(*x));
    atomic_init(&x->refs, 1);
    x->server = s;
    x->run = run_new(x);
    return x;
}

struct fumi_exchange *exchange_take(struct fumi_server *s, struct fumi_spare *spare)
{
    struct fumi_exchange *x = spare ? spare->exchange : NULL;
    if (!x || x->server != s)
        return exchange_new(s);
    spare->exchange = NULL;
    return x;
}

void exchange_put(struct fumi_exchange *x, struct fumi_spare *spare)
{
    struct fumi_exchange *none = NULL;
    assert(!x->open && atomic_load(&x->refs) > 0);
    if (atomic_load(&x->refs) > 1) {
        exchange_unref(x);
        return;
    }
    fumi_arena_reset(&x->arena, KEEP);
    fumi_arena_reset(&x->run->arena, KEEP);
    fumi_buf_reset(&x->run->out, KEEP);
    fumi_buf_reset(&x->out, KEEP);
    if (spare && !spare->exchange)
        spare->exchange = x;
    else if (!atomic_compare_exchange_strong(&x->server->spare, &none, x))
        exchange_free(x);
}

void fumi_spare_done(struct fumi_spare *spare)
{
    exchange_free(spare->exchange);
    spare->exchange = NULL;
}

void fumi_server_log(struct fumi_server *s, const struct fumi_log *log)
{
    s->log = log;
}

void fumi_server_executor(struct fumi_server *s, void (*submit)(void *arg, struct fumi_task *task),
                          void *arg)
{
    s->submit = submit;
    s->submit_arg = arg;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void fumi_server_limits(struct fumi_server *s, struct fumi_limits limits)
{
    s->limits = (struct fumi_limits){
        .message = least(limits.message ? limits.message : s->limits.message, FUMI_JSON_MAX - 1),
        .depth = least(limits.depth ? limits.depth : s->limits.depth, FUMI_DEPTH_MAX),
        .batch = limits.batch ? limits.batch : s->limits.batch,
        .answer = limits.answer ? limits.answer : s->limits.answer,
        .request = limits.request ? limits.request : s->limits.request,
    };
}

struct fumi_limits fumi_server_get_limits(const struct fumi_server *s)
{
    return s->limits;
}

size_t fumi_server_size(const struct fumi_server *s)
{
    return s->n;
}

const struct fumi_method *fumi_server_at(const struct fumi_server *s, size_t i,
                                         struct fumi_str *name)
{
    assert(i < s->n);
    *name = s->entries[i].name;
    return s->entries[i].method;
}

struct stop *server_stop(struct fumi_server *s)
{
    return &s->stop;
}

const char *fumi_server_version(const struct fumi_server *s)
{
    return s->version;
}
