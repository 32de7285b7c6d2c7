/* fumi backup and doctor. */
#include "app/doctor.h"
#include "app/files.h"
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
        return command_misuse(i, "a name for the copy is required");
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
    .help = "Writes a sound copy of the database, while others may go on writing.",
    .more = "The copy has that name once it is whole; a file that exists is not overwritten. To "
            "restore it, stop all that use the memory and put it in the place of memory.db (and "
            "remove memory.db-wal, memory.db-shm and memory.db.vec).",
    .words = 1,
    .run = backup,
};

/* --- doctor --- */

struct doctor_flags {
    bool dry_run, secrets;
};

static const struct fumi_field fields[] = {
    FUMI_FIELD(struct doctor_flags, dry_run, "dryRun", "Only look, repair nothing."),
    FUMI_FIELD(struct doctor_flags, secrets, "secrets",
               "Only name the notes, groups and globals that hold values which look like keys."),
};
static const struct fumi_shape shape = FUMI_SHAPE(struct doctor_flags, fields);

static void say(void *arg, const char *sentence)
{
    (void)arg;
    printf("%s\n", sentence);
}

/* Whether others may read what is there; that is repaired by taking the right away. */
static int check_mode(struct fumi_arena *a, struct fumi_str path, bool repair)
{
    struct stat st;
    const char *name = files_name(a, path);
    if (stat(name, &st) || !(st.st_mode & 077))
        return 0;
    mode_t mode = st.st_mode & 0700;
    if (!repair || chmod(name, mode)) {
        printf("%s: others may use it (mode %03o): chmod %03o it\n", name,
               (unsigned)st.st_mode & 0777, (unsigned)mode);
        return -1;
    }
    printf("%s: others could use it (mode %03o); it has mode %03o now\n", name,
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
           c->source.p ? files_name(&s->arena, c->source) : "none, so the defaults hold");
    return bad;
}

/* A model that is missing is no fault of another provider. */
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
        printf("model: %.*s is sound\n", FUMI_ARG(path));
    return rc;
}

static int check_store(struct session *s, bool repair, struct fumi_err *e)
{
    if (store_check(s->store, repair, say, NULL, e))
        return -1;
    printf("database: %.*s is sound\n", FUMI_ARG(s->config.store.path));
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
        puts("change or delete them: fumi call memory.update, fumi delete");
    else
        puts("nothing looks like a key");
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
        bad |= check_files(&s, s.store && !f->dry_run); /* a file that is not ours stays as it is */
        bad |= check_model(&s);
    }
    if (s.store && check_store(&s, !f->dry_run, &e))
        bad = command_report(&e);
    session_close(&s);
    puts(bad ? "not all is well" : "all is well");
    return !bad ? STATUS_OK : e.code == ERR_NEWER ? STATUS_NEWER : STATUS_FAILED;
}

const struct command command_doctor = {
    .name = "doctor",
    .usage = "",
    .help = "Looks at everything, repairs what can be repaired, and says what it did.",
    .more = "Words and the cache of vectors are made again from the notes where they are damaged; "
            "permissions that are too wide are narrowed. The status is 1 when something is not "
            "well in the end. With --secrets nothing is repaired or changed: ids and kinds of "
            "what looks like a key are printed, never the key, and the status is 1 when there is "
            "one.",
    .shape = &shape,
    .run = doctor,
};
