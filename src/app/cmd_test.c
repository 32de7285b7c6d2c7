/* fumi test: searches for pinned questions and compares the ranks of their notes with those when
 * they were pinned. fumi test add: pins one. */
#include "app/cli_notes.h"
#include "app/files.h"
#include "app/pinned.h"
#include "app/session.h"
#include "app/show.h"

#include <unistd.h>

enum { DEPTH = 100, TEXT_COLUMNS = 72, KEEP = 1 << 20 };

/* An error is never STATUS_FAILED here, which says that notes got worse. */
enum { STATUS_WORSE = STATUS_FAILED, STATUS_ERROR = STATUS_USAGE };

struct test_flags {
    struct fumi_str file, project;
    int64_t within;
    bool update;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct test_flags, file, "file",
               "File with the questions; fumi-tests.jsonl in the root of the repository of the "
               "working directory if not given.",
               .min = 1, .max = 3500),
    FUMI_FIELD(struct test_flags, project, "project",
               "Project of the questions whose line names none; that of the working directory if "
               "not given.",
               .min = 1, .max = 4096),
    FUMI_FIELD(struct test_flags, within, "within",
               "A note may fall to this rank, or to that when it was pinned, whichever is larger.",
               .min = 1, .max = DEPTH, .def = "5"),
    FUMI_FIELD(struct test_flags, update, "update",
               "Write the present ranks to the file: later runs are compared with these."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct test_flags, fields);
static const struct flag_alias aliases[] = {{"p", "project"}, COMMAND_ALIASES};

/* From best to worst: the state of a question is the last of those of its notes. */
enum state { STATE_OK, STATE_BETTER, STATE_ABSENT, STATE_WORSE, STATE_LOST, STATES };
static const char *const state_names[STATES] = {"ok", "better", "absent", "worse", "lost"};

struct outcome {
    enum state state;
    int64_t rank; /* now; 0: not found */
    bool deleted; /* there is no such note */
    struct fumi_str text;
};

struct run {
    struct invocation *i;
    const struct test_flags *flags;
    struct session session;
    struct pinned_file file;
    struct fumi_str project; /* of questions that name none */
    bool warned;
    struct fumi_arena answers; /* reset after each question */
};

static int call(struct run *r, const char *method, struct fumi_buf *params,
                const struct fumi_val **result, struct fumi_err *e)
{
    struct fumi_json json = {{0}}, given = {fumi_buf_keep(params, &r->answers)};
    if (session_call(&r->session, &r->answers, method, given, &json, e))
        return -1;
    *result = fumi_parse(&r->answers, json.text, e);
    return *result ? 0 : -1;
}

/* Searches as memory.search does by default, only deeper. *hits is the array of results. */
static int search(struct run *r, struct fumi_str question, struct fumi_str project,
                  const struct fumi_val **hits, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    const struct fumi_val *result;
    fumi_put_open(&o, '{');
    notes_put(&o, "projectId", project.p ? project : r->project);
    notes_put(&o, "query", question);
    fumi_put_key(&o, "topK");
    fumi_put_int(&o, DEPTH);
    fumi_put_close(&o, '}');
    if (call(r, "memory.search", &params, &result, e))
        return -1;
    *hits = fumi_get(result, "results");
    const struct fumi_val *meta = fumi_get(result, "meta");
    if (!r->warned)
        notes_warn(&r->answers, meta);
    r->warned = r->warned || fumi_get(meta, "warning");
    return 0;
}

static int get(struct run *r, struct fumi_str id, const struct fumi_val **note, struct fumi_err *e)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    fumi_put_open(&o, '{');
    notes_put(&o, "id", id);
    fumi_put_close(&o, '}');
    return call(r, "memory.get", &params, note, e);
}

/* What identifies a note to people: its title, or the beginning of its text. */
static struct fumi_str caption(struct fumi_arena *a, const struct fumi_val *note)
{
    struct fumi_str title = show_line(a, fumi_text(a, fumi_get(note, "title")));
    struct fumi_str text = title.n ? title : show_line(a, fumi_text(a, fumi_get(note, "text")));
    return show_cut(text, TEXT_COLUMNS);
}

/* The rank of a note among the hits; 0 if it is not among them. */
static int64_t rank_of(struct fumi_arena *a, const struct fumi_val *hits, struct fumi_str id,
                       const struct fumi_val **hit)
{
    int64_t rank = 1;
    for (*hit = fumi_first(hits); *hit; *hit = fumi_after(hits, *hit), rank++)
        if (fumi_eq(fumi_text(a, fumi_get(*hit, "id")), id))
            return rank;
    return 0;
}

