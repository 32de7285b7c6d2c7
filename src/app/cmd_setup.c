/* fumi setup: adds the memory to the configuration files of an agent.
 *
 * There are up to three parts: the server, the hooks and the instructions. Each part is in one
 * file. All parts are checked before the first file is written. */
#include "app/cli_notes.h"
#include "app/command.h"
#include "app/setup_agents.h"
#include "app/show.h"
#include "base/closest_name.h"

#include <sys/stat.h>
#include <unistd.h>

struct setup_flags {
    int scope, tools;
    struct fumi_str http;
    bool hook, instructions, undo, dry_run;
};

static const char *const scopes[] = {"user", "project", NULL};

#define FIELD(member, wire, ...) FUMI_FIELD(struct setup_flags, member, wire, __VA_ARGS__)

static const struct fumi_field fields[] = {
    FIELD(scope, "scope",
          "Set up for all projects of the user, or for the project in the working directory.",
          .choices = scopes, .def = "\"user\""),
    FIELD(http, "http", "URL of a running server that the agent uses instead of starting one.",
          .min = 1, .max = 2000),
    FIELD(tools, "tools", "Tools that the agent gets.", .choices = config_tool_sets,
          .def = "\"all\""),
    FIELD(hook, "hook",
          "Also add hooks, which show the agent what it should know: when a session starts, and "
          "at a prompt that the memory has an answer to."),
    FIELD(
        instructions, "instructions",
        "Also add instructions for using the memory to AGENTS.md (or CLAUDE.md, GEMINI.md) in the "
        "working directory."),
    FIELD(undo, "undo",
          "Remove what fumi setup added: everything, or only the parts given by --hook and "
          "--instructions."),
    FIELD(dry_run, "dryRun", "Show the changes without making them."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct setup_flags, fields);

static const struct flag_alias aliases[] = {{"n", "dry-run"}, COMMAND_ALIASES};

struct setup_entry {
    struct setup_spot spot;
    struct fumi_str text;
};

/* The entries in one file. */
struct setup_part {
    const char *what;
    struct fumi_str path;
    struct setup_entry entries[SETUP_EVENTS];
    size_t n;
    bool shared;
};

/* Adds all entries to a text, or removes them. */
static int put_all(struct fumi_arena *a, const struct setup_part *p, struct fumi_str text,
                   struct fumi_str *out, struct fumi_err *e)
{
    *out = text;
    for (size_t i = 0; i < p->n; i++) {
        const struct setup_entry *one = &p->entries[i];
        const struct setup_text now = {p->path, *out};
        if (one->spot.format->put(a, &one->spot, &now, one->text, out, e))
            return -1;
    }
    return 0;
}

static int drop_all(struct fumi_arena *a, const struct setup_part *p, struct fumi_str text,
                    struct fumi_str *out, struct fumi_err *e)
{
    *out = text;
    for (size_t i = p->n; i-- > 0;) {
        const struct setup_entry *one = &p->entries[i];
        const struct setup_text now = {p->path, *out};
        if (one->spot.format->drop(a, &one->spot, &now, out, e))
            return -1;
    }
    return 0;
}

static void add_word(struct fumi_strs *words, struct fumi_str word)
{
    words->items[words->n++] = word;
}

static int add_path(struct fumi_arena *a, struct fumi_strs *words, const char *flag,
                    struct fumi_str path, struct fumi_err *e)
{
    struct fumi_str none = {0}, whole;
    if (!path.p)
        return 0;
    if (files_expand(a, path, none, &whole, e))
        return -1;
    add_word(words, fumi_str(flag));
    add_word(words, whole);
    return 0;
}

enum { WORDS = 16 };

/* Builds a command line: the program, a command, and the common flags that were given. */
static int command_line(struct invocation *i, const char *const *command, struct fumi_strs *words,
                        struct fumi_err *e)
{
    const struct common *c = &i->common;
    *words = (struct fumi_strs){fumi_alloc(i->a, WORDS * sizeof(*words->items)), 1};
    for (; *command; command++)
        add_word(words, fumi_str(*command));
    if (setup_program(i->a, &words->items[0], e) ||
        add_path(i->a, words, "--config", c->config, e) ||
        add_path(i->a, words, "--data-dir", c->data_dir, e) ||
        add_path(i->a, words, "--db", c->db, e))
        return -1;
    if (c->store.p) {
        add_word(words, FUMI_STR("--store"));
        add_word(words, c->store);
    }
    if (c->allow_http)
        add_word(words, FUMI_STR("--allow-http-embedder"));
    return 0;
}

/* A URL without a path means the MCP route of that server. */
static struct fumi_str with_route(struct fumi_arena *a, struct fumi_str url)
{
    const char *host = url.p ? memmem(url.p, url.n, "://", 3) : NULL;
    const char *path = host ? memchr(host + 3, '/', (size_t)(url.p + url.n - host - 3)) : NULL;
    if (!host || (path && path + 1 < url.p + url.n))
        return url;
    url.n -= path != NULL;
    return fumi_fmt(a, "%.*s/mcp", FUMI_ARG(url));
}

static int server_of(struct invocation *i, struct setup_server *s, struct fumi_err *e)
{
    /* agents use stdio, whatever transport is configured */
    static const char *const serve[] = {"serve", "--transport", "stdio", NULL};
    const struct setup_flags *f = i->flags;
    *s = (struct setup_server){.url = with_route(i->a, f->http)};
    if (f->http.p)
        return 0;
    if (command_line(i, serve, &s->words, e))
        return -1;
    if (f->tools) {
        add_word(&s->words, FUMI_STR("--tools"));
        add_word(&s->words, fumi_str(config_tool_sets[f->tools]));
    }
    return 0;
}

static int hook_line(struct invocation *i, const struct setup_event *v, struct fumi_str *line,
                     struct fumi_err *e)
{
    const char *const hook[] = {v->command, NULL};
    struct fumi_strs words;
    struct fumi_buf b = {0};
    if (command_line(i, hook, &words, e))
        return -1;
    for (size_t k = 0; k < words.n; k++) {
        if (k)
            fumi_buf_put(&b, ' ');
        if (k == 1) /* several arguments in one string */
            fumi_buf_add(&b, words.items[k].p, words.items[k].n);
        else
            show_word(&b, words.items[k]);
    }
    *line = fumi_buf_keep(&b, i->a);
    return 0;
}

static int server_part(struct invocation *i, const struct setup_agent *g, struct setup_part *p,
                       struct fumi_err *e)
{
    const struct setup_flags *f = i->flags;
    struct setup_server server;
    *p = (struct setup_part){.what = "server", .n = 1, .shared = f->scope == SETUP_PROJECT};
    if (server_of(i, &server, e) ||
        setup_location_path(i->a, &g->server, (enum setup_scope)f->scope, &p->path, e))
        return -1;
    p->entries[0] = (struct setup_entry){g->spot, setup_server_entry(i->a, g, &server)};
    return 0;
}

static int hook_part(struct invocation *i, const struct setup_agent *g, struct setup_part *p,
                     struct fumi_err *e)
{
    const struct setup_flags *f = i->flags;
    *p = (struct setup_part){.what = "hooks", .shared = f->scope == SETUP_PROJECT};
    for (; p->n < SETUP_EVENTS && g->events[p->n].command; p->n++) {
        const struct setup_event *v = &g->events[p->n];
        struct fumi_str line;
        if (hook_line(i, v, &line, e))
            return -1;
        p->entries[p->n] = (struct setup_entry){{&setup_hook, v->path, g->strict, v->command},
                                                setup_hook_entry(i->a, v, line)};
    }
    return setup_location_path(i->a, &g->hook, (enum setup_scope)f->scope, &p->path, e);
}

static int text_part(struct invocation *i, const struct setup_agent *g, struct setup_part *p,
                     struct fumi_err *e)
{
    struct fumi_str none = {0};
    *p = (struct setup_part){.what = "instructions",
                             .entries = {{{.format = &setup_block}, setup_instructions()}},
                             .n = 1,
                             .shared = true};
    return files_expand(i->a, fumi_str(g->instructions), none, &p->path, e);
}

/* The part with the entries as they are in the text, which may differ from those that would be
 * written now. Entries that are not there are left out. */
static int find_all(struct fumi_arena *a, const struct setup_part *p, struct fumi_str text,
                    struct setup_part *found, struct fumi_err *e)
{
    const struct setup_text now = {p->path, text};
    *found = *p;
    found->n = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct setup_entry one = p->entries[i];
        if (one.spot.format->find(a, &one.spot, &now, &one.text, e))
            return -1;
        if (one.text.p)
            found->entries[found->n++] = one;
    }
    return 0;
}

