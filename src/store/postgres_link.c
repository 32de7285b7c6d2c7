/* A connection to PostgreSQL. Every wait for it is bounded. After any error the connection is
 * closed, which rolls its transaction back: there is no state to repair. */
#include "store/postgres_parts.h"

#include "base/chars.h"

#include <endian.h>
#include <poll.h>
#include <stdlib.h>

enum {
    WAIT_MS = 30000, /* for an answer */
    READ_EVERY = 64, /* commands: their results fit into the buffers of a socket */
    VERSION_MIN = 130000,
    INT8 = 20, /* type numbers of PostgreSQL */
    TEXT = 25,
    BYTEA = 17,
};

/* PostgreSQL's texts cannot contain NUL. ESCAPE is the last code point, which is no character: with
 * '0' it stands for NUL, with '1' for itself. */
#define ESCAPE "\xF4\x8F\xBF\xBF"

/* What to do about an error, by the first bytes of its SQLSTATE. */
static const struct {
    const char *state, *text;
} faults[] = {
    {"55P03", "Another server has been writing for too long, and nothing was stored: try again"},
    {"25P03", "PostgreSQL ended the transaction, and nothing was stored: try again"},
    {"25006", "PostgreSQL is a standby that cannot be written: name the primary, or add "
              "target_session_attrs=read-write to the address"},
    {"57P", "PostgreSQL is starting or stopping, and nothing was stored: try again in a moment"},
    {"53", "PostgreSQL lacks resources, and nothing was stored"},
    {"42501", "The PostgreSQL user lacks a permission"},
};

/* One line without the end of line, of at most n bytes. */
static struct fumi_str line_of(const char *text, size_t n)
{
    struct fumi_str s = {text ? text : "", text ? strcspn(text, "\n") : 0};
    s.n = s.n < n ? s.n : n;
    return s;
}

int pg_fault(struct pg *p, struct fumi_err *e)
{
    const char *text = p->c ? p->q->errorMessage(p->c) : "not connected";
    p->bad = p->lost = true;
    return fumi_err_set(e, FUMI_LIMIT, "PostgreSQL cannot be reached: try again in a moment (%.*s)",
                        FUMI_ARG(line_of(text, 120)));
}

int pg_check(struct pg *p, PGresult *r, struct fumi_err *e)
{
    ExecStatusType is = p->q->resultStatus(r);
    if (is == PGRES_COMMAND_OK || is == PGRES_TUPLES_OK || is == PGRES_SINGLE_TUPLE ||
        is == PGRES_PIPELINE_SYNC) {
        p->q->clear(r);
        return 0;
    }
    const char *state = p->q->resultErrorField(r, PG_DIAG_SQLSTATE);
    struct fumi_str text = line_of(p->q->resultErrorField(r, PG_DIAG_MESSAGE_PRIMARY), 90);
    p->bad = true;
    p->lost = !state || strncmp(state, "57P", 3) == 0;
    fumi_err_set(e, FUMI_INTERNAL_ERROR, "PostgreSQL: %.*s (%s)", FUMI_ARG(text),
                 state ? state : "connection lost");
    for (size_t i = 0; state && i < FUMI_COUNT(faults); i++)
        if (strncmp(state, faults[i].state, strlen(faults[i].state)) == 0)
            fumi_err_set(e, FUMI_LIMIT, "%s (%s: %.*s)", faults[i].text, state, FUMI_ARG(text));
    p->q->clear(r);
    return state ? -1 : pg_fault(p, e);
}

/* Waits until a result can be read without blocking. */
static int wait_for(struct pg *p, struct fumi_err *e)
{
    while (p->q->isBusy(p->c)) {
        struct pollfd f = {.fd = p->q->socket(p->c), .events = POLLIN};
        if (p->q->flush(p->c) < 0 || poll(&f, 1, WAIT_MS) == 0 || !p->q->consumeInput(p->c))
            return pg_fault(p, e);
    }
    return 0;
}

int pg_result(struct pg *p, PGresult **out, struct fumi_err *e)
{
    *out = NULL;
    if (wait_for(p, e))
        return -1;
    *out = p->q->getResult(p->c);
    ExecStatusType is = *out ? p->q->resultStatus(*out) : PGRES_COMMAND_OK;
    if (is == PGRES_FATAL_ERROR || is == PGRES_BAD_RESPONSE || is == PGRES_PIPELINE_ABORTED) {
        pg_check(p, *out, e);
        *out = NULL;
        return -1;
    }
    return 0;
}

int pg_exec(struct pg *p, const char *sql, PGresult **out, struct fumi_err *e)
{
    PGresult *r, *last = NULL;
    int rc = p->q->sendQuery(p->c, sql) ? 0 : pg_fault(p, e);
    while (!rc && !(rc = pg_result(p, &r, e)) && r) {
        if (out && p->q->resultStatus(r) == PGRES_TUPLES_OK) {
            p->q->clear(last);
            last = r;
        } else {
            p->q->clear(r);
        }
    }
    if (rc)
        p->q->clear(last);
    if (out)
        *out = rc ? NULL : last;
    return rc;
}

