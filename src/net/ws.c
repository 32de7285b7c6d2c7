/* A frame that is available completely is validated and returned in place. Only frames that a read
 * cuts short and the pieces of fragmented messages are copied into a ws_partial, which is freed as
 * soon as nothing is incomplete. Control frames may arrive between the pieces of a message, so they
 * have their own buffer in it.
 *
 * The result never depends on how the stream is cut: the first two bytes of a header are validated
 * once both are available, the rest once the header is complete. */
#include "net/ws.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "base/uuid.h"

#include <assert.h>
#include <openssl/sha.h>

enum {
    FINAL = 0x80, /* first byte of a header */
    RESERVED = 0x70,
    OPCODE = 0x0F,
    CONTROL = 0x08,
    MASKED = 0x80, /* second byte */
    LENGTH = 0x7F,
    SHORT = 125, /* up to here the second byte holds the length itself */
    TWO_BYTES,   /* otherwise the size of the length that follows */
    EIGHT_BYTES,
    KEY_BYTES = 16,
};

/* A frame whose header is complete. */
struct frame {
    size_t left;   /* payload bytes still to come */
    char mask[4];  /* rotated: its first byte belongs to the next payload byte */
    uint8_t first; /* first byte of the header */
};

struct ws_partial {
    struct fumi_buf message; /* received so far */
    struct frame frame;
    bool open;    /* `frame` is incomplete */
    uint8_t kind; /* WS_TEXT or WS_BINARY: type of an incomplete message; 0: none */
    uint8_t head_n, control_n;
    char head[WS_HEADER_MAX]; /* incomplete header */
    char control[WS_CONTROL];
};

enum fault {
    NO_FAULT,
    RESERVED_BIT,
    UNKNOWN_OPCODE,
    NOT_MASKED,
    MASKED_BY_SERVER,
    CONTROL_IN_PIECES,
    CONTROL_TOO_LONG,
    NOTHING_TO_CONTINUE,
    NOT_CONTINUED,
    LENGTH_PADDED,
    LENGTH_NEGATIVE,
    MESSAGE_TOO_LONG,
    TEXT_NOT_UTF8,
    CLOSE_CUT,
    CLOSE_CODE,
    REASON_NOT_UTF8,
};

static const struct {
    int code;
    const char *why;
} faults[] = {
    [RESERVED_BIT] = {WS_PROTOCOL_ERROR, "a reserved bit is set"},
    [UNKNOWN_OPCODE] = {WS_PROTOCOL_ERROR, "the opcode is unknown"},
    [NOT_MASKED] = {WS_PROTOCOL_ERROR, "a client must mask its frames"},
    [MASKED_BY_SERVER] = {WS_PROTOCOL_ERROR, "a server must not mask its frames"},
    [CONTROL_IN_PIECES] = {WS_PROTOCOL_ERROR, "a control frame must not be fragmented"},
    [CONTROL_TOO_LONG] = {WS_PROTOCOL_ERROR, "a control frame carries at most 125 bytes"},
    [NOTHING_TO_CONTINUE] = {WS_PROTOCOL_ERROR, "there is no message to continue"},
    [NOT_CONTINUED] = {WS_PROTOCOL_ERROR, "the previous message is not complete"},
    [LENGTH_PADDED] = {WS_PROTOCOL_ERROR, "a length must use the shortest encoding"},
    [LENGTH_NEGATIVE] = {WS_PROTOCOL_ERROR, "the highest bit of a length must be 0"},
    [MESSAGE_TOO_LONG] = {WS_TOO_LONG, "the message is longer than the limit"},
    [TEXT_NOT_UTF8] = {WS_BAD_TEXT, "a text message must be UTF-8"},
    [CLOSE_CUT] = {WS_PROTOCOL_ERROR, "a close code must have two bytes"},
    [CLOSE_CODE] = {WS_PROTOCOL_ERROR, "the close code is not allowed in a frame"},
    [REASON_NOT_UTF8] = {WS_BAD_TEXT, "the reason of a close frame must be UTF-8"},
};

