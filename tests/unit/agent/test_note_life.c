/* The life of a note, as agents and people change it: corrected, reviewed, traced, used, expired.
 */
#include "agent_fixture.h"

#include <time.h>

enum { PATIENCE_MS = 20000 };

/* What was true, what is true now, and a question about it. */
static const struct {
    const char *old, *new, *query, *key; /* key NULL: corrected by `supersedes` */
} pairs[] = {
    {"Billing stores its data in MySQL 5.7.", "Billing stores its data in PostgreSQL 15.",
     "billing data MySQL", NULL},
    {"The gateway listens on port 8080.", "The gateway listens on port 9443.", "gateway port 8080",
     NULL},
    {"Deployments run on Jenkins.", "Deployments run on GitHub Actions.", "deployments Jenkins",
     NULL},
    {"Anna leads the mobile team.", "Bela leads the mobile team.", "who leads mobile Anna", NULL},
    {"Releases happen on Friday.", "Releases happen on Tuesday.", "releases Friday", NULL},
    {"The API returns XML.", "The API returns JSON.", "API returns XML", NULL},
    {"Logs are kept for 30 days.", "Logs are kept for 90 days.", "logs kept 30 days", "logs.kept"},
    {"The cache is memcached.", "The cache is Redis.", "cache memcached", "cache.kind"},
    {"Tests use Mocha.", "Tests use the runner of Node.", "tests Mocha", "tests.runner"},
    {"Passwords are hashed with bcrypt.", "Passwords are hashed with argon2id.",
     "passwords hashed bcrypt", "passwords.hash"},
    {"The office is in Linz.", "The office is in Graz.", "office Linz", "office.town"},
    {"Mail goes out through Mandrill.", "Mail goes out through Postmark.", "mail Mandrill",
     "mail.provider"},
};
enum { PAIRS = FUMI_COUNT(pairs) };

static struct fumi_str add_text(struct fixture *t, const char *project, const char *text,
                                struct fumi_str more)
{
    const struct fumi_val *v = ASK(t, "memory.add_note",
                                   "{\"projectId\":\"%s\",\"groupId\":\"g\",\"text\":\"%s\"%.*s}",
                                   project, text, FUMI_ARG(more));
    return fixture_text(t, v, "id");
}

static const struct fumi_val *look(struct fixture *t, const char *project, const char *query,
                                   bool superseded)
{
    return ASK(
        t, "memory.search",
        "{\"projectId\":\"%s\",\"query\":\"%s\",\"mode\":\"words\",\"includeSuperseded\":%s}",
        project, query, superseded ? "true" : "false");
}

/* Which result has this id; -1: none. */
static int place_of(struct fixture *t, const struct fumi_val *found, struct fumi_str id)
{
    const struct fumi_val *all = fumi_get(found, "results");
    int i = 0;
    for (const struct fumi_val *v = fumi_first(all); v; v = fumi_after(all, v), i++)
        if (fumi_eq(fixture_text(t, v, "id"), id))
            return i;
    return -1;
}

/* The query has the words of the older note. */
TEST(twelve_corrections)
{
    struct fixture t;
    int first = 0, marked = 0;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (size_t i = 0; i < PAIRS; i++) {
        const char *key = pairs[i].key;
        struct fumi_str keyed = key ? fumi_fmt(&t.a, ",\"key\":\"%s\"", key) : FUMI_STR("");
        struct fumi_str old = add_text(&t, "p", pairs[i].old, keyed);
        struct fumi_str more = key ? keyed
                                   : fumi_fmt(&t.a, ",\"supersedes\":[\"%.*s\"]", FUMI_ARG(old));
        struct fumi_str new = add_text(&t, "p", pairs[i].new, more);
        const struct fumi_val *found = look(&t, "p", pairs[i].query, true), *note;
        first += place_of(&t, found, new) == 0 && place_of(&t, found, old) > 0;
        note = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(old));
        marked += fumi_eq(fixture_text(&t, note, "supersededBy"), new);
        found = look(&t, "p", pairs[i].query, false);
        CHECK(place_of(&t, found, old) < 0 && place_of(&t, found, new) >= 0);
    }
    CHECK_INT(first, PAIRS);
    CHECK_INT(marked, PAIRS);
    fixture_end(&t);
}

