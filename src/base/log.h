/* One line per event on a descriptor: time, level, event name, then key=value. */
#ifndef FUMI_BASE_LOG_H
#define FUMI_BASE_LOG_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_level { FUMI_DEBUG, FUMI_INFO, FUMI_WARN, FUMI_ERROR, FUMI_SILENT };

/* {0} writes every level as text to descriptor 2, where fd 0 means 2: stdin is no log. */
struct fumi_log {
    enum fumi_level level; /* events below it are dropped */
    bool json;             /* one JSON object a line instead of text */
    int fd;
};

/* text.p == NULL: the number is the value. */
struct fumi_pair {
    const char *key;
    struct fumi_str text;
    int64_t number;
};

/* log may be NULL: nothing is written. Values are escaped, so an event never takes two lines,
 * and cut at 256 bytes. The line leaves in one write(2). From any thread. */
void fumi_log_pairs(const struct fumi_log *log, enum fumi_level level, const char *event,
                    const struct fumi_pair *pairs, size_t n);

#define fumi_log(log, level, event, ...)                                                           \
    fumi_log_pairs(log, level, event, (const struct fumi_pair[]){__VA_ARGS__},                     \
                   sizeof((const struct fumi_pair[]){__VA_ARGS__}) / sizeof(struct fumi_pair))

/* "debug", "info", "warn", "error", "silent" -> level; false: none of them. */
bool fumi_level_of(struct fumi_str name, enum fumi_level *out);

#ifdef __cplusplus
}
#endif

#endif
