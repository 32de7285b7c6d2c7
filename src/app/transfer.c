#include "app/transfer.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "json/shape.h"

static const char *const kinds[] = {"note", "group", "global", NULL};

/* All members of all kinds, as they stand in a line. */
struct line {
    int kind;
    struct fumi_str id, project, created, updated;
    struct fumi_str group, title, text, source;
    struct fumi_strs tags;
    struct fumi_json metadata;
    struct fumi_str description, key;
    struct fumi_json value;
};

#define LINE(member, wire, ...) FUMI_FIELD(struct line, member, wire, __VA_ARGS__)
#define KIND                    LINE(kind, "kind", "What it is.", .choices = kinds, .def = "\"note\"")
#define ID                      LINE(id, "id", "Its id.", .flags = FUMI_NULLABLE, .format = "uuid")
#define PROJECT                                                                                    \
    LINE(project, "projectId", "Its project.", .flags = FUMI_REQUIRED, .min = 1, .max = PROJECT_MAX)
#define TIME(member, wire)                                                                         \
    LINE(member, wire, "A time.", .flags = FUMI_NULLABLE, .format = "date-time")

static const char *check_description(struct fumi_str s)
{
    return s.n > VALUE_MAX ? "must have at most 262144 bytes" : NULL;
}

static const char *check_short(struct fumi_str s)
{
    return s.n > NOTE_TITLE_MAX ? "must have at most 4096 bytes" : NULL;
}

static const char *check_tag(struct fumi_str s)
{
    return s.n > NOTE_TAG_MAX ? "must have at most 128 bytes" : NULL;
}

static const struct fumi_field note_fields[] = {
    PROJECT,
    LINE(group, "groupId", "Its group.", .flags = FUMI_REQUIRED, .check = note_group_fault),
    LINE(text, "text", "Its text.", .flags = FUMI_REQUIRED, .check = note_text_fault),
    KIND,
    ID,
    LINE(title, "title", "Its title.", .flags = FUMI_NULLABLE, .check = check_short),
    LINE(tags, "tags", "Its tags.", .flags = FUMI_NULLABLE, .max = NOTE_TAGS_MAX,
         .check = check_tag),
    LINE(source, "source", "Its source.", .flags = FUMI_NULLABLE, .check = check_short),
    TIME(created, "createdAt"),
    LINE(metadata, "metadata", "Any object.", .flags = FUMI_NULLABLE | FUMI_OBJECT_ONLY),
};

static const struct fumi_field group_fields[] = {
    PROJECT,
    LINE(key, "groupKey", "Its key.", .flags = FUMI_REQUIRED, .check = note_key_fault),
    LINE(title, "title", "Its title.", .flags = FUMI_REQUIRED, .check = check_short),
    KIND,
    ID,
    LINE(description, "description", "What it is for.", .flags = FUMI_NULLABLE,
         .check = check_description),
    TIME(created, "createdAt"),
    TIME(updated, "updatedAt"),
};

static const struct fumi_field global_fields[] = {
    PROJECT, LINE(key, "key", "Its key.", .flags = FUMI_REQUIRED),       KIND,
    ID,      LINE(value, "value", "Any value.", .flags = FUMI_NULLABLE), TIME(updated, "updatedAt"),
};

static const struct fumi_field kind_fields[] = {KIND};

/* Members of other versions of the program are left alone. */
static const struct fumi_shape shapes[] = {
    [TRANSFER_NOTE] = FUMI_OPEN_SHAPE(struct line, note_fields),
    [TRANSFER_GROUP] = FUMI_OPEN_SHAPE(struct line, group_fields),
    [TRANSFER_GLOBAL] = FUMI_OPEN_SHAPE(struct line, global_fields),
};
static const struct fumi_shape kind_shape = FUMI_OPEN_SHAPE(struct line, kind_fields);

static struct fumi_str time_text(int64_t ms, char out[FUMI_TIME_SIZE])
{
    fumi_time_write(ms, out);
    return (struct fumi_str){out, FUMI_TIME_SIZE};
}

static int64_t time_of(struct fumi_str text, int64_t none)
{
    int64_t ms;
    return text.p && fumi_time_read(text, &ms) ? ms : none;
}

static void to_line(const struct transfer *t, struct line *l, char created[FUMI_TIME_SIZE],
                    char updated[FUMI_TIME_SIZE])
{
    const struct note *n = &t->note;
    const struct group *g = &t->group;
    const struct global *v = &t->global;
    *l = (struct line){.kind = (int)t->kind};
    switch (t->kind) {
    case TRANSFER_NOTE:
        l->id = n->id, l->project = n->project, l->group = n->group, l->title = n->title;
        l->text = n->text, l->tags = n->tags, l->source = n->source;
        l->metadata.text = n->metadata;
        l->created = time_text(n->created, created);
        break;
    case TRANSFER_GROUP:
        l->id = g->id, l->project = g->project, l->key = g->key, l->title = g->title;
        l->description = g->description;
        l->created = time_text(g->created, created);
        l->updated = time_text(g->updated, updated);
        break;
    case TRANSFER_GLOBAL:
        l->id = v->id, l->project = v->project, l->key = v->key;
        l->value.text = v->value;
        l->updated = time_text(v->updated, updated);
        break;
    }
}

