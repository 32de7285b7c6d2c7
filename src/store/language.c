/* A text is in the language of its stop words. More than one language is returned if they have
 * equally many, as Spanish and Portuguese may have in a short text. */
#include "store/language.h"

#include "base/utf8.h"
#include "store/words_parts.h"

#include <stdlib.h>

enum {
    BEGINNING = 2048, /* bytes that are read of a text */
    BATCH = 512,
    LONGEST = 8, /* letters of a stop word */
    LEAST = 2,   /* stop words of a language other than English */
    ROW = LONGEST + sizeof(":edfsipnv"),
};

/* Stop words and the letters of their languages, folded and sorted. English has one-letter words,
 * because they weigh less in queries; in other languages these would mostly be names of variables.
 */
static const char letters[] = "edfsipnv"; /* in the order of enum language */
static const char stop_words[][ROW] = {
    "a:e",       "aan:n",      "aber:d",    "about:e",   "ad:i",     "agli:i",    "ai:i",
    "ainda:p",   "al:sin",     "alem:p",    "algo:s",    "algum:p",  "alguma:p",  "algun:s",
    "alguna:s",  "all:e",      "alla:iv",   "alle:din",  "allo:i",   "allt:v",    "alors:f",
    "als:dn",    "also:ed",    "altijd:n",  "am:ed",     "an:edv",   "anche:i",   "ancora:i",
    "and:e",     "andere:n",   "ante:s",    "antes:s",   "any:e",    "ao:p",      "aos:p",
    "apos:p",    "aquela:p",   "aquele:p",  "ar:v",      "are:e",    "as:ep",     "asi:s",
    "at:e",      "ate:p",      "att:v",     "au:f",      "auch:d",   "aucun:f",   "auf:d",
    "aun:s",     "aunque:s",   "aus:d",     "aussi:f",   "autre:f",  "aux:f",     "av:v",
    "avec:f",    "avere:i",    "aveva:i",   "avoir:f",   "be:e",     "been:e",    "bei:d",
    "beim:d",    "being:e",    "bij:n",     "bin:d",     "bis:d",    "bist:d",    "blev:v",
    "bli:v",     "blir:v",     "but:e",     "by:e",      "cada:sp",  "can:e",     "ce:f",
    "cela:f",    "ces:f",      "cet:f",     "cette:f",   "ceux:f",   "chaque:f",  "che:i",
    "chez:f",    "chi:i",      "ci:i",      "com:p",     "come:i",   "comme:f",   "como:sp",
    "con:si",    "contra:s",   "cosa:i",    "could:e",   "cual:s",   "cuando:s",  "cui:i",
    "da:dipv",   "dagli:i",    "dai:i",     "dal:i",     "dalla:i",  "dalle:i",   "damit:d",
    "dan:n",     "dann:d",     "dans:f",    "das:dp",    "dass:d",   "dat:n",     "de:fspnv",
    "degli:i",   "dei:i",      "del:si",    "dela:p",    "dele:p",   "della:i",   "delle:i",
    "dello:i",   "dem:dv",     "den:dv",    "denna:v",   "depois:p", "depuis:f",  "der:d",
    "deras:v",   "des:df",     "desde:sp",  "dess:v",    "dessa:v",  "det:v",     "detta:v",
    "deze:n",    "di:i",       "did:e",     "die:dn",    "dies:d",   "diese:d",   "diesem:d",
    "diesen:d",  "dieser:d",   "dieses:d",  "dig:v",     "din:v",    "dit:n",     "do:ep",
    "doch:d",    "dock:v",     "doen:n",    "does:e",    "doing:e",  "donc:f",    "donde:s",
    "done:e",    "dont:f",     "door:n",    "dopo:i",    "dort:d",   "dos:sp",    "dove:i",
    "du:fv",     "due:i",      "durante:s", "durch:d",   "dus:n",    "each:e",    "ed:i",
    "een:n",     "efter:v",    "ein:d",     "eine:d",    "einem:d",  "einen:d",   "einer:d",
    "eines:d",   "el:s",       "ela:p",     "elas:p",    "ele:p",    "eles:p",    "ella:s",
    "elle:f",    "eller:v",    "elles:f",   "ellos:s",   "em:p",     "en:fsnv",   "encore:f",
    "entre:sp",  "er:dnv",     "era:sip",   "erano:i",   "es:ds",    "esa:s",     "ese:s",
    "eso:s",     "essa:p",     "esse:p",    "essere:i",  "est:f",    "esta:sp",   "estan:s",
    "estao:p",   "estar:sp",   "estas:sp",  "este:sp",   "estes:p",  "esto:s",    "estos:s",
    "et:f",      "etaient:f",  "etait:f",   "ete:f",     "etre:f",   "ett:v",     "etwas:d",
    "eu:p",      "eux:f",      "fa:i",      "faire:f",   "fait:f",   "fino:i",    "foi:p",
    "for:e",     "foram:p",    "fra:i",     "fran:v",    "from:e",   "fue:s",     "fueron:s",
    "fur:d",     "geen:n",     "genom:v",   "gia:i",     "gli:i",    "ha:sipv",   "haar:n",
    "haben:d",   "hace:s",     "had:e",     "hade:v",    "han:sv",   "hanno:i",   "har:v",
    "has:e",     "hasta:s",    "hat:d",     "hatte:d",   "have:e",   "having:e",  "hay:s",
    "he:e",      "hebben:n",   "heeft:n",   "hem:n",     "her:e",    "here:e",    "het:n",
    "hier:n",    "hij:n",      "him:e",     "his:e",     "ho:i",     "hoe:n",     "hos:v",
    "how:e",     "hun:n",      "hur:v",     "i:e",       "ich:d",    "if:e",      "ihr:d",
    "ik:n",      "il:fi",      "ils:f",     "im:d",      "in:edin",  "inte:v",    "into:e",
    "io:i",      "is:en",      "isso:p",    "ist:d",     "isto:p",   "it:e",      "its:e",
    "ja:dp",     "jag:v",      "je:fn",     "jede:d",    "jeder:d",  "jetzt:d",   "just:e",
    "kan:nv",    "kann:d",     "kein:d",    "keine:d",   "kon:n",    "konnen:d",  "kunde:v",
    "kunnen:n",  "la:fsip",    "las:s",     "le:fsi",    "lei:i",    "les:fs",    "leur:f",
    "leurs:f",   "li:i",       "lo:si",     "loro:i",    "lors:f",   "los:s",     "lui:fi",
    "ma:fi",     "maar:n",     "mais:fp",   "man:dv",    "mas:sp",   "maste:v",   "may:e",
    "me:efsp",   "med:v",      "meer:n",    "mehr:d",    "mein:d",   "mellan:v",  "meme:f",
    "men:nv",    "mentre:i",   "mes:f",     "mesmo:p",   "met:n",    "meu:p",     "mi:si",
    "mia:i",     "mientras:s", "mig:v",     "might:e",   "mijn:n",   "min:v",     "minha:p",
    "mio:i",     "mismo:s",    "mit:d",     "moet:n",    "moins:f",  "molto:i",   "mon:f",
    "mot:v",     "muito:p",    "muss:d",    "must:e",    "muy:s",    "my:e",      "mycket:v",
    "na:pn",     "naar:n",     "nach:d",    "nada:s",    "nagon:v",  "nagot:v",   "nao:p",
    "nar:v",     "nas:p",      "ne:fi",     "nei:i",     "nel:i",    "nella:i",   "nelle:i",
    "nello:i",   "nem:p",      "ni:sv",     "nicht:d",   "niet:n",   "niets:n",   "no:esp",
    "noch:d",    "nog:n",      "noi:i",     "non:i",     "nor:e",    "nos:fsp",   "nosotros:s",
    "nossa:p",   "nosso:p",    "nostro:i",  "not:e",     "notre:f",  "nous:f",    "nu:nv",
    "nuestro:s", "num:p",      "numa:p",    "nunca:s",   "nur:d",    "ob:d",      "och:v",
    "ocksa:v",   "oder:d",     "of:en",     "ogni:i",    "ohne:d",   "om:nv",     "omdat:n",
    "on:ef",     "ons:n",      "ont:f",     "ook:n",     "op:n",     "or:e",      "os:p",
    "oss:v",     "otra:s",     "otro:s",    "otros:s",   "ou:fp",    "our:e",     "pa:v",
    "par:f",     "para:sp",    "parce:f",   "pas:f",     "pela:p",   "pelas:p",   "pelo:p",
    "pelos:p",   "per:i",      "perche:i",  "pero:s",    "peu:f",    "peut:f",    "piu:i",
    "please:e",  "poco:s",     "pode:p",    "podem:p",   "poi:i",    "por:sp",    "porque:sp",
    "pour:f",    "pourquoi:f", "prima:i",   "puede:s",   "pueden:s", "puo:i",     "qual:p",
    "quale:i",   "quali:i",    "quand:f",   "quando:ip", "quanto:i", "que:fsp",   "quel:f",
    "quella:i",  "quelle:fi",  "quelles:f", "quello:i",  "quem:p",   "questa:i",  "queste:i",
    "questi:i",  "questo:i",   "qui:fi",    "quien:s",   "sa:fv",    "samma:v",   "sans:f",
    "sao:p",     "se:fsip",    "sea:s",     "sedan:v",   "segun:s",  "sehr:d",    "sein:d",
    "seine:d",   "seit:d",     "seja:p",    "sem:p",     "sempre:i", "senza:i",   "ser:sp",
    "sera:f",    "ses:f",      "seu:p",     "seus:p",    "shall:e",  "she:e",     "should:e",
    "si:fsi",    "sia:i",      "sich:d",    "sido:s",    "sie:d",    "sig:v",     "sin:sv",
    "sina:v",    "sind:d",     "ska:v",     "skall:v",   "skulle:v", "so:ed",     "sobre:sp",
    "soit:f",    "soll:d",     "sollte:d",  "solo:s",    "som:v",    "some:e",    "son:fs",
    "sono:i",    "sont:f",     "sous:f",    "soy:s",     "sta:i",    "stata:i",   "stato:i",
    "su:si",     "sua:ip",     "suas:p",    "such:e",    "sue:i",    "sugli:i",   "sul:i",
    "sulla:i",   "suo:i",      "suoi:i",    "sur:f",     "sus:s",    "ta:f",      "tambem:p",
    "tambien:s", "tan:s",      "te:n",      "tegen:n",   "tell:e",   "tem:p",     "ter:p",
    "tes:f",     "teve:p",     "than:e",    "that:e",    "the:e",    "their:e",   "them:e",
    "then:e",    "there:e",    "these:e",   "they:e",    "this:e",   "those:e",   "tiene:s",
    "tienen:s",  "till:v",     "to:e",      "toch:n",    "toda:sp",  "todas:sp",  "todo:sp",
    "todos:sp",  "toe:n",      "toi:f",     "ton:f",     "too:e",    "tot:n",     "tous:f",
    "tout:f",    "toute:f",    "toutes:f",  "tra:i",     "tres:f",   "tu:fs",     "tutte:i",
    "tutti:i",   "tutto:i",    "uber:d",    "uit:n",     "um:dp",    "uma:p",     "un:fsi",
    "una:si",    "und:d",      "une:f",     "uno:si",    "unos:s",   "uns:d",     "unter:d",
    "upon:e",    "upp:v",      "ur:v",      "us:e",      "ut:v",     "utan:v",    "vad:v",
    "van:n",     "var:v",      "vara:v",    "varfor:v",  "varit:v",  "veel:n",    "vers:f",
    "very:e",    "vi:iv",      "vid:v",     "viene:i",   "vilka:v",  "vilken:v",  "voce:p",
    "voi:i",     "vom:d",      "von:d",     "voor:n",    "vor:d",    "vos:f",     "votre:f",
    "vous:f",    "waar:n",     "waarom:n",  "wanneer:n", "waren:dn", "warum:d",   "was:edn",
    "wat:n",     "we:en",      "weil:d",    "wel:n",     "welche:d", "welcher:d", "wenn:d",
    "wer:d",     "werd:n",     "werden:dn", "were:e",    "what:e",   "when:e",    "where:e",
    "whether:e", "which:e",    "while:e",   "who:e",     "whom:e",   "whose:e",   "why:e",
    "wie:dn",    "wieder:d",   "wij:n",     "will:e",    "wir:d",    "wird:d",    "with:e",
    "wo:d",      "worden:n",   "wordt:n",   "would:e",   "wurde:d",  "wurden:d",  "ya:s",
    "you:e",     "your:e",     "zal:n",     "ze:n",      "zei:n",    "zich:n",    "zij:n",
    "zijn:n",    "zo:n",       "zonder:n",  "zou:n",     "zu:d",     "zullen:n",  "zum:d",
    "zur:d",     "zwischen:d"};

