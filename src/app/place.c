#include "app/place.h"

#include "app/git_files.h"
#include "model/note.h"

int place_find(struct fumi_arena *a, struct fumi_str given, bool per_worktree, struct place *out,
               struct fumi_err *e)
{
    *out = (struct place){0};
    if (project_canonical(a, given.n ? given : FUMI_STR("."), &out->project, e))
        return -1;
    if (!out->project.n || out->project.p[0] != '/')
        return 0;
    struct git_place git = git_find(a, out->project);
    out->path = out->project;
    out->root = git.root;
    out->common = git.common;
    out->warning = git.warning;
    if (git.root.p)
        out->project = per_worktree ? git.root : git.main;
    return 0;
}
