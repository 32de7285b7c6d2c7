/* Keyword search of notes in several languages by inflected forms: of the words that a query shares
 * with its note, none has the same form in both. */
#include "test.h"

#include "store_fixture.h"

struct pair {
    const char *text, *query;
};

static void add(struct fixture *t, const char *text)
{
    if (fixture_add(t, text, text, NAN)) /* the text is also the id */
        TEST_FAIL("%s: %s", text, t->e.text);
}

/* The text of the best note. */
static struct fumi_str best(struct fixture *t, const char *query)
{
    struct filter all = fixture_filter("p");
    struct hits hits = {0};
    if (fixture_match(t, &all, fumi_str(query), 1, &hits))
        TEST_FAIL("%s: %s", query, t->e.text);
    return fixture_ids(t, &hits);
}

/* Each query must find its own note first. */
static void check_pairs(struct fixture *t, const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(t, pairs[i].text);
    for (size_t i = 0; i < n; i++) {
        struct fumi_str got = best(t, pairs[i].query);
        if (!fumi_eq(got, fumi_str(pairs[i].text)))
            TEST_FAIL("%s: \"%s\" finds \"%.*s\"", pairs[i].text, pairs[i].query, FUMI_ARG(got));
    }
}

/* A store with English notes. */
static void open_store(struct fixture *t)
{
    *t = (struct fixture){0};
    static const char *const english[] = {
        "The servers are restarted at night, and the logs are kept for a week.",
        "Use a password manager and rotate the keys of the accounts.",
        "House rules: no deploys on Fridays, and the tests must pass.",
        "The books and papers are in the library on the second floor.",
        "Backups of the databases go to another region.",
    };
    if (!fixture_open(t))
        TEST_FAIL("no store");
    for (size_t i = 0; i < FUMI_COUNT(english); i++)
        add(t, english[i]);
}

static const struct pair german[] = {
    {"Die Sicherung der Datenbank läuft jede Nacht.", "Wann sind die Sicherungen gemacht worden?"},
    {"Das Haus ist mit einem Zaun umgeben.", "Häuser"},
    {"Der Benutzer muss sein Passwort nach 90 Tagen ändern.", "Passwörter der Kunden"},
    {"Wir haben den Vertrag mit dem Lieferanten gekündigt.", "Verträge"},
    {"Die Rechnungen werden am Monatsende verschickt.", "Wo ist die Rechnung?"},
    {"Der Fehler ist nicht reproduzierbar.", "reproduzierbare Abstürze"},
    {"Ein Schlüssel liegt bei der Nachbarin.", "Was ist mit den Schlüssels?"},
    {"Die Bücher sind aus der Bibliothek geliehen.", "Buch"},
    {"Die Größe der Bilder ist auf 2 MB begrenzt.", "Größen"},
    {"Es gibt nur einen Drucker, und der ist kaputt.", "kaputte Geräte"},
    {"Das Treffen wurde auf den Freitag verschoben.", "Wann ist das mit den Freitagen?"},
    {"Man soll die Zugänge von alten Konten sperren.", "Zugang"},
};

static const struct pair french[] = {
    {"La sauvegarde de la base est faite chaque nuit.", "Où sont les sauvegardes ?"},
    {"Les utilisateurs ont changé leur adresse.", "utilisateur"},
    {"Nous avons déployé le service dans la région du nord.", "Quand est-ce que vous déployez ?"},
    {"Il faut une clé pour ouvrir ce tiroir.", "clés"},
    {"Les factures sont envoyées à la fin du mois.", "facture"},
    {"Le contrat est signé par les deux parties.", "Quels sont les contrats ?"},
    {"Elle préfère une réunion courte et claire.", "réunions"},
    {"Le mot de passe est stocké dans le coffre.", "Est-ce que les coffres sont fermés ?"},
    {"Un serveur redondant prend le relais en cas de panne.", "pannes"},
    {"Les cheveux des enfants ne sont pas secs.", "enfant"},
    {"La traduction n'est pas encore terminée.", "Qui a fait des traductions ?"},
    {"On doit nettoyer les journaux tous les lundis.", "nettoyez"},
};

static const struct pair spanish[] = {
    {"La habitación del fondo no tiene ventana.", "habitaciones"},
    {"El servidor está en la segunda planta.", "¿Dónde están los servidores?"},
    {"Los usuarios no pueden cambiar el idioma.", "usuario"},
    {"Hemos firmado el contrato con una empresa nueva.", "¿Cuándo se firman los contratos?"},
    {"La copia de la base se hace por la noche.", "copias"},
    {"Los niños van a la escuela en tren.", "niño"},
    {"El error se produce al guardar un archivo.", "¿Por qué hay errores?"},
    {"La reunión es el martes a las diez.", "reuniones"},
    {"Se debe renovar el certificado cada año.", "certificados"},
    {"Una factura no fue pagada por el cliente.", "¿Quién paga las facturas?"},
    {"Las contraseñas son guardadas en una caja.", "contraseña"},
    {"Su hermano trabajaba en la biblioteca.", "trabajar"},
};

static const struct pair italian[] = {
    {"Il contratto è stato firmato da tutti i soci.", "Quando sono stati firmati i contratti?"},
    {"Le fatture vengono spedite alla fine del mese.", "fattura"},
    {"La porta della cantina è chiusa.", "porte"},
    {"Gli utenti non possono cambiare il nome.", "Come si aggiunge un utente?"},
    {"La riunione si tiene il lunedì con il direttore.", "riunioni"},
    {"Il bambino gioca con il cane nel giardino.", "bambini"},
    {"L'errore si verifica solo con gli archivi grandi.", "Perché ci sono tutti questi errori?"},
    {"La traduzione non è ancora pronta.", "traduzioni"},
    {"Il libro è stato prestato ad un amico.", "Dove sono i libri?"},
    {"La stampante del secondo piano non funziona.", "stampanti"},
    {"Nella stanza grande c'è una finestra rotta.", "Dove sono le stanze?"},
    {"Abbiamo comprato una macchina nuova per la ditta.", "macchine"},
};