struct fumi_str language_name(enum language language)
{
    static const char *const names[LANGUAGES] = {
        [LANGUAGE_ENGLISH] = "english", [LANGUAGE_GERMAN] = "german",
        [LANGUAGE_FRENCH] = "french",   [LANGUAGE_SPANISH] = "spanish",
        [LANGUAGE_ITALIAN] = "italian", [LANGUAGE_PORTUGUESE] = "portuguese",
        [LANGUAGE_DUTCH] = "dutch",     [LANGUAGE_SWEDISH] = "swedish",
        [LANGUAGE_RUSSIAN] = "russian",
    };
    return fumi_str(names[language]);
}

static int compare(const void *key, const void *row)
{
    const char *word = key, *p = row;
    for (; *word && *word == *p; word++)
        p++;
    return *word ? (unsigned char)*word - (unsigned char)*p : *p == ':' ? 0 : -1;
}

/* Returns the index in stop_words, or -1. */
static int find(struct fumi_str word)
{
    char text[LONGEST + 1] = "";
    if (!word.n || word.n > LONGEST)
        return -1;
    memcpy(text, word.p, word.n);
    const char *row = bsearch(text, stop_words, FUMI_COUNT(stop_words), ROW, compare);
    return row ? (int)((row - stop_words[0]) / ROW) : -1;
}