/* Finds the backup from which our entries were made: it has none of them, and adding them gives the
 * present text. *out stays null if there is no such backup. */
static int find_original(struct fumi_arena *a, const struct setup_part *p, struct fumi_str now,
                         struct fumi_str *out, struct fumi_err *e)
{
    struct fumi_strs kept;
    struct setup_part ours, other;
    struct fumi_str made;
    struct fumi_err ignored;
    if (find_all(a, p, now, &ours, e) || setup_backups(a, p->path, &kept, e))
        return -1;
    for (size_t k = 0; k < kept.n; k++) {
        if (find_all(a, p, kept.items[k], &other, &ignored) || other.n ||
            put_all(a, &ours, kept.items[k], &made, &ignored) || !fumi_eq(made, now))
            continue;
        *out = kept.items[k];
        return 0;
    }
    return 0;
}

/* Whether a text is blank or an empty JSON object. */
static bool is_nothing(struct fumi_str s)
{
    char left[3] = {0};
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(" \t\r\n", s.p[i]))
            continue;
        if (n == 2)
            return false;
        left[n++] = s.p[i];
    }
    return n == 0 || strcmp(left, "{}") == 0;
}

/* Removes our entries. A file that then is empty and has no backup was created by fumi: it is
 * deleted. */
static int undo(struct fumi_arena *a, const struct setup_part *p, struct setup_write *w,
                struct fumi_err *e)
{
    struct fumi_str kept = {0};
    if (drop_all(a, p, w->old.text, &w->text, e))
        return -1;
    if (fumi_eq(w->text, w->old.text))
        return 0;
    if (find_original(a, p, w->old.text, &kept, e))
        return -1;
    w->remove = !kept.p && is_nothing(w->text);
    if (kept.p)
        w->text = kept;
    return 0;
}

