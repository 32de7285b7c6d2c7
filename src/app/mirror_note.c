#include "app/import_formats.h"
#include "app/mirror.h"
#include "base/chars.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"

#include <inttypes.h>
#include <strings.h>

enum { SLUG_MAX = 60, SHORT_ID = 8 };

/* The lines of the front matter, in their order. */
static const struct {
    const char *name;
    size_t column;
} lines[] = {
    {"id", NOTE_INDEX_ID},
    {"project", NOTE_INDEX_PROJECT},
    {"group", NOTE_INDEX_GROUP},
    {"title", NOTE_INDEX_TITLE},
    {"tags", NOTE_INDEX_TAGS},
    {"source", NOTE_INDEX_SOURCE},
    {"session", NOTE_INDEX_SESSION},
    {"key", NOTE_INDEX_KEY},
    {"created", NOTE_INDEX_CREATED},
    {"expires", NOTE_INDEX_EXPIRES},
    {"metadata", NOTE_INDEX_METADATA},
};

static void add(struct fumi_buf *b, const char *s)
{
    fumi_buf_add(b, s, strlen(s));
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Whether YAML reads the text without quotes as a number, a truth value or null. */
static bool is_value(struct fumi_str s)
{
    static const char *const names[] = {"true", "false", "null", "yes", "no", "on", "off"};
    size_t i = 0;
    for (size_t k = 0; k < FUMI_COUNT(names); k++)
        if (s.n == strlen(names[k]) && strncasecmp(s.p, names[k], s.n) == 0)
            return true;
    while (i < s.n && strchr("0123456789.,:_+-eExXoO", s.p[i]))
        i++;
    return i == s.n;
}

/* Whether the text can be written without quotes. In a list, commas and brackets end a value. */
static bool is_plain(struct fumi_str s, bool in_list)
{
    if (!s.n || !(is_word(s.p[0]) || s.p[0] == '/') || s.p[s.n - 1] == ' ' || is_value(s))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char next = i + 1 < s.n ? s.p[i + 1] : ' ';
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7F || (s.p[i] == ':' && next == ' ') ||
            (s.p[i] == ' ' && next == '#') || (in_list && strchr(",[]{}\"'", s.p[i])))
            return false;
    }
    return !note_line_fault(s);
}

static void put_text(struct fumi_buf *b, struct fumi_str s, bool in_list)
{
    if (is_plain(s, in_list))
        fumi_buf_add(b, s.p, s.n);
    else
        fumi_put_str(&(struct fumi_out){.buf = b}, s);
}

static void put_list(struct fumi_buf *b, struct fumi_strs list)
{
    add(b, "[");
    for (size_t i = 0; i < list.n; i++) {
        add(b, i ? ", " : "");
        put_text(b, list.items[i], true);
    }
    add(b, "]");
}

/* JSON without white space, so that equal objects give equal lines. */
static void put_json(struct fumi_buf *b, struct fumi_str json)
{
    struct fumi_arena a = {0};
    struct fumi_err ignored;
    struct fumi_str compact = fumi_compact(&a, fumi_parse(&a, json, &ignored)).text;
    fumi_buf_add(b, compact.p, compact.n);
    fumi_arena_done(&a);
}

static bool has(const struct note *n, size_t column)
{
    enum fumi_type type = note_columns[column].type;
    return type == FUMI_T_STRS   ? n->tags.n > 0
           : type == FUMI_T_TIME ? note_time_of(n, column).set
                                 : note_text_of(n, column).p != NULL;
}

static void put_member(struct fumi_buf *b, const struct note *n, size_t column)
{
    char time[FUMI_TIME_SIZE];
    enum fumi_type type = note_columns[column].type;
    if (type == FUMI_T_STRS) {
        put_list(b, n->tags);
    } else if (type == FUMI_T_TIME) {
        fumi_time_write(note_time_of(n, column).ms, time);
        fumi_buf_add(b, time, sizeof(time));
    } else if (type == FUMI_T_JSON) {
        put_json(b, note_text_of(n, column));
    } else {
        put_text(b, note_text_of(n, column), false);
    }
}

static void put_members(struct fumi_buf *b, const struct note *n)
{
    add(b, "---\n");
    for (size_t i = 0; i < FUMI_COUNT(lines); i++) {
        if (!has(n, lines[i].column))
            continue;
        add(b, lines[i].name);
        add(b, ": ");
        put_member(b, n, lines[i].column);
        add(b, "\n");
    }
}