static unsigned languages_of(int i)
{
    unsigned languages = 0;
    for (const char *p = strchr(stop_words[i], ':') + 1; *p; p++)
        languages |= 1U << (strchr(letters, *p) - letters);
    return languages;
}

unsigned language_stop_word(struct fumi_str word)
{
    int i = find(word);
    return i < 0 ? 0 : languages_of(i);
}

struct census {
    bool seen[FUMI_COUNT(stop_words)];
    unsigned count[FUMI_COUNT(letters) - 1]; /* distinct stop words of each language */
    char word[LONGEST + 1];
    size_t n; /* letters of the word so far; if there are more than LONGEST, it is that + 1 */
};

static void count_word(struct census *c)
{
    int i = find((struct fumi_str){c->word, c->n});
    c->n = 0;
    if (i < 0 || c->seen[i])
        return;
    c->seen[i] = true;
    unsigned languages = languages_of(i);
    for (size_t k = 0; k < FUMI_COUNT(c->count); k++)
        c->count[k] += languages >> k & 1;
}

static void count_text(struct census *c, struct fumi_str text)
{
    struct unit units[BATCH];
    struct fold f = {.text = fumi_utf8_cut(text, BEGINNING)};
    for (size_t n; (n = words_fold(&f, units, BATCH));) {
        for (size_t i = 0; i < n; i++) {
            if (units[i].kind != UNIT_WORD)
                count_word(c);
            else if (c->n <= LONGEST)
                c->word[c->n++] = units[i].c < 0x80 ? (char)units[i].c : '?';
        }
    }
    count_word(c);
}

unsigned language_of(struct fumi_str text, unsigned unknown)
{
    struct census c = {.n = 0};
    unsigned most = 0, languages = 0, english;
    count_text(&c, text);
    english = c.count[LANGUAGE_ENGLISH];
    for (size_t i = LANGUAGE_GERMAN; i < FUMI_COUNT(c.count); i++)
        most = c.count[i] > most ? c.count[i] : most;
    for (size_t i = LANGUAGE_GERMAN; i < FUMI_COUNT(c.count); i++)
        languages |= c.count[i] == most ? 1U << i : 0;
    if (english > most)
        return 0;
    return most >= LEAST && most > english ? languages : unknown;
}
