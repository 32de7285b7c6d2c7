/* Finds values in a text that look like secrets: keys, tokens, private keys, passwords in URLs.
 *
 * A value is recognised by its shape: a well-known prefix with a body of the right alphabet and
 * length, or a random-looking value that is assigned to a name such as aws_secret_access_key. A
 * word such as "password" alone never makes a value a secret. Placeholders are not secrets: bodies
 * of few different characters, and bodies that hold a word such as "example" or "your".
 *
 * All functions accept any bytes, take time linear in the length of the text and allocate nothing
 * unless they are given an arena. */
#ifndef FUMI_MODEL_SECRETS_H
#define FUMI_MODEL_SECRETS_H

#include "base/arena.h"

enum secret_kind {
    SECRET_AWS_ID,
    SECRET_AWS_KEY,
    SECRET_GITHUB,
    SECRET_GITLAB,
    SECRET_OPENAI,
    SECRET_ANTHROPIC,
    SECRET_SLACK,
    SECRET_STRIPE,
    SECRET_GOOGLE,
    SECRET_NPM,
    SECRET_PYPI,
    SECRET_SENDGRID,
    SECRET_TWILIO,
    SECRET_AZURE,
    SECRET_DISCORD,
    SECRET_HUGGING_FACE,
    SECRET_SERVICE, /* the prefix belongs to one of many smaller services */
    SECRET_JWT,
    SECRET_PRIVATE_KEY,
    SECRET_URL_PASSWORD,
    SECRET_RANDOM, /* a random value that is assigned to a name such as api_key */
    SECRET_KINDS
};

/* One value: bytes begin to end of the text. The first `keep` of them are its well-known prefix. */
struct secret {
    enum secret_kind kind;
    size_t begin, end, keep;
};

/* A walk over a text. The caller sets `text`, and `name` if the whole text is the value of a name
 * (a member of a JSON object); the rest begins as zero. */
struct secrets_scan {
    struct fumi_str text, name;
    size_t at;
    size_t run_end;                      /* of the longest value that was measured */
    size_t id_end;                       /* of the last AWS access key id; 0: none */
    size_t password_begin, password_end; /* in the last URL */
};

/* The next value in the order of the text; false: there is none. */
bool secrets_next(struct secrets_scan *s, struct secret *out);

/* "a GitHub token" */
const char *secret_name(enum secret_kind kind);

/* How many values of each kind were found. */
struct secrets_found {
    size_t n[SECRET_KINDS];
};

/* The text with each secret replaced by its prefix and "****" ("ghp_****"); adds to *found. The
 * text itself if it holds none. */
struct fumi_str secrets_mask(struct fumi_arena *a, struct fumi_str text, struct fumi_str name,
                             struct secrets_found *found);

/* "1 value that looks like a GitHub token, 2 values that look like a JWT"; null: none. */
struct fumi_str secrets_list(struct fumi_arena *a, const struct secrets_found *found);

/* What happens to a secret in something that is written. */
enum secrets_mode { SECRETS_MASK, SECRETS_REFUSE, SECRETS_ALLOW };

/* --- Between secrets.c and secrets_kinds.c. --- */

/* Sets of characters. */
enum secret_set {
    SET_DIGITS = 1,
    SET_HEX,    /* lower case */
    SET_BASE32, /* A-Z 2-7 */
    SET_ALNUM,
    SET_WORD,    /* and _ */
    SET_DASHED,  /* and - */
    SET_URL64,   /* both */
    SET_DOTTED,  /* both and . */
    SET_TILDE,   /* SET_DOTTED and ~ */
    SET_BASE64,  /* + / */
    SET_VALUE,   /* SET_URL64 and SET_BASE64 */
    SET_ESCAPED, /* SET_VALUE and % */
};

/* min to max characters of a set, and a literal text behind them (NULL: none). */
struct secret_part {
    enum secret_set set;
    unsigned min, max;
    const char *then;
};

enum { SECRET_PARTS = 3 };

/* A value that begins with a prefix, which may be empty. `mixed`: it must change between upper
 * case, lower case and digits as often as random characters do; for prefixes that also begin other
 * words. */
struct secret_shape {
    const char *prefix;
    enum secret_kind kind;
    struct secret_part parts[SECRET_PARTS]; /* a set of 0 ends them */
    bool mixed;
};
extern const struct secret_shape secret_shapes[]; /* longer prefixes first */
extern const size_t secret_shapes_n;

/* A value that is assigned to a name which ends so: letters only, lower case. min 0: such a name
 * never has a secret. */
struct secret_named {
    const char *suffix;
    enum secret_kind kind;
    enum secret_set set;
    unsigned min, max;
    bool mixed;
};
extern const struct secret_named secret_names[]; /* the first that fits decides */
extern const size_t secret_names_n;

#endif
