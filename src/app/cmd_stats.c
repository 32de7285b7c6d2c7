/* fumi stats */
#include "app/cli_notes.h"
#include "app/session.h"
#include "app/show.h"

#include <inttypes.h>

static int64_t number(const struct fumi_val *of, const char *member)
{
    int64_t n = 0;
    fumi_int(fumi_get(of, member), &n);
    return n;
}

static void print_embedding(struct fumi_arena *a, const struct fumi_val *e)
{
    struct fumi_str why = show_line(a, fumi_text(a, fumi_get(e, "error")));
    printf("embedded  %" PRId64 " of %" PRId64 " notes\n", number(e, "done"), number(e, "total"));
    if (why.n)
        printf("paused    %.*s\n", FUMI_ARG(why));
    else if (number(e, "pending"))
        puts("          a server computes the missing vectors, or fumi reembed");
}

static int stats(struct invocation *i)
{
    static const char *const counts[] = {"notes", "projects", "groups", "globals", "vectors", NULL};
    struct fumi_buf none = {0};
    const struct fumi_val *result = NULL;
    fumi_buf_add(&none, "{}", 2);
    int status = session_once(i, command_stats.method, &none, &result);
    if (status)
        return status;
    if (i->json) {
        notes_print_result(result);
        return STATUS_OK;
    }
    for (size_t k = 0; counts[k]; k++)
        printf("%-9s %" PRId64 "\n", counts[k], number(result, counts[k]));
    printf("size      %.1f MB\n", (double)number(result, "bytes") / 1e6);
    printf("schema    %" PRId64 "\n", number(result, "schemaVersion"));
    printf("model     %.*s\n",
           FUMI_ARG(show_line(i->a, fumi_text(i->a, fumi_get(result, "namespace")))));
    print_embedding(i->a, fumi_get(result, "embedding"));
    return STATUS_OK;
}

const struct command command_stats = {
    .name = "stats",
    .usage = "",
    .help = "Prints the numbers of notes, projects and vectors, and the size.",
    .method = "memory.stats",
    .output = OUTPUT_JSON,
    .run = stats,
};
