/* The baseline of the stdio benchmark: a server that does nothing. It writes the complete lines
 * of each read back unchanged, in one write, except for lines that end with a space, which are
 * the notifications of mixed.h. An incomplete line stays in the buffer until its rest arrives. */
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

/* Answers the complete lines in p. Returns their size in bytes, or SIZE + 1 if writing failed. */
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
