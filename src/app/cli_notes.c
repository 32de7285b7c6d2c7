#include "app/cli_notes.h"

#include "app/show.h"
#include "app/terminal.h"
#include "base/clock.h"

#include <inttypes.h>
#include <unistd.h>

enum { COLUMNS = 60 };

void notes_put(struct fumi_out *o, const char *name, struct fumi_str value)
{
    if (!value.p)
        return;
    fumi_put_key(o, name);
    fumi_put_str(o, value);
}

static void put_parts(struct fumi_out *o, struct fumi_str list)
{
    while (list.n) {
        const char *comma = memchr(list.p, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.p) : list.n;
        struct fumi_str tag = {list.p, n};
        while (tag.n && (tag.p[0] == ' ' || tag.p[0] == '\t'))
            tag.p++, tag.n--;
        while (tag.n && (tag.p[tag.n - 1] == ' ' || tag.p[tag.n - 1] == '\t'))
            tag.n--;
        if (tag.n)
            fumi_put_str(o, tag);
        n += comma != NULL;
        list = (struct fumi_str){list.p + n, list.n - n};
    }
}

void notes_put_list(struct fumi_out *o, struct fumi_str list)
{
    fumi_put_open(o, '[');
    put_parts(o, list);
    fumi_put_close(o, ']');
}

void notes_put_lists(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *lists)
{
    fumi_put_open(o, '[');
    for (const struct fumi_val *v = fumi_first(lists); v; v = fumi_after(lists, v))
        put_parts(o, fumi_text(a, v));
    fumi_put_close(o, ']');
}

void notes_put_given(struct fumi_arena *a, struct fumi_out *o, const struct fumi_val *given)
{
    for (const struct fumi_val *key = fumi_first(given); key; key = fumi_after(given, key)) {
        const struct fumi_val *v = fumi_of(key);
        if (fumi_is(v, FUMI_STRING) && !v->n)
            continue;
        fumi_put_key_str(o, fumi_text(a, key));
        if (fumi_is(v, FUMI_ARRAY))
            notes_put_lists(a, o, v);
        else
            fumi_put_val(o, v);
    }
}

static void print_tags(struct fumi_arena *a, const struct fumi_val *tags)
{
    const struct fumi_val *first = fumi_first(tags);
    for (const struct fumi_val *tag = first; tag; tag = fumi_after(tags, tag))
        printf("%s%.*s", tag == first ? "" : ", ", FUMI_ARG(show_line(a, fumi_text(a, tag))));
}

/* "2026-11-15T21:48:58.123Z" -> "2026-11-15 21:48" */
struct fumi_str notes_minute(struct fumi_arena *a, const struct fumi_val *time)
{
    struct fumi_str s = show_line(a, fumi_text(a, time));
    return s.n < 16 ? s : fumi_fmt(a, "%.10s %.5s", s.p, s.p + 11);
}

/* "3 days ago", or "in 3 days" */
static struct fumi_str relative(struct fumi_arena *a, int64_t ms)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{365 * 86400, "year"}, {30 * 86400, "month"}, {14 * 86400, NULL},
                 {86400, "day"},        {3600, "hour"},        {60, "minute"}};
    int64_t seconds = (fumi_now() - ms) / 1000, far = seconds < 0 ? -seconds : seconds;
    for (size_t i = 0; i < FUMI_COUNT(units); i++) {
        if (far < units[i].seconds)
            continue;
        bool weeks = !units[i].name;
        int64_t n = far / (weeks ? 7 * 86400 : units[i].seconds);
        return fumi_fmt(a, "%s%" PRId64 " %s%s%s", seconds < 0 ? "in " : "", n,
                        weeks ? "week" : units[i].name, n == 1 ? "" : "s",
                        seconds < 0 ? "" : " ago");
    }
    return seconds < 0 ? FUMI_STR("in a moment") : FUMI_STR("just now");
}

struct fumi_str notes_time(struct fumi_arena *a, const struct fumi_val *time)
{
    int64_t ms;
    if (!terminal_columns(stdout) || !fumi_time_read(fumi_text(a, time), &ms))
        return notes_minute(a, time);
    return relative(a, ms);
}

/* The key of a note, its successor, and when it expires. */
static void print_life(struct fumi_arena *a, const struct fumi_val *note)
{
    struct fumi_str key = show_line(a, fumi_text(a, fumi_get(note, "key")));
    struct fumi_str by = show_line(a, fumi_text(a, fumi_get(note, "supersededBy")));
    struct fumi_str until = notes_time(a, fumi_get(note, "expiresAt"));
    if (key.n)
        printf("  key %.*s", FUMI_ARG(key));
    if (by.n)
        printf("  superseded by %.8s", by.p);
    if (until.n)
        printf("  expires %.*s", FUMI_ARG(until));
}

/* A note that maxTokens has cut may lack its time and its group. */
void notes_print_facts(struct fumi_arena *a, const struct fumi_val *note)
{
    struct fumi_str time = notes_time(a, fumi_get(note, "createdAt"));
    struct fumi_str group = show_line(a, fumi_text(a, fumi_get(note, "groupId")));
    printf("%s%.*s%s", show_style(stdout, SHOW_DIM),
           FUMI_ARG(show_line(a, fumi_text(a, fumi_get(note, "id")))),
           show_style(stdout, SHOW_PLAIN));
    if (time.n)
        printf("  %.*s", FUMI_ARG(time));
    if (group.n)
        printf("  [%.*s]", FUMI_ARG(group));
    print_life(a, note);
}

