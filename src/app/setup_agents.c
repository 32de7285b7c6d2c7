#include "app/setup_agents.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const mcp_servers[] = {"mcpServers", "fumi", NULL};
static const char *const servers[] = {"servers", "fumi", NULL};
static const char *const mcp[] = {"mcp", "fumi", NULL};

/* The hook runs when a session has no digest of the memory yet: not when a session is resumed. */
#define NEW_SESSION "startup|clear|compact"

#define HOOK(event, name, matcher)                                                                 \
    {                                                                                              \
        {"hooks", event, NULL}, "hook " name " --format json", matcher                             \
    }

const struct setup_agent setup_agents[SETUP_AGENTS] = {
    {
        .name = "claude-code",
        .alias = "claude",
        .title = "Claude Code",
        .programs = {"claude"},
        .directory = ".claude",
        .server = {"CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json", ".mcp.json", NULL},
        .hook = {"CLAUDE_CONFIG_DIR", "settings.json", ".claude/settings.json",
                 ".claude/settings.json", NULL},
        .spot = {.format = &setup_member, .path = mcp_servers, .strict = true},
        .style = {"stdio", "http", false, false},
        .events = {HOOK("SessionStart", "session-start", NEW_SESSION),
                   HOOK("UserPromptSubmit", "prompt", NULL),
                   HOOK("PreCompact", "pre-compact", NULL), HOOK("Stop", "session-end", NULL)},
        .strict = true,
        .instructions = "CLAUDE.md",
        .notes = {NULL, "Claude Code asks once whether to trust the servers of this project."},
    },
    {
        .name = "codex",
        .title = "Codex",
        .programs = {"codex"},
        .directory = ".codex",
        .server = {"CODEX_HOME", "config.toml", ".codex/config.toml", ".codex/config.toml", NULL},
        .hook = {"CODEX_HOME", "hooks.json", ".codex/hooks.json", ".codex/hooks.json", NULL},
        .spot = {.format = &setup_toml},
        .events = {HOOK("SessionStart", "session-start", NEW_SESSION),
                   HOOK("UserPromptSubmit", "prompt", NULL), HOOK("Stop", "session-end", NULL)},
        .strict = true,
        .instructions = "AGENTS.md",
        .notes = {NULL, "Codex reads .codex/config.toml only in projects that you trust."},
        .hook_note =
            "Codex runs new hooks only after you have reviewed them: type /hooks in Codex.",
    },
    {
        .name = "gemini-cli",
        .alias = "gemini",
        .title = "Gemini CLI",
        .programs = {"gemini"},
        .directory = ".gemini",
        .server = {"GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json",
                   ".gemini/settings.json", NULL},
        .hook = {"GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json",
                 ".gemini/settings.json", NULL},
        .spot = {.format = &setup_member, .path = mcp_servers},
        .style = {NULL, "http", false, false},
        .events = {HOOK("SessionStart", "session-start", NULL),
                   HOOK("BeforeAgent", "prompt", NULL)},
        .instructions = "GEMINI.md",
        .notes = {"Gemini CLI starts servers only in folders that you trust.",
                  "Gemini CLI starts servers only in folders that you trust."},
    },
    {
        .name = "opencode",
        .title = "opencode",
        .programs = {"opencode"},
        .directory = ".config/opencode",
        .server = {"XDG_CONFIG_HOME", "opencode/opencode.json", ".config/opencode/opencode.json",
                   "opencode.json", "c"},
        .spot = {.format = &setup_member, .path = mcp},
        .style = {"local", "remote", true, true},
        .instructions = "AGENTS.md",
    },
    {
        .name = "cursor",
        .title = "Cursor",
        .programs = {"cursor", "cursor-agent"},
        .directory = ".cursor",
        .server = {NULL, NULL, ".cursor/mcp.json", ".cursor/mcp.json", NULL},
        .spot = {.format = &setup_member, .path = mcp_servers},
        .instructions = "AGENTS.md",
        .notes = {"You may have to enable the server in the settings of Cursor.",
                  "You may have to enable the server in the settings of Cursor."},
    },
    {
        .name = "vscode",
        .alias = "code",
        .title = "VS Code",
        .programs = {"code", "code-insiders"},
        .directory = ".config/Code",
        .server = {"XDG_CONFIG_HOME", "Code/User/mcp.json", ".config/Code/User/mcp.json",
                   ".vscode/mcp.json", NULL},
        .spot = {.format = &setup_member, .path = servers},
        .style = {"stdio", "http", false, false},
        .instructions = "AGENTS.md",
        .notes = {"VS Code asks whether you trust the server when it first starts it.",
                  "VS Code asks whether you trust the server when it first starts it."},
    },
};

