/* The routes of the page. Browsers ask each time whether a file has changed, by its entity tag, so
 * a new version of the program is seen at once. */
#include "page/page.h"

#include "base/arena.h"
#include "base/buf.h"
#include "page/page_files.h"

#include <stdio.h>

/* Everything comes from this server, scripts and styles only from files, and nothing may frame the
 * page, submit a form or change the base of its links. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

static bool names(struct fumi_str list, struct fumi_str tag)
{
    return list.p && (fumi_eq(list, FUMI_STR("*")) || memmem(list.p, list.n, tag.p, tag.n));
}

static void run(void *self, const struct fumi_http_request *r, struct fumi_str body,
                struct fumi_reply *reply)
{
    const struct page_file *file = self;
    struct fumi_page page = {.status = 200, .type = file->type, .field = "ETag"};
    struct fumi_buf out = {0};
    (void)body;
    snprintf(page.value, sizeof(page.value), "%s", file->tag);
    if (names(fumi_http_field(r, "if-none-match"), fumi_str(file->tag)))
        page.status = 304;
    else
        fumi_buf_add(&out, file->bytes, file->n);
    fumi_reply_policy(reply, policy, "no-cache");
    fumi_reply_end(reply, &page, &out);
    fumi_buf_done(&out);
}

/* Agents in editors send their upgrade to "/". */
struct fumi_route *page_routes(size_t *n)
{
    struct fumi_route *routes = fumi_resize(NULL, page_files_n * sizeof(*routes));
    *n = page_files_n;
    for (size_t i = 0; i < page_files_n; i++) {
        const struct page_file *file = &page_files[i];
        routes[i] = (struct fumi_route){.path = file->path,
                                        .methods = FUMI_GET,
                                        .allow = "GET, HEAD, OPTIONS",
                                        .upgrades = strcmp(file->path, "/") == 0,
                                        .open = true,
                                        .run = run,
                                        .self = (void *)file};
    }
    return routes;
}
