#include "app/command.h"

#include "app/show.h"
#include "base/utf8.h"
#include "memory/methods.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define COMMAND_ROW(name) &command_##name,
const struct command *const commands[COMMANDS] = {COMMAND_LIST(COMMAND_ROW)};

static const char *const levels[] = {"debug", "info", "warn", "error", "silent", NULL};
static const char *const formats[] = {"text", "json", NULL};

#define COMMON(member, wire, ...) FUMI_FIELD(struct common, member, wire, __VA_ARGS__)

static const struct fumi_field common_fields[] = {
    COMMON(help, "help", "Show this help."),
    COMMON(config, "config", "Configuration file.", .min = 1, .max = 3500),
    COMMON(data_dir, "dataDir",
           "Directory for the configuration, the database, the token and the lock files.", .min = 1,
           .max = 3500),
    COMMON(db, "db", "SQLite database file.", .min = 1, .max = 3500),
    COMMON(store, "store",
           "Address of a store in PostgreSQL (postgres://...), instead of an SQLite file.",
           .min = 1, .max = 2000),
    COMMON(allow_http, "allowHttpEmbedder",
           "Allow plain http to embedding servers on other machines."),
    COMMON(per_worktree, "perWorktree",
           "Treat each worktree of a repository as a project of its own."),
    COMMON(log, "log", "Lowest level of events that are logged to standard error.",
           .choices = levels, .def = "\"warn\""),
    COMMON(log_format, "logFormat", "Format of the log.", .choices = formats, .def = "\"text\""),
};
static const struct fumi_shape common_shape = FUMI_SHAPE(struct common, common_fields);

static const struct fumi_field writing_fields[] = {
    FUMI_FIELD(struct write_flags, secrets, "secrets",
               "Values that look like API keys or passwords: mask stores them masked "
               "(ghp_****), refuse rejects the write, allow stores them unchanged. If not "
               "given, safety.secrets of the configuration applies.",
               .choices = config_secrets),
};
const struct fumi_shape command_writing = FUMI_PATCH_SHAPE(struct write_flags, writing_fields);

static const struct fumi_field printing_fields[] = {
    FUMI_FIELD(struct output_flags, json, "json", "Print the result as JSON."),
    FUMI_FIELD(struct output_flags, format, "format", "Output format: json is --json.",
               .choices = formats, .def = "\"text\""),
};

#define PRINTING(n)                                                                                \
    {                                                                                              \
        printing_fields, (n), sizeof(struct output_flags), FUMI_NONE, FUMI_NONE, false             \
    }

const struct fumi_shape *command_printing(const struct command *c)
{
    static const struct fumi_shape json = PRINTING(1), both = PRINTING(2);
    if (c->output == OUTPUT_JSON || c->output == OUTPUT_LINES)
        return &json;
    return c->output == OUTPUT_FORMAT ? &both : NULL;
}

const struct command *command_find(struct fumi_str name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (fumi_eq(name, fumi_str(commands[i]->name)))
            return commands[i];
    }
    return NULL;
}

/* Only --help, for commands that take no other common flags. */
static const struct fumi_shape help_shape = {common_fields, 1,         sizeof(struct common),
                                             FUMI_NONE,     FUMI_NONE, false};

const struct flag_alias command_aliases[] = {COMMAND_ALIASES};

const struct fumi_shape *command_common(const struct command *c)
{
    return c->bare ? &help_shape : &common_shape;
}

/* "projectId" -> "project" */
static void shorten(struct fumi_arena *a, struct fumi_field *f)
{
    if (f->name_n > 2 && strcmp(f->name + f->name_n - 2, "Id") == 0) {
        f->name_n -= 2;
        f->name = fumi_fmt(a, "%.*s", (int)f->name_n, f->name).p;
    }
}

struct inherited {
    struct fumi_arena *a;
    const struct command *c;
    struct fumi_field *named, *plain; /* where the next field goes: as a flag, and as a param */
};

static void inherit(struct inherited *to, const struct fumi_field *f, size_t base)
{
    struct fumi_field *flag = to->named++;
    *to->plain = *flag = *f;
    flag->flags &= ~(unsigned)FUMI_REQUIRED;
    flag->min = flag->max = 0;
    flag->check = NULL;
    flag->offset += base;
    if (to->c->nested && flag->type == FUMI_T_TIME)
        flag->type = FUMI_T_STR; /* an empty one clears the member */
    shorten(to->a, flag);
    to->plain++;
}

static size_t fields_of(const struct command *c, const struct fumi_shape *params)
{
    size_t n = params->n;
    for (size_t i = 0; i < params->n; i++)
        n += c->nested && params->fields[i].shape ? params->fields[i].shape->n : 0;
    return n;
}

