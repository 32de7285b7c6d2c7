/* Methods that show a memory as a whole: names in use, notes per day, a map of meaning, the server.
 */
#include "memory/memory_parts.h"
#include "memory/methods_parts.h"
#include "memory/plane.h"

#include "base/utf8.h"
#include "base/version.h"

#include <math.h>

enum {
    NAMES_MAX = 1000,
    MAP_MAX = 10000,      /* notes of a map */
    MAP_BYTES = 96 << 20, /* memory for their vectors */
    LABEL_MAX = 120,      /* bytes of the label of a note */
    MINUTE_MS = 60000,
    DAY_MS = 86400000,
    DAY_SIZE = 10, /* bytes of "2026-11-19" */
};

static const char *const name_kinds[] = {
    [NAME_PROJECT] = "project", [NAME_GROUP] = "group", [NAME_TAG] = "tag", NULL};

struct names_params {
    int kind;
    struct fumi_str project, part, after;
    int64_t limit;
};

static const struct fumi_field names_fields[] = {
    FUMI_FIELD(struct names_params, kind, "kind", "Which names.", .flags = FUMI_REQUIRED,
               .choices = name_kinds),
    FUMI_FIELD(struct names_params, project, "projectId",
               "Groups and tags of this project; of all projects if not given.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct names_params, part, "part",
               "Only names that contain this text; those that begin with it come first.",
               .flags = FUMI_NULLABLE, .max = NOTE_TITLE_MAX),
    FUMI_FIELD(struct names_params, after, "after",
               "Only names after this one: the last name of the previous page.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct names_params, limit, "limit", "Maximum number of names.",
               .flags = FUMI_NULLABLE, .min = 0, .max = NAMES_MAX, .def = "100"),
};
static const struct fumi_shape names_shape = FUMI_SHAPE(struct names_params, names_fields);

static const struct fumi_field name_fields[] = {
    FUMI_FIELD(struct name, text, "name", "The name."),
    FUMI_FIELD(struct name, notes, "notes", "Number of notes."),
};
static const struct fumi_shape name_shape = FUMI_SHAPE(struct name, name_fields);

struct names_result {
    struct fumi_list names;
};

static const struct fumi_field names_result_fields[] = {
    FUMI_FIELD(struct names_result, names, "names", "The names, in the order of their bytes.",
               .shape = &name_shape),
};
static const struct fumi_shape names_result_shape = FUMI_SHAPE(struct names_result,
                                                               names_result_fields);

static int canonical(struct fumi_call *call, struct fumi_str given, struct fumi_str *out)
{
    *out = given;
    return given.p ? project_canonical(call->arena, given, out, &call->err) : 0;
}

static enum fumi_ret list_names(struct fumi_call *call, const void *params, void *result)
{
    const struct names_params *p = params;
    struct naming what = {.kind = (enum name_kind)p->kind,
                          .part = p->part,
                          .after = p->after,
                          .limit = (size_t)p->limit};
    struct names found = {0};
    if (canonical(call, p->project, &what.project) ||
        (what.project.p && scope_admits(memory_scope(call->self), what.project, &call->err)) ||
        store_list_names(memory_store(call->self), call->arena, &what, &found, &call->err))
        return FUMI_FAIL;
    *(struct names_result *)result = (struct names_result){{found.items, found.n}};
    return FUMI_OK;
}

/* The filter of an overview, which may span all projects. */
struct overview_params {
    struct fumi_str project, group;
    struct fumi_strs tags;
    struct fumi_time since, until;
    int64_t offset; /* minutes; timeline only */
};

#define OVERVIEW_FIELDS                                                                            \
    FUMI_FIELD(struct overview_params, project, "projectId",                                       \
               "Only notes of this project; of all projects if not given.",                        \
               .flags = FUMI_NULLABLE),                                                            \
        FUMI_FIELD(struct overview_params, group, "groupId", "Only this group.",                   \
                   .flags = FUMI_NULLABLE, .check = note_given_group_fault),                       \
        FUMI_FIELD(struct overview_params, tags, "tags", "With all of these.",                     \
                   .flags = FUMI_NULLABLE, .max = NOTE_TAGS_MAX, .check = check_tag_filter),       \
        FUMI_FIELD(struct overview_params, since, "since", "Created at or after.",                 \
                   .flags = FUMI_NULLABLE),                                                        \
        FUMI_FIELD(struct overview_params, until, "until", "Created before.",                      \
                   .flags = FUMI_NULLABLE | FUMI_DAY_END)

static const struct fumi_field map_fields[] = {OVERVIEW_FIELDS};
static const struct fumi_shape map_shape = FUMI_SHAPE(struct overview_params, map_fields);
static const struct fumi_field timeline_fields[] = {
    OVERVIEW_FIELDS,
    FUMI_FIELD(struct overview_params, offset, "utcOffset",
               "Minutes by which the local time of the days is ahead of UTC.",
               .flags = FUMI_NULLABLE, .min = -1440, .max = 1440, .def = "0"),
};
static const struct fumi_shape timeline_shape = FUMI_SHAPE(struct overview_params, timeline_fields);