void transfer_write(struct fumi_buf *out, const struct transfer *t)
{
    char created[FUMI_TIME_SIZE], updated[FUMI_TIME_SIZE];
    struct line l;
    to_line(t, &l, created, updated);
    fumi_emit(&(struct fumi_out){.buf = out}, &shapes[t->kind], &l);
}

static void from_line(const struct line *l, struct transfer *t)
{
    int64_t now = fumi_now();
    t->kind = (enum transfer_kind)l->kind;
    switch (t->kind) {
    case TRANSFER_NOTE:
        t->note = (struct note){.id = l->id,
                                .project = l->project,
                                .group = l->group,
                                .title = l->title,
                                .text = l->text,
                                .source = l->source,
                                .tags = l->tags,
                                .metadata = l->metadata.text,
                                .created = time_of(l->created, NOTE_NOW)};
        break;
    case TRANSFER_GROUP:
        t->group = (struct group){.id = l->id,
                                  .project = l->project,
                                  .key = l->key,
                                  .title = l->title,
                                  .description = l->description.p ? l->description : FUMI_STR(""),
                                  .created = time_of(l->created, now),
                                  .updated = time_of(l->updated, now)};
        break;
    case TRANSFER_GLOBAL:
        t->global = (struct global){.id = l->id,
                                    .project = l->project,
                                    .key = l->key,
                                    .value = l->value.text.p ? l->value.text : FUMI_STR("null"),
                                    .updated = time_of(l->updated, now)};
        break;
    }
}

static bool clean(struct fumi_arena *a, struct fumi_str *s)
{
    struct fumi_str was = *s;
    *s = note_line(a, was);
    return s->p != was.p;
}

static bool clean_tags(struct fumi_arena *a, struct fumi_strs tags)
{
    bool any = false;
    for (size_t i = 0; i < tags.n; i++)
        any |= clean(a, &tags.items[i]);
    return any;
}

/* Makes one line of the members that must be; -1: nothing is left of a required one. */
static int clean_line(struct fumi_arena *a, struct line *l, struct fumi_str *cleaned,
                      struct fumi_err *e)
{
    static const char *const names[] = {"projectId", "title", "source", "tags"};
    bool any[FUMI_COUNT(names)];
    any[0] = clean(a, &l->project);
    any[1] = clean(a, &l->title);
    any[2] = clean(a, &l->source);
    any[3] = clean_tags(a, l->tags);
    if (any[0] && !l->project.n)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId is required");
    if (any[1] && !l->title.n && l->kind == TRANSFER_GROUP)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "title is required");
    *cleaned = FUMI_STR("");
    for (size_t i = 0; i < FUMI_COUNT(names); i++)
        if (any[i])
            *cleaned = fumi_fmt(a, "%.*s%s%s", FUMI_ARG(*cleaned), cleaned->n ? ", " : "",
                                names[i]);
    return 0;
}

static int complete(struct fumi_arena *a, struct line *l, struct fumi_err *e)
{
    if (l->metadata.text.n > NOTE_METADATA_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "metadata must have at most %d bytes",
                            NOTE_METADATA_MAX);
    if (l->kind == TRANSFER_GLOBAL && global_key_check(l->key, e))
        return -1;
    if (!l->id.p) {
        char *id = fumi_alloc(a, FUMI_UUID_SIZE);
        fumi_uuid(id);
        l->id = (struct fumi_str){id, FUMI_UUID_SIZE};
    }
    return project_writable(a, l->project, &l->project, e);
}

int transfer_read(struct fumi_arena *a, struct fumi_str text, struct transfer *out,
                  struct fumi_err *e)
{
    struct line l = {0}, kind = {0};
    struct fumi_str cleaned;
    const struct fumi_val *v = fumi_parse(a, text, e);
    if (!v)
        return -1;
    if (!fumi_is(v, FUMI_OBJECT))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line must hold an object");
    if (fumi_bind(a, &kind_shape, v, &kind, e) || fumi_bind(a, &shapes[kind.kind], v, &l, e) ||
        clean_line(a, &l, &cleaned, e) || complete(a, &l, e))
        return -1;
    *out = (struct transfer){.cleaned = cleaned};
    from_line(&l, out);
    return 0;
}
