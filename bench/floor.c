/* What a line server costs when it does nothing: the whole lines of a read go back as they are, in
 * one write, but for those that end with a space: these are the notifications of mixed.h. A line
 * that is not finished yet waits at the start of the buffer for its rest. */
#include <string.h>
#include <unistd.h>

enum { SIZE = 1 << 18 };

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

/* Answers the whole lines among n bytes; returns how many bytes these lines have, or SIZE + 1 if
 * nobody reads the answers. */
static size_t answer(char *p, size_t n)
{
    char *begin = p, *end = p + n, *to = p, *newline;
    for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
        size_t line = (size_t)(newline + 1 - p);
        if (line > 1 && newline[-1] == ' ')
            continue;
        if (to != p)
            memmove(to, p, line);
        to += line;
    }
    return write_all(begin, (size_t)(to - begin)) ? SIZE + 1 : (size_t)(p - begin);
}

int main(void)
{
    static char buffer[SIZE];
    size_t held = 0;
    ssize_t got;
    while (held < SIZE && (got = read(STDIN_FILENO, buffer + held, SIZE - held)) > 0) {
        size_t n = held + (size_t)got, whole = answer(buffer, n);
        if (whole > n)
            return 1;
        held = n - whole;
        memmove(buffer, buffer + whole, held);
    }
    return held != 0;
}
