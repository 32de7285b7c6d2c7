#include "app/files.h"
#include "app/import_formats.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Hidden folders contain the settings of programs, such as .obsidian and .git. */
static int is_content(const struct dirent *d)
{
    return d->d_name[0] != '.' && strcmp(d->d_name, "node_modules") != 0;
}

/* Symbolic links are not followed: they may form cycles. */
int import_folder(const struct import_walk *w, struct fumi_str path, int depth, struct fumi_err *e)
{
    struct dirent **found = NULL;
    int n = depth ? scandir(files_name(w->a, path), &found, is_content, by_name) : 0, rc = 0;
    if (!depth || n < 0)
        w->skip(w->to, path, depth ? strerror(errno) : "too many folders lie within each other");
    for (int i = 0; i < n; i++) {
        struct fumi_str at = files_join(w->a, path, found[i]->d_name);
        struct stat st;
        bool is = !rc && lstat(at.p, &st) == 0;
        if (is && S_ISDIR(st.st_mode))
            rc = import_folder(w, at, depth - 1, e);
        else if (is && S_ISREG(st.st_mode) && import_is_markdown(at))
            rc = w->each(w->to, at, e);
        free(found[i]);
    }
    free(found);
    return rc;
}
