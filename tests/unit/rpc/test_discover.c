#include "rpc_fixture.h"
#include "test.h"

/* Methods with all kinds of shapes. */
struct point {
    int64_t x, y;
};
static const struct fumi_field point_fields[] = {
    FUMI_FIELD(struct point, x, "x", "Across.", .flags = FUMI_REQUIRED, .min = 0, .max = 9),
    FUMI_FIELD(struct point, y, "y", "Up.", .def = "3"),
};
static const struct fumi_shape point_shape = FUMI_SHAPE(struct point, point_fields);

static const char *const colours[] = {"red", "green", NULL};

struct figure {
    struct fumi_str title;
    struct point centre;
    struct fumi_list corners;
    struct fumi_strs tags;
    int colour;
    bool filled;
    double weight;
    struct fumi_json extra;
};
static const struct fumi_field figure_fields[] = {
    FUMI_FIELD(struct figure, title, "title", "Its \"name\".", .flags = FUMI_REQUIRED, .max = 80),
    FUMI_FIELD(struct figure, centre, "centre", "Where it lies.", .flags = FUMI_REQUIRED,
               .shape = &point_shape),
    FUMI_FIELD(struct figure, corners, "corners", "Its corners.", .shape = &point_shape),
    FUMI_FIELD(struct figure, tags, "tags", "Words."),
    FUMI_FIELD(struct figure, colour, "colour", "Which.", .choices = colours, .def = "\"red\""),
    FUMI_FIELD(struct figure, filled, "filled", "Whether.", .def = "true"),
    FUMI_FIELD(struct figure, weight, "weight", "How heavy."),
    FUMI_FIELD(struct figure, extra, "extra", "Anything.", .flags = FUMI_NULLABLE),
};
static const struct fumi_shape figure_shape = FUMI_SHAPE(struct figure, figure_fields);

static const struct fumi_method methods[] = {
    {"draw", "Draws a \"figure\".", &figure_shape, &point_shape, run_nothing, 0},
    {"size", "How large it is.", NULL, &count_shape, run_nothing, FUMI_READ_ONLY},
    {"wipe", "Wipes it all.", NULL, NULL, run_nothing, FUMI_BLOCKING},
    {"whole", "Takes its params whole.", &whole_shape, &whole_shape, run_echo, 0},
    {"pair", "Takes two.", &pair_shape, &number_shape, run_subtract, 0},
    {"secret", "Not for all.", NULL, NULL, run_nothing, FUMI_HIDDEN},
};

/* The parsed document. */
struct atlas {
    struct fumi_server *server;
    struct fumi_arena arena;
    struct fumi_buf text;
    const struct fumi_val *doc;
};

static void atlas_open(struct atlas *a)
{
    struct fumi_err e = {0};
    *a = (struct atlas){.server = fumi_server_new("A \"title\"", "1.2.3")};
    if (fumi_server_add(a->server, NULL, methods, FUMI_COUNT(methods), NULL, &e) ||
        fumi_server_add(a->server, "art", methods, 2, NULL, &e))
        abort();
    struct fumi_out o = {.buf = &a->text};
    fumi_discover(a->server, &o);
    a->doc = fumi_parse(&a->arena, fumi_buf_str(&a->text), &e);
}

static void atlas_done(struct atlas *a)
{
    fumi_buf_done(&a->text);
    fumi_arena_done(&a->arena);
    fumi_server_free(a->server);
}

static const struct fumi_val *named(const struct fumi_val *list, const char *name)
{
    for (const struct fumi_val *i = fumi_first(list); i; i = fumi_after(list, i))
        if (fumi_text_is(fumi_get(i, "name"), fumi_str(name)))
            return i;
    return NULL;
}

static const struct fumi_val *method_of(const struct atlas *a, const char *name)
{
    return named(fumi_get(a->doc, "methods"), name);
}

static bool says(const struct fumi_val *v, const char *text)
{
    return fumi_text_is(v, fumi_str(text));
}

TEST(the_document_says_what_it_is)
{
    struct atlas a;
    atlas_open(&a);
    CHECK(fumi_is(a.doc, FUMI_OBJECT));
    struct fumi_str version = fumi_text(&a.arena, fumi_get(a.doc, "openrpc"));
    CHECK(fumi_starts(version, FUMI_STR("1.3.")));
    CHECK(says(fumi_get(fumi_get(a.doc, "info"), "title"), "A \"title\""));
    CHECK(says(fumi_get(fumi_get(a.doc, "info"), "version"), "1.2.3"));
    CHECK(fumi_is(fumi_get(a.doc, "methods"), FUMI_ARRAY));
    atlas_done(&a);
}

