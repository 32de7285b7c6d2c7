/* A store with two projects, one of which must stay hidden, and a table of calls with at least one
 * row for every method of the memory. */
#ifndef FUMI_SCOPE_FIXTURE_H
#define FUMI_SCOPE_FIXTURE_H

#include "agent_fixture.h"

#define OWN     "/srv/alpha"
#define FOREIGN "/srv/zqproject"

/* The text in the fields of the foreign project, and nowhere else. */
static const char *const markers[] = {"zqproject", "zqgroup",  "zqmade",  "zqheading", "zqabout",
                                      "zqtitle",   "zqtext",   "zqtag",   "zqsource",  "zqmeta",
                                      "zqkey",     "zqvalue",  "f-group", "f-global",  "f-note-1",
                                      "f-note-2",  "f-note-3", "f-review"};

enum want {
    FINE,    /* a result */
    OTHER,   /* names the foreign project: an error */
    MISSING, /* contains an id of the foreign project: answered like an unknown id */
    POLICY,  /* concerns all projects: an error */
};

struct row {
    const char *method, *params;
    enum want want;
    bool writes;
};

#define P "\"projectId\":\"/srv/./beta/../alpha/\"" /* as its owner may write it */
#define F "\"projectId\":\"" FOREIGN "\""

/* Calls that change or delete our own data come last. */
static const struct row rows[] = {
    {"search", "{" P ",\"query\":\"zqtext kettle\",\"topK\":100,\"explain\":true}", FINE, false},
    {"search", "{" P ",\"query\":\"zqtext zqkey\",\"mode\":\"words\"}", FINE, false},
    {"search", "{" P ",\"query\":\"zqtext\",\"mode\":\"meaning\",\"minScore\":1}", FINE, false},
    {"search", "{" P ",\"query\":\"kettle\",\"tags\":[\"zqtag\"]}", FINE, false},
    {"search", "{" P ",\"query\":\"kettle\",\"groupId\":\"zqgroup\"}", FINE, false},
    {"search", "{" F ",\"query\":\"kettle\"}", OTHER, false},
    {"search", "{\"projectId\":\"/srv\",\"query\":\"kettle\"}", OTHER, false},
    {"search", "{\"projectId\":\"/srv/alpha/sub\",\"query\":\"kettle\"}", OTHER, false},
    {"list_recent", "{" P ",\"limit\":1}", FINE, false},
    {"list_recent", "{" P ",\"cursor\":\"99999999999999.99\"}", FINE, false},
    {"list_recent", "{" P ",\"cursor\":\"4000.3\",\"tags\":[\"zqtag\"]}", FINE, false},
    {"list_recent", "{" F "}", OTHER, false},
    {"list_recent", "{" F ",\"cursor\":\"99999999999999.99\"}", OTHER, false},
    {"get", "{\"id\":\"a-note-1\"}", FINE, false},
    {"get", "{\"id\":\"f-note-1\"}", MISSING, false},
    {"get", "{\"id\":\"f-group\"}", MISSING, false},
    {"get", "{\"id\":\"f-global\"}", MISSING, false},
    {"get_config", "{}", FINE, false},
    {"stats", "{}", FINE, false},
    {"list_globals", "{" P "}", FINE, false},
    {"list_globals", "{" P ",\"prefix\":\"global.zq\"}", FINE, false},
    {"list_globals", "{" F "}", OTHER, false},
    {"get_global", "{" P ",\"key\":\"global.alpha\"}", FINE, false},
    {"get_global", "{" P ",\"key\":\"global.zqkey\"}", FINE, false},
    {"get_global", "{" F ",\"key\":\"global.zqkey\"}", OTHER, false},
    {"group_list", "{" P "}", FINE, false},
    {"group_list", "{" F "}", OTHER, false},
    {"group_get", "{\"id\":\"a-group\"}", FINE, false},
    {"group_get", "{\"id\":\"f-group\"}", MISSING, false},
    {"group_get", "{\"id\":\"f-note-1\"}", MISSING, false},
    {"list_names", "{\"kind\":\"project\"}", FINE, false},
    {"list_names", "{\"kind\":\"group\"}", FINE, false},
    {"list_names", "{\"kind\":\"tag\"," P "}", FINE, false},
    {"list_names", "{\"kind\":\"tag\"," F "}", OTHER, false},
    {"timeline", "{}", FINE, false},
    {"timeline", "{" P ",\"tags\":[\"zqtag\"],\"utcOffset\":540}", FINE, false},
    {"timeline", "{" F "}", OTHER, false},
    {"map", "{}", FINE, false},
    {"map", "{" P ",\"groupId\":\"zqgroup\"}", FINE, false},
    {"map", "{" F "}", OTHER, false},
    {"health", "{}", FINE, false},
    {"project_list", "{}", FINE, false},
    {"history", "{}", FINE, false},
    {"history", "{" F "}", OTHER, false},
    {"history", "{\"id\":\"f-note-1\"}", MISSING, false},
    {"injections", "{}", FINE, false},
    {"injections", "{" F "}", OTHER, false},
    {"injections", "{\"id\":\"f-note-1\"}", MISSING, false},
    {"unused", "{" P ",\"since\":\"2100-01-01T00:00:00Z\"}", FINE, false},
    {"unused", "{" F ",\"since\":\"2100-01-01T00:00:00Z\"}", OTHER, false},
    {"review", "{}", FINE, false},
    {"review", "{" F "}", OTHER, false},
    /* Changes nothing itself, but causes the background thread to write. */
    {"reembed", "{}", FINE, true},
    {"set_config", "{\"embedder\":{\"model\":\"another\"}}", POLICY, true},
    {"add_note", "{" P ",\"groupId\":\"global\",\"text\":\"New.\"}", FINE, true},
    {"add_note", "{" F ",\"groupId\":\"global\",\"text\":\"New.\"}", OTHER, true},
    {"import", "{" P ",\"notes\":[{\"groupId\":\"global\",\"text\":\"New.\"}]}", FINE, true},
    {"import", "{" F ",\"notes\":[{\"groupId\":\"global\",\"text\":\"New.\"}]}", OTHER, true},
    {"upsert_global", "{" P ",\"key\":\"global.new\",\"value\":1}", FINE, true},
    {"upsert_global", "{" P ",\"key\":\"global.zqkey\",\"value\":1}", FINE, true},
    {"upsert_global", "{" F ",\"key\":\"global.zqkey\",\"value\":1}", OTHER, true},
    {"group_create", "{" P ",\"groupKey\":\"zqmade\",\"title\":\"T\"}", FINE, true},
    {"group_create", "{" F ",\"groupKey\":\"new\",\"title\":\"T\"}", OTHER, true},
    {"update", "{\"id\":\"a-note-1\",\"patch\":{\"text\":\"Changed.\"}}", FINE, true},
    {"update", "{\"id\":\"f-note-1\",\"patch\":{\"text\":\"Changed.\"}}", MISSING, true},
    {"update", "{\"id\":\"f-note-1\",\"patch\":{}}", MISSING, true},
    {"group_update", "{\"id\":\"a-group\",\"patch\":{\"title\":\"T\"}}", FINE, true},
    {"group_update", "{\"id\":\"f-group\",\"patch\":{\"title\":\"T\"}}", MISSING, true},
    {"group_update", "{\"id\":\"f-group\",\"patch\":{}}", MISSING, true},
    {"delete", "{\"id\":\"f-note-1\"}", MISSING, true},
    {"delete", "{\"id\":\"f-global\"}", MISSING, true},
    {"delete", "{\"id\":\"f-group\"}", MISSING, true},
    {"delete", "{\"id\":\"a-note-2\"}", FINE, true},
    {"delete", "{\"id\":\"a-global\"}", FINE, true},
    {"project_rename", "{" P ",\"to\":\"/srv/new\"}", POLICY, true},
    {"project_rename", "{" F ",\"to\":\"/srv/new\"}", OTHER, true},
    {"project_merge", "{" P ",\"into\":\"" FOREIGN "\"}", POLICY, true},
    {"project_merge", "{" F ",\"into\":\"/srv/alpha\"}", OTHER, true},
    {"project_delete", "{" F "}", OTHER, true},
    {"group_delete", "{\"id\":\"f-group\"}", MISSING, true},
    {"group_delete", "{\"id\":\"a-group\"}", FINE, true},
    {"undo", "{\"change\":1,\"dryRun\":true}", FINE, true},
    {"undo", "{\"since\":\"2000-01-01T00:00:00Z\"," F "}", OTHER, true},
    {"forget", "{\"ids\":[\"f-note-1\"]}", MISSING, true},
    {"forget", "{\"ids\":[\"a-note-1\"]}", FINE, true},
    {"review_accept", "{\"ids\":[\"f-review\"]}", MISSING, true},
    {"review_accept", "{\"ids\":[\"a-review\"]}", FINE, true},
    {"review_reject", "{\"ids\":[\"f-review\"]}", MISSING, true},
    {"review_reject", "{\"ids\":[\"a-review-2\"]}", FINE, true},
    {"project_delete", "{" P "}", FINE, true},
};

