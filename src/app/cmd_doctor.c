/* fumi doctor */
#include "app/cli_notes.h"
#include "app/doctor.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "embed/gloss.h"
#include "embed/model.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FINDINGS = 10000, LINE = 4200 };

struct doctor_flags {
    bool dry_run, secrets;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct doctor_flags, dry_run, "dryRun", "Report problems without repairing them."),
    FUMI_FIELD(struct doctor_flags, secrets, "secrets",
               "Only list notes, groups and globals that contain values which look like "
               "keys."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct doctor_flags, fields);

struct doctor_result {
    bool ok;
    struct fumi_strs findings;
};

static const struct fumi_field result_fields[] = {
    FUMI_FIELD(struct doctor_result, ok, "ok", "Whether no problems remain."),
    FUMI_FIELD(struct doctor_result, findings, "findings", "What was checked, and the result."),
};
static const struct fumi_shape result_shape = FUMI_SHAPE(struct doctor_result, result_fields);

void doctor_say(struct doctor *d, const char *fmt, ...)
{
    char text[LINE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    progress_hide(&d->bar);
    if (!d->json)
        printf("%s\n", text);
    else if (d->findings.n < FINDINGS)
        d->findings.items[d->findings.n++] = fumi_fmt(d->a, "%s", text);
}

static void print_line(void *doctor, const char *sentence)
{
    doctor_say(doctor, "%s", sentence);
}

/* Checks that other users have no access to a file; the repair removes their permissions. */
static int check_mode(struct doctor *d, struct fumi_str path, bool repair)
{
    struct stat st;
    const char *name = files_name(d->a, path);
    if (stat(name, &st) || !(st.st_mode & 077))
        return 0;
    mode_t mode = st.st_mode & 0700;
    if (!repair || chmod(name, mode)) {
        doctor_say(d, "%s: other users have access (mode %03o): run chmod %03o", name,
                   (unsigned)st.st_mode & 0777, (unsigned)mode);
        return -1;
    }
    doctor_say(d, "%s: other users had access (mode %03o); it has mode %03o now", name,
               (unsigned)st.st_mode & 0777, (unsigned)mode);
    return 0;
}

static int check_files(struct doctor *d, struct session *s, bool repair)
{
    const struct config *c = &s->config;
    int bad = check_mode(d, c->paths.data_dir, repair);
    if (c->store.path.p)
        bad |= check_mode(d, c->store.path, repair);
    if (c->source.p && !c->foreign)
        bad |= check_mode(d, c->source, repair);
    doctor_say(d, "configuration: %s",
               c->source.p ? files_name(&s->arena, c->source) : "none (defaults are used)");
    return bad;
}

static int check_gloss(struct doctor *d, const char *model)
{
    struct fumi_arena *a = d->a;
    struct fumi_err e = {0};
    struct fumi_str path = gloss_find(a, model);
    struct gloss *g = path.p ? gloss_open(path.p, &e) : NULL;
    int rc = path.p && (!g || gloss_verify(g, path.p, &e)) ? -1 : 0;
    if (rc)
        doctor_say(d, "dictionary: %s", e.text);
    else
        doctor_say(d, "dictionary: %s",
                   g ? fumi_fmt(a, "%s is intact", path.p).p
                     : "none (Japanese is embedded without glosses)");
    gloss_close(g);
    return rc;
}

/* Only the local provider needs the model. */
static int check_model(struct doctor *d, struct session *s)
{
    struct fumi_err e = {0};
    struct fumi_str path = s->config.embedder.set.model_file;
    if (!fumi_eq(s->config.embedder.set.provider, FUMI_STR("local")))
        return 0;
    if (!path.n)
        path = model_find(&s->arena, &e);
    struct model *m = path.n ? model_open(files_name(&s->arena, path), &e) : NULL;
    int rc = m ? model_verify(m, &e) : -1;
    if (m)
        model_close(m);
    if (rc)
        doctor_say(d, "model: %s", e.text);
    else
        doctor_say(d, "model: %.*s is intact", FUMI_ARG(path));
    return rc ? rc : check_gloss(d, files_name(&s->arena, path));
}

static int check_store(struct doctor *d, struct session *s, bool repair, struct fumi_err *e)
{
    if (store_check(s->store, repair, print_line, d, e))
        return -1;
    doctor_say(d, "database: %.*s is intact", FUMI_ARG(config_store_name(&s->config, &s->arena)));
    return 0;
}

static int find_secrets(struct doctor *d, struct session *s, struct fumi_err *e)
{
    int found = doctor_secrets(d, s, e);
    if (found > 0)
        doctor_say(d, "erase them with fumi forget, and add them again without the value: the "
                      "history keeps what an update or a deletion removes");
    else if (!found)
        doctor_say(d, "no values that look like keys were found");
    return found;
}

/* Returns 0 if no problems remain. */
static int examine(struct doctor *d, struct session *s, bool repair, struct fumi_err *e)
{
    int bad = s->store ? 0 : -1;
    if (s->config.store.type.p) {
        bad |= check_files(d, s, s->store && repair); /* changes no modes without a store */
        bad |= check_model(d, s);
    }
    if (s->store && check_store(d, s, repair, e))
        bad = interrupted() ? -1 : command_report(e);
    if (!interrupted())
        doctor_say(d, bad ? "some problems remain" : "no problems remain");
    return bad;
}

static int finish(struct doctor *d, bool bad, const struct fumi_err *e)
{
    if (d->json)
        notes_print_struct(d->a, &result_shape, &(struct doctor_result){!bad, d->findings});
    if (interrupted())
        return interrupt_status("what is printed above was checked");
    return !bad ? STATUS_OK : e->code == ERR_NEWER ? STATUS_NEWER : STATUS_FAILED;
}

/* Opens the store and examines it, or looks for secrets. Returns 0 if all is well, less if the
 * store cannot be read. */
static int run(struct doctor *d, struct session *s, struct invocation *i, struct fumi_err *e)
{
    const struct doctor_flags *f = i->flags;
    int rc = session_old_store(s, &i->common, e);
    progress_hide(&d->bar);
    if (!f->secrets) {
        if (rc)
            command_report(e);
        return examine(d, s, !f->dry_run, e);
    }
    return rc ? -1 : find_secrets(d, s, e);
}

static int doctor(struct invocation *i)
{
    const struct doctor_flags *f = i->flags;
    struct doctor d = {.a = i->a, .json = i->json};
    struct session s = {.salvage = !f->dry_run && !f->secrets, .progress = &d.bar};
    struct fumi_err e = {0};
    d.findings.items = fumi_alloc(i->a, FINDINGS * sizeof(*d.findings.items));
    interrupt_catch();
    progress_begin(&d.bar, "doctor", "steps", 0, 0);
    int bad = run(&d, &s, i, &e);
    progress_end(&d.bar);
    session_close(&s);
    if (f->secrets && bad < 0 && !interrupted())
        return command_report(&e);
    return finish(&d, bad, &e);
}

const struct command command_doctor = {
    .name = "doctor",
    .usage = "",
    .help = "Checks the memory, repairs what it can, and reports the result.",
    .more = "doctor checks the configuration, the model, the database and the permissions "
            "of files. It rebuilds a damaged keyword index or vector cache from the "
            "notes, copies the readable rows of a damaged database into a new one, and "
            "removes permissions of other users. The exit status is 1 if problems remain. "
            "With --secrets nothing is changed: the ids of notes, groups and globals that "
            "contain values which look like keys are printed with the kind of key, never "
            "the key itself; the exit status is 1 if there are any.",
    .shape = &shape,
    .output = OUTPUT_JSON,
    .result = &result_shape,
    .run = doctor,
};