static void print_unchanged(const struct setup_part *p, const struct setup_flags *f)
{
    printf("%s: %s in %.*s\n", p->what, f->undo ? "no entry of fumi" : "already set up",
           FUMI_ARG(p->path));
}

static int apply(struct invocation *i, const struct setup_part *p, struct setup_write *w,
                 struct fumi_err *e)
{
    const struct setup_flags *f = i->flags;
    struct fumi_str backup, none = {0};
    if (fumi_eq(w->text, w->old.text) && !w->remove) {
        print_unchanged(p, f);
        return 0;
    }
    setup_diff(p->path, w->old.text, w->remove ? none : w->text, stdout);
    if (f->dry_run)
        return 0;
    if (setup_write(i->a, w, &backup, e))
        return -1;
    printf("%s: %s %.*s\n", p->what, w->remove ? "removed" : "wrote", FUMI_ARG(p->path));
    if (backup.p)
        printf("%s: backup in %.*s\n", p->what, FUMI_ARG(backup));
    return 0;
}

static int run_part(struct invocation *i, const struct setup_part *p, bool only_check,
                    struct fumi_err *e)
{
    const struct setup_flags *f = i->flags;
    struct setup_write w = {.path = p->path, .shared = p->shared};
    if (setup_read(i->a, p->path, &w.old, e))
        return -1;
    if (f->undo ? undo(i->a, p, &w, e) : put_all(i->a, p, w.old.text, &w.text, e))
        return -1;
    return only_check ? 0 : apply(i, p, &w, e);
}