static enum state judge(const struct pinned_note *pin, int64_t rank, bool deleted, int64_t within)
{
    int64_t allowed = pin->rank > within ? pin->rank : within;
    if (!rank)
        return pin->rank || deleted ? STATE_LOST : STATE_ABSENT;
    if (!pin->rank || rank < pin->rank)
        return STATE_BETTER;
    return rank > allowed ? STATE_WORSE : STATE_OK;
}

/* Texts of the outcome live in the arena of the invocation. */
static int look(struct run *r, const struct fumi_val *hits, const struct pinned_note *pin,
                struct outcome *out, struct fumi_err *e)
{
    const struct fumi_val *note;
    *out = (struct outcome){.rank = rank_of(&r->answers, hits, pin->id, &note)};
    if (!out->rank && get(r, pin->id, &note, e)) {
        if (e->code != ERR_NOT_FOUND)
            return -1;
        out->deleted = true;
    }
    out->text = out->deleted ? pin->text : fumi_dup(r->i->a, caption(&r->answers, note));
    out->state = judge(pin, out->rank, out->deleted, r->flags->within);
    return 0;
}

/* Searches for one question. The outcomes, one for each note, live in the arena of the invocation;
 * NULL: failed. */
static struct outcome *ask(struct run *r, const struct pinned_question *q, struct fumi_err *e)
{
    const struct fumi_val *hits;
    const struct pinned_note *pins = q->notes.items;
    struct outcome *out = fumi_alloc(r->i->a, q->notes.n * sizeof(*out));
    int rc = search(r, q->text, q->project, &hits, e);
    for (size_t k = 0; !rc && k < q->notes.n; k++)
        rc = look(r, hits, &pins[k], &out[k], e);
    fumi_arena_reset(&r->answers, KEEP);
    return rc ? NULL : out;
}

static enum state worst(const struct outcome *of, size_t n)
{
    enum state worst = STATE_OK;
    for (size_t k = 0; k < n; k++)
        worst = of[k].state > worst ? of[k].state : worst;
    return worst;
}

static void print_note(struct fumi_arena *a, const struct pinned_note *pin, const struct outcome *o)
{
    if (o->state == STATE_OK && o->rank == pin->rank)
        return;
    printf("        ");
    if (o->rank)
        printf("rank %lld", (long long)o->rank);
    else
        printf(o->deleted ? "deleted" : "not among the first %d", DEPTH);
    if (pin->rank)
        printf(", was %lld", (long long)pin->rank);
    else if (o->rank)
        printf(", was not found");
    if (o->state == STATE_WORSE)
        printf(" (%lld worse)", (long long)(o->rank - pin->rank));
    printf("  %.*s  %.*s\n", FUMI_ARG(pin->id), FUMI_ARG(show_line(a, o->text)));
}

static void print_question(struct fumi_arena *a, const struct pinned_question *q,
                           const struct outcome *outcomes)
{
    const struct pinned_note *pins = q->notes.items;
    printf("%-7s %.*s\n", state_names[worst(outcomes, q->notes.n)],
           FUMI_ARG(show_line(a, q->text)));
    for (size_t k = 0; k < q->notes.n; k++)
        print_note(a, &pins[k], &outcomes[k]);
}

struct note_result {
    struct fumi_str id, state, text;
    struct fumi_json rank, pinned;
    bool deleted;
};

#define NOTE(member, help, ...) FUMI_FIELD(struct note_result, member, #member, help, __VA_ARGS__)
static const struct fumi_field note_fields[] = {
    NOTE(id, "Id of the note."),
    NOTE(state, "ok, better, absent, worse or lost."),
    NOTE(rank, "Its rank now; null: not found.", .flags = FUMI_NULLABLE),
    NOTE(pinned, "Its rank when it was pinned; null: it was not found.", .flags = FUMI_NULLABLE),
    NOTE(deleted, "Whether there is no such note."),
    NOTE(text, "Its title, or the beginning of its text."),
};
static const struct fumi_shape note_shape = FUMI_SHAPE(struct note_result, note_fields);

struct question_result {
    struct fumi_str question, project, state;
    struct fumi_list notes;
};