/* An agent that reads an outdated note, by its id or in a search that includes such notes, is told
 * which note replaces it, by the id that tools show. */
TEST(agents_are_told_what_is_superseded)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str old = add_text(&t, "p", pairs[0].old, FUMI_STR(""));
    struct fumi_str new = add_text(&t, "p", pairs[0].new,
                                   fumi_fmt(&t.a, ",\"supersedes\":[\"%.*s\"]", FUMI_ARG(old)));
    struct fumi_str brief = {new.p, 8}, by_id = fumi_fmt(&t.a, "{\"id\":\"%.*s\"}", FUMI_ARG(old));
    const struct fumi_val *v = fixture_tool(&t, "memory_get", by_id, &failed);
    CHECK(!failed && fumi_eq(fixture_text(&t, v, "supersededBy"), brief));
    v = fixture_tool(
        &t, "memory_search",
        FUMI_STR("{\"projectId\":\"p\",\"query\":\"MySQL\",\"includeSuperseded\":true}"), &failed);
    v = fumi_get(v, "results");
    CHECK(!failed && !fumi_get(fumi_first(v), "supersededBy"));
    CHECK(fumi_eq(fixture_text(&t, fumi_after(v, fumi_first(v)), "supersededBy"), brief));
    v = fixture_tool(&t, "memory_list_recent",
                     FUMI_STR("{\"projectId\":\"p\",\"includeSuperseded\":true}"), &failed);
    v = fumi_get(v, "items");
    CHECK(fumi_eq(fixture_text(&t, fumi_after(v, fumi_first(v)), "supersededBy"), brief));
    v = ASK(&t, "resources/read", "{\"uri\":\"memory://note/%.*s\"}", FUMI_ARG(old));
    CHECK(holds(fixture_text(&t, fumi_first(fumi_get(v, "contents")), "text"),
                fumi_fmt(&t.a, "superseded by id %.*s", FUMI_ARG(new)).p));
    fixture_end(&t);
}

TEST(without_being_told_nothing_is_hidden)
{
    struct fixture t;
    int both = 0;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (size_t i = 0; i < PAIRS; i++) {
        struct fumi_str old = add_text(&t, "p", pairs[i].old, FUMI_STR(""));
        struct fumi_str new = add_text(&t, "p", pairs[i].new, FUMI_STR(""));
        const struct fumi_val *found = look(&t, "p", pairs[i].query, false);
        both += place_of(&t, found, old) >= 0 && place_of(&t, found, new) >= 0;
    }
    CHECK_INT(both, PAIRS);
    fixture_end(&t);
}

/* A chain of three: newest first, whatever the words of the query say. */
TEST(a_chain_of_corrections_has_its_order)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str id[3] = {{0}};
    const char *const texts[] = {"Port alpha beta gamma.", "Port alpha beta.", "Port alpha."};
    for (int i = 0; i < 3; i++)
        id[i] = add_text(&t, "p", texts[i], FUMI_STR(",\"key\":\"port\""));
    const struct fumi_val *found = look(&t, "p", "port alpha beta gamma", true);
    CHECK_INT(place_of(&t, found, id[2]), 0);
    CHECK_INT(place_of(&t, found, id[1]), 1);
    CHECK_INT(place_of(&t, found, id[0]), 2);
    fixture_end(&t);
}

static const struct fumi_val *use_tool(struct fixture *t, const char *name, const char *arguments)
{
    bool failed;
    const struct fumi_val *v = fixture_tool(t, name, fumi_str(arguments), &failed);
    return failed ? NULL : v;
}

static struct fumi_str reviews(struct fixture *t)
{
    return fumi_raw(fumi_get(ASK(t, "memory.review", "{}"), "items"));
}

static struct fumi_str review_id(struct fixture *t)
{
    const struct fumi_val *all = fumi_get(ASK(t, "memory.review", "{}"), "items");
    return fixture_text(t, fumi_first(all), "id");
}