const struct setup_agent *setup_agent_find(struct fumi_str name)
{
    for (size_t i = 0; i < SETUP_AGENTS; i++) {
        const struct setup_agent *g = &setup_agents[i];
        if (fumi_eq(name, fumi_str(g->name)) || (g->alias && fumi_eq(name, fumi_str(g->alias))))
            return g;
    }
    return NULL;
}

static int under_home(struct fumi_arena *a, const char *name, struct fumi_str *out,
                      struct fumi_err *e)
{
    struct fumi_str none = {0}, home;
    if (files_expand(a, FUMI_STR("~"), none, &home, e))
        return -1;
    *out = files_join(a, home, name);
    return 0;
}

static int plain_path(struct fumi_arena *a, const struct setup_location *p, enum setup_scope scope,
                      struct fumi_str *out, struct fumi_err *e)
{
    struct fumi_str none = {0};
    const char *set = p->variable ? getenv(p->variable) : NULL;
    if (scope == SETUP_PROJECT)
        return p->project ? files_expand(a, fumi_str(p->project), none, out, e) : 0;
    if (!p->home)
        return 0;
    if (!set || !set[0])
        return under_home(a, p->home, out, e);
    if (files_expand(a, fumi_str(set), none, out, e))
        return -1;
    *out = files_join(a, *out, p->under);
    return 0;
}

int setup_location_path(struct fumi_arena *a, const struct setup_location *p,
                        enum setup_scope scope, struct fumi_str *out, struct fumi_err *e)
{
    *out = (struct fumi_str){0};
    if (plain_path(a, p, scope, out, e))
        return -1;
    if (!out->p || !p->other || access(out->p, F_OK) == 0)
        return 0;
    struct fumi_str other = fumi_fmt(a, "%.*s%s", FUMI_ARG(*out), p->other);
    if (access(other.p, F_OK) == 0)
        *out = other;
    return 0;
}

/* Takes the first absolute directory from a list such as PATH. */
static bool take_dir(const char **path, struct fumi_str *dir)
{
    while (**path) {
        size_t n = strcspn(*path, ":");
        *dir = (struct fumi_str){*path, n};
        *path += n + ((*path)[n] == ':');
        if (n && dir->p[0] == '/')
            return true;
    }
    return false;
}

static struct fumi_str in_path(struct fumi_arena *a, const char *program)
{
    const char *path = getenv("PATH");
    struct fumi_str dir;
    while (path && take_dir(&path, &dir)) {
        struct fumi_str name = files_join(a, dir, program);
        if (access(name.p, X_OK) == 0)
            return name;
    }
    return (struct fumi_str){0};
}

struct fumi_str setup_agent_installed(struct fumi_arena *a, const struct setup_agent *g)
{
    struct fumi_err ignored;
    struct fumi_str found = {0};
    for (size_t i = 0; i < FUMI_COUNT(g->programs) && g->programs[i] && !found.p; i++)
        found = in_path(a, g->programs[i]);
    if (found.p)
        return found;
    if (under_home(a, g->directory, &found, &ignored) || access(found.p, F_OK))
        return (struct fumi_str){0};
    return found;
}