/* Whether each member is allowed in OpenRPC 1.3; others must begin with "x-". */
static bool only(const struct fumi_val *object, const char *const *allowed)
{
    for (const struct fumi_val *k = fumi_first(object); k; k = fumi_after(object, k)) {
        const char *const *name = allowed;
        while (*name && !says(k, *name))
            name++;
        if (!*name && !(k->n > 2 && !memcmp(k->p, "x-", 2)))
            return false;
    }
    return true;
}

static const char *const root_members[] = {"openrpc",    "info",         "servers", "methods",
                                           "components", "externalDocs", NULL};
static const char *const info_members[] = {
    "title", "description", "termsOfService", "contact", "license", "version", NULL};
static const char *const method_members[] = {
    "name",   "tags",    "summary", "description", "externalDocs",   "params",   "result",
    "errors", "servers", "links",   "deprecated",  "paramStructure", "examples", NULL};
static const char *const content_members[] = {"name",   "summary",    "description", "required",
                                              "schema", "deprecated", NULL};

static bool is_content(const struct fumi_val *v)
{
    const struct fumi_val *schema = fumi_get(v, "schema"), *required = fumi_get(v, "required");
    return fumi_is(fumi_get(v, "name"), FUMI_STRING) &&
           (fumi_is(schema, FUMI_OBJECT) || fumi_is_bool(schema)) &&
           (!required || fumi_is_bool(required)) && only(v, content_members);
}

static bool is_method(const struct fumi_val *m)
{
    const struct fumi_val *params = fumi_get(m, "params"), *seen_optional = NULL;
    if (!fumi_is(fumi_get(m, "name"), FUMI_STRING) || !fumi_is(params, FUMI_ARRAY) ||
        !only(m, method_members) || !is_content(fumi_get(m, "result")))
        return false;
    for (const struct fumi_val *p = fumi_first(params); p; p = fumi_after(params, p)) {
        bool required = fumi_is(fumi_get(p, "required"), FUMI_TRUE);
        if (!is_content(p) || (required && seen_optional))
            return false;
        if (!required)
            seen_optional = p;
    }
    return true;
}

TEST(everything_is_where_openrpc_wants_it)
{
    struct atlas a;
    atlas_open(&a);
    CHECK(only(a.doc, root_members));
    CHECK(only(fumi_get(a.doc, "info"), info_members));
    const struct fumi_val *all = fumi_get(a.doc, "methods");
    for (const struct fumi_val *m = fumi_first(all); m; m = fumi_after(all, m)) {
        if (!is_method(m))
            TEST_FAIL("%.*s", FUMI_ARG(fumi_raw(m)));
        for (const struct fumi_val *o = fumi_after(all, m); o; o = fumi_after(all, o))
            CHECK(!fumi_eq(fumi_raw(fumi_get(m, "name")), fumi_raw(fumi_get(o, "name"))));
    }
    atlas_done(&a);
}

TEST(every_method_is_listed_by_its_whole_name)
{
    static const char *const names[] = {"draw", "size",     "wipe",    "whole",
                                        "pair", "art.draw", "art.size"};
    struct atlas a;
    atlas_open(&a);
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (!method_of(&a, names[i]))
            TEST_FAIL("%s is absent", names[i]);
    atlas_done(&a);
}

TEST(hidden_methods_are_absent)
{
    struct atlas a;
    atlas_open(&a);
    CHECK(!method_of(&a, "secret"));
    CHECK(!memmem(a.text.p, a.text.n, "secret", 6));
    CHECK(!memmem(a.text.p, a.text.n, "Not for all", 11));
    atlas_done(&a);
}

TEST(params_are_listed_in_the_order_of_the_table)
{
    struct atlas a;
    atlas_open(&a);
    const struct fumi_val *params = fumi_get(method_of(&a, "draw"), "params");
    CHECK_INT(fumi_size(params), FUMI_COUNT(figure_fields));
    size_t i = 0;
    for (const struct fumi_val *p = fumi_first(params); p; p = fumi_after(params, p), i++) {
        CHECK(says(fumi_get(p, "name"), figure_fields[i].name));
        CHECK_INT(fumi_is(fumi_get(p, "required"), FUMI_TRUE), i < 2);
    }
    CHECK_INT(fumi_size(fumi_get(method_of(&a, "size"), "params")), 0);
    CHECK_INT(fumi_size(fumi_get(method_of(&a, "wipe"), "params")), 0);
    atlas_done(&a);
}

/* The schemas are exactly those of the shapes. */
TEST(params_have_their_schemas)
{
    struct atlas a;
    struct fumi_buf b = {0};
    atlas_open(&a);
    const struct fumi_val *params = fumi_get(method_of(&a, "art.draw"), "params");
    for (size_t i = 0; i < FUMI_COUNT(figure_fields); i++) {
        struct fumi_out o = {.buf = &b};
        fumi_buf_reset(&b, 1 << 16);
        fumi_schema_field(&o, &figure_fields[i]);
        const struct fumi_val *p = named(params, figure_fields[i].name);
        CHECK(fumi_eq(fumi_raw(fumi_get(p, "schema")), fumi_buf_str(&b)));
    }
    fumi_buf_done(&b);
    atlas_done(&a);
}

