/* stdout and stderr become streams whose writer wraps lines (fopencookie), so that no command needs
 * to know the width of the terminal. The writer remembers the column between two calls, and holds
 * nothing back: a prompt may end without a line break. */
#include "app/terminal.h"

#include "app/show.h"
#include "base/chars.h"
#include "base/file.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    USUAL = 80,
    LEAST = 20,
    MOST = 1000,
    HANG = 2, /* indentation of the rest of a line, in addition to that of its beginning */
    TAB = 8,
    BUFFER = 1 << 16,
};

struct wrapped {
    int fd;
    size_t width, column;
    size_t indent;  /* of the rest of the current line, if it is wrapped */
    bool column2;   /* the line has a second column, which `indent` is */
    bool beginning; /* nothing but blanks in it so far */
    bool data;
    struct fumi_buf out;
};

/* Both for the whole process, like the streams. */
static struct wrapped *of_stdout(void)
{
    static struct wrapped w = {.fd = STDOUT_FILENO, .beginning = true};
    return &w;
}

static struct wrapped *of_stderr(void)
{
    static struct wrapped w = {.fd = STDERR_FILENO, .beginning = true};
    return &w;
}

size_t terminal_columns(FILE *to)
{
    int fd = to == stderr ? STDERR_FILENO : STDOUT_FILENO;
    const char *set = getenv("COLUMNS");
    struct winsize size = {0};
    long n = set ? strtol(set, NULL, 10) : 0;
    if (!isatty(fd))
        return 0;
    if (n <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    if (n <= 0)
        return USUAL;
    return n < LEAST ? LEAST : n > MOST ? MOST : (size_t)n;
}

size_t terminal_text_columns(FILE *to, size_t most)
{
    size_t n = terminal_columns(to);
    return n && n < most ? n : most;
}

/* The length of an escape sequence such as "\033[1m" at the beginning of the text; 0: none. */
static size_t escape(const char *p, const char *end)
{
    const char *at = p;
    if (end - at < 2 || at[0] != '\033' || at[1] != '[')
        return 0;
    for (at += 2; at < end && (*at < '@' || *at > '~'); at++)
        ;
    return (size_t)(at - p) + (at < end);
}

static size_t word_width(struct fumi_str word)
{
    size_t width = 0, n;
    for (const char *p = word.p, *end = fumi_end(word), *next; p < end; p = next + n) {
        for (next = p; next < end && !(n = escape(next, end)); next++)
            ;
        width += show_width((struct fumi_str){p, (size_t)(next - p)});
        n = next < end ? n : 0;
    }
    return width;
}

static void put_blanks(struct wrapped *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fumi_buf_put(&w->out, ' ');
    w->column += n;
}

static size_t hang(const struct wrapped *w)
{
    return w->indent < w->width / 2 ? w->indent : w->width / 2;
}

static void break_line(struct wrapped *w)
{
    fumi_buf_put(&w->out, '\n');
    w->column = 0;
    put_blanks(w, hang(w));
}

/* Appends blanks, as far as the line has room for them. */
static void put_gap(struct wrapped *w, size_t n)
{
    put_blanks(w, n < w->width - w->column ? n : w->width - w->column);
}

/* A word that is wider than a line is broken where the line ends. */
static void put_word(struct wrapped *w, struct fumi_str word)
{
    size_t width = word_width(word);
    while (width > w->width - w->column && word.n) {
        struct fumi_str part = show_cut(word, w->width - w->column);
        fumi_buf_add(&w->out, part.p, part.n);
        word = (struct fumi_str){word.p + part.n, word.n - part.n};
        break_line(w);
        width = word_width(word);
    }
    fumi_buf_add(&w->out, word.p, word.n);
    w->column += width;
    w->beginning = false;
}

/* Appends the blanks and the word after them, in a new line if they do not fit. */
static void put_both(struct wrapped *w, size_t blanks, struct fumi_str word)
{
    size_t width = word_width(word);
    if (w->beginning) {
        w->indent = w->column + blanks + HANG;
    } else if (blanks > 1 && !w->column2 && w->column + blanks <= w->width / 3) {
        w->indent = w->column + blanks;
        w->column2 = true;
    } else if (w->column + blanks + width > w->width && width <= w->width - hang(w)) {
        break_line(w);
        blanks = 0;
    }
    put_gap(w, blanks);
    put_word(w, word);
}

/* Appends what ended a word, unless it is a blank. */
static void put_end(struct wrapped *w, char c)
{
    if (c == '\t') {
        put_gap(w, TAB - w->column % TAB);
        return;
    }
    fumi_buf_put(&w->out, c);
    w->column = w->indent = 0;
    w->beginning = true;
    w->column2 = false;
}

/* The text ends with NUL. */
static void wrap(struct wrapped *w, const char *p, const char *end)
{
    while (p < end) {
        size_t blanks = strspn(p, " ");
        const char *word = p + blanks;
        p = word + strcspn(word, " \n\r\t");
        if (p > word)
            put_both(w, blanks, (struct fumi_str){word, (size_t)(p - word)});
        else if (p == end || *p == '\t')
            put_gap(w, blanks);
        if (p < end && *p != ' ')
            put_end(w, *p++);
    }
}

/* Returns 0 for an error, as stdio expects. */
static ssize_t on_write(void *cookie, const char *text, size_t n)
{
    struct wrapped *w = cookie;
    struct fumi_buf ended = {0};
    if (w->data)
        return file_write_all(w->fd, (struct fumi_str){text, n}) ? 0 : (ssize_t)n;
    fumi_buf_add(&ended, text, n);
    fumi_buf_put(&ended, '\0');
    wrap(w, ended.p, ended.p + n);
    int rc = file_write_all(w->fd, fumi_buf_str(&w->out));
    fumi_buf_done(&ended);
    fumi_buf_done(&w->out);
    return rc ? 0 : (ssize_t)n;
}

static FILE *wrapped(FILE *stream, struct wrapped *w, int buffering)
{
    w->width = terminal_columns(stream);
    if (!w->width)
        return stream;
    FILE *f = fopencookie(w, "w", (cookie_io_functions_t){.write = on_write});
    if (!f)
        return stream;
    setvbuf(f, NULL, buffering, BUFFER);
    return f;
}

void terminal_wrap(bool data)
{
    if (!data)
        stdout = wrapped(stdout, of_stdout(), _IOLBF);
    stderr = wrapped(stderr, of_stderr(), _IONBF);
}

void terminal_data(void)
{
    fflush(stdout);
    of_stdout()->data = true;
}
