#include "model/note.h"

#include "base/chars.h"

#define UPDATABLE_PATCHED NOTE_UPDATABLE
#define UPDATABLE_ABSENT  0
#define COLUMN(T, at, NAME, member, type, wire, sql, flags, p, pf, update, ...)                    \
    {wire, offsetof(struct note, member), FUMI_TYPE_OF(struct note, member),                       \
     (flags) | UPDATABLE_##update},
const struct note_column note_columns[NOTE_INDEX_N] = {NOTE_COLUMNS(COLUMN, , )};

/* The store and note_assign know these types only; the tags are special. */
#define TYPE_FITS(T, at, NAME, member, type, ...)                                                  \
    _Static_assert(_Generic((type){0}, struct fumi_str : 1, struct fumi_json : 1,                  \
                            struct fumi_time : 1, default : 0) ||                                  \
                       NOTE_INDEX_##NAME == NOTE_INDEX_TAGS,                                       \
                   "a member of a note must be a string, JSON or a time");
NOTE_COLUMNS(TYPE_FITS, , )

static const void *at(const struct note *n, size_t column)
{
    return (const char *)n + note_columns[column].offset;
}

struct fumi_str *note_text_at(struct note *n, size_t column)
{
    void *p = (char *)n + note_columns[column].offset;
    if (note_columns[column].type == FUMI_T_STR)
        return p;
    return note_columns[column].type == FUMI_T_JSON ? &((struct fumi_json *)p)->text : NULL;
}

struct fumi_time *note_time_at(struct note *n, size_t column)
{
    void *p = (char *)n + note_columns[column].offset;
    return note_columns[column].type == FUMI_T_TIME ? p : NULL;
}

struct fumi_str note_text_of(const struct note *n, size_t column)
{
    enum fumi_type type = note_columns[column].type;
    return type == FUMI_T_STR || type == FUMI_T_JSON ? *(const struct fumi_str *)at(n, column)
                                                     : (struct fumi_str){0};
}

struct fumi_time note_time_of(const struct note *n, size_t column)
{
    return note_columns[column].type == FUMI_T_TIME ? *(const struct fumi_time *)at(n, column)
                                                    : (struct fumi_time){0};
}

static size_t size_of(enum fumi_type type)
{
    switch (type) {
    case FUMI_T_STRS:
        return sizeof(struct fumi_strs);
    case FUMI_T_TIME:
        return sizeof(struct fumi_time);
    default: /* JSON is a string in a struct */
        return sizeof(struct fumi_str);
    }
}

void note_assign(struct note *n, const struct note *from, unsigned set)
{
    for (size_t i = 0; i < NOTE_INDEX_N; i++)
        if (set >> i & 1)
            memcpy((char *)n + note_columns[i].offset, at(from, i), size_of(note_columns[i].type));
}

static bool same_str(const struct fumi_str *a, const struct fumi_str *b)
{
    return a->p && b->p ? fumi_eq(*a, *b) : !a->p && !b->p;
}

static bool same_strs(const struct fumi_strs *a, const struct fumi_strs *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = fumi_eq(a->items[i], b->items[i]);
    return same;
}

static bool same_time(const struct fumi_time *a, const struct fumi_time *b)
{
    return a->set == b->set && (!a->set || a->ms == b->ms);
}

bool note_same_member(const struct note *one, const struct note *other, size_t column)
{
    const void *a = at(one, column), *b = at(other, column);
    enum fumi_type type = note_columns[column].type;
    return type == FUMI_T_STRS   ? same_strs(a, b)
           : type == FUMI_T_TIME ? same_time(a, b)
                                 : same_str(a, b);
}

bool note_same(const struct note *given, const struct note *stored)
{
    bool same = true;
    for (size_t i = 0; same && i < NOTE_INDEX_N; i++)
        same = (i == NOTE_INDEX_CREATED && !given->created.set) ||
               (i == NOTE_INDEX_SUPERSEDED_BY && !given->superseded_by.p) ||
               note_same_member(given, stored, i);
    return same;
}

size_t note_bytes(const struct note *n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < NOTE_INDEX_N; i++) {
        if (!(note_columns[i].flags & NOTE_FREE_TEXT))
            continue;
        const struct fumi_strs *list = at(n, i);
        if (note_columns[i].type != FUMI_T_STRS)
            bytes += ((const struct fumi_str *)at(n, i))->n;
        for (size_t k = 0; note_columns[i].type == FUMI_T_STRS && k < list->n; k++)
            bytes += list->items[k].n;
    }
    return bytes;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

const char *note_group_fault(struct fumi_str group)
{
    for (size_t i = 0; i < group.n; i++)
        if (!is_name_char(group.p[i]))
            return "contains invalid characters: use letters, digits, '_' and '-'";
    return group.n > GROUP_MAX ? "must have at most 128 characters" : NULL;
}

const char *note_given_group_fault(struct fumi_str group)
{
    return group.n == 0 ? "is required" : note_group_fault(group);
}

const char *note_title_fault(struct fumi_str title)
{
    return title.n > NOTE_TITLE_MAX ? "must have at most 4096 bytes" : note_line_fault(title);
}

const char *note_source_fault(struct fumi_str source)
{
    return source.n > NOTE_SOURCE_MAX ? "must have at most 4096 bytes" : note_line_fault(source);
}

const char *note_tag_fault(struct fumi_str tag)
{
    return tag.n > NOTE_TAG_MAX ? "must have at most 128 bytes" : note_line_fault(tag);
}

const char *note_session_fault(struct fumi_str session)
{
    if (session.n == 0)
        return "must not be empty: leave it out";
    return session.n > NOTE_SESSION_MAX ? "must have at most 256 bytes" : note_line_fault(session);
}

const char *note_subject_fault(struct fumi_str key)
{
    static const char others[] = "._-/:";
    if (key.n == 0)
        return "must not be empty: leave it out";
    for (size_t i = 0; i < key.n; i++)
        if (!is_name_char(key.p[i]) && !memchr(others, key.p[i], sizeof(others) - 1))
            return "contains invalid characters: use letters, digits, '.', '_', '-', '/' and ':'";
    return key.n > NOTE_SUBJECT_MAX ? "must have at most 128 characters" : NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct fumi_str note_trimmed(struct fumi_str text)
{
    for (; text.n && is_blank(text.p[0]); text.p++, text.n--)
        ;
    for (; text.n && is_blank(text.p[text.n - 1]); text.n--)
        ;
    return text;
}

static uint64_t chain_add(uint64_t sum, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ p[i]) * UINT64_C(0x100000001B3);
    return (sum ^ 0xFF) * UINT64_C(0x100000001B3); /* separates two strings */
}

int64_t note_chain(const struct note *n)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    sum = chain_add(sum, n->project.p, n->project.n);
    sum = chain_add(sum, n->group.p, n->group.n);
    if (n->session.p)
        sum = chain_add(sum, n->session.p, n->session.n);
    else if (n->writer)
        sum = chain_add(sum ^ 1, &n->writer, sizeof(n->writer));
    else
        return 0;
    return (int64_t)(sum >> 1 | 1);
}

