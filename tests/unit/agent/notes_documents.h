/* The other documents of notes_reader.h, and how a document must show a given string. The
 * expectation is computed from the UTF-8 bytes, not by the code under test. */
#ifndef FUMI_NOTES_DOCUMENTS_H
#define FUMI_NOTES_DOCUMENTS_H

#include "model/note.h"
#include "notes_reader.h"

/* The prompt "recall". */
static inline bool read_recall(struct fumi_arena *a, struct fumi_str text, struct seen *s)
{
    struct reader r;
    struct fumi_str count;
    bool cut;
    *s = (struct seen){0};
    if (!begin_reading(&r, a, text) || !eat(&r, "Answer from what is remembered about: ") ||
        !eat_quoted(&r, &s->of, &cut) || cut || !eat(&r, "\n\n") || !eat_notes(&r, s))
        return false;
    if (r.p < r.end &&
        !(eat_set(&r, DIGITS, &count) && eat(&r, " more were found: memory_search.\n")))
        return false;
    return s->n && r.p == r.end;
}

static inline bool eat_items(struct reader *r, struct seen *s)
{
    while (r->p < r->end && *r->p == '-') {
        if (eat(r, "- global.project.conventions: ")) {
            if (!eat_line(r, &s->setting))
                return false;
            continue;
        }
        if (s->n == SEEN_NOTES || !eat_item(r, &s->notes[s->n++]))
            return false;
    }
    return true;
}

/* The digest of the prompt "session_start" and of fumi hook session-start. */
static inline bool read_digest(struct fumi_arena *a, struct fumi_str text, struct seen *s)
{
    struct reader r;
    struct fumi_str count;
    bool cut;
    *s = (struct seen){0};
    if (!begin_reading(&r, a, text) || !eat(&r, "# Memory of ") || !eat_quoted(&r, &s->of, &cut) ||
        !eat(&r, "\n"))
        return false;
    while (eat(&r, "\n## Settings\n") || eat(&r, "\n## Rules and important notes\n") ||
           eat(&r, "\n## Newest of the group global\n"))
        if (!eat_items(&r, s))
            return false;
    if (eat(&r, "\nNotes in total: ") &&
        !(eat_set(&r, DIGITS, &count) && eat(&r, ". Use memory_search to find them.\n")))
        return false;
    if (eat_set(&r, DIGITS, &count) &&
        !eat(&r, " more notes did not fit: use memory_list_recent.\n"))
        return false;
    return r.p == r.end;
}

/* Byte sequences that must not be shown unchanged. The first matching row applies. */
static const struct special {
    size_t n;
    uint32_t first, last;
    enum { PLAIN, BREAK, TAB, CONTROL, HIDDEN } is;
} specials[] = {
    {2, 0x0D0A, 0x0D0A, BREAK},
    {1, 0x0A, 0x0D, BREAK},
    {2, 0xC285, 0xC285, BREAK},
    {3, 0xE280A8, 0xE280A9, BREAK},
    {1, 0x09, 0x09, TAB},
    {1, 0x00, 0x1F, CONTROL},
    {1, 0x7F, 0x7F, CONTROL},
    {2, 0xC280, 0xC29F, CONTROL},
    {3, 0xE280AA, 0xE280AE, HIDDEN},
    {3, 0xE281A6, 0xE281AF, HIDDEN},
    {3, 0xEFBBBF, 0xEFBBBF, HIDDEN},
    {3, 0xEFBFB9, 0xEFBFBB, HIDDEN},
    {4, 0xF3A08080, 0xF3A080BF, HIDDEN},
    {4, 0xF3A08180, 0xF3A081BF, HIDDEN},
};

/* The n bytes at p. */
static inline int special_at(const char *p, const char *end, size_t *n)
{
    for (size_t i = 0; i < FUMI_COUNT(specials); i++) {
        uint32_t number = 0;
        *n = specials[i].n;
        for (size_t k = 0; k < *n && (size_t)(end - p) >= *n; k++)
            number = number << 8 | (unsigned char)p[k];
        if ((size_t)(end - p) >= *n && number >= specials[i].first && number <= specials[i].last)
            return (int)specials[i].is;
    }
    *n = 1;
    return PLAIN;
}

