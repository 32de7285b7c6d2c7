/* How git stores which repository a directory belongs to:
 *
 * - The main checkout contains the directory .git.
 * - A linked worktree contains a file .git, "gitdir: COMMON/worktrees/NAME". There, the file
 *   commondir names COMMON, and the file gitdir names the .git of the worktree. Both directions are
 *   compared: otherwise a .git file in an unpacked archive could claim to belong to any repository
 *   of the user, whose notes would then be shown.
 * - The .git file of a submodule, and of a checkout made with --separate-git-dir, names a directory
 *   without commondir: such a checkout is a repository of its own.
 * - A bare repository contains HEAD, objects and refs. */
#include "app/git_files.h"

#include "app/files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LINK_MAX_BYTES = PATH_MAX + 16, CONFIG_MAX = 1 << 20 };

/* A directory while its repository is looked for. */
struct search {
    struct fumi_arena *a;
    struct fumi_str dir; /* contains `entry` */
    struct fumi_str entry;
    struct git_place *out;
};

enum kind { MISSING, DIRECTORY, OTHER, DENIED };

static enum kind kind_of(struct fumi_str path)
{
    struct stat st;
    if (stat(path.p, &st) == 0)
        return S_ISDIR(st.st_mode) ? DIRECTORY : OTHER;
    return errno == ENOENT || errno == ENOTDIR ? MISSING : DENIED;
}

static bool has(struct fumi_arena *a, struct fumi_str dir, const char *name, enum kind kind)
{
    return kind_of(files_join(a, dir, name)) == kind;
}

/* Reads a file that contains one path. Returns null if it cannot be read or is empty. */
static struct fumi_str read_link(struct fumi_arena *a, struct fumi_str path)
{
    struct file_text file;
    struct fumi_err ignored;
    if (files_read(a, path, LINK_MAX_BYTES, &file, &ignored))
        return (struct fumi_str){0};
    struct fumi_str s = file.text;
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s.n && !memchr(s.p, 0, s.n) ? s : (struct fumi_str){0};
}

/* The real path of `path`, which is relative to `base`. Returns null if it does not exist. */
static struct fumi_str real_path(struct fumi_arena *a, struct fumi_str base, struct fumi_str path)
{
    char real[PATH_MAX];
    const char *name = files_name(a, path);
    if (!path.n)
        return (struct fumi_str){0};
    if (name[0] != '/')
        name = files_join(a, base, name).p;
    return realpath(name, real) ? fumi_fmt(a, "%s", real) : (struct fumi_str){0};
}

static struct fumi_str base_name(struct fumi_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    size_t at = slash ? (size_t)(slash + 1 - path.p) : 0;
    return (struct fumi_str){path.p + at, path.n - at};
}

/* The git directory that the file DIR/.git names; null: none. */
static struct fumi_str target_of(struct fumi_arena *a, struct fumi_str dir)
{
    static const struct fumi_str prefix = {"gitdir: ", 8};
    struct fumi_str text = read_link(a, files_join(a, dir, ".git"));
    if (!fumi_starts(text, prefix))
        return (struct fumi_str){0};
    text = (struct fumi_str){text.p + prefix.n, text.n - prefix.n};
    struct fumi_str target = real_path(a, dir, text);
    return target.p && has(a, target, "HEAD", OTHER) ? target : (struct fumi_str){0};
}

static struct git_config config_of(struct fumi_arena *a, struct fumi_str common)
{
    struct file_text file;
    struct fumi_err ignored;
    if (files_read(a, files_join(a, common, "config"), CONFIG_MAX, &file, &ignored) || !file.text.p)
        return (struct git_config){0};
    return git_config_read(a, file.text);
}

/* The main checkout of a common git directory that does not lie in it: core.worktree, if the .git
 * there names this git directory. */
static struct fumi_str separate_checkout(struct fumi_arena *a, struct fumi_str common)
{
    struct fumi_str set = config_of(a, common).worktree;
    struct fumi_str checkout = set.p ? real_path(a, common, set) : (struct fumi_str){0};
    if (checkout.p && fumi_eq(target_of(a, checkout), common))
        return checkout;
    return (struct fumi_str){0};
}

/* The directory that stands for all worktrees of a common git directory. */
static struct fumi_str main_of(struct fumi_arena *a, struct fumi_str common)
{
    struct fumi_str parent = files_dir(a, common), checkout;
    if (fumi_eq(base_name(common), FUMI_STR(".git")) || fumi_eq(target_of(a, parent), common))
        return parent;
    checkout = separate_checkout(a, common);
    return checkout.p ? checkout : common;
}

/* Ignores .git: there is no repository. */
static void refuse(struct search *s, const char *why)
{
    *s->out = (struct git_place){
        .warning = fumi_fmt(s->a, "%.*s is ignored: %s", FUMI_ARG(files_shown(s->entry)), why)};
}

/* A linked worktree whose git directory is COMMON/worktrees/NAME. */
static void take_linked(struct search *s, struct fumi_str target, struct fumi_str commondir)
{
    struct fumi_str common = real_path(s->a, target, commondir);
    struct fumi_str back = read_link(s->a, files_join(s->a, target, "gitdir"));
    if (!common.p || !fumi_eq(files_dir(s->a, files_dir(s->a, target)), common)) {
        refuse(s, "its repository does not exist");
        return;
    }
    back = back.p ? real_path(s->a, target, files_dir(s->a, back)) : back;
    if (!fumi_eq(back, s->dir)) {
        refuse(s,
               "its repository knows no such worktree; if it was moved, run 'git worktree repair'");
        return;
    }
    *s->out = (struct git_place){.root = s->dir, .main = main_of(s->a, common), .common = common};
}

static void take_file(struct search *s)
{
    struct fumi_str target = target_of(s->a, s->dir);
    if (!target.p) {
        refuse(s, "it names no git directory that can be read");
        return;
    }
    struct fumi_str commondir = read_link(s->a, files_join(s->a, target, "commondir"));
    if (commondir.p)
        take_linked(s, target, commondir);
    else
        *s->out = (struct git_place){.root = s->dir, .main = s->dir, .common = target};
}

/* Looks at one directory. Returns false if it is not the root of a repository. */
static bool take(struct search *s)
{
    switch (kind_of(s->entry)) {
    case DIRECTORY:
        *s->out = (struct git_place){.root = s->dir, .main = s->dir, .common = s->entry};
        return true;
    case OTHER:
        take_file(s);
        return true;
    case DENIED:
        refuse(s, strerror(errno));
        return true;
    case MISSING:
        break;
    }
    if (!has(s->a, s->dir, "HEAD", OTHER) || !has(s->a, s->dir, "objects", DIRECTORY) ||
        !has(s->a, s->dir, "refs", DIRECTORY))
        return false;
    struct fumi_str main = main_of(s->a, s->dir);
    *s->out = (struct git_place){.root = main, .main = main, .common = s->dir};
    return true;
}

struct git_place git_find(struct fumi_arena *a, struct fumi_str dir)
{
    struct git_place out = {0};
    struct search s = {.a = a, .dir = fumi_fmt(a, "%.*s", FUMI_ARG(dir)), .out = &out};
    while (s.entry = files_join(a, s.dir, ".git"), !take(&s) && s.dir.n > 1)
        s.dir = files_dir(a, s.dir);
    return out;
}

struct fumi_str git_remote(struct fumi_arena *a, struct fumi_str common)
{
    struct git_config c = config_of(a, common);
    struct fumi_str url = c.origin.p ? c.origin : c.first;
    return url.p ? git_url(a, url) : url;
}
