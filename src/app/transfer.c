#include "app/transfer.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "json/shape.h"

static const char *const kinds[] = {"note", "group", "global", NULL};

/* The members of all kinds. Groups and globals use those of the note where they have the same name.
 */
struct line {
    int kind;
    struct note note;
    struct fumi_str key, description;
    struct fumi_json value;
    struct fumi_time updated;
};

#define LINE(member, wire, ...) FUMI_FIELD(struct line, member, wire, __VA_ARGS__)
#define KIND_FIELD              LINE(kind, "kind", "Kind of the object.", .choices = kinds, .def = "\"note\"")
#define ID_FIELD                LINE(note.id, "id", "Id of the object.", .flags = FUMI_NULLABLE, .format = "uuid")
#define PROJECT_FIELD                                                                              \
    LINE(note.project, "projectId", "Project of the object.", .flags = FUMI_REQUIRED, .min = 1,    \
         .max = PROJECT_MAX)
#define CREATED_FIELD LINE(note.created, "createdAt", "Time of creation.", .flags = FUMI_NULLABLE)
#define UPDATED_FIELD LINE(updated, "updatedAt", "Time of the last change.", .flags = FUMI_NULLABLE)

static const char *check_description(struct fumi_str s)
{
    return s.n > VALUE_MAX ? "must have at most 262144 bytes" : NULL;
}

static const struct fumi_field note_fields[] = {
    PROJECT_FIELD,
    NOTE_REQUIRED_FIELDS(struct line, note.) KIND_FIELD,
    ID_FIELD,
    NOTE_OPTIONAL_FIELDS(struct line, note.)
        LINE(note.superseded_by, "supersededBy", "Id of the note that replaces this one.",
             .flags = FUMI_NULLABLE | FUMI_OMIT, .format = "uuid"),
};

static const struct fumi_field group_fields[] = {
    PROJECT_FIELD,
    LINE(key, "groupKey", "Key of the group.", .flags = FUMI_REQUIRED, .check = note_key_fault),
    LINE(note.title, "title", "Title of the group.", .flags = FUMI_REQUIRED,
         .check = note_title_fault),
    KIND_FIELD,
    ID_FIELD,
    LINE(description, "description", "Purpose of the group.", .flags = FUMI_NULLABLE,
         .check = check_description),
    CREATED_FIELD,
    UPDATED_FIELD,
};

static const struct fumi_field global_fields[] = {
    PROJECT_FIELD, LINE(key, "key", "Key of the global.", .flags = FUMI_REQUIRED), KIND_FIELD,
    ID_FIELD,      LINE(value, "value", "Any value.", .flags = FUMI_NULLABLE),     UPDATED_FIELD,
};

static const struct fumi_field kind_fields[] = {KIND_FIELD};

/* Unknown members, which another version may have written, are ignored. */
static const struct fumi_shape shapes[] = {
    [TRANSFER_NOTE] = FUMI_OPEN_SHAPE(struct line, note_fields),
    [TRANSFER_GROUP] = FUMI_OPEN_SHAPE(struct line, group_fields),
    [TRANSFER_GLOBAL] = FUMI_OPEN_SHAPE(struct line, global_fields),
};
static const struct fumi_shape kind_shape = FUMI_OPEN_SHAPE(struct line, kind_fields);

static struct line line_of(const struct transfer *t)
{
    const struct group *g = &t->group;
    const struct global *v = &t->global;
    struct line l = {.kind = (int)t->kind};
    switch (t->kind) {
    case TRANSFER_NOTE:
        l.note = t->note;
        break;
    case TRANSFER_GROUP:
        l.note = (struct note){
            .id = g->id, .project = g->project, .title = g->title, .created = {g->created, true}};
        l.key = g->key, l.description = g->description;
        l.updated = (struct fumi_time){g->updated, true};
        break;
    case TRANSFER_GLOBAL:
        l.note = (struct note){.id = v->id, .project = v->project};
        l.key = v->key, l.value.text = v->value;
        l.updated = (struct fumi_time){v->updated, true};
        break;
    }
    return l;
}

void transfer_write(struct fumi_buf *out, const struct transfer *t)
{
    struct line l = line_of(t);
    fumi_emit(&(struct fumi_out){.buf = out}, &shapes[t->kind], &l);
}

static int64_t time_or_now(struct fumi_time time)
{
    return time.set ? time.ms : fumi_now();
}

