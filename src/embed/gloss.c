/* The text is read once, from left to right: at each Japanese letter, the longest word of the
 * dictionary that matches is replaced by its gloss. Inflected forms are words of the dictionary,
 * too, and particles and endings are words with an empty gloss (pack/edict.c). Letters that match
 * nothing stay. */
#include "embed/gloss.h"

#include "embed/gloss_file.h"
#include "embed/model_file.h"
#include "embed/wordpiece.h"
#include "model/codes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMEDY                                                                                     \
    "install the package edict, and run \"fumi model install /usr/share/edict/edict --to %s\""

struct gloss {
    const struct gloss_head *head;
    size_t size;
};

static int refuse(struct fumi_err *e, const char *path, const char *what)
{
    return fumi_err_set(e, ERR_PROVIDER, "the dictionary %s: " REMEDY, what, path);
}

static int check(const struct gloss *g, const char *path, struct fumi_err *e)
{
    const struct gloss_head *h = g->head;
    if (memcmp(h->magic, GLOSS_MAGIC, sizeof(h->magic)))
        return refuse(e, path, "is not a dictionary of Fumi");
    if (h->version != GLOSS_VERSION)
        return refuse(e, path, "was made by another version of Fumi");
    if (h->size != g->size || h->words > (g->size - sizeof(*h)) / sizeof(uint32_t) ||
        ((const char *)h)[g->size - 1] || !memchr(h->name, 0, sizeof(h->name)))
        return refuse(e, path, "is damaged or truncated");
    return 0;
}

static int map(struct gloss *g, int fd, const char *path, struct fumi_err *e)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return refuse(e, path, "is not a file");
    if (st.st_size < (off_t)sizeof(struct gloss_head) || st.st_size > UINT32_MAX)
        return refuse(e, path, "is damaged or truncated");
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return refuse(e, path, "cannot be mapped");
    g->head = p;
    g->size = (size_t)st.st_size;
    return check(g, path, e);
}

struct gloss *gloss_open(const char *path, struct fumi_err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fumi_err_set(e, ERR_PROVIDER, "the dictionary cannot be opened (%s): " REMEDY,
                     strerror(errno), path);
        return NULL;
    }
    struct gloss *g = fumi_resize(NULL, sizeof(*g));
    g->head = NULL;
    int rc = map(g, fd, path, e);
    close(fd);
    if (!rc)
        return g;
    gloss_close(g);
    return NULL;
}

void gloss_close(struct gloss *g)
{
    if (g && g->head)
        munmap((void *)g->head, g->size);
    fumi_resize(g, 0);
}

int gloss_verify(const struct gloss *g, const char *path, struct fumi_err *e)
{
    unsigned char sum[32];
    if (model_checksum((const char *)g->head + GLOSS_SUM_START, g->size - GLOSS_SUM_START, sum, e))
        return -1;
    if (memcmp(sum, g->head->sha256, sizeof(sum)) == 0)
        return 0;
    return refuse(e, path, "is damaged (its checksum is wrong)");
}

struct fumi_str gloss_name(const struct gloss *g)
{
    return fumi_str(g->head->name);
}

size_t gloss_words(const struct gloss *g)
{
    return g->head->words;
}

/* Word i; empty if the offset is damaged. The string ends within the file, whose last byte is NUL.
 */
static const char *word(const struct gloss *g, size_t i)
{
    const uint32_t *offsets = (const uint32_t *)(const void *)(g->head + 1);
    return (const char *)g->head + (offsets[i] < g->size ? offsets[i] : g->size - 1);
}

static const char *after(const struct gloss *g, const char *s)
{
    const char *end = (const char *)g->head + g->size - 1, *next = s + strlen(s);
    return next < end ? next + 1 : end;
}

/* The number of bytes that a word and the text share at their beginning. */
static size_t shared(const char *w, struct fumi_str text)
{
    size_t n = 0;
    while (n < text.n && w[n] && w[n] == text.p[n])
        n++;
    return n;
}

/* Returns the last word that is not after the text, or NULL. */
static const char *floor_of(const struct gloss *g, struct fumi_str text)
{
    size_t lo = 0, hi = g->head->words;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const char *w = word(g, mid);
        size_t n = shared(w, text);
        bool later = w[n] && (n == text.n || (unsigned char)w[n] > (unsigned char)text.p[n]);
        if (later)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo ? word(g, lo - 1) : NULL;
}

/* Returns the longest word that the text begins with, and sets *n to its bytes; NULL if there is
 * none. All words that the text begins with are also beginnings of the last word before it, or are
 * that word. */
