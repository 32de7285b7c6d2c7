/* A line of the input of fumi import. Messages name it "FILE, line 3", or "line 3" if it is one of
 * standard input: printf(IMPORT_LINE, IMPORT_LINE_ARG(line)). */
#ifndef FUMI_APP_IMPORT_LINE_H
#define FUMI_APP_IMPORT_LINE_H

#include "base/str.h"

struct import_line {
    struct fumi_str file; /* null: standard input */
    size_t number;
};

#define IMPORT_LINE        "%.*s%sline %zu"
#define IMPORT_LINE_ARG(l) FUMI_ARG((l).file), (l).file.n ? ", " : "", (l).number

#endif
