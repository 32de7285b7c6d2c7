/* Stems, and that each language has its stemmer. The expected stems are those of the vocabularies
 * that the Snowball project publishes. */
#include "test.h"

#include "store/stem.h"

TEST(stems)
{
    static const struct {
        enum language language;
        const char *word, *stem;
    } rows[] = {
        {LANGUAGE_ENGLISH, "generously", "generous"}, /* "gener" by the first Porter stemmer */
        {LANGUAGE_ENGLISH, "knightly", "knight"},
        {LANGUAGE_ENGLISH, "dying", "die"},
        {LANGUAGE_ENGLISH, "news", "news"},
        {LANGUAGE_ENGLISH, "consolidations", "consolid"},
        {LANGUAGE_GERMAN, "aufeinanderfolgenden", "aufeinanderfolg"},
        {LANGUAGE_GERMAN, "häuser", "haus"},
        {LANGUAGE_FRENCH, "continuellement", "continuel"},
        {LANGUAGE_FRENCH, "parlées", "parl"},
        {LANGUAGE_SPANISH, "habitación", "habit"},
        {LANGUAGE_SPANISH, "cheques", "chequ"},
        {LANGUAGE_ITALIAN, "abbandonata", "abbandon"},
        {LANGUAGE_PORTUGUESE, "boataria", "boat"},
        {LANGUAGE_DUTCH, "lichamelijkheden", "licham"},
        {LANGUAGE_SWEDISH, "jaktkarlarna", "jaktkarl"},
        {LANGUAGE_RUSSIAN, "важнейшими", "важн"},
        {LANGUAGE_ENGLISH, "", ""},
    };
    struct stemmers s = {0};
    for (size_t i = 0; i < FUMI_COUNT(rows); i++) {
        struct fumi_str got = stem(&s, rows[i].language, fumi_str(rows[i].word));
        if (!fumi_eq(got, fumi_str(rows[i].stem)))
            TEST_FAIL("%s: %.*s, not %s", rows[i].word, FUMI_ARG(got), rows[i].stem);
    }
    for (int i = 0; i < LANGUAGES; i++)
        CHECK(s.of[i]);
    stemmers_done(&s);
}
