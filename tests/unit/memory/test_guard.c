/* Secrets in every method that writes: each text of the table is passed to each such method, in
 * each field that takes free text. */
#include "agent_fixture.h"
#include "memory/guard.h"
#include "secrets_cases.h"

enum { TAG_MAX = 128 };

static struct fumi_str quoted(struct fixture *t, const char *text)
{
    struct fumi_buf b = {0};
    fumi_put_str(&(struct fumi_out){.buf = &b}, fumi_str(text));
    return fumi_buf_keep(&b, &t->a);
}

/* Titles, sources and tags must be one line; for other texts "t" is used there. */
static const char *as_title(const char *was, const char *text)
{
    return note_line_fault(fumi_str(was)) ? "t" : text;
}

static const char *as_tag(const char *was, const char *text)
{
    return strlen(was) <= TAG_MAX ? as_title(was, text) : "t";
}

/* The members of a note with this text in every field that accepts it. */
static struct fumi_str members(struct fixture *t, const char *text)
{
    struct fumi_str q = quoted(t, text), title = quoted(t, as_title(text, text));
    struct fumi_str tag = quoted(t, as_tag(text, text));
    return fumi_fmt(&t->a,
                    "\"text\":%.*s,\"title\":%.*s,\"source\":%.*s,\"tags\":[\"first\",%.*s],"
                    "\"metadata\":{\"n\":1, \"k\" : %.*s,\"list\":[true,%.*s,{}]}",
                    FUMI_ARG(q), FUMI_ARG(title), FUMI_ARG(title), FUMI_ARG(tag), FUMI_ARG(q),
                    FUMI_ARG(q));
}

static bool is(struct fixture *t, const struct fumi_val *v, const char *text)
{
    struct fumi_str got = fumi_text(&t->a, v);
    if (fumi_eq(got, fumi_str(text)))
        return true;
    TEST_FAIL("got %.*s\n  want %s", FUMI_ARG(got), text);
    return false;
}

/* Whether the note is stored with `text` in the fields in which members() would write `was`. */
static bool is_stored(struct fixture *t, struct fumi_str id, const char *was, const char *text)
{
    const struct fumi_val *v = ASK(t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    const struct fumi_val *tags = fumi_get(v, "tags"), *meta = fumi_get(v, "metadata");
    const struct fumi_val *list = fumi_get(meta, "list");
    if (!id.n || !fumi_first(tags) || !fumi_first(list))
        return false;
    return is(t, fumi_get(v, "text"), text) && is(t, fumi_get(v, "title"), as_title(was, text)) &&
           is(t, fumi_get(v, "source"), as_title(was, text)) &&
           is(t, fumi_after(tags, fumi_first(tags)), as_tag(was, text)) &&
           is(t, fumi_get(meta, "k"), text) && is(t, fumi_after(list, fumi_first(list)), text) &&
           fumi_size(list) == 3 && fumi_size(meta) == 3;
}

/* Stores the text by every method and compares what is read back. `kind` NULL: there must be no
 * warning. */
static bool goes_in(struct fixture *t, const char *was, const char *text, const char *kind)
{
    struct fumi_str m = members(t, was);
    const struct fumi_val *v = ASK(t, "memory.add_note",
                                   "{\"projectId\":\"p\",\"groupId\":\"g\",%.*s}", FUMI_ARG(m));
    struct fumi_str id = fixture_text(t, v, "id"), warning = fixture_text(t, v, "warning");
    if (!is_stored(t, id, was, text) || (kind ? !holds(warning, kind) : warning.n > 0))
        return false;
    v = ASK(t, "memory.update", "{\"id\":\"%.*s\",\"patch\":{%.*s}}", FUMI_ARG(id), FUMI_ARG(m));
    warning = fixture_text(t, v, "warning");
    if (!is_stored(t, id, was, text) || (kind ? !holds(warning, kind) : warning.n > 0))
        return false;
    v = ASK(t, "memory.import",
            "{\"projectId\":\"p\",\"notes\":[{\"groupId\":\"g\",\"text\":\"a\"},{\"groupId\":\"g\","
            "%.*s}]}",
            FUMI_ARG(m));
    const struct fumi_val *ids = fumi_get(v, "ids");
    warning = fixture_text(t, v, "warning");
    if (fumi_size(ids) != 2 || (kind ? !holds(warning, kind) : warning.n > 0) ||
        !is_stored(t, fumi_text(&t->a, fumi_after(ids, fumi_first(ids))), was, text))
        return false;
    struct fumi_str q = quoted(t, was);
    v = ASK(t, "memory.upsert_global",
            "{\"projectId\":\"p\",\"key\":\"global.k\",\"value\":{\"a\":[1,%.*s],\"b\":%.*s}}",
            FUMI_ARG(q), FUMI_ARG(q));
    warning = fixture_text(t, v, "warning");
    v = fumi_get(ASK(t, "memory.get_global", "{\"projectId\":\"p\",\"key\":\"global.k\"}"),
                 "value");
    const struct fumi_val *list = fumi_get(v, "a");
    return (kind ? holds(warning, kind) : !warning.n) && fumi_first(list) &&
           is(t, fumi_after(list, fumi_first(list)), text) && is(t, fumi_get(v, "b"), text);
}

TEST(every_method_masks_secrets)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (size_t i = 0; i < FUMI_COUNT(secret_cases); i++) {
        const struct secret_case *c = &secret_cases[i];
        if (!goes_in(&t, c->text, c->masked, secret_name(c->kind)))
            TEST_FAIL("case %zu: %s", i, c->text);
    }
    fixture_end(&t);
}

