/* Flags are converted to a JSON object, which is bound through the shape. Limits, choices and
 * defaults are therefore checked by fumi_bind alone. The shape that is bound is a copy whose
 * members have the names of their flags, so that error messages name the flag. */
#include "app/flags.h"

#include "base/closest_name.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    SHOWN = 40,  /* bytes of an argument in an error message */
    COLUMN = 28, /* where the description of a flag begins */
    JSON_TYPES = 1 << FUMI_T_ANY | 1 << FUMI_T_JSON | 1 << FUMI_T_OBJECT | 1 << FUMI_T_LIST,
};

struct given_flag {
    const struct fumi_field *flag; /* in the copied shape */
    struct fumi_str value;         /* null: a bool without a value */
};

struct flag_parser {
    struct fumi_arena *a;
    const struct flag_set *sets;
    struct fumi_shape *shapes; /* the renamed copy of each set's shape */
    size_t n;
    const struct flag_alias *aliases;
    struct given_flag *given;
    size_t given_n;
    struct fumi_strs *words;
    struct fumi_err *e;
};

/* "idleTime" -> "--idle-time" */
struct fumi_str flags_name(const char *member, char out[FLAG_NAME])
{
    size_t n = 2;
    memcpy(out, "--", 2);
    for (; *member && n + 2 < FLAG_NAME; member++) {
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
        char *name = fumi_alloc(a, FLAG_NAME);
        fields[i] = s->fields[i];
        fields[i].name_n = flags_name(s->fields[i].name, name).n;
        fields[i].name = name;
    }
    copy.fields = fields;
    return copy;
}

__attribute__((format(printf, 2, 3))) static int refuse(const struct flag_parser *p,
                                                        const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fumi_err_args(p->e, FUMI_INVALID_PARAMS, fmt, args);
    va_end(args);
    return -1;
}

/* An argument for an error message: truncated, with control characters and invalid bytes replaced.
 */
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

/* Resolves an alias. Returns the name itself if it is no alias. */
static struct fumi_str long_name(const struct flag_parser *p, struct fumi_str name)
{
    for (const struct flag_alias *i = p->aliases; i && i->alias; i++) {
        if (fumi_eq(name, fumi_str(i->alias)))
            return fumi_str(i->name);
    }
    return name;
}

/* The flag of that name, without dashes. Returns NULL if there is none. */
static const struct fumi_field *find(const struct flag_parser *p, struct fumi_str given)
{
    struct fumi_str name = long_name(p, given);
    for (size_t i = 0; i < p->n; i++) {
        const struct fumi_shape *s = &p->shapes[i];
        for (const struct fumi_field *f = s->fields; f < s->fields + s->n; f++) {
            if (fumi_eq(name, (struct fumi_str){f->name + 2, f->name_n - 2}))
                return f;
        }
    }
    return NULL;
}

/* The flag with the closest name. Returns NULL if none is close. */
static const struct fumi_field *nearest(const struct flag_parser *p, struct fumi_str name)
{
    const struct fumi_field *best = NULL;
    struct closest_name n = closest_name_start(name);
    for (size_t i = 0; i < p->n; i++) {
        const struct fumi_shape *s = &p->shapes[i];
        for (const struct fumi_field *f = s->fields; f < s->fields + s->n; f++)
            if (closest_name_improves(&n, (struct fumi_str){f->name + 2, f->name_n - 2}))
                best = f;
    }
    return best;
}

static int unknown(const struct flag_parser *p, struct fumi_str word, struct fumi_str name)
{
    char text[SHOWN + 1];
    const struct fumi_field *near = nearest(p, name);
    shown((struct fumi_str){word.p, (size_t)(name.p - word.p) + name.n}, text);
    if (near)
        return refuse(p, "unknown flag %s; did you mean %s?", text, near->name);
    return refuse(p, "unknown flag %s; --help lists all flags", text);
}

/* Splits "--name=value"; the value is null without '='. Returns false if the argument is no flag. A
 * single dash is no flag: it usually means standard input. */
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

static bool names_flag(const struct flag_parser *p, struct fumi_str word)
{
    struct fumi_str name, value;
    return split(word, &name, &value) && find(p, name);
}

