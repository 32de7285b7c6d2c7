#include "app/import_successors.h"

#include "app/show.h"

enum { KEEP = 1 << 16 };

/* A note that was stored under another id than that of its line. */
struct renamed {
    struct fumi_str project, from, to;
};

/* A note and its successor, by the id in the line. */
struct succession {
    struct import_line line;
    struct fumi_str project, note, successor;
};

void import_keep_successor(struct import_successors *s, struct import_line line,
                           const struct note *given, const struct note *stored)
{
    const size_t renamed = sizeof(*s->renamed), succession = sizeof(*s->successions);
    if (given->id.p && !fumi_eq(given->id, stored->id)) {
        s->renamed = fumi_resize(s->renamed, (s->renamed_n + 1) * renamed);
        s->renamed[s->renamed_n++] = (struct renamed){fumi_dup(&s->a, stored->project),
                                                      fumi_dup(&s->a, given->id),
                                                      fumi_dup(&s->a, stored->id)};
    }
    if (given->superseded_by.p) {
        s->successions = fumi_resize(s->successions, (s->successions_n + 1) * succession);
        s->successions[s->successions_n++] = (struct succession){
            line, fumi_dup(&s->a, stored->project), fumi_dup(&s->a, stored->id),
            fumi_dup(&s->a, given->superseded_by)};
    }
}

static struct fumi_str successor_of(const struct import_successors *s, const struct succession *of)
{
    for (size_t i = 0; i < s->renamed_n; i++)
        if (fumi_eq(s->renamed[i].from, of->successor) &&
            fumi_eq(s->renamed[i].project, of->project))
            return s->renamed[i].to;
    return of->successor;
}

/* A note that is superseded already keeps its successor. One whose successor was not imported stays
 * current, which is reported. */
static int set_successor(const struct import_successors *s, const struct succession *of,
                         struct store *store, const struct author *by, struct fumi_arena *a,
                         struct fumi_err *e)
{
    struct fumi_str one = of->note;
    struct note_change how = {.by = by, .supersedes = {&one, 1}};
    const struct note none = {.seq = 0};
    struct note is;
    if (store_get_note(store, a, of->note, &is, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    if (is.superseded_by.p || !store_update_note(store, a, successor_of(s, of), &none, 0, &how, e))
        return 0;
    if (e->code != ERR_NOT_FOUND && e->code != FUMI_INVALID_PARAMS)
        return -1;
    fprintf(stderr, IMPORT_LINE ": the note stays current: its successor %.*s was not found\n",
            IMPORT_LINE_ARG(of->line), FUMI_ARG(show_line(a, of->successor)));
    return 0;
}

int import_set_successors(struct import_successors *s, struct store *store, const struct author *by,
                          struct import_line *line, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int rc = 0;
    for (size_t i = 0; i < s->successions_n && !rc; i++) {
        *line = s->successions[i].line;
        rc = set_successor(s, &s->successions[i], store, by, &a, e);
        fumi_arena_reset(&a, KEEP);
    }
    fumi_arena_done(&a);
    return rc;
}

void import_successors_done(struct import_successors *s)
{
    fumi_resize(s->renamed, 0);
    fumi_resize(s->successions, 0);
    fumi_arena_done(&s->a);
}