/* The four unused bits of the last digit are ignored: only the text enters the hash. */
static bool is_key(struct fumi_str s)
{
    size_t used = (KEY_BYTES * 8 + 5) / 6;
    if (s.n != WS_KEY || s.p[used] != '=' || s.p[used + 1] != '=')
        return false;
    for (size_t i = 0; i < used; i++)
        if (!memchr(fumi_base64_digits, s.p[i], 64))
            return false;
    return true;
}

int ws_accept(struct fumi_str key, char out[WS_ACCEPT])
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char text[WS_KEY + sizeof(magic) - 1], sum[SHA_DIGEST_LENGTH];
    if (!is_key(key))
        return -1;
    memcpy(text, key.p, WS_KEY);
    memcpy(text + WS_KEY, magic, sizeof(magic) - 1);
    if (!SHA1(text, sizeof(text), sum))
        return -1;
    fumi_base64_put(out, (struct fumi_str){(const char *)sum, sizeof(sum)}, fumi_base64_digits);
    return 0;
}

void ws_key(char out[WS_KEY])
{
    unsigned char bytes[KEY_BYTES];
    fumi_random(bytes, sizeof(bytes));
    fumi_base64_put(out, (struct fumi_str){(const char *)bytes, sizeof(bytes)}, fumi_base64_digits);
}

typedef uint64_t words __attribute__((vector_size(16)));

static inline words xor_words(char *p, words mask)
{
    words w;
    memcpy(&w, p, sizeof(w));
    w ^= mask;
    memcpy(p, &w, sizeof(w));
    return w;
}

static inline uint64_t xor_word(char *p, uint64_t mask)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    word ^= mask;
    memcpy(p, &word, sizeof(word));
    return word;
}

static inline uint32_t xor_half(char *p, uint32_t mask)
{
    uint32_t half;
    memcpy(&half, p, sizeof(half));
    half ^= mask;
    memcpy(p, &half, sizeof(half));
    return half;
}

/* Masks or unmasks n bytes; the first byte is combined with mask[0]. Returns whether the result is
 * all ASCII, which saves a second pass over the bytes. */
static bool apply_mask(char *p, size_t n, const char mask[4])
{
    uint32_t half;
    memcpy(&half, mask, sizeof(half));
    uint64_t wide = (uint64_t)half << 32 | half;
    words many = {0};
    for (; n >= sizeof(many); n -= sizeof(many), p += sizeof(many))
        many |= xor_words(p, (words){wide, wide});
    uint64_t any = many[0] | many[1];
    if (n >= sizeof(any)) {
        any |= xor_word(p, wide);
        n -= sizeof(any);
        p += sizeof(any);
    }
    if (n >= sizeof(half)) {
        any |= xor_half(p, half);
        n -= sizeof(half);
        p += sizeof(half);
    }
    for (size_t i = 0; i < n; i++)
        any |= (unsigned char)(p[i] ^= mask[i]);
    return !(any & 0x8080808080808080);
}

/* Rotates the mask past n bytes. */
static void rotate(char mask[4], size_t n)
{
    char old[4];
    memcpy(old, mask, sizeof(old));
    for (size_t i = 0; i < 4; i++)
        mask[i] = old[(i + n) & 3];
}

static struct ws_partial *partial_of(struct ws_reader *r)
{
    if (!r->partial) {
        r->partial = fumi_resize(NULL, sizeof(*r->partial));
        *r->partial = (struct ws_partial){.message.limit = r->limit ? r->limit : WS_LIMIT};
    }
    return r->partial;
}

void ws_done(struct ws_reader *r)
{
    if (!r->partial)
        return;
    fumi_buf_done(&r->partial->message);
    fumi_resize(r->partial, 0);
    r->partial = NULL;
}