void notes_print_author(struct fumi_arena *a, const struct fumi_val *by)
{
    const struct fumi_val *claimed = fumi_get(by, "claimed");
    struct fumi_str client = show_line(a, fumi_text(a, fumi_get(claimed, "client")));
    struct fumi_str transport = fumi_text(a, fumi_get(by, "transport"));
    struct fumi_str user = show_line(a, fumi_text(a, fumi_get(by, "user")));
    struct fumi_str session = show_line(a, fumi_text(a, fumi_get(by, "session")));
    bool terminal = fumi_eq(transport, FUMI_STR("terminal"));
    printf("  %.*s%s (%.*s%s%.*s%s%.*s)", FUMI_ARG(client.n ? client : FUMI_STR("unknown")),
           client.n && !terminal ? "?" : "", FUMI_ARG(transport), user.n ? ", " : "",
           FUMI_ARG(user), session.n ? ", " : "", FUMI_ARG(session));
}

void notes_print_compact(struct fumi_arena *a, const struct fumi_val *note, const struct marks *m)
{
    struct fumi_str text = show_line(a, fumi_text(a, fumi_get(note, "text")));
    const struct fumi_val *tags = fumi_get(note, "tags");
    size_t columns = terminal_columns(stdout);
    struct fumi_str shown = show_cut(text, COLUMNS);
    fputs("    ", stdout);
    if (columns)
        marks_print(a, m, text, columns - 4);
    else
        printf("%.*s%s", FUMI_ARG(shown), shown.n < text.n ? " ..." : "");
    putchar('\n');
    if (!fumi_first(tags))
        return;
    printf("    %stags: ", show_style(stdout, SHOW_DIM));
    print_tags(a, tags);
    printf("%s\n", show_style(stdout, SHOW_PLAIN));
}

/* "projectId" -> "project", "createdAt" -> "created" */
static struct fumi_str label_of(struct fumi_str member)
{
    const struct fumi_str end = {member.p + member.n - 2, 2};
    if (member.n > 2 && (fumi_eq(end, FUMI_STR("Id")) || fumi_eq(end, FUMI_STR("At"))))
        member.n -= 2;
    return member;
}

/* Prints each string member other than text and namespace in a line. */
static void print_members(struct fumi_arena *a, const struct fumi_val *note)
{
    for (const struct fumi_val *key = fumi_first(note); key; key = fumi_after(note, key)) {
        struct fumi_str name = fumi_text(a, key);
        struct fumi_str value = show_line(a, fumi_text(a, fumi_of(key)));
        if (value.n && !fumi_eq(name, FUMI_STR("text")) && !fumi_eq(name, FUMI_STR("namespace")))
            printf("%-9.*s %.*s\n", FUMI_ARG(label_of(name)), FUMI_ARG(value));
    }
}

void notes_print(struct fumi_arena *a, const struct fumi_val *note)
{
    print_members(a, note);
    if (fumi_first(fumi_get(note, "tags"))) {
        printf("%-9s ", "tags");
        print_tags(a, fumi_get(note, "tags"));
        putchar('\n');
    }
    if (fumi_is(fumi_get(note, "metadata"), FUMI_OBJECT))
        printf("%-9s %.*s\n", "metadata",
               FUMI_ARG(show_escaped(a, fumi_compact(a, fumi_get(note, "metadata")).text)));
    struct fumi_str text = fumi_text(a, fumi_get(note, "text"));
    if (isatty(1))
        text = show_lines(a, text);
    putchar('\n');
    fwrite(text.p, 1, text.n, stdout);
    putchar('\n');
}

void notes_print_result(const struct fumi_val *result)
{
    struct fumi_buf out = {0};
    terminal_data();
    show_json(&out, result);
    fwrite(fumi_buf_str(&out).p, 1, out.n, stdout);
    fumi_buf_done(&out);
}

void notes_print_struct(struct fumi_arena *a, const struct fumi_shape *s, const void *from)
{
    struct fumi_buf text = {0};
    fumi_emit(&(struct fumi_out){.buf = &text}, s, from);
    notes_print_json(a, &text);
}

void notes_print_json(struct fumi_arena *a, struct fumi_buf *text)
{
    struct fumi_err e;
    struct fumi_buf out = {0};
    const struct fumi_val *v = fumi_parse(a, fumi_buf_str(text), &e);
    terminal_data();
    if (v)
        show_json(&out, v);
    fwrite(fumi_buf_str(&out).p, 1, out.n, stdout);
    fumi_buf_done(&out);
    fumi_buf_done(text);
}

void notes_warn(struct fumi_arena *a, const struct fumi_val *result)
{
    struct fumi_str warning = show_line(a, fumi_text(a, fumi_get(result, "warning")));
    if (warning.n)
        fprintf(stderr, "warning: %.*s\n", FUMI_ARG(warning));
}