struct flag_set command_inherited(struct fumi_arena *a, const struct command *c)
{
    static const struct fumi_shape none = {.given = FUMI_NONE, .ignored = FUMI_NONE};
    const struct fumi_method *m = memory_method(c->method);
    const struct fumi_shape *params = m->params ? m->params : &none;
    struct fumi_shape *flags = fumi_alloc(a, 2 * sizeof(*flags)), *wire = flags + 1;
    *flags = *wire = *params;
    size_t most = fields_of(c, flags);
    struct fumi_field *named = fumi_alloc(a, (2 * most + 1) * sizeof(*named));
    struct inherited to = {a, c, named, named + most};
    for (size_t i = 0; i < flags->n; i++) {
        const struct fumi_field *f = &params->fields[i];
        bool nested = c->nested && strcmp(f->name, c->nested) == 0;
        for (size_t k = 0; nested && k < f->shape->n; k++)
            inherit(&to, &f->shape->fields[k], f->offset);
        if (!nested && !(c->word_param && strcmp(f->name, c->word_param) == 0))
            inherit(&to, f, 0);
    }
    flags->n = wire->n = (size_t)(to.named - named);
    flags->fields = named;
    wire->fields = named + most;
    return (struct flag_set){flags, fumi_alloc(a, flags->size + 1), wire};
}

struct flag_table command_flags(struct fumi_arena *a, const struct command *c,
                                struct flag_set sets[COMMAND_SETS])
{
    struct flag_table t = {.sets = sets, .aliases = c->aliases ? c->aliases : command_aliases};
    if (c->method)
        sets[t.n++] = command_inherited(a, c);
    if (c->shape)
        sets[t.n++] = (struct flag_set){.shape = c->shape};
    if (command_printing(c))
        sets[t.n++] = (struct flag_set){.shape = command_printing(c)};
    if (c->serves)
        sets[t.n++] = (struct flag_set){.shape = &fumi_settings_shape};
    if (c->writes)
        sets[t.n++] = (struct flag_set){.shape = &command_writing};
    sets[t.n++] = (struct flag_set){.shape = command_common(c)};
    return t;
}

int command_fail(enum status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

int command_misuse(const struct invocation *i, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("error: ", stderr);
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\nrun 'fumi help %s' for usage\n", i->command->name);
    va_end(args);
    return STATUS_USAGE;
}

enum status command_status(int code)
{
    static const struct {
        int code;
        enum status status;
    } known[] = {
        {FUMI_INVALID_PARAMS, STATUS_USAGE},
        {FUMI_INVALID_REQUEST, STATUS_USAGE},
        {FUMI_PARSE_ERROR, STATUS_USAGE},
        {ERR_KEY_PREFIX, STATUS_USAGE},
        {FUMI_METHOD_NOT_FOUND, STATUS_MISSING},
        {ERR_NOT_FOUND, STATUS_MISSING},
        {ERR_CONFLICT, STATUS_TAKEN},
        {ERR_NO_API_KEY, STATUS_PROVIDER},
        {ERR_PROVIDER, STATUS_PROVIDER},
        {ERR_NEWER, STATUS_NEWER},
    };
    for (size_t i = 0; i < FUMI_COUNT(known); i++) {
        if (known[i].code == code)
            return known[i].status;
    }
    return STATUS_FAILED;
}

/* Prints the remedy in the data of an error, if it has one. */
static void report_remedy(struct fumi_arena *a, const struct fumi_val *data)
{
    struct fumi_str remedy = show_line(a, fumi_text(a, fumi_get(data, "remedy")));
    if (remedy.n)
        fprintf(stderr, "remedy: %.*s\n", FUMI_ARG(remedy));
}

static bool ends_with(struct fumi_str s, struct fumi_str end)
{
    return end.n <= s.n && !memcmp(s.p + s.n - end.n, end.p, end.n);
}

int command_report(const struct fumi_err *e)
{
    struct fumi_arena a = {0};
    struct fumi_err ignored;
    const struct fumi_val *data = e->data.n ? fumi_parse(&a, e->data, &ignored) : NULL;
    struct fumi_str text = show_line(&a, fumi_str(e->text));
    struct fumi_str detail = show_line(&a, fumi_text(&a, data));
    if (ends_with(text, detail)) /* as in "Invalid params: ..." */
        detail.n = 0;
    fprintf(stderr, "error: %.*s%s%.*s\n", FUMI_ARG(text), detail.n ? ": " : "", FUMI_ARG(detail));
    report_remedy(&a, data);
    fumi_arena_done(&a);
    return command_status(e->code);
}

struct fumi_str command_joined(struct fumi_arena *a, struct fumi_strs words)
{
    size_t n = 0;
    for (size_t i = 0; i < words.n; i++)
        n += words.items[i].n + 1;
    char *out = fumi_alloc(a, n + 1), *to = out;
    for (size_t i = 0; i < words.n; i++) {
        if (i)
            *to++ = ' ';
        memcpy(to, words.items[i].p, words.items[i].n);
        to += words.items[i].n;
    }
    return (struct fumi_str){out, (size_t)(to - out)};
}

int command_input(struct fumi_arena *a, size_t limit, struct fumi_str *out, struct fumi_err *e)
{
    struct fumi_buf in = {.limit = limit};
    ssize_t n = 1;
    while (n > 0 && !in.full) {
        char bytes[16384];
        n = read(0, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            fumi_buf_add(&in, bytes, (size_t)n);
    }
    *out = fumi_dup(a, fumi_buf_str(&in));
    bool full = in.full;
    fumi_buf_done(&in);
    if (n < 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "standard input cannot be read: %s",
                            strerror(errno));
    if (full)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "standard input has more than %zu bytes",
                            limit);
    if (!fumi_utf8_valid(*out))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "standard input is not UTF-8 text");
    return 0;
}

void command_print(struct fumi_buf *b)
{
    fwrite(fumi_buf_str(b).p, 1, b->n, stdout);
    fumi_buf_done(b);
}
