/* Functions shared by the formats, and the format of Markdown blocks. */
#include "app/setup.h"

#include <assert.h>
#include <stdarg.h>

enum { SHOWN = 70 }; /* bytes of the file name, so that the remedy fits into the error */

const char *setup_eol(struct fumi_str text)
{
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    return end && end > text.p && end[-1] == '\r' ? "\r\n" : "\n";
}

struct fumi_str setup_splice(struct fumi_arena *a, struct fumi_str text, size_t at, size_t n,
                             struct fumi_str by)
{
    assert(at <= text.n && n <= text.n - at);
    char *out = fumi_alloc(a, text.n - n + by.n + 1), *to = out;
    if (at)
        memcpy(to, text.p, at);
    if (by.n)
        memcpy(to + at, by.p, by.n);
    if (text.n - at - n)
        memcpy(to + at + by.n, text.p + at + n, text.n - at - n);
    return (struct fumi_str){out, text.n - n + by.n};
}

int setup_fail_at(struct fumi_err *e, const struct setup_text *t, size_t at, const char *fmt, ...)
{
    char why[sizeof(e->text)];
    size_t line = 1, n = t->name.n > SHOWN ? SHOWN : t->name.n;
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    for (size_t i = 0; i < at && i < t->text.n; i++)
        line += t->text.p[i] == '\n';
    return fumi_err_set(e, FUMI_INVALID_PARAMS, "%.*s: line %zu: %s", (int)n,
                        t->name.p + t->name.n - n, line, why);
}

#define BEGIN_MARK "<!-- fumi:begin -->"
#define END_MARK   "<!-- fumi:end -->"

/* Finds the block from the first marker to the end of the second; n is 0 if there is none. */
static int locate(const struct setup_text *t, size_t *at, size_t *n, struct fumi_err *e)
{
    struct fumi_str s = t->text;
    const char *begin = s.n ? memmem(s.p, s.n, BEGIN_MARK, sizeof(BEGIN_MARK) - 1) : NULL;
    *at = *n = 0;
    if (!begin)
        return 0;
    size_t left = s.n - (size_t)(begin - s.p);
    const char *end = memmem(begin, left, END_MARK, sizeof(END_MARK) - 1);
    *at = (size_t)(begin - s.p);
    if (!end)
        return setup_fail_at(e, t, *at,
                             BEGIN_MARK " without " END_MARK
                                        "; nothing was changed: add the end, or remove the block");
    end += sizeof(END_MARK) - 1;
    *n = (size_t)(end - begin);
    return 0;
}

static int find_block(struct fumi_arena *a, const struct setup_spot *spot,
                      const struct setup_text *t, struct fumi_str *found, struct fumi_err *e)
{
    size_t at, n;
    (void)spot;
    if (locate(t, &at, &n, e))
        return -1;
    *found = n ? fumi_dup(a, (struct fumi_str){t->text.p + at, n}) : (struct fumi_str){0};
    return 0;
}

/* Converts the line breaks of the entry to those of the text. */
static struct fumi_str with_eol(struct fumi_arena *a, struct fumi_str entry, const char *eol)
{
    struct fumi_buf b = {0};
    for (size_t i = 0; i < entry.n; i++) {
        if (entry.p[i] == '\n')
            fumi_buf_add(&b, eol, strlen(eol));
        else if (entry.p[i] != '\r')
            fumi_buf_put(&b, entry.p[i]);
    }
    return fumi_buf_keep(&b, a);
}

static int put_block(struct fumi_arena *a, const struct setup_spot *spot,
                     const struct setup_text *t, struct fumi_str entry, struct fumi_str *out,
                     struct fumi_err *e)
{
    size_t at, n;
    const char *eol = setup_eol(t->text);
    (void)spot;
    if (locate(t, &at, &n, e))
        return -1;
    entry = with_eol(a, entry, eol);
    if (n) {
        *out = setup_splice(a, t->text, at, n, entry);
        return 0;
    }
    bool ends = !t->text.n || t->text.p[t->text.n - 1] == '\n';
    entry = fumi_fmt(a, "%s%s%.*s%s", ends ? "" : eol, t->text.n ? eol : "", FUMI_ARG(entry), eol);
    *out = setup_splice(a, t->text, t->text.n, 0, entry);
    return 0;
}

/* Also removes the line break after the block and the blank line that put_block adds before it. */
static int drop_block(struct fumi_arena *a, const struct setup_spot *spot,
                      const struct setup_text *t, struct fumi_str *out, struct fumi_err *e)
{
    size_t at, n;
    struct fumi_str s = t->text;
    const char *eol = setup_eol(s);
    size_t width = strlen(eol);
    (void)spot;
    if (locate(t, &at, &n, e))
        return -1;
    if (n && s.n - at - n >= width && memcmp(s.p + at + n, eol, width) == 0)
        n += width;
    if (n && at >= 2 * width && memcmp(s.p + at - width, eol, width) == 0 &&
        memcmp(s.p + at - 2 * width, eol, width) == 0) {
        at -= width;
        n += width;
    }
    *out = setup_splice(a, s, at, n, FUMI_STR(""));
    return 0;
}

const struct setup_format setup_block = {find_block, put_block, drop_block};