/* A text of several lines. */
static inline struct fumi_str seen_text(struct fumi_arena *a, struct fumi_str s)
{
    static const char *const shown[] = {NULL, "\n", "\t", "\xEF\xBF\xBD", ""};
    struct fumi_buf b = {0};
    size_t n;
    for (const char *p = s.n ? s.p : "", *end = p + s.n; p < end; p += n) {
        int is = special_at(p, end, &n);
        fumi_buf_add(&b, is ? shown[is] : p, is ? strlen(shown[is]) : n);
    }
    return fumi_buf_keep(&b, a);
}

/* A title, tag, source or project. `flat`: a text on one line, in which spaces are collapsed too.
 */
static inline struct fumi_str seen_line(struct fumi_arena *a, struct fumi_str s, bool flat)
{
    struct fumi_buf b = {0};
    bool gap = false;
    size_t n;
    for (const char *p = s.n ? s.p : "", *end = p + s.n; p < end; p += n) {
        int is = special_at(p, end, &n);
        bool blank = flat && *p == ' ';
        gap |= blank || (is && is != HIDDEN);
        if (is || blank)
            continue;
        if (gap && b.n)
            fumi_buf_put(&b, ' ');
        gap = false;
        fumi_buf_add(&b, p, n);
    }
    return fumi_buf_keep(&b, a);
}

/* Whether the shown text is `want`, or a prefix of it if it is marked as cut. All of it, if only
 * hidden characters or the LF of a CR LF were cut. */
static inline bool same(struct fumi_str got, struct fumi_str want, bool cut)
{
    return cut ? fumi_starts(want, got) : fumi_eq(got, want);
}

static inline bool same_tags(struct fumi_arena *a, const struct seen_note *got,
                             const struct note *want)
{
    if (got->tags_n != want->tags.n)
        return false;
    for (size_t i = 0; i < got->tags_n; i++)
        if (!fumi_eq(got->tags[i], seen_line(a, want->tags.items[i], false)))
            return false;
    return true;
}

/* A note that is shown with its heading. */
static inline bool same_note(struct fumi_arena *a, const struct seen_note *got,
                             const struct note *want)
{
    return fumi_eq(got->id, want->id) && fumi_eq(got->group, want->group) &&
           fumi_eq(got->day, FUMI_STR("1970-01-01")) &&
           fumi_eq(got->title, seen_line(a, want->title, false)) &&
           fumi_eq(got->source, seen_line(a, want->source, false)) &&
           !got->title.p == !want->title.p && !got->source.p == !want->source.p &&
           same_tags(a, got, want) && same(got->text, seen_text(a, want->text), got->text_cut);
}

/* A note that is shown as a line. Tags that are too long are omitted, with the day. */
static inline bool same_item(struct fumi_arena *a, const struct seen_note *got,
                             const struct note *want)
{
    return fumi_eq(got->id, want->id) && (!got->day.n || same_tags(a, got, want)) &&
           same(got->title, seen_line(a, want->title, false), got->title_cut) &&
           !got->title.p == !want->title.p &&
           same(got->text, seen_line(a, want->text, true), got->text_cut);
}

#define S(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* The parts that random notes are made of. */
static const struct fumi_str pieces[] = {
    S("\n"),
    S("\r"),
    S("\r\n"),
    S("\x0B"),
    S("\x0C"),
    S("\xC2\x85"),
    S("\xE2\x80\xA8"),
    S("\xE2\x80\xA9"),
    S("\t"),
    S("\x1B["),
    S("\0"),
    S("\x7F"),
    S("\xC2\x9B"),
    S("\xE2\x80\xAE"),
    S("\xE2\x81\xA9"),
    S("\xEF\xBB\xBF"),
    S("\xF3\xA0\x81\x81"),
    S("\xE2\x80\x8F"),
    S(" "),
    S("    "),
    S("\""),
    S("\\"),
    S("\\\""),
    S("…"),
    S(" · "),
    S("## "),
    S("# "),
    S("- "),
    S("id "),
    S("- id 0000"),
    S(": "),
    S(", "),
    S(" · tags "),
    S(" · from "),
    S("(5 bytes more: memory_get)"),
    S("```"),
    S("---"),
    S("<!--"),
    S("word"),
    S("日本"),
    S("é"),
    S("😀"),
    S("0"),
    S("Project: "),
};

#endif