/* Takes the next argument as the value. A known flag there means that the value was forgotten. */
static int take_next(const struct flag_parser *p, const struct fumi_field *f, char ***at,
                     struct fumi_str *value)
{
    struct fumi_str next = fumi_str((*at)[1]);
    if (!next.p)
        return refuse(p, "%s needs a value", f->name);
    if (names_flag(p, next))
        return refuse(p, "%s needs a value; write %s=VALUE if the value is the name of a flag",
                      f->name, f->name);
    *value = next;
    ++*at;
    return 0;
}

static int take_flag(struct flag_parser *p, char ***at, struct fumi_str name, struct fumi_str value)
{
    const struct fumi_field *f = find(p, name);
    if (!f)
        return unknown(p, fumi_str(**at), name);
    if (!value.p && f->type != FUMI_T_BOOL && take_next(p, f, at, &value))
        return -1;
    if (!fumi_utf8_valid(value))
        return refuse(p, "%s must be UTF-8 text", f->name);
    p->given[p->given_n++] = (struct given_flag){f, value};
    return 0;
}

static int take_word(struct flag_parser *p, struct fumi_str word)
{
    char text[SHOWN + 1];
    if (!fumi_utf8_valid(word))
        return refuse(p, "the argument %s must be UTF-8 text", shown(word, text));
    p->words->items[p->words->n++] = fumi_dup(p->a, word);
    return 0;
}

static int take_all(struct flag_parser *p, char **at)
{
    bool ended = false;
    for (; *at; at++) {
        struct fumi_str word = fumi_str(*at), name, value;
        int rc = 0;
        if (!ended && fumi_eq(word, FUMI_STR("--")))
            ended = true;
        else if (!ended && split(word, &name, &value))
            rc = take_flag(p, &at, name, value);
        else
            rc = take_word(p, word);
        if (rc)
            return -1;
    }
    return 0;
}

/* Methods take times; in the terminal a date is accepted as well. */
static bool read_day(const struct fumi_field *f, struct fumi_str text, char out[FUMI_TIME_SIZE])
{
    int64_t ms;
    if (!fumi_day_read(text, f->flags & FUMI_DAY_END, &ms))
        return false;
    fumi_time_write(ms, out);
    return true;
}

void flags_put_value(struct fumi_arena *a, struct fumi_out *o, const struct fumi_field *f,
                     struct fumi_str text)
{
    struct fumi_err ignored;
    const struct fumi_val *v = NULL;
    bool number = f->type == FUMI_T_INT || f->type == FUMI_T_REAL;
    char time[FUMI_TIME_SIZE];
    if (f->type == FUMI_T_TIME && read_day(f, text, time))
        text = (struct fumi_str){time, sizeof(time)};
    if (f->type == FUMI_T_BOOL || number || (1 << f->type & JSON_TYPES))
        v = fumi_parse(a, text, &ignored);
    if ((f->type == FUMI_T_BOOL && !fumi_is_bool(v)) || (number && !fumi_is(v, FUMI_NUMBER)))
        v = NULL;
    if (v)
        fumi_put_val(o, v);
    else
        fumi_put_str(o, text);
}

/* Only a bool may have no value. */
static void put_value(const struct flag_parser *p, struct fumi_out *o, const struct given_flag *g)
{
    if (g->value.p)
        flags_put_value(p->a, o, g->flag, g->value);
    else
        fumi_put_bool(o, true);
}

/* Writes the values of one flag as the member `name`. */
static int put_flag(const struct flag_parser *p, struct fumi_out *o, const struct fumi_field *f,
                    const char *name)
{
    bool list = f->type == FUMI_T_STRS;
    size_t times = 0;
    for (size_t i = 0; i < p->given_n; i++) {
        const struct given_flag *g = &p->given[i];
        if (g->flag != f)
            continue;
        if (times && !list)
            return refuse(p, "%s is given twice", f->name);
        if (!times)
            fumi_put_key(o, name);
        if (!times && list)
            fumi_put_open(o, '[');
        put_value(p, o, g);
        times++;
    }
    if (times && list)
        fumi_put_close(o, ']');
    return 0;
}

static int put_set(const struct flag_parser *p, struct fumi_buf *out, size_t set,
                   const struct fumi_field *names)
{
    struct fumi_out o = {.buf = out};
    const struct fumi_shape *s = &p->shapes[set];
    fumi_put_open(&o, '{');
    for (size_t i = 0; i < s->n; i++) {
        if (put_flag(p, &o, &s->fields[i], names[i].name))
            return -1;
    }
    fumi_put_close(&o, '}');
    return 0;
}