#define QUESTION(member, help, ...)                                                                \
    FUMI_FIELD(struct question_result, member, #member, help, __VA_ARGS__)
static const struct fumi_field question_fields[] = {
    QUESTION(question, "The question."),
    QUESTION(project, "Its project, if the line names one.", .flags = FUMI_OMIT),
    QUESTION(state, "The worst state of its notes."),
    QUESTION(notes, "The notes that it must find.", .shape = &note_shape),
};
static const struct fumi_shape question_shape = FUMI_SHAPE(struct question_result, question_fields);

struct summary_result {
    int64_t count[STATES];
};

#define STATE(state, name, help) FUMI_FIELD(struct summary_result, count[state], name, help)
static const struct fumi_field summary_fields[] = {
    STATE(STATE_OK, "ok", "Questions whose notes rank as before."),
    STATE(STATE_BETTER, "better", "Questions with a note that ranks higher."),
    STATE(STATE_ABSENT, "absent", "Questions whose note was not found before either."),
    STATE(STATE_WORSE, "worse", "Questions with a note that ranks too low."),
    STATE(STATE_LOST, "lost", "Questions with a note that is not found any more."),
};
static const struct fumi_shape summary_shape = FUMI_SHAPE(struct summary_result, summary_fields);

struct test_result {
    struct fumi_list questions;
    struct summary_result summary;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct test_result, questions, "questions", "The questions, in their order.",
               .shape = &question_shape),
    FUMI_FIELD(struct test_result, summary, "summary", "Number of questions by state.",
               .shape = &summary_shape),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct test_result, result_fields);

static struct fumi_json rank_json(struct fumi_arena *a, int64_t rank)
{
    return (struct fumi_json){rank ? fumi_fmt(a, "%lld", (long long)rank) : (struct fumi_str){0}};
}

static struct question_result question_json(struct fumi_arena *a, const struct pinned_question *q,
                                            const struct outcome *outcomes)
{
    const struct pinned_note *pins = q->notes.items;
    struct note_result *notes = fumi_alloc(a, q->notes.n * sizeof(*notes));
    for (size_t k = 0; k < q->notes.n; k++)
        notes[k] = (struct note_result){.id = pins[k].id,
                                        .state = fumi_str(state_names[outcomes[k].state]),
                                        .text = outcomes[k].text,
                                        .rank = rank_json(a, outcomes[k].rank),
                                        .pinned = rank_json(a, pins[k].rank),
                                        .deleted = outcomes[k].deleted};
    return (struct question_result){.question = q->text,
                                    .project = q->project,
                                    .state = fumi_str(state_names[worst(outcomes, q->notes.n)]),
                                    .notes = {notes, q->notes.n}};
}

static void print_text(struct run *r, struct outcome *const *outcomes, const size_t *counts)
{
    const struct pinned_question *q = r->file.questions.items;
    size_t n = r->file.questions.n;
    for (size_t k = 0; k < n; k++)
        print_question(r->i->a, &q[k], outcomes[k]);
    printf("%zu question%s: ", n, n == 1 ? "" : "s");
    for (size_t s = 0; s < STATES; s++)
        if (counts[s] || s != STATE_ABSENT)
            printf("%s%zu %s", s ? ", " : "", counts[s], state_names[s]);
    putchar('\n');
}

static void print_json(struct run *r, struct outcome *const *outcomes, const size_t *counts)
{
    const struct pinned_question *q = r->file.questions.items;
    size_t n = r->file.questions.n;
    struct question_result *questions = fumi_alloc(r->i->a, n * sizeof(*questions));
    struct test_result result = {.questions = {questions, n}};
    for (size_t k = 0; k < n; k++)
        questions[k] = question_json(r->i->a, &q[k], outcomes[k]);
    for (size_t s = 0; s < STATES; s++)
        result.summary.count[s] = (int64_t)counts[s];
    notes_print_struct(r->i->a, &result_shape, &result);
}

/* Lets `change` edit the file. Another process may have written the file while we searched, so it
 * is read again, under a lock. */
static int edit(struct run *r, int (*change)(struct run *, void *, struct fumi_err *), void *arg,
                struct fumi_err *e)
{
    int fd = files_lock(r->i->a, r->file.path, e);
    if (fd < 0)
        return -1;
    int rc = pinned_read(r->i->a, r->file.path, &r->file, e) || change(r, arg, e) ||
                     pinned_write(r->i->a, &r->file, e)
                 ? -1
                 : 0;
    close(fd);
    return rc;
}

struct tested {
    struct fumi_list questions;
    struct outcome *const *outcomes;
};

/* Replaces the ranks of a question. A deleted note keeps its own: it can only be pinned elsewhere.
 */