static const struct pair portuguese[] = {
    {"A reunião foi adiada para a semana que vem.", "Quando são as semanas da equipe?"},
    {"O servidor não está na rede da empresa.", "servidores"},
    {"Os usuários podem escolher uma cor.", "usuário"},
    {"O contrato foi assinado pelo diretor.", "Onde estão os contratos?"},
    {"As faturas são enviadas no fim do mês.", "fatura"},
    {"A chave da garagem está na gaveta.", "chaves"},
    {"O menino não foi para a escola.", "Quem são os meninos?"},
    {"Um arquivo foi apagado por engano.", "arquivos"},
    {"A cópia dos dados é feita à noite.", "cópias"},
    {"O livro está com a professora dele.", "Onde estão os livros?"},
    {"A impressora do segundo andar não tem papel.", "impressoras"},
    {"O certificado deve ser renovado todo ano.", "Quais são os certificados?"},
};

static const struct pair dutch[] = {
    {"De facturen worden aan het eind van de maand verstuurd.",
     "Waar is die factuur van het werk?"},
    {"Het contract is door de directeur getekend.", "contracten"},
    {"De gebruiker kan zijn naam niet wijzigen.", "gebruikers"},
    {"Er is een sleutel van de kelder in de la.", "Wie heeft de sleutels?"},
    {"Een lamp is bij de school gevonden.", "lampen"},
    {"De boeken zijn van de bibliotheek.", "boek"},
    {"De vergadering is naar dinsdag verplaatst.", "Wanneer zijn de vergaderingen?"},
    {"Het wachtwoord wordt in de kluis bewaard.", "wachtwoorden"},
    {"De vertaling is nog niet klaar.", "Wie heeft de vertalingen?"},
    {"In het kantoor staat maar een printer, en die is kapot.", "printers"},
    {"De storing was om negen uur voorbij.", "storingen"},
    {"Het certificaat moet elk jaar vernieuwd worden.", "Waar zijn de certificaten?"},
};

static const struct pair swedish[] = {
    {"Fakturorna skickas i slutet av månaden och betalas.", "faktura"},
    {"Avtalen är inte undertecknade av chefen.", "Vilka avtal har vi?"},
    {"Användaren kan inte ändra sitt namn.", "användare"},
    {"Alla nycklar till källaren ligger i en låda.", "Var är nycklarna?"},
    {"Barnen åker med bussen till skolan.", "barn"},
    {"Boken är lånad från biblioteket.", "bok"},
    {"Ett möte har flyttats till tisdag.", "Vad var det för möten?"},
    {"Lösenorden sparas i ett valv som är låst.", "lösenord"},
    {"Översättningen är inte klar än.", "översättningar"},
    {"Skrivaren på kontoret har gått sönder.", "Hur många skrivare har de?"},
    {"Bilarna måste besiktas varje år, och det kostar.", "bilar"},
    {"Felen uppstår bara när man sparar en stor fil.", "Vilka fel har det varit?"},
};

static const struct pair russian[] = {
    {"Резервная копия базы создаётся каждую ночь.", "копии"},
    {"Пользователь не может изменить имя.", "Где список пользователей?"},
    {"Сервер стоит на втором этаже.", "серверы"},
    {"Договор подписан директором.", "Когда были подписаны договоры?"},
    {"Счета отправляются в конце месяца.", "месяцы"},
    {"Ключ от подвала лежит в ящике.", "ключи"},
    {"Новая книга лежит в библиотеке.", "Где находятся книги?"},
    {"Собрание перенесли на вторник.", "собрания"},
    {"Пароль хранится в сейфе.", "пароли"},
    {"Перевод ещё не готов.", "переводы"},
    {"Ошибка возникает при сохранении файла.", "Почему возникли ошибки?"},
    {"Сертификат нужно обновлять раз в год.", "сертификаты"},
};

/* The stems of a language are used only if a note is in it, so that they do not change the order of
 * notes in English. */
TEST(no_note_in_the_language)
{
    struct fixture t;
    open_store(&t);
    CHECK_STR(best(&t, "servers"),
              "The servers are restarted at night, and the logs are kept for a "
              "week.");
    CHECK_STR(best(&t, "Serveurs"), "");
    CHECK_STR(best(&t, "Häuser"), "");
    add(&t, "Das ist die Regel des Hauses.");
    CHECK_STR(best(&t, "Häuser"), "Das ist die Regel des Hauses.");
    CHECK_INT(store_delete(t.s, &t.a, FUMI_STR("Das ist die Regel des Hauses."), NULL, &t.e), 0);
    CHECK_STR(best(&t, "Häuser"), "");
    fixture_end(&t);
}

TEST(inflected_forms)
{
    static const struct {
        const struct pair *pairs;
        size_t n;
    } languages[] = {
        {german, FUMI_COUNT(german)},         {french, FUMI_COUNT(french)},
        {spanish, FUMI_COUNT(spanish)},       {italian, FUMI_COUNT(italian)},
        {portuguese, FUMI_COUNT(portuguese)}, {dutch, FUMI_COUNT(dutch)},
        {swedish, FUMI_COUNT(swedish)},       {russian, FUMI_COUNT(russian)},
    };
    for (size_t i = 0; i < FUMI_COUNT(languages); i++) {
        struct fixture t;
        open_store(&t);
        check_pairs(&t, languages[i].pairs, languages[i].n);
        fixture_end(&t);
    }
}
