#include "app/import_formats.h"

#include <inttypes.h>
#include <strings.h>

struct fumi_str import_base_name(struct fumi_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    return slash ? (struct fumi_str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

static bool ends(struct fumi_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && strncasecmp(s.p + s.n - n, end, n) == 0;
}

bool import_is_markdown(struct fumi_str path)
{
    return ends(path, ".md") || ends(path, ".markdown");
}

static struct fumi_str first_line(struct fumi_str s)
{
    while (s.n && strchr(" \t\r\n", s.p[0]))
        s.p++, s.n--;
    const char *end = memchr(s.p, '\n', s.n);
    return end ? (struct fumi_str){s.p, (size_t)(end - s.p)} : s;
}

static bool is_server_memory(struct fumi_str path, struct fumi_str start)
{
    struct fumi_str line = first_line(start);
    (void)path;
    return fumi_starts(line, FUMI_STR("{\"type\":\"entity\",")) ||
           fumi_starts(line, FUMI_STR("{\"type\":\"relation\","));
}

static bool is_jsonl(struct fumi_str path, struct fumi_str start)
{
    struct fumi_str line = first_line(start), member = FUMI_STR("\"projectId\"");
    return ends(path, ".jsonl") ||
           (fumi_starts(line, FUMI_STR("{")) && memmem(line.p, line.n, member.p, member.n));
}

static bool is_json(struct fumi_str path, struct fumi_str start)
{
    struct fumi_str line = first_line(start);
    return !import_is_markdown(path) && line.n && strchr("[{", line.p[0]);
}

static bool is_rules(struct fumi_str path, struct fumi_str start)
{
    static const char *const names[] = {"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"};
    struct fumi_str name = import_base_name(path);
    (void)start;
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (fumi_eq(name, fumi_str(names[i])))
            return true;
    return false;
}

static bool is_markdown(struct fumi_str path, struct fumi_str start)
{
    (void)start;
    return import_is_markdown(path);
}

const struct import_format import_formats[IMPORT_FORMATS] = {
    [IMPORT_EMBEDDING_MCP] = {"embedding-mcp", import_is_embedding_mcp, import_read_embedding_mcp,
                              true},
    [IMPORT_MEMORY_SERVICE] = {"memory-service", import_is_memory_service,
                               import_read_memory_service, true},
    [IMPORT_CLAUDE_MEM] = {"claude-mem", import_is_claude_mem, import_read_claude_mem, true},
    [IMPORT_SERVER_MEMORY] = {"server-memory", is_server_memory, import_read_server_memory, false},
    [IMPORT_JSONL] = {"jsonl", is_jsonl, NULL, false},
    [IMPORT_JSON] = {"json", is_json, import_read_json, false},
    [IMPORT_RULES] = {"rules", is_rules, import_read_rules, false},
    [IMPORT_CODEX] = {"codex", import_is_codex, import_read_codex, false},
    [IMPORT_CLAUDE_CODE] = {"claude-code", import_is_claude_code, import_read_claude_code, false},
    [IMPORT_BASIC_MEMORY] = {"basic-memory", import_is_basic_memory, import_read_basic_memory,
                             false},
    [IMPORT_MARKDOWN] = {"markdown", is_markdown, import_read_markdown, false},
};

const struct import_format *import_recognise(struct fumi_str path, struct fumi_str start)
{
    for (size_t i = 0; i < IMPORT_FORMATS; i++)
        if (import_formats[i].recognise(path, start))
            return &import_formats[i];
    return NULL;
}

/* A UUID of version 8 (RFC 9562), whose bits the application defines. */
static struct fumi_str id_of(const struct import_file *f, const struct note *n)
{
    struct fumi_str place = fumi_fmt(f->a, "%.*s\n%.*s", FUMI_ARG(f->path), FUMI_ARG(n->title));
    uint64_t high = (uint64_t)note_said(n->project, place, n->text);
    uint64_t low = (uint64_t)note_said(place, n->project, n->text);
    return fumi_fmt(f->a, "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                    high >> 32, high >> 16 & 0xFFFF, high & 0xFFF, (low >> 48 & 0x3FFF) | 0x8000,
                    low & 0xFFFFFFFFFFFF);
}

static int pass_on(struct import_file *f, size_t line, const struct transfer *t, struct fumi_err *e)
{
    struct fumi_buf b = {0};
    transfer_write(&b, t);
    int rc = f->take(f->to, f, line, fumi_buf_str(&b), NULL, e);
    fumi_buf_done(&b);
    return rc;
}

int import_object(struct import_file *f, size_t line, struct transfer *t, struct fumi_err *e)
{
    struct fumi_str *project = t->kind == TRANSFER_GROUP ? &t->group.project : &t->global.project;
    if (!project->p || f->one_project)
        *project = f->project;
    return pass_on(f, line, t, e);
}

int import_note(struct import_file *f, size_t line, struct note *n, struct fumi_err *e)
{
    if (!n->project.p || f->one_project)
        n->project = f->project;
    if (!n->group.n)
        n->group = FUMI_STR("global");
    if (!n->source.n)
        n->source = f->shown;
    if (!n->id.n)
        n->id = id_of(f, n);
    return pass_on(f, line, &(struct transfer){.kind = TRANSFER_NOTE, .note = *n}, e);
}

int import_bad(struct import_file *f, size_t line, const char *fault, struct fumi_err *e)
{
    return f->take(f->to, f, line, (struct fumi_str){0}, fault, e);
}

bool import_time(struct fumi_arena *a, struct fumi_str s, struct fumi_time *out)
{
    struct fumi_str day = {s.p, s.n < 10 ? s.n : 10};
    struct fumi_str rest = {s.p + day.n, s.n - day.n};
    out->set = fumi_time_read(s, &out->ms);
    if (out->set)
        return true;
    if (rest.n && strchr(" T", rest.p[0]))
        rest.p++, rest.n--;
    s = rest.n ? fumi_fmt(a, "%.*sT%.*sZ", FUMI_ARG(day), FUMI_ARG(rest))
               : fumi_fmt(a, "%.*sT00:00:00Z", FUMI_ARG(day));
    out->set = fumi_time_read(s, &out->ms);
    return out->set;
}

void import_append(struct fumi_arena *a, struct fumi_strs *list, struct fumi_str s)
{
    if ((list->n & (list->n - 1)) == 0) { /* the room ends at each power of two */
        struct fumi_str *more = fumi_alloc(a, (list->n ? 2 * list->n : 1) * sizeof(*more));
        if (list->n)
            memcpy(more, list->items, list->n * sizeof(*more));
        list->items = more;
    }
    list->items[list->n++] = s;
}

void import_tag(struct fumi_arena *a, struct fumi_strs *tags, struct fumi_str tag)
{
    tag = note_trimmed(tag);
    if (tag.n && tag.p[0] == '#')
        tag.p++, tag.n--;
    for (size_t i = 0; i < tags->n; i++)
        if (fumi_eq(tags->items[i], tag))
            return;
    if (tag.n)
        import_append(a, tags, tag);
}
