#include "app/session.h"
#include "store/postgres.h"
#include "store/sqlite.h"

#include "app/files.h"
#include "app/show.h"

#include <assert.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* The responses to calls of the program itself may be larger than those to clients. */
enum { ANSWER_MAX = 4 * NOTE_JSON_MAX };

static int save(void *arg, const struct embed_config *now, const struct embed_config *previous,
                struct fumi_err *e)
{
    const struct session *s = arg;
    return config_save(&s->overrides, now, previous, e);
}

static int reload(void *arg, struct fumi_arena *a, struct embed_config *now,
                  struct embed_config *previous, struct fumi_err *e)
{
    const struct session *s = arg;
    struct config c;
    if (config_load(&c, a, &s->overrides, e))
        return -1;
    *now = config_embed(&c, &c.embedder);
    *previous = config_embed(&c, &c.previous);
    return 0;
}

void session_warn(const struct session *s, const char *event, struct fumi_str text)
{
    if (s->log.json)
        fumi_log(&s->log, FUMI_WARN, event, {"why", text, 0});
    else if (s->log.level <= FUMI_WARN)
        fprintf(stderr, "warning: %.*s\n", FUMI_ARG(text));
}

static void print_warnings(const struct session *s)
{
    const struct fumi_strs *w = &s->config.warnings;
    for (size_t i = 0; i < w->n; i++)
        session_warn(s, "config.ignored", w->items[i]);
}

int session_config(struct session *s, const struct common *flags, bool freeze, struct fumi_err *e)
{
    s->log = (struct fumi_log){(enum fumi_level)flags->log, flags->log_format == 1, 2};
    s->overrides = (struct config_overrides){
        .config = flags->config,
        .data_dir = flags->data_dir,
        .db = flags->db,
        .store = flags->store,
        .freeze = freeze,
        .allow_http = flags->allow_http,
        .per_worktree = flags->per_worktree,
        .secrets = flags->writing.given ? 1 + flags->writing.secrets : 0,
    };
    if (config_load(&s->config, &s->arena, &s->overrides, e))
        return -1;
    print_warnings(s);
    return 0;
}

static int refuse_missing(struct session *s, struct fumi_err *e)
{
    if (s->config.store.url.p || !access(files_name(&s->arena, s->config.store.path), F_OK))
        return 0;
    return fumi_err_set(e, ERR_NOT_FOUND, "there is no database at %.*s: check --data-dir and --db",
                        FUMI_ARG(files_shown(s->config.store.path)));
}

static struct store *open_postgres(struct session *s, struct fumi_err *e)
{
    const struct store_postgres_options o = {
        .url = files_name(&s->arena, s->config.store.url),
        .dir = files_name(&s->arena, s->config.paths.data_dir),
        .patience = s->patience,
        .log = &s->log,
    };
    return store_postgres_open(&o, e);
}

static struct store *open_sqlite(struct session *s, bool lenient, struct fumi_err *e)
{
    const struct store_sqlite_options o = {
        .path = files_name(&s->arena, s->config.store.path),
        .lenient = lenient,
        .salvage = s->salvage,
        .patience = s->patience,
        .log = &s->log,
        .progress = {s->progress ? progress_tell : NULL, s->progress},
    };
    return store_sqlite_open(&o, e);
}

/* lenient: also opens a damaged file, for commands that repair it or save its contents. */
static int open_store(struct session *s, bool lenient, struct fumi_err *e)
{
    if (files_make_dir(s->config.paths.data_dir, e))
        return -1;
    s->store = s->config.store.url.p ? open_postgres(s, e) : open_sqlite(s, lenient, e);
    return s->store ? 0 : -1;
}

int session_store(struct session *s, const struct common *flags, struct fumi_err *e)
{
    return session_config(s, flags, false, e) || open_store(s, true, e) ? -1 : 0;
}

int session_old_store(struct session *s, const struct common *flags, struct fumi_err *e)
{
    if (session_config(s, flags, false, e))
        return -1;
    return refuse_missing(s, e) ? -1 : open_store(s, true, e);
}

