#include "store/stem.h"

#include "base/arena.h"

#include <libstemmer.h>

/* "english" is the stemmer also known as Porter2. */
static struct sb_stemmer *stemmer(struct stemmers *s, enum language language)
{
    if (!s->of[language])
        s->of[language] = sb_stemmer_new(language_name(language).p, NULL);
    return s->of[language];
}

struct fumi_str stem(struct stemmers *s, enum language language, struct fumi_str word)
{
    struct sb_stemmer *by = stemmer(s, language);
    const unsigned char *p = by ? sb_stemmer_stem(by, (const unsigned char *)word.p, (int)word.n)
                                : NULL;
    if (!p) /* out of memory: ends like any other allocation that fails */
        fumi_resize(NULL, PTRDIFF_MAX);
    return (struct fumi_str){(const char *)p, (size_t)sb_stemmer_length(by)};
}

void stemmers_done(struct stemmers *s)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        sb_stemmer_delete(s->of[i]);
}
