#include "rpc/record.h"

#include "base/file.h"

#include <pthread.h>

struct fumi_record {
    fumi_handle_fn *inner;
    void *self;
    int fd;
    pthread_mutex_t lock; /* so that lines do not mix */
};

/* A message while the inner handler handles it: replaces its sink. Freed by its reply. */
struct passing {
    struct fumi_record *record;
    struct fumi_sink sink;
};

struct fumi_record *fumi_record_new(fumi_handle_fn *inner, void *self, int fd)
{
    struct fumi_record *r = fumi_resize(NULL, sizeof(*r));
    *r = (struct fumi_record){.inner = inner, .self = self, .fd = fd};
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void fumi_record_free(struct fumi_record *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    fumi_resize(r, 0);
}

/* A transcript has one line per message, so line breaks are escaped. */
static void put_escaped(struct fumi_buf *line, struct fumi_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n' || c == '\r' || c == '\\')
            fumi_buf_add(line, c == '\n' ? "\\x0a" : c == '\r' ? "\\x0d" : "\\x5c", 4);
        else
            fumi_buf_put(line, c);
    }
}

static bool has_breaks(struct fumi_str text)
{
    return text.n && (memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n));
}

static void write_line(struct fumi_record *r, const char *arrow, struct fumi_str text)
{
    struct fumi_buf line = {0};
    bool breaks = has_breaks(text);
    fumi_buf_add(&line, breaks ? "~~> " : arrow, 4);
    if (breaks)
        put_escaped(&line, text);
    else
        fumi_buf_add(&line, text.p, text.n);
    fumi_buf_put(&line, '\n');
    pthread_mutex_lock(&r->lock);
    /* Errors are ignored: a transcript that cannot be written must not stop the server. */
    file_write_all(r->fd, fumi_buf_str(&line));
    pthread_mutex_unlock(&r->lock);
    fumi_buf_done(&line);
}

static void pass_notify(void *arg, struct fumi_buf *message)
{
    struct passing *p = arg;
    write_line(p->record, "<-- ", fumi_buf_str(message));
    p->sink.notify(p->sink.arg, message);
}

static void pass_reply(void *arg, struct fumi_buf *answer, int code)
{
    struct passing *p = arg;
    if (answer->n)
        write_line(p->record, "<-- ", fumi_buf_str(answer));
    struct fumi_sink sink = p->sink;
    fumi_resize(p, 0);
    sink.reply(sink.arg, answer, code);
}

static void pass_unordered(void *arg)
{
    struct passing *p = arg;
    p->sink.unordered(p->sink.arg);
}

void fumi_record_handle(void *self, struct fumi_peer *peer, struct fumi_str message,
                        struct fumi_sink sink)
{
    struct fumi_record *r = self;
    struct passing *p = fumi_resize(NULL, sizeof(*p));
    *p = (struct passing){r, sink};
    write_line(r, "--> ", message);
    struct fumi_sink between = {.notify = sink.notify ? pass_notify : NULL,
                                .reply = pass_reply,
                                .arg = p,
                                .unordered = sink.unordered ? pass_unordered : NULL,
                                .source = sink.source};
    r->inner(r->self, peer, message, between);
}
