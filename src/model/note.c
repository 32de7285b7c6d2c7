#include "model/note.h"

#include "base/chars.h"

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

const char *note_key_fault(struct fumi_str key)
{
    if (fumi_eq(key, FUMI_STR("global")))
        return "contains invalid characters or is reserved: \"global\" is always there and needs "
               "no "
               "creating";
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
                                "key must start with 'global.': after it only letters, digits, "
                                "'.', '_' and '-' may stand");
    return 0;
}
