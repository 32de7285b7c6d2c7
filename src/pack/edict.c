/* Packs the dictionary EDICT into the file that embed/gloss.h maps. A line of EDICT is
 *
 *     食べる [たべる] /(v1,vt) (1) to eat/(v1,vt) (2) to live on (e.g. a salary)/(P)/EntL1358280X/
 *
 * (P) marks common words, (uk) those that are usually written in kana. The word is mapped to its
 * first gloss that is short. If several lines have the same word, the best `rank` wins. Inflected
 * forms are added to the stem and the next kana, 食べ and 書か, 書き, 書い …; what follows these in
 * a text is one of the endings in `function_words`, which have no gloss. */
#include "embed/gloss_file.h"
#include "pack/pack.h"
#include "pack/pack_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EDICT_BYTES_MAX = 256 << 20,
    EDICT_GLOSS_MAX =
        25, /* bytes: longer ones explain rather than translate, and hide other words */
    EDICT_KANA_MIN =
        9, /* bytes of a word in hiragana (three letters): shorter ones match too much */
};

/* Added up; the highest sum wins. */
enum { RANK_COMMON = 1000, RANK_AFFIX = -100, RANK_KANA = -500, RANK_FORM = -2000 };
enum { RANK_FUNCTION_WORD = 1 << 20 };

/* Particles, auxiliaries and endings. */
static const char *const function_words[] = {
    "は",       "が",       "を",       "に",       "で",     "と",       "の",         "も",
    "へ",       "や",       "か",       "から",     "まで",   "より",     "ね",         "よ",
    "な",       "さ",       "し",       "です",     "でした", "ます",     "ました",     "ません",
    "ている",   "ています", "ていた",   "いる",     "います", "いた",     "ある",       "あります",
    "あった",   "する",     "して",     "した",     "します", "しました", "しています", "している",
    "された",   "され",     "させ",     "れる",     "られる", "られ",     "れて",       "られて",
    "た",       "て",       "だ",       "だった",   "である", "であり",   "では",       "には",
    "とは",     "での",     "との",     "への",     "からの", "として",   "という",     "といった",
    "について", "において", "における", "によって", "により", "による",   "ため",       "ための",
    "など",     "こと",     "もの",     "それ",     "これ",   "その",     "この",       "あの",
    "どの",     "ここ",     "そこ",     "ない",     "なく",   "なかった", "なり",       "なる",
    "なった",   "ので",     "のに",     "けど",     "けれど", "ば",       "たり",       "ながら",
    "たち",     "そして",   "また",     "しかし",   "ん",     "い",       "う",         "え",
    "お",       "く",       "け",       "れ",       "る",     "ら",       "り",         "ろ",
    "っ",       "じゃ",     "でも",     "だけ",     "しか",   "ほど",     "くらい",     "ぐらい",
    "ずつ",     "って",     "み",       "め",       "む",     "よう",     "ように",     "ような",
    "そう",     "せ",       "てい",     "てる",     "でいる", "でいます", "ており",
};

/* The kana that can take the place of the last one in forms of a word; empty: none, the word
 * without its last kana is the stem. */
static const struct edict_forms {
    const char *pos, *kana;
} forms[] = {
    {"v1", ""},
    {"v5u", "わいえおっ"},
    {"v5k", "かきけこい"},
    {"v5k-s", "かきけこっ"},
    {"v5g", "がぎげごい"},
    {"v5s", "さしせそ"},
    {"v5t", "たちてとっ"},
    {"v5n", "なにねのん"},
    {"v5b", "ばびべぼん"},
    {"v5m", "まみめもん"},
    {"v5r", "らりれろっ"},
    {"v5aru", "らりれろっい"},
    {"adj-i", "くかけさそ"},
};

static const char *const affixes[] = {"suf", "pref", "ctr", "n-suf", "n-pref"};

struct edict_word {
    struct fumi_str text, gloss;
    int rank;
    uint32_t order;
};

struct edict {
    struct fumi_arena a;
    struct fumi_str text;  /* the source in UTF-8 */
    struct fumi_buf words; /* of struct edict_word */
    struct fumi_buf image; /* the file */
    char name[GLOSS_NAME_MAX + 1];
};

/* A line of the source. */
struct edict_line {
    struct fumi_str word, kana, pos, gloss;
    bool common, usually_kana;
};