/* Shows the value instead of its index: "--origins[1] must ..." -> "--origins nowhere must ...". */
static void name_item(const struct flag_parser *p, const struct fumi_val *object)
{
    char name[FLAG_NAME], text[SHOWN + 1], *end;
    size_t n = strcspn(p->e->text, "[ ");
    if (p->e->text[n] != '[' || n >= sizeof(name))
        return;
    memcpy(name, p->e->text, n);
    name[n] = '\0';
    size_t row = strtoul(p->e->text + n + 1, &end, 10);
    const struct fumi_val *list = fumi_get(object, name), *item = fumi_first(list);
    for (; item && row; row--)
        item = fumi_after(list, item);
    if (!fumi_is(item, FUMI_STRING) || *end != ']')
        return;
    struct fumi_str rest = fumi_dup(p->a, fumi_str(end + 1));
    refuse(p, "%s %s%.*s", name, shown(fumi_text(p->a, item), text), FUMI_ARG(rest));
}

/* The flags given for a set, as the text of a JSON object with these member names. */
static int set_text(const struct flag_parser *p, size_t set, const struct fumi_field *names,
                    struct fumi_str *out)
{
    struct fumi_buf buf = {0};
    int rc = put_set(p, &buf, set, names);
    *out = rc ? fumi_str("") : fumi_buf_keep(&buf, p->a);
    fumi_buf_done(&buf);
    return rc;
}

/* The members have the names of flags, so that errors name the flags. */
static int bind_set(const struct flag_parser *p, size_t set)
{
    struct fumi_str text;
    if (set_text(p, set, p->shapes[set].fields, &text))
        return -1;
    const struct fumi_val *v = fumi_parse(p->a, text, p->e);
    if (!v)
        return -1;
    int rc = fumi_bind(p->a, &p->shapes[set], v, p->sets[set].into, p->e);
    if (rc)
        name_item(p, v);
    return rc;
}

static int bind_all(const struct flag_parser *p, struct fumi_json *unbound)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct flag_set *set = &p->sets[i];
        const struct fumi_shape *wire = set->wire || set->into ? set->wire : set->shape;
        assert(!wire || unbound);
        if ((set->into && bind_set(p, i)) || (wire && set_text(p, i, wire->fields, &unbound->text)))
            return -1;
    }
    return 0;
}

/* Every user of the machine can read the command line of a process, so the token is wiped from it.
 * The parser has copied it. */
static void wipe_secrets(const struct flag_parser *p)
{
    for (size_t i = 0; i < p->given_n; i++) {
        const struct given_flag *g = &p->given[i];
        if (strcmp(g->flag->name, "--token") == 0)
            explicit_bzero((char *)(uintptr_t)g->value.p, g->value.n);
    }
}

int flags_parse(struct fumi_arena *a, const struct flag_table *t, char **argv,
                struct fumi_strs *words, struct fumi_err *e)
{
    struct flag_parser p = {a, t->sets, NULL, t->n, t->aliases, NULL, 0, words, e};
    size_t count = 0;
    while (argv[count])
        count++;
    *words = (struct fumi_strs){fumi_alloc(a, (count + 1) * sizeof(*words->items)), 0};
    p.given = fumi_alloc(a, (count + 1) * sizeof(*p.given));
    p.shapes = fumi_alloc(a, (t->n + 1) * sizeof(*p.shapes));
    for (size_t i = 0; i < t->n; i++)
        p.shapes[i] = rename_all(a, t->sets[i].shape);
    int rc = (count && take_all(&p, argv + 1)) || bind_all(&p, t->unbound) ? -1 : 0;
    wipe_secrets(&p);
    return rc;
}

static void put(struct fumi_buf *out, const char *text)
{
    fumi_buf_add(out, text, strlen(text));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcasecmp(text + n - k, end) == 0;
}

/* The kind of value by the end of the name, such as tokenFile or headTime; otherwise `other`. */
static const char *kind_of(const struct fumi_field *f, const char *other)
{
    static const struct {
        const char *end, *kind;
    } kinds[] = {
        {"projectId", "PROJECT"}, {"project", "PROJECT"},
        {"groupId", "GROUP"},     {"group", "GROUP"},
        {"file", "FILE"},         {"config", "FILE"},
        {"db", "FILE"},           {"to", "FILE"},
        {"dir", "DIR"},           {"directory", "DIR"},
        {"host", "ADDRESS"},      {"url", "ADDRESS"},
        {"store", "ADDRESS"},     {"messageLimit", "BYTES"},
        {"unsent", "BYTES"},      {"timeLimit", "MS"},
        {"drain", "MS"},          {"time", "MS"},
        {"expiresAt", "TIME"},
    };
    for (size_t i = 0; i < FUMI_COUNT(kinds); i++) {
        if (ends_with(f->name, kinds[i].end))
            return kinds[i].kind;
    }
    return other;
}