static void accept(struct pinned_question *to, const struct pinned_question *q,
                   const struct outcome *outcomes)
{
    const struct pinned_note *pins = q->notes.items;
    for (size_t k = 0; k < q->notes.n; k++) {
        struct pinned_note *pin = pinned_find_note(to, pins[k].id);
        if (!pin || outcomes[k].deleted ||
            (pin->rank == outcomes[k].rank && fumi_eq(pin->text, outcomes[k].text)))
            continue;
        pin->rank = outcomes[k].rank;
        pin->text = outcomes[k].text;
        to->line = (struct fumi_str){0};
    }
}

/* A question may be in several lines, as after a merge of the file. */
static void accept_all(struct pinned_question *to, const struct tested *t)
{
    const struct pinned_question *q = t->questions.items;
    for (size_t k = 0; k < t->questions.n; k++)
        if (fumi_eq(q[k].text, to->text) && fumi_eq(q[k].project, to->project))
            accept(to, &q[k], t->outcomes[k]);
}

static int accept_ranks(struct run *r, void *arg, struct fumi_err *e)
{
    (void)e;
    struct pinned_question *q = r->file.questions.items;
    for (size_t k = 0; k < r->file.questions.n; k++)
        accept_all(&q[k], arg);
    return 0;
}

/* Writes the new ranks. Returns whether all notes still exist in *complete. */
static int update(struct run *r, struct outcome *const *outcomes, bool *complete,
                  struct fumi_err *e)
{
    const struct pinned_question *q = r->file.questions.items;
    struct tested t = {r->file.questions, outcomes};
    *complete = true;
    for (size_t k = 0; k < t.questions.n; k++)
        for (size_t n = 0; n < q[k].notes.n; n++)
            *complete = *complete && !outcomes[k][n].deleted;
    return edit(r, accept_ranks, &t, e);
}

static int run_all(struct run *r, enum status *status, struct fumi_err *e)
{
    const struct pinned_question *q = r->file.questions.items;
    size_t n = r->file.questions.n, counts[STATES] = {0};
    struct outcome **outcomes = fumi_alloc(r->i->a, n * sizeof(struct outcome *));
    bool good;
    if (!n)
        return fumi_err_set(e, ERR_NOT_FOUND,
                            "there are no questions in %.*s: pin one with fumi test add",
                            FUMI_ARG(files_shown(r->file.path)));
    for (size_t k = 0; k < n; k++) {
        outcomes[k] = ask(r, &q[k], e);
        if (!outcomes[k])
            return -1;
        counts[worst(outcomes[k], q[k].notes.n)]++;
    }
    (r->i->json ? print_json : print_text)(r, outcomes, counts);
    good = !counts[STATE_WORSE] && !counts[STATE_LOST];
    if (r->flags->update && update(r, outcomes, &good, e))
        return -1;
    *status = good ? STATUS_OK : STATUS_WORSE;
    return 0;
}

/* Checks that the notes exist and are of the project. Reports every one that does not. */
static int check_ids(struct run *r, struct pinned_question *q, struct fumi_err *e)
{
    struct pinned_note *pins = q->notes.items;
    struct fumi_str of;
    size_t missing = 0;
    for (size_t k = 0; k < q->notes.n; k++) {
        const struct fumi_val *note;
        if (get(r, pins[k].id, &note, e)) {
            if (e->code != ERR_NOT_FOUND && e->code != FUMI_INVALID_PARAMS)
                return -1;
            fprintf(stderr, "error: %.*s: %.*s\n", FUMI_ARG(show_line(r->i->a, pins[k].id)),
                    FUMI_ARG(show_line(r->i->a, fumi_str(e->text))));
            missing++;
            continue;
        }
        of = fumi_text(&r->answers, fumi_get(note, "projectId"));
        if (!fumi_eq(of, r->project))
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "the note %.*s is of the project %.*s, not %.*s: use --project",
                                FUMI_ARG(pins[k].id), FUMI_ARG(files_shown(of)),
                                FUMI_ARG(files_shown(r->project)));
        pins[k].id = fumi_dup(r->i->a, fumi_text(&r->answers, fumi_get(note, "id")));
        pins[k].text = fumi_dup(r->i->a, caption(&r->answers, note));
    }
    if (missing)
        return fumi_err_set(e, ERR_NOT_FOUND, "nothing was pinned");
    return 0;
}