static const char *longest(const struct gloss *g, struct fumi_str text, size_t *n)
{
    text.n = text.n < GLOSS_WORD_MAX ? text.n : GLOSS_WORD_MAX;
    while (text.n) {
        const char *w = floor_of(g, text);
        *n = w ? shared(w, text) : 0;
        if (*n && !w[*n])
            return w;
        text.n = *n < text.n ? *n : text.n - 1;
    }
    return NULL;
}

/* A text while its words are replaced. */
struct glossing {
    const struct gloss *g;
    struct fumi_str text;
    struct fumi_buf out, ranges;
};

static void add_range(struct glossing *t, size_t begin, size_t end, bool same)
{
    struct gloss_range r = {(uint32_t)begin, (uint32_t)end, (uint32_t)t->out.n, same};
    if (begin == end)
        return;
    fumi_buf_add(&t->ranges, &r, sizeof(r));
    if (same)
        fumi_buf_add(&t->out, t->text.p + begin, end - begin);
}

/* Adds a gloss between blanks, so that it does not join what surrounds it. */
static void add_gloss(struct glossing *t, size_t begin, size_t end, const char *english)
{
    size_t n = strnlen(english, GLOSS_WORD_MAX);
    add_range(t, begin, end, false);
    fumi_buf_put(&t->out, ' ');
    fumi_buf_add(&t->out, english, n);
    if (n)
        fumi_buf_put(&t->out, ' ');
}

/* Returns the bytes of the word at the offset `at`, and sets *english to its gloss; or the bytes of
 * the character there, and sets it to NULL. */
static size_t step(const struct gloss *g, struct fumi_str text, size_t at, const char **english)
{
    const char *p = text.p + at, *end = text.p + text.n;
    size_t n, bytes;
    *english = NULL;
    uint32_t c = (unsigned char)*p < 0x80 ? (unsigned char)*p : wordpiece_char(p, end, &bytes);
    if (c < 0x80)
        return 1;
    const char *w = gloss_is_letter(c) ? longest(g, (struct fumi_str){p, text.n - at}, &n) : NULL;
    if (!w)
        return bytes;
    *english = after(g, w);
    return n;
}

static struct glossed finish(struct glossing *t, struct fumi_arena *a)
{
    struct glossed done = {t->text, NULL, 0};
    size_t bytes = t->ranges.n;
    if (t->out.n) {
        struct gloss_range *ranges = fumi_alloc(a, bytes);
        memcpy(ranges, t->ranges.p, bytes);
        done = (struct glossed){{NULL, 0}, ranges, bytes / sizeof(*ranges)};
        done.text = fumi_dup(a, fumi_buf_str(&t->out));
    }
    fumi_buf_done(&t->ranges);
    fumi_buf_done(&t->out);
    return done;
}

struct glossed gloss_text(const struct gloss *g, struct fumi_arena *a, struct fumi_str text)
{
    struct glossing t = {.g = g, .text = text};
    size_t same = 0; /* the text from here on is unchanged and not yet added */
    const char *english;
    for (size_t at = 0, n; g && at < text.n; at += n) {
        n = step(g, text, at, &english);
        if (!english)
            continue;
        add_range(&t, same, at, true);
        add_gloss(&t, at, at + n, english);
        same = at + n;
    }
    if (same)
        add_range(&t, same, text.n, true);
    return finish(&t, a);
}

void gloss_map_back(const struct glossed *t, struct model_token *tokens, size_t n)
{
    for (size_t i = 0, k = 0; t->n && i < n; i++) {
        while (k + 1 < t->n && t->ranges[k + 1].at <= tokens[i].begin)
            k++;
        const struct gloss_range *r = &t->ranges[k];
        uint32_t shift = r->begin - r->at;
        tokens[i].begin = r->same ? tokens[i].begin + shift : r->begin;
        tokens[i].end = r->same ? tokens[i].end + shift : r->end;
    }
}

bool gloss_is_japanese(const struct gloss *g, struct fumi_str text)
{
    const char *english;
    size_t known = 0, unknown = 0;
    for (size_t at = 0, n; g && at < text.n; at += n) {
        uint32_t c = wordpiece_char(text.p + at, text.p + text.n, &n);
        if (c >= 0x3041 && c <= 0x30FF)
            return true;
        if (!gloss_is_letter(c))
            continue;
        n = step(g, text, at, &english);
        known += english != NULL;
        unknown += english == NULL;
    }
    return known && !unknown;
}