struct fumi_str mirror_version(struct fumi_arena *a, const struct note *n)
{
    struct fumi_buf b = {0};
    struct fumi_str text = note_trimmed(n->text);
    put_members(&b, n);
    fumi_buf_add(&b, text.p, text.n);
    uint64_t sum = (uint64_t)note_said(FUMI_STR("mirror"), FUMI_STR(""), fumi_buf_str(&b));
    fumi_buf_done(&b);
    return fumi_fmt(a, "%016" PRIx64, sum);
}

void mirror_write_note(struct fumi_buf *out, const struct note *n)
{
    struct fumi_arena a = {0};
    struct fumi_str version = mirror_version(&a, n);
    put_members(out, n);
    add(out, "version: ");
    put_text(out, version, false);
    add(out, "\n---\n\n");
    fumi_buf_add(out, n->text.p, n->text.n);
    add(out, "\n");
    fumi_arena_done(&a);
}

static int refuse(struct fumi_err *e, const struct import_entry *at, const char *why)
{
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "line %zu: %.*s%s%s", at->line, FUMI_ARG(at->key),
                        at->key.n ? " " : "", why);
}

static int read_json(struct fumi_arena *a, const struct import_entry *at, struct fumi_str *out,
                     struct fumi_err *e)
{
    struct fumi_err ignored;
    const struct fumi_val *v = fumi_parse(a, at->raw, &ignored);
    if (!fumi_is(v, FUMI_OBJECT))
        return refuse(e, at, "must be a JSON object in one line");
    *out = at->raw;
    return 0;
}

/* Tags are a list, or words between commas or blanks. */
static void read_tags(struct fumi_arena *a, const struct import_entry *at, struct fumi_strs *out)
{
    struct fumi_strs tags = at->values;
    if (!at->list) {
        tags = (struct fumi_strs){0};
        import_split(a, at->raw, ", ", &tags);
    }
    for (size_t i = 0; i < tags.n; i++) {
        struct fumi_str tag = tags.items[i];
        bool hash = !at->list && tag.n > 1 && tag.p[0] == '#';
        import_append(a, out, hash ? (struct fumi_str){tag.p + 1, tag.n - 1} : tag);
    }
}

static int read_member(struct fumi_arena *a, const struct import_entry *at, size_t column,
                       struct note *n, struct fumi_err *e)
{
    enum fumi_type type = note_columns[column].type;
    if (type == FUMI_T_STRS)
        return read_tags(a, at, &n->tags), 0;
    if (!at->raw.n && !at->list)
        return 0;
    if (type == FUMI_T_JSON)
        return read_json(a, at, note_text_at(n, column), e);
    if (at->values.n != 1 || at->list)
        return refuse(e, at, "must be one value");
    if (type == FUMI_T_TIME && !import_time(a, at->values.items[0], note_time_at(n, column)))
        return refuse(e, at, "must be a time like 2026-11-15T21:48:58Z");
    if (type == FUMI_T_STR)
        *note_text_at(n, column) = at->values.items[0];
    return 0;
}

/* Adds a member to the metadata, instead of one with the same name. */
static int add_metadata(struct fumi_arena *a, const struct import_entry *at,
                        struct fumi_str *metadata, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    const struct fumi_val *v = metadata->p ? fumi_parse(a, *metadata, e) : NULL;
    if (at->nested)
        return refuse(e, at, "is not understood: only \"key: value\" and lists are read");
    if (!at->values.n)
        return 0;
    fumi_put_open(&o, '{');
    for (const struct fumi_val *key = fumi_first(v); key; key = fumi_after(v, key)) {
        if (fumi_text_is(key, at->key))
            continue;
        fumi_put_key_str(&o, fumi_text(a, key));
        fumi_put_val(&o, fumi_of(key));
    }
    import_put_entry(&o, at);
    fumi_put_close(&o, '}');
    *metadata = fumi_buf_keep(&b, a);
    return 0;
}