static bool has_hook(const struct setup_agent *g)
{
    return g->hook.home != NULL;
}

static int run_parts(struct invocation *i, const struct setup_agent *g, bool only_check,
                     struct fumi_err *e)
{
    const struct setup_flags *f = i->flags;
    bool all = f->undo && !f->hook && !f->instructions;
    const struct {
        bool wanted;
        int (*make)(struct invocation *i, const struct setup_agent *g, struct setup_part *p,
                    struct fumi_err *e);
    } parts[] = {
        {!f->undo || all, server_part},
        {(f->hook || all) && has_hook(g), hook_part},
        {f->instructions || all, text_part},
    };
    for (size_t k = 0; k < FUMI_COUNT(parts); k++) {
        struct setup_part p;
        if (parts[k].wanted && (parts[k].make(i, g, &p, e) || run_part(i, &p, only_check, e)))
            return -1;
    }
    return 0;
}

/* Most agents start servers without the variables of the user's shell. */
static void advise_variables(void)
{
    for (char **v = environ; *v; v++) {
        if (strncmp(*v, "FUMI_", 5) != 0 || strncmp(*v, "FUMI_MODEL=", 11) == 0)
            continue;
        printf("note: %.*s is set here, but an agent may start the server without it; the flags "
               "--data-dir and --config are passed to the server.\n",
               (int)strcspn(*v, "="), *v);
        return;
    }
}

static void advise(struct invocation *i, const struct setup_agent *g, bool installed)
{
    const struct setup_flags *f = i->flags;
    if (f->undo || f->dry_run)
        return;
    if (!installed)
        printf("note: %s was not found on this machine; it need not be installed yet.\n", g->title);
    if (!f->http.p)
        advise_variables();
    if (f->http.p && f->hook)
        printf("note: the hooks read the memory on this machine, not that of %.*s.\n",
               FUMI_ARG(f->http));
    if (g->notes[f->scope])
        printf("note: %s\n", g->notes[f->scope]);
    if (f->hook && g->hook_note)
        printf("note: %s\n", g->hook_note);
}

/* Rejects flags that cannot be combined. */
static int check(struct invocation *i, const struct setup_agent *g)
{
    const struct setup_flags *f = i->flags;
    const struct common *c = &i->common;
    if (f->http.p && !fumi_starts(f->http, FUMI_STR("http://")) &&
        !fumi_starts(f->http, FUMI_STR("https://")))
        return command_misuse(i, "--http must be a URL such as http://127.0.0.1:8765/mcp");
    if (f->http.p && f->tools)
        return command_misuse(i, "--tools belongs to the server that --http names: give it there");
    if (f->http.p && !f->hook && (c->config.p || c->data_dir.p || c->db.p || c->store.p))
        return command_misuse(i, "--config, --data-dir, --db and --store belong to the server that "
                                 "--http names: give them there");
    if (f->hook && !has_hook(g))
        return command_misuse(i, "%s has no hooks; use --instructions instead", g->title);
    return STATUS_OK;
}

static int unknown(struct invocation *i, struct fumi_str name)
{
    struct closest_name near = closest_name_start(name);
    const char *best = NULL;
    for (size_t k = 0; k < SETUP_AGENTS; k++) {
        if (closest_name_improves(&near, fumi_str(setup_agents[k].name)))
            best = setup_agents[k].name;
    }
    return command_misuse(i, "unknown agent %.*s%s%s%s; run 'fumi setup' for a list",
                          name.n > 40 ? 40 : (int)name.n, name.p, best ? "; did you mean " : "",
                          best ? best : "", best ? "?" : "");
}

static const char *state_of(struct fumi_arena *a, const struct setup_agent *g,
                            enum setup_scope scope)
{
    struct fumi_err ignored;
    struct file_text file;
    struct fumi_str path, found;
    if (setup_location_path(a, &g->server, scope, &path, &ignored) ||
        setup_read(a, path, &file, &ignored))
        return "unreadable";
    struct setup_text t = {path, file.text};
    if (g->spot.format->find(a, &g->spot, &t, &found, &ignored))
        return "unreadable";
    return found.p ? "set up" : "-";
}