static int overview_filter(struct fumi_call *call, const struct overview_params *p,
                           struct filter *f)
{
    *f = (struct filter){.group = p->group,
                         .tags = p->tags,
                         .since = p->since.set ? p->since.ms : INT64_MIN,
                         .until = p->until.set ? p->until.ms : INT64_MAX};
    return canonical(call, p->project, &f->project);
}

struct day_view {
    struct fumi_str day;
    int64_t notes;
};

static const struct fumi_field day_fields[] = {
    FUMI_FIELD(struct day_view, day, "day", "The day, such as 2026-11-19."),
    FUMI_FIELD(struct day_view, notes, "notes", "Number of notes."),
};
static const struct fumi_shape day_shape = FUMI_SHAPE(struct day_view, day_fields);

struct timeline_result {
    struct fumi_list days;
    int64_t notes;
};

static const struct fumi_field timeline_result_fields[] = {
    FUMI_FIELD(struct timeline_result, days, "days", "The days that have notes, oldest first.",
               .shape = &day_shape),
    FUMI_FIELD(struct timeline_result, notes, "notes", "Number of notes of all days."),
};
static const struct fumi_shape timeline_result_shape = FUMI_SHAPE(struct timeline_result,
                                                                  timeline_result_fields);

static struct fumi_str day_text(struct fumi_arena *a, int64_t number)
{
    char text[FUMI_TIME_SIZE];
    fumi_time_write(number * DAY_MS, text);
    return fumi_dup(a, (struct fumi_str){text, DAY_SIZE});
}

static enum fumi_ret timeline(struct fumi_call *call, const void *params, void *result)
{
    const struct overview_params *p = params;
    struct timeline_result *out = result;
    struct filter f;
    struct days found;
    if (overview_filter(call, p, &f) || store_count_days(memory_store(call->self), call->arena, &f,
                                                         p->offset * MINUTE_MS, &found, &call->err))
        return FUMI_FAIL;
    struct day_view *days = fumi_alloc(call->arena, found.n * sizeof(*days));
    for (size_t i = 0; i < found.n; i++) {
        days[i] = (struct day_view){day_text(call->arena, found.items[i].number),
                                    found.items[i].notes};
        out->notes += found.items[i].notes;
    }
    out->days = (struct fumi_list){days, found.n};
    return FUMI_OK;
}

struct map_point {
    struct fumi_str id, project, group, label;
    struct fumi_time created;
    double x, y;
};

static const struct fumi_field point_fields[] = {
    FUMI_FIELD(struct map_point, id, "id", "Id of the note."),
    FUMI_FIELD(struct map_point, project, "projectId", "The project, in its canonical form."),
    FUMI_FIELD(struct map_point, group, "groupId", "The group within the project."),
    FUMI_FIELD(struct map_point, label, "label", "Its title, or the beginning of its text."),
    FUMI_FIELD(struct map_point, created, "createdAt", "Time of creation, UTC."),
    FUMI_FIELD(struct map_point, x, "x", "First coordinate, -1 to 1."),
    FUMI_FIELD(struct map_point, y, "y", "Second coordinate, -1 to 1."),
};
static const struct fumi_shape point_shape = FUMI_SHAPE(struct map_point, point_fields);

struct map_result {
    struct fumi_list points;
    int64_t total, pending;
    double share;
    bool sampled;
};

static const struct fumi_field map_result_fields[] = {
    FUMI_FIELD(struct map_result, points, "points",
               "The notes, in the order in which they were "
               "stored.",
               .shape = &point_shape),
    FUMI_FIELD(struct map_result, total, "total", "Number of notes that the filter selects."),
    FUMI_FIELD(struct map_result, sampled, "sampled",
               "Whether the points are a sample, evenly spaced: a map has at most 10,000 notes, "
               "fewer if their vectors are long."),
    FUMI_FIELD(struct map_result, pending, "pending",
               "Notes that are missing because they have no vector yet."),
    FUMI_FIELD(struct map_result, share, "share",
               "How much of the difference between the vectors the map shows, 0 to 1."),
};
static const struct fumi_shape map_result_shape = FUMI_SHAPE(struct map_result, map_result_fields);

/* Keeps what a map shows of a note: the beginning of its text, and no other long member. */
static int map_row(void *arg, void *row, size_t bytes, struct fumi_err *e)
{
    struct fumi_call *call = arg;
    struct note *n = row;
    (void)bytes;
    if (fumi_cancelled(call))
        return fumi_err_set(e, FUMI_LIMIT, "The call was cancelled");
    n->text = fumi_utf8_cut(n->text, LABEL_MAX);
    n->source = n->metadata.text = n->session = (struct fumi_str){0};
    n->tags.n = 0;
    return ROW_KEEP;
}

static double rounded(double x)
{
    return round(x * 1e4) / 1e4;
}

