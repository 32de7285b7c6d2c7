/* The words of a text. The expected words are written as kind, position, colon, text: p plain, s
 * stem, f stem in another language, w whole, j joined, 2 bigram, 1 unigram, * symbol, .
 * punctuation. */
#include "test.h"

#include "base/utf8.h"
#include "store/language.h"
#include "store/words.h"

static const char kinds[] = {[WORD_PLAIN] = 'p',  [WORD_STEM] = 's',    [WORD_WHOLE] = 'w',
                             [WORD_BIGRAM] = '2', [WORD_UNIGRAM] = '1', [WORD_SYMBOL] = '*',
                             [WORD_JOINED] = 'j', [WORD_PUNCT] = '.',   [WORD_FOREIGN] = 'f'};

struct listing {
    char text[4096];
    size_t n;
    bool puncts; /* list punctuation too */
};

static int list(void *arg, const struct word *w)
{
    struct listing *l = arg;
    if (w->kind == WORD_PUNCT && !l->puncts)
        return 0;
    l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s%c%zu:%.*s",
                             l->n ? " " : "", kinds[w->kind], w->position, FUMI_ARG(w->text));
    return l->n >= sizeof(l->text) - 200;
}

struct row {
    const char *text, *words;
};

static void check_rows(const struct row *rows, size_t n, bool puncts, unsigned languages)
{
    for (size_t i = 0; i < n; i++) {
        struct listing l = {.puncts = puncts};
        words_each(fumi_str(rows[i].text), languages, list, &l);
        if (strcmp(l.text, rows[i].words) != 0)
            TEST_FAIL("%s\n   got %s\n  want %s", rows[i].text, l.text, rows[i].words);
    }
}

#define CHECK_ROWS(rows, puncts) check_rows(rows, FUMI_COUNT(rows), puncts, 0)

TEST(words)
{
    static const struct row rows[] = {
        {"", ""},
        {" \t\n\xc2\xa0\xe3\x80\x80", ""},
        {"Hello, World!", "p0:hello p1:world"},
        {"running runs run", "p0:running s0:run p1:runs s1:run p2:run"},
        {"is as us", "p0:is p1:as p2:us"},
        {"don't", "p0:dont"},
        {"DON’T", "p0:dont"},
        {"the user's users'", "p0:the p1:user p2:users s2:user"},
        {"we'll I'm they've", "p0:we p1:i p2:they"},
        {"O'Brien", "w0:o'brien j0:obrien p0:o p0:brien"},
        {"'quoted'", "p0:quoted s0:quot"},
        {"a,b", "p0:a p1:b"},
        {"end...Next", "p0:end p1:next"},
        {"two--ten", "p0:two p1:ten"},
    };
    CHECK_ROWS(rows, false);
}

TEST(folding)
{
    static const struct row rows[] = {
        {"ÉTAGÉ étagé e\xcc\x81"
         "tage\xcc\x81",
         "p0:etage s0:etag p1:etage s1:etag p2:etage s2:etag"},
        {"Fuß FUSS", "p0:fuss p1:fuss"},
        {"Ｆｕｌｌ　Ｗｉｄｔｈ１", "p0:full w1:width1 p1:width p1:1"},
        {"ﬁne ①", "p0:fine p1:1"},
        {"Ἀθῆναι ΑΘΗΝΑΙ", "p0:αθηναι p1:αθηναι"},
        {"Ёлка", "p0:елка s0:елк"},
        {"İstanbul", "p0:istanbul"},
        {"Fumi™ x²", "p0:fumi p1:tm p2:x2"},
        {"soft\xc2\xadhyphen zero\xe2\x80\x8bwidth", "p0:softhyphen p1:zerowidth"},
        {"हिन्दी", "p0:हिन्दी"},
        {"مُحَمَّد محمد", "p0:محمد p1:محمد"},
        {"ﾊﾞﾊﾟｶ バパカ", "20:バパ 10:バ 21:パカ 11:パ 12:カ 23:バパ 13:バ 24:パカ 14:パ 15:カ"},
        {"か\xe3\x82\x99 が か", "10:が 11:が 12:か"},
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab 한", "10:한 11:한"},
    };
    CHECK_ROWS(rows, false);
}