static __attribute__((cold)) enum ws_kind fail(struct ws_reader *r, enum fault fault,
                                               struct ws_event *out)
{
    ws_done(r);
    r->closed = true;
    out->code = faults[fault].code;
    out->payload = fumi_str(faults[fault].why);
    return WS_FAULT;
}

static bool is_final(const struct frame *f)
{
    return f->first & FINAL;
}

static bool is_control(const struct frame *f)
{
    return f->first & CONTROL;
}

static enum fault control_fault(unsigned first, unsigned second)
{
    if (!(first & FINAL))
        return CONTROL_IN_PIECES;
    return (second & LENGTH) > SHORT ? CONTROL_TOO_LONG : NO_FAULT;
}

/* Validates the first two bytes of a frame. */
static inline enum fault start_fault(const struct ws_reader *r, unsigned first, unsigned second)
{
    static const uint16_t known = 1 | 1 << WS_TEXT | 1 << WS_BINARY | 1 << WS_CLOSE | 1 << WS_PING |
                                  1 << WS_PONG;
    unsigned opcode = first & OPCODE;
    if (first & RESERVED)
        return RESERVED_BIT;
    if (!(known >> opcode & 1))
        return UNKNOWN_OPCODE;
    if (!(second & MASKED) == r->server)
        return r->server ? NOT_MASKED : MASKED_BY_SERVER;
    if (opcode & CONTROL)
        return control_fault(first, second);
    bool inside = r->partial && r->partial->kind;
    if (inside == !opcode)
        return NO_FAULT;
    return inside ? NOT_CONTINUED : NOTHING_TO_CONTINUE;
}

/* `form` is the length field of the second byte. */
static inline enum fault length_fault(const struct ws_reader *r, unsigned form, uint64_t n)
{
    uint64_t least = form <= SHORT ? 0 : form == TWO_BYTES ? SHORT + 1 : UINT16_MAX + 1;
    size_t limit = r->limit ? r->limit : WS_LIMIT;
    if (n >> 63)
        return LENGTH_NEGATIVE;
    if (n < least)
        return LENGTH_PADDED;
    return n > limit - (r->partial ? r->partial->message.n : 0) ? MESSAGE_TOO_LONG : NO_FAULT;
}

static uint64_t big_endian(const char *p, size_t n)
{
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++)
        number = number << 8 | (unsigned char)p[i];
    return number;
}

/* Reads a header from `have` bytes at p. *size stays 0 if it is incomplete. */
static inline enum fault read_header(const struct ws_reader *r, const char *p, size_t have,
                                     struct frame *f, size_t *size)
{
    if (have < 2)
        return NO_FAULT;
    unsigned first = (unsigned char)p[0], second = (unsigned char)p[1], form = second & LENGTH;
    enum fault fault = start_fault(r, first, second);
    size_t more = form <= SHORT ? 0 : form == TWO_BYTES ? 2 : 8, masks = r->server ? 4 : 0;
    if (fault || have < 2 + more + masks)
        return fault;
    uint64_t n = more ? big_endian(p + 2, more) : form;
    if (!(first & CONTROL) && (fault = length_fault(r, form, n)))
        return fault;
    f->first = (uint8_t)first;
    f->left = (size_t)n;
    memcpy(f->mask, p + 2 + more, masks);
    *size = 2 + more + masks;
    return NO_FAULT;
}

/* Like read_header, for a header whose first bytes arrived earlier. */
static enum fault continue_header(struct ws_reader *r, const char *p, size_t have, struct frame *f,
                                  size_t *size)
{
    struct ws_partial *part = partial_of(r);
    size_t was = part->head_n, more = have < WS_HEADER_MAX - was ? have : WS_HEADER_MAX - was;
    memcpy(part->head + was, p, more);
    enum fault fault = read_header(r, part->head, was + more, f, size);
    part->head_n = *size ? 0 : (uint8_t)(was + more);
    *size -= *size ? was : 0;
    return fault;
}

