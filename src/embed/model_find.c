/* Finds the packed model file, and the dictionary. */
#include "embed/gloss.h"
#include "embed/gloss_file.h"
#include "embed/model.h"
#include "model/codes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "fumi-minilm.bin"

static bool is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The file or directory that the user named. */
static struct fumi_str named(struct fumi_arena *a, const char *path)
{
    if (is_directory(path))
        return fumi_fmt(a, "%s/" FILE_NAME, path);
    return fumi_fmt(a, "%s", path);
}

/* For the program DIR/bin/fumi: the file in DIR/share/fumi. */
static struct fumi_str near_program(struct fumi_arena *a, const char *name)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    for (int up = 0; up < 2; up++)
        while (n > 0 && path[--n] != '/')
            ;
    return n < 0 ? (struct fumi_str){0} : fumi_fmt(a, "%.*s/share/fumi/%s", (int)n, path, name);
}

static struct fumi_str of_user(struct fumi_arena *a, const char *name)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/')
        return fumi_fmt(a, "%s/fumi/%s", data, name);
    if (home && *home)
        return fumi_fmt(a, "%s/.local/share/fumi/%s", home, name);
    return (struct fumi_str){0};
}

/* The first file of this name that exists; a null string if there is none. The user's comes first,
 * so that a model that was installed later replaces the one of the package. */
static struct fumi_str installed(struct fumi_arena *a, const char *name)
{
    struct fumi_str paths[] = {
        of_user(a, name),
        near_program(a, name),
        fumi_fmt(a, "/usr/local/share/fumi/%s", name),
        fumi_fmt(a, "/usr/share/fumi/%s", name),
    };
    for (size_t i = 0; i < FUMI_COUNT(paths); i++)
        if (paths[i].p && is_file(paths[i].p))
            return paths[i];
    return (struct fumi_str){0};
}

struct fumi_str model_find(struct fumi_arena *a, struct fumi_err *e)
{
    const char *own = getenv("FUMI_MODEL");
    struct fumi_str path = own && *own ? named(a, own) : installed(a, FILE_NAME);
    if (path.p && is_file(path.p))
        return path;
    if (own && *own)
        fumi_err_set(e, ERR_PROVIDER,
                     "FUMI_MODEL names %s, which is not a file: correct or unset it", own);
    else
        fumi_err_set(e, ERR_PROVIDER,
                     "the local model (" FILE_NAME ") is not installed: "
                     "run \"fumi model install\", or set FUMI_MODEL to the file");
    return (struct fumi_str){0};
}

struct fumi_str gloss_find(struct fumi_arena *a, const char *model_path)
{
    const char *own = getenv("FUMI_MODEL"), *slash = strrchr(model_path, '/');
    int n = slash ? (int)(slash - model_path) + 1 : 0;
    struct fumi_str path = fumi_fmt(a, "%.*s" GLOSS_FILE, n, model_path);
    if (is_file(path.p))
        return path;
    return own && *own ? (struct fumi_str){0} : installed(a, GLOSS_FILE);
}