static void from_line(const struct line *l, struct transfer *t)
{
    t->kind = (enum transfer_kind)l->kind;
    switch (t->kind) {
    case TRANSFER_NOTE:
        t->note = l->note;
        break;
    case TRANSFER_GROUP:
        t->group = (struct group){.id = l->note.id,
                                  .project = l->note.project,
                                  .key = l->key,
                                  .title = l->note.title,
                                  .description = l->description.p ? l->description : FUMI_STR(""),
                                  .created = time_or_now(l->note.created),
                                  .updated = time_or_now(l->updated)};
        break;
    case TRANSFER_GLOBAL:
        t->global = (struct global){.id = l->note.id,
                                    .project = l->note.project,
                                    .key = l->key,
                                    .value = l->value.text.p ? l->value.text : FUMI_STR("null"),
                                    .updated = time_or_now(l->updated)};
        break;
    }
}

static bool clean(struct fumi_arena *a, struct fumi_str *s)
{
    struct fumi_str was = *s;
    *s = note_line(a, was);
    return s->p != was.p;
}

/* Whether the member must be one line of visible text. Older versions stored other texts, so it is
 * checked only after clean_line has cleaned it. */
static bool is_line(const struct fumi_field *f)
{
    return f->check == note_title_fault || f->check == note_source_fault ||
           f->check == note_tag_fault;
}

static int check_clean(const struct fumi_field *f, const void *member, struct fumi_err *e)
{
    const struct fumi_strs *list = member;
    const char *fault = NULL;
    if (f->type == FUMI_T_STR)
        fault = f->check(*(const struct fumi_str *)member);
    for (size_t i = 0; f->type == FUMI_T_STRS && i < list->n && !fault; i++)
        fault = f->check(list->items[i]);
    return fault ? fumi_err_set(e, FUMI_INVALID_PARAMS, "%s %s", f->name, fault) : 0;
}

static bool clean_member(struct fumi_arena *a, const struct fumi_field *f, void *member)
{
    struct fumi_strs *list = member;
    bool any = f->type == FUMI_T_STR && clean(a, member);
    for (size_t i = 0; f->type == FUMI_T_STRS && i < list->n; i++)
        any |= clean(a, &list->items[i]);
    return any;
}

/* Cleans the members that must be one line (note_line); *cleaned lists those that were changed.
 * Returns -1 and sets *e if a required member becomes empty or a member is too long. */
static int clean_line(struct fumi_arena *a, const struct fumi_shape *s, struct line *l,
                      struct fumi_str *cleaned, struct fumi_err *e)
{
    *cleaned = FUMI_STR("");
    for (const struct fumi_field *f = s->fields; f < s->fields + s->n; f++) {
        struct fumi_str *member = (struct fumi_str *)(void *)((char *)l + f->offset);
        bool project = f->offset == offsetof(struct line, note.project);
        if (!project && !is_line(f))
            continue;
        bool any = clean_member(a, f, member);
        if (any && f->flags & FUMI_REQUIRED && !member->n)
            return fumi_err_set(e, FUMI_INVALID_PARAMS, "%s is required", f->name);
        if (!project && check_clean(f, member, e))
            return -1;
        if (any)
            *cleaned = fumi_fmt(a, "%.*s%s%s", FUMI_ARG(*cleaned), cleaned->n ? ", " : "", f->name);
    }
    return 0;
}

/* Binds the members without the checks that clean_line does later. */
static int bind_line(struct fumi_arena *a, const struct fumi_shape *s, const struct fumi_val *v,
                     struct line *l, struct fumi_err *e)
{
    struct fumi_shape copy = *s;
    struct fumi_field *fields = fumi_alloc(a, s->n * sizeof(*fields));
    for (size_t i = 0; i < s->n; i++) {
        fields[i] = s->fields[i];
        if (is_line(&fields[i]))
            fields[i].check = NULL;
    }
    copy.fields = fields;
    return fumi_bind(a, &copy, v, l, e);
}

static int complete(struct fumi_arena *a, struct line *l, struct fumi_err *e)
{
    if (l->note.metadata.text.n > NOTE_METADATA_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "metadata must have at most %d bytes",
                            NOTE_METADATA_MAX);
    if (l->kind == TRANSFER_GLOBAL && global_key_check(l->key, e))
        return -1;
    if (!l->note.id.p) {
        char *id = fumi_alloc(a, FUMI_UUID_SIZE);
        fumi_uuid(id);
        l->note.id = (struct fumi_str){id, FUMI_UUID_SIZE};
    }
    return project_writable(a, l->note.project, &l->note.project, e);
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
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "the line must contain an object");
    if (fumi_bind(a, &kind_shape, v, &kind, e) || bind_line(a, &shapes[kind.kind], v, &l, e) ||
        clean_line(a, &shapes[kind.kind], &l, &cleaned, e) || complete(a, &l, e))
        return -1;
    *out = (struct transfer){.cleaned = cleaned};
    from_line(&l, out);
    return 0;
}
