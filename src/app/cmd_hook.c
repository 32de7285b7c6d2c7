/* fumi hook: prints a digest of the memory for an agent that starts a session. */
#include "agent/agent.h"
#include "app/session.h"
#include "base/clock.h"
#include "memory/uses.h"

#include <poll.h>
#include <unistd.h>

enum { INPUT_MAX = 64 << 10, INPUT_MS = 100 };

struct hook_flags {
    struct fumi_str project;
    int64_t max_tokens;
    int format;
};

static const char *const formats[] = {"text", "json", NULL};

#define FIELD(member, wire, ...) FUMI_FIELD(struct hook_flags, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(project, "project",
          "Project to summarize; the project of the working directory if not given."),
    FIELD(max_tokens, "maxTokens", "Approximate maximum number of tokens.", .min = 100,
          .max = 100000, .def = "1500"),
    FIELD(format, "format", "text, or json in the format of agent hooks.", .choices = formats,
          .def = "\"text\""),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct hook_flags, fields);

static const struct flag_alias aliases[] = {{"p", "project"}, {"f", "format"}, COMMAND_ALIASES};

/* The session that an agent names in the JSON that it writes to its hooks. An agent that writes
 * nothing is not waited for. */
static struct fumi_str session_of(struct invocation *i)
{
    char buf[INPUT_MAX];
    size_t n = 0;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    struct fumi_err ignored;
    const struct fumi_val *v = NULL;
    while (!isatty(0) && !v && n < sizeof(buf) && poll(&in, 1, INPUT_MS) > 0) {
        ssize_t got = read(0, buf + n, sizeof(buf) - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        v = fumi_parse(i->a, fumi_dup(i->a, (struct fumi_str){buf, n}), &ignored);
    }
    struct fumi_str session = fumi_text(i->a, fumi_get(v, "session_id"));
    return session.n && !note_session_fault(session) ? session : (struct fumi_str){0};
}

/* Records which notes the agent receives. */
static void record(struct invocation *i, struct session *s, struct fumi_str project,
                   const struct agent_given *given)
{
    const struct hook_flags *f = i->flags;
    struct injection one = {.at = fumi_now(),
                            .project = project,
                            .by = *memory_author(s->memory),
                            .kind = FUMI_STR("session-start"),
                            .ids = {(struct fumi_str *)(uintptr_t)given->ids, given->n}};
    if (f->format)
        one.by.session = session_of(i);
    memory_add_injection(s->memory, &one, given->seqs, given->n);
}

static int digest(struct invocation *i, struct fumi_str *text, struct fumi_err *e)
{
    const struct hook_flags *f = i->flags;
    struct fumi_str project = f->project;
    struct session s = {0};
    struct agent_given given = {.n = 0};
    int rc = session_open(&s, &i->common, e) || session_project(&s, i->a, project, &project, e) ||
             agent_digest(s.memory, i->a, project, (size_t)f->max_tokens, text, &given, e);
    if (!rc)
        record(i, &s, project, &given);
    session_close(&s);
    return rc ? -1 : 0;
}

/* The answer of a hook as Claude Code, Codex and Gemini CLI expect it. */
static void put_answer(struct fumi_out *o, struct fumi_str text)
{
    fumi_put_open(o, '{');
    fumi_put_key(o, "hookSpecificOutput");
    fumi_put_open(o, '{');
    fumi_put_key(o, "hookEventName");
    fumi_put_str(o, FUMI_STR("SessionStart"));
    fumi_put_key(o, "additionalContext");
    fumi_put_str(o, text);
    fumi_put_close(o, '}');
    fumi_put_close(o, '}');
}

static int hook(struct invocation *i)
{
    const struct hook_flags *f = i->flags;
    struct fumi_str text;
    struct fumi_buf out = {0};
    struct fumi_err e = {0};
    if (!i->words.n || !fumi_eq(i->words.items[0], FUMI_STR("session-start")))
        return command_misuse(i, "the name of a hook is required: session-start");
    if (digest(i, &text, &e)) {
        int status = command_report(&e);
        return f->format ? STATUS_OK : status; /* a failing hook may keep an agent from starting */
    }
    if (f->format) {
        put_answer(&(struct fumi_out){.buf = &out}, text);
        fumi_buf_put(&out, '\n');
    } else {
        fumi_buf_add(&out, text.p, text.n);
    }
    command_print(&out);
    return STATUS_OK;
}

const struct command command_hook = {
    .name = "hook",
    .usage = "session-start",
    .help = "Prints a digest of the memory for the start of an agent session.",
    .more =
        "The digest contains the settings of the project, the notes tagged rule or important, and "
        "the newest notes of the group global. 'fumi setup AGENT --hook' makes an agent run it.",
    .shape = &shape,
    .aliases = aliases,
    .words = 1,
    .output = OUTPUT_DATA,
    .run = hook,
};