int setup_program(struct fumi_arena *a, struct fumi_str *out, struct fumi_err *e)
{
    char self[PATH_MAX], real[PATH_MAX];
    const char *path = getenv("PATH");
    struct fumi_str dir;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "cannot find the path of this program: %s",
                            strerror(errno));
    self[n] = '\0';
    if (access(self, X_OK))
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "this program was replaced while it was running: run it again");
    *out = fumi_fmt(a, "%s", self);
    while (path && take_dir(&path, &dir)) {
        struct fumi_str name = files_join(a, dir, program_invocation_short_name);
        if (realpath(name.p, real) && strcmp(real, self) == 0) {
            *out = name;
            return 0;
        }
    }
    return 0;
}

static void put_words(struct fumi_out *o, const char *name, struct fumi_strs words, size_t from)
{
    fumi_put_key(o, name);
    fumi_put_open(o, '[');
    for (size_t i = from; i < words.n; i++)
        fumi_put_str(o, words.items[i]);
    fumi_put_close(o, ']');
}

static void put_command(struct fumi_out *o, const struct setup_style *style, struct fumi_strs words)
{
    if (style->one_list) {
        put_words(o, "command", words, 0);
        return;
    }
    fumi_put_key(o, "command");
    fumi_put_str(o, words.items[0]);
    put_words(o, "args", words, 1);
}

struct fumi_str setup_server_entry(struct fumi_arena *a, const struct setup_agent *g,
                                   const struct setup_server *s)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    const char *type = s->url.p ? g->style.remote : g->style.program;
    fumi_put_open(&o, '{');
    if (type) {
        fumi_put_key(&o, "type");
        fumi_put_str(&o, fumi_str(type));
    }
    if (s->url.p) {
        fumi_put_key(&o, "url");
        fumi_put_str(&o, s->url);
    } else {
        put_command(&o, &g->style, s->words);
    }
    if (g->style.enabled) {
        fumi_put_key(&o, "enabled");
        fumi_put_bool(&o, true);
    }
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, a);
}

struct fumi_str setup_hook_entry(struct fumi_arena *a, const struct setup_event *v,
                                 struct fumi_str command)
{
    struct fumi_buf b = {0};
    struct fumi_out o = {.buf = &b};
    fumi_put_open(&o, '{');
    if (v->matcher) {
        fumi_put_key(&o, "matcher");
        fumi_put_str(&o, fumi_str(v->matcher));
    }
    fumi_put_key(&o, "hooks");
    fumi_put_open(&o, '[');
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "type");
    fumi_put_str(&o, FUMI_STR("command"));
    fumi_put_key(&o, "command");
    fumi_put_str(&o, command);
    fumi_put_close(&o, '}');
    fumi_put_close(&o, ']');
    fumi_put_close(&o, '}');
    return fumi_buf_keep(&b, a);
}

struct fumi_str setup_instructions(void)
{
    return FUMI_STR(
        "<!-- fumi:begin -->\n"
        "## Memory\n"
        "\n"
        "The MCP server `fumi` keeps what was learned in earlier sessions. The projectId is the\n"
        "absolute path of this repository's root.\n"
        "\n"
        "- Search (`memory_search`) at the start of a task, before a decision, when a command\n"
        "  fails, and before asking the user for something that may have been said already.\n"
        "- Store (`memory_add_note`) what will matter later: decisions with their reasons, what\n"
        "  the user prefers or corrects, faults with cause and cure, results of research, and\n"
        "  whatever the user asks to remember. Keep it short; give it a title and tags.\n"
        "- Search before storing; correct the note that is there (`memory_update`) instead of\n"
        "  adding a second one. Retag it when its state changes.\n"
        "- Groups: `feature-NAME` and `task-NAME` for what belongs to one, `global` for the rest.\n"
        "  Tags: rule and important for what holds in every session; decision, wip, done, issue.\n"
        "- Never store secrets, small talk, or what the code says itself. Ask before deleting.\n"
        "<!-- fumi:end -->");
}