static struct map_point point_of(struct fumi_arena *a, const struct note *n, const double *xy)
{
    struct fumi_str label = note_line(a, n->title.n ? n->title : n->text);
    return (struct map_point){.id = n->id,
                              .project = n->project,
                              .group = n->group,
                              .label = fumi_utf8_cut(label, LABEL_MAX),
                              .created = n->created,
                              .x = rounded(xy[0]),
                              .y = rounded(xy[1])};
}

/* The name of the space that answers searches, and how many of its vectors fit into MAP_BYTES. */
static struct fumi_str serving(struct memory *m, struct fumi_arena *a, size_t *most)
{
    struct space *sp = space_take(m, &m->serving);
    size_t dim = atomic_load(&sp->embedder->dim);
    struct fumi_str name = space_name(sp, a);
    space_put(sp);
    *most = dim * sizeof(float) * MAP_MAX > MAP_BYTES ? MAP_BYTES / (dim * sizeof(float)) : MAP_MAX;
    return name;
}

static enum fumi_ret map(struct fumi_call *call, const void *params, void *result)
{
    struct memory *m = call->self;
    struct fumi_arena *a = call->arena;
    struct map_result *out = result;
    const struct loading to = {a, map_row, call};
    struct filter f;
    struct sample s;
    size_t most;
    double share[2];
    struct fumi_str name = serving(m, a, &most);
    if (overview_filter(call, params, &f) ||
        store_sample_vectors(memory_store(m), &to, &f, name, most, &s, &call->err))
        return FUMI_FAIL;
    size_t n = s.notes.n;
    double *xy = fumi_alloc(a, 2 * n * sizeof(*xy));
    struct map_point *points = fumi_alloc(a, n * sizeof(*points));
    plane_project(s.x, n, s.dim, xy, share);
    for (size_t i = 0; i < n; i++)
        points[i] = point_of(a, &s.notes.items[i], xy + 2 * i);
    *out = (struct map_result){.points = {points, n},
                               .total = s.total,
                               .pending = s.without,
                               .share = rounded(share[0] + share[1]),
                               .sampled = s.total > (int64_t)most};
    return FUMI_OK;
}

struct health_result {
    struct fumi_str version, project;
    struct fumi_time opened, now, backup;
    bool read_only, building;
    int64_t change, cache;
};

static const struct fumi_field health_fields[] = {
    FUMI_FIELD(struct health_result, version, "version", "Version of the server."),
    FUMI_FIELD(struct health_result, opened, "openedAt",
               "Since when the server has the store open."),
    FUMI_FIELD(struct health_result, now, "now", "The time of the server."),
    FUMI_FIELD(struct health_result, read_only, "readOnly",
               "Whether methods that store, change or delete are refused."),
    FUMI_FIELD(struct health_result, project, "projectId",
               "The only project that the server gives access to; null: all.",
               .flags = FUMI_NULLABLE),
    FUMI_FIELD(struct health_result, change, "change",
               "A number that rises with each change of the store by any process."),
    FUMI_FIELD(struct health_result, backup, "lastBackup",
               "When the last backup was made; absent if none is known.", .flags = FUMI_OMIT),
    FUMI_FIELD(struct health_result, cache, "cacheBytes",
               "Size of the vector cache, which the first search by meaning creates; 0: there is "
               "none, or the server gives access to one project only."),
    FUMI_FIELD(struct health_result, building, "cacheBuilding",
               "Whether the server builds the vector cache: searches by meaning may miss notes."),
};
static const struct fumi_shape health_shape = FUMI_SHAPE(struct health_result, health_fields);

static enum fumi_ret health(struct fumi_call *call, const void *params, void *result)
{
    struct memory *m = call->self;
    const struct scope *scope = memory_scope(m);
    struct health_result *out = result;
    struct store_stats stats;
    (void)params;
    if (store_stats(memory_store(m), &stats, &call->err))
        return FUMI_FAIL;
    *out = (struct health_result){.version = fumi_str(fumi_version()),
                                  .project = scope->project,
                                  .opened = {m->opened, true},
                                  .now = {fumi_now(), true},
                                  .backup = {stats.backup, stats.backup > 0},
                                  .cache = stats.cache,
                                  .building = stats.building,
                                  .read_only = scope->read_only};
    return store_change_number(memory_store(m), &out->change, &call->err) ? FUMI_FAIL : FUMI_OK;
}

const struct fumi_method overview_methods[] = {
    {"list_names", "Lists the names of projects, groups or tags in use.", &names_shape,
     &names_result_shape, list_names, READ_BY_PEOPLE},
    {"timeline", "Counts the notes of each day.", &timeline_shape, &timeline_result_shape, timeline,
     READ_BY_PEOPLE},
    {"map",
     "Places notes on a plane so that notes of similar meaning are near each other: the first two "
     "principal components of their vectors.",
     &map_shape, &map_result_shape, map, READ_BY_PEOPLE},
    {"health", "Returns facts about the server and what it gives access to.", NULL, &health_shape,
     health, READ_BY_PEOPLE},
};
const size_t overview_methods_n = FUMI_COUNT(overview_methods);