/* With the global of a project, notes of agents wait; those of other callers do not. */
TEST(notes_of_agents_wait_for_review)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    const struct fumi_val *v = use_tool(
        &t, "memory_add_note", "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Quokka one.\"}");
    struct fumi_str id = fixture_text(&t, v, "id");
    CHECK(id.n && holds(fixture_text(&t, v, "warning"), "waits for review"));
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 0);
    CHECK(holds(reviews(&t), "Quokka one.") && holds(reviews(&t), "\"client\":\"test\""));
    CHECK(add_text(&t, "p", "Quokka by a person.", FUMI_STR("")).n);
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 1);
    v = ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    CHECK(fumi_first(fumi_get(v, "ids")));
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 2);
    CHECK_STR(reviews(&t), "[]");
    v = ASK(&t, "memory.history", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK(holds(fumi_raw(v), "\"client\":\"test\"")); /* the agent wrote it */
    fixture_end(&t);
}

TEST(changes_by_agents_wait_for_review)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str id = add_text(&t, "p", "Quokka as it was.", FUMI_STR(""));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    const char *change =
        fumi_fmt(&t.a, "{\"id\":\"%.*s\",\"patch\":{\"text\":\"Quokka new.\"}}", FUMI_ARG(id)).p;
    CHECK(holds(fixture_text(&t, use_tool(&t, "memory_update", change), "warning"), "waits"));
    CHECK(holds(reviews(&t), "Quokka new.") && holds(reviews(&t), "Quokka as it was."));
    ASK(&t, "memory.review_reject", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    const struct fumi_val *note = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, note, "text"), "Quokka as it was.");
    CHECK(use_tool(&t, "memory_update", change));
    ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"],\"text\":\"Quokka edited.\"}",
        FUMI_ARG(review_id(&t)));
    note = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, note, "text"), "Quokka edited.");
    fixture_end(&t);
}

TEST(a_note_moved_into_a_reviewed_project_waits)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str id = add_text(&t, "open", "Quokka that moves.", FUMI_STR(""));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    const char *move =
        fumi_fmt(&t.a, "{\"id\":\"%.*s\",\"patch\":{\"projectId\":\"p\"}}", FUMI_ARG(id)).p;
    CHECK(holds(fixture_text(&t, use_tool(&t, "memory_update", move), "warning"), "waits"));
    const struct fumi_val *note = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, note, "projectId"), "open");
    ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    note = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, note, "projectId"), "p");
    fixture_end(&t);
}

TEST(a_note_that_waits_follows_its_project)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    CHECK(use_tool(&t, "memory_add_note",
                   "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Quokka one.\"}"));
    ASK(&t, "memory.project_rename", "{\"projectId\":\"p\",\"to\":\"renamed\"}");
    ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    CHECK_INT(fumi_size(fumi_get(look(&t, "renamed", "quokka", false), "results")), 1);
    fixture_end(&t);
}

/* Undoing the new name of a project takes back what waits for it. */
TEST(a_note_that_waits_returns_with_its_project)
{
    struct fixture t;
    int64_t change = 0;
    CHECK(fixture_begin(&t, AGENT_ALL));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    struct fumi_str id = add_text(&t, "p", "Quokka zero.", FUMI_STR(""));
    CHECK(use_tool(&t, "memory_add_note",
                   "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Quokka one.\"}"));
    CHECK(
        use_tool(&t, "memory_update",
                 fumi_fmt(&t.a, "{\"id\":\"%.*s\",\"patch\":{\"title\":\"T\"}}", FUMI_ARG(id)).p));
    const struct fumi_val *v = ASK(&t, "memory.project_rename",
                                   "{\"projectId\":\"p\",\"to\":\"renamed\"}");
    CHECK(fumi_int(fumi_get(v, "change"), &change));
    v = ASK(&t, "memory.review", "{\"projectId\":\"renamed\"}");
    CHECK_INT(fumi_size(fumi_get(v, "items")), 2);
    ASK(&t, "memory.undo", "{\"change\":%lld}", (long long)change);
    v = ASK(&t, "memory.review", "{\"projectId\":\"p\"}");
    CHECK_INT(fumi_size(fumi_get(v, "items")), 2);
    ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 2);
    fixture_end(&t);
}

/* What a note that waits supersedes must exist when the agent writes it, but may be deleted until a
 * person accepts it. */
