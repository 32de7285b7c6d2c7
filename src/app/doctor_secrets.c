/* fumi doctor --secrets: masks copies of everything stored, and counts what was masked. */
#include "app/doctor.h"
#include "app/show.h"
#include "memory/guard.h"

enum { PAGE = 16 };

/* Returns 1 if the guard found secrets, else 0. */
static int report(struct doctor *d, struct fumi_arena *a, const char *what, struct fumi_str id,
                  struct fumi_str project, const struct guard *g)
{
    struct fumi_str list = secrets_list(a, &g->found), where = show_line(a, project);
    if (!list.n)
        return 0;
    doctor_say(d, "%s %.*s of %.*s: %.*s", what, FUMI_ARG(id), FUMI_ARG(where), FUMI_ARG(list));
    return 1;
}

static struct guard counting(struct fumi_arena *a)
{
    return (struct guard){.a = a, .mode = SECRETS_MASK};
}

static int check_notes(struct doctor *d, struct store *store, struct fumi_arena *a,
                       struct fumi_err *e)
{
    struct notes page = {0};
    int64_t after = 0;
    int found = 0;
    do {
        fumi_arena_reset(a, 0);
        if (store_list_by_seq(store, a, NULL, after, PAGE, &page, e))
            return -1;
        for (size_t i = 0; i < page.n; i++) {
            struct note n = page.items[i];
            struct guard g = counting(a);
            struct fumi_err ignored = {0};
            after = n.seq;
            guard_note(&g, &n, &ignored);
            found += report(d, a, "note", n.id, n.project, &g);
        }
    } while (page.n);
    return found;
}

static int check_groups(struct doctor *d, struct store *store, struct fumi_arena *a,
                        struct fumi_err *e)
{
    const struct loading to = {.arena = a};
    struct groups all = {0};
    int found = 0;
    if (store_list_groups(store, &to, (struct fumi_str){0}, &all, e))
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct group group = all.items[i];
        struct guard g = counting(a);
        struct fumi_err ignored = {0};
        guard_group(&g, &group, &ignored);
        found += report(d, a, "group", group.id, group.project, &g);
    }
    return found;
}

static int check_globals(struct doctor *d, struct store *store, struct fumi_arena *a,
                         struct fumi_err *e)
{
    const struct loading to = {.arena = a};
    struct globals all = {0};
    int found = 0;
    if (store_list_globals(store, &to, (struct fumi_str){0}, FUMI_STR(""), &all, e))
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct global global = all.items[i];
        struct guard g = counting(a);
        struct fumi_err ignored = {0};
        guard_global(&g, &global, &ignored);
        found += report(d, a, "global", global.id, global.project, &g);
    }
    return found;
}

int doctor_secrets(struct doctor *d, struct session *s, struct fumi_err *e)
{
    struct fumi_arena a = {0};
    int notes = check_notes(d, s->store, &a, e);
    int groups = notes < 0 ? -1 : check_groups(d, s->store, &a, e);
    int globals = groups < 0 ? -1 : check_globals(d, s->store, &a, e);
    fumi_arena_done(&a);
    return globals < 0 ? -1 : notes + groups + globals;
}