static bool contains(struct fumi_str s, const char *part)
{
    return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

/* Returns the part before the first `c`, and removes it and the `c` from *s. */
static struct fumi_str cut(struct fumi_str *s, char c)
{
    const char *end = s->n ? memchr(s->p, c, s->n) : NULL;
    struct fumi_str part = {s->p, end ? (size_t)(end - s->p) : s->n};
    size_t used = part.n + (end != NULL);
    if (used)
        *s = (struct fumi_str){s->p + used, s->n - used};
    return part;
}

/* Removes what is in parentheses, "to " of a verb, and blanks at the ends and in rows. */
static struct fumi_str clean(struct fumi_arena *a, struct fumi_str gloss)
{
    char *out = fumi_alloc(a, gloss.n + 1);
    size_t n = 0, depth = 0;
    for (size_t i = 0; i < gloss.n; i++) {
        char c = gloss.p[i];
        depth += c == '(';
        if (!depth && c && !(c == ' ' && (!n || out[n - 1] == ' ')))
            out[n++] = c;
        depth -= c == ')' && depth;
    }
    n -= n && out[n - 1] == ' ';
    struct fumi_str s = {out, n}, to = FUMI_STR("to ");
    return fumi_starts(s, to) && s.n > to.n ? (struct fumi_str){s.p + to.n, s.n - to.n} : s;
}

/* The first gloss that is short. A counter has none: "three books", not "three counter for books".
 * A null string: the line is of no use. */
static struct fumi_str choose(struct fumi_arena *a, struct fumi_str glosses)
{
    while (glosses.n) {
        struct fumi_str g = clean(a, cut(&glosses, '/'));
        if (fumi_starts(g, FUMI_STR("counter for")))
            return FUMI_STR("");
        if (g.n && g.n <= EDICT_GLOSS_MAX && !fumi_starts(g, FUMI_STR("EntL")))
            return g;
    }
    return (struct fumi_str){0};
}

static bool is_among(struct fumi_str list, const char *const *names, size_t n)
{
    while (list.n) {
        struct fumi_str one = cut(&list, ',');
        for (size_t i = 0; i < n; i++)
            if (fumi_eq(one, fumi_str(names[i])))
                return true;
    }
    return false;
}

static bool read_line(struct fumi_arena *a, struct fumi_str line, struct edict_line *out)
{
    *out = (struct edict_line){.word = cut(&line, ' ')};
    if (line.n && line.p[0] == '[') {
        struct fumi_str kana = cut(&line, ' ');
        if (kana.n > 2)
            out->kana = (struct fumi_str){kana.p + 1, kana.n - 2};
    }
    if (!line.n || line.p[0] != '/')
        return false;
    cut(&line, '/');
    out->common = contains(line, "/(P)/");
    out->usually_kana = contains(line, "(uk)");
    if (line.n && line.p[0] == '(') {
        struct fumi_str pos = line;
        pos = cut(&pos, ')');
        out->pos = (struct fumi_str){pos.p + 1, pos.n - 1};
    }
    out->gloss = choose(a, line);
    return out->gloss.p != NULL;
}

static uint32_t first_letter(struct fumi_str s)
{
    size_t n;
    return s.n ? wordpiece_char(s.p, s.p + s.n, &n) : 0;
}

static bool is_hiragana(struct fumi_str s)
{
    size_t n;
    for (size_t i = 0; i < s.n; i += n) {
        uint32_t c = wordpiece_char(s.p + i, s.p + s.n, &n);
        if (c < 0x3041 || c > 0x309F)
            return false;
    }
    return true;
}

static void add(struct edict *d, struct fumi_str text, struct fumi_str gloss, int rank)
{
    struct edict_word w = {text, gloss, rank, (uint32_t)(d->words.n / sizeof(w))};
    if (text.n > 0 && text.n < GLOSS_WORD_MAX && gloss_is_letter(first_letter(text)))
        fumi_buf_add(&d->words, &w, sizeof(w));
}

static void add_forms(struct edict *d, const struct edict_line *l, struct fumi_str word, int rank)
{
    enum { KANA = 3 }; /* bytes */
    struct fumi_str stem = {word.p, word.n - KANA};
    for (size_t i = 0; i < FUMI_COUNT(forms); i++) {
        if (word.n <= KANA || !is_among(l->pos, &forms[i].pos, 1))
            continue;
        const char *kana = forms[i].kana;
        do {
            struct fumi_str form = fumi_fmt(&d->a, "%.*s%.3s", FUMI_ARG(stem), kana);
            if (!is_hiragana(form) || form.n >= EDICT_KANA_MIN)
                add(d, form, l->gloss, rank + RANK_FORM);
            kana += *kana ? KANA : 0;
        } while (*kana);
    }
}

/* Words in hiragana only if they are common and not short. */
static void add_word(struct edict *d, const struct edict_line *l, struct fumi_str word, int rank)
{
    if (is_hiragana(word) && (!l->common || word.n < EDICT_KANA_MIN))
        return;
    add(d, word, l->gloss, rank);
    add_forms(d, l, word, rank);
}

static void add_line(struct edict *d, const struct edict_line *l)
{
    struct fumi_str rest = l->pos, first = cut(&rest, ',');
    int rank = l->common ? RANK_COMMON : 0;
    if (fumi_eq(first, FUMI_STR("prt")))
        return;
    if (is_among(first, affixes, FUMI_COUNT(affixes)))
        rank += RANK_AFFIX;
    add_word(d, l, l->word, rank);
    if (l->kana.n && l->common && l->usually_kana)
        add_word(d, l, l->kana, rank + RANK_KANA);
}

/* The first line names the dictionary and its date: "…/Created: 2021-02-03/". */
static int read_name(struct edict *d, struct fumi_str line, const char *from, struct fumi_err *e)
{
    static const char created[] = "Created: ";
    const char *at = contains(line, "EDICT") ? memmem(line.p, line.n, created, sizeof(created) - 1)
                                             : NULL;
    if (!at)
        return pack_fault(e, "%s is not the dictionary EDICT in the encoding EUC-JP", from);
    struct fumi_str date = {at, (size_t)(line.p + line.n - at)};
    cut(&date, ' ');
    date = cut(&date, '/');
    snprintf(d->name, sizeof(d->name), "EDICT %.*s", (int)(date.n < 32 ? date.n : 32), date.p);
    return 0;
}

static int read_words(struct edict *d, const char *from, struct fumi_err *e)
{
    struct fumi_str text = d->text;
    struct edict_line line;
    if (read_name(d, cut(&text, '\n'), from, e))
        return -1;
    while (text.n)
        if (read_line(&d->a, cut(&text, '\n'), &line))
            add_line(d, &line);
    if (!d->words.n)
        return pack_fault(e, "%s has no words", from);
    for (size_t i = 0; i < FUMI_COUNT(function_words); i++)
        add(d, fumi_str(function_words[i]), FUMI_STR(""), RANK_FUNCTION_WORD);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    const struct edict_word *x = a, *y = b;
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int order = memcmp(x->text.p, y->text.p, n);
    if (!order)
        order = (x->text.n > y->text.n) - (x->text.n < y->text.n);
    if (!order)
        order = (x->rank < y->rank) - (x->rank > y->rank);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Sorts the words, and keeps the best of equal ones. */
static size_t sort(struct edict_word *words, size_t n)
{
    size_t kept = 0;
    qsort(words, n, sizeof(*words), by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || !fumi_eq(words[kept - 1].text, words[i].text))
            words[kept++] = words[i];
    return kept;
}

static void put_string(struct fumi_buf *b, struct fumi_str s)
{
    fumi_buf_add(b, s.p, s.n);
    fumi_buf_put(b, 0);
}

static int build(struct edict *d, struct fumi_err *e)
{
    struct edict_word *words = (struct edict_word *)(void *)d->words.p;
    size_t n = sort(words, d->words.n / sizeof(*words));
    struct gloss_head h = {.magic = GLOSS_MAGIC, .version = GLOSS_VERSION, .words = (uint32_t)n};
    struct fumi_buf strings = {0};
    memcpy(h.name, d->name, sizeof(h.name));
    fumi_buf_add(&d->image, &h, sizeof(h));
    for (size_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(sizeof(h) + n * sizeof(at) + strings.n);
        fumi_buf_add(&d->image, &at, sizeof(at));
        put_string(&strings, words[i].text);
        put_string(&strings, words[i].gloss);
    }
    fumi_buf_add(&d->image, strings.p, strings.n);
    fumi_buf_done(&strings);
    h.size = d->image.n;
    memcpy(d->image.p, &h, sizeof(h));
    if (model_checksum(d->image.p + GLOSS_SUM_START, d->image.n - GLOSS_SUM_START, h.sha256, e))
        return -1;
    memcpy(d->image.p, &h, sizeof(h));
    return 0;
}

static int convert(struct edict *d, struct fumi_str bytes, const char *from, struct fumi_err *e)
{
    iconv_t c = iconv_open("UTF-8", "EUC-JP");
    size_t left = bytes.n, room = bytes.n * 2;
    char *in = (char *)(uintptr_t)bytes.p, *out = fumi_alloc(&d->a, room + 1);
    if (c == (iconv_t)-1)
        return pack_fault(e,
                          "this system cannot convert EUC-JP (glibc's gconv modules are missing)");
    d->text.p = out;
    size_t rc = iconv(c, &in, &left, &out, &room);
    iconv_close(c);
    if (rc == (size_t)-1)
        return pack_fault(e, "%s is not the dictionary EDICT in the encoding EUC-JP", from);
    d->text.n = (size_t)(out - d->text.p);
    return 0;
}

static int read_bytes(struct edict *d, int fd, const char *from, struct fumi_err *e)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > EDICT_BYTES_MAX || !st.st_size)
        return pack_fault(e, "%s is empty, too large or not a file", from);
    size_t n = (size_t)st.st_size;
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return pack_fault(e, "%s cannot be read: %s", from, strerror(errno));
    int rc = convert(d, (struct fumi_str){p, n}, from, e);
    munmap(p, n);
    return rc;
}

static int read_source(struct edict *d, const char *from, struct fumi_err *e)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return pack_fault(e, "%s cannot be opened: %s", from, strerror(errno));
    int rc = read_bytes(d, fd, from, e);
    close(fd);
    return rc;
}

int pack_edict(const char *from, const char *to, struct fumi_err *e)
{
    struct edict d = {.name = ""};
    int rc = read_source(&d, from, e) || read_words(&d, from, e) || build(&d, e) ||
             pack_write_file(to, (struct fumi_str){d.image.p, d.image.n}, e);
    fumi_buf_done(&d.words);
    fumi_buf_done(&d.image);
    fumi_arena_done(&d.a);
    return rc ? -1 : 0;
}

bool pack_is_edict(const char *from)
{
    char head[64];
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return n > 0 && contains((struct fumi_str){head, (size_t)n}, " /EDICT");
}