/* Reads an entry. `metadata`: the second pass, over the keys that are no members. */
static int read_entry(struct fumi_arena *a, const struct import_entry *at, bool metadata,
                      struct mirror_note *out, struct fumi_err *e)
{
    if (!at->key.p)
        return refuse(e, at, "only \"key: value\" and lists are read in the front matter");
    for (size_t i = 0; i < FUMI_COUNT(lines); i++) {
        if (at->inner || !fumi_eq(at->key, fumi_str(lines[i].name)))
            continue;
        out->given |= 1u << lines[i].column;
        return metadata ? 0 : read_member(a, at, lines[i].column, &out->note, e);
    }
    if (!at->inner && fumi_eq(at->key, FUMI_STR("version"))) {
        out->version = at->values.n == 1 ? at->values.items[0] : FUMI_STR("");
        return 0;
    }
    return metadata ? add_metadata(a, at, &out->note.metadata.text, e) : 0;
}

int mirror_read_note(struct fumi_arena *a, struct fumi_str text, struct mirror_note *out,
                     struct fumi_err *e)
{
    struct import_entries all;
    *out = (struct mirror_note){.given = 0};
    if (!fumi_utf8_valid(text))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the file is not UTF-8 text");
    import_entries_read(a, text, &all);
    for (size_t i = 0; i < 2 * all.n; i++)
        if (read_entry(a, &all.items[i % all.n], i >= all.n, out, e))
            return -1;
    struct fumi_str body = {all.body.p, (size_t)(all.body.end - all.body.p)};
    while (body.n && strchr("\r\n", body.p[0]))
        body.p++, body.n--;
    while (body.n && strchr("\r\n", body.p[body.n - 1]))
        body.n--;
    out->note.text = body;
    if (out->note.id.p && !fumi_is_uuid(out->note.id))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "id must be a UUID: remove the line to store a new note");
    return 0;
}

/* The words of a text between hyphens, without what would be special in a path. */
static struct fumi_str slug(struct fumi_arena *a, struct fumi_str s)
{
    char *to = fumi_alloc(a, SLUG_MAX + 8);
    size_t n = 0, len;
    for (const char *p = s.p, *end = fumi_end(s); p < end && *p != '\n'; p += len) {
        uint32_t c = fumi_char_at(p, end, &len);
        bool word = c < 0x80 ? is_word((char)c) || c == '.' : fumi_char_kind(c) == FUMI_CHAR_PLAIN;
        bool blank = !word || c == 0x3000 || c == 0xA0 || c == 0xFFFD || (c == '.' && !n);
        if (n + len > SLUG_MAX)
            break;
        if (!blank)
            memcpy(to + n, p, len), n += len;
        else if (n && to[n - 1] != '-')
            to[n++] = '-';
    }
    while (n && strchr("-.", to[n - 1]))
        n--;
    return (struct fumi_str){to, n};
}

/* A name that is not its own slug, such as a path, gets a hash, because others may give the same
 * slug. */
static struct fumi_str folder(struct fumi_arena *a, struct fumi_str name)
{
    struct fumi_str last = import_base_name(name), is = slug(a, last);
    if (fumi_eq(is, name))
        return is;
    uint32_t sum = (uint32_t)note_said(name, FUMI_STR(""), FUMI_STR(""));
    return fumi_fmt(a, "%.*s%s%08" PRIx32, FUMI_ARG(is), is.n ? "-" : "", sum);
}

struct fumi_str mirror_folder(struct fumi_arena *a, struct fumi_str project)
{
    return folder(a, project);
}

/* The name of a group is its folder, unless an older version stored another one. */
static struct fumi_str group_folder(struct fumi_arena *a, struct fumi_str group)
{
    return note_group_fault(group) || group.n > 200 ? folder(a, group) : group;
}

struct fumi_str mirror_dir(struct fumi_arena *a, const struct note *n)
{
    struct fumi_str project = folder(a, n->project), group = group_folder(a, n->group);
    return fumi_fmt(a, "%.*s/%.*s", FUMI_ARG(project), FUMI_ARG(group));
}

struct fumi_str mirror_name(struct fumi_arena *a, const struct note *n, bool whole)
{
    struct fumi_str words = slug(a, n->title.n ? n->title : note_trimmed(n->text));
    struct fumi_str id = {n->id.p, whole || n->id.n < SHORT_ID ? n->id.n : SHORT_ID};
    return fumi_fmt(a, "%.*s%s%.*s.md", FUMI_ARG(words), words.n ? "-" : "", FUMI_ARG(id));
}
