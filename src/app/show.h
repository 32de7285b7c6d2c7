/* What is shown to people: text in columns of a terminal, and JSON in lines. */
#ifndef FUMI_APP_SHOW_H
#define FUMI_APP_SHOW_H

#include "json/json.h"

#include <stdio.h>

/* Columns that a text takes: two for wide characters, none for marks. */
size_t show_width(struct fumi_str s);

/* In one line: line breaks and control characters become a blank, several of these one; hidden
 * characters (base/chars.h) are left out. */
struct fumi_str show_line(struct fumi_arena *a, struct fumi_str s);

/* The longest beginning that fits into so many columns. */
struct fumi_str show_cut(struct fumi_str s, size_t columns);

/* The text with its lines and TABs, without other control characters and hidden ones. */
struct fumi_str show_lines(struct fumi_arena *a, struct fumi_str s);

/* JSON of the same value, with escapes for DEL, C1, line breaks above ASCII and hidden characters.
 * Returns `json` itself if it has none. */
struct fumi_str show_escaped(struct fumi_arena *a, struct fumi_str json);

/* With two blanks for each level, a line break at the end, and escapes as show_escaped has them. */
void show_json(struct fumi_buf *out, const struct fumi_val *v);

/* A word of a command line: in quotes where a shell needs them. */
void show_word(struct fumi_buf *out, struct fumi_str word);

/* How a text is set off: nothing unless `to` is a terminal and NO_COLOR is not set. */
enum show_style { SHOW_PLAIN, SHOW_BOLD, SHOW_DIM };
const char *show_style(FILE *to, enum show_style style);

#endif
