/* Finds the packed model file. */
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

/* For the program DIR/bin/fumi: DIR/share/fumi. */
static struct fumi_str near_program(struct fumi_arena *a)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    for (int up = 0; up < 2; up++)
        while (n > 0 && path[--n] != '/')
            ;
    return n < 0 ? (struct fumi_str){0} : fumi_fmt(a, "%.*s/share/fumi/" FILE_NAME, (int)n, path);
}

static struct fumi_str of_user(struct fumi_arena *a)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/')
        return fumi_fmt(a, "%s/fumi/" FILE_NAME, data);
    if (home && *home)
        return fumi_fmt(a, "%s/.local/share/fumi/" FILE_NAME, home);
    return (struct fumi_str){0};
}

struct fumi_str model_find(struct fumi_arena *a, struct fumi_err *e)
{
    const char *own = getenv("FUMI_MODEL");
    struct fumi_str paths[] = {
        near_program(a),
        of_user(a),
        FUMI_STR("/usr/local/share/fumi/" FILE_NAME),
        FUMI_STR("/usr/share/fumi/" FILE_NAME),
    };
    if (own && *own) {
        struct fumi_str path = named(a, own);
        if (is_file(path.p))
            return path;
        fumi_err_set(e, ERR_PROVIDER,
                     "FUMI_MODEL names %s, which is not a file: correct or unset it", own);
        return (struct fumi_str){0};
    }
    for (size_t i = 0; i < FUMI_COUNT(paths); i++)
        if (paths[i].p && is_file(paths[i].p))
            return paths[i];
    fumi_err_set(e, ERR_PROVIDER,
                 "the local model (" FILE_NAME ") is not installed: "
                 "run \"fumi model install\", or set FUMI_MODEL to the file");
    return (struct fumi_str){0};
}