/* Returns true if the header is complete; *p then points past it. */
static inline bool header(struct ws_reader *r, char **p, char *end, struct frame *f,
                          enum fault *fault)
{
    size_t have = (size_t)(end - *p), size = 0;
    bool begun = r->partial && r->partial->head_n;
    if (!begun)
        *fault = read_header(r, *p, have, f, &size);
    if (begun || (have && !size && !*fault))
        *fault = continue_header(r, *p, have, f, &size);
    *p = size ? *p + size : end;
    return size;
}

static bool is_valid_close_code(int code)
{
    static const struct {
        int first, last;
    } codes[] = {{1000, 1003}, {1007, 1014}, {3000, 4999}};
    for (size_t i = 0; i < FUMI_COUNT(codes); i++)
        if (code >= codes[i].first && code <= codes[i].last)
            return true;
    return false;
}

static enum ws_kind close_event(struct ws_reader *r, struct ws_event *out)
{
    struct fumi_str s = out->payload;
    r->closed = true;
    out->code = WS_NO_CODE;
    if (!s.n)
        return WS_CLOSE;
    if (s.n < 2)
        return fail(r, CLOSE_CUT, out);
    out->code = (int)big_endian(s.p, 2);
    out->payload = (struct fumi_str){s.p + 2, s.n - 2};
    if (!is_valid_close_code(out->code))
        return fail(r, CLOSE_CODE, out);
    return fumi_utf8_valid(out->payload) ? WS_CLOSE : fail(r, REASON_NOT_UTF8, out);
}

/* `ascii`: the payload is known to be ASCII. */
static inline enum ws_kind event(struct ws_reader *r, enum ws_kind kind, struct fumi_str payload,
                                 bool ascii, struct ws_event *out)
{
    out->payload = payload;
    if (kind == WS_TEXT && !ascii && !fumi_utf8_valid(payload))
        return fail(r, TEXT_NOT_UTF8, out);
    return kind == WS_CLOSE ? close_event(r, out) : kind;
}

static enum ws_kind gather_control(struct ws_reader *r, const struct frame *f, struct fumi_str s,
                                   struct ws_event *out)
{
    struct ws_partial *part = partial_of(r);
    assert(part->control_n + s.n <= sizeof(part->control));
    memcpy(part->control + part->control_n, s.p, s.n);
    part->control_n += (uint8_t)s.n;
    if (part->open)
        return WS_MORE;
    struct fumi_str whole = {part->control, part->control_n};
    part->control_n = 0;
    return event(r, f->first & OPCODE, whole, false, out);
}

static enum ws_kind gather_message(struct ws_reader *r, const struct frame *f, struct fumi_str s,
                                   struct ws_event *out)
{
    struct ws_partial *part = partial_of(r);
    if (f->first & OPCODE)
        part->kind = f->first & OPCODE;
    fumi_buf_add(&part->message, s.p, s.n);
    if (part->open || !is_final(f))
        return WS_MORE;
    enum ws_kind kind = part->kind;
    part->kind = 0;
    return event(r, kind, fumi_buf_str(&part->message), false, out);
}

/* Whether the frame, which is complete, needs no earlier bytes: it can be returned in place. */
static inline bool is_unfragmented(const struct ws_reader *r, const struct frame *f)
{
    if (is_control(f))
        return !r->partial || !r->partial->control_n;
    return is_final(f) && f->first & OPCODE && (!r->partial || !r->partial->message.n);
}

/* Discards the state of a frame whose payload arrived in one piece after its header. */
static void end_frame(struct ws_partial *part, const struct frame *f)
{
    part->open = false;
    if (!is_control(f))
        part->kind = 0;
}

