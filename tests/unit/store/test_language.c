/* The language of a text, by its stop words. */
#include "test.h"

#include "store/language.c" /* for its table */

#define SET(name) (1U << LANGUAGE_##name)

TEST(language_of_a_text)
{
    enum { UNKNOWN = 1 << 20 };
    static const struct {
        const char *text;
        unsigned languages;
    } rows[] = {
        {"", UNKNOWN},
        {"deploy 設定 Заметка 42", UNKNOWN},
        {"The server was restarted by the cron job.", 0},
        {"restart the server", 0},
        {"Der Server wurde nach dem Update neu gestartet.", SET(GERMAN)},
        {"DER FEHLER TRITT NUR IM PRODUKTIVSYSTEM AUF", SET(GERMAN)},
        {"Was ist das?", SET(GERMAN)},
        {"Le serveur a redémarré après la mise à jour des paquets.", SET(FRENCH)},
        {"Qu'est-ce que c'est ?", SET(FRENCH)},
        {"El servidor se reinició después de la actualización.", SET(SPANISH)},
        {"Il server si è riavviato dopo gli aggiornamenti.", SET(ITALIAN)},
        {"O servidor não foi reiniciado depois da atualização.", SET(PORTUGUESE)},
        {"De server werd na het bijwerken van de pakketten herstart.", SET(DUTCH)},
        {"Servern startades om efter att paketen hade uppdaterats.", SET(SWEDISH)},
        {"como de este", SET(SPANISH) | SET(PORTUGUESE)},
        {"der Server der Firma, der der", UNKNOWN}, /* one stop word */
        {"Datenbank Sicherung", UNKNOWN},
        {"in was so", UNKNOWN}, /* as many English ones */
        {"The word der and die are articles, so is das.", 0},
        {"derdie dasund einemitx nichtsoviel", UNKNOWN},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        unsigned got = language_of(fumi_str(rows[i].text), UNKNOWN);
        if (got != rows[i].languages)
            TEST_FAIL("%s: %x, not %x", rows[i].text, got, rows[i].languages);
    }
    CHECK_INT(language_of((struct fumi_str){NULL, 0}, 7), 7);
    CHECK_STR(language_name(LANGUAGE_DUTCH), "dutch");
}

TEST(only_the_beginning_decides)
{
    char text[5000];
    memset(text, 'x', sizeof(text));
    memcpy(text, "und nicht ", 10);
    memcpy(text + sizeof(text) - 30, " the of and is to for with it ", 30);
    CHECK_INT(language_of((struct fumi_str){text, sizeof(text)}, 0), SET(GERMAN));
}

TEST(table_of_stop_words)
{
    for (size_t i = 0; i < FUMI_COUNT(stop_words); i++) {
        const char *end = strchr(stop_words[i], ':');
        CHECK(end && end > stop_words[i] && end[1]);
        CHECK_INT(strspn(end + 1, letters), strlen(end + 1));
        if (i && strcmp(stop_words[i - 1], stop_words[i]) >= 0)
            TEST_FAIL("%s is not after %s", stop_words[i], stop_words[i - 1]);
        CHECK_INT(find((struct fumi_str){stop_words[i], (size_t)(end - stop_words[i])}), (int)i);
    }
}

TEST(stop_words)
{
    static const struct {
        const char *word;
        unsigned languages;
    } rows[] = {
        {"a", SET(ENGLISH)},
        {"your", SET(ENGLISH)},
        {"zwischen", SET(GERMAN)},
        {"de", SET(FRENCH) | SET(SPANISH) | SET(PORTUGUESE) | SET(DUTCH) | SET(SWEDISH)},
        {"in", SET(ENGLISH) | SET(GERMAN) | SET(ITALIAN) | SET(DUTCH)},
        {"pourquoi", SET(FRENCH)},
        {"tambien", SET(SPANISH)},
        {"perche", SET(ITALIAN)},
        {"nao", SET(PORTUGUESE)},
        {"och", SET(SWEDISH)},
        {"", 0},
        {"the server", 0},
        {"thf", 0},
        {"zzz", 0},
        {"a:", 0},
        {"zwischenzeit", 0},
    };
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        unsigned got = language_stop_word(fumi_str(rows[i].word));
        if (got != rows[i].languages)
            TEST_FAIL("%s: %x, not %x", rows[i].word, got, rows[i].languages);
    }
}