/* The flags with which this memory was opened, for a command line that is shown to the user. */
static struct fumi_str flags_of(struct session *s)
{
    const struct {
        const char *name;
        struct fumi_str value;
    } all[] = {{" --config ", s->overrides.config},
               {" --data-dir ", s->overrides.data_dir},
               {" --db ", s->overrides.db},
               {" --store ", store_postgres_shown(&s->arena, s->overrides.store)}};
    struct fumi_buf out = {0};
    for (size_t i = 0; i < FUMI_COUNT(all); i++) {
        if (!all[i].value.p)
            continue;
        fumi_buf_add(&out, all[i].name, strlen(all[i].name));
        show_word(&out, all[i].value);
    }
    if (s->overrides.allow_http)
        fumi_buf_add(&out, " --allow-http-embedder", 22);
    return fumi_buf_keep(&out, &s->arena);
}

static struct memory_settings settings_of(const struct config *c)
{
    struct memory_settings set = c->safety.memory;
    set.history_days = c->history.days;
    set.history_bytes = c->history.bytes;
    return set;
}

struct author session_author(struct session *s)
{
    const struct passwd *who = getpwuid(getuid());
    return (struct author){.client = FUMI_STR("fumi"),
                           .version = FUMI_STR(FUMI_VERSION),
                           .transport = FUMI_STR("terminal"),
                           .user = who ? fumi_dup(&s->arena, fumi_str(who->pw_name))
                                       : fumi_fmt(&s->arena, "%u", (unsigned)getuid())};
}

static struct memory_options options(struct session *s, const char *transport)
{
    const struct config *c = &s->config;
    return (struct memory_options){
        .store = s->store,
        .set = settings_of(c),
        .embed = config_embed(c, &c->embedder),
        .previous = config_embed(c, &c->previous),
        .openai_key = c->openai_key,
        .facts = {fumi_str(transport), c->store.type, c->store.path,
                  store_postgres_shown(&s->arena, c->store.url), c->paths.config_path,
                  c->paths.data_dir, flags_of(s)},
        .log = &s->log,
        .scope = s->scope,
        .by = s->by,
        .short_ids = s->short_ids,
        .save = save,
        .reload = reload,
        .arg = s,
    };
}

int session_begin(struct session *s, const char *transport, struct fumi_err *e)
{
    assert(!s->memory && s->config.store.type.p); /* after session_config, once */
    if (open_store(s, false, e))
        return -1;
    struct memory_options o = options(s, transport);
    s->memory = memory_open(&o, e);
    if (!s->memory) {
        s->store = NULL; /* memory_open has closed it */
        return -1;
    }
    s->server = fumi_server_new("fumi", FUMI_VERSION);
    s->client = fumi_client_new();
    fumi_server_log(s->server, &s->log);
    return memory_methods(s->server, s->memory, e);
}

int session_begin_command(struct session *s, struct fumi_err *e)
{
    if (session_begin(s, config_kinds[s->config.transport.kind], e))
        return -1;
    fumi_server_limits(s->server,
                       (struct fumi_limits){.message = NOTE_JSON_MAX, .answer = ANSWER_MAX});
    return 0;
}

int session_open(struct session *s, const struct common *flags, struct fumi_err *e)
{
    s->by = session_author(s);
    if (session_config(s, flags, false, e) ||
        (s->existing && (flags->db.p || flags->data_dir.p) && refuse_missing(s, e)))
        return -1;
    return session_begin_command(s, e);
}

void session_close(struct session *s)
{
    session_keep_remote(s);
    if (s->client)
        fumi_client_free(s->client);
    if (s->server)
        fumi_server_free(s->server);
    if (s->memory)
        memory_close(s->memory);
    else if (s->store)
        store_close(s->store);
    fumi_arena_done(&s->arena);
    *s = (struct session){0};
}

static void on_reply(void *arg, struct fumi_buf *answer, int code)
{
    (void)code;
    fumi_buf_move(arg, answer);
}