struct agent {
    struct fumi_str name, user, project, found;
};

static const struct fumi_field agent_fields[] = {
    FUMI_FIELD(struct agent, name, "name", "The agent."),
    FUMI_FIELD(struct agent, user, "user",
               "Its configuration for all projects: set up, unreadable, or - for neither."),
    FUMI_FIELD(struct agent, project, "project", "The same for the working directory."),
    FUMI_FIELD(struct agent, found, "found", "Where its program was found; null: nowhere.",
               .flags = FUMI_NULLABLE),
};
static const struct fumi_shape agent_shape = FUMI_SHAPE(struct agent, agent_fields);

struct agents {
    struct fumi_list agents;
};

static const struct fumi_field agents_fields[] = {
    FUMI_FIELD(struct agents, agents, "agents", "The agents.", .shape = &agent_shape),
};
static const struct fumi_shape agents_shape = FUMI_SHAPE(struct agents, agents_fields);

static int list_json(struct invocation *i)
{
    struct agent rows[SETUP_AGENTS];
    for (size_t k = 0; k < SETUP_AGENTS; k++) {
        const struct setup_agent *g = &setup_agents[k];
        rows[k] = (struct agent){fumi_str(g->name), fumi_str(state_of(i->a, g, SETUP_USER)),
                                 fumi_str(state_of(i->a, g, SETUP_PROJECT)),
                                 setup_agent_installed(i->a, g)};
    }
    notes_print_struct(i->a, &agents_shape, &(struct agents){{rows, SETUP_AGENTS}});
    return STATUS_OK;
}

static int list(struct invocation *i)
{
    if (i->json)
        return list_json(i);
    printf("%-12s %-11s %-11s %s\n", "AGENT", "USER", "PROJECT", "FOUND");
    for (size_t k = 0; k < SETUP_AGENTS; k++) {
        const struct setup_agent *g = &setup_agents[k];
        struct fumi_str found = setup_agent_installed(i->a, g);
        printf("%-12s %-11s %-11s %.*s\n", g->name, state_of(i->a, g, SETUP_USER),
               state_of(i->a, g, SETUP_PROJECT), FUMI_ARG(found.p ? found : FUMI_STR("no")));
    }
    return STATUS_OK;
}

static int setup(struct invocation *i)
{
    const struct setup_flags *f = i->flags;
    struct fumi_err e = {0};
    if (!i->words.n)
        return f->undo || f->hook || f->instructions || f->http.p
                   ? command_misuse(i,
                                    "the name of an agent is required: run 'fumi setup' for a list")
                   : list(i);
    const struct setup_agent *g = setup_agent_find(i->words.items[0]);
    if (!g)
        return unknown(i, i->words.items[0]);
    if (i->json)
        return command_misuse(i, "--json is for the list of agents");
    int status = check(i, g);
    if (status)
        return status;
    bool installed = setup_agent_installed(i->a, g).p; /* before we create its directory */
    umask(022);
    /* The first pass only checks, so that no file is changed if another one cannot be. */
    if (run_parts(i, g, true, &e) || run_parts(i, g, false, &e))
        return command_report(&e);
    advise(i, g, installed);
    return STATUS_OK;
}

const struct command command_setup = {
    .name = "setup",
    .usage = "[AGENT]",
    .help = "Adds the memory to an agent, or lists the agents.",
    .more =
        "The agents are claude-code, codex, gemini-cli, opencode, cursor and vscode. The agent "
        "need not be installed yet. The change is shown and made in the agent's own configuration "
        "file; the rest of the file is not changed, and a backup is kept in the same directory. "
        "--config, --data-dir and --db are passed to the server. Running it again changes "
        "nothing; --undo removes the entry.",
    .shape = &shape,
    .aliases = aliases,
    .words = 1,
    .output = OUTPUT_JSON,
    .result = &agents_shape,
    .prints = "The list of agents, without an argument.",
    .run = setup,
};