TEST(results_have_their_schemas)
{
    static const struct {
        const char *name;
        const struct fumi_shape *shape;
    } rows[] = {{"draw", &point_shape},
                {"size", &count_shape},
                {"whole", &whole_shape},
                {"pair", &number_shape}};
    struct atlas a;
    struct fumi_buf b = {0};
    atlas_open(&a);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_out o = {.buf = &b};
        fumi_buf_reset(&b, 1 << 16);
        fumi_schema(&o, rows[i].shape);
        const struct fumi_val *result = fumi_get(method_of(&a, rows[i].name), "result");
        CHECK(fumi_eq(fumi_raw(fumi_get(result, "schema")), fumi_buf_str(&b)));
    }
    const struct fumi_val *none = fumi_get(fumi_get(method_of(&a, "wipe"), "result"), "schema");
    CHECK(says(fumi_get(none, "type"), "null"));
    fumi_buf_done(&b);
    atlas_done(&a);
}

TEST(params_may_come_by_name_or_by_position)
{
    struct atlas a;
    atlas_open(&a);
    CHECK(says(fumi_get(method_of(&a, "draw"), "paramStructure"), "either"));
    CHECK(says(fumi_get(method_of(&a, "pair"), "paramStructure"), "either"));
    atlas_done(&a);
}

TEST(the_help_is_there)
{
    struct atlas a;
    atlas_open(&a);
    const struct fumi_val *m = method_of(&a, "draw");
    CHECK(says(fumi_get(m, "summary"), "Draws a \"figure\".") ||
          says(fumi_get(m, "description"), "Draws a \"figure\"."));
    atlas_done(&a);
}

/* The method returns the same document. */
TEST(the_document_is_asked_for_by_rpc_discover)
{
    struct atlas a;
    struct caller c;
    struct fumi_buf want = {0};
    atlas_open(&a);
    caller_open(&c, a.server);
    putf(&want, "{\"jsonrpc\":\"2.0\",\"result\":");
    fumi_buf_add(&want, a.text.p, a.text.n);
    putf(&want, ",\"id\":1}");
    struct fumi_str got = reply_to(&c,
                                   "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\",\"id\":1}");
    CHECK(fumi_eq(got, fumi_buf_str(&want)));
    CHECK_STR(reply_to(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\"}"), "");
    reply_to(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\",\"params\":[1],\"id\":1}");
    CHECK_INT(c.code, FUMI_INVALID_PARAMS);
    fumi_buf_done(&want);
    caller_done(&c);
    atlas_done(&a);
}

/* Built-in methods are not listed. */
TEST(reserved_names_are_not_methods_of_the_application)
{
    struct atlas a;
    atlas_open(&a);
    const struct fumi_val *all = fumi_get(a.doc, "methods");
    for (const struct fumi_val *m = fumi_first(all); m; m = fumi_after(all, m)) {
        struct fumi_str name = fumi_text(&a.arena, fumi_get(m, "name"));
        if (fumi_starts(name, FUMI_STR("rpc.")))
            TEST_FAIL("%.*s is listed", FUMI_ARG(name));
    }
    atlas_done(&a);
}

TEST(a_server_without_methods_has_a_document)
{
    struct fumi_server *s = fumi_server_new("none", "0");
    struct fumi_buf b = {0};
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct fumi_out o = {.buf = &b};
    fumi_discover(s, &o);
    const struct fumi_val *doc = fumi_parse(&a, fumi_buf_str(&b), &e);
    CHECK(fumi_is(fumi_get(doc, "methods"), FUMI_ARRAY));
    fumi_arena_done(&a);
    fumi_buf_done(&b);
    fumi_server_free(s);
}

/* A document of two thousand methods is one answer. */
TEST(a_large_server_has_a_document)
{
    enum { MANY = 2000 };
    static char names[MANY][16];
    static struct fumi_method rows[MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "m%zu", i);
        rows[i] = (struct fumi_method){names[i], "", &figure_shape, NULL, run_nothing, 0};
    }
    struct fumi_server *s = server_of(rows, MANY, NULL);
    struct fumi_arena a = {0};
    struct fumi_err e;
    struct caller c;
    caller_open(&c, s);
    struct fumi_str got = reply_to(&c,
                                   "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\",\"id\":1}");
    const struct fumi_val *doc = fumi_get(fumi_parse(&a, got, &e), "result");
    CHECK(fumi_size(fumi_get(doc, "methods")) >= MANY);
    fumi_arena_done(&a);
    caller_done(&c);
    fumi_server_free(s);
}
