/* The page: files that a browser shows, compiled into the program. They contain no data of the
 * memory; their script calls methods over WebSocket, as any client does. */
#ifndef FUMI_PAGE_PAGE_H
#define FUMI_PAGE_PAGE_H

#include "net/http.h"

/* The routes of the page, "/" and one for each file, for struct fumi_serve_options. They need no
 * token. The array is allocated; the caller frees it with fumi_resize. */
struct fumi_route *page_routes(size_t *n);

#endif
