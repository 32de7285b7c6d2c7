#include "base/uuid.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

static _Noreturn void no_randomness(void)
{
    static const char message[] = "fumi: the system provides no random bytes\n";
    if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
        _exit(71);
    _exit(70);
}

void fumi_random(void *out, size_t n)
{
    for (char *p = out; n;) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno != EINTR)
            no_randomness();
        if (got > 0) {
            p += got;
            n -= (size_t)got;
        }
    }
}

static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

void fumi_uuid(char out[FUMI_UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    fumi_random(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40); /* version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80); /* the variant of RFC 9562 */
    size_t half = 0;
    for (size_t i = 0; i < FUMI_UUID_SIZE; i++) {
        out[i] = '-';
        if (shape[i] == '-')
            continue;
        out[i] = digits[half % 2 ? bytes[half / 2] & 15 : bytes[half / 2] >> 4];
        half++;
    }
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool fumi_is_uuid(struct fumi_str s)
{
    if (s.n != FUMI_UUID_SIZE)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (shape[i] == '-' ? s.p[i] != '-' : !is_hex(s.p[i]))
            return false;
    return true;
}
