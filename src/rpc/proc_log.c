#include "base/utf8.h"
#include "rpc/processors.h"

enum { NAME_KEPT = 64 };

static void write_line(void *self, struct fumi_call *c)
{
    int code = c->ret == FUMI_OK ? 0 : c->err.code;
    enum fumi_level level = code == FUMI_INTERNAL_ERROR ? FUMI_ERROR : FUMI_INFO;
    const struct fumi_log *log = self;
    struct fumi_trace trace;
    bool traced = log && level >= log->level && fumi_call_trace(c, &trace);
    const struct fumi_pair pairs[] = {{"method", fumi_utf8_cut(c->name, NAME_KEPT), 0},
                                      {"transport", fumi_str(c->peer->transport), 0},
                                      {"code", {0}, code},
                                      {"us", {0}, (c->ended - c->began) / 1000},
                                      {"trace", {trace.id, 32}, 0}};
    fumi_log_pairs(log, level, "rpc.call", pairs, FUMI_COUNT(pairs) - !traced);
}

struct fumi_processor fumi_log_calls(const struct fumi_log *log)
{
    return (struct fumi_processor){.name = "log", .after = write_line, .self = (void *)log};
}
