/* A service in C++17: the macros of shapes, a nested shape, a list, a choice and a bare value. Also
 * includes jsoncpp, whose headers must not conflict with ours. */
#include <fumi/fumi.h>

#include <json/json.h>
#include <string>

namespace {

struct point {
    double x, y;
};
struct draw_params {
    struct fumi_str name;
    struct point at;
    struct fumi_list path;
    int colour;
    int64_t width;
};
struct draw_result {
    struct fumi_str text;
    int64_t points;
};
struct area {
    double value;
};

const char *const colours[] = {"red", "green", nullptr};

constexpr struct fumi_field point_fields[] = {
    FUMI_FIELD(struct point, x, "x", "Across.", FUMI_SET(flags, FUMI_REQUIRED)),
    FUMI_FIELD(struct point, y, "y", "Down.", FUMI_SET(flags, FUMI_REQUIRED)),
};
constexpr struct fumi_shape point_shape = FUMI_SHAPE(struct point, point_fields);

constexpr struct fumi_field draw_fields[] = {
    FUMI_FIELD(struct draw_params, name, "name", "Its name.", FUMI_SET(flags, FUMI_REQUIRED),
               FUMI_SET(min, 1), FUMI_SET(max, 20)),
    FUMI_FIELD(struct draw_params, at, "at", "Where it begins.", FUMI_SET(flags, FUMI_REQUIRED),
               FUMI_SET(shape, &point_shape)),
    FUMI_FIELD(struct draw_params, path, "path", "Its points.", FUMI_SET(shape, &point_shape)),
    FUMI_FIELD(struct draw_params, colour, "colour", "Its colour.", FUMI_SET(choices, colours),
               FUMI_SET(def, "\"green\"")),
    FUMI_FIELD(struct draw_params, width, "width", "In pixels.", FUMI_SET(def, "1")),
};
constexpr struct fumi_shape draw_shape = FUMI_SHAPE(struct draw_params, draw_fields);

/* An optional member before a required one: results need not follow the order of params. */
constexpr struct fumi_field drawn_fields[] = {
    FUMI_FIELD(struct draw_result, text, "text", "What was drawn."),
    FUMI_FIELD(struct draw_result, points, "points", "Of its path.",
               FUMI_SET(flags, FUMI_REQUIRED)),
};
constexpr struct fumi_shape drawn_shape = FUMI_SHAPE(struct draw_result, drawn_fields);

constexpr struct fumi_field area_fields[] = {FUMI_VALUE(struct area, value, "An area.")};
constexpr struct fumi_shape area_shape = FUMI_SHAPE(struct area, area_fields);

enum fumi_ret draw(struct fumi_call *call, const void *params, void *result)
{
    auto *p = static_cast<const struct draw_params *>(params);
    auto *r = static_cast<struct draw_result *>(result);
    r->text = fumi_fmt(call->arena, "%.*s in %s, %d wide, at %g,%g", FUMI_ARG(p->name),
                       colours[p->colour], static_cast<int>(p->width), p->at.x, p->at.y);
    r->points = static_cast<int64_t>(p->path.n);
    return FUMI_OK;
}

enum fumi_ret pi(struct fumi_call *, const void *, void *result)
{
    static_cast<struct area *>(result)->value = 3.25;
    return FUMI_OK;
}

const struct fumi_method methods[] = {
    {"draw", "Draws.", &draw_shape, &drawn_shape, draw, 0},
    {"pi", "Nearly.", nullptr, &area_shape, pi, 0},
};

} // namespace

int main()
{
    struct fumi_err e = {};
    struct fumi_server *server = fumi_server_new("members", fumi_version());
    Json::Value theirs("jsoncpp is here too");
    if (theirs.asString().empty() || std::string(fumi_version()) != FUMI_VERSION ||
        fumi_server_add(server, "cxx", methods, FUMI_COUNT(methods), nullptr, &e) ||
        fumi_serve_stdio(server, nullptr, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    fumi_server_free(server);
    return 0;
}
