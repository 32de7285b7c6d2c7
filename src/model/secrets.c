/* One pass over the text. At each byte that can start a value, the tables are searched. The
 * look-ahead is bounded, or covers characters at which no other value can start, so the time is
 * linear. */
#include "model/secrets.h"

#include "base/buf.h"

enum {
    NAME_BACK = 48,   /* bytes of a name before a value that are read */
    GAP_BACK = 24,    /* quotes and blanks between a name, its '=' or ':' and its value */
    ID_NEAR = 64,     /* an AWS secret key within so many bytes after its id needs no name */
    AUTHORITY = 1024, /* bytes of the authority of a URL that are read */
    SCHEME_LEAST = 2, /* letters of a URL scheme */
    LABEL = 64,       /* bytes after "-----BEGIN " */
    KEY_LINE = 24,    /* minimum length of a line in a private key */
};

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(unsigned char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(unsigned char c)
{
    return is_digit(c) || is_lower(c) || is_upper(c);
}

static unsigned char lower(unsigned char c)
{
    return is_upper(c) ? (unsigned char)(c + ('a' - 'A')) : c;
}

static bool in_set(enum secret_set set, unsigned char c)
{
    switch (set) {
    case SET_DIGITS:
        return is_digit(c);
    case SET_HEX:
        return is_digit(c) || (c >= 'a' && c <= 'f');
    case SET_BASE32:
        return is_upper(c) || (c >= '2' && c <= '7');
    case SET_ALNUM:
        return is_alnum(c);
    case SET_WORD:
        return is_alnum(c) || c == '_';
    case SET_DASHED:
        return is_alnum(c) || c == '-';
    case SET_URL64:
        return is_alnum(c) || c == '_' || c == '-';
    case SET_DOTTED:
        return is_alnum(c) || c == '_' || c == '-' || c == '.';
    case SET_TILDE:
        return in_set(SET_DOTTED, c) || c == '~';
    case SET_BASE64:
        return is_alnum(c) || c == '+' || c == '/';
    case SET_VALUE:
        return is_alnum(c) || c == '+' || c == '/' || c == '_' || c == '-';
    case SET_ESCAPED:
        return in_set(SET_VALUE, c) || c == '%';
    }
    return false;
}

/* The byte at i; 0 outside the text. */
static unsigned char at(struct fumi_str s, size_t i)
{
    return i < s.n ? (unsigned char)s.p[i] : 0;
}

/* The number of characters of a set at i, at most `most`. */
static size_t run(struct fumi_str s, size_t i, enum secret_set set, size_t most)
{
    size_t n = 0;
    while (n < most && i + n < s.n && in_set(set, (unsigned char)s.p[i + n]))
        n++;
    return n;
}

static bool matches_at(struct fumi_str s, size_t i, struct fumi_str what)
{
    return i <= s.n && s.n - i >= what.n && memcmp(s.p + i, what.p, what.n) == 0;
}

static bool same_ignoring_case(struct fumi_str a, const char *lower_case)
{
    size_t n = strlen(lower_case);
    if (a.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (lower((unsigned char)a.p[i]) != (unsigned char)lower_case[i])
            return false;
    }
    return true;
}

/* Whether a value contains a word that documentation uses in placeholders. */
static bool has_placeholder(struct fumi_str s)
{
    static const char *const words[] = {"example", "your", "placeholder", "redacted", "changeme"};
    for (size_t i = 0; i < s.n; i++) {
        for (size_t w = 0; w < FUMI_COUNT(words); w++) {
            size_t n = strlen(words[w]);
            if (s.n - i >= n && same_ignoring_case((struct fumi_str){s.p + i, n}, words[w]))
                return true;
        }
    }
    return false;
}

/* Whether a value looks random: the collision entropy of its characters is at least 2.5 bits (16
 * hexadecimal digits in equal numbers have 4), and some of them are digits or capitals. */
static bool is_random(struct fumi_str s)
{
    size_t count[256] = {0}, squares = 0;
    bool marked = false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        squares += 2 * count[c]++ + 1;
        marked |= is_digit(c) || is_upper(c);
    }
    return marked && squares * 17 <= 3 * s.n * s.n && !has_placeholder(s);
}