int64_t pg_number(struct pg *p, const PGresult *r, int column)
{
    return strtoll(p->q->getvalue(r, 0, column), NULL, 10);
}

static void ignore(void *arg, const char *text)
{
    (void)arg, (void)text;
}

static int refuse(struct pg *p, struct fumi_err *e)
{
    const char *encoding = p->q->parameterStatus(p->c, "server_encoding");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "The PostgreSQL database has the encoding %s: create one with "
                            "ENCODING 'UTF8'",
                            encoding ? encoding : "unknown");
    if (p->q->serverVersion(p->c) < VERSION_MIN)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "PostgreSQL %d is too old: version 13 or later is needed",
                            p->q->serverVersion(p->c) / 10000);
    return 0;
}

/* A server that stops in the middle of a transaction must not lock out the others for long. */
static int set_up(struct pg *p, struct fumi_err *e)
{
    if (p->q->status(p->c) != CONNECTION_OK)
        return pg_fault(p, e);
    p->q->setNoticeProcessor(p->c, ignore, NULL);
    return refuse(p, e) ||
                   pg_exec(p,
                           "SET lock_timeout='10s'; SET idle_in_transaction_session_timeout='15s'; "
                           "SELECT set_config('synchronous_commit', 'on', false) WHERE "
                           "current_setting('synchronous_commit')='off'",
                           NULL, e)
               ? -1
               : 0;
}

int pg_connect(struct pg *p, const char *url, struct fumi_err *e)
{
    /* What follows `dbname` cannot be overridden by the address. */
    static const char *const names[] = {"connect_timeout",  "fallback_application_name",
                                        "tcp_user_timeout", "dbname",
                                        "client_encoding",  NULL};
    const char *const values[] = {"5", "fumi", "20000", url, "UTF8", NULL};
    if (p->c && !p->bad && p->q->status(p->c) == CONNECTION_OK)
        return 0;
    pg_disconnect(p);
    p->q = libpq();
    if (!p->q)
        return fumi_err_set(e, FUMI_INTERNAL_ERROR,
                            "A store in PostgreSQL needs libpq 14 or later: install the package "
                            "libpq5");
    p->c = p->q->connectdbParams(names, values, 1);
    if (!set_up(p, e))
        return 0;
    bool lost = p->lost;
    pg_disconnect(p);
    p->lost = lost;
    return -1;
}

void pg_disconnect(struct pg *p)
{
    if (p->c)
        p->q->finish(p->c);
    *p = (struct pg){.q = p->q};
}

int pg_pipeline(struct pg *p, struct fumi_err *e)
{
    p->sent = 0;
    return p->q->enterPipelineMode(p->c) ? 0 : pg_fault(p, e);
}

/* Reads the results of all commands that were sent. */
static int read_sent(struct pg *p, struct fumi_err *e)
{
    PGresult *r;
    for (; p->sent; p->sent--)
        do {
            if (pg_result(p, &r, e) || (r && pg_check(p, r, e)))
                return -1;
        } while (r);
    return 0;
}

static int sent(struct pg *p, int ok, struct fumi_err *e)
{
    if (!ok)
        return pg_fault(p, e);
    if (++p->sent < READ_EVERY)
        return 0;
    return p->q->sendFlushRequest(p->c) ? read_sent(p, e) : pg_fault(p, e);
}

int pg_pipeline_sync(struct pg *p, struct fumi_err *e)
{
    return p->q->pipelineSync(p->c) ? 0 : pg_fault(p, e);
}

int pg_pipeline_end(struct pg *p, struct fumi_err *e)
{
    PGresult *r;
    if (read_sent(p, e) || pg_result(p, &r, e) || (r && pg_check(p, r, e)))
        return -1;
    return p->q->exitPipelineMode(p->c) ? 0 : pg_fault(p, e);
}

/* The texts of the parameters as PostgreSQL takes them in binary format. */
struct parameters {
    struct fumi_arena arena;
    Oid types[PG_COLUMNS + 1];
    const char *values[PG_COLUMNS + 1];
    int lengths[PG_COLUMNS + 1], formats[PG_COLUMNS + 1];
    int64_t numbers[PG_COLUMNS + 1];
};

static struct fumi_str encode(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_buf out = {0};
    if (!memchr(s.p, 0, s.n) && !memmem(s.p, s.n, ESCAPE, 4))
        return s;
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i]) {
            fumi_buf_add(&out, ESCAPE "0", 5);
        } else if (s.n - i >= 4 && memcmp(s.p + i, ESCAPE, 4) == 0) {
            fumi_buf_add(&out, ESCAPE "1", 5);
            i += 3;
        } else {
            fumi_buf_put(&out, s.p[i]);
        }
    return fumi_buf_keep(&out, a);
}