#undef P
#undef F

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static inline bool world_note(struct fixture *t, const char *id, bool foreign)
{
    struct fumi_str tags[] = {foreign ? FUMI_STR("zqtag") : FUMI_STR("atag")};
    struct written w = {.change.allow_duplicate = true};
    struct note n = {.id = fumi_str(id),
                     .project = foreign ? FUMI_STR(FOREIGN) : FUMI_STR(OWN),
                     .group = foreign ? FUMI_STR("zqgroup") : FUMI_STR("agroup"),
                     .title = foreign ? FUMI_STR("zqtitle") : FUMI_STR("Kitchen"),
                     .text = foreign ? FUMI_STR("The kettle zqtext.")
                                     : FUMI_STR("The kettle is blue."),
                     .source = foreign ? FUMI_STR("zqsource") : (struct fumi_str){0},
                     .tags = {tags, 1},
                     .metadata = {foreign ? FUMI_STR("{\"k\":\"zqmeta\"}") : FUMI_STR("{\"k\":1}")},
                     .created = {1000 * ++t->id, true}};
    return memory_add(t->m, &t->a, &n, 10000, &w, &t->e) == 0 && !w.pending;
}

static inline bool world_review(struct fixture *t, struct store *s, const char *id,
                                struct fumi_str project)
{
    const struct review r = {
        .id = fumi_str(id),
        .at = 1000,
        .project = project,
        .op = CHANGE_ADD,
        .body = fumi_fmt(&t->a, "{\"projectId\":\"%.*s\",\"groupId\":\"global\",\"text\":\"%s\"}",
                         FUMI_ARG(project), id),
    };
    return store_add_review(s, &r, &t->e) == 0;
}

