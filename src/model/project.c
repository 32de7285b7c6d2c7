/* A path is cleaned as text first, so that one that does not exist has an identity too; then the
 * links of what does exist are resolved. */
#include "model/note.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_path(struct fumi_str s)
{
    return s.n && (s.p[0] == '/' || s.p[0] == '~' || s.p[0] == '.' || memchr(s.p, '/', s.n));
}

/* Exactly "~", or with a slash behind it; "~user" is a name like any other. */
static bool is_home(struct fumi_str s)
{
    return s.n && s.p[0] == '~' && (s.n == 1 || s.p[1] == '/');
}

static struct fumi_str home(struct fumi_arena *a)
{
    const char *set = getenv("HOME");
    struct passwd entry, *found = NULL;
    size_t room = 16 << 10;
    if (set && set[0] == '/')
        return fumi_dup(a, fumi_str(set));
    if (getpwuid_r(getuid(), &entry, fumi_alloc(a, room), room, &found) == 0 && found)
        return fumi_dup(a, fumi_str(entry.pw_dir));
    return (struct fumi_str){0};
}

static int absolute(struct fumi_arena *a, struct fumi_str s, struct fumi_str *out,
                    struct fumi_err *e)
{
    char here[PATH_MAX];
    if (is_home(s)) {
        struct fumi_str h = home(a);
        if (!h.p)
            return fumi_err_set(e, FUMI_INVALID_PARAMS,
                                "projectId begins with ~, and there is no home directory: give the "
                                "whole path");
        *out = fumi_fmt(a, "%.*s/%.*s", FUMI_ARG(h), (int)s.n - 1, s.p + 1);
    } else if (s.p[0] == '/') {
        *out = s;
    } else if (getcwd(here, sizeof(here))) {
        *out = fumi_fmt(a, "%s/%.*s", here, FUMI_ARG(s));
    } else {
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "projectId is a relative path, and the server has no working directory: "
            "give the whole path");
    }
    return 0;
}

/* Takes one part of a path onto `out`, which holds n bytes and no slash at its end. */
static size_t step(char *out, size_t n, struct fumi_str part)
{
    if (part.n == 0 || fumi_eq(part, FUMI_STR(".")))
        return n;
    if (!fumi_eq(part, FUMI_STR(".."))) {
        out[n] = '/';
        memcpy(out + n + 1, part.p, part.n);
        return n + 1 + part.n;
    }
    while (n && out[n - 1] != '/')
        n--;
    return n ? n - 1 : 0;
}

static struct fumi_str clean(struct fumi_arena *a, struct fumi_str path)
{
    char *out = fumi_alloc(a, path.n + 2);
    size_t n = 0;
    for (const char *p = path.p, *end = p + path.n; p < end; p++) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const char *stop = slash ? slash : end;
        n = step(out, n, (struct fumi_str){p, (size_t)(stop - p)});
        p = stop;
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = 0; /* what ".." took away still stands behind it */
    return (struct fumi_str){out, n};
}

int project_canonical(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                      struct fumi_err *e)
{
    char real[PATH_MAX];
    struct fumi_str whole = {0};
    if (given.n > PROJECT_MAX)
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId must have at most %d bytes",
                            PROJECT_MAX);
    if (given.n && memchr(given.p, 0, given.n))
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId must not hold a NUL character");
    *out = given;
    if (!is_path(given) || (given.p[0] == '~' && !is_home(given) && !memchr(given.p, '/', given.n)))
        return 0;
    if (absolute(a, given, &whole, e))
        return -1;
    *out = clean(a, whole);
    if (realpath(out->p, real)) /* terminated by clean */
        *out = fumi_dup(a, fumi_str(real));
    return 0;
}

int project_writable(struct fumi_arena *a, struct fumi_str given, struct fumi_str *out,
                     struct fumi_err *e)
{
    if (project_canonical(a, given, out, e))
        return -1;
    const char *fault = note_line_fault(*out);
    return fault ? fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId %s", fault) : 0;
}
