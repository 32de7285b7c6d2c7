#include "base/base64.h"

#define ALPHANUMERIC "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const char fumi_base64_digits[65] = ALPHANUMERIC "+/";
const char fumi_base64url_digits[65] = ALPHANUMERIC "-_";

char *fumi_base64_put(char *to, struct fumi_str bytes, const char digits[65])
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        *to++ = digits[v >> 18];
        *to++ = digits[v >> 12 & 63];
        *to++ = left > 1 ? digits[v >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[v & 63] : '=';
    }
    return to;
}

struct fumi_str fumi_base64(struct fumi_arena *a, struct fumi_str bytes)
{
    char *text = fumi_alloc(a, (bytes.n + 2) / 3 * 4 + 1);
    char *end = fumi_base64_put(text, bytes, fumi_base64_digits);
    return (struct fumi_str){text, (size_t)(end - text)};
}

static int value_of(char c)
{
    const char *at = c ? strchr(fumi_base64_digits, c) : NULL;
    return at ? (int)(at - fumi_base64_digits) : -1;
}

/* Decodes four digits, of which the last `pads` are padding. Bits that the padding drops must be 0.
 */
static bool read_four(const char *p, size_t pads, unsigned char out[3])
{
    uint32_t v = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i < 4 - pads ? value_of(p[i]) : p[i] == '=' ? 0 : -1;
        if (digit < 0)
            return false;
        v = v << 6 | (uint32_t)digit;
    }
    out[0] = (unsigned char)(v >> 16);
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)v;
    return (pads < 1 || out[2] == 0) && (pads < 2 || out[1] == 0);
}

struct fumi_str fumi_base64_read(struct fumi_arena *a, struct fumi_str text)
{
    if (text.n % 4)
        return (struct fumi_str){0};
    char *bytes = fumi_alloc(a, text.n / 4 * 3 + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i += 4) {
        unsigned char three[3];
        bool last = i + 4 == text.n;
        size_t pads = !last || text.p[i + 3] != '=' ? 0 : text.p[i + 2] != '=' ? 1 : 2;
        if (!read_four(text.p + i, pads, three))
            return (struct fumi_str){0};
        memcpy(bytes + n, three, 3 - pads);
        n += 3 - pads;
    }
    return (struct fumi_str){bytes, n};
}

size_t fumi_base64url_get(char *to, size_t most, struct fumi_str text)
{
    uint32_t v = 0;
    unsigned bits = 0;
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *at = text.p[i] ? strchr(fumi_base64url_digits, text.p[i]) : NULL;
        if (!at)
            return 0;
        v = (v << 6 | (uint32_t)(at - fumi_base64url_digits)) & 0xFFFF;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (n == most)
            return 0;
        to[n++] = (char)(v >> bits);
    }
    return bits < 6 && !(v & ((1u << bits) - 1)) ? n : 0;
}