static inline bool world_injection(struct fixture *t, struct store *s, const char *note,
                                   struct fumi_str project)
{
    struct fumi_str ids[] = {fumi_str(note)};
    const struct injection i = {
        .at = 1000, .project = project, .kind = FUMI_STR("recall"), .ids = {ids, 1}};
    return store_add_injection(s, &i, &t->e) == 0;
}

static inline bool world_rest(struct fixture *t, struct store *s, bool foreign)
{
    const struct group g = {
        .id = foreign ? FUMI_STR("f-group") : FUMI_STR("a-group"),
        .project = foreign ? FUMI_STR(FOREIGN) : FUMI_STR(OWN),
        .key = foreign ? FUMI_STR("zqmade") : FUMI_STR("amade"),
        .title = foreign ? FUMI_STR("zqheading") : FUMI_STR("Made"),
        .description = foreign ? FUMI_STR("zqabout") : FUMI_STR("About."),
    };
    struct global x = {
        .id = foreign ? FUMI_STR("f-global") : FUMI_STR("a-global"),
        .project = g.project,
        .key = foreign ? FUMI_STR("global.zqkey") : FUMI_STR("global.alpha"),
        .value = foreign ? FUMI_STR("\"zqvalue\"") : FUMI_STR("\"avalue\""),
    };
    return !store_add_group(s, &g, NULL, &t->e) && !store_set_global(s, &t->a, &x, NULL, &t->e) &&
           world_review(t, s, foreign ? "f-review" : "a-review", g.project) &&
           world_review(t, s, foreign ? "f-review-2" : "a-review-2", g.project) &&
           world_injection(t, s, foreign ? "f-note-1" : "a-note-1", g.project);
}

/* Creates the store through a memory without a scope. The third note of each project has no vectors
 * yet, so that the background thread of a server has work. */
static inline bool world_make(struct fixture *t)
{
    if (!fixture_make(t) || !fixture_memory(t))
        return false;
    bool ok = world_note(t, "a-note-1", false) && world_note(t, "f-note-1", true) &&
              world_note(t, "a-note-2", false) && world_note(t, "f-note-2", true) &&
              fixture_note(t, "a-note-3", OWN, "agroup", NULL) &&
              fixture_note(t, "f-note-3", FOREIGN, "zqgroup", "zqtag") &&
              world_rest(t, memory_store(t->m), false) && world_rest(t, memory_store(t->m), true);
    memory_close(t->m);
    t->m = NULL;
    if (!ok)
        fprintf(stderr, "the store cannot be made: %s\n", t->e.text);
    return ok;
}

/* The opposite of world_make. */
static inline void world_end(struct fixture *t)
{
    fake_stop(t->fake);
    nftw(t->dir, fixture_drop, 8, FTW_DEPTH | FTW_PHYS);
    fumi_arena_done(&t->a);
}

