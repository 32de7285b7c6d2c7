/* The log: one line per event with time, level, event name and key=value pairs. */
#ifndef FUMI_BASE_LOG_H
#define FUMI_BASE_LOG_H

#include "../base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fumi_level { FUMI_DEBUG, FUMI_INFO, FUMI_WARN, FUMI_ERROR, FUMI_SILENT };

/* {0} writes all levels as text to stderr. */
struct fumi_log {
    enum fumi_level level; /* events below this level are dropped */
    bool json;             /* one JSON object per line instead of text */
    int fd;                /* 0: stderr */
};

/* The value is `text`, or `number` if text.p is NULL. */
struct fumi_pair {
    const char *key;
    struct fumi_str text;
    int64_t number;
};

/* Writes one line, with one write(2). Values are escaped, so that an event is always one line, and
 * truncated to 256 bytes. If log is NULL, nothing is written. If a pipe is full, waits at most 20
 * ms and then drops the line. Any thread may call it; errno is preserved. */
void fumi_log_pairs(const struct fumi_log *log, enum fumi_level level, const char *event,
                    const struct fumi_pair *pairs, size_t n);

#define fumi_log(log, level, event, ...)                                                           \
    fumi_log_pairs(log, level, event, (const struct fumi_pair[]){__VA_ARGS__},                     \
                   sizeof((const struct fumi_pair[]){__VA_ARGS__}) / sizeof(struct fumi_pair))

/* Sets *out to the level of that name: debug, info, warn, error or silent. Returns false if there
 * is no such level. */
bool fumi_level_of(struct fumi_str name, enum fumi_level *out);

#ifdef __cplusplus
}
#endif

#endif