/* The project as the file names it: null if it is that of the working directory. */
static int project_in_file(struct run *r, struct fumi_str *out, struct fumi_err *e)
{
    struct place here;
    struct fumi_str none = {0};
    if (session_place(&r->session, r->i->a, none, &here, e))
        return -1;
    *out = fumi_eq(here.project, r->project) ? none : r->project;
    return 0;
}

static int add_question(struct run *r, void *arg, struct fumi_err *e)
{
    return pinned_add(r->i->a, &r->file, arg, e);
}

static int add(struct run *r, enum status *status, struct fumi_err *e)
{
    const struct fumi_strs *words = &r->i->words;
    size_t n = words->n - 2;
    struct pinned_note *pins = fumi_alloc(r->i->a, n * sizeof(*pins));
    struct pinned_question q = {.text = words->items[1], .notes = {pins, n}};
    const struct fumi_val *hits, *hit;
    for (size_t k = 0; k < n; k++)
        pins[k].id = words->items[2 + k];
    if (project_in_file(r, &q.project, e) || check_ids(r, &q, e) ||
        search(r, q.text, r->project, &hits, e))
        return -1;
    for (size_t k = 0; k < n; k++) {
        pins[k].rank = rank_of(&r->answers, hits, pins[k].id, &hit);
        if (pins[k].rank)
            printf("rank %lld  %.*s  %.*s\n", (long long)pins[k].rank, FUMI_ARG(pins[k].id),
                   FUMI_ARG(pins[k].text));
        else
            printf("not among the first %d  %.*s  %.*s\n", DEPTH, FUMI_ARG(pins[k].id),
                   FUMI_ARG(pins[k].text));
    }
    *status = STATUS_OK;
    return edit(r, add_question, &q, e);
}

/* The file belongs to the checkout, not to the project: each worktree has its own. */
static int locate(struct run *r, struct fumi_str *path, struct fumi_err *e)
{
    struct fumi_str none = {0};
    struct place here;
    if (r->flags->file.p)
        return files_expand(r->i->a, r->flags->file, none, path, e);
    if (place_find(r->i->a, none, true, &here, e))
        return -1;
    *path = files_join(r->i->a, here.project, "fumi-tests.jsonl");
    return 0;
}

static int run(struct invocation *i, int (*job)(struct run *, enum status *, struct fumi_err *))
{
    struct run r = {.i = i, .flags = i->flags, .session = {.existing = true}};
    struct fumi_err e = {0};
    struct fumi_str path;
    enum status status = STATUS_OK;
    int rc = locate(&r, &path, &e) || pinned_read(i->a, path, &r.file, &e) ||
             session_open(&r.session, &i->common, &e) ||
             session_project(&r.session, i->a, r.flags->project, &r.project, &e) ||
             job(&r, &status, &e);
    session_close(&r.session);
    fumi_arena_done(&r.answers);
    if (!rc)
        return status;
    status = (enum status)command_report(&e);
    return status == STATUS_FAILED ? STATUS_ERROR : status;
}

static int test(struct invocation *i)
{
    const struct test_flags *f = i->flags;
    if (!i->words.n)
        return run(i, run_all);
    if (!fumi_eq(i->words.items[0], FUMI_STR("add")))
        return command_misuse(i, "unknown argument %.*s; use fumi test add \"QUESTION\" ID...",
                              FUMI_ARG(i->words.items[0]));
    if (i->words.n < 3)
        return command_misuse(i, "a question and the id of at least one note are required");
    if (pinned_fault(i->words.items[1]))
        return command_misuse(i, "the question %s", pinned_fault(i->words.items[1]));
    if (i->json || f->update)
        return command_misuse(i, "--json and --update do not apply to fumi test add");
    return run(i, add);
}

const struct command command_test = {
    .name = "test",
    .usage = "[add QUESTION ID...]",
    .help = "Searches for pinned questions and reports notes that rank worse than before.",
    .more =
        "fumi test add pins a question with the notes that a search for it must find, and their "
        "present ranks. fumi test repeats all searches, and prints for each question: ok, "
        "better, worse (a note has fallen below its rank and below --within), lost (a note is "
        "not among the first 100 or was deleted), or absent (it was not found when it was "
        "pinned either). The exit status is 0 if nothing is worse or lost, 1 if something is, "
        "and another for errors. Run it after imports, upgrades and changes of the model. The "
        "file belongs in version control; it contains ids, titles and beginnings of notes.",
    .shape = &shape,
    .aliases = aliases,
    .words = 2 + PINNED_NOTES_MAX,
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = test,
};