/* The whole store as text, or only the foreign project. */
static inline struct fumi_str world_dump(struct fixture *t, bool foreign)
{
    struct store *s = fixture_store(t);
    const struct filter f = {.project = FUMI_STR(FOREIGN), .since = INT64_MIN, .until = INT64_MAX};
    struct fumi_str project = foreign ? f.project : (struct fumi_str){0}, out = FUMI_STR("");
    const struct loading to = {.arena = &t->a};
    struct notes notes = {0};
    struct groups groups = {0};
    struct globals globals = {0};
    int64_t number = 0;
    if (!s || store_list_by_seq(s, &t->a, foreign ? &f : NULL, 0, 1000, &notes, &t->e) ||
        store_list_groups(s, &to, project, &groups, &t->e) ||
        store_list_globals(s, &to, project, FUMI_STR(""), &globals, &t->e) ||
        (!foreign && store_change_number(s, &number, &t->e)))
        return FUMI_STR("");
    for (size_t i = 0; i < notes.n; i++) {
        const struct note *n = &notes.items[i];
        out = fumi_fmt(&t->a, "%.*s%.*s %.*s %.*s %.*s\n", FUMI_ARG(out), FUMI_ARG(n->id),
                       FUMI_ARG(n->project), FUMI_ARG(n->title), FUMI_ARG(n->text));
    }
    for (size_t i = 0; i < groups.n; i++)
        out = fumi_fmt(&t->a, "%.*s%.*s %.*s\n", FUMI_ARG(out), FUMI_ARG(groups.items[i].key),
                       FUMI_ARG(groups.items[i].title));
    for (size_t i = 0; i < globals.n; i++)
        out = fumi_fmt(&t->a, "%.*s%.*s %.*s\n", FUMI_ARG(out), FUMI_ARG(globals.items[i].key),
                       FUMI_ARG(globals.items[i].value));
    store_close(s);
    return fumi_fmt(&t->a, "%.*s%" PRId64, FUMI_ARG(out), number);
}

/* What an answer reveals of the foreign project that its request did not contain; NULL: nothing. */
static inline const char *leak_in(struct fumi_str request, struct fumi_str answer)
{
    for (size_t i = 0; i < FUMI_COUNT(markers); i++)
        if (holds(answer, markers[i]) && !holds(request, markers[i]))
            return markers[i];
    return NULL;
}

/* The code of an answer, plain or a tool's; 0: a result; -1: no answer. */
static inline int64_t code_in(struct fixture *t, struct fumi_str answer)
{
    int64_t code = -1;
    struct fumi_err e;
    const struct fumi_val *v = fumi_parse(&t->a, answer, &e), *result = fumi_get(v, "result");
    if (fumi_is(fumi_get(result, "isError"), FUMI_TRUE))
        fumi_int(fumi_get(fumi_get(result, "structuredContent"), "code"), &code);
    else if (result)
        code = 0;
    else
        fumi_int(fumi_get(fumi_get(v, "error"), "code"), &code);
    return code;
}

static inline const char *sentence_for(const struct row *r, const struct scope *s)
{
    if (s->read_only && r->writes)
        return "this server is read-only (started with --read-only)";
    if (s->project.p && r->want == OTHER)
        return "projectId names another project: this server was started with --project and "
               "serves only " OWN;
    return "";
}

static inline int64_t code_for(const struct row *r, const struct scope *s)
{
    static const int codes[] = {0, FUMI_INVALID_PARAMS, ERR_NOT_FOUND, FUMI_INVALID_PARAMS};
    if (s->read_only && r->writes)
        return FUMI_LIMIT;
    return s->project.p ? codes[r->want] : 0;
}

/* Whether an answer matches the row. A read-only server of all projects must match what the row
 * expects for our own project. */
static inline bool row_holds(struct fixture *t, const struct row *r, const struct scope *s,
                             struct fumi_str request, struct fumi_str answer)
{
    const char *leak = s->project.p ? leak_in(request, answer) : NULL;
    bool notifications = s->project.p || r->writes || r->want == FINE;
    if (!leak && (!notifications ||
                  (code_in(t, answer) == code_for(r, s) && holds(answer, sentence_for(r, s)))))
        return true;
    fprintf(stderr, "%.*s\n-> %.*s\n", FUMI_ARG(request), FUMI_ARG(answer));
    if (leak)
        fprintf(stderr, "leaks %s\n", leak);
    return false;
}

#endif
