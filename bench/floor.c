/* What a line server costs when it does nothing: whole lines that were read go back as they are, in
 * one write. A line that is not finished yet waits at the start of the buffer for its rest; one
 * that fills the buffer goes back in pieces. */
#include <string.h>
#include <unistd.h>

enum { SIZE = 65536 };

static const char *past_last_line(const char *p, const char *end)
{
    const char *newline;
    while ((newline = memchr(p, '\n', (size_t)(end - p))))
        p = newline + 1;
    return p;
}

static int write_all(const char *p, size_t n)
{
    while (n) {
        ssize_t wrote = write(STDOUT_FILENO, p, n);
        if (wrote < 0)
            return -1;
        p += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

int main(void)
{
    static char buffer[SIZE];
    size_t held = 0;
    ssize_t got;
    while ((got = read(STDIN_FILENO, buffer + held, SIZE - held)) > 0) {
        size_t n = held + (size_t)got;
        size_t whole = (size_t)(past_last_line(buffer, buffer + n) - buffer);
        if (!whole && n == SIZE)
            whole = n;
        if (write_all(buffer, whole))
            return 1;
        held = n - whole;
        memmove(buffer, buffer + whole, held);
    }
    return got < 0 || write_all(buffer, held);
}
