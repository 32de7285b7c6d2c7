/* traceparent and tracestate of W3C Trace Context, level 1, with the random trace id flag of level
 * 2. */
#include "rpc/trace.h"

#include "base/uuid.h"

#include <stdio.h>

enum {
    LENGTH = FUMI_TRACEPARENT - 1, /* of a traceparent of version 00 */
    MEMBERS_MOST = 32,
    KEY_MOST = 256,
    TENANT_MOST = 241,
    SYSTEM_MOST = 14,
    VALUE_MOST = 256,
    PASSED_ON = 3, /* flags: sampled, random */
};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (digit_of(p[i]) < 0)
            return false;
    return true;
}

static bool is_id(const char *p, size_t n)
{
    size_t zeros = 0;
    while (zeros < n && p[zeros] == '0')
        zeros++;
    return zeros < n && is_hex(p, n);
}

/* version "-" trace-id "-" parent-id "-" flags; later versions may append "-" and more. */
static bool read_parent(struct fumi_str s, struct fumi_trace *out)
{
    const char *p = s.p;
    if (s.n < LENGTH || p[2] != '-' || p[35] != '-' || p[52] != '-')
        return false;
    if (!is_hex(p, 2) || !is_id(p + 3, 32) || !is_id(p + 36, 16) || !is_hex(p + 53, 2))
        return false;
    if (memcmp(p, "ff", 2) == 0)
        return false;
    if (s.n > LENGTH && (memcmp(p, "00", 2) == 0 || p[LENGTH] != '-'))
        return false;
    memcpy(out->id, p + 3, 32);
    memcpy(out->span, p + 36, 16);
    out->id[32] = out->span[16] = '\0';
    out->flags = (unsigned char)(digit_of(p[53]) * 16 + digit_of(p[54]));
    return true;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_key_part(struct fumi_str s, size_t most, bool digit_first)
{
    if (!s.n || s.n > most || !(is_lower(s.p[0]) || (digit_first && is_digit(s.p[0]))))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_lower(s.p[i]) && !is_digit(s.p[i]) && !memchr("_-*/", s.p[i], 4))
            return false;
    return true;
}

/* A simple key, or a key of the form tenant@system. */
static bool is_key(struct fumi_str s)
{
    const char *at = memchr(s.p, '@', s.n);
    if (!at)
        return is_key_part(s, KEY_MOST, false);
    struct fumi_str tenant = {s.p, (size_t)(at - s.p)};
    struct fumi_str system = {at + 1, s.n - tenant.n - 1};
    return is_key_part(tenant, TENANT_MOST, true) && is_key_part(system, SYSTEM_MOST, false);
}

static bool is_value(struct fumi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '=' || s.p[i] == ',')
            return false;
    return s.n && s.n <= VALUE_MOST;
}

static struct fumi_str trim(struct fumi_str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool is_member(struct fumi_str s)
{
    const char *equals = memchr(s.p, '=', s.n);
    if (!equals)
        return false;
    size_t key = (size_t)(equals - s.p);
    return is_key((struct fumi_str){s.p, key}) &&
           is_value((struct fumi_str){equals + 1, s.n - key - 1});
}

/* Members may be empty. Keeps the whole members that fit into FUMI_STATE_MOST bytes. */
static struct fumi_str read_state(struct fumi_str s)
{
    size_t members = 0, kept = 0;
    for (size_t at = 0; s.p && at <= s.n;) {
        const char *comma = memchr(s.p + at, ',', s.n - at);
        size_t end = comma ? (size_t)(comma - s.p) : s.n;
        struct fumi_str member = trim((struct fumi_str){s.p + at, end - at});
        if (member.n && (!is_member(member) || ++members > MEMBERS_MOST))
            return (struct fumi_str){0};
        if (member.n && end <= FUMI_STATE_MOST)
            kept = (size_t)(member.p - s.p) + member.n;
        at = end + 1;
    }
    return (struct fumi_str){kept ? s.p : NULL, kept};
}

bool fumi_trace_read(struct fumi_str parent, struct fumi_str state, struct fumi_trace *out)
{
    if (!read_parent(parent, out))
        return false;
    out->state = read_state(state);
    return true;
}

static void make_id(char *out, size_t digits)
{
    unsigned char bytes[16];
    do {
        fumi_random(bytes, digits / 2);
        for (size_t i = 0; i < digits / 2; i++)
            snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    } while (!is_id(out, digits));
}

void fumi_trace_next(const struct fumi_trace *from, char out[FUMI_TRACEPARENT])
{
    struct fumi_trace made = {.flags = 2}; /* random */
    if (from)
        made = *from;
    else
        make_id(made.id, 32);
    make_id(made.span, 16);
    snprintf(out, FUMI_TRACEPARENT, "00-%s-%s-%02x", made.id, made.span, made.flags & PASSED_ON);
}