static struct fumi_str decode(struct fumi_arena *a, struct fumi_str s)
{
    struct fumi_buf out = {0};
    if (!memmem(s.p, s.n, ESCAPE, 4))
        return s;
    for (size_t i = 0; i < s.n; i++)
        if (s.n - i >= 5 && memcmp(s.p + i, ESCAPE, 4) == 0) {
            if (s.p[i + 4] == '0')
                fumi_buf_put(&out, 0);
            else
                fumi_buf_add(&out, ESCAPE, 4);
            i += 4;
        } else {
            fumi_buf_put(&out, s.p[i]);
        }
    return fumi_buf_keep(&out, a);
}

static void put(struct parameters *to, size_t i, const struct pg_value *v)
{
    struct fumi_str s = v->s;
    to->types[i] = v->type == 'i' ? INT8 : v->type == 's' ? TEXT : BYTEA;
    to->formats[i] = 1;
    if (v->null)
        return;
    if (v->type == 's')
        s = encode(&to->arena, s);
    if (v->type == 'i') {
        to->numbers[i] = (int64_t)htobe64((uint64_t)v->n);
        s = (struct fumi_str){(const char *)&to->numbers[i], sizeof(to->numbers[i])};
    }
    to->values[i] = s.n ? s.p : "";
    to->lengths[i] = (int)s.n;
}

int pg_send(struct pg *p, const char *sql, const struct pg_value *values, size_t n,
            struct fumi_err *e)
{
    struct parameters to = {.arena = {0}};
    for (size_t i = 0; i < n; i++)
        put(&to, i, &values[i]);
    int ok = p->q->sendQueryParams(p->c, sql, (int)n, to.types, to.values, to.lengths, to.formats,
                                   1);
    fumi_arena_done(&to.arena);
    return sent(p, ok, e);
}

int pg_send_to(struct pg *p, const struct pg_table *t, enum pg_statement what,
               const struct pg_value *values, size_t n, struct fumi_err *e)
{
    const char *const texts[] = {t->insert, t->remove, t->select};
    struct parameters to = {.arena = {0}};
    char name[64];
    snprintf(name, sizeof(name), "fumi%d_%s", (int)what, t->name);
    for (size_t i = 0; i < n; i++)
        put(&to, i, &values[i]);
    int rc = 0;
    if (!(p->prepared[t->index] >> what & 1)) {
        rc = sent(p, p->q->sendPrepare(p->c, name, texts[what], (int)n, to.types), e);
        p->prepared[t->index] |= (uint8_t)(1u << what);
    }
    if (!rc)
        rc = sent(p,
                  p->q->sendQueryPrepared(p->c, name, (int)n, to.values, to.lengths, to.formats, 1),
                  e);
    fumi_arena_done(&to.arena);
    return rc;
}

struct pg_value pg_column(struct pg *p, struct fumi_arena *a, const PGresult *r, int column,
                          char type)
{
    struct pg_value v = {.type = type, .null = p->q->getisnull(r, 0, column)};
    v.s = (struct fumi_str){p->q->getvalue(r, 0, column), (size_t)p->q->getlength(r, 0, column)};
    if (v.null)
        v.s = (struct fumi_str){0};
    else if (type == 's')
        v.s = decode(a, v.s);
    else if (type == 'i' && v.s.n == sizeof(v.n)) {
        memcpy(&v.n, v.s.p, sizeof(v.n));
        v.n = (int64_t)be64toh((uint64_t)v.n);
    }
    return v;
}

bool store_postgres_is(struct fumi_str url)
{
    return fumi_starts(url, FUMI_STR("postgres://")) || fumi_starts(url, FUMI_STR("postgresql://"));
}

/* USER:PASSWORD@ becomes USER@, and the parameter password loses its value. */
struct fumi_str store_postgres_shown(struct fumi_arena *a, struct fumi_str url)
{
    static const struct fumi_str secret[] = {{"?password=", 10}, {"&password=", 10}};
    struct fumi_str s = url;
    const char *host = s.p ? memmem(s.p, s.n, "://", 3) : NULL;
    if (!host)
        return s;
    const char *end = s.p + s.n;
    const size_t rest = (size_t)(end - host - 3);
    const char *slash = memchr(host + 3, '/', rest);
    const char *at = memrchr(host + 3, '@', slash ? (size_t)(slash - host - 3) : rest);
    const char *colon = at ? memchr(host + 3, ':', (size_t)(at - host - 3)) : NULL;
    if (colon)
        s = fumi_fmt(a, "%.*s%.*s", (int)(colon - s.p), s.p, (int)(end - at), at);
    for (size_t i = 0; i < FUMI_COUNT(secret); i++) {
        const char *p = memmem(s.p, s.n, secret[i].p, secret[i].n);
        const char *value = p ? p + secret[i].n : NULL, *stop = s.p + s.n;
        const char *next = value ? memchr(value, '&', (size_t)(stop - value)) : NULL;
        if (value)
            s = fumi_fmt(a, "%.*s%.*s", (int)(value - s.p), s.p, next ? (int)(stop - next) : 0,
                         next ? next : "");
    }
    return s;
}

bool store_postgres_secret(struct fumi_str url)
{
    struct fumi_arena a = {0};
    bool is = store_postgres_shown(&a, url).n != url.n;
    fumi_arena_done(&a);
    return is;
}
