#include "talk.h"

#include <stdio.h>

static bool matches(struct talk *t, const struct fumi_val *want, const struct fumi_val *got);

static bool same_items(struct talk *t, const struct fumi_val *want, const struct fumi_val *got)
{
    const struct fumi_val *w = fumi_first(want), *g = fumi_first(got);
    for (; w && g; w = fumi_after(want, w), g = fumi_after(got, g))
        if (!matches(t, w, g))
            return false;
    return !w && !g;
}

/* A member "..." stands for any others. */
static bool same_members(struct talk *t, const struct fumi_val *want, const struct fumi_val *got)
{
    if (!fumi_get(want, "...") && fumi_size(want) != fumi_size(got))
        return false;
    for (const struct fumi_val *w = fumi_first(want); w; w = fumi_after(want, w)) {
        struct fumi_str name = fumi_text(&t->arena, w);
        if (fumi_eq(name, FUMI_STR("...")))
            continue;
        const struct fumi_val *g = fumi_first(got);
        while (g && !fumi_text_is(g, name))
            g = fumi_after(got, g);
        if (!g || !matches(t, fumi_of(w), fumi_of(g)))
            return false;
    }
    return true;
}

static bool matches(struct talk *t, const struct fumi_val *want, const struct fumi_val *got)
{
    if (fumi_text_is(want, FUMI_STR("*")))
        return true;
    struct fumi_str mark = fumi_text(&t->arena, want);
    if (mark.n > 1 && mark.p[0] == '$') {
        talk_remember(t, mark, fumi_raw(got));
        return true;
    }
    if (mark.n > 2 && mark.p[0] == '=' && mark.p[1] == '$')
        return fumi_eq(talk_recall(t, (struct fumi_str){mark.p + 1, mark.n - 1}), fumi_raw(got));
    if (fumi_is(want, FUMI_ARRAY) && fumi_is(got, FUMI_ARRAY))
        return same_items(t, want, got);
    if (fumi_is(want, FUMI_OBJECT) && fumi_is(got, FUMI_OBJECT))
        return same_members(t, want, got);
    if (fumi_is(want, FUMI_STRING) && fumi_is(got, FUMI_STRING))
        return fumi_eq(fumi_text(&t->arena, want), fumi_text(&t->arena, got));
    return fumi_eq(fumi_raw(want), fumi_raw(got));
}

bool talk_answers(struct talk *t, const struct want *want, struct fumi_str got)
{
    struct fumi_err e = {0};
    if (want->exact)
        return fumi_eq(want->text, got);
    const struct fumi_val *w = fumi_parse(&t->arena, want->text, &e);
    const struct fumi_val *g = fumi_parse(&t->arena, got, &e);
    return w && g && matches(t, w, g);
}

/* Long texts are truncated, and control bytes are shown as \xHH. */
void talk_show(const char *label, struct fumi_str s)
{
    enum { SHOWN = 300 };
    fprintf(stderr, "  %-9s ", label);
    for (size_t i = 0; i < s.n && i < SHOWN; i++)
        if ((unsigned char)s.p[i] < ' ')
            fprintf(stderr, "\\x%02x", (unsigned)s.p[i]);
        else
            fputc(s.p[i], stderr);
    if (s.n > SHOWN)
        fprintf(stderr, "... (%zu bytes)", s.n);
    fprintf(stderr, s.p ? "\n" : "(nothing)\n");
}

void talk_report(const struct talk *t, const struct step *step, const struct want *want,
                 struct fumi_str got)
{
    struct fumi_str none = {0};
    fprintf(stderr, "%s:%d: %.*s\n", t->path, want ? want->line : step->line,
            FUMI_ARG(step->title));
    talk_show("sent", step->message);
    talk_show("expected", want ? want->text : none);
    talk_show("got", got);
}
