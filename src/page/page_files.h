/* The files of the page, as src/page/embed.cmake generates them. */
#ifndef FUMI_PAGE_PAGE_FILES_H
#define FUMI_PAGE_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *path; /* of the URL */
    const char *type;
    const char *tag; /* entity tag: a quoted hash of the bytes */
    const char *bytes;
    size_t n;
};

extern const struct page_file page_files[];
extern const size_t page_files_n;

#endif