TEST(identifiers)
{
    static const struct row rows[] = {
        {"ADR-016", "w0:adr-016 j0:adr016 p0:adr p0:016"},
        {"see src/main.c.", "p0:see w1:src/main.c w1:main.c p1:src p1:main p1:c"},
        {"(src/main.c:42),", "w0:src/main.c:42 w0:main.c p0:src p0:main p0:c p0:42"},
        {"v2.1.3", "w0:v2.1.3 p0:v2 p0:1 p0:3"},
        {"user@host", "w0:user@host p0:user p0:host"},
        {"#123 @me $HOME", "w0:#123 p0:123 w1:@me p1:me w2:$home p2:home"},
        {".gitignore", "w0:.gitignore p0:gitignore s0:gitignor"},
        {"--dry-run -x", "w0:--dry-run w0:dry-run j0:dryrun p0:dry s0:dri p0:run w1:-x p1:x"},
        {"C++ c# f(x)", "w0:c++ p0:c w1:c# p1:c p2:f p3:x"},
        {"a+b", "w0:a+b p0:a p0:b"},
        {"__init__", "w0:__init__ p0:init"},
        {"std::vector p->next", "w0:std::vector p0:std p0:vector w1:p->next p1:p p1:next"},
        {"snake_case_name", "w0:snake_case_name j0:snakecasename p0:snake p0:case p0:name"},
        {"getUserName", "w0:getusername p0:get p0:user p0:name"},
        {"HTTPServer URLs", "w0:httpserver p0:http p0:server p1:urls s1:url"},
        {"iPhone XMLHttpRequest",
         "w0:iphone p0:i p0:phone w1:xmlhttprequest p1:xml p1:http p1:request"},
        {"utf8 SHA256Sum h264 x86_64",
         "w0:utf8 p0:utf p0:8 w1:sha256sum p1:sha p1:256 p1:sum p2:h264 w3:x86_64 j3:x8664 p3:x86 "
         "p3:64"},
        {"obj.getName", "w0:obj.getname w0:getname p0:obj p0:get p0:name"},
        {"node.js", "w0:node.js j0:nodejs p0:node p0:js"},
        {"1,000", "w0:1,000 j0:1000 p0:1 p0:000"},
        {"foo_bar.c", "w0:foo_bar.c w0:foo_bar j0:foobar p0:foo p0:bar p0:c"},
        {"https://a.bc/d", "w0:https://a.bc/d w0:a.bc j0:abc p0:https p0:a p0:bc p0:d"},
        {"C:\\dir\\x", "w0:c:\\dir\\x p0:c p0:dir p0:x"},
        {"aB1cD2eF3gH4", "p0:ab1cd2ef3gh4"}, /* too many tiny pieces: stays whole */
        {"ÜberMut", "w0:ubermut p0:uber p0:mut"},
    };
    CHECK_ROWS(rows, false);
}

TEST(stems_of_other_languages)
{
    static const struct row german[] = {
        {"Häuser", "p0:hauser f0:haus"},
        {"Haus", "p0:haus f0:haus"},
        {"ha\xcc\x88user", "p0:hauser f0:haus"},
        {"Größen", "p0:grossen f0:gross"},
        {"running", "p0:running s0:run f0:running"},
        {"die und über", "p0:die p1:und p2:uber"}, /* stop words */
        {"ⅷø", "p0:viiiø f0:viiiø"},               /* five bytes, five characters */
        {"x86 is 42", "p0:x86 p1:is p2:42"},
        {"Straßen-Namen",
         "w0:strassen-namen j0:strassennamen p0:strassen f0:strass p0:namen f0:nam"},
        {"данные 設定", "p0:данные s0:дан 21:設定 11:設 12:定"},
    };
    static const struct row two[] = {
        {"habitaciones", "p0:habitaciones s0:habitacion f0:habit f0:habitacion"},
        {"total", "p0:total f0:total"},
    };
    check_rows(german, FUMI_COUNT(german), false, 1 << LANGUAGE_GERMAN);
    check_rows(two, FUMI_COUNT(two), false, 1 << LANGUAGE_SPANISH | 1 << LANGUAGE_PORTUGUESE);
}

TEST(russian_stems)
{
    static const struct row rows[] = {
        {"новый новые новая", "p0:новыи s0:нов p1:новые s1:нов p2:новая s2:нов"},
        {"сервер Серверы", "p0:сервер p1:серверы s1:сервер"},
    };
    CHECK_ROWS(rows, false);
}

TEST(scripts_without_spaces)
{
    static const struct row rows[] = {
        {"設定", "20:設定 10:設 11:定"},
        {"鬼", "10:鬼"},
        {"5月の雨", "p0:5 21:月の 11:月 22:の雨 12:の 13:雨"},
        {"FTS5の設定", "w0:fts5 p0:fts p0:5 21:の設 11:の 22:設定 12:設 13:定"},
        {"設・定", "10:設 11:定"},
        {"人々", "20:人々 10:人 11:々"},
        {"ไทย", "20:ไท 10:ไ 21:ทย 11:ท 12:ย"},
    };
    CHECK_ROWS(rows, false);
}

