/* English glosses of Japanese words, for models that know only English: the text that is embedded
 * has the first meaning of each Japanese word in place of the word. The words come from the
 * dictionary EDICT, in a file that "fumi model install" makes and that is mapped read-only. */
#ifndef FUMI_EMBED_GLOSS_H
#define FUMI_EMBED_GLOSS_H

#include "base/arena.h"
#include "base/err.h"
#include "embed/model.h"

/* Marks the vectors of texts with glosses in the name of their space. A change of the rules that
 * changes many vectors also changes this. */
#define GLOSS_VARIANT "+edict"

/* Immutable once opened: threads may share it. */
struct gloss;

/* Maps the file. Returns NULL with ERR_PROVIDER and a message that names the file and the remedy.
 * Offsets are checked when they are used, so a damaged file gives wrong glosses at worst. */
struct gloss *gloss_open(const char *path, struct fumi_err *e);
void gloss_close(struct gloss *g); /* g may be NULL */

/* Reads the whole file and compares its checksum. The message names the file. */
int gloss_verify(const struct gloss *g, const char *path, struct fumi_err *e);

struct fumi_str gloss_name(const struct gloss *g); /* "EDICT 2021-02-03" */
size_t gloss_words(const struct gloss *g);

/* Where a part of the glossed text comes from. Both parts are in bytes. */
struct gloss_range {
    uint32_t begin, end; /* of the original text */
    uint32_t at;         /* of the glossed text; it ends where the next range begins */
    bool same;           /* the text is unchanged */
};

struct glossed {
    struct fumi_str text;
    const struct gloss_range *ranges;
    size_t n;
};

/* Replaces the Japanese words of a text by their glosses. A text without Japanese, or any text if g
 * is NULL, is returned as it is, without ranges. */
struct glossed gloss_text(const struct gloss *g, struct fumi_arena *a, struct fumi_str text);

/* Changes the positions of tokens of the glossed text to positions in the original text. */
void gloss_map_back(const struct glossed *t, struct model_token *tokens, size_t n);

/* Whether the text is Japanese: it has kana, or the dictionary has all of its ideographs. */
bool gloss_is_japanese(const struct gloss *g, struct fumi_str text);

/* The path of the file for a model file, NUL-terminated, in the arena: fumi-edict.bin in the
 * directory of the model file or, unless FUMI_MODEL is set, in one of the directories of
 * model_find. Returns a null string if there is none. */
struct fumi_str gloss_find(struct fumi_arena *a, const char *model_path);

#endif
