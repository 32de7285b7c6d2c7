/* Words become JSON, and JSON is bound through the shape: limits, choices and defaults are checked
 * there and nowhere else. The shape that is bound is a copy whose members bear the names of their
 * flags, so its sentences speak of these. */
#include "app/flags.h"

#include "base/near.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NAME = 64,   /* bytes of a name, dashes and all */
    SHOWN = 40,  /* of a stranger's word, in a sentence */
    COLUMN = 28, /* where the help of a flag begins */
    JSON_TYPES = 1 << FUMI_T_ANY | 1 << FUMI_T_JSON | 1 << FUMI_T_OBJECT | 1 << FUMI_T_LIST,
};

struct given {
    const struct fumi_field *flag; /* of the copy */
    struct fumi_str value;         /* none: the flag of a bool stood alone */
};

struct reader {
    struct fumi_arena *a;
    const struct flag_set *sets;
    struct fumi_shape *shapes; /* one for each set */
    size_t n;
    struct given *given;
    size_t given_n;
    struct fumi_strs *words;
    struct fumi_err *e;
};

/* "idleTime" -> "--idle-time" */
static struct fumi_str flag_name(const char *member, char out[NAME])
{
    size_t n = 2;
    memcpy(out, "--", 2);
    for (; *member && n + 2 < NAME; member++) {
        bool capital = *member >= 'A' && *member <= 'Z';
        if (capital)
            out[n++] = '-';
        out[n++] = (char)(capital ? *member + ('a' - 'A') : *member);
    }
    out[n] = '\0';
    return (struct fumi_str){out, n};
}

static struct fumi_shape rename_all(struct fumi_arena *a, const struct fumi_shape *s)
{
    struct fumi_shape copy = *s;
    struct fumi_field *fields = fumi_alloc(a, s->n * sizeof(*fields));
    for (size_t i = 0; i < s->n; i++) {
        char *name = fumi_alloc(a, NAME);
        fields[i] = s->fields[i];
        fields[i].name_n = flag_name(s->fields[i].name, name).n;
        fields[i].name = name;
    }
    copy.fields = fields;
    return copy;
}

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *r, const char *fmt,
                                                        ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(r->e, FUMI_INVALID_PARAMS, fmt, args);
    va_end(args);
    return -1;
}

/* A word for a sentence: cut, and with nothing in it that a terminal would act upon. */
static const char *shown(struct fumi_str word, char out[SHOWN + 1])
{
    struct fumi_str cut = word.n > SHOWN ? fumi_utf8_cut(word, SHOWN) : word;
    bool valid = fumi_utf8_valid(cut);
    for (size_t i = 0; i < cut.n; i++) {
        unsigned char c = (unsigned char)cut.p[i];
        out[i] = c < ' ' || c == 0x7F || (c > 0x7F && !valid) ? '?' : cut.p[i];
    }
    out[cut.n] = '\0';
    return out;
}

/* The flag of that name, dashes left out; NULL: there is none. */
static const struct fumi_field *find(const struct reader *r, struct fumi_str name)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct fumi_shape *s = &r->shapes[i];
        for (const struct fumi_field *f = s->fields; f < s->fields + s->n; f++) {
            if (fumi_eq(name, (struct fumi_str){f->name + 2, f->name_n - 2}))
                return f;
        }
    }
    return NULL;
}

/* NULL: none is near. */
static const struct fumi_field *nearest(const struct reader *r, struct fumi_str name)
{
    const struct fumi_field *best = NULL;
    struct near n = near_to(name);
    for (size_t i = 0; i < r->n; i++) {
        const struct fumi_shape *s = &r->shapes[i];
        for (const struct fumi_field *f = s->fields; f < s->fields + s->n; f++)
            if (near_is(&n, (struct fumi_str){f->name + 2, f->name_n - 2}))
                best = f;
    }
    return best;
}

static int unknown(const struct reader *r, struct fumi_str word, struct fumi_str name)
{
    char text[SHOWN + 1];
    const struct fumi_field *near = nearest(r, name);
    shown((struct fumi_str){word.p, (size_t)(name.p - word.p) + name.n}, text);
    if (near)
        return refuse(r, "unknown flag %s; did you mean %s?", text, near->name);
    return refuse(r, "unknown flag %s; --help lists those that there are", text);
}

/* A word as a flag: its name without dashes, and what stands behind '='. False: it is none. A lone
 * dash is a word, by which many programs mean standard input. */
static bool split(struct fumi_str word, struct fumi_str *name, struct fumi_str *value)
{
    if (word.n < 2 || word.p[0] != '-')
        return false;
    size_t dashes = word.p[1] == '-' ? 2 : 1;
    *name = (struct fumi_str){word.p + dashes, word.n - dashes};
    *value = (struct fumi_str){0};
    const char *equals = memchr(name->p, '=', name->n);
    if (equals) {
        name->n = (size_t)(equals - name->p);
        *value = (struct fumi_str){equals + 1, (size_t)(word.p + word.n - equals - 1)};
    }
    return true;
}