TEST(other_values_are_stored_unchanged)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    for (size_t i = 0; i < FUMI_COUNT(harmless_cases); i++) {
        const char *text = harmless_cases[i];
        if (text[0] && !goes_in(&t, text, text, NULL))
            TEST_FAIL("case %zu: %s", i, text);
    }
    fixture_end(&t);
}

/* A session is given when a note is stored, and is not changed by an update. */
TEST(the_session_is_masked)
{
    static const char *const methods[] = {"memory.add_note", "memory.import"};
    for (size_t i = 0; i < FUMI_COUNT(secret_cases); i++) {
        const struct secret_case *c = &secret_cases[i];
        if (note_session_fault(fumi_str(c->text)))
            continue;
        struct fixture t;
        CHECK(fixture_begin(&t, AGENT_ALL));
        struct fumi_str note = fumi_fmt(&t.a, "\"groupId\":\"g\",\"text\":\"x\",\"session\":%.*s",
                                        FUMI_ARG(quoted(&t, c->text)));
        for (size_t m = 0; m < FUMI_COUNT(methods); m++) {
            const struct fumi_val *v = ASK(&t, methods[m],
                                           m ? "{\"projectId\":\"p\",\"notes\":[{%.*s}]}"
                                             : "{\"projectId\":\"p\",%.*s}",
                                           FUMI_ARG(note));
            CHECK(holds(fixture_text(&t, v, "warning"), secret_name(c->kind)));
            struct fumi_str id = m ? fumi_text(&t.a, fumi_first(fumi_get(v, "ids")))
                                   : fixture_text(&t, v, "id");
            v = ASK(&t, "memory.get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
            CHECK(is(&t, fumi_get(v, "session"), c->masked));
        }
        fixture_end(&t);
    }
}

static const char token[] = "ghp_"
                            "q7Rz1Xw9Tb4Lm2Vc"
                            "8Nf6Hj3KpD5sG0yUaE1i";

TEST(the_warning_names_the_kinds)
{
    struct fixture t;
    CHECK(fixture_begin(&t, AGENT_ALL));
    const struct fumi_val *v = ASK(&t, "memory.add_note",
                                   "{\"projectId\":\"p\",\"groupId\":\"g\",\"text\":\"use %s\"}",
                                   token);
    CHECK_STR(fixture_text(&t, v, "warning"), "masked 1 value that looks like a GitHub token");
    v = ASK(&t, "memory.group_create",
            "{\"projectId\":\"p\",\"groupKey\":\"k\",\"title\":\"%s\",\"description\":\"%s\"}",
            token, token);
    CHECK_STR(fixture_text(&t, v, "warning"), "masked 2 values that look like a GitHub token");
    struct fumi_str id = fixture_text(&t, v, "id");
    v = ASK(&t, "memory.group_update", "{\"id\":\"%.*s\",\"patch\":{\"title\":\"my %s\"}}",
            FUMI_ARG(id), token);
    CHECK_STR(fixture_text(&t, v, "warning"), "masked 1 value that looks like a GitHub token");
    v = ASK(&t, "memory.group_get", "{\"id\":\"%.*s\"}", FUMI_ARG(id));
    CHECK_STR(fixture_text(&t, v, "title"), "my ghp_****");
    CHECK_STR(fixture_text(&t, v, "description"), "ghp_****");
    fixture_end(&t);
}

/* Escapes, keys of objects, names of members, and a value that is one string. */
TEST(json_does_not_hide_a_secret)
{
    static const char secret[] = "kQ3vT8xZ1mN6bR0sY5wP"
                                 "2dF7gH4jL9cA1eU3iO6q";
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    const struct {
        struct fumi_str in;
        const char *out;
    } rows[] = {
        {fumi_fmt(&a, "\"%s\"", token), "\"ghp_****\""},
        {fumi_fmt(&a, " [ \"\\u0067hp\\u005f%s\" , 2 ] ", token + 4), " [ \"ghp_****\" , 2 ] "},
        {fumi_fmt(&a, "{\"%s\":[{\"x\":\"a\\n%s\"}]}", token, token),
         "{\"ghp_****\":[{\"x\":\"a\\nghp_****\"}]}"},
        {fumi_fmt(&a, "{\"aws_secret_access_key\" : \"%s\",\"x\":\"%s\"}", secret, secret), NULL},
        {fumi_fmt(&a, "{\"secretAccessKey\":[\"%s\"]}", secret), NULL},
        {FUMI_STR("{\"a\":1,\"b\":[null,\"c\"]}"), "{\"a\":1,\"b\":[null,\"c\"]}"},
        {FUMI_STR("17"), "17"},
        {FUMI_STR("\"\""), "\"\""},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct guard g = {.a = &a, .mode = SECRETS_MASK};
        struct global v = {.value = rows[i].in};
        const char *want = rows[i].out;
        if (!want && i == 3)
            want = fumi_fmt(&a, "{\"aws_secret_access_key\" : \"****\",\"x\":\"%s\"}", secret).p;
        else if (!want)
            want = rows[i].in.p; /* an item of an array has no name */
        CHECK_INT(guard_global(&g, &v, &e), 0);
        CHECK_STR(v.value, want);
    }
    fumi_arena_done(&a);
}

/* If the value is one string, its name is the key. */
TEST(key_of_a_global_is_the_name_of_its_value)
{
    static const char secret[] = "kQ3vT8xZ1mN6bR0sY5wP"
                                 "2dF7gH4jL9cA1eU3iO6q";
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct guard g = {.a = &a, .mode = SECRETS_MASK};
    struct global v = {.key = FUMI_STR("global.aws_secret_access_key"),
                       .value = fumi_fmt(&a, "\"%s\"", secret)},
                  other = {.key = FUMI_STR("global.commit"), .value = v.value};
    CHECK_INT(guard_global(&g, &v, &e), 0);
    CHECK_STR(v.value, "\"****\"");
    CHECK_INT(g.found.n[SECRET_AWS_KEY], 1);
    CHECK_INT(guard_global(&g, &other, &e), 0);
    CHECK(fumi_eq(other.value, fumi_fmt(&a, "\"%s\"", secret)));
    fumi_arena_done(&a);
}

TEST(refuse_names_the_field_the_kind_and_the_remedy)
{
    struct fumi_arena a = {0};
    struct fumi_str tags[] = {FUMI_STR("t"), fumi_str(token)};
    const struct fumi_str json = fumi_fmt(&a, "{\"k\":\"%s\"}", token), key = fumi_str(token);
    const struct {
        struct note n;
        const char *begins;
    } rows[] = {
        {{.text = key}, "patch.text contains a value that looks like a GitHub token: "},
        {{.title = key}, "patch.title contains"},
        {{.source = key}, "patch.source contains"},
        {{.tags = {tags, 2}}, "patch.tags[1] contains"},
        {{.metadata = {json}}, "patch.metadata contains"},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct guard g = {.a = &a, .mode = SECRETS_REFUSE, .where = "patch."};
        struct note n = rows[i].n;
        struct fumi_err e = {0};
        CHECK_INT(guard_note(&g, &n, &e), -1);
        CHECK_INT(e.code, FUMI_INVALID_PARAMS);
        CHECK(fumi_starts(fumi_str(e.text), fumi_str(rows[i].begins)));
        CHECK(strstr(e.text, "safety.secrets") && !strstr(e.text, token));
    }
    fumi_arena_done(&a);
}

TEST(allow_stores_secrets_unchanged)
{
    struct fumi_arena a = {0};
    struct fumi_err e = {0};
    struct guard g = {.a = &a, .mode = SECRETS_ALLOW};
    struct note n = {.text = fumi_str(token), .metadata = {FUMI_STR("{}")}};
    CHECK_INT(guard_note(&g, &n, &e), 0);
    CHECK(n.text.p == token);
    CHECK(!guard_warning(&g, (struct fumi_str){0}).p);
    fumi_arena_done(&a);
}
