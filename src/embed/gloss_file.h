/* The format of the dictionary file, shared by embed/ (reads it) and pack/ (writes it).
 *
 * A header of 128 bytes; `words` offsets of 32 bits, from the start of the file; and the words, in
 * the order of their bytes, each as "WORD\0GLOSS\0" at its offset. The gloss of a word that is left
 * out is empty. The last byte of the file is NUL. All numbers are little endian. */
#ifndef FUMI_EMBED_GLOSS_FILE_H
#define FUMI_EMBED_GLOSS_FILE_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is used as it is mapped");

enum {
    GLOSS_VERSION = 1,
    GLOSS_NAME_MAX = 63,
    GLOSS_WORD_MAX = 96, /* bytes of a word and of a gloss */
};

#define GLOSS_MAGIC "FUMIGLOS"
#define GLOSS_FILE  "fumi-edict.bin"

struct gloss_head {
    char magic[8];
    uint32_t version, words;
    unsigned char sha256[32]; /* of the file from GLOSS_SUM_START on */
    uint64_t size;            /* of the file, in bytes */
    char name[GLOSS_NAME_MAX + 1];
    char unused[8];
};
_Static_assert(sizeof(struct gloss_head) == 128, "part of the format");
#define GLOSS_SUM_START offsetof(struct gloss_head, size)

/* Whether a word of the dictionary may begin with this character: kana or an ideograph. */
static inline int gloss_is_letter(uint32_t c)
{
    return (c >= 0x3041 && c <= 0x30FF && c != 0x30FB) || (c >= 0x3400 && c <= 0x9FFF) ||
           c == 0x3005 || c == 0x3007 || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

#endif