static int class_of(unsigned char c)
{
    return is_digit(c) ? 1 : is_lower(c) ? 2 : is_upper(c) ? 3 : 0;
}

/* Whether upper case, lower case and digits alternate as in random text. There 6 of 10 pairs of
 * neighbours differ; in identifiers and paths it is 3 of 10. Some identifiers have more, but in
 * these two lower-case letters follow most capitals, which in random text is true for one of six.
 */
static bool is_mixed(struct fumi_str s)
{
    size_t of[4] = {0}, pairs = 0, changes = 0, words = 0;
    for (size_t i = 0; i < s.n; i++) {
        int is = class_of((unsigned char)s.p[i]);
        int before = i ? class_of((unsigned char)s.p[i - 1]) : 0;
        of[is]++;
        pairs += is && before;
        changes += is && before && is != before;
        words += is == 3 && i + 2 < s.n && is_lower((unsigned char)s.p[i + 1]) &&
                 is_lower((unsigned char)s.p[i + 2]);
    }
    return 3 * words < 2 * of[3] && of[1] >= 2 && of[2] >= 2 && of[3] >= 2 &&
           5 * changes >= 2 * pairs;
}

/* Characters that continue a word. */
static bool is_inside(unsigned char c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

/* Whether a value can start at i: not inside a word, except after a single dash or after an escape
 * such as \n or %3D. */
static bool begins_at(struct fumi_str s, size_t i)
{
    if (i == 0 || !is_inside(at(s, i - 1)))
        return true;
    if (at(s, i - 1) == '-')
        return i == 1 || !is_inside(at(s, i - 2));
    if (i >= 2 && at(s, i - 2) == '\\' && strchr("nrt", s.p[i - 1]))
        return true;
    return i >= 3 && at(s, i - 3) == '%' && is_alnum(at(s, i - 2)) && is_alnum(at(s, i - 1));
}

/* The end of the parts that start at i. Returns 0 if the text does not match. */
static size_t parts_end(struct fumi_str s, size_t i, const struct secret_part parts[SECRET_PARTS])
{
    for (size_t k = 0; k < SECRET_PARTS && parts[k].set; k++) {
        size_t n = run(s, i, parts[k].set, (size_t)parts[k].max + 1);
        if (n < parts[k].min || n > parts[k].max)
            return 0;
        i += n;
        if (parts[k].set == SET_DOTTED)
            while (s.p[i - 1] == '.')
                i--; /* dots that end a sentence */
        if (!parts[k].then)
            continue;
        struct fumi_str then = fumi_str(parts[k].then);
        if (!matches_at(s, i, then))
            return 0;
        i += then.n;
    }
    return i;
}

static bool fits(struct fumi_str s, size_t i, const struct secret_shape *shape, struct secret *out)
{
    struct fumi_str prefix = fumi_str(shape->prefix);
    if (!matches_at(s, i, prefix))
        return false;
    size_t body = i + prefix.n, end = parts_end(s, body, shape->parts);
    struct fumi_str value = {s.p + body, end - body};
    if (!end || is_alnum(at(s, end)) || at(s, end) == '_' || !is_random(value) ||
        (shape->mixed && !is_mixed(value)))
        return false;
    *out = (struct secret){shape->kind, i, end, prefix.n};
    return true;
}

static bool has_prefix(struct fumi_str s, size_t i, struct secret *out)
{
    if (!is_alnum((unsigned char)s.p[i]) || !begins_at(s, i))
        return false;
    for (size_t k = 0; k < secret_shapes_n; k++) {
        char first = secret_shapes[k].prefix[0];
        if ((!first || first == s.p[i]) && fits(s, i, &secret_shapes[k], out))
            return true;
    }
    return false;
}

/* Skips any of these characters before i. */
static size_t skip_back(struct fumi_str s, size_t i, const char *these)
{
    for (size_t n = 0; n < GAP_BACK && i && s.p[i - 1] && strchr(these, s.p[i - 1]); n++)
        i--;
    return i;
}

/* Reads the letters of the name that ends at `end`, in lower case and in reverse order. Returns
 * their number. */
static size_t read_name(struct fumi_str s, size_t end, char out[NAME_BACK])
{
    size_t n = 0;
    for (size_t back = 0; back < NAME_BACK && back < end; back++) {
        unsigned char c = (unsigned char)s.p[end - 1 - back];
        if (is_lower(c) || is_upper(c))
            out[n++] = (char)lower(c);
        else if (!is_digit(c) && (!c || !strchr("_-. ", c)))
            break;
    }
    return n;
}

/* Whether the word that ends at `end` is a flag (--token), or has an underscore like the names of
 * settings. */
static bool is_setting(struct fumi_str s, size_t end)
{
    size_t i = end;
    bool underscore = false;
    for (; i && end - i < NAME_BACK && is_inside((unsigned char)s.p[i - 1]); i--)
        underscore |= s.p[i - 1] == '_';
    return underscore || (at(s, i) == '-' && at(s, i + 1) == '-' && is_alnum(at(s, i + 2)));
}

/* The name to which the value at i is assigned: name = "value", "name": "value", <name>value,
 * --name value, or Bearer value. */
static size_t name_of(const struct secrets_scan *s, size_t i, char out[NAME_BACK])
{
    size_t sign = skip_back(s->text, i, " \t\r\n\"'`\\");
    if (!sign)
        return read_name(s->name, s->name.n, out);
    size_t end = skip_back(s->text, sign, "=:>");
    if (end < sign)
        return read_name(s->text, skip_back(s->text, end, " \t\"'`\\]"), out);
    size_t n = sign < i ? read_name(s->text, sign, out) : 0;
    bool scheme = (n >= 6 && memcmp(out, "reraeb", 6) == 0) ||
                  (n >= 5 && memcmp(out, "cisab", 5) == 0);
    return scheme || is_setting(s->text, sign) ? n : 0;
}

static bool ends_with(const char *backwards, size_t n, const char *suffix)
{
    size_t m = strlen(suffix);
    if (m > n)
        return false;
    for (size_t i = 0; i < m; i++) {
        if (backwards[i] != suffix[m - 1 - i])
            return false;
    }
    return true;
}

static const struct secret_named *find_name(const char *backwards, size_t n, size_t length)
{
    for (size_t k = 0; k < secret_names_n; k++) {
        const struct secret_named *row = &secret_names[k];
        if (!ends_with(backwards, n, row->suffix))
            continue;
        if (!row->max || (length >= row->min && length <= row->max))
            return row->max ? row : NULL;
    }
    return NULL;
}

static bool follows_id(const struct secrets_scan *s, size_t i)
{
    return s->id_end && i - s->id_end <= ID_NEAR;
}

/* Whether a named value starts at i. Each run of value characters is measured once (run_end). */
static bool is_named(struct secrets_scan *s, size_t i, struct secret *out)
{
    static const struct secret_named pair = {"", SECRET_AWS_KEY, SET_BASE64, 40, 40, true};
    char name[NAME_BACK];
    if (i < s->run_end || !in_set(SET_VALUE, at(s->text, i)))
        return false;
    size_t n = run(s->text, i, SET_VALUE, s->text.n), end = i + n;
    s->run_end = end;
    if (n < KEY_LINE)
        return false;
    const struct secret_named *row = find_name(name, name_of(s, i, name), n);
    if (!row && n == pair.min && follows_id(s, i))
        row = &pair;
    struct fumi_str value = {s->text.p + i, n};
    if (!row || run(s->text, i, row->set, n) != n || !is_random(value) ||
        (row->mixed && !is_mixed(value)))
        return false;
    while (at(s->text, end) == '=' && end < i + n + 2)
        end++;
    *out = (struct secret){row->kind, i, end, 0};
    return true;
}

static const struct fumi_str dashes = FUMI_STR("-----");

/* The end of "-----BEGIN RSA PRIVATE KEY-----" at i. Returns 0 if there is no such label. */
static size_t label_end(struct fumi_str s, size_t i, struct fumi_str word)
{
    if (!matches_at(s, i, dashes) || !matches_at(s, i + dashes.n, word))
        return 0;
    size_t from = i + dashes.n + word.n, left = s.n - from;
    struct fumi_str label = {s.p + from, left < LABEL ? left : LABEL};
    const char *end = memmem(label.p, label.n, dashes.p, dashes.n);
    if (!end || !memmem(label.p, (size_t)(end - label.p), "PRIVATE KEY", 11))
        return 0;
    for (const char *p = label.p; p < end; p++) {
        if (!is_upper((unsigned char)*p) && !is_digit((unsigned char)*p) && *p != ' ')
            return 0;
    }
    return (size_t)(end - s.p) + dashes.n;
}

/* Finds the next line of a key at or after *i, before `end`; *n is its length. A line break may be
 * written as an escape (\n). Returns false if other text follows. */
static bool next_line(struct fumi_str s, size_t *i, size_t end, size_t *n)
{
    while (*i < end && s.p[*i] && strchr(" \t\r\n\"',+\\>|", s.p[*i]))
        *i += s.p[*i] == '\\' && *i + 1 < end ? 2 : 1;
    *n = *i < end ? run(s, *i, SET_BASE64, end - *i) : 0;
    return *n > 0;
}

/* The end of the lines of a key that start at i. Returns 0 if there is none. */
static size_t lines_end(struct fumi_str s, size_t i, size_t end)
{
    size_t n, last = 0;
    while (next_line(s, &i, end, &n) && n >= KEY_LINE && is_random((struct fumi_str){s.p + i, n})) {
        i += n;
        last = i;
    }
    return last;
}

/* Whether there is a line of a key between i and end, possibly after headers. */
static bool has_line(struct fumi_str s, size_t i, size_t end)
{
    while (i < end) {
        size_t n = run(s, i, SET_BASE64, end - i);
        if (n >= KEY_LINE && is_random((struct fumi_str){s.p + i, n}))
            return true;
        i += n;
        i += at(s, i) == '\\' ? 2 : 1;
    }
    return false;
}

/* Whether a private key starts at i. Without an END label it extends to the end of its lines. */
static bool is_private_key(struct fumi_str s, size_t i, struct secret *out)
{
    size_t body = label_end(s, i, FUMI_STR("BEGIN "));
    if (!body)
        return false;
    const char *next = memmem(s.p + body, s.n - body, dashes.p, dashes.n);
    size_t stop = next ? (size_t)(next - s.p) : s.n;
    size_t end = next ? label_end(s, stop, FUMI_STR("END ")) : 0;
    if (end ? !has_line(s, body, stop) : !(end = lines_end(s, body, stop)))
        return false;
    *out = (struct secret){SECRET_PRIVATE_KEY, i, end, body - i};
    return true;
}

/* Characters of the authority of a URL (user, password, host). */
static bool is_authority(unsigned char c)
{
    return c > ' ' && c < 0x7f && !strchr("/?#\"'`<>\\", c);
}

/* Whether a password is a placeholder such as %s, %(name)s or %NAME%, not an escaped byte. */
static bool is_format(struct fumi_str s)
{
    return at(s, 0) == '%' &&
           !(in_set(SET_HEX, lower(at(s, 1))) && in_set(SET_HEX, lower(at(s, 2))));
}

/* Whether a password is a placeholder of documentation, or the name of the user. */
static bool is_placeholder(struct fumi_str user, struct fumi_str password)
{
    static const char *const words[] = {"password", "passwd", "pass",       "pwd", "pw", "secret",
                                        "token",    "key",    "mypassword", "p",   "bar"};
    size_t same = 0;
    while (same < password.n && password.p[same] == password.p[0])
        same++;
    if (password.n >= 4 && memcmp(password.p + password.n - 4, "****", 4) == 0)
        return true; /* already masked */
    if (same == password.n || strchr("${[(*", password.p[0]) || fumi_eq(user, password) ||
        is_format(password) || has_placeholder(password))
        return true;
    for (size_t i = 0; i < FUMI_COUNT(words); i++) {
        if (same_ignoring_case(password, words[i]))
            return true;
    }
    return false;
}

/* Records the position of the password in the URL whose "://" is at i. The scan continues after the
 * "://", because the user name before the password may be a secret, too. */
static void read_url(struct secrets_scan *s, size_t i)
{
    struct fumi_str t = s->text;
    size_t from = i + 3, colon = 0, sign = 0, end = from;
    if (!matches_at(t, i, FUMI_STR("://")) || i < SCHEME_LEAST || !is_alnum(at(t, i - 1)))
        return;
    for (; end < t.n && end - from < AUTHORITY && is_authority((unsigned char)t.p[end]); end++) {
        if (t.p[end] == ':' && !colon)
            colon = end;
        if (t.p[end] == '@')
            sign = end;
    }
    bool host = sign && (is_alnum(at(t, sign + 1)) || strchr("[${", at(t, sign + 1)));
    if (!host || !colon || colon + 1 >= sign || sign + 1 >= end)
        return;
    struct fumi_str user = {t.p + from, colon - from};
    if (is_placeholder(user, (struct fumi_str){t.p + colon + 1, sign - colon - 1}))
        return;
    s->password_begin = colon + 1;
    s->password_end = sign;
}

static bool is_password(const struct secrets_scan *s, size_t i, struct secret *out)
{
    if (!i || i != s->password_begin)
        return false;
    *out = (struct secret){SECRET_URL_PASSWORD, i, s->password_end, 0};
    return true;
}

/* Whether a secret starts at i. */
static bool starts_here(struct secrets_scan *s, size_t i, struct secret *out)
{
    char c = s->text.p[i];
    if (c == ':')
        read_url(s, i);
    return (c == '-' && is_private_key(s->text, i, out)) || has_prefix(s->text, i, out) ||
           is_password(s, i, out) || is_named(s, i, out);
}

bool secrets_next(struct secrets_scan *s, struct secret *out)
{
    for (size_t i = s->at; i < s->text.n; i++) {
        if (!starts_here(s, i, out))
            continue;
        s->at = out->end;
        if (s->run_end < out->end)
            s->run_end = out->end;
        if (out->kind == SECRET_AWS_ID)
            s->id_end = out->end;
        return true;
    }
    s->at = s->text.n;
    return false;
}

struct fumi_str secrets_mask(struct fumi_arena *a, struct fumi_str text, struct fumi_str name,
                             struct secrets_found *found)
{
    struct secrets_scan scan = {.text = text, .name = name};
    struct secret is;
    struct fumi_buf out = {0};
    size_t done = 0;
    while (secrets_next(&scan, &is)) {
        found->n[is.kind]++;
        fumi_buf_add(&out, text.p + done, is.begin + is.keep - done);
        fumi_buf_add(&out, "****", 4);
        done = is.end;
    }
    if (!out.n)
        return text;
    fumi_buf_add(&out, text.p + done, text.n - done);
    return fumi_buf_keep(&out, a);
}

struct fumi_str secrets_list(struct fumi_arena *a, const struct secrets_found *found)
{
    struct fumi_str out = {0};
    for (size_t k = 0; k < SECRET_KINDS; k++) {
        size_t n = found->n[k];
        if (n)
            out = fumi_fmt(a, "%.*s%s%zu %s like %s", FUMI_ARG(out), out.n ? ", " : "", n,
                           n == 1 ? "value that looks" : "values that look",
                           secret_name((enum secret_kind)k));
    }
    return out;
}
