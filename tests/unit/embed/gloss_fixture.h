/* A dictionary of a few words in the format of EDICT, and the file that is packed from it. */
#ifndef FUMI_GLOSS_FIXTURE_H
#define FUMI_GLOSS_FIXTURE_H

#include "embed/gloss.h"
#include "embed/gloss_file.h"
#include "pack/pack.h"

#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>

static const char edict_lines[] =
    "　？？？ /EDICT, EDICT2 Japanese-English Electronic Dictionary Files/Created: 2021-02-03/\n"
    "世界 [せかい] /(n) (1) (col) the world/society/universe/(P)/EntL1373540X/\n"
    "世界中 [せかいじゅう] /(n) around the world/(P)/EntL1373680X/\n"
    "挨拶 [あいさつ] /(n,vs) hello/greetings (formal (very))/(P)/EntL1150530X/\n"
    "食べる [たべる] /(v1,vt) (1) to eat/(v1,vt) (2) to live on (e.g. a salary)/(P)/EntL1358280X/\n"
    "行く [いく] /(v5k-s,vi) (1) to go/to move/(P)/EntL1578850X/\n"
    "高い [たかい] /(adj-i) (1) high/tall/(P)/EntL1283190X/\n"
    "人 [じん] /(suf) (1) -ian (e.g. Italian)/(P)/EntL1366410X/\n"
    "人 [ひと] /(n) (1) man/person/(P)/EntL1580640X/\n"
    "人 [と] /(n) nobody/EntL1580641X/\n"
    "匹 [ひき] /(ctr) (1) counter for small animals/(P)/EntL1487770X/\n"
    "猫 [ぬこ] /(n) (uk) cat/(P)/EntL1467640X/\n"
    "林檎 [りんご] /(n) (uk) apple/(P)/EntL1555470X/\n"
    "スケート /(n,vs) skating/EntL1070400X/\n"
    "なかなか /(adv) to a considerable degree, in a way that surprises/very/(P)/EntL1599870X/\n"
    "あぼび /(n) rare yawn/EntL1174650X/\n"
    "は /(prt) (1) topic marker particle/(P)/EntL2028920X/\n"
    "空 /(n) (only a remark)/\n"
    "Ｔシャツ [ティーシャツ] /(n) T-shirt/(P)/EntL1080510X/\n"
    "broken line without glosses\n"
    "[] //\n"
    "\n"
    "京都";

/* Writes a text (UTF-8) in EUC-JP. */
static inline void edict_write(const char *path, const char *text, size_t n)
{
    char *bytes = malloc(n + 1), *in = (char *)(uintptr_t)text, *out = bytes;
    size_t room = n + 1;
    iconv_t c = iconv_open("EUC-JP", "UTF-8");
    FILE *f = fopen(path, "wb");
    if (c == (iconv_t)-1 || iconv(c, &in, &n, &out, &room) == (size_t)-1 || !f)
        abort();
    fwrite(bytes, 1, (size_t)(out - bytes), f);
    iconv_close(c);
    free(bytes);
    if (fclose(f))
        abort();
}

/* Packs the words above into DIR/fumi-edict.bin, next to a source file "edict". */
static inline void edict_pack(const char *dir)
{
    struct fumi_err e = {0};
    char from[300], to[300];
    snprintf(from, sizeof(from), "%s/edict", dir);
    snprintf(to, sizeof(to), "%s/" GLOSS_FILE, dir);
    edict_write(from, edict_lines, sizeof(edict_lines) - 1);
    if (pack_edict(from, to, &e)) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
}

#endif