TEST(symbols_and_punctuation)
{
    static const struct row rows[] = {
        {"🎉", "*0:🎉"},
        {"a 🎉🎊 b", "p0:a *1:🎉 *2:🎊 p3:b"},
        {"❤\xef\xb8\x8f ❤", "*0:❤ *1:❤"},
        {"5€", "p0:5 *1:€"},
        {"\"", ".0:\""},
        {"“a”", "p0:a .0:\""},
        {"* a * b *", ".0:* p0:a p1:b"},
        {"x -> y", "p0:x .0:- .0:> .0:-> p1:y"},
        {"「設定」", ".0:「 20:設定 10:設 11:定 .1:」"},
        {"?!", ".0:? .0:! .0:?!"},
    };
    CHECK_ROWS(rows, true);
}

TEST(invalid_utf8)
{
    static const struct row rows[] = {
        {"a\xff"
         "b",
         "p0:a p1:b"},
        {"\xe3\x81", ""},
        {"caf\xc3", "p0:caf"},
        {"\xed\xa0\x80x", "p0:x"},
    };
    CHECK_ROWS(rows, true);
}

TEST(nul_bytes_and_null_texts)
{
    struct listing l = {0};
    words_each((struct fumi_str){"a\0b", 3}, LATIN_LANGUAGES, list, &l);
    CHECK_STR(fumi_str(l.text), "p0:a p1:b");
    words_each((struct fumi_str){NULL, 0}, LATIN_LANGUAGES, list, &l);
    CHECK_STR(fumi_str(l.text), "p0:a p1:b");
}

static int stop_at_second(void *arg, const struct word *w)
{
    (void)w;
    return ++*(int *)arg == 2 ? 42 : 0;
}

TEST(a_callback_can_stop_the_scan)
{
    static const char *const rows[] = {"a b c d", "設定設定", "getUserName x", "🎉🎉🎉", "?!?!"};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        int calls = 0;
        CHECK_INT(words_each(fumi_str(rows[i]), 0, stop_at_second, &calls), 42);
        CHECK_INT(calls, 2);
    }
}

/* Invariants of every word of every text. */
struct watch {
    struct fumi_str text;
    size_t position, words, plain_end;
    const char *fault;
};

static int watch(void *arg, const struct word *w)
{
    struct watch *x = arg;
    if (w->begin >= w->end || w->end > x->text.n)
        x->fault = "bytes";
    if (w->position < x->position || w->position > x->position + 1)
        x->fault = "position";
    if (!w->text.n || w->text.n > WORD_MAX || !fumi_utf8_valid(w->text))
        x->fault = "text";
    x->position = w->position;
    x->words++;
    return 0;
}

TEST(long_texts)
{
    static const char *const rows[] = {
        "a",    "aB", "a-", "A1",       "-",  "が", "か\xe3\x82\x99",           "ﷺ",  "é", "😀",
        "\xff", "y",  "x ", "a.B/c_d ", "1,", "#a", "\xe1\x84\x80\xe1\x85\xa1", "'s", "ａ"};
    enum { LONG = 20000 };
    char *text = fumi_resize(NULL, LONG);
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        size_t n = 0, step = strlen(rows[i]);
        for (; n + step <= LONG; n += step)
            memcpy(text + n, rows[i], step);
        struct watch w = {.text = {text, n}};
        words_each(w.text, LATIN_LANGUAGES, watch, &w);
        if (w.fault || w.words > 4 * n)
            TEST_FAIL("%s: %s, %zu words", rows[i], w.fault, w.words);
    }
    fumi_resize(text, 0);
}

static int longest(void *arg, const struct word *w)
{
    size_t *n = arg;
    *n = w->text.n > *n ? w->text.n : *n;
    return 0;
}

TEST(long_words_are_cut)
{
    char text[1000];
    size_t n = 0;
    memset(text, 'x', sizeof(text));
    words_each((struct fumi_str){text, sizeof(text)}, LATIN_LANGUAGES, longest, &n);
    CHECK_INT(n, WORD_MAX);
    for (size_t i = 0; i + 3 < sizeof(text); i += 3)
        memcpy(text + i, "ა", 3);
    n = 0;
    words_each((struct fumi_str){text, 999}, LATIN_LANGUAGES, longest, &n);
    CHECK_INT(n, WORD_MAX / 3 * 3); /* not within a character */
}

TEST(mostly_non_latin)
{
    static const struct {
        const char *text;
        bool non_latin;
    } rows[] = {
        {"", false},
        {"hello world", false},
        {"déjà vu über", false},
        {"設定", true},
        {"Привет мир", true},
        {"한국어", true},
        {"12345 !?", false},
        {"🎉🎉🎉", false},
        {"the 設定 of the server", false},
        {"README の設定方法", true},
        {"ｆｕｌｌ", false},
        {"\xff\xfe", false},
        {"ภาษาไทย", true},
        {"שלום", true},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        if (words_mostly_non_latin(fumi_str(rows[i].text)) != rows[i].non_latin)
            TEST_FAIL("%s", rows[i].text);
    }
    CHECK(!words_mostly_non_latin((struct fumi_str){NULL, 0}));
}
