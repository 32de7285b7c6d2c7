/* Chunked bodies: a state machine over single bytes; chunk data is copied in blocks. */
#include "net/http1_bytes.h"

enum chunk_state {
    SIZE,
    EXTENSION,
    SIZE_END, /* line feed after the size */
    DATA,
    DATA_CR,
    DATA_END,
    TRAILER, /* first byte of a trailer or of the final empty line */
    NAME,
    VALUE,
    VALUE_END,
    LAST_END,
};

enum { SIZE_DIGITS = 16 }; /* any number with so many digits fits into 64 bits */

static int hex_digit(char byte)
{
    unsigned c = (unsigned char)byte, letter = (c | 0x20) - 'a';
    if (c - '0' <= 9)
        return (int)(c - '0');
    return letter <= 5 ? (int)letter + 10 : -1;
}

static enum step size_byte(struct http_chunks *c, char byte, const struct http_limits *limits,
                           struct http_fault *f)
{
    int digit = hex_digit(byte);
    if (digit >= 0 ? c->digits == SIZE_DIGITS : !c->digits || (byte != '\r' && byte != ';'))
        return fault(f, 400, "malformed chunk size");
    if (digit >= 0) {
        c->digits++;
        c->left = c->left << 4 | (unsigned)digit;
        return FINE;
    }
    if (c->left > limits->body - c->body)
        return fault(f, 413, "the body is too large");
    c->body += c->left;
    c->digits = 0;
    c->state = byte == ';' ? EXTENSION : SIZE_END;
    return FINE;
}

/* Expects one certain byte and goes to the next state. */
static enum step only(struct http_chunks *c, char byte, char must, enum chunk_state next,
                      struct http_fault *f)
{
    if (byte != must)
        return fault(f, 400, "malformed line end in a chunked body");
    c->state = (int)next;
    return FINE;
}

/* Extension or value of a trailer, up to the line end. */
static enum step text_byte(struct http_chunks *c, char byte, enum chunk_state next,
                           struct http_fault *f)
{
    return is(byte, TEXT) ? FINE : only(c, byte, '\r', next, f);
}

static enum step trailer_byte(struct http_chunks *c, char byte, const struct http_limits *limits,
                              struct http_fault *f)
{
    if (byte == '\r') {
        c->state = LAST_END;
        return FINE;
    }
    if (!is(byte, TOKEN))
        return fault(f, 400, "malformed trailer");
    if (++c->fields > limits->fields)
        return fault(f, 431, "too many trailers");
    c->state = NAME;
    return FINE;
}

static enum step name_byte(struct http_chunks *c, char byte, struct http_fault *f)
{
    if (!is(byte, TOKEN) && byte != ':')
        return fault(f, 400, "malformed trailer");
    c->state = byte == ':' ? VALUE : NAME;
    return FINE;
}

static enum step chunk_byte(struct http_chunks *c, char byte, const struct http_limits *limits,
                            struct http_fault *f)
{
    switch ((enum chunk_state)c->state) {
    case SIZE:
        return size_byte(c, byte, limits, f);
    case EXTENSION:
        return text_byte(c, byte, SIZE_END, f);
    case SIZE_END:
        return only(c, byte, '\n', c->left ? DATA : TRAILER, f);
    case DATA:
    case DATA_CR:
        return only(c, byte, '\r', DATA_END, f);
    case DATA_END:
        return only(c, byte, '\n', SIZE, f);
    case TRAILER:
        return trailer_byte(c, byte, limits, f);
    case NAME:
        return name_byte(c, byte, f);
    case VALUE:
        return text_byte(c, byte, VALUE_END, f);
    case VALUE_END:
        return only(c, byte, '\n', TRAILER, f);
    case LAST_END:
        c->done = byte == '\n';
        return only(c, byte, '\n', SIZE, f);
    }
    return FAULT;
}

/* Extensions and trailers are discarded and share one limit. */
static bool is_extra(const struct http_chunks *c)
{
    return c->state == EXTENSION || c->state >= TRAILER;
}

static size_t take_data(struct http_chunks *c, struct fumi_str bytes, struct fumi_buf *body)
{
    size_t n = c->left < bytes.n ? (size_t)c->left : bytes.n;
    fumi_buf_add(body, bytes.p, n);
    c->left -= n;
    if (c->left == 0)
        c->state = DATA_CR;
    return n;
}

ssize_t http_read_chunks(struct http_chunks *c, struct fumi_str bytes, struct fumi_buf *body,
                         const struct http_limits *limits, struct http_fault *f)
{
    size_t i = 0;
    while (i < bytes.n && !c->done) {
        if (c->state == DATA) {
            i += take_data(c, (struct fumi_str){bytes.p + i, bytes.n - i}, body);
            continue;
        }
        if (is_extra(c) && ++c->extra > limits->head)
            return fault(f, 431, "extensions or trailers are too large");
        if (chunk_byte(c, bytes.p[i++], limits, f) != FINE)
            return FAULT;
    }
    return body->full ? fault(f, 413, "the body is too large") : (ssize_t)i;
}