TEST(a_note_that_waits_outlives_what_it_supersedes)
{
    struct fixture t;
    bool failed;
    CHECK(fixture_begin(&t, AGENT_ALL));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    struct fumi_str id = add_text(&t, "p", "Quokka zero.", FUMI_STR(""));
    const struct fumi_val *v = fixture_tool(
        &t, "memory_add_note",
        FUMI_STR("{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Quokka.\","
                 "\"supersedes\":[\"no-such-note\"]}"),
        &failed);
    CHECK(failed);
    CHECK_STR(fixture_text(&t, v, "message"),
              "supersedes: there is no note with the id no-such-note");
    CHECK(use_tool(&t, "memory_add_note",
                   fumi_fmt(&t.a,
                            "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Quokka one.\","
                            "\"supersedes\":[\"%.8s\"]}",
                            id.p)
                       .p));
    ASK(&t, "memory.delete", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    ASK(&t, "memory.review_accept", "{\"ids\":[\"%.*s\"]}", FUMI_ARG(review_id(&t)));
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 1);
    fixture_end(&t);
}

TEST(an_import_by_an_agent_waits_too)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    ASK(&t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    const struct fumi_val *v = use_tool(
        &t, "memory_import",
        "{\"projectId\":\"p\",\"notes\":[{\"groupId\":\"g\",\"text\":\"Quokka one.\"},"
        "{\"groupId\":\"g\",\"text\":\"Quokka two.\"}]}");
    CHECK_INT(fumi_size(fumi_get(v, "ids")), 2);
    CHECK_INT(fumi_size(fumi_get(look(&t, "p", "quokka", false), "results")), 0);
    CHECK_INT(fumi_size(fumi_get(ASK(&t, "memory.review", "{}"), "items")), 2);
    fixture_end(&t);
}

/* An agent can neither switch the review off, nor delete the setting, nor undo it. */
TEST(agents_do_not_decide_about_reviews)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    const struct fumi_val *v = ASK(
        &t, "memory.upsert_global",
        "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":true}");
    struct fumi_str id = fixture_text(&t, v, "id");
    CHECK(!use_tool(&t, "memory_upsert_global",
                    "{\"projectId\":\"p\",\"key\":\"global.memory.review\",\"value\":false}"));
    CHECK(!use_tool(&t, "memory_delete", fumi_fmt(&t.a, "{\"id\":\"%.*s\"}", FUMI_ARG(id)).p));
    CHECK(!use_tool(&t, "memory_undo", "{\"change\":1}"));
    v = ASK(&t, "memory.get_global", "{\"projectId\":\"p\",\"key\":\"global.memory.review\"}");
    CHECK(holds(fumi_raw(v), "true"));
    fixture_end(&t);
}

/* What prompts and resources gave to whom. */
TEST(injections_are_recorded)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str id = add_text(&t, "p", "Quokka rule.", FUMI_STR(",\"tags\":[\"rule\"]"));
    ASK(&t, "prompts/get", "{\"name\":\"session_start\",\"arguments\":{\"project\":\"p\"}}");
    ASK(&t, "prompts/get",
        "{\"name\":\"recall\",\"arguments\":{\"project\":\"p\",\"query\":\"quokka rule\"}}");
    ASK(&t, "resources/read", "{\"uri\":\"memory://project/p/recent\"}");
    const struct fumi_val *v = ASK(&t, "memory.injections", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    const struct fumi_val *all = fumi_get(v, "items"), *one = fumi_first(all);
    CHECK_INT(fumi_size(all), 3);
    CHECK_STR(fixture_text(&t, one, "kind"), "resource");
    CHECK(holds(fumi_raw(all), "\"session_start\"") && holds(fumi_raw(all), "\"recall\""));
    struct fumi_str session = fixture_text(&t, fumi_get(one, "to"), "session");
    CHECK(fumi_starts(session, FUMI_STR("mcp-")));
    v = ASK(&t, "memory.injections", "{\"session\":\"%.*s\",\"limit\":1}", FUMI_ARG(session));
    CHECK_INT(fumi_size(fumi_get(v, "items")), 1);
    v = ASK(&t, "memory.injections", "{\"limit\":2,\"cursor\":\"%.*s\"}",
            FUMI_ARG(fixture_text(&t, v, "nextCursor")));
    CHECK_INT(fumi_size(fumi_get(v, "items")), 2);
    fixture_end(&t);
}

