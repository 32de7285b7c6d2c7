/* Builds the trie that embed/wordpiece.h describes: one array of cells, in which the children of a
 * cell are placed at the first base where all of their cells are free. */
#include "pack/pack_parts.h"

#include <assert.h>
#include <stdlib.h>

/* The words lo to hi (exclusive) share their first `depth` bytes, which lead to the cell `at`. */
struct trie_branch {
    size_t lo, hi, depth;
    uint32_t at;
};

struct trie_children {
    unsigned char bytes[256];
    size_t begin[257]; /* the first word of each child; begin[n]: the end */
    size_t n;
};

struct trie_builder {
    const struct pack_word *words;
    struct fumi_buf *cells;
    struct fumi_buf queue; /* of struct trie_branch */
    size_t free;           /* where the search for free cells begins */
};

static int by_text(const void *a, const void *b)
{
    const struct pack_word *x = a, *y = b;
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int order = memcmp(x->text.p, y->text.p, n);
    return order ? order : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

static struct trie_cell *cell(struct trie_builder *b, size_t i)
{
    static const struct trie_cell empty = {0, TRIE_NONE, -1};
    while (b->cells->n <= i * sizeof(empty))
        fumi_buf_add(b->cells, &empty, sizeof(empty));
    return (struct trie_cell *)(void *)b->cells->p + i;
}

static bool is_free(struct trie_builder *b, size_t i)
{
    return i > 0 && cell(b, i)->from == TRIE_NONE;
}

static bool fits(struct trie_builder *b, size_t base, const struct trie_children *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!is_free(b, base + c->bytes[i]))
            return false;
    return true;
}

/* Finds the base for a cell's children. After a long search the next one begins later, so that the
 * nearly full part is not searched each time; this leaves a few free cells unused. */
static size_t fit(struct trie_builder *b, const struct trie_children *c)
{
    enum { LONG = 512 };
    while (!is_free(b, b->free))
        b->free++;
    size_t base = b->free > c->bytes[0] ? b->free - c->bytes[0] : 0, from = base;
    while (!fits(b, base, c))
        base++;
    if (base - from > LONG)
        b->free += (base - from) / 2;
    return base;
}

static void list_children(const struct trie_builder *b, const struct trie_branch *br,
                          struct trie_children *c)
{
    c->n = 0;
    for (size_t i = br->lo; i < br->hi; i++) {
        unsigned char byte = (unsigned char)b->words[i].text.p[br->depth];
        if (c->n && c->bytes[c->n - 1] == byte)
            continue;
        assert(c->n < FUMI_COUNT(c->bytes));
        c->bytes[c->n] = byte;
        c->begin[c->n++] = i;
    }
    c->begin[c->n] = br->hi;
}

static void grow(struct trie_builder *b, struct trie_branch br)
{
    struct trie_children c;
    for (; br.lo < br.hi && b->words[br.lo].text.n == br.depth; br.lo++)
        cell(b, br.at)->id = b->words[br.lo].id;
    list_children(b, &br, &c);
    if (!c.n)
        return;
    size_t base = fit(b, &c);
    cell(b, br.at)->next = (uint32_t)base;
    for (size_t i = 0; i < c.n; i++) {
        uint32_t child = (uint32_t)base + c.bytes[i];
        cell(b, child)->from = br.at;
        struct trie_branch next = {c.begin[i], c.begin[i + 1], br.depth + 1, child};
        fumi_buf_add(&b->queue, &next, sizeof(next));
    }
}

/* Removes empty words and words that are too long for the tokenizer. */
static size_t drop_unusable(struct pack_word *words, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (words[i].text.n > 0 && words[i].text.n <= TRIE_WORD_MAX)
            words[kept++] = words[i];
    return kept;
}

void pack_build_trie(struct pack_word *words, size_t n, struct fumi_buf *cells)
{
    struct trie_builder b = {.words = words, .cells = cells, .free = 1};
    n = drop_unusable(words, n);
    if (n)
        qsort(words, n, sizeof(*words), by_text);
    cell(&b, 0);
    struct trie_branch all = {0, n, 0, 0};
    fumi_buf_add(&b.queue, &all, sizeof(all));
    for (size_t i = 0; i < b.queue.n; i += sizeof(struct trie_branch)) {
        struct trie_branch br;
        memcpy(&br, b.queue.p + i, sizeof(br));
        grow(&b, br);
    }
    fumi_buf_done(&b.queue);
}
