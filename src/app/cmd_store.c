/* fumi backup and doctor. */
#include "app/doctor.h"
#include "app/files.h"
#include "embed/gloss.h"
#include "embed/model.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int backup(struct invocation *i)
{
    struct session s = {0};
    struct fumi_err e = {0};
    struct fumi_str to, none = {0};
    if (!i->words.n)
        return command_misuse(i, "the name of the backup file is required");
    int rc = files_expand(i->a, i->words.items[0], none, &to, &e) ||
             session_old_store(&s, &i->common, &e) || store_backup(s.store, to, &e);
    session_close(&s);
    if (rc)
        return command_report(&e);
    printf("%.*s\n", FUMI_ARG(to));
    return STATUS_OK;
}

const struct command command_backup = {
    .name = "backup",
    .usage = "FILE",
    .help = "Writes a consistent copy of the database, also while it is in use.",
    .more = "FILE appears only once the copy is complete; an existing file is not "
            "overwritten. To restore a backup, stop all programs that use the memory, "
            "replace memory.db by the backup, and remove memory.db-wal, memory.db-shm and "
            "memory.db.vec.",
    .words = 1,
    .run = backup,
};

/* --- doctor --- */

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

static void print_line(void *arg, const char *sentence)
{
    (void)arg;
    printf("%s\n", sentence);
}

/* Checks that other users have no access to a file; the repair removes their permissions. */
static int check_mode(struct fumi_arena *a, struct fumi_str path, bool repair)
{
    struct stat st;
    const char *name = files_name(a, path);
    if (stat(name, &st) || !(st.st_mode & 077))
        return 0;
    mode_t mode = st.st_mode & 0700;
    if (!repair || chmod(name, mode)) {
        printf("%s: other users have access (mode %03o): run chmod %03o\n", name,
               (unsigned)st.st_mode & 0777, (unsigned)mode);
        return -1;
    }
    printf("%s: other users had access (mode %03o); it has mode %03o now\n", name,
           (unsigned)st.st_mode & 0777, (unsigned)mode);
    return 0;
}

static int check_files(struct session *s, bool repair)
{
    const struct config *c = &s->config;
    int bad = check_mode(&s->arena, c->paths.data_dir, repair);
    bad |= check_mode(&s->arena, c->store.path, repair);
    if (c->source.p && !c->foreign)
        bad |= check_mode(&s->arena, c->source, repair);
    printf("configuration: %s\n",
           c->source.p ? files_name(&s->arena, c->source) : "none (defaults are used)");
    return bad;
}

static int check_gloss(struct fumi_arena *a, const char *model)
{
    struct fumi_err e = {0};
    struct fumi_str path = gloss_find(a, model);
    struct gloss *g = path.p ? gloss_open(path.p, &e) : NULL;
    int rc = path.p && (!g || gloss_verify(g, path.p, &e)) ? -1 : 0;
    if (rc)
        printf("dictionary: %s\n", e.text);
    else
        printf("dictionary: %s\n", g ? fumi_fmt(a, "%s is intact", path.p).p
                                     : "none (Japanese is embedded without glosses)");
    gloss_close(g);
    return rc;
}

/* Only the local provider needs the model. */
static int check_model(struct session *s)
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
        printf("model: %s\n", e.text);
    else
        printf("model: %.*s is intact\n", FUMI_ARG(path));
    return rc ? rc : check_gloss(&s->arena, files_name(&s->arena, path));
}

static int check_store(struct session *s, bool repair, struct fumi_err *e)
{
    if (store_check(s->store, repair, print_line, NULL, e))
        return -1;
    printf("database: %.*s is intact\n", FUMI_ARG(s->config.store.path));
    return 0;
}

static int find_secrets(struct invocation *i)
{
    struct session s = {0};
    struct fumi_err e = {0};
    int found = session_old_store(&s, &i->common, &e) ? -1 : doctor_secrets(&s, &e);
    session_close(&s);
    if (found < 0)
        return command_report(&e);
    if (found)
        puts("erase them with fumi forget, and add them again without the value: the history keeps "
             "what "
             "an update or a deletion removes");
    else
        puts("no values that look like keys were found");
    return found ? STATUS_FAILED : STATUS_OK;
}

static int doctor(struct invocation *i)
{
    const struct doctor_flags *f = i->flags;
    if (f->secrets)
        return find_secrets(i);
    struct session s = {.salvage = !f->dry_run};
    struct fumi_err e = {0};
    int bad = session_old_store(&s, &i->common, &e);
    if (bad)
        command_report(&e);
    if (s.config.store.path.p) {
        bad |= check_files(&s, s.store && !f->dry_run); /* changes no modes without a store */
        bad |= check_model(&s);
    }
    if (s.store && check_store(&s, !f->dry_run, &e))
        bad = command_report(&e);
    session_close(&s);
    puts(bad ? "some problems remain" : "no problems remain");
    return !bad ? STATUS_OK : e.code == ERR_NEWER ? STATUS_NEWER : STATUS_FAILED;
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
    .run = doctor,
};