/* A secret that was stored unmasked is masked in the history. */
TEST(secrets_are_masked_in_the_history)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct note n = {.id = FUMI_STR("with-secret"),
                     .project = FUMI_STR("p"),
                     .group = FUMI_STR("g"),
                     .text = FUMI_STR("token ghp_0123456789abcdefghijABCDEFGHIJ012345"),
                     .created = {1, true}};
    CHECK_INT(store_add_note(memory_store(t.m), &t.a, &n, NULL, &t.e), 0);
    ASK(&t, "memory.update", "{\"id\":\"with-secret\",\"patch\":{\"text\":\"No token.\"}}");
    struct fumi_str all = fumi_raw(ASK(&t, "memory.history", "{\"id\":\"with-secret\"}"));
    CHECK(holds(all, "ghp_") && !holds(all, "ghp_0123456789"));
    fixture_end(&t);
}

static bool is_gone(struct fixture *t, const char *id)
{
    const int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 10000000};
    struct fumi_err e = {0};
    struct note n;
    do {
        if (store_get_note(memory_store(t->m), &t->a, fumi_str(id), &n, &e) == -1)
            return e.code == ERR_NOT_FOUND;
        nanosleep(&moment, NULL);
    } while (fumi_ticks() < until);
    return false;
}

/* A note is gone when its time has come; waits until the background thread has deleted it, too. */
static bool is_expired(struct fixture *t, const char *id)
{
    const int64_t until = fumi_ticks() + (int64_t)PATIENCE_MS * 1000000;
    const struct timespec moment = {0, 10000000};
    do {
        const struct fumi_val *v = ASK(t, "memory.history", "{\"id\":\"%s\"}", id);
        if (holds(fumi_raw(v), "\"expire\""))
            return true;
        nanosleep(&moment, NULL);
    } while (fumi_ticks() < until);
    return false;
}

static int64_t uses_of(struct fixture *t, const char *text)
{
    const struct fumi_val *v = ASK(t, "memory.unused",
                                   "{\"projectId\":\"p\",\"since\":\"2100-01-01T00:00:00Z\"}");
    const struct fumi_val *all = fumi_get(v, "items");
    int64_t n = -1;
    for (v = fumi_first(all); v; v = fumi_after(all, v))
        if (holds(fixture_text(t, v, "text"), text))
            fumi_int(fumi_get(v, "uses"), &n);
    return n;
}

/* The background thread deletes what has expired; when it ends, it writes the uses. */
TEST(the_background_expires_and_counts)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    struct fumi_str id = add_text(&t, "p", "Quokka of today.", FUMI_STR(""));
    look(&t, "p", "quokka today", false); /* without the thread nothing is counted */
    struct note expired = {.id = FUMI_STR("expired"),
                           .project = FUMI_STR("p"),
                           .group = FUMI_STR("g"),
                           .text = FUMI_STR("Expired."),
                           .created = {1, true},
                           .expires = {2, true}};
    CHECK_INT(store_add_note(memory_store(t.m), &t.a, &expired, NULL, &t.e), 0);
    CHECK_INT(memory_start(t.m, &t.e), 0);
    CHECK(is_gone(&t, "expired") && is_expired(&t, "expired"));
    CHECK_INT(uses_of(&t, "today"), 0);
    for (int i = 0; i < 3; i++)
        look(&t, "p", "quokka today", false);
    ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    fixture_unserve(&t);
    CHECK(fixture_serve(&t, AGENT_ALL));
    CHECK_INT(uses_of(&t, "today"), 4);
    fixture_end(&t);
}

/* Similar notes: at most three, none that is superseded, and not the note itself. */
TEST(similar_notes_are_named)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (int i = 0; i < 5; i++)
        add_text(&t, "p", fumi_fmt(&t.a, "The quokka house has %d doors.", i).p, FUMI_STR(""));
    add_text(&t, "q", "The quokka house of another project.", FUMI_STR(""));
    const struct fumi_val *v = ASK(
        &t, "memory.add_note",
        "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"The quokka house has many doors.\"}");
    const struct fumi_val *all = fumi_get(v, "similar");
    CHECK_INT(fumi_size(all), 3);
    CHECK(!holds(fumi_raw(all), "another") && holds(fumi_raw(all), "The quokka house has"));
    v = ASK(&t, "memory.add_note",
            "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"Unrelated zebra crossing.\"}");
    CHECK(!fumi_get(v, "similar"));
    fixture_end(&t);
}