static bool names_flag(const struct reader *r, struct fumi_str word)
{
    struct fumi_str name, value;
    return split(word, &name, &value) && find(r, name);
}

/* The value in the next word. One that is the name of a flag was hardly meant as a value. */
static int take_next(const struct reader *r, const struct fumi_field *f, char ***at,
                     struct fumi_str *value)
{
    struct fumi_str next = fumi_str((*at)[1]);
    if (!next.p)
        return refuse(r, "%s needs a value", f->name);
    if (names_flag(r, next))
        return refuse(r, "%s needs a value; one that is the name of a flag stands behind '='",
                      f->name);
    *value = next;
    ++*at;
    return 0;
}

static int take_flag(struct reader *r, char ***at, struct fumi_str name, struct fumi_str value)
{
    const struct fumi_field *f = find(r, name);
    if (!f)
        return unknown(r, fumi_str(**at), name);
    if (!value.p && f->type != FUMI_T_BOOL && take_next(r, f, at, &value))
        return -1;
    if (!fumi_utf8_valid(value))
        return refuse(r, "%s must be UTF-8 text", f->name);
    r->given[r->given_n++] = (struct given){f, value};
    return 0;
}

static int take_word(struct reader *r, struct fumi_str word)
{
    char text[SHOWN + 1];
    if (!fumi_utf8_valid(word))
        return refuse(r, "the word %s must be UTF-8 text", shown(word, text));
    r->words->items[r->words->n++] = fumi_dup(r->a, word);
    return 0;
}

static int take_all(struct reader *r, char **at)
{
    bool ended = false;
    for (; *at; at++) {
        struct fumi_str word = fumi_str(*at), name, value;
        int rc = 0;
        if (!ended && fumi_eq(word, FUMI_STR("--")))
            ended = true;
        else if (!ended && split(word, &name, &value))
            rc = take_flag(r, &at, name, value);
        else
            rc = take_word(r, word);
        if (rc)
            return -1;
    }
    return 0;
}

/* A value as JSON. What is none of the wanted kind becomes a string, for the shape to judge. */
static void put_value(const struct reader *r, struct fumi_out *o, const struct given *g)
{
    struct fumi_err ignored;
    const struct fumi_val *v = NULL;
    enum fumi_type type = g->flag->type;
    bool number = type == FUMI_T_INT || type == FUMI_T_REAL;
    if (!g->value.p) {
        fumi_put_bool(o, true);
        return;
    }
    if (type == FUMI_T_BOOL || number || (1 << type & JSON_TYPES))
        v = fumi_parse(r->a, g->value, &ignored);
    if ((type == FUMI_T_BOOL && !fumi_is_bool(v)) || (number && !fumi_is(v, FUMI_NUMBER)))
        v = NULL;
    if (v)
        fumi_put_val(o, v);
    else
        fumi_put_str(o, g->value);
}

/* All that was given for one flag. */
static int put_flag(const struct reader *r, struct fumi_out *o, const struct fumi_field *f)
{
    bool list = f->type == FUMI_T_STRS;
    size_t times = 0;
    for (size_t i = 0; i < r->given_n; i++) {
        const struct given *g = &r->given[i];
        if (g->flag != f)
            continue;
        if (times && !list)
            return refuse(r, "%s is given twice", f->name);
        if (!times)
            fumi_put_key(o, f->name);
        if (!times && list)
            fumi_put_open(o, '[');
        put_value(r, o, g);
        times++;
    }
    if (times && list)
        fumi_put_close(o, ']');
    return 0;
}

static int put_set(const struct reader *r, struct fumi_buf *out, const struct fumi_shape *s)
{
    struct fumi_out o = {.buf = out};
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < s->n; i++) {
        if (put_flag(r, &o, &s->fields[i]))
            return -1;
    }
    fumi_put_close(&o, '}');
    return 0;
}

/* "--origins[1] must ..." -> "--origins nowhere must ...": users count words, not items. */
static void name_item(const struct reader *r, const struct fumi_val *object)
{
    char name[NAME], text[SHOWN + 1], *end;
    size_t n = strcspn(r->e->text, "[ ");
    if (r->e->text[n] != '[' || n >= sizeof(name))
        return;
    memcpy(name, r->e->text, n);
    name[n] = '\0';
    size_t row = strtoul(r->e->text + n + 1, &end, 10);
    const struct fumi_val *list = fumi_get(object, name), *item = fumi_first(list);
    for (; item && row; row--)
        item = fumi_after(list, item);
    if (!fumi_is(item, FUMI_STRING) || *end != ']')
        return;
    struct fumi_str rest = fumi_dup(r->a, fumi_str(end + 1));
    refuse(r, "%s %s%.*s", name, shown(fumi_text(r->a, item), text), FUMI_ARG(rest));
}

