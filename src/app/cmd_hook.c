/* fumi hook NAME: what agents run at certain events (hooks). An agent writes a JSON object to the
 * standard input of a hook and reads one from its standard output.
 *
 * An agent waits for its hooks, so each has a time limit: a timer signal ends the program. That is
 * safe at any time, because the store survives a kill. */
#include "agent/agent.h"
#include "app/files.h"
#include "app/session.h"
#include "base/clock.h"
#include "memory/uses.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    INPUT_MAX = 1 << 20, /* bytes that an agent may write */
    INPUT_MS = 100,      /* to wait for them */
    SEEN = 1000,         /* injections of a session that are considered */
    TIMEOUT_MS = 300,
    TIMEOUT_MAX = 600000,
    LONG_SESSION = 64 << 10, /* least bytes of a transcript for session-end to ask */
};

#define HOOKS_KEY   "global.memory.hooks"
#define SESSION_END "session-end"

struct hook_flags {
    struct fumi_str project;
    int64_t max_tokens, timeout;
    int format;
};

static const char *const formats[] = {"text", "json", NULL};

#define FIELD(member, wire, ...) FUMI_FIELD(struct hook_flags, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(project, "project", "Project; that of the working directory if not given."),
    FIELD(max_tokens, "maxTokens",
          "Approximate maximum number of tokens; 0: 1500 for session-start, 400 for prompt.",
          .flags = FUMI_NULLABLE, .max = 100000, .def = "0"),
    FIELD(timeout, "timeout",
          "Milliseconds after which the hook gives up; 0: FUMI_HOOK_TIMEOUT, or 300.",
          .flags = FUMI_NULLABLE, .max = TIMEOUT_MAX, .def = "0"),
    FIELD(format, "format", "text, or json in the format of agent hooks.", .choices = formats,
          .def = "\"text\""),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct hook_flags, fields);

static const struct flag_alias aliases[] = {{"p", "project"}, {"f", "format"}, COMMAND_ALIASES};

struct hook_run {
    struct invocation *i;
    const struct hook *hook;
    const struct fumi_val *in; /* what the agent wrote; NULL: nothing */
    struct session s;
    struct fumi_str project, session;
    int64_t timeout; /* milliseconds */
    struct agent_given given;
    struct fumi_str text; /* for the agent; empty: nothing */
    struct fumi_str told; /* a line for the user; null: none */
};

struct hook {
    const char *name, *event; /* event: its name, if the input has none */
    int64_t tokens;
    bool ends;  /* the answer makes the agent go on instead of ending its turn */
    bool plain; /* the answer is text, in either format */
    int (*run)(struct hook_run *r, size_t tokens, struct fumi_err *e);
};

