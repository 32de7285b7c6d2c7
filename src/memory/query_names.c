#include "memory/query_names.h"

#include "base/buf.h"
#include "store/words.h"

enum { NOTES_MIN = 50, COMMON = 5 }; /* common: in more than 1/5 of the notes */

static bool is_common(const struct query_word *w, const struct keyword_hits *words)
{
    return w->notes > words->notes / COMMON;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Whether the byte before or after a word connects it to an identifier such as NODE_ENV. */
static bool connects(struct fumi_str s, size_t at, size_t beyond)
{
    static const char always[] = "_-/\\@#";
    if (at >= s.n)
        return false;
    if (is_alnum(s.p[at]) || (s.p[at] && strchr(always, s.p[at])))
        return true;
    return (s.p[at] == '.' || s.p[at] == ':') && beyond < s.n && is_alnum(s.p[beyond]);
}

static bool is_name(struct fumi_str query, const struct query_word *w)
{
    struct fumi_str word = {query.p + w->begin, w->end - w->begin};
    return words_capitalised(word) && !connects(query, w->begin - 1u, w->begin - 2u) &&
           !connects(query, w->end, w->end + 1u);
}

/* The end of a word with its possessive: "Anna's". */
static size_t end_of(struct fumi_str query, const struct query_word *w)
{
    static const struct fumi_str endings[] = {FUMI_STR("'s"), FUMI_STR("\u2019s")};
    struct fumi_str rest = {query.p + w->end, query.n - w->end};
    for (size_t i = 0; i < FUMI_COUNT(endings); i++)
        if (fumi_starts(rest, endings[i]) &&
            (rest.n == endings[i].n || !is_alnum(rest.p[endings[i].n])))
            return w->end + endings[i].n;
    return w->end;
}

struct fumi_str query_without_names(struct fumi_arena *a, struct fumi_str query,
                                    const struct keyword_hits *words)
{
    struct fumi_buf b = {0};
    size_t from = 0;
    bool useful = false;
    if (words->notes < NOTES_MIN)
        return query;
    for (size_t i = 0; i < words->words_n; i++) {
        const struct query_word *w = &words->words[i];
        bool common = is_common(w, words);
        useful = useful || !common;
        if (w->begin < from || !common || !is_name(query, w))
            continue;
        fumi_buf_add(&b, query.p + from, w->begin - from);
        from = end_of(query, w);
        while (from < query.n && query.p[from] == ' ')
            from++;
    }
    if (from)
        fumi_buf_add(&b, query.p + from, query.n - from);
    struct fumi_str rest = fumi_buf_keep(&b, a);
    return useful && from ? rest : query;
}