static int bind_set(const struct reader *r, size_t set)
{
    struct fumi_buf buf = {0};
    int rc = put_set(r, &buf, &r->shapes[set]);
    struct fumi_str text = rc ? fumi_str("") : fumi_dup(r->a, fumi_buf_str(&buf));
    fumi_buf_done(&buf);
    if (rc)
        return -1;
    const struct fumi_val *v = fumi_parse(r->a, text, r->e);
    if (!v)
        return -1;
    rc = fumi_bind(r->a, &r->shapes[set], v, r->sets[set].into, r->e);
    if (rc)
        name_item(r, v);
    return rc;
}

int flags_read(struct fumi_arena *a, const struct flag_set *sets, size_t n, char **argv,
               struct fumi_strs *words, struct fumi_err *e)
{
    struct reader r = {.a = a, .sets = sets, .n = n, .words = words, .e = e};
    size_t count = 0;
    while (argv[count])
        count++;
    *words = (struct fumi_strs){fumi_alloc(a, (count + 1) * sizeof(*words->items)), 0};
    r.given = fumi_alloc(a, (count + 1) * sizeof(*r.given));
    r.shapes = fumi_alloc(a, (n + 1) * sizeof(*r.shapes));
    for (size_t i = 0; i < n; i++)
        r.shapes[i] = rename_all(a, sets[i].shape);
    if (count && take_all(&r, argv + 1))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (bind_set(&r, i))
            return -1;
    }
    return 0;
}

static void put(struct fumi_buf *out, const char *text)
{
    fumi_buf_add(out, text, strlen(text));
}

/* What a number counts is the first word of its help. */
static const char *unit_of(const struct fumi_field *f)
{
    static const struct {
        const char *word, *unit;
    } units[] = {{"Milliseconds", "MS"}, {"Seconds", "SECONDS"}, {"Bytes", "BYTES"}};
    for (size_t i = 0; f->help && i < FUMI_COUNT(units); i++) {
        if (fumi_starts(fumi_str(f->help), fumi_str(units[i].word)))
            return units[i].unit;
    }
    return "N";
}

static void put_kind(struct fumi_buf *out, const struct fumi_field *f)
{
    static const char *const kinds[] = {
        [FUMI_T_REAL] = "NUMBER", [FUMI_T_STR] = "TEXT",  [FUMI_T_STRS] = "TEXT",
        [FUMI_T_ANY] = "JSON",    [FUMI_T_JSON] = "JSON", [FUMI_T_OBJECT] = "JSON",
        [FUMI_T_LIST] = "JSON",
    };
    if (f->type == FUMI_T_BOOL)
        return;
    fumi_buf_put(out, ' ');
    if (f->type == FUMI_T_INT)
        put(out, unit_of(f));
    else if (f->type != FUMI_T_CHOICE)
        put(out, kinds[f->type]);
    for (size_t i = 0; f->type == FUMI_T_CHOICE && f->choices[i]; i++) {
        if (i)
            fumi_buf_put(out, '|');
        put(out, f->choices[i]);
    }
}

/* In brackets behind the sentence: the default, or that there is none. */
static void put_note(struct fumi_buf *out, const struct fumi_field *f)
{
    struct fumi_str def = fumi_str(f->def);
    if (def.n > 1 && def.p[0] == '"')
        def = (struct fumi_str){def.p + 1, def.n - 2};
    if (f->type == FUMI_T_STRS)
        put(out, " (may be given several times)");
    else if (f->flags & FUMI_REQUIRED)
        put(out, " (required)");
    else if (def.n && f->type != FUMI_T_BOOL && !fumi_eq(def, FUMI_STR("null"))) {
        put(out, " (default ");
        fumi_buf_add(out, def.p, def.n);
        put(out, ")");
    }
}

static void put_help(struct fumi_buf *out, const struct fumi_field *f)
{
    char name[NAME];
    size_t start = out->n;
    struct fumi_str help = fumi_str(f->help ? f->help : "");
    put(out, "  ");
    flag_name(f->name, name);
    put(out, name);
    put_kind(out, f);
    if (out->n - start > COLUMN - 2) {
        fumi_buf_put(out, '\n');
        start = out->n;
    }
    while (out->n - start < COLUMN && !out->full)
        fumi_buf_put(out, ' ');
    fumi_buf_add(out, help.p, help.n && help.p[help.n - 1] == '.' ? help.n - 1 : help.n);
    put_note(out, f);
    fumi_buf_put(out, '\n');
}

void flags_help(const struct flag_set *sets, size_t n, struct fumi_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t row = 0; row < sets[i].shape->n; row++)
            put_help(out, &sets[i].shape->fields[row]);
    }
}
