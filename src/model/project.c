/* A path is normalized as text first, so that a path that does not exist has a canonical form, too.
 * If the path exists, its symbolic links are then resolved. */
#include "model/note.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_path(struct fumi_str s)
{
    return s.n && (s.p[0] == '/' || s.p[0] == '~' || s.p[0] == '.' || memchr(s.p, '/', s.n));
}

/* Whether the path is "~" or begins with "~/"; "~user" is not expanded. */
static bool is_home(struct fumi_str s)
{
    return s.n && s.p[0] == '~' && (s.n == 1 || s.p[1] == '/');
}

static struct fumi_str home(struct fumi_arena *a)
{
    const char *set = getenv("HOME");
    struct passwd entry, *found = NULL;
    size_t size = 16 << 10;
    if (set && set[0] == '/')
        return fumi_dup(a, fumi_str(set));
    if (getpwuid_r(getuid(), &entry, fumi_alloc(a, size), size, &found) == 0 && found)
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
                                "projectId begins with ~, but there is no home directory: use an "
                                "absolute path");
        *out = fumi_fmt(a, "%.*s/%.*s", FUMI_ARG(h), (int)s.n - 1, s.p + 1);
    } else if (s.p[0] == '/') {
        *out = s;
    } else if (getcwd(here, sizeof(here))) {
        *out = fumi_fmt(a, "%s/%.*s", here, FUMI_ARG(s));
    } else {
        return fumi_err_set(
            e, FUMI_INVALID_PARAMS,
            "projectId is a relative path, but the server has no working directory: "
            "use an absolute path");
    }
    return 0;
}

/* Appends one part of a path to `out`, which has n bytes and does not end with a slash; ".."
 * removes the last part. Returns the new length. */
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
    out[n] = 0; /* the bytes after it may be parts that ".." removed */
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
        return fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId must not contain a NUL character");
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
    if (fumi_eq(*out, PROJECT_ALL))
        return fumi_err_set(e, FUMI_INVALID_PARAMS,
                            "projectId * means all projects, for searches: name one project");
    const char *fault = note_line_fault(*out);
    return fault ? fumi_err_set(e, FUMI_INVALID_PARAMS, "projectId %s", fault) : 0;
}