void flags_put_kind(struct fumi_buf *out, const struct fumi_field *f)
{
    static const char *const kinds[] = {
        [FUMI_T_INT] = "N",       [FUMI_T_REAL] = "NUMBER", [FUMI_T_STR] = "TEXT",
        [FUMI_T_STRS] = "TEXT",   [FUMI_T_ANY] = "JSON",    [FUMI_T_JSON] = "JSON",
        [FUMI_T_OBJECT] = "JSON", [FUMI_T_LIST] = "JSON",   [FUMI_T_TIME] = "TIME",
    };
    if (f->type != FUMI_T_BOOL && f->type != FUMI_T_CHOICE)
        put(out, kind_of(f, kinds[f->type]));
    for (size_t i = 0; f->type == FUMI_T_CHOICE && f->choices[i]; i++) {
        if (i)
            fumi_buf_put(out, '|');
        put(out, f->choices[i]);
    }
}

void flags_put_note(struct fumi_buf *out, const struct fumi_field *f)
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

const char *flags_alias(const struct flag_table *t, const struct fumi_field *f)
{
    char name[FLAG_NAME];
    flags_name(f->name, name);
    for (const struct flag_alias *i = t->aliases; i && i->alias; i++) {
        if (strcmp(i->name, name + 2) == 0)
            return i->alias;
    }
    return NULL;
}

static void put_spaces(struct fumi_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fumi_buf_put(out, ' ');
}

/* The flag with its alias and the kind of its value. */
static void put_usage(struct fumi_buf *out, const struct flag_table *t, const struct fumi_field *f)
{
    char name[FLAG_NAME];
    const char *alias = flags_alias(t, f);
    put(out, "  ");
    if (alias) {
        put(out, "-");
        put(out, alias);
        put(out, ", ");
    }
    flags_name(f->name, name);
    put(out, t->members ? f->name : name);
    if (f->type != FUMI_T_BOOL)
        fumi_buf_put(out, ' ');
    flags_put_kind(out, f);
}

/* Appends text from column COLUMN on, wrapped with a hanging indent. */
static void put_wrapped(struct fumi_buf *out, struct fumi_str text, size_t columns)
{
    size_t column = COLUMN;
    for (size_t i = 0, n; i < text.n; i += n + 1) {
        const char *space = memchr(text.p + i, ' ', text.n - i);
        n = space ? (size_t)(space - text.p) - i : text.n - i;
        if (column > COLUMN && column + 1 + n > columns) {
            fumi_buf_put(out, '\n');
            put_spaces(out, COLUMN);
            column = COLUMN;
        } else if (column > COLUMN) {
            fumi_buf_put(out, ' ');
            column++;
        }
        fumi_buf_add(out, text.p + i, n);
        column += n;
    }
}

static void put_help(struct fumi_buf *out, const struct flag_table *t, const struct fumi_field *f,
                     size_t columns)
{
    size_t start = out->n;
    struct fumi_str help = fumi_str(f->help ? f->help : "");
    struct fumi_buf text = {0};
    put_usage(out, t, f);
    size_t used = out->n - start;
    if (used > COLUMN - 2) {
        fumi_buf_put(out, '\n');
        used = 0;
    }
    put_spaces(out, COLUMN - used);
    fumi_buf_add(&text, help.p, help.n && help.p[help.n - 1] == '.' ? help.n - 1 : help.n);
    if (!t->members)
        flags_put_note(&text, f);
    put_wrapped(out, fumi_buf_str(&text), columns);
    fumi_buf_put(out, '\n');
    fumi_buf_done(&text);
}

void flags_explain(const struct flag_table *t, struct fumi_buf *out, size_t columns)
{
    for (size_t i = 0; i < t->n; i++) {
        for (size_t row = 0; row < t->sets[i].shape->n; row++)
            put_help(out, t, &t->sets[i].shape->fields[row], columns);
    }
}