int64_t note_said(struct fumi_str project, struct fumi_str group, struct fumi_str text)
{
    struct fumi_str t = note_trimmed(text);
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    sum = chain_add(sum, project.p, project.n);
    sum = chain_add(sum, group.p, group.n);
    return (int64_t)chain_add(sum, t.p, t.n);
}

const char *note_key_fault(struct fumi_str key)
{
    if (fumi_eq(key, FUMI_STR("global")))
        return "contains invalid characters or is reserved: \"global\" always exists and cannot "
               "be created";
    if (key.n > GROUP_MAX)
        return "must have at most 128 characters";
    return note_group_fault(key)
               ? "contains invalid characters or is reserved: use letters, digits, "
                 "'_' and '-'"
               : NULL;
}

const char *note_line_fault(struct fumi_str s)
{
    size_t n;
    if (!s.n)
        return NULL;
    for (const char *p = s.p, *end = p + s.n; p < end; p += n)
        if (fumi_char_kind(fumi_char_at(p, end, &n)) != FUMI_CHAR_PLAIN)
            return "must be one line of visible text: leave out line breaks, control characters "
                   "and bidirectional controls";
    return NULL;
}

struct fumi_str note_line(struct fumi_arena *a, struct fumi_str s)
{
    if (!note_line_fault(s))
        return s;
    char *out = fumi_alloc(a, s.n + 1);
    size_t n, to = 0;
    bool gap = false;
    for (const char *p = s.p, *end = p + s.n; p < end; p += n) {
        enum fumi_char kind = fumi_char_kind(fumi_char_at(p, end, &n));
        gap |= kind == FUMI_CHAR_BREAK || kind == FUMI_CHAR_CONTROL;
        if (kind != FUMI_CHAR_PLAIN)
            continue;
        if (gap && to)
            out[to++] = ' ';
        gap = false;
        memcpy(out + to, p, n);
        to += n;
    }
    return (struct fumi_str){out, to};
}

int global_key_check(struct fumi_str key, struct fumi_err *e)
{
    const struct fumi_str prefix = FUMI_STR("global.");
    if (!fumi_starts(key, prefix))
        return fumi_err_set(e, ERR_KEY_PREFIX, "key must start with 'global.'");
    if (key.n == prefix.n)
        return fumi_err_set(e, ERR_KEY_PREFIX,
                            "key must start with 'global.': a name must follow the prefix");
    if (key.n > GROUP_MAX)
        return fumi_err_set(e, ERR_KEY_PREFIX,
                            "key must start with 'global.': it must have at most 128 characters");
    for (size_t i = prefix.n; i < key.n; i++)
        if (!is_name_char(key.p[i]) && key.p[i] != '.')
            return fumi_err_set(e, ERR_KEY_PREFIX,
                                "key must start with 'global.': only letters, digits, '.', '_' "
                                "and '-' may follow the prefix");
    return 0;
}

static bool has_tag(struct fumi_strs tags, struct fumi_str tag)
{
    for (size_t i = 0; i < tags.n; i++)
        if (fumi_eq(tags.items[i], tag))
            return true;
    return false;
}

bool filter_has_tags(const struct filter *f)
{
    return f->tags.n || f->any_tags.n;
}

bool filter_passes_tags(const struct filter *f, struct fumi_strs tags)
{
    bool any = !f->any_tags.n;
    for (size_t i = 0; i < f->tags.n; i++)
        if (!has_tag(tags, f->tags.items[i]))
            return false;
    for (size_t i = 0; i < f->any_tags.n && !any; i++)
        any = has_tag(tags, f->any_tags.items[i]);
    return any;
}