/* Reads the response to the one request. */
static int read_answer(struct session *s, struct fumi_arena *a, struct fumi_str text,
                       struct fumi_json *result, struct fumi_err *e)
{
    struct fumi_answers answers = {0};
    if (fumi_client_take(s->client, a, text, &answers, e))
        return -1;
    if (answers.n != 1)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR, "the method sent no response");
    *e = answers.items[0].err;
    *result = answers.items[0].result;
    return answers.items[0].ok ? 0 : -1;
}

int session_call(struct session *s, struct fumi_arena *a, const char *method,
                 struct fumi_json params, struct fumi_json *result, struct fumi_err *e)
{
    struct fumi_buf request = {0}, answer = {0};
    assert(s->server); /* session_open succeeded */
    struct fumi_peer peer = {.transport = "cli", .no_requests = true};
    if (fumi_client_request(s->client, &request, method, params, NULL) < 0) {
        fumi_buf_done(&request);
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "params must be an object or an array");
    }
    fumi_handle(s->server, &peer, fumi_buf_str(&request),
                (struct fumi_sink){.reply = on_reply, .arg = &answer});
    fumi_peer_done(&peer);
    int rc = read_answer(s, a, fumi_dup(a, fumi_buf_str(&answer)), result, e);
    fumi_buf_done(&request);
    fumi_buf_done(&answer);
    return rc;
}

int session_ask(struct session *s, struct fumi_arena *a, const char *method,
                struct fumi_json params, const struct fumi_val **result, struct fumi_err *e)
{
    struct fumi_json json = {{0}};
    if (session_call(s, a, method, params, &json, e))
        return -1;
    *result = fumi_parse(a, json.text, e);
    return *result ? 0 : -1;
}

struct fumi_server *session_registry(struct fumi_err *e)
{
    struct fumi_server *s = fumi_server_new("fumi", FUMI_VERSION);
    if (memory_methods(s, NULL, e) == 0)
        return s;
    fumi_server_free(s);
    return NULL;
}

const struct fumi_method *session_method(const struct fumi_server *s, struct fumi_str name)
{
    struct fumi_str is;
    for (size_t i = 0; i < fumi_server_size(s); i++) {
        const struct fumi_method *m = fumi_server_at(s, i, &is);
        if (fumi_eq(name, is))
            return m;
    }
    return NULL;
}

bool session_needs_store(const char *method)
{
    static const char *const others[] = {"memory.add_note",      "memory.import",
                                         "memory.upsert_global", "memory.group_create",
                                         "memory.set_config",    "memory.reembed"};
    const struct fumi_method *m = memory_method(method);
    for (size_t i = 0; i < FUMI_COUNT(others); i++)
        if (strcmp(method, others[i]) == 0)
            return false;
    return m && m->flags & FUMI_BLOCKING;
}

int session_once(struct invocation *i, const char *method, struct fumi_buf *params,
                 const struct fumi_val **result)
{
    struct session s = {.short_ids = i->short_ids, .existing = session_needs_store(method)};
    struct fumi_err e = {0};
    struct fumi_json given = {fumi_buf_keep(params, i->a)};
    const char *own = i->command->method; /* NULL, for fumi projects: names are taken as they are */
    int rc = session_open(&s, &i->common, &e) ||
             (own && session_put_project(&s, i->a, method, &given, &e)) ||
             session_ask(&s, i->a, method, given, result, &e);
    session_close(&s);
    return rc ? command_report(&e) : STATUS_OK;
}

int session_by_id(struct invocation *i, const char *method, const struct fumi_val **result)
{
    struct fumi_buf params = {0};
    struct fumi_out o = {.buf = &params};
    if (!i->words.n)
        return command_misuse(i, "id is required");
    fumi_put_open(&o, '{');
    fumi_put_key(&o, "id");
    fumi_put_str(&o, i->words.items[0]);
    fumi_put_close(&o, '}');
    int status = session_once(i, method, &params, result);
    if (status == STATUS_MISSING && i->words.items[0].n < ID_PREFIX_MIN)
        fprintf(stderr, "remedy: give the id, or at least its first %d characters\n",
                ID_PREFIX_MIN);
    return status;
}