/* Reads the JSON object on standard input. Waits at most INPUT_MS for an agent that writes none. */
static const struct fumi_val *read_input(struct fumi_arena *a)
{
    char *buf = fumi_alloc(a, INPUT_MAX);
    size_t n = 0;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    struct fumi_err ignored;
    const struct fumi_val *v = NULL;
    while (!isatty(0) && !v && n < INPUT_MAX && poll(&in, 1, INPUT_MS) > 0) {
        ssize_t got = read(0, buf + n, INPUT_MAX - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (buf[n - 1] == '}' || buf[n - 1] == '\n')
            v = fumi_parse(a, fumi_dup(a, (struct fumi_str){buf, n}), &ignored);
    }
    return fumi_is(v, FUMI_OBJECT) ? v : NULL;
}

static struct fumi_str input_text(const struct hook_run *r, const char *name)
{
    struct fumi_str s = fumi_text(r->i->a, fumi_get(r->in, name));
    return s.n ? s : (struct fumi_str){0};
}

static struct fumi_str session_of(const struct hook_run *r)
{
    struct fumi_str s = input_text(r, "session_id");
    return s.n && !note_session_fault(s) ? s : (struct fumi_str){0};
}

/* What the signal handler writes. A handler has no argument for data, so this is a global variable.
 */
static struct {
    int fd, status;
    size_t n;
    char text[160];
} late;

static void on_late(int signal)
{
    (void)signal;
    ssize_t ignored = write(late.fd, late.text, late.n);
    (void)ignored;
    _exit(late.status);
}

/* Sets the time limit: that of the flag, of the environment, or the default. */
static int read_timeout(struct hook_run *r)
{
    const struct hook_flags *f = r->i->flags;
    const char *set = getenv("FUMI_HOOK_TIMEOUT");
    char *end = NULL;
    r->timeout = f->timeout ? f->timeout : TIMEOUT_MS;
    if (f->timeout || !set || !set[0])
        return 0;
    r->timeout = strtol(set, &end, 10);
    if (*end || r->timeout < 1 || r->timeout > TIMEOUT_MAX)
        return command_misuse(r->i, "FUMI_HOOK_TIMEOUT must be a number of milliseconds, 1 to %d",
                              TIMEOUT_MAX);
    return 0;
}

static void limit_time(const struct hook_run *r)
{
    const struct hook_flags *f = r->i->flags;
    const struct itimerval timer = {
        .it_value = {r->timeout / 1000, (suseconds_t)(r->timeout % 1000 * 1000)}};
    late.fd = f->format ? 1 : 2;
    late.status = f->format ? STATUS_OK : STATUS_FAILED;
    late.n = (size_t)snprintf(late.text, sizeof(late.text), "%shook %s took more than %d ms%s\n",
                              f->format ? "{\"systemMessage\":\"fumi: " : "error: ", r->hook->name,
                              (int)f->timeout, f->format ? "; the agent was given nothing\"}" : "");
    signal(SIGALRM, on_late);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_limit(void)
{
    const struct itimerval none = {{0}, {0}};
    setitimer(ITIMER_REAL, &none, NULL);
    signal(SIGALRM, SIG_IGN);
}

/* "2 notes given: 3f2a91bc, 77e1c0de" */
static void tell_given(struct hook_run *r)
{
    struct fumi_buf b = {0};
    const struct agent_given *g = &r->given;
    if (!g->n)
        return;
    struct fumi_str head = fumi_fmt(r->i->a, "%zu %s given: ", g->n, g->n == 1 ? "note" : "notes");
    fumi_buf_add(&b, head.p, head.n);
    for (size_t k = 0; k < g->n; k++) {
        struct fumi_str id = memory_short_id(r->s.memory, r->i->a, ID_OF_NOTE, g->ids[k]);
        if (k)
            fumi_buf_add(&b, ", ", 2);
        fumi_buf_add(&b, id.p, id.n);
    }
    r->told = fumi_buf_keep(&b, r->i->a);
}

/* Records which notes the agent receives. */
static void record(struct hook_run *r, const char *kind)
{
    struct injection one = {.at = fumi_now(),
                            .project = r->project,
                            .by = *memory_author(r->s.memory),
                            .kind = fumi_str(kind),
                            .ids = {r->given.ids, r->given.n}};
    one.by.session = r->session;
    memory_add_injection(r->s.memory, &one, r->given.seqs, r->given.n);
}

static int session_start(struct hook_run *r, size_t tokens, struct fumi_err *e)
{
    if (agent_digest(r->s.memory, r->i->a, r->project, tokens, &r->text, &r->given, e))
        return -1;
    if (fumi_eq(input_text(r, "source"), FUMI_STR("compact")))
        r->text = fumi_fmt(r->i->a,
                           "%.*s\nThe conversation was compacted. If its summary lists what "
                           "should be remembered, store that now with memory_add_note.\n",
                           FUMI_ARG(r->text));
    record(r, AGENT_SESSION_START);
    return 0;
}

/* Gemini CLI without a terminal puts the digest of session-start before the prompt. */
static struct fumi_str without_context(struct fumi_str prompt)
{
    static const char end[] = "</hook_context>";
    const char *at = fumi_starts(prompt, FUMI_STR("<hook_context>"))
                         ? memmem(prompt.p, prompt.n, end, sizeof(end) - 1)
                         : NULL;
    if (!at)
        return prompt;
    at += sizeof(end) - 1;
    return (struct fumi_str){at, (size_t)(prompt.p + prompt.n - at)};
}

static int prompt(struct hook_run *r, size_t tokens, struct fumi_err *e)
{
    struct fumi_strs given = {r->i->words.items + 1, r->i->words.n - 1};
    const struct agent_recall what = {
        .project = r->project,
        .prompt = given.n ? command_joined(r->i->a, given)
                          : without_context(input_text(r, "prompt")),
        .session = r->session,
        .max_tokens = tokens,
        .ms = r->timeout,
    };
    if (!what.prompt.n)
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "a prompt is required: as words, or as the member \"prompt\" of a JSON "
                            "object on standard input");
    if (agent_recall(r->s.memory, r->i->a, &what, &r->text, &r->given, e))
        return -1;
    if (r->given.n)
        record(r, "prompt");
    return 0;
}

static int pre_compact(struct hook_run *r, size_t tokens, struct fumi_err *e)
{
    (void)tokens;
    (void)e;
    r->text = FUMI_STR(
        "End the summary with a list \"To remember\": decisions with their reasons, "
        "rules and preferences of the user, corrections, causes of failures and "
        "their cures that later sessions need and that were not stored with "
        "memory_add_note yet. No secrets. Leave the list out if there is nothing.\n");
    return 0;
}

/* Whether session-end has asked in this session. */
static int was_asked(struct hook_run *r, bool *asked, struct fumi_err *e)
{
    const struct injection_query q = {.session = r->session, .limit = SEEN};
    struct injections all;
    *asked = false;
    if (store_list_injections(memory_store(r->s.memory), r->i->a, &q, &all, e))
        return -1;
    for (size_t k = 0; k < all.n; k++)
        *asked |= fumi_eq(all.items[k].kind, FUMI_STR(SESSION_END));
    return 0;
}

/* Asks once in a session, and not in a short one, because the agent needs another turn to answer.
 */
static int session_end(struct hook_run *r, size_t tokens, struct fumi_err *e)
{
    (void)tokens;
    struct fumi_str path = input_text(r, "transcript_path");
    struct stat st;
    bool asked;
    if (!r->session.n || !path.p || stat(files_name(r->i->a, path), &st) ||
        st.st_size < LONG_SESSION || fumi_is(fumi_get(r->in, "stop_hook_active"), FUMI_TRUE))
        return 0;
    if (was_asked(r, &asked, e))
        return -1;
    if (asked)
        return 0;
    r->text = FUMI_STR("Before you end: store with memory_add_note what later sessions need and "
                       "what is not stored yet (decisions with reasons, rules, corrections, causes "
                       "of failures and their cures), one fact per note, no secrets. If there is "
                       "nothing, say nothing more and end.");
    r->told = FUMI_STR("the agent was asked to store what later sessions need");
    record(r, SESSION_END);
    return 0;
}

static const struct hook hooks[] = {
    {"session-start", "SessionStart", 1500, false, false, session_start},
    {"prompt", "UserPromptSubmit", 400, false, false, prompt},
    {"pre-compact", "PreCompact", 0, false, true, pre_compact},
    {SESSION_END, "Stop", 0, true, false, session_end},
};

static const struct hook *find_hook(struct fumi_strs words)
{
    for (size_t k = 0; words.n && k < FUMI_COUNT(hooks); k++)
        if (fumi_eq(words.items[0], fumi_str(hooks[k].name)))
            return &hooks[k];
    return NULL;
}

/* Whether the project switches the hook off: global.memory.hooks is false, or {"prompt":false}. */
static int is_off(struct hook_run *r, bool *off, struct fumi_err *e)
{
    struct global g;
    struct fumi_err why = {0};
    *off = false;
    if (store_get_global(memory_store(r->s.memory), r->i->a, r->project, FUMI_STR(HOOKS_KEY), &g,
                         &why)) {
        *e = why;
        return why.code == ERR_NOT_FOUND ? 0 : -1;
    }
    const struct fumi_val *v = fumi_parse(r->i->a, g.value, &why);
    *off = fumi_is(v, FUMI_FALSE) || fumi_is(fumi_get(v, r->hook->name), FUMI_FALSE);
    return 0;
}

static int run(struct hook_run *r, struct fumi_err *e)
{
    const struct hook_flags *f = r->i->flags;
    bool off;
    r->session = session_of(r);
    if (session_open(&r->s, &r->i->common, e) ||
        session_project(&r->s, r->i->a, f->project, &r->project, e) ||
        project_canonical(r->i->a, r->project, &r->project, e) || is_off(r, &off, e))
        return -1;
    if (off)
        return 0;
    if (r->hook->run(r, (size_t)(f->max_tokens ? f->max_tokens : r->hook->tokens), e))
        return -1;
    tell_given(r);
    return 0;
}

/* The answer of a hook as Claude Code, Codex and Gemini CLI expect it. */
static void put_answer(struct fumi_out *o, const struct hook_run *r)
{
    struct fumi_str event = input_text(r, "hook_event_name");
    fumi_put_open(o, '{');
    if (r->text.n && r->hook->ends) {
        fumi_put_key(o, "decision");
        fumi_put_str(o, FUMI_STR("block"));
        fumi_put_key(o, "reason");
        fumi_put_str(o, r->text);
    } else if (r->text.n) {
        fumi_put_key(o, "hookSpecificOutput");
        fumi_put_open(o, '{');
        fumi_put_key(o, "hookEventName");
        fumi_put_str(o, event.n ? event : fumi_str(r->hook->event));
        fumi_put_key(o, "additionalContext");
        fumi_put_str(o, r->text);
        fumi_put_close(o, '}');
    }
    if (r->told.n) {
        fumi_put_key(o, "systemMessage");
        fumi_put_str(o, fumi_fmt(r->i->a, "fumi: %.*s", FUMI_ARG(r->told)));
    }
    fumi_put_close(o, '}');
}

static void print(const struct hook_run *r)
{
    const struct hook_flags *f = r->i->flags;
    struct fumi_buf out = {0};
    if (f->format && !r->hook->plain) {
        put_answer(&(struct fumi_out){.buf = &out}, r);
        fumi_buf_put(&out, '\n');
    } else {
        fumi_buf_add(&out, r->text.p, r->text.n);
    }
    command_print(&out);
}

/* An agent shows this line to its user. A failing hook may keep an agent from working, so the
 * status is 0. */
static int fail(struct hook_run *r, const struct fumi_err *e)
{
    const struct hook_flags *f = r->i->flags;
    int status = command_report(e);
    if (!f->format)
        return status;
    r->text = (struct fumi_str){0};
    r->told = fumi_fmt(r->i->a, "hook %s failed: %s", r->hook->name, e->text);
    print(r);
    return STATUS_OK;
}

static int hook(struct invocation *i)
{
    struct fumi_err e = {0};
    const struct hook *h = find_hook(i->words);
    struct hook_run *r = fumi_alloc(i->a, sizeof(*r));
    if (!h)
        return command_misuse(
            i, "the name of a hook is required: session-start, prompt, pre-compact or session-end");
    if (i->words.n > 1 && h->run != prompt)
        return command_misuse(i, "hook %s takes no further words", h->name);
    *r = (struct hook_run){.i = i, .hook = h, .text = FUMI_STR("")};
    if (read_timeout(r))
        return STATUS_USAGE;
    r->in = read_input(i->a);
    limit_time(r);
    int rc = run(r, &e);
    end_limit();
    session_close(&r->s);
    if (rc)
        return fail(r, &e);
    print(r);
    return STATUS_OK;
}

const struct command command_hook = {
    .name = "hook",
    .usage = "session-start | prompt [TEXT] | pre-compact | session-end",
    .help = "Prints what an agent should know or do at an event of its session.",
    .more =
        "session-start prints a digest: the settings of the project, the notes tagged rule or "
        "important, and the newest notes of the group global. prompt prints the notes that most "
        "likely answer the prompt of the user, and nothing if there are none. pre-compact and "
        "session-end ask the agent to store what later sessions need. 'fumi setup AGENT --hook' "
        "makes an agent run them. The global global.memory.hooks of a project switches them off: "
        "false, or {\"prompt\":false}.",
    .shape = &shape,
    .aliases = aliases,
    .words = ANY_WORDS,
    .output = OUTPUT_DATA,
    .run = hook,
};
