/* Renders notes with arbitrary content as Markdown. A strict reader must find exactly these notes
 * in the document. In the input, byte 1 ends a field (title, source, two tags, text), and bytes
 * from 128 on select a dangerous piece of text. A second note that follows must be found too. */
#include "fuzz.h"

#include "../unit/agent/notes_documents.h"
#include "agent/agent_parts.h"

enum { FIELDS = 5, LINE = 600 };

/* The next field; bytes below 128 and the pieces are valid UTF-8, so each field is. */
static struct fumi_str field(struct fumi_arena *a, const uint8_t **data, const uint8_t *end)
{
    struct fumi_buf b = {0};
    const uint8_t *p = *data;
    for (; p < end && *p != 1; p++) {
        const struct fumi_str *piece = &pieces[(*p & 127) % FUMI_COUNT(pieces)];
        if (*p < 128)
            fumi_buf_put(&b, (char)*p);
        else
            fumi_buf_add(&b, piece->p, piece->n);
    }
    *data = p + (p < end);
    return fumi_buf_keep(&b, a);
}

static struct fumi_str or_null(struct fumi_str s)
{
    return s.n ? s : (struct fumi_str){0};
}

static void use_notes(struct fumi_arena *a, const struct note notes[2], size_t most)
{
    struct fumi_buf b = {0}, lines = {0};
    struct seen s = {.n = 0};
    for (size_t i = 0; i < 2; i++) {
        struct fumi_str line = render_line(a, &notes[i], most < LINE ? most : LINE);
        MUST(line.n <= LINE && line.n <= most);
        render_add(&lines, line);
        render_note(&b, a, &notes[i], most);
    }
    struct fumi_str text = fumi_buf_keep(&b, a), list = fumi_buf_keep(&lines, a);
    struct reader r = {a, text.p, text.p + text.n};
    MUST(is_clean(text) && eat_notes(&r, &s) && r.p == r.end && s.n == 2);
    MUST(same_note(a, &s.notes[0], &notes[0]) && same_note(a, &s.notes[1], &notes[1]));
    r = (struct reader){a, list.p, list.p + list.n}, s.n = 0;
    MUST(is_clean(list) && eat_items(&r, &s) && r.p == r.end && s.n == 2);
    MUST(same_item(a, &s.notes[0], &notes[0]) && same_item(a, &s.notes[1], &notes[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fumi_arena a = {0};
    const uint8_t *end = data + n;
    struct fumi_str f[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        f[i] = field(&a, &data, end);
    struct note notes[2] = {
        {.id = FUMI_STR("0000-1111"),
         .group = FUMI_STR("global"),
         .title = or_null(f[0]),
         .source = or_null(f[1]),
         .tags = {&f[2], f[3].n ? 2 : 1},
         .text = f[4]},
        {.id = FUMI_STR("last"), .group = FUMI_STR("g"), .text = FUMI_STR("honest")}};
    use_notes(&a, notes, SIZE_MAX);
    use_notes(&a, notes, 120 + n % 200);
    fumi_arena_done(&a);
    return 0;
}