/* Consumes the available part of the payload. */
static inline enum ws_kind payload_part(struct ws_reader *r, struct frame *f, char **p, char *end,
                                        struct ws_event *out)
{
    size_t have = (size_t)(end - *p), n = f->left < have ? f->left : have;
    struct fumi_str s = {*p, n};
    bool ascii = r->server && apply_mask(*p, n, f->mask);
    *p += n;
    f->left -= n;
    if (!f->left && is_unfragmented(r, f)) {
        if (r->partial)
            end_frame(r->partial, f);
        return event(r, f->first & OPCODE, s, ascii, out);
    }
    rotate(f->mask, n);
    partial_of(r)->frame = *f;
    r->partial->open = f->left;
    return is_control(f) ? gather_control(r, f, s, out) : gather_message(r, f, s, out);
}

/* Whether nothing is incomplete, so that the memory can be freed. */
static bool is_complete(const struct ws_reader *r)
{
    const struct ws_partial *part = r->partial;
    return r->closed || !(part->open || part->kind || part->head_n);
}

enum ws_kind ws_read(struct ws_reader *r, char **p, char *end, struct ws_event *out)
{
    enum ws_kind kind = WS_MORE;
    enum fault fault = NO_FAULT;
    *out = (struct ws_event){0};
    if (r->partial && is_complete(r))
        ws_done(r);
    if (r->closed)
        *p = end;
    while (*p < end && kind == WS_MORE) {
        struct frame f;
        if (r->partial && r->partial->open)
            f = r->partial->frame;
        else if (!header(r, p, end, &f, &fault))
            return fault ? fail(r, fault, out) : WS_MORE;
        kind = payload_part(r, &f, p, end, out);
    }
    return kind;
}

/* Writes the header of an unmasked frame. Returns its size, 2 to 10. */
static size_t put_header(char out[WS_HEADER_MAX], enum ws_kind kind, size_t n)
{
    size_t more = n <= SHORT ? 0 : n <= UINT16_MAX ? 2 : 8;
    assert(!(kind & CONTROL) || !more);
    out[0] = (char)(FINAL | kind);
    out[1] = (char)(!more ? n : more == 2 ? TWO_BYTES : EIGHT_BYTES);
    for (size_t i = 0; i < more; i++)
        out[2 + i] = (char)((uint64_t)n >> 8 * (more - 1 - i));
    return 2 + more;
}

/* Appends header and payload, or nothing. Returns the address of the payload, or NULL. */
static char *add(struct fumi_buf *b, const char *header, size_t size, struct fumi_str payload)
{
    char *to = fumi_buf_reserve(b, size + payload.n);
    if (!to)
        return NULL;
    memcpy(to, header, size);
    if (payload.n)
        memcpy(to + size, payload.p, payload.n);
    b->n += size + payload.n;
    return to + size;
}

void ws_write(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload)
{
    char header[WS_HEADER_MAX];
    add(b, header, put_header(header, kind, payload.n), payload);
}

void ws_write_masked(struct fumi_buf *b, enum ws_kind kind, struct fumi_str payload,
                     const char mask[4])
{
    char header[WS_HEADER_MAX];
    size_t size = put_header(header, kind, payload.n);
    header[1] = (char)(header[1] | MASKED);
    memcpy(header + size, mask, 4);
    char *bytes = add(b, header, size + 4, payload);
    if (bytes)
        apply_mask(bytes, payload.n, mask);
}

struct fumi_str ws_close_payload(char out[WS_CONTROL], int code, struct fumi_str reason)
{
    if (code == WS_NO_CODE)
        return (struct fumi_str){out, 0};
    assert(is_valid_close_code(code));
    struct fumi_str cut = fumi_utf8_cut(reason, WS_CONTROL - 2);
    out[0] = (char)(code >> 8);
    out[1] = (char)code;
    if (cut.n)
        memcpy(out + 2, cut.p, cut.n);
    return (struct fumi_str){out, 2 + cut.n};
}

void ws_write_close(struct fumi_buf *b, int code, struct fumi_str reason)
{
    char payload[WS_CONTROL];
    ws_write(b, WS_CLOSE, ws_close_payload(payload, code, reason));
}
