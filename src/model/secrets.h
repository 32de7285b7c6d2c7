/* Finds values in a text that look like secrets: keys, tokens, private keys, passwords in URLs.
 *
 * A value is recognized by its form: a well-known prefix and a body of the right alphabet and
 * length, or a random-looking value that is assigned to a name such as aws_secret_access_key. A
 * word such as "password" alone does not make a value a secret. Placeholders are not secrets:
 * bodies of few different characters, and bodies that contain a word such as "example" or "your".
 *
 * All functions accept any bytes, take time linear in the length of the text, and allocate only
 * from an arena that is passed to them. Any thread may call them. */
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
    SECRET_SERVICE, /* a key of one of many smaller services */
    SECRET_JWT,
    SECRET_PRIVATE_KEY,
    SECRET_URL_PASSWORD,
    SECRET_RANDOM, /* a random value assigned to a name such as api_key */
    SECRET_KINDS
};

/* A secret: the bytes from `begin` up to `end` of the text. The first `keep` of them are a
 * well-known prefix, which masking keeps. */
struct secret {
    enum secret_kind kind;
    size_t begin, end, keep;
};

/* The state of a scan. The caller sets `text`, and `name` if the whole text is the value of a name
 * (a member of a JSON object), and zeroes the rest. */
struct secrets_scan {
    struct fumi_str text, name;
    size_t at;
    size_t run_end; /* the end of the run of characters that was measured last */
    size_t id_end;  /* the end of the last AWS access key id; 0: none */
    size_t password_begin, password_end; /* of the last URL */
};

/* Finds the next secret in the text. Returns false if there is none. */
bool secrets_next(struct secrets_scan *s, struct secret *out);

/* "a GitHub token" */
const char *secret_name(enum secret_kind kind);

/* The number of secrets of each kind. */
struct secrets_found {
    size_t n[SECRET_KINDS];
};

/* Replaces each secret by its prefix and "****" ("ghp_****"), and adds to *found. Returns `text`
 * itself if it contains no secret. */
struct fumi_str secrets_mask(struct fumi_arena *a, struct fumi_str text, struct fumi_str name,
                             struct secrets_found *found);

/* "1 value that looks like a GitHub token, 2 values that look like a JWT". Returns null if nothing
 * was found. */
struct fumi_str secrets_list(struct fumi_arena *a, const struct secrets_found *found);

/* What happens to a secret in data that is to be stored. */
enum secrets_mode { SECRETS_MASK, SECRETS_REFUSE, SECRETS_ALLOW };

/* The rest is shared by secrets.c and secrets_kinds.c alone. Sets of characters: */
enum secret_set {
    SET_DIGITS = 1,
    SET_HEX,    /* lower case */
    SET_BASE32, /* A-Z 2-7 */
    SET_ALNUM,
    SET_WORD,    /* SET_ALNUM and _ */
    SET_DASHED,  /* SET_ALNUM and - */
    SET_URL64,   /* SET_ALNUM, _ and - */
    SET_DOTTED,  /* SET_URL64 and . */
    SET_TILDE,   /* SET_DOTTED and ~ */
    SET_BASE64,  /* SET_ALNUM, + and / */
    SET_VALUE,   /* SET_URL64 and SET_BASE64 */
    SET_ESCAPED, /* SET_VALUE and % */
};

/* min to max characters of a set, followed by a literal text (NULL: none). */
struct secret_part {
    enum secret_set set;
    unsigned min, max;
    const char *then;
};

enum { SECRET_PARTS = 3 };

/* A value that starts with a prefix, which may be empty. `mixed`: upper case, lower case and digits
 * must alternate as in random text; for prefixes that ordinary words have, too. */
struct secret_shape {
    const char *prefix;
    enum secret_kind kind;
    struct secret_part parts[SECRET_PARTS]; /* ends with a set of 0 */
    bool mixed;
};
extern const struct secret_shape secret_shapes[]; /* longer prefixes first */
extern const size_t secret_shapes_n;

/* A value assigned to a name with this suffix (letters only, lower case). max 0: values of such
 * names are never secrets. */
struct secret_named {
    const char *suffix;
    enum secret_kind kind;
    enum secret_set set;
    unsigned min, max;
    bool mixed;
};
extern const struct secret_named secret_names[]; /* the first match decides */
extern const size_t secret_names_n;

#endif
